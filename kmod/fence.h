/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fence of one region: which slots are taken, by which transfer, and when
 * they come back. This is where the laws are.
 *
 * It is pure: time and events are arguments; it sleeps, allocates and frees
 * nowhere, and knows no device, process or user pointer. The same file is
 * compiled into the module and into user-space tests.
 *
 * The caller
 *  - serialises all calls on one fence (the module: by the region's lock);
 *  - gives the memory of the slot maps, transfers and leases, and keeps it:
 *    a transfer until fence_news() handed it out with FENCE_NEWS_RELEASED,
 *    its ranges and leases as long;
 *  - after every call that may change something takes all news there are;
 *  - calls fence_expire() when fence_next_deadline() has come.
 *
 * A transfer ends in one place, end(), and slots come back in one place,
 * release(); see fence.c.
 */
#ifndef LKVFENCE_FENCE_H
#define LKVFENCE_FENCE_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/lkvfence.h>

/**
 * struct fence_lease - a source's right to touch a transfer's slots
 * @node: in the transfer's @leases, by @source
 * @source: whose; set by the caller
 * @state: enum lkvfence_lease_state
 * @evidence: enum lkvfence_evidence, once drained
 */
struct fence_lease {
	struct rb_node node;
	u32 source;
	u8 state;
	u8 evidence;
};

/* What there is to tell of a transfer; bits. */
#define FENCE_NEWS_ENDED	BIT(0)	/* ended, and its slots are held */
#define FENCE_NEWS_QUARANTINED	BIT(1)	/* past its deadline, slots stay out */
#define FENCE_NEWS_RELEASED	BIT(2)	/* slots are back; the fence forgot it */

/**
 * struct fence_transfer - one use of a set of slots
 * @tag: set by the caller, like @ttl_ns, @policy, @ranges and @nr_ranges,
 *	before fence_admit()
 * @ttl_ns: how long after its first lease it is ended as expired; 0: never
 * @ranges: its slots
 * @nr_ranges: how many ranges
 * @nr_slots: how many slots
 * @generation: from fence_begin() on
 * @by_generation: in the fence's @transfers until released
 * @by_tag: in the fence's @tags until ended
 * @clock: in the fence's @clock while it has a time to live or a deadline
 * @held: in the fence's @held while ended and unreleased
 * @news: in the fence's @news while there is something to tell
 * @news_bits: what there is to tell
 * @leases: all leases it ever gave, by source
 * @nr_leases: how many
 * @unproven: how many of them are not drained: out, or returned as failed
 * @begun_ns: when it began
 * @ended_ns: when it ended
 * @quarantined_ns: when its deadline passed, if it went into quarantine
 * @released_ns: when its slots came back
 * @policy: enum lkvfence_policy, never DEFAULT
 * @state: enum lkvfence_state
 * @reason: enum lkvfence_reason
 * @outcome: enum lkvfence_outcome
 * @weakest: the weakest evidence among its drained leases, then of its release
 * @revoked: a lease was drained by taking the access away
 * @quarantined: it is in quarantine
 * @forced: it was released by an administrator
 */
struct fence_transfer {
	u64 tag;
	u64 ttl_ns;
	const struct lkvfence_range *ranges;
	u32 nr_ranges;
	u32 nr_slots;

	u64 generation;
	struct rb_node by_generation;
	struct rb_node by_tag;
	struct timerqueue_node clock;
	struct list_head held;
	struct list_head news;
	u32 news_bits;

	struct rb_root leases;
	u32 nr_leases;
	u32 unproven;

	u64 begun_ns;
	u64 ended_ns;
	u64 quarantined_ns;
	u64 released_ns;

	u8 policy;
	u8 state;
	u8 reason;
	u8 outcome;
	u8 weakest;
	bool revoked;
	bool quarantined;
	bool forced;
};

/*
 * struct fence_counts - what happened so far; only ever grows
 *
 * Members as in struct lkvfence_stat.
 */
struct fence_counts {
	u64 begun;
	u64 released[LKVFENCE_MAX_OUTCOMES];
	u64 returns_drained;
	u64 returns_failed;
	u64 returns_early;
	u64 returns_stale;
	u64 returns_unknown;
	u64 returns_duplicate;
	u64 refused_busy;
	u64 refused_exists;
	u64 refused_limit;
	u64 forced;
};

/**
 * struct fence - the slots of one region
 * @nr_slots: how many
 * @taken: bitmap: the slot is in an unreleased transfer (L1)
 * @owner: by slot: the generation that took it last; means nothing where
 *	@taken is clear
 * @transfers: unreleased transfers, by generation
 * @tags: transfers that have not ended, by tag
 * @clock: times to live and deadlines
 * @held: ended transfers, the oldest first
 * @news: transfers of which there is something to tell, in order
 * @last_generation: the highest generation issued; what is lower was issued
 *	before. The caller may set it when the fence is new
 * @slots_taken: slots of unreleased transfers
 * @slots_held: of these, slots of ended ones
 * @slots_quarantined: of these, slots in quarantine
 * @transfers_alive: unreleased transfers
 * @transfers_held: of these, ended ones
 * @transfers_quarantined: of these, those in quarantine
 * @counts: counters
 */
struct fence {
	u32 nr_slots;
	unsigned long *taken;
	u64 *owner;
	struct rb_root_cached transfers;
	struct rb_root tags;
	struct timerqueue_head clock;
	struct list_head held;
	struct list_head news;
	u64 last_generation;

	u64 slots_taken;
	u64 slots_held;
	u64 slots_quarantined;
	u64 transfers_alive;
	u64 transfers_held;
	u64 transfers_quarantined;
	struct fence_counts counts;
};

/**
 * struct fence_limits - bounds on timeouts, from the module's parameters
 * @default_ns: of an end that names no timeout
 * @max_ns: no hold is extended beyond this after its end (L8)
 */
struct fence_limits {
	u64 default_ns;
	u64 max_ns;
};

/**
 * struct fence_refusal - what is in the way of a transfer
 * @generation: whose, for -EBUSY and -EEXIST
 * @tag: likewise
 * @slot: the first slot that is taken, for -EBUSY
 */
struct fence_refusal {
	u64 generation;
	u64 tag;
	u32 slot;
};

/**
 * fence_init() - a fence with all slots free
 * @f: the fence
 * @nr_slots: at least 1
 * @taken: zeroed bitmap of @nr_slots bits
 * @owner: array of @nr_slots
 */
void fence_init(struct fence *f, u32 nr_slots, unsigned long *taken,
		u64 *owner);

/**
 * fence_transfer_init() - a transfer that isn't known to any fence yet
 * @t: the transfer; all zero but for what the caller sets
 */
void fence_transfer_init(struct fence_transfer *t);

/**
 * fence_transfer_lease() - give a new transfer a lease, before fence_admit()
 * @t: the transfer
 * @lease: the lease; the caller set its source
 *
 * Return: 0; -EINVAL the source has one already.
 */
int fence_transfer_lease(struct fence_transfer *t, struct fence_lease *lease);

/**
 * fence_admit() - may the transfer have its slots? All or nothing (L1)
 * @f: the fence
 * @t: the transfer
 * @max_transfers: how many unreleased transfers there may be
 * @why: what is in the way
 *
 * Takes the slots, so that fence_begin() must follow at once. It is a step of
 * its own only so that a refused transfer uses up no generation.
 *
 * Return: 0; -EEXIST the tag is in use; -ENOSPC too many transfers; or what is
 * wrong with the first range that can't be had: -EINVAL it is empty or names a
 * slot again; -ERANGE it goes beyond the region; -EBUSY a slot is taken.
 * Nothing has changed then but a counter.
 */
int fence_admit(struct fence *f, struct fence_transfer *t, u64 max_transfers,
		struct fence_refusal *why);

/**
 * fence_begin() - begin an admitted transfer
 * @f: the fence
 * @t: the transfer
 * @generation: its generation, higher than all that this fence was given
 * @now: the time
 */
void fence_begin(struct fence *f, struct fence_transfer *t, u64 generation,
		 u64 now);

/**
 * fence_take() - one more lease
 * @f: the fence
 * @t: the transfer
 * @lease: the lease; the caller set its source
 * @max_leases: how many a transfer may ever have
 * @now: the time
 *
 * Return: 0; -ECANCELED the transfer has ended (L3); -EEXIST the source has or
 * had one; -ENOSPC.
 */
int fence_take(struct fence *f, struct fence_transfer *t,
	       struct fence_lease *lease, u32 max_leases, u64 now);

/**
 * fence_return() - a lease comes back (L4, L5)
 * @f: the fence
 * @generation: of which transfer
 * @source: whose lease
 * @status: enum lkvfence_status
 * @evidence: enum lkvfence_evidence
 * @now: the time
 * @released: set to whether this released the transfer
 *
 * Return: 0; -EINVAL status and evidence don't make sense; -ESTALE; -ENOENT;
 * -EALREADY it came back before.
 */
int fence_return(struct fence *f, u64 generation, u32 source, u32 status,
		 u32 evidence, u64 now, bool *released);

/**
 * fence_abort() - end a transfer early, or prolong the hold of an ended one
 * @f: the fence
 * @t: the transfer
 * @reason: enum lkvfence_reason; the first one stays
 * @policy: enum lkvfence_policy; the strictest one stays (L4)
 * @timeout_ns: how long to wait for proof; 0: the default for a transfer that
 *	has not ended, no change for one that has
 * @limits: the bounds
 * @now: the time
 */
void fence_abort(struct fence *f, struct fence_transfer *t, u32 reason,
		 u32 policy, u64 timeout_ns, const struct fence_limits *limits,
		 u64 now);

/**
 * fence_finish() - the transfer is over and proven quiet: slots back
 * @f: the fence
 * @t: the transfer
 * @now: the time
 *
 * Return: 0; -EBUSY a lease is without proof.
 */
int fence_finish(struct fence *f, struct fence_transfer *t, u64 now);

/**
 * fence_force() - an administrator lets go of a transfer in quarantine
 * @f: the fence
 * @t: the transfer
 * @now: the time
 *
 * Return: 0; -EBUSY it is not in quarantine.
 */
int fence_force(struct fence *f, struct fence_transfer *t, u64 now);

/**
 * fence_next_deadline() - when fence_expire() has something to do
 * @f: the fence
 *
 * Return: the time; U64_MAX for never.
 */
u64 fence_next_deadline(const struct fence *f);

/**
 * fence_expire() - act on times to live and deadlines that have come
 * @f: the fence
 * @limits: the bounds
 * @now: the time
 * @max: stop after so many, so that the caller's lock is not held for long
 *
 * Return: how many there were; @max means that there may be more.
 */
u32 fence_expire(struct fence *f, const struct fence_limits *limits, u64 now,
		 u32 max);

/**
 * fence_news() - the next transfer of which there is something to tell
 * @f: the fence
 * @bits: FENCE_NEWS_*
 *
 * With FENCE_NEWS_RELEASED the fence has forgotten the transfer, and the
 * caller may free it.
 *
 * Return: the transfer, or NULL.
 */
struct fence_transfer *fence_news(struct fence *f, u32 *bits);

/**
 * fence_lookup() - the unreleased transfer of a generation (L5)
 * @f: the fence
 * @generation: the generation
 * @t: the transfer
 *
 * Return: 0; -ESTALE it is released; -ENOENT it was never issued.
 */
int fence_lookup(const struct fence *f, u64 generation,
		 struct fence_transfer **t);

/* The transfer of @tag that has not ended, or NULL. */
struct fence_transfer *fence_find_tag(const struct fence *f, u64 tag);

/* The transfer that has @slot, or NULL; @slot is below nr_slots. */
struct fence_transfer *fence_find_slot(const struct fence *f, u32 slot);

/* The unreleased transfer of the least generation above @generation, or NULL. */
struct fence_transfer *fence_find_next(const struct fence *f, u64 generation);

#endif /* LKVFENCE_FENCE_H */
