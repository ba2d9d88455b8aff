// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The watcher with the real module, and late writes that are real: RDMA over
 * Soft-RoCE into slots that this processor doesn't touch. Run in a VM, like the
 * tests in tests/e2e.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "e2e.h"
#include "watch/lkvfence-watch.h"
#include "wire.h"

#define NR_SLOTS	64
#define SLOT		8192
#define POOL		((size_t)NR_SLOTS * SLOT)

static unsigned char *pool;	/* the receiver's */
static unsigned char *far;	/* the sender's, laid out alike */
static struct wire wire;
static struct lkvfence *f;

static void write_slot(uint32_t slot, unsigned char with)
{
	memset(far + slot * SLOT, with, SLOT);
	wire_write(&wire, far + slot * SLOT, pool + slot * SLOT, SLOT);
}

static struct lkvfence_watch *watch(uint32_t flags)
{
	struct lkvfence_watch_pool p = { pool, SLOT, SLOT };
	struct lkvfence_watch *w;
	int err = lkvfence_watch_open(&w, f, &p, 1, NR_SLOTS, flags);

	need(!err, "a watcher: %s", lkvfence_watch_errmsg());
	return w;
}

static struct lkvfence_event watched_event(struct lkvfence_watch *w)
{
	struct lkvfence_event e = { 0 };
	int n = lkvfence_watch_events(w, &e, 1, PATIENCE_MS);

	need(n >= 0, "an event: %s", lkvfence_watch_errmsg());
	return e;
}

/* A transfer of slots 8 to 15 that has ended, and is watched */
static uint64_t aborted(struct lkvfence_watch *w, uint32_t policy)
{
	uint64_t generation = begin(f, 1, 8, 8, 1);

	write_slot(8, 0x11);
	need(!abort_with(f, generation, policy, policy ? 10 : 0), "ABORT");
	gives(lkvfence_watch_start(w, generation), 8, "its slots are watched");
	return generation;
}

/*
 * The same, and released without proof; the event comes with it. The deadline
 * may be there before the watch: then once more, with a later one.
 */
static struct lkvfence_event timed_out(struct lkvfence_watch *w)
{
	struct lkvfence_event e = { 0 };
	unsigned int timeout_ms;
	uint64_t generation;
	int ret = 0;

	for (timeout_ms = 20; timeout_ms < PATIENCE_MS; timeout_ms *= 2) {
		generation = begin(f, 1, 8, 8, 1);
		need(!abort_with(f, generation, LKVFENCE_POLICY_TAINT, timeout_ms), "ABORT");
		ret = lkvfence_watch_start(w, generation);
		need(ret >= 0, "a watch: %s", lkvfence_watch_errmsg());
		e = watched_event(w);
		need(e.type == LKVFENCE_EVENT_RELEASED && e.generation == generation, "a release");
		if (ret)
			break;
	}
	gives(ret, 8, "its slots are watched up to the deadline");
	check(e.outcome == LKVFENCE_OUTCOME_TIMEOUT && e.flags == LKVFENCE_EVENT_TAINTED,
	      "and are released without proof");
	return e;
}

static void catches(uint32_t mode, const char *name)
{
	struct lkvfence_watch *w = watch(mode);
	struct lkvfence_stat before = stat_of(f);
	struct lkvfence_event e;
	uint64_t generation;

	note("%s", name);
	generation = aborted(w, 0);
	drained(f, generation, 1);
	e = watched_event(w);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == generation && !e.flags,
	      "nothing came late, and nothing is said");
	gives(stat_of(f).strays - before.strays, 0, "nor counted");

	generation = aborted(w, 0);
	write_slot(9, 0x22);
	write_slot(15, 0x33);
	gives(lkvfence_watch_look(w, generation), 2, "two late writes are seen");
	drained(f, generation, 1);
	e = watched_event(w);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == generation &&
	      e.flags == LKVFENCE_EVENT_STRAY, "and said in the event");
	gives(stat_of(f).strays - before.strays, 1, "the module counts the transfer");

	/* a retry of what had arrived already */
	generation = aborted(w, 0);
	wire_write(&wire, far + 8 * SLOT, pool + 8 * SLOT, SLOT);
	drained(f, generation, 1);
	e = watched_event(w);
	gives(e.flags & LKVFENCE_EVENT_STRAY, mode ? LKVFENCE_EVENT_STRAY : 0,
	      "a write of the same bytes: only the pattern sees it");
	lkvfence_watch_close(w);
}

