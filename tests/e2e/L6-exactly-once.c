// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L6: each generation is reported released exactly once, with one outcome,
 * while threads on two handles return, abort, release and let deadlines pass
 * at the same time. RELEASE by the owner is the report itself.
 */
#include <pthread.h>

#include "e2e.h"

#define ROUNDS	60
#define EACH	25
#define SOURCES	4

static struct lkvfence *handles[2];
static uint64_t generations[EACH];
static unsigned int nr_released[EACH];
static pthread_barrier_t barrier;
static bool stop;

static void *acts(void *arg)
{
	unsigned int me = (uintptr_t)arg;
	struct lkvfence *f = handles[me % 2];
	unsigned int i;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			return NULL;
		for (i = 0; i < EACH; i++) {
			/* Half of the threads go the other way. */
			unsigned int at = me & 2 ? EACH - 1 - i : i;
			uint64_t g = generations[at];

			if (me < SOURCES)
				drained(f, g, me + 1);
			else if (me < SOURCES + 2)
				abort_with(f, g, 0, 10);
			else if (!lkvfence_release(f, g) && f == handles[0])
				__atomic_add_fetch(&nr_released[at], 1, __ATOMIC_RELAXED);
		}
		pthread_barrier_wait(&barrier);
	}
}

static void round_of(unsigned int *wrong, unsigned int *outcomes)
{
	unsigned int told[EACH] = { 0 }, i;
	struct lkvfence_event e[16];
	int n, k;

	for (i = 0; i < EACH; i++) {
		generations[i] = begin(handles[0], i, 8 * i, 8, SOURCES);
		nr_released[i] = 0;
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	need(until(!stat_of(handles[0]).transfers_alive), "all are released");

	while ((n = lkvfence_events(handles[0], e, 16, 0)) > 0) {
		for (k = 0; k < n; k++) {
			if (e[k].type == LKVFENCE_EVENT_ENDED)
				continue;
			i = e[k].generation - generations[0];
			*wrong += i >= EACH;
			if (i < EACH)
				told[i]++;
			outcomes[e[k].outcome]++;
		}
	}
	for (i = 0; i < EACH; i++) {
		*wrong += told[i] + nr_released[i] != 1;
		outcomes[LKVFENCE_OUTCOME_COMPLETED] += nr_released[i];
	}
	*wrong += !silent(handles[1]);
}

int main(void)
{
	unsigned int i, wrong = 0, outcomes[LKVFENCE_NR_OUTCOMES] = { 0 };
	pthread_t threads[SOURCES + 4];
	struct lkvfence_stat stat;

	handles[0] = region("L6-exactly-once", 8 * EACH);
	handles[1] = region("L6-exactly-once", 8 * EACH);
	pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(threads) + 1);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		need(!pthread_create(&threads[i], NULL, acts, (void *)(uintptr_t)i),
		     "a thread");
	for (i = 0; i < ROUNDS; i++)
		round_of(&wrong, outcomes);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);

	gives(wrong, 0, "%d generations: one report each", ROUNDS * EACH);
	stat = stat_of(handles[0]);
	check(stat.begun == ROUNDS * EACH && adds_up(&stat), "begun = released");
	for (i = 0; i < LKVFENCE_NR_OUTCOMES; i++)
		gives(stat.released[i], outcomes[i], "the reports tell as many %s as STAT: %u",
		      lkvfence_outcome_name(i), outcomes[i]);
	gives(stat.returns_drained + stat.returns_stale, (long)ROUNDS * EACH * SOURCES,
	      "each return was accepted or came too late");
	lkvfence_close(handles[0]);
	lkvfence_close(handles[1]);
	return done();
}
