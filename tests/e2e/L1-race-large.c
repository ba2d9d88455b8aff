// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L1: requests for the same many slots, named in opposite orders, so that they
 * would meet halfway if they weren't one after the other: one gets all of them,
 * and the others nothing.
 */
#include <pthread.h>

#include "e2e.h"

#define THREADS	4
#define ROUNDS	20
#define NR	20000

static struct lkvfence_range ranges[2][NR];
static struct lkvfence *f;
static pthread_barrier_t barrier;
static uint64_t generations[THREADS];
static int results[THREADS];

static void *wants(void *arg)
{
	unsigned int me = (uintptr_t)arg, round;

	for (round = 0; round < ROUNDS; round++) {
		struct lkvfence_begin b = want(me, 0, 1, 0);

		b.ranges = (uintptr_t)ranges[me % 2];
		b.nr_ranges = NR;
		pthread_barrier_wait(&barrier);
		results[me] = lkvfence_begin(f, &b);
		generations[me] = b.generation;
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	unsigned int round, i, wrong = 0, slots = 0;
	pthread_t threads[THREADS];
	struct lkvfence_stat stat;

	for (i = 0; i < NR; i++) {
		ranges[0][i] = (struct lkvfence_range){ 2 * i, 1 };
		ranges[1][NR - 1 - i] = ranges[0][i];
	}
	f = region("L1-race-large", 2 * NR);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, wants, (void *)(uintptr_t)i),
		     "a thread");
	for (round = 0; round < ROUNDS; round++) {
		unsigned int won = 0;

		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		slots += stat_of(f).slots_taken != NR;
		for (i = 0; i < THREADS; i++) {
			won += !results[i];
			wrong += results[i] && results[i] != -EBUSY;
			if (!results[i])
				wrong += lkvfence_release(f, generations[i]) != 0;
		}
		wrong += won != 1;
		slots += stat_of(f).slots_taken != 0;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gives(wrong, 0, "%d rounds: one of %d wins, all others get EBUSY", ROUNDS, THREADS);
	gives(slots, 0, "%d slots are taken then, and none behind it", NR);
	stat = stat_of(f);
	check(adds_up(&stat) && stat.begun == ROUNDS &&
	      stat.refused_busy == ROUNDS * (THREADS - 1), "all is counted");
	lkvfence_close(f);
	return done();
}
