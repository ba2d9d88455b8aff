// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The rig's pulls: see rig.h. */
#include <stdlib.h>

#include "rig.h"

void rig_pulls_init(struct rig *r)
{
	pulls_init(&r->p, &r->f);
	r->pull_limits.tombstone_ns = TOMBSTONE_NS;
	r->pull_limits.max_tombstones = MAX_TOMBSTONES;
	r->pull_limits.max_leases = MAX_LEASES;
}

struct pull_offer *rig_offer(struct rig *r)
{
	struct pull_offer *o = malloc(sizeof(*o));

	assert_non_null(o);
	memset(o, 0xa5, sizeof(*o));
	pull_offer_init(o);
	r->nr_offers++;
	return o;
}

void rig_free_offer(struct rig *r, struct pull_offer *o)
{
	r->nr_offers--;
	free(o);
}

static void free_ticket(struct pull_ticket *k)
{
	free(k->lease);
	free(k);
}

void rig_pulls_destroy(struct rig *r)
{
	struct rb_node *n;

	for (u32 i = 0; i < MAX_TICKETS; i++)
		if (r->tickets[i])
			free_ticket(r->tickets[i]);
	/* Not by pull_bury(): some may belong to transfers that live. */
	while ((n = rb_first(&r->p.offers))) {
		rb_erase(n, &r->p.offers);
		free(rb_entry(n, struct pull_offer, by_tag));
	}
}

static u32 place_of(const struct rig *r, u64 ticket)
{
	for (u32 i = 0; i < MAX_TICKETS; i++)
		if (r->tickets[i] && r->tickets[i]->number == ticket)
			return i;
	return MAX_TICKETS;
}

bool waits(const struct rig *r, u64 ticket)
{
	return place_of(r, ticket) < MAX_TICKETS;
}

static struct pull_ticket *ticket_of(const struct rig *r, u64 ticket)
{
	assert_true(waits(r, ticket));
	return r->tickets[place_of(r, ticket)];
}

void rig_pulls_settle(struct rig *r)
{
	struct pull_ticket *k;
	struct pull_offer *o;

	while ((k = pull_news(&r->p))) {
		/* L6: once. */
		assert_ptr_equal(ticket_of(r, k->number), k);
		assert_true(pull_answered(k));
		assert_int_equal(k->answered_ns, r->now);
		/* A grant has taken the lease; a refusal leaves it. */
		assert_true(!k->lease == (k->reason == LKVFENCE_REASON_NONE));
		assert_in_range(r->nr_answers, 0, MAX_ANSWERS - 1);
		r->answers[r->nr_answers++] = *k;
		r->tickets[place_of(r, k->number)] = NULL;
		free_ticket(k);
	}
	while ((o = pull_forgotten(&r->p)))
		rig_free_offer(r, o);
}

/* What the gauges and counters must be, seen from outside. */
void rig_pulls_check(struct rig *r)
{
	const struct pulls *p = &r->p;
	u32 nr[2] = { 0 }, waiting = 0;
	struct rb_node *n;
	u64 live = 0;

	for (u32 i = 0; i < MAX_TICKETS; i++) {
		struct pull_ticket *k = r->tickets[i];

		if (!k)
			continue;
		waiting++;
		assert_false(pull_answered(k));
		/* L8: it is on the clock, and no later than it asked for. */
		assert_false(RB_EMPTY_NODE(&k->clock.node));
		assert_true((u64)k->clock.expires <= k->deadline_ns);
		assert_true(pull_next_deadline(p) <= (u64)k->clock.expires);
		/* It waits in one place, for what is there, and isn't READY. */
		assert_true(!k->offer == list_empty(&k->waiting));
		assert_true(!k->offer == !RB_EMPTY_NODE(&k->by_tag));
		if (k->offer)
			assert_int_equal(k->offer->transfer->state, LKVFENCE_STATE_WAITING);
	}
	for (n = rb_first(&p->offers); n; n = rb_next(n)) {
		const struct pull_offer *o = rb_entry(n, struct pull_offer, by_tag);

		if (o->transfer) {
			assert_true(fence_alive(o->transfer));
			assert_int_equal(o->generation, o->transfer->generation);
			live++;
			continue;
		}
		assert_true(list_empty(&o->tickets));
		/* Where the time got shorter, those before it go first. */
		if (r->pull_limits.tombstone_ns == TOMBSTONE_NS)
			assert_true(pull_next_deadline(p) <= o->forget_ns);
		nr[!o->generation]++;
	}
	assert_int_equal(p->nr_tickets, waiting);
	assert_int_equal(p->nr_offers, live);
	assert_int_equal(p->nr_dead, nr[0]);
	assert_int_equal(p->nr_early, nr[1]);
	/* L8 */
	assert_true(nr[0] <= r->pull_limits.max_tombstones);
	assert_true(nr[1] <= r->pull_limits.max_tombstones);
	assert_int_equal(r->nr_offers, live + nr[0] + nr[1]);
	assert_int_equal(p->active, waiting || r->nr_offers);
	assert_int_equal(p->counts.pulls, r->last_ticket);
	assert_int_equal(p->counts.pulls_closed, r->nr_closed);
	assert_int_equal(p->counts.pulls, waiting + p->counts.pulls_granted +
			 p->counts.pulls_refused + p->counts.pulls_closed);
}

