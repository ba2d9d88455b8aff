// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions by name, handles on them, transfers in them.
 *
 * A region is in the table while it has handles or unreleased transfers: a
 * crash of everybody who had it open changes nothing (L11), and it goes when
 * the last hold does. It keeps the module loaded as long (L2).
 */
#define pr_fmt(fmt) "lkvfence: " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "event.h"
#include "group.h"
#include "main.h"
#include "region.h"
#include "source.h"
#include "ticket.h"

/* Transfers orphaned before others get the region's lock. */
#define BATCH		64

/* Lines in the log of one region: so many in so long. */
#define LOG_BURST	10
#define LOG_INTERVAL	(60 * HZ)

/* The table. See region.h for the order of locks. */
static DEFINE_MUTEX(regions_lock);
static LIST_HEAD(regions);
static u32 nr_regions;

/* All of them are u64. */
struct counts {
	struct fence_counts fence;
	struct pull_counts pulls;
};

/* Counters of regions that are gone. */
static struct counts retired_counts;

/*
 * News
 */

/* L7. All are counted; a storm of them is not logged line by line. */
static void log_news(struct region *r, const struct fence_transfer *t, u32 bits)
{
	const char *what;

	if (bits & FENCE_NEWS_RELEASED && t->outcome == LKVFENCE_OUTCOME_TIMEOUT)
		what = "released without proof, tainted";
	else if (bits & FENCE_NEWS_QUARANTINED)
		what = "in quarantine, kept";
	else
		return;
	if (__ratelimit(&r->log))
		pr_notice("region %s: generation %llu, tag %llu: %s: %u slots\n",
			  kobject_name(&r->kobj), t->generation, t->tag, what,
			  t->nr_slots);
}

void region_log_report(struct region *r, const struct lkvfence_report *report)
{
	const char *what = "arrived damaged";

	if (report->kind == LKVFENCE_REPORT_STRAY)
		what = "changed while held: a late write that did no harm";
	else if (report->kind == LKVFENCE_REPORT_STRAY_LATE)
		what = "changed after their release without proof";
	if (__ratelimit(&r->log))
		pr_notice("region %s: generation %llu: %u slots %s\n",
			  kobject_name(&r->kobj), report->generation,
			  report->nr_slots, what);
}

/* News that are for the kernel itself. */
#define INNER_NEWS	(FENCE_NEWS_REVOKING | FENCE_NEWS_OVER | FENCE_NEWS_MEMBER)

static void act_on(struct region *r, struct transfer *t, u32 bits)
{
	struct pull_limits limits = param_pull_limits();

	if (bits & FENCE_NEWS_REVOKING)
		sources_revoke(r, &t->fence);
	if (bits & FENCE_NEWS_OVER)
		pull_over(&r->pulls, &t->fence, &limits, ktime_get_ns());
	/* One that is released is no member any more. */
	if (bits & FENCE_NEWS_MEMBER && t->member)
		group_kick(t);
}

void region_settle(struct region *r, const struct handle *caller, u32 mute)
{
	struct fence_transfer *ft;
	u32 bits;

	lockdep_assert_held(&r->lock);
	while ((ft = fence_news(&r->fence, &bits))) {
		struct transfer *t = to_transfer(ft);

		log_news(r, ft, bits);
		if (unlikely(bits & INNER_NEWS)) {
			act_on(r, t, bits);
			bits &= ~INNER_NEWS;
		}
		if (bits & FENCE_NEWS_RELEASED)
			list_del_init(&t->owned);
		if (t->owner)
			event_post(t, t->owner == caller ? bits & ~mute : bits);
		if (bits & FENCE_NEWS_RELEASED && !t->pending)
			transfer_free(t, t->owner);
	}
	if (unlikely(r->fence.source_idle))
		sources_sweep(r);
	if (unlikely(r->pulls.active))
		tickets_settle(r);
	clock_update(r);
}

/*
 * Handles
 */

struct handle *handle_alloc(struct region *r)
{
	struct handle *h = kzalloc(sizeof(*h), GFP_CHARGED);

	if (!h)
		return NULL;
	h->region = r;
	INIT_LIST_HEAD(&h->transfers);
	INIT_LIST_HEAD(&h->unread);
	INIT_LIST_HEAD(&h->sources);
	INIT_LIST_HEAD(&h->unread_sources);
	h->tickets = RB_ROOT;
	INIT_LIST_HEAD(&h->unread_tickets);
	init_waitqueue_head(&h->wait);
	mutex_init(&h->read_lock);
	spin_lock_init(&h->spare_lock);
	INIT_LIST_HEAD(&h->spare);
	object_created(OBJECT_HANDLE);
	return h;
}

