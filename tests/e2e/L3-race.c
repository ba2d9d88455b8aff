// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L3: leases are taken while another thread aborts. Each TAKE that succeeded
 * keeps the slots out; none succeeds behind the abort.
 */
#include <pthread.h>

#include "e2e.h"

#define ROUNDS	200
#define MAX	3000

static struct lkvfence *f;
static uint64_t generation;
static uint32_t taken;
static int last;

static void *takes(void *arg)
{
	(void)arg;
	last = 0;
	for (taken = 0; taken < MAX && !last; taken += !last)
		last = lkvfence_take(f, generation, taken + 1);
	return NULL;
}

int main(void)
{
	unsigned int round, wrong = 0, cut = 0;
	struct lkvfence_abort a;
	struct lkvfence_event e;
	pthread_t thread;
	uint32_t i;

	f = region("L3-race", 8);
	for (round = 0; round < ROUNDS; round++) {
		generation = begin(f, 1, 0, 8, 0);
		need(!pthread_create(&thread, NULL, takes, NULL), "a thread");
		a = (struct lkvfence_abort){ .generation = generation };
		usleep(round * 10);
		wrong += lkvfence_abort(f, &a) != 0;
		pthread_join(thread, NULL);
		/* What was out at the abort is what was ever given. */
		wrong += a.leases_out != taken;
		if (taken < MAX) {
			cut++;
			wrong += last != (taken ? -ECANCELED : -ESTALE);
		}
		wrong += (stat_of(f).slots_taken == 8) != (taken > 0);
		for (i = 0; i < taken; i++)
			wrong += drained(f, generation, i + 1) != 0;
		wrong += stat_of(f).slots_taken != 0;
		e = event(f);
		wrong += e.generation != generation || e.outcome != LKVFENCE_OUTCOME_DRAINED;
	}
	gives(wrong, 0, "%d rounds: no lease behind the abort, none forgotten", ROUNDS);
	check(cut > 0, "%u were ended while leases were taken", cut);
	lkvfence_close(f);
	return done();
}
