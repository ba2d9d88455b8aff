// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What happens in a large world: a random piece of what can.
 */
#include <string.h>

#include "world.h"

static u64 rnd(u64 *seed, u64 below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 11) % below;
}

static u32 random_policy(u64 *seed)
{
	u32 policy = rnd(seed, 3);

	if (!rnd(seed, 3))
		policy |= LKVFENCE_POLICY_REVOKE;
	if (!rnd(seed, 8))
		policy |= LKVFENCE_POLICY_REVOKE_NOW;
	return policy;
}

static void random_begin(struct world *w, u64 *seed, struct event *e)
{
	struct oracle_begin *b = &e->begin;
	u64 from;

	e->kind = EV_BEGIN;
	/* Other regions take numbers too, so there are gaps. */
	e->generation = w->o.last_generation + 2;
	b->tag = rnd(seed, 8);
	b->policy = random_policy(seed);
	b->ttl = rnd(seed, 3) ? 0 : 1 + rnd(seed, 400);
	b->nr_ranges = 1 + rnd(seed, ORACLE_RANGES);
	for (u32 i = 0; i < b->nr_ranges; i++) {
		b->ranges[i].first = rnd(seed, w->o.nr_slots + !rnd(seed, 20));
		b->ranges[i].count = !rnd(seed, 100) ? 0 : 1 + rnd(seed, 8);
		if (!rnd(seed, 200))
			b->ranges[i].count = U32_MAX - rnd(seed, 200);
	}
	b->nr_sources = rnd(seed, w->max_leases + 1);
	from = rnd(seed, w->nr_sources);
	for (u32 i = 0; i < b->nr_sources; i++)
		b->sources[i] = rnd(seed, 10) ? 1 + (from + i) % w->nr_sources : rnd(seed, 20);
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
		e->evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE + rnd(seed, 2);
		if (pick < 6) {
			e->status = LKVFENCE_STATUS_REVOKED;
			e->evidence = LKVFENCE_EVIDENCE_RQ_FLUSHED + rnd(seed, 4);
		}
	}
}

static void random_abort(struct world *w, u64 *seed, struct event *e)
{
	e->kind = EV_ABORT;
	e->reason = LKVFENCE_REASON_ABORTED + rnd(seed, 5);
	e->policy = rnd(seed, 4) ? LKVFENCE_POLICY_DEFAULT : random_policy(seed);
	e->timeout = rnd(seed, 2) ? 0 : 1 + rnd(seed, w->limits.max_ns);
	e->by_tag = !rnd(seed, 4);
	e->tag = rnd(seed, 8);
}

static void random_time(struct world *w, u64 *seed, struct event *e)
{
	u64 next = next_clock(w);

	e->kind = rnd(seed, 5) ? EV_EXPIRE : EV_LAG;
	e->max = rnd(seed, 3) ? 64 : 1 + rnd(seed, 3);
	e->until = w->now + rnd(seed, 20);
	if (next != U64_MAX && next > w->now + 1 && !rnd(seed, 3))
		e->until = next - rnd(seed, 2);
	if (!rnd(seed, 40))
		e->until = w->now + rnd(seed, 600);
}

/* A source is most often left alone, and once it isn't, seen to in some steps. */
static bool random_source(struct world *w, u64 *seed, struct event *e)
{
	static const enum event_kind kinds[] = {
		EV_BIND, EV_UNBIND, EV_UNBIND, EV_REVOKE,
		EV_SOURCE_END, EV_SOURCE_END, EV_SOURCE_QUIET, EV_SOURCE_LOST,
	};
	const struct source_fact *fact;

	e->source = 1 + rnd(seed, w->nr_sources);
	e->kind = kinds[rnd(seed, sizeof(kinds) / sizeof(kinds[0]))];
	e->max = 1 + rnd(seed, 4);
	e->evidence = rnd(seed, 2) ? LKVFENCE_EVIDENCE_QP_ERR_SETTLED :
				     LKVFENCE_EVIDENCE_RQ_FLUSHED + rnd(seed, 4);
	/* Most are left alone, so that transfers are revoked for their own sake. */
	fact = oracle_find_source(&w->o, e->source);
	if ((e->kind == EV_REVOKE || e->kind == EV_UNBIND) && fact &&
	    fact->access == ACCESS_BOUND && rnd(seed, 8))
		return false;
	return source_may(w, e->source, e->kind);
}

void event_random(struct world *w, u64 *seed, struct event *e)
{
	u64 pick = rnd(seed, 100);

	memset(e, 0, sizeof(*e));
	if (w->nr_sources && !rnd(seed, 3) && random_source(w, seed, e))
		return;
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
	if (pick < 76) {
		e->kind = EV_REPORT;
		e->generation = random_generation(w, seed);
		if (!rnd(seed, 3))
			e->generation = rnd(seed, 2) ? w->o.last_generation + 1 : 0;
		e->reason = rnd(seed, 5);
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

