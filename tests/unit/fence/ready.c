// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* READY: what is offered, when it expires, and when all have taken it. */
#include "rig.h"

#define OWN	7	/* source: the producer's own */
#define D	20	/* source: a consumer; others follow */

static u64 offer(struct rig *r)
{
	return begin(r, .tag = 1, .ranges = { { 0, 4 } }, .offer = true);
}

static void test_ready_is_for_the_offered(void **state)
{
	struct rig *r = *state;
	u64 plain = begin(r, .tag = 1, .ranges = { { 0, 4 } });
	u64 g = begin(r, .tag = 2, .ranges = { { 4, 4 } }, .offer = true);

	assert_int_equal(ready(r, plain, 0, 0), -EINVAL);
	assert_int_equal(get(r, plain)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(ready(r, g, 0, 0), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	assert_int_equal(r->f.transfers_ready, 1);
	no_news(r);
}

static void test_L3_ended_is_never_ready(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);

	abort_(r, g);
	assert_int_equal(ready(r, g, 50, 1), -ECANCELED);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
	assert_int_equal(get(r, g)->consumers, 0);
	assert_int_equal(fence_next_deadline(&r->f), r->now + DEFAULT_NS);
}

static void test_ready_still_gives_and_takes_leases(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);

	assert_int_equal(ready(r, g, 0, 0), 0);
	assert_int_equal(take(r, g, OWN + 1), 0);
	assert_int_equal(drained(r, g, OWN), 0);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_int_equal(drained(r, g, OWN + 1), 0);
	assert_int_equal(r->f.counts.returns_early, 2);
	assert_int_equal(finish(r, g), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_COMPLETED);
	assert_int_equal(r->f.transfers_ready, 0);
}

/* While the request runs there is no clock but that of BEGIN. */
static void test_L8_expiry_is_counted_from_ready(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r);

	assert_int_equal(at(r, r->now + 100000), 0);
	assert_int_equal(ready(r, g, 70, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), r->now + 70);
	assert_int_equal(at(r, r->now + 69), 0);
	assert_int_equal(at(r, r->now + 1), 1);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->reason,
			 LKVFENCE_REASON_EXPIRED);
}

static void test_L8_ready_replaces_the_life_of_begin(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ttl = 500, .ranges = { { 0, 4 } },
		      .sources = { OWN }, .offer = true);
	u64 h = begin(r, .tag = 2, .ttl = 20, .ranges = { { 4, 4 } }, .offer = true);
	u64 start = r->now;

	assert_int_equal(fence_next_deadline(&r->f), start + 500);
	r->now += 10;
	assert_int_equal(ready(r, g, 70, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 80);
	/* Its life had not begun, and doesn't with the first lease either. */
	assert_int_equal(ready(r, h, 0, 0), 0);
	assert_int_equal(take(r, h, OWN), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 80);
	assert_int_equal(at(r, start + 80), 1);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(get(r, h)->state, LKVFENCE_STATE_READY);
}

static void test_L4_renewal_only_moves_later(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r), start = r->now;

	assert_int_equal(ready(r, g, 70, 0), 0);
	r->now += 10;
	assert_int_equal(ready(r, g, 59, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 70);
	assert_int_equal(ready(r, g, 60, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 70);
	assert_int_equal(ready(r, g, 61, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 71);
	/* Never is later than any time, and stays. */
	assert_int_equal(ready(r, g, 0, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(ready(r, g, 5, 0), 0);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(r->f.transfers_ready, 1);
}

static void test_L9_renewal_is_for_itself_alone(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r), start = r->now;
	u64 h = begin(r, .tag = 2, .ranges = { { 4, 4 } }, .offer = true);

	assert_int_equal(ready(r, g, 70, 0), 0);
	assert_int_equal(ready(r, h, 70, 0), 0);
	assert_int_equal(ready(r, g, 300, 0), 0);
	assert_int_equal(at(r, start + 70), 1);
	only_news(r, h, FENCE_NEWS_RELEASED);
	assert_int_equal(fence_next_deadline(&r->f), start + 300);
}

static void test_consumers_stay_as_they_are(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r), start = r->now;
	u64 h = begin(r, .tag = 2, .ranges = { { 4, 4 } }, .offer = true);

	assert_int_equal(ready(r, g, 70, 2), 0);
	assert_int_equal(ready(r, g, 90, 3), -EINVAL);
	assert_int_equal(fence_next_deadline(&r->f), start + 70);
	assert_int_equal(ready(r, g, 80, 2), 0);
	assert_int_equal(ready(r, g, 90, 0), 0);
	assert_int_equal(get(r, g)->consumers, 2);
	/* Who didn't know at first doesn't know later. */
	assert_int_equal(ready(r, h, 70, 0), 0);
	assert_int_equal(ready(r, h, 70, 1), -EINVAL);
	assert_int_equal(get(r, h)->consumers, 0);
}

/* As many as READY named: it is finished, released and forgotten. */
static void test_L6_all_taken_comes_back_by_itself(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r), first, second;
	const struct fence_transfer *t;

	assert_int_equal(ready(r, g, 70, 2), 0);
	first = pull(r, .tag = 1, .source = D);
	second = pull(r, .tag = 1, .source = D + 1);
	granted(r, first, g);
	granted(r, second, g);
	assert_int_equal(drained(r, g, D), 0);
	assert_false(r->released);
	no_news(r);
	assert_int_equal(drained(r, g, D + 1), 0);
	assert_true(r->released);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_COMPLETED);
	assert_int_equal(t->reason, LKVFENCE_REASON_FINISHED);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	/* No tombstone: there is nobody left to come late. */
	assert_int_equal(r->p.nr_dead, 0);
	assert_false(r->p.active);
	assert_true(waits(r, pull(r, .tag = 1, .source = D)));
}

