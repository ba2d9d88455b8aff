// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What can happen in a small world with pulls: all of it. Two tags, two consumers
 * and the producer's own source.
 */
#include <stdio.h>
#include <string.h>

#include "world.h"

#define OWN		1	/* source: the producer's own */
#define D1		11	/* sources of two consumers */
#define D2		12
#define CONSUMER	1	/* D1's handle; the owner is D2's */
#define MOST_TICKETS	3

static const struct oracle_begin begins[] = {
	{ .tag = 1, .policy = LKVFENCE_POLICY_TAINT, .offer = true,
	  .nr_ranges = 1, .ranges = { { 0, 2 } },
	  .nr_sources = 1, .sources = { OWN } },
	{ .tag = 2, .policy = LKVFENCE_POLICY_QUARANTINE, .offer = true,
	  .nr_ranges = 1, .ranges = { { 2, 2 } } },
	/* Not offered, with a tag that is pulled, and a slot of that. */
	{ .tag = 1, .policy = LKVFENCE_POLICY_TAINT,
	  .nr_ranges = 1, .ranges = { { 1, 1 } } },
};

#define NR_BEGINS	(sizeof(begins) / sizeof(begins[0]))

static void add_begin(struct event **e, const struct world *w, u32 i)
{
	struct event *new = event_add(e, EV_BEGIN);

	new->begin = begins[i];
	new->generation = w->o.last_generation + 2;
}

static void add_ready(struct event **e, u64 generation, u64 ttl, u32 consumers)
{
	struct event *new = event_add(e, EV_READY);

	new->generation = generation;
	new->timeout = ttl;
	new->consumers = consumers;
}

static void add_return(struct event **e, u64 generation, u32 source, bool proof)
{
	struct event *new = event_add(e, EV_RETURN);

	new->generation = generation;
	new->source = source;
	new->status = proof ? LKVFENCE_STATUS_DRAINED : LKVFENCE_STATUS_FAILED;
	new->evidence = proof ? LKVFENCE_EVIDENCE_SUCCESS_CQE : LKVFENCE_EVIDENCE_NONE;
}

static struct event *add_reason(struct event **e, enum event_kind kind, u32 reason)
{
	struct event *new = event_add(e, kind);

	new->reason = reason;
	return new;
}

/* How leases come back otherwise is played in the other worlds. */
static void add_for_transfer(struct event **e, const struct transfer_fact *t)
{
	add_ready(e, t->generation, 6, 0);
	add_ready(e, t->generation, 11, 1);
	for (u32 i = 0; i < t->nr_leases; i++) {
		if (t->leases[i].state != LKVFENCE_LEASE_OUT)
			continue;
		add_return(e, t->generation, t->leases[i].source, true);
		add_return(e, t->generation, t->leases[i].source, false);
	}
	if (!oracle_alive(t))
		return;
	add_reason(e, EV_ABORT, LKVFENCE_REASON_FAILED)->generation = t->generation;
	event_add(e, EV_FINISH)->generation = t->generation;
}

static struct event *add_pull(struct event **e, u64 tag, u64 generation, u32 source)
{
	struct event *new = event_add(e, EV_PULL);

	new->tag = tag;
	new->generation = generation;
	new->source = source;
	new->handle = source == D1 ? CONSUMER : OWNER;
	new->unclaimed = 4;
	new->timeout = 9;
	return new;
}

static void add_pulls(struct event **e, struct world *w)
{
	const struct known_fact *fact = oracle_known(&w->po, 1);

	add_pull(e, 1, 0, D1);
	add_pull(e, 1, 0, D2);
	add_pull(e, 2, 0, D1);
	if (fact && fact->generation) {
		add_pull(e, 1, fact->generation, D1);
		add_pull(e, 1, fact->generation, D2)->exact = true;
	}
	/* Not even the next one. */
	add_pull(e, 1, w->o.last_generation + 2, D2);
	/* One that is gone, or belongs to nobody. */
	add_pull(e, 1, 1, D1)->exact = true;
}

