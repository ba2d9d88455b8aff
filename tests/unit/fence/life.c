// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Times to live. */
#include "rig.h"

static void test_L8_life_runs_from_leases_given_at_begin(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(fence_next_deadline(&r->f), start + 70);
	assert_int_equal(at(r, start + 69), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(at(r, start + 70), 1);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
	assert_int_equal(get(r, g)->reason, LKVFENCE_REASON_EXPIRED);
	assert_int_equal(get(r, g)->ended_ns, start + 70);
}

/* Not while it queues. */
static void test_L8_life_runs_from_the_first_lease_taken(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } });

	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(at(r, r->now + 1000), 0);
	assert_int_equal(take(r, g, 1), 0);
	assert_int_equal(fence_next_deadline(&r->f), r->now + 70);
}

static void test_L8_later_leases_dont_prolong_the_life(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 start = r->now;

	r->now += 30;
	assert_int_equal(take(r, g, 2), 0);
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(take(r, g, 3), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 70);
}

static void test_refused_lease_starts_no_life(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } });
	struct fence_lease l = { .source = 1 };

	assert_int_equal(fence_take(&r->f, get(r, g), &l, 0, r->now), -ENOSPC);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
}

static void test_life_without_limit(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(at(r, r->now + 1000000), 0);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
}

/* An expired transfer is held like any other: the default, its own policy. */
static void test_L6b_expired_is_held_for_the_default(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .policy = QUARANTINE, .ranges = { { 0, 1 } },
		      .sources = { 1 });
	u64 start = r->now;

	assert_int_equal(at(r, start + 80), 1);
	only_news(r, g, FENCE_NEWS_ENDED);
	/* From when it was ended: late clocks shorten no hold. */
	assert_int_equal(fence_next_deadline(&r->f), start + 80 + DEFAULT_NS);
	assert_int_equal(at(r, start + 80 + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, start + 80 + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
}

/* Quiet, but nobody finished it: its time comes, and so do its slots. */
static void test_L2_expired_and_quiet_comes_back_at_once(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } }, .sources = { 1 });
	const struct fence_transfer *t;

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(at(r, r->now + 70), 1);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(t->reason, LKVFENCE_REASON_EXPIRED);
}

/* An abort replaces the time to live by the deadline, later or earlier. */
static void test_end_replaces_the_life(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ttl = 70, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ttl = 900, .ranges = { { 1, 1 } }, .sources = { 1 });
	u64 start = r->now;

	abort_(r, a);
	abort_(r, b);
	forget_news(r);
	assert_int_equal(at(r, start + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, start + DEFAULT_NS), 2);
	assert_int_equal(r->nr_news, 2);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
}

static void test_finish_stops_the_life(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(finish(r, g), 0);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	forget_news(r);
	assert_int_equal(at(r, r->now + 1000), 0);
	no_news(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L8_life_runs_from_leases_given_at_begin),
		TEST(test_L8_life_runs_from_the_first_lease_taken),
		TEST(test_L8_later_leases_dont_prolong_the_life),
		TEST(test_refused_lease_starts_no_life),
		TEST(test_life_without_limit),
		TEST(test_L6b_expired_is_held_for_the_default),
		TEST(test_L2_expired_and_quiet_comes_back_at_once),
		TEST(test_end_replaces_the_life),
		TEST(test_finish_stops_the_life),
	};

	return RUN(tests);
}
