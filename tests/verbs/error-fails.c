// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One write fails on one of two rails: the lease is failed, and stays out; what
 * is in flight on the other rail is not let go of.
 */
#include "rig.h"

#define SLOTS	64

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("error-fails", SLOTS);
	struct lkvfence_send *send, *behind;
	struct lkvfence_event e;
	struct link a, b;
	uint64_t g, g2;
	uint32_t key;

	rig_new(&rig, SLOTS);
	link_new(&rig, &a, 0, 0);
	link_new(&rig, &b, 0, 0);
	key = rig.pool_mr->rkey;

	g = begin(f, 1, 0, 32, 1);
	g2 = begin(f, 2, 32, 32, 1);
	send = send_under(&rig, f, g, 1);
	behind = send_under(&rig, f, g2, 1);
	need(!lkvfence_send_post(send, b.send, writes(&rig, 0, 16, key, true), NULL) &&
	     !lkvfence_send_post(send, a.send, writes(&rig, 16, 4, key, true), NULL) &&
	     /* a key that nobody gave out */
	     !lkvfence_send_post(send, a.send, writes(&rig, 20, 1, key ^ 0x55, true), NULL) &&
	     !lkvfence_send_post(behind, a.send, writes(&rig, 32, 4, key, true), NULL),
	     "%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
	lkvfence_send_finish(behind);
	check(until(poll_all(&rig) && rig.nr_returned == 2), "both leases come back");
	gives(rig.first_bad, IBV_WC_REM_ACCESS_ERR, "for a remote access error");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_FAILED, "the one that had it has failed");
	gives(lease_state(f, g2, 1), LKVFENCE_LEASE_FAILED, "and the one behind it");
	gives(lkvfence_release(f, g), -EBUSY, "L4: failed is not drained");
	check(until(poll_all(&rig) && rig.good == 2), "what had completed before has");
	gives(rig.nr_returned, 2, "each was told once");

	need(!abort_with(f, g, LKVFENCE_POLICY_TAINT, 10) &&
	     !abort_with(f, g2, LKVFENCE_POLICY_TAINT, 10), "ABORT");
	e = event(f);
	gives(e.outcome, LKVFENCE_OUTCOME_TIMEOUT, "without proof until the deadline");
	check(e.flags & LKVFENCE_EVENT_TAINTED, "tainted");
	event(f);

	link_end(&a);
	link_end(&b);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
