// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The maps of a region are given back with it. */
#include <sys/stat.h>

#include "e2e.h"

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/lkvfence-region-memory"

/* A map may be in one piece, which vmalloc doesn't know: what this process is charged for. */
static long long charged(void)
{
	FILE *current = fopen(GROUP "/memory.current", "r");
	long long bytes = -1;

	need(current && fscanf(current, "%lld", &bytes) == 1, "memory.current");
	fclose(current);
	return bytes;
}

/* Pieces of memory that the module has from vmalloc. */
static unsigned int pieces(void)
{
	FILE *info = fopen("/proc/vmallocinfo", "r");
	unsigned int nr = 0;
	char line[512];

	need(info, "open of /proc/vmallocinfo");
	while (fgets(line, sizeof(line), info))
		nr += !!strstr(line, "[lkvfence]");
	fclose(info);
	return nr;
}

int main(void)
{
	bool group = !write_file(ROOT "/cgroup.subtree_control", "+memory") && !mkdir(GROUP, 0755);
	unsigned int before = pieces(), i;
	long long bytes = 0;
	struct lkvfence_info info;
	struct lkvfence *f;

	need(!lkvfence_info(&info), "INFO");
	if (group) {
		need(!write_file(GROUP "/cgroup.procs", "0"), "to be in a group");
		bytes = charged();
	}
	/* So many that both the bitmap and the generations take pages of their own. */
	f = region("region-memory", info.max_slots);
	for (i = 0; i < 3; i++) {
		struct lkvfence *other;
		char name[32];

		snprintf(name, sizeof(name), "region-memory-%u", i);
		other = region(name, 1 << 22);
		check(pieces() > before, "the module's memory can be seen");
		lkvfence_close(other);
		need(until(!region_exists(name)), "its region is gone");
	}
	check(pieces() > before, "a region of %u slots", info.max_slots);
	if (group)
		check(charged() > bytes + (100 << 20), "and its maps are charged");
	lkvfence_close(f);
	check(until(pieces() == before), "all is given back");
	if (group) {
		/* A processor keeps less for its next charge; the bitmaps are 3.5 MiB. */
		check(until(charged() < bytes + (1 << 20)),
		      "and nothing of it is charged any more");
		need(!write_file(ROOT "/cgroup.procs", "0"), "to be in no group");
		check(until(!rmdir(GROUP)), "the group can go");
	} else {
		skip("no memory cgroups here", "what is charged");
	}
	return done();
}
