// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Tombstones: what is known of transfers that are over, and of those aborted early. */
#include <stdlib.h>

#include "rig.h"

#define OWN	7	/* source: the producer's own */
#define D	20	/* source: a consumer; others follow */

static u64 offer(struct rig *r, u64 tag)
{
	return begin(r, .tag = tag, .ranges = { { (u32)tag % 8, 1 } }, .offer = true);
}

static int try_offer(struct rig *r, u64 tag)
{
	return try_begin(r, .tag = tag, .ranges = { { (u32)tag % 8, 1 } }, .offer = true);
}

/* One that is over, for a reason by which it is known again. */
static u64 dead(struct rig *r, u64 tag, u32 reason)
{
	u64 g = offer(r, tag);

	abort_for(r, g, reason, 0, 0);
	return g;
}

/* Nothing is known of the tag: a pull waits. */
static void unknown(struct rig *r, u64 tag)
{
	u64 k = pull(r, .tag = tag, .source = D);

	assert_true(waits(r, k));
	withdraw(r, k);
}

static void known(struct rig *r, u64 tag, u64 g, u32 reason)
{
	refused(r, pull(r, .tag = tag, .source = D), g, reason);
}

/*
 * Of transfers
 */

static void test_L8_tombstone_lasts_its_time(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER), start = r->now;

	assert_int_equal(next_deadline(r), start + TOMBSTONE_NS);
	at(r, start + TOMBSTONE_NS - 1);
	known(r, 1, g, LKVFENCE_REASON_PEER);
	at(r, start + TOMBSTONE_NS);
	assert_int_equal(r->expired, 1);
	assert_int_equal(r->nr_offers, 0);
	assert_false(r->p.active);
	unknown(r, 1);
	refused(r, pull(r, .tag = 1, .exact = g, .source = D), g, LKVFENCE_REASON_UNKNOWN);
}

/* Counted from when it ended, and not from when its slots came back. */
static void test_L8_tombstone_of_a_held_one(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 g = begin(r, .tag = 1, .policy = QUARANTINE, .ranges = { { 0, 1 } },
		      .sources = { OWN }, .offer = true);

	abort_for(r, g, LKVFENCE_REASON_FAILED, 0, 0);
	assert_int_equal(at(r, start + DEFAULT_NS), 1);
	known(r, 1, g, LKVFENCE_REASON_FAILED);
	at(r, start + TOMBSTONE_NS);
	unknown(r, 1);
	assert_int_equal(drained(r, g, OWN), 0);
	unknown(r, 1);
}

static void test_L8_only_so_many_tombstones(void **state)
{
	struct rig *r = *state;
	u64 g[MAX_TOMBSTONES + 2];

	for (u32 i = 0; i < MAX_TOMBSTONES + 2; i++) {
		g[i] = dead(r, i, LKVFENCE_REASON_PREEMPTED);
		r->now++;
	}
	/* The later ones are known. */
	unknown(r, 0);
	unknown(r, 1);
	for (u32 i = 2; i < MAX_TOMBSTONES + 2; i++)
		known(r, i, g[i], LKVFENCE_REASON_PREEMPTED);
	assert_int_equal(r->nr_offers, MAX_TOMBSTONES);
}

static void test_L8_no_tombstones_at_all(void **state)
{
	struct rig *r = *state;
	u64 g, k;

	r->pull_limits.max_tombstones = 0;
	g = offer(r, 1);
	k = pull(r, .tag = 1, .source = D);
	abort_for(r, g, LKVFENCE_REASON_PEER, 0, 0);
	/* Who waited is told all the same. */
	refused(r, k, g, LKVFENCE_REASON_PEER);
	assert_int_equal(r->nr_offers, 0);
	unknown(r, 1);
	k = pull(r, .tag = 2, .source = D);
	assert_true(abort_early(r, 2, 0, LKVFENCE_REASON_FAILED));
	refused(r, k, 0, LKVFENCE_REASON_FAILED);
	assert_int_equal(r->nr_offers, 0);
	assert_int_equal(try_offer(r, 2), 0);
}

static void test_tag_that_is_offered_again(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER), h, k;

	h = offer(r, 1);
	assert_int_equal(r->nr_offers, 1);
	k = pull(r, .tag = 1, .source = D);
	assert_true(waits(r, k));
	refused(r, pull(r, .tag = 1, .exact = g, .source = D), g, LKVFENCE_REASON_UNKNOWN);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, k, h);
}

