// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: the producer's pages, and who comes to read them, or doesn't. */
#include "cases.h"

#define ROOM	7
#define D	20	/* source: a decode rank; others follow */
#define P	50	/* source: a rank of the producer's */

static u64 prefill(struct rig *r)
{
	return begin(r, .tag = ROOM, .ranges = { { 0, 8 } }, .offer = true);
}

static u64 asks(struct rig *r, u32 source)
{
	return pull(r, .tag = ROOM, .source = source);
}

static void test_C16_prefill_aborts_and_tells(void **state)
{
	struct rig *r = *state;
	u64 waits_for_it = asks(r, D), a = prefill(r), late;

	r->now += 10;
	abort_because(r, a, LKVFENCE_REASON_PREEMPTED);
	/* Not when some timer of minutes runs out; and who asks later, at once too. */
	refused(r, waits_for_it, a, LKVFENCE_REASON_PREEMPTED);
	r->now += 10;
	late = asks(r, D + 1);
	refused(r, late, a, LKVFENCE_REASON_PREEMPTED);
	came_back(r, a, DRAINED);
}

static void test_C19_failed_pull_bans_nobody(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r), b;

	assert_int_equal(ready(r, a, 0, 1), 0);
	granted(r, asks(r, D), a);
	assert_int_equal(failed(r, a, D), 0);
	abort_because(r, a, LKVFENCE_REASON_FAILED);
	/* The request failed, not who asked. */
	b = begin(r, .tag = ROOM + 1, .ranges = { { 8, 8 } }, .offer = true);
	assert_int_equal(ready(r, b, 0, 1), 0);
	granted(r, pull(r, .tag = ROOM + 1, .source = D), b);
	assert_int_equal(drained(r, b, D), 0);
	came_back(r, b, FINISHED);
}

static void test_C21_room_that_is_gone_is_an_answer(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r), b, retry;

	assert_int_equal(ready(r, a, 0, 1), 0);
	granted(r, asks(r, D), a);
	assert_int_equal(drained(r, a, D), 0);
	came_back(r, a, FINISHED);
	/* The room is gone: that is told, and nothing crashes on it. */
	refused(r, pull(r, .tag = ROOM, .exact = a, .source = D), a,
		LKVFENCE_REASON_UNKNOWN);
	/* A retry meets no leftovers of the first attempt. */
	retry = pull(r, .tag = ROOM, .newer = a, .source = D);
	b = prefill(r);
	assert_true(waits(r, retry));
	assert_int_equal(ready(r, b, 0, 1), 0);
	granted(r, retry, b);
}

static void test_C30_client_gone_while_a_reader_is_at_it(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);
	struct write reads;

	assert_int_equal(ready(r, a, 50, 1), 0);
	granted(r, asks(r, D), a);
	reads = launch(r, a, 0, 8);
	/* The client hangs up; what comes late finds nothing popped. */
	abort_(r, a);
	assert_int_equal(ready(r, a, 50, 1), -ECANCELED);
	assert_int_equal(finish(r, a), -EBUSY);
	abort_because(r, a, LKVFENCE_REASON_DROPPED);
	assert_int_equal(at(r, r->now + 60), 0);
	no_reuse(r, a, 0, 8);
	lands(r, reads);
	assert_int_equal(drained(r, a, D), 0);
	assert_int_equal(came_back(r, a, DRAINED)->reason, LKVFENCE_REASON_ABORTED);
	assert_int_equal(drained(r, a, D), -ESTALE);
}

static void test_C31_nobody_will_read_it(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);

	assert_int_equal(ready(r, a, 900, 1), 0);
	/* Armed but never launched: free now, and not when its time is over. */
	abort_because(r, a, LKVFENCE_REASON_DROPPED);
	came_back(r, a, DRAINED);
	reuse(r, 2, 0, 8);
}

static void test_C32_decode_refuses_early(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);

	/* It refuses while prefill runs: its pages are free at once. */
	abort_because(r, a, LKVFENCE_REASON_DROPPED);
	came_back(r, a, DRAINED);
	/* Or before prefill has begun, and this then holds nothing. */
	assert_true(abort_early(r, ROOM + 1, 0, LKVFENCE_REASON_DROPPED));
	assert_int_equal(try_begin(r, .tag = ROOM + 1, .ranges = { { 0, 8 } },
				   .offer = true), -ECANCELED);
	reuse(r, 2, 0, 8);
}

static void test_C33_lease_runs_out_before_the_read(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r), late;

	assert_int_equal(ready(r, a, 50, 0), 0);
	assert_int_equal(at(r, r->now + 50), 1);
	came_back(r, a, DRAINED);
	reuse(r, 2, 0, 8);
	/* The reader learns that, and reads nothing of the next one's. */
	late = asks(r, D);
	refused(r, late, a, LKVFENCE_REASON_EXPIRED);
	late = pull(r, .tag = ROOM, .exact = a, .source = D);
	refused(r, late, a, LKVFENCE_REASON_EXPIRED);
}

