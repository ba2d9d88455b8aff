// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A lease to post under: how much of it is in flight, over all rails, and when
 * it comes back.
 *
 *	FAILED	as soon as one request under it failed, or is unaccounted for
 *	DRAINED	when it takes no more requests, all that were posted have
 *		succeeded, and no marker is to be posted yet
 *
 * Failed comes first, so a failure on one rail is told while requests on others
 * are in flight: it lets go of nothing, for a lease that is returned as failed
 * stays out. The object itself stays until these, too, are over.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

static void said(struct lkvfence_verbs *v, struct tell *tell);

int lkvfence_send_begin(struct lkvfence_verbs *v,
			const struct lkvfence_send_attr *attr,
			struct lkvfence_send **out)
{
	struct lkvfence_send *send;

	*out = NULL;
	if (!attr->fence && !v->attr.returned)
		return lkvfence__vfail(-EINVAL,
			"send: neither a region's handle nor a callback: nobody would learn that the lease is returned");
	pthread_mutex_lock(&v->lock);
	send = v->sends;
	if (send)
		v->sends = send->next;
	pthread_mutex_unlock(&v->lock);
	if (!send)
		return lkvfence__vfail(-ENOBUFS,
			"send: there are %" PRIu32 " leases (max_sends) that have not come back, or have requests in flight, or are not finished",
			v->attr.max_sends);

	send->tell = (struct tell){
		.fence = attr->fence,
		.said = said,
		.r = {
			.generation = attr->generation,
			.source = attr->source,
			.data = attr->data,
		},
	};
	send->max_wrs = attr->max_wrs ? attr->max_wrs : UINT32_MAX;
	send->max_bytes = attr->max_bytes ? attr->max_bytes : UINT64_MAX;
	send->wrs = 0;
	send->bytes = 0;
	send->open = true;
	send->held = true;
	send->marking = false;
	send->failed = false;
	send->told = false;
	send->said = false;
	send->nr_used = 0;
	*out = send;
	return 0;
}

/*
 * With the lease's lock held, after anything has changed: tells what there is to
 * tell. Returns whether the object is nobody's any more.
 */
static bool settle(struct lkvfence_send *send, struct work *work)
{
	struct lkvfence_returned *r = &send->tell.r;

	if (!send->told &&
	    (send->failed || (!send->open && !send->wrs && !send->marking))) {
		send->told = true;
		send->open = false;
		r->status = send->failed ? LKVFENCE_STATUS_FAILED :
			    LKVFENCE_STATUS_DRAINED;
		r->evidence = send->failed ? LKVFENCE_EVIDENCE_NONE :
			      LKVFENCE_EVIDENCE_SUCCESS_CQE;
		lkvfence__tell(work, &send->tell);
	}
	return send->said && !send->wrs && !send->held;
}

static void unlock(struct lkvfence_send *send, struct work *work)
{
	bool gone = settle(send, work);

	pthread_mutex_unlock(&send->lock);
	if (gone)
		lkvfence__put_send(send);
}

static void said(struct lkvfence_verbs *v, struct tell *tell)
{
	struct lkvfence_send *send = container_of(tell, struct lkvfence_send, tell);
	struct work work = NO_WORK(work);

	(void)v;
	pthread_mutex_lock(&send->lock);
	send->said = true;
	unlock(send, &work);
}

static struct used *find_used(struct lkvfence_send *send,
			      const struct lkvfence_rail *rail)
{
	uint32_t i;

	for (i = 0; i < send->nr_used; i++) {
		if (send->used[i].rail == rail)
			return send->used + i;
	}
	return NULL;
}

static struct used *add_used(struct lkvfence_send *send,
			     struct lkvfence_rail *rail)
{
	struct used *u = find_used(send, rail);

	if (u || send->nr_used == MAX_RAILS)
		return u;
	u = send->used + send->nr_used++;
	*u = (struct used){ .rail = rail };
	return u;
}

/*
 * A limit is reached: what is unsignaled must come off, or it is reached for
 * ever. Whoever polls posts the markers; this rail's is the caller's affair.
 */
static void want_markers(struct lkvfence_send *send)
{
	uint32_t i;

	for (i = 0; i < send->nr_used; i++) {
		struct lkvfence_rail *rail = send->used[i].rail;

		if (!send->used[i].pending)
			continue;
		atomic_store(&rail->want, true);
		atomic_store(&rail->send_cq->want, true);
	}
}

