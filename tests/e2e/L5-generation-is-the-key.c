// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L5: a return names generation and source. Stale, unknown, foreign and second
 * ones are told apart and counted, and change nothing; an early one counts.
 */
#include "e2e.h"

static void refused(struct lkvfence *f, uint64_t stale, uint64_t alive)
{
	struct lkvfence_stat before = stat_of(f);

	gives(drained(f, stale, 1), -ESTALE, "a released generation");
	counted(f, &before, returns_stale, 1, "only returns_stale has changed");
	before = stat_of(f);
	gives(lkvfence_failed(f, stale, 1), -ESTALE, "likewise, as failed");
	counted(f, &before, returns_stale, 1, "only returns_stale has changed");
	before = stat_of(f);
	gives(drained(f, alive + 1000000, 1), -ENOENT, "one never issued");
	counted(f, &before, returns_unknown, 1, "only returns_unknown has changed");
	before = stat_of(f);
	gives(drained(f, 0, 1), -ENOENT, "generation 0");
	counted(f, &before, returns_unknown, 1, "only returns_unknown has changed");
	before = stat_of(f);
	gives(drained(f, alive, 9), -ENOENT, "a source without a lease");
	counted(f, &before, returns_unknown, 1, "only returns_unknown has changed");
	before = stat_of(f);
	gives(drained(f, alive, 1), -EALREADY, "a second return");
	counted(f, &before, returns_duplicate, 1, "only returns_duplicate has changed");
	before = stat_of(f);
	gives(lkvfence_failed(f, alive, 1), -EALREADY, "a second one, as failed");
	counted(f, &before, returns_duplicate, 1, "only returns_duplicate has changed");
	gives(query(f, alive).leases_out, 1, "the other lease is out still");
}

/* Never by number: as many returns as leases, but not of each. */
static void identity(struct lkvfence *f)
{
	uint64_t g = hold(f, 5, 40, 8, 2, 0, 0);

	gives(drained(f, g, 1), 0, "source 1 of 2");
	gives(drained(f, g, 1), -EALREADY, "source 1 again");
	gives(stat_of(f).slots_held, 8, "two returns of one source are not two sources'");
	gives(drained(f, g, 2), 0, "source 2");
	gives(event(f).generation == g, 1, "now it is released");
}

/* The same tag, slots and sources: only the generation tells them apart. */
static void reuse(struct lkvfence *f)
{
	uint64_t old = hold(f, 6, 48, 8, 1, LKVFENCE_POLICY_TAINT, 10), new;

	need(event(f).outcome == LKVFENCE_OUTCOME_TIMEOUT, "a deadline");
	new = hold(f, 6, 48, 8, 1, 0, 0);
	gives(drained(f, old, 1), -ESTALE, "an old proof for slots used anew");
	check(query(f, new).leases_out == 1 && stat_of(f).slots_held == 8,
	      "doesn't touch the new transfer");
	need(!drained(f, new, 1), "RETURN");
	event(f);
}

int main(void)
{
	struct lkvfence *f = region("L5", 64), *foreign = region("L5-foreign", 64);
	uint64_t stale = begin(f, 1, 0, 8, 0), g, early, theirs;
	struct lkvfence_stat before;

	need(!lkvfence_release(f, stale), "RELEASE");
	g = begin(f, 2, 8, 8, 2);
	need(!drained(f, g, 1), "RETURN");
	refused(f, stale, g);

	early = begin(f, 3, 16, 8, 1);
	theirs = begin(foreign, 3, 16, 8, 1);
	before = stat_of(f);
	gives(drained(f, early, 1), 0, "a return before the end");
	gives(stat_of(f).returns_early - before.returns_early, 1, "is counted as early");
	gives(drained(f, theirs, 1), -ENOENT, "a later generation, of another region");
	gives(query(foreign, theirs).leases_out, 1, "it isn't touched");
	gives(lkvfence_abort_generation(f, early), 0, "ABORT");
	gives(stat_of(f).slots_taken, 8, "the early return counts: released at once");
	gives(event(f).outcome, LKVFENCE_OUTCOME_DRAINED, "as drained");

	identity(f);
	reuse(f);
	clear(f);
	clear(foreign);
	lkvfence_close(foreign);
	lkvfence_close(f);
	return done();
}
