// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Watching the slots of transfers that have ended.
 *
 * A watch is taken down by whoever reads the event RELEASED, possibly while
 * another thread is still reading the slots to begin it; and once that reader
 * has returned, the slots belong to somebody else. So the entry is in the tree
 * before the module is asked whether the transfer is still held: a release
 * before that is seen by the answer, a later one finds the entry. Who ends a
 * watch says so in @over, then waits for the entry's lock; whoever has it looks
 * at @over before each slot. This is what keeps the pattern from being written
 * into slots that were given out.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static int by_generation(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;

	return (x->generation > y->generation) - (x->generation < y->generation);
}

void watch__destroy(void *entry)
{
	struct watched *e = entry;

	pthread_mutex_destroy(&e->lock);
	free(e->ranges);
	free(e->sums);
	free(e);
}

/* With the lock, and without taking a reference */
static struct watched *find(struct lkvfence_watch *w, uint64_t generation, bool soaking)
{
	struct watched key = { .generation = generation };
	struct watched *const *found = tfind(&key, &w->tree, by_generation);

	return found && (*found)->soaking == soaking ? *found : NULL;
}

struct watched *watch__get(struct lkvfence_watch *w, uint64_t generation, bool soaking)
{
	struct watched *e;

	pthread_mutex_lock(&w->lock);
	e = find(w, generation, soaking);
	if (e)
		e->refs++;
	pthread_mutex_unlock(&w->lock);
	return e;
}

void watch__put(struct lkvfence_watch *w, struct watched *e)
{
	bool last;

	pthread_mutex_lock(&w->lock);
	last = !--e->refs;
	pthread_mutex_unlock(&w->lock);
	if (last)
		watch__destroy(e);
}

/* With the lock: out of the tree; its reference is the caller's */
static void cut(struct lkvfence_watch *w, struct watched *e)
{
	tdelete(e, &w->tree, by_generation);
	if (e->soaking)
		w->stat.soaking--;
	else
		w->stat.watched--;
}

struct watched *watch__take(struct lkvfence_watch *w, uint64_t generation, bool soaking)
{
	struct watched *e;

	pthread_mutex_lock(&w->lock);
	e = find(w, generation, soaking);
	if (e)
		cut(w, e);
	pthread_mutex_unlock(&w->lock);
	return e;
}

/* With the lock; is it in the tree, and not another one of its generation? */
static bool is_in(struct lkvfence_watch *w, struct watched *e)
{
	struct watched *const *found = tfind(e, &w->tree, by_generation);

	return found && *found == e;
}

bool watch__is_watched(struct lkvfence_watch *w, struct watched *e)
{
	bool watched;

	pthread_mutex_lock(&w->lock);
	watched = is_in(w, e) && !e->soaking;
	pthread_mutex_unlock(&w->lock);
	return watched;
}

void watch__remove(struct lkvfence_watch *w, struct watched *e)
{
	pthread_mutex_lock(&w->lock);
	if (is_in(w, e)) {
		cut(w, e);
		/* not the last one: the caller has its own */
		e->refs--;
	}
	pthread_mutex_unlock(&w->lock);
}

void watch__soak(struct lkvfence_watch *w, struct watched *e)
{
	pthread_mutex_lock(&w->lock);
	if (is_in(w, e)) {
		e->soaking = true;
		w->stat.watched--;
		w->stat.soaking++;
	}
	pthread_mutex_unlock(&w->lock);
}

/* A new entry in the tree, with its lock taken and a reference; 0 or -errno */
static int insert(struct lkvfence_watch *w, uint64_t generation, struct watched **entry)
{
	struct watched *e = calloc(1, sizeof(*e));
	struct watched *const *found;
	int err = 0;

	if (!e)
		return -ENOMEM;
	e->generation = generation;
	e->refs = 2;
	pthread_mutex_init(&e->lock, NULL);
	/* before anybody else can see it */
	pthread_mutex_lock(&e->lock);

	pthread_mutex_lock(&w->lock);
	found = tsearch(e, &w->tree, by_generation);
	if (!found)
		err = -ENOMEM;
	else if (*found != e)
		err = -EALREADY;
	else
		w->stat.watched++;
	pthread_mutex_unlock(&w->lock);

	if (err) {
		pthread_mutex_unlock(&e->lock);
		watch__destroy(e);
		return err;
	}
	*entry = e;
	return 0;
}

