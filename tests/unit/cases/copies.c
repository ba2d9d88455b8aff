// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: local copies, and readers, of slots whose request is over. */
#include "cases.h"

#define COPY	40	/* source: a copy engine */

static void test_C22_copy_out_still_reads(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } });
	struct write reads;

	assert_int_equal(take(r, a, COPY), 0);
	assert_int_equal(take(r, a, COPY + 1), 0);
	reads = launch(r, a, 0, 8);
	assert_int_equal(finish(r, a), -EBUSY);
	assert_int_equal(drained(r, a, COPY + 1), 0);
	/* One of two copies, or the request's end alone, is not enough. */
	assert_int_equal(finish(r, a), -EBUSY);
	no_reuse(r, a, 0, 8);
	lands(r, reads);
	assert_int_equal(drained(r, a, COPY), 0);
	/* Nor are both copies: the request still decodes. */
	no_reuse(r, a, 0, 8);
	assert_int_equal(finish(r, a), 0);
	came_back(r, a, FINISHED);
}

static void test_C23_retraction_under_a_copy(void **state)
{
	static const u32 ways[] = {
		LKVFENCE_REASON_ABORTED, LKVFENCE_REASON_FAILED,
		LKVFENCE_REASON_PREEMPTED, LKVFENCE_REASON_PEER,
		LKVFENCE_REASON_SHUTDOWN, LKVFENCE_REASON_ORPHANED,
	};
	struct rig *r = *state;

	for (u32 i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { COPY });
		struct write reads = launch(r, a, 0, 8);

		abort_because(r, a, ways[i]);
		no_reuse(r, a, 0, 8);
		lands(r, reads);
		assert_int_equal(drained(r, a, COPY), 0);
		assert_int_equal(came_back(r, a, DRAINED)->reason, ways[i]);
	}
}

static void test_C24_load_cancelled_behind_its_publication(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { COPY });

	/* The load was queued only, so it can say that it is quiet. */
	abort_(r, a);
	assert_int_equal(drained(r, a, COPY), 0);
	/* Quiet isn't filled: a hit needs COMPLETED, which it never says. */
	assert_int_equal(came_back(r, a, DRAINED)->reason, LKVFENCE_REASON_ABORTED);
	assert_int_equal(r->f.counts.released[FINISHED], 0);
	assert_int_equal(known(r, a), -ESTALE);
}

static void test_C42_queued_stores_of_a_preempted_request(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } });
	struct write runs;

	/* One store runs, one is queued; leases are taken when queueing. */
	assert_int_equal(take(r, a, COPY), 0);
	assert_int_equal(take(r, a, COPY + 1), 0);
	runs = launch(r, a, 0, 4);
	abort_because(r, a, LKVFENCE_REASON_PREEMPTED);
	assert_int_equal(drained(r, a, COPY + 1), 0);	/* dropped */
	no_reuse(r, a, 0, 8);
	lands(r, runs);
	assert_int_equal(drained(r, a, COPY), 0);
	reuse(r, 2, 0, 8);
}

static void test_C43_back_while_stores_still_run(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 7, .ranges = { { 0, 8 } }, .sources = { COPY });

	abort_because(r, a, LKVFENCE_REASON_PREEMPTED);
	/* The same request: ask again later, or take other slots. */
	assert_int_equal(try_begin(r, .tag = 7, .ranges = { { 0, 8 } }), -EBUSY);
	assert_int_equal(r->why.generation, a);
	assert_int_equal(finish(r, begin(r, .tag = 7, .ranges = { { 8, 8 } })), 0);
	assert_int_equal(drained(r, a, COPY), 0);
	assert_int_equal(try_begin(r, .tag = 7, .ranges = { { 0, 8 } }), 0);
}

static void test_C44_slots_handed_out_by_somebody_else(void **state)
{
	struct rig *r = *state;
	u64 store = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { COPY });

	abort_(r, store);
	/* Nobody needs to be told of the other's use: it can't begin. */
	no_reuse(r, store, 0, 8);
	no_reuse(r, store, 7, 2);
	assert_int_equal(drained(r, store, COPY), 0);
	store = begin(r, .tag = 2, .ranges = { { 0, 8 } }, .sources = { COPY + 1 });
	/* And what the first one would load now finds the second in the way. */
	no_reuse(r, store, 0, 8);
}

