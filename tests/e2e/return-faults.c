// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * RETURN whose items can't all be read or written: EFAULT; those before it
 * have taken effect, it and those behind have not; repeating the call is safe.
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

static char *two_pages(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(page != MAP_FAILED, "memory");
	return page;
}

/* Item number @nr is the first that can't be read, or be written. */
static void at(struct lkvfence *f, int nr, int prot, const char *what)
{
	char *page = two_pages();
	struct lkvfence_stat before;
	struct lkvfence_return_item *items;
	uint64_t g = begin(f, 1, 0, 8, NR);

	items = items_at(page + 4096 - nr * sizeof(*items), g, NR);
	need(!mprotect(page + 4096, 4096, prot), "mprotect");
	before = stat_of(f);
	gives(lkvfence_return(f, items, NR), -EFAULT, "item %d of %d can't be %s",
	      nr, NR, what);
	gives(stat_of(f).returns_drained - before.returns_drained, nr,
	      "those before it have taken effect, and no other");
	gives(query(f, g).leases_out, NR - nr, "so many leases are out");

	need(!mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE), "mprotect");
	check(lkvfence_return(f, items, NR) >= 0, "the same call again");
	gives(query(f, g).leases_out, 0, "now all leases are proven");
	munmap(page, 8192);
	clear(f);
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
