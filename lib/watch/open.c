// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A watcher: what it is told of the memory, and its counters. */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static int check_pool(const struct lkvfence_watch *w, uint32_t i)
{
	const struct lkvfence_watch_pool *pool = &w->pools[i];
	uint64_t size;

	if (!pool->base)
		return watch__fail(w, -EINVAL, "open: pool %" PRIu32 " has no base", i);
	if (!pool->bytes || pool->bytes > pool->stride)
		return watch__fail(w, -EINVAL,
			"open: pool %" PRIu32 " has %" PRIu64 " bytes a slot and a stride of %" PRIu64 ": bytes must be 1 to the stride",
			i, pool->bytes, pool->stride);
	if (__builtin_mul_overflow(pool->stride, (uint64_t)w->nr_slots - 1, &size) ||
	    __builtin_add_overflow(size, pool->bytes, &size) ||
	    size > UINTPTR_MAX - (uintptr_t)pool->base)
		return watch__fail(w, -EINVAL,
			"open: pool %" PRIu32 ": %" PRIu32 " slots with a stride of %" PRIu64 " go beyond the end of memory",
			i, w->nr_slots, pool->stride);
	return 0;
}

/* How many slots, and what region; the module's errors have words */
static int ask_region(struct lkvfence_watch *w)
{
	struct lkvfence_stat stat;
	int err;

	if (!w->f)
		return 0;
	err = lkvfence_stat(w->f, &stat);
	if (err)
		return watch__fail_call(err);
	memcpy(w->name, stat.name, LKVFENCE_NAME_MAX);
	if (w->nr_slots && w->nr_slots != stat.slots)
		return watch__fail(w, -EINVAL,
			"open: it has %" PRIu64 " slots, and the pools are said to have %" PRIu32,
			(uint64_t)stat.slots, w->nr_slots);
	w->nr_slots = (uint32_t)stat.slots;
	return 0;
}

static int set_up(struct lkvfence_watch *w, const struct lkvfence_watch_pool *pools,
		  uint32_t nr_pools)
{
	uint32_t i;
	int err;

	if (w->flags & ~LKVFENCE_WATCH_FLAGS)
		return watch__fail(w, -EINVAL, "open: unknown flags 0x%" PRIx32,
				   w->flags & ~LKVFENCE_WATCH_FLAGS);
	if (!nr_pools)
		return watch__fail(w, -EINVAL, "open: no pools: there must be at least 1");
	err = ask_region(w);
	if (err)
		return err;
	if (!w->nr_slots)
		return watch__fail(w, -EINVAL,
			"open: without a region's handle, nr_slots must be at least 1");

	w->pools = calloc(nr_pools, sizeof(*pools));
	if (!w->pools)
		return watch__fail(w, -ENOMEM, "open: no memory for %" PRIu32 " pools",
				   nr_pools);
	memcpy(w->pools, pools, nr_pools * sizeof(*pools));
	w->nr_pools = nr_pools;
	for (i = 0; i < nr_pools; i++) {
		err = check_pool(w, i);
		if (err)
			return err;
	}
	return 0;
}

int lkvfence_watch_open(struct lkvfence_watch **w, struct lkvfence *f,
			const struct lkvfence_watch_pool *pools,
			uint32_t nr_pools, uint32_t nr_slots, uint32_t flags)
{
	struct lkvfence_watch *new;
	int saved = errno;
	int err;

	new = calloc(1, sizeof(*new));
	if (!new) {
		errno = saved;
		return watch__fail(NULL, -ENOMEM, "open: no memory for a watcher");
	}
	new->f = f;
	new->flags = flags;
	new->nr_slots = nr_slots;
	pthread_mutex_init(&new->lock, NULL);

	err = set_up(new, pools, nr_pools);
	if (err)
		lkvfence_watch_close(new);
	else
		*w = new;
	errno = saved;
	return err;
}

void lkvfence_watch_close(struct lkvfence_watch *w)
{
	if (!w)
		return;
	tdestroy(w->tree, watch__destroy);
	pthread_mutex_destroy(&w->lock);
	free(w->pools);
	free(w);
}

void lkvfence_watch_stat(struct lkvfence_watch *w, struct lkvfence_watch_stat *stat)
{
	pthread_mutex_lock(&w->lock);
	*stat = w->stat;
	pthread_mutex_unlock(&w->lock);
}

void watch__count(struct lkvfence_watch *w, uint64_t *counter, uint64_t by)
{
	pthread_mutex_lock(&w->lock);
	*counter += by;
	pthread_mutex_unlock(&w->lock);
}
