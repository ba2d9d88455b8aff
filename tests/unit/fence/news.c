// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* News and look-ups: what can be learned of a fence. */
#include "rig.h"

static void test_no_news_of_a_fresh_fence(void **state)
{
	struct rig *r = *state;
	u32 bits;

	assert_null(fence_news(&r->f, &bits));
	begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	no_news(r);
}

static void test_news_of_one_transfer_come_in_order(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	static const u32 want[] = {
		FENCE_NEWS_ENDED, FENCE_NEWS_QUARANTINED, FENCE_NEWS_RELEASED,
	};

	abort_(r, g);
	at(r, r->now + DEFAULT_NS);
	drained(r, g, 1);
	assert_int_equal(r->nr_news, 3);
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(r->news[i].t.generation, g);
		assert_int_equal(r->news[i].bits, want[i]);
	}
}

/* The end is told where slots stay held, and only there. */
static void test_L6_end_and_release_in_one_step_is_the_release_only(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	abort_(r, g);
	only_news(r, g, FENCE_NEWS_RELEASED);
	g = begin(r, .ranges = { { 0, 1 } });
	assert_int_equal(finish(r, g), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
}

static void test_news_of_several_come_in_the_order_of_events(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	u64 c = begin(r, .tag = 3, .ranges = { { 2, 1 } }, .sources = { 1 });
	u32 bits;

	/* Nobody listens in between. */
	fence_abort(&r->f, get(r, c), LKVFENCE_REASON_PEER, 0, 0, &r->limits, r->now);
	fence_abort(&r->f, get(r, a), LKVFENCE_REASON_PEER, 0, 0, &r->limits, r->now);
	fence_abort(&r->f, get(r, b), LKVFENCE_REASON_PEER, 0, 0, &r->limits, r->now);
	assert_int_equal(fence_news(&r->f, &bits)->generation, c);
	assert_int_equal(bits, FENCE_NEWS_ENDED);
	assert_int_equal(fence_news(&r->f, &bits)->generation, a);
	assert_int_equal(fence_news(&r->f, &bits)->generation, b);
	assert_null(fence_news(&r->f, &bits));
}

/* The caller frees what it is handed: nothing may lead there any more. */
static void test_L6_released_transfer_is_forgotten(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 5, .ttl = 10, .ranges = { { 3, 2 } }, .sources = { 1 });
	struct fence_transfer *t;

	drained(r, g, 1);
	abort_(r, g);
	assert_null(fence_find_slot(&r->f, 3));
	assert_null(fence_find_slot(&r->f, 4));
	assert_null(fence_find_tag(&r->f, 5));
	assert_null(fence_find_next(&r->f, 0));
	assert_int_equal(fence_lookup(&r->f, g, &t), -ESTALE);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_true(list_empty(&r->f.held));
	assert_true(list_empty(&r->f.news));
}

static void test_L5_lookup(void **state)
{
	struct rig *r = *state;
	struct fence_transfer *t = (void *)r;
	u64 g;

	assert_int_equal(fence_lookup(&r->f, 1, &t), -ENOENT);
	assert_null(t);
	g = begin(r, .ranges = { { 0, 1 } });
	assert_int_equal(fence_lookup(&r->f, g, &t), 0);
	assert_int_equal(t->generation, g);
	assert_int_equal(fence_lookup(&r->f, g - 1, &t), -ESTALE);
	assert_int_equal(fence_lookup(&r->f, g + 1, &t), -ENOENT);
	assert_int_equal(fence_lookup(&r->f, 0, &t), -ENOENT);
	assert_int_equal(finish(r, g), 0);
	assert_int_equal(fence_lookup(&r->f, g, &t), -ESTALE);
	assert_int_equal(fence_lookup(&r->f, g + 1, &t), -ENOENT);
}

