/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions, the handles on them, and the transfers in them: memory and
 * lifetimes around the fence.
 *
 * Locks, in this order:
 *
 *   handle->read_lock   one reader at a time takes events; held while copying
 *                       to user space, so nothing else may wait for it (L9)
 *   regions_lock        the table of regions, and each one's number of handles
 *   region->lock        the fence, its transfers, who owns them, pulls, and the
 *                       handles' event queues. No user memory is touched and
 *                       nothing is allocated under it; it is a mutex because
 *                       taking and giving back many ranges takes its time
 *   bound_lock          in source.c: the table of bound QPs; nothing is taken
 *                       under it
 *
 * and, in group.c: group->lock, then groups_lock, or region->lock; of these
 * several at once, in the order of their addresses.
 *
 * A region is referenced by the table while it has handles or unreleased
 * transfers, by each handle, by each source, and by work that is queued for it. A transfer is
 * referenced by the fence until released, and by its owner's event queue until
 * its last event is read; both under region->lock, so there is no counting.
 */
#ifndef LKVFENCE_REGION_H
#define LKVFENCE_REGION_H

#include <linux/hrtimer.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "fence.h"
#include "pull.h"

/*
 * For what users ask for (L10): charged to them; when their limit is reached
 * they get an error, not a visit by the OOM killer; and that isn't worth a line
 * in the log.
 */
#define GFP_CHARGED	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/**
 * struct region - a named pool of slots
 * @kobj: its name, its memory, and its directory in sysfs
 * @node: in the table; guarded by regions_lock
 * @handles: open handles; guarded by regions_lock
 * @retired: it is out of the table; guarded by regions_lock
 * @uid: whose it is; like all up to @base it doesn't change
 * @gid: likewise
 * @mode: who may open it, as a file's
 * @slot_size: bytes in a slot; told, not used
 * @base: address of slot 0; told, not used
 * @lock: see above
 * @fence: the slots; guarded by @lock
 * @pulls: who asks for what is in them; guarded by @lock
 * @timer: fires at @armed
 * @armed: U64_MAX, or when @timer fires; guarded by @lock
 * @work: acts on what the timer saw
 * @orphan_sources: bound sources whose handle is closed; guarded by @lock
 * @log: keeps a storm of timeouts out of the kernel's log; guarded by @lock
 */
struct region {
	struct kobject kobj;
	struct list_head node;
	u32 handles;
	bool retired;

	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	u64 slot_size;
	u64 base;

	struct mutex lock;	/* see above */
	struct fence fence;
	struct pulls pulls;
	struct hrtimer timer;
	u64 armed;
	struct work_struct work;
	struct list_head orphan_sources;
	struct ratelimit_state log;
};

/**
 * struct handle - what an open file descriptor of a region is
 * @region: referenced
 * @transfers: unreleased transfers that it owns; guarded by region->lock
 * @unread: transfers with events to read; guarded by region->lock
 * @sources: sources that it bound; guarded by region->lock
 * @unread_sources: of these, those with an event to read; guarded likewise
 * @tickets: its pulls that wait for an answer; guarded likewise
 * @unread_tickets: those that were answered; guarded likewise
 * @nr_unread: entries of @unread, @unread_sources and @unread_tickets; written
 *	under region->lock, poll(2) looks without
 * @wait: readers
 * @read_lock: see above
 * @hot: one of @spare, taken and put without a lock: who has one transfer
 *	after the other needs no more
 * @spare_lock: guards @spare and @nr_spare; nothing is taken under it
 * @spare: small transfers of this handle that are over, to be used again
 * @nr_spare: how many
 */
struct handle {
	struct region *region;
	struct list_head transfers;
	struct list_head unread;
	struct list_head sources;
	struct list_head unread_sources;
	struct rb_root tickets;
	struct list_head unread_tickets;
	u32 nr_unread;
	wait_queue_head_t wait;
	struct mutex read_lock;	/* see above */
	struct transfer *hot;
	spinlock_t spare_lock;	/* see above */
	struct list_head spare;
	u32 nr_spare;
};

