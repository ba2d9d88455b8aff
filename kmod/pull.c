// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tickets, offers and tombstones.
 *
 *	pull_ask()                            pull_offer()
 *	    |     no such offer                    |
 *	    +-----> unclaimed ----- claimed -----> | waiting for READY
 *	    |           |                          |
 *	    |     pull_expire(),            pull_ready(), pull_over(),
 *	    |     pull_abort_*()               pull_expire()
 *	    |           |                          |
 *	    +-----------+----------> answer() <----+
 *	                      the one answer of a ticket (L6)
 *
 * A ticket waits in exactly one place: among the unclaimed ones, or in the list
 * of an offer, and is on the clock as long (L8). answer() takes it out of both,
 * so it can't be answered twice; and whatever ends an offer answers all of its
 * list, so none stays behind.
 *
 * What waits has no lease, and holds no slot. A grant is a lease like any other:
 * from then on it is the fence that keeps the slots (L2).
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "pull.h"

/*
 * Offers by tag: the last one of each
 */

static struct pull_offer *find_offer(const struct pulls *p, u64 tag)
{
	struct rb_node *n = p->offers.rb_node;

	while (n) {
		struct pull_offer *o = rb_entry(n, struct pull_offer, by_tag);

		if (tag == o->tag)
			return o;
		n = tag < o->tag ? n->rb_left : n->rb_right;
	}
	return NULL;
}

/* The tag has none. */
static void add_offer(struct pulls *p, struct pull_offer *new)
{
	struct rb_node **link = &p->offers.rb_node, *parent = NULL;

	while (*link) {
		struct pull_offer *o = rb_entry(*link, struct pull_offer, by_tag);

		parent = *link;
		link = new->tag < o->tag ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_tag, parent, link);
	rb_insert_color(&new->by_tag, &p->offers);
	p->active = true;
}

static bool is_early(const struct pull_offer *o)
{
	return !o->generation;
}

/* It is the caller's again; nothing waits for it. */
static void drop(struct pulls *p, struct pull_offer *o)
{
	rb_erase(&o->by_tag, &p->offers);
	list_move_tail(&o->grave, &p->forgotten);
}

/* A tombstone goes. */
static void forget(struct pulls *p, struct pull_offer *o)
{
	if (is_early(o))
		p->nr_early--;
	else
		p->nr_dead--;
	drop(p, o);
}

/* L8: tombstones are bounded in number and in time. */
static void bury(struct pulls *p, struct pull_offer *o, u32 reason,
		 const struct pull_limits *limits, u64 now)
{
	struct list_head *graves = is_early(o) ? &p->early : &p->dead;
	u32 *nr = is_early(o) ? &p->nr_early : &p->nr_dead;

	o->transfer = NULL;
	o->reason = reason;
	o->forget_ns = now + limits->tombstone_ns;
	list_add_tail(&o->grave, graves);
	++*nr;
	while (*nr > limits->max_tombstones)
		forget(p, list_first_entry(graves, struct pull_offer, grave));
}

/* The tag is used anew. */
static void replace(struct pulls *p, struct pull_offer *o)
{
	struct pull_offer *old = find_offer(p, o->tag);

	if (old)
		forget(p, old);
	add_offer(p, o);
}

/*
 * Tickets
 */

/* Behind all others of its tag. */
static void add_unclaimed(struct pulls *p, struct pull_ticket *new)
{
	struct rb_node **link = &p->unclaimed.rb_node, *parent = NULL;

	while (*link) {
		struct pull_ticket *k = rb_entry(*link, struct pull_ticket, by_tag);

		parent = *link;
		link = new->tag < k->tag ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_tag, parent, link);
	rb_insert_color(&new->by_tag, &p->unclaimed);
}

static struct pull_ticket *to_ticket(struct rb_node *n)
{
	return rb_entry_safe(n, struct pull_ticket, by_tag);
}

