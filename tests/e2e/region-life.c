// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A region is there while it has a handle or an unreleased transfer. */
#include "e2e.h"

#define NAME	"region-life"

int main(void)
{
	struct lkvfence_stat stat;
	struct lkvfence *f = region(NAME, 64), *other;
	struct lkvfence_open open = { .name = NAME };
	uint64_t waiting, held, timed;
	unsigned int i;

	check(region_exists(NAME), "it is there from the first open");
	lkvfence_close(f);
	check(until(!region_exists(NAME)), "it goes with its last handle");

	f = region(NAME, 64);
	other = region(NAME, 64);
	waiting = begin(f, 1, 0, 8, 1);
	held = hold(f, 2, 8, 8, 2, LKVFENCE_POLICY_QUARANTINE, 0);
	lkvfence_close(f);
	lkvfence_close(other);
	check(region_exists(NAME), "it stays while it has transfers");
	gives(atoi(line_of("/sys/class/misc/lkvfence/regions/" NAME "/handles")), 0,
	      "without any handle");
	gives(atoi(line_of("/sys/class/misc/lkvfence/regions/" NAME "/slots_held")),
	      16, "all their slots are held");

	need(!lkvfence_open(&f, &open), "open by name");
	check(!open.created && open.nr_slots == 64, "the name leads to the same region");
	stat = stat_of(f);
	check(stat.transfers_held == 2 && stat.begun == 2, "with the same transfers");
	gives(drained(f, waiting, 1), 0, "the lease of the first is proven");
	gives(drained(f, held, 1), 0, "one of the second");
	lkvfence_close(f);
	check(region_exists(NAME), "it stays with one lease out");

	open = (struct lkvfence_open){ .name = NAME };
	need(!lkvfence_open(&f, &open), "open by name");
	gives(drained(f, held, 2), 0, "the last proof");
	lkvfence_close(f);
	check(until(!region_exists(NAME)), "then it goes");

	f = region(NAME, 64);
	need(hold(f, 3, 0, 64, 1, LKVFENCE_POLICY_TAINT, 50), "a hold");
	need(until(!stat_of(f).transfers_alive), "its deadline");
	/* The clock looks after that whether it may go; nothing tells when it has. */
	for (i = 0; i < 20 && region_exists(NAME); i++)
		usleep(50000);
	gives(i, 20, "at the deadline of its last hold it stays while there is a handle");
	lkvfence_close(f);
	check(until(!region_exists(NAME)), "and goes with that");

	f = region(NAME, 64);
	timed = hold(f, 3, 0, 64, 1, LKVFENCE_POLICY_TAINT, 100);
	lkvfence_close(f);
	check(timed && until(!region_exists(NAME)),
	      "it goes at the deadline of its last hold, by itself");

	f = region(NAME, 32);
	stat = stat_of(f);
	check(!stat.begun && stat.slots == 32,
	      "the next one of that name is new, with its own geometry");
	gives(lkvfence_drained(f, held, 2, LKVFENCE_EVIDENCE_SUCCESS_CQE), -ESTALE,
	      "for which older generations are stale");
	lkvfence_close(f);
	return done();
}