static void add_early(struct event **e, struct world *w, u64 tag)
{
	const struct known_fact *fact = oracle_known(&w->po, tag);

	/* Where there is a transfer that is meant, the caller aborts that. */
	if (!oracle_find_tag(&w->o, tag))
		add_reason(e, EV_ABORT_EARLY, LKVFENCE_REASON_DROPPED)->tag = tag;
	if (fact && fact->generation) {
		struct event *new = add_reason(e, EV_ABORT_EARLY,
					       LKVFENCE_REASON_PREEMPTED);

		new->tag = tag;
		new->generation = fact->generation;
	}
}

u32 pull_events_all(struct world *w, struct event *first)
{
	struct event *e = first;

	for (u32 i = 0; i < NR_BEGINS; i++)
		add_begin(&e, w, i);
	for (u32 i = 0; i < w->o.nr_transfers; i++)
		add_for_transfer(&e, &w->o.transfers[i]);
	if (w->po.nr_tickets < MOST_TICKETS)
		add_pulls(&e, w);
	for (u32 i = 0; i < w->po.nr_tickets; i++)
		event_add(&e, EV_WITHDRAW)->ticket = w->po.tickets[i].number;
	add_early(&e, w, 1);
	add_early(&e, w, 2);
	add_reason(&e, EV_ABORT_ALL, LKVFENCE_REASON_SHUTDOWN);
	event_add(&e, EV_CLOSE)->handle = CONSUMER;
	event_add(&e, EV_CLOSE)->handle = OWNER;
	event_add_time(&e, w);
	return e - first;
}

/* What leads to each scene; of generations the first is 2, the next 4. */
u32 pull_events_scene(const struct world *w, u32 scene, struct event *first)
{
	struct event *e = first;

	switch (scene) {
	case 2:
		/* A mixed batch waits for one offer, and one pull for the next. */
		add_pull(&e, 1, 0, D1);
		add_begin(&e, w, 0);
		add_pull(&e, 1, 2, D2)->exact = true;
		add_pull(&e, 1, 2, D1);
		break;
	case 3:
		/* Two readers, and the producer's own sender is at it too. */
		add_begin(&e, w, 1);
		add_pull(&e, 2, 0, D1);
		add_pull(&e, 2, 0, D2);
		add_ready(&e, 2, 11, 1);
		break;
	case 4:
		/* Two of one source: READY gives it one lease. */
		add_begin(&e, w, 1);
		add_pull(&e, 2, 0, D1);
		add_pull(&e, 2, 0, D1);
		add_pull(&e, 1, 0, D2);
		break;
	case 5:
		/* A tombstone, whose transfer's sender failed and is held for. */
		add_begin(&e, w, 0);
		add_reason(&e, EV_ABORT, LKVFENCE_REASON_FAILED)->generation = 2;
		add_return(&e, 2, OWN, false);
		add_pull(&e, 1, 2, D1);
		break;
	case 6:
		/* Aborted early, which has refused one, and of the other tag not yet. */
		add_reason(&e, EV_ABORT_EARLY, LKVFENCE_REASON_DROPPED)->tag = 1;
		add_begin(&e, w, 0);
		break;
	case 7:
		/* The next use of the tag is aborted while this one is there. */
		add_begin(&e, w, 0);
		add_pull(&e, 1, 0, D1);
		add_reason(&e, EV_ABORT_EARLY, LKVFENCE_REASON_DROPPED)->tag = 1;
		e[-1].generation = 2;
		add_pull(&e, 1, 0, D2);
		break;
	case 8:
		/* A reader of each tag; the first one's request is over. */
		add_begin(&e, w, 1);
		add_ready(&e, 2, 6, 0);
		add_pull(&e, 2, 0, D1);
		add_reason(&e, EV_ABORT, LKVFENCE_REASON_FAILED)->generation = 2;
		add_pull(&e, 1, 0, D2);
		break;
	}
	return e - first;
}

static u64 rnd(u64 *seed, u64 below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 11) % below;
}

static u64 random_generation(struct world *w, u64 *seed, u64 tag)
{
	const struct known_fact *fact = oracle_known(&w->po, tag);

	if (fact && fact->generation && rnd(seed, 4))
		return fact->generation - !rnd(seed, 8);
	return 1 + rnd(seed, w->o.last_generation + 4);
}