/* The oldest of the unclaimed ones of a tag. */
static struct pull_ticket *first_unclaimed(const struct pulls *p, u64 tag)
{
	struct rb_node *n = p->unclaimed.rb_node;
	struct pull_ticket *first = NULL;

	while (n) {
		struct pull_ticket *k = rb_entry(n, struct pull_ticket, by_tag);

		if (k->tag == tag)
			first = k;
		n = k->tag < tag ? n->rb_right : n->rb_left;
	}
	return first;
}

/* The next one of its tag; to be asked for before @k leaves its place. */
static struct pull_ticket *next_unclaimed(struct pull_ticket *k)
{
	struct pull_ticket *next = to_ticket(rb_next(&k->by_tag));

	return next && next->tag == k->tag ? next : NULL;
}

static void set_clock(struct pulls *p, struct pull_ticket *k, u64 when)
{
	if (!RB_EMPTY_NODE(&k->clock.node))
		timerqueue_del(&p->clock, &k->clock);
	k->clock.expires = when;
	timerqueue_add(&p->clock, &k->clock);
}

/* It waits no more. */
static void leave(struct pulls *p, struct pull_ticket *k)
{
	if (k->offer)
		list_del_init(&k->waiting);
	else if (!RB_EMPTY_NODE(&k->by_tag))
		rb_erase(&k->by_tag, &p->unclaimed);
	RB_CLEAR_NODE(&k->by_tag);
	k->offer = NULL;
	if (!RB_EMPTY_NODE(&k->clock.node))
		timerqueue_del(&p->clock, &k->clock);
	p->nr_tickets--;
}

/* The one answer (L6). */
static void answer(struct pulls *p, struct pull_ticket *k, u64 generation,
		   u32 reason, u64 now)
{
	leave(p, k);
	k->generation = generation;
	k->reason = reason;
	/* 0 would say that it wasn't. */
	k->answered_ns = now ?: 1;
	list_add_tail(&k->news, &p->news);
	if (reason == LKVFENCE_REASON_NONE)
		p->counts.pulls_granted++;
	else
		p->counts.pulls_refused++;
}

/* Wait for it to be READY. */
static void claim(struct pulls *p, struct pull_ticket *k, struct pull_offer *o)
{
	if (!RB_EMPTY_NODE(&k->by_tag)) {
		rb_erase(&k->by_tag, &p->unclaimed);
		RB_CLEAR_NODE(&k->by_tag);
	}
	k->offer = o;
	list_add_tail(&k->waiting, &o->tickets);
	set_clock(p, k, k->deadline_ns);
}

/* It is READY: the ticket's source gets its lease, if it may have one. */
static void grant(struct pulls *p, struct pull_ticket *k, struct fence_transfer *t,
		  const struct pull_limits *limits, u64 now)
{
	if (fence_take(p->fence, t, k->lease, limits->max_leases, now)) {
		answer(p, k, t->generation, LKVFENCE_REASON_SOURCE, now);
		return;
	}
	k->lease->pulled = true;
	k->lease = NULL;
	k->nr_slots = t->nr_slots;
	answer(p, k, t->generation, LKVFENCE_REASON_NONE, now);
}

/*
 * Calls
 */

void pulls_init(struct pulls *p, struct fence *f)
{
	memset(p, 0, sizeof(*p));
	p->fence = f;
	p->offers = RB_ROOT;
	p->unclaimed = RB_ROOT;
	timerqueue_init_head(&p->clock);
	INIT_LIST_HEAD(&p->news);
	INIT_LIST_HEAD(&p->dead);
	INIT_LIST_HEAD(&p->early);
	INIT_LIST_HEAD(&p->forgotten);
}

void pull_offer_init(struct pull_offer *o)
{
	memset(o, 0, sizeof(*o));
	INIT_LIST_HEAD(&o->grave);
	INIT_LIST_HEAD(&o->tickets);
}

