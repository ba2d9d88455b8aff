// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Begin: who gets slots, and who is refused. */
#include "rig.h"

static void test_L1_begin_takes_exactly_its_slots(void **state)
{
	struct rig *r = *state;

	begin(r, .ranges = { { 3, 2 }, { 190, 10 } });
	for (u32 slot = 0; slot < SLOTS; slot++)
		assert_int_equal(slot_taken(r, slot),
				 slot == 3 || slot == 4 || slot >= 190);
}

/* Can this slot be had? */
static int probe(struct rig *r, u32 slot)
{
	u64 g;
	int err = rig_begin(r, &(struct want){ .tag = 1, .ranges = { { slot, 1 } } }, &g);

	return err ?: finish(r, g);
}

/* Ranges that begin, end, fill and cross words of the bitmap. */
static void test_L1_begin_takes_exactly_its_slots_across_words(void **state)
{
	static const struct lkvfence_range ranges[] = {
		{ 0, 1 }, { 0, 63 }, { 0, 64 }, { 0, 65 }, { 1, 63 }, { 31, 2 },
		{ 60, 10 }, { 63, 1 }, { 63, 2 }, { 64, 1 }, { 64, 64 },
		{ 63, 66 }, { 127, 2 }, { 128, 72 }, { 199, 1 }, { 0, 200 },
	};

	for (u32 i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct lkvfence_range *n = &ranges[i];
		struct rig *r = *state;
		u64 g = begin(r, .ranges = { *n });

		for (u32 slot = 0; slot < SLOTS; slot++) {
			bool mine = slot >= n->first && slot < n->first + n->count;
			struct fence_transfer *t = fence_find_slot(&r->f, slot);

			assert_int_equal(slot_taken(r, slot), mine);
			assert_int_equal(t ? t->generation : 0, mine ? g : 0);
		}
		/* Its first and last are taken, those beside it aren't. */
		assert_int_equal(probe(r, n->first), -EBUSY);
		assert_int_equal(probe(r, n->first + n->count - 1), -EBUSY);
		assert_int_equal(probe(r, n->first - 1), n->first ? 0 : -ERANGE);
		assert_int_equal(probe(r, n->first + n->count),
				 n->first + n->count < SLOTS ? 0 : -ERANGE);
		assert_int_equal(finish(r, g), 0);
		assert_int_equal(r->f.slots_taken, 0);
		forget_news(r);
	}
}

static void test_L1_taken_slot_is_busy_and_named(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 77, .ranges = { { 10, 10 } });

	assert_int_equal(try_begin(r, .tag = 1, .ranges = { { 0, 5 }, { 17, 100 } }),
			 -EBUSY);
	assert_int_equal(r->why.slot, 17);
	assert_int_equal(r->why.generation, g);
	assert_int_equal(r->why.tag, 77);
	assert_int_equal(r->f.counts.refused_busy, 1);
}

/* First in the order of the ranges, not of the slots. */
static void test_L1_first_busy_slot_is_by_order_of_ranges(void **state)
{
	struct rig *r = *state;
	u64 g;

	begin(r, .tag = 1, .ranges = { { 10, 1 } });
	g = begin(r, .tag = 2, .ranges = { { 100, 1 } });
	assert_int_equal(try_begin(r, .tag = 3, .ranges = { { 95, 10 }, { 5, 10 } }),
			 -EBUSY);
	assert_int_equal(r->why.slot, 100);
	assert_int_equal(r->why.generation, g);
}

static void test_L1_refusal_changes_nothing(void **state)
{
	struct rig *r = *state;
	struct image before;

	begin(r, .tag = 1, .ranges = { { 150, 1 } }, .sources = { 1 });
	before = image_of(r);
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 0, 70 }, { 90, 1 }, { 140, 20 } }),
			 -EBUSY);
	must_be_unchanged(r, &before);
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 0, 70 }, { 69, 1 } }), -EINVAL);
	must_be_unchanged(r, &before);
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 0, 70 }, { 199, 2 } }), -ERANGE);
	must_be_unchanged(r, &before);
	assert_int_equal(try_begin(r, .tag = 1, .ranges = { { 0, 70 } }), -EEXIST);
	must_be_unchanged(r, &before);
	r->max_transfers = 1;
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 0, 70 } }), -ENOSPC);
	must_be_unchanged(r, &before);
	no_news(r);
	/* And so all of it can still be had. */
	r->max_transfers = 2;
	begin(r, .tag = 2, .ranges = { { 0, 150 }, { 151, 49 } });
}

