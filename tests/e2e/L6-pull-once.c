// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L6: each pull is answered exactly once, while threads on several handles offer, make
 * ready, abort, drop, release and withdraw at the same time; who is granted has the slots
 * for as long as his lease is out, and they are free when nobody reads them any more.
 */
#include <pthread.h>

#include "pull.h"

#define NAME		"L6-pull-once"
#define ROUNDS		64
#define TAGS		8
#define CONSUMERS	3

/* By tag: what consumers see in the slot, and what the producer put there. */
static uint64_t memory[TAGS];
static struct lkvfence *producer, *consumers[CONSUMERS];
static uint64_t generations[TAGS];
static unsigned int nr_granted, nr_refused, nr_wrong, nr_withdrawn;
static pthread_barrier_t barrier;

#define COUNT(n, by)	__atomic_add_fetch(&(n), by, __ATOMIC_RELAXED)

static uint64_t now_in(unsigned int tag)
{
	return __atomic_load_n(&memory[tag], __ATOMIC_ACQUIRE);
}

/* Reads what it was granted, for some time: it must not change meanwhile. */
static void read_slot(struct lkvfence *f, const struct lkvfence_event *e, uint32_t source)
{
	unsigned int i;

	for (i = 0; i < 50; i++) {
		COUNT(nr_wrong, now_in(e->tag) != e->generation);
		if (i % 10 == 0)
			sched_yield();
	}
	COUNT(nr_wrong, drained(f, e->generation, source) != 0);
}

static void *consume(void *arg)
{
	unsigned int me = (uintptr_t)arg, round, tag, asked;
	struct lkvfence *f = consumers[me];
	struct lkvfence_event e;

	for (round = 0; round < ROUNDS; round++) {
		uint64_t tickets[TAGS];

		pthread_barrier_wait(&barrier);
		for (tag = 0; tag < TAGS; tag++)
			tickets[tag] = pull(f, tag, 100 + me);
		tag = (round + me) % TAGS;
		if (round % 3 == me && !lkvfence_withdraw(f, tickets[tag]))
			COUNT(nr_withdrawn, 1);
		for (asked = TAGS; asked; asked--) {
			e = event(f);
			if (e.tag >= TAGS || e.ticket != tickets[e.tag]) {
				COUNT(nr_wrong, 1);
				continue;
			}
			tickets[e.tag] = 0;
			if (e.type == LKVFENCE_EVENT_REFUSED) {
				COUNT(nr_refused, 1);
				continue;
			}
			COUNT(nr_granted, 1);
			read_slot(f, &e, 100 + me);
		}
		COUNT(nr_wrong, !silent(f));
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Ends them in one way or another, from the last one on. */
static void *enders(void *arg)
{
	struct lkvfence *f = region(NAME, 0);
	unsigned int round, i;

	(void)arg;
	for (round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		if (round % 16 == 15)
			lkvfence_abort_all(f, LKVFENCE_REASON_SHUTDOWN);
		for (i = TAGS; i-- && round % 4 != 3;) {
			uint64_t g = __atomic_load_n(&generations[i], __ATOMIC_ACQUIRE);

			if ((round + i) % 5 == 0)
				lkvfence_abort_early(f, i, 0);
			else if (g && (round + i) % 5 == 1)
				lkvfence_drop(f, g);
			else if (g && (round + i) % 5 == 2)
				lkvfence_release(f, g);
		}
		pthread_barrier_wait(&barrier);
	}
	lkvfence_close(f);
	return NULL;
}

/*
 * The producer writes to a slot only when the fence gives it: a grant of a slot that is
 * written to anew would be seen by read_slot().
 */
static void produce(unsigned int tag, unsigned int round)
{
	struct lkvfence_begin b = want(tag, tag, 1, 0);
	int err = lkvfence_offer(producer, &b);

	if (err) {
		COUNT(nr_wrong, err != -ECANCELED);
		return;
	}
	__atomic_store_n(&memory[tag], b.generation, __ATOMIC_RELEASE);
	__atomic_store_n(&generations[tag], b.generation, __ATOMIC_RELEASE);
	if ((round + tag) % 7 == 6) {
		lkvfence_abort_generation(producer, b.generation);
		return;
	}
	err = ready(producer, b.generation, 0, round % 2 ? CONSUMERS : 0);
	COUNT(nr_wrong, err && err != -ECANCELED && err != -ESTALE);
}

static void main_round(unsigned int round)
{
	unsigned int tag;

	for (tag = 0; tag < TAGS; tag++)
		generations[tag] = 0;
	pthread_barrier_wait(&barrier);
	for (tag = 0; tag < TAGS; tag++)
		produce(tag, round);
	/* What nobody has ended; and who pulls later than that waits for none. */
	do {
		usleep(1000);
		lkvfence_abort_all(producer, LKVFENCE_REASON_ABORTED);
	} while (stat_of(producer).pulls < (round + 1) * TAGS * CONSUMERS ||
		 stat_of(producer).tickets);
	pthread_barrier_wait(&barrier);
}

int main(void)
{
	pthread_t threads[CONSUMERS + 1];
	struct lkvfence_stat stat;
	unsigned int i, round;

	/* A tag that was aborted early isn't for long. */
	set_param("tombstone_ms", 1);
	producer = region(NAME, 64);
	for (i = 0; i < CONSUMERS; i++)
		consumers[i] = region(NAME, 0);
	pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(threads) + 1);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		need(!pthread_create(&threads[i], NULL, i < CONSUMERS ? consume : enders,
				     (void *)(uintptr_t)i), "a thread");
	for (round = 0; round < ROUNDS; round++) {
		main_round(round);
		if (stat_of(producer).transfers_alive)
			nr_wrong++;
		clear(producer);
		pass_over(producer);
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);

	stat = stat_of(producer);
	gives(nr_wrong, 0, "each pull is answered once, and no slot changes under who reads it");
	gives(nr_granted + nr_refused, ROUNDS * TAGS * CONSUMERS, "%u granted, %u refused (%u withdrawn)",
	      nr_granted, nr_refused, nr_withdrawn);
	check(stat.pulls_granted == nr_granted && stat.pulls_refused == nr_refused &&
	      adds_up(&stat), "STAT tells the same");
	check(nr_granted > ROUNDS && nr_refused > ROUNDS, "there were both");
	check(!stat.slots_taken && !stat.tickets, "all slots came back");
	for (i = 0; i < CONSUMERS; i++)
		lkvfence_close(consumers[i]);
	lkvfence_close(producer);
	return done();
}
