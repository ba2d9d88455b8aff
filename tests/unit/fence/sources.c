// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Bound sources: which leases count for them, and who gets none. */
#include "rig.h"

static void test_bind(void **state)
{
	static const u32 numbers[] = { 7, 3, U32_MAX, 0, 5 };
	struct rig *r = *state;

	assert_null(fence_find_source(&r->f, 7));
	for (u32 i = 0; i < 5; i++) {
		bind_(r, numbers[i]);
		assert_int_equal(source_of(r, numbers[i])->state, FENCE_SOURCE_BOUND);
		assert_int_equal(r->f.nr_sources, i + 1);
	}
	for (u32 i = 0; i < 5; i++) {
		struct fence_source *s = source_of(r, numbers[i]);

		assert_int_equal(try_bind(r, numbers[i]), -EEXIST);
		assert_ptr_equal(source_of(r, numbers[i]), s);
	}
	assert_null(fence_find_source(&r->f, 4));
	assert_int_equal(r->f.nr_sources, 5);
	for (u32 i = 0; i < 5; i++) {
		assert_int_equal(unbind(r, numbers[i]), 0);
		assert_null(fence_find_source(&r->f, numbers[i]));
	}
	assert_int_equal(r->f.nr_sources, 0);
	no_news(r);
}

/* From when it is bound on, by BEGIN and by TAKE; not those from before. */
static void test_leases_granted_since_are_bound(void **state)
{
	struct rig *r = *state;
	u64 before = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	u64 g;

	bind_(r, 1);
	assert_int_equal(get(r, before)->nr_bound, 0);
	assert_int_equal(source_of(r, 1)->nr_leases, 0);
	g = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 2, 1, 3 });
	assert_int_equal(get(r, g)->nr_bound, 1);
	assert_int_equal(source_of(r, 1)->nr_leases, 1);
	g = begin(r, .tag = 3, .ranges = { { 2, 1 } });
	assert_int_equal(take(r, g, 1), 0);
	assert_int_equal(get(r, g)->nr_bound, 1);
	assert_int_equal(source_of(r, 1)->nr_leases, 2);
	assert_int_equal(take(r, g, 2), 0);
	assert_int_equal(get(r, g)->nr_bound, 1);
	/* The older one hinders nobody. */
	assert_int_equal(get(r, before)->unproven, 1);
}

/* A refused one is none. */
static void test_refused_leases_dont_count(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 1 } });

	bind_(r, 1);
	assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 0, 1 } }, .sources = { 1 }),
			 -EBUSY);
	assert_int_equal(source_of(r, 1)->nr_leases, 0);
	assert_int_equal(take(r, g, 1), 0);
	assert_int_equal(take(r, g, 1), -EEXIST);
	assert_int_equal(source_of(r, 1)->nr_leases, 1);
}

/* Each way in which a lease stops to count; its source may go then. */
static void test_lease_counts_until_it_is_proven_or_released(void **state)
{
	struct rig *r = *state;

	bind_(r, 1);
	for (u32 way = 0; way < 5; way++) {
		u64 g = begin(r, .policy = way == 4 ? QUARANTINE : TAINT,
			      .ranges = { { 0, 1 } }, .sources = { 1, 2 });

		assert_int_equal(unbind(r, 1), -EBUSY);
		assert_int_equal(r->f.nr_sources, 1);
		/* Not by this, which proves nothing. */
		if (way != 1)
			assert_int_equal(failed(r, g, 1), 0);
		assert_int_equal(source_of(r, 1)->nr_leases, 1);
		abort_(r, g);
		assert_int_equal(unbind(r, 1), -EBUSY);
		if (way == 0)
			assert_int_equal(revoked(r, g, 1, WINDOW), 0);
		else if (way == 1)
			assert_int_equal(drained(r, g, 1), 0);
		else if (way >= 3)
			assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
		if (way == 4) {
			assert_int_equal(unbind(r, 1), -EBUSY);
			assert_int_equal(force(r, g), 0);
		}
		if (way == 2) {
			assert_true(revoke(r, 1));
			quiet(r, 1, FLUSHED);
		}
		assert_int_equal(source_of(r, 1)->nr_leases, 0);
		assert_int_equal(unbind(r, 1), 0);
		bind_(r, 1);
		if (way < 3)
			assert_int_equal(drained(r, g, 2), 0);
		assert_int_equal(r->f.transfers_alive, 0);
	}
}