/**
 * struct transfer - a fence's transfer and what the kernel keeps with it
 * @fence: the fence's part
 * @owner: the handle that hears of it; NULL for an orphan
 * @owned: in owner->transfers until released; in a handle's spare after it
 * @unread: in owner->unread while there is something to read
 * @pending: FENCE_NEWS_* to read
 * @pid: who began it, in the initial PID namespace
 * @comm: that process's name
 * @member: what it is in a group, or NULL
 * @small: it may be a handle's spare when it is over
 * @nr_leases: leases that were granted at the beginning
 * @leases: these; others are allocated one by one
 * @ranges: the slots
 */
struct transfer {
	struct fence_transfer fence;
	struct handle *owner;
	struct list_head owned;
	struct list_head unread;
	u32 pending;
	pid_t pid;
	char comm[LKVFENCE_COMM_LEN];
	struct member *member;
	bool small;
	u32 nr_leases;
	struct fence_lease *leases;
	struct lkvfence_range ranges[];
};

static inline struct transfer *to_transfer(struct fence_transfer *t)
{
	return container_of(t, struct transfer, fence);
}

/**
 * region_open() - the region of a name, for a new handle
 * @arg: as the user gave it; the out members are filled in
 *
 * Context: may sleep.
 * Return: the region, with a reference that region_close() drops, or an errno
 * of OPEN.
 */
struct region *region_open(struct lkvfence_open *arg);

/**
 * region_close() - a handle is gone
 * @r: its region
 */
void region_close(struct region *r);

/**
 * region_settle() - carry out what the fence has to tell
 * @r: the region, locked
 * @caller: the handle whose call caused it, or NULL
 * @mute: FENCE_NEWS_* that @caller learns from the answer of its call instead
 *
 * To be called before region->lock is dropped, after anything that may have
 * ended or released transfers. Frees released transfers which nobody will
 * read of. The only place where the fence's news are taken.
 */
void region_settle(struct region *r, const struct handle *caller, u32 mute);

/**
 * region_log_report() - what a look at the memory found, for the kernel's log
 * @r: the region, locked
 * @report: what was found
 */
void region_log_report(struct region *r, const struct lkvfence_report *report);

/**
 * region_retire() - drop the region from the table if nobody needs it
 * @r: the region, not locked; the caller has a reference
 */
void region_retire(struct region *r);

/**
 * region_stat() - all values of one instant
 * @r: the region, not locked
 * @stat: filled, but for its size and flags
 */
void region_stat(struct region *r, struct lkvfence_stat *stat);

/**
 * regions_stat() - sums over all regions there are and were
 * @stat: filled; name and geometry are empty
 * @nr: set to how many regions there are
 *
 * Return: 0, or -ENOMEM.
 */
int regions_stat(struct lkvfence_stat *stat, u32 *nr);

static inline void region_get(struct region *r)
{
	kobject_get(&r->kobj);
}

static inline void region_put(struct region *r)
{
	kobject_put(&r->kobj);
}

struct handle *handle_alloc(struct region *r);
void handle_free(struct handle *h);

/**
 * transfer_alloc() - memory for a transfer
 * @h: the handle that will own it
 * @nr_ranges: ranges to be filled in by the caller
 * @nr_leases: leases at the beginning, likewise
 *
 * Charged to the caller, or to who needed it first: a handle keeps some that
 * are over, so that a request that goes well allocates nothing.
 *
 * Return: the transfer, or NULL.
 */
struct transfer *transfer_alloc(struct handle *h, u32 nr_ranges, u32 nr_leases);

/**
 * transfer_free() - for one which the fence never knew, or has released
 * @t: the transfer
 * @h: the handle that may keep it, or NULL
 */
void transfer_free(struct transfer *t, struct handle *h);

/* Free what a handle that closes has kept. */
void transfers_forget_spare(struct handle *h);

struct fence_lease *lease_alloc(void);
void lease_free(struct fence_lease *lease);

/* clock.c */
void clock_init(struct region *r);
/* Arm the timer for the next deadline of fence and pulls. @r is locked. */
void clock_update(struct region *r);
/* The timer does not fire any more. @r is not locked, and has no transfers. */
void clock_stop(struct region *r);

/* sysfs.c */
/* Fills in the groups, before the device appears. */
void sysfs_prepare(void);
extern const struct attribute_group *region_groups[];
extern const struct attribute_group *module_groups[];
/* /sys/module/lkvfence/regions, and /sys/class/misc/lkvfence/regions */
extern struct kobject *regions_kobj;

#endif /* LKVFENCE_REGION_H */
