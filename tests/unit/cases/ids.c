// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: a number that is used again, a reference that is out of date. */
#include "cases.h"

static void test_C13_old_acknowledgement_for_a_reused_room(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 7, .ranges = { { 0, 4 } }, .sources = { 1, 2 });
	struct write w;
	u64 b;

	abort_(r, a);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	b = begin(r, .tag = 7, .ranges = { { 0, 4 } }, .sources = { 1, 2 });
	w = launch(r, b, 0, 4);
	abort_(r, b);
	/* Late, twice, and by somebody who wasn't asked. */
	assert_int_equal(drained(r, a, 2), -ESTALE);
	assert_int_equal(drained(r, b, 1), 0);
	assert_int_equal(drained(r, b, 1), -EALREADY);
	assert_int_equal(drained(r, b, 3), -ENOENT);
	no_reuse(r, b, 0, 4);
	lands(r, w);
	assert_int_equal(r->f.counts.returns_stale, 1);
	assert_int_equal(r->f.counts.returns_duplicate, 1);
	assert_int_equal(r->f.counts.returns_unknown, 1);
	assert_int_equal(drained(r, b, 2), 0);
	came_back(r, b, DRAINED);
}

static void test_C14_what_a_slot_tells_of_its_last_user(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 3, 1 } }, .sources = { 1 });
	struct image before;
	u64 b;

	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(finish(r, a), 0);
	assert_null(fence_find_slot(&r->f, 3));
	b = begin(r, .tag = 2, .ranges = { { 3, 1 } }, .sources = { 1 });
	/* B's data isn't there yet, and A's tag is. Whose is the slot? */
	assert_int_equal(fence_find_slot(&r->f, 3)->generation, b);
	/* And an abort because of what A left can't hit B. */
	before = image_of(r);
	assert_int_equal(known(r, a), -ESTALE);
	assert_null(fence_find_tag(&r->f, 1));
	must_be_unchanged(r, &before);
	assert_int_equal(get(r, b)->state, LKVFENCE_STATE_WAITING);
}

static void test_C21_room_is_there_twice(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 7, .ranges = { { 0, 4 } }, .sources = { 1 });
	u64 retry;

	assert_int_equal(try_begin(r, .tag = 7, .ranges = { { 4, 4 } }), -EEXIST);
	assert_int_equal(r->why.generation, a);
	/* A fails. Its retry has the same room, and meets no leftovers. */
	abort_because(r, a, LKVFENCE_REASON_FAILED);
	retry = begin(r, .tag = 7, .ranges = { { 4, 4 } }, .sources = { 1 });
	assert_int_equal(fence_find_tag(&r->f, 7)->generation, retry);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(get(r, retry)->unproven, 1);
	/* To ask for what is gone is an answer, not a crash. */
	assert_int_equal(known(r, a), -ESTALE);
	assert_int_equal(known(r, retry + 1000), -ENOENT);
}

static void test_C34_read_by_an_old_reference(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 4 } });
	u64 b;

	assert_int_equal(finish(r, a), 0);
	b = begin(r, .tag = 2, .ranges = { { 0, 4 } });
	/* A reference is a generation: the reader gets no lease with A's, ... */
	assert_int_equal(known(r, a), -ESTALE);
	assert_int_equal(known(r, 0), -ENOENT);
	/* ... and with B's none of A's slots. */
	assert_int_equal(take(r, b, 5), 0);
	assert_int_equal(drained(r, a, 5), -ESTALE);
	assert_int_equal(get(r, b)->unproven, 1);
}

static void test_C51_read_outlives_its_lease(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ttl = 50, .ranges = { { 0, 4 } }, .sources = { 5 });
	u64 b;

	assert_int_equal(at(r, r->now + 50), 1);
	no_reuse(r, a, 0, 4);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	came_back(r, a, TIMEOUT);
	b = reuse(r, 2, 0, 4);
	/* The read was good by its clock; its return says that it wasn't. */
	assert_int_equal(drained(r, a, 5), -ESTALE);
	assert_false(r->released);
	assert_int_equal(get(r, b)->unproven, 1);
}

static void test_C33_producer_gives_up_before_the_consumer_reads(void **state)
{
	struct rig *r = *state;
	u64 never = begin(r, .tag = 1, .ttl = 50, .ranges = { { 0, 4 } });
	u64 late = begin(r, .tag = 2, .ttl = 50, .ranges = { { 4, 4 } }, .sources = { 5 });

	/* The lease of one that queues starts with the read, ... */
	assert_int_equal(at(r, r->now + 49), 0);
	assert_int_equal(take(r, never, 6), 0);
	assert_int_equal(at(r, r->now + 1), 1);
	assert_int_equal(get(r, never)->state, LKVFENCE_STATE_WAITING);
	/* ... and that of one that reads ends the transfer, not the read. */
	assert_int_equal(get(r, late)->reason, LKVFENCE_REASON_EXPIRED);
	no_reuse(r, late, 4, 4);
	assert_int_equal(take(r, late, 7), -ECANCELED);
	assert_int_equal(drained(r, late, 5), 0);
	came_back(r, late, DRAINED);
}

static void test_C67_queued_work_of_an_older_region(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .ranges = { { 0, 4 } }, .sources = { 1 });

	abort_(r, a);
	/* Queued for a, posted behind its end: refused when it asks. */
	assert_int_equal(take(r, a, 2), -ECANCELED);
	assert_int_equal(drained(r, a, 1), 0);
	assert_int_equal(known(r, a), -ESTALE);
	/* The same in a new region of the same name: numbers go on. */
	rig_destroy(r);
	rig_init(r, SLOTS);
	r->f.last_generation = a;
	assert_true(begin(r, .ranges = { { 0, 4 } }, .sources = { 1 }) > a);
	assert_int_equal(drained(r, a, 1), -ESTALE);
	assert_int_equal(r->f.slots_taken, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C13_old_acknowledgement_for_a_reused_room),
		TEST(test_C14_what_a_slot_tells_of_its_last_user),
		TEST(test_C21_room_is_there_twice),
		TEST(test_C33_producer_gives_up_before_the_consumer_reads),
		TEST(test_C34_read_by_an_old_reference),
		TEST(test_C51_read_outlives_its_lease),
		TEST(test_C67_queued_work_of_an_older_region),
	};

	return RUN(tests);
}
