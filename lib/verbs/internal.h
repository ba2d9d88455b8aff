/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the library share.
 *
 * Locks, in the order in which they are taken: a CQ's, a rail's, a lease's
 * (lkvfence_send), that of the whole (lkvfence_verbs). With none of them held
 * are made: the callback, calls that return leases, and calls of the provider that
 * sleep for long (deallocation of a window). Those of the region that bind sources
 * and say that they are quiet are made with the last one. What has to be done with
 * no lock held is put on a list, struct work, and done by the call that put it
 * there, before it returns.
 *
 * Lifetime: a rail on such a list, or one that somebody waits on, is pinned; who
 * destroys it says so first (closing), and waits until it is not. Who waits lets
 * go of one that is closing: what he waits for may come of its end. A lease is on
 * no list after it was given back to its pool: that happens when it has been
 * returned, nothing of it is in flight, and its user has finished it.
 */
#ifndef LKVFENCE_VERBS_INTERNAL_H
#define LKVFENCE_VERBS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lkvfence-verbs.h"

#define MAX_RAILS	LKVFENCE_MAX_RAILS
/* Work requests that are handed to the provider at once. */
#define BATCH		16

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/*
 * A wr_id of the library's:
 *
 *	63..40	KEY
 *	39	a receive
 *	38..32	how often the rail's number was used before
 *	31..20	the rail's number
 *	19..0	position in the queue, modulo 2^20
 *
 * An application's own wr_id on a queue that is polled through the library (a
 * receive, another QP's request) is told by KEY, the QP's number, and the
 * direction, where the completion tells it. Should all of them agree by chance,
 * a completion with success is still never taken for one of a request that was
 * not posted here.
 */
#define KEY		0xf37c9dULL
#define POS_BITS	20
#define POS_MASK	((1U << POS_BITS) - 1)
#define RAIL_BITS	12
#define RAIL_MAX	4096U
#define NONCE_BITS	7
/* So many requests in a queue at most, that old positions are told from new. */
#define RING_MAX	(1U << (POS_BITS - 2))

/* What a lease has to say, and to whom. */
struct tell {
	struct tell *next;
	struct lkvfence *fence;
	struct lkvfence_returned r;
	/* it has been said: @tell may be freed by that */
	void (*said)(struct lkvfence_verbs *v, struct tell *tell);
};

/**
 * struct work - what is done when no lock is held any more
 * @tells: leases to return, the first one first
 * @tail: the end of these
 * @doomed: windows to deallocate; their rails are pinned
 * @rails: rails that were seen to be flushed, are to be broken, or whose peer has
 *	failed; pinned
 */
struct work {
	struct tell *tells;
	struct tell **tail;
	struct window *doomed;
	struct lkvfence_rail *rails;
};

#define NO_WORK(name)	{ .tail = &(name).tells }

struct stats {
	_Atomic uint64_t drained, in_band, revoked, failed, refused;
	_Atomic uint64_t markers, in_doubt, lost, stale, acks_unknown;
	_Atomic uint64_t invalidated, deallocated, windows_lost, flushed;
	_Atomic uint64_t peers_failed;
};

#define COUNT(v, what)	atomic_fetch_add_explicit(&(v)->stats.what, 1, \
						  memory_order_relaxed)

/* A source that is bound to rails. */
struct binding {
	struct binding *next;
	struct lkvfence *fence;
	uint64_t number;		/* the kernel's */
	uint32_t source;
	uint32_t nr;
	struct lkvfence_rail *rails[MAX_RAILS];	/* NULL: destroyed */
	bool quiet[MAX_RAILS];
	int error;			/* what QUIET said, if not 0 */
};

/* Completions of others that came out while somebody waited. */
struct stash {
	struct ibv_wc *wc;
	uint32_t size;
	uint32_t first;
	uint32_t nr;
};

/**
 * struct lkvfence_cq - a completion queue
 * @v: what it belongs to
 * @ibv: the queue
 * @lock: held while completions are taken out and accounted, so that those of
 *	a QP are accounted in their order
 * @stash: see there; guarded by @lock
 * @rails: those that use it; guarded by @lock
 * @nr_rails: how many
 * @by_number: the same, by number. There is a table of all rails, too, but those
 *	of other queues are guarded by other locks
 * @want: a rail of @rails wants a marker
 */
