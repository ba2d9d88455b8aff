// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How a world looks, whatever the numbers in it: generations become ranks, and
 * times become distances from now. Two worlds that look alike will act alike,
 * so that only one of them needs to be followed. Counters and times that
 * nothing depends on are left out: each step compares those anyway.
 *
 * What is looked at is not only the oracle's facts but also what the fence
 * itself keeps: the order of its clock, of its list of holds and of the leases of
 * its sources.
 */
#include <linux/bitmap.h>

#include "world.h"

void state_mix(u64 *h, u64 v)
{
	*h ^= v;
	*h *= 0x9e3779b97f4a7c15ULL;
	*h ^= *h >> 29;
	*h *= 0xbf58476d1ce4e5b9ULL;
	*h ^= *h >> 32;
}

static u32 rank(const struct oracle *o, u64 generation)
{
	for (u32 i = 0; i < o->nr_transfers; i++)
		if (o->transfers[i].generation == generation)
			return i + 1;
	return 0;
}

static void mix_transfer(u64 *h, const struct world *w,
			 const struct transfer_fact *t)
{
	state_mix(h, t->tag);
	state_mix(h, t->ttl);
	state_mix(h, t->clock ? t->clock - w->now : 1ULL << 63);
	state_mix(h, t->state == LKVFENCE_STATE_ENDED ? t->ended - w->now : 1ULL << 63);
	state_mix(h, t->state == LKVFENCE_STATE_ENDED ? t->deadline - w->now : 1ULL << 63);
	state_mix(h, t->policy | t->state << 16 | t->reason << 20 | t->in_quarantine << 24 |
		t->by_default << 25 | t->tried << 26 | t->revoking << 27 |
		t->fell_back << 28);
	state_mix(h, t->nr_leases | t->consumers << 8 | t->offered << 16);
	for (u32 i = 0; i < t->nr_leases; i++)
		state_mix(h, (u64)t->leases[i].source << 32 | t->leases[i].state << 16 |
			t->leases[i].evidence | t->leases[i].bound << 8 |
			t->leases[i].seen << 9 |
			t->leases[i].pulled << 10);
}

/* The order in which batches take them matters. */
static void mix_leases(u64 *h, const struct world *w, const struct list_head *list)
{
	const struct list_head *p;

	for (p = list->next; p != list; p = p->next)
		state_mix(h, rank(&w->o, list_entry(p, struct fence_lease,
					      of_source)->transfer->generation));
	state_mix(h, 0);
}

static void mix_sources(u64 *h, const struct world *w)
{
	const struct rb_node *n;

	for (n = rb_first(&w->f.sources); n; n = rb_next(n)) {
		struct fence_source *s = rb_entry(n, struct fence_source, node);

		state_mix(h, (u64)s->source << 32 | s->state << 1 |
			source_cell_of(s)->quieting);
		mix_leases(h, w, &s->leases);
		mix_leases(h, w, &s->ended);
	}
}

static void mix_fence(u64 *h, const struct world *w)
{
	const struct list_head *l;
	const struct rb_node *n;

	for (l = w->f.held.next; l != &w->f.held; l = l->next)
		state_mix(h, rank(&w->o, list_entry(l, struct fence_transfer,
					      held)->generation));
	for (n = rb_first_cached(&w->f.clock.rb_root); n; n = rb_next(n)) {
		const struct timerqueue_node *c =
			rb_entry(n, struct timerqueue_node, node);

		state_mix(h, rank(&w->o, container_of(c, struct fence_transfer,
						clock)->generation));
	}
	for (n = rb_first_cached(&w->f.transfers); n; n = rb_next(n)) {
		const struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_generation);

		state_mix(h, t->weakest | t->revoked << 8 | t->quarantined << 9 |
			t->forced << 10 | (u64)t->unproven << 32);
	}
	for (u32 slot = 0; slot < w->o.nr_slots; slot++)
		state_mix(h, test_bit(slot, w->taken) ?
			rank(&w->o, w->owner[slot]) : 0);
}

u64 state_hash(const struct world *w)
{
	u64 h = 0x243f6a8885a308d3ULL;
	u64 last = w->o.last_generation;

	state_mix(&h, w->limits.max_ns);
	/* Is there a generation that is stale? Then there are returns for it. */
	state_mix(&h, last != 2ULL * w->o.nr_transfers);
	state_mix(&h, w->o.nr_transfers);
	for (u32 i = 0; i < w->o.nr_transfers; i++)
		mix_transfer(&h, w, &w->o.transfers[i]);
	mix_fence(&h, w);
	mix_sources(&h, w);
	if (w->pulls)
		state_mix_pulls(&h, w);
	return h;
}
