// SPDX-License-Identifier: GPL-2.0-only
/*
 * What READY, PULL and WITHDRAW do.
 *
 * A ticket belongs to the handle that asked. It is in the handle's tree while it
 * waits, and in its queue of events once it was answered; it is freed when that
 * was read, or with the handle. What was granted is the transfer's, and stays.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "calls.h"
#include "event.h"
#include "main.h"
#include "region.h"
#include "ticket.h"

static atomic64_t last_ticket;

/*
 * Memory
 */

struct pull_offer *offer_alloc(void)
{
	struct pull_offer *o = kmalloc(sizeof(*o), GFP_CHARGED);

	if (!o)
		return NULL;
	pull_offer_init(o);
	object_created(OBJECT_OFFER);
	return o;
}

void offer_free(struct pull_offer *o)
{
	kfree(o);
	object_destroyed(OBJECT_OFFER);
}

static struct ticket *ticket_alloc(struct handle *h, u32 source)
{
	struct ticket *k = kmalloc(sizeof(*k), GFP_CHARGED);
	struct fence_lease *lease = lease_alloc();

	if (!k || !lease) {
		if (lease)
			lease_free(lease);
		kfree(k);
		return NULL;
	}
	pull_ticket_init(&k->pull);
	lease->source = source;
	k->pull.lease = lease;
	k->owner = h;
	RB_CLEAR_NODE(&k->by_number);
	INIT_LIST_HEAD(&k->unread);
	object_created(OBJECT_TICKET);
	return k;
}

static void ticket_free(struct ticket *k)
{
	if (k->pull.lease)
		lease_free(k->pull.lease);
	kfree(k);
	object_destroyed(OBJECT_TICKET);
}

/*
 * A handle's tickets, by number
 */

/* Numbers rise under the region's lock: a new one goes behind all others. */
static void add_ticket(struct handle *h, struct ticket *k)
{
	struct rb_node **link = &h->tickets.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = &parent->rb_right;
	}
	rb_link_node(&k->by_number, parent, link);
	rb_insert_color(&k->by_number, &h->tickets);
}

static struct ticket *find_ticket(const struct handle *h, u64 number)
{
	struct rb_node *n = h->tickets.rb_node;

	while (n) {
		struct ticket *k = rb_entry(n, struct ticket, by_number);

		if (number == k->pull.number)
			return k;
		n = number < k->pull.number ? n->rb_left : n->rb_right;
	}
	return NULL;
}

/*
 * Events
 */

void ticket_describe(const struct ticket *k, struct lkvfence_event *e)
{
	const struct pull_ticket *pull = &k->pull;

	*e = (struct lkvfence_event) {
		.generation	= pull->generation,
		.tag		= pull->tag,
		.time_ns	= pull->answered_ns,
		.ticket		= pull->number,
		.type		= pull->reason == LKVFENCE_REASON_NONE ?
				  LKVFENCE_EVENT_GRANTED : LKVFENCE_EVENT_REFUSED,
		.reason		= pull->reason,
		.nr_slots	= pull->nr_slots,
	};
}

void ticket_consume(struct ticket *k)
{
	list_del(&k->unread);
	event_removed(k->owner);
	ticket_free(k);
}

void tickets_settle(struct region *r)
{
	struct pull_ticket *pull;
	struct pull_offer *o;

	lockdep_assert_held(&r->lock);
	while ((pull = pull_news(&r->pulls))) {
		struct ticket *k = to_ticket(pull);

		rb_erase(&k->by_number, &k->owner->tickets);
		list_add_tail(&k->unread, &k->owner->unread_tickets);
		event_added(k->owner);
	}
	while ((o = pull_forgotten(&r->pulls)))
		offer_free(o);
}

u32 tickets_leave(struct handle *h, u32 max)
{
	struct rb_node *n;
	u32 nr = 0;

	lockdep_assert_held(&h->region->lock);
	for (; nr < max && (n = rb_first(&h->tickets)); nr++) {
		struct ticket *k = rb_entry(n, struct ticket, by_number);

		rb_erase(n, &h->tickets);
		pull_close(&h->region->pulls, &k->pull);
		ticket_free(k);
	}
	for (; nr < max && !list_empty(&h->unread_tickets); nr++)
		ticket_consume(list_first_entry(&h->unread_tickets,
						struct ticket, unread));
	return nr;
}

/*
 * Calls
 */

int call_ready(struct handle *h, void *argp)
{
	struct pull_limits limits = param_pull_limits();
	struct lkvfence_ready *arg = argp;
	struct region *r = h->region;
	struct fence_transfer *t;
	int err;

	if (arg->flags || arg->pad)
		return -EINVAL;
	if (!is_timeout(arg->ttl_ns) || arg->consumers > MAX_LEASES)
		return -ERANGE;
	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &t);
	if (!err)
		err = pull_ready(&r->pulls, t, arg->ttl_ns, arg->consumers,
				 &limits, ktime_get_ns());
	if (!err) {
		arg->deadline_ns = t->clock.expires;
		region_settle(r, h, 0);
	}
	mutex_unlock(&r->lock);
	return err;
}

/* The tag of a generation that is to be pulled. */
static int find_exact(struct region *r, struct lkvfence_pull *arg)
{
	struct fence_transfer *t;
	int err = fence_lookup(&r->fence, arg->generation, &t);

	if (err)
		return err == -ESTALE ? 0 : err;
	if (!t->offered)
		return -EINVAL;
	arg->tag = t->tag;
	return 0;
}

static int ask(struct handle *h, struct ticket *k, struct lkvfence_pull *arg)
{
	struct pull_limits limits = param_pull_limits();
	struct region *r = h->region;
	struct pull_ticket *pull = &k->pull;
	bool exact = arg->flags & LKVFENCE_PULL_EXACT;
	int err = exact ? find_exact(r, arg) : 0;

	if (err)
		return err;
	if (r->pulls.nr_tickets >= param_max_pulls() || !room_for(h))
		return -ENOSPC;
	pull->tag = arg->tag;
	pull->generation = arg->generation;
	pull->exact = exact;
	pull->number = atomic64_inc_return(&last_ticket);
	add_ticket(h, k);
	pull_ask(&r->pulls, pull, arg->unclaimed_ns ?: param_unclaimed_ns(),
		 arg->timeout_ns ?: param_limits().default_ns, &limits,
		 ktime_get_ns());
	arg->ticket = pull->number;
	region_settle(r, h, 0);
	return 0;
}

int call_pull(struct handle *h, void *argp)
{
	struct lkvfence_pull *arg = argp;
	struct ticket *k;
	int err;

	if (arg->flags & ~LKVFENCE_PULL_FLAGS || arg->pad)
		return -EINVAL;
	if (!is_timeout(arg->timeout_ns) || !is_timeout(arg->unclaimed_ns))
		return -ERANGE;
	k = ticket_alloc(h, arg->source);
	if (!k)
		return -ENOMEM;
	mutex_lock(&h->region->lock);
	err = ask(h, k, arg);
	mutex_unlock(&h->region->lock);
	if (err)
		ticket_free(k);
	return err;
}

int call_withdraw(struct handle *h, void *argp)
{
	struct lkvfence_withdraw *arg = argp;
	struct region *r = h->region;
	struct ticket *k;

	if (arg->flags)
		return -EINVAL;
	mutex_lock(&r->lock);
	k = find_ticket(h, arg->ticket);
	if (k) {
		pull_withdraw(&r->pulls, &k->pull, ktime_get_ns());
		region_settle(r, h, 0);
	}
	mutex_unlock(&r->lock);
	return k ? 0 : -ENOENT;
}