/* End what a closing handle owns. True when there is nothing left. */
static bool orphan_some(struct handle *h, const struct fence_limits *limits)
{
	struct region *r = h->region;
	struct transfer *t;
	u32 nr = BATCH;
	bool done;

	mutex_lock(&r->lock);
	sources_leave(h);
	nr -= tickets_leave(h, nr);
	while (nr && !list_empty(&h->transfers)) {
		t = list_first_entry(&h->transfers, struct transfer, owned);
		list_del_init(&t->owned);
		event_forget(t);
		t->owner = NULL;
		/* L4: one that has ended before keeps its deadline. */
		fence_abort(&r->fence, &t->fence, LKVFENCE_REASON_ORPHANED,
			    LKVFENCE_POLICY_DEFAULT, 0, limits, ktime_get_ns());
		nr--;
	}
	/* What is unread now is released: this queue was its last home. */
	while (nr && !list_empty(&h->unread)) {
		t = list_first_entry(&h->unread, struct transfer, unread);
		event_forget(t);
		transfer_free(t, NULL);
		nr--;
	}
	done = nr;
	region_settle(r, NULL, 0);
	mutex_unlock(&r->lock);
	return done;
}

void handle_free(struct handle *h)
{
	struct fence_limits limits = param_limits();

	while (!orphan_some(h, &limits))
		cond_resched();
	/* Nobody owns anything through it any more: no spare comes back. */
	transfers_forget_spare(h);
	mutex_destroy(&h->read_lock);
	kfree(h);
	object_destroyed(OBJECT_HANDLE);
}

/*
 * Regions
 */

static void region_free(struct kobject *kobj)
{
	struct region *r = container_of(kobj, struct region, kobj);

	kvfree(r->fence.owner);
	kvfree(r->fence.taken);
	mutex_destroy(&r->lock);
	kfree(r);
	object_destroyed(OBJECT_REGION);
	/* Whoever got us here is a file's release, or work that exit waits for. */
	module_put(THIS_MODULE);
}

static const struct kobj_type region_type = {
	.sysfs_ops	= &kobj_sysfs_ops,
	.default_groups	= region_groups,
	.release	= region_free,
};

/* A region that nobody can see yet. */
static struct region *region_alloc(const struct lkvfence_open *arg)
{
	unsigned long *taken;
	struct region *r;
	u64 *owner;

	if (!arg->slot_size || !arg->nr_slots)
		return ERR_PTR(-EINVAL);
	if (arg->nr_slots > param_max_slots())
		return ERR_PTR(-ERANGE);

	r = kzalloc(sizeof(*r), GFP_CHARGED);
	taken = kvcalloc(BITS_TO_LONGS(arg->nr_slots), sizeof(*taken),
			 GFP_CHARGED);
	owner = kvmalloc_array(arg->nr_slots, sizeof(*owner), GFP_CHARGED);
	if (!r || !taken || !owner) {
		kvfree(owner);
		kvfree(taken);
		kfree(r);
		return ERR_PTR(-ENOMEM);
	}

	/* From here on region_put() frees it. */
	kobject_init(&r->kobj, (struct kobj_type *)&region_type);
	__module_get(THIS_MODULE);
	object_created(OBJECT_REGION);
	r->uid = current_euid();
	r->gid = current_egid();
	r->mode = arg->mode;
	r->slot_size = arg->slot_size;
	r->base = arg->base;
	mutex_init(&r->lock);
	fence_init(&r->fence, arg->nr_slots, taken, owner);
	pulls_init(&r->pulls, &r->fence);
	/* L5: what was issued before, in a region of this name too, is stale. */
	r->fence.last_generation = generation_last();
	clock_init(r);
	INIT_LIST_HEAD(&r->orphan_sources);
	if (arg->accepts)
		r->fence.accepts = arg->accepts;
	ratelimit_state_init(&r->log, LOG_INTERVAL, LOG_BURST);
	return r;
}

static struct region *find_region(const char *name)
{
	struct region *r;

	list_for_each_entry(r, &regions, node) {
		if (!strcmp(kobject_name(&r->kobj), name))
			return r;
	}
	return NULL;
}

static bool may_open(const struct region *r)
{
	const umode_t both = 06;
	umode_t mode = r->mode;

	if (uid_eq(current_euid(), r->uid))
		mode >>= 6;
	else if (in_egroup_p(r->gid))
		mode >>= 3;
	return (mode & both) == both || capable(CAP_DAC_OVERRIDE);
}

