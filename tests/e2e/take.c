// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* TAKE grants one more lease, once for each source of a generation. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("take", 64), *other = region("take", 64);
	uint64_t g = begin(f, 1, 0, 8, 2), released = begin(f, 2, 8, 8, 0);
	struct lkvfence_stat before;
	uint32_t i, taken = 2;

	need(!lkvfence_release(f, released), "RELEASE");
	before = stat_of(f);
	gives(lkvfence_take(f, g, 3), 0, "a new source");
	gives(lkvfence_take(other, g, 4), 0, "by another handle of the region");
	gives(lkvfence_take(f, g, 0), 0, "source 0");
	gives(lkvfence_take(f, g, UINT32_MAX), 0, "the highest source");
	taken += 4;
	gives(query(f, g).leases_out, taken, "they are out");
	gives(lkvfence_take(f, g, 1), -EEXIST, "a source of BEGIN");
	gives(lkvfence_take(f, g, 3), -EEXIST, "a source of TAKE");
	unchanged(f, &before, "no counter has changed");

	need(!drained(f, g, 3), "RETURN");
	need(!lkvfence_failed(f, g, 4), "RETURN");
	gives(lkvfence_take(f, g, 3), -EEXIST, "a source that has drained");
	gives(lkvfence_take(f, g, 4), -EEXIST, "a source that has failed");
	gives(lkvfence_take(f, released, 5), -ESTALE, "a released generation");
	gives(lkvfence_take(f, g + 1000000, 5), -ENOENT, "one that never was");
	gives(query(f, g).nr_leases, taken, "none of that gave a lease");

	for (i = 1000; !lkvfence_take(f, g, i); i++)
		taken++;
	gives(lkvfence_take(f, g, i), -ENOSPC, "a lease too many");
	gives(taken, 4096, "there are max_leases");
	need(!abort_with(f, g, LKVFENCE_POLICY_QUARANTINE, 10), "ABORT");
	gives(lkvfence_take(f, g, i), -ECANCELED, "L3: it has ended");
	need(until(stat_of(f).slots_quarantined), "its deadline");
	clear(f);
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
