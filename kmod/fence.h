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
 * release(); see fence.c. One that is in a group (L12) is released there like
 * others, when the group says so.
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
 * enum fence_source_state - what is known of a bound source's access
 * @FENCE_SOURCE_BOUND: it has it: leases may be granted
 * @FENCE_SOURCE_REVOKING: it is being taken away: no new leases
 * @FENCE_SOURCE_REVOKED: it is gone
 * @FENCE_SOURCE_LOST: nobody knows: no new leases, and no revocation
 */
enum fence_source_state {
	FENCE_SOURCE_BOUND,
	FENCE_SOURCE_REVOKING,
	FENCE_SOURCE_REVOKED,
	FENCE_SOURCE_LOST,
};

/**
 * struct fence_source - a source whose access can be taken away
 * @node: in the fence's @sources, by @source
 * @source: which; set by the caller
 * @state: enum fence_source_state
 * @nr_leases: its unproven leases of unreleased transfers, of those granted
 *	since it was bound
 * @leases: these
 * @ended: those of them that fence_source_end() has seen to
 */
struct fence_source {
	struct rb_node node;
	u32 source;
	u8 state;
	u32 nr_leases;
	struct list_head leases;
	struct list_head ended;
};

/**
 * struct fence_lease - a source's right to touch a transfer's slots
 * @node: in the transfer's @leases, by @source
 * @bound: the bound source that it counts for while it is unproven, or NULL
 * @of_source: in that source's @leases or @ended
 * @transfer: the transfer, where there is a bound source
 * @source: whose; set by the caller
 * @state: enum lkvfence_lease_state
 * @evidence: enum lkvfence_evidence, once drained or revoked
 * @pulled: it answered a pull: drained, that consumer has what it wanted
 */
struct fence_lease {
	struct rb_node node;
	struct fence_source *bound;
	struct list_head of_source;
	struct fence_transfer *transfer;
	u32 source;
	u8 state;
	u8 evidence;
	bool pulled;
};

/* What there is to tell of a transfer; bits. */
#define FENCE_NEWS_ENDED	BIT(0)	/* ended, and its slots are held */
#define FENCE_NEWS_QUARANTINED	BIT(1)	/* past its deadline, slots stay out */
#define FENCE_NEWS_RELEASED	BIT(2)	/* slots are back; the fence forgot it */
#define FENCE_NEWS_REVOKING	BIT(3)	/* the sources of its leases must be revoked */
#define FENCE_NEWS_OVER		BIT(4)	/* an offered one ended: pull_over() */
#define FENCE_NEWS_MEMBER	BIT(5)	/* a grouped one ended, or has gathered */

/**
 * struct fence_transfer - one use of a set of slots
 * @tag: set by the caller, like @ttl_ns, @policy, @ranges, @nr_ranges and
 *	@offered, before fence_admit()
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
 * @unproven: how many of them prove nothing: out, or returned as failed
 * @nr_bound: how many of these are bound
 * @consumers: how many will pull it; 0: nobody knows
 * @taken: how many of them have: pulled leases that were drained
 * @begun_ns: when it began
 * @ended_ns: when it ended
 * @quarantined_ns: when its deadline passed, if it went into quarantine
 * @released_ns: when its slots came back
 * @deadline_ns: of its hold; a revocation may make the clock later than this
 * @policy: enum lkvfence_policy, never DEFAULT
 * @by_default: nobody chose it: it has REVOKE while the transfer is revocable
 * @state: enum lkvfence_state
 * @reason: enum lkvfence_reason
 * @outcome: enum lkvfence_outcome
 * @weakest: the weakest evidence among its proven leases, then of its release
 * @revoked: a lease was revoked
 * @revoking: its sources are being revoked for its sake
 * @tried: they were once, and won't be again
 * @fell_back: it is counted as one that wasn't revoked
 * @quarantined: it is in quarantine
 * @forced: it was released by an administrator
 * @offered: it is to be pulled
 * @grouped: it is released with others, by fence_release_member()
 * @gathered: it would have been released, with @outcome and @weakest
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
	u32 nr_bound;
	u32 consumers;
	u32 taken;

	u64 begun_ns;
	u64 ended_ns;
	u64 quarantined_ns;
	u64 released_ns;
	u64 deadline_ns;

	u16 policy;
	bool by_default;
	u8 state;
	u8 reason;
	u8 outcome;
	u8 weakest;
	bool revoked;
	bool revoking;
	bool tried;
	bool fell_back;
	bool quarantined;
	bool forced;
	bool offered;
	bool grouped;
	bool gathered;
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
	u64 returns_revoked;
	u64 returns_early;
	u64 returns_stale;
	u64 returns_unknown;
	u64 returns_duplicate;
	u64 returns_unaccepted;
	u64 refused_busy;
	u64 refused_exists;
	u64 refused_limit;
	u64 refused_revoked;
	u64 forced;
	u64 revokes;
	u64 revokes_failed;
	u64 evidence[LKVFENCE_MAX_EVIDENCE];
	u64 sources_revoked;
	u64 sources_lost;
	u64 strays;
	u64 strays_late;
	u64 mismatches;
	u64 joined;
	u64 ended_by_group;
};

/**
 * struct fence - the slots of one region
 * @nr_slots: how many
 * @taken: bitmap: the slot is in an unreleased transfer (L1)
 * @owner: by slot: the generation that took it last; means nothing where
 *	@taken is clear
 * @transfers: unreleased transfers, by generation
 * @tags: transfers that have not ended, by tag
 * @sources: bound sources
 * @nr_sources: how many
 * @source_idle: one has become free to be unbound; for the caller to clear
 * @accepts: bits: enum lkvfence_evidence that count as proof
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
 * @transfers_ready: transfers that may be pulled
 * @transfers_gathered: ended ones that only wait for their group
 * @counts: counters
 */