static void not_held(void)
{
	struct lkvfence_watch *w = watch(0);
	struct lkvfence_abort a = { .generation = begin(f, 1, 8, 8, 1) };
	struct lkvfence_event e;

	gives(lkvfence_watch_start(w, a.generation), -EBUSY, "a transfer that has not ended");
	drained(f, a.generation, 1);
	gives(lkvfence_abort(f, &a), 0, "ABORT, with nothing to wait for");
	check(a.state == LKVFENCE_STATE_RELEASED, "is a release");
	gives(lkvfence_watch_start(w, a.generation), 0, "so there is nothing to watch");
	e = watched_event(w);
	check(e.generation == a.generation && !e.flags, "its event is as it was");
	gives(lkvfence_watch_start(w, a.generation + 1000), -ENOENT, "one that never was");
	lkvfence_watch_close(w);
}

static void ended_by_others(void)
{
	struct lkvfence *other = region("watch", 0);
	struct lkvfence_watch *w = watch(LKVFENCE_WATCH_ENDED);
	uint64_t generation = begin(f, 1, 8, 8, 1);
	struct lkvfence_watch_stat stat;

	need(!lkvfence_abort_generation(other, generation), "ABORT by another handle");
	gives(watched_event(w).type, LKVFENCE_EVENT_ENDED, "another handle ended it");
	lkvfence_watch_stat(w, &stat);
	gives(stat.watched, 1, "that starts a watch");
	write_slot(10, 0x44);
	drained(other, generation, 1);
	check(watched_event(w).flags == LKVFENCE_EVENT_STRAY, "which sees a late write");
	lkvfence_watch_close(w);
	lkvfence_close(other);
}

static void soaks(uint32_t mode, const char *name)
{
	struct lkvfence_watch *w = watch(mode | LKVFENCE_WATCH_SOAK);
	struct lkvfence_stat before = stat_of(f);
	struct lkvfence_event e;
	uint64_t generation;

	note("%s", name);
	e = timed_out(w);
	gives(lkvfence_watch_soaking(w, e.generation), 1, "the slots soak");
	write_slot(11, 0x55);
	gives(lkvfence_watch_soak(w, e.generation), 1, "a write after the release is seen");
	gives(stat_of(f).strays_late - before.strays_late, 1, "and counted");
	gives(stat_of(f).strays - before.strays, 0, "but not as one that was caught");

	e = timed_out(w);
	gives(lkvfence_watch_soak(w, e.generation), 0, "nothing comes after this one");

	generation = aborted(w, LKVFENCE_POLICY_QUARANTINE);
	write_slot(12, 0x66);
	e = watched_event(w);
	check(e.type == LKVFENCE_EVENT_QUARANTINED && e.flags == LKVFENCE_EVENT_STRAY,
	      "quarantine: the event says that a write came late");
	gives(stat_of(f).strays - before.strays, 1, "it is counted then");
	drained(f, generation, 1);
	e = watched_event(w);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.flags == LKVFENCE_EVENT_STRAY,
	      "proof comes after all");
	gives(stat_of(f).strays - before.strays, 1, "it is not counted again");
	gives(lkvfence_watch_soaking(w, generation), 1, "the slots soak all the same");
	generation = begin(f, 2, 12, 1, 0);
	write_slot(12, 0x77);
	gives(lkvfence_watch_soak(w, e.generation), -EBUSY, "slots that weren't kept out");
	need(!lkvfence_release(f, generation), "RELEASE");
	gives(stat_of(f).strays_late - before.strays_late, 1, "are not counted");
	lkvfence_watch_close(w);
}

static void payload(void)
{
	static const struct lkvfence_range there[] = { { 30, 2 }, { 3, 1 } };
	static const struct lkvfence_range here[] = { { 8, 1 }, { 20, 2 } };
	struct lkvfence_watch_pool p = { far, SLOT, SLOT };
	struct lkvfence_watch *w = watch(0), *sender;
	struct lkvfence_stat before = stat_of(f);
	uint64_t generation, sum;
	size_t i;

	need(!lkvfence_watch_open(&sender, NULL, &p, 1, NR_SLOTS, 0), "the sender's watcher");
	for (i = 0; i < POOL; i++)
		far[i] = (unsigned char)(i * 2654435761u >> 9);
	need(!lkvfence_watch_sum(sender, there, 2, 2 * SLOT + 100, &sum), "a sum");
	generation = begin(f, 1, 8, 32, 1);
	wire_write(&wire, far + 30 * SLOT, pool + 8 * SLOT, SLOT);
	wire_write(&wire, far + 31 * SLOT, pool + 20 * SLOT, SLOT);
	gives(lkvfence_watch_verify(w, generation, here, 2, 2 * SLOT + 100, sum), -EBADMSG,
	      "a chunk is missing");
	gives(stat_of(f).mismatches - before.mismatches, 1, "and counted");
	wire_write(&wire, far + 3 * SLOT, pool + 21 * SLOT, 100);
	gives(lkvfence_watch_verify(w, generation, here, 2, 2 * SLOT + 100, sum), 0,
	      "all that was sent is there");
	gives(stat_of(f).mismatches - before.mismatches, 1, "nothing to count");
	drained(f, generation, 1);
	need(!lkvfence_release(f, generation), "RELEASE");
	lkvfence_watch_close(sender);
	lkvfence_watch_close(w);
}

