// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Which evidence a region accepts is said by who creates it, out of all that
 * can be proof, and told to everybody who opens it.
 */
#include "e2e.h"

#define NAME	"open-accepts"
#define SUCCESS	(1 << LKVFENCE_EVIDENCE_SUCCESS_CQE)
#define MW	(1 << LKVFENCE_EVIDENCE_MW_INVALIDATED)

static struct lkvfence_open request(uint32_t flags, uint32_t accepts)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = flags,
		.name = NAME,
		.slot_size = (flags & LKVFENCE_OPEN_CREATE) ? 4096 : 0,
		.nr_slots = (flags & LKVFENCE_OPEN_CREATE) ? 8 : 0,
		.mode = 0600,
		.accepts = accepts,
	};

	return open;
}

static void told(int dev, uint32_t flags, uint32_t accepts, uint32_t want,
		 const char *what)
{
	struct lkvfence_open open = request(flags, accepts);

	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), 0, "%s", what);
	gives(open.accepts, want, "it is told what the region accepts");
	close(open.fd);
}

static void refused(int dev)
{
	uint32_t bit;

	for (bit = 0; bit < 32; bit++) {
		struct lkvfence_open open = request(LKVFENCE_OPEN_CREATE,
						    SUCCESS | 1U << bit);

		if (LKVFENCE_ACCEPT_ALL & 1U << bit)
			continue;
		gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "to accept %s (bit %u)",
		      lkvfence_evidence_name(bit), bit);
	}
	check(!region_exists(NAME), "no region was made of that");
}

int main(void)
{
	struct lkvfence_open open = request(LKVFENCE_OPEN_CREATE, SUCCESS | MW);
	struct lkvfence_open other;
	int dev = device();

	refused(dev);
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), 0, "created, to accept two classes");
	gives(open.accepts, SUCCESS | MW, "that is told");
	told(dev, 0, 0, SUCCESS | MW, "who opens it and asks for none");
	told(dev, 0, LKVFENCE_ACCEPT_ALL, SUCCESS | MW, "who asks for all changes nothing");
	told(dev, 0, UINT32_MAX, SUCCESS | MW, "nor does what makes no sense: it is out");
	told(dev, LKVFENCE_OPEN_CREATE, LKVFENCE_ACCEPT_ALL, SUCCESS | MW,
	     "who would create it, too");
	told(dev, LKVFENCE_OPEN_CREATE, 0, SUCCESS | MW, "with the default, too");
	other = request(LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE, MW);
	gives(sys(dev, LKVFENCE_IOC_OPEN, &other), -EEXIST, "EXCLUSIVE");
	told(dev, 0, 0, SUCCESS | MW, "nothing of that has changed it");
	close(open.fd);
	need(until(!region_exists(NAME)), "no region");

	told(dev, LKVFENCE_OPEN_CREATE, LKVFENCE_ACCEPT_ALL, LKVFENCE_ACCEPT_ALL, "all of them");
	need(until(!region_exists(NAME)), "no region");
	told(dev, LKVFENCE_OPEN_CREATE, 0, LKVFENCE_ACCEPT_ALL, "0 stands for all of them");
	need(until(!region_exists(NAME)), "no region");
	close(dev);
	return done();
}
