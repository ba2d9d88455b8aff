/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events on a handle: what its transfers, its pulls, the sources that it bound,
 * and the peers that it watches, have to tell, read with read(2).
 *
 * An event takes no memory of its own: a transfer with something to tell is
 * queued on its owner and stays until it was read; a ticket likewise; a source on
 * the handle that bound it; a peer on each that watches it. So events can't be
 * lost, and a reader that never comes costs what its transfers cost, up to a limit
 * at which its own BEGINs are refused (L9).
 */
#ifndef LKVFENCE_EVENT_H
#define LKVFENCE_EVENT_H

#include <linux/fs.h>
#include <linux/poll.h>

#include "region.h"

/**
 * event_post() - queue events of a transfer on its owner
 * @t: the transfer; it has an owner, whose region is locked
 * @bits: FENCE_NEWS_*
 */
void event_post(struct transfer *t, u32 bits);

/**
 * event_forget() - take a transfer off its owner's queue, unread
 * @t: the transfer; its region is locked
 */
void event_forget(struct transfer *t);

/* One entry more, or less, on a handle's queues; its region is locked. */
void event_added(struct handle *h);
void event_removed(struct handle *h);

ssize_t event_read(struct file *file, char __user *buf, size_t len, loff_t *pos);
__poll_t event_poll(struct file *file, poll_table *table);

#endif /* LKVFENCE_EVENT_H */
