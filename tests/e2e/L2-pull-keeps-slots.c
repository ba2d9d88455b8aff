// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L2: what a pull was granted stays as it is until its lease is proven quiet, whatever
 * becomes of the transfer, of its producer and of who pulls. The time to live ends
 * nothing but the transfer.
 */
#include <signal.h>

#include "pull.h"

#define NAME	"L2-pull-keeps-slots"

static struct lkvfence *producer, *consumer;

static void by_abort(uint64_t g)
{
	need(!lkvfence_abort_generation(producer, g), "ABORT");
}

static void by_drop(uint64_t g)
{
	need(!lkvfence_drop(consumer, g), "ABORT");
}

static void by_all(uint64_t g)
{
	(void)g;
	need(!lkvfence_abort_all(consumer, LKVFENCE_REASON_SHUTDOWN), "ABORT");
}

static void by_expiry(uint64_t g)
{
	(void)g;
	need(until(stat_of(consumer).transfers_held), "expiry");
}

static void by_close(uint64_t g)
{
	(void)g;
	lkvfence_close(producer);
	producer = region(NAME, 0);
}

static const struct {
	const char *what;
	void (*end)(uint64_t g);
	unsigned int ttl_ms;
	uint32_t reason;
} ends[] = {
	{ "ABORT", by_abort, 0, LKVFENCE_REASON_ABORTED },
	{ "ABORT by the consumer", by_drop, 0, LKVFENCE_REASON_DROPPED },
	{ "ABORT of all", by_all, 0, LKVFENCE_REASON_SHUTDOWN },
	{ "expiry", by_expiry, 20, LKVFENCE_REASON_EXPIRED },
	{ "close of the producer", by_close, 0, LKVFENCE_REASON_ORPHANED },
};

/* Nobody can have slots 8 to 11. */
static bool kept(uint64_t g)
{
	struct lkvfence_begin b = want(99, 11, 1, 0);
	int err = lkvfence_begin(producer, &b);

	if (!err)
		lkvfence_release(producer, b.generation);
	return err == -EBUSY && b.busy_generation == g && b.busy_slot == 11;
}

static void keeps(unsigned int i)
{
	const char *what = ends[i].what;
	uint64_t g = offer(producer, 1, 8, 4, 0), ticket;
	struct lkvfence_query q;

	/* It waits, so that it is granted however short the time to live is. */
	ticket = pull_exact(consumer, g, 0, 100);
	need(!ready(producer, g, ends[i].ttl_ms, 0), "READY");
	need(granted(consumer, ticket, g), "a grant");
	gives(lkvfence_release(producer, g), -EBUSY, "%s: RELEASE is refused", what);
	ends[i].end(g);
	q = query(consumer, g);
	check(q.state == LKVFENCE_STATE_ENDED && q.reason == ends[i].reason &&
	      q.leases_out == 1 && kept(g), "%s: the slots are held", what);
	gives(lkvfence_failed(consumer, g, 100), 0, "%s: a failed read proves nothing", what);
	check(kept(g), "%s: the slots are held", what);
	gives(revoked(consumer, g, 100), 0, "%s: proof", what);
	check(!kept(g), "%s: the slots are free", what);
	clear(consumer);
}

static int engine(int out)
{
	uint64_t g;

	producer = region(NAME, 0);
	g = offer(producer, 2, 8, 4, 0);
	need(!ready(producer, g, 0, 1), "READY");
	if (write(out, &g, sizeof(g)) != sizeof(g))
		return 1;
	for (;;)
		pause();
}

/* kill -9 of the producer: who reads its memory reads on. */
static void killed(void)
{
	uint64_t g, early, late;
	int fds[2];
	pid_t pid;

	need(!pipe(fds), "pipe");
	early = pull(consumer, 2, 100);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(engine(fds[1]));
	need(read(fds[0], &g, sizeof(g)) == sizeof(g), "an engine");
	check(granted(consumer, early, g), "the engine's data is pulled");
	kill(pid, SIGKILL);
	gives(status_of(pid), 128 + SIGKILL, "the engine is killed");
	check(kept(g), "its slots are held");
	late = pull(consumer, 2, 101);
	check(refused(consumer, late, LKVFENCE_REASON_ORPHANED), "nobody else gets them");
	gives(drained(consumer, g, 100), 0, "the read is over");
	check(!kept(g) && !stat_of(consumer).transfers_alive, "and they are free");
}

int main(void)
{
	unsigned int i;

	producer = region(NAME, 64);
	consumer = region(NAME, 0);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		keeps(i);
		pass_over(producer);
	}
	killed();
	lkvfence_close(consumer);
	lkvfence_close(producer);
	return done();
}