struct fence {
	u32 nr_slots;
	unsigned long *taken;
	u64 *owner;
	struct rb_root_cached transfers;
	struct rb_root tags;
	struct rb_root sources;
	u32 nr_sources;
	bool source_idle;
	u32 accepts;
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
	u64 transfers_ready;
	u64 transfers_gathered;
	struct fence_counts counts;
};

/**
 * struct fence_limits - bounds on timeouts, from the module's parameters
 * @default_ns: of an end that names no timeout
 * @max_ns: no hold is extended beyond this after its end (L8)
 * @revoke_ns: how long a revocation may take, beyond the deadline if need be; at
 *	least 1, so that none is given up in the call that begins it
 */
struct fence_limits {
	u64 default_ns;
	u64 max_ns;
	u64 revoke_ns;
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
 * fence_init() - a fence with all slots free, which accepts all proof
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
 * Return: 0; -EEXIST the tag is in use; -ENOSPC too many transfers; -ESHUTDOWN
 * a source's access is being taken away, or was, or is lost; or what is wrong
 * with the first range that can't be had: -EINVAL it is empty or names a slot
 * again; -ERANGE it goes beyond the region; -EBUSY a slot is taken.
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
 * had one; -ENOSPC; -ESHUTDOWN as in fence_admit().
 */
int fence_take(struct fence *f, struct fence_transfer *t,
	       struct fence_lease *lease, u32 max_leases, u64 now);

/**
 * fence_ready() - an offered transfer's data is there; or a renewal of that
 * @f: the fence
 * @t: the transfer
 * @ttl_ns: it expires so long after now; 0: never
 * @consumers: how many will pull it; 0: nobody knows, or as before
 * @now: the time
 *
 * Return: 0; -ECANCELED it has ended (L3); -EINVAL it wasn't offered, or a
 * renewal names another number of consumers.
 */
int fence_ready(struct fence *f, struct fence_transfer *t, u64 ttl_ns,
		u32 consumers, u64 now);

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
 * -EALREADY it came back before; -EOPNOTSUPP such evidence isn't accepted.
 */
int fence_return(struct fence *f, u64 generation, u32 source, u32 status,
		 u32 evidence, u64 now, bool *released);

/**
 * fence_abort() - end a transfer early, or prolong the hold of an ended one
 * @f: the fence
 * @t: the transfer
 * @reason: enum lkvfence_reason; the first one stays
 * @policy: enum lkvfence_policy; the strictest one stays (L4). REVOKE_NOW takes
 *	effect at once
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
 * Return: 0; -EBUSY a lease is without proof, or it waits for its group.
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
 * fence_join() - the transfer is released together with others (L12)
 * @f: the fence
 * @t: the transfer
 *
 * Return: 0; -ECANCELED it has ended; -EEXIST it is in a group.
 */
int fence_join(struct fence *f, struct fence_transfer *t);

/**
 * fence_end_member() - another member of its group was ended
 * @f: the fence
 * @t: the transfer; nothing happens where it has ended
 * @reason: why that one was
 * @limits: the bounds
 * @now: the time
 */
void fence_end_member(struct fence *f, struct fence_transfer *t, u32 reason,
		      const struct fence_limits *limits, u64 now);

/**
 * fence_release_member() - all members of its group have gathered
 * @f: the fence
 * @t: the transfer; it has gathered
 * @outcome: the group's
 * @evidence: the weakest of all members
 * @now: the time
 */
void fence_release_member(struct fence *f, struct fence_transfer *t, u32 outcome,
			  u32 evidence, u64 now);

/**
 * fence_policy() - what happens to a transfer at its deadline, as things are
 * @t: the transfer
 *
 * Return: enum lkvfence_policy.
 */
u32 fence_policy(const struct fence_transfer *t);

/* Is every unproven lease bound, to a source that can be, or is being, revoked? */
bool fence_revocable(const struct fence_transfer *t);

/*
 * Sources. The caller revokes: the fence only says when (FENCE_NEWS_REVOKING),
 * and is told what came of it. Each source of an unproven lease of that transfer
 * is then in the state REVOKING; the caller carries that out once for each:
 * fence_source_end(), takes the access away, and then fence_source_quiet() or
 * fence_source_lost(). Others that go with them begin by fence_source_revoke().
 */

/**
 * fence_bind() - leases of a source that are granted from now on are bound
 * @f: the fence
 * @s: the source; it stays the fence's until fence_unbind()
 * @source: which
 *
 * Return: 0; -EEXIST it is bound.
 */
int fence_bind(struct fence *f, struct fence_source *s, u32 source);

/**
 * fence_unbind() - the fence forgets a source
 * @f: the fence
 * @s: the source
 *
 * Return: 0; -EBUSY it has leases that prove nothing yet.
 */
int fence_unbind(struct fence *f, struct fence_source *s);

/* The bound source of that number, or NULL. */
struct fence_source *fence_find_source(const struct fence *f, u32 source);

/**
 * fence_source_revoke() - a source's access is about to be taken away
 * @s: the source; from now on it gets no leases
 *
 * Return: whether that is news: false where it is being done, or was.
 */
bool fence_source_revoke(struct fence_source *s);

/**
 * fence_source_end() - end the transfers that the source has leases of
 * @f: the fence
 * @s: the source, in any state but BOUND: it may be seen to again
 * @limits: the bounds
 * @now: the time
 * @max: look at so many leases at most
 *
 * Return: how many were looked at; @max means that there may be more.
 */
u32 fence_source_end(struct fence *f, struct fence_source *s,
		     const struct fence_limits *limits, u64 now, u32 max);

/**
 * fence_source_quiet() - a source's access is gone: its leases are revoked
 * @f: the fence
 * @s: the source, in any state but BOUND, and all of its leases seen to by
 *	fence_source_end()
 * @evidence: on what ground; one that is accepted
 * @now: the time
 * @max: as in fence_source_end()
 *
 * Return: as in fence_source_end().
 */
u32 fence_source_quiet(struct fence *f, struct fence_source *s, u32 evidence,
		       u64 now, u32 max);

/**
 * fence_source_lost() - a source's access can't be taken away
 * @f: the fence
 * @s: the source, in the state REVOKING or LOST, and all of its leases seen to
 *	by fence_source_end(), and none of them revoked by fence_source_quiet()
 * @max: as in fence_source_end()
 *
 * Transfers that are revoked for their own sake go on to the rest of their
 * policy at their deadlines, which may be past.
 *
 * Return: as in fence_source_end().
 */
u32 fence_source_lost(struct fence *f, struct fence_source *s, u32 max);

/* Leases may be granted: it is WAITING or READY. */
static inline bool fence_alive(const struct fence_transfer *t)
{
	return t->state < LKVFENCE_STATE_ENDED;
}

/* Has every consumer that READY spoke of taken it? */
static inline bool fence_all_taken(const struct fence_transfer *t)
{
	return t->consumers && t->taken >= t->consumers;
}

/* Does the region accept it as proof? */
static inline bool fence_accepts(const struct fence *f, u32 evidence)
{
	return f->accepts & BIT(evidence);
}

/**
 * fence_report() - count what a look at the memory found
 * @f: the fence
 * @generation: of which transfer, released or not
 * @kind: enum lkvfence_report_kind
 *
 * Return: 0; -ENOENT the generation was never issued; -EINVAL.
 */
int fence_report(struct fence *f, u64 generation, u32 kind);

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
