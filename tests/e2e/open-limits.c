// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* OPEN at the limits of the module and of the process. */
#include <sys/resource.h>

#include "e2e.h"

static int try(int dev, const char *name, uint32_t flags, uint32_t slots)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = flags,
		.slot_size = 65536,
		.nr_slots = slots,
		.mode = 0600,
	};
	int err;

	snprintf(open.name, sizeof(open.name), "%s", name);
	err = sys(dev, LKVFENCE_IOC_OPEN, &open);
	return err ?: open.fd;
}

static int no_descriptors(void *arg)
{
	int dev = *(int *)arg, fd;
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_NOFILE, &none))
		return 1;
	fd = try(dev, "open-emfile", LKVFENCE_OPEN_CREATE, 8);
	return fd == -EMFILE ? 0 : 2;
}

int main(void)
{
	const uint32_t create = LKVFENCE_OPEN_CREATE;
	struct lkvfence_info info;
	int dev = device(), fd, big, again;

	gives(in_child(no_descriptors, &dev), 0, "no descriptor left: EMFILE");
	check(!region_exists("open-emfile"), "and no region");

	need(!lkvfence_info(&info), "INFO");
	gives(try(dev, "open-slots", create, info.max_slots + 1), -ERANGE,
	      "more than max_slots");
	big = region_fd("open-big", 1000, 0);
	set_param("max_slots", 100);
	need(!lkvfence_info(&info), "INFO");
	gives(info.max_slots, 100, "INFO tells max_slots as it is now");
	gives(try(dev, "open-slots", create, 101), -ERANGE, "101 of 100 slots");
	fd = try(dev, "open-slots", create, 100);
	check(fd >= 0, "100 of 100 slots");
	close(fd);
	again = try(dev, "open-big", 0, 0);
	check(again >= 0, "a larger region from before can be opened");
	close(again);
	/* L11: a restarted engine asks with the geometry that it always had. */
	again = try(dev, "open-big", create, 1000);
	check(again >= 0, "by its geometry, too");
	if (again >= 0)
		close(again);

	need(until(!region_exists("open-slots")), "one region");
	set_param("max_regions", 2);
	fd = try(dev, "open-second", create, 8);
	check(fd >= 0, "the second of two regions");
	gives(try(dev, "open-third", create, 8), -ENOSPC, "the third of two regions");
	check(!region_exists("open-third"), "it isn't there");
	again = try(dev, "open-second", 0, 0);
	check(again >= 0, "one that is there can be opened");
	close(again);
	close(fd);
	need(until(!region_exists("open-second")), "one region");
	fd = try(dev, "open-third", create, 8);
	check(fd >= 0, "when one is gone there is room for another");
	close(fd);
	close(big);
	close(dev);
	return done();
}