/* What isn't offered leaves none, and covers none. */
static void test_transfers_that_are_not_offered(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER), plain;

	plain = begin(r, .tag = 1, .ranges = { { 0, 1 } });
	known(r, 1, g, LKVFENCE_REASON_PEER);
	abort_(r, plain);
	known(r, 1, g, LKVFENCE_REASON_PEER);
	assert_int_equal(r->nr_offers, 1);
}

static void test_shorter_time_for_later_ones(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;

	dead(r, 1, LKVFENCE_REASON_PEER);
	r->pull_limits.tombstone_ns = 10;
	dead(r, 2, LKVFENCE_REASON_PEER);
	/* No longer than the one before it, nor than was asked for that. */
	assert_true(next_deadline(r) <= start + TOMBSTONE_NS);
	at(r, start + TOMBSTONE_NS);
	assert_int_equal(r->expired, 2);
	assert_int_equal(r->nr_offers, 0);
}

static void test_tombstones_go_in_batches(void **state)
{
	struct rig *r = *state;
	u64 k;

	dead(r, 1, LKVFENCE_REASON_PEER);
	dead(r, 2, LKVFENCE_REASON_PEER);
	abort_early(r, 3, 0, LKVFENCE_REASON_PEER);
	abort_early(r, 4, 0, LKVFENCE_REASON_PEER);
	r->now += TOMBSTONE_NS - UNCLAIMED_NS;
	k = pull(r, .tag = 5, .source = D);
	r->now += UNCLAIMED_NS;
	/* What somebody waits for goes first. */
	assert_int_equal(pull_expire(&r->p, r->now, 2), 2);
	rig_settle(r);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
	assert_int_equal(r->nr_offers, 3);
	assert_int_equal(pull_expire(&r->p, r->now, 2), 2);
	rig_settle(r);
	assert_int_equal(pull_expire(&r->p, r->now, 2), 1);
	rig_settle(r);
	assert_int_equal(pull_expire(&r->p, r->now, 2), 0);
	assert_false(r->p.active);
}

/*
 * Of tags that were aborted early
 */

static void test_early_abort_refuses_the_next_offer_once(void **state)
{
	struct rig *r = *state;
	struct image before;

	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	before = image_of(r);
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	must_be_unchanged(r, &before);
	assert_int_equal(r->p.counts.refused_early, 1);
	assert_int_equal(r->f.counts.begun, 0);
	/* The next one of that tag is another request. */
	assert_int_equal(try_offer(r, 1), 0);
	assert_int_equal(r->p.counts.refused_early, 1);
	assert_int_equal(r->p.nr_early, 0);
}

static void test_early_abort_is_for_its_tag(void **state)
{
	struct rig *r = *state;

	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	assert_int_equal(try_offer(r, 2), 0);
	/* And for what is offered. */
	assert_int_equal(try_begin(r, .tag = 1, .ranges = { { 9, 1 } }), 0);
	assert_int_equal(r->p.counts.refused_early, 0);
	assert_int_equal(r->p.nr_early, 1);
}

/* Before BEGIN, with a pull that is there and one that comes. */
static void test_L6_early_abort_answers_pulls(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D), l = pull(r, .tag = 1, .source = D + 1);
	u64 other = pull(r, .tag = 2, .source = D);

	r->now += 5;
	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_PREEMPTED));
	refused(r, k, 0, LKVFENCE_REASON_PREEMPTED);
	refused(r, l, 0, LKVFENCE_REASON_PREEMPTED);
	assert_true(waits(r, other));
	known(r, 1, 0, LKVFENCE_REASON_PREEMPTED);
	/* Also behind the BEGIN that it refused. */
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	known(r, 1, 0, LKVFENCE_REASON_PREEMPTED);
	refused(r, pull(r, .tag = 1, .newer = 1000, .source = D), 0,
		LKVFENCE_REASON_PREEMPTED);
}

/* A message may come twice; the second must not hit the tag's next use. */
static void test_early_abort_that_comes_twice(void **state)
{
	struct rig *r = *state;

	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	assert_false(abort_early(r, 1, 0, LKVFENCE_REASON_PEER));
	known(r, 1, 0, LKVFENCE_REASON_DROPPED);
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	assert_false(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	assert_int_equal(try_offer(r, 1), 0);
	assert_int_equal(r->p.counts.refused_early, 1);
}

static void test_early_abort_of_one_that_is_over(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER);

	/* It is what is meant: there is nothing left to do. */
	assert_false(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	assert_false(abort_early(r, 1, g - 1, LKVFENCE_REASON_DROPPED));
	known(r, 1, g, LKVFENCE_REASON_PEER);
	assert_int_equal(try_offer(r, 1), 0);
}

static void test_L5_early_abort_of_the_one_behind(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER);
	u64 k = pull(r, .tag = 1, .newer = g, .source = D);

	assert_true(waits(r, k));
	assert_true(abort_early(r, 1, g, LKVFENCE_REASON_DROPPED));
	refused(r, k, 0, LKVFENCE_REASON_DROPPED);
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	assert_int_equal(try_offer(r, 1), 0);
	assert_int_equal(r->nr_offers, 1);
}

