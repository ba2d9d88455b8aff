// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L6: each pull is answered once, by whatever ends its transfer, and the answer is
 * there when the call that caused it returns; so is that to a pull which comes later,
 * for a tombstone knows the true reason. Nothing waits for a timer: pulls here could
 * wait for an hour.
 */
#include "pull.h"

#define NAME	"L6-pull-answers"
#define TAG	7

static struct lkvfence *producer, *other, *consumer;
/* The last generation of TAG. */
static uint64_t last;

/* Not @after, nor one before it. */
static uint64_t pull_after(struct lkvfence *f, uint64_t after, uint32_t source)
{
	struct lkvfence_pull p = a_pull(TAG, source);

	p.generation = after;
	need(!lkvfence_pull(f, &p), "PULL");
	return p.ticket;
}

static void by_abort(uint64_t g)
{
	need(!lkvfence_abort_generation(producer, g), "ABORT");
}

static void by_another(uint64_t g)
{
	struct lkvfence_abort a = {
		.generation = g, .reason = LKVFENCE_REASON_FAILED,
	};

	need(!lkvfence_abort(other, &a) && a.nr_ended == 1, "ABORT");
}

static void by_tag(uint64_t g)
{
	struct lkvfence_abort a = {
		.flags = LKVFENCE_ABORT_BY_TAG, .tag = TAG,
		.reason = LKVFENCE_REASON_PREEMPTED,
	};

	need(!lkvfence_abort(producer, &a) && a.generation == g, "ABORT");
}

static void by_early_abort(uint64_t g)
{
	(void)g;
	need(!lkvfence_abort_early(other, TAG, 0), "ABORT");
}

static void by_consumer(uint64_t g)
{
	need(!lkvfence_drop(consumer, g), "ABORT");
}

static void by_all(uint64_t g)
{
	(void)g;
	need(!lkvfence_abort_all(other, LKVFENCE_REASON_SHUTDOWN), "ABORT");
}

static void by_release(uint64_t g)
{
	need(!lkvfence_release(producer, g), "RELEASE");
}

/* The event of its release says that it has come to that. */
static void by_expiry(uint64_t g)
{
	need(event(producer).generation == g, "expiry");
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
	uint64_t ttl_ns;
	uint32_t nr_leases;
	uint32_t reason;
} ends[] = {
	{ "ABORT", by_abort, 0, 0, LKVFENCE_REASON_ABORTED },
	{ "ABORT, with a lease out", by_abort, 0, 1, LKVFENCE_REASON_ABORTED },
	{ "ABORT by another handle", by_another, 0, 0, LKVFENCE_REASON_FAILED },
	{ "ABORT by tag", by_tag, 0, 1, LKVFENCE_REASON_PREEMPTED },
	{ "ABORT with EARLY", by_early_abort, 0, 0, LKVFENCE_REASON_ABORTED },
	{ "ABORT by a consumer", by_consumer, 0, 1, LKVFENCE_REASON_DROPPED },
	{ "ABORT of all", by_all, 0, 0, LKVFENCE_REASON_SHUTDOWN },
	{ "RELEASE", by_release, 0, 0, LKVFENCE_REASON_FINISHED },
	{ "expiry", by_expiry, 20 * MS, 1, LKVFENCE_REASON_EXPIRED },
	{ "close of the producer", by_close, 0, 1, LKVFENCE_REASON_ORPHANED },
};

/* Pulls before the offer, after it, and by generation; on two handles. */
static void answered(unsigned int i)
{
	struct lkvfence_begin b = want(TAG, 0, 4, ends[i].nr_leases);
	struct lkvfence_stat before = stat_of(consumer), after;
	uint64_t early, late, exact, theirs;
	const char *what = ends[i].what;
	uint32_t reason = ends[i].reason;

	/* None is meant that was of this tag before. */
	b.ttl_ns = ends[i].ttl_ns;
	early = pull_after(consumer, last, 100);
	check(silent(consumer), "%s: a pull waits for a transfer to be offered", what);
	need(!lkvfence_offer(producer, &b), "an offer");
	last = b.generation;
	late = pull(consumer, TAG, 101);
	exact = pull_exact(consumer, b.generation, 0, 102);
	theirs = pull(other, TAG, 103);
	check(ends[i].ttl_ns || (silent(consumer) && silent(other)),
	      "%s: and for it to be ready", what);
	ends[i].end(b.generation);
	check(refused(consumer, early, reason) && refused(consumer, late, reason) &&
	      refused(consumer, exact, reason), "%s: all are refused as %s, the oldest first",
	      what, lkvfence_reason_name(reason));
	check(refused(other, theirs, reason), "%s: and that on another handle", what);

	late = pull(consumer, TAG, 104);
	check(refused(consumer, late, reason), "%s: a late one too", what);
	exact = pull_exact(consumer, b.generation, TAG, 105);
	check(refused(consumer, exact, reason), "%s: and by generation", what);
	/* What is held still is known without its tag. */
	exact = pull_exact(consumer, b.generation, TAG + 1, 106);
	check(refused(consumer, exact, ends[i].nr_leases ? reason : LKVFENCE_REASON_UNKNOWN),
	      "%s: and by generation alone", what);
	check(silent(consumer) && silent(other), "%s: once", what);

	after = stat_of(consumer);
	check(after.pulls == before.pulls + 7 && !after.tickets && adds_up(&after) &&
	      after.pulls_refused == before.pulls_refused + 7, "%s: counted", what);
	clear(other);
	pass_over(producer);
}

