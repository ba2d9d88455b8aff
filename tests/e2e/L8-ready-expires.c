// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L8: a ready transfer expires one time to live after it became ready, and not while its
 * request runs; a renewal moves that later, for itself alone, and never earlier.
 */
#include "pull.h"

#define NAME	"L8-ready-expires"

static struct lkvfence *f;

/* READY's answer: how long from now, in ns; 0 is never. */
static uint64_t readied(uint64_t g, uint64_t ttl_ns)
{
	struct lkvfence_ready r = { .generation = g, .ttl_ns = ttl_ns };
	uint64_t before = now_ns(), after;

	need(!lkvfence_ready(f, &r), "READY");
	after = now_ns();
	need(r.deadline_ns == query(f, g).deadline_ns, "QUERY tells the same");
	if (r.deadline_ns >= before + ttl_ns && r.deadline_ns <= after + ttl_ns)
		return ttl_ns;
	return r.deadline_ns;
}

/* The time to live of BEGIN is over when READY comes. */
static void replaces(void)
{
	struct lkvfence_begin b = want(1, 0, 8, 1);
	uint64_t deadline;

	b.ttl_ns = 600000 * MS;
	need(!lkvfence_offer(f, &b), "an offer");
	deadline = query(f, b.generation).deadline_ns;
	check(deadline, "a request that runs has the time to live of BEGIN");
	gives(readied(b.generation, HOUR), HOUR, "READY gives another, counted from now");
	need(!drained(f, b.generation, 1) && !lkvfence_release(f, b.generation), "RELEASE");

	need(!lkvfence_offer(f, &b), "an offer");
	gives(readied(b.generation, 0), 0, "or none");
	/* L8: the clock of BEGIN isn't started by a lease that comes later. */
	need(!lkvfence_take(f, b.generation, 2), "TAKE");
	gives(query(f, b.generation).deadline_ns, 0, "which stays so");
	clear(f);

	b.nr_sources = 0;
	need(!lkvfence_offer(f, &b), "an offer");
	gives(query(f, b.generation).deadline_ns, 0, "before the first lease there is none");
	gives(readied(b.generation, 20 * MS), 20 * MS, "READY doesn't ask for a lease");
	while (event(f).generation != b.generation)
		;
	check(!stat_of(f).transfers_alive, "it expires");
}

static void renewals(void)
{
	uint64_t g = offer(f, 2, 0, 8, 0), beside = offer(f, 3, 8, 8, 0), deadline, other;

	need(readied(beside, 700000 * MS) == 700000 * MS, "READY");
	other = query(f, beside).deadline_ns;
	gives(readied(g, 600000 * MS), 600000 * MS, "ready for ten minutes");
	deadline = query(f, g).deadline_ns;
	gives(readied(g, 300000 * MS), deadline, "a shorter renewal changes nothing");
	gives(readied(g, 20 * MS), deadline, "nor does a very short one");
	gives(readied(g, HOUR), HOUR, "a longer one does");
	gives(query(f, beside).deadline_ns, other, "for itself alone");
	gives(readied(g, 0), 0, "never is later still");
	gives(readied(g, HOUR), 0, "and stays");
	gives(query(f, beside).deadline_ns, other, "for itself alone");
	clear(f);
	pass_over(f);
}

/* What expires is refused to who comes late; who has it keeps it. */
static void expires(void)
{
	uint64_t g, waits = pull(f, 4, 100), late;
	struct lkvfence_event e;

	g = offer(f, 4, 0, 8, 0);
	need(!ready(f, g, 20, 1), "READY");
	e = event(f);
	check(is_granted(&e, waits, g), "a pull that waited is granted");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == g &&
	      e.reason == LKVFENCE_REASON_EXPIRED, "it expires, and is held for that one");
	late = pull(f, 4, 101);
	check(refused(f, late, LKVFENCE_REASON_EXPIRED), "a late pull is told");
	gives(ready(f, g, 600000, 1), -ECANCELED, "too late to renew it");
	gives(ready(f, g, 0, 0), -ECANCELED, "in any way");
	gives(drained(f, g, 100), 0, "proof");
	e = at_once(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.reason == LKVFENCE_REASON_EXPIRED &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "it ended early, although it was taken");
	gives(ready(f, g, 0, 1), -ESTALE, "READY of what is released");
}

static void errors(void)
{
	uint64_t g = begin(f, 5, 0, 8, 0);
	struct lkvfence_pull p = a_pull(5, 100);

	gives(ready(f, g, 0, 0), -EINVAL, "READY of what isn't offered");
	p.flags = LKVFENCE_PULL_EXACT;
	p.generation = g;
	gives(lkvfence_pull(f, &p), -EINVAL, "PULL of what isn't offered");
	p.generation = g + 1000000;
	gives(lkvfence_pull(f, &p), -ENOENT, "PULL of what never was");
	gives(ready(f, g + 1000000, 0, 0), -ENOENT, "READY of what never was");
	check(!stat_of(f).tickets && query(f, g).state == LKVFENCE_STATE_WAITING &&
	      !(query(f, g).flags & LKVFENCE_TRANSFER_OFFERED), "nothing has changed");
	gives(lkvfence_release(f, g), 0, "RELEASE");
	g = offer(f, 5, 0, 8, 0);
	check(query(f, g).flags & LKVFENCE_TRANSFER_OFFERED, "QUERY tells what is offered");
	gives(lkvfence_release(f, g), 0, "RELEASE");
}

int main(void)
{
	f = region(NAME, 64);
	replaces();
	renewals();
	expires();
	errors();
	lkvfence_close(f);
	return done();
}
