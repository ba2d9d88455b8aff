/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory and lifetimes around pulls: tickets of a handle, offers of transfers.
 */
#ifndef LKVFENCE_TICKET_H
#define LKVFENCE_TICKET_H

#include "pull.h"

struct handle;
struct region;

/**
 * struct ticket - a pull, and what the kernel keeps with it
 * @pull: the pulls' part
 * @owner: the handle that asked and is answered
 * @by_number: in owner->tickets while it waits
 * @unread: in owner->unread_tickets once answered, until it was read
 */
struct ticket {
	struct pull_ticket pull;
	struct handle *owner;
	struct rb_node by_number;
	struct list_head unread;
};

static inline struct ticket *to_ticket(struct pull_ticket *k)
{
	return container_of(k, struct ticket, pull);
}

/**
 * offer_alloc() - memory for an offer, or for the tombstone of a tag
 *
 * Charged to the caller.
 */
struct pull_offer *offer_alloc(void);
void offer_free(struct pull_offer *o);

/**
 * tickets_settle() - post answers, free what is forgotten
 * @r: the region, locked
 */
void tickets_settle(struct region *r);

/**
 * tickets_leave() - a handle closes: some of its tickets have nobody to tell
 * @h: the handle; its region is locked
 * @max: stop after so many
 *
 * Return: how many went; @max means that there may be more.
 */
u32 tickets_leave(struct handle *h, u32 max);

/* Fills in the event. Its region is locked. */
void ticket_describe(const struct ticket *k, struct lkvfence_event *e);

/* Its answer was read: it is over. Its region is locked. */
void ticket_consume(struct ticket *k);

#endif /* LKVFENCE_TICKET_H */
