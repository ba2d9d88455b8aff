// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Steps of pulls: memory for them as the module gives it, and what calls do.
 */
#include <errno.h>
#include <string.h>
#include <sanitizer/asan_interface.h>

#include "world.h"

/* A free cell out of an array; its first member says whether it is used. */
static void *get(struct world *w, void *cells, size_t size, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		bool *used = (void *)((char *)cells + i * size);

		ASAN_UNPOISON_MEMORY_REGION(used, sizeof(*used));
		if (!*used) {
			ASAN_UNPOISON_MEMORY_REGION(used, size);
			memset(used, 0xa5, size);
			*used = true;
			return used;
		}
	}
	fail(w, "no cell: too many are kept");
}

static void put(struct world *w, void *cell, size_t size)
{
	memset(cell, 0xa5, size);
	*(bool *)cell = false;
	if (w->poison)
		ASAN_POISON_MEMORY_REGION(cell, size);
}

#define get_cell(w, cells)	get(w, cells, sizeof((cells)[0]),	\
				    sizeof(cells) / sizeof((cells)[0]))
#define put_cell(w, cell)	put(w, cell, sizeof(*(cell)))

struct pull_offer *pulls_offer(struct world *w)
{
	struct offer_cell *c = get_cell(w, w->offers);

	pull_offer_init(&c->o);
	return &c->o;
}

void pulls_put_offer(struct world *w, struct pull_offer *o)
{
	put_cell(w, container_of(o, struct offer_cell, o));
}

void pulls_released(struct world *w, u64 generation)
{
	for (u32 i = 0; w->pulls && i < WORLD_PULLED; i++) {
		struct lease_cell *c = &w->pulled[i];

		ASAN_UNPOISON_MEMORY_REGION(&c->used, sizeof(c->used));
		if (c->used && c->generation == generation)
			put_cell(w, c);
	}
}

static struct ticket_cell *cell_of(struct pull_ticket *k)
{
	return container_of(k, struct ticket_cell, k);
}

static struct ticket_cell *find_cell(struct world *w, u64 number)
{
	for (u32 i = 0; i < ORACLE_TICKETS; i++) {
		struct ticket_cell *c = &w->tickets[i];

		ASAN_UNPOISON_MEMORY_REGION(&c->used, sizeof(c->used));
		if (c->used && c->k.number == number)
			return c;
	}
	fail(w, "ticket %llu is lost", number);
}

/* What it got stays with the transfer. */
static void put_ticket(struct world *w, struct ticket_cell *c)
{
	if (c->k.lease)
		put_cell(w, c->lease);
	else
		c->lease->generation = c->k.generation;
	put_cell(w, c);
}

/* One answer must be among those that the oracle gave, which are taken. */
static void hear(struct world *w, struct pull_ticket *k)
{
	struct pull_oracle *po = &w->po;
	struct answer_fact *a = po->answers;
	u32 i = 0;

	while (i < po->nr_answers && a->number != k->number)
		i++, a++;
	if (i == po->nr_answers)
		fail(w, "ticket %llu is answered with reason %u, and must not be",
		     k->number, k->reason);
	if (k->reason != a->reason || k->generation != a->generation ||
	    k->nr_slots != a->nr_slots)
		fail(w, "ticket %llu: reason %u generation %llu slots %u, must be %u %llu %u",
		     k->number, k->reason, k->generation, k->nr_slots, a->reason,
		     a->generation, a->nr_slots);
	must(w, k->tag == a->tag);
	must(w, k->answered_ns == a->time);
	must(w, !k->lease == (k->reason == LKVFENCE_REASON_NONE));
	/* It waits nowhere any more. */
	must(w, !k->offer);
	must(w, RB_EMPTY_NODE(&k->by_tag));
	must(w, RB_EMPTY_NODE(&k->clock.node));
	must(w, list_empty(&k->waiting));
	must(w, list_empty(&k->news));
	/* Granted in the order in which they came. */
	for (u32 j = 0; k->reason == LKVFENCE_REASON_NONE && j < po->nr_answers; j++)
		must(w, po->answers[j].reason != LKVFENCE_REASON_NONE ||
		     po->answers[j].generation != k->generation ||
		     po->answers[j].number >= k->number);
	po->nr_answers--;
	memmove(a, a + 1, (po->nr_answers - i) * sizeof(*a));
	memset(&po->answers[po->nr_answers], 0, sizeof(*a));
	put_ticket(w, cell_of(k));
}

static void forget_all(struct world *w)
{
	struct pull_offer *o;

	while ((o = pull_forgotten(&w->p)))
		pulls_put_offer(w, o);
}

void pulls_hear(struct world *w)
{
	struct pull_ticket *k;

	while ((k = pull_news(&w->p)))
		hear(w, k);
	/* L6: at once. */
	if (w->po.nr_answers)
		fail(w, "ticket %llu is not answered, must be with reason %u",
		     w->po.answers[0].number, w->po.answers[0].reason);
	forget_all(w);
}

void pulls_over(struct world *w, struct fence_transfer *t, const struct report *r)
{
	pull_over(&w->p, t, &w->pull_limits, w->now);
	oracle_over(&w->po, &w->o, r, w->now);
	pulls_hear(w);
}

