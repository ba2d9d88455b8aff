// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What can happen: all of it in a small world, or a random piece of it in a
 * large one.
 */
#include <stdio.h>
#include <string.h>

#include "world.h"

/* The small world has 4 slots; its transfers get in each other's way. */
static const struct oracle_begin begins[] = {
	{ .tag = 3, .policy = LKVFENCE_POLICY_TAINT,
	  .nr_ranges = 1, .ranges = { { 0, 1 } } },
	{ .tag = 1, .policy = LKVFENCE_POLICY_TAINT,
	  .nr_ranges = 1, .ranges = { { 0, 2 } },
	  .nr_sources = 1, .sources = { 1 } },
	{ .tag = 2, .policy = LKVFENCE_POLICY_QUARANTINE,
	  .nr_ranges = 1, .ranges = { { 1, 2 } },
	  .nr_sources = 2, .sources = { 2, 1 } },
	{ .tag = 1, .policy = LKVFENCE_POLICY_TAINT, .ttl = 12,
	  .nr_ranges = 1, .ranges = { { 3, 1 } },
	  .nr_sources = 1, .sources = { 1 } },
	{ .tag = 2, .policy = LKVFENCE_POLICY_QUARANTINE, .ttl = 12,
	  .nr_ranges = 2, .ranges = { { 3, 1 }, { 2, 1 } } },
	/* Names slot 1 twice. */
	{ .tag = 4, .policy = LKVFENCE_POLICY_TAINT,
	  .nr_ranges = 2, .ranges = { { 0, 2 }, { 1, 1 } } },
};

static const struct {
	u32 source;
	u32 status;
	u32 evidence;
} returns[] = {
	{ 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE },
	{ 1, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 2, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_MR_DEREGISTERED },
	{ 2, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 3, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND },
	/* No proof, said to be one. */
	{ 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_TIMEOUT },
};

static const struct {
	u32 reason;
	u32 policy;
	u64 timeout;
} aborts[] = {
	{ LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 0 },
	{ LKVFENCE_REASON_FAILED, LKVFENCE_POLICY_QUARANTINE, 5 },
	{ LKVFENCE_REASON_PEER, LKVFENCE_POLICY_TAINT, 20 },
};

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

static u64 next_generation(const struct world *w)
{
	/* Other regions take numbers too, so there are gaps. */
	return w->o.last_generation + 2;
}

static struct event *add(struct event **e, enum event_kind kind)
{
	struct event *new = (*e)++;

	memset(new, 0, sizeof(*new));
	new->kind = kind;
	return new;
}

static void add_return(struct event **e, u64 generation, u32 i)
{
	struct event *new = add(e, EV_RETURN);

	new->generation = generation;
	new->source = returns[i].source;
	new->status = returns[i].status;
	new->evidence = returns[i].evidence;
}

/* The caller refuses timeouts that are out of bounds, so there are none here. */
static struct event *add_abort(struct event **e, const struct world *w, u32 i)
{
	struct event *new = add(e, EV_ABORT);

	new->reason = aborts[i].reason;
	new->policy = aborts[i].policy;
	new->timeout = min(aborts[i].timeout, w->limits.max_ns);
	return new;
}

static void add_for_transfer(struct event **e, const struct world *w,
			     u64 generation)
{
	for (u32 source = 1; source <= 3; source++) {
		struct event *new = add(e, EV_TAKE);

		new->generation = generation;
		new->source = source;
	}
	for (u32 i = 0; i < ARRAY_LEN(returns); i++)
		add_return(e, generation, i);
	for (u32 i = 0; i < ARRAY_LEN(aborts); i++)
		add_abort(e, w, i)->generation = generation;
	add(e, EV_FINISH)->generation = generation;
	add(e, EV_FORCE)->generation = generation;
}

static void add_time(struct event **e, enum event_kind kind, u64 until, u32 max)
{
	struct event *new = add(e, kind);

	new->until = until;
	new->max = max;
}