/*
 * How many of @nr requests may be in flight, too? They are, from now on; what is
 * not posted after all is given back by lkvfence__over().
 */
int lkvfence__reserve(struct lkvfence_send *send, struct lkvfence_rail *rail,
		      const uint64_t *bytes, uint32_t *nr)
{
	struct used *u;
	int err = 0;
	uint32_t i;

	pthread_mutex_lock(&send->lock);
	if (!send->open) {
		err = -ECANCELED;
		goto out;
	}
	if (bytes[0] > send->max_bytes) {
		err = -EMSGSIZE;
		goto out;
	}
	for (i = 0; i < *nr; i++) {
		if (send->wrs >= send->max_wrs ||
		    bytes[i] > send->max_bytes - send->bytes)
			break;
		send->wrs++;
		send->bytes += bytes[i];
	}
	if (!i) {
		want_markers(send);
		err = -EAGAIN;
		goto out;
	}
	u = add_used(send, rail);
	if (u) {
		u->pending += i;
	} else {
		while (i) {
			send->wrs--;
			send->bytes -= bytes[--i];
		}
		err = -E2BIG;
	}
	*nr = i;
out:
	pthread_mutex_unlock(&send->lock);
	return err;
}

bool lkvfence__posted(struct lkvfence_send *send, struct lkvfence_rail *rail,
		      uint32_t last, uint32_t nr, uint64_t bytes)
{
	bool open;

	pthread_mutex_lock(&send->lock);
	open = send->open;
	find_used(send, rail)->last = last;
	if (!send->told) {
		send->tell.r.wrs += nr;
		send->tell.r.bytes += bytes;
	}
	pthread_mutex_unlock(&send->lock);
	return open;
}

void lkvfence__over(struct lkvfence_send *send, struct lkvfence_rail *rail,
		    uint32_t nr, uint64_t bytes, enum ibv_wc_status status,
		    struct work *work)
{
	pthread_mutex_lock(&send->lock);
	if (nr) {
		find_used(send, rail)->pending -= nr;
		send->wrs -= nr;
		send->bytes -= bytes;
	}
	if (status != IBV_WC_SUCCESS && !send->failed) {
		send->failed = true;
		/* what is told stays as it was told */
		if (!send->told)
			send->tell.r.wc_status = status;
	}
	unlock(send, work);
}

/*
 * Stopping
 */

/* Rails on which requests are in flight, and the last of these; pinned. */
struct busy {
	uint32_t nr;
	struct used used[MAX_RAILS];
};

/* With the lease's lock held: what is in flight keeps the rails until pinned. */
static void get_busy(const struct lkvfence_send *send, struct busy *busy)
{
	uint32_t i;

	busy->nr = 0;
	for (i = 0; i < send->nr_used; i++) {
		if (!send->used[i].pending)
			continue;
		lkvfence__pin(send->used[i].rail);
		busy->used[busy->nr++] = send->used[i];
	}
}

static void put_busy(struct busy *busy)
{
	while (busy->nr)
		lkvfence__unpin(busy->used[--busy->nr].rail);
}

/* Returns whether markers will do, where some are needed. */
static bool mark_busy(const struct busy *busy)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < busy->nr; i++) {
		const struct used *u = busy->used + i;

		pthread_mutex_lock(&u->rail->lock);
		if (lkvfence__needs_marker(u->rail, u->last)) {
			lkvfence__mark(u->rail);
			good &= u->rail->can_mark;
		}
		pthread_mutex_unlock(&u->rail->lock);
	}
	return good;
}

void lkvfence_send_stop(struct lkvfence_send *send)
{
	struct lkvfence_verbs *v = send->v;
	struct busy busy;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&send->lock);
	send->open = false;
	get_busy(send, &busy);
	unlock(send, &work);
	mark_busy(&busy);
	put_busy(&busy);
	lkvfence__run(v, &work);
}

void lkvfence_send_fail(struct lkvfence_send *send)
{
	struct lkvfence_verbs *v = send->v;
	struct work work = NO_WORK(work);

	lkvfence__over(send, NULL, 0, 0, IBV_WC_GENERAL_ERR, &work);
	lkvfence__run(v, &work);
}

