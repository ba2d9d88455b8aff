/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pulls of one region: who asks for an offered transfer's data, and what is known
 * of transfers that ended before they were asked for.
 *
 * It is as pure as the fence, beside which it stands: it asks the fence for
 * leases, is told by the caller what became of transfers, and gives back no slots.
 *
 * The caller
 *  - serialises all calls on one struct pulls and its fence;
 *  - gives the memory of offers and tickets, and keeps it: an offer until
 *    pull_forgotten() handed it out, a ticket until pull_news() or
 *    pull_close() did;
 *  - calls pull_over() for each FENCE_NEWS_OVER, before it forgets the transfer;
 *  - after every call that may change something takes all news there are, and
 *    what is forgotten;
 *  - calls pull_expire() when pull_next_deadline() has come.
 *
 * A ticket is answered in one place, answer(); see pull.c.
 */
#ifndef LKVFENCE_PULL_H
#define LKVFENCE_PULL_H

#include "fence.h"

/**
 * struct pull_offer - a transfer that may be pulled; then its tombstone
 * @by_tag: in the pulls' @offers: the last one of its tag
 * @grave: in @dead or @early once it is a tombstone, then in @forgotten
 * @tickets: pulls that wait for it to be READY, the oldest first
 * @transfer: the transfer until it ended; NULL: a tombstone
 * @tag: its tag
 * @generation: its generation; 0: no such transfer was begun, it was aborted early
 * @forget_ns: of a tombstone: when it is forgotten
 * @reason: of a tombstone: enum lkvfence_reason. Before: NONE, or why its tag's
 *	next use was aborted early: then that is what its tombstone tells
 * @spent: of one that was aborted early: it has refused a BEGIN
 */
struct pull_offer {
	struct rb_node by_tag;
	struct list_head grave;
	struct list_head tickets;
	struct fence_transfer *transfer;
	u64 tag;
	u64 generation;
	u64 forget_ns;
	u8 reason;
	bool spent;
};

/**
 * struct pull_ticket - a pull, and its answer
 * @tag: set by the caller, like all up to @lease, before pull_ask()
 * @generation: with @exact: which; else: none up to this one. Once answered: the
 *	transfer's, or 0
 * @exact: that generation, and no other
 * @number: the ticket's
 * @lease: for the grant, with its source; NULL when it is the transfer's
 * @by_tag: in the pulls' @unclaimed while there is no such offer
 * @waiting: in the offer's @tickets while it waits for READY
 * @clock: in the pulls' @clock while it waits
 * @news: in the pulls' @news once answered
 * @offer: for which it waits, or NULL
 * @deadline_ns: when it is refused, come what may
 * @answered_ns: when it was answered
 * @nr_slots: of what was granted
 * @reason: NONE: granted; else why not: enum lkvfence_reason
 */
struct pull_ticket {
	u64 tag;
	u64 generation;
	bool exact;
	u64 number;
	struct fence_lease *lease;

	struct rb_node by_tag;
	struct list_head waiting;
	struct timerqueue_node clock;
	struct list_head news;
	struct pull_offer *offer;
	u64 deadline_ns;
	u64 answered_ns;
	u32 nr_slots;
	u8 reason;
};

/* Members as in struct lkvfence_stat; only ever grow. */
struct pull_counts {
	u64 pulls;
	u64 pulls_granted;
	u64 pulls_refused;
	u64 pulls_closed;
	u64 refused_early;
};

/**
 * struct pull_limits - bounds, from the module's parameters
 * @tombstone_ns: how long a tombstone lasts
 * @max_tombstones: how many there may be of either kind
 * @max_leases: how many leases a transfer may ever have
 */
struct pull_limits {
	u64 tombstone_ns;
	u32 max_tombstones;
	u32 max_leases;
};

/**
 * struct pulls - the pulls of one region
 * @fence: the region's fence
 * @active: there is an offer, a tombstone, a ticket or something to tell; while
 *	there is nothing, nothing needs to be called
 * @offers: offers and tombstones, by tag
 * @unclaimed: tickets for which there is no offer, by tag, and of one tag the
 *	oldest first
 * @clock: deadlines of tickets
 * @news: answered tickets, in order
 * @dead: tombstones of transfers, the oldest first
 * @early: tombstones of tags that were aborted early. Anybody may name any number
 *	of these, so they don't displace the others
 * @forgotten: offers that the caller may free
 * @nr_offers: offers that are no tombstones
 * @nr_dead: entries of @dead
 * @nr_early: entries of @early
 * @nr_tickets: tickets that wait
 * @counts: counters
 */
