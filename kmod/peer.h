/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of peers: memory and lifetimes around their states.
 *
 * Each user who has a region has a table, which goes with the last of his regions.
 * A failed peer stays in it, and so does one that is watched; of the others the
 * one that nobody has named for longest makes room.
 */
#ifndef LKVFENCE_PEER_H
#define LKVFENCE_PEER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/rbtree.h>
#include <linux/uidgid.h>

#include "peer_state.h"

struct handle;
struct lkvfence_event;
struct region;

/**
 * struct peers - one user's peers
 * @node: in the list of all; guarded by peers_lock
 * @regions: how many regions have it; guarded likewise
 * @uid: whose; doesn't change
 * @lock: guards the rest, and all of struct peer; see region.h
 * @by_name: all of them
 * @by_id: all of them
 * @idle: those that may be forgotten, the longest unnamed first
 * @nr: how many there are
 * @log: keeps a link that flaps out of the kernel's log
 */
struct peers {
	struct list_head node;
	u32 regions;
	kuid_t uid;
	struct mutex lock;	/* see above */
	struct rb_root by_name;
	struct rb_root by_id;
	struct list_head idle;
	u32 nr;
	struct ratelimit_state log;
};

/**
 * struct peer - a peer, and what the kernel keeps with it
 * @state: what is known of it
 * @by_name: in peers->by_name
 * @by_id: in peers->by_id
 * @idle: in peers->idle while it is healthy, and nobody watches it
 * @claimed: in handle->claims while a handle has the claim
 * @watches: who watches it
 * @id: its number
 * @pid: who has the claim, in the initial PID namespace
 * @name: its name, with zeros behind it
 */
struct peer {
	struct peer_state state;
	struct rb_node by_name;
	struct rb_node by_id;
	struct list_head idle;
	struct list_head claimed;
	struct list_head watches;
	u32 id;
	pid_t pid;
	char name[sizeof_field(struct lkvfence_peer, name)];
};

/**
 * struct peer_watch - a handle that hears of a peer
 * @peer: the peer; stays as long as it is watched
 * @handle: the handle; like @peer it doesn't change
 * @of_peer: in peer->watches; guarded by peers->lock, like @of_handle
 * @of_handle: in handle->watches
 * @unread: in handle->unread_peers while there is an event to read; guarded by
 *	region->lock, like the rest
 * @changes: how many there were: a reader sees whether there was one meanwhile
 * @generation: of the peer, after the last one
 * @time_ns: when that was
 * @failed: and whether it was failed then
 */
struct peer_watch {
	struct peer *peer;
	struct handle *handle;
	struct list_head of_peer;
	struct list_head of_handle;
	struct list_head unread;
	u32 changes;
	u64 generation;
	u64 time_ns;
	bool failed;
};

/**
 * peers_leave() - a handle closes: it watches nothing, and has no claims
 * @h: the handle; nothing is locked
 */
void peers_leave(struct handle *h);

/**
 * peers_put() - a region goes: it needs no peers
 * @r: the region, out of the table and without handles; nothing is locked
 */
void peers_put(struct region *r);

/**
 * peer_launch() - a launch to this peer: may it be?
 * @r: the region, not locked
 * @id: the peer
 *
 * Return: 0; -EHOSTDOWN it is failed; -EHOSTUNREACH there is no such peer.
 */
int peer_launch(struct region *r, u32 id);

/* Fills in the event. The watcher's region is locked. */
void peer_describe(const struct peer_watch *w, struct lkvfence_event *e);

/**
 * peer_consume() - an event was read
 * @w: the watch; its handle's region is locked
 * @changes: as many as there had been when it was looked at
 *
 * Where there was another one meanwhile, that is still to be read.
 */
void peer_consume(struct peer_watch *w, u32 changes);

/* Over all users, those that are gone, too, but for the first two. */
enum peer_total {
	PEERS,
	PEERS_FAILED,
	PEER_FAILURES,
	PEER_RECOVERIES,
	PEER_REFUSED,
	NR_PEER_TOTALS,
};

extern atomic64_t peer_totals[NR_PEER_TOTALS];

#endif /* LKVFENCE_PEER_H */