/* The latest generation that is released already, or 0. */
static u64 a_stale_one(struct world *w)
{
	u64 generation = w->o.last_generation;

	while (generation && oracle_find(&w->o, generation))
		generation -= 2;
	return generation;
}

u32 events_all(struct world *w, struct event *first)
{
	struct event *e = first;
	u64 next = oracle_next_clock(&w->o);

	for (u32 i = 0; i < ARRAY_LEN(begins); i++) {
		struct event *new = add(&e, EV_BEGIN);

		new->begin = begins[i];
		new->generation = next_generation(w);
	}
	for (u32 i = 0; i < w->o.nr_transfers; i++)
		add_for_transfer(&e, w, w->o.transfers[i].generation);
	for (u64 tag = 1; tag <= 3; tag++) {
		struct event *new;

		if (!oracle_find_tag(&w->o, tag))
			continue;
		new = add_abort(&e, w, 0);
		new->by_tag = true;
		new->tag = tag;
	}
	if (a_stale_one(w))
		add_return(&e, a_stale_one(w), 0);
	add_return(&e, next_generation(w), 0);

	if (next == U64_MAX) {
		add_time(&e, EV_EXPIRE, w->now + 1, 8);
	} else {
		/* Just before, exactly then, too late and one at a time. */
		if (w->now + 1 < next)
			add_time(&e, EV_EXPIRE, next - 1, 8);
		add_time(&e, EV_EXPIRE, max(w->now, next), 8);
		add_time(&e, EV_EXPIRE, max(w->now, next) + 3, 1);
		/* Calls that come between the deadline and the clock. */
		if (w->now <= next)
			add_time(&e, EV_LAG, next + 1, 0);
	}
	add(&e, EV_LIMITS)->timeout = w->limits.max_ns == 25 ? 12 : 25;
	return e - first;
}

static u64 rnd(u64 *seed, u64 below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 11) % below;
}

static void random_begin(struct world *w, u64 *seed, struct event *e)
{
	struct oracle_begin *b = &e->begin;

	e->kind = EV_BEGIN;
	e->generation = next_generation(w);
	b->tag = rnd(seed, 8);
	b->policy = 1 + rnd(seed, 2);
	b->ttl = rnd(seed, 3) ? 0 : 1 + rnd(seed, 400);
	b->nr_ranges = 1 + rnd(seed, ORACLE_RANGES);
	for (u32 i = 0; i < b->nr_ranges; i++) {
		b->ranges[i].first = rnd(seed, w->o.nr_slots + !rnd(seed, 20));
		b->ranges[i].count = !rnd(seed, 100) ? 0 : 1 + rnd(seed, 8);
		if (!rnd(seed, 200))
			b->ranges[i].count = U32_MAX - rnd(seed, 200);
	}
	b->nr_sources = rnd(seed, w->max_leases + 1);
	for (u32 i = 0; i < b->nr_sources; i++)
		b->sources[i] = rnd(seed, 2) ? 10 + i : rnd(seed, 20);
}

static u64 random_generation(struct world *w, u64 *seed)
{
	if (w->o.nr_transfers && rnd(seed, 12))
		return w->o.transfers[rnd(seed, w->o.nr_transfers)].generation;
	/* Long gone, not yet issued, or nonsense. */
	return rnd(seed, w->o.last_generation + 4);
}

static void random_return(struct world *w, u64 *seed, struct event *e)
{
	struct transfer_fact *t;
	u64 pick = rnd(seed, 16);

	e->kind = EV_RETURN;
	e->generation = random_generation(w, seed);
	t = oracle_find(&w->o, e->generation);
	e->source = rnd(seed, 20);
	if (t && t->nr_leases && rnd(seed, 8))
		e->source = t->leases[rnd(seed, t->nr_leases)].source;
	if (!pick) {
		e->status = rnd(seed, 5);
		e->evidence = rnd(seed, LKVFENCE_NR_EVIDENCE + 2);
	} else if (pick < 3) {
		e->status = LKVFENCE_STATUS_FAILED;
	} else {
		e->status = LKVFENCE_STATUS_DRAINED;
		e->evidence = rnd(seed, 2) ? LKVFENCE_EVIDENCE_SUCCESS_CQE :
					     rnd(seed, LKVFENCE_NR_EVIDENCE);
	}
}

