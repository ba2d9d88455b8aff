// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * All that can be seen of pulls, against what the oracle says.
 */
#include <sanitizer/asan_interface.h>

#include "world.h"

static void compare_tickets(struct world *w)
{
	u32 nr = 0;

	for (u32 i = 0; i < ORACLE_TICKETS; i++) {
		struct ticket_cell *c = &w->tickets[i];
		struct pull_ticket *k = &c->k;
		struct ticket_fact *fact;
		struct known_fact *claimed;

		ASAN_UNPOISON_MEMORY_REGION(&c->used, sizeof(c->used));
		if (!c->used)
			continue;
		nr++;
		fact = oracle_find_ticket(&w->po, k->number);
		/* L6: what is answered is gone. */
		must(w, fact);
		must(w, !pull_answered(k));
		claimed = oracle_claimed(&w->po, fact);
		must(w, !k->offer == !claimed);
		must(w, !k->offer || k->offer->generation == claimed->generation);
		must(w, RB_EMPTY_NODE(&k->by_tag) == !!k->offer);
		must(w, k->deadline_ns == fact->deadline);
		/* L8: it is on the clock, in time. */
		must(w, !RB_EMPTY_NODE(&k->clock.node));
		must(w, (u64)k->clock.expires == oracle_due(&w->po, fact));
		must(w, (u64)k->clock.expires <= fact->deadline);
		/* It holds nothing: its lease is its own. */
		must(w, k->lease == &c->lease->l);
		must(w, !c->lease->generation);
	}
	must(w, nr == w->po.nr_tickets);
	must(w, w->p.nr_tickets == nr);
}

/* Who waits for an offer waits in the order in which they came. */
static void compare_waiting(struct world *w, const struct pull_offer *o)
{
	const struct list_head *l;
	u64 last = 0;

	for (l = o->tickets.next; l != &o->tickets; l = l->next) {
		const struct pull_ticket *k = list_entry(l, struct pull_ticket, waiting);

		must(w, l->next->prev == l);
		must(w, k->offer == o);
		must(w, k->number > last);
		last = k->number;
	}
}

static void compare_known(struct world *w)
{
	u32 nr = 0, live = 0, used = 0;
	u64 last = 0;

	for (struct rb_node *n = rb_first(&w->p.offers); n; n = rb_next(n)) {
		const struct pull_offer *o = rb_entry(n, struct pull_offer, by_tag);
		struct known_fact *fact = oracle_known(&w->po, o->tag);

		must(w, !nr || o->tag > last);
		must(w, fact);
		must(w, o->generation == fact->generation);
		must(w, !o->transfer == !fact->live);
		must(w, o->reason == (fact->live ? fact->next_reason : fact->reason));
		must(w, o->spent == fact->spent);
		compare_waiting(w, o);
		if (fact->live) {
			must(w, o->transfer == world_get(w, fact->generation));
			live++;
		} else {
			must(w, o->forget_ns == fact->forget);
			must(w, o->forget_ns <= w->now + w->pull_limits.tombstone_ns);
			must(w, list_empty(&o->tickets));
		}
		last = o->tag;
		nr++;
	}
	for (u32 i = 0; i < WORLD_OFFERS; i++) {
		ASAN_UNPOISON_MEMORY_REGION(&w->offers[i].used, sizeof(bool));
		used += w->offers[i].used;
	}
	must(w, nr == w->po.nr_known);
	must(w, used == nr);
	must(w, w->p.nr_offers == live);
	must(w, w->p.nr_dead == oracle_nr_tombstones(&w->po, false));
	must(w, w->p.nr_early == oracle_nr_tombstones(&w->po, true));
	/* L8 */
	must(w, w->p.nr_dead <= w->pull_limits.max_tombstones);
	must(w, w->p.nr_early <= w->pull_limits.max_tombstones);
}

static void compare_pull_counts(const struct world *w)
{
	const struct pull_counts *c = &w->p.counts;
	const struct pull_oracle *po = &w->po;
	u64 refused = 0;

	for (u32 i = 0; i <= LKVFENCE_REASON_SOURCE; i++)
		refused += po->refused[i];
	must(w, c->pulls == po->asked);
	must(w, c->pulls_granted == po->granted);
	must(w, c->pulls_refused == refused);
	must(w, c->pulls_closed == po->closed);
	must(w, c->refused_early == po->refused_early);
	must(w, c->pulls == w->p.nr_tickets + c->pulls_granted + c->pulls_refused +
	     c->pulls_closed);
}

void pulls_compare(struct world *w)
{
	compare_tickets(w);
	compare_known(w);
	compare_pull_counts(w);
	must(w, w->p.active == (w->po.nr_tickets || w->po.nr_known));
	must(w, pull_next_deadline(&w->p) == oracle_next_pull(&w->po));
	must(w, list_empty(&w->p.news));
	must(w, list_empty(&w->p.forgotten));
}
