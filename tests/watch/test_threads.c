// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A release that comes while another thread is still reading the slots, and
 * many threads on one watcher. Built with the thread sanitizer where there is
 * one: slots belong to the test as soon as their event has been through the
 * watcher, so it tells of every byte that the watcher touches later.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "watch/watch.h"

static struct lkvfence_watch *w;
static struct lkvfence_event event;
static pthread_t thread;
static atomic_int changed;
static int stop_at;

static void *read_event(void *arg)
{
	(void)arg;
	fake_release(5);
	atomic_store(&changed, lkvfence_watch_event(w, &event));
	return NULL;
}

static void *stop_watch(void *arg)
{
	(void)arg;
	atomic_store(&changed, lkvfence_watch_stop(w, 5));
	return NULL;
}

static void *(*end_by)(void *arg);

/* In the middle of a slot: the other thread comes, and has to wait for it */
static void end_in_between(int nth)
{
	struct watched *e;

	if (nth != stop_at)
		return;
	e = watch__get(w, 5, false);
	assert_non_null(e);
	assert_int_equal(pthread_create(&thread, NULL, end_by, NULL), 0);
	while (!atomic_load(&e->over))
		sched_yield();
	watch__put(w, e);
	assert_int_equal(atomic_load(&changed), -1);
}

static void start_and_end(uint32_t flags, uint32_t event_flags)
{
	w = fake_watch(flags);
	fake_held(5, 10, 6);
	event = fake_event(5, LKVFENCE_EVENT_RELEASED, event_flags);
	atomic_store(&changed, -1);
	/* two pools: the first half of the third slot */
	stop_at = 5;
	fake.on_crc = end_in_between;
	assert_int_equal(lkvfence_watch_start(w, 5), 3);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_release_cuts_short(void **state)
{
	(void)state;
	end_by = read_event;
	start_and_end(0, 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(event.flags, 0);
	/* three slots were read, and looked at again */
	assert_int_equal(fake.crcs, 12);
	assert_int_equal(stat_of(w).started, 1);
	assert_int_equal(stat_of(w).cut_short, 1);
	assert_int_equal(stat_of(w).released, 1);
	assert_int_equal(stat_of(w).watched, 0);
	lkvfence_watch_close(w);
}

/* In the soak all of them count */
static void test_release_cuts_short_and_soaks(void **state)
{
	(void)state;
	end_by = read_event;
	start_and_end(LKVFENCE_WATCH_SOAK, LKVFENCE_EVENT_TAINTED);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(fake.crcs, 6 + 12);
	fake_write_k(15, 0);
	fake_write_k(10, 0);
	assert_int_equal(lkvfence_watch_soak(w, 5), 2);
	lkvfence_watch_close(w);
}

static void test_stop_cuts_short(void **state)
{
	(void)state;
	end_by = stop_watch;
	start_and_end(0, 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(fake.crcs, 6);
	assert_int_equal(stat_of(w).watched, 0);
	lkvfence_watch_close(w);
}

/* A look that is under way gives way, too, and says that it is over */
static void test_look_gives_way(void **state)
{
	(void)state;
	end_by = stop_watch;
	w = fake_watch(0);
	fake_held(5, 10, 6);
	assert_int_equal(lkvfence_watch_start(w, 5), 6);
	fake_write_k(10, 0);
	atomic_store(&changed, -1);
	fake.on_crc = end_in_between;
	fake.crcs = 0;
	stop_at = 5;
	assert_int_equal(lkvfence_watch_look(w, 5), -ENOENT);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(fake.crcs, 6);
	assert_int_equal(fake.nr_reports, 0);
	lkvfence_watch_close(w);
}

/* Released and read between the watch's first steps: the module's answer decides */
static void release_and_read(struct lkvfence_query *query, int nth)
{
	struct watched *e;

	if (nth != 1)
		return;
	e = watch__get(w, query->generation, false);
	assert_non_null(e);
	assert_int_equal(pthread_create(&thread, NULL, read_event, NULL), 0);
	while (!atomic_load(&e->over))
		sched_yield();
	watch__put(w, e);
}

static void test_release_before_the_question(void **state)
{
	struct fake before = fake;

	(void)state;
	w = fake_watch(LKVFENCE_WATCH_PATTERN | LKVFENCE_WATCH_SOAK);
	fake_held(5, 10, 6);
	event = fake_event(5, LKVFENCE_EVENT_RELEASED, LKVFENCE_EVENT_TAINTED);
	fake.on_query = release_and_read;
	assert_int_equal(lkvfence_watch_start(w, 5), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_memory_equal(fake.k, before.k, sizeof(fake.k));
	assert_int_equal(stat_of(w).started, 0);
	assert_int_equal(stat_of(w).released, 0);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).soaking, 0);
	lkvfence_watch_close(w);
}

/* Stopped, and released, before it has begun: it is taken out once */
static void stop_meanwhile(void)
{
	struct watched *e;

	assert_int_equal(pthread_create(&thread, NULL, stop_watch, NULL), 0);
	while ((e = watch__get(w, 5, false))) {
		watch__put(w, e);
		sched_yield();
	}
}

static void stop_and_release(struct lkvfence_query *query, int nth)
{
	if (nth != 1)
		return;
	stop_meanwhile();
	fake_release(query->generation);
}

static void test_stop_before_the_question(void **state)
{
	(void)state;
	w = fake_watch(0);
	fake_held(5, 10, 6);
	fake.on_query = stop_and_release;
	assert_int_equal(lkvfence_watch_start(w, 5), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).started, 0);
	lkvfence_watch_close(w);
}

/* Stopped in the middle of the last look: then it doesn't soak */
static void stop_in_between(int nth)
{
	if (nth == stop_at)
		stop_meanwhile();
}

static void test_stop_while_released(void **state)
{
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_RELEASED, LKVFENCE_EVENT_TAINTED);

	(void)state;
	w = fake_watch(LKVFENCE_WATCH_SOAK);
	fake_held(5, 10, 6);
	assert_int_equal(lkvfence_watch_start(w, 5), 6);
	fake_write_k(10, 0);
	fake.crcs = 0;
	fake.on_crc = stop_in_between;
	stop_at = 4;
	assert_int_equal(lkvfence_watch_event(w, &e), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).soaking, 0);
	lkvfence_watch_close(w);
}

