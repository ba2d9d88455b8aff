// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Pulls: each is answered once, as soon as the answer is known. */
#include "rig.h"

#define OWN	7	/* source: the producer's own */
#define D	20	/* source: a consumer; others follow */

static u64 offer(struct rig *r, u64 tag)
{
	return begin(r, .tag = tag, .ranges = { { 4 * (u32)tag, 4 } }, .offer = true);
}

/*
 * Before and after
 */

static void test_L6_pull_before_begin(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D), g;

	assert_true(waits(r, k));
	r->now += 5;
	g = offer(r, 1);
	assert_true(waits(r, k));
	r->now += 5;
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
	assert_int_equal(get(r, g)->nr_leases, 1);
	assert_int_equal(get(r, g)->unproven, 1);
}

static void test_L6_pull_between_begin_and_ready(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);
	u64 k = pull(r, .tag = 1, .source = D);

	assert_true(waits(r, k));
	/* L2: what waits has no lease. */
	assert_int_equal(get(r, g)->nr_leases, 0);
	r->now += 5;
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
}

static void test_L6_pull_behind_ready_is_granted_at_once(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	granted(r, pull(r, .exact = g, .tag = 1, .source = D + 1), g);
}

static void test_L6_abort_answers_who_waits(void **state)
{
	struct rig *r = *state;
	u64 before = pull(r, .tag = 1, .source = D);
	u64 g = offer(r, 1);
	u64 after = pull(r, .tag = 1, .source = D + 1);
	u64 only = pull(r, .tag = 1, .exact = g, .source = D + 2);
	u64 other = pull(r, .tag = 2, .source = D);

	r->now += 5;
	abort_for(r, g, LKVFENCE_REASON_FAILED, 0, 0);
	refused(r, before, g, LKVFENCE_REASON_FAILED);
	refused(r, after, g, LKVFENCE_REASON_FAILED);
	refused(r, only, g, LKVFENCE_REASON_FAILED);
	assert_true(waits(r, other));
}

/* Its slots are held, for its own source is at it; the answer doesn't wait for that. */
static void test_L6_answer_comes_before_the_memory(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);
	u64 k = pull(r, .tag = 1, .source = D);

	abort_(r, g);
	refused(r, k, g, LKVFENCE_REASON_ABORTED);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_true(slot_taken(r, 0));
	forget_answers(r);
	assert_int_equal(failed(r, g, OWN), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_false(slot_taken(r, 0));
	/* L6: not a second time, now that it is released. */
	assert_int_equal(r->nr_answers, 0);
}

static void test_L6_late_pull_fails_with_the_true_reason(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), k;

	abort_for(r, g, LKVFENCE_REASON_PEER, 0, 0);
	r->now += 5;
	k = pull(r, .tag = 1, .source = D);
	refused(r, k, g, LKVFENCE_REASON_PEER);
	k = pull(r, .tag = 1, .exact = g, .source = D);
	refused(r, k, g, LKVFENCE_REASON_PEER);
}

static void test_L6b_each_end_has_its_reason(void **state)
{
	struct rig *r = *state;
	u64 g, early, late;

	for (u32 reason = LKVFENCE_REASON_ABORTED; reason <= LKVFENCE_REASON_SHUTDOWN;
	     reason++) {
		g = offer(r, reason);
		early = pull(r, .tag = reason, .source = D);
		abort_for(r, g, reason, 0, 0);
		late = pull(r, .tag = reason, .source = D);
		refused(r, early, g, reason);
		refused(r, late, g, reason);
	}
	g = offer(r, 20);
	early = pull(r, .tag = 20, .source = D);
	abort_for(r, g, LKVFENCE_REASON_DROPPED, 0, 0);
	refused(r, early, g, LKVFENCE_REASON_DROPPED);
	/* RELEASE before READY: the producer wants it no more. */
	g = offer(r, 21);
	early = pull(r, .tag = 21, .source = D);
	assert_int_equal(finish(r, g), 0);
	late = pull(r, .tag = 21, .source = D);
	refused(r, early, g, LKVFENCE_REASON_FINISHED);
	refused(r, late, g, LKVFENCE_REASON_FINISHED);
}