struct lkvfence_cq {
	struct lkvfence_verbs *v;
	struct ibv_cq *ibv;
	pthread_mutex_t lock;
	struct stash stash;
	struct lkvfence_rail **rails;
	uint32_t nr_rails;
	struct lkvfence_rail **by_number;
	atomic_bool want;
};

enum kind {
	KIND_APP,		/* the application's */
	KIND_MARKER,		/* the library's, to prove what is before it */
	KIND_BIND,		/* of a window, whose number is in wr_id */
	KIND_INVALIDATE,	/* likewise */
};

/**
 * struct sent - a request in a send queue
 * @wr_id: the application's
 * @send: under which lease, or NULL
 * @bytes: how many it moves
 * @kind: enum kind
 * @signaled: a completion of its own will come
 * @local: it moves nothing; its completion proves nothing of others
 * @done: a local one that completed before others in front of it are proven
 */
struct sent {
	uint64_t wr_id;
	struct lkvfence_send *send;
	uint64_t bytes;
	uint8_t kind;
	bool signaled;
	bool local;
	bool done;
};

/* A receive in a receive queue. */
struct received {
	uint64_t wr_id;
	bool own;
};

enum window_state {
	WINDOW_NONE,		/* no window is allocated */
	WINDOW_FREE,
	WINDOW_BUSY,		/* somebody is about to bind it */
	WINDOW_BINDING,		/* the request is posted */
	WINDOW_BOUND,
	WINDOW_INVALIDATING,	/* likewise; never again before it completes */
	WINDOW_DOOMED,		/* on a list, to be deallocated */
	WINDOW_SETTLING,	/* its key is gone; the QP is to be seen flushed yet */
	WINDOW_LOST,		/* it couldn't be */
};

/* A memory window; guarded by the rail's lock. */
struct window {
	struct lkvfence_rail *rail;
	struct ibv_mw *mw;
	struct window *next;		/* on a list of work */
	uint32_t uses;			/* of the eight bits that are ours in the rkey */
	uint32_t pos;			/* of its request in the send queue */
	enum window_state state;
	/* these are guarded by v->lock */
	struct lkvfence_recv *recv;	/* whose it is */
	struct window *of_recv;		/* the next one of it */
	bool asked;			/* somebody takes it away, or will */
};

struct span {
	bool any;
	uint64_t low;
	uint64_t high;
};

/**
 * struct unproven - generations of leases whose markers may yet come
 * @all: from the lowest to the highest
 * @last: those that were given up last, at @nr modulo LAST_UNPROVEN and before
 * @nr: how many there were
 * @older: those that were given up before
 */
struct unproven {
	struct span all;
#define LAST_UNPROVEN	16
	uint64_t last[LAST_UNPROVEN];
	uint32_t nr;
	struct span older;
};

/**
 * struct lkvfence_rail - a queue pair
 *
 * All of it is guarded by @lock, but for what never changes, and for pins. The
 * order of the rings is that of the QP's queues, for the lock is held while the
 * provider posts.
 *
 * @sq: requests in flight, from @sq_tail to before @sq_head
 * @proof: before this position everything will be proven by a signaled
 *	request that is posted
 * @reads: before this position there may be READs that are not answered yet
 * @marker: what to post as a marker: IBV_WR_RDMA_WRITE or READ
 * @can_mark: whether the one or the other was posted, so that the peer allows it
 * @want: a marker is wanted, and could not be posted yet
 * @dead: a request failed; the QP is in ERR or will be
 * @rq: receives, from @rq_tail to before @rq_head
 * @rq_known: receives before this position were posted while the QP was not in
 *	ERR
 * @flushed: one of them came back flushed
 * @quiet: and the QP was seen in ERR
 * @breaking: it is to be moved to ERR, by who has it on his list of work
 * @ending: its windows are being closed
 * @unproven: of leases that were given up unproven
 * @peer: whom it reaches; see lkvfence_rail_peer()
 * @peer_failed: he is to be marked as failed, by who has it on his list of work
 */
struct lkvfence_rail {
	struct lkvfence_verbs *v;
	struct ibv_qp *qp;
	uint32_t qp_num;
	struct lkvfence_cq *send_cq;
	struct lkvfence_cq *recv_cq;
	uint32_t number;
	uint32_t nonce;
	uint32_t guard;
	uint64_t recv_wr_id;
	bool signal_all;
	bool reliable;
	bool srq;
	bool lax;			/* invalidates without waiting for what it executes */
	atomic_uint pins;
	atomic_bool closing;		/* written with the locks of its CQs */
	struct lkvfence_rail *next;	/* on a list of work */
	bool listed;

