// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Deadlines: what happens at them, and how they move. */
#include "rig.h"

/* A transfer of slot 0 that has ended now, with one lease out. */
static u64 held(struct rig *r, u32 policy, u64 timeout)
{
	u64 g = begin(r, .tag = 1, .policy = policy, .ranges = { { 0, 1 } },
		      .sources = { 1 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, timeout);
	forget_news(r);
	return g;
}

static void abort_again(struct rig *r, u64 g, u32 policy, u64 timeout)
{
	abort_for(r, g, LKVFENCE_REASON_ABORTED, policy, timeout);
	no_news(r);
}

static void test_L2_nothing_happens_before_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 250);
	struct image before = image_of(r);
	u64 end = r->now;

	assert_int_equal(at(r, end), 0);
	assert_int_equal(at(r, end + 249), 0);
	must_be_unchanged(r, &before);
	no_news(r);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
}

static void test_L7_taint_releases_at_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 250);
	const struct fence_transfer *t;

	assert_int_equal(at(r, r->now + 250), 1);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
	assert_int_equal(t->unproven, 1);
	assert_false(t->forced);
	assert_int_equal(t->released_ns, r->now);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
	assert_int_equal(r->f.slots_taken, 0);
	assert_int_equal(drained(r, g, 1), -ESTALE);
}

/* Proof of some leases makes no proof of all. */
static void test_L7_timeout_is_told_despite_some_proof(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	const struct fence_transfer *t;

	assert_int_equal(revoked(r, g, 1, DEREGISTERED), 0);
	abort_(r, g);
	forget_news(r);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
}

static void test_L4_failed_lease_waits_for_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 0);
	u64 end = r->now;

	assert_int_equal(failed(r, g, 1), 0);
	assert_int_equal(at(r, end + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, end + DEFAULT_NS), 1);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_TIMEOUT);
}

static void test_L2_quarantine_keeps_the_slots_at_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
	assert_int_equal(get(r, g)->quarantined_ns, r->now);
	assert_int_equal(r->f.slots_quarantined, 1);
	assert_int_equal(r->f.transfers_quarantined, 1);
	/* For good: it isn't asked about again. */
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(at(r, r->now + 1000000 * MAX_NS), 0);
	no_news(r);
	assert_true(slot_taken(r, 0));
}

static void test_L2_late_proof_releases_from_quarantine(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);
	const struct fence_transfer *t;

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	forget_news(r);
	r->now += 5 * MAX_NS;
	assert_int_equal(drained(r, g, 1), 0);
	assert_true(r->released);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(t->weakest, CQE);
	assert_int_equal(r->f.slots_quarantined, 0);
	assert_int_equal(r->f.transfers_quarantined, 0);
}

static void test_L4_failed_in_quarantine_stays_there(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(failed(r, g, 1), 0);
	assert_false(r->released);
	assert_int_equal(drained(r, g, 1), -EALREADY);
	assert_int_equal(r->f.slots_quarantined, 1);
}

static void test_L2_force_works_on_quarantine_only(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	const struct fence_transfer *t;

	assert_int_equal(force(r, g), -EBUSY);
	abort_(r, g);
	assert_int_equal(force(r, g), -EBUSY);
	assert_int_equal(at(r, r->now + DEFAULT_NS - 1), 0);
	assert_int_equal(force(r, g), -EBUSY);
	assert_int_equal(at(r, r->now + 1), 1);
	forget_news(r);
	r->now++;
	assert_int_equal(force(r, g), 0);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_true(t->forced);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
	assert_int_equal(t->reason, LKVFENCE_REASON_ABORTED);
	assert_int_equal(r->f.counts.forced, 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
	assert_int_equal(r->f.slots_quarantined, 0);
}

static void test_L4_deadline_moves_later(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);
	u64 end = r->now;

	r->now = end + 50;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 51);
	assert_int_equal(fence_next_deadline(&r->f), end + 101);
	assert_int_equal(at(r, end + 100), 0);
	assert_int_equal(at(r, end + 101), 1);
}

static void test_L4_deadline_never_moves_earlier(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);
	u64 end = r->now;

	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 1);
	assert_int_equal(fence_next_deadline(&r->f), end + 100);
	r->now = end + 50;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 49);
	assert_int_equal(fence_next_deadline(&r->f), end + 100);
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 50);
	assert_int_equal(fence_next_deadline(&r->f), end + 100);
	/* Nor by lowering the bounds under it. */
	r->limits.max_ns = 60;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 60);
	assert_int_equal(fence_next_deadline(&r->f), end + 100);
}

/* 0 asks for no move, even where the default would be later. */
static void test_L4_abort_without_timeout_moves_nothing(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 10);
	u64 end = r->now;

	r->now = end + 5;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 0);
	assert_int_equal(fence_next_deadline(&r->f), end + 10);
}

/* However often it is asked for. */
static void test_L8_extension_is_bounded(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);
	u64 end = r->now;

	for (u32 i = 0; i < 100; i++) {
		r->now = end + i;
		abort_again(r, g, LKVFENCE_POLICY_DEFAULT, MAX_NS);
		assert_int_equal(fence_next_deadline(&r->f), end + MAX_NS);
	}
	assert_int_equal(at(r, end + MAX_NS), 1);
}

static void test_L8_every_hold_has_the_default_deadline(void **state)
{
	struct rig *r = *state;

	held(r, TAINT, 0);
	assert_int_equal(fence_next_deadline(&r->f), r->now + DEFAULT_NS);
}

