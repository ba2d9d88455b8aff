// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be asked of a handle. Each call checks its arguments, locks the
 * region, asks the fence, settles what came of it, and fills in the answer.
 */
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "calls.h"
#include "compat.h"
#include "main.h"
#include "region.h"
#include "ticket.h"
#include "words.h"

/* Returns handled per taking of the region's lock; they are on the stack. */
#define RETURN_BATCH	16
/* Sources copied in one go; likewise. */
#define SOURCE_BATCH	16
/* Ranges that are copied as words; more of them go faster in one piece. */
#define RANGE_WORDS	8

/*
 * STAT
 */

int call_stat(struct handle *h, void *argp)
{
	struct lkvfence_stat *arg = argp;
	u32 size = arg->size;

	if (arg->flags)
		return -EINVAL;
	region_stat(h->region, arg);
	arg->size = size;
	return 0;
}

/*
 * BEGIN, HOLD
 */

bool is_policy(u32 policy)
{
	const u32 revokes = LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW;

	return (policy & ~revokes) <= LKVFENCE_POLICY_QUARANTINE;
}

bool is_abort_reason(u32 reason)
{
	return !reason || reason == LKVFENCE_REASON_DROPPED ||
	       (reason >= LKVFENCE_REASON_ABORTED &&
		reason <= LKVFENCE_REASON_SHUTDOWN);
}

u32 abort_reason(u32 reason)
{
	return reason ?: LKVFENCE_REASON_ABORTED;
}

bool is_timeout(u64 ns)
{
	return !ns || (ns >= param_timeout_min_ns() && ns <= param_limits().max_ns);
}

static int check_begin(const struct lkvfence_begin *arg, bool hold)
{
	if (arg->flags & ~LKVFENCE_BEGIN_FLAGS || !arg->nr_ranges ||
	    !is_policy(arg->policy))
		return -EINVAL;
	if (hold ? arg->flags || arg->ttl_ns || !is_abort_reason(arg->reason) :
		   arg->timeout_ns || arg->reason)
		return -EINVAL;
	if (arg->nr_ranges > MAX_RANGES || arg->nr_sources > MAX_LEASES ||
	    !is_timeout(arg->ttl_ns) || !is_timeout(arg->timeout_ns))
		return -ERANGE;
	return 0;
}

/* Grant the leases that @arg names, before the fence knows the transfer. */
static int copy_sources(struct transfer *t, const struct lkvfence_begin *arg)
{
	u32 __user *from = u64_to_user_ptr(arg->sources);
	u32 sources[SOURCE_BATCH] __no_init;
	u32 i, nr, done;
	int err;

	for (done = 0; done < arg->nr_sources; done += nr) {
		nr = min_t(u32, arg->nr_sources - done, SOURCE_BATCH);
		if (copy_from_user(sources, from + done, nr * sizeof(*sources)))
			return -EFAULT;
		for (i = 0; i < nr; i++) {
			struct fence_lease *lease = &t->leases[done + i];

			lease->source = sources[i];
			err = fence_transfer_lease(&t->fence, lease);
			if (err)
				return err;
		}
	}
	return 0;
}

static int copy_ranges(struct transfer *t, const void __user *from)
{
	u32 nr = t->fence.nr_ranges;

	BUILD_BUG_ON(sizeof(*t->ranges) != sizeof(u64));
	if (nr <= RANGE_WORDS)
		return words_from_user((u64 *)t->ranges, from, nr);
	return copy_from_user(t->ranges, from, nr * sizeof(*t->ranges)) ?
	       -EFAULT : 0;
}

