// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Whatever the parameter says, a region has no more slots than the kernel can
 * allocate for at once; more are refused before it is tried (L10).
 */
#include "e2e.h"

int main(void)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = LKVFENCE_OPEN_CREATE,
		.name = "open-most-slots",
		.slot_size = 65536,
		.mode = 0600,
	};
	struct lkvfence_info info;
	int dev = device();

	set_param("max_slots", UINT32_MAX);
	need(!lkvfence_info(&info), "INFO");
	check(info.max_slots > 1 << 24 && info.max_slots * 8ULL <= INT32_MAX,
	      "INFO tells what is possible: %u slots", info.max_slots);
	open.nr_slots = UINT32_MAX;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -ERANGE, "the highest number of slots");
	open.nr_slots = INT32_MAX / 8 + 1;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -ERANGE, "one more than possible");
	check(!region_exists(open.name), "there is no region");
	close(dev);
	return done();
}
