// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of transfers and leases.
 */
#include <linux/slab.h>

#include "compat.h"
#include "main.h"
#include "region.h"

/*
 * Bytes of a small transfer: about 8 ranges and 3 leases, or one of the two
 * and more of the other. And how many of them a handle keeps, beside the hot one.
 */
#define SMALL		512
#define MAX_SPARE	63

static size_t transfer_size(u32 nr_ranges, u32 nr_leases)
{
	struct transfer *t;

	BUILD_BUG_ON(offsetof(struct transfer, ranges) % __alignof__(*t->leases));
	BUILD_BUG_ON(sizeof(*t->ranges) % __alignof__(*t->leases));
	/* Both are bounded by MAX_*: no overflow. */
	return struct_size(t, ranges, nr_ranges) + nr_leases * sizeof(*t->leases);
}

static struct transfer *take_spare(struct handle *h)
{
	struct transfer *t = xchg(&h->hot, NULL);

	if (likely(t))
		return t;
	spin_lock(&h->spare_lock);
	t = list_first_entry_or_null(&h->spare, struct transfer, owned);
	if (t) {
		list_del(&t->owned);
		h->nr_spare--;
	}
	spin_unlock(&h->spare_lock);
	return t;
}

/* False if the handle has enough. */
static bool keep_spare(struct handle *h, struct transfer *t)
{
	bool room;

	if (likely(!cmpxchg(&h->hot, NULL, t)))
		return true;
	spin_lock(&h->spare_lock);
	room = h->nr_spare < MAX_SPARE;
	if (room) {
		list_add(&t->owned, &h->spare);
		h->nr_spare++;
	}
	spin_unlock(&h->spare_lock);
	return room;
}

/* Small ones are all of one size, so that each can be used for another. */
static struct transfer *alloc(struct handle *h, size_t size)
{
	struct transfer *t = NULL;

	if (size <= SMALL) {
		size = SMALL;
		t = take_spare(h);
	}
	if (!t) {
		t = kvmalloc(size, GFP_CHARGED);
		if (t)
			object_created(OBJECT_TRANSFER);
	}
	return t;
}

static void destroy(struct transfer *t)
{
	kvfree(t);
	object_destroyed(OBJECT_TRANSFER);
}

void transfers_forget_spare(struct handle *h)
{
	struct transfer *t;

	while ((t = take_spare(h)))
		destroy(t);
}

struct transfer *transfer_alloc(struct handle *h, u32 nr_ranges, u32 nr_leases)
{
	size_t size = transfer_size(nr_ranges, nr_leases);
	struct transfer *t = alloc(h, size);

	if (!t)
		return NULL;
	/* What follows is set here, by the caller, or when it is begun. */
	memset(t, 0, offsetofend(struct transfer, owner));
	t->pending = 0;
	t->member = NULL;
	t->small = size <= SMALL;
	fence_transfer_init(&t->fence);
	t->fence.ranges = t->ranges;
	t->fence.nr_ranges = nr_ranges;
	INIT_LIST_HEAD(&t->owned);
	INIT_LIST_HEAD(&t->unread);
	t->nr_leases = nr_leases;
	t->leases = (struct fence_lease *)&t->ranges[nr_ranges];
	return t;
}

/* Free the leases that were allocated one by one. */
static void free_taken(struct transfer *t)
{
	struct fence_lease *lease, *next;

	rbtree_postorder_for_each_entry_safe(lease, next, &t->fence.leases, node) {
		if (lease < t->leases || lease >= t->leases + t->nr_leases)
			lease_free(lease);
	}
}

void transfer_free(struct transfer *t, struct handle *h)
{
	if (t->fence.nr_leases > t->nr_leases)
		free_taken(t);
	if (!h || !t->small || !keep_spare(h, t))
		destroy(t);
}

struct fence_lease *lease_alloc(void)
{
	struct fence_lease *lease = kmalloc(sizeof(*lease), GFP_CHARGED);

	if (lease)
		object_created(OBJECT_LEASE);
	return lease;
}

void lease_free(struct fence_lease *lease)
{
	kfree(lease);
	object_destroyed(OBJECT_LEASE);
}
