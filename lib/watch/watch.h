/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the files of liblkvfence-watch share; nothing of it is exported. */
#ifndef LKVFENCE_WATCH_INTERNAL_H
#define LKVFENCE_WATCH_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lkvfence-watch.h"

/*
 * The upper part is written by open and never after. The lower part is under
 * @lock, which is never held while memory is read or the module is asked.
 */
struct lkvfence_watch {
	struct lkvfence *f;		/* NULL: sums only */
	char name[LKVFENCE_NAME_MAX + 1];
	uint32_t flags;
	uint32_t nr_slots;
	uint32_t nr_pools;
	struct lkvfence_watch_pool *pools;

	pthread_mutex_t lock;
	void *tree;			/* of struct watched, by generation; tsearch(3) */
	struct lkvfence_watch_stat stat;
};

/*
 * A transfer that is watched or soaks. @lock is held by whoever works on its
 * slots, for as long; it is taken before the watcher's. In the tree the entry
 * has one reference, and each call that uses it has one.
 */
struct watched {
	uint64_t generation;

	/* under the watcher's lock */
	unsigned int refs;
	bool soaking;

	/* set by who ends the watch, before it waits for @lock: others leave */
	atomic_bool over;

	pthread_mutex_t lock;
	bool quarantined;
	uint32_t nr_stray;		/* slots known to have changed */
	uint32_t nr_reused;		/* slots that were another's at the release */
	uint32_t nr_ranges;
	uint32_t nr_slots;
	uint32_t nr_seen;		/* slots whose state is remembered: the first ones */
	struct lkvfence_range *ranges;
	uint64_t *sums;			/* of slots; none with PATTERN */
};

#pragma GCC visibility push(hidden)

/*
 * Set the thread's message, prefixed with the region's name where there is
 * one, and return @err. errno is left alone.
 */
__attribute__((format(printf, 3, 4)))
int watch__fail(const struct lkvfence_watch *w, int err, const char *fmt, ...);

int watch__fail_unwatched(const struct lkvfence_watch *w, const char *what,
			  uint64_t generation);

/* A call of liblkvfence failed: its words, and @err */
int watch__fail_call(int err);

/*
 * A slot's memory; @slot is within the pools. The sum goes on from @crc, and
 * takes at most @most bytes, which come off it.
 */
uint64_t watch__sum_slot(const struct lkvfence_watch *w, uint32_t slot,
			 uint64_t crc, uint64_t *most);
void watch__fill_slot(const struct lkvfence_watch *w, uint32_t slot,
		      uint64_t generation);
bool watch__slot_is_filled(const struct lkvfence_watch *w, uint32_t slot,
			   uint64_t generation);

/* 0, or -ERANGE with words */
int watch__check_range(const struct lkvfence_watch *w,
		       const struct lkvfence_range *range);

/* The entry of a generation, watched or soaking, with a reference; or NULL */
struct watched *watch__get(struct lkvfence_watch *w, uint64_t generation, bool soaking);
void watch__put(struct lkvfence_watch *w, struct watched *e);
/* Out of the tree; the reference is that of the tree, so it has one owner */
struct watched *watch__take(struct lkvfence_watch *w, uint64_t generation, bool soaking);
/* It may have ended while one waited for its lock */
bool watch__is_watched(struct lkvfence_watch *w, struct watched *e);
/* Out of the tree, if it is in there still; the caller keeps its reference */
void watch__remove(struct lkvfence_watch *w, struct watched *e);
/* From watched to soaking */
void watch__soak(struct lkvfence_watch *w, struct watched *e);
void watch__destroy(void *entry);

/*
 * @WATCH_LOOK: leave when the watch is over
 * @WATCH_LAST_LOOK: for who ended it
 * @WATCH_LOOK_AND_REMEMBER: likewise; how all slots are now is remembered
 */
enum watch_look {
	WATCH_LOOK,
	WATCH_LAST_LOOK,
	WATCH_LOOK_AND_REMEMBER,
};

/*
 * How many of the remembered slots have changed, those left out that are
 * another transfer's by now. The caller has the entry's lock.
 */
uint32_t watch__changed(struct lkvfence_watch *w, struct watched *e,
			enum watch_look how, uint32_t *nr_reused);

/* Tell the module of @nr slots; 0 or -errno, which is counted, too */
int watch__report(struct lkvfence_watch *w, uint64_t generation,
		  enum lkvfence_report_kind kind, uint32_t nr);

/* Count and report @nr slots that changed while held; the caller has the lock */
int watch__stray(struct lkvfence_watch *w, struct watched *e, uint32_t nr);

/* Add to one of the watcher's counters */
void watch__count(struct lkvfence_watch *w, uint64_t *counter, uint64_t by);

#pragma GCC visibility pop

#endif /* LKVFENCE_WATCH_INTERNAL_H */
