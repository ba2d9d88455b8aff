/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the module tells everybody, one value a file. */
#ifndef SYSFS_H
#define SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "values.h"

#define SYSFS_ROOT "/sys/class/misc/lkvfence"

/* sysfs_present() - is the module there? */
bool sysfs_present(void);

/*
 * @region below is a region's name, or NULL for the module's own attributes.
 * All return 0 or -errno; -ENOENT where there is no such region or attribute.
 */
int sysfs_string(const char *region, const char *name, char *buf, size_t size);
int sysfs_u64(const char *region, const char *name, uint64_t *value);
/* sysfs_values() - reads what is there; -ENOENT only if the region isn't */
int sysfs_values(const char *region, struct values *values);

/* sysfs_regions() - the regions' names, sorted, to be freed each and all */
int sysfs_regions(char ***names);

#endif /* SYSFS_H */
