// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* RETURN gives leases back in bulk; each item stands for itself. */
#include "e2e.h"

static struct lkvfence_return_item item(uint64_t generation, uint32_t source,
					uint16_t status, uint16_t evidence)
{
	return (struct lkvfence_return_item){
		.generation = generation,
		.source = source,
		.status = status,
		.evidence = evidence,
		.result = 12345,
		.released = 12345,
	};
}

static void mixed(struct lkvfence *f)
{
	uint64_t a = begin(f, 1, 0, 8, 3), b = hold(f, 2, 8, 8, 1, 0, 0);
	struct lkvfence_return_item items[] = {
		item(a, 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND),
		item(a, 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND),
		item(a, 9, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND),
		item(b + 1000000, 1, LKVFENCE_STATUS_DRAINED,
		     LKVFENCE_EVIDENCE_IN_BAND),
		item(a, 2, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE),
		item(b, 1, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_QP_DESTROYED),
		item(b, 1, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_QP_DESTROYED),
		item(a, 3, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_NONE),
	};
	static const int results[] = {
		0, -EALREADY, -ENOENT, -ENOENT, 0, 0, -ESTALE, -EINVAL,
	};
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	unsigned int i;

	gives(lkvfence_return(f, items, ARRAY_SIZE(items)), 3,
	      "three of eight items are accepted");
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		gives(items[i].result, results[i], "item %u", i);
		gives(items[i].released, i == 5, "item %u released %s", i,
		      i == 5 ? "the transfer" : "nothing");
	}
	stat = stat_of(f);
	check(stat.returns_drained == 1 && stat.returns_failed == 1 &&
	      stat.returns_revoked == 1 && stat.returns_early == 2 && stat.returns_stale == 1 &&
	      stat.returns_unknown == 2 && stat.returns_duplicate == 1,
	      "each is counted by what it was");
	e = event(f);
	check(e.generation == b && e.outcome == LKVFENCE_OUTCOME_REVOKED &&
	      e.evidence == LKVFENCE_EVIDENCE_QP_DESTROYED,
	      "access was taken away: revoked");
	gives(query(f, a).leases_out, 2, "a failed lease is still out");
}

/* Whom evidence is from: bits 1 << status. */
static const uint32_t statuses_of[LKVFENCE_NR_EVIDENCE] = {
	[LKVFENCE_EVIDENCE_NONE] = 1 << LKVFENCE_STATUS_FAILED,
	[LKVFENCE_EVIDENCE_SUCCESS_CQE] = 1 << LKVFENCE_STATUS_DRAINED,
	[LKVFENCE_EVIDENCE_IN_BAND] = 1 << LKVFENCE_STATUS_DRAINED,
	[LKVFENCE_EVIDENCE_RQ_FLUSHED] = 1 << LKVFENCE_STATUS_REVOKED,
	[LKVFENCE_EVIDENCE_MW_INVALIDATED] = 1 << LKVFENCE_STATUS_REVOKED,
	[LKVFENCE_EVIDENCE_QP_DESTROYED] = 1 << LKVFENCE_STATUS_REVOKED,
	[LKVFENCE_EVIDENCE_MR_DEREGISTERED] = 1 << LKVFENCE_STATUS_REVOKED,
};

static void pair(struct lkvfence *f, uint64_t g, uint32_t source, uint16_t status,
		 uint16_t what)
{
	bool good = what < LKVFENCE_NR_EVIDENCE && statuses_of[what] & 1U << status;
	struct lkvfence_return_item i = item(g, source, status, what);
	struct lkvfence_stat before;

	need(!lkvfence_take(f, g, source), "TAKE");
	before = stat_of(f);
	gives(lkvfence_return(f, &i, 1), good, "status %u, evidence %s (%u)", status,
	      lkvfence_evidence_name(what), what);
	gives(i.result, good ? 0 : -EINVAL, "its result");
	if (!good)
		unchanged(f, &before, "nothing has changed");
}

/* All pairs of status and evidence: which are accepted. */
static void evidence(struct lkvfence *f)
{
	uint64_t g = begin(f, 3, 16, 8, 0);
	uint32_t source = 0, what, status;

	for (status = 0; status <= LKVFENCE_STATUS_REVOKED + 1; status++) {
		for (what = 0; what <= LKVFENCE_NR_EVIDENCE; what++)
			pair(f, g, ++source, status, what);
		pair(f, g, ++source, status, UINT16_MAX);
	}
	/* The highest status, and bits that another type would have lost. */
	pair(f, g, ++source, 31, LKVFENCE_EVIDENCE_IN_BAND);
	pair(f, g, ++source, LKVFENCE_STATUS_DRAINED, 256 + LKVFENCE_EVIDENCE_IN_BAND);
}

static void weakest(struct lkvfence *f)
{
	uint64_t g = hold(f, 4, 24, 8, 3, 0, 0);
	struct lkvfence_event e;

	lkvfence_revoked(f, g, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED);
	lkvfence_drained(f, g, 2, LKVFENCE_EVIDENCE_IN_BAND);
	lkvfence_revoked(f, g, 3, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	e = event(f);
	check(e.generation == g && e.evidence == LKVFENCE_EVIDENCE_IN_BAND,
	      "the weakest evidence is told, whatever the order");
	gives(e.outcome, LKVFENCE_OUTCOME_REVOKED, "one lease was revoked: so is the transfer");
}

static void bulk(struct lkvfence *f)
{
	static struct lkvfence_return_item items[65536];
	uint64_t g = hold(f, 5, 32, 8, 4096, 0, 0);
	uint32_t i, bad = 0;

	for (i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = item(g, i / 16 + 1, LKVFENCE_STATUS_DRAINED,
				LKVFENCE_EVIDENCE_SUCCESS_CQE);
	gives(lkvfence_return(f, items, ARRAY_SIZE(items)), 4096,
	      "65536 items, each lease 16 times");
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		int result = i % 16 ? -EALREADY : 0;

		if (i / 16 == 4095 && i % 16)
			result = -ESTALE;
		bad += items[i].result != result;
	}
	gives(bad, 0, "each item has its own result");
	gives(items[65520].released, 1, "the last lease released it");
	gives(event(f).generation, g, "told by an event");
}

int main(void)
{
	struct lkvfence *f = region("return", 64);

	mixed(f);
	evidence(f);
	weakest(f);
	bulk(f);
	clear(f);
	lkvfence_close(f);
	return done();
}