	pthread_mutex_t lock;

	struct sent *sq;
	uint32_t sq_mask;
	uint32_t sq_size;
	uint32_t sq_head;
	uint32_t sq_tail;
	uint32_t proof;
	uint32_t reads;
	enum ibv_wr_opcode marker;
	bool can_mark;
	atomic_bool want;
	bool dead;

	struct received *rq;
	uint32_t rq_mask;
	uint32_t rq_size;
	uint32_t rq_head;
	uint32_t rq_tail;
	uint32_t rq_known;
	bool flushed;
	bool quiet;
	bool breaking;
	bool ending;

	struct window *windows;
	uint32_t nr_windows;

	char peer[64];
	struct lkvfence *peer_fence;	/* who is told; NULL: there is no peer */
	uint64_t peer_session;
	bool peer_failed;

	struct unproven unproven;	/* guarded by v->lock */
};

/* A rail that a lease used. */
struct used {
	struct lkvfence_rail *rail;
	uint32_t last;			/* position of the last request */
	uint32_t pending;		/* in flight; above 0 it keeps the rail */
	bool marked;			/* the in-band marker is posted */
};

/* A lease to post under. All is guarded by @lock but for the first three. */
struct lkvfence_send {
	struct lkvfence_verbs *v;
	struct lkvfence_send *next;	/* in the pool */
	struct tell tell;
	pthread_mutex_t lock;
	uint32_t max_wrs;
	uint64_t max_bytes;
	uint32_t wrs;			/* in flight */
	uint64_t bytes;			/* in flight */
	bool open;			/* requests may be posted */
	bool marking;			/* markers are to be posted yet */
	bool held;			/* its user has not finished it */
	bool failed;
	bool told;			/* on a list of work, or said */
	bool said;
	struct used used[MAX_RAILS];
	uint32_t nr_used;
};

/* That a lease's marker is awaited on a rail. */
struct expect {
	struct expect *next;		/* in the table */
	struct lkvfence_recv *recv;
	struct lkvfence_rail *rail;	/* NULL: not in the table */
	bool acked;
};

/* A lease of the owner's. All is guarded by v->lock. */
struct lkvfence_recv {
	struct lkvfence_verbs *v;
	struct lkvfence_recv *next;	/* in the pool */
	struct tell tell;
	struct expect expects[MAX_RAILS];
	uint32_t nr_expects;
	uint32_t nr_acked;
	struct window *windows;		/* that it has */
	uint32_t nr_live;		/* how many */
	bool had_windows;
	bool lost;			/* one could not be taken away */
	bool revoking;
	bool finishing;			/* nobody asks for proof any more */
	bool held;
	bool told;
	bool said;
};

struct lkvfence_verbs {
	struct lkvfence_verbs_attr attr;
	struct stats stats;
	atomic_uint nr_cqs;

	pthread_mutex_t lock;
	struct lkvfence_send *sends;	/* the pools */
	struct lkvfence_recv *recvs;
	struct lkvfence_send *all_sends;
	struct lkvfence_recv *all_recvs;
	struct expect **expects;	/* by the low bits of the generation */
	uint32_t expects_mask;
	struct binding *bindings;
	uint32_t nr_rails;
	struct lkvfence_rail **rails;	/* by number */
	uint8_t *nonces;
};

#pragma GCC visibility push(hidden)

/* error.c: set the thread's message and return @err */
__attribute__((format(printf, 2, 3)))
int lkvfence__vfail(int err, const char *fmt, ...);
/* What a function of libibverbs returned, as -errno. */
int lkvfence__errno(int ret);

/* verbs.c */
int64_t lkvfence__now_ms(void);
int64_t lkvfence__deadline(int timeout_ms);
void lkvfence__tell(struct work *work, struct tell *tell);
/* Does what is to do, with no lock held, until nothing is left. */
void lkvfence__run(struct lkvfence_verbs *v, struct work *work);
void lkvfence__put_send(struct lkvfence_send *send);
void lkvfence__put_recv(struct lkvfence_recv *recv);

/* poll.c: take completions out, and put those of others aside */
bool lkvfence__sweep(struct lkvfence_cq *cq);
void lkvfence__pause(unsigned int *turn);
enum which { SEND_CQ = 1, RECV_CQ = 2, BOTH_CQS = 3 };
/*
 * Until @done says other than 0, or the time is up. The pins of @rails are taken
 * over: a rail that is being destroyed is let go of meanwhile. Without a time to
 * wait there is a look all the same.
 */
