// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Everything that can be seen of a fence, against what the oracle says.
 */
#include <errno.h>
#include <linux/bitmap.h>

#include "world.h"

static void compare_leases(const struct world *w, const struct fence_transfer *t,
			   struct transfer_fact *fact)
{
	struct rb_node *n;
	u32 nr = 0, bound = 0;
	u32 last = 0;

	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);
		struct lease_fact *lf = oracle_find_lease(fact, l->source);

		must(w, !nr || l->source > last);
		must(w, lf);
		must(w, l->state == lf->state);
		must(w, l->evidence == lf->evidence);
		must(w, l->pulled == lf->pulled);
		must(w, !l->bound == !lf->bound);
		if (l->bound) {
			must(w, l->bound == fence_find_source(&w->f, l->source));
			must(w, l->transfer == t);
			bound++;
		}
		last = l->source;
		nr++;
	}
	must(w, nr == fact->nr_leases);
	must(w, t->nr_leases == nr);
	must(w, t->unproven == oracle_unproven(fact));
	must(w, t->nr_bound == bound);
}

static void compare_clock(const struct world *w, struct fence_transfer *t,
			  const struct transfer_fact *fact)
{
	struct cell *c = container_of(t, struct cell, t);

	must(w, RB_EMPTY_NODE(&t->clock.node) == !fact->clock);
	if (fact->state == LKVFENCE_STATE_ENDED) {
		/* Once more without the oracle: L4 deadlines only move later, L8. */
		must(w, t->deadline_ns == fact->deadline);
		must(w, t->deadline_ns >= c->deadline);
		must(w, t->deadline_ns > t->ended_ns);
		must(w, t->deadline_ns <= t->ended_ns + w->longest);
		c->deadline = t->deadline_ns;
	}
	if (!fact->clock)
		return;
	must(w, (u64)t->clock.expires == fact->clock);
	if (fact->state != LKVFENCE_STATE_ENDED)
		return;
	must(w, (u64)t->clock.expires >= c->clock);
	must(w, (u64)t->clock.expires >= c->deadline);
	must(w, t->revoking || (u64)t->clock.expires == c->deadline);
	c->clock = t->clock.expires;
}

static void compare_transfer(const struct world *w, struct fence_transfer *t,
			     struct transfer_fact *fact)
{
	must(w, t->generation == fact->generation);
	must(w, t->tag == fact->tag);
	must(w, t->nr_slots == oracle_nr_slots(&w->o, fact->generation));
	must(w, t->policy == fact->policy);
	must(w, t->offered == fact->offered);
	must(w, t->consumers == fact->consumers);
	must(w, t->taken == oracle_taken(fact));
	must(w, t->state == fact->state);
	must(w, t->reason == fact->reason);
	must(w, t->outcome == LKVFENCE_OUTCOME_NONE);
	must(w, t->quarantined == fact->in_quarantine);
	must(w, t->tried == fact->tried);
	must(w, t->revoking == fact->revoking);
	must(w, t->fell_back == fact->fell_back);
	must(w, fence_revocable(t) == oracle_revocable((struct oracle *)&w->o, fact));
	must(w, fence_policy(t) == oracle_policy((struct oracle *)&w->o, fact));
	must(w, !t->forced);
	must(w, t->begun_ns == fact->begun);
	must(w, t->ended_ns == fact->ended);
	must(w, t->quarantined_ns == fact->quarantined);
	must(w, t->released_ns == 0);
	must(w, t->news_bits == 0);
	compare_leases(w, t, fact);
	compare_clock(w, t, fact);
}

/* L1: each slot has the owner that the oracle knows, or none. */
static void compare_slots(struct world *w)
{
	for (u32 slot = 0; slot < w->o.nr_slots; slot++) {
		struct fence_transfer *t = fence_find_slot(&w->f, slot);
		u64 owner = w->o.owner[slot];

		if ((t ? t->generation : 0) != owner)
			fail(w, "slot %u belongs to generation %llu, must be %llu",
			     slot, t ? t->generation : 0, owner);
		must(w, test_bit(slot, w->taken) == !!owner);
		must(w, !owner || w->owner[slot] == owner);
	}
	for (u32 bit = w->o.nr_slots; bit < 64 * WORLD_LONGS; bit++)
		must(w, !test_bit(bit, w->taken));
}

