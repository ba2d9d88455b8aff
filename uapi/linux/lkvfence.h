/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * lkvfence: slots of a KV cache are not reused while somebody may still write
 * or read them by RDMA.
 *
 * This comment is the specification of the ABI.
 *
 * WORDS
 *
 * A region is a named pool of equal slots, numbered from 0. A transfer is one
 * use of a set of slots by something asynchronous. The kernel gives each
 * transfer a generation, a number that is never given twice; the engine gives
 * it a tag, which may be used again later. A source is a party that may touch
 * the slots (a prefill rank, a copying thread), named by a number of the
 * engine's choice. A lease is a source's right to touch the slots of one
 * transfer; it is given back by a return, with proof (drained) or without
 * (failed), or the access itself is taken away (revoked). The laws named
 * below are enforced by the module and can't be switched off:
 *
 *   L1  a slot is in at most one transfer that has not been released;
 *   L2  a slot comes back when every lease is drained or revoked, or when the
 *       deadline passed under a policy that says so; in no other way;
 *   L3  an ended transfer gives no new leases;
 *   L4  a lease returned as failed is still out, and deadlines only move later;
 *   L5  returns are matched by generation and source, never counted;
 *   L6  each generation is reported released once, with one outcome;
 *   L7  a release without proof says so;
 *   L8  every hold has a deadline;
 *   L12 transfers joined in a group are released together or not at all.
 *
 * A TRANSFER'S LIFE
 *
 *   BEGIN -> WAITING [-> READY] -> ENDED -> RELEASED
 *
 * WAITING: the slots are taken; leases may be granted (at BEGIN, or by TAKE)
 * and returned. READY: likewise, and what is in the slots may be pulled. ENDED:
 * by ABORT, by RELEASE, by its time to live, or because the handle that owned it
 * was closed; the slots are held until every lease is proven quiet, or until the
 * deadline. RELEASED: the slots may be taken again;
 * the generation is no longer known. A transfer all of whose leases are
 * already proven quiet, or which never gave one, is released in the same step
 * in which it ends.
 *
 * What happens at the deadline is the transfer's policy: TAINT releases the
 * slots with the outcome TIMEOUT, QUARANTINE keeps them until the proof comes
 * after all, or an administrator lets go of them. Before either of them, where
 * the policy has REVOKE in it, the kernel takes the access away.
 *
 * REVOCATION
 *
 * SOURCE binds a source to the queue pairs, on this host, through which it
 * reaches the slots. A lease that the source is granted from then on is a bound
 * one. A transfer can be revoked when each of its leases that are not proven
 * quiet is bound, to a source whose QPs are neither revoked nor lost; and until
 * that was tried once, and given up. It is
 *
 *   - at its deadline, where its policy has REVOKE, or is DEFAULT;
 *   - when it ends (or, where it has, at once), where it has REVOKE_NOW;
 *   - in quarantine, by an ABORT with REVOKE_NOW.
 *
 * Revoking a source comes in steps. It gives no new leases from the first on
 * (ESHUTDOWN). Transfers that have not ended and for which it has an unproven
 * lease are ended (reason REVOKED), in this region and in all others where one
 * of its QPs is bound; sources that share a QP are revoked with it. Each QP is
 * moved to the state ERR, never to RESET. Whoever bound the source is told
 * (event REVOKE), and may say by QUIET what it saw of the QP since. A QP is
 * quiet when such stronger evidence came; or settle_ns after the kernel moved it,
 * when none of the kernel's threads is still at what it was at then
 * (QP_ERR_SETTLED). When all QPs of the source are, its leases are revoked, on
 * the weakest of these grounds.
 *
 * A QP that can't be moved (it is not found, it is not the one that was bound,
 * its device is gone, or the driver refuses) is lost: that it is gone is no
 * proof. Where a QP is lost, or revocation takes longer than revoke_ns, the rest
 * of the policy is carried out at the deadline, or at once where that is past.
 *
 * PULLS
 *
 * A producer's transfer is begun with OFFER: what its request computes will be
 * pulled, by who asks for it by tag or generation. READY says that the data is
 * there. PULL is a consumer's request. It makes a ticket, which is answered by
 * exactly one event, as soon as the answer is known (L6):
 *
 *   GRANTED  the transfer is READY, and the source named in PULL has a lease of
 *            it: the slots stay as they are until that is proven quiet,
 *            whatever becomes of the transfer
 *   REFUSED  with the reason: that for which the transfer ended; UNKNOWN, if
 *            within unclaimed_ns no transfer of that tag was offered; DEADLINE,
 *            the pull's own; WITHDRAWN, by its owner; SOURCE, if the source may
 *            not have a lease: it had one, is revoked, or there are too many
 *
 * PULL may come before BEGIN, READY and ABORT, or after them. A ticket that waits
 * holds nothing but its own memory. It goes unanswered only where the handle that
 * asked is closed.
 *
 * A transfer is READY until its time to live has passed, counted from READY, and
 * not while the request runs. Where READY named a number of consumers, it is
 * finished and released by itself when as many have drained a lease that PULL
 * gave them, and none is unproven; then it is forgotten. An offered transfer that
 * ends otherwise leaves a tombstone for its tag: the reason, which late pulls get
 * at once. It lasts for tombstone_ns, or until there are max_tombstones later
 * ones, or the tag is offered again.
 *
 * An ABORT with EARLY may come before BEGIN: the tombstone that it leaves refuses
 * the next BEGIN with OFFER of that tag, once.
 *
 * GROUPS
 *
 * Where one request has slots in several regions, or processes (the ranks of
 * tensor parallelism on one host), its transfers JOIN a group: a number of the
 * engine's choice, and how many members there will be. There is one decision for
 * all of them (L12):
 *
 *   - a member that finishes (RELEASE) is held until the others have, too;
 *   - one that ends in any other way ends all, for the same reason;
 *   - when all members would have been released by themselves, they are: in one
 *     step, with the worst of their outcomes and the weakest of their evidence,
 *     and each owner is told by an event, in the order in which they joined.
 *
 * A member whose source doesn't answer is waited for until its own deadline; then
 * its policy decides. With TAINT it counts as TIMEOUT, and so does the group. With
 * QUARANTINE all members are held until it is proven quiet after all, or let go by
 * an administrator. Members that didn't come, or didn't end, within the default
 * timeout after the first one finished, are ended or done without (reason
 * EXPIRED).
 *
 * PEERS
 *
 * A peer is the other end of a session, named by the engine, and is healthy or
 * failed. The table of peers is the host's: all processes with a handle on a
 * region of the same user see the same peers, and change them, by PEER. The module
 * marks nothing by itself: that a request, a lease or a pull fails doesn't make its
 * peer a dead one.
 *
 *   CONNECT    there is a session with the peer. One of another number than the
 *              last makes the peer healthy, with a new generation
 *   FAILED     a transfer to that session failed: the peer is failed
 *   RECOVERED  it works again: the peer is healthy
 *   PROBE      may the caller find out? Of all processes, one at a time may
 *   PROBED     it did, and the peer is still failed
 *
 * What is said of an older session or generation is refused with ESTALE, counted,
 * and changes nothing (L5). A TAKE that asks for it is refused with EHOSTDOWN
 * while a peer is failed; nothing else looks at peers.
 *
 * PROBE is a claim. It ends with RECOVERED, PROBED or CONNECT, when its handle is
 * closed, or interval_ns after it was made, when somebody else may claim: a prober
 * that hangs, or is killed, is in nobody's way. What it says later of a claim that
 * somebody else has by then is ESTALE.
 *
 * A user's peers are known as long as he has a region. Where there would be more
 * than max_peers, the healthy one is forgotten that nobody watches and nobody has
 * named for longest.
 *
 * FILES AND HANDLES
 *
 * /dev/lkvfence answers INFO and OPEN, and every other command with ENOTTY.
 * OPEN returns a new file descriptor, a handle on one region; it answers INFO
 * and all other commands, read(2) and poll(2). A handle may be inherited over
 * fork(2) or passed over a socket: all descriptors of one handle are the same
 * handle. It is closed when its last descriptor is.
 *
 * A transfer is owned by the handle that began or adopted it. Any handle of
 * the region may TAKE, RETURN, ABORT, RELEASE and QUERY it. When its owner is
 * closed, it is ended (reason ORPHANED) with its own policy and the default
 * timeout; nothing is released by that. A region exists while it has a handle
 * or an unreleased transfer; whoever opens the name next finds the same holds.
 *
 * EVENTS
 *
 * read(2) on a handle returns as many struct lkvfence_event as are there and
 * fit; it blocks while there are none (EAGAIN with O_NONBLOCK), and fails with
 * EINVAL when not even one fits. poll(2) reports POLLIN while one is there.
 * Events are never lost while the handle lives, nor merged, but those of one peer;
 * those of one transfer come in the order ENDED, QUARANTINED, RELEASED; those of
 * sources come first, then those of tickets, of peers, and of transfers:
 *
 *   ENDED        somebody else than its owner ended it (another handle's ABORT,
 *                or its time to live), and its slots are held
 *   QUARANTINED  the deadline passed and the slots stay out
 *   RELEASED     the slots are free. Told exactly once for each generation,
 *                except where the owner's own RELEASE succeeded: there the
 *                answer of the call is the report (L6)
 *   REVOKE       a source that this handle bound is being revoked
 *   GRANTED, REFUSED  the answer to a pull of this handle's
 *   PEER         a peer that this handle watches has failed, has recovered, or
 *                has a new session. Where it was not read before the next change,
 *                there is one event for both, and it tells what came of it
 *
 * A released transfer keeps the memory of its ranges until its event is read; it
 * is charged to who began it.
 *
 * An orphan that was not adopted has nobody to tell; the counters know it.
 *
 * The event is the report. Where a call's answer says that a transfer is
 * released (state of ABORT and HOLD, released of a return), the event comes as
 * well: who acts on both gives slots back twice.
 *
 * STRUCTS
 *
 * Every command takes a pointer to a struct whose first member is its size as
 * the caller knows it. Structs grow at the end. The kernel takes a shorter,
 * older struct (missing members count as 0) down to the size of ABI 1, and a
 * longer, newer one, up to a page, if what it doesn't know is 0 (else E2BIG).
 * Pointers are passed as 64-bit numbers, so that 32-bit programs work on a
 * 64-bit kernel. Members marked "out" are ignored on the way in; others come
 * back as they were. Members named pad, and flags not defined here, must be 0
 * (else EINVAL).
 *
 * Times are nanoseconds of CLOCK_MONOTONIC; timeouts are relative, everything
 * the kernel reports as *_ns is absolute. 0 means "not set".
 *
 * ERRORS, for all commands
 *
 *   ENOTTY   no such command here
 *   EFAULT   a pointer can't be read or written
 *   E2BIG    the struct is newer than the module and uses what it doesn't know
 *   EINVAL   an unknown flag, non-zero padding, a size below that of ABI 1, or
 *            arguments that contradict each other
 *   ERANGE   a slot beyond the region, a timeout out of bounds, or a count
 *            above the limits that INFO reports
 *   ENOMEM   no memory, or the caller's memory limit is reached
 *   ENOENT   nothing of that name, tag, or generation is or was there. A
 *            generation was never issued if it is higher than all that the
 *            region issued, and than all that had been issued on this host
 *            when the region was created; 0 never is
 *   ESTALE   the generation was issued earlier and is released
 *   EPERM    needs a capability which the caller lacks
 *   EACCES   the region's owner and mode don't let the caller in
 *   EOPNOTSUPP  this module can't, on this kernel: INFO says what it can
 *   ESHUTDOWN  the source is revoked, or its QPs are lost: bind it anew
 *
 * Errors that only some commands give stand with those. A command that fails
 * has changed nothing, save what is said at RETURN.
 */
