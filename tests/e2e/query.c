// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* QUERY finds an unreleased transfer in four ways, and walks all of them. */
#include "e2e.h"

static int by(struct lkvfence *f, uint32_t how, uint64_t key, uint64_t *found)
{
	struct lkvfence_query q = { .by = how };
	int err;

	if (how == LKVFENCE_QUERY_TAG)
		q.tag = key;
	else if (how == LKVFENCE_QUERY_SLOT)
		q.slot = key;
	else
		q.generation = key;
	err = lkvfence_query(f, &q);
	*found = err ? 0 : q.generation;
	return err;
}

static void finds(struct lkvfence *f, uint64_t *g)
{
	uint64_t found, walk = 0;
	int i;

	gives(by(f, LKVFENCE_QUERY_GENERATION, g[1], &found), 0, "by generation");
	check(found == g[1], "it is the right one");
	gives(by(f, LKVFENCE_QUERY_GENERATION, g[4], &found), -ESTALE, "a released one");
	gives(by(f, LKVFENCE_QUERY_GENERATION, g[4] + 1, &found), -ENOENT,
	      "one that never was");
	gives(by(f, LKVFENCE_QUERY_TAG, 2, &found), 0, "by tag");
	check(found == g[2], "it is the right one");
	gives(by(f, LKVFENCE_QUERY_TAG, 3, &found), -ENOENT, "a tag that has ended");
	gives(by(f, LKVFENCE_QUERY_TAG, 77, &found), -ENOENT, "a tag that never was");
	gives(by(f, LKVFENCE_QUERY_SLOT, 39, &found), 0, "by slot");
	check(found == g[3], "it is the right one, although it has ended");
	gives(by(f, LKVFENCE_QUERY_SLOT, 63, &found), -ENOENT, "a free slot");
	gives(by(f, LKVFENCE_QUERY_SLOT, 40, &found), -ENOENT, "a slot that was freed");
	gives(by(f, LKVFENCE_QUERY_SLOT, 64, &found), -ERANGE, "no such slot");

	for (i = 0; i < 4; i++) {
		gives(by(f, LKVFENCE_QUERY_NEXT, walk, &walk), 0, "the next one");
		check(walk == g[i], "in order of generation");
	}
	gives(by(f, LKVFENCE_QUERY_NEXT, walk, &walk), -ENOENT, "behind the last");
	gives(by(f, LKVFENCE_QUERY_NEXT, g[1] - 1, &walk), 0,
	      "from a number that is no generation");
	check(walk == g[1], "the next above it");
	gives(by(f, LKVFENCE_QUERY_NEXT, UINT64_MAX, &walk), -ENOENT,
	      "from the highest number");
}

/* More is there than there is room for. */
static void rooms(struct lkvfence *f)
{
	struct lkvfence_range ranges[3] = { { 0 } }, wanted[2] = { { 50, 2 }, { 54, 3 } };
	struct lkvfence_lease leases[3] = { { 0 } };
	struct lkvfence_begin b = want(60, 0, 0, 3);
	struct lkvfence_query q = { 0 };

	b.ranges = (uintptr_t)wanted;
	b.nr_ranges = 2;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(!lkvfence_failed(f, b.generation, 2), "RETURN");
	need(!lkvfence_revoked(f, b.generation, 3, LKVFENCE_EVIDENCE_MW_INVALIDATED),
	     "RETURN");
	q.generation = b.generation;
	gives(lkvfence_query(f, &q), 0, "room for nothing");
	check(q.nr_ranges == 2 && q.nr_leases == 3, "it says how many there are");
	q.ranges = (uintptr_t)ranges;
	q.leases = (uintptr_t)leases;
	q.nr_ranges = 1;
	q.nr_leases = 2;
	gives(lkvfence_query(f, &q), 0, "room for one range, two leases");
	check(q.nr_ranges == 2 && q.nr_leases == 3 && ranges[0].first == 50 &&
	      !ranges[1].count && leases[1].source == 2 && !leases[2].state,
	      "filled as far as it goes");
	q.nr_ranges = 3;
	q.nr_leases = 3;
	gives(lkvfence_query(f, &q), 0, "room for more than there is");
	check(ranges[1].first == 54 && ranges[1].count == 3 && !ranges[2].count,
	      "all ranges");
	check(leases[0].state == LKVFENCE_LEASE_OUT &&
	      leases[1].state == LKVFENCE_LEASE_FAILED && !leases[1].evidence &&
	      leases[2].state == LKVFENCE_LEASE_REVOKED &&
	      leases[2].evidence == LKVFENCE_EVIDENCE_MW_INVALIDATED,
	      "all leases, with state and evidence");
	gives(q.leases_out, 2, "two are without proof");
	abort_with(f, b.generation, LKVFENCE_POLICY_TAINT, 10);
	gives(event(f).generation, b.generation, "its deadline");
}

int main(void)
{
	struct lkvfence *f = region("query", 64), *other = region("query", 64);
	struct lkvfence_stat before;
	struct lkvfence_query q;
	uint64_t g[5];
	int i;

	for (i = 0; i < 5; i++)
		g[i] = begin(f, i, 10 * i, 10, 1);
	need(!lkvfence_abort_generation(f, g[3]), "ABORT");
	need(!drained(f, g[4], 1) && !lkvfence_release(f, g[4]), "RELEASE");
	before = stat_of(f);
	finds(f, g);
	finds(other, g);
	check(query(f, g[0]).flags == LKVFENCE_TRANSFER_MINE, "mine");
	gives(query(other, g[0]).flags, 0, "another handle's");
	unchanged(f, &before, "looking has changed nothing");

	rooms(f);
	lkvfence_close(f);
	q = query(other, g[0]);
	check(q.flags == LKVFENCE_TRANSFER_ORPHANED && q.state == LKVFENCE_STATE_ENDED &&
	      q.reason == LKVFENCE_REASON_ORPHANED, "nobody's any more");
	clear(other);
	lkvfence_close(other);
	return done();
}
