/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * liblkvfence-verbs: leases that are returned by what the completion queues of
 * libibverbs prove. lkvfence_verbs(7) says what each completion proves.
 *
 * A struct lkvfence_verbs is what belongs together: completion queues, rails
 * (one for each queue pair), and leases. A process that sends posts under a
 * struct lkvfence_send; a process that owns the slots keeps a struct
 * lkvfence_recv for each lease that it granted. Both are returned by
 * themselves, once each: to a region, where they name its handle, and to the
 * callback.
 *
 * Completions must be taken out of the queues by lkvfence_cq_poll(), and work
 * requests be posted by lkvfence_send_post() and lkvfence_rail_post(). Nothing
 * is allocated by these.
 *
 * Calls return 0 (or a count) on success and -errno on failure; errno itself
 * is left alone. lkvfence_verbs_errmsg() says in words what the calling
 * thread's last failed call ran into and what to do about it.
 *
 * Threads: any number may call at once, with the same objects, but what
 * destroys, resets or finishes an object must be the last call on it. A rail
 * may go while others wait for a lease that used it, or for a source that is
 * bound to it. The callback is called from within any call, with no lock held; it
 * may call all but what destroys or resets a rail, and must not wait for a lease:
 * that may be the next one that the same thread is to return. fork(2): a child
 * must not call.
 */
#ifndef LKVFENCE_VERBS_H
#define LKVFENCE_VERBS_H

#include <infiniband/verbs.h>
#include <lkvfence.h>

