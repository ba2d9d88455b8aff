// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * BEGIN and HOLD whose ranges or sources can't be read to the end: EFAULT, for
 * few and for many. Nothing has changed, nor has a generation been used up.
 */
#include <sys/mman.h>

#include "e2e.h"

#define MAX	4096

static struct lkvfence_range ranges[MAX];
static uint32_t sources[MAX];

/* @size bytes of which the last can't be read. */
static void *cut(const void *from, size_t size, char *end)
{
	memcpy(end - size + 1, from, size - 1);
	return end - size + 1;
}

static void wants(struct lkvfence *f, uint32_t nr_ranges, uint32_t nr_sources,
		  char *end, bool cut_ranges)
{
	struct lkvfence_begin b = want(1, 0, 1, 0);
	struct lkvfence_stat before = stat_of(f);

	b.nr_ranges = nr_ranges;
	b.nr_sources = nr_sources;
	b.ranges = (uintptr_t)ranges;
	b.sources = (uintptr_t)sources;
	if (cut_ranges)
		b.ranges = (uintptr_t)cut(ranges, nr_ranges * sizeof(*ranges), end);
	else
		b.sources = (uintptr_t)cut(sources, nr_sources * sizeof(*sources), end);
	gives(lkvfence_begin(f, &b), -EFAULT, "BEGIN: %u ranges, %u sources, %s cut off",
	      nr_ranges, nr_sources, cut_ranges ? "ranges" : "sources");
	gives(lkvfence_hold(f, &b), -EFAULT, "HOLD likewise");
	unchanged(f, &before, "nothing has changed");
}

int main(void)
{
	static const uint32_t counts[] = { 1, 7, 8, 9, 15, 16, 17, 32, 100, 600, MAX };
	struct lkvfence *f = region("begin-faults", 2 * MAX);
	char *pages = mmap(NULL, 17 * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + 16 * 4096;
	struct lkvfence_begin b;
	uint64_t first, next;
	unsigned int i;

	need(pages != MAP_FAILED && !mprotect(end, 4096, PROT_NONE), "memory");
	for (i = 0; i < MAX; i++) {
		ranges[i] = (struct lkvfence_range){ 2 * i, 1 };
		sources[i] = i;
	}
	first = begin(f, 1, 0, 1, 0);
	need(!lkvfence_release(f, first), "RELEASE");
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i] * sizeof(*ranges) <= 16 * 4096)
			wants(f, counts[i], 1, end, true);
		wants(f, 1, counts[i], end, false);
	}
	next = begin(f, 1, 0, 8, 0);
	gives(next - first, 1, "no generation was used up");
	b = want(2, 7, 1, 0);
	gives(lkvfence_begin(f, &b), -EBUSY, "a slot that is taken");
	b = want(1, 20, 1, 0);
	gives(lkvfence_hold(f, &b), -EEXIST, "a tag that is in use");
	gives(begin(f, 2, 20, 1, 0) - next, 1, "that used up none either");
	clear(f);
	lkvfence_close(f);
	return done();
}