/* Who looks for sources that may be unbound is told when one may be. */
static void test_idle_is_said_of_the_last_lease(void **state)
{
	struct rig *r = *state;
	u64 g[4];

	bind_(r, 1);
	bind_(r, 2);
	for (u32 i = 0; i < 4; i++)
		g[i] = begin(r, .tag = i, .policy = TAINT, .ranges = { { i, 1 } },
			     .sources = { 1, 3 });
	assert_int_equal(drained(r, g[0], 1), 0);
	assert_int_equal(failed(r, g[1], 1), 0);
	assert_int_equal(revoked(r, g[1], 1, WINDOW), 0);
	abort_(r, g[2]);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	/* Not of one whose lease isn't bound, nor of one that never had any. */
	assert_int_equal(drained(r, g[3], 3), 0);
	assert_int_equal(unbind(r, 2), 0);
	assert_false(r->f.source_idle);
	assert_int_equal(source_of(r, 1)->nr_leases, 1);
	abort_(r, g[3]);
	assert_false(r->f.source_idle);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_true(r->f.source_idle);
	/* It is for the caller to clear. */
	begin(r, .tag = 5, .ranges = { { 5, 1 } }, .sources = { 1 });
	assert_true(r->f.source_idle);
	r->f.source_idle = false;
	assert_true(revoke(r, 1));
	assert_int_equal(end_some(r, 1, 8), 1);
	assert_false(r->f.source_idle);
	assert_int_equal(quiet_some(r, 1, SETTLED, 8), 1);
	assert_true(r->f.source_idle);
}

/* A new binding has nothing of the old one. */
static void test_bound_anew(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	assert_true(revoke(r, 1));
	quiet(r, 1, FLUSHED);
	assert_int_equal(try_begin(r, .ranges = { { 0, 1 } }, .sources = { 1 }), -ESHUTDOWN);
	assert_int_equal(unbind(r, 1), 0);
	/* Nobody's, for as long as nobody binds it. */
	g = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	assert_int_equal(get(r, g)->nr_bound, 0);
	bind_(r, 1);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_BOUND);
	g = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 1 });
	assert_int_equal(get(r, g)->nr_bound, 1);
}

/* Its last lease came back while it was revoked: what is begun with it may go on. */
static void test_unbound_while_it_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
	assert_int_equal(unbind(r, 1), -EBUSY);
	assert_int_equal(end_some(r, 1, 8), 1);
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(unbind(r, 1), 0);
	bind_(r, 1);
	assert_int_equal(try_begin(r, .ranges = { { 0, 1 } }, .sources = { 1 }), 0);
	assert_int_equal(r->f.counts.sources_revoked, 0);
}

static void close_source(struct rig *r, u32 source, u32 how)
{
	assert_true(revoke(r, source));
	if (how == FENCE_SOURCE_REVOKED)
		quiet(r, source, FLUSHED);
	else if (how == FENCE_SOURCE_LOST)
		lost(r, source);
	assert_int_equal(source_of(r, source)->state, how);
}