static void test_C54_source_is_read_behind_the_end_of_compute(void **state)
{
	struct rig *r = *state;
	u64 p = begin(r, .ranges = { { 0, 8 } }, .sources = { 3 });
	struct write pull = launch(r, p, 0, 8);

	assert_int_equal(finish(r, p), -EBUSY);
	no_reuse(r, p, 0, 8);
	lands(r, pull);
	assert_int_equal(drained(r, p, 3), 0);
	assert_int_equal(finish(r, p), 0);
}

static void test_C56_store_that_nobody_waits_for(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { COPY });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { COPY });

	/* Neither given back too early ... */
	abort_(r, a);
	no_reuse(r, a, 0, 1);
	assert_int_equal(drained(r, a, COPY), 0);
	came_back(r, a, DRAINED);
	/* ... nor never; and what failed isn't a hit. */
	assert_int_equal(failed(r, b, COPY), 0);
	assert_int_equal(finish(r, b), -EBUSY);
	abort_because(r, b, LKVFENCE_REASON_FAILED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, b, TIMEOUT);
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_C57_readers_of_one_prefix(void **state)
{
	struct rig *r = *state;
	u64 k = begin(r, .tag = 1, .ranges = { { 0, 2 }, { 6, 2 } });

	/* The first writer has it, and readers have a lease each. */
	no_reuse(r, k, 0, 2);
	assert_int_equal(take(r, k, 1), 0);
	assert_int_equal(take(r, k, 2), 0);
	assert_int_equal(take(r, k, 2), -EEXIST);
	assert_int_equal(drained(r, k, 1), 0);
	/* One who lets go twice lets go of nobody else's. */
	assert_int_equal(drained(r, k, 1), -EALREADY);
	assert_int_equal(drained(r, k, 1), -EALREADY);
	assert_int_equal(get(r, k)->unproven, 1);
	abort_(r, k);
	no_reuse(r, k, 6, 2);
	assert_int_equal(drained(r, k, 2), 0);
	/* All of its slots, those that nobody read included. */
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_C52_letting_go_of_a_handle_stops_nothing(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write w = launch(r, a, 0, 8);

	abort_because(r, a, LKVFENCE_REASON_ORPHANED);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	assert_int_equal(get(r, a)->state, LKVFENCE_STATE_ENDED);
	assert_int_equal(revoked(r, a, 1, DEREGISTERED), 0);
	came_back(r, a, LKVFENCE_OUTCOME_REVOKED);
}

static void test_C53_abandoned_is_not_lost(void **state)
{
	struct rig *r = *state;
	u32 round;

	/* As often as it takes to use up all places, were one lost each time. */
	for (round = 0; round < 3 * MAX_TRANSFERS; round++) {
		u64 a = begin(r, .ranges = { { 0, SLOTS } }, .sources = { 1 });

		abort_because(r, a, LKVFENCE_REASON_ORPHANED);
		assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
		came_back(r, a, TIMEOUT);
		forget_news(r);
	}
	assert_int_equal(r->f.slots_taken, 0);
	assert_int_equal(r->f.transfers_alive, 0);
}

static void test_C70_caller_killed_with_work_queued(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .policy = QUARANTINE, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write w = launch(r, a, 0, 8);

	/* The signal ends the call; what is in the queue goes on. */
	abort_because(r, a, LKVFENCE_REASON_ORPHANED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* Access is taken away before anything else happens to the buffer. */
	assert_int_equal(revoked(r, a, 1, WINDOW), 0);
	came_back(r, a, LKVFENCE_OUTCOME_REVOKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C22_copy_out_still_reads),
		TEST(test_C23_retraction_under_a_copy),
		TEST(test_C24_load_cancelled_behind_its_publication),
		TEST(test_C42_queued_stores_of_a_preempted_request),
		TEST(test_C43_back_while_stores_still_run),
		TEST(test_C44_slots_handed_out_by_somebody_else),
		TEST(test_C52_letting_go_of_a_handle_stops_nothing),
		TEST(test_C53_abandoned_is_not_lost),
		TEST(test_C54_source_is_read_behind_the_end_of_compute),
		TEST(test_C56_store_that_nobody_waits_for),
		TEST(test_C57_readers_of_one_prefix),
		TEST(test_C70_caller_killed_with_work_queued),
	};

	return RUN(tests);
}
