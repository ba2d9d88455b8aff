// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Completions, taken out of the provider's queue and given to whom they belong.
 *
 * ORDER: completions of one QP must be accounted in the order in which the
 * provider gives them, for a success proves what was posted before it. So the
 * CQ's lock is held from ibv_poll_cq() until all that it gave are accounted;
 * two threads that poll can't overtake each other in between.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

static void free_cq(struct lkvfence_cq *cq)
{
	free(cq->stash.wc);
	free(cq->rails);
	free(cq->by_number);
	free(cq);
}

int lkvfence_cq_create(struct lkvfence_verbs *v, struct ibv_cq *ibv_cq,
		       struct lkvfence_cq **out)
{
	struct lkvfence_cq *cq = calloc(1, sizeof(*cq));

	*out = NULL;
	if (!cq)
		return lkvfence__vfail(-ENOMEM, "cq: no memory");
	cq->v = v;
	cq->ibv = ibv_cq;
	/* Room for a full queue, and for what comes while that is put aside. */
	cq->stash.size = 2 * (uint32_t)(ibv_cq->cqe > 0 ? ibv_cq->cqe : 1) + BATCH;
	cq->stash.wc = calloc(cq->stash.size, sizeof(*cq->stash.wc));
	cq->rails = calloc(v->attr.max_rails, sizeof(*cq->rails));
	cq->by_number = calloc(v->attr.max_rails, sizeof(*cq->by_number));
	if (!cq->stash.wc || !cq->rails || !cq->by_number) {
		free_cq(cq);
		return lkvfence__vfail(-ENOMEM, "cq: no memory");
	}
	pthread_mutex_init(&cq->lock, NULL);
	atomic_fetch_add(&v->nr_cqs, 1);
	*out = cq;
	return 0;
}

int lkvfence_cq_destroy(struct lkvfence_cq *cq)
{
	if (!cq)
		return 0;
	if (cq->nr_rails)
		return lkvfence__vfail(-EBUSY,
			"cq: rails use it: destroy them first");
	atomic_fetch_sub(&cq->v->nr_cqs, 1);
	pthread_mutex_destroy(&cq->lock);
	free_cq(cq);
	return 0;
}

/*
 * Whose is it? The direction is known of a success; of anything else only that
 * the QP has failed is learned, whatever it is taken for.
 */
static struct lkvfence_rail *owner(struct lkvfence_cq *cq,
				   const struct ibv_wc *wc, bool *ours)
{
	uint32_t number = wc->wr_id >> POS_BITS & (RAIL_MAX - 1);
	uint32_t nonce = wc->wr_id >> (POS_BITS + RAIL_BITS) &
			 ((1U << NONCE_BITS) - 1);
	bool receive = wc->wr_id >> 39 & 1;
	struct lkvfence_rail *rail;

	*ours = wc->wr_id >> 40 == KEY;
	if (!*ours)
		return NULL;
	if (wc->status == IBV_WC_SUCCESS &&
	    receive != !!(wc->opcode & IBV_WC_RECV)) {
		*ours = false;
		return NULL;
	}
	rail = number < cq->v->attr.max_rails ? cq->by_number[number] : NULL;
	if (!rail || atomic_load(&rail->closing) || rail->nonce != nonce ||
	    rail->qp_num != wc->qp_num ||
	    (receive ? rail->recv_cq : rail->send_cq) != cq)
		return NULL;
	return rail;
}

/* By the QP's number: a receive that was posted past the library. */
static struct lkvfence_rail *rail_of(struct lkvfence_cq *cq, uint32_t qp_num)
{
	uint32_t i;

	for (i = 0; i < cq->nr_rails; i++) {
		if (cq->rails[i]->qp_num == qp_num &&
		    cq->rails[i]->recv_cq == cq &&
		    !atomic_load(&cq->rails[i]->closing))
			return cq->rails[i];
	}
	return NULL;
}

/* Accounts for a completion; is it for the application? With cq->lock held. */
static bool dispatch(struct lkvfence_cq *cq, struct ibv_wc *wc,
		     struct work *work)
{
	uint32_t pos = wc->wr_id & POS_MASK;
	struct lkvfence_rail *rail;
	bool ours, app;

