// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L10: a caller at the limit of its memory cgroup gets ENOMEM, from OPEN of a
 * large region and from BEGIN of one transfer too many; nobody is killed for it.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "e2e.h"

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/lkvfence-limit"
#define NAME	"L10-memory-limit"

static struct lkvfence_range ranges[32768];

/* Begins until no more can be; how many there were, or -errno. */
static int fill(struct lkvfence *f)
{
	uint32_t nr, i;
	int err;

	for (nr = 0; nr < 60; nr++) {
		struct lkvfence_begin b = want(nr, 0, 1, 0);

		for (i = 0; i < ARRAY_SIZE(ranges); i++)
			ranges[i] = (struct lkvfence_range){ nr * ARRAY_SIZE(ranges) + i, 1 };
		b.ranges = (uintptr_t)ranges;
		b.nr_ranges = ARRAY_SIZE(ranges);
		err = lkvfence_begin(f, &b);
		if (err)
			return err == -ENOMEM ? (int)nr : err;
	}
	return -EOVERFLOW;
}

/*
 * A limit of 24 MiB; 16 of them are a small region's, 1/4 is each transfer's. At
 * the limit, how much is left below 1/4 is chance, and to look needs memory too:
 * there is another MiB for that.
 */
static int inside(void *arg)
{
	struct lkvfence_open large = {
		.flags = LKVFENCE_OPEN_CREATE,
		.name = NAME "-large",
		.slot_size = 1,
		.nr_slots = 16000000,
		.mode = 0600,
	};
	struct lkvfence *f, *small;
	struct lkvfence_event events[64];
	struct lkvfence_stat stat;
	int nr, limit;

	(void)arg;
	if (write_file(GROUP "/cgroup.procs", "0") || mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	small = region(NAME, 2000000);
	if (lkvfence_open(&f, &large) != -ENOMEM || region_exists(large.name))
		return 2;
	limit = open(GROUP "/memory.max", O_WRONLY | O_CLOEXEC);
	nr = fill(small);
	if (nr < 10 || write(limit, "26214400", 8) != 8)
		return 3;
	stat = stat_of(small);
	if ((int)stat.begun != nr || stat.slots_taken != ARRAY_SIZE(ranges) * (uint64_t)nr ||
	    !adds_up(&stat))
		return 4;
	note("%d transfers of %zu ranges", nr, ARRAY_SIZE(ranges));
	clear(small);
	if (lkvfence_events(small, events, ARRAY_SIZE(events), 0) != nr)
		return 5;
	close(limit);
	/* When the last is told of, all is given back, and there is room again. */
	return fill(small) < nr / 2 ? 6 : 0;
}

int main(void)
{
	if (write_file(ROOT "/cgroup.subtree_control", "+memory") || mkdir(GROUP, 0755)) {
		skip("no memory cgroups here", "a caller at its memory limit");
		return done();
	}
	need(!write_file(GROUP "/memory.max", "25165824"), "memory.max");
	gives(in_child(inside, NULL), 0, "at its memory limit a caller gets ENOMEM, and goes on");
	check(until(!rmdir(GROUP)), "and all is given back");
	return done();
}
