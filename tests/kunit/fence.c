// SPDX-License-Identifier: GPL-2.0-only
/*
 * The laws, briefly, with the kernel's own trees, queues and bitmaps in place
 * of the user-space tests' shim. Every order of events is for tests/model.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "rig.h"

#define SLOTS		256
#define DEFAULT_NS	1000
#define MAX_NS		10000
#define TAINT		LKVFENCE_POLICY_TAINT
#define QUARANTINE	LKVFENCE_POLICY_QUARANTINE

static const struct fence_limits limits = {
	.default_ns	= DEFAULT_NS,
	.max_ns		= MAX_NS,
};

/* A transfer of one range, with leases for sources 1 to 4 where wanted. */
struct one {
	struct fence_transfer t;
	struct lkvfence_range range;
	struct fence_lease leases[4];
};

struct bench {
	struct fence f;
	struct fence_refusal why;
	u64 generation;
	bool released;
	unsigned long taken[BITS_TO_LONGS(SLOTS)];
	u64 owner[SLOTS];
};

static int bench_init(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	fence_init(&b->f, SLOTS, b->taken, b->owner);
	test->priv = b;
	return 0;
}

static struct one *make(struct kunit *test, u64 tag, u32 first, u32 count,
			u32 nr_sources)
{
	struct one *one = kunit_kzalloc(test, sizeof(*one), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, one);
	fence_transfer_init(&one->t);
	one->t.tag = tag;
	one->range = (struct lkvfence_range){ .first = first, .count = count };
	one->t.ranges = &one->range;
	one->t.nr_ranges = 1;
	for (i = 0; i < nr_sources; i++) {
		one->leases[i].source = i + 1;
		KUNIT_ASSERT_EQ(test, 0, fence_transfer_lease(&one->t, &one->leases[i]));
	}
	return one;
}

static int start(struct bench *b, struct one *one, u64 now)
{
	int err = fence_admit(&b->f, &one->t, U64_MAX, &b->why);

	if (!err)
		fence_begin(&b->f, &one->t, ++b->generation, now);
	return err;
}

static int give(struct bench *b, struct one *one, u32 source, u32 status, u64 now)
{
	return fence_return(&b->f, one->t.generation, source, status,
			    status == LKVFENCE_STATUS_DRAINED ? CQE : 0, now,
			    &b->released);
}

static int drain(struct bench *b, struct one *one, u32 source, u64 now)
{
	return give(b, one, source, LKVFENCE_STATUS_DRAINED, now);
}

/* The bits of the one news there is; 0 for none, or for another's. */
static u32 news_of(struct bench *b, struct one *one)
{
	u32 bits = 0;
	struct fence_transfer *t = fence_news(&b->f, &bits);

	return t == &one->t ? bits : 0;
}

static void L1_one_owner(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 10, 10, 1);
	struct one *c = make(test, 2, 0, 11, 1);

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, -EBUSY, start(b, c, 0));
	KUNIT_EXPECT_EQ(test, 10, b->why.slot);
	KUNIT_EXPECT_EQ(test, a->t.generation, b->why.generation);
	KUNIT_EXPECT_EQ(test, 10, b->f.slots_taken);
	KUNIT_EXPECT_PTR_EQ(test, NULL, fence_find_slot(&b->f, 0));
	KUNIT_EXPECT_PTR_EQ(test, &a->t, fence_find_slot(&b->f, 19));

	KUNIT_EXPECT_EQ(test, 0, drain(b, a, 1, 1));
	KUNIT_EXPECT_EQ(test, 0, fence_finish(&b->f, &a->t, 2));
	KUNIT_EXPECT_EQ(test, 0, start(b, c, 3));
}

static void L2_no_way_round(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, SLOTS, 2);

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, -EBUSY, fence_finish(&b->f, &a->t, 1));
	KUNIT_EXPECT_EQ(test, -EBUSY, fence_force(&b->f, &a->t, 1));
	KUNIT_EXPECT_EQ(test, 0, drain(b, a, 1, 1));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, TAINT, 100, &limits, 10);
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, 0, fence_expire(&b->f, &limits, 109, 10));
	KUNIT_EXPECT_EQ(test, SLOTS, b->f.slots_held);
	KUNIT_EXPECT_EQ(test, 0, drain(b, a, 2, 109));
	KUNIT_EXPECT_TRUE(test, b->released);
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_RELEASED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_DRAINED, a->t.outcome);
	KUNIT_EXPECT_EQ(test, 0, b->f.slots_taken);
	KUNIT_EXPECT_EQ(test, SLOTS, find_first_bit(b->taken, SLOTS));
}

static void L3_ended_means_ended(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 1, 1);
	struct fence_lease more = { .source = 9 }, late = { .source = 10 };

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, 0, fence_take(&b->f, &a->t, &more, 8, 1));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, TAINT, 0, &limits, 2);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fence_take(&b->f, &a->t, &late, 8, 3));
	KUNIT_EXPECT_EQ(test, 2, a->t.unproven);
}

