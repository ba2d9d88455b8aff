// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Take: leases of a transfer that has begun. */
#include "rig.h"

static void test_take_gives_a_lease(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	assert_int_equal(take(r, g, 5), 0);
	assert_int_equal(get(r, g)->nr_leases, 1);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_int_equal(drained(r, g, 5), 0);
	assert_int_equal(finish(r, g), 0);
}

static void test_L3_no_lease_after_an_abort(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	struct image before;

	abort_(r, g);
	before = image_of(r);
	assert_int_equal(take(r, g, 2), -ECANCELED);
	assert_int_equal(take(r, g, 1), -ECANCELED);
	must_be_unchanged(r, &before);
	assert_int_equal(get(r, g)->nr_leases, 1);
	assert_int_equal(drained(r, g, 1), 0);
	assert_true(r->released);
}

static void test_L3_no_lease_after_the_time_to_live(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 50, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(at(r, r->now + 50), 1);
	assert_int_equal(take(r, g, 2), -ECANCELED);
}

static void test_L3_no_lease_in_quarantine(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } },
		      .sources = { 1 });

	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(take(r, g, 2), -ECANCELED);
}

/* A finished one is gone: there is nothing to take a lease of. */
static void test_L3_no_lease_after_the_finish(void **state)
{
	struct rig *r = *state;
	struct fence_transfer *t;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	assert_int_equal(finish(r, g), 0);
	assert_int_equal(fence_lookup(&r->f, g, &t), -ESTALE);
	assert_null(t);
}

/* One lease of a generation for each source, ever. */
static void test_take_twice(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(take(r, g, 1), -EEXIST);
	assert_int_equal(take(r, g, 2), 0);
	assert_int_equal(take(r, g, 2), -EEXIST);
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(take(r, g, 1), -EEXIST);
	assert_int_equal(failed(r, g, 2), 0);
	assert_int_equal(take(r, g, 2), -EEXIST);
	assert_int_equal(get(r, g)->nr_leases, 2);
	assert_int_equal(get(r, g)->unproven, 1);
}

static void test_take_too_many(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	for (u32 source = 2; source <= MAX_LEASES; source++)
		assert_int_equal(take(r, g, source), 0);
	assert_int_equal(take(r, g, 99), -ENOSPC);
	/* Those that came back count too. */
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(take(r, g, 99), -ENOSPC);
	assert_int_equal(get(r, g)->nr_leases, MAX_LEASES);
}

static void test_take_after_all_came_back(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(take(r, g, 2), 0);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
}

/* Sources are kept in order, whatever the order in which they came. */
static void test_leases_are_by_source(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 7, U32_MAX, 3 });
	u32 want[] = { 3, 5, 7, U32_MAX };
	struct rb_node *n;
	u32 i = 0;

	assert_int_equal(take(r, g, 5), 0);
	for (n = rb_first(&get(r, g)->leases); n; n = rb_next(n))
		assert_int_equal(rb_entry(n, struct fence_lease, node)->source,
				 want[i++]);
	assert_int_equal(i, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_take_gives_a_lease),
		TEST(test_L3_no_lease_after_an_abort),
		TEST(test_L3_no_lease_after_the_time_to_live),
		TEST(test_L3_no_lease_in_quarantine),
		TEST(test_L3_no_lease_after_the_finish),
		TEST(test_take_twice),
		TEST(test_take_too_many),
		TEST(test_take_after_all_came_back),
		TEST(test_leases_are_by_source),
	};

	return RUN(tests);
}
