// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The decode side's allocator: a stack of free slots, last in, first out, as
 * engines have it. What was freed a moment ago is handed out next, for it is
 * warm in the caches; and that is why a late write finds a new owner.
 */
#include <stdlib.h>
#include <string.h>
#include "demo.h"

void pool_init(struct pool *pool, uint32_t nr_slots)
{
	pool->free = calloc(nr_slots, sizeof(*pool->free));
	if (!pool->free)
		die("no memory");
	pool->nr_slots = nr_slots;
	pool->nr_free = nr_slots;
	for (uint32_t i = 0; i < nr_slots; i++)
		pool->free[i] = i;
}

/* All or nothing, from the top of the stack. */
bool pool_get(struct pool *pool, uint32_t *slots, uint32_t nr)
{
	if (nr > pool->nr_free)
		return false;
	pool->nr_free -= nr;
	memcpy(slots, pool->free + pool->nr_free, nr * sizeof(*slots));
	return true;
}

void pool_put(struct pool *pool, const uint32_t *slots, uint32_t nr)
{
	if (nr > pool->nr_slots - pool->nr_free)
		die("more slots come back than were handed out");
	memcpy(pool->free + pool->nr_free, slots, nr * sizeof(*slots));
	pool->nr_free += nr;
}

/* Slots as ranges of consecutive ones, in the same order. Returns how many. */
uint32_t pool_ranges(const uint32_t *slots, uint32_t nr, struct lkvfence_range *ranges)
{
	uint32_t nr_ranges = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct lkvfence_range *last = ranges + nr_ranges - 1;

		if (nr_ranges && slots[i] == last->first + last->count)
			last->count++;
		else
			ranges[nr_ranges++] = (struct lkvfence_range){ slots[i], 1 };
	}
	return nr_ranges;
}