static void test_L6_expired_in_the_queue(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ttl = 70, .ranges = { { 0, 4 } },
		      .sources = { OWN }, .offer = true);
	u64 k = pull(r, .tag = 1, .source = D, .timeout = 300);

	assert_int_equal(at(r, r->now + 70), 1);
	refused(r, k, g, LKVFENCE_REASON_EXPIRED);
	assert_int_equal(r->expired, 0);
}

static void test_L6_revoked_source_of_the_producer(void **state)
{
	struct rig *r = *state;
	u64 g, k;

	bind_(r, OWN);
	g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		  .offer = true);
	k = pull(r, .tag = 1, .source = D);
	assert_true(revoke(r, OWN));
	assert_int_equal(end_some(r, OWN, 10), 1);
	refused(r, k, g, LKVFENCE_REASON_REVOKED);
	assert_true(slot_taken(r, 0));
}

/* Whether or not the tag is used by something that isn't offered. */
static void test_pull_waits_for_what_is_offered(void **state)
{
	struct rig *r = *state;
	u64 plain = begin(r, .tag = 1, .ranges = { { 0, 4 } });
	u64 k = pull(r, .tag = 1, .source = D), g;

	assert_true(waits(r, k));
	assert_int_equal(finish(r, plain), 0);
	assert_true(waits(r, k));
	g = offer(r, 1);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
}

/*
 * Which one
 */

static void test_L5_exact_means_that_one(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h, k;

	k = pull(r, .tag = 1, .exact = g, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
	abort_(r, g);
	assert_int_equal(drained(r, g, D), 0);
	h = offer(r, 1);
	assert_int_equal(ready(r, h, 0, 0), 0);
	/* The tag has another one now, and of this nothing more is known. */
	k = pull(r, .tag = 1, .exact = g, .source = D);
	refused(r, k, g, LKVFENCE_REASON_UNKNOWN);
	k = pull(r, .tag = 1, .exact = h, .source = D);
	granted(r, k, h);
	/* Another tag's. */
	k = pull(r, .tag = 2, .exact = h, .source = D + 1);
	refused(r, k, h, LKVFENCE_REASON_UNKNOWN);
}

static void test_L5_exact_never_waits_for_a_next_one(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .exact = 3, .source = D);

	refused(r, k, 3, LKVFENCE_REASON_UNKNOWN);
	/* An early abort of the tag has no generation. */
	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_ABORTED));
	k = pull(r, .tag = 1, .exact = 3, .source = D);
	refused(r, k, 3, LKVFENCE_REASON_UNKNOWN);
}

static void test_L5_newer_than_what_was_pulled_before(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h, k, l;

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	/* One that is there and isn't meant: READY, then ended. */
	k = pull(r, .tag = 1, .newer = g, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(finish(r, g), 0);
	assert_true(waits(r, k));
	l = pull(r, .tag = 1, .newer = g, .source = D + 1);
	assert_true(waits(r, l));
	/* Without a generation it would be answered by the tombstone. */
	refused(r, pull(r, .tag = 1, .source = D + 2), g, LKVFENCE_REASON_FINISHED);
	refused(r, pull(r, .tag = 1, .newer = g - 1, .source = D + 2), g,
		LKVFENCE_REASON_FINISHED);
	h = offer(r, 1);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, k, h);
	granted(r, l, h);
}

static void test_L5_newer_waits_out_the_older_one(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);
	u64 k = pull(r, .tag = 1, .newer = g, .source = D);
	u64 old = pull(r, .tag = 1, .source = D);

	/* Of two tickets of one tag READY answers the one that meant it. */
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, old, g);
	assert_true(waits(r, k));
	assert_int_equal(at(r, r->now + UNCLAIMED_NS), 0);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
}

static void test_newer_than_what_is_not_there_yet(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .newer = U64_MAX, .source = D);
	u64 l = pull(r, .tag = 1, .source = D + 1);
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, l, g);
	assert_true(waits(r, k));
	assert_int_equal(at(r, r->now + UNCLAIMED_NS), 0);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
}

/*
 * Who gets it
 */

