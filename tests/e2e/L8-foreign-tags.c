// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L8: a million aborts and pulls of tags that nobody ever offers leave a bounded number
 * of tombstones and no ticket; they displace nothing that is known of real transfers,
 * and delay no region beside.
 */
#include <signal.h>

#include "pull.h"

#define NAME		"L8-foreign-tags"
#define TOMBSTONES	1000
#define KNOWN		100
#define FOREIGN		(1ULL << 40)

/* Early aborts of new tags, and pulls of those that are refused for it; for ever. */
static int stranger(void *arg)
{
	unsigned int nr = *(unsigned int *)arg, i, wrong = 0;
	struct lkvfence *f = region(NAME, 0);
	int64_t start = now_ns();

	for (i = 0; i < nr; i++) {
		uint64_t tag = FOREIGN + i;

		wrong += lkvfence_abort_early(f, tag, 0) != 0;
		if (i % 2)
			wrong += !refused(f, pull(f, tag, 1), LKVFENCE_REASON_ABORTED);
	}
	note("%u: %.1f us for each", nr, (now_ns() - start) / 1e3 / nr);
	lkvfence_close(f);
	return wrong != 0;
}

/* Ended transfers of which it is known why. */
static void bury(struct lkvfence *f)
{
	unsigned int i;

	for (i = 0; i < KNOWN; i++)
		need(!lkvfence_abort_generation(f, offer(f, i, i % 64, 1, 0)), "ABORT");
	for (i = 0; i < KNOWN; i++)
		need(event(f).type == LKVFENCE_EVENT_RELEASED, "a release");
}

static unsigned int known(struct lkvfence *f, uint64_t first, uint32_t reason)
{
	struct lkvfence_pull p;
	unsigned int i, nr = 0;

	for (i = 0; i < KNOWN; i++) {
		p = a_pull(first + i, 1);
		need(!lkvfence_pull(f, &p), "PULL");
		if (!lkvfence_withdraw(f, p.ticket))
			pass_over(f);
		else
			nr += refused(f, p.ticket, reason);
	}
	return nr;
}

int main(void)
{
	unsigned int nr = debug_kernel() ? 20000 : 1000000, rounds = 0, most = 0;
	struct lkvfence *f, *beside;
	struct lkvfence_stat stat;
	uint64_t before, offers = 0;
	pid_t pid;
	int status;

	set_param("max_tombstones", TOMBSTONES);
	set_param("tombstone_ms", 600000);
	f = region(NAME, 64);
	beside = region(NAME "-2", 64);
	before = objects("offers");
	bury(f);
	gives(stat_of(f).tombstones, KNOWN, "%d transfers are remembered", KNOWN);

	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(stranger(&nr));
	while (!waitpid(pid, &status, WNOHANG)) {
		uint64_t g = hold(beside, 2, 8, 1, 1, LKVFENCE_POLICY_TAINT, 10);

		need(event(beside).generation == g, "a deadline");
		stat = stat_of(f);
		most = stat.tombstones > most ? stat.tombstones : most;
		offers = objects("offers") > offers ? objects("offers") : offers;
		rounds++;
	}
	gives(status, 0, "%u early aborts of foreign tags, and half as many pulls", nr);
	check(rounds > 10, "%u deadlines beside them", rounds);
	stat = stat_of(f);
	gives(stat.tombstones, KNOWN + TOMBSTONES, "what is remembered of them is bounded");
	check(most <= KNOWN + TOMBSTONES, "at any time (%u)", most);
	/* One is in hand while another one goes. */
	check(offers <= before + KNOWN + TOMBSTONES + 2, "and so is the memory: %" PRIu64, offers);
	check(!stat.tickets && stat.pulls == nr / 2 && stat.pulls_refused == nr / 2 &&
	      adds_up(&stat), "every pull was refused");
	gives(known(f, 0, LKVFENCE_REASON_ABORTED), KNOWN, "of the real ones all are known still");
	gives(known(f, FOREIGN + nr - KNOWN, LKVFENCE_REASON_ABORTED), KNOWN,
	      "of the others the last ones");
	gives(known(f, FOREIGN, LKVFENCE_REASON_ABORTED), 0, "and not the first");

	/* Their own number is bounded, too: the oldest go. */
	set_param("max_tombstones", KNOWN / 2);
	need(!lkvfence_abort_generation(f, offer(f, 5000, 0, 1, 0)), "ABORT");
	event(f);
	gives(known(f, 0, LKVFENCE_REASON_ABORTED), KNOWN / 2 - 1, "the oldest go first");
	put_params_back();
	lkvfence_close(f);
	lkvfence_close(beside);
	check(until(!region_exists(NAME)), "the region goes, with all its tombstones");
	gives(objects("offers"), before, "nothing is left");
	return done();
}