#ifndef _UAPI_LINUX_LKVFENCE_H
#define _UAPI_LINUX_LKVFENCE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The ABI's version. It rises when commands, flags or members are added. INFO
 * says which the module has, and the oldest whose programs it still serves.
 */
#define LKVFENCE_ABI			1

#define LKVFENCE_DEVICE			"/dev/lkvfence"

/* A region's name: 1 to 63 of A-Z a-z 0-9 . _ - and not starting with a dot. */
#define LKVFENCE_NAME_MAX		63
#define LKVFENCE_COMM_LEN		16

#define LKVFENCE_IOC_MAGIC		0xFA

/* on /dev/lkvfence and on handles */
#define LKVFENCE_IOC_INFO		_IO(LKVFENCE_IOC_MAGIC, 0x00)
/* on /dev/lkvfence */
#define LKVFENCE_IOC_OPEN		_IO(LKVFENCE_IOC_MAGIC, 0x01)
/* on handles */
#define LKVFENCE_IOC_STAT		_IO(LKVFENCE_IOC_MAGIC, 0x10)
#define LKVFENCE_IOC_BEGIN		_IO(LKVFENCE_IOC_MAGIC, 0x11)
#define LKVFENCE_IOC_HOLD		_IO(LKVFENCE_IOC_MAGIC, 0x12)
#define LKVFENCE_IOC_TAKE		_IO(LKVFENCE_IOC_MAGIC, 0x13)
#define LKVFENCE_IOC_RETURN		_IO(LKVFENCE_IOC_MAGIC, 0x14)
#define LKVFENCE_IOC_ABORT		_IO(LKVFENCE_IOC_MAGIC, 0x15)
#define LKVFENCE_IOC_RELEASE		_IO(LKVFENCE_IOC_MAGIC, 0x16)
#define LKVFENCE_IOC_QUERY		_IO(LKVFENCE_IOC_MAGIC, 0x17)
#define LKVFENCE_IOC_ADOPT		_IO(LKVFENCE_IOC_MAGIC, 0x18)
#define LKVFENCE_IOC_SOURCE		_IO(LKVFENCE_IOC_MAGIC, 0x19)
#define LKVFENCE_IOC_QUIET		_IO(LKVFENCE_IOC_MAGIC, 0x1a)
#define LKVFENCE_IOC_REPORT		_IO(LKVFENCE_IOC_MAGIC, 0x1b)
#define LKVFENCE_IOC_QUERY_SOURCE	_IO(LKVFENCE_IOC_MAGIC, 0x1c)
#define LKVFENCE_IOC_READY		_IO(LKVFENCE_IOC_MAGIC, 0x1d)
#define LKVFENCE_IOC_PULL		_IO(LKVFENCE_IOC_MAGIC, 0x1e)
#define LKVFENCE_IOC_WITHDRAW		_IO(LKVFENCE_IOC_MAGIC, 0x1f)
#define LKVFENCE_IOC_JOIN		_IO(LKVFENCE_IOC_MAGIC, 0x20)
#define LKVFENCE_IOC_PEER		_IO(LKVFENCE_IOC_MAGIC, 0x21)

/**
 * enum lkvfence_state - where a transfer is in its life
 * @LKVFENCE_STATE_WAITING: begun; leases may be granted
 * @LKVFENCE_STATE_READY: likewise, and its data may be pulled
 * @LKVFENCE_STATE_ENDED: slots are held until proof or deadline
 * @LKVFENCE_STATE_RELEASED: slots are back
 */
enum lkvfence_state {
	LKVFENCE_STATE_WAITING		= 1,
	LKVFENCE_STATE_READY		= 2,
	LKVFENCE_STATE_ENDED		= 3,
	LKVFENCE_STATE_RELEASED		= 4,
};

/**
 * enum lkvfence_reason - why a transfer ended; the first reason stays. Or why a
 *	pull was refused
 * @LKVFENCE_REASON_NONE: it has not ended
 * @LKVFENCE_REASON_FINISHED: RELEASE, or all consumers have taken it
 * @LKVFENCE_REASON_ABORTED: ABORT: the client is gone, or unspecified
 * @LKVFENCE_REASON_FAILED: ABORT: a send, a rank or a worker failed
 * @LKVFENCE_REASON_PREEMPTED: ABORT: preempted or retracted by the scheduler
 * @LKVFENCE_REASON_PEER: ABORT: the peer is dead
 * @LKVFENCE_REASON_SHUTDOWN: ABORT: the engine is going down
 * @LKVFENCE_REASON_EXPIRED: its time to live passed (set by the kernel)
 * @LKVFENCE_REASON_ORPHANED: its owner was closed (set by the kernel)
 * @LKVFENCE_REASON_REVOKED: one of its sources was revoked, for the sake of
 *	this or of another transfer (set by the kernel)
 * @LKVFENCE_REASON_DROPPED: ABORT: its consumer wants it no more
 * @LKVFENCE_REASON_UNKNOWN: of a pull: nothing of that tag was offered in time,
 *	or what is known of the generation is that it is over
 * @LKVFENCE_REASON_DEADLINE: of a pull: its own deadline passed
 * @LKVFENCE_REASON_WITHDRAWN: of a pull: WITHDRAW
 * @LKVFENCE_REASON_SOURCE: of a pull: its source may not have a lease
 */
