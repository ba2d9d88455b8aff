// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What can happen in a small world: all of it.
 */
#include <stdio.h>
#include <string.h>

#include "world.h"

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

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

struct return_of {
	u32 source;
	u32 status;
	u32 evidence;
};

static const struct return_of returns[] = {
	{ 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE },
	{ 1, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 2, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MR_DEREGISTERED },
	{ 2, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 3, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND },
	/* No proof, said to be one. */
	{ 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_TIMEOUT },
};

struct abort_as {
	u32 reason;
	u32 policy;
	u64 timeout;
};

static const struct abort_as aborts[] = {
	{ LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 0 },
	{ LKVFENCE_REASON_FAILED, LKVFENCE_POLICY_QUARANTINE, 5 },
	{ LKVFENCE_REASON_PEER, LKVFENCE_POLICY_TAINT, 20 },
};

/* The world with sources: 1 and 2 may be bound, 3 never is. */
static const struct oracle_begin source_begins[] = {
	{ .tag = 1, .policy = LKVFENCE_POLICY_DEFAULT,
	  .nr_ranges = 1, .ranges = { { 0, 1 } },
	  .nr_sources = 1, .sources = { 1 } },
	{ .tag = 2, .policy = LKVFENCE_POLICY_QUARANTINE,
	  .nr_ranges = 1, .ranges = { { 1, 1 } },
	  .nr_sources = 2, .sources = { 1, 2 } },
	{ .tag = 3, .policy = LKVFENCE_POLICY_TAINT, .ttl = 12,
	  .nr_ranges = 1, .ranges = { { 2, 1 } },
	  .nr_sources = 1, .sources = { 1 } },
	{ .tag = 4, .policy = LKVFENCE_POLICY_REVOKE_NOW,
	  .nr_ranges = 1, .ranges = { { 3, 1 } },
	  .nr_sources = 2, .sources = { 3, 2 } },
	{ .tag = 5, .policy = LKVFENCE_POLICY_REVOKE_NOW | LKVFENCE_POLICY_QUARANTINE,
	  .nr_ranges = 1, .ranges = { { 1, 2 } },
	  .nr_sources = 2, .sources = { 2, 1 } },
};

static const struct return_of source_returns[] = {
	{ 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE },
	{ 1, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 1, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED },
	{ 2, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE },
	{ 2, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MR_DEREGISTERED },
	/* This isn't accepted here. */
	{ 2, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_QP_DESTROYED },
	{ 3, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND },
};

static const struct abort_as source_aborts[] = {
	{ LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 0 },
	{ LKVFENCE_REASON_FAILED, LKVFENCE_POLICY_REVOKE, 5 },
	{ LKVFENCE_REASON_PEER, LKVFENCE_POLICY_REVOKE_NOW, 0 },
	{ LKVFENCE_REASON_SHUTDOWN, LKVFENCE_POLICY_QUARANTINE, 20 },
};

/* What a small world can do. */
struct alphabet {
	const struct oracle_begin *begins;
	u32 nr_begins;
	const struct return_of *returns;
	u32 nr_returns;
	const struct abort_as *aborts;
	u32 nr_aborts;
	u32 takes;		/* by the sources 1 and on */
	u64 tags;
};

static const struct alphabet plain = {
	begins, ARRAY_LEN(begins), returns, ARRAY_LEN(returns),
	aborts, ARRAY_LEN(aborts), 3, 3,
};

static const struct alphabet with_sources = {
	source_begins, ARRAY_LEN(source_begins),
	source_returns, ARRAY_LEN(source_returns),
	source_aborts, ARRAY_LEN(source_aborts), 2, 0,
};

static const struct alphabet *alphabet_of(const struct world *w)
{
	return w->nr_sources ? &with_sources : &plain;
}

static u64 next_generation(const struct world *w)
{
	/* Other regions take numbers too, so there are gaps. */
	return w->o.last_generation + 2;
}

struct event *event_add(struct event **e, enum event_kind kind)
{
	struct event *new = (*e)++;