/* 0, or -errno with words; -ESTALE, without: released */
static int ask(struct lkvfence_watch *w, struct lkvfence_query *query)
{
	int err = lkvfence_query(w->f, query);

	return err && err != -ESTALE ? watch__fail_call(err) : err;
}

static int fail_memory(const struct lkvfence_watch *w, uint64_t generation)
{
	return watch__fail(w, -ENOMEM,
		"start: no memory to watch generation %" PRIu64 "; the fence holds without",
		generation);
}

/*
 * Which slots? How many ranges is asked for first; it doesn't change any more.
 * 0: @e knows; -ESTALE: released; other errors have words.
 */
static int learn(struct lkvfence_watch *w, struct watched *e)
{
	struct lkvfence_query query = { .generation = e->generation };
	uint32_t i;
	int err;

	err = ask(w, &query);
	if (err)
		return err;
	if (query.state != LKVFENCE_STATE_ENDED)
		return watch__fail(w, -EBUSY,
			"start: generation %" PRIu64 " has not ended, so its slots may be written: abort it first",
			e->generation);
	e->quarantined = query.flags & LKVFENCE_TRANSFER_QUARANTINED;

	e->ranges = calloc(query.nr_ranges, sizeof(*e->ranges));
	if (!e->ranges)
		return fail_memory(w, e->generation);
	query = (struct lkvfence_query){
		.generation = e->generation,
		.ranges = (uintptr_t)e->ranges,
		.nr_ranges = query.nr_ranges,
	};
	err = ask(w, &query);
	if (err)
		return err;

	for (i = 0; i < query.nr_ranges; i++) {
		err = watch__check_range(w, &e->ranges[i]);
		if (err)
			return err;
		e->nr_slots += e->ranges[i].count;
	}
	e->nr_ranges = query.nr_ranges;
	if (w->flags & LKVFENCE_WATCH_PATTERN)
		return 0;
	e->sums = calloc(e->nr_slots, sizeof(*e->sums));
	return e->sums ? 0 : fail_memory(w, e->generation);
}

/* Remember how each slot is now, up to the end of the watch */
static void remember(struct lkvfence_watch *w, struct watched *e)
{
	uint64_t most;
	uint32_t r, i, slot;

	for (r = 0; r < e->nr_ranges; r++) {
		for (i = 0; i < e->ranges[r].count; i++) {
			if (atomic_load(&e->over))
				return;
			slot = e->ranges[r].first + i;
			most = UINT64_MAX;
			if (w->flags & LKVFENCE_WATCH_PATTERN)
				watch__fill_slot(w, slot, e->generation);
			else
				e->sums[e->nr_seen] = watch__sum_slot(w, slot, 0, &most);
			e->nr_seen++;
		}
	}
}

static int begin_watch(struct lkvfence_watch *w, uint64_t generation)
{
	struct watched *e;
	int ret;

	ret = insert(w, generation, &e);
	if (ret == -EALREADY)
		return watch__fail(w, ret, "start: generation %" PRIu64 " is watched already",
				   generation);
	if (ret)
		return fail_memory(w, generation);

	ret = learn(w, e);
	if (ret) {
		/* before who waits for the lock can take it for a watch */
		watch__remove(w, e);
	} else {
		remember(w, e);
		ret = (int)e->nr_seen;
		watch__count(w, &w->stat.started, 1);
	}
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);
	return ret == -ESTALE ? 0 : ret;
}

int lkvfence_watch_start(struct lkvfence_watch *w, uint64_t generation)
{
	int saved = errno;
	int ret;

	if (!w->f)
		return watch__fail(w, -EINVAL,
			"start: this watcher was opened without a region's handle, for sums only");
	ret = begin_watch(w, generation);
	errno = saved;
	return ret;
}

/*
 * A slot that changed is counted unless it is another transfer's by now: then
 * its new owner may have written to it. That happens where an allocator goes by
 * what the module says, and not by the event.
 */
