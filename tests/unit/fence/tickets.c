// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* How pulls end that nothing grants: clocks, and who wants the answer no more; and many at once. */
#include "rig.h"

#define OWN	7	/* source: the producer's own */
#define D	20	/* source: a consumer; others follow */

static u64 offer(struct rig *r, u64 tag)
{
	return begin(r, .tag = tag, .ranges = { { 4 * (u32)tag, 4 } }, .offer = true);
}

/*
 * Clocks
 */

static void test_L8_unclaimed_has_a_short_time(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 k = pull(r, .tag = 1, .source = D);

	assert_int_equal(next_deadline(r), start + UNCLAIMED_NS);
	at(r, start + UNCLAIMED_NS - 1);
	assert_true(waits(r, k));
	at(r, start + UNCLAIMED_NS);
	assert_int_equal(r->expired, 1);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
	assert_int_equal(next_deadline(r), U64_MAX);
}

static void test_L8_claimed_waits_for_its_deadline(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 k = pull(r, .tag = 1, .source = D), g;

	r->now += UNCLAIMED_NS - 1;
	g = offer(r, 1);
	assert_int_equal(next_deadline(r), start + PULL_NS);
	at(r, start + PULL_NS - 1);
	assert_true(waits(r, k));
	at(r, start + PULL_NS);
	refused(r, k, g, LKVFENCE_REASON_DEADLINE);
	/* The transfer doesn't know that anybody waited. */
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(ready(r, g, 0, 0), 0);
}

static void test_L8_deadline_before_the_unclaimed_time(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D, .unclaimed = 50, .timeout = 20);
	u64 l = pull(r, .tag = 1, .source = D, .unclaimed = 20, .timeout = 20);

	at(r, r->now + 19);
	assert_true(waits(r, k));
	assert_true(waits(r, l));
	at(r, r->now + 1);
	refused(r, k, 0, LKVFENCE_REASON_DEADLINE);
	refused(r, l, 0, LKVFENCE_REASON_DEADLINE);
}

/* Somebody looks late: both times are past, and the pull's own is told. */
static void test_L8_late_clock(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D), l;

	l = pull(r, .tag = 1, .source = D, .timeout = 10 * PULL_NS);
	at(r, r->now + PULL_NS);
	refused(r, k, 0, LKVFENCE_REASON_DEADLINE);
	refused(r, l, 0, LKVFENCE_REASON_UNKNOWN);
}

static void test_L8_clock_in_batches(void **state)
{
	struct rig *r = *state;
	u64 k[5];

	for (u32 i = 0; i < 5; i++)
		k[i] = pull(r, .tag = i, .source = D, .unclaimed = 50 - 10 * i);
	assert_int_equal(next_deadline(r), r->now + 10);
	r->now += 100;
	for (u32 i = 5; i--; ) {
		assert_int_equal(pull_expire(&r->p, r->now, 1), 1);
		rig_settle(r);
		/* The earliest first. */
		refused(r, k[i], 0, LKVFENCE_REASON_UNKNOWN);
	}
	assert_int_equal(pull_expire(&r->p, r->now, 1), 0);
}

/* L9: twenty that nobody will ever answer, in front of one that is served. */
static void test_L9_twenty_dead_pulls_delay_nobody(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h = offer(r, 2), k;
	struct image before = image_of(r), after;

	for (u32 i = 0; i < 20; i++)
		pull(r, .tag = i % 2 ? 2 : 100 + i, .source = D + i);
	after = image_of(r);
	/* They hold nothing: no slot, no lease, no place. */
	assert_memory_equal(before.taken, after.taken, sizeof(after.taken));
	assert_int_equal(get(r, h)->nr_leases, 0);
	k = pull(r, .tag = 1, .source = D);
	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, k, g);
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(r->nr_answers, 1);
	assert_int_equal(r->p.nr_tickets, 20);
}

/*
 * Nobody wants the answer any more
 */

static void test_L6_withdrawn_is_answered(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D);
	u64 g = offer(r, 2);
	u64 l = pull(r, .tag = 2, .source = D), m = pull(r, .tag = 2, .source = D + 1);

	withdraw(r, k);
	refused(r, k, 0, LKVFENCE_REASON_WITHDRAWN);
	withdraw(r, l);
	refused(r, l, g, LKVFENCE_REASON_WITHDRAWN);
	/* The others are as they were. */
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, m, g);
	assert_int_equal(get(r, g)->nr_leases, 1);
}

static void test_L6_closed_has_nobody_to_tell(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 2);
	u64 k = pull(r, .tag = 1, .source = D), l = pull(r, .tag = 2, .source = D);
	u64 m = pull(r, .tag = 2, .source = D + 1);

	close_ticket(r, k);
	close_ticket(r, l);
	assert_int_equal(r->p.counts.pulls_closed, 2);
	assert_int_equal(r->nr_answers, 0);
	assert_int_equal(next_deadline(r), r->now + PULL_NS);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, m, g);
	assert_int_equal(r->nr_answers, 1);
	at(r, r->now + 10 * PULL_NS);
	assert_int_equal(r->nr_answers, 1);
}