enum lkvfence_reason {
	LKVFENCE_REASON_NONE		= 0,
	LKVFENCE_REASON_FINISHED	= 1,
	LKVFENCE_REASON_ABORTED		= 2,
	LKVFENCE_REASON_FAILED		= 3,
	LKVFENCE_REASON_PREEMPTED	= 4,
	LKVFENCE_REASON_PEER		= 5,
	LKVFENCE_REASON_SHUTDOWN	= 6,
	LKVFENCE_REASON_EXPIRED		= 7,
	LKVFENCE_REASON_ORPHANED	= 8,
	LKVFENCE_REASON_REVOKED		= 9,
	LKVFENCE_REASON_DROPPED		= 10,
	LKVFENCE_REASON_UNKNOWN		= 11,
	LKVFENCE_REASON_DEADLINE	= 12,
	LKVFENCE_REASON_WITHDRAWN	= 13,
	LKVFENCE_REASON_SOURCE		= 14,
};

/**
 * enum lkvfence_policy - what happens at the deadline, laxest first
 * @LKVFENCE_POLICY_DEFAULT: in BEGIN and HOLD: TAINT, with REVOKE for as long
 *	as the transfer can be revoked; in ABORT: the transfer's
 * @LKVFENCE_POLICY_TAINT: the slots are released, outcome TIMEOUT, TAINTED
 * @LKVFENCE_POLICY_QUARANTINE: the slots stay out until proof comes or an
 *	administrator releases them
 * @LKVFENCE_POLICY_REVOKE: beside one of these, by |: revoke first; it is for
 *	when that fails, or can't be done. Alone: with the transfer's, or TAINT
 * @LKVFENCE_POLICY_REVOKE_NOW: likewise; doesn't wait for the deadline
 *
 * A transfer's policy only ever gets stricter (L4): the strictest of what
 * BEGIN and the ABORTs asked for is in force, and so is each REVOKE. TAINT in
 * BEGIN or HOLD means no revocation, unless an ABORT asks for it.
 */
enum lkvfence_policy {
	LKVFENCE_POLICY_DEFAULT		= 0,
	LKVFENCE_POLICY_TAINT		= 1,
	LKVFENCE_POLICY_QUARANTINE	= 2,
	LKVFENCE_POLICY_REVOKE		= 1 << 8,
	LKVFENCE_POLICY_REVOKE_NOW	= 1 << 9,
};

/**
 * enum lkvfence_outcome - how a transfer's slots came back
 * @LKVFENCE_OUTCOME_NONE: they have not
 * @LKVFENCE_OUTCOME_COMPLETED: RELEASE, with every lease proven quiet
 * @LKVFENCE_OUTCOME_DRAINED: ended early, every lease proven quiet
 * @LKVFENCE_OUTCOME_REVOKED: ended early, every lease proven quiet, at least
 *	one by taking the access away
 * @LKVFENCE_OUTCOME_TIMEOUT: without proof, at or after the deadline: TAINTED
 * @LKVFENCE_OUTCOME_GONE: reserved: the memory behind the slots is gone
 */
enum lkvfence_outcome {
	LKVFENCE_OUTCOME_NONE		= 0,
	LKVFENCE_OUTCOME_COMPLETED	= 1,
	LKVFENCE_OUTCOME_DRAINED	= 2,
	LKVFENCE_OUTCOME_REVOKED	= 3,
	LKVFENCE_OUTCOME_TIMEOUT	= 4,
	LKVFENCE_OUTCOME_GONE		= 5,
};

/* How many this header knows, and how many structs have room for, for good. */
#define LKVFENCE_NR_OUTCOMES		6
#define LKVFENCE_MAX_OUTCOMES		8

/**
 * enum lkvfence_status - with what a lease is given back
 * @LKVFENCE_STATUS_DRAINED: the source touches the slots no more, for all it
 *	had to do is done: evidence SUCCESS_CQE or IN_BAND
 * @LKVFENCE_STATUS_FAILED: the source gave up and proves nothing; evidence
 *	must be NONE. "Aborted, and my queue is flushed" is this: it lets whole
 *	messages land. The lease counts as out until the deadline (L4), and the
 *	source can't prove it any more (L5)
 * @LKVFENCE_STATUS_REVOKED: the owner of the memory took the access away:
 *	evidence RQ_FLUSHED, MW_INVALIDATED, QP_DESTROYED or MR_DEREGISTERED.
 *	That is no return of the source's, so it is accepted for a lease that
 *	was returned as failed, too
 */
enum lkvfence_status {
	LKVFENCE_STATUS_DRAINED		= 1,
	LKVFENCE_STATUS_FAILED		= 2,
	LKVFENCE_STATUS_REVOKED		= 3,
};

/**
 * enum lkvfence_evidence - on what ground a lease counts as quiet, weakest first
 * @LKVFENCE_EVIDENCE_NONE: no lease was ever out: nothing to prove
 * @LKVFENCE_EVIDENCE_TIMEOUT: no proof: the deadline passed. Kernel only
 * @LKVFENCE_EVIDENCE_QP_ERR_SETTLED: the kernel moved the source's QPs to ERR,
 *	settle_ns passed since, and its own threads have finished what they
 *	were at. Kernel only
 * @LKVFENCE_EVIDENCE_SUCCESS_CQE: the sender saw every work request that it
 *	posted under the lease complete with success (or, for a local copy
 *	engine, the completion of every copy). InfiniBand and RoCE only: with
 *	iWARP a write completes when it is sent. Error and flush completions
 *	are no proof
 * @LKVFENCE_EVIDENCE_IN_BAND: the receiver saw the receive completion of a
 *	write-with-immediate posted last on the same QP; behind reads, with a
 *	fence (IBV_SEND_FENCE), for a read may be answered again
 * @LKVFENCE_EVIDENCE_TIMELINE: reserved. Kernel only
 * @LKVFENCE_EVIDENCE_RQ_FLUSHED: the receiver's QP is in ERR and a receive
 *	posted before that came back flushed
 * @LKVFENCE_EVIDENCE_MW_INVALIDATED: local invalidate of the transfer's memory
 *	window completed with success on the receiver
 * @LKVFENCE_EVIDENCE_QP_DESTROYED: destroy of the receiver's QP returned
 * @LKVFENCE_EVIDENCE_MR_DEREGISTERED: deregistration of the only memory region
 *	that the source could name returned
 * @LKVFENCE_EVIDENCE_BACKING_GONE: reserved. Kernel only
 *
 * QP_ERR_SETTLED, and all from RQ_FLUSHED on: the access was taken away. A
 * transfer that needed such evidence is released as REVOKED.
 */
enum lkvfence_evidence {
	LKVFENCE_EVIDENCE_NONE			= 0,
	LKVFENCE_EVIDENCE_TIMEOUT		= 1,
	LKVFENCE_EVIDENCE_QP_ERR_SETTLED	= 2,
	LKVFENCE_EVIDENCE_SUCCESS_CQE		= 3,
	LKVFENCE_EVIDENCE_IN_BAND		= 4,
	LKVFENCE_EVIDENCE_TIMELINE		= 5,
	LKVFENCE_EVIDENCE_RQ_FLUSHED		= 6,
	LKVFENCE_EVIDENCE_MW_INVALIDATED	= 7,
	LKVFENCE_EVIDENCE_QP_DESTROYED		= 8,
	LKVFENCE_EVIDENCE_MR_DEREGISTERED	= 9,
	LKVFENCE_EVIDENCE_BACKING_GONE		= 10,
};

/* How many this header knows, and how many structs have room for, for good. */
#define LKVFENCE_NR_EVIDENCE		11
#define LKVFENCE_MAX_EVIDENCE		16

/* What a region may accept as proof: bits 1 << enum lkvfence_evidence. */
#define LKVFENCE_ACCEPT_ALL		0x7fc

/**
 * struct lkvfence_range - consecutive slots
 * @first: the first slot
 * @count: how many, at least 1
 */
struct lkvfence_range {
	__u32 first;
	__u32 count;
};

/* SOURCE can bind QPs, and policies with REVOKE can be carried out. */
#define LKVFENCE_FEATURE_QP		(1ULL << 0)

