// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A lease comes back as drained when all that was posted under it has completed
 * with success: signaled or not, on one rail or on two.
 */
#include "rig.h"

#define SLOTS	64

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("success-drains", SLOTS);
	struct lkvfence_send *send;
	struct link a, b;
	uint32_t i, key;
	uint64_t g;

	rig_new(&rig, SLOTS);
	link_new(&rig, &a, 0, 0);
	link_new(&rig, &b, 0, 0);
	key = rig.pool_mr->rkey;

	g = begin(f, 1, 0, 32, 1);
	mark_stage(&rig, 0, 32, 1);
	send = send_under(&rig, f, g, 1);
	for (i = 0; i < 32; i++)
		need(!lkvfence_send_post(send, a.send, writes(&rig, i, 1, key, true), NULL),
		     "%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
	check(until(poll_all(&rig) && rig.nr_returned), "the lease comes back");
	gives(rig.good, 32, "the application has its completions");
	gives((long)rig.last_good, 31, "under its own wr_id");
	gives(rig.returned[0].result, 0, "the region took it");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_DRAINED, "drained");
	gives(lease_evidence(f, g, 1), LKVFENCE_EVIDENCE_SUCCESS_CQE, "on success_cqe");
	gives((long)strays(&rig, 0, 32, 1), 0, "the data is there");
	gives(lkvfence_release(f, g), 0, "and the slots are back");

	/* none is signaled, on two rails: a marker each */
	g = begin(f, 2, 0, SLOTS, 1);
	mark_stage(&rig, 0, SLOTS, 2);
	send = send_under(&rig, f, g, 1);
	need(!lkvfence_send_post(send, a.send, writes(&rig, 0, 32, key, false), NULL) &&
	     !lkvfence_send_post(send, b.send, writes(&rig, 32, 32, key, false), NULL),
	     "%s", lkvfence_verbs_errmsg());
	gives(lkvfence_send_drain(send, PATIENCE_MS), 0, "drain unsignaled ones");
	gives((long)strays(&rig, 0, SLOTS, 2), 0, "the data is there");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_DRAINED, "drained");
	lkvfence_send_finish(send);
	gives(lkvfence_release(f, g), 0, "and the slots are back");
	poll_all(&rig);
	gives(rig.good, 32, "the markers are the library's");

	/* an unsignaled one, and a signaled one of nobody's behind it */
	g = begin(f, 3, 0, SLOTS, 1);
	send = send_under(&rig, f, g, 1);
	need(!lkvfence_send_post(send, a.send, writes(&rig, 0, 8, key, false), NULL) &&
	     !lkvfence_rail_post(a.send, writes(&rig, 8, 1, key, true), NULL),
	     "%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
	check(until(poll_all(&rig) && rig.nr_returned == 3), "proven by order");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_DRAINED, "drained");
	gives(lkvfence_release(f, g), 0, "the slots are back");

	link_end(&a);
	link_end(&b);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
