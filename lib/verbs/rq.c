// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A receive queue, and the guard in it.
 *
 * The engine that executes a QP's packets also flushes its receive queue, in
 * order: when a receive comes back flushed, it executes nothing any more. That
 * is the proof RQ_FLUSHED, and it takes three things:
 *
 *  - a receive that was in the queue before the QP went to ERR. One that is
 *    posted to a QP in ERR may be flushed by whoever takes it, the driver in
 *    user space included. So after receives were posted the QP is asked for its
 *    state; only those that were posted before an answer other than ERR count.
 *    Not each one is asked about, for that is a system call: half of the queue
 *    at a time;
 *  - that it came back with the status "flushed";
 *  - that the QP is in ERR then. The QP is asked once more.
 *
 * Data consumes no receive, but writes with immediate and sends do, the oldest
 * first; so a guard can't be one receive that stays. It is as many as the
 * application asked for, of which half are posted anew when half are consumed.
 * They have no buffer: a send with a payload would break the connection. Where
 * the peer sends messages, the application's own receives are the guard.
 */
#include <errno.h>

#include "internal.h"

static struct received *at(const struct lkvfence_rail *rail, uint32_t pos)
{
	return rail->rq + (pos & rail->rq_mask);
}

static uint32_t in_queue(const struct lkvfence_rail *rail)
{
	return rail->rq_head - rail->rq_tail;
}

/* How many of them were posted before ERR, as far as is known? */
static uint32_t known(const struct lkvfence_rail *rail)
{
	int32_t nr = (int32_t)(rail->rq_known - rail->rq_tail);

	return nr > 0 ? (uint32_t)nr : 0;
}

bool lkvfence__guarded(const struct lkvfence_rail *rail)
{
	return known(rail);
}

/* What is in the queue now was posted before ERR, unless the QP is in it. */
static void verify(struct lkvfence_rail *rail)
{
	if (lkvfence__alive(rail))
		rail->rq_known = rail->rq_head;
}

/* Up to BATCH receives in a row; how many were posted is in @posted. */
static int post_batch(struct lkvfence_rail *rail, struct ibv_recv_wr *wr,
		      bool own, uint32_t *posted)
{
	struct ibv_recv_wr copies[BATCH], *bad = NULL;
	uint32_t max = rail->rq_size - in_queue(rail), nr;
	int saved = errno, err;

	*posted = 0;
	for (nr = 0; wr && nr < BATCH && nr < max; wr = wr->next, nr++) {
		uint32_t pos = rail->rq_head + nr;

		*at(rail, pos) = (struct received){ wr->wr_id, own };
		copies[nr] = *wr;
		copies[nr].wr_id = KEY << 40 | 1ULL << 39 |
			(uint64_t)rail->nonce << (POS_BITS + RAIL_BITS) |
			(uint64_t)rail->number << POS_BITS | (pos & POS_MASK);
		copies[nr].next = copies + nr + 1;
	}
	if (!nr)
		return -EAGAIN;
	copies[nr - 1].next = NULL;

	errno = 0;
	err = lkvfence__errno(ibv_post_recv(rail->qp, copies, &bad));
	errno = saved;
	if (err == -ENOMEM)
		err = -EAGAIN;
	if (!err) {
		*posted = nr;
	} else if (bad >= copies && bad < copies + nr) {
		*posted = (uint32_t)(bad - copies);
		nr = *posted;
	} else {
		/* Those that are not there are never seen to be flushed. */
		COUNT(rail->v, in_doubt);
		err = -EIO;
	}
	rail->rq_head += nr;
	return err;
}

/* Fills up the guard, and sees to it that one of its receives is known. */
int lkvfence__guard(struct lkvfence_rail *rail)
{
	uint32_t lack = rail->guard - in_queue(rail), posted, i;
	struct ibv_recv_wr wr[BATCH] = {};
	int err = 0;

	if (rail->flushed)
		return 0;
	while (lack && !err) {
		uint32_t nr = lack < BATCH ? lack : BATCH;

		for (i = 0; i < nr; i++)
			wr[i].next = i + 1 < nr ? wr + i + 1 : NULL;
		err = post_batch(rail, wr, true, &posted);
		lack -= posted;
	}
	verify(rail);
	return err;
}