static void test_L4_policy_gets_stricter(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 0);

	abort_again(r, g, QUARANTINE, 0);
	assert_int_equal(get(r, g)->policy, QUARANTINE);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
}

static void test_L4_policy_never_gets_laxer(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, TAINT, 0);
	assert_int_equal(get(r, g)->policy, QUARANTINE);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 0);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, TAINT, 0);
	assert_int_equal(get(r, g)->policy, QUARANTINE);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	/* Not in quarantine, either: it doesn't come back by that. */
	abort_for(r, g, LKVFENCE_REASON_ABORTED, TAINT, 1);
	assert_int_equal(at(r, r->now + MAX_NS), 0);
	assert_int_equal(r->f.slots_quarantined, 1);
}

static void test_L4_first_abort_may_be_stricter(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = TAINT, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, QUARANTINE, 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(r->f.slots_quarantined, 1);
}

/* A quarantined transfer is told once, and gets no second deadline. */
static void test_L6_quarantine_is_entered_once(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
	abort_again(r, g, QUARANTINE, 500);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(at(r, r->now + MAX_NS), 0);
	no_news(r);
	assert_int_equal(r->f.transfers_quarantined, 1);
}

/* The clock was late, and the call came first: it finds what it finds. */
static void test_L4_extension_between_deadline_and_clock(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);
	u64 end = r->now;

	r->now = end + 105;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 100);
	assert_int_equal(at(r, end + 204), 0);
	assert_int_equal(at(r, end + 205), 1);
}

static void test_L4_no_timeout_between_deadline_and_clock(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);
	u64 end = r->now;

	r->now = end + 105;
	abort_again(r, g, LKVFENCE_POLICY_DEFAULT, 0);
	assert_int_equal(fence_next_deadline(&r->f), end + 100);
}

static void test_L2_proof_between_deadline_and_clock(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 100);

	r->now += 105;
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(at(r, r->now), 0);
}

/* What is due comes in the order of its time, in pieces if so asked. */
static void test_expire_stops_after_max(void **state)
{
	struct rig *r = *state;
	u64 start = r->now, g[4];

	for (u32 i = 0; i < 4; i++) {
		g[i] = begin(r, .tag = i, .ranges = { { i, 1 } }, .sources = { 1 });
		abort_for(r, g[i], LKVFENCE_REASON_ABORTED,
			  LKVFENCE_POLICY_DEFAULT, 400 - 100 * i);
	}
	forget_news(r);
	for (u32 i = 0; i < 3; i++) {
		struct fence_transfer *t;

		assert_int_equal(fence_expire(&r->f, &r->limits, start + 300, 0), 0);
		assert_int_equal(fence_expire(&r->f, &r->limits, start + 300, 1), 1);
		t = list_first_entry_or_null(&r->f.news, struct fence_transfer, news);
		assert_non_null(t);
		assert_int_equal(t->generation, g[3 - i]);
		assert_int_equal(at(r, start), 0);
		only_news(r, g[3 - i], FENCE_NEWS_RELEASED);
	}
	assert_int_equal(fence_expire(&r->f, &r->limits, start + 300, 9), 0);
	assert_int_equal(fence_next_deadline(&r->f), start + 400);
}

/* L8, L4: the first deadline is bounded too, whatever the caller lets through. */
static void test_L8_first_deadline_is_bounded(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, MAX_NS + 1);
	assert_int_equal(fence_next_deadline(&r->f), r->now + MAX_NS);
}

static void test_L8_default_deadline_is_bounded(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	r->limits.max_ns = DEFAULT_NS - 1;
	abort_(r, g);
	assert_int_equal(fence_next_deadline(&r->f), r->now + DEFAULT_NS - 1);
}

static void test_L4_deadline_does_not_wrap(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, U64_MAX);
	assert_int_equal(at(r, r->now), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L2_nothing_happens_before_the_deadline),
		TEST(test_L7_taint_releases_at_the_deadline),
		TEST(test_L7_timeout_is_told_despite_some_proof),
		TEST(test_L4_failed_lease_waits_for_the_deadline),
		TEST(test_L2_quarantine_keeps_the_slots_at_the_deadline),
		TEST(test_L2_late_proof_releases_from_quarantine),
		TEST(test_L4_failed_in_quarantine_stays_there),
		TEST(test_L2_force_works_on_quarantine_only),
		TEST(test_L4_deadline_moves_later),
		TEST(test_L4_deadline_never_moves_earlier),
		TEST(test_L4_abort_without_timeout_moves_nothing),
		TEST(test_L8_extension_is_bounded),
		TEST(test_L8_every_hold_has_the_default_deadline),
		TEST(test_L4_policy_gets_stricter),
		TEST(test_L4_policy_never_gets_laxer),
		TEST(test_L4_first_abort_may_be_stricter),
		TEST(test_L6_quarantine_is_entered_once),
		TEST(test_L4_extension_between_deadline_and_clock),
		TEST(test_L4_no_timeout_between_deadline_and_clock),
		TEST(test_L2_proof_between_deadline_and_clock),
		TEST(test_expire_stops_after_max),
		TEST(test_L8_first_deadline_is_bounded),
		TEST(test_L8_default_deadline_is_bounded),
		TEST(test_L4_deadline_does_not_wrap),
	};

	return RUN(tests);
}
