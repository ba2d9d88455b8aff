// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The maps of a region are given back with it. */
#include "e2e.h"

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
	unsigned int before = pieces(), i;
	struct lkvfence_info info;
	struct lkvfence *f;

	need(!lkvfence_info(&info), "INFO");
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
	lkvfence_close(f);
	check(until(pieces() == before), "all is given back");
	return done();
}
