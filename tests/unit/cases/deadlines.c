// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: what silence and a clock may do, and what they may not. */
#include "cases.h"

static void test_C17_transfer_that_never_ends(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ttl = 300, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write w = launch(r, a, 0, 8);

	/* "Done" is lost. There is a clock in this state, too ... */
	assert_int_equal(fence_next_deadline(&r->f), r->now + 300);
	assert_int_equal(at(r, r->now + 300), 1);
	/* ... and it doesn't free: it ends, and waits for proof. */
	only_news(r, a, FENCE_NEWS_ENDED);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, a, TIMEOUT);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
}

static void test_C27_peer_goes_silent(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct image before;
	u64 b;

	abort_because(r, a, LKVFENCE_REASON_PEER);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, a, TIMEOUT);
	b = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1 });
	before = image_of(r);
	/* It wasn't dead. What it says now is counted, and that is all. */
	assert_int_equal(drained(r, a, 1), -ESTALE);
	assert_int_equal(failed(r, a, 1), -ESTALE);
	must_be_unchanged(r, &before);
	assert_int_equal(get(r, b)->unproven, 1);
	assert_int_equal(r->f.counts.returns_stale, 2);
}

static void test_C37_lease_runs_out_in_the_queue(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ttl = 30, .ranges = { { 0, 8 } });

	/* However long it queues, its time begins with the launch. */
	assert_int_equal(at(r, r->now + 10000), 0);
	assert_int_equal(take(r, a, 1), 0);
	assert_int_equal(at(r, r->now + 29), 0);
	assert_int_equal(at(r, r->now + 1), 1);
	/* The end is told, and a hold may be made longer where it is needed. */
	assert_int_equal(only_news(r, a, FENCE_NEWS_ENDED)->reason,
			 LKVFENCE_REASON_EXPIRED);
	abort_for(r, a, LKVFENCE_REASON_ABORTED, TAINT, 400);
	assert_int_equal(at(r, r->now + 399), 0);
	no_reuse(r, a, 0, 8);
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
}

static void test_C39_deadline_that_nobody_set(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 8, 8 } }, .sources = { 1 });

	abort_because(r, a, LKVFENCE_REASON_FAILED);
	abort_because(r, b, LKVFENCE_REASON_ORPHANED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 2);
	came_back(r, a, TIMEOUT);
	came_back(r, b, TIMEOUT);
}

static void test_C40_missing_acknowledgement_is_no_permission(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .policy = QUARANTINE, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write reads = launch(r, a, 0, 8);

	abort_(r, a);
	/* A second one of a laxer mind changes nothing. */
	abort_for(r, a, LKVFENCE_REASON_ABORTED, TAINT, 1);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	forget_news(r);
	/* Years later: an alarm, and pressure on the pool, but no release. */
	assert_int_equal(at(r, r->now + (1ULL << 60)), 0);
	assert_int_equal(r->f.slots_quarantined, 8);
	no_reuse(r, a, 0, 8);
	lands(r, reads);
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
}

static void test_C45_data_there_and_acknowledgement_lost(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });

	/* An error says neither that it landed nor that it won't. */
	assert_int_equal(failed(r, a, 1), 0);
	assert_int_equal(finish(r, a), -EBUSY);
	abort_because(r, a, LKVFENCE_REASON_FAILED);
	no_reuse(r, a, 0, 8);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, a, TIMEOUT);
}

static void test_C46_call_returns_while_its_executor_writes(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write w = launch(r, a, 0, 8);
	u64 end;

	/* -1 after the call's own deadline: unknown. The lease stays out. */
	abort_because(r, a, LKVFENCE_REASON_FAILED);
	end = r->now;
	assert_int_equal(at(r, end + DEFAULT_NS / 2), 0);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* Retained, and so it could be drained. */
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
}

static void test_C48_completion_and_timeout_claim_the_same(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	u64 when = r->now + DEFAULT_NS;

	abort_(r, a);
	abort_(r, b);
	/* Both are due. For a the completion is first, for b the clock. */
	r->now = when;
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(at(r, when), 1);
	assert_int_equal(drained(r, b, 1), -ESTALE);
	assert_int_equal(at(r, when), 0);
	came_back(r, a, DRAINED);
	came_back(r, b, TIMEOUT);
	assert_int_equal(r->f.counts.released[DRAINED], 1);
	assert_int_equal(r->f.counts.released[TIMEOUT], 1);
}