struct pulls {
	struct fence *fence;
	bool active;
	struct rb_root offers;
	struct rb_root unclaimed;
	struct timerqueue_head clock;
	struct list_head news;
	struct list_head dead;
	struct list_head early;
	struct list_head forgotten;
	u64 nr_offers;
	u32 nr_dead;
	u32 nr_early;
	u32 nr_tickets;
	struct pull_counts counts;
};

void pulls_init(struct pulls *p, struct fence *f);

/* For memory that isn't known to any struct pulls yet. */
void pull_offer_init(struct pull_offer *o);
void pull_ticket_init(struct pull_ticket *k);

/**
 * pull_may_offer() - was the tag aborted before it was offered?
 * @p: the pulls
 * @tag: of a transfer that is about to be admitted
 *
 * Return: 0; -ECANCELED it was. That holds for one time, and is counted.
 */
int pull_may_offer(struct pulls *p, u64 tag);

/**
 * pull_offer() - an offered transfer has begun
 * @p: the pulls
 * @o: its offer
 * @t: the transfer
 *
 * Tickets that waited for that tag wait for it to be READY from now on.
 */
void pull_offer(struct pulls *p, struct pull_offer *o, struct fence_transfer *t);

/**
 * pull_ready() - an offered transfer's data is there: tickets are granted
 * @p: the pulls
 * @t: the transfer
 * @ttl_ns: as in fence_ready(), like @consumers
 * @consumers: likewise
 * @limits: the bounds
 * @now: the time
 *
 * Return: as fence_ready().
 */
int pull_ready(struct pulls *p, struct fence_transfer *t, u64 ttl_ns,
	       u32 consumers, const struct pull_limits *limits, u64 now);

/**
 * pull_over() - an offered transfer has ended: tickets are refused
 * @p: the pulls
 * @t: the transfer
 * @limits: the bounds
 * @now: the time
 */
void pull_over(struct pulls *p, struct fence_transfer *t,
	       const struct pull_limits *limits, u64 now);

/**
 * pull_ask() - a pull; it may be answered at once
 * @p: the pulls
 * @k: the ticket
 * @unclaimed_ns: how long to wait for an offer
 * @timeout_ns: how long to wait in all
 * @limits: the bounds
 * @now: the time
 */
void pull_ask(struct pulls *p, struct pull_ticket *k, u64 unclaimed_ns,
	      u64 timeout_ns, const struct pull_limits *limits, u64 now);

/* Has it been answered? */
static inline bool pull_answered(const struct pull_ticket *k)
{
	return k->answered_ns;
}

/**
 * pull_withdraw() - a ticket that waits is refused, for nobody wants it any more
 * @p: the pulls
 * @k: the ticket
 * @now: the time
 */
void pull_withdraw(struct pulls *p, struct pull_ticket *k, u64 now);

/**
 * pull_close() - a ticket that waits has nobody any more who could be told
 * @p: the pulls
 * @k: the ticket; the caller may free it
 */
void pull_close(struct pulls *p, struct pull_ticket *k);

/**
 * pull_abort_early() - a tag is aborted, and no transfer that is meant has it
 * @p: the pulls
 * @o: memory for a tombstone
 * @tag: the tag
 * @after: a generation that is not meant, nor any before it; or 0
 * @reason: enum lkvfence_reason
 * @limits: the bounds
 * @now: the time
 *
 * Where the tombstone of that tag is of what is meant, this is a repetition and
 * changes nothing. Otherwise tickets for the tag are refused. Where a transfer
 * that is not meant has the tag, the tombstone is there when that has ended.
 *
 * Return: whether @o is in use.
 */
bool pull_abort_early(struct pulls *p, struct pull_offer *o, u64 tag, u64 after,
		      u32 reason, const struct pull_limits *limits, u64 now);

/**
 * pull_abort_all() - refuse all tickets that wait for a tag to be offered
 * @p: the pulls
 * @reason: enum lkvfence_reason
 * @now: the time
 */
void pull_abort_all(struct pulls *p, u32 reason, u64 now);

/**
 * pull_bury() - there is nobody any more: all offers and tombstones are forgotten
 * @p: the pulls; there are no tickets
 */
void pull_bury(struct pulls *p);

/* When pull_expire() has something to do; U64_MAX for never. */
u64 pull_next_deadline(const struct pulls *p);

/**
 * pull_expire() - act on deadlines that have come
 * @p: the pulls
 * @now: the time
 * @max: stop after so many
 *
 * Return: how many there were; @max means that there may be more.
 */
u32 pull_expire(struct pulls *p, u64 now, u32 max);

/* The next ticket that was answered, or NULL; it is the caller's again. */
struct pull_ticket *pull_news(struct pulls *p);

/* The next offer that is not needed any more, or NULL; likewise. */
struct pull_offer *pull_forgotten(struct pulls *p);

#endif /* LKVFENCE_PULL_H */
