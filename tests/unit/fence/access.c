// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A source's access is taken away: what becomes of its leases and transfers. */
#include "rig.h"

#define NR	4	/* transfers of source 1, one slot each */
#define BATCH	64	/* leases that kmod/revoke.c sees to at a time */

#define ENDED		FENCE_NEWS_ENDED
#define RELEASED	FENCE_NEWS_RELEASED
#define REVOKING	FENCE_NEWS_REVOKING

static void begin_all(struct rig *r, u64 g[NR], u32 policy)
{
	bind_(r, 1);
	for (u32 i = 0; i < NR; i++)
		g[i] = begin(r, .tag = i, .policy = policy, .ranges = { { i, 1 } },
			     .sources = { 1 });
}

/* How many of the news since the last time are these, of these transfers. */
static u32 nr_news(const struct rig *r, const u64 g[NR], u32 bits)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_news; i++)
		for (u32 j = 0; j < NR; j++)
			n += r->news[i].t.generation == g[j] && r->news[i].bits == bits;
	return n;
}

/*
 * fence_source_end()
 */

static void test_L6b_transfers_of_a_revoked_source_end(void **state)
{
	struct rig *r = *state;
	u64 waiting, held, proven, other;
	u64 start = r->now;

	bind_(r, 1);
	waiting = begin(r, .tag = 1, .ttl = 20, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	held = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	proven = begin(r, .tag = 3, .ranges = { { 2, 1 } }, .sources = { 1, 2 });
	other = begin(r, .tag = 4, .ranges = { { 3, 1 } }, .sources = { 2 });
	abort_for(r, held, LKVFENCE_REASON_PEER, TAINT, 300);
	assert_int_equal(drained(r, proven, 1), 0);
	forget_news(r);
	r->now += 5;
	assert_true(revoke(r, 1));
	no_news(r);
	assert_int_equal(end_some(r, 1, 100), 2);
	only_news(r, waiting, ENDED);
	assert_int_equal(get(r, waiting)->reason, LKVFENCE_REASON_REVOKED);
	assert_int_equal(get(r, waiting)->state, LKVFENCE_STATE_ENDED);
	/* Held like any other, for the default; its time to live is over. */
	assert_int_equal(fence_next_deadline(&r->f), r->now + DEFAULT_NS);
	assert_int_equal(take(r, waiting, 3), -ECANCELED);
	assert_null(fence_find_tag(&r->f, 1));
	/* What is over already stays as it ended. */
	assert_int_equal(get(r, held)->reason, LKVFENCE_REASON_PEER);
	assert_int_equal(get(r, held)->deadline_ns, start + 300);
	/* Nothing of these is at stake. */
	assert_int_equal(get(r, proven)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(get(r, other)->state, LKVFENCE_STATE_WAITING);
	/* For another's sake: none of them is revoked for its own. */
	assert_int_equal(r->f.counts.revokes, 0);
	assert_false(get(r, waiting)->tried);
}

/* A failed lease is without proof as much as one that is out. */
static void test_L4_transfer_of_a_failed_lease_ends(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	assert_int_equal(failed(r, g, 1), 0);
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, 8), 1);
	only_news(r, g, ENDED);
}

static void test_end_in_batches(void **state)
{
	struct rig *r = *state;
	u64 g[NR];

	begin_all(r, g, TAINT);
	assert_true(revoke(r, 1));
	for (u32 i = 0; i < NR; i++) {
		assert_int_equal(end_some(r, 1, 1), 1);
		assert_int_equal(nr_news(r, g, ENDED), i + 1);
		assert_int_equal(r->f.transfers_held, i + 1);
	}
	/* That was all, and there is no end of it twice. */
	assert_int_equal(end_some(r, 1, 1), 0);
	assert_int_equal(end_some(r, 1, 8), 0);
	assert_int_equal(r->nr_news, NR);
	assert_int_equal(source_of(r, 1)->nr_leases, NR);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKING);
}