static void random_abort(struct world *w, u64 *seed, struct event *e)
{
	e->kind = EV_ABORT;
	e->reason = LKVFENCE_REASON_ABORTED + rnd(seed, 5);
	e->policy = rnd(seed, 4) ? LKVFENCE_POLICY_DEFAULT : rnd(seed, 3);
	e->timeout = rnd(seed, 2) ? 0 : 1 + rnd(seed, w->limits.max_ns);
	e->by_tag = !rnd(seed, 4);
	e->tag = rnd(seed, 8);
}

static void random_time(struct world *w, u64 *seed, struct event *e)
{
	u64 next = oracle_next_clock(&w->o);

	e->kind = rnd(seed, 5) ? EV_EXPIRE : EV_LAG;
	e->max = rnd(seed, 3) ? 64 : 1 + rnd(seed, 3);
	e->until = w->now + rnd(seed, 20);
	if (next != U64_MAX && next > w->now + 1 && !rnd(seed, 3))
		e->until = next - rnd(seed, 2);
	if (!rnd(seed, 40))
		e->until = w->now + rnd(seed, 600);
}

void event_random(struct world *w, u64 *seed, struct event *e)
{
	u64 pick = rnd(seed, 100);

	memset(e, 0, sizeof(*e));
	if (pick < 22 || !w->o.nr_transfers) {
		random_begin(w, seed, e);
		return;
	}
	if (pick < 55) {
		random_return(w, seed, e);
		return;
	}
	if (pick < 75) {
		random_time(w, seed, e);
		return;
	}
	if (pick < 85) {
		random_abort(w, seed, e);
	} else if (pick < 92) {
		e->kind = EV_TAKE;
		e->source = rnd(seed, 20);
	} else if (pick < 97) {
		e->kind = EV_FINISH;
	} else if (pick < 99) {
		e->kind = EV_FORCE;
	} else {
		e->kind = EV_LIMITS;
		e->timeout = 100 + rnd(seed, 400);
	}
	e->generation = w->o.transfers[rnd(seed, w->o.nr_transfers)].generation;
}

static void print_begin(const struct event *e)
{
	const struct oracle_begin *b = &e->begin;

	printf("begin generation %llu tag %llu policy %u ttl %llu, slots",
	       e->generation, b->tag, b->policy, b->ttl);
	for (u32 i = 0; i < b->nr_ranges; i++)
		printf(" %u+%u", b->ranges[i].first, b->ranges[i].count);
	printf(", sources");
	for (u32 i = 0; i < b->nr_sources; i++)
		printf(" %u", b->sources[i]);
	printf("\n");
}

void event_print(const struct event *e)
{
	switch (e->kind) {
	case EV_BEGIN:
		print_begin(e);
		break;
	case EV_TAKE:
		printf("take %llu source %u\n", e->generation, e->source);
		break;
	case EV_RETURN:
		printf("return %llu source %u status %u evidence %u\n",
		       e->generation, e->source, e->status, e->evidence);
		break;
	case EV_ABORT:
		printf("abort %s %llu reason %u policy %u timeout %llu\n",
		       e->by_tag ? "tag" : "generation",
		       e->by_tag ? e->tag : e->generation,
		       e->reason, e->policy, e->timeout);
		break;
	case EV_FINISH:
		printf("finish %llu\n", e->generation);
		break;
	case EV_FORCE:
		printf("force %llu\n", e->generation);
		break;
	case EV_LAG:
		printf("it is %llu, nobody looks\n", e->until);
		break;
	case EV_EXPIRE:
		printf("it is %llu, expire at most %u\n", e->until, e->max);
		break;
	case EV_LIMITS:
		printf("the longest timeout is %llu now\n", e->timeout);
		break;
	}
}
