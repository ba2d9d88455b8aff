// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A bound QP is connected to somebody else by its owner, before it is revoked, or
 * while it settles: it isn't the one that was bound any more, whatever its number.
 * It is lost, and goes on.
 */
#include "rig.h"

#define SLOTS	8

static struct rig rig;
static struct lkvfence *f;

/* No traffic comes through it: Debian 12's Soft-RoCE can't do it under load. */
static void connect_anew(struct ibv_qp *qp, const struct ibv_qp *to)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct end self, peer;

	need(!ibv_modify_qp(qp, &reset, IBV_QP_STATE), "RESET");
	rig_describe(&rig, qp, &self);
	peer = self;
	peer.qp = to->qp_num;
	rig_join(&rig, qp, &self, &peer);
}

static void is_lost(uint64_t generation, struct ibv_qp *qp, const char *when)
{
	struct lkvfence_event e = event_of(f, LKVFENCE_EVENT_RELEASED);
	uint32_t state;

	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT),
	      "%s: the transfer can't be revoked, and comes back tainted", when);
	check(qp_of(f, 1, &state) == LKVFENCE_QP_LOST && state == LKVFENCE_SOURCE_LOST,
	      "%s: the QP is lost, and its source", when);
	gives(state_of(qp), IBV_QPS_RTS, "%s: its owner goes on with it", when);
	gives(lkvfence_unbind(f, 1), 0, "%s: unbound", when);
}

int main(void)
{
	struct lkvfence_stat stat;
	struct ibv_qp *qp, *peer;
	uint64_t generation;

	rig_new(&rig, SLOTS);
	f = region("reconnected", SLOTS);
	peer = rig_loop(&rig);

	qp = rig_loop(&rig);
	bind_loop(f, 1, qp);
	generation = begin(f, 1, 0, SLOTS, 1);
	connect_anew(qp, peer);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 300), 0, "abort");
	is_lost(generation, qp, "before");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");

	/* Also where it is connected as it was: it has been moved out of ERR. */
	set_param("settle_ms", 2000);
	qp = rig_loop(&rig);
	bind_loop(f, 1, qp);
	generation = begin(f, 2, 0, SLOTS, 1);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 300), 0, "abort");
	need(until(qp_of(f, 1, NULL) != LKVFENCE_QP_OPEN), "it is moved");
	gives(qp_of(f, 1, NULL), LKVFENCE_QP_ERR, "it settles");
	connect_anew(qp, qp);
	is_lost(generation, qp, "meanwhile");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	put_params_back();

	stat = stat_of(f);
	check(stat.revokes == 2 && stat.revokes_failed == 2 && stat.sources_lost == 2 &&
	      !stat.sources_revoked && adds_up(&stat), "it is counted");
	gives(stat.slots_taken, 0, "no slot is lost");
	need(!ibv_destroy_qp(peer), "ibv_destroy_qp");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