static bool same_geometry(const struct region *r, const struct lkvfence_open *arg)
{
	return (!arg->slot_size || arg->slot_size == r->slot_size) &&
	       (!arg->base || arg->base == r->base) &&
	       (!arg->nr_slots || arg->nr_slots == r->fence.nr_slots);
}

/* Take a handle's reference on a region that is in the table. */
static int region_join(struct region *r, struct lkvfence_open *arg)
{
	bool same;

	if (arg->flags & LKVFENCE_OPEN_EXCLUSIVE)
		return -EEXIST;
	if (!may_open(r))
		return -EACCES;
	same = same_geometry(r, arg);
	arg->slot_size = r->slot_size;
	arg->base = r->base;
	arg->nr_slots = r->fence.nr_slots;
	arg->mode = r->mode;
	arg->accepts = r->fence.accepts;
	if (!same)
		return -ENOTUNIQ;
	region_get(r);
	r->handles++;
	return 0;
}

/* Put a new region into the table, with the reference of its first handle. */
static int region_publish(struct region *r, const char *name)
{
	int err;

	if (nr_regions >= param_max_regions())
		return -ENOSPC;
	err = kobject_add(&r->kobj, regions_kobj, "%s", name);
	if (err)
		return err;
	list_add_tail(&r->node, &regions);
	nr_regions++;
	region_get(r);		/* the first one becomes the table's */
	r->handles = 1;
	return 0;
}

struct region *region_open(struct lkvfence_open *arg)
{
	struct region *r, *new = NULL;
	int err;

	arg->created = 0;
	mutex_lock(&regions_lock);
	r = find_region(arg->name);
	if (!r && arg->flags & LKVFENCE_OPEN_CREATE) {
		/*
		 * Large maps are not allocated under the lock of all; somebody
		 * else may create the region meanwhile, so look again.
		 */
		mutex_unlock(&regions_lock);
		new = region_alloc(arg);
		if (IS_ERR(new))
			return new;
		mutex_lock(&regions_lock);
		r = find_region(arg->name);
	}

	if (r) {
		err = region_join(r, arg);
	} else if (new) {
		r = new;
		err = region_publish(new, arg->name);
		if (!err) {
			arg->accepts = r->fence.accepts;
			arg->created = 1;
			new = NULL;
		}
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&regions_lock);

	if (new)
		region_put(new);
	return err ? ERR_PTR(err) : r;
}

static void add(void *sum, const void *counts, size_t size)
{
	const u64 *from = counts;
	u64 *to = sum;
	size_t i;

	for (i = 0; i < size / sizeof(u64); i++)
		to[i] += from[i];
}

static void add_counts(struct counts *sum, const struct region *r)
{
	BUILD_BUG_ON(sizeof(sum->fence) % sizeof(u64));
	BUILD_BUG_ON(sizeof(sum->pulls) % sizeof(u64));
	add(&sum->fence, &r->fence.counts, sizeof(sum->fence));
	add(&sum->pulls, &r->pulls.counts, sizeof(sum->pulls));
}

static u64 region_alive(struct region *r)
{
	u64 alive;

	mutex_lock(&r->lock);
	alive = r->fence.transfers_alive;
	mutex_unlock(&r->lock);
	return alive;
}

/* There is nobody any more whom tombstones could tell anything. */
static void bury(struct region *r)
{
	mutex_lock(&r->lock);
	pull_bury(&r->pulls);
	tickets_settle(r);
	mutex_unlock(&r->lock);
}

/* Drop @handles handles of a region, and the region itself if unused. */
static void leave(struct region *r, u32 handles)
{
	bool unused, last;

	mutex_lock(&regions_lock);
	r->handles -= handles;
	unused = !r->handles && !r->retired && !region_alive(r);
	/*
	 * Nobody can begin a transfer in it without a handle, nor get a handle
	 * without the table: what was unused stays unused.
	 */
	if (unused) {
		r->retired = true;
		list_del(&r->node);
		nr_regions--;
		bury(r);
		add_counts(&retired_counts, r);
		clock_stop(r);
		/* Waits for readers in sysfs; these take only region->lock. */
		kobject_del(&r->kobj);
	}
	last = unused && !nr_regions;
	mutex_unlock(&regions_lock);
	if (last)
		groups_forget();
	if (unused)
		region_put(r);
}

void region_retire(struct region *r)
{
	leave(r, 0);
}

void region_close(struct region *r)
{
	leave(r, 1);
	region_put(r);
}

/*
 * Statistics
 */

