// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Return: by generation and source, with proof or without. */
#include "rig.h"

static void test_L2_last_return_releases(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 6, .ranges = { { 0, 3 } }, .sources = { 1, 2 });
	const struct fence_transfer *t;

	abort_(r, g);
	forget_news(r);
	assert_int_equal(drained(r, g, 2), 0);
	assert_false(r->released);
	no_news(r);
	assert_int_equal(r->f.slots_taken, 3);
	r->now += 7;
	assert_int_equal(drained(r, g, 1), 0);
	assert_true(r->released);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(t->state, LKVFENCE_STATE_RELEASED);
	assert_int_equal(t->tag, 6);
	assert_int_equal(t->released_ns - t->ended_ns, 7);
	assert_int_equal(r->f.slots_taken, 0);
	assert_int_equal(r->f.counts.returns_drained, 2);
}

static void test_L4_failed_lease_is_still_out(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });

	abort_(r, g);
	assert_int_equal(failed(r, g, 1), 0);
	assert_false(r->released);
	assert_int_equal(drained(r, g, 2), 0);
	assert_false(r->released);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(r->f.slots_taken, 1);
	assert_int_equal(r->f.counts.returns_failed, 1);
	assert_int_equal(r->f.counts.returns_drained, 1);
}

/* Nor does it bring the deadline nearer, or move it. */
static void test_L4_failed_return_leaves_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 deadline;

	abort_(r, g);
	deadline = fence_next_deadline(&r->f);
	r->now += 10;
	assert_int_equal(failed(r, g, 1), 0);
	assert_int_equal(fence_next_deadline(&r->f), deadline);
}

static void test_L4_failed_before_the_end_holds_after_it(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(failed(r, g, 1), 0);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
}

/* Proof that comes after "failed" is a second return, which changes nothing. */
static void test_L5_drained_after_failed_is_a_duplicate(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	struct image before;

	abort_(r, g);
	forget_news(r);
	assert_int_equal(failed(r, g, 1), 0);
	before = image_of(r);
	assert_int_equal(drained(r, g, 1), -EALREADY);
	assert_false(r->released);
	must_be_unchanged(r, &before);
	no_news(r);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(r->f.counts.returns_duplicate, 1);
	assert_int_equal(r->f.counts.returns_drained, 0);
}

static void test_L5_second_return_is_counted_and_changes_nothing(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });

	abort_(r, g);
	forget_news(r);
	assert_int_equal(drained(r, g, 1), 0);
	/* Twice one source isn't once each of two. */
	assert_int_equal(drained(r, g, 1), -EALREADY);
	assert_int_equal(failed(r, g, 1), -EALREADY);
	assert_false(r->released);
	no_news(r);
	assert_int_equal(r->f.counts.returns_duplicate, 2);
	assert_int_equal(r->f.counts.returns_failed, 0);
	assert_int_equal(get(r, g)->unproven, 1);
}

static void test_L5_released_generation_is_stale(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 next;

	abort_(r, g);
	assert_int_equal(drained(r, g, 1), 0);
	/* The same slot, tag and source: a late return must not hit these. */
	next = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, next);
	assert_int_equal(drained(r, g, 1), -ESTALE);
	assert_int_equal(failed(r, g, 1), -ESTALE);
	assert_false(r->released);
	assert_int_equal(r->f.counts.returns_stale, 2);
	assert_int_equal(get(r, next)->unproven, 1);
}

/* A generation between two of this region was given to another one. */
static void test_L5_generation_of_another_region_is_stale(void **state)
{
	struct rig *r = *state;
	u64 g;

	begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	g = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	assert_int_equal(drained(r, g - 1, 1), -ESTALE);
	assert_int_equal(r->f.counts.returns_stale, 1);
}

/* What was issued before the region was made is in no region any more. */
static void test_L5_generation_from_before_the_region_is_stale(void **state)
{
	struct rig *r = *state;

	r->f.last_generation = 50;
	assert_int_equal(drained(r, 50, 1), -ESTALE);
	assert_int_equal(drained(r, 51, 1), -ENOENT);
	assert_int_equal(r->f.counts.returns_stale, 1);
	assert_int_equal(r->f.counts.returns_unknown, 1);
}

static void test_L5_generation_never_issued_is_unknown(void **state)
{
	struct rig *r = *state;
	u64 g;

	assert_int_equal(drained(r, 1, 1), -ENOENT);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	assert_int_equal(drained(r, g + 1, 1), -ENOENT);
	assert_int_equal(drained(r, U64_MAX, 1), -ENOENT);
	assert_int_equal(drained(r, 0, 1), -ENOENT);
	assert_int_equal(r->f.counts.returns_unknown, 4);
	assert_int_equal(r->f.counts.returns_stale, 0);
}