/* Whether its access is being taken away, is gone, or nobody knows. */
static void test_closed_source_gets_no_lease(void **state)
{
	struct rig *r = *state;

	for (u32 how = FENCE_SOURCE_REVOKING; how <= FENCE_SOURCE_LOST; how++) {
		struct fence_counts want;
		struct image before;
		u64 g;

		bind_(r, 5);
		bind_(r, 6);
		g = begin(r, .ranges = { { 0, 1 } }, .sources = { 6 });
		close_source(r, 5, how);
		before = image_of(r);
		want = r->f.counts;
		assert_int_equal(try_begin(r, .tag = 2, .ranges = { { 1, 2 } },
					   .sources = { 4, 5, 6 }), -ESHUTDOWN);
		assert_int_equal(take(r, g, 5), -ESHUTDOWN);
		want.refused_revoked += 2;
		assert_memory_equal(&want, &r->f.counts, sizeof(want));
		must_be_unchanged(r, &before);
		assert_int_equal(get(r, g)->nr_leases, 1);
		assert_int_equal(source_of(r, 6)->nr_leases, 1);
		assert_int_equal(r->f.last_generation, g);
		no_news(r);
		/* Others do, and it is itself again when it is bound anew. */
		assert_int_equal(take(r, g, 4), 0);
		assert_int_equal(unbind(r, 5), 0);
		bind_(r, 5);
		assert_int_equal(take(r, g, 5), 0);
		abort_for(r, g, LKVFENCE_REASON_ABORTED, TAINT, 0);
		assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
		forget_news(r);
		assert_int_equal(unbind(r, 5), 0);
		assert_int_equal(unbind(r, 6), 0);
	}
}

/* What is wrong otherwise is said, and counted, as before. */
static void test_L3_closed_source_of_an_ended_transfer(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	bind_(r, 2);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	assert_true(revoke(r, 2));
	assert_int_equal(take(r, g, 2), -ECANCELED);
	assert_int_equal(r->f.counts.refused_revoked, 0);
}

/* Its life begins with its first lease, and this is none. */
static void test_closed_source_starts_no_life(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ttl = 70, .ranges = { { 0, 1 } });

	bind_(r, 1);
	assert_true(revoke(r, 1));
	assert_int_equal(take(r, g, 1), -ESHUTDOWN);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
}

static void test_revoke_is_news_once(void **state)
{
	struct rig *r = *state;

	bind_(r, 1);
	assert_true(revoke(r, 1));
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKING);
	assert_false(revoke(r, 1));
	quiet(r, 1, SETTLED);
	assert_false(revoke(r, 1));
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKED);
	bind_(r, 2);
	assert_true(revoke(r, 2));
	lost(r, 2);
	assert_false(revoke(r, 2));
	assert_int_equal(source_of(r, 2)->state, FENCE_SOURCE_LOST);
}

/* L9: what one source does is nothing to the transfers of another. */
static void test_L9_other_sources_are_left_alone(void **state)
{
	struct rig *r = *state;
	u64 a, b;

	bind_(r, 1);
	bind_(r, 2);
	a = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { 1 });
	b = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .sources = { 2, 3 });
	assert_true(revoke(r, 1));
	quiet(r, 1, SETTLED);
	for (u32 i = 0; i < r->nr_news; i++)
		assert_int_equal(r->news[i].t.generation, a);
	assert_int_equal(get(r, b)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(get(r, b)->unproven, 2);
	assert_int_equal(source_of(r, 2)->state, FENCE_SOURCE_BOUND);
	assert_int_equal(source_of(r, 2)->nr_leases, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bind),
		TEST(test_leases_granted_since_are_bound),
		TEST(test_refused_leases_dont_count),
		TEST(test_lease_counts_until_it_is_proven_or_released),
		TEST(test_idle_is_said_of_the_last_lease),
		TEST(test_bound_anew),
		TEST(test_unbound_while_it_is_revoked),
		TEST(test_closed_source_gets_no_lease),
		TEST(test_L3_closed_source_of_an_ended_transfer),
		TEST(test_closed_source_starts_no_life),
		TEST(test_revoke_is_news_once),
		TEST(test_L9_other_sources_are_left_alone),
	};

	return RUN(tests);
}
