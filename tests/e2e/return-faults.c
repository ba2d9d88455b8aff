// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * RETURN whose items can't all be read or written: EFAULT. Any of the others
 * may have taken effect, each wholly; repeating the call is safe.
 */
#include <sys/mman.h>

#include "e2e.h"

#define NR	40	/* items; more than the module takes in one go */

static struct lkvfence_return_item *items_at(void *at, uint64_t g, int nr)
{
	struct lkvfence_return_item *items = at;
	int i;

	for (i = 0; i < nr; i++)
		items[i] = (struct lkvfence_return_item){
			.generation = g,
			.source = i + 1,
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		};
	return items;
}

/* Item number @nr is the first that can't be read, or be written. */
static void at(struct lkvfence *f, int nr, int prot, const char *what)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct lkvfence_stat before, first, second;
	struct lkvfence_return_item *items;
	uint64_t g = hold(f, 1, 0, 8, NR, 0, 0), did;
	int i, wrong = 0;

	need(page != MAP_FAILED, "memory");
	items = items_at(page + 4096 - nr * sizeof(*items), g, NR);
	need(!mprotect(page + 4096, 4096, prot), "mprotect");
	before = stat_of(f);
	gives(lkvfence_return(f, items, NR), -EFAULT, "item %d of %d can't be %s",
	      nr, NR, what);
	first = stat_of(f);
	did = first.returns_drained - before.returns_drained;
	check(did < NR && query(f, g).leases_out == NR - did &&
	      (prot == PROT_READ || did <= (uint64_t)nr),
	      "%" PRIu64 " of the others have taken effect", did);

	need(!mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE), "mprotect");
	items_at(items, g, NR);
	gives(lkvfence_return(f, items, NR), NR - did, "again: the rest");
	second = stat_of(f);
	check(second.returns_drained - before.returns_drained == NR &&
	      second.returns_duplicate - before.returns_duplicate == did,
	      "each counted once, and as a duplicate where it had taken effect");
	for (i = 0; i < NR; i++)
		wrong += items[i].result != ((uint64_t)i < did ? -EALREADY : 0);
	gives(wrong, 0, "in the order of the items");
	check(event(f).generation == g && silent(f), "released once");
	munmap(page, 8192);
}

int main(void)
{
	struct lkvfence *f = region("return-faults", 64);

	at(f, 0, PROT_NONE, "read");
	at(f, 3, PROT_NONE, "read");
	at(f, 16, PROT_NONE, "read");
	at(f, 21, PROT_NONE, "read");
	at(f, 0, PROT_READ, "written");
	at(f, 3, PROT_READ, "written");
	at(f, 16, PROT_READ, "written");
	at(f, 21, PROT_READ, "written");
	lkvfence_close(f);
	return done();
}