/* Between two batches things go on. */
static void test_end_and_what_comes_between(void **state)
{
	struct rig *r = *state;
	u64 g[NR], last = 0;

	begin_all(r, g, TAINT);
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, 0), 0);
	no_news(r);
	assert_int_equal(end_some(r, 1, 1), 1);
	assert_int_equal(r->nr_news, 1);
	/* Of three that have not ended, one drains, one is aborted. */
	for (u32 i = 0, nr = 0; i < NR; i++) {
		if (get(r, g[i])->state != LKVFENCE_STATE_WAITING)
			continue;
		last = g[i];
		if (nr == 0)
			assert_int_equal(drained(r, g[i], 1), 0);
		if (nr == 1)
			abort_for(r, g[i], LKVFENCE_REASON_PEER, TAINT, 0);
		nr++;
	}
	forget_news(r);
	/* The one that is ended is looked at, and left. */
	assert_int_equal(end_some(r, 1, 8), 2);
	assert_int_equal(only_news(r, last, ENDED)->reason, LKVFENCE_REASON_REVOKED);
	assert_int_equal(source_of(r, 1)->nr_leases, 3);
	quiet(r, 1, SETTLED);
	assert_int_equal(nr_news(r, g, RELEASED), 3);
	assert_int_equal(r->f.transfers_alive, 1);
}

/* A transfer that is to be revoked at once has other sources revoked with it. */
static void test_end_begins_other_revocations(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	bind_(r, 2);
	g = begin(r, .policy = REVOKE_NOW, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	assert_true(revoke(r, 1));
	assert_int_equal(source_of(r, 2)->state, FENCE_SOURCE_BOUND);
	assert_int_equal(end_some(r, 1, 8), 1);
	only_news(r, g, ENDED | REVOKING);
	assert_int_equal(source_of(r, 2)->state, FENCE_SOURCE_REVOKING);
}

/*
 * fence_source_quiet()
 */

static void test_quiet_revokes_leases(void **state)
{
	struct rig *r = *state;
	const struct fence_transfer *t;
	u64 alone, both;

	bind_(r, 1);
	alone = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	both = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1, 2 });
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, 8), 2);
	forget_news(r);
	r->now += 3;
	assert_int_equal(quiet_some(r, 1, SETTLED, 8), 2);
	t = only_news(r, alone, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(t->weakest, SETTLED);
	assert_int_equal(t->reason, LKVFENCE_REASON_REVOKED);
	assert_int_equal(t->released_ns - t->ended_ns, 3);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKED);
	assert_int_equal(r->f.counts.sources_revoked, 1);
	assert_int_equal(r->f.counts.evidence[SETTLED], 2);
	/* The other's other lease holds it. */
	assert_int_equal(get(r, both)->unproven, 1);
	assert_int_equal(drained(r, both, 1), -EALREADY);
	assert_int_equal(revoked(r, both, 1, WINDOW), -EALREADY);
	assert_int_equal(failed(r, both, 1), -EALREADY);
	assert_int_equal(drained(r, both, 2), 0);
	t = only_news(r, both, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(t->weakest, SETTLED);
}

/* A lease of it that was proven before stays as it was proven. */
static void test_quiet_leaves_proven_leases(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	assert_int_equal(drained(r, g, 1), 0);
	abort_(r, g);
	assert_true(revoke(r, 1));
	quiet(r, 1, SETTLED);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(get(r, g)->weakest, CQE);
	assert_int_equal(drained(r, g, 2), 0);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_DRAINED], 1);
	/* It was revoked, though it had nothing left. */
	assert_int_equal(r->f.counts.sources_revoked, 1);
}

/* Leases from before it was bound are another matter. */
static void test_quiet_leaves_leases_from_before(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	bind_(r, 1);
	abort_(r, g);
	assert_true(revoke(r, 1));
	quiet(r, 1, DESTROYED);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
}

static void test_quiet_in_batches(void **state)
{
	struct rig *r = *state;
	u64 g[NR];

	begin_all(r, g, TAINT);
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, NR), NR);
	forget_news(r);
	assert_int_equal(quiet_some(r, 1, FLUSHED, 0), 0);
	assert_int_equal(quiet_some(r, 1, FLUSHED, 3), 3);
	assert_int_equal(nr_news(r, g, RELEASED), 3);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(r->f.counts.sources_revoked, 0);
	assert_int_equal(quiet_some(r, 1, FLUSHED, 1), 1);
	assert_int_equal(r->f.transfers_alive, 0);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKED);
	assert_int_equal(r->f.counts.sources_revoked, 1);
	/* And once more, for a caller who takes all steps again. */
	assert_int_equal(end_some(r, 1, 8), 0);
	assert_int_equal(quiet_some(r, 1, FLUSHED, 8), 0);
	assert_int_equal(r->f.counts.sources_revoked, 1);
	assert_int_equal(nr_news(r, g, RELEASED), NR);
}

/*
 * As many leases as the module takes at a time. One that is orphaned is unbound
 * behind its last lease, before it is asked for more.
 */
