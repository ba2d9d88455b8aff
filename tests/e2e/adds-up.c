// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * begun = alive + released, in every STAT, while threads on several handles
 * begin, end and release, handles are closed, and others read sysfs.
 */
#include <pthread.h>

#include "e2e.h"

#define NAME	"adds-up"
#define WORKERS	4
#define MSECS	3000

static bool stop;

static void *works(void *arg)
{
	uint32_t me = (uintptr_t)arg, i;
	struct lkvfence *f = region(NAME, 0);
	struct lkvfence_event e[32];
	uint64_t g;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
		struct lkvfence_begin b = want(me << 16 | i % 8, me * 64 + i % 8 * 8, 8, 2);

		if (lkvfence_begin(f, &b))
			continue;
		g = b.generation;
		drained(f, g, 1);
		switch (i % 4) {
		case 0:
			drained(f, g, 2);
			lkvfence_release(f, g);
			break;
		case 1:
			lkvfence_abort_generation(f, g);
			drained(f, g, 2);
			break;
		case 2:
			abort_with(f, g, 0, 10);
			break;
		}
		if (i % 16 == 0)
			lkvfence_events(f, e, 32, 0);
		/* Which leaves orphans behind. */
		if (i % 64 == 63) {
			lkvfence_close(f);
			f = region(NAME, 0);
			clear(f);
		}
	}
	lkvfence_close(f);
	return NULL;
}

static void *looks(void *arg)
{
	unsigned long *nr = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		line_of("/sys/class/misc/lkvfence/slots_held");
		line_of("/sys/class/misc/lkvfence/regions/" NAME "/begun");
		++*nr;
	}
	return NULL;
}

int main(void)
{
	struct lkvfence *f = region(NAME, 64 * WORKERS);
	unsigned long looked = 0, stats = 0, wrong = 0;
	int64_t end = now_ns() + MSECS * (int64_t)MS;
	pthread_t threads[WORKERS + 1];
	struct lkvfence_stat stat;
	unsigned int i;

	for (i = 0; i < WORKERS; i++)
		need(!pthread_create(&threads[i], NULL, works, (void *)(uintptr_t)i),
		     "a thread");
	need(!pthread_create(&threads[i], NULL, looks, &looked), "a thread");
	while (now_ns() < end) {
		stat = stat_of(f);
		stats++;
		wrong += !adds_up(&stat) || stat.slots_taken != 8 * stat.transfers_alive ||
			 stat.slots_held != 8 * stat.transfers_held ||
			 stat.transfers_held > stat.transfers_alive;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	gives(wrong, 0, "%lu times STAT adds up, in itself and with 8 slots a transfer", stats);
	check(looked > 0, "sysfs was read %lu times meanwhile", looked);
	clear(f);
	stat = stat_of(f);
	check(adds_up(&stat) && !stat.transfers_alive && !stat.slots_taken,
	      "%" PRIu64 " transfers, all released at the end", (uint64_t)stat.begun);
	lkvfence_close(f);
	return done();
}
