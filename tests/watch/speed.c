// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * speed - bytes that the watcher reads, and the pattern writes, in a second of
 * one processor's time; for slots of 4 KiB and 64 KiB in two pools that are
 * larger than its caches. The best of five runs each, since others disturb only
 * downwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "watch/watch.h"

#define POOL	(256UL << 20)
#define RUNS	5

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *memory(void)
{
	unsigned char *p = mmap(NULL, POOL, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	size_t i;

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	for (i = 0; i < POOL; i++)
		p[i] = (unsigned char)(i * 2654435761u >> 13);
	return p;
}

static uint64_t sink;

static void sums(struct lkvfence_watch *w)
{
	struct lkvfence_range all = { 0, w->nr_slots };
	uint64_t sum;

	if (lkvfence_watch_sum(w, &all, 1, 0, &sum))
		exit(1);
	__atomic_store_n(&sink, sum, __ATOMIC_RELAXED);
}

static void fill(struct lkvfence_watch *w)
{
	uint32_t slot;

	for (slot = 0; slot < w->nr_slots; slot++)
		watch__fill_slot(w, slot, 1);
}

static void compare(struct lkvfence_watch *w)
{
	uint32_t slot, same = 0;

	for (slot = 0; slot < w->nr_slots; slot++)
		same += watch__slot_is_filled(w, slot, 1);
	if (same != w->nr_slots)
		exit(1);
}

static void measure(const char *what, void (*fn)(struct lkvfence_watch *w),
		    struct lkvfence_watch *w)
{
	double best = 1e9, t;
	int run;

	for (run = 0; run < RUNS; run++) {
		t = now();
		fn(w);
		t = now() - t;
		if (t < best)
			best = t;
	}
	printf("%-18s %7.2f GB/s\n", what, 2 * POOL / best / 1e9);
}

int main(void)
{
	struct lkvfence_watch_pool pools[2] = { { .base = memory() }, { .base = memory() } };
	struct lkvfence_watch *w;
	uint64_t size;

	for (size = 4096; size <= 65536; size *= 16) {
		pools[0].stride = size;
		pools[0].bytes = size;
		pools[1].stride = size;
		pools[1].bytes = size;
		if (lkvfence_watch_open(&w, NULL, pools, 2, (uint32_t)(POOL / size), 0)) {
			fprintf(stderr, "%s\n", lkvfence_watch_errmsg());
			return 1;
		}
		printf("slots of 2 x %lu bytes\n", (unsigned long)size);
		measure("checksum", sums, w);
		measure("pattern, write", fill, w);
		measure("pattern, look", compare, w);
		lkvfence_watch_close(w);
	}
	return 0;
}
