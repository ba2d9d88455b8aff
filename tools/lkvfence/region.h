/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Regions, seen from outside. */
#ifndef REGION_H
#define REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "values.h"

struct region {
	char name[LKVFENCE_NAME_MAX + 1];
	uint64_t slot_size;
	uint64_t base;
	bool has_base;
	bool has_slot_size;
	/* all values are of one instant: from STAT, not from sysfs */
	bool instant;
	struct values values;
	/* names, with spaces between them; empty where it isn't known */
	char accepts[256];
};

/* region_name_ok() - may a region be called that? */
bool region_name_ok(const char *name);

/* region_read() - 0; -ENOENT there is none of that name; or -errno */
int region_read(const char *name, struct region *region);

void region_print(const struct region *region, bool brief);

/*
 * region_each() - calls @fn for each region there is, or for the one that the
 * options name, and returns the worst exit code. One that goes away in the
 * middle is passed over, unless it was asked for.
 */
int region_each(const char *only,
		int (*fn)(const char *name, bool asked, void *data),
		void *data);

/* region_print_each() - for region_each() */
int region_print_each(const char *name, bool asked, void *brief);

#endif /* REGION_H */