/* The same event twice at once, by mistake: one of them counts */
static void release_again(int nth)
{
	bool waiting = false;
	struct watched *e;

	if (nth != stop_at)
		return;
	assert_int_equal(pthread_create(&thread, NULL, read_event, NULL), 0);
	/* the tree's reference, this thread's two, and the other's */
	while (!waiting) {
		e = watch__get(w, 5, false);
		pthread_mutex_lock(&w->lock);
		waiting = e->refs == 4;
		pthread_mutex_unlock(&w->lock);
		watch__put(w, e);
		sched_yield();
	}
}

static void test_released_twice_at_once(void **state)
{
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_RELEASED, LKVFENCE_EVENT_TAINTED);

	(void)state;
	w = fake_watch(LKVFENCE_WATCH_SOAK);
	fake_held(5, 10, 6);
	event = e;
	assert_int_equal(lkvfence_watch_start(w, 5), 6);
	fake_write_k(10, 0);
	fake.crcs = 0;
	fake.on_crc = release_again;
	stop_at = 4;
	assert_int_equal(lkvfence_watch_event(w, &e), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&changed), 0);
	assert_int_equal(stat_of(w).released, 1);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).soaking, 1);
	lkvfence_watch_close(w);
}

/*
 * Eight players, each with slots that are held and released over and over. One
 * of their threads begins to watch while the other one reads the release, and
 * uses the slots as soon as that is through the watcher.
 */
