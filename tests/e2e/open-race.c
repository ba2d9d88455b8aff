// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Many create a region of the same name at the same time: one of them does, and
 * all have the same one. With EXCLUSIVE all others get EEXIST.
 */
#include <pthread.h>

#include "e2e.h"

#define THREADS	6
#define ROUNDS	20

static pthread_barrier_t barrier;
static struct lkvfence_open opens[THREADS];
static int results[THREADS];
static uint32_t flags;
static int dev;

static void *creates(void *arg)
{
	unsigned int me = (uintptr_t)arg, round;

	for (round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		opens[me] = (struct lkvfence_open){
			.size = sizeof(opens[me]),
			.flags = LKVFENCE_OPEN_CREATE | flags,
			.name = "open-race",
			.slot_size = 65536,
			/* Making its maps takes a while. */
			.nr_slots = 1 << 21,
			.mode = 0600,
		};
		results[me] = sys(dev, LKVFENCE_IOC_OPEN, &opens[me]);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	unsigned int round, i, wrong = 0, handles = 0;
	pthread_t threads[THREADS];

	dev = device();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, creates, (void *)(uintptr_t)i),
		     "a thread");
	for (round = 0; round < ROUNDS; round++) {
		unsigned int created = 0, good = 0;
		struct lkvfence_stat stat = { .size = sizeof(stat) };
		bool exclusive = round % 2;

		flags = exclusive ? LKVFENCE_OPEN_EXCLUSIVE : 0;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		for (i = 0; i < THREADS; i++) {
			created += !results[i] && opens[i].created;
			good += !results[i];
			wrong += results[i] && !(exclusive && results[i] == -EEXIST);
		}
		wrong += created != 1 || good != (exclusive ? 1 : THREADS);
		for (i = 0; i < THREADS; i++) {
			if (results[i])
				continue;
			handles += sys(opens[i].fd, LKVFENCE_IOC_STAT, &stat) ||
				   stat.handles != good;
			good--;
			close(opens[i].fd);
		}
		need(until(!region_exists("open-race")), "the region is gone");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gives(wrong, 0, "%d rounds: one of %d creates it", ROUNDS, THREADS);
	gives(handles, 0, "all have the same region");
	close(dev);
	return done();
}
