// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Whoever opens a region with another geometry than it has is refused
 * (ENOTUNIQ), and told which it has.
 */
#include "e2e.h"

static void other(int dev, uint64_t slot_size, uint64_t base, uint32_t nr_slots,
		  int err, const char *what)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.name = "open-geometry",
		.slot_size = slot_size,
		.base = base,
		.nr_slots = nr_slots,
		.fd = -7,
		.accepts = LKVFENCE_ACCEPT_ALL,
	};

	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), err, "%s", what);
	check(open.slot_size == 4096 && open.base == 0x7000 && open.nr_slots == 8,
	      "the region's own geometry is told");
	gives(open.accepts, 1 << LKVFENCE_EVIDENCE_IN_BAND, "and what it accepts");
	if (!err)
		close(open.fd);
	else
		gives(open.fd, -7, "no handle is told");
}

int main(void)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = LKVFENCE_OPEN_CREATE,
		.name = "open-geometry",
		.slot_size = 4096,
		.base = 0x7000,
		.nr_slots = 8,
		.mode = 0600,
		.accepts = 1 << LKVFENCE_EVIDENCE_IN_BAND,
	};
	struct lkvfence_stat before;
	struct lkvfence *f;
	int dev = device();

	need(!lkvfence_open(&f, &open), "open");
	before = stat_of(f);
	other(dev, 4096, 0x7000, 8, 0, "the same geometry");
	other(dev, 0, 0, 0, 0, "no geometry");
	other(dev, 0, 0, 8, 0, "the number of slots only");
	other(dev, 4097, 0x7000, 8, -ENOTUNIQ, "another slot size");
	other(dev, 4096, 0x8000, 8, -ENOTUNIQ, "another base");
	other(dev, 4096, 0x7000, 9, -ENOTUNIQ, "another number of slots");
	other(dev, 0, 1, 0, -ENOTUNIQ, "only a base, and another one");
	unchanged(f, &before, "nothing has changed");
	lkvfence_close(f);
	close(dev);
	return done();
}