static void L4_failed_is_not_drained(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 4, 1);

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, QUARANTINE, 0, &limits, 0);
	KUNIT_EXPECT_EQ(test, 0, give(b, a, 1, LKVFENCE_STATUS_FAILED, 1));
	KUNIT_EXPECT_EQ(test, 1, a->t.unproven);
	KUNIT_EXPECT_EQ(test, DEFAULT_NS, fence_next_deadline(&b->f));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, TAINT, 1, &limits, 2);
	KUNIT_EXPECT_EQ(test, DEFAULT_NS, fence_next_deadline(&b->f));
	KUNIT_EXPECT_EQ(test, QUARANTINE, a->t.policy);
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, TAINT, 5000, &limits, 2);
	KUNIT_EXPECT_EQ(test, 5002, fence_next_deadline(&b->f));
	KUNIT_EXPECT_EQ(test, 4, b->f.slots_held);
}

static void L5_the_generation_is_the_key(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 4, 2);
	struct fence_transfer *t;

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, drain(b, a, 3, 1));
	KUNIT_EXPECT_EQ(test, 0, drain(b, a, 1, 1));
	KUNIT_EXPECT_EQ(test, -EALREADY, drain(b, a, 1, 1));
	KUNIT_EXPECT_EQ(test, 1, a->t.unproven);
	KUNIT_EXPECT_EQ(test, 0, drain(b, a, 2, 1));
	KUNIT_EXPECT_EQ(test, 0, fence_finish(&b->f, &a->t, 2));
	KUNIT_EXPECT_EQ(test, -ESTALE, drain(b, a, 1, 3));
	KUNIT_EXPECT_EQ(test, -ENOENT, fence_lookup(&b->f, b->generation + 1, &t));
	KUNIT_EXPECT_EQ(test, -ENOENT, fence_lookup(&b->f, 0, &t));
	KUNIT_EXPECT_EQ(test, 1, b->f.counts.returns_duplicate);
	KUNIT_EXPECT_EQ(test, 1, b->f.counts.returns_stale);
}

static void L6_exactly_once(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 4, 1);

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_FAILED, 0, 0, &limits, 1);
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_PEER, 0, 0, &limits, 2);
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_FAILED, a->t.reason);
	KUNIT_EXPECT_EQ(test, 1, fence_expire(&b->f, &limits, DEFAULT_NS + 1, 10));
	KUNIT_EXPECT_EQ(test, 0, fence_expire(&b->f, &limits, U64_MAX - 1, 10));
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_RELEASED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, 0, news_of(b, a));
	KUNIT_EXPECT_EQ(test, 1, b->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT]);
}

static void L7_taint_is_told(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 4, 1), *c = make(test, 2, 4, 4, 1);

	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, 0, start(b, c, 0));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_FAILED, TAINT, 10, &limits, 0);
	fence_abort(&b->f, &c->t, LKVFENCE_REASON_FAILED, QUARANTINE, 20, &limits, 0);
	KUNIT_EXPECT_EQ(test, 2, fence_expire(&b->f, &limits, 20, 10));
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED | FENCE_NEWS_RELEASED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_TIMEOUT, a->t.outcome);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVIDENCE_TIMEOUT, a->t.weakest);
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED | FENCE_NEWS_QUARANTINED, news_of(b, c));
	KUNIT_EXPECT_EQ(test, 4, b->f.slots_quarantined);
	/* Proof that comes late is proof. */
	KUNIT_EXPECT_EQ(test, 0, drain(b, c, 1, 30));
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_DRAINED, c->t.outcome);
	KUNIT_EXPECT_EQ(test, 0, b->f.slots_quarantined);
}

static void L8_bounded(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 4, 0);
	struct fence_lease lease = { .source = 1 };

	a->t.ttl_ns = 100;
	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, U64_MAX, fence_next_deadline(&b->f));
	/* Its life begins with its first lease. */
	KUNIT_EXPECT_EQ(test, 0, fence_take(&b->f, &a->t, &lease, 8, 50));
	KUNIT_EXPECT_EQ(test, 150, fence_next_deadline(&b->f));
	KUNIT_EXPECT_EQ(test, 1, fence_expire(&b->f, &limits, 150, 10));
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_EXPIRED, a->t.reason);
	KUNIT_EXPECT_EQ(test, 150 + DEFAULT_NS, fence_next_deadline(&b->f));
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, 0, U32_MAX, &limits, 151);
	KUNIT_EXPECT_EQ(test, 150 + MAX_NS, fence_next_deadline(&b->f));
}

