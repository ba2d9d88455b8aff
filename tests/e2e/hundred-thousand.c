// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A hundred thousand holds alive at once. Some are proven, the others' deadline
 * comes for all of them at the same time; L9: meanwhile another region's
 * deadlines are not late. Times are told; the bound is generous.
 */
#include "e2e.h"

#define NR	100000
#define BOUND	(30000 * MS)

static struct lkvfence_event events[4096];

/* Holds one slot until about @when. */
static uint64_t hold_until(struct lkvfence *f, uint32_t nr, int64_t when)
{
	struct lkvfence_begin b = want(nr, nr, 1, 1);
	int64_t left = when - now_ns();

	b.timeout_ns = left > 20 * (int64_t)MS ? left : 20 * (int64_t)MS;
	need(!lkvfence_hold(f, &b), "HOLD %u", nr);
	return b.generation;
}

int main(void)
{
	struct lkvfence *f = region("hundred-thousand", 1000000);
	struct lkvfence *beside = region("hundred-thousand-2", 64);
	unsigned int i, told = 0, timeouts = 0, wrong = 0, rounds = 0;
	static uint64_t generations[NR];
	int64_t start = now_ns(), took, when;
	uint64_t worst = 0;
	struct lkvfence_stat stat;
	int n;

	/* How long the rest will take tells when all may pass. */
	for (i = 0; i < 1000; i++)
		generations[i] = hold_until(f, i, start + 600000 * (int64_t)MS);
	took = now_ns() - start;
	when = now_ns() + took * 150 + 2000 * (int64_t)MS;
	for (; i < NR; i++)
		generations[i] = hold_until(f, i, when);
	stat = stat_of(f);
	check(stat.transfers_held + stat.released[LKVFENCE_OUTCOME_TIMEOUT] == NR &&
	      adds_up(&stat), "%" PRIu64 " holds are alive", (uint64_t)stat.transfers_held);
	note("%.1f us for each", (now_ns() - start) / 1e3 / NR);

	for (i = 0; i < 1000; i++)
		wrong += drained(f, generations[i], 1) != 0;
	gives(wrong, 0, "1000 are proven quiet");

	/* Nobody reads the events of these meanwhile. */
	do {
		uint64_t g = hold(beside, 1, 0, 1, 1, LKVFENCE_POLICY_TAINT, 10);
		struct lkvfence_event e = event(beside);

		need(e.generation == g, "an event");
		if (e.held_ns - 10 * MS > worst)
			worst = e.held_ns - 10 * MS;
		rounds++;
		stat = stat_of(f);
	} while (stat.transfers_alive && now_ns() < when + PATIENCE_MS * (int64_t)MS);
	gives(stat.transfers_alive, 0, "all others are released at their deadlines");
	check(worst < BOUND, "%u deadlines beside them: at most %.2f ms late", rounds,
	      worst / 1e6);
	note("the last one was released %.1f ms behind the common deadline",
	     (now_ns() - when) / 1e6);

	while ((n = lkvfence_events(f, events, ARRAY_SIZE(events), 0)) > 0) {
		told += n;
		for (i = 0; i < (unsigned int)n; i++) {
			timeouts += events[i].outcome == LKVFENCE_OUTCOME_TIMEOUT;
			wrong += events[i].generation != generations[events[i].tag];
		}
	}
	check(told == NR && timeouts == NR - 1000 && !wrong,
	      "each is told once: %u, %u of them tainted", told, timeouts);
	lkvfence_close(beside);
	lkvfence_close(f);
	return done();
}