/*
 * Many at once
 */

static void test_L6_abort_all_answers_all(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h = offer(r, 2), k[6];
	u64 plain = begin(r, .tag = 3, .ranges = { { 40, 4 } }, .sources = { OWN });

	assert_int_equal(ready(r, h, 0, 2), 0);
	k[0] = pull(r, .tag = 1, .source = D);
	k[1] = pull(r, .tag = 1, .exact = g, .source = D + 1);
	k[2] = pull(r, .tag = 5, .source = D);
	k[3] = pull(r, .tag = 4, .source = D);
	k[4] = pull(r, .tag = 5, .source = D + 1);
	k[5] = pull(r, .tag = 2, .newer = h, .source = D + 1);
	granted(r, pull(r, .tag = 2, .source = D), h);
	r->now += 5;
	abort_all(r, LKVFENCE_REASON_SHUTDOWN);
	refused(r, k[0], g, LKVFENCE_REASON_SHUTDOWN);
	refused(r, k[1], g, LKVFENCE_REASON_SHUTDOWN);
	for (u32 i = 2; i < 6; i++)
		refused(r, k[i], 0, LKVFENCE_REASON_SHUTDOWN);
	assert_int_equal(r->p.nr_tickets, 0);
	/* The reader, and the one that nobody offered, are held. */
	assert_int_equal(get(r, h)->state, LKVFENCE_STATE_ENDED);
	assert_int_equal(get(r, plain)->reason, LKVFENCE_REASON_SHUTDOWN);
	assert_true(slot_taken(r, 8));
	assert_int_equal(drained(r, h, D), 0);
	assert_false(slot_taken(r, 8));
	/* It holds for what was there: nothing of it hits who comes now. */
	offer(r, 5);
	assert_true(waits(r, pull(r, .tag = 5, .source = D)));
}

static void test_L6_one_end_answers_a_mixed_batch(void **state)
{
	struct rig *r = *state;
	u64 unclaimed = pull(r, .tag = 1, .source = D, .timeout = 900);
	u64 g = offer(r, 1);
	u64 short_one = pull(r, .tag = 1, .source = D + 1, .timeout = 10);
	u64 only = pull(r, .tag = 1, .exact = g, .source = D + 2);
	u64 next = pull(r, .tag = 1, .newer = g, .source = D + 3, .unclaimed = 100);
	u64 gone = pull(r, .tag = 1, .source = D + 4);

	at(r, r->now + 10);
	refused(r, short_one, g, LKVFENCE_REASON_DEADLINE);
	withdraw(r, gone);
	refused(r, gone, g, LKVFENCE_REASON_WITHDRAWN);
	forget_answers(r);
	abort_for(r, g, LKVFENCE_REASON_FAILED, 0, 0);
	assert_int_equal(r->nr_answers, 2);
	refused(r, unclaimed, g, LKVFENCE_REASON_FAILED);
	refused(r, only, g, LKVFENCE_REASON_FAILED);
	assert_true(waits(r, next));
}

static void test_counters_add_up(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	pull(r, .tag = 1, .source = D);
	pull(r, .tag = 1, .source = D);
	pull(r, .tag = 2, .source = D);
	close_ticket(r, pull(r, .tag = 2, .source = D));
	withdraw(r, pull(r, .tag = 2, .source = D));
	pull(r, .tag = 2, .exact = g, .source = D);
	assert_int_equal(ready(r, g, 0, 0), 0);
	assert_int_equal(r->p.counts.pulls, 6);
	assert_int_equal(r->p.counts.pulls_granted, 1);
	assert_int_equal(r->p.counts.pulls_refused, 3);
	assert_int_equal(r->p.counts.pulls_closed, 1);
	assert_int_equal(r->p.nr_tickets, 1);
}

/* 0 would say that it wasn't. */
static void test_answered_at_the_beginning_of_time(void **state)
{
	struct rig *r = *state;
	struct fence_lease lease = { .source = D };
	struct pull_ticket k;

	pull_ticket_init(&k);
	k.tag = 1;
	k.exact = true;
	k.generation = 3;
	k.lease = &lease;
	pull_ask(&r->p, &k, 1, 1, &r->pull_limits, 0);
	assert_true(pull_answered(&k));
	assert_ptr_equal(pull_news(&r->p), &k);
	assert_null(pull_news(&r->p));
	assert_false(r->p.active);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L8_unclaimed_has_a_short_time),
		TEST(test_L8_claimed_waits_for_its_deadline),
		TEST(test_L8_deadline_before_the_unclaimed_time),
		TEST(test_L8_late_clock),
		TEST(test_L8_clock_in_batches),
		TEST(test_L9_twenty_dead_pulls_delay_nobody),
		TEST(test_L6_withdrawn_is_answered),
		TEST(test_L6_closed_has_nobody_to_tell),
		TEST(test_L6_abort_all_answers_all),
		TEST(test_L6_one_end_answers_a_mixed_batch),
		TEST(test_counters_add_up),
		TEST(test_answered_at_the_beginning_of_time),
	};

	return RUN(tests);
}