static void compare_counts(const struct world *w)
{
	const struct fence_counts *c = &w->f.counts;
	const struct oracle_counts *o = &w->o.counts;
	u64 released = 0;

	for (u32 i = 0; i < LKVFENCE_NR_OUTCOMES; i++) {
		must(w, c->released[i] == o->released[i]);
		released += c->released[i];
	}
	must(w, c->begun == o->begun);
	must(w, c->begun == w->f.transfers_alive + released);
	must(w, c->returns_drained == o->returns_drained);
	must(w, c->returns_failed == o->returns_failed);
	must(w, c->returns_revoked == o->returns_revoked);
	must(w, c->returns_unaccepted == o->returns_unaccepted);
	must(w, c->returns_early == o->returns_early);
	must(w, c->returns_stale == o->returns_stale);
	must(w, c->returns_unknown == o->returns_unknown);
	must(w, c->returns_duplicate == o->returns_duplicate);
	must(w, c->refused_busy == o->refused_busy);
	must(w, c->refused_exists == o->refused_exists);
	must(w, c->refused_limit == o->refused_limit);
	must(w, c->refused_revoked == o->refused_revoked);
	must(w, c->forced == o->forced);
	must(w, c->revokes == o->revokes);
	must(w, c->revokes_failed == o->revokes_failed);
	for (u32 i = 0; i < LKVFENCE_MAX_EVIDENCE; i++)
		must(w, c->evidence[i] == o->evidence[i]);
	must(w, c->sources_revoked == o->sources_revoked);
	must(w, c->sources_lost == o->sources_lost);
	must(w, c->strays == o->strays);
	must(w, c->strays_late == o->strays_late);
	must(w, c->mismatches == o->mismatches);
	/* L6: as many were told as came back. */
	must(w, w->released == released);
}

static u32 state_of(u32 access)
{
	switch (access) {
	case ACCESS_BOUND:
		return FENCE_SOURCE_BOUND;
	case ACCESS_REVOKING:
		return FENCE_SOURCE_REVOKING;
	case ACCESS_REVOKED:
		return FENCE_SOURCE_REVOKED;
	default:
		return FENCE_SOURCE_LOST;
	}
}

/* How many leases there are in a list of a source; all of them are its own. */
static u32 compare_list(const struct world *w, const struct fence_source *s,
			const struct list_head *list, bool seen)
{
	const struct list_head *p;
	u32 nr = 0;

	for (p = list->next; p != list; p = p->next, nr++) {
		const struct fence_lease *l =
			list_entry(p, struct fence_lease, of_source);
		struct lease_fact *lf;

		must(w, p->next->prev == p);
		must(w, l->bound == s);
		lf = oracle_find_lease(oracle_find((struct oracle *)&w->o,
						   l->transfer->generation), s->source);
		must(w, lf->bound && lf->seen == seen);
	}
	return nr;
}

static void compare_sources(const struct world *w)
{
	must(w, w->f.nr_sources == w->o.nr_sources);
	for (u32 i = 0; i < w->o.nr_sources; i++) {
		const struct source_fact *fact = &w->o.sources[i];
		const struct fence_source *s = fence_find_source(&w->f, fact->source);
		u32 bound = oracle_nr_bound(&w->o, fact->source);
		u32 seen = oracle_nr_seen(&w->o, fact->source);

		must(w, s);
		must(w, s->source == fact->source);
		must(w, s->state == state_of(fact->access));
		must(w, s->nr_leases == bound);
		must(w, compare_list(w, s, &s->leases, false) == bound - seen);
		must(w, compare_list(w, s, &s->ended, true) == seen);
	}
}

