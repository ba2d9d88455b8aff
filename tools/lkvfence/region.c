// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence region: geometry, gauges and counters of regions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

bool region_name_ok(const char *name)
{
	size_t i;

	if (name[0] == '.')
		return false;
	for (i = 0; name[i]; i++) {
		char c = name[i];

		/* isalnum() would go by the locale */
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || strchr("._-", c)))
			return false;
	}
	return i >= 1 && i <= LKVFENCE_NAME_MAX;
}

/* The names of what is accepted, as sysfs has them. */
static void name_accepted(char *names, size_t size, uint64_t accepts)
{
	uint32_t i;

	names[0] = '\0';
	for (i = 0; i < LKVFENCE_NR_EVIDENCE; i++) {
		size_t len = strlen(names);

		if (accepts & 1ull << i)
			snprintf(names + len, size - len, "%s%s",
				 len ? " " : "", lkvfence_evidence_name(i));
	}
}

/* All values of one instant, if we may open the region. */
static int read_stat(const char *name, struct region *region)
{
	struct lkvfence_stat stat = { 0 };
	struct lkvfence *f;
	int err;

	err = tool_open(&f, name);
	if (err)
		return err;
	err = lkvfence_stat(f, &stat);
	lkvfence_close(f);
	if (err)
		return err;
	region->slot_size = stat.slot_size;
	region->base = stat.base;
	region->has_slot_size = true;
	region->has_base = true;
	region->instant = true;
	name_accepted(region->accepts, sizeof(region->accepts), stat.accepts);
	/* the one we look through doesn't count */
	if (stat.handles)
		stat.handles--;
	values_from_stat(&region->values, &stat);
	return 0;
}

static int read_sysfs(const char *name, struct region *region)
{
	int err;

	err = sysfs_values(name, &region->values);
	if (err)
		return err;
	region->has_slot_size = !sysfs_u64(name, "slot_size",
					   &region->slot_size);
	region->has_base = !sysfs_u64(name, "base", &region->base);
	if (sysfs_string(name, "accepts", region->accepts,
			 sizeof(region->accepts)))
		region->accepts[0] = '\0';
	return 0;
}

int region_read(const char *name, struct region *region)
{
	memset(region, 0, sizeof(*region));
	if (!region_name_ok(name))
		return -ENOENT;
	memcpy(region->name, name, strlen(name));
	/* why it can't be opened is no matter: sysfs is there for everybody */
	if (!read_stat(name, region))
		return 0;
	return read_sysfs(name, region);
}

static void print_warnings(const struct region *region)
{
	uint64_t n = values_get(&region->values, VALUE_TRANSFERS_QUARANTINED);
	uint64_t slots = values_get(&region->values, VALUE_SLOTS_QUARANTINED);
	uint64_t tainted = values_get(&region->values, VALUE_RELEASED_TIMEOUT);
	uint64_t strays = values_get(&region->values, VALUE_STRAYS);
	uint64_t late = values_get(&region->values, VALUE_STRAYS_LATE);

	print_array("warnings");
	if (n) {
		print_string(NULL, NULL, "quarantined");
		print_text("  warning: %" PRIu64 " transfer%s with %" PRIu64
			   " slot%s in quarantine: past the deadline, without proof\n",
			   n, n == 1 ? "" : "s", slots, slots == 1 ? "" : "s");
	}
	if (tainted) {
		print_string(NULL, NULL, "tainted");
		print_text("  warning: %" PRIu64
			   " transfer%s released without proof: late writes may have hit reused slots\n",
			   tainted, tainted == 1 ? "" : "s");
	}
	if (strays) {
		print_string(NULL, NULL, "strays");
		print_text("  warning: slots of %" PRIu64
			   " transfer%s were written to while held: the fence caught it\n",
			   strays, strays == 1 ? "" : "s");
	}
	if (late) {
		print_string(NULL, NULL, "strays_late");
		print_text("  warning: slots of %" PRIu64
			   " transfer%s were written to after the release: timeouts are too short\n",
			   late, late == 1 ? "" : "s");
	}
	print_end();
}

/* With @brief only where it isn't everything. */
static void print_accepted(const struct region *region, bool brief)
{
	char words[sizeof(region->accepts)];
	const char *word, *sep = "";
	bool all;

	if (!region->accepts[0])
		return;
	name_accepted(words, sizeof(words), LKVFENCE_ACCEPT_ALL);
	all = !strcmp(words, region->accepts);
	if (!all || !brief)
		print_text("  accepts: %s", all ? "all evidence" : "");
	print_array("accepts");
	memcpy(words, region->accepts, sizeof(words));
	for (word = strtok(words, " "); word; word = strtok(NULL, " ")) {
		if (!all)
			print_text("%s", sep);
		print_string(NULL, all ? NULL : "%s", word);
		sep = ", ";
	}
	print_end();
	if (!all || !brief)
		print_text("\n");
}

void region_print(const struct region *region, bool brief)
{
	print_object(NULL);
	print_string("name", "region %s: ", region->name);
	print_u64(HUMAN_ONLY, "%s slots",
		  values_get(&region->values, VALUE_SLOTS));
	if (region->has_slot_size)
		print_size("slot_size", " of %s", region->slot_size);
	if (region->has_base)
		print_address("base", region->base ? " at %s" : NULL,
			      region->base);
	print_text("\n");
	print_bool("instant", NULL, region->instant);
	print_accepted(region, brief);
	values_print(&region->values, "  ", brief);
	print_warnings(region);
	print_end();
}

int region_print_each(const char *name, bool asked, void *brief)
{
	struct region region;
	int err;

	err = region_read(name, &region);
	if (err == -ENOENT && !asked)
		return TOOL_OK;
	if (err) {
		errno = -err;
		return tool_fail("region %s: %m", name);
	}
	region_print(&region, *(bool *)brief);
	return TOOL_OK;
}

int region_each(const char *only,
		int (*fn)(const char *name, bool asked, void *data), void *data)
{
	int n, i, ret = TOOL_OK;
	char **names;

	if (only)
		return fn(only, true, data);
	n = sysfs_regions(&names);
	if (n < 0 && n != -ENOENT) {
		errno = -n;
		ret = tool_fail("cannot list the regions: %m");
	}
	for (i = 0; i < n; i++)
		ret = tool_worse(ret, fn(names[i], false, data));
	for (i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
	return ret;
}

int region_command(const struct options *opt, int argc, char **argv)
{
	const char *only = NULL;
	bool brief = false;
	int ret;

	(void)opt;
	if (argc > 1)
		return tool_usage("one region at most, not \"%s\" too", argv[1]);
	if (argc)
		only = argv[0];
	if (only && !region_name_ok(only))
		return tool_usage("\"%s\" can't be a region's name", only);
	if (!sysfs_present()) {
		print_array(NULL);
		return tool_no_sysfs();
	}
	print_array(NULL);
	ret = region_each(only, region_print_each, &brief);
	print_end();
	return ret;
}
