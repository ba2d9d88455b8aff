// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * REPORT counts what a look at the memory found, of a transfer that is or was,
 * and tells it in the kernel's log.
 */
#include "e2e.h"

static void kinds(struct lkvfence *f)
{
	uint64_t alive = begin(f, 1, 0, 8, 1), g;
	struct lkvfence_stat before;

	g = begin(f, 2, 8, 8, 0);
	need(!lkvfence_release(f, g), "RELEASE");

	before = stat_of(f);
	gives(lkvfence_report(f, alive, LKVFENCE_REPORT_STRAY, 3), 0,
	      "slots that changed, of one that waits");
	counted(f, &before, strays, 1, "it is counted, once for all slots");
	check(logged(alive, "3 slots changed while held"), "the log tells it, and how many");

	before = stat_of(f);
	gives(lkvfence_report(f, g, LKVFENCE_REPORT_STRAY_LATE, 1), 0,
	      "slots that changed after the release");
	counted(f, &before, strays_late, 1, "it is counted");
	check(logged(g, "1 slots changed after"), "the log tells it");

	before = stat_of(f);
	gives(lkvfence_report(f, g, LKVFENCE_REPORT_MISMATCH, UINT32_MAX), 0,
	      "another checksum, in the most slots that can be told");
	counted(f, &before, mismatches, 1, "it is counted");
	check(logged(g, "4294967295 slots arrived damaged"), "the log tells it");

	before = stat_of(f);
	gives(lkvfence_report(f, g, LKVFENCE_REPORT_MISMATCH, 1), 0, "the same again");
	counted(f, &before, mismatches, 1, "it is counted again: nobody remembers it");
	check(silent(f), "no event is made of any of that");
	gives(query(f, alive).state, LKVFENCE_STATE_WAITING, "no transfer has changed");
	clear(f);
}

static void refusals(struct lkvfence *f, uint64_t g, uint64_t never)
{
	struct lkvfence_stat before = stat_of(f);

	gives(lkvfence_report(f, 0, LKVFENCE_REPORT_STRAY, 1), -ENOENT, "generation 0");
	gives(lkvfence_report(f, never, LKVFENCE_REPORT_STRAY, 1), -ENOENT,
	      "a generation that was never issued here");
	gives(lkvfence_report(f, UINT64_MAX, LKVFENCE_REPORT_STRAY, 1), -ENOENT,
	      "the highest generation");
	gives(lkvfence_report(f, g, 0, 1), -EINVAL, "kind 0");
	gives(lkvfence_report(f, g, LKVFENCE_REPORT_MISMATCH + 1, 1), -EINVAL,
	      "an unknown kind");
	gives(lkvfence_report(f, g, LKVFENCE_REPORT_STRAY, 0), -EINVAL, "no slots");
	unchanged(f, &before, "nothing has changed");
	check(!logged(never, "slots"), "nothing is in the log");
}

int main(void)
{
	struct lkvfence *f = region("report", 64), *other = region("report-other", 64);
	struct lkvfence *onlooker = region("report", 0);
	struct lkvfence_stat before;
	uint64_t g, later;

	kinds(f);
	g = begin(f, 3, 0, 8, 0);
	need(!lkvfence_release(f, g), "RELEASE");
	later = begin(other, 1, 0, 8, 0);
	refusals(f, g, later);
	need(!lkvfence_release(other, later), "RELEASE");

	before = stat_of(f);
	gives(lkvfence_report(onlooker, g, LKVFENCE_REPORT_STRAY, 1), 0,
	      "by another handle of the region");
	counted(f, &before, strays, 1, "it is counted in the region");
	gives(stat_of(other).strays, 0, "and in no other");
	lkvfence_close(onlooker);
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