/**
 * struct lkvfence_info - INFO: versions and limits
 * @size: sizeof(struct lkvfence_info)
 * @flags: 0
 * @abi: out: the module's ABI version
 * @abi_oldest: out: the oldest ABI version whose programs it serves
 * @features: out: LKVFENCE_FEATURE_*
 * @max_slots: out: slots in a region
 * @max_ranges: out: ranges in one BEGIN or HOLD
 * @max_leases: out: leases of one transfer
 * @max_transfers: out: unreleased transfers of a region; also, released ones
 *	of which a handle has not yet read the event
 * @timeout_default_ns: out: the timeout of an ABORT that names none
 * @timeout_min_ns: out: the least that may be asked for
 * @timeout_max_ns: out: the most that may be asked for
 * @settle_ns: out: how long after a QP was moved to ERR it counts as quiet, at
 *	the earliest
 * @revoke_ns: out: how long a revocation may take
 * @max_sources: out: sources bound in a region
 * @max_qps: out: QPs of one source
 * @unclaimed_ns: out: how long a PULL that names no time waits for its tag to be
 *	offered
 * @tombstone_ns: out: how long it is known why a transfer that was offered ended
 * @max_tombstones: out: of so many transfers of a region, and of as many tags
 *	that were aborted early
 * @max_pulls: out: waiting tickets of a region
 * @max_members: out: members of a group
 * @max_peers: out: peers of one user
 * @version: out: the module's version, ends in NUL
 */
struct lkvfence_info {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 abi_oldest;
	__u64 features;
	__u32 max_slots;
	__u32 max_ranges;
	__u32 max_leases;
	__u32 max_transfers;
	__u64 timeout_default_ns;
	__u64 timeout_min_ns;
	__u64 timeout_max_ns;
	__u64 settle_ns;
	__u64 revoke_ns;
	__u32 max_sources;
	__u32 max_qps;
	__u64 unclaimed_ns;
	__u64 tombstone_ns;
	__u32 max_tombstones;
	__u32 max_pulls;
	__u32 max_members;
	__u32 max_peers;
	char version[32];
};

#define LKVFENCE_OPEN_CREATE		(1U << 0)	/* create if there is none */
#define LKVFENCE_OPEN_EXCLUSIVE		(1U << 1)	/* with CREATE: there must be none */
#define LKVFENCE_OPEN_NONBLOCK		(1U << 2)	/* the handle is O_NONBLOCK */
#define LKVFENCE_OPEN_FLAGS		(LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE | \
					 LKVFENCE_OPEN_NONBLOCK)

/**
 * struct lkvfence_open - OPEN: a handle on the region of a name
 * @size: sizeof(struct lkvfence_open)
 * @flags: LKVFENCE_OPEN_*
 * @name: the region's name, ends in NUL; bytes behind that are ignored
 * @slot_size: bytes in a slot; out: that of the region
 * @base: address of slot 0 in the engine, or 0; told to whoever may open the
 *	region, not used by the kernel; out: that of the region
 * @nr_slots: slots in the region; out: that of the region
 * @mode: permission bits of a region that gets created, as of a file, out of
 *	0666; to open it, both read and write are needed. Ignored otherwise;
 *	out: that of the region
 * @fd: out: the handle, close-on-exec
 * @created: out: 1 if the region was created by this call
 * @accepts: evidence that a region that gets created accepts as proof, out of
 *	LKVFENCE_ACCEPT_ALL; 0: all of it. Ignored otherwise; out: that of the
 *	region
 * @pad: 0
 *
 * The region belongs to the caller's effective user and group. Where the
 * region exists, slot_size, base and nr_slots that are not 0 must be those of
 * the region. A region is created only with slot_size and nr_slots above 0
 * (EINVAL), and nr_slots up to max_slots (ERANGE).
 *
 * Errors: EEXIST with EXCLUSIVE; ENOENT without CREATE; ENOTUNIQ the region
 * has another geometry, which the out members then tell; EACCES; ENOSPC too
 * many regions; EMFILE, ENFILE too many descriptors.
 */
struct lkvfence_open {
	__u32 size;
	__u32 flags;
	char name[LKVFENCE_NAME_MAX + 1];
	__u64 slot_size;
	__u64 base;
	__u32 nr_slots;
	__u32 mode;
	__s32 fd;
	__u32 created;
	__u32 accepts;
	__u32 pad;
};

/**
 * struct lkvfence_stat - STAT: a region's geometry, gauges and counters
 * @size: sizeof(struct lkvfence_stat)
 * @flags: 0
 * @name: out: the region's name
 * @slot_size: out: bytes in a slot
 * @base: out: address of slot 0, or 0
 * @accepts: out: evidence that the region accepts as proof, as in OPEN
 * @slots: out: slots in the region
 * @slots_taken: out: slots of unreleased transfers
 * @slots_held: out: of these, slots of ended transfers
 * @slots_quarantined: out: of these, slots of transfers in quarantine
 * @transfers_alive: out: unreleased transfers
 * @transfers_held: out: of these, ended ones
 * @transfers_quarantined: out: of these, those in quarantine
 * @oldest_hold_ns: out: how long ago the oldest of the held transfers ended
 * @begun: out: transfers begun; always alive + the sum of released
 * @released: out: transfers released, by outcome
 * @returns_drained: out: returns accepted as drained
 * @returns_failed: out: returns accepted as failed
 * @returns_revoked: out: returns accepted as revoked
 * @returns_early: out: accepted returns that came before the transfer ended
 * @returns_stale: out: returns refused: the generation is released
 * @returns_unknown: out: returns refused: no such generation, or no lease of
 *	that source
 * @returns_duplicate: out: returns refused: the lease was given back before
 * @returns_unaccepted: out: returns refused: the region doesn't accept such
 *	evidence
 * @refused_busy: out: BEGIN and HOLD refused: a slot was taken (EBUSY)
 * @refused_exists: out: BEGIN and HOLD refused: the tag is in use (EEXIST)
 * @refused_limit: out: BEGIN and HOLD refused: too many transfers (ENOSPC)
 * @refused_revoked: out: BEGIN, HOLD and TAKE refused: a source is revoked or
 *	lost (ESHUTDOWN)
 * @forced: out: transfers released by an administrator; these are also
 *	released as TIMEOUT
 * @handles: out: open handles of the region
 * @revokes: out: transfers whose revocation was begun
 * @revokes_failed: out: of these, and of those that asked for it and could not
 *	be revoked, the ones that fell back on the rest of their policy
 * @evidence: out: leases, by the evidence on which they count as quiet; TIMEOUT:
 *	leases without any when their transfer was released
 * @sources: out: bound sources
 * @sources_revoked: out: sources whose leases were revoked
 * @sources_lost: out: sources that could not be revoked
 * @strays: out: REPORT: transfers whose slots changed while they were held
 * @strays_late: out: REPORT: transfers whose slots changed after their release
 * @mismatches: out: REPORT: transfers whose payload had another checksum
 * @transfers_ready: out: transfers whose data may be pulled
 * @tickets: out: pulls that wait for their answer
 * @tombstones: out: ended transfers of which it is known why, and tags that were
 *	aborted early
 * @pulls: out: pulls asked for; always tickets + granted + refused + closed
 * @pulls_granted: out: pulls answered with a lease
 * @pulls_refused: out: pulls answered with a reason
 * @pulls_closed: out: pulls whose handle was closed before their answer
 * @refused_early: out: BEGIN refused: an ABORT with EARLY came before (ECANCELED)
 * @transfers_gathered: out: ended transfers that only wait for their group
 * @joined: out: transfers that joined a group
 * @ended_by_group: out: of these, those that were ended because another one was
 *
 * All values are of one instant, but for handles.
 */
struct lkvfence_stat {
	__u32 size;
	__u32 flags;
	char name[LKVFENCE_NAME_MAX + 1];
	__u64 slot_size;
	__u64 base;
	__u64 accepts;
	__u64 slots;
	__u64 slots_taken;
	__u64 slots_held;
	__u64 slots_quarantined;
	__u64 transfers_alive;
	__u64 transfers_held;
	__u64 transfers_quarantined;
	__u64 oldest_hold_ns;
	__u64 begun;
	__u64 released[LKVFENCE_MAX_OUTCOMES];
	__u64 returns_drained;
	__u64 returns_failed;
	__u64 returns_revoked;
	__u64 returns_early;
	__u64 returns_stale;
	__u64 returns_unknown;
	__u64 returns_duplicate;
	__u64 returns_unaccepted;
	__u64 refused_busy;
	__u64 refused_exists;
	__u64 refused_limit;
	__u64 refused_revoked;
	__u64 forced;
	__u64 handles;
	__u64 revokes;
	__u64 revokes_failed;
	__u64 evidence[LKVFENCE_MAX_EVIDENCE];
	__u64 sources;
	__u64 sources_revoked;
	__u64 sources_lost;
	__u64 strays;
	__u64 strays_late;
	__u64 mismatches;
	__u64 transfers_ready;
	__u64 tickets;
	__u64 tombstones;
	__u64 pulls;
	__u64 pulls_granted;
	__u64 pulls_refused;
	__u64 pulls_closed;
	__u64 refused_early;
	__u64 transfers_gathered;
	__u64 joined;
	__u64 ended_by_group;
};