static void test_quiet_of_exactly_a_batch(void **state)
{
	struct rig *r = *state;

	r->max_transfers = BATCH;
	bind_(r, 1);
	for (u32 i = 0; i < BATCH; i++)
		begin(r, .tag = i, .ranges = { { i, 1 } }, .sources = { 1 });
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, BATCH), BATCH);
	forget_news(r);
	r->f.source_idle = false;
	assert_int_equal(quiet_some(r, 1, SETTLED, BATCH), BATCH);
	assert_int_equal(r->nr_news, BATCH);
	assert_true(r->f.source_idle);
	assert_int_equal(unbind(r, 1), 0);
	assert_int_equal(r->f.counts.sources_revoked, 1);
}

/* Released by their deadlines in between: they are nobody's any more. */
static void test_L8_timeout_between_batches(void **state)
{
	struct rig *r = *state;
	u64 g[NR];

	begin_all(r, g, TAINT);
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, NR), NR);
	abort_for(r, g[0], LKVFENCE_REASON_ABORTED, TAINT, 500);
	forget_news(r);
	assert_int_equal(at(r, r->now + DEFAULT_NS), NR - 1);
	assert_int_equal(nr_news(r, g, RELEASED), NR - 1);
	assert_int_equal(source_of(r, 1)->nr_leases, 1);
	assert_int_equal(quiet_some(r, 1, SETTLED, 8), 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], NR - 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 1);
}

/* Two sources, one transfer: it takes both, on the weakest of the grounds. */
static void test_quiet_of_two_sources(void **state)
{
	struct rig *r = *state;
	const struct fence_transfer *t;
	u64 g;

	bind_(r, 1);
	bind_(r, 2);
	g = begin(r, .policy = REVOKE_NOW, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	abort_(r, g);
	forget_news(r);
	quiet(r, 2, DESTROYED);
	no_news(r);
	assert_true(get(r, g)->revoking);
	quiet(r, 1, FLUSHED);
	t = only_news(r, g, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(t->weakest, FLUSHED);
	assert_int_equal(r->f.counts.sources_revoked, 2);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(r->f.counts.revokes_failed, 0);
}

/* One is revoked for its own sake, another one goes with it. */
static void test_quiet_for_anothers_sake(void **state)
{
	struct rig *r = *state;
	u64 own, other;

	bind_(r, 1);
	own = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	other = begin(r, .tag = 2, .policy = QUARANTINE, .ranges = { { 1, 1 } },
		      .sources = { 1 });
	abort_(r, own);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(get(r, other)->state, LKVFENCE_STATE_WAITING);
	forget_news(r);
	assert_int_equal(end_some(r, 1, 8), 2);
	only_news(r, other, ENDED);
	assert_int_equal(get(r, other)->reason, LKVFENCE_REASON_REVOKED);
	quiet(r, 1, SETTLED);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 2);
	assert_int_equal(r->f.counts.revokes, 1);
}

/* It takes long, and the deadline of who went with it comes: that has its own time. */
static void test_deadline_of_who_went_with_it(void **state)
{
	struct rig *r = *state;
	u64 taint, ask;

	bind_(r, 1);
	taint = begin(r, .tag = 1, .policy = TAINT, .ranges = { { 0, 1 } }, .sources = { 1 });
	ask = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, 8), 2);
	forget_news(r);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 2);
	assert_int_equal(r->nr_news, 2);
	assert_int_equal(r->news[0].t.generation == taint ? r->news[0].bits :
			 r->news[1].bits, RELEASED);
	assert_true(get(r, ask)->revoking);
	assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS);
	assert_int_equal(r->f.counts.revokes, 1);
	quiet(r, 1, SETTLED);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L6b_transfers_of_a_revoked_source_end),
		TEST(test_L4_transfer_of_a_failed_lease_ends),
		TEST(test_end_in_batches),
		TEST(test_end_and_what_comes_between),
		TEST(test_end_begins_other_revocations),
		TEST(test_quiet_revokes_leases),
		TEST(test_quiet_leaves_proven_leases),
		TEST(test_quiet_leaves_leases_from_before),
		TEST(test_quiet_in_batches),
		TEST(test_quiet_of_exactly_a_batch),
		TEST(test_L8_timeout_between_batches),
		TEST(test_quiet_of_two_sources),
		TEST(test_quiet_for_anothers_sake),
		TEST(test_deadline_of_who_went_with_it),
	};

	return RUN(tests);
}