int lkvfence_rail_recv(struct lkvfence_rail *rail, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	uint32_t posted;
	int err = 0;

	pthread_mutex_lock(&rail->lock);
	if (rail->srq)
		err = -EOPNOTSUPP;
	else if (rail->guard)
		err = -EBUSY;
	while (wr && !err) {
		err = post_batch(rail, wr, false, &posted);
		for (; posted; posted--)
			wr = wr->next;
	}
	if (2 * known(rail) <= in_queue(rail) && in_queue(rail))
		verify(rail);
	pthread_mutex_unlock(&rail->lock);

	if (bad_wr)
		*bad_wr = err && err != -EIO ? wr : NULL;
	switch (err) {
	case 0:
		return 0;
	case -EOPNOTSUPP:
		return lkvfence__vfail(err,
			"recv: the queue pair has a shared receive queue: post to that; what is in it belongs to no queue pair, and is flushed with none");
	case -EBUSY:
		return lkvfence__vfail(err,
			"recv: the rail's receives are the guard's: create the rail without one to post your own");
	case -EAGAIN:
		return lkvfence__vfail(err,
			"recv: the receive queue is full: poll, and go on from bad_wr");
	case -EIO:
		return lkvfence__vfail(err,
			"recv: the provider failed and doesn't say how many receives it took");
	default:
		return lkvfence__vfail(err, "recv: the provider says: %m");
	}
}

void lkvfence__list(struct lkvfence_rail *rail, struct work *work)
{
	if (rail->listed)
		return;
	rail->listed = true;
	lkvfence__pin(rail);
	rail->next = work->rails;
	work->rails = rail;
}

bool lkvfence__arrived(struct lkvfence_rail *rail, uint32_t pos,
		       struct ibv_wc *wc, struct work *work)
{
	uint32_t index = (pos - rail->rq_tail) & POS_MASK;
	bool acked = false, was_known;
	struct received r;

	if (index >= in_queue(rail)) {
		COUNT(rail->v, stale);
		return false;
	}
	pos = rail->rq_tail + index;
	r = *at(rail, pos);
	was_known = (int32_t)(rail->rq_known - pos) > 0;
	rail->rq_tail = pos + 1;
	wc->wr_id = r.own ? rail->recv_wr_id : r.wr_id;

	if (wc->status == IBV_WC_WR_FLUSH_ERR && was_known && !rail->flushed) {
		rail->flushed = true;
		COUNT(rail->v, flushed);
		lkvfence__list(rail, work);
	}
	if (wc->status != IBV_WC_SUCCESS)
		return !r.own;

	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		acked = lkvfence__acked(rail, wc, work);
	if (!r.own)
		return true;
	/* What can't be posted now is tried again with the next that arrives. */
	if (2 * in_queue(rail) <= rail->guard)
		lkvfence__guard(rail);
	return !acked;
}

/*
 * A rail on the list is to be broken; or was seen to be flushed: is it in ERR? A
 * QP that was reset meanwhile is not, and what is said of it would be said of its
 * next life.
 */
void lkvfence__run_rail(struct lkvfence_rail *rail, struct work *work)
{
	bool breaking, quiet;

	pthread_mutex_lock(&rail->lock);
	rail->listed = false;
	breaking = rail->breaking;
	rail->breaking = false;
	pthread_mutex_unlock(&rail->lock);
	if (breaking)
		lkvfence__to_error(rail);
	lkvfence__say_failed(rail);

	pthread_mutex_lock(&rail->lock);
	quiet = rail->flushed && lkvfence__qp_state(rail) == IBV_QPS_ERR;
	rail->quiet |= quiet;
	if (quiet)
		lkvfence__settled(rail, work);
	pthread_mutex_unlock(&rail->lock);
	if (quiet)
		lkvfence__say_quiet(rail, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	lkvfence__unpin(rail);
}