void pull_ticket_init(struct pull_ticket *k)
{
	memset(k, 0, sizeof(*k));
	RB_CLEAR_NODE(&k->by_tag);
	INIT_LIST_HEAD(&k->waiting);
	timerqueue_init(&k->clock);
	INIT_LIST_HEAD(&k->news);
}

int pull_may_offer(struct pulls *p, u64 tag)
{
	struct pull_offer *o = find_offer(p, tag);

	if (!o || !is_early(o) || o->spent)
		return 0;
	o->spent = true;
	p->counts.refused_early++;
	return -ECANCELED;
}

void pull_offer(struct pulls *p, struct pull_offer *o, struct fence_transfer *t)
{
	struct pull_ticket *k, *next;

	o->transfer = t;
	o->tag = t->tag;
	o->generation = t->generation;
	replace(p, o);
	p->nr_offers++;
	for (k = first_unclaimed(p, o->tag); k; k = next) {
		next = next_unclaimed(k);
		if (o->generation > k->generation)
			claim(p, k, o);
	}
}

int pull_ready(struct pulls *p, struct fence_transfer *t, u64 ttl_ns,
	       u32 consumers, const struct pull_limits *limits, u64 now)
{
	int err = fence_ready(p->fence, t, ttl_ns, consumers, now);
	struct pull_ticket *k, *next;

	if (err)
		return err;
	/* At a renewal none waits. */
	list_for_each_entry_safe(k, next, &find_offer(p, t->tag)->tickets, waiting)
		grant(p, k, t, limits, now);
	return 0;
}

void pull_over(struct pulls *p, struct fence_transfer *t,
	       const struct pull_limits *limits, u64 now)
{
	struct pull_offer *o = find_offer(p, t->tag);
	struct pull_ticket *k, *next;

	list_for_each_entry_safe(k, next, &o->tickets, waiting)
		answer(p, k, o->generation, t->reason, now);
	p->nr_offers--;
	if (o->reason != LKVFENCE_REASON_NONE) {
		/* The tag's next use was aborted meanwhile. */
		o->generation = 0;
		bury(p, o, o->reason, limits, now);
		return;
	}
	/* Nobody is left who could come late. */
	if (t->reason == LKVFENCE_REASON_FINISHED && fence_all_taken(t))
		drop(p, o);
	else
		bury(p, o, t->reason, limits, now);
}

void pull_ask(struct pulls *p, struct pull_ticket *k, u64 unclaimed_ns,
	      u64 timeout_ns, const struct pull_limits *limits, u64 now)
{
	struct pull_offer *o = find_offer(p, k->tag);

	p->active = true;
	p->nr_tickets++;
	p->counts.pulls++;
	k->deadline_ns = now + timeout_ns;
	if (k->exact) {
		if (!o || o->generation != k->generation) {
			answer(p, k, k->generation, LKVFENCE_REASON_UNKNOWN, now);
			return;
		}
	} else if (o && !is_early(o) && o->generation <= k->generation) {
		if (o->transfer && o->reason != LKVFENCE_REASON_NONE) {
			answer(p, k, 0, o->reason, now);
			return;
		}
		o = NULL;
	}

	if (!o) {
		add_unclaimed(p, k);
		set_clock(p, k, min(now + unclaimed_ns, k->deadline_ns));
	} else if (!o->transfer) {
		answer(p, k, o->generation, o->reason, now);
	} else if (o->transfer->state == LKVFENCE_STATE_READY) {
		grant(p, k, o->transfer, limits, now);
	} else {
		claim(p, k, o);
	}
}

void pull_withdraw(struct pulls *p, struct pull_ticket *k, u64 now)
{
	answer(p, k, k->offer ? k->offer->generation : 0,
	       LKVFENCE_REASON_WITHDRAWN, now);
}

void pull_close(struct pulls *p, struct pull_ticket *k)
{
	leave(p, k);
	p->counts.pulls_closed++;
}