#define LKVFENCE_BEGIN_OFFER		(1U << 0)	/* it is to be pulled */
#define LKVFENCE_BEGIN_FLAGS		LKVFENCE_BEGIN_OFFER

/**
 * struct lkvfence_begin - BEGIN and HOLD: take slots
 * @size: sizeof(struct lkvfence_begin)
 * @flags: BEGIN: LKVFENCE_BEGIN_*. HOLD: 0
 * @tag: the engine's own number for it (a room, a request id)
 * @ranges: pointer to struct lkvfence_range[nr_ranges]
 * @sources: pointer to __u32[nr_sources], each of them granted a lease
 * @nr_ranges: 1 to max_ranges; no slot may be named twice
 * @nr_sources: 0 to max_leases; no source may be named twice
 * @ttl_ns: BEGIN: time after which the transfer is ended as EXPIRED, counted
 *	from its first lease, within the bounds of timeouts; 0: never. READY
 *	replaces it. HOLD: 0
 * @timeout_ns: HOLD: as in ABORT. BEGIN: 0
 * @policy: enum lkvfence_policy
 * @reason: HOLD: as in ABORT. BEGIN: 0
 * @generation: out: the transfer's generation
 * @busy_generation: out, with EBUSY or EEXIST: the transfer in the way
 * @busy_tag: out, likewise: its tag
 * @busy_slot: out, with EBUSY: the first slot, in the order of @ranges, that
 *	is taken
 * @state: out: LKVFENCE_STATE_WAITING; after HOLD ENDED, or RELEASED where
 *	no source was named
 *
 * HOLD is BEGIN and ABORT in one step, for an engine that learns of lkvfence
 * only when a request has died.
 *
 * Errors: EBUSY a slot is taken (L1); EEXIST a transfer that has not ended has
 * this tag; ENOSPC the region has max_transfers unreleased, or the handle as
 * many unread events; EINVAL a slot or source named twice; ESHUTDOWN; ECANCELED
 * with OFFER: the tag was aborted early, and that holds for this one.
 */
struct lkvfence_begin {
	__u32 size;
	__u32 flags;
	__u64 tag;
	__u64 ranges;
	__u64 sources;
	__u32 nr_ranges;
	__u32 nr_sources;
	__u64 ttl_ns;
	__u64 timeout_ns;
	__u32 policy;
	__u32 reason;
	__u64 generation;
	__u64 busy_generation;
	__u64 busy_tag;
	__u32 busy_slot;
	__u32 state;
};

#define LKVFENCE_TAKE_HEALTHY		(1U << 0)	/* not if that peer is failed */
#define LKVFENCE_TAKE_FLAGS		LKVFENCE_TAKE_HEALTHY

/**
 * struct lkvfence_take - TAKE: one more lease, for a launch
 * @size: sizeof(struct lkvfence_take)
 * @flags: LKVFENCE_TAKE_*
 * @generation: the transfer
 * @source: who gets it. A source gets one lease of a generation, ever: a
 *	worker with several launches numbers them
 * @peer: with HEALTHY: the id that PEER gave; else 0
 *
 * Errors: ECANCELED the transfer has ended (L3); EEXIST the source has, or
 * had, a lease; ENOSPC it has max_leases; ESHUTDOWN, ESTALE, ENOENT. With HEALTHY,
 * before any of these: EHOSTDOWN the peer is failed; EHOSTUNREACH no peer of the
 * region's owner has that id, any more.
 */
struct lkvfence_take {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u32 source;
	__u32 peer;
};

/**
 * struct lkvfence_return_item - one lease given back
 * @generation: the transfer
 * @source: whose lease
 * @status: enum lkvfence_status
 * @evidence: enum lkvfence_evidence; see the status
 * @result: out: 0, or what is wrong with this item:
 *	-ESTALE     the transfer is released
 *	-ENOENT     no such generation, or the source never had a lease of it
 *	-EALREADY   the lease was given back before; counted, nothing changed
 *	-EINVAL     status and evidence don't make sense
 *	-EOPNOTSUPP the region doesn't accept such evidence; nothing changed
 * @released: out: 1 if this return released the transfer
 */
struct lkvfence_return_item {
	__u64 generation;
	__u32 source;
	__u16 status;
	__u16 evidence;
	__s32 result;
	__u32 released;
};

/**
 * struct lkvfence_return - RETURN: leases given back
 * @size: sizeof(struct lkvfence_return)
 * @flags: 0
 * @items: pointer to struct lkvfence_return_item[nr_items]
 * @nr_items: 1 to max_ranges
 * @nr_accepted: out: items whose result is 0
 *
 * Each item stands for itself. Where one can't be read or written (EFAULT), any
 * of the others may have taken effect; repeating the call is safe, for a return
 * that did is then EALREADY or ESTALE.
 */
struct lkvfence_return {
	__u32 size;
	__u32 flags;
	__u64 items;
	__u32 nr_items;
	__u32 nr_accepted;
};

#define LKVFENCE_ABORT_BY_TAG		(1U << 0)	/* tag, not generation, says which */
#define LKVFENCE_ABORT_EARLY		(1U << 1)	/* with BY_TAG: or who offers it next */
#define LKVFENCE_ABORT_ALL		(1U << 2)	/* all that there are */
#define LKVFENCE_ABORT_FLAGS		(LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY | \
					 LKVFENCE_ABORT_ALL)

/**
 * struct lkvfence_abort - ABORT: end a transfer
 * @size: sizeof(struct lkvfence_abort)
 * @flags: LKVFENCE_ABORT_*
 * @generation: which; out. With EARLY: one that is not meant, nor any before it; 0:
 *	none
 * @tag: with BY_TAG: which, among those that have not ended; out
 * @timeout_ns: how long to wait for proof, within the bounds of INFO; 0: the
 *	default
 * @policy: enum lkvfence_policy
 * @reason: LKVFENCE_REASON_ABORTED to SHUTDOWN, or DROPPED; 0: ABORTED
 * @deadline_ns: out: the deadline in force; while it is being revoked, when that
 *	is given up, if that is later; in quarantine the one that passed; 0 where
 *	there was nothing to wait for
 * @state: out: ENDED, or RELEASED where there was nothing to wait for
 * @leases_out: out: leases without proof, those returned as failed included
 * @policy_in_force: out: enum lkvfence_policy
 * @reason_in_force: out: enum lkvfence_reason, the one that ended it
 * @nr_ended: out: transfers that this call ended
 *
 * Where the transfer has ended before, the reason stays, the policy may get
 * stricter, and the deadline moves if it moves later (L4), but not beyond
 * timeout_max_ns from the end; a timeout of 0 asks for no move. The release is
 * told by an event on the owner's handle, also where it happened at once.
 *
 * With EARLY it is no error if there is no transfer of that tag that has not
 * ended: pulls that wait for one are refused, and so is the next BEGIN with OFFER,
 * if it comes within tombstone_ns. generation, state and what else is said of a
 * transfer are 0 then. So it is, too, where there is one, but generation names it
 * or a later one: it is not meant, and tombstone_ns are counted from its end.
 *
 * With ALL every transfer of the region is ended that had been begun before the
 * call and has not ended, whosever it is, and pulls that wait for a tag nobody has
 * offered are refused. generation and tag are 0, and so is all that is said of one
 * transfer. It isn't one step: others may call meanwhile.
 *
 * Errors: ENOENT (with BY_TAG: no transfer of that tag that has not ended),
 * ESTALE.
 */
struct lkvfence_abort {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u64 tag;
	__u64 timeout_ns;
	__u32 policy;
	__u32 reason;
	__u64 deadline_ns;
	__u32 state;
	__u32 leases_out;
	__u32 policy_in_force;
	__u32 reason_in_force;
	__u64 nr_ended;
};

#define LKVFENCE_RELEASE_FORCE		(1U << 0)	/* a quarantined one, without proof */
#define LKVFENCE_RELEASE_FLAGS		LKVFENCE_RELEASE_FORCE

