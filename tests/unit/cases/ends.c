// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: how a transfer ends, and what comes behind the end. */
#include "cases.h"

static void test_C11_failure_that_decode_did_not_start(void **state)
{
	struct rig *r = *state;
	/* Decode's slots, and the pages that prefill sends from. */
	u64 d = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1, 2 });
	u64 p = begin(r, .tag = 2, .ranges = { { 100, 8 } }, .sources = { 1, 2 });
	struct write to = launch(r, d, 4, 4), from = launch(r, p, 104, 4);

	assert_int_equal(failed(r, d, 1), 0);
	assert_int_equal(failed(r, p, 1), 0);
	abort_because(r, d, LKVFENCE_REASON_PEER);
	abort_because(r, p, LKVFENCE_REASON_FAILED);
	no_reuse(r, d, 4, 4);
	no_reuse(r, p, 104, 4);
	lands(r, to);
	lands(r, from);
	/* Others report it too; the first cause stays. */
	abort_because(r, d, LKVFENCE_REASON_ABORTED);
	assert_int_equal(get(r, d)->reason, LKVFENCE_REASON_PEER);
}

static void test_C18_ended_is_never_completed(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 8 } }, .sources = { 1 });

	abort_because(r, a, LKVFENCE_REASON_FAILED);
	/* A worker that was quicker reports success now. */
	assert_int_equal(finish(r, a), -EBUSY);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(came_back(r, a, DRAINED)->reason, LKVFENCE_REASON_FAILED);
	assert_int_equal(r->f.counts.released[FINISHED], 0);
}

static void test_C20_bad_request_among_good_ones(void **state)
{
	struct rig *r = *state;
	u64 good = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1 });

	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { SLOTS - 1, 2 } }), -ERANGE);
	assert_int_equal(try_begin(r, .tag = 3, .ranges = { { 9, 2 }, { 10, 2 } }), -EINVAL);
	assert_int_equal(give(r, good, 1, 77, 77), -EINVAL);
	assert_int_equal(drained(r, good + 99, 1), -ENOENT);
	/* The next one doesn't notice. */
	assert_int_equal(finish(r, begin(r, .tag = 4, .ranges = { { 8, 8 } })), 0);
	assert_int_equal(drained(r, good, 1), 0);
	assert_int_equal(finish(r, good), 0);
}

static void test_C30_client_gone_while_the_free_is_delayed(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ttl = 50, .ranges = { { 0, 8 } }, .sources = { 1 });
	u64 deadline;

	/* It is over and held; then the client hangs up as well. */
	assert_int_equal(at(r, r->now + 50), 1);
	deadline = fence_next_deadline(&r->f);
	abort_(r, a);
	assert_int_equal(fence_next_deadline(&r->f), deadline);
	no_reuse(r, a, 0, 8);
	assert_int_equal(at(r, deadline), 1);
	assert_int_equal(came_back(r, a, TIMEOUT)->reason, LKVFENCE_REASON_EXPIRED);
	/* What comes now finds nothing, and says so. */
	assert_int_equal(drained(r, a, 1), -ESTALE);
	assert_int_equal(known(r, a), -ESTALE);
}

static void test_C31_router_gives_up_as_prefill_ends(void **state)
{
	struct rig *r = *state;
	u64 armed = begin(r, .tag = 1, .ttl = 500, .ranges = { { 0, 8 } });
	u64 read = begin(r, .tag = 2, .ttl = 500, .ranges = { { 8, 8 } });
	struct write pull;

	assert_int_equal(take(r, read, 5), 0);
	pull = launch(r, read, 8, 8);
	/* Nobody came for the first: free now. The second is being read. */
	abort_(r, armed);
	came_back(r, armed, DRAINED);
	reuse(r, 3, 0, 8);
	abort_(r, read);
	no_reuse(r, read, 8, 8);
	lands(r, pull);
}

static void test_C55_cancelled_behind_the_last_byte(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 8 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 8, 8 } }, .sources = { 1 });

	/* All is there: back at once, not when a timeout passes. */
	assert_int_equal(drained(r, a, 1), 0);
	abort_(r, a);
	assert_int_equal(came_back(r, a, DRAINED)->released_ns, r->now);
	/* The transport is gone in the middle: neither done nor failed, ever. */
	abort_(r, b);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, b, TIMEOUT);
}

static void test_C58_burst_of_cancellations(void **state)
{
	struct rig *r = *state;
	u32 round, i;

	for (round = 0; round < 20; round++) {
		u64 g[MAX_TRANSFERS];

		for (i = 0; i < MAX_TRANSFERS; i++)
			g[i] = begin(r, .tag = i, .ranges = { { i * 25, 25 } },
				     .sources = { 1, 2 });
		for (i = 0; i < MAX_TRANSFERS; i++) {
			assert_int_equal(drained(r, g[i], 1), 0);
			abort_(r, g[i]);
			assert_int_equal(finish(r, g[i]), -EBUSY);
		}
		for (i = 0; i < MAX_TRANSFERS; i += 2)
			assert_int_equal(drained(r, g[i], 2), 0);
		assert_int_equal(at(r, r->now + DEFAULT_NS), MAX_TRANSFERS / 2);
		for (i = 0; i < MAX_TRANSFERS; i++)
			came_back(r, g[i], i % 2 ? TIMEOUT : DRAINED);
		/* Every place is good again, for what it should be good. */
		assert_int_equal(r->f.slots_taken, 0);
		assert_int_equal(r->f.transfers_alive, 0);
		forget_news(r);
	}
	assert_int_equal(r->f.counts.begun, 20 * MAX_TRANSFERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C11_failure_that_decode_did_not_start),
		TEST(test_C18_ended_is_never_completed),
		TEST(test_C20_bad_request_among_good_ones),
		TEST(test_C30_client_gone_while_the_free_is_delayed),
		TEST(test_C31_router_gives_up_as_prefill_ends),
		TEST(test_C55_cancelled_behind_the_last_byte),
		TEST(test_C58_burst_of_cancellations),
	};

	return RUN(tests);
}