static struct transfer *copy_transfer(struct handle *h,
				      const struct lkvfence_begin *arg)
{
	struct transfer *t = transfer_alloc(h, arg->nr_ranges, arg->nr_sources);
	int err;

	if (!t)
		return ERR_PTR(-ENOMEM);
	t->fence.tag = arg->tag;
	t->fence.ttl_ns = arg->ttl_ns;
	t->fence.policy = arg->policy;
	t->pid = current->tgid;
	/* For people to read: renaming meanwhile may mix two names, no more. */
	memcpy(t->comm, current->group_leader->comm, sizeof(t->comm) - 1);
	t->comm[sizeof(t->comm) - 1] = '\0';

	err = copy_ranges(t, u64_to_user_ptr(arg->ranges));
	if (!err)
		err = copy_sources(t, arg);
	if (err) {
		transfer_free(t, h);
		return ERR_PTR(err);
	}
	return t;
}

u32 room_for(const struct handle *h)
{
	u32 max = param_max_transfers();

	lockdep_assert_held(&h->region->lock);
	return h->nr_unread < max ? max : 0;
}

/* May it have its slots? Where not, @arg says what is in the way. */
static int admit(struct handle *h, struct transfer *t, struct lkvfence_begin *arg)
{
	struct region *r = h->region;
	struct fence_refusal why __no_init;
	int err;

	if (unlikely(t->fence.offered)) {
		err = pull_may_offer(&r->pulls, arg->tag);
		if (err)
			return err;
	}
	err = fence_admit(&r->fence, &t->fence, room_for(h), &why);
	if (err) {
		arg->busy_generation = why.generation;
		arg->busy_tag = why.tag;
		arg->busy_slot = why.slot;
	}
	return err;
}

static int begin(struct handle *h, struct lkvfence_begin *arg, bool hold)
{
	struct region *r = h->region;
	struct pull_offer *offer = NULL;
	struct fence_limits limits;
	struct transfer *t;
	u64 now;
	int err;

	err = check_begin(arg, hold);
	if (err)
		return err;
	t = copy_transfer(h, arg);
	if (IS_ERR(t))
		return PTR_ERR(t);
	if (unlikely(arg->flags & LKVFENCE_BEGIN_OFFER)) {
		offer = offer_alloc();
		if (!offer) {
			transfer_free(t, h);
			return -ENOMEM;
		}
		t->fence.offered = true;
	}

	mutex_lock(&r->lock);
	err = admit(h, t, arg);
	if (!err) {
		now = ktime_get_ns();
		fence_begin(&r->fence, &t->fence, generation_next(), now);
		t->owner = h;
		list_add_tail(&t->owned, &h->transfers);
		if (unlikely(offer))
			pull_offer(&r->pulls, offer, &t->fence);
		if (hold) {
			limits = param_limits();
			fence_abort(&r->fence, &t->fence, abort_reason(arg->reason),
				    LKVFENCE_POLICY_DEFAULT, arg->timeout_ns,
				    &limits, now);
		}
		arg->generation = t->fence.generation;
		arg->state = t->fence.state;
		/* Without these there is neither news nor a deadline. */
		if (hold || arg->ttl_ns || offer)
			region_settle(r, h, FENCE_NEWS_ENDED);
	}
	mutex_unlock(&r->lock);

	if (err) {
		if (offer)
			offer_free(offer);
		transfer_free(t, h);
	}
	return err;
}

int call_begin(struct handle *h, void *argp)
{
	return begin(h, argp, false);
}

int call_hold(struct handle *h, void *argp)
{
	return begin(h, argp, true);
}

/*
 * TAKE
 */

int call_take(struct handle *h, void *argp)
{
	struct lkvfence_take *arg = argp;
	struct region *r = h->region;
	struct fence_lease *lease;
	struct fence_transfer *t;
	int err;

	if (arg->flags || arg->pad)
		return -EINVAL;
	lease = lease_alloc();
	if (!lease)
		return -ENOMEM;
	lease->source = arg->source;

	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &t);
	if (!err)
		err = fence_take(&r->fence, t, lease, MAX_LEASES, ktime_get_ns());
	if (!err)
		region_settle(r, h, 0);
	mutex_unlock(&r->lock);

	if (err)
		lease_free(lease);
	return err;
}

/*
 * RETURN
 */

