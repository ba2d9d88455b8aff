// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: remote writers that are still at it when the request is over. */
#include "cases.h"

static void test_C01_slots_reused_under_a_writer(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 10, 8 } }, .sources = { 1 });
	struct write w = launch(r, a, 10, 8);

	abort_(r, a);
	/* Whoever looks for leaks sees them as held, not as lost. */
	assert_int_equal(r->f.slots_held, 8);
	no_reuse(r, a, 10, 8);
	no_reuse(r, a, 17, 1);
	lands(r, w);
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
	assert_int_equal(r->f.slots_held, 0);
	reuse(r, 2, 10, 8);
}

static void test_C02_told_to_stop_is_not_quiet(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } });
	struct write first;

	assert_int_equal(take(r, a, 1), 0);
	first = launch(r, a, 0, 4);
	abort_(r, a);
	/* No new chunk. The one under way is another matter. */
	assert_int_equal(take(r, a, 2), -ECANCELED);
	no_reuse(r, a, 0, 8);
	lands(r, first);
	assert_int_equal(drained(r, a, 1), 0);
	assert_true(r->released);
}

static void test_C03_received_is_not_drained(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1, 2 });
	struct write second = launch(r, a, 4, 4);

	abort_(r, a);
	/* "Got it" is no evidence, and nothing without evidence is proof. */
	assert_int_equal(give(r, a, 1, LKVFENCE_STATUS_DRAINED,
			      LKVFENCE_EVIDENCE_NONE), -EINVAL);
	assert_int_equal(get(r, a)->unproven, 2);
	/* The first chunk failed in part, and its siblings run on. */
	assert_int_equal(failed(r, a, 1), 0);
	no_reuse(r, a, 0, 8);
	lands(r, second);
	assert_int_equal(drained(r, a, 2), 0);
	assert_false(r->released);
	no_reuse(r, a, 0, 8);
}

static void test_C04_acknowledged_and_not(void **state)
{
	struct rig *r = *state;
	u64 heard = begin(r, .tag = 1, .ranges = { { 14, 31 } }, .sources = { 1 });
	u64 silent = begin(r, .tag = 2, .ranges = { { 60, 4 } }, .sources = { 1 });
	struct write w = launch(r, heard, 14, 31);

	abort_(r, heard);
	abort_(r, silent);
	no_reuse(r, heard, 14, 18);
	lands(r, w);
	assert_int_equal(at(r, r->now + 3), 0);
	assert_int_equal(drained(r, heard, 1), 0);
	assert_true(came_back(r, heard, DRAINED)->released_ns < r->now + DEFAULT_NS);
	/* The one that nobody answered is counted apart, and told as unproven. */
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(came_back(r, silent, TIMEOUT)->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
	assert_int_equal(r->f.counts.released[TIMEOUT], 1);
	assert_int_equal(r->f.counts.released[DRAINED], 1);
}

static void test_C05_source_that_never_answers(void **state)
{
	struct rig *r = *state;
	u64 end = r->now;

	/* A transfer without such a source waits for nothing, ... */
	abort_(r, begin(r, .tag = 9, .ranges = { { 0, 50 } }));
	assert_int_equal(r->f.slots_taken, 0);
	forget_news(r);
	/* ... one with it for its own deadline, and it is seen why. */
	for (u32 i = 0; i < 4; i++)
		abort_(r, begin(r, .tag = i, .ranges = { { i * 8, 8 } }, .sources = { 1 }));
	reuse(r, 10, 32, 100);
	assert_int_equal(at(r, end + DEFAULT_NS), 4);
	assert_int_equal(r->f.counts.released[TIMEOUT], 4);
	assert_int_equal(r->f.counts.returns_drained, 0);
	assert_int_equal(r->f.slots_held, 0);
}

static void test_C08_room_is_cleared_before_the_drain(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });
	u64 early = begin(r, .tag = 2, .ranges = { { 8, 8 } }, .sources = { 1 });

	abort_because(r, a, LKVFENCE_REASON_FAILED);
	/* Whatever the engine does to forget it, it isn't forgotten. */
	assert_int_equal(finish(r, a), -EBUSY);
	abort_(r, a);
	assert_int_equal(force(r, a), -EBUSY);
	assert_int_equal(known(r, a), 0);
	assert_int_equal(drained(r, a, 1), 0);
	came_back(r, a, DRAINED);
	assert_int_equal(drained(r, a, 1), -ESTALE);
	/* Drained before the end: the answer is at once. */
	assert_int_equal(drained(r, early, 1), 0);
	abort_(r, early);
	came_back(r, early, DRAINED);
}

static void test_C09_two_ranks_abort(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1, 2 });

	abort_(r, a);
	abort_(r, a);
	assert_int_equal(drained(r, a, 2), 0);
	no_reuse(r, a, 0, 8);
	assert_int_equal(drained(r, a, 1), 0);
	/* No timeout: both were waited for, and both were heard. */
	came_back(r, a, DRAINED);
}

static void test_C15_four_stages_write_one_slot(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 5, 1 } }, .sources = { 1, 2, 3, 4 });
	struct write late = launch(r, a, 5, 1);

	/* Each thinks that it was the last. */
	assert_int_equal(drained(r, a, 4), 0);
	assert_int_equal(finish(r, a), -EBUSY);
	assert_int_equal(drained(r, a, 4), -EALREADY);
	assert_int_equal(drained(r, a, 2), 0);
	assert_int_equal(drained(r, a, 3), 0);
	no_reuse(r, a, 5, 1);
	lands(r, late);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(finish(r, a), 0);
	came_back(r, a, FINISHED);
	reuse(r, 2, 5, 1);
}

static void test_C35_first_failed_handle_of_many(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 16 } }, .sources = { 1, 2, 3, 4 });
	struct write second = launch(r, a, 4, 4);

	assert_int_equal(failed(r, a, 1), 0);
	abort_because(r, a, LKVFENCE_REASON_FAILED);
	no_reuse(r, a, 0, 16);
	assert_int_equal(drained(r, a, 3), 0);
	assert_int_equal(drained(r, a, 4), 0);
	lands(r, second);
	assert_int_equal(drained(r, a, 2), 0);
	/* The one that failed is as unknown as before. */
	no_reuse(r, a, 0, 4);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, a, TIMEOUT);
}

static void test_C69_late_write_after_a_second_path(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });
	struct write path1 = launch(r, a, 0, 8);

	/* Path 1 times out, path 2 does the work, and all seems well. */
	assert_int_equal(take(r, a, 2), 0);
	launch(r, a, 0, 8);
	assert_int_equal(drained(r, a, 2), 0);
	assert_int_equal(finish(r, a), -EBUSY);
	no_reuse(r, a, 0, 8);
	lands(r, path1);
	/* Path 1 is fenced by force. */
	assert_int_equal(revoked(r, a, 1, DESTROYED), 0);
	assert_int_equal(finish(r, a), 0);
	reuse(r, 2, 0, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C01_slots_reused_under_a_writer),
		TEST(test_C02_told_to_stop_is_not_quiet),
		TEST(test_C03_received_is_not_drained),
		TEST(test_C04_acknowledged_and_not),
		TEST(test_C05_source_that_never_answers),
		TEST(test_C08_room_is_cleared_before_the_drain),
		TEST(test_C09_two_ranks_abort),
		TEST(test_C15_four_stages_write_one_slot),
		TEST(test_C35_first_failed_handle_of_many),
		TEST(test_C69_late_write_after_a_second_path),
	};

	return RUN(tests);
}
