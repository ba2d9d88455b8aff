// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L11: closing a handle ends all that it owns, however many, and drops all its
 * unread events; nothing of it is left but the orphans.
 */
#include "e2e.h"

#define NR	300
#define OBJECTS	"/sys/class/misc/lkvfence/objects/"

static uint64_t alive(const char *kind)
{
	return strtoull(line_of(OBJECTS "%s_created", kind), NULL, 10) -
	       strtoull(line_of(OBJECTS "%s_destroyed", kind), NULL, 10);
}

int main(void)
{
	struct lkvfence *f = region("close-many", 2 * NR), *heir;
	static uint64_t g[NR];
	struct lkvfence_stat stat;
	unsigned int i, wrong = 0;

	heir = region("close-many", 0);
	for (i = 0; i < NR; i++)
		g[i] = begin(f, i, i, 1, 1);
	/* Events that are never read; these have no lease. */
	for (i = 0; i < NR; i++)
		lkvfence_abort_generation(f, begin(f, NR + i, NR + i, 1, 0));
	lkvfence_close(f);

	stat = stat_of(heir);
	check(stat.transfers_alive == NR && stat.transfers_held == NR &&
	      stat.slots_held == NR && adds_up(&stat), "all %d are held", NR);
	gives(alive("transfers"), NR, "nothing is left of those that were over");
	for (i = 0; i < NR; i++) {
		struct lkvfence_query q = query(heir, g[i]);

		wrong += q.flags != LKVFENCE_TRANSFER_ORPHANED ||
			 q.reason != LKVFENCE_REASON_ORPHANED ||
			 lkvfence_adopt(heir, g[i]) || drained(heir, g[i], 1) ||
			 event(heir).generation != g[i];
	}
	gives(wrong, 0, "each is an orphan, can be adopted, proven, and is told then");
	check(silent(heir), "once");
	lkvfence_close(heir);
	return done();
}
