// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The end: one gate, one outcome. */
#include "rig.h"

static void test_L2_never_leased_comes_back_at_once(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } });
	const struct fence_transfer *t;

	abort_(r, g);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_NONE);
	assert_int_equal(t->reason, LKVFENCE_REASON_ABORTED);
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_L2_all_quiet_before_comes_back_at_once(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(drained(r, g, 2), 0);
	abort_(r, g);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_DRAINED);
}

static void test_L2_abort_holds_while_a_lease_is_out(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 3 } }, .sources = { 1, 2 });

	assert_int_equal(drained(r, g, 1), 0);
	abort_(r, g);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(get(r, g)->ended_ns, r->now);
	assert_int_equal(r->f.slots_held, 3);
	assert_int_equal(r->f.transfers_held, 1);
}

static void test_finish_is_completed(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	const struct fence_transfer *t;

	assert_int_equal(revoked(r, g, 1, DESTROYED), 0);
	r->now += 3;
	assert_int_equal(finish(r, g), 0);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_COMPLETED);
	assert_int_equal(t->reason, LKVFENCE_REASON_FINISHED);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_QP_DESTROYED);
	assert_int_equal(t->released_ns, r->now);
	assert_int_equal(t->ended_ns, r->now);
	assert_false(t->forced);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_COMPLETED], 1);
}

static void test_L2_finish_is_busy_while_a_lease_is_out(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 5, .ranges = { { 0, 1 } }, .sources = { 1 });
	struct image before = image_of(r);

	assert_int_equal(finish(r, g), -EBUSY);
	must_be_unchanged(r, &before);
	no_news(r);
	/* It has not ended by that: leases may be given, the tag is in use. */
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(take(r, g, 2), 0);
	assert_int_equal(try_begin(r, .tag = 5, .ranges = { { 1, 1 } }), -EEXIST);
}

static void test_L2_finish_after_the_end_is_busy(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_(r, g);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_int_equal(get(r, g)->reason, LKVFENCE_REASON_ABORTED);
	assert_int_equal(r->f.slots_taken, 1);
}

static void test_L2_all_ranges_come_back(void **state)
{
	struct rig *r = *state;
	u64 other = begin(r, .tag = 1, .ranges = { { 70, 1 } }, .sources = { 1 });
	u64 g = begin(r, .tag = 2, .ranges = { { 100, 50 }, { 0, 70 }, { 71, 9 } },
		      .sources = { 1 });

	abort_(r, g);
	assert_int_equal(drained(r, g, 1), 0);
	for (u32 slot = 0; slot < SLOTS; slot++)
		assert_int_equal(slot_taken(r, slot), slot == 70);
	assert_int_equal(fence_find_slot(&r->f, 70)->generation, other);
}

/* Whatever the reason, the end is the same. */
static void test_L6b_every_reason_ends_alike(void **state)
{
	struct rig *r = *state;

	for (u32 reason = LKVFENCE_REASON_ABORTED;
	     reason <= LKVFENCE_REASON_REVOKED; reason++) {
		u64 start = r->now, g;
		const struct fence_transfer *t;

		if (reason == LKVFENCE_REASON_REVOKED)
			bind_(r, 2);
		g = begin(r, .ttl = 10, .ranges = { { 0, 5 } }, .sources = { 1, 2 });
		if (reason == LKVFENCE_REASON_REVOKED)
			assert_true(revoke(r, 2));
		assert_int_equal(drained(r, g, 1), 0);
		r->now = start + 10;
		if (reason == LKVFENCE_REASON_EXPIRED)
			assert_int_equal(at(r, r->now), 1);
		else if (reason == LKVFENCE_REASON_REVOKED)
			assert_int_equal(end_some(r, 2, 1), 1);
		else
			abort_for(r, g, reason, LKVFENCE_POLICY_DEFAULT, 0);
		only_news(r, g, FENCE_NEWS_ENDED);
		t = get(r, g);
		assert_int_equal(t->state, LKVFENCE_STATE_ENDED);
		assert_int_equal(t->reason, reason);
		assert_int_equal(t->ended_ns, start + 10);
		assert_int_equal(r->f.slots_held, 5);
		assert_null(fence_find_tag(&r->f, 0));
		assert_int_equal(fence_next_deadline(&r->f), start + 10 + DEFAULT_NS);
		assert_int_equal(take(r, g, 3), -ECANCELED);
		assert_int_equal(drained(r, g, 2), 0);
		assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->reason, reason);
		assert_int_equal(r->f.slots_held, 0);
		assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	}
}

/* By identity, not by number: two returns of one transfer end no other. */
static void test_L6b_returns_are_not_counted_across_transfers(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1, 2 });

	abort_(r, a);
	abort_(r, b);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(drained(r, b, 1), 0);
	assert_int_equal(r->f.transfers_alive, 2);
	assert_int_equal(drained(r, b, 2), 0);
	assert_true(r->released);
	assert_int_equal(get(r, a)->unproven, 1);
}

static void test_first_reason_stays(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 ended;

	abort_for(r, g, LKVFENCE_REASON_PEER, LKVFENCE_POLICY_DEFAULT, 0);
	forget_news(r);
	ended = r->now++;
	abort_for(r, g, LKVFENCE_REASON_SHUTDOWN, LKVFENCE_POLICY_DEFAULT, 0);
	no_news(r);
	assert_int_equal(get(r, g)->reason, LKVFENCE_REASON_PEER);
	assert_int_equal(get(r, g)->ended_ns, ended);
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->reason,
			 LKVFENCE_REASON_PEER);
}

/* Nothing that can still be tried brings a second report. */
static void test_L6_reported_released_exactly_once(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	struct fence_transfer *t;

	abort_(r, g);
	forget_news(r);
	assert_int_equal(drained(r, g, 1), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);

	assert_int_equal(drained(r, g, 1), -ESTALE);
	assert_int_equal(fence_lookup(&r->f, g, &t), -ESTALE);
	assert_null(fence_find_slot(&r->f, 0));
	assert_null(fence_find_next(&r->f, 0));
	assert_int_equal(at(r, r->now + 100 * MAX_NS), 0);
	no_news(r);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_DRAINED], 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L2_never_leased_comes_back_at_once),
		TEST(test_L2_all_quiet_before_comes_back_at_once),
		TEST(test_L2_abort_holds_while_a_lease_is_out),
		TEST(test_finish_is_completed),
		TEST(test_L2_finish_is_busy_while_a_lease_is_out),
		TEST(test_L2_finish_after_the_end_is_busy),
		TEST(test_L2_all_ranges_come_back),
		TEST(test_L6b_every_reason_ends_alike),
		TEST(test_L6b_returns_are_not_counted_across_transfers),
		TEST(test_first_reason_stays),
		TEST(test_L6_reported_released_exactly_once),
	};

	return RUN(tests);
}