/* Access that is taken away: proof; and where it can't be, the deadline. */
static void L2_revoked(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one *a = make(test, 1, 0, 10, 2);
	struct one *c = make(test, 2, 10, 10, 1);
	struct one *late = make(test, 3, 20, 10, 1);
	struct fence_source one = {}, two = {};

	KUNIT_EXPECT_EQ(test, 0, fence_bind(&b->f, &two, 2));
	KUNIT_EXPECT_EQ(test, 0, fence_bind(&b->f, &one, 1));
	KUNIT_EXPECT_PTR_EQ(test, &one, fence_find_source(&b->f, 1));
	KUNIT_EXPECT_EQ(test, 0, start(b, a, 0));
	KUNIT_EXPECT_EQ(test, 0, start(b, c, 0));
	KUNIT_EXPECT_TRUE(test, fence_revocable(&a->t));
	KUNIT_EXPECT_EQ(test, -EBUSY, fence_unbind(&b->f, &one));

	/* Its sources give no more leases; others of theirs are ended. */
	fence_abort(&b->f, &a->t, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_REVOKE_NOW,
		    100, &limits, 1);
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED | FENCE_NEWS_REVOKING, news_of(b, a));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, start(b, late, 1));
	KUNIT_EXPECT_EQ(test, 2, fence_source_end(&b->f, &one, &limits, 2, 10));
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_ENDED, news_of(b, c));
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_REVOKED, c->t.reason);
	KUNIT_EXPECT_EQ(test, 1, fence_source_end(&b->f, &two, &limits, 2, 10));

	/* One is quiet, and the other can't be reached: only c is proven. */
	KUNIT_EXPECT_EQ(test, 2, fence_source_quiet(&b->f, &one,
						    LKVFENCE_EVIDENCE_QP_DESTROYED, 3, 10));
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_RELEASED, news_of(b, c));
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_REVOKED, c->t.outcome);
	KUNIT_EXPECT_EQ(test, 1, fence_source_lost(&b->f, &two, 10));
	KUNIT_EXPECT_FALSE(test, fence_revocable(&a->t));
	KUNIT_EXPECT_EQ(test, 101, fence_next_deadline(&b->f));
	KUNIT_EXPECT_EQ(test, 1, fence_expire(&b->f, &limits, 101, 10));
	KUNIT_EXPECT_EQ(test, FENCE_NEWS_RELEASED, news_of(b, a));
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_TIMEOUT, a->t.outcome);
	KUNIT_EXPECT_EQ(test, 0, b->f.slots_taken);
	KUNIT_EXPECT_EQ(test, 1, b->f.counts.revokes_failed);
	KUNIT_EXPECT_EQ(test, 0, fence_unbind(&b->f, &one));
	KUNIT_EXPECT_EQ(test, 0, fence_unbind(&b->f, &two));
	KUNIT_EXPECT_EQ(test, 0, b->f.nr_sources);
}

/* One slot each, with deadlines in any order: trees and queue keep theirs. */
static void many(struct kunit *test)
{
	struct bench *b = test->priv;
	struct one **all = kunit_kcalloc(test, SLOTS, sizeof(*all), GFP_KERNEL);
	struct fence_transfer *t;
	u64 generation = 0, now = 0;
	u32 i, nr = 0, left = SLOTS;

	KUNIT_ASSERT_NOT_NULL(test, all);
	for (i = 0; i < SLOTS; i++) {
		u32 swap = get_random_u32_below(i + 1);

		/* Tags in random order. */
		all[i] = make(test, i, i, 1, 1);
		swap(all[i]->t.tag, all[swap]->t.tag);
	}
	for (i = 0; i < SLOTS; i++) {
		KUNIT_ASSERT_EQ(test, 0, start(b, all[i], 0));
		fence_abort(&b->f, &all[i]->t, LKVFENCE_REASON_ABORTED, TAINT,
			    1 + get_random_u32_below(MAX_NS), &limits, 0);
	}
	while ((t = fence_find_next(&b->f, generation))) {
		KUNIT_EXPECT_GT(test, t->generation, generation);
		generation = t->generation;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, SLOTS, nr);

	while (left) {
		u64 next = fence_next_deadline(&b->f);
		u32 bits, due;

		KUNIT_ASSERT_GT(test, next, now);
		KUNIT_ASSERT_LE(test, next, MAX_NS);
		now = next;
		due = fence_expire(&b->f, &limits, now, SLOTS);
		KUNIT_ASSERT_GT(test, due, 0);
		left -= due;
		while ((t = fence_news(&b->f, &bits)))
			if (bits & FENCE_NEWS_RELEASED)
				KUNIT_EXPECT_EQ(test, now, (u64)t->clock.expires);
	}
	KUNIT_EXPECT_EQ(test, 0, b->f.transfers_alive);
	KUNIT_EXPECT_EQ(test, 0, b->f.slots_taken);
	KUNIT_EXPECT_EQ(test, SLOTS, b->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT]);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(L1_one_owner),
	KUNIT_CASE(L2_no_way_round),
	KUNIT_CASE(L2_revoked),
	KUNIT_CASE(L3_ended_means_ended),
	KUNIT_CASE(L4_failed_is_not_drained),
	KUNIT_CASE(L5_the_generation_is_the_key),
	KUNIT_CASE(L6_exactly_once),
	KUNIT_CASE(L7_taint_is_told),
	KUNIT_CASE(L8_bounded),
	KUNIT_CASE(many),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-fence",
	.init = bench_init,
	.test_cases = cases,
};

kunit_test_suite(suite);