	memset(new, 0, sizeof(*new));
	new->kind = kind;
	return new;
}

static void add_begin(struct event **e, const struct world *w, u32 i)
{
	struct event *new = event_add(e, EV_BEGIN);

	new->begin = alphabet_of(w)->begins[i];
	new->generation = next_generation(w);
}

static void add_return(struct event **e, const struct world *w, u64 generation,
		       u32 i)
{
	const struct return_of *as = &alphabet_of(w)->returns[i];
	struct event *new = event_add(e, EV_RETURN);

	new->generation = generation;
	new->source = as->source;
	new->status = as->status;
	new->evidence = as->evidence;
}

/* The caller refuses timeouts that are out of bounds, so there are none here. */
static struct event *add_abort(struct event **e, const struct world *w, u32 i)
{
	const struct abort_as *as = &alphabet_of(w)->aborts[i];
	struct event *new = event_add(e, EV_ABORT);

	new->reason = as->reason;
	new->policy = as->policy;
	new->timeout = min(as->timeout, w->limits.max_ns);
	return new;
}

static void add_for_transfer(struct event **e, const struct world *w,
			     u64 generation)
{
	const struct alphabet *a = alphabet_of(w);

	for (u32 source = 1; source <= a->takes; source++) {
		struct event *new = event_add(e, EV_TAKE);

		new->generation = generation;
		new->source = source;
	}
	for (u32 i = 0; i < a->nr_returns; i++)
		add_return(e, w, generation, i);
	for (u32 i = 0; i < a->nr_aborts; i++)
		add_abort(e, w, i)->generation = generation;
	event_add(e, EV_FINISH)->generation = generation;
	event_add(e, EV_FORCE)->generation = generation;
}

static struct event *add_source(struct event **e, enum event_kind kind, u32 source,
				u32 max)
{
	struct event *new = event_add(e, kind);

	new->source = source;
	new->max = max;
	new->evidence = max == 1 ? LKVFENCE_EVIDENCE_QP_ERR_SETTLED :
				   LKVFENCE_EVIDENCE_RQ_FLUSHED;
	return new;
}

/* One lease at a time, or all at once. */
static void add_for_source(struct event **e, struct world *w, u32 source)
{
	static const enum event_kind once[] = { EV_BIND, EV_UNBIND, EV_REVOKE };
	static const enum event_kind batches[] = {
		EV_SOURCE_END, EV_SOURCE_QUIET, EV_SOURCE_LOST,
	};

	for (u32 i = 0; i < ARRAY_LEN(once); i++)
		if (source_may(w, source, once[i]))
			add_source(e, once[i], source, 0);
	for (u32 i = 0; i < ARRAY_LEN(batches); i++) {
		if (!source_may(w, source, batches[i]))
			continue;
		add_source(e, batches[i], source, 1);
		add_source(e, batches[i], source, 8);
	}
}

static void add_time(struct event **e, enum event_kind kind, u64 until, u32 max)
{
	struct event *new = event_add(e, kind);

	new->until = until;
	new->max = max;
}

u64 next_clock(const struct world *w)
{
	u64 next = oracle_next_clock(&w->o);

	return w->pulls ? min(next, oracle_next_pull(&w->po)) : next;
}