/**
 * struct lkvfence_release - RELEASE: a finished transfer's slots back
 * @size: sizeof(struct lkvfence_release)
 * @flags: LKVFENCE_RELEASE_*
 * @generation: which
 * @outcome: out: COMPLETED; with FORCE TIMEOUT; NONE: it is held for its group,
 *	and an event will tell
 * @evidence: out: the weakest evidence among the leases; NONE likewise
 * @leases_out: out, with EBUSY: leases without proof
 * @pad: out: 0
 *
 * FORCE lets go of a transfer in quarantine, needs CAP_SYS_ADMIN, and works on
 * nothing else.
 *
 * Errors: EBUSY a lease is without proof (one returned as failed stays so:
 * end the transfer with ABORT), or it is held for its group; ESTALE, ENOENT. With
 * FORCE: EPERM; EBUSY the transfer is not in quarantine.
 */
struct lkvfence_release {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u32 outcome;
	__u32 evidence;
	__u32 leases_out;
	__u32 pad;
};

/**
 * enum lkvfence_lease_state - of a lease, in QUERY
 * @LKVFENCE_LEASE_OUT: granted, not given back
 * @LKVFENCE_LEASE_DRAINED: given back with proof
 * @LKVFENCE_LEASE_FAILED: given back without proof
 * @LKVFENCE_LEASE_REVOKED: its access was taken away
 */
enum lkvfence_lease_state {
	LKVFENCE_LEASE_OUT		= 1,
	LKVFENCE_LEASE_DRAINED		= 2,
	LKVFENCE_LEASE_FAILED		= 3,
	LKVFENCE_LEASE_REVOKED		= 4,
};

/**
 * struct lkvfence_lease - one lease, in QUERY
 * @source: whose
 * @state: enum lkvfence_lease_state
 * @evidence: enum lkvfence_evidence
 */
struct lkvfence_lease {
	__u32 source;
	__u16 state;
	__u16 evidence;
};

/**
 * enum lkvfence_query_by - how QUERY finds the transfer
 * @LKVFENCE_QUERY_GENERATION: the one of @generation
 * @LKVFENCE_QUERY_TAG: the one of @tag that has not ended
 * @LKVFENCE_QUERY_SLOT: the one that has @slot
 * @LKVFENCE_QUERY_NEXT: the one of the least generation above @generation, so
 *	that all can be walked from 0
 */
enum lkvfence_query_by {
	LKVFENCE_QUERY_GENERATION	= 0,
	LKVFENCE_QUERY_TAG		= 1,
	LKVFENCE_QUERY_SLOT		= 2,
	LKVFENCE_QUERY_NEXT		= 3,
};

#define LKVFENCE_TRANSFER_QUARANTINED	(1U << 0)	/* past its deadline */
#define LKVFENCE_TRANSFER_ORPHANED	(1U << 1)	/* no handle owns it: may be adopted */
#define LKVFENCE_TRANSFER_MINE		(1U << 2)	/* this handle owns it */
#define LKVFENCE_TRANSFER_REVOKING	(1U << 3)	/* its access is being taken away */
#define LKVFENCE_TRANSFER_REVOCABLE	(1U << 4)	/* it can be revoked */
#define LKVFENCE_TRANSFER_OFFERED	(1U << 5)	/* it is, or was, to be pulled */
#define LKVFENCE_TRANSFER_GROUPED	(1U << 6)	/* it is in a group */
#define LKVFENCE_TRANSFER_GATHERED	(1U << 7)	/* it only waits for its group */

/**
 * struct lkvfence_query - QUERY: one unreleased transfer
 * @size: sizeof(struct lkvfence_query)
 * @by: enum lkvfence_query_by
 * @generation: in, out
 * @tag: in, out
 * @slot: in
 * @state: out: enum lkvfence_state
 * @policy: out: enum lkvfence_policy, the one in force
 * @reason: out: enum lkvfence_reason
 * @flags: out: LKVFENCE_TRANSFER_*
 * @nr_slots: out
 * @begun_ns: out
 * @ended_ns: out, or 0
 * @deadline_ns: out: of the hold, as in ABORT; before the end: of the time to
 *	live; or 0
 * @now_ns: out: the clock of the other three, now
 * @ranges: pointer to struct lkvfence_range[nr_ranges], filled as far as it goes
 * @leases: pointer to struct lkvfence_lease[nr_leases], likewise, by source
 * @nr_ranges: in: room at @ranges, 0 to max_ranges; out: how many there are
 * @nr_leases: in: room at @leases, 0 to max_leases; out: how many there are
 * @leases_out: out: leases without proof
 * @pid: out: process that began it, as the initial PID namespace numbers it
 * @comm: out: that process's name then
 *
 * Errors: ENOENT, ESTALE; with NEXT ENOENT behind the last.
 */
struct lkvfence_query {
	__u32 size;
	__u32 by;
	__u64 generation;
	__u64 tag;
	__u32 slot;
	__u32 state;
	__u32 policy;
	__u32 reason;
	__u32 flags;
	__u32 nr_slots;
	__u64 begun_ns;
	__u64 ended_ns;
	__u64 deadline_ns;
	__u64 now_ns;
	__u64 ranges;
	__u64 leases;
	__u32 nr_ranges;
	__u32 nr_leases;
	__u32 leases_out;
	__s32 pid;
	char comm[LKVFENCE_COMM_LEN];
};

/**
 * struct lkvfence_adopt - ADOPT: become the owner of an orphan
 * @size: sizeof(struct lkvfence_adopt)
 * @flags: 0
 * @generation: which
 *
 * Its events come to this handle from now on. Its end, policy and deadline
 * stay as they are. Errors: EBUSY another handle owns it; EALREADY this one
 * does; ESTALE, ENOENT; ENOSPC as in BEGIN.
 */
struct lkvfence_adopt {
	__u32 size;
	__u32 flags;
	__u64 generation;
};

/**
 * enum lkvfence_qp_state - what the module knows of a bound QP
 * @LKVFENCE_QP_OPEN: nothing was done
 * @LKVFENCE_QP_ERR: it was moved to ERR, and time passes
 * @LKVFENCE_QP_QUIET: nothing comes through it any more
 * @LKVFENCE_QP_LOST: it couldn't be moved, or didn't stay in ERR
 */
enum lkvfence_qp_state {
	LKVFENCE_QP_OPEN		= 1,
	LKVFENCE_QP_ERR			= 2,
	LKVFENCE_QP_QUIET		= 3,
	LKVFENCE_QP_LOST		= 4,
};

/**
 * struct lkvfence_qp - a queue pair of this host
 * @device: the RDMA device's name (mlx5_0), ends in NUL
 * @number: the QP's number
 * @state: SOURCE: 0. QUERY_SOURCE: out: enum lkvfence_qp_state
 */
struct lkvfence_qp {
	char device[64];
	__u32 number;
	__u32 state;
};

#define LKVFENCE_SOURCE_UNBIND		(1U << 0)	/* it has no QPs any more */
#define LKVFENCE_SOURCE_FLAGS		LKVFENCE_SOURCE_UNBIND

/**
 * struct lkvfence_source - SOURCE: bind a source to its queue pairs
 * @size: sizeof(struct lkvfence_source)
 * @flags: LKVFENCE_SOURCE_*
 * @source: which
 * @nr_qps: 1 to max_qps; with UNBIND 0
 * @qps: pointer to struct lkvfence_qp[nr_qps]: all QPs, of one process, through
 *	which the source may reach the slots, each once. They are RC or UC,
 *	connected (RTR or RTS), and the caller's own
 * @peer: whom the source stands for, for people to read; ends in NUL
 * @binding: out: a number for this binding that is never given twice in a load
 *	of the module
 *
 * It holds for leases granted from now on. A source that is bound already is
 * bound anew, with UNBIND not at all, where it has no lease that is not proven
 * quiet (EBUSY). The binding belongs to the handle: when that is closed, the
 * source is unbound as soon as it has no such lease.
 *
 * Nothing is held of the QP: the process may destroy it at any time. Its number,
 * device, process and connection are remembered, so that another one of the same
 * number is not taken for it.
 *
 * Errors: EOPNOTSUPP without LKVFENCE_FEATURE_QP, also to UNBIND; ENODEV no such device in the
 * caller's network namespace; ENOENT no such QP; EPERM the QP is another
 * process's (or was inherited over fork(2)); EPROTONOSUPPORT it is not RC or
 * UC, or its device neither InfiniBand nor RoCE; ENOTCONN it isn't connected;
 * EBUSY; EEXIST another handle has bound the source; ENOSPC the region has
 * max_sources; ERANGE nr_qps; EINVAL a QP named twice. With UNBIND: ENOENT the
 * source isn't bound; EPERM another handle has bound it; EBUSY.
 */