/* Whatever is due may come first, but tickets come in the order of their times. */
void pulls_expire(struct world *w, u32 max)
{
	u32 due = oracle_nr_pulls_due(&w->po, w->now);
	u32 nr = pull_expire(&w->p, w->now, max), seen = 0;
	struct pull_ticket *k;
	struct pull_offer *o;

	if (nr != min(due, max))
		fail(w, "%u tickets and tombstones of %u expired, at most %u", nr, due,
		     max);
	while ((k = pull_news(&w->p))) {
		if (!oracle_expire_ticket(&w->po, k->number, w->now))
			fail(w, "ticket %llu is not due next", k->number);
		hear(w, k);
		seen++;
	}
	while ((o = pull_forgotten(&w->p))) {
		if (!oracle_forget(&w->po, o->tag, w->now))
			fail(w, "what is known of tag %llu is not due", o->tag);
		pulls_put_offer(w, o);
		seen++;
	}
	must(w, seen == nr);
}

static void do_ready(struct world *w, const struct event *e)
{
	struct transfer_fact *fact = oracle_find(&w->o, e->generation);
	int err = pull_ready(&w->p, world_get(w, e->generation), e->timeout,
			     e->consumers, &w->pull_limits, w->now);

	world_must_allow(w, oracle_ready_wrong(fact, e->consumers), err);
	if (err)
		return;
	oracle_ready(fact, e->timeout, e->consumers, w->now);
	oracle_look(&w->po, &w->o, w->now);
}

static void do_pull(struct world *w, const struct event *e)
{
	struct ticket_fact fact = {
		.number = ++w->last_ticket, .tag = e->tag, .generation = e->generation,
		.exact = e->exact, .source = e->source, .handle = e->handle,
		.unclaimed = w->now + e->unclaimed, .deadline = w->now + e->timeout,
	};
	struct ticket_cell *c = get_cell(w, w->tickets);

	c->lease = get_cell(w, w->pulled);
	c->lease->generation = 0;
	c->lease->l.source = e->source;
	pull_ticket_init(&c->k);
	c->k.tag = e->tag;
	c->k.generation = e->generation;
	c->k.exact = e->exact;
	c->k.number = fact.number;
	c->k.lease = &c->lease->l;
	pull_ask(&w->p, &c->k, e->unclaimed, e->timeout, &w->pull_limits, w->now);
	oracle_ask(&w->po, &w->o, &fact, w->now);
}

static void do_abort_early(struct world *w, const struct event *e)
{
	struct pull_offer *o = pulls_offer(w);
	bool used = pull_abort_early(&w->p, o, e->tag, e->generation, e->reason,
				     &w->pull_limits, w->now);

	must(w, used == oracle_abort_early(&w->po, &w->o, e->tag, e->generation,
					   e->reason, w->now));
	if (!used)
		pulls_put_offer(w, o);
}

/* The next one behind @generation, as each of them may go. */
static struct transfer_fact *next_alive(struct world *w, u64 generation)
{
	for (u32 i = 0; i < w->o.nr_transfers; i++)
		if (w->o.transfers[i].generation > generation &&
		    oracle_alive(&w->o.transfers[i]))
			return &w->o.transfers[i];
	return NULL;
}

/* L6b: each through its own gate. */
static void end_all(struct world *w, u32 reason)
{
	struct oracle_limits limits = world_limits(w);
	struct transfer_fact *t;
	u64 from = 0;

	while ((t = next_alive(w, from))) {
		from = t->generation;
		fence_abort(&w->f, world_get(w, from), reason, LKVFENCE_POLICY_DEFAULT,
			    0, &w->limits, w->now);
		oracle_abort(&w->o, t, reason, LKVFENCE_POLICY_DEFAULT, 0, &limits,
			     w->now);
		world_hear(w);
	}
}

static void do_abort_all(struct world *w, const struct event *e)
{
	pull_abort_all(&w->p, e->reason, w->now);
	oracle_refuse_unclaimed(&w->po, e->reason, w->now);
	pulls_hear(w);
	end_all(w, e->reason);
}

/* Its tickets have nobody to tell; what it owns is ended. */
static void do_close(struct world *w, const struct event *e)
{
	u32 i = 0;

	while (i < w->po.nr_tickets) {
		struct ticket_fact *fact = &w->po.tickets[i];
		struct ticket_cell *c;

		if (fact->handle != e->handle) {
			i++;
			continue;
		}
		c = find_cell(w, fact->number);
		pull_close(&w->p, &c->k);
		must(w, c->k.lease);
		put_ticket(w, c);
		oracle_close(&w->po, fact->number);
	}
	if (e->handle == OWNER)
		end_all(w, LKVFENCE_REASON_ORPHANED);
}

void pulls_step(struct world *w, const struct event *e)
{
	switch (e->kind) {
	case EV_READY:
		do_ready(w, e);
		break;
	case EV_PULL:
		do_pull(w, e);
		break;
	case EV_WITHDRAW:
		pull_withdraw(&w->p, &find_cell(w, e->ticket)->k, w->now);
		oracle_withdraw(&w->po, e->ticket, w->now);
		break;
	case EV_ABORT_EARLY:
		do_abort_early(w, e);
		break;
	case EV_ABORT_ALL:
		do_abort_all(w, e);
		break;
	case EV_CLOSE:
		do_close(w, e);
		break;
	default:
		fail(w, "no step of pulls");
	}
}