void lkvfence_send_finish(struct lkvfence_send *send)
{
	struct lkvfence_verbs *v;
	struct busy busy;
	struct work work = NO_WORK(work);

	if (!send)
		return;
	v = send->v;
	pthread_mutex_lock(&send->lock);
	send->open = false;
	send->marking = false;
	send->held = false;
	get_busy(send, &busy);
	unlock(send, &work);
	/* The lease may be gone by now; the rails are pinned. */
	mark_busy(&busy);
	put_busy(&busy);
	lkvfence__run(v, &work);
}

/* 1: it came back as drained. */
static int came_back(void *arg)
{
	struct lkvfence_send *send = arg;
	int ret = 0;

	pthread_mutex_lock(&send->lock);
	if (send->said)
		ret = send->tell.r.status == LKVFENCE_STATUS_DRAINED ? 1 : -EIO;
	pthread_mutex_unlock(&send->lock);
	return ret;
}

int lkvfence_send_drain(struct lkvfence_send *send, int timeout_ms)
{
	struct lkvfence_rail *rails[MAX_RAILS];
	struct busy busy;
	bool markable;
	uint32_t i;
	int ret;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&send->lock);
	send->open = false;
	get_busy(send, &busy);
	unlock(send, &work);
	markable = mark_busy(&busy);
	lkvfence__run(send->v, &work);

	for (i = 0; i < busy.nr; i++)
		rails[i] = busy.used[i].rail;
	ret = came_back(send);
	if (!ret && !markable)
		ret = -EOPNOTSUPP;
	if (ret)
		put_busy(&busy);
	else
		ret = lkvfence__wait(rails, busy.nr, SEND_CQ, timeout_ms,
				     came_back, send);

	switch (ret) {
	case 1:
		return 0;
	case -EIO:
		return lkvfence__vfail(ret,
			"drain: the lease of generation %" PRIu64 " came back as failed (%s): its slots are held until the deadline, or until its access is taken away",
			send->tell.r.generation,
			ibv_wc_status_str(send->tell.r.wc_status));
	case -ETIMEDOUT:
		return lkvfence__vfail(ret,
			"drain: requests under generation %" PRIu64 " are in flight after %d ms: the lease comes back when they complete",
			send->tell.r.generation, timeout_ms);
	case -EOPNOTSUPP:
		return lkvfence__vfail(ret,
			"drain: the last requests under generation %" PRIu64 " are unsignaled sends or atomics, and no marker can be posted behind them: post the last one signaled",
			send->tell.r.generation);
	default:
		return lkvfence__vfail(ret,
			"drain: more completions of others than can be put aside: take them by lkvfence_cq_poll(), and call again");
	}
}

/*
 * Posting
 */

static int fail_post(int err, struct lkvfence_send *send)
{
	switch (err) {
	case -EAGAIN:
		return lkvfence__vfail(err, send ?
			"post: the send queue, or the limit of what may be in flight under the lease, is full: poll, and go on from bad_wr" :
			"post: the send queue is full: poll, and go on from bad_wr");
	case -EMSGSIZE:
		return lkvfence__vfail(err,
			"post: a request is larger than the %" PRIu64 " bytes that may be in flight under the lease: split it",
			send->max_bytes);
	case -ECANCELED:
		return lkvfence__vfail(err,
			"post: the lease of generation %" PRIu64 " takes no more requests: it was stopped, or has failed",
			send->tell.r.generation);
	case -E2BIG:
		return lkvfence__vfail(err,
			"post: a lease can use %u rails", MAX_RAILS);
	case -ENOTCONN:
		return lkvfence__vfail(err,
			"post: the queue pair has failed: connect another one, or reset it and call lkvfence_rail_reset()");
	case -EOPNOTSUPP:
		return lkvfence__vfail(err,
			"post: an opcode of which the library doesn't know what its completion proves");
	case -EIO:
		return lkvfence__vfail(err,
			"post: the provider failed and doesn't say how many requests it took: the lease under which they were posted has failed");
	default:
		return lkvfence__vfail(err, "post: the provider says: %m");
	}
}

int lkvfence_rail_post(struct lkvfence_rail *rail, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad_wr)
{
	int err;
	struct work work = NO_WORK(work);

	err = lkvfence__post(rail, NULL, wr, bad_wr, &work);
	return err ? fail_post(err, NULL) : 0;
}