static void random_pull(struct world *w, u64 *seed, struct event *e)
{
	e->kind = EV_PULL;
	e->tag = rnd(seed, 8);
	e->exact = !rnd(seed, 4);
	if (e->exact || !rnd(seed, 3))
		e->generation = random_generation(w, seed, e->tag);
	e->source = 1 + rnd(seed, 20);
	e->handle = rnd(seed, 3);
	e->unclaimed = 1 + rnd(seed, 60);
	e->timeout = 1 + rnd(seed, 200);
}

/* False: there is nothing that this could be about. */
static bool random_of_transfer(struct world *w, u64 *seed, struct event *e)
{
	const struct transfer_fact *t;

	if (!w->o.nr_transfers)
		return false;
	t = &w->o.transfers[rnd(seed, w->o.nr_transfers)];
	e->generation = t->generation;
	if (rnd(seed, 3)) {
		e->kind = EV_READY;
		e->timeout = rnd(seed, 4) ? 1 + rnd(seed, 150) : 0;
		e->consumers = rnd(seed, 3);
		return true;
	}
	/* What was pulled is drained, most often. */
	if (!t->nr_leases)
		return false;
	e->kind = EV_RETURN;
	e->source = t->leases[rnd(seed, t->nr_leases)].source;
	e->status = LKVFENCE_STATUS_DRAINED;
	e->evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE;
	return true;
}

static bool random_early(struct world *w, u64 *seed, struct event *e)
{
	const struct transfer_fact *t;

	e->kind = EV_ABORT_EARLY;
	e->tag = rnd(seed, 8);
	e->reason = LKVFENCE_REASON_ABORTED + rnd(seed, 5);
	if (rnd(seed, 2))
		e->generation = random_generation(w, seed, e->tag);
	if (!rnd(seed, 3))
		e->reason = LKVFENCE_REASON_DROPPED;
	t = oracle_find_tag(&w->o, e->tag);
	return !t || t->generation <= e->generation;
}

/* The rarest ones end very much. */
static bool random_of_pulls(struct world *w, u64 *seed, struct event *e)
{
	u64 pick = rnd(seed, 100);

	memset(e, 0, sizeof(*e));
	if (pick < 40) {
		random_pull(w, seed, e);
		return w->po.nr_tickets < ORACLE_TICKETS;
	}
	if (pick < 80)
		return random_of_transfer(w, seed, e);
	if (pick < 90)
		return random_early(w, seed, e);
	if (pick < 96) {
		if (!w->po.nr_tickets)
			return false;
		e->kind = EV_WITHDRAW;
		e->ticket = w->po.tickets[rnd(seed, w->po.nr_tickets)].number;
		return true;
	}
	if (pick < 98) {
		e->kind = EV_CLOSE;
		e->handle = 1 + rnd(seed, 2);
		return true;
	}
	e->kind = rnd(seed, 2) ? EV_ABORT_ALL : EV_CLOSE;
	e->handle = OWNER;
	e->reason = LKVFENCE_REASON_SHUTDOWN;
	return !rnd(seed, 3);
}

void pull_event_random(struct world *w, u64 *seed, struct event *e)
{
	if (rnd(seed, 2) && random_of_pulls(w, seed, e))
		return;
	event_random(w, seed, e);
	if (e->kind == EV_BEGIN)
		e->begin.offer = rnd(seed, 4);
}

void pull_event_print(const struct event *e)
{
	switch (e->kind) {
	case EV_READY:
		printf("ready %llu ttl %llu consumers %u\n", e->generation, e->timeout,
		       e->consumers);
		break;
	case EV_PULL:
		printf("pull tag %llu %s %llu source %u handle %u unclaimed %llu timeout %llu\n",
		       e->tag, e->exact ? "exactly" : "newer than", e->generation,
		       e->source, e->handle, e->unclaimed, e->timeout);
		break;
	case EV_WITHDRAW:
		printf("withdraw %llu\n", e->ticket);
		break;
	case EV_ABORT_EARLY:
		printf("abort tag %llu early, after %llu, reason %u\n", e->tag,
		       e->generation, e->reason);
		break;
	case EV_ABORT_ALL:
		printf("abort all, reason %u\n", e->reason);
		break;
	case EV_CLOSE:
		printf("close handle %u\n", e->handle);
		break;
	default:
		printf("event %u\n", (u32)e->kind);
		break;
	}
}