static void refuse_unclaimed(struct pulls *p, u64 tag, u32 reason, u64 now)
{
	struct pull_ticket *k, *next;

	for (k = first_unclaimed(p, tag); k; k = next) {
		next = next_unclaimed(k);
		answer(p, k, 0, reason, now);
	}
}

bool pull_abort_early(struct pulls *p, struct pull_offer *o, u64 tag, u64 after,
		      u32 reason, const struct pull_limits *limits, u64 now)
{
	struct pull_offer *old = find_offer(p, tag);

	/* Abort may come twice; the second one must not hit the tag's next use. */
	if (old && (is_early(old) || old->generation > after))
		return false;
	refuse_unclaimed(p, tag, reason, now);
	if (old && old->transfer) {
		/* It is not meant, and keeps its place for as long as it lives. */
		if (old->reason == LKVFENCE_REASON_NONE)
			old->reason = reason;
		return false;
	}
	o->tag = tag;
	replace(p, o);
	bury(p, o, reason, limits, now);
	return true;
}

void pull_abort_all(struct pulls *p, u32 reason, u64 now)
{
	struct rb_node *n;

	while ((n = rb_first(&p->unclaimed)))
		answer(p, to_ticket(n), 0, reason, now);
}

void pull_bury(struct pulls *p)
{
	struct rb_node *n;

	while ((n = rb_first(&p->offers)))
		forget(p, rb_entry(n, struct pull_offer, by_tag));
}

/*
 * The clock
 */

/* Of the tombstones of one kind the first is the oldest. */
static u64 next_grave(const struct list_head *graves)
{
	return list_empty(graves) ? U64_MAX :
	       list_first_entry(graves, struct pull_offer, grave)->forget_ns;
}

static struct pull_ticket *next_ticket(const struct pulls *p)
{
	struct timerqueue_node *first =
		timerqueue_getnext((struct timerqueue_head *)&p->clock);

	return first ? container_of(first, struct pull_ticket, clock) : NULL;
}

u64 pull_next_deadline(const struct pulls *p)
{
	struct pull_ticket *k = next_ticket(p);
	u64 graves = min(next_grave(&p->dead), next_grave(&p->early));

	return k ? min_t(u64, graves, k->clock.expires) : graves;
}

static u32 expire_graves(struct pulls *p, struct list_head *graves, u64 now, u32 max)
{
	u32 nr;

	for (nr = 0; nr < max && next_grave(graves) <= now; nr++)
		forget(p, list_first_entry(graves, struct pull_offer, grave));
	return nr;
}

u32 pull_expire(struct pulls *p, u64 now, u32 max)
{
	struct pull_ticket *k;
	u32 nr;

	for (nr = 0; nr < max && (k = next_ticket(p)); nr++) {
		if ((u64)k->clock.expires > now)
			break;
		answer(p, k, k->offer ? k->offer->generation : 0,
		       k->deadline_ns <= now ? LKVFENCE_REASON_DEADLINE :
					       LKVFENCE_REASON_UNKNOWN, now);
	}
	nr += expire_graves(p, &p->dead, now, max - nr);
	nr += expire_graves(p, &p->early, now, max - nr);
	return nr;
}

/*
 * News
 */

/* Nothing is there any more that would have to be looked after. */
static void rest(struct pulls *p)
{
	if (!p->nr_tickets && RB_EMPTY_ROOT(&p->offers) && list_empty(&p->news) &&
	    list_empty(&p->forgotten))
		p->active = false;
}

struct pull_ticket *pull_news(struct pulls *p)
{
	struct pull_ticket *k;

	k = list_first_entry_or_null(&p->news, struct pull_ticket, news);
	if (k)
		list_del_init(&k->news);
	else
		rest(p);
	return k;
}

struct pull_offer *pull_forgotten(struct pulls *p)
{
	struct pull_offer *o;

	o = list_first_entry_or_null(&p->forgotten, struct pull_offer, grave);
	if (o)
		list_del_init(&o->grave);
	else
		rest(p);
	return o;
}