static void test_L8_early_abort_lasts_its_time(void **state)
{
	struct rig *r = *state;

	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED));
	assert_int_equal(next_deadline(r), r->now + TOMBSTONE_NS);
	at(r, r->now + TOMBSTONE_NS - 1);
	known(r, 1, 0, LKVFENCE_REASON_DROPPED);
	at(r, r->now + 1);
	unknown(r, 1);
	assert_int_equal(try_offer(r, 1), 0);
}

static void test_L8_only_so_many_early_aborts(void **state)
{
	struct rig *r = *state;

	for (u64 tag = 0; tag <= MAX_TOMBSTONES; tag++) {
		assert_true(abort_early(r, tag, 0, LKVFENCE_REASON_DROPPED));
		r->now++;
	}
	assert_int_equal(r->p.nr_early, MAX_TOMBSTONES);
	unknown(r, 0);
	for (u64 tag = 1; tag <= MAX_TOMBSTONES; tag++)
		assert_int_equal(try_offer(r, tag), -ECANCELED);
}

/* Anybody may name any tag: what was known of transfers stays. */
static void test_L9_early_aborts_displace_no_other_tombstones(void **state)
{
	struct rig *r = *state;
	u64 g[MAX_TOMBSTONES];

	for (u32 i = 0; i < MAX_TOMBSTONES; i++)
		g[i] = dead(r, i, LKVFENCE_REASON_PEER);
	for (u64 tag = 100; tag < 150; tag++)
		assert_true(abort_early(r, tag, 0, LKVFENCE_REASON_DROPPED));
	for (u32 i = 0; i < MAX_TOMBSTONES; i++)
		known(r, i, g[i], LKVFENCE_REASON_PEER);
	/* Nor the other way round. */
	for (u32 i = 0; i < 10; i++)
		dead(r, 200 + i, LKVFENCE_REASON_PEER);
	for (u64 tag = 150 - MAX_TOMBSTONES; tag < 150; tag++)
		known(r, tag, 0, LKVFENCE_REASON_DROPPED);
}

/*
 * The tag's last use isn't over: the next one is aborted, early.
 */

static void test_L5_early_abort_of_the_one_behind_a_live_one(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h;
	u64 k = pull(r, .tag = 1, .source = D);
	u64 next = pull(r, .tag = 1, .newer = g, .source = D + 1);

	abort_early(r, 1, g, LKVFENCE_REASON_DROPPED);
	/* Who waits for the next one is told; who waits for this one isn't meant. */
	refused(r, next, 0, LKVFENCE_REASON_DROPPED);
	assert_true(waits(r, k));
	refused(r, pull(r, .tag = 1, .newer = g, .source = D + 1), 0,
		LKVFENCE_REASON_DROPPED);
	/* Twice is once. */
	abort_early(r, 1, g, LKVFENCE_REASON_PEER);
	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, k, g);
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
	/* Now it is the next one's turn. */
	refused(r, pull(r, .tag = 1, .newer = g, .source = D + 1), 0,
		LKVFENCE_REASON_DROPPED);
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	h = offer(r, 1);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), h);
}

static void test_L8_early_abort_behind_a_live_one_that_is_aborted(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);
	u64 k = pull(r, .tag = 1, .source = D);

	abort_early(r, 1, g + 100, LKVFENCE_REASON_DROPPED);
	r->now += 1000;
	abort_for(r, g, LKVFENCE_REASON_PEER, 0, 0);
	refused(r, k, g, LKVFENCE_REASON_PEER);
	/* It lasts as long as any, from when it can come to pass. */
	assert_int_equal(next_deadline(r), r->now + TOMBSTONE_NS);
	assert_int_equal(try_offer(r, 1), -ECANCELED);
	at(r, r->now + TOMBSTONE_NS);
	assert_int_equal(r->nr_offers, 0);
}

/*
 * All go
 */