	rail = owner(cq, wc, &ours);
	if (rail) {
		bool receive = wc->wr_id >> 39 & 1;

		pthread_mutex_lock(&rail->lock);
		if (receive)
			app = lkvfence__arrived(rail, pos, wc, work);
		else
			app = lkvfence__completed(rail, pos, wc, work);
		pthread_mutex_unlock(&rail->lock);
		return app;
	}
	if (ours) {
		COUNT(cq->v, stale);
		return false;
	}
	if (wc->status != IBV_WC_SUCCESS ||
	    wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
		return true;
	rail = rail_of(cq, wc->qp_num);
	if (rail)
		lkvfence__acked(rail, wc, work);
	return true;
}

/* Markers that could not be posted where they were first wanted. */
static void post_markers(struct lkvfence_cq *cq)
{
	uint32_t i;

	if (!atomic_exchange(&cq->want, false))
		return;
	for (i = 0; i < cq->nr_rails; i++) {
		struct lkvfence_rail *rail = cq->rails[i];

		if (rail->send_cq != cq)
			continue;
		pthread_mutex_lock(&rail->lock);
		if (rail->want)
			lkvfence__mark(rail);
		pthread_mutex_unlock(&rail->lock);
	}
}

int lkvfence_cq_poll(struct lkvfence_cq *cq, int nr, struct ibv_wc *wc)
{
	struct ibv_wc batch[BATCH];
	int done = 0, err = 0, i, n, want;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&cq->lock);
	while (done < nr && cq->stash.nr) {
		wc[done++] = cq->stash.wc[cq->stash.first];
		cq->stash.first = (cq->stash.first + 1) % cq->stash.size;
		cq->stash.nr--;
	}
	while (done < nr) {
		want = nr - done < BATCH ? nr - done : BATCH;
		n = ibv_poll_cq(cq->ibv, want, batch);
		if (n < 0) {
			err = -EIO;
			break;
		}
		for (i = 0; i < n; i++) {
			if (dispatch(cq, batch + i, &work))
				wc[done++] = batch[i];
		}
		if (n < want)
			break;
	}
	post_markers(cq);
	pthread_mutex_unlock(&cq->lock);
	lkvfence__run(cq->v, &work);

	if (err && !done)
		return lkvfence__vfail(err,
			"cq: the provider can't poll it (an overrun?): leases of its rails stay out");
	return done;
}

/*
 * Takes out what is there, for somebody who waits. Returns false if there is no
 * room to put it. No more than a queue can hold: what comes as fast as it is taken
 * must not make him miss his deadline.
 */
bool lkvfence__sweep(struct lkvfence_cq *cq)
{
	struct ibv_wc batch[BATCH];
	uint32_t room, want, left = cq->stash.size;
	bool good = true;
	int i, n;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&cq->lock);
	for (;;) {
		room = cq->stash.size - cq->stash.nr;
		want = room < BATCH ? room : BATCH;
		good = room;
		if (!good)
			break;
		n = ibv_poll_cq(cq->ibv, (int)want, batch);
		for (i = 0; i < n; i++) {
			if (dispatch(cq, batch + i, &work))
				cq->stash.wc[(cq->stash.first + cq->stash.nr++) %
					     cq->stash.size] = batch[i];
		}
		if (n < (int)want || left <= want)
			break;
		left -= want;
	}
	post_markers(cq);
	pthread_mutex_unlock(&cq->lock);
	lkvfence__run(cq->v, &work);
	return good;
}

/* Proof usually comes in microseconds: no sleep until it has not. */
void lkvfence__pause(unsigned int *turn)
{
	static const struct timespec moment = { .tv_nsec = 50000 };
	int saved = errno;

	if (++*turn < 200)
		sched_yield();
	else
		nanosleep(&moment, NULL);
	errno = saved;
}

/* Those that are closing leave; the CQs of the others are swept. */
static bool sweep_all(struct lkvfence_rail **rails, uint32_t *nr,
		      enum which which)
{
	bool room = true;
	uint32_t i = 0;

	while (i < *nr) {
		struct lkvfence_rail *rail = rails[i];

		if (atomic_load(&rail->closing)) {
			rails[i] = rails[--*nr];
			lkvfence__unpin(rail);
			continue;
		}
		if (which & SEND_CQ)
			room &= lkvfence__sweep(rail->send_cq);
		if (which & RECV_CQ && !(which & SEND_CQ && rail->recv_cq == rail->send_cq))
			room &= lkvfence__sweep(rail->recv_cq);
		i++;
	}
	return room;
}

int lkvfence__wait(struct lkvfence_rail **rails, uint32_t nr, enum which which,
		   int timeout_ms, int (*done)(void *arg), void *arg)
{
	int64_t deadline = lkvfence__deadline(timeout_ms);
	unsigned int turn = 0;
	bool last = false, room;
	int ret;

	for (;;) {
		room = sweep_all(rails, &nr, which);
		ret = done(arg);
		if (!ret && !room)
			ret = -ENOBUFS;
		if (!ret && last)
			ret = -ETIMEDOUT;
		if (ret)
			break;
		/* One more look when the time is up: it may have been long ago. */
		last = lkvfence__now_ms() >= deadline;
		if (!last)
			lkvfence__pause(&turn);
	}
	while (nr)
		lkvfence__unpin(rails[--nr]);
	return ret;
}
