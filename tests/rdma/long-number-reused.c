// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A QP is destroyed, and numbers go all the way round until another one has its
 * number, on the same device: that one isn't taken for it.
 *
 * Soft-RoCE has a million numbers, so this takes long.
 */
#include "rig.h"

#define SLOTS	16
#define NUMBERS	(1U << 20)

static struct rig rig;
static struct lkvfence *f;

/* Make and destroy QPs until the next one will have that number; how many it took. */
static uint32_t go_round(uint32_t number)
{
	uint32_t i, last;

	for (i = 0; i < NUMBERS + 1000; i++) {
		struct ibv_qp *qp = rig_qp(&rig, IBV_QPT_RC);

		last = qp->qp_num;
		need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
		if (last + 1 == number)
			break;
	}
	return i + 1;
}

int main(void)
{
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t old, now;
	struct tally tally;
	uint32_t number, n;
	struct ibv_qp *qp;
	struct end self;

	rig_new(&rig, SLOTS);
	rig.retries = FOR_EVER;
	f = region("long-number-reused", SLOTS);
	/* Connected to itself, as the other one won't be. */
	qp = rig_qp(&rig, IBV_QPT_RC);
	rig_describe(&rig, qp, &self);
	rig_join(&rig, qp, &self, &self);
	number = qp->qp_num;
	gives(try_bind(f, 1, DEVICE, number), 0, "a QP is bound");
	old = begin(f, 1, 0, 8, 1);
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	n = go_round(number);
	rig_connect(&rig, 0);
	need(rig.links[0].qp->qp_num == number, "another QP %u, not %u", number,
	     rig.links[0].qp->qp_num);
	note("after %u others", n);
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
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
