// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Leases are counted by the evidence on which they count as quiet, once each;
 * leases that had none when their transfer was released, as TIMEOUT.
 */
#include "e2e.h"

static uint64_t all(const struct lkvfence_stat *stat)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < LKVFENCE_MAX_EVIDENCE; i++)
		sum += stat->evidence[i];
	return sum;
}

/* One lease of each class; only its counter grows. */
static void each(struct lkvfence *f)
{
	static const struct {
		uint32_t evidence;
		bool drains;
	} returned[] = {
		{ LKVFENCE_EVIDENCE_SUCCESS_CQE, true },
		{ LKVFENCE_EVIDENCE_IN_BAND, true },
		{ LKVFENCE_EVIDENCE_RQ_FLUSHED, false },
		{ LKVFENCE_EVIDENCE_MW_INVALIDATED, false },
		{ LKVFENCE_EVIDENCE_QP_DESTROYED, false },
		{ LKVFENCE_EVIDENCE_MR_DEREGISTERED, false },
	};
	uint64_t g = begin(f, 1, 0, 8, 0);
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(returned); i++) {
		uint32_t what = returned[i].evidence;
		const char *name = lkvfence_evidence_name(what);
		struct lkvfence_stat before = stat_of(f), after;
		int err;

		need(!lkvfence_take(f, g, i), "TAKE");
		err = returned[i].drains ? lkvfence_drained(f, g, i, what) :
					   lkvfence_revoked(f, g, i, what);
		need(!err, "RETURN");
		after = stat_of(f);
		gives(after.evidence[what] - before.evidence[what], 1, "%s is counted", name);
		gives(all(&after) - all(&before), 1, "%s: and nothing else", name);
		/* A second time it is no evidence of anything. */
		err = returned[i].drains ? lkvfence_drained(f, g, i, what) :
					   lkvfence_revoked(f, g, i, what);
		need(err == -EALREADY, "a second RETURN");
		counted(f, &after, returns_duplicate, 1, "%s: a duplicate isn't", name);
	}
	need(!lkvfence_release(f, g), "RELEASE");
	gives(stat_of(f).evidence[LKVFENCE_EVIDENCE_NONE], 0, "no lease has none");
}

static void no_leases(struct lkvfence *f)
{
	struct lkvfence_stat before = stat_of(f), after;

	need(!lkvfence_release(f, begin(f, 2, 0, 8, 0)), "RELEASE");
	after = stat_of(f);
	gives(all(&after) - all(&before), 0, "without leases there is nothing to count");
}

static void without_proof(struct lkvfence *f)
{
	uint64_t g = hold(f, 3, 8, 8, 4, LKVFENCE_POLICY_TAINT, 1000);
	struct lkvfence_stat before, after;
	struct lkvfence_event e;

	need(!drained(f, g, 1) && !lkvfence_failed(f, g, 2), "RETURN");
	before = stat_of(f);
	e = event(f);
	check(e.outcome == LKVFENCE_OUTCOME_TIMEOUT && e.leases_out == 3,
	      "a deadline, with three of four leases without proof");
	after = stat_of(f);
	gives(after.evidence[LKVFENCE_EVIDENCE_TIMEOUT] -
	      before.evidence[LKVFENCE_EVIDENCE_TIMEOUT], 3,
	      "these are counted, the failed one too");
	gives(all(&after) - all(&before), 3, "and nothing else");

	g = hold(f, 3, 8, 8, 2, LKVFENCE_POLICY_QUARANTINE, 10);
	need(event(f).type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	before = stat_of(f);
	gives(before.evidence[LKVFENCE_EVIDENCE_TIMEOUT], 3,
	      "a deadline that leads into quarantine is not counted");
	need(!lkvfence_force_release(f, g), "by force");
	after = stat_of(f);
	gives(after.evidence[LKVFENCE_EVIDENCE_TIMEOUT], 5, "what is let go of by force is");
}

int main(void)
{
	struct lkvfence *f = region("evidence-counted", 64);

	each(f);
	no_leases(f);
	without_proof(f);
	lkvfence_close(f);
	return done();
}
