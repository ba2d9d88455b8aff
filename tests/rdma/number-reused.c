// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A QP is gone, and another one has its number, on a device of the same name. It
 * belongs to the same process, and is connected: nobody takes it for the first one.
 *
 * Soft-RoCE gives each number once before it begins again, and begins again for
 * each device; so the device is made anew. long-number-reused goes all the way
 * round.
 */
#include "rig.h"

#define SLOTS	16
/* A new device gives low numbers, so the old one's comes soon. */
#define ENOUGH	100000

static struct rig rig;
static struct lkvfence *f;

static void renew_device(void)
{
	gives(run("rdma link delete " DEVICE), 0, "the device is removed");
	device_back();
}

/* A connection whose QP has that number. */
static void connect_as(uint32_t number)
{
	uint32_t i;

	for (i = 0; i < ENOUGH; i++) {
		struct ibv_qp *qp = rig_qp(&rig, IBV_QPT_RC);
		bool next = qp->qp_num + 1 == number;

		need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
		if (next)
			break;
	}
	rig_connect(&rig, 0);
}

int main(void)
{
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t old, now;
	uint32_t number;
	struct tally tally;

	/* A device whose numbers begin anew: what has run before doesn't matter. */
	atexit(device_back);
	renew_device();
	rig_new(&rig, SLOTS);
	f = region("number-reused", SLOTS);
	rig_connect(&rig, 1);
	rig_connect(&rig, 0);
	number = rig.links[0].qp->qp_num;
	bind_link(f, &rig, 1, 0);
	old = begin(f, 1, 0, 8, 1);
	rig_end(&rig);

	renew_device();
	rig_new(&rig, SLOTS);
	rig.retries = FOR_EVER;
	connect_as(number);
	need(rig.links[0].qp->qp_num == number, "another QP %u, not %u", number,
	     rig.links[0].qp->qp_num);
	bind_link(f, &rig, 2, 0);
	now = begin(f, 2, 8, 8, 0);
	need(!lkvfence_take(f, now, 2), "TAKE");
	gives(abort_with(f, old, LKVFENCE_POLICY_REVOKE_NOW | LKVFENCE_POLICY_QUARANTINE, 300),
	      0, "the transfer of the QP that is gone is aborted");
	e = event_of(f, LKVFENCE_EVENT_QUARANTINED);
	check(e.generation == old, "it can't be revoked: in quarantine, at the deadline");
	stat = stat_of(f);
	check(stat.sources_lost == 1 && stat.revokes_failed == 1 && !stat.sources_revoked,
	      "its QP is lost, and that is counted");

	gives(query(f, now).state, LKVFENCE_STATE_WAITING,
	      "the transfer of the QP of that number isn't touched");
	rig_write(&rig, 0, now, 8, 8, 4);
	tally = rig_drain(&rig, 0);
	check(tally.good == 32 && !tally.bad, "nor the QP itself");
	gives(drained(f, now, 2), 0, "drained");
	gives(lkvfence_release(f, now), 0, "released");
	gives(lkvfence_revoked(f, old, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "the old one's owner knows that it is gone");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, old, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_DESTROYED), "released as revoked");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