/*
 * Releases that race with the start of the watch: one thread aborts and starts
 * to watch, another returns the lease, and a third reads the event and uses the
 * slots at once. No write is late, so none may be seen, and nothing of the
 * watcher's may be in the slots.
 */
#define ROUNDS	200

static struct lkvfence_watch *racing;
static uint64_t race_generation;
static atomic_bool race_started;
static pthread_barrier_t race_round;

static void *returns_lease(void *arg)
{
	struct lkvfence_watch_stat stat;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&race_round);
		/* at once; it may be before the abort. Or in the middle of the start. */
		do {
			lkvfence_watch_stat(racing, &stat);
		} while (i % 2 && !stat.watched && !atomic_load(&race_started));
		drained(f, race_generation, 1);
		pthread_barrier_wait(&race_round);
	}
	return NULL;
}

static void *uses_slots(void *arg)
{
	static struct lkvfence_event e;
	uint64_t generation;
	long wrong = 0;
	int i, k;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&race_round);
		do {
			e = watched_event(racing);
		} while (e.type != LKVFENCE_EVENT_RELEASED);
		wrong += e.flags != 0;
		generation = begin(f, 2, 8, 8, 0);
		memset(pool + 8 * SLOT, i, 8 * SLOT);
		for (k = 0; k < 20; k++)
			sched_yield();
		for (k = 0; k < 8 * SLOT; k++)
			wrong += pool[8 * SLOT + k] != (unsigned char)i;
		need(!lkvfence_release(f, generation), "RELEASE");
		pthread_barrier_wait(&race_round);
	}
	return (void *)wrong;
}

static void races(uint32_t mode, const char *name)
{
	struct lkvfence_stat before = stat_of(f);
	struct lkvfence_watch_stat stat;
	pthread_t returner, user;
	int i, ret, failed = 0;
	void *wrong;

	racing = watch(mode);
	pthread_barrier_init(&race_round, NULL, 3);
	need(!pthread_create(&returner, NULL, returns_lease, NULL) &&
	     !pthread_create(&user, NULL, uses_slots, NULL), "threads");
	for (i = 0; i < ROUNDS; i++) {
		race_generation = begin(f, 1, 8, 8, 1);
		atomic_store(&race_started, false);
		pthread_barrier_wait(&race_round);
		need(!lkvfence_abort_generation(f, race_generation), "ABORT");
		ret = lkvfence_watch_start(racing, race_generation);
		failed += ret < 0;
		atomic_store(&race_started, true);
		pthread_barrier_wait(&race_round);
	}
	need(!pthread_join(returner, NULL) && !pthread_join(user, &wrong), "their ends");
	lkvfence_watch_stat(racing, &stat);
	note("%s: of %d, %" PRIu64 " were watched, %" PRIu64 " of these not to the end", name,
	     ROUNDS, stat.started, stat.cut_short);
	gives(failed, 0, "%s: each watch starts, or there is nothing to watch", name);
	gives((long)wrong, 0, "%s: slots that are used again are left alone", name);
	check(!stat.strays && stat_of(f).strays == before.strays, "%s: no write was late", name);
	check(!stat.watched, "%s: no watch is left", name);
	pthread_barrier_destroy(&race_round);
	lkvfence_watch_close(racing);
}

int main(void)
{
	pool = mmap(NULL, 2 * POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(pool != MAP_FAILED, "memory");
	far = pool + POOL;
	wire_open(&wire, pool, 2 * POOL);
	f = region("watch", NR_SLOTS);

	catches(0, "checksums");
	catches(LKVFENCE_WATCH_PATTERN, "pattern");
	not_held();
	ended_by_others();
	soaks(0, "soak: checksums");
	soaks(LKVFENCE_WATCH_PATTERN, "soak: pattern");
	payload();
	races(0, "race: checksums");
	races(LKVFENCE_WATCH_PATTERN, "race: pattern");
	gives(stat_of(f).transfers_alive, 0, "nothing is left");

	lkvfence_close(f);
	wire_close(&wire);
	return done();
}