static void test_granted_in_the_order_in_which_they_came(void **state)
{
	struct rig *r = *state;
	u64 k[4], g;

	r->pull_limits.max_leases = 2;
	k[0] = pull(r, .tag = 1, .source = D + 9);
	k[1] = pull(r, .tag = 1, .source = D + 2);
	g = offer(r, 1);
	k[2] = pull(r, .tag = 1, .source = D + 5);
	k[3] = pull(r, .tag = 1, .exact = g, .source = D);
	assert_int_equal(ready(r, g, 0, 0), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(r->answers[i].number, k[i]);
	granted(r, k[0], g);
	granted(r, k[1], g);
	/* There are too many: the last ones go without. */
	refused(r, k[2], g, LKVFENCE_REASON_SOURCE);
	refused(r, k[3], g, LKVFENCE_REASON_SOURCE);
}

static void test_L5_source_that_has_had_one(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);
	u64 first = pull(r, .tag = 1, .source = D);
	u64 second = pull(r, .tag = 1, .source = D);
	u64 own = pull(r, .tag = 1, .source = OWN);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, first, g);
	refused(r, second, g, LKVFENCE_REASON_SOURCE);
	refused(r, own, g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(drained(r, g, D), 0);
	refused(r, pull(r, .tag = 1, .source = D), g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(get(r, g)->nr_leases, 2);
}

static void test_L3_source_that_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g, k;

	bind_(r, D);
	assert_true(revoke(r, D));
	g = offer(r, 1);
	k = pull(r, .tag = 1, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(ready(r, g, 0, 0), 0);
	refused(r, k, g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(r->f.counts.refused_revoked, 1);
	assert_int_equal(get(r, g)->unproven, 0);
}

static void test_pulled_lease_of_a_bound_source_is_bound(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, D);
	g = offer(r, 1);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(get(r, g)->nr_bound, 1);
	assert_int_equal(unbind(r, D), -EBUSY);
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(unbind(r, D), 0);
}

/*
 * What is granted stays, whatever becomes of the transfer
 */

static void test_L2_granted_keeps_the_slots_after_an_abort(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_true(slot_taken(r, 4));
	assert_int_equal(at(r, r->now + DEFAULT_NS - 1), 0);
	assert_true(slot_taken(r, 4));
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_DRAINED);
	assert_false(slot_taken(r, 4));
}

static void test_L2_granted_keeps_the_slots_after_expiry(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .policy = QUARANTINE, .ranges = { { 4, 4 } },
		      .offer = true);

	assert_int_equal(ready(r, g, 50, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(at(r, r->now + 50), 1);
	only_news(r, g, FENCE_NEWS_ENDED);
	refused(r, pull(r, .tag = 1, .source = D + 1), g, LKVFENCE_REASON_EXPIRED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
	assert_true(slot_taken(r, 4));
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
	assert_false(slot_taken(r, 4));
}

static void test_L4_failed_pull_is_held_until_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(failed(r, g, D), 0);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(at(r, r->now + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, r->now + 1), 1);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_TIMEOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L6_pull_before_begin),
		TEST(test_L6_pull_between_begin_and_ready),
		TEST(test_L6_pull_behind_ready_is_granted_at_once),
		TEST(test_L6_abort_answers_who_waits),
		TEST(test_L6_answer_comes_before_the_memory),
		TEST(test_L6_late_pull_fails_with_the_true_reason),
		TEST(test_L6b_each_end_has_its_reason),
		TEST(test_L6_expired_in_the_queue),
		TEST(test_L6_revoked_source_of_the_producer),
		TEST(test_pull_waits_for_what_is_offered),
		TEST(test_L5_exact_means_that_one),
		TEST(test_L5_exact_never_waits_for_a_next_one),
		TEST(test_L5_newer_than_what_was_pulled_before),
		TEST(test_L5_newer_waits_out_the_older_one),
		TEST(test_newer_than_what_is_not_there_yet),
		TEST(test_granted_in_the_order_in_which_they_came),
		TEST(test_L5_source_that_has_had_one),
		TEST(test_L3_source_that_is_revoked),
		TEST(test_pulled_lease_of_a_bound_source_is_bound),
		TEST(test_L2_granted_keeps_the_slots_after_an_abort),
		TEST(test_L2_granted_keeps_the_slots_after_expiry),
		TEST(test_L4_failed_pull_is_held_until_the_deadline),
	};

	return RUN(tests);
}
