// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Many transfers have a lease of one source, and one transfer has leases of many:
 * when access is taken away, each of them ends, and each comes back, on the ground
 * that there is. The module sees to so many at a time.
 */
#include "rig.h"

/* Many times that. */
#define MANY	2000
#define SLOTS	(2 * MANY)
#define SOURCES	3

static struct rig rig;
static struct lkvfence *f;

/* A transfer of one slot for each of @first on, with a lease of the source. */
static void begin_many(uint64_t *generations, uint32_t first, uint32_t source,
		       uint32_t policy)
{
	struct lkvfence_begin b;
	uint32_t i;

	for (i = 0; i < MANY; i++) {
		b = want(first + i, first + i, 1, 0);
		b.policy = policy;
		need(!lkvfence_begin(f, &b), "BEGIN");
		need(!lkvfence_take(f, b.generation, source), "TAKE");
		generations[i] = b.generation;
	}
}

/* Events until @nr transfers are released; how many of them so. */
static uint32_t come_back(uint32_t nr, uint32_t outcome, uint32_t evidence,
			  uint32_t reason)
{
	struct lkvfence_event e;
	uint32_t i, n = 0;

	for (i = 0; i < nr; i++) {
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		if (!e.type) {
			note("%u of %u are released, and no more", i, nr);
			break;
		}
		n += e.outcome == outcome && e.evidence == evidence &&
		     (e.reason == reason || e.tag == 0);
	}
	return n;
}

/* Of the source that is revoked, and of one that shares its QP. */
static void many(void)
{
	static uint64_t mine[MANY], others[MANY];
	struct lkvfence_stat before = stat_of(f), stat;
	struct ibv_qp *qp = rig_loop(&rig);

	bind_loop(f, 1, qp);
	bind_loop(f, 2, qp);
	begin_many(mine, 0, 1, LKVFENCE_POLICY_DEFAULT);
	begin_many(others, MANY, 2, LKVFENCE_POLICY_DEFAULT);
	gives(abort_with(f, mine[0], LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
	      "one of %u transfers is revoked", 2 * MANY);
	gives(come_back(2 * MANY, LKVFENCE_OUTCOME_REVOKED,
			LKVFENCE_EVIDENCE_QP_ERR_SETTLED, LKVFENCE_REASON_REVOKED),
	      2 * MANY, "all of them come back as revoked, and were ended for that");
	stat = stat_of(f);
	check(stat.sources_revoked == before.sources_revoked + 2 && !stat.slots_taken &&
	      adds_up(&stat), "no slot is lost");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	gives(lkvfence_unbind(f, 2), 0, "unbind");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
}

/* Of a source that turns out to be lost: they don't wait for a proof any more. */
static void lost(void)
{
	static uint64_t generations[MANY];
	struct lkvfence_stat before = stat_of(f), stat;
	struct ibv_qp *qp = rig_loop(&rig);
	struct lkvfence_abort abort;
	uint32_t i;

	set_param("revoke_timeout_ms", 600000);
	bind_loop(f, 1, qp);
	begin_many(generations, 0, 1, LKVFENCE_POLICY_REVOKE);
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	for (i = 0; i < MANY; i++) {
		abort = (struct lkvfence_abort){
			.generation = generations[i],
			.policy = LKVFENCE_POLICY_REVOKE,
			.timeout_ns = 1000 * MS,
		};
		need(!lkvfence_abort(f, &abort), "ABORT");
	}
	gives(come_back(MANY, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT,
			LKVFENCE_REASON_ABORTED),
	      MANY, "their QP is gone: all come back tainted");
	put_params_back();
	stat = stat_of(f);
	check(stat.sources_lost == before.sources_lost + 1 && !stat.slots_taken &&
	      adds_up(&stat), "no slot is lost");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
}

static void of_many(void)
{
	struct lkvfence_stat before = stat_of(f), stat;
	struct lkvfence_event e;
	struct ibv_qp *qps[SOURCES];
	uint64_t generation;
	uint32_t i, told = 0;

	for (i = 0; i < SOURCES; i++) {
		qps[i] = rig_loop(&rig);
		bind_loop(f, i + 1, qps[i]);
	}
	generation = begin(f, 1, 0, 1, SOURCES);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
	      "a transfer with %u sources is revoked", SOURCES);
	while ((e = event(f)).type == LKVFENCE_EVENT_REVOKE)
		told |= 1U << e.tag;
	gives(told, 0xe, "each source's revocation is told first");
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "it is released as revoked");
	for (i = 0; i < SOURCES; i++) {
		gives(state_of(qps[i]), IBV_QPS_ERR, "QP %u is in ERR", i);
		gives(lkvfence_unbind(f, i + 1), 0, "unbind");
		need(!ibv_destroy_qp(qps[i]), "ibv_destroy_qp");
	}
	stat = stat_of(f);
	gives((long)(stat.sources_revoked - before.sources_revoked), SOURCES,
	      "all are counted");
	gives(stat.slots_taken, 0, "no slot is lost");
}

int main(void)
{
	/* Only its QPs matter; its memory needn't be as large as the region. */
	rig_new(&rig, 1);
	f = region("many-leases", SLOTS);
	of_many();
	many();
	lost();
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