static void copy_counts(struct lkvfence_stat *stat, const struct counts *counts)
{
	const struct fence_counts *c = &counts->fence;
	const struct pull_counts *p = &counts->pulls;

	BUILD_BUG_ON(sizeof(stat->released) != sizeof(c->released));
	stat->begun = c->begun;
	memcpy(stat->released, c->released, sizeof(stat->released));
	stat->returns_drained = c->returns_drained;
	stat->returns_failed = c->returns_failed;
	stat->returns_revoked = c->returns_revoked;
	stat->returns_early = c->returns_early;
	stat->returns_stale = c->returns_stale;
	stat->returns_unknown = c->returns_unknown;
	stat->returns_duplicate = c->returns_duplicate;
	stat->returns_unaccepted = c->returns_unaccepted;
	stat->refused_busy = c->refused_busy;
	stat->refused_exists = c->refused_exists;
	stat->refused_limit = c->refused_limit;
	stat->refused_revoked = c->refused_revoked;
	stat->forced = c->forced;
	stat->revokes = c->revokes;
	stat->revokes_failed = c->revokes_failed;
	BUILD_BUG_ON(sizeof(stat->evidence) != sizeof(c->evidence));
	memcpy(stat->evidence, c->evidence, sizeof(stat->evidence));
	stat->sources_revoked = c->sources_revoked;
	stat->sources_lost = c->sources_lost;
	stat->strays = c->strays;
	stat->strays_late = c->strays_late;
	stat->mismatches = c->mismatches;
	stat->joined = c->joined;
	stat->ended_by_group = c->ended_by_group;
	stat->pulls = p->pulls;
	stat->pulls_granted = p->pulls_granted;
	stat->pulls_refused = p->pulls_refused;
	stat->pulls_closed = p->pulls_closed;
	stat->refused_early = p->refused_early;
}

/* Add one region's gauges to @stat, and its counters to @counts. */
static void sum_region(struct region *r, struct lkvfence_stat *stat,
		       struct counts *counts)
{
	struct fence *f = &r->fence;
	struct fence_transfer *oldest;

	mutex_lock(&r->lock);
	stat->slots += f->nr_slots;
	stat->slots_taken += f->slots_taken;
	stat->slots_held += f->slots_held;
	stat->slots_quarantined += f->slots_quarantined;
	stat->transfers_alive += f->transfers_alive;
	stat->transfers_held += f->transfers_held;
	stat->transfers_quarantined += f->transfers_quarantined;
	stat->sources += f->nr_sources;
	stat->transfers_ready += f->transfers_ready;
	stat->transfers_gathered += f->transfers_gathered;
	stat->tickets += r->pulls.nr_tickets;
	stat->tombstones += r->pulls.nr_dead + r->pulls.nr_early;
	oldest = list_first_entry_or_null(&f->held, struct fence_transfer, held);
	if (oldest)
		stat->oldest_hold_ns = max(stat->oldest_hold_ns,
					   ktime_get_ns() - oldest->ended_ns);
	add_counts(counts, r);
	mutex_unlock(&r->lock);
	/* Changes under regions_lock; one value on its own may be any of them. */
	stat->handles += READ_ONCE(r->handles);
}

void region_stat(struct region *r, struct lkvfence_stat *stat)
{
	struct counts counts = {};

	memset(stat, 0, sizeof(*stat));
	sum_region(r, stat, &counts);
	copy_counts(stat, &counts);
	strscpy(stat->name, kobject_name(&r->kobj), sizeof(stat->name));
	stat->slot_size = r->slot_size;
	stat->base = r->base;
}

/*
 * References to all regions there are, and the counters of those that are
 * gone, of one instant: a region that goes from now on is still counted once.
 */
static struct region **all_regions(u32 *nr, struct counts *gone)
{
	struct region **all, *r;
	u32 i = 0;

	mutex_lock(&regions_lock);
	*nr = nr_regions;
	*gone = retired_counts;
	all = kmalloc_array(nr_regions, sizeof(*all), GFP_KERNEL);
	if (all) {
		list_for_each_entry(r, &regions, node) {
			region_get(r);
			all[i++] = r;
		}
	}
	mutex_unlock(&regions_lock);
	return all;
}

int regions_stat(struct lkvfence_stat *stat, u32 *nr)
{
	struct counts counts;
	struct region **all;
	u32 i;

	memset(stat, 0, sizeof(*stat));
	all = all_regions(nr, &counts);
	if (!all)
		return -ENOMEM;
	/* L9: one that is busy is waited for with no lock held. */
	for (i = 0; i < *nr; i++) {
		sum_region(all[i], stat, &counts);
		region_put(all[i]);
	}
	kfree(all);
	copy_counts(stat, &counts);
	return 0;
}