#ifdef __cplusplus
extern "C" {
/* A call and a struct share a name, as stat(2) does; g++ -Wshadow minds that. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

struct lkvfence_verbs;
struct lkvfence_cq;
struct lkvfence_rail;
struct lkvfence_send;
struct lkvfence_recv;

/* How many rails one lease, or one source, may have. */
#define LKVFENCE_MAX_RAILS	16

/**
 * struct lkvfence_returned - a lease that came back
 * @generation: of which transfer
 * @source: whose lease
 * @data: as the lease was begun with
 * @status: DRAINED, FAILED or REVOKED
 * @evidence: on what ground; NONE with FAILED
 * @result: what the region said, where the lease had a handle: 0, or the
 *	item's result in RETURN, such as -ESTALE; 0 without a handle
 * @wc_status: FAILED: the first completion status that was not success, or
 *	IBV_WC_GENERAL_ERR where there was none; else IBV_WC_SUCCESS
 * @wrs: work requests posted under it, markers included
 * @bytes: bytes of these
 */
struct lkvfence_returned {
	uint64_t generation;
	uint32_t source;
	enum lkvfence_status status;
	enum lkvfence_evidence evidence;
	enum ibv_wc_status wc_status;
	int result;
	void *data;
	uint64_t wrs;
	uint64_t bytes;
};

/**
 * struct lkvfence_verbs_attr - of lkvfence_verbs_create()
 * @returned: called once for each lease that comes back; may be NULL where all
 *	leases name a handle
 * @arg: handed to it
 * @max_sends: lkvfence_send objects at once; 0: 1024
 * @max_recvs: lkvfence_recv objects at once; 0: 1024
 * @max_rails: rails at once, up to 4096; 0: 256
 */
struct lkvfence_verbs_attr {
	void (*returned)(const struct lkvfence_returned *returned, void *arg);
	void *arg;
	uint32_t max_sends;
	uint32_t max_recvs;
	uint32_t max_rails;
};

/**
 * struct lkvfence_verbs_stat - what happened so far
 * @drained: leases returned on SUCCESS_CQE
 * @in_band: leases returned on IN_BAND
 * @revoked: leases returned on MW_INVALIDATED
 * @failed: leases returned as failed
 * @refused: of all these, those that a region refused
 * @markers: markers that the library posted to learn of unsignaled requests
 * @in_doubt: calls of the provider after which nobody knew what was posted
 * @lost: completions that were passed over: somebody else took them, or the QP
 *	was reset without lkvfence_rail_reset()
 * @stale: completions of rails that are gone, or from before a reset
 * @acks_unknown: immediates that no lease awaited
 * @invalidated: windows invalidated
 * @deallocated: windows that had to be deallocated instead
 * @windows_lost: windows that could be neither
 * @flushed: rails whose receive queue was seen to be flushed
 * @peers_failed: rails that marked their peer as failed
 */
struct lkvfence_verbs_stat {
	uint64_t drained;
	uint64_t in_band;
	uint64_t revoked;
	uint64_t failed;
	uint64_t refused;
	uint64_t markers;
	uint64_t in_doubt;
	uint64_t lost;
	uint64_t stale;
	uint64_t acks_unknown;
	uint64_t invalidated;
	uint64_t deallocated;
	uint64_t windows_lost;
	uint64_t flushed;
	uint64_t peers_failed;
};

/**
 * lkvfence_verbs_create() - make room for rails and leases
 * @v: where it goes
 * @attr: how many, and the callback
 *
 * Return: 0; -ENOMEM; -ERANGE more of something than there can be.
 */
int lkvfence_verbs_create(struct lkvfence_verbs **v,
			  const struct lkvfence_verbs_attr *attr);

/**
 * lkvfence_verbs_destroy() - the counterpart; NULL is fine
 * @v: all its rails and completion queues are destroyed
 *
 * Leases that are left are forgotten, not returned: they stay out.
 *
 * Return: 0; -EBUSY there is a rail or a completion queue.
 */
int lkvfence_verbs_destroy(struct lkvfence_verbs *v);

/** lkvfence_verbs_stat() - counters */
void lkvfence_verbs_stat(struct lkvfence_verbs *v,
			 struct lkvfence_verbs_stat *stat);

/**
 * lkvfence_verbs_errmsg() - the calling thread's last failure in this library
 *
 * Return: a string that is valid until the thread's next failed call; "" when
 * none failed yet.
 */
const char *lkvfence_verbs_errmsg(void);

/**
 * lkvfence_cq_create() - poll a completion queue through the library
 * @v: for the rails of which
 * @ibv_cq: the queue; from now on only lkvfence_cq_poll() takes from it. It has
 *	room for all that can be in the queues of the QPs that use it, unsignaled
 *	requests included
 * @cq: where it goes
 *
 * Send and receive queue may be the same. Queues that have no rail may use it,
 * too: their completions are handed through.
 *
 * Return: 0; -ENOMEM.
 */
int lkvfence_cq_create(struct lkvfence_verbs *v, struct ibv_cq *ibv_cq,
		       struct lkvfence_cq **cq);

/**
 * lkvfence_cq_destroy() - the counterpart; NULL is fine
 * @cq: no rail uses it any more; destroy the ibv_cq after it
 *
 * Return: 0; -EBUSY a rail uses it.
 */
int lkvfence_cq_destroy(struct lkvfence_cq *cq);

/**
 * lkvfence_cq_poll() - as ibv_poll_cq(), and leases come back
 * @cq: the queue
 * @nr: room at @wc
 * @wc: the application's completions, with the wr_id that it posted
 *
 * Completions that are the library's own are kept back. After a call that
 * waits (drain, window, revoke, flush, event) poll until it gives fewer than
 * @nr: such calls put the completions of others aside, for this one.
 *
 * Return: how many; -EIO the provider can't poll.
 */
int lkvfence_cq_poll(struct lkvfence_cq *cq, int nr, struct ibv_wc *wc);

/**
 * struct lkvfence_rail_attr - of lkvfence_rail_create()
 * @qp: the queue pair, RC or UC, on InfiniBand or RoCE, and not in RESET or ERR
 * @send_cq: the library's view of its send CQ
 * @recv_cq: likewise of its receive CQ; may be the same
 * @guard: receives that the library keeps posted, so that RQ_FLUSHED can be had
 *	at any time and in-band acknowledgements find a receive. They have no
 *	buffer: the peer must send nothing but zero-length messages and writes
 *	with immediate. 0: the application posts the receives, by
 *	lkvfence_rail_recv(), and these do as well; or there is no guard
 * @windows: memory windows of type 2 to keep
 * @recv_wr_id: wr_id under which the application gets to see what a receive of
 *	the guard took and no lease awaited
 */
struct lkvfence_rail_attr {
	struct ibv_qp *qp;
	struct lkvfence_cq *send_cq;
	struct lkvfence_cq *recv_cq;
	uint32_t guard;
	uint32_t windows;
	uint64_t recv_wr_id;
};

/**
 * lkvfence_rail_create() - a queue pair as the library sees it
 * @v: what it belongs to
 * @attr: which QP, and what to do with it
 * @rail: where it goes
 *
 * From now on everything is posted through it. Nothing may be in the send
 * queue yet, and with a guard nothing in the receive queue.
 *
 * Return: 0; -EPROTONOSUPPORT the QP is not RC or UC, or its device is neither
 * InfiniBand nor RoCE; -EOPNOTSUPP it has a shared receive queue and a guard is
 * asked for, or the device has no windows; -ENOTCONN it is in RESET or ERR;
 * -EINVAL the CQs are not the QP's, or not of @v; -EEXIST it has a rail; -ERANGE
 * the guard is larger than the receive queue; -ENOSPC max_rails; -ENOMEM; or what
 * the provider says.
 */
int lkvfence_rail_create(struct lkvfence_verbs *v,
			 const struct lkvfence_rail_attr *attr,
			 struct lkvfence_rail **rail);

/**
 * lkvfence_rail_destroy() - forget a queue pair; NULL is fine
 * @rail: the rail
 *
 * Leases with requests in flight on it are returned as failed. Its windows are
 * deallocated. The QP stays as it is; a source that is bound to it stays bound.
 *
 * Return: 0; what the provider says of a window that can't be deallocated.
 */
int lkvfence_rail_destroy(struct lkvfence_rail *rail);

/**
 * lkvfence_rail_destroy_qp() - destroy the queue pair, and say so
 * @rail: the rail; gone on success, with its QP
 *
 * Windows first: a QP that has one bound takes a minute on some devices. Then
 * the QP; when that returns, sources bound to it are quiet (QP_DESTROYED).
 *
 * Return: 0; what the provider says. Then the rail is still there.
 */
int lkvfence_rail_destroy_qp(struct lkvfence_rail *rail);

/**
 * lkvfence_rail_reset() - the QP was moved to RESET, and is used again
 * @rail: the rail; the QP is in INIT, RTR or RTS by now
 *
 * To be called before anything is posted again: RESET drops requests without
 * a word, and what completes afterwards proves nothing about them. Leases with
 * requests in flight are returned as failed; windows are deallocated; awaited
 * acknowledgements don't come any more.
 *
 * Return: as lkvfence_rail_create().
 */
int lkvfence_rail_reset(struct lkvfence_rail *rail);

/**
 * lkvfence_rail_post() - as ibv_post_send(), under no lease
 * @rail: the rail
 * @wr: the requests; they are not changed
 * @bad_wr: on failure the first that is not posted; may be NULL
 *
 * For what touches no slots. It takes its place in the order: its signaled
 * success proves what was posted before it.
 *
 * Return: 0; -EAGAIN the send queue is full: poll and go on from @bad_wr;
 * -EOPNOTSUPP an opcode of which it isn't known what its completion proves;
 * -ENOTCONN the QP failed; -EIO the provider failed and doesn't say what it
 * posted (@bad_wr is NULL); or what the provider says.
 */
int lkvfence_rail_post(struct lkvfence_rail *rail, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad_wr);

/**
 * lkvfence_rail_recv() - as ibv_post_recv()
 * @rail: a rail without a guard
 * @wr: the receives; they are not changed
 * @bad_wr: on failure the first that is not posted; may be NULL
 *
 * Return: 0; -EBUSY the rail has a guard; -EOPNOTSUPP the QP has a shared
 * receive queue; -EAGAIN the receive queue is full; -EIO the provider failed
 * and doesn't say what it posted; or what the provider says.
 */
int lkvfence_rail_recv(struct lkvfence_rail *rail, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr);

/**
 * lkvfence_rail_flush() - take a peer's access away, without the kernel's help
 * @rail: a rail with a guard, or with receives of lkvfence_rail_recv()
 * @timeout_ms: how long to wait; 0: don't; negative: for ever
 *
 * Moves the QP to ERR and waits until a receive that was posted before comes
 * back flushed. Then leases whose source has only this QP are quiet: say
 * lkvfence_revoked(..., LKVFENCE_EVIDENCE_RQ_FLUSHED) of them. Of bound sources
 * it is said by the library.
 *
 * Return: 0 it is proven; -ETIMEDOUT not yet: call again; -EOPNOTSUPP no
 * receive is posted, so it never will be; -ENOTCONN the QP was reset, and
 * lkvfence_rail_reset() not called; -ENOBUFS put-aside completions are in
 * the way: poll; or what the provider says.
 */
int lkvfence_rail_flush(struct lkvfence_rail *rail, int timeout_ms);

/**
 * lkvfence_rail_peer() - whom a rail reaches
 * @rail: the rail
 * @fence: a handle on any region of the user; open until the rail is destroyed, or
 *	has another peer
 * @name: the peer's name; NULL: none any more
 * @session: its session over this rail, as the engine numbers it, or 0
 *
 * When a request on the rail fails, and the transport gave up on it, the peer is
 * marked as failed, once for a connection: retries exceeded, no response, an abort
 * or an operation's error on the other side, a fatal error. Not where the peer's
 * device answered that it may not (it took the access away, and is there), nor
 * for requests that came back flushed.
 *
 * Return: 0; -EINVAL.
 */
int lkvfence_rail_peer(struct lkvfence_rail *rail, struct lkvfence *fence,
		       const char *name, uint64_t session);

/**
 * struct lkvfence_send_attr - of lkvfence_send_begin()
 * @fence: the region's handle, where the slots are of this host; else NULL, and
 *	the callback sends a message to who has it
 * @generation: of the transfer
 * @source: whose lease it is
 * @max_wrs: requests in flight under it; 0: no limit
 * @max_bytes: bytes in flight under it; 0: no limit
 * @data: handed to the callback
 */
struct lkvfence_send_attr {
	struct lkvfence *fence;
	uint64_t generation;
	uint32_t source;
	uint32_t max_wrs;
	uint64_t max_bytes;
	void *data;
};

/**
 * lkvfence_send_begin() - a lease to post under
 * @v: what it belongs to
 * @attr: which lease, and its limits
 * @send: where it goes; to be given up by lkvfence_send_finish()
 *
 * The lease was granted before, by BEGIN or TAKE.
 *
 * It comes back once: FAILED, as soon as one request under it fails or nobody
 * knows what became of it; else DRAINED on SUCCESS_CQE, when nothing more can be
 * posted under it and all that was posted has completed with success, on all
 * rails. A lease under which nothing was posted is drained.
 *
 * Return: 0; -ENOBUFS max_sends; -EINVAL neither handle nor callback.
 */
int lkvfence_send_begin(struct lkvfence_verbs *v,
			const struct lkvfence_send_attr *attr,
			struct lkvfence_send **send);

/**
 * lkvfence_send_post() - as ibv_post_send(), under a lease
 * @send: the lease
 * @rail: through which QP: RC
 * @wr: the requests; they are not changed
 * @bad_wr: on failure the first that is not posted; may be NULL
 *
 * Requests before @bad_wr are posted, and count. RDMA READ is posted likewise:
 * its completion proves that the data has landed, and that the source of it is
 * read no more.
 *
 * Return: as lkvfence_rail_post(); also -EAGAIN a limit is reached; -EMSGSIZE a
 * request is larger than max_bytes; -ECANCELED the lease takes no more
 * requests: it was stopped or has failed; -EPROTONOSUPPORT the QP is not RC;
 * -E2BIG more than LKVFENCE_MAX_RAILS rails. After -EIO the lease has failed.
 */
int lkvfence_send_post(struct lkvfence_send *send, struct lkvfence_rail *rail,
		       struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/**
 * lkvfence_send_mark() - acknowledge in band: the last of what is posted
 * @send: the lease; it takes no more requests
 * @rails: all rails on which the receiver awaits it; all that were used are
 *	among them
 * @nr: how many
 *
 * Posts a zero-length write with immediate on each, behind the data. The lease
 * doesn't drain before all of them are posted.
 *
 * Return: 0; -EAGAIN a send queue is full: poll and call again with the same
 * rails; -EINVAL a rail that was used is missing; -ECANCELED the lease has
 * failed; -ENOTCONN, -EIO, -EPROTONOSUPPORT, -E2BIG as in lkvfence_send_post();
 * or what the provider says.
 */
int lkvfence_send_mark(struct lkvfence_send *send,
		       struct lkvfence_rail *const *rails, uint32_t nr);

/**
 * lkvfence_send_stop() - nothing more is posted under a lease
 * @send: the lease
 *
 * For an abort, from any thread: posts fail with -ECANCELED from now on, and
 * the lease comes back when what is in flight has completed. Where the last
 * requests of a rail are unsignaled, a marker is posted behind them.
 */
void lkvfence_send_stop(struct lkvfence_send *send);

/**
 * lkvfence_send_fail() - nobody knows what became of it
 * @send: the lease; it is returned as failed, if it has not been returned
 */
void lkvfence_send_fail(struct lkvfence_send *send);

/**
 * lkvfence_send_drain() - stop, and wait until the lease has come back
 * @send: the lease
 * @timeout_ms: how long to wait; 0: don't; negative: for ever
 *
 * Polls the send CQs of the rails that it used.
 *
 * Return: 0 it came back as drained; -EIO as failed; -ETIMEDOUT it is out
 * still, and comes back later; -EOPNOTSUPP its last requests are unsignaled and
 * of a kind (SEND, atomic) behind which no marker can be posted; -ENOBUFS
 * put-aside completions are in the way: poll, and call again.
 */
int lkvfence_send_drain(struct lkvfence_send *send, int timeout_ms);

/**
 * lkvfence_send_finish() - give up a lease; NULL is fine
 * @send: the lease; not the caller's any more
 *
 * As lkvfence_send_stop(): the lease comes back by itself.
 */
void lkvfence_send_finish(struct lkvfence_send *send);

/**
 * struct lkvfence_recv_attr - of lkvfence_recv_begin()
 * @fence: the region's handle, or NULL where the callback does it
 * @generation: of the transfer
 * @source: whose lease it is
 * @data: handed to the callback
 */
struct lkvfence_recv_attr {
	struct lkvfence *fence;
	uint64_t generation;
	uint32_t source;
	void *data;
};

/**
 * lkvfence_recv_begin() - a lease as the owner of the slots sees it
 * @v: what it belongs to
 * @attr: which lease
 * @recv: where it goes; to be given up by lkvfence_recv_finish()
 *
 * Return: 0; -ENOBUFS max_recvs; -EINVAL neither handle nor callback.
 */
int lkvfence_recv_begin(struct lkvfence_verbs *v,
			const struct lkvfence_recv_attr *attr,
			struct lkvfence_recv **recv);

/**
 * lkvfence_recv_expect() - await the in-band acknowledgement
 * @recv: the lease
 * @rails: through which QPs its source may reach the slots, all of them: RC
 * @nr: how many
 *
 * To be called once, before the source is told where to write. The lease comes
 * back DRAINED on IN_BAND when the marker has come on each of them.
 *
 * A marker carries the low 32 bits of the generation. Two leases whose
 * generations agree in these can't be awaited on one rail at once; nor can one
 * on a rail on which such a marker may be under way still.
 *
 * Return: 0; -EBUSY another lease of the same 32 bits is awaited on a rail, or
 * this one is already; -EOVERFLOW a lease was given up unproven on a rail that
 * has the same 32 bits, or, where there were many, may have; -EPROTONOSUPPORT a QP
 * is not RC; -E2BIG; -EINVAL no rails, or one named twice. Where it can't be
 * awaited, await it by message (its source must not mark, then), or reconnect.
 */
int lkvfence_recv_expect(struct lkvfence_recv *recv,
			 struct lkvfence_rail *const *rails, uint32_t nr);

/**
 * lkvfence_recv_window() - open a memory window for the lease's source
 * @recv: the lease
 * @rail: through which QP the source reaches it; one with windows
 * @info: which memory, and which access; the MR has IBV_ACCESS_MW_BIND, and
 *	its own rkey is told to nobody
 * @timeout_ms: how long to wait until it is bound; negative: for ever
 * @rkey: what the source is told
 *
 * Return: 0; -EAGAIN no window is free, or the send queue is full: poll;
 * -ETIMEDOUT it is not bound yet; -EIO the device refused it, and the QP has
 * failed; -ECANCELED the lease is being revoked; -ENOTCONN; -ENOBUFS; or what the
 * provider says. After any of these @rkey is left alone, and the rail has its
 * window back as soon as it can be invalidated, with the lease at the latest.
 */
int lkvfence_recv_window(struct lkvfence_recv *recv, struct lkvfence_rail *rail,
			 const struct ibv_mw_bind_info *info, int timeout_ms,
			 uint32_t *rkey);

/**
 * lkvfence_recv_revoke() - invalidate a lease's windows
 * @recv: the lease; all that its source was told are its windows
 * @timeout_ms: how long to wait until it has come back; 0: don't; negative: for
 *	ever
 *
 * Windows on a QP that has failed are deallocated instead. The lease comes back
 * REVOKED on MW_INVALIDATED when all of them are gone, unless it came back
 * before. A late write to such a window moves both ends' QPs to ERR: that
 * connection is lost. On Soft-RoCE, where a key's end is not that of what is
 * executed under it, the QP is moved to ERR in any case, and needs a guard.
 *
 * Return: 0 it has come back, or with a timeout of 0 it will; -EINVAL it has no
 * windows; -ETIMEDOUT; -EIO it can't be proven that a window is gone, and the
 * lease stays out; -ENOBUFS.
 */
int lkvfence_recv_revoke(struct lkvfence_recv *recv, int timeout_ms);

/**
 * enum lkvfence_recv_flags - of lkvfence_recv_finish()
 * @LKVFENCE_RECV_QUIET: its source is known to have seen the success of all
 *	that it posted, as by its message; so no marker of it comes any more
 */
enum lkvfence_recv_flags {
	LKVFENCE_RECV_QUIET	= 1 << 0,
};

/**
 * lkvfence_recv_finish() - give up a lease; NULL is fine
 * @recv: the lease; not the caller's any more
 * @flags: LKVFENCE_RECV_*
 *
 * It is awaited no more. Windows that it still has are invalidated and become
 * free. If it has not come back, it doesn't (unless it is being revoked): it was
 * returned in another way, or stays out.
 */
void lkvfence_recv_finish(struct lkvfence_recv *recv, unsigned int flags);

/**
 * lkvfence_verbs_bind() - bind a source to rails, so that it can be revoked
 * @v: what it belongs to
 * @fence: the region's handle
 * @source: which
 * @peer: whom it stands for, for people to read; may be NULL
 * @rails: all rails through which it may reach the slots
 * @nr: how many
 *
 * lkvfence_source() with these QPs. Whenever one of them is in ERR, and a
 * receive of it came back flushed, the library says lkvfence_quiet() of it; so a
 * source whose connection fails is revoked at once.
 *
 * Return: 0; -EINVAL no rails; -E2BIG; -ENOMEM; or what lkvfence_source()
 * returns.
 */
int lkvfence_verbs_bind(struct lkvfence_verbs *v, struct lkvfence *fence,
			uint32_t source, const char *peer,
			struct lkvfence_rail *const *rails, uint32_t nr);

/**
 * lkvfence_verbs_unbind() - a source has no rails any more
 * @v: what it belongs to
 * @fence: the region's handle
 * @source: which
 *
 * Return: 0, or what lkvfence_unbind() returns.
 */
int lkvfence_verbs_unbind(struct lkvfence_verbs *v, struct lkvfence *fence,
			  uint32_t source);

/**
 * lkvfence_verbs_event() - answer the event REVOKE
 * @v: what it belongs to
 * @fence: the handle from which the event was read
 * @event: any event
 * @timeout_ms: how long to look for the proof; 0: don't wait; negative: for ever
 *
 * What isn't seen in time is said later, by whoever polls the CQs.
 *
 * Return: 1 all rails of the source are quiet, and the kernel knows; 0 the event
 * is not REVOKE, or not of a source that was bound here; -ETIMEDOUT not all yet;
 * -EOPNOTSUPP a rail has no receive posted that could be flushed: the kernel
 * settles it by time; -ENOBUFS; or what lkvfence_quiet() returns.
 */
int lkvfence_verbs_event(struct lkvfence_verbs *v, struct lkvfence *fence,
			 const struct lkvfence_event *event, int timeout_ms);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* LKVFENCE_VERBS_H */