static void test_C60_slow_is_not_dead(void **state)
{
	struct rig *r = *state;
	u64 g[MAX_TRANSFERS];
	u32 i;

	for (i = 0; i < MAX_TRANSFERS; i++) {
		g[i] = begin(r, .tag = i, .policy = QUARANTINE,
			     .ranges = { { i * 4, 4 } }, .sources = { 1 });
		abort_(r, g[i]);
	}
	assert_int_equal(at(r, r->now + DEFAULT_NS), MAX_TRANSFERS);
	assert_int_equal(try_begin(r, .tag = 50, .ranges = { { 100, 1 } }), -ENOSPC);
	/* Each late completion gives back what the lateness had cost. */
	for (i = 0; i < MAX_TRANSFERS; i++) {
		assert_int_equal(r->f.transfers_quarantined, MAX_TRANSFERS - i);
		assert_int_equal(drained(r, g[i], 1), 0);
		came_back(r, g[i], DRAINED);
	}
	assert_int_equal(r->f.slots_quarantined, 0);
	reuse(r, 50, 0, 32);
}

static void test_C61_only_done_retires_memory(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ttl = 50, .policy = QUARANTINE, .ranges = { { 0, 8 } },
		      .sources = { 1 });
	struct write w = launch(r, a, 0, 8);

	/* The request has failed when the first clock says so, ... */
	assert_int_equal(at(r, r->now + 50), 1);
	only_news(r, a, FENCE_NEWS_ENDED);
	assert_int_equal(take(r, a, 2), -ECANCELED);
	/* ... grace runs out, and a slice of polling that ran out proves nothing. */
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, a, FENCE_NEWS_QUARANTINED);
	assert_int_equal(give(r, a, 1, LKVFENCE_STATUS_DRAINED,
			      LKVFENCE_EVIDENCE_TIMEOUT), -EINVAL);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* Done at last: memory is back, and the request stays failed. */
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(came_back(r, a, DRAINED)->reason, LKVFENCE_REASON_EXPIRED);
}

static void test_C62_stuck_for_good_under_either_policy(void **state)
{
	struct rig *r = *state;
	u64 hold = begin(r, .tag = 1, .policy = QUARANTINE, .ranges = { { 0, 4 } },
			 .sources = { 1 });
	u64 drop = begin(r, .tag = 2, .policy = TAINT, .ranges = { { 4, 4 } },
			 .sources = { 1 });
	u64 other;

	abort_because(r, hold, LKVFENCE_REASON_PREEMPTED);
	abort_because(r, drop, LKVFENCE_REASON_PREEMPTED);
	/* Meanwhile everybody else works. */
	other = reuse(r, 3, 8, 4);
	assert_int_equal(drained(r, other, 99), 0);
	assert_int_equal(finish(r, other), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 2);
	came_back(r, drop, TIMEOUT);
	no_reuse(r, hold, 0, 4);
	/* An administrator's word is no proof either, and told as such. */
	assert_int_equal(force(r, hold), 0);
	assert_true(came_back(r, hold, TIMEOUT)->forced);
}

static void test_C65_free_on_timeout(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ttl = 20, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write message = launch(r, a, 0, 8);

	/* The receive times out; that cancels it, and no more. */
	assert_int_equal(at(r, r->now + 20), 1);
	no_reuse(r, a, 0, 8);
	lands(r, message);
	/* Its callback comes. */
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C17_transfer_that_never_ends),
		TEST(test_C27_peer_goes_silent),
		TEST(test_C37_lease_runs_out_in_the_queue),
		TEST(test_C39_deadline_that_nobody_set),
		TEST(test_C40_missing_acknowledgement_is_no_permission),
		TEST(test_C45_data_there_and_acknowledgement_lost),
		TEST(test_C46_call_returns_while_its_executor_writes),
		TEST(test_C48_completion_and_timeout_claim_the_same),
		TEST(test_C60_slow_is_not_dead),
		TEST(test_C61_only_done_retires_memory),
		TEST(test_C62_stuck_for_good_under_either_policy),
		TEST(test_C65_free_on_timeout),
	};

	return RUN(tests);
}
