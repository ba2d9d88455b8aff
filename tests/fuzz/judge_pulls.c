// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pulls as the module has them, against the mirror.
 */
#include "fuzz.h"
#include "region.h"
#include "ticket.h"

static const struct pull_offer *find_offer(const struct region *r, u64 tag)
{
	struct rb_node *n;

	for (n = rb_first((struct rb_root *)&r->pulls.offers); n; n = rb_next(n)) {
		struct pull_offer *o = rb_entry(n, struct pull_offer, by_tag);

		if (o->tag == tag)
			return o;
	}
	return NULL;
}

u64 judge_find_ticket(int fd)
{
	struct handle *h = handle_of(fd);
	struct rb_node *last = h->tickets.rb_node;
	struct ticket *k;
	u64 number = 0;

	while (last && last->rb_right)
		last = last->rb_right;
	if (last)
		number = rb_entry(last, struct ticket, by_number)->pull.number;
	list_for_each_entry(k, &h->unread_tickets, unread)
		number = max(number, k->pull.number);
	return number;
}

static void judge_offer(const struct mirror_offer *mo, const struct pull_offer *o)
{
	agree(o && o->generation == mo->generation && !o->transfer == !mo->lives);
	if (mo->lives) {
		agree(o->transfer->generation == mo->generation && o->transfer->tag == mo->tag);
		return;
	}
	agree(o->reason == mo->reason && o->forget_ns == mo->forget);
	agree(!o->spent == !mo->spent && list_empty(&o->tickets));
}

static void judge_ticket(const struct mirror_ticket *mk)
{
	const struct handle *h = handle_of(mk->handle);
	struct rb_node *n = h->tickets.rb_node;
	const struct ticket *k = NULL;

	while (n && rb_entry(n, struct ticket, by_number)->pull.number != mk->number)
		n = mk->number < rb_entry(n, struct ticket, by_number)->pull.number ?
		    n->rb_left : n->rb_right;
	/* It waits, or was answered and is to be read. */
	agree(!n == !!mk->reasons);
	if (!n)
		return;
	k = rb_entry(n, struct ticket, by_number);
	agree(k->owner == h && k->pull.tag == mk->tag && k->pull.lease);
	agree(k->pull.lease->source == mk->source && !pull_answered(&k->pull));
	agree((k->pull.offer ? k->pull.offer->generation : 0) == mk->waits_for);
}

void judge_pulls(struct mirror_region *mr, struct region *r)
{
	const struct pulls *p = &r->pulls;
	u32 offers = 0, lives = 0;
	struct rb_node *n;

	for (n = rb_first((struct rb_root *)&p->offers); n; n = rb_next(n))
		offers++;
	agree(offers == mr->nr_offers);
	for (u32 i = 0; i < mr->nr_offers; i++) {
		lives += mr->offers[i].lives;
		judge_offer(&mr->offers[i], find_offer(r, mr->offers[i].tag));
	}
	agree(p->nr_offers == lives);
	for (u32 i = 0; i < mr->nr_tickets; i++)
		judge_ticket(&mr->tickets[i]);
	/* All news are told, in the step that made them. */
	agree(list_empty(&p->news) && list_empty(&p->forgotten));
	agree(pull_next_deadline(p) == mirror_pulls_clock(mr));
	/* Where nothing is to be looked after nothing costs anything. */
	agree(p->active == (offers || p->nr_tickets));
}

void judge_count_pulls(u64 *offers, u64 *tickets, u64 *leases)
{
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		const struct mirror_region *mr = &mirror.regions[i];

		if (!mr->exists)
			continue;
		*offers += mr->nr_offers;
		*tickets += mr->nr_tickets;
		/* What was granted is the transfer's. */
		for (u32 j = 0; j < mr->nr_tickets; j++)
			*leases += mr->tickets[j].reasons != BIT(LKVFENCE_REASON_NONE);
	}
}