static void test_L1_held_slot_is_busy(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 2 } }, .sources = { 1 });

	abort_(r, g);
	assert_int_equal(try_begin(r, .tag = 1, .ranges = { { 1, 2 } }), -EBUSY);
	assert_int_equal(r->why.generation, g);
	assert_int_equal(r->why.slot, 1);
}

static void test_L1_quarantined_slot_is_busy(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .policy = QUARANTINE, .ranges = { { 0, 2 } },
		      .sources = { 1 });

	abort_(r, g);
	assert_int_equal(at(r, r->now + 100 * MAX_NS), 1);
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 1, 2 } }), -EBUSY);
	assert_int_equal(r->why.generation, g);
}

static void test_L1_released_slots_can_be_had_again(void **state)
{
	struct rig *r = *state;
	u64 first = begin(r, .ranges = { { 0, SLOTS } });
	u64 second;

	assert_int_equal(finish(r, first), 0);
	second = begin(r, .ranges = { { 0, SLOTS } });
	assert_true(second > first);
	assert_int_equal(fence_find_slot(&r->f, 0)->generation, second);
}

static void test_begin_slot_named_twice(void **state)
{
	struct rig *r = *state;
	static const struct lkvfence_range twice[][2] = {
		{ { 5, 1 }, { 5, 1 } }, { { 5, 10 }, { 14, 1 } },
		{ { 14, 1 }, { 5, 10 } }, { { 60, 10 }, { 55, 6 } },
		{ { 0, 200 }, { 199, 1 } }, { { 64, 64 }, { 0, 65 } },
	};

	for (u32 i = 0; i < sizeof(twice) / sizeof(twice[0]); i++)
		assert_int_equal(try_begin(r, .ranges = { twice[i][0], twice[i][1] }),
				 -EINVAL);
	assert_int_equal(r->f.counts.refused_busy, 0);
	assert_int_equal(r->f.slots_taken, 0);
	/* Side by side is not twice. */
	begin(r, .ranges = { { 5, 10 }, { 15, 1 }, { 4, 1 } });
}