void event_add_time(struct event **e, struct world *w)
{
	u64 next = next_clock(w);

	if (next == U64_MAX) {
		add_time(e, EV_EXPIRE, w->now + 1, 8);
	} else {
		/* Just before, exactly then, too late and one at a time. */
		if (w->now + 1 < next)
			add_time(e, EV_EXPIRE, next - 1, 8);
		add_time(e, EV_EXPIRE, max(w->now, next), 8);
		add_time(e, EV_EXPIRE, max(w->now, next) + 3, 1);
		/* Calls that come between the deadline and the clock. */
		if (w->now <= next)
			add_time(e, EV_LAG, next + 1, 0);
	}
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

	for (u32 i = 0; i < alphabet_of(w)->nr_begins; i++)
		add_begin(&e, w, i);
	for (u32 i = 0; i < w->o.nr_transfers; i++)
		add_for_transfer(&e, w, w->o.transfers[i].generation);
	for (u32 source = 1; source <= w->nr_sources; source++)
		add_for_source(&e, w, source);
	for (u64 tag = 1; tag <= alphabet_of(w)->tags; tag++) {
		struct event *new;

		if (!oracle_find_tag(&w->o, tag))
			continue;
		new = add_abort(&e, w, 0);
		new->by_tag = true;
		new->tag = tag;
	}
	if (a_stale_one(w))
		add_return(&e, w, a_stale_one(w), 0);
	add_return(&e, w, next_generation(w), 0);

	event_add_time(&e, w);
	if (!w->nr_sources)
		event_add(&e, EV_LIMITS)->timeout = w->limits.max_ns == 25 ? 12 : 25;
	return e - first;
}

/*
 * Sources that are bound, then transfers that are begun (their numbers above,
 * from 1 on), by which abort (likewise) these are ended, and whether their
 * deadlines come.
 */
static const struct scene {
	u32 bound[2];
	u32 begun[3];
	u32 ended;
	bool due;
} scenes[SCENES] = {
	{ { 0 }, { 0 }, 0, false },
	/* One source of two transfers. */
	{ { 1 }, { 1, 3 }, 0, false },
	/* Two of one, and one of these of another, too. */
	{ { 1, 2 }, { 2, 1 }, 0, false },
	/* Each half bound. */
	{ { 2 }, { 4, 2 }, 0, false },
	/* To be revoked at once, and then it is. */
	{ { 2, 1 }, { 5 }, 0, false },
	{ { 2, 1 }, { 5, 1 }, 1, false },
	/* One in quarantine, one being revoked. */
	{ { 1, 2 }, { 2, 1 }, 1, true },
	/* Half bound, and in quarantine because it could not be revoked. */
	{ { 2 }, { 2 }, 2, true },
	/* One source of three. */
	{ { 1, 2 }, { 1, 2, 3 }, 0, false },
};

u32 events_scene(const struct world *w, u32 scene, struct event *first)
{
	const struct scene *s = &scenes[scene - 1];
	struct event *e = first;
	u32 nr = 0;

	for (u32 i = 0; i < 2; i++)
		if (s->bound[i])
			add_source(&e, EV_BIND, s->bound[i], 0);
	for (; nr < 3 && s->begun[nr]; nr++) {
		add_begin(&e, w, s->begun[nr] - 1);
		e[-1].generation += 2 * nr;
	}
	for (u32 i = 0; s->ended && i < nr; i++)
		add_abort(&e, w, s->ended - 1)->generation =
			next_generation(w) + 2 * i;
	if (s->due)
		add_time(&e, EV_EXPIRE, w->now + w->limits.default_ns, 8);
	return e - first;
}

static void print_begin(const struct event *e)
{
	const struct oracle_begin *b = &e->begin;

	printf("begin generation %llu tag %llu%s policy %u ttl %llu, slots",
	       e->generation, b->tag, b->offer ? " offered" : "", b->policy, b->ttl);
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
	case EV_BIND:
		printf("bind source %u\n", e->source);
		break;
	case EV_UNBIND:
		printf("unbind source %u\n", e->source);
		break;
	case EV_REVOKE:
		printf("source %u is to be revoked\n", e->source);
		break;
	case EV_SOURCE_END:
		printf("end transfers of source %u, at most %u\n", e->source, e->max);
		break;
	case EV_SOURCE_QUIET:
		printf("source %u is quiet, evidence %u, at most %u leases\n",
		       e->source, e->evidence, e->max);
		break;
	case EV_SOURCE_LOST:
		printf("source %u is lost, at most %u leases\n", e->source, e->max);
		break;
	case EV_REPORT:
		printf("report %llu kind %u\n", e->generation, e->reason);
		break;
	default:
		pull_event_print(e);
		break;
	}
}