static int fail_type(const char *what)
{
	return lkvfence__vfail(-EPROTONOSUPPORT,
		"%s: the queue pair is not RC: only there a completion proves that a request was executed, and those before it",
		what);
}

int lkvfence_send_post(struct lkvfence_send *send, struct lkvfence_rail *rail,
		       struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int err;
	struct work work = NO_WORK(work);

	if (!rail->reliable) {
		if (bad_wr)
			*bad_wr = wr;
		return fail_type("post");
	}
	err = lkvfence__post(rail, send, wr, bad_wr, &work);
	if (err)
		fail_post(err, send);
	lkvfence__run(rail->v, &work);
	return err;
}

/*
 * The in-band marker
 */

/*
 * ORDER: a WRITE is placed once, before the marker behind it. A READ whose
 * answer gets lost is asked for again, and the responder reads its memory again,
 * though it has executed what is behind it. So the marker is not sent before the
 * READs in front of it are answered.
 */

/* All rails that were used must be among @rails. With the lease's lock held. */
static int use_all(struct lkvfence_send *send,
		   struct lkvfence_rail *const *rails, uint32_t nr)
{
	uint32_t i, j;

	for (i = 0; i < send->nr_used; i++) {
		for (j = 0; j < nr && rails[j] != send->used[i].rail; j++)
			;
		if (j == nr)
			return -EINVAL;
	}
	for (j = 0; j < nr; j++) {
		if (!add_used(send, rails[j]))
			return -E2BIG;
	}
	return 0;
}

static int post_mark(struct lkvfence_send *send, struct lkvfence_rail *rail,
		     struct work *work)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl((uint32_t)send->tell.r.generation),
	};
	struct used *u;
	bool mine;
	int err = 0;

	pthread_mutex_lock(&rail->lock);
	pthread_mutex_lock(&send->lock);
	u = find_used(send, rail);
	mine = !u->marked;
	if (mine) {
		u->marked = true;
		u->pending++;
		send->wrs++;
	}
	pthread_mutex_unlock(&send->lock);
	if (mine) {
		if (lkvfence__reading(rail))
			wr.send_flags = IBV_SEND_FENCE;
		err = lkvfence__post_own(rail, send, KIND_MARKER, 0, &wr);
		if (!err || err == -EIO)
			lkvfence__posted(send, rail, rail->sq_head - 1, 1, 0);
		if (err == -EIO) {
			lkvfence__over(send, rail, 0, 0, IBV_WC_GENERAL_ERR,
				       work);
		} else if (err) {
			pthread_mutex_lock(&send->lock);
			u->marked = false;
			pthread_mutex_unlock(&send->lock);
			lkvfence__over(send, rail, 1, 0, IBV_WC_SUCCESS, work);
		}
	}
	pthread_mutex_unlock(&rail->lock);
	return err;
}

int lkvfence_send_mark(struct lkvfence_send *send,
		       struct lkvfence_rail *const *rails, uint32_t nr)
{
	struct lkvfence_verbs *v = send->v;
	uint32_t i;
	int err = 0;
	struct work work = NO_WORK(work);

	for (i = 0; i < nr; i++) {
		if (!rails[i]->reliable)
			return fail_type("mark");
	}
	pthread_mutex_lock(&send->lock);
	if (send->failed) {
		err = -ECANCELED;
	} else {
		err = nr ? use_all(send, rails, nr) : -EINVAL;
		if (!err) {
			send->open = false;
			send->marking = true;
		}
	}
	pthread_mutex_unlock(&send->lock);
	for (i = 0; i < nr && !err; i++)
		err = post_mark(send, rails[i], &work);
	if (!err) {
		pthread_mutex_lock(&send->lock);
		send->marking = false;
		unlock(send, &work);
	}
	lkvfence__run(v, &work);

	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return lkvfence__vfail(err,
			"mark: requests were posted on a rail that is not named, or the provider takes no write with immediate: a marker must go behind the data on each rail");
	case -ECANCELED:
		return lkvfence__vfail(err,
			"mark: the lease of generation %" PRIu64 " has failed: an acknowledgement would be untrue",
			send->tell.r.generation);
	case -EAGAIN:
		return lkvfence__vfail(err,
			"mark: a send queue is full: poll, and call again with the same rails");
	default:
		return fail_post(err, send);
	}
}