static bool is_others(struct lkvfence_watch *w, struct watched *e, uint32_t slot)
{
	struct lkvfence_query query = { .by = LKVFENCE_QUERY_SLOT, .slot = slot };

	return !lkvfence_query(w->f, &query) && query.generation != e->generation;
}

uint32_t watch__changed(struct lkvfence_watch *w, struct watched *e, enum watch_look how,
			uint32_t *nr_reused)
{
	bool pattern = w->flags & LKVFENCE_WATCH_PATTERN;
	uint32_t nr = 0, n = 0, r, i, slot;
	bool seen, same, others;
	uint64_t sum, most;

	*nr_reused = 0;
	for (r = 0; r < e->nr_ranges; r++) {
		for (i = 0; i < e->ranges[r].count; i++, n++) {
			seen = n < e->nr_seen;
			if (how == WATCH_LOOK && atomic_load(&e->over))
				goto out;
			if (how != WATCH_LOOK_AND_REMEMBER && !seen)
				goto out;

			slot = e->ranges[r].first + i;
			most = UINT64_MAX;
			if (pattern) {
				same = watch__slot_is_filled(w, slot, e->generation);
			} else {
				sum = watch__sum_slot(w, slot, 0, &most);
				same = sum == e->sums[n];
				if (how == WATCH_LOOK_AND_REMEMBER)
					e->sums[n] = sum;
			}
			if (same)
				continue;
			others = is_others(w, e, slot);
			if (seen) {
				*nr_reused += others;
				nr += !others;
			}
			/* never into what is somebody else's by now */
			if (pattern && !others && how == WATCH_LOOK_AND_REMEMBER)
				watch__fill_slot(w, slot, e->generation);
		}
	}
	if (how == WATCH_LOOK_AND_REMEMBER)
		e->nr_seen = n;
out:
	if (*nr_reused)
		watch__count(w, &w->stat.reused, *nr_reused);
	return nr;
}

int watch__report(struct lkvfence_watch *w, uint64_t generation,
		  enum lkvfence_report_kind kind, uint32_t nr)
{
	int err = lkvfence_report(w->f, generation, kind, nr);

	if (!err)
		return 0;
	watch__count(w, &w->stat.unreported, 1);
	return watch__fail_call(err);
}

/* Reported is that it happened to a transfer: once, however often one looks. */
int watch__stray(struct lkvfence_watch *w, struct watched *e, uint32_t nr)
{
	bool first = !e->nr_stray;

	if (nr <= e->nr_stray)
		return 0;
	pthread_mutex_lock(&w->lock);
	w->stat.strays += first;
	w->stat.stray_slots += nr - e->nr_stray;
	pthread_mutex_unlock(&w->lock);
	e->nr_stray = nr;
	return first ? watch__report(w, e->generation, LKVFENCE_REPORT_STRAY, nr) : 0;
}

int lkvfence_watch_look(struct lkvfence_watch *w, uint64_t generation)
{
	struct watched *e = watch__get(w, generation, false);
	bool watched = false;
	uint32_t nr = 0, nr_reused;
	int err = 0;

	if (!e)
		return watch__fail_unwatched(w, "look", generation);
	pthread_mutex_lock(&e->lock);
	if (watch__is_watched(w, e)) {
		nr = watch__changed(w, e, WATCH_LOOK, &nr_reused);
		/* or else it has left off in the middle */
		watched = !atomic_load(&e->over);
	}
	if (watched)
		err = watch__stray(w, e, nr);
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);
	if (!watched)
		return watch__fail_unwatched(w, "look", generation);
	return err ? err : (int)nr;
}

int lkvfence_watch_stop(struct lkvfence_watch *w, uint64_t generation)
{
	struct watched *e = watch__take(w, generation, false);

	if (!e)
		e = watch__take(w, generation, true);
	if (!e)
		return watch__fail_unwatched(w, "stop", generation);
	/* whoever works on the slots leaves them */
	atomic_store(&e->over, true);
	pthread_mutex_lock(&e->lock);
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);
	return 0;
}
