// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How pulls look; see states.c. A ticket's generation matters only as far as it
 * says whether the ticket waits for the transfer that is there, and where it is one
 * that was not given yet: all others that may come are newer.
 */
#include "world.h"

static u32 place_of(const struct world *w, u64 number)
{
	u32 i = 0;

	while (i < w->po.nr_tickets && w->po.tickets[i].number != number)
		i++;
	return i;
}

static void mix_ticket(u64 *h, const struct world *w, const struct ticket_fact *k)
{
	bool claimed = oracle_claimed((struct pull_oracle *)&w->po, k);

	mix(h, k->tag << 32 | k->source << 8 | k->handle << 4 | k->exact << 1 |
	       claimed);
	mix(h, k->generation > w->o.last_generation ?
	       k->generation - w->o.last_generation : 0);
	mix(h, k->deadline - w->now);
	mix(h, claimed ? 0 : k->unclaimed - w->now);
}

void mix_pulls(u64 *h, const struct world *w)
{
	const struct rb_node *n;

	mix(h, w->po.nr_tickets | w->po.nr_known << 8);
	for (u32 i = 0; i < w->po.nr_tickets; i++)
		mix_ticket(h, w, &w->po.tickets[i]);
	for (n = rb_first_cached(&w->p.clock.rb_root); n; n = rb_next(n)) {
		const struct timerqueue_node *c =
			rb_entry(n, struct timerqueue_node, node);

		mix(h, place_of(w, container_of(c, struct pull_ticket,
						clock)->number));
	}
	/* Tombstones in their order, of which there are two; live ones by tag. */
	for (u32 i = 0; i < w->po.nr_known; i++) {
		const struct known_fact *fact = &w->po.known[i];

		if (fact->live)
			continue;
		mix(h, fact->tag << 32 | fact->reason << 8 | fact->spent << 1 |
		       (!fact->generation));
		mix(h, fact->forget - w->now);
	}
	for (n = rb_first(&w->p.offers); n; n = rb_next(n)) {
		const struct pull_offer *o = rb_entry(n, struct pull_offer, by_tag);

		if (o->transfer)
			mix(h, o->tag << 8 | o->reason);
	}
}