/* What ends none, or only the pull. */
static void by_itself(void)
{
	uint64_t g = offer(producer, TAG, 0, 4, 0), a, b, c;
	struct lkvfence_pull p = a_pull(TAG, 100);
	struct lkvfence_event e;

	a = pull_after(consumer, last, 101);
	b = pull_after(consumer, g, 102);
	c = pull_after(other, last, 103);
	gives(lkvfence_withdraw(other, a), -ENOENT, "nobody withdraws another handle's");
	gives(lkvfence_withdraw(consumer, a), 0, "WITHDRAW");
	e = at_once(consumer);
	check(is_refused(&e, a, LKVFENCE_REASON_WITHDRAWN) && e.generation == g,
	      "is answered as withdrawn");
	gives(lkvfence_withdraw(consumer, a), -ENOENT, "a second time");
	gives(lkvfence_withdraw(consumer, b), 0, "WITHDRAW of one that waits for an offer");
	e = at_once(consumer);
	check(is_refused(&e, b, LKVFENCE_REASON_WITHDRAWN) && !e.generation, "likewise");

	p.timeout_ns = 20 * MS;
	need(!lkvfence_pull(consumer, &p), "PULL");
	e = event(consumer);
	check(is_refused(&e, p.ticket, LKVFENCE_REASON_DEADLINE) && e.generation == g,
	      "its own deadline");
	p.tag = TAG + 1;
	p.unclaimed_ns = 20 * MS;
	p.timeout_ns = HOUR;
	need(!lkvfence_pull(consumer, &p), "PULL");
	e = event(consumer);
	check(is_refused(&e, p.ticket, LKVFENCE_REASON_UNKNOWN) && !e.generation,
	      "nobody offers it");
	check(silent(other), "the others wait");

	gives(ready(producer, g, 0, 0), 0, "READY");
	e = at_once(other);
	check(is_granted(&e, c, g) && e.nr_slots == 4 && e.tag == TAG, "is a grant");
	a = pull_after(consumer, last, 104);
	check(granted(consumer, a, g), "and at once from then on");
	a = pull_after(consumer, last, 104);
	check(refused(consumer, a, LKVFENCE_REASON_SOURCE), "a source has one lease");
	gives(drained(consumer, g, 103) ?: drained(consumer, g, 104), 0, "proof");
	gives(lkvfence_release(producer, g), 0, "RELEASE");
	last = g;
}

/* Who reads, or polls, is woken by an answer. */
static int reader(void *arg)
{
	struct lkvfence *f = region(NAME, 0);
	struct lkvfence_event e;
	uint64_t ticket = pull(f, TAG + 2, 100);

	if (write(*(int *)arg, "w", 1) != 1)
		return 1;
	e = event(f);
	return !is_refused(&e, ticket, LKVFENCE_REASON_PEER);
}

static void wakes(void)
{
	struct lkvfence_abort a = {
		.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY, .tag = TAG + 2,
		.reason = LKVFENCE_REASON_PEER,
	};
	int fds[2];
	pid_t pid;
	char c;

	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(reader(&fds[1]));
	need(read(fds[0], &c, 1) == 1, "a reader");
	need(!lkvfence_abort(other, &a), "ABORT");
	gives(status_of(pid), 0, "who waits for events is woken");
}

int main(void)
{
	unsigned int i;

	producer = region(NAME, 64);
	other = region(NAME, 0);
	consumer = region(NAME, 0);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		answered(i);
	by_itself();
	wakes();
	lkvfence_close(consumer);
	lkvfence_close(other);
	lkvfence_close(producer);
	return done();
}