static void compare_gauges(const struct world *w)
{
	const struct oracle *o = &w->o;
	u64 slots[3] = { 0 }, transfers[3] = { 0 }, ready = 0;

	for (u32 i = 0; i < o->nr_transfers; i++) {
		const struct transfer_fact *t = &o->transfers[i];
		u32 nr = oracle_nr_slots(o, t->generation);
		u32 in = 1 + (t->state == LKVFENCE_STATE_ENDED) + t->in_quarantine;

		ready += t->state == LKVFENCE_STATE_READY;
		while (in--) {
			slots[in] += nr;
			transfers[in]++;
		}
	}
	must(w, w->f.slots_taken == slots[0]);
	must(w, w->f.slots_held == slots[1]);
	must(w, w->f.slots_quarantined == slots[2]);
	must(w, w->f.transfers_alive == transfers[0]);
	must(w, w->f.transfers_held == transfers[1]);
	must(w, w->f.transfers_quarantined == transfers[2]);
	must(w, w->f.transfers_ready == ready);
}

/* Ended ones, the oldest first. */
static void compare_held(const struct world *w)
{
	const struct list_head *l;
	const struct fence_transfer *before = NULL;
	u64 last = 0;
	u32 nr = 0;

	for (l = w->f.held.next; l != &w->f.held; l = l->next) {
		const struct fence_transfer *t =
			list_entry(l, struct fence_transfer, held);
		struct transfer_fact *fact =
			oracle_find((struct oracle *)&w->o, t->generation);

		must(w, fact);
		must(w, fact->state == LKVFENCE_STATE_ENDED);
		must(w, !before || fact->ended_as > last);
		must(w, !before || t->ended_ns >= before->ended_ns);
		last = fact->ended_as;
		before = t;
		nr++;
	}
	must(w, nr == w->f.transfers_held);
}

static void compare_lookups(struct world *w)
{
	struct oracle *o = &w->o;
	struct fence_transfer *t;
	u64 generation = 0;

	for (u32 i = 0; i < o->nr_transfers; i++) {
		struct transfer_fact *fact = &o->transfers[i];

		t = fence_find_next(&w->f, generation);
		must(w, t);
		must(w, t->generation == fact->generation);
		generation = t->generation;
		must(w, fence_lookup(&w->f, generation, &t) == 0);
		compare_transfer(w, t, fact);
		/* Numbers are given with gaps here; what is in one is stale. */
		must(w, fence_lookup(&w->f, generation - 1, &t) == -ESTALE);
		must(w, !t);

		fact = oracle_find_tag(o, fact->tag);
		t = fence_find_tag(&w->f, o->transfers[i].tag);
		must(w, !t == !fact);
		must(w, !t || t->generation == fact->generation);
	}
	must(w, !fence_find_next(&w->f, generation));
	must(w, !fence_find_next(&w->f, o->last_generation));
	must(w, fence_lookup(&w->f, o->last_generation + 1, &t) == -ENOENT);
	must(w, fence_lookup(&w->f, 0, &t) == -ENOENT);
	must(w, w->f.last_generation == o->last_generation);
}

void world_compare(struct world *w)
{
	compare_slots(w);
	compare_counts(w);
	compare_gauges(w);
	compare_held(w);
	compare_lookups(w);
	compare_sources(w);
	if (w->pulls)
		pulls_compare(w);
	must(w, fence_next_deadline(&w->f) == oracle_next_clock(&w->o));
	must(w, list_empty(&w->f.news));
}

void world_compare_released(const struct world *w,
			    const struct fence_transfer *t, u32 bits,
			    const struct report *r)
{
	must(w, bits == FENCE_NEWS_RELEASED);
	must(w, t->tag == r->tag);
	must(w, t->state == LKVFENCE_STATE_RELEASED);
	must(w, t->outcome == r->outcome);
	must(w, t->weakest == r->evidence);
	must(w, t->reason == r->reason);
	must(w, t->nr_slots == r->nr_slots);
	must(w, t->forced == r->forced);
	must(w, t->ended_ns == r->ended);
	must(w, t->released_ns == r->time);
	must(w, r->outcome == LKVFENCE_OUTCOME_TIMEOUT || !t->unproven);
	/* Its sources may be forgotten now. */
	must(w, t->nr_bound == 0);
	for (struct rb_node *n = rb_first(&t->leases); n; n = rb_next(n))
		must(w, !rb_entry(n, struct fence_lease, node)->bound);
	must(w, RB_EMPTY_NODE(&t->clock.node));
	must(w, list_empty(&t->held));
	must(w, list_empty(&t->news));
}