static void test_begin_empty_range(void **state)
{
	struct rig *r = *state;

	assert_int_equal(try_begin(r, .ranges = { { 0, 3 }, { 7, 0 } }), -EINVAL);
	assert_int_equal(try_begin(r, .ranges = { { 7, 0 } }), -EINVAL);
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_begin_slot_beyond_the_region(void **state)
{
	struct rig *r = *state;

	assert_int_equal(try_begin(r, .ranges = { { SLOTS, 1 } }), -ERANGE);
	assert_int_equal(try_begin(r, .ranges = { { SLOTS - 1, 2 } }), -ERANGE);
	assert_int_equal(try_begin(r, .ranges = { { U32_MAX, 1 } }), -ERANGE);
	begin(r, .ranges = { { SLOTS - 1, 1 } });
}

/* first + count is more than 32 bits can hold. */
static void test_begin_range_that_wraps(void **state)
{
	struct rig *r = *state;

	assert_int_equal(try_begin(r, .ranges = { { 1, U32_MAX } }), -ERANGE);
	assert_int_equal(try_begin(r, .ranges = { { 10, U32_MAX - 5 } }), -ERANGE);
	assert_int_equal(try_begin(r, .ranges = { { U32_MAX, U32_MAX } }), -ERANGE);
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_begin_tag_in_use_is_named(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 9, .ranges = { { 0, 1 } });

	assert_int_equal(try_begin(r, .tag = 9, .ranges = { { 1, 1 } }), -EEXIST);
	assert_int_equal(r->why.generation, g);
	assert_int_equal(r->why.tag, 9);
	assert_int_equal(r->f.counts.refused_exists, 1);
}

/* A tag is free from the end on, not only from the release. */
static void test_tag_can_be_used_again_after_the_end(void **state)
{
	struct rig *r = *state;
	u64 held = begin(r, .tag = 9, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 next;

	abort_(r, held);
	assert_null(fence_find_tag(&r->f, 9));
	next = begin(r, .tag = 9, .ranges = { { 1, 1 } }, .sources = { 1 });
	assert_int_equal(fence_find_tag(&r->f, 9)->generation, next);
	/* The old one's end doesn't take the tag from the new one. */
	assert_int_equal(drained(r, held, 1), 0);
	assert_true(r->released);
	assert_int_equal(fence_find_tag(&r->f, 9)->generation, next);
	assert_int_equal(try_begin(r, .tag = 9, .ranges = { { 2, 1 } }), -EEXIST);
}

static void test_begin_too_many_transfers(void **state)
{
	struct rig *r = *state;
	u64 g = 0;

	for (u32 i = 0; i < MAX_TRANSFERS; i++)
		g = begin(r, .tag = i, .ranges = { { i, 1 } }, .sources = { 1 });
	assert_int_equal(try_begin(r, .tag = 99, .ranges = { { 99, 1 } }), -ENOSPC);
	assert_int_equal(r->f.counts.refused_limit, 1);
	/* A held one counts still; a released one doesn't. */
	abort_(r, g);
	assert_int_equal(try_begin(r, .tag = 99, .ranges = { { 99, 1 } }), -ENOSPC);
	assert_int_equal(drained(r, g, 1), 0);
	begin(r, .tag = 99, .ranges = { { 99, 1 } });
}

static void test_begin_source_named_twice(void **state)
{
	struct rig *r = *state;

	assert_int_equal(try_begin(r, .ranges = { { 0, 1 } }, .sources = { 3, 2, 3 }),
			 -EINVAL);
	assert_int_equal(r->f.slots_taken, 0);
}

static void test_begin_default_policy_is_taint(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = LKVFENCE_POLICY_DEFAULT, .ranges = { { 0, 1 } });

	assert_int_equal(get(r, g)->policy, TAINT);
}

static void test_begin_tells_what_it_knows(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 4, .policy = QUARANTINE, .ranges = { { 0, 3 }, { 9, 4 } },
		      .sources = { 8, 7 });
	struct fence_transfer *t = get(r, g);

	assert_int_equal(t->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(t->reason, LKVFENCE_REASON_NONE);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_NONE);
	assert_int_equal(t->policy, QUARANTINE);
	assert_int_equal(t->begun_ns, r->now);
	assert_int_equal(t->nr_slots, 7);
	assert_int_equal(t->nr_leases, 2);
	assert_int_equal(t->unproven, 2);
	assert_int_equal(r->f.counts.begun, 1);
	assert_int_equal(r->f.last_generation, g);
	no_news(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L1_begin_takes_exactly_its_slots),
		TEST(test_L1_begin_takes_exactly_its_slots_across_words),
		TEST(test_L1_taken_slot_is_busy_and_named),
		TEST(test_L1_first_busy_slot_is_by_order_of_ranges),
		TEST(test_L1_refusal_changes_nothing),
		TEST(test_L1_held_slot_is_busy),
		TEST(test_L1_quarantined_slot_is_busy),
		TEST(test_L1_released_slots_can_be_had_again),
		TEST(test_begin_slot_named_twice),
		TEST(test_begin_empty_range),
		TEST(test_begin_slot_beyond_the_region),
		TEST(test_begin_range_that_wraps),
		TEST(test_begin_tag_in_use_is_named),
		TEST(test_tag_can_be_used_again_after_the_end),
		TEST(test_begin_too_many_transfers),
		TEST(test_begin_source_named_twice),
		TEST(test_begin_default_policy_is_taint),
		TEST(test_begin_tells_what_it_knows),
	};

	return RUN(tests);
}