static void test_bury_forgets_all(void **state)
{
	struct rig *r = *state;

	dead(r, 1, LKVFENCE_REASON_PEER);
	dead(r, 2, LKVFENCE_REASON_PEER);
	abort_early(r, 3, 0, LKVFENCE_REASON_DROPPED);
	pull_bury(&r->p);
	rig_settle(r);
	assert_int_equal(r->nr_offers, 0);
	assert_false(r->p.active);
	assert_int_equal(next_deadline(r), U64_MAX);
	pull_bury(&r->p);
	rig_settle(r);
}

/* While there is nothing, nothing needs to be called. */
static void test_rests_when_there_is_nothing(void **state)
{
	struct rig *r = *state;
	u64 k;

	assert_false(r->p.active);
	k = pull(r, .tag = 1, .source = D);
	assert_true(r->p.active);
	withdraw(r, k);
	assert_false(r->p.active);
	abort_early(r, 1, 0, LKVFENCE_REASON_DROPPED);
	assert_true(r->p.active);
	at(r, r->now + TOMBSTONE_NS);
	assert_false(r->p.active);
	offer(r, 1);
	assert_true(r->p.active);
}

#define MILLION		1000000

/* L10: a million foreign tags, and what is true is still known. */
static void test_L10_a_million_foreign_tags(void **state)
{
	struct rig *r = *state;
	u64 g = dead(r, 1, LKVFENCE_REASON_PEER);
	u64 k = pull(r, .tag = 2, .source = D), h;
	struct pull_ticket *foreign = calloc(1, sizeof(*foreign));
	struct fence_lease lease = { .source = D };
	struct pull_offer *o, *spare = NULL;
	u32 most = 0;

	assert_non_null(foreign);
	/* Without the rig: it would look at all there is, a million times. */
	for (u64 i = 0; i < MILLION; i++) {
		u64 tag = 1000 + i * 2654435761ULL % 4294967296ULL;

		if (!spare)
			spare = rig_offer(r);
		pull_offer_init(spare);
		if (pull_abort_early(&r->p, spare, tag, i % 3 ? 0 : U64_MAX,
				     LKVFENCE_REASON_DROPPED, &r->pull_limits, r->now))
			spare = NULL;
		pull_ticket_init(foreign);
		foreign->tag = tag + i % 2;
		foreign->lease = &lease;
		pull_ask(&r->p, foreign, UNCLAIMED_NS, PULL_NS, &r->pull_limits, r->now);
		if (!pull_answered(foreign))
			pull_withdraw(&r->p, foreign, r->now);
		assert_ptr_equal(pull_news(&r->p), foreign);
		assert_null(pull_news(&r->p));
		r->last_ticket++;
		most = max(most, r->nr_offers);
		while ((o = pull_forgotten(&r->p)))
			rig_free_offer(r, o);
	}
	if (spare)
		rig_free_offer(r, spare);
	/* One too many is in use when the oldest goes. */
	assert_true(most <= 1 + MAX_TOMBSTONES + 1);
	assert_true(waits(r, k));
	known(r, 1, g, LKVFENCE_REASON_PEER);
	h = offer(r, 2);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, k, h);
	assert_int_equal(r->p.counts.pulls, MILLION + 2);
	free(foreign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L8_tombstone_lasts_its_time),
		TEST(test_L8_tombstone_of_a_held_one),
		TEST(test_L8_only_so_many_tombstones),
		TEST(test_L8_no_tombstones_at_all),
		TEST(test_tag_that_is_offered_again),
		TEST(test_transfers_that_are_not_offered),
		TEST(test_shorter_time_for_later_ones),
		TEST(test_tombstones_go_in_batches),
		TEST(test_early_abort_refuses_the_next_offer_once),
		TEST(test_early_abort_is_for_its_tag),
		TEST(test_L6_early_abort_answers_pulls),
		TEST(test_early_abort_that_comes_twice),
		TEST(test_early_abort_of_one_that_is_over),
		TEST(test_L5_early_abort_of_the_one_behind),
		TEST(test_L8_early_abort_lasts_its_time),
		TEST(test_L8_only_so_many_early_aborts),
		TEST(test_L9_early_aborts_displace_no_other_tombstones),
		TEST(test_L5_early_abort_of_the_one_behind_a_live_one),
		TEST(test_L8_early_abort_behind_a_live_one_that_is_aborted),
		TEST(test_bury_forgets_all),
		TEST(test_rests_when_there_is_nothing),
		TEST(test_L10_a_million_foreign_tags),
	};

	return RUN(tests);
}