static void test_L5_source_without_lease_is_unknown(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 2 });

	abort_(r, a);
	abort_(r, b);
	assert_int_equal(drained(r, a, 2), -ENOENT);
	assert_int_equal(drained(r, b, 1), -ENOENT);
	assert_int_equal(drained(r, b, 0), -ENOENT);
	assert_int_equal(r->f.counts.returns_unknown, 3);
	assert_int_equal(r->f.transfers_alive, 2);
}

/* A return before the abort counts: the lease was there from the beginning. */
static void test_L5_early_return_counts(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2, 3 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_false(r->released);
	assert_int_equal(failed(r, g, 2), 0);
	assert_int_equal(r->f.counts.returns_early, 2);
	abort_(r, g);
	assert_int_equal(drained(r, g, 1), -EALREADY);
	assert_int_equal(drained(r, g, 3), 0);
	assert_int_equal(r->f.counts.returns_early, 2);
	assert_int_equal(r->f.counts.returns_drained, 2);
	assert_int_equal(r->f.counts.returns_failed, 1);
	assert_int_equal(get(r, g)->unproven, 1);
}

/* All leases are back before the end, but the end has not come. */
static void test_L2_early_returns_alone_release_nothing(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_false(r->released);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(r->f.slots_taken, 1);
	no_news(r);
}

/* The owner of the memory speaks, not the source: that is no second return. */
static void test_L5_revoked_after_failed_counts(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	const struct fence_transfer *t;

	assert_int_equal(failed(r, g, 1), 0);
	assert_int_equal(drained(r, g, 1), -EALREADY);
	abort_(r, g);
	assert_int_equal(drained(r, g, 2), 0);
	assert_false(r->released);
	forget_news(r);
	assert_int_equal(revoked(r, g, 1, WINDOW), 0);
	assert_true(r->released);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(r->f.counts.returns_failed, 1);
	assert_int_equal(r->f.counts.returns_revoked, 1);
	assert_int_equal(r->f.counts.returns_drained, 1);
	assert_int_equal(r->f.counts.returns_duplicate, 1);
	/* Both came of one lease, and one of them before the end. */
	assert_int_equal(r->f.counts.returns_early, 1);
}

/* Once is enough, by whomever, and what is proven stays as it was proven. */
static void test_L5_what_is_proven_is_not_revoked(void **state)
{
	static const u32 first[] = { CQE, WINDOW };
	struct rig *r = *state;

	for (u32 i = 0; i < 2; i++) {
		u32 was = i ? LKVFENCE_STATUS_REVOKED : LKVFENCE_STATUS_DRAINED;
		u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
		struct fence_counts before;

		assert_int_equal(give(r, g, 1, was, first[i]), 0);
		before = r->f.counts;
		assert_int_equal(revoked(r, g, 1, FLUSHED), -EALREADY);
		assert_int_equal(drained(r, g, 1), -EALREADY);
		assert_int_equal(failed(r, g, 1), -EALREADY);
		before.returns_duplicate += 3;
		assert_memory_equal(&before, &r->f.counts, sizeof(before));
		assert_int_equal(get(r, g)->weakest, first[i]);
		assert_int_equal(get(r, g)->unproven, 1);
		assert_int_equal(drained(r, g, 2), 0);
		assert_int_equal(finish(r, g), 0);
	}
}

static void test_L5_revoked_names_generation_and_source(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(revoked(r, g, 2, WINDOW), -ENOENT);
	assert_int_equal(revoked(r, g + 1, 1, WINDOW), -ENOENT);
	assert_int_equal(revoked(r, g - 1, 1, WINDOW), -ESTALE);
	assert_int_equal(r->f.counts.returns_unknown, 2);
	assert_int_equal(r->f.counts.returns_stale, 1);
	assert_int_equal(r->f.counts.returns_revoked, 0);
	assert_int_equal(get(r, g)->unproven, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L2_last_return_releases),
		TEST(test_L4_failed_lease_is_still_out),
		TEST(test_L4_failed_return_leaves_the_deadline),
		TEST(test_L4_failed_before_the_end_holds_after_it),
		TEST(test_L5_drained_after_failed_is_a_duplicate),
		TEST(test_L5_second_return_is_counted_and_changes_nothing),
		TEST(test_L5_released_generation_is_stale),
		TEST(test_L5_generation_of_another_region_is_stale),
		TEST(test_L5_generation_from_before_the_region_is_stale),
		TEST(test_L5_generation_never_issued_is_unknown),
		TEST(test_L5_source_without_lease_is_unknown),
		TEST(test_L5_early_return_counts),
		TEST(test_L2_early_returns_alone_release_nothing),
		TEST(test_L5_revoked_after_failed_counts),
		TEST(test_L5_what_is_proven_is_not_revoked),
		TEST(test_L5_revoked_names_generation_and_source),
	};

	return RUN(tests);
}