static u32 return_some(struct handle *h, struct lkvfence_return_item *items, u32 nr)
{
	struct region *r = h->region;
	u32 i, accepted = 0;
	bool released;

	mutex_lock(&r->lock);
	for (i = 0; i < nr; i++) {
		struct lkvfence_return_item *item = &items[i];

		item->result = fence_return(&r->fence, item->generation,
					    item->source, item->status,
					    item->evidence, ktime_get_ns(),
					    &released);
		item->released = released;
		accepted += !item->result;
	}
	region_settle(r, h, 0);
	mutex_unlock(&r->lock);
	return accepted;
}

int call_return(struct handle *h, void *argp)
{
	struct lkvfence_return *arg = argp;
	struct lkvfence_return_item __user *uitems = u64_to_user_ptr(arg->items);
	struct lkvfence_return_item items[RETURN_BATCH] __no_init;
	u32 nr, done;

	if (arg->flags || !arg->nr_items)
		return -EINVAL;
	if (arg->nr_items > MAX_RANGES)
		return -ERANGE;

	arg->nr_accepted = 0;
	for (done = 0; done < arg->nr_items; done += nr) {
		nr = min_t(u32, arg->nr_items - done, RETURN_BATCH);
		if (copy_from_user(items, uitems + done, nr * sizeof(*items)))
			return -EFAULT;
		arg->nr_accepted += return_some(h, items, nr);
		if (copy_to_user(uitems + done, items, nr * sizeof(*items)))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

/*
 * QUERY
 */

static struct fence_transfer *find(struct fence *f, const struct lkvfence_query *arg)
{
	struct fence_transfer *t = NULL;
	int err = 0;

	switch (arg->by) {
	case LKVFENCE_QUERY_GENERATION:
		err = fence_lookup(f, arg->generation, &t);
		break;
	case LKVFENCE_QUERY_TAG:
		t = fence_find_tag(f, arg->tag);
		break;
	case LKVFENCE_QUERY_SLOT:
		if (arg->slot >= f->nr_slots)
			return ERR_PTR(-ERANGE);
		t = fence_find_slot(f, array_index_nospec(arg->slot, f->nr_slots));
		break;
	case LKVFENCE_QUERY_NEXT:
		t = fence_find_next(f, arg->generation);
		break;
	default:
		return ERR_PTR(-EINVAL);
	}
	if (err)
		return ERR_PTR(err);
	return t ?: ERR_PTR(-ENOENT);
}

static void describe(const struct fence_transfer *ft, const struct handle *h,
		     struct lkvfence_query *arg)
{
	const struct transfer *t = container_of(ft, struct transfer, fence);

	arg->generation = ft->generation;
	arg->tag = ft->tag;
	arg->state = ft->state;
	arg->policy = fence_policy(ft);
	arg->reason = ft->reason;
	arg->flags = (ft->quarantined ? LKVFENCE_TRANSFER_QUARANTINED : 0) |
		     (t->owner ? 0 : LKVFENCE_TRANSFER_ORPHANED) |
		     (ft->revoking ? LKVFENCE_TRANSFER_REVOKING : 0) |
		     (fence_revocable(ft) ? LKVFENCE_TRANSFER_REVOCABLE : 0) |
		     (ft->offered ? LKVFENCE_TRANSFER_OFFERED : 0) |
		     (ft->grouped ? LKVFENCE_TRANSFER_GROUPED : 0) |
		     (ft->gathered ? LKVFENCE_TRANSFER_GATHERED : 0) |
		     (t->owner == h ? LKVFENCE_TRANSFER_MINE : 0);
	arg->nr_slots = ft->nr_slots;
	arg->begun_ns = ft->begun_ns;
	arg->ended_ns = ft->ended_ns;
	arg->deadline_ns = ft->clock.expires;
	arg->now_ns = ktime_get_ns();
	arg->nr_ranges = ft->nr_ranges;
	arg->nr_leases = ft->nr_leases;
	arg->leases_out = ft->unproven;
	arg->pid = t->pid;
	memcpy(arg->comm, t->comm, sizeof(arg->comm));
}

static u32 list_leases(const struct fence_transfer *t,
		       struct lkvfence_lease *to, u32 room)
{
	struct rb_node *n = rb_first(&t->leases);
	u32 i;

	for (i = 0; i < room && n; i++, n = rb_next(n)) {
		const struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		to[i] = (struct lkvfence_lease) {
			.source		= l->source,
			.state		= l->state,
			.evidence	= l->evidence,
		};
	}
	return i;
}

/* What a query brings along, copied under the lock. */
struct query_room {
	struct lkvfence_range *ranges;
	struct lkvfence_lease *leases;
	u32 nr_ranges;
	u32 nr_leases;
};

static int query_find(struct handle *h, struct lkvfence_query *arg,
		      struct query_room *room)
{
	struct region *r = h->region;
	struct fence_transfer *t;

	mutex_lock(&r->lock);
	t = find(&r->fence, arg);
	if (!IS_ERR(t)) {
		describe(t, h, arg);
		room->nr_ranges = min(room->nr_ranges, t->nr_ranges);
		if (room->nr_ranges)
			memcpy(room->ranges, t->ranges,
			       room->nr_ranges * sizeof(*t->ranges));
		room->nr_leases = list_leases(t, room->leases, room->nr_leases);
	}
	mutex_unlock(&r->lock);
	return PTR_ERR_OR_ZERO(t);
}

int call_query(struct handle *h, void *argp)
{
	struct lkvfence_query *arg = argp;
	struct query_room room = {
		.nr_ranges	= arg->nr_ranges,
		.nr_leases	= arg->nr_leases,
	};
	int err = -ENOMEM;

	if (arg->nr_ranges > MAX_RANGES || arg->nr_leases > MAX_LEASES)
		return -ERANGE;
	if (room.nr_ranges)
		room.ranges = kvmalloc_array(room.nr_ranges, sizeof(*room.ranges),
					     GFP_CHARGED);
	if (room.nr_leases)
		room.leases = kvmalloc_array(room.nr_leases, sizeof(*room.leases),
					     GFP_CHARGED);
	if ((room.nr_ranges && !room.ranges) || (room.nr_leases && !room.leases))
		goto out;

	err = query_find(h, arg, &room);
	if (err)
		goto out;
	if (copy_to_user(u64_to_user_ptr(arg->ranges), room.ranges,
			 room.nr_ranges * sizeof(*room.ranges)) ||
	    copy_to_user(u64_to_user_ptr(arg->leases), room.leases,
			 room.nr_leases * sizeof(*room.leases)))
		err = -EFAULT;
out:
	kvfree(room.leases);
	kvfree(room.ranges);
	return err;
}

/*
 * ADOPT
 */

int call_adopt(struct handle *h, void *argp)
{
	struct lkvfence_adopt *arg = argp;
	struct region *r = h->region;
	struct fence_transfer *ft;
	struct transfer *t;
	int err;

	if (arg->flags)
		return -EINVAL;
	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &ft);
	if (!err) {
		t = to_transfer(ft);
		if (t->owner) {
			err = t->owner == h ? -EALREADY : -EBUSY;
		} else if (!room_for(h)) {
			err = -ENOSPC;
		} else {
			t->owner = h;
			list_add_tail(&t->owned, &h->transfers);
		}
	}
	mutex_unlock(&r->lock);
	return err;
}

/*
 * REPORT
 */

int call_report(struct handle *h, void *argp)
{
	struct lkvfence_report *arg = argp;
	struct region *r = h->region;
	int err;

	if (arg->flags || !arg->nr_slots)
		return -EINVAL;
	mutex_lock(&r->lock);
	err = fence_report(&r->fence, arg->generation, arg->kind);
	if (!err)
		region_log_report(r, arg);
	mutex_unlock(&r->lock);
	return err;
}
