// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L9: a region with large calls all the time, many unread events, and a reader
 * who never reads, delays no other region's deadlines. Times are told; the
 * bound is generous, for the machine may be emulated.
 */
#include <signal.h>

#include "e2e.h"

#define ROUNDS	50
#define BOUND	(20000 * MS)

/* Takes and gives back a million slots in 65536 pieces, over and over. */
static int busy(void *arg)
{
	static struct lkvfence_range ranges[65536];
	struct lkvfence *f = region("L9-slow", 1 << 20);
	struct lkvfence_begin b;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		ranges[i] = (struct lkvfence_range){ i * 16, 15 };
	for (i = 0;; i++) {
		b = want(1, 0, 1, 0);
		b.ranges = (uintptr_t)ranges;
		b.nr_ranges = ARRAY_SIZE(ranges);
		/* Each leaves an event that nobody reads. */
		if (lkvfence_hold(f, &b))
			return 1;
		if (i == 3 && write(*(int *)arg, "y", 1) != 1)
			return 1;
	}
}

int main(void)
{
	struct lkvfence *f = region("L9-quick", 64);
	uint64_t late, worst = 0, sum = 0;
	unsigned int i;
	int fds[2];
	pid_t pid;
	char c = 0;

	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(busy(&fds[1]));
	need(read(fds[0], &c, 1) == 1 && c == 'y', "a busy neighbour");
	for (i = 0; i < ROUNDS; i++) {
		uint64_t g = hold(f, i, 0, 8, 1, LKVFENCE_POLICY_TAINT, 10);
		struct lkvfence_event e = event(f);

		need(e.generation == g && e.outcome == LKVFENCE_OUTCOME_TIMEOUT,
		     "a deadline");
		late = e.held_ns - 10 * MS;
		sum += late;
		if (late > worst)
			worst = late;
	}
	gives(kill(pid, 0), 0, "the neighbour is busy still");
	check(worst < BOUND, "%d deadlines beside it: on average %.2f ms late, at most %.2f ms",
	      ROUNDS, sum / 1e6 / ROUNDS, worst / 1e6);
	kill(pid, SIGKILL);
	gives(status_of(pid), 128 + SIGKILL, "it was killed");
	check(until(!region_exists("L9-slow")), "and its region is gone");
	lkvfence_close(f);
	return done();
}