/* What they got from the transfer is freed with it. */
static void keep_leases(struct pull_ticket *const *tickets, u32 nr,
			struct fence_lease *const *leases, struct fence_transfer *t)
{
	for (u32 i = 0; i < nr; i++)
		if (!tickets[i]->lease)
			rig_keep_lease(t, leases[i]);
}

int ready(struct rig *r, u64 generation, u64 ttl, u32 consumers)
{
	struct pull_ticket *tickets[MAX_TICKETS];
	struct fence_lease *leases[MAX_TICKETS];
	u32 nr = 0;
	int err;

	for (u32 i = 0; i < MAX_TICKETS; i++) {
		if (!r->tickets[i])
			continue;
		tickets[nr] = r->tickets[i];
		leases[nr++] = r->tickets[i]->lease;
	}
	err = pull_ready(&r->p, get(r, generation), ttl, consumers, &r->pull_limits,
			 r->now);
	keep_leases(tickets, nr, leases, get(r, generation));
	rig_settle(r);
	return err;
}

static struct pull_ticket **free_place(struct rig *r)
{
	for (u32 i = 0; i < MAX_TICKETS; i++)
		if (!r->tickets[i])
			return &r->tickets[i];
	fail_msg("more than %u tickets", MAX_TICKETS);
	return NULL;
}

u64 rig_pull(struct rig *r, const struct ask *ask)
{
	struct pull_ticket *k = malloc(sizeof(*k));
	struct fence_lease *lease = rig_lease(ask->source);
	u64 number = ++r->last_ticket;

	assert_non_null(k);
	memset(k, 0xa5, sizeof(*k));
	pull_ticket_init(k);
	k->tag = ask->tag;
	k->exact = ask->exact;
	k->generation = ask->exact ?: ask->newer;
	k->number = number;
	k->lease = lease;
	*free_place(r) = k;
	pull_ask(&r->p, k, ask->unclaimed ?: UNCLAIMED_NS, ask->timeout ?: PULL_NS,
		 &r->pull_limits, r->now);
	if (pull_answered(k) && !k->lease)
		keep_leases(&k, 1, &lease, get(r, k->generation));
	rig_settle(r);
	return number;
}

void withdraw(struct rig *r, u64 ticket)
{
	pull_withdraw(&r->p, ticket_of(r, ticket), r->now);
	rig_settle(r);
}

void close_ticket(struct rig *r, u64 ticket)
{
	struct pull_ticket *k = ticket_of(r, ticket);

	pull_close(&r->p, k);
	r->tickets[place_of(r, ticket)] = NULL;
	free_ticket(k);
	r->nr_closed++;
	rig_settle(r);
}

bool abort_early(struct rig *r, u64 tag, u64 after, u32 reason)
{
	struct pull_offer *o = rig_offer(r);
	bool used = pull_abort_early(&r->p, o, tag, after, reason, &r->pull_limits,
				     r->now);

	if (!used)
		rig_free_offer(r, o);
	rig_settle(r);
	return used;
}

void abort_all(struct rig *r, u32 reason)
{
	u64 last = r->f.last_generation;
	struct fence_transfer *t;
	u64 from = 0;

	pull_abort_all(&r->p, reason, r->now);
	while ((t = fence_find_next(&r->f, from)) && t->generation <= last) {
		from = t->generation;
		if (fence_alive(t))
			fence_abort(&r->f, t, reason, LKVFENCE_POLICY_DEFAULT, 0,
				    &r->limits, r->now);
	}
	rig_settle(r);
}

static const struct pull_ticket *answer_of(const struct rig *r, u64 ticket)
{
	const struct pull_ticket *answer = NULL;

	for (u32 i = 0; i < r->nr_answers; i++) {
		if (r->answers[i].number != ticket)
			continue;
		assert_null(answer);
		answer = &r->answers[i];
	}
	assert_non_null(answer);
	/* L6: at once. */
	assert_int_equal(answer->answered_ns, r->now);
	assert_false(waits(r, ticket));
	return answer;
}

void granted(const struct rig *r, u64 ticket, u64 generation)
{
	const struct pull_ticket *k = answer_of(r, ticket);
	struct fence_transfer *t;

	assert_int_equal(k->reason, LKVFENCE_REASON_NONE);
	assert_int_equal(k->generation, generation);
	assert_int_equal(fence_lookup(&r->f, generation, &t), 0);
	assert_int_equal(k->nr_slots, t->nr_slots);
	assert_int_equal(k->tag, t->tag);
}

void refused(const struct rig *r, u64 ticket, u64 generation, u32 reason)
{
	const struct pull_ticket *k = answer_of(r, ticket);

	assert_int_equal(k->reason, reason);
	assert_int_equal(k->generation, generation);
	assert_int_equal(k->nr_slots, 0);
}

void forget_answers(struct rig *r)
{
	r->nr_answers = 0;
}

u64 next_deadline(const struct rig *r)
{
	return min(fence_next_deadline(&r->f), pull_next_deadline(&r->p));
}