struct lkvfence_source {
	__u32 size;
	__u32 flags;
	__u32 source;
	__u32 nr_qps;
	__u64 qps;
	char peer[64];
	__u64 binding;
};

/**
 * enum lkvfence_source_state - of a bound source
 * @LKVFENCE_SOURCE_BOUND: leases may be granted
 * @LKVFENCE_SOURCE_REVOKING: its access is being taken away
 * @LKVFENCE_SOURCE_REVOKED: its access is gone
 * @LKVFENCE_SOURCE_LOST: a QP is lost
 */
enum lkvfence_source_state {
	LKVFENCE_SOURCE_BOUND		= 1,
	LKVFENCE_SOURCE_REVOKING	= 2,
	LKVFENCE_SOURCE_REVOKED		= 3,
	LKVFENCE_SOURCE_LOST		= 4,
};

#define LKVFENCE_QUERY_SOURCE_FROM	(1U << 0)	/* the least number from source on */
#define LKVFENCE_QUERY_SOURCE_FLAGS	LKVFENCE_QUERY_SOURCE_FROM

/**
 * struct lkvfence_query_source - QUERY_SOURCE: one bound source
 * @size: sizeof(struct lkvfence_query_source)
 * @flags: LKVFENCE_QUERY_SOURCE_*
 * @source: which; out
 * @state: out: enum lkvfence_source_state
 * @binding: out: its binding
 * @qps: pointer to struct lkvfence_qp[nr_qps], filled as far as it goes
 * @nr_qps: in: room at @qps, 0 to max_qps; out: how many there are
 * @leases_out: out: bound leases without proof
 * @pid: out: process that bound it, as the initial PID namespace numbers it
 * @pad: out: 0
 * @peer: out: whom it stands for
 *
 * Errors: ENOENT the source isn't bound; with FROM: none is, from there on.
 */
struct lkvfence_query_source {
	__u32 size;
	__u32 flags;
	__u32 source;
	__u32 state;
	__u64 binding;
	__u64 qps;
	__u32 nr_qps;
	__u32 leases_out;
	__s32 pid;
	__u32 pad;
	char peer[64];
};

/**
 * struct lkvfence_quiet - QUIET: what the owner of a source's QP saw of it
 * @size: sizeof(struct lkvfence_quiet)
 * @flags: 0
 * @binding: the source's binding, of this handle
 * @qp: which of its QPs, by index; LKVFENCE_QUIET_ALL for all of them
 * @evidence: RQ_FLUSHED, QP_DESTROYED or MR_DEREGISTERED
 *
 * Where the source is not being revoked, it is from now on: the access is gone.
 * Errors: ENOENT no such binding of this handle, any more; ERANGE no such QP;
 * EALREADY the QP is quiet, and nothing changed; EINVAL other evidence; EBUSY the
 * kernel sees that it isn't so: the QP is not in ERR, or is there; EOPNOTSUPP the
 * region doesn't accept it.
 */
struct lkvfence_quiet {
	__u32 size;
	__u32 flags;
	__u64 binding;
	__u32 qp;
	__u32 evidence;
};

#define LKVFENCE_QUIET_ALL		0xffffffffU

/**
 * enum lkvfence_report_kind - what was found
 * @LKVFENCE_REPORT_STRAY: slots of the transfer changed between its end and its
 *	release: a late write that the fence caught
 * @LKVFENCE_REPORT_STRAY_LATE: they changed after the release
 * @LKVFENCE_REPORT_MISMATCH: the payload that arrived isn't what was sent
 */
enum lkvfence_report_kind {
	LKVFENCE_REPORT_STRAY		= 1,
	LKVFENCE_REPORT_STRAY_LATE	= 2,
	LKVFENCE_REPORT_MISMATCH	= 3,
};

/**
 * struct lkvfence_report - REPORT: count what a look at the memory found
 * @size: sizeof(struct lkvfence_report)
 * @flags: 0
 * @generation: the transfer, released or not
 * @kind: enum lkvfence_report_kind
 * @nr_slots: how many slots, at least 1; goes into the kernel's log
 *
 * Errors: ENOENT the generation was never issued; EINVAL no such kind, or no
 * slots.
 */
struct lkvfence_report {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u32 kind;
	__u32 nr_slots;
};

/**
 * struct lkvfence_ready - READY: an offered transfer's data may be pulled
 * @size: sizeof(struct lkvfence_ready)
 * @flags: 0
 * @generation: the transfer
 * @ttl_ns: time after which it is ended as EXPIRED, counted from now, within the
 *	bounds of timeouts; 0: never
 * @consumers: how many will pull it; 0: nobody knows, and RELEASE finishes it
 * @pad: 0
 * @deadline_ns: out: when it expires, or 0
 *
 * Pulls that wait for it are granted, in the order in which they came. For a
 * transfer that is READY this is a renewal: it expires later, if that is later
 * (never counts as later), and consumers must be as before, or 0.
 *
 * Errors: ECANCELED the transfer has ended (L3); EINVAL it wasn't begun with
 * OFFER, or the renewal names other consumers; ERANGE the time, or consumers above
 * max_leases; ESTALE, ENOENT.
 */
struct lkvfence_ready {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u64 ttl_ns;
	__u32 consumers;
	__u32 pad;
	__u64 deadline_ns;
};

#define LKVFENCE_PULL_EXACT		(1U << 0)	/* generation, not tag, says which */
#define LKVFENCE_PULL_FLAGS		LKVFENCE_PULL_EXACT

/**
 * struct lkvfence_pull - PULL: ask for an offered transfer's data
 * @size: sizeof(struct lkvfence_pull)
 * @flags: LKVFENCE_PULL_*
 * @tag: which; with EXACT out, if the transfer is there, or as it was
 * @generation: with EXACT: which. Else: one that is not meant, nor any before it
 *	(who has pulled this tag before names that generation); 0: none
 * @timeout_ns: how long to wait for READY, within the bounds of timeouts; 0: the
 *	default
 * @unclaimed_ns: how long to wait for such a transfer to be offered at all,
 *	likewise; 0: that of INFO
 * @source: who gets the lease. As in TAKE
 * @pad: 0
 * @ticket: out: the number that the answer will have; never given twice in a load
 *	of the module
 *
 * Errors: ENOENT with EXACT: the generation was never issued; EINVAL with EXACT:
 * it wasn't begun with OFFER; ENOSPC max_pulls wait, or the handle has
 * max_transfers unread events; ERANGE. All else is told by the answer.
 */
struct lkvfence_pull {
	__u32 size;
	__u32 flags;
	__u64 tag;
	__u64 generation;
	__u64 timeout_ns;
	__u64 unclaimed_ns;
	__u32 source;
	__u32 pad;
	__u64 ticket;
};

/**
 * struct lkvfence_withdraw - WITHDRAW: the answer to a pull isn't wanted any more
 * @size: sizeof(struct lkvfence_withdraw)
 * @flags: 0
 * @ticket: which, of this handle's
 *
 * It is answered all the same: REFUSED, reason WITHDRAWN.
 * Errors: ENOENT no such ticket of this handle waits: where there was one, its
 * answer is there to be read, and may be GRANTED.
 */
struct lkvfence_withdraw {
	__u32 size;
	__u32 flags;
	__u64 ticket;
};

/**
 * struct lkvfence_join - JOIN: release this transfer together with others
 * @size: sizeof(struct lkvfence_join)
 * @flags: 0
 * @generation: the transfer
 * @group: the engine's number for the group, among the regions of one user. It may
 *	be used anew when all members have joined
 * @nr_members: how many there will be, 2 to max_members; the same in all calls
 * @pad: 0
 *
 * Errors: ECANCELED the transfer has ended; or the group has, for a member did:
 * end this one as well, it stays alone; EEXIST the transfer is in a group; EINVAL
 * others named another number of members; ERANGE; ESTALE, ENOENT.
 */
struct lkvfence_join {
	__u32 size;
	__u32 flags;
	__u64 generation;
	__u64 group;
	__u32 nr_members;
	__u32 pad;
};

