// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How long a QP settles: at least settle_ms from the moment at which it was in ERR,
 * by the value of then.
 */
#include "rig.h"

#define SLOTS	8

static struct rig rig;
static struct lkvfence *f;

/* A transfer that is being revoked, and when that began. */
static uint64_t revoked_at(struct ibv_qp *qp, uint64_t tag, uint64_t *ns)
{
	uint64_t binding = bind_loop(f, 1, qp), generation = begin(f, tag, 0, SLOTS, 1);
	struct lkvfence_event e;

	need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 600000), "ABORT");
	e = event_of(f, LKVFENCE_EVENT_REVOKE);
	need(e.generation == binding, "the event of the revocation");
	*ns = e.time_ns;
	return generation;
}

static void took(uint64_t generation, uint64_t since, unsigned int ms, const char *what)
{
	struct lkvfence_event e = event_of(f, LKVFENCE_EVENT_RELEASED);

	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "%s: it is revoked", what);
	check(e.time_ns >= since + ms * MS, "%s: after %" PRIu64 " ms", what,
	      (uint64_t)((e.time_ns - since) / MS));
}

int main(void)
{
	uint64_t generation, since;
	struct lkvfence_stat stat;
	struct ibv_qp *qp;

	rig_new(&rig, SLOTS);
	f = region("settle", SLOTS);

	set_param("settle_ms", 300);
	qp = rig_loop(&rig);
	generation = revoked_at(qp, 1, &since);
	took(generation, since, 300, "300 ms");
	gives(state_of(qp), IBV_QPS_ERR, "300 ms: its QP is in ERR");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");

	set_param("settle_ms", 2000);
	qp = rig_loop(&rig);
	generation = revoked_at(qp, 2, &since);
	need(until(qp_of(f, 1, NULL) == LKVFENCE_QP_ERR), "it is moved");
	set_param("settle_ms", 1);
	took(generation, since, 2000, "lowered meanwhile");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");

	set_param("settle_ms", 600000);
	qp = rig_loop(&rig);
	generation = revoked_at(qp, 3, &since);
	need(until(qp_of(f, 1, NULL) == LKVFENCE_QP_ERR), "it is moved");
	usleep(500000);
	check(silent(f) && qp_of(f, 1, NULL) == LKVFENCE_QP_ERR &&
	      query(f, generation).flags & LKVFENCE_TRANSFER_REVOKING,
	      "600 s: it is held");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	gives(revoked(f, generation, 1), 0, "until its owner says that he destroyed it");
	need(event_of(f, LKVFENCE_EVENT_RELEASED).generation == generation, "a release");
	put_params_back();

	stat = stat_of(f);
	check(stat.evidence[LKVFENCE_EVIDENCE_QP_ERR_SETTLED] == 2 &&
	      stat.evidence[LKVFENCE_EVIDENCE_QP_DESTROYED] == 1 && adds_up(&stat) &&
	      !stat.revokes_failed, "it is counted");
	gives(stat.slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
