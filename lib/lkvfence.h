/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * liblkvfence: hold, release and abort the slots of a KV cache that somebody
 * else may still write or read by RDMA. lkvfence(7) says what a fence is and
 * who owns a slot when; <linux/lkvfence.h> specifies every struct and errno.
 *
 * Calls return 0 (or a count) on success and -errno on failure; errno itself
 * is left alone. lkvfence_errmsg() says in words what the calling thread's
 * last failed call ran into and what to do about it.
 *
 * Threads: any number may use one handle at once; only lkvfence_close() must
 * be the last call on it. fork(2): parent and child share the handle, as they
 * share any descriptor: either may call, an event goes to whoever reads it
 * first, and the handle counts as closed when both have closed it (or died).
 * Descriptors are close-on-exec.
 */
#ifndef LKVFENCE_H
#define LKVFENCE_H

#include <stddef.h>
#include <stdint.h>
#include <linux/lkvfence.h>

#ifdef __cplusplus
extern "C" {
/* Calls and structs share names, as stat(2) does; g++ -Wshadow minds that. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#define LKVFENCE_VERSION	"0.1.0"

/** A handle on a region. */
struct lkvfence;

/**
 * lkvfence_open() - open, or create, the region of a name
 * @f: the handle, to be closed with lkvfence_close()
 * @open: flags, name, geometry and mode; size, fd and the out members are
 *	the library's affair. Afterwards it tells the region's geometry
 *
 * Return: 0; -ENXIO the module is not loaded; -EACCES no permission on the
 * device node or on the region; -EPROTO the module's ABI is too old or too new
 * for this library; or what OPEN returns.
 */
int lkvfence_open(struct lkvfence **f, struct lkvfence_open *open);

/**
 * lkvfence_from_fd() - a handle from a descriptor that came over a socket
 * @f: the handle; on success the descriptor belongs to it
 * @fd: the descriptor
 *
 * It is made close-on-exec and O_NONBLOCK; the latter is seen by whoever else
 * holds a descriptor of the same open file.
 *
 * Return: 0; -EBADF, -ENOTTY it is not a region's handle; -EPROTO as in
 * lkvfence_open(). On failure the descriptor stays the caller's.
 */
int lkvfence_from_fd(struct lkvfence **f, int fd);

/** lkvfence_fd() - the descriptor, for poll(2), epoll(7) and SCM_RIGHTS */
int lkvfence_fd(const struct lkvfence *f);

/**
 * lkvfence_close() - close a handle; NULL is fine
 * @f: the handle
 *
 * Transfers that it owns are ended as orphans, unless the descriptor is open
 * elsewhere. No slot is freed by that.
 */
void lkvfence_close(struct lkvfence *f);

/**
 * lkvfence_info() - the module's versions and limits; needs no region
 * @info: where they go
 *
 * Doesn't judge: it succeeds where the versions don't fit, so that they can be
 * shown.
 *
 * Return: 0; -ENXIO, -EACCES as lkvfence_open(); -EPROTO something else than
 * the module answered.
 */
int lkvfence_info(struct lkvfence_info *info);

/** lkvfence_stat() - a region's geometry, gauges and counters, of one instant */
int lkvfence_stat(struct lkvfence *f, struct lkvfence_stat *stat);

/**
 * lkvfence_begin() - take slots for a transfer, and grant its first leases
 * @f: the handle
 * @begin: what to take; generation and state come back in it, and what is in
 *	the way with -EBUSY and -EEXIST
 *
 * Return: 0, or what BEGIN returns. All or nothing.
 */
int lkvfence_begin(struct lkvfence *f, struct lkvfence_begin *begin);

/** lkvfence_hold() - lkvfence_begin() and lkvfence_abort() in one step */
int lkvfence_hold(struct lkvfence *f, struct lkvfence_begin *begin);

/**
 * lkvfence_offer() - lkvfence_begin() of what is to be pulled
 * @f: the handle of the producer
 * @begin: as there
 *
 * Sets LKVFENCE_BEGIN_OFFER in the flags.
 *
 * Return: as lkvfence_begin(); -ECANCELED the tag was aborted before.
 */
int lkvfence_offer(struct lkvfence *f, struct lkvfence_begin *begin);

/**
 * lkvfence_ready() - an offered transfer's data is there, or stays for longer
 * @f: the handle; any of the region
 * @ready: which, for how long from now, and for how many consumers; the time at
 *	which it expires comes back in it
 *
 * Pulls that wait for it are granted. For one that is ready already it is a
 * renewal: it expires later, if that is later.
 *
 * Return: 0; -ECANCELED it has ended; -EINVAL it isn't offered, or is ready for
 * another number of consumers; or what READY returns.
 */
int lkvfence_ready(struct lkvfence *f, struct lkvfence_ready *ready);

/**
 * lkvfence_pull() - ask for an offered transfer's data
 * @f: the handle of the consumer; the answer is an event on it
 * @pull: which, and for which source; ticket comes back in it
 *
 * May be called before the transfer is offered or ready, and never waits. One
 * event of the ticket follows: GRANTED, and the source has a lease to return; or
 * REFUSED, with the reason.
 *
 * Return: 0; -ENOSPC too many wait; or what PULL returns.
 */
int lkvfence_pull(struct lkvfence *f, struct lkvfence_pull *pull);

/**
 * lkvfence_withdraw() - the answer to a pull isn't wanted any more
 * @f: the handle that asked
 * @ticket: the pull's
 *
 * It is answered all the same: REFUSED, reason WITHDRAWN.
 *
 * Return: 0; -ENOENT no such ticket of this handle waits: its answer is among
 * the events, and may be a lease to return.
 */
int lkvfence_withdraw(struct lkvfence *f, uint64_t ticket);

/** lkvfence_take() - one more lease of a transfer, for a launch */
int lkvfence_take(struct lkvfence *f, uint64_t generation, uint32_t source);

/**
 * lkvfence_return() - give leases back, in bulk
 * @f: the handle
 * @items: the leases; each one's result and released come back in it
 * @nr: how many
 *
 * Return: how many were accepted, or -errno.
 */
int lkvfence_return(struct lkvfence *f, struct lkvfence_return_item *items,
		    uint32_t nr);

/**
 * lkvfence_drained() - one lease back, with proof: its work is done
 * @f: the handle
 * @generation: which transfer
 * @source: whose lease
 * @evidence: on what ground: SUCCESS_CQE or IN_BAND
 *
 * Return: 0, or the item's result: -ESTALE, -ENOENT, -EALREADY, -EINVAL,
 * -EOPNOTSUPP.
 */
int lkvfence_drained(struct lkvfence *f, uint64_t generation, uint32_t source,
		     enum lkvfence_evidence evidence);

/**
 * lkvfence_revoked() - one lease's access was taken away
 * @f: the handle
 * @generation: which transfer
 * @source: whose lease; it may have been returned as failed before
 * @evidence: on what ground: RQ_FLUSHED, MW_INVALIDATED, QP_DESTROYED or
 *	MR_DEREGISTERED
 *
 * For the owner of the memory, who did it, and saw that it was done.
 *
 * Return: as lkvfence_drained().
 */
int lkvfence_revoked(struct lkvfence *f, uint64_t generation, uint32_t source,
		     enum lkvfence_evidence evidence);

/**
 * lkvfence_failed() - one lease back, without proof: it stays out
 * @f: the handle
 * @generation: which transfer
 * @source: whose lease
 *
 * Return: as lkvfence_drained().
 */
int lkvfence_failed(struct lkvfence *f, uint64_t generation, uint32_t source);

/**
 * lkvfence_abort() - end a transfer; its slots are held until proof or deadline
 * @f: the handle
 * @abort: which and how; state, deadline_ns and leases_out come back in it
 *
 * The release is told by an event, also where it happened at once.
 *
 * Return: 0, or what ABORT returns.
 */
int lkvfence_abort(struct lkvfence *f, struct lkvfence_abort *abort);

/** lkvfence_abort_generation() - lkvfence_abort() with all defaults */
int lkvfence_abort_generation(struct lkvfence *f, uint64_t generation);

/** lkvfence_abort_tag() - likewise, of the transfer of @tag that has not ended */
int lkvfence_abort_tag(struct lkvfence *f, uint64_t tag);

/**
 * lkvfence_abort_early() - likewise, also where it is offered only later
 * @f: the handle
 * @tag: which transfer
 * @after: one that is not meant, nor any before it: the last generation of this
 *	tag that the caller knows of; 0: none
 *
 * For an abort that may overtake the offer. Where the tag has no transfer that
 * has not ended, its next lkvfence_offer() is refused (-ECANCELED), if it comes
 * while that is remembered: tombstone_ns of INFO. Of a tag that is used again,
 * @after keeps a late abort of one use away from the next.
 *
 * Return: 0, also where there is no such transfer; or -errno.
 */
int lkvfence_abort_early(struct lkvfence *f, uint64_t tag, uint64_t after);

/**
 * lkvfence_abort_all() - end all transfers of the region, whosever they are
 * @f: the handle
 * @reason: why: ABORTED to SHUTDOWN, or DROPPED
 *
 * Pulls that wait for a tag which nobody has offered are refused as well. What
 * is begun meanwhile may go unharmed.
 */
int lkvfence_abort_all(struct lkvfence *f, enum lkvfence_reason reason);

/**
 * lkvfence_drop() - end a transfer, for its consumer doesn't want it any more
 * @f: the handle
 * @generation: which transfer
 *
 * As lkvfence_abort_generation(), with the reason DROPPED. A lease that a pull
 * was granted stays out until it is returned.
 */
int lkvfence_drop(struct lkvfence *f, uint64_t generation);

/**
 * lkvfence_release() - slots of a finished transfer back
 * @f: the handle
 * @generation: which transfer
 *
 * Return: 0: the slots are free, and no event follows; -EBUSY a lease is
 * without proof; -ESTALE, -ENOENT.
 */
int lkvfence_release(struct lkvfence *f, uint64_t generation);

/**
 * lkvfence_force_release() - let go of a transfer in quarantine, without proof
 * @f: the handle
 * @generation: which transfer
 *
 * Return: 0; -EPERM without CAP_SYS_ADMIN; -EBUSY it is not in quarantine.
 */
int lkvfence_force_release(struct lkvfence *f, uint64_t generation);

/** lkvfence_query() - what is known of one transfer; see QUERY */
int lkvfence_query(struct lkvfence *f, struct lkvfence_query *query);

/** lkvfence_adopt() - become the owner of an orphan */
int lkvfence_adopt(struct lkvfence *f, uint64_t generation);

/**
 * lkvfence_source() - bind a source to its queue pairs, so that it can be revoked
 * @f: the handle; events tell it of revocations
 * @source: which, and its queue pairs; binding comes back in it
 *
 * To be called by the process that created the queue pairs.
 *
 * Return: 0, or what SOURCE returns.
 */
int lkvfence_source(struct lkvfence *f, struct lkvfence_source *source);

/** lkvfence_query_source() - what is known of one bound source; see QUERY_SOURCE */
int lkvfence_query_source(struct lkvfence *f, struct lkvfence_query_source *query);

/** lkvfence_unbind() - a source has no queue pairs any more */
int lkvfence_unbind(struct lkvfence *f, uint32_t source);

/**
 * lkvfence_quiet() - what was seen of a bound source's queue pair
 * @f: the handle that bound it
 * @binding: the source's binding
 * @qp: which queue pair, by its index; LKVFENCE_QUIET_ALL
 * @evidence: RQ_FLUSHED, QP_DESTROYED or MR_DEREGISTERED
 *
 * Its leases are revoked when this is known of all its queue pairs.
 *
 * Return: 0, or what QUIET returns.
 */
int lkvfence_quiet(struct lkvfence *f, uint64_t binding, uint32_t qp,
		   enum lkvfence_evidence evidence);

/**
 * lkvfence_report() - count what a look at a transfer's memory found
 * @f: the handle
 * @generation: which transfer, released or not
 * @kind: what was found
 * @nr_slots: in how many slots
 *
 * Return: 0, or what REPORT returns.
 */
int lkvfence_report(struct lkvfence *f, uint64_t generation,
		    enum lkvfence_report_kind kind, uint32_t nr_slots);

/**
 * lkvfence_events() - read events
 * @f: the handle
 * @events: room for events
 * @nr: for how many
 * @timeout_ms: how long to wait for the first one; 0: don't; negative: for ever
 *
 * Another reader that takes the event first doesn't prolong the wait.
 *
 * Return: how many were read; 0 when the time passed; -EINTR; or -errno.
 */
int lkvfence_events(struct lkvfence *f, struct lkvfence_event *events,
		    uint32_t nr, int timeout_ms);

/**
 * lkvfence_errmsg() - the calling thread's last failure, in words
 *
 * Return: a string that is valid until the thread's next failed call; "" when
 * none failed yet.
 */
const char *lkvfence_errmsg(void);

/** lkvfence_version() - the library's version, e.g. "0.1.0" */
const char *lkvfence_version(void);

/*
 * Names of the ABI's values, as the command and sysfs print them: lower case,
 * "unknown" for what isn't known.
 */
const char *lkvfence_state_name(uint32_t state);
const char *lkvfence_reason_name(uint32_t reason);
const char *lkvfence_policy_name(uint32_t policy);
const char *lkvfence_outcome_name(uint32_t outcome);
const char *lkvfence_evidence_name(uint32_t evidence);
const char *lkvfence_event_name(uint32_t type);
const char *lkvfence_lease_state_name(uint32_t state);
const char *lkvfence_source_state_name(uint32_t state);
const char *lkvfence_qp_state_name(uint32_t state);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* LKVFENCE_H */
