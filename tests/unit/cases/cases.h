/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Orders of events as engines had them when something went wrong, on the bench
 * of tests/unit/fence. The tests bear the numbers of tests/cases.md.
 *
 * A write is launched into slots, and later it lands, whether anybody wants it
 * or not. It may land only where the slots still are its own transfer's.
 */
#ifndef LKVFENCE_TEST_CASES_H
#define LKVFENCE_TEST_CASES_H

#include "rig.h"

#define FINISHED	LKVFENCE_OUTCOME_COMPLETED
#define DRAINED		LKVFENCE_OUTCOME_DRAINED
#define TIMEOUT		LKVFENCE_OUTCOME_TIMEOUT

struct write {
	u64 generation;
	u32 first;
	u32 count;
};

static inline bool owns(const struct rig *r, struct write w)
{
	for (u32 slot = w.first; slot < w.first + w.count; slot++) {
		const struct fence_transfer *t = fence_find_slot(&r->f, slot);

		if (!t || t->generation != w.generation)
			return false;
	}
	return true;
}

static inline struct write launch(const struct rig *r, u64 generation, u32 first,
				  u32 count)
{
	struct write w = { generation, first, count };

	assert_true(owns(r, w));
	return w;
}

static inline void lands(const struct rig *r, struct write w)
{
	assert_true(owns(r, w));
}

/* Somebody else wants the slots, and @holder is in the way. */
static inline void no_reuse(struct rig *r, u64 holder, u32 first, u32 count)
{
	struct image before = image_of(r);

	assert_int_equal(try_begin(r, .tag = ~0ULL, .ranges = { { first, count } },
				   .sources = { 99 }), -EBUSY);
	assert_int_equal(r->why.generation, holder);
	must_be_unchanged(r, &before);
}

static inline u64 reuse(struct rig *r, u64 tag, u32 first, u32 count)
{
	return begin(r, .tag = tag, .ranges = { { first, count } }, .sources = { 99 });
}

/* The one report of its release. */
static inline const struct fence_transfer *came_back(const struct rig *r,
						     u64 generation, u32 outcome)
{
	const struct fence_transfer *t = NULL;

	for (u32 i = 0; i < r->nr_news; i++) {
		if (r->news[i].t.generation != generation ||
		    !(r->news[i].bits & FENCE_NEWS_RELEASED))
			continue;
		assert_null(t);
		t = &r->news[i].t;
	}
	assert_non_null(t);
	assert_int_equal(t->outcome, outcome);
	return t;
}

static inline int known(const struct rig *r, u64 generation)
{
	struct fence_transfer *t;

	return fence_lookup(&r->f, generation, &t);
}

static inline void abort_because(struct rig *r, u64 generation, u32 reason)
{
	abort_for(r, generation, reason, LKVFENCE_POLICY_DEFAULT, 0);
}

#endif /* LKVFENCE_TEST_CASES_H */
