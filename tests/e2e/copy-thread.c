// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Another engine as a source: a thread that copies slots away (an offload of the cache
 * to the host) takes a lease for each copy, and gives it back when the copy is done. The
 * scheduler preempts and retracts requests meanwhile, through the same gate, and uses
 * slots again when they are released: no copy ever has another request's data in it. Without
 * the leases it has, which shows that the test can see it.
 */
#include <pthread.h>
#include <sched.h>

#include "e2e.h"

#define SLOTS	8
#define WORDS	4096
#define COPIES	400

static uint64_t cache[SLOTS][WORDS];
static struct lkvfence *scheduler, *worker;
static bool fenced;

/* The request that has a slot, as the worker was told of it. */
static struct request {
	uint64_t generation;
	uint32_t launch;
} requests[SLOTS];
static pthread_mutex_t told = PTHREAD_MUTEX_INITIALIZER;
static unsigned int nr_copied, nr_torn, nr_late, nr_stop;

/* A copy engine is slow, and nobody can call it back. */
static void copy(uint64_t *to, const uint64_t *from)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
		if (i % (WORDS / 16) == 0)
			sched_yield();
	}
}

static bool is_torn(const uint64_t *host, uint64_t generation)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		if (host[i] != generation)
			return true;
	}
	return false;
}

/* One copy, of what the worker believes is in the slot. */
static void offload(unsigned int slot)
{
	static uint64_t host[WORDS];
	struct request r;
	int err = 0;

	pthread_mutex_lock(&told);
	r = requests[slot];
	/* A source has one lease of a generation: each launch is one. */
	requests[slot].launch++;
	pthread_mutex_unlock(&told);
	if (!r.generation)
		return;
	/* What was told may be old by now: that is the point. */
	sched_yield();
	if (fenced)
		err = lkvfence_take(worker, r.generation, r.launch);
	if (err) {
		need(err == -ECANCELED || err == -ESTALE, "TAKE");
		nr_late++;
		return;
	}
	copy(host, cache[slot]);
	nr_copied++;
	nr_torn += is_torn(host, r.generation);
	if (fenced)
		need(!lkvfence_drained(worker, r.generation, r.launch,
				       LKVFENCE_EVIDENCE_SUCCESS_CQE), "RETURN");
}

static unsigned int nr_preempted, nr_retracted, nr_waited, nr_finished;

/* It goes on until there was a copy of each kind. */
static bool seen(void)
{
	if (!fenced)
		return nr_torn;
	return nr_late && __atomic_load_n(&nr_waited, __ATOMIC_ACQUIRE);
}

static void *offloads(void *arg)
{
	int64_t give_up = now_ns() + PATIENCE_MS * (int64_t)MS;
	unsigned int i;

	(void)arg;
	for (i = 0; nr_copied < COPIES || (!seen() && now_ns() < give_up); i++)
		offload(i % SLOTS);
	__atomic_store_n(&nr_stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A new request gets the slot, and fills it: the prefill. */
static void admit(unsigned int slot, uint64_t tag)
{
	struct lkvfence_begin b = want(tag, slot, 1, 0);
	unsigned int i;

	need(!lkvfence_begin(scheduler, &b), "BEGIN");
	for (i = 0; i < WORDS; i++)
		__atomic_store_n(&cache[slot][i], b.generation, __ATOMIC_RELAXED);
	pthread_mutex_lock(&told);
	requests[slot] = (struct request){ b.generation, 1 };
	pthread_mutex_unlock(&told);
}

/* Without the fence: what engines do that know nothing of the copy. */
static void admit_unfenced(unsigned int slot, uint64_t generation)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		__atomic_store_n(&cache[slot][i], generation, __ATOMIC_RELAXED);
	pthread_mutex_lock(&told);
	requests[slot] = (struct request){ generation, 1 };
	pthread_mutex_unlock(&told);
}

/* The end comes from the scheduler, and it doesn't wait for the copy. */
static void preempt(uint64_t generation, uint32_t reason)
{
	struct lkvfence_abort a = { .generation = generation, .reason = reason };

	need(!lkvfence_abort(scheduler, &a) && a.reason_in_force == reason, "ABORT");
}

/* Slots come back by events, or with RELEASE; never in another way. */
static void schedule(void)
{
	uint64_t tag = SLOTS, generation[SLOTS];
	struct lkvfence_event e;
	unsigned int slot, i;

	for (slot = 0; slot < SLOTS; slot++)
		admit(slot, slot);
	for (i = 0; !__atomic_load_n(&nr_stop, __ATOMIC_ACQUIRE); i++) {
		slot = i % SLOTS;
		generation[slot] = requests[slot].generation;
		if (i % 3 == 0 && !lkvfence_release(scheduler, generation[slot])) {
			nr_finished++;
			admit(slot, tag++);
			continue;
		}
		preempt(generation[slot], i % 2 ? LKVFENCE_REASON_PREEMPTED :
						  LKVFENCE_REASON_ABORTED);
		nr_preempted += i % 2;
		nr_retracted += !(i % 2);
		/* Held for the copy, or released at once: the event says when. */
		do {
			e = event(scheduler);
			need(e.generation == generation[slot], "an event");
		} while (e.type != LKVFENCE_EVENT_RELEASED);
		need(e.outcome == LKVFENCE_OUTCOME_DRAINED && !e.flags, "a release with proof");
		if (e.held_ns)
			__atomic_add_fetch(&nr_waited, 1, __ATOMIC_RELEASE);
		admit(slot, tag++);
	}
	for (slot = 0; slot < SLOTS; slot++)
		need(!lkvfence_release(scheduler, requests[slot].generation), "RELEASE");
}

static void schedule_unfenced(void)
{
	uint64_t next = 1;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&nr_stop, __ATOMIC_ACQUIRE); i++) {
		admit_unfenced(i % SLOTS, next++);
		sched_yield();
	}
}

static void run(bool fence)
{
	pthread_t thread;
	unsigned int i;

	fenced = fence;
	nr_copied = nr_torn = nr_late = nr_stop = 0;
	for (i = 0; i < SLOTS; i++)
		requests[i].generation = 0;
	need(!pthread_create(&thread, NULL, offloads, NULL), "a thread");
	if (fence)
		schedule();
	else
		schedule_unfenced();
	pthread_join(thread, NULL);
}

int main(void)
{
	struct lkvfence_stat stat;

	scheduler = region("copy-thread", SLOTS);
	worker = region("copy-thread", 0);
	run(false);
	check(nr_torn, "without the fence %u of %u copies have another request's data", nr_torn,
	      nr_copied);
	run(true);
	gives(nr_torn, 0, "with it none of %u", nr_copied);
	check(nr_preempted && nr_retracted, "%u requests were preempted, %u retracted, %u finished",
	      nr_preempted, nr_retracted, nr_finished);
	check(nr_waited, "%u of them waited for a copy", nr_waited);
	check(nr_late, "%u copies came too late, and were not begun", nr_late);
	stat = stat_of(scheduler);
	check(!stat.slots_taken && stat.returns_drained == nr_copied &&
	      !stat.released[LKVFENCE_OUTCOME_TIMEOUT] && adds_up(&stat),
	      "all slots came back, with proof");
	lkvfence_close(worker);
	lkvfence_close(scheduler);
	return done();
}
