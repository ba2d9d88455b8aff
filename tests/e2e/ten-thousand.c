// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Ten thousand transfers alive at once in a region of a million slots; and the
 * command lkvfence answers then. How long it takes is told.
 */
#include "e2e.h"

#define NR	10000

static struct lkvfence_return_item items[NR * 2];
static struct lkvfence_event events[NR];
static uint64_t generations[NR];

static bool next(struct lkvfence *f, uint64_t *generation)
{
	struct lkvfence_query q = {
		.by = LKVFENCE_QUERY_NEXT,
		.generation = *generation,
	};
	bool found = !lkvfence_query(f, &q);

	*generation = q.generation;
	return found;
}

static void answers(const char *arguments)
{
	char line[256];
	int64_t start = now_ns();
	int status;

	snprintf(line, sizeof(line), "build/tools/lkvfence %s >/tmp/ten-thousand", arguments);
	status = system(line);
	check(!status, "lkvfence %s: %.0f ms", arguments, (now_ns() - start) / 1e6);
}

int main(void)
{
	struct lkvfence *f = region("ten-thousand", 1000000);
	struct lkvfence_stat stat;
	unsigned int i, wrong = 0;
	uint64_t walk = 0;
	int64_t start = now_ns();

	for (i = 0; i < NR; i++) {
		struct lkvfence_range ranges[] = { { i * 100, 60 }, { i * 100 + 70, 5 } };
		struct lkvfence_begin b = want(i, 0, 1, 2);

		b.ranges = (uintptr_t)ranges;
		b.nr_ranges = 2;
		wrong += lkvfence_begin(f, &b) != 0;
		generations[i] = b.generation;
	}
	gives(wrong, 0, "%d transfers begin", NR);
	note("%.1f us for each", (now_ns() - start) / 1e3 / NR);
	stat = stat_of(f);
	check(stat.transfers_alive == NR && stat.slots_taken == 65 * NR, "all are alive");
	/* No deadline comes before the answers, however slow the machine. */
	for (i = 0; i < NR; i += 2)
		wrong += abort_with(f, generations[i], 0, 3600000) != 0;
	gives(wrong, 0, "half of them are aborted");

	start = now_ns();
	for (i = 0; next(f, &walk); i++)
		wrong += i >= NR || walk != generations[i];
	check(i == NR && !wrong, "QUERY walks all of them in %.0f ms",
	      (now_ns() - start) / 1e6);

	answers("");
	answers("-j region");
	answers("transfer");

	start = now_ns();
	for (i = 0; i < 2 * NR; i++)
		items[i] = (struct lkvfence_return_item){
			.generation = generations[i / 2],
			.source = i % 2 + 1,
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		};
	gives(lkvfence_return(f, items, ARRAY_SIZE(items)), 2 * NR,
	      "one RETURN gives all leases back");
	note("%.1f us for each", (now_ns() - start) / 1e3 / (2 * NR));
	stat = stat_of(f);
	check(stat.transfers_alive == NR / 2 && adds_up(&stat), "the aborted half is released");
	gives(lkvfence_events(f, events, NR, 0), NR / 2, "one read tells all of it");
	for (i = 1; i < NR; i += 2)
		wrong += lkvfence_release(f, generations[i]) != 0;
	gives(wrong, 0, "RELEASE of the other half");
	check(!stat_of(f).transfers_alive && silent(f), "nothing is left");
	lkvfence_close(f);
	unlink("/tmp/ten-thousand");
	return done();
}