int lkvfence__wait(struct lkvfence_rail **rails, uint32_t nr, enum which which,
		   int timeout_ms, int (*done)(void *arg), void *arg);

/* rail.c */
void lkvfence__pin(struct lkvfence_rail *rail);
void lkvfence__unpin(struct lkvfence_rail *rail);
enum ibv_qp_state lkvfence__qp_state(const struct lkvfence_rail *rail);
/* Is it in none of RESET and ERR, as far as is known? */
bool lkvfence__alive(const struct lkvfence_rail *rail);
int lkvfence__to_error(struct lkvfence_rail *rail);

/* sq.c; with the rail's lock held, but for the first */
int lkvfence__post(struct lkvfence_rail *rail, struct lkvfence_send *send,
		   struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   struct work *work);
int lkvfence__post_own(struct lkvfence_rail *rail, struct lkvfence_send *send,
		       enum kind kind, uint64_t id, struct ibv_send_wr *wr);
bool lkvfence__needs_marker(const struct lkvfence_rail *rail, uint32_t last);
/* Is a READ in flight? */
bool lkvfence__reading(const struct lkvfence_rail *rail);
void lkvfence__mark(struct lkvfence_rail *rail);
/* Is the completion for the application? */
bool lkvfence__completed(struct lkvfence_rail *rail, uint32_t pos,
			 struct ibv_wc *wc, struct work *work);
void lkvfence__fail_all(struct lkvfence_rail *rail, struct work *work);

/* send.c */
int lkvfence__reserve(struct lkvfence_send *send, struct lkvfence_rail *rail,
		      const uint64_t *bytes, uint32_t *nr);
/* Is the lease open still? If not, who stopped it didn't know of these. */
bool lkvfence__posted(struct lkvfence_send *send, struct lkvfence_rail *rail,
		      uint32_t last, uint32_t nr, uint64_t bytes);
/* @nr requests are over; with another status than success the lease fails. */
void lkvfence__over(struct lkvfence_send *send, struct lkvfence_rail *rail,
		    uint32_t nr, uint64_t bytes, enum ibv_wc_status status,
		    struct work *work);

/* rq.c; with the rail's lock held, but for the last */
int lkvfence__guard(struct lkvfence_rail *rail);
bool lkvfence__guarded(const struct lkvfence_rail *rail);
bool lkvfence__arrived(struct lkvfence_rail *rail, uint32_t pos,
		       struct ibv_wc *wc, struct work *work);
void lkvfence__list(struct lkvfence_rail *rail, struct work *work);
void lkvfence__run_rail(struct lkvfence_rail *rail, struct work *work);

/* recv.c */
bool lkvfence__acked(struct lkvfence_rail *rail, const struct ibv_wc *wc,
		     struct work *work);
void lkvfence__forget_rail(struct lkvfence_rail *rail);
/* Does anybody ask whether the window is surely gone? */
bool lkvfence__asked_for(const struct window *window);
/* with v->lock held */
void lkvfence__windows_gone(struct lkvfence_recv *recv, struct work *work);
void lkvfence__detach(struct window *window, bool good, struct work *work);

/* window.c; with the rail's lock held */
void lkvfence__bound(struct lkvfence_rail *rail, uint32_t number, uint32_t pos,
		     bool good, struct work *work);
void lkvfence__invalidated(struct lkvfence_rail *rail, uint32_t number,
			   uint32_t pos, bool good, struct work *work);
void lkvfence__settled(struct lkvfence_rail *rail, struct work *work);
/* with no lock held */
void lkvfence__revoke(struct lkvfence_recv *recv, struct work *work);
int lkvfence__close_windows(struct lkvfence_rail *rail, struct work *work);
void lkvfence__run_doomed(struct window *window, struct work *work);

/* source.c; with no lock held */
void lkvfence__say_quiet(struct lkvfence_rail *rail,
			 enum lkvfence_evidence evidence);
void lkvfence__unbind_rail(struct lkvfence_rail *rail);

/* peer.c. A request failed: with the rail's lock held; then without. */
void lkvfence__peer_failed(struct lkvfence_rail *rail, enum ibv_wc_status status,
			   struct work *work);
void lkvfence__say_failed(struct lkvfence_rail *rail);

#pragma GCC visibility pop

#endif /* LKVFENCE_VERBS_INTERNAL_H */
