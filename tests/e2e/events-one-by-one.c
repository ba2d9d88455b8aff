// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Events of one transfer that don't fit all at once: the rest comes with the next read. */
#include "e2e.h"

#define SIZE	sizeof(struct lkvfence_event)

/* ENDED, QUARANTINED and RELEASED of one transfer, none of them read. */
static uint64_t three(struct lkvfence *f, struct lkvfence *other)
{
	uint64_t g = begin(f, 1, 0, 8, 1);

	need(!abort_with(other, g, LKVFENCE_POLICY_QUARANTINE, 10), "ABORT");
	need(until(stat_of(f).transfers_quarantined), "quarantine");
	need(!drained(f, g, 1), "RETURN");
	return g;
}

int main(void)
{
	struct lkvfence *f = region("events-one-by-one", 64);
	struct lkvfence *other = region("events-one-by-one", 0);
	struct lkvfence_event e[16];
	int fd = lkvfence_fd(f), nr, type;
	uint64_t g = three(f, other);

	for (type = LKVFENCE_EVENT_ENDED; type <= LKVFENCE_EVENT_RELEASED; type++) {
		memset(e, 0, sizeof(e));
		gives(read(fd, e, SIZE), SIZE, "room for one event");
		check(e[0].generation == g && (int)e[0].type == type && !e[1].type,
		      "it is the next, and nothing lies behind it");
	}
	check(silent(f), "that was all");

	/* Three of each, so that one is cut in the middle wherever reads end. */
	for (nr = 2; nr <= 13; nr++) {
		uint64_t first = three(f, other), got = 0, wrong = 0;
		ssize_t n;
		int i;

		for (i = 1; i < 5; i++)
			three(f, other);
		while (got < 15) {
			memset(e, 0, sizeof(e));
			n = read(fd, e, nr * SIZE) / (ssize_t)SIZE;
			if (n <= 0 || n > nr || e[n].type)
				break;
			for (i = 0; i < n; i++, got++)
				wrong += e[i].generation != first + got / 3 ||
					 e[i].type != LKVFENCE_EVENT_ENDED + got % 3;
		}
		check(got == 15 && !wrong && silent(f),
		      "15 events of 5 transfers, %d at a time: each once, in order", nr);
	}
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