static void test_C33_read_that_began_in_time(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);
	struct write reads;

	assert_int_equal(ready(r, a, 50, 0), 0);
	granted(r, asks(r, D), a);
	reads = launch(r, a, 0, 8);
	assert_int_equal(at(r, r->now + 50), 1);
	no_reuse(r, a, 0, 8);
	lands(r, reads);
	assert_int_equal(drained(r, a, D), 0);
	assert_int_equal(came_back(r, a, DRAINED)->reason, LKVFENCE_REASON_EXPIRED);
}

static void test_C34_old_reference_gets_no_lease(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r), b;

	assert_int_equal(ready(r, a, 0, 0), 0);
	assert_int_equal(finish(r, a), 0);
	/* The same room and the same pages, with another prompt in them. */
	b = prefill(r);
	assert_int_equal(ready(r, b, 0, 0), 0);
	refused(r, pull(r, .tag = ROOM, .exact = a, .source = D), a,
		LKVFENCE_REASON_UNKNOWN);
	assert_int_equal(get(r, b)->nr_leases, 0);
}

static void test_C37_renewed_while_the_consumer_queues(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);

	assert_int_equal(ready(r, a, 50, 1), 0);
	for (u32 beat = 0; beat < 10; beat++) {
		assert_int_equal(at(r, r->now + 40), 0);
		assert_int_equal(ready(r, a, 50, 1), 0);
	}
	granted(r, asks(r, D), a);
	assert_int_equal(drained(r, a, D), 0);
	came_back(r, a, FINISHED);
}

static void test_C37_expiry_is_told_to_who_queues(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = ROOM, .ttl = 50, .ranges = { { 0, 8 } },
		      .sources = { P }, .offer = true);
	u64 k = asks(r, D);

	assert_int_equal(at(r, r->now + 50), 1);
	refused(r, k, a, LKVFENCE_REASON_EXPIRED);
	no_reuse(r, a, 0, 8);
	assert_int_equal(drained(r, a, P), 0);
	came_back(r, a, DRAINED);
}

static void test_C39_both_sides_have_a_deadline(void **state)
{
	struct rig *r = *state;
	u64 nobody = pull(r, .tag = ROOM + 1, .source = D), a = prefill(r);
	u64 stuck = asks(r, D);

	at(r, r->now + UNCLAIMED_NS);
	refused(r, nobody, 0, LKVFENCE_REASON_UNKNOWN);
	at(r, r->now + PULL_NS);
	refused(r, stuck, a, LKVFENCE_REASON_DEADLINE);
}

static void test_C40_who_gives_up_says_so(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = ROOM, .policy = QUARANTINE, .ranges = { { 0, 8 } },
		      .offer = true);
	u64 k = asks(r, D);

	/* One gives up before it has anything: that holds nothing. */
	withdraw(r, k);
	refused(r, k, a, LKVFENCE_REASON_WITHDRAWN);
	assert_int_equal(ready(r, a, 50, 2), 0);
	granted(r, asks(r, D), a);
	assert_int_equal(get(r, a)->nr_leases, 1);
	/* One that has it, and is silent: no time that passes is a permission. */
	assert_int_equal(at(r, r->now + 50), 1);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	no_reuse(r, a, 0, 8);
	assert_int_equal(drained(r, a, D), 0);
	came_back(r, a, DRAINED);
}

static void test_C57_readers_of_one_offer(void **state)
{
	struct rig *r = *state;
	u64 a = prefill(r);

	assert_int_equal(ready(r, a, 0, 3), 0);
	for (u32 i = 0; i < 3; i++)
		granted(r, asks(r, D + i), a);
	/* Twice is counted once, so one frees it neither for another nor again. */
	assert_int_equal(drained(r, a, D), 0);
	assert_int_equal(drained(r, a, D), -EALREADY);
	assert_int_equal(drained(r, a, D + 1), 0);
	no_reuse(r, a, 0, 8);
	assert_int_equal(drained(r, a, D + 2), 0);
	came_back(r, a, FINISHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C16_prefill_aborts_and_tells),
		TEST(test_C19_failed_pull_bans_nobody),
		TEST(test_C21_room_that_is_gone_is_an_answer),
		TEST(test_C30_client_gone_while_a_reader_is_at_it),
		TEST(test_C31_nobody_will_read_it),
		TEST(test_C32_decode_refuses_early),
		TEST(test_C33_lease_runs_out_before_the_read),
		TEST(test_C33_read_that_began_in_time),
		TEST(test_C34_old_reference_gets_no_lease),
		TEST(test_C37_renewed_while_the_consumer_queues),
		TEST(test_C37_expiry_is_told_to_who_queues),
		TEST(test_C39_both_sides_have_a_deadline),
		TEST(test_C40_who_gives_up_says_so),
		TEST(test_C57_readers_of_one_offer),
	};

	return RUN(tests);
}