/* One more than was named is a lease like any other. */
static void test_L2_not_while_another_reads(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);

	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	granted(r, pull(r, .tag = 1, .source = D + 1), g);
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	assert_int_equal(drained(r, g, D + 1), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	/* The producer's own is still at it. */
	assert_int_equal(drained(r, g, OWN), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_COMPLETED);
	assert_int_equal(r->p.nr_dead, 0);
}

static void test_only_pulled_leases_are_taken(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);

	assert_int_equal(ready(r, g, 0, 1), 0);
	assert_int_equal(take(r, g, OWN + 1), 0);
	assert_int_equal(drained(r, g, OWN), 0);
	assert_int_equal(drained(r, g, OWN + 1), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
}

/* L4: who failed has not got it, nor has whose access was taken away. */
static void test_L4_failed_and_revoked_are_not_taken(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r);

	assert_int_equal(ready(r, g, 70, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	granted(r, pull(r, .tag = 1, .source = D + 1), g);
	assert_int_equal(failed(r, g, D), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	assert_int_equal(revoked(r, g, D, DESTROYED), 0);
	assert_int_equal(revoked(r, g, D + 1, DESTROYED), 0);
	assert_int_equal(get(r, g)->taken, 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	granted(r, pull(r, .tag = 1, .source = D + 2), g);
	assert_int_equal(drained(r, g, D + 2), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_COMPLETED);
}

/* One failed, and what came of it is known when the other is done. */
static void test_failed_one_holds_what_the_other_took(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r);

	assert_int_equal(ready(r, g, 70, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	granted(r, pull(r, .tag = 1, .source = D + 1), g);
	assert_int_equal(failed(r, g, D), 0);
	assert_int_equal(drained(r, g, D + 1), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_READY);
	assert_int_equal(revoked(r, g, D, FLUSHED), 0);
	assert_true(r->released);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->reason,
			 LKVFENCE_REASON_FINISHED);
}

/* Whose end came first is not finished by the last consumer. */
static void test_L6b_taken_behind_the_end_stays_ended(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r), late;
	const struct fence_transfer *t;

	assert_int_equal(ready(r, g, 70, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	abort_for(r, g, LKVFENCE_REASON_PREEMPTED, 0, 0);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(drained(r, g, D), 0);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(t->reason, LKVFENCE_REASON_PREEMPTED);
	late = pull(r, .tag = 1, .source = D);
	refused(r, late, g, LKVFENCE_REASON_PREEMPTED);
}

static void test_L9_revoked_source_ends_what_is_ready(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, D);
	g = offer(r);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_true(revoke(r, D));
	quiet(r, D, SETTLED);
	assert_int_equal(r->f.transfers_ready, 0);
	assert_int_equal(r->news[0].bits, FENCE_NEWS_ENDED);
	assert_int_equal(r->news[1].t.outcome, LKVFENCE_OUTCOME_REVOKED);
	refused(r, pull(r, .tag = 1, .source = D + 1), g, LKVFENCE_REASON_REVOKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ready_is_for_the_offered),
		TEST(test_L3_ended_is_never_ready),
		TEST(test_ready_still_gives_and_takes_leases),
		TEST(test_L8_expiry_is_counted_from_ready),
		TEST(test_L8_ready_replaces_the_life_of_begin),
		TEST(test_L4_renewal_only_moves_later),
		TEST(test_L9_renewal_is_for_itself_alone),
		TEST(test_consumers_stay_as_they_are),
		TEST(test_L6_all_taken_comes_back_by_itself),
		TEST(test_L2_not_while_another_reads),
		TEST(test_only_pulled_leases_are_taken),
		TEST(test_L4_failed_and_revoked_are_not_taken),
		TEST(test_failed_one_holds_what_the_other_took),
		TEST(test_L6b_taken_behind_the_end_stays_ended),
		TEST(test_L9_revoked_source_ends_what_is_ready),
	};

	return RUN(tests);
}
