// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L10: what the module allocates for a caller is charged to its memory cgroup. */
#include <sys/stat.h>

#include "e2e.h"

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/lkvfence-L10"
#define MIB	(1024 * 1024LL)

static long long charged(void)
{
	return atoll(line_of(GROUP "/memory.current"));
}

/* Runs in the group; its exit status is the number of what went wrong. */
static int inside(void *arg)
{
	static struct lkvfence_range ranges[8192];
	long long start, opened, begun, released;
	struct lkvfence *f;
	uint64_t g[64];
	uint32_t i, j;

	(void)arg;
	if (write_file(GROUP "/cgroup.procs", "0"))
		return 1;
	/* What the process itself needs is charged before. */
	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		ranges[i] = (struct lkvfence_range){ 0, 0 };
	lkvfence_close(region("L10-first", 64));
	start = charged();

	f = region("L10-charged", 2000000);
	opened = charged() - start;
	for (i = 0; i < ARRAY_SIZE(g); i++) {
		struct lkvfence_begin b = want(i, 0, 1, 0);

		for (j = 0; j < ARRAY_SIZE(ranges); j++)
			ranges[j].first = i * 20000 + 2 * j, ranges[j].count = 1;
		b.ranges = (uintptr_t)ranges;
		b.nr_ranges = ARRAY_SIZE(ranges);
		if (lkvfence_begin(f, &b))
			return 2;
		g[i] = b.generation;
	}
	begun = charged() - start - opened;
	for (i = 0; i < ARRAY_SIZE(g); i++) {
		if (lkvfence_release(f, g[i]))
			return 3;
	}
	released = charged() - start - opened;
	note("2,000,000 slots: %.1f MiB; 64 transfers of 8192 ranges: %.1f MiB, %.1f when released",
	     opened / (double)MIB, begun / (double)MIB, released / (double)MIB);
	/* 8 bytes a slot; 8 bytes a range. Counted in batches of pages. */
	if (opened < 15 * MIB)
		return 4;
	if (begun < 3 * MIB)
		return 5;
	if (released > begun / 2)
		return 6;
	lkvfence_close(f);
	return 0;
}

int main(void)
{
	if (write_file(ROOT "/cgroup.subtree_control", "+memory") || mkdir(GROUP, 0755)) {
		skip("no memory cgroups here", "memory is charged");
		return done();
	}
	gives(in_child(inside, NULL), 0,
	      "the memory of a region and its transfers is charged to the caller");
	check(until(!rmdir(GROUP)), "and given back");
	return done();
}