static void test_find_next_walks_all_by_generation(void **state)
{
	struct rig *r = *state;
	u64 g[MAX_TRANSFERS];

	for (u32 i = 0; i < MAX_TRANSFERS; i++)
		g[i] = begin(r, .tag = 100 - i, .ranges = { { 100 - i, 1 } },
			     .sources = { 1 });
	/* Held ones are among them, released ones aren't. */
	abort_(r, g[2]);
	assert_int_equal(drained(r, g[4], 1), 0);
	assert_int_equal(finish(r, g[4]), 0);

	assert_int_equal(fence_find_next(&r->f, 0)->generation, g[0]);
	assert_int_equal(fence_find_next(&r->f, g[0] - 1)->generation, g[0]);
	assert_int_equal(fence_find_next(&r->f, g[0])->generation, g[1]);
	assert_int_equal(fence_find_next(&r->f, g[1])->generation, g[2]);
	assert_int_equal(fence_find_next(&r->f, g[3])->generation, g[5]);
	assert_int_equal(fence_find_next(&r->f, g[4])->generation, g[5]);
	assert_null(fence_find_next(&r->f, g[7]));
	assert_null(fence_find_next(&r->f, U64_MAX));
}

static void test_find_tag(void **state)
{
	struct rig *r = *state;
	static const u64 tags[] = { 50, 20, 80, 0, U64_MAX, 60 };
	u64 g[6];

	for (u32 i = 0; i < 6; i++)
		g[i] = begin(r, .tag = tags[i], .ranges = { { i, 1 } }, .sources = { 1 });
	for (u32 i = 0; i < 6; i++)
		assert_int_equal(fence_find_tag(&r->f, tags[i])->generation, g[i]);
	assert_null(fence_find_tag(&r->f, 51));
	abort_(r, g[0]);
	assert_null(fence_find_tag(&r->f, 50));
	for (u32 i = 1; i < 6; i++)
		assert_int_equal(fence_find_tag(&r->f, tags[i])->generation, g[i]);
}

static void test_L1_find_slot(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 62, 4 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 66, 1 } });

	assert_null(fence_find_slot(&r->f, 61));
	for (u32 slot = 62; slot < 66; slot++)
		assert_int_equal(fence_find_slot(&r->f, slot)->generation, a);
	assert_int_equal(fence_find_slot(&r->f, 66)->generation, b);
	assert_null(fence_find_slot(&r->f, 67));
	/* Also while held. */
	abort_(r, a);
	assert_int_equal(fence_find_slot(&r->f, 63)->generation, a);
}

/* The oldest first, whatever the generations are. */
static void test_held_list_is_by_age(void **state)
{
	struct rig *r = *state;
	u64 a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	u64 c = begin(r, .tag = 3, .ranges = { { 2, 1 } }, .sources = { 1 });

	abort_(r, b);
	r->now++;
	abort_(r, c);
	r->now++;
	abort_(r, a);
	assert_int_equal(list_first_entry_or_null(&r->f.held, struct fence_transfer,
						  held)->generation, b);
	assert_int_equal(drained(r, b, 1), 0);
	assert_int_equal(list_first_entry_or_null(&r->f.held, struct fence_transfer,
						  held)->generation, c);
	/* An extension makes none younger. */
	abort_for(r, c, LKVFENCE_REASON_ABORTED, 0, 500);
	assert_int_equal(list_first_entry_or_null(&r->f.held, struct fence_transfer,
						  held)->generation, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_news_of_a_fresh_fence),
		TEST(test_news_of_one_transfer_come_in_order),
		TEST(test_L6_end_and_release_in_one_step_is_the_release_only),
		TEST(test_news_of_several_come_in_the_order_of_events),
		TEST(test_L6_released_transfer_is_forgotten),
		TEST(test_L5_lookup),
		TEST(test_find_next_walks_all_by_generation),
		TEST(test_find_tag),
		TEST(test_L1_find_slot),
		TEST(test_held_list_is_by_age),
	};

	return RUN(tests);
}
