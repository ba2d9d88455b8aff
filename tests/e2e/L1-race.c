// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L1: of many who want the same slots at the same time, exactly one gets them. */
#include <pthread.h>

#include "e2e.h"

#define THREADS	8
#define ROUNDS	200

static struct lkvfence *handles[2];
static pthread_barrier_t barrier;
static int results[THREADS];
static uint64_t generations[THREADS];

/* All want slot 50, each with some others around it. */
static void *wants(void *arg)
{
	unsigned int me = (uintptr_t)arg, round;

	for (round = 0; round < ROUNDS; round++) {
		struct lkvfence_begin b = want(me, 50 - me, 1 + 2 * me, 1);

		pthread_barrier_wait(&barrier);
		results[me] = lkvfence_begin(handles[me % 2], &b);
		generations[me] = b.generation;
		pthread_barrier_wait(&barrier);
		/* The main thread looks. */
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	unsigned int round, i, wrong = 0, lost = 0, overlap = 0, winners[THREADS] = { 0 };
	struct lkvfence_stat stat;
	pthread_t threads[THREADS];

	handles[0] = region("L1-race", 100);
	handles[1] = region("L1-race", 100);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, wants, (void *)(uintptr_t)i),
		     "a thread");
	for (round = 0; round < ROUNDS; round++) {
		unsigned int won = 0;

		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		for (i = 0; i < THREADS; i++) {
			if (results[i] && results[i] != -EBUSY)
				wrong++;
			if (results[i])
				continue;
			won++;
			winners[i]++;
			stat = stat_of(handles[0]);
			overlap += stat.slots_taken != 1 + 2 * i;
			lost += drained(handles[0], generations[i], 1) ||
				lkvfence_release(handles[0], generations[i]);
		}
		wrong += won != 1;
		pthread_barrier_wait(&barrier);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gives(wrong, 0, "%d rounds: one of %d wins, all others get EBUSY", ROUNDS,
	      THREADS);
	gives(overlap, 0, "the slots taken are the winner's");
	gives(lost, 0, "each winner gave them back");
	stat = stat_of(handles[0]);
	check(stat.begun == ROUNDS && stat.refused_busy == ROUNDS * (THREADS - 1) &&
	      adds_up(&stat), "each begin and each refusal is counted");
	note("rounds won, by thread: %u %u %u %u %u %u %u %u", winners[0], winners[1],
	     winners[2], winners[3], winners[4], winners[5], winners[6], winners[7]);
	lkvfence_close(handles[0]);
	lkvfence_close(handles[1]);
	return done();
}
