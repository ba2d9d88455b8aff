// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What objects/ in sysfs tells is what is there; a handle keeps memory of
 * transfers that are over, but not much; and with it a request that goes well
 * allocates nothing.
 */
#include "e2e.h"

#define OBJECTS	"/sys/class/misc/lkvfence/objects/"
#define MANY	500

static uint64_t count(const char *kind, const char *what)
{
	return strtoull(line_of(OBJECTS "%s_%s", kind, what), NULL, 10);
}

static uint64_t alive(const char *kind)
{
	return count(kind, "created") - count(kind, "destroyed");
}

int main(void)
{
	uint64_t regions = alive("regions"), handles = alive("handles"), created, kept;
	struct lkvfence *f = region("handle-keeps-few", MANY);
	static uint64_t g[MANY];
	unsigned int i;

	check(alive("regions") == regions + 1 && alive("handles") == handles + 1,
	      "a region and a handle");
	for (i = 0; i < MANY; i++)
		g[i] = begin(f, i, i, 1, 1);
	gives(alive("transfers"), MANY, "transfers that are alive");
	need(!lkvfence_take(f, g[0], 2), "TAKE");
	gives(alive("leases"), 1, "a lease of TAKE");
	need(!drained(f, g[0], 2), "RETURN");
	for (i = 0; i < MANY; i++)
		need(!drained(f, g[i], 1) && !lkvfence_release(f, g[i]), "RELEASE");
	gives(alive("leases"), 0, "it goes with its transfer");
	kept = alive("transfers");
	check(kept <= 64, "of %d that are over a handle keeps %" PRIu64, MANY, kept);

	created = count("transfers", "created");
	for (i = 0; i < MANY; i++)
		need(!lkvfence_release(f, begin(f, i, i, 1, 0)), "RELEASE");
	gives(count("transfers", "created") - created, 0,
	      "%d more transfers, one by one, allocated nothing", MANY);
	lkvfence_close(f);
	check(until(!alive("transfers")), "all goes with the handle");
	return done();
}