/**
 * enum lkvfence_peer_op - what PEER is to do
 * @LKVFENCE_PEER_OP_LOOK: tell of it
 * @LKVFENCE_PEER_OP_CONNECT: there is a session of number @session. The same as
 *	the last: nothing changes; another: the peer is healthy, its generation a new
 *	one
 * @LKVFENCE_PEER_OP_FAILED: a transfer to it failed. A healthy peer is failed from
 *	now on, and may be probed after @interval_ns
 * @LKVFENCE_PEER_OP_RECOVERED: it works. A failed peer is healthy from now on
 * @LKVFENCE_PEER_OP_PROBE: claim the next probe of a failed peer, for
 *	@interval_ns; @probe is the claim's number
 * @LKVFENCE_PEER_OP_PROBED: the probe failed. The next may be claimed after
 *	@interval_ns
 */
enum lkvfence_peer_op {
	LKVFENCE_PEER_OP_LOOK		= 0,
	LKVFENCE_PEER_OP_CONNECT	= 1,
	LKVFENCE_PEER_OP_FAILED		= 2,
	LKVFENCE_PEER_OP_RECOVERED	= 3,
	LKVFENCE_PEER_OP_PROBE		= 4,
	LKVFENCE_PEER_OP_PROBED		= 5,
};

/**
 * enum lkvfence_peer_state - of a peer
 * @LKVFENCE_PEER_HEALTHY: nothing is known to be wrong with it
 * @LKVFENCE_PEER_FAILED: a transfer to it failed, and none, nor a probe, has
 *	succeeded since
 */
enum lkvfence_peer_state {
	LKVFENCE_PEER_HEALTHY		= 1,
	LKVFENCE_PEER_FAILED		= 2,
};

#define LKVFENCE_PEER_CREATE		(1U << 0)	/* LOOK, FAILED: if there is none */
#define LKVFENCE_PEER_WATCH		(1U << 1)	/* LOOK, CONNECT: events to this handle */
#define LKVFENCE_PEER_NEXT		(1U << 2)	/* LOOK: the least id above id, not name */
#define LKVFENCE_PEER_ALL		(1U << 3)	/* with NEXT: of all users */
#define LKVFENCE_PEER_FLAGS		(LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH | \
					 LKVFENCE_PEER_NEXT | LKVFENCE_PEER_ALL)

/**
 * struct lkvfence_peer - PEER: the health of the other end of a session
 * @size: sizeof(struct lkvfence_peer)
 * @flags: LKVFENCE_PEER_*
 * @op: enum lkvfence_peer_op
 * @id: with NEXT in; out: a number for the peer that is never given twice in a load
 *	of the module, but for that there are only 2^32
 * @name: which peer, of the owner of the handle's region: 1 to 63 printable
 *	characters of ASCII, but spaces, and a NUL; bytes behind that are ignored;
 *	with NEXT out
 * @session: the engine's own number for the session. CONNECT: at least 1. FAILED,
 *	RECOVERED: of which this is said; 0: of whichever there is. Else ignored.
 *	out: the last one, or 0 where none was told
 * @generation: FAILED, RECOVERED: likewise. Else ignored. out: of the peer as it
 *	is since its last session began; never given twice in a load of the module
 * @probe: RECOVERED, PROBED: the claim that this is the result of; 0: RECOVERED: of
 *	none, PROBED: of this handle's. PROBE: out. Else ignored, and out: 0
 * @interval_ns: FAILED: 0 for at once; PROBE, PROBED: 0 for the default timeout;
 *	within the bounds of timeouts. Others: 0
 * @state: out: enum lkvfence_peer_state
 * @pid: out: process that has the claim, as the initial PID namespace numbers it,
 *	or 0
 * @uid: out: whose peer it is, as the caller's user namespace has it
 * @pad: 0
 * @since_ns: out: since when it is in its state, or has its session
 * @next_probe_ns: out: of a failed peer: when the next probe can be claimed; while
 *	it is, when the claim is over
 * @now_ns: out: the clock of these, now
 * @failures: out: how often it became failed; always @recoveries, and 1 more while
 *	it is failed
 * @recoveries: out: how often it became healthy again, by RECOVERED or a new session
 * @probes: out: claims
 * @refused: out: TAKEs refused
 * @sessions: out: sessions of another number than the one before
 * @stale: out: FAILED, RECOVERED and PROBED refused with ESTALE
 *
 * CONNECT creates the peer where there is none, and so does CREATE. WATCH is for
 * as long as the handle lives.
 *
 * Errors: ENOENT no such peer; with NEXT: none is above. ESTALE FAILED and
 * RECOVERED: the peer has another session or generation; RECOVERED and PROBED: the
 * claim is not this handle's, any more. PROBE: EALREADY the peer is healthy; EAGAIN
 * it isn't time yet; EBUSY somebody has the claim; the out members are filled in
 * with these. ENOSPC all of max_peers are watched or failed; EPERM ALL without
 * CAP_DAC_OVERRIDE; ERANGE interval_ns.
 */
struct lkvfence_peer {
	__u32 size;
	__u32 flags;
	__u32 op;
	__u32 id;
	char name[64];
	__u64 session;
	__u64 generation;
	__u64 probe;
	__u64 interval_ns;
	__u32 state;
	__s32 pid;
	__u32 uid;
	__u32 pad;
	__u64 since_ns;
	__u64 next_probe_ns;
	__u64 now_ns;
	__u64 failures;
	__u64 recoveries;
	__u64 probes;
	__u64 refused;
	__u64 sessions;
	__u64 stale;
};

/**
 * enum lkvfence_event_type - what an event tells
 * @LKVFENCE_EVENT_ENDED: ended by somebody else; slots held
 * @LKVFENCE_EVENT_QUARANTINED: past its deadline; slots stay out
 * @LKVFENCE_EVENT_RELEASED: slots free
 * @LKVFENCE_EVENT_REVOKE: a source that this handle bound is being revoked: look
 *	at its QPs, and say by QUIET what is seen
 * @LKVFENCE_EVENT_GRANTED: a pull has its lease
 * @LKVFENCE_EVENT_REFUSED: a pull gets none
 * @LKVFENCE_EVENT_PEER: a peer that this handle watches has changed
 */
enum lkvfence_event_type {
	LKVFENCE_EVENT_ENDED		= 1,
	LKVFENCE_EVENT_QUARANTINED	= 2,
	LKVFENCE_EVENT_RELEASED		= 3,
	LKVFENCE_EVENT_REVOKE		= 4,
	LKVFENCE_EVENT_GRANTED		= 5,
	LKVFENCE_EVENT_REFUSED		= 6,
	LKVFENCE_EVENT_PEER		= 7,
};

#define LKVFENCE_EVENT_TAINTED		(1U << 0)	/* no proof: don't read or cache (L7) */
#define LKVFENCE_EVENT_FORCED		(1U << 1)	/* by an administrator */
#define LKVFENCE_EVENT_STRAY		(1U << 2)	/* by the library: changed while held */

/**
 * struct lkvfence_event - what read(2) on a handle returns
 * @generation: the transfer; REVOKE: the binding; REFUSED: the transfer, or 0;
 *	PEER: the peer's
 * @tag: its tag; REVOKE: the source; PEER: its id
 * @time_ns: when it happened
 * @held_ns: RELEASED: time from the end to the release, else 0
 * @ticket: GRANTED, REFUSED: the pull's
 * @type: enum lkvfence_event_type
 * @flags: LKVFENCE_EVENT_*
 * @outcome: RELEASED: enum lkvfence_outcome, else 0
 * @evidence: RELEASED: the weakest enum lkvfence_evidence among its leases
 * @reason: enum lkvfence_reason; PEER: FAILED, or NONE: it is healthy
 * @nr_slots: its slots; REVOKE, REFUSED, PEER: 0
 * @leases_out: leases without proof, as it is read: the transfer's, or the
 *	source's; GRANTED, REFUSED, PEER: 0
 * @pad: 0
 *
 * The size is fixed: later ABIs use other types, not longer events. A handle
 * gets other types than the first three only if it asked for them: REVOKE by
 * SOURCE, GRANTED and REFUSED by PULL, PEER by WATCH. All the same, a program passes
 * over types that it doesn't know.
 */
struct lkvfence_event {
	__u64 generation;
	__u64 tag;
	__u64 time_ns;
	union {
		__u64 held_ns;
		__u64 ticket;
	};
	__u32 type;
	__u32 flags;
	__u32 outcome;
	__u32 evidence;
	__u32 reason;
	__u32 nr_slots;
	__u32 leases_out;
	__u32 pad;
};

#endif /* _UAPI_LINUX_LKVFENCE_H */