#define ROUNDS	300

struct player {
	struct fake_transfer *t;
	uint64_t first_generation;
	pthread_barrier_t round;
	int wrong;		/* of the reader */
	int failed;		/* of the starter */
	int started;
};

static struct player players[NR_TRANSFERS];

static void *starter(void *arg)
{
	struct player *p = arg;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&p->round);
		if (i % 4 == 1)
			sched_yield();
		ret = lkvfence_watch_start(w, p->first_generation + i);
		if (ret < 0)
			p->failed = ret;
		p->started += ret > 0;
		lkvfence_watch_look(w, p->first_generation + i);
		pthread_barrier_wait(&p->round);
	}
	return NULL;
}

static void *user(void *arg)
{
	struct player *p = arg;
	uint32_t first = p->t->ranges[0].first, slot;
	struct lkvfence_event e;
	uint64_t generation;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		generation = p->first_generation + i;
		fake_hold_again(p->t, generation);
		pthread_barrier_wait(&p->round);
		if (i % 3)
			sched_yield();
		fake_release(generation);
		e = fake_event(generation, LKVFENCE_EVENT_RELEASED,
			       i % 2 ? LKVFENCE_EVENT_TAINTED : 0);
		if (lkvfence_watch_event(w, &e))
			p->wrong++;
		if (lkvfence_watch_soaking(w, generation) &&
		    lkvfence_watch_soak(w, generation))
			p->wrong++;
		/* they are another's now */
		for (slot = first; slot < first + 4; slot++) {
			fake_write_k(slot, 0);
			fake_write_v(slot, V_BYTES - 1);
		}
		pthread_barrier_wait(&p->round);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	pthread_t starters[NR_TRANSFERS], users[NR_TRANSFERS];
	int i, started = 0;

	w = fake_watch(*(uint32_t *)*state | LKVFENCE_WATCH_SOAK);
	for (i = 0; i < NR_TRANSFERS; i++) {
		players[i] = (struct player){ .first_generation = 1 + i * ROUNDS };
		players[i].t = fake_held(1 + i * ROUNDS, i * 8, 4);
		pthread_barrier_init(&players[i].round, NULL, 2);
	}
	for (i = 0; i < NR_TRANSFERS; i++) {
		assert_int_equal(pthread_create(&starters[i], NULL, starter, &players[i]), 0);
		assert_int_equal(pthread_create(&users[i], NULL, user, &players[i]), 0);
	}
	for (i = 0; i < NR_TRANSFERS; i++) {
		assert_int_equal(pthread_join(starters[i], NULL), 0);
		assert_int_equal(pthread_join(users[i], NULL), 0);
		assert_int_equal(players[i].failed, 0);
		assert_int_equal(players[i].wrong, 0);
		started += players[i].started;
		pthread_barrier_destroy(&players[i].round);
	}
	/* that it was put to the test */
	assert_true(started > 0);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).soaking, 0);
	assert_int_equal(stat_of(w).strays, 0);
	assert_int_equal(fake.nr_reports, 0);
	lkvfence_watch_close(w);
}

static uint32_t checksums, pattern = LKVFENCE_WATCH_PATTERN;

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_release_cuts_short),
		FAKE_TEST(test_release_cuts_short_and_soaks),
		FAKE_TEST(test_stop_cuts_short),
		FAKE_TEST(test_look_gives_way),
		FAKE_TEST(test_release_before_the_question),
		FAKE_TEST(test_stop_before_the_question),
		FAKE_TEST(test_stop_while_released),
		FAKE_TEST(test_released_twice_at_once),
		{ "test_many_threads: checksums", test_many_threads, fake_setup, fake_teardown,
		  &checksums },
		{ "test_many_threads: pattern", test_many_threads, fake_setup, fake_teardown,
		  &pattern },
	};

	return cmocka_run_group_tests_name("watch: threads", tests, NULL, NULL);
}
