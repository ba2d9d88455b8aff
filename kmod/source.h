/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources that are bound to queue pairs, and how their access is taken away.
 */
#ifndef LKVFENCE_SOURCE_H
#define LKVFENCE_SOURCE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "fence.h"
#include "rdma.h"

struct handle;
struct region;

/* QPs of one source. */
#define MAX_QPS		64U

/**
 * struct bound_qp - a QP of a source
 * @name: its device's name when it was bound, and its number
 * @id: what is remembered of it
 * @node: in the table of all, until found by who revokes another source of the
 *	same QP; guarded by bound_lock
 * @source: whose
 * @state: enum lkvfence_qp_state; guarded by region->lock, like the rest
 * @evidence: enum lkvfence_evidence, once quiet
 * @settled_ns: when it will have settled, once the kernel had moved it; by the
 *	settle time of then
 * @grace: and what has to be over by then; see rdma.h
 */
struct bound_qp {
	struct lkvfence_qp name;
	struct qp_id id;
	struct hlist_node node;
	struct source *source;
	u8 state;
	u8 evidence;
	u64 settled_ns;
	u64 grace;
};

/**
 * struct source - a bound source
 * @fence: the fence's part; guarded by region->lock, like all up to @work
 * @region: referenced
 * @handle: who bound it; NULL when that is closed
 * @of_handle: in handle->sources; without handle in region->orphan_sources
 * @unread: in handle->unread_sources while there is an event to read
 * @revoke_ns: when it began to be revoked
 * @bound: the fence knows it
 * @doomed: one of its QPs is being revoked; it won't be bound
 * @started: its revocation is under way: done by its work
 * @work: takes the access away; then sees whether it is gone
 * @ref: the fence's while bound, one of queued work, one of each who looks
 * @binding: its number; doesn't change, like the rest
 * @pid: who bound it, in the initial PID namespace
 * @peer: whom it stands for
 * @nr_qps: how many
 * @qps: its QPs
 */
struct source {
	struct fence_source fence;
	struct region *region;
	struct handle *handle;
	struct list_head of_handle;
	struct list_head unread;
	u64 revoke_ns;
	bool bound;
	bool doomed;
	bool started;

	struct delayed_work work;
	struct kref ref;
	u64 binding;
	pid_t pid;
	char peer[sizeof_field(struct lkvfence_source, peer)];
	u32 nr_qps;
	struct bound_qp qps[];
};

static inline struct source *to_source(struct fence_source *s)
{
	return container_of(s, struct source, fence);
}

/**
 * source_next_sharer() - another binding of the same QP
 * @qp: the QP
 *
 * Each is found once: it leaves the table, so that a QP which is bound many
 * times isn't searched for among all those that were found before.
 *
 * Return: its source, referenced; or NULL.
 */
struct source *source_next_sharer(struct bound_qp *qp);

/**
 * sources_leave() - a handle closes: its sources have nobody to tell
 * @h: the handle; its region is locked
 */
void sources_leave(struct handle *h);

/**
 * sources_sweep() - unbind what no handle has, and has no unproven lease
 * @r: the region, locked
 */
void sources_sweep(struct region *r);

static inline void source_get(struct source *s)
{
	kref_get(&s->ref);
}

void source_put(struct source *s);

/* Takes its event off the queue of the handle that bound it. @s->region is locked. */
void source_forget_event(struct source *s);

/* Fills in the event. @s->region is locked. */
void source_describe(const struct source *s, struct lkvfence_event *e);

/* revoke.c */

/* For a new source. */
void source_init_revoking(struct source *s);

/* Have a source in the state REVOKING revoked. Its region is locked. */
void source_start(struct source *s);

/* Have its work look at it at once: something has changed. */
void source_look(struct source *s);

/**
 * sources_revoke() - a transfer is to be revoked: begin with its sources
 * @r: its region, locked
 * @t: the transfer
 */
void sources_revoke(struct region *r, const struct fence_transfer *t);

#endif /* LKVFENCE_SOURCE_H */
