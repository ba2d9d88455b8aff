/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fence.c finds things: trees, the map of slots, and the lists of what is
 * bound. Only fence.c includes this; the functions are here so that they are
 * compiled as part of it.
 */
#ifndef LKVFENCE_FENCE_INDEX_H
#define LKVFENCE_FENCE_INDEX_H

#include <linux/bitmap.h>
#include <linux/errno.h>

#include "fence.h"

/*
 * Trees. Generations, tags and sources are unique among the members of theirs.
 */

static struct fence_lease *find_lease(const struct fence_transfer *t, u32 source)
{
	struct rb_node *n = t->leases.rb_node;

	while (n) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (source == l->source)
			return l;
		n = source < l->source ? n->rb_left : n->rb_right;
	}
	return NULL;
}

/* False if the source is there already. */
static bool add_source(struct fence *f, struct fence_source *new, u32 source)
{
	struct rb_node **link = &f->sources.rb_node, *parent = NULL;

	while (*link) {
		struct fence_source *s = rb_entry(*link, struct fence_source, node);

		parent = *link;
		if (source == s->source)
			return false;
		link = source < s->source ? &parent->rb_left : &parent->rb_right;
	}
	new->source = source;
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &f->sources);
	return true;
}

/* Grant a lease. False if the source has, or had, one. */
static bool add_lease(struct fence_transfer *t, struct fence_lease *lease)
{
	struct rb_node **link = &t->leases.rb_node, *parent = NULL;

	while (*link) {
		struct fence_lease *l = rb_entry(*link, struct fence_lease, node);

		parent = *link;
		if (lease->source == l->source)
			return false;
		link = lease->source < l->source ? &parent->rb_left :
						   &parent->rb_right;
	}
	lease->state = LKVFENCE_LEASE_OUT;
	lease->evidence = LKVFENCE_EVIDENCE_NONE;
	lease->bound = NULL;
	lease->pulled = false;
	rb_link_node(&lease->node, parent, link);
	rb_insert_color(&lease->node, &t->leases);
	t->nr_leases++;
	t->unproven++;
	return true;
}

struct fence_source *fence_find_source(const struct fence *f, u32 source)
{
	struct rb_node *n = f->sources.rb_node;

	while (n) {
		struct fence_source *s = rb_entry(n, struct fence_source, node);

		if (source == s->source)
			return s;
		n = source < s->source ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static struct fence_transfer *find_generation(const struct fence *f,
					      u64 generation)
{
	struct rb_node *n = f->transfers.rb_root.rb_node;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_generation);

		if (generation == t->generation)
			return t;
		n = generation < t->generation ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static void add_generation(struct fence *f, struct fence_transfer *t)
{
	struct rb_node **link = &f->transfers.rb_root.rb_node, *parent = NULL;

	/* Generations rise: a new one goes behind all others. */
	while (*link) {
		parent = *link;
		link = &parent->rb_right;
	}
	rb_link_node(&t->by_generation, parent, link);
	rb_insert_color_cached(&t->by_generation, &f->transfers, !parent);
}

struct fence_transfer *fence_find_tag(const struct fence *f, u64 tag)
{
	struct rb_node *n = f->tags.rb_node;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_tag);

		if (tag == t->tag)
			return t;
		n = tag < t->tag ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static void add_tag(struct fence *f, struct fence_transfer *new)
{
	struct rb_node **link = &f->tags.rb_node, *parent = NULL;

	while (*link) {
		struct fence_transfer *t =
			rb_entry(*link, struct fence_transfer, by_tag);

		parent = *link;
		link = new->tag < t->tag ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_tag, parent, link);
	rb_insert_color(&new->by_tag, &f->tags);
}

struct fence_transfer *fence_find_slot(const struct fence *f, u32 slot)
{
	return test_bit(slot, f->taken) ? find_generation(f, f->owner[slot]) :
					  NULL;
}

struct fence_transfer *fence_find_next(const struct fence *f, u64 generation)
{
	struct rb_node *n = f->transfers.rb_root.rb_node;
	struct fence_transfer *next = NULL;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_generation);

		if (t->generation > generation) {
			next = t;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return next;
}

int fence_lookup(const struct fence *f, u64 generation,
		 struct fence_transfer **t)
{
	*t = find_generation(f, generation);
	if (*t)
		return 0;
	/* L5. 0 is no generation, so that a zeroed message isn't "stale". */
	return generation && generation <= f->last_generation ? -ESTALE : -ENOENT;
}

#define for_each_lease(t, n)	\
	for (n = rb_first(&(t)->leases); n; n = rb_next(n))

static struct fence_lease *to_lease(struct rb_node *n)
{
	return rb_entry(n, struct fence_lease, node);
}

/*
 * Slots (L1): all of a transfer's, or none
 */

/* Give the first @nr ranges of a transfer that wasn't admitted back. */
static void undo_take(struct fence *f, const struct fence_transfer *t, u32 nr)
{
	while (nr--)
		bitmap_clear(f->taken, t->ranges[nr].first, t->ranges[nr].count);
}

static int take_slots(struct fence *f, struct fence_transfer *t, u32 *slot)
{
	u32 i;

	t->nr_slots = 0;
	for (i = 0; i < t->nr_ranges; i++) {
		const struct lkvfence_range *r = &t->ranges[i];
		u64 past = (u64)r->first + r->count;
		u32 busy;
		int err;

		if (!r->count || past > f->nr_slots) {
			undo_take(f, t, i);
			return r->count ? -ERANGE : -EINVAL;
		}
		busy = find_next_bit(f->taken, past, r->first);
		if (busy < past) {
			undo_take(f, t, i);
			*slot = busy;
			/* Free now: this very transfer had named it before. */
			err = test_bit(busy, f->taken) ? -EBUSY : -EINVAL;
			return err;
		}
		bitmap_set(f->taken, r->first, r->count);
		t->nr_slots += r->count;
	}
	return 0;
}

/*
 * Bound leases
 */

/* The lease counts for its source from now on. */
static void attach(struct fence_transfer *t, struct fence_lease *lease)
{
	lease->transfer = t;
	INIT_LIST_HEAD(&lease->of_source);
	list_add_tail(&lease->of_source, &lease->bound->leases);
	lease->bound->nr_leases++;
	t->nr_bound++;
}

static void attach_all(struct fence_transfer *t)
{
	struct rb_node *n;

	for_each_lease(t, n) {
		if (to_lease(n)->bound)
			attach(t, to_lease(n));
	}
}

/* The lease is proven, or its transfer released: its source is done with it. */
static void detach(struct fence *f, struct fence_transfer *t,
		   struct fence_lease *lease)
{
	if (!lease->bound)
		return;
	list_del_init(&lease->of_source);
	if (!--lease->bound->nr_leases)
		f->source_idle = true;
	lease->bound = NULL;
	t->nr_bound--;
}

static void detach_all(struct fence *f, struct fence_transfer *t)
{
	struct rb_node *n;

	for_each_lease(t, n)
		detach(f, t, to_lease(n));
}

#endif /* LKVFENCE_FENCE_INDEX_H */
