// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A region that accepts only some evidence as proof: other evidence is refused
 * (EOPNOTSUPP), changes nothing, and is counted. What it accepts works as ever,
 * and so do deadlines.
 */
#include "e2e.h"

#define ACCEPTS	(1 << LKVFENCE_EVIDENCE_IN_BAND | 1 << LKVFENCE_EVIDENCE_MR_DEREGISTERED)

static int give(struct lkvfence *f, uint64_t g, uint32_t source, uint32_t evidence)
{
	if (evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE ||
	    evidence == LKVFENCE_EVIDENCE_IN_BAND)
		return lkvfence_drained(f, g, source, evidence);
	return lkvfence_revoked(f, g, source, evidence);
}

static void each(struct lkvfence *f)
{
	static const uint32_t returned[] = {
		LKVFENCE_EVIDENCE_SUCCESS_CQE, LKVFENCE_EVIDENCE_IN_BAND,
		LKVFENCE_EVIDENCE_RQ_FLUSHED, LKVFENCE_EVIDENCE_MW_INVALIDATED,
		LKVFENCE_EVIDENCE_QP_DESTROYED, LKVFENCE_EVIDENCE_MR_DEREGISTERED,
	};
	uint64_t g = begin(f, 1, 0, 8, 0);
	struct lkvfence_stat before;
	struct lkvfence_query q;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(returned); i++) {
		const char *name = lkvfence_evidence_name(returned[i]);
		bool good = ACCEPTS & 1 << returned[i];

		need(!lkvfence_take(f, g, i), "TAKE");
		before = stat_of(f);
		gives(give(f, g, i, returned[i]), good ? 0 : -EOPNOTSUPP, "%s", name);
		if (good)
			continue;
		counted(f, &before, returns_unaccepted, 1,
			"%s: that is counted, and nothing has changed", name);
		/* It is no return: another one may follow. */
		gives(give(f, g, i, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
		      "%s: the lease can still be proven quiet", name);
	}
	q = query(f, g);
	gives(q.leases_out, 0, "all leases have proof now");
	gives(lkvfence_release(f, g), 0, "RELEASE");
}

/* A failed lease, and one that comes back with evidence of which nothing is said. */
static void order(struct lkvfence *f)
{
	uint64_t g = hold(f, 2, 8, 8, 2, LKVFENCE_POLICY_QUARANTINE, 60000);
	struct lkvfence_stat before;
	struct lkvfence_event e;

	gives(lkvfence_failed(f, g, 1), 0, "failed needs no evidence");
	before = stat_of(f);
	gives(revoked(f, g, 1), -EOPNOTSUPP, "revoked, on ground that isn't accepted");
	counted(f, &before, returns_unaccepted, 1, "nothing has changed");
	gives(drained(f, g, 1), -EALREADY, "given back before: whatever the evidence");
	gives(drained(f, g, 9), -ENOENT, "no such lease: whatever the evidence");
	gives(lkvfence_drained(f, g, 2, LKVFENCE_EVIDENCE_TIMEOUT), -EINVAL,
	      "what is no evidence isn't even that");
	gives(lkvfence_drained(f, g, 2, LKVFENCE_EVIDENCE_IN_BAND), 0, "the other lease");
	gives(lkvfence_revoked(f, g, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "and the failed one, on ground that is");
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_REVOKED &&
	      e.evidence == LKVFENCE_EVIDENCE_IN_BAND, "released as revoked");
	gives(drained(f, g, 1), -ESTALE, "then it is stale: whatever the evidence");
}

static void deadline(struct lkvfence *f)
{
	uint64_t g = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_TAINT, 2000);
	struct lkvfence_event e;

	gives(drained(f, g, 1), -EOPNOTSUPP, "no proof");
	gives(stat_of(f).slots_held, 8, "the slots are held");
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_TIMEOUT &&
	      e.flags == LKVFENCE_EVENT_TAINTED && e.held_ns >= 2000 * MS,
	      "until the deadline, and tainted: no region accepts a timeout as proof");
}

int main(void)
{
	struct lkvfence *f = region_of("accepts", 64, ACCEPTS);

	each(f);
	order(f);
	deadline(f);
	lkvfence_close(f);
	return done();
}
