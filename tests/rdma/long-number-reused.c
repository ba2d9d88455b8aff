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

static struct ibv_qp *loop_of(struct ibv_pd *pd)
{
	struct ibv_pd *own = rig.port.pd;
	struct ibv_qp *qp;

	rig.port.pd = pd;
	qp = rig_loop(&rig);
	rig.port.pd = own;
	return qp;
}

int main(void)
{
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t old, now;
	uint32_t number, n;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	rig_new(&rig, SLOTS);
	f = region("long-number-reused", SLOTS);
	qp = rig_loop(&rig);
	number = qp->qp_num;
	bind_loop(f, 1, qp);
	old = begin(f, 1, 0, 8, 1);
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	n = go_round(number);
	/* Both are connected to themselves; what differs is where they belong. */
	pd = ibv_alloc_pd(rig.port.context);
	need(pd, "ibv_alloc_pd");
	qp = loop_of(pd);
	need(qp->qp_num == number, "another QP %u, not %u", number, qp->qp_num);
	note("after %u others", n);
	bind_loop(f, 2, qp);
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
	gives(state_of(qp), IBV_QPS_RTS, "nor the QP itself");
	gives(drained(f, now, 2), 0, "drained");
	gives(lkvfence_release(f, now), 0, "released");
	gives(lkvfence_revoked(f, old, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "the old one's owner knows that it is gone");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, old, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_DESTROYED), "released as revoked");
	need(!ibv_destroy_qp(qp) && !ibv_dealloc_pd(pd), "the QP destroyed");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
