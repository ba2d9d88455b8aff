// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A queue pair's life as the library sees it.
 *
 * Unmaking one goes in this order: windows, for they hold the QP; then it is
 * closing, which is set under the locks of both its CQs, so that nobody who polls
 * finds it any more; what is in flight fails; those who have it pinned are waited
 * for; and then the QP may be destroyed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

#define SOFT_ROCE	0xffffffU	/* as vendor_id */

void lkvfence__pin(struct lkvfence_rail *rail)
{
	atomic_fetch_add(&rail->pins, 1);
}

void lkvfence__unpin(struct lkvfence_rail *rail)
{
	atomic_fetch_sub(&rail->pins, 1);
}

static void wait_unpinned(struct lkvfence_rail *rail)
{
	unsigned int turn = 0;

	while (atomic_load(&rail->pins))
		lkvfence__pause(&turn);
}

enum ibv_qp_state lkvfence__qp_state(const struct lkvfence_rail *rail)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int saved = errno, err;

	err = ibv_query_qp(rail->qp, &attr, IBV_QP_STATE, &init);
	errno = saved;
	return err ? IBV_QPS_UNKNOWN : attr.qp_state;
}

bool lkvfence__alive(const struct lkvfence_rail *rail)
{
	switch (lkvfence__qp_state(rail)) {
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
		return true;
	default:
		return false;
	}
}

/* 0 where it is there already. */
int lkvfence__to_error(struct lkvfence_rail *rail)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int saved = errno, err;

	if (lkvfence__qp_state(rail) == IBV_QPS_ERR)
		return 0;
	errno = 0;
	err = lkvfence__errno(ibv_modify_qp(rail->qp, &attr, IBV_QP_STATE));
	errno = saved;
	return err;
}

/*
 * Soft-RoCE checks a packet's key and copies its data afterwards; an invalidate,
 * or a deallocation, that comes in between doesn't wait for the copy. On hardware
 * the one is over before the other completes.
 */
static bool is_lax(struct ibv_context *context)
{
	struct ibv_device_attr attr;
	int saved = errno, err;

	err = ibv_query_device(context, &attr);
	errno = saved;
	return err || attr.vendor_id == SOFT_ROCE;
}

/*
 * Who is known
 */

/* Both CQs, which may be one, in the order of their addresses. */
static void lock_cqs(const struct lkvfence_rail *rail)
{
	struct lkvfence_cq *a = rail->send_cq, *b = rail->recv_cq;

	if (a > b) {
		a = b;
		b = rail->send_cq;
	}
	pthread_mutex_lock(&a->lock);
	if (a != b)
		pthread_mutex_lock(&b->lock);
}

static void unlock_cqs(const struct lkvfence_rail *rail)
{
	pthread_mutex_unlock(&rail->send_cq->lock);
	if (rail->send_cq != rail->recv_cq)
		pthread_mutex_unlock(&rail->recv_cq->lock);
}

static void add_to(struct lkvfence_cq *cq, struct lkvfence_rail *rail)
{
	cq->rails[cq->nr_rails++] = rail;
	cq->by_number[rail->number] = rail;
}

static void remove_from(struct lkvfence_cq *cq, struct lkvfence_rail *rail)
{
	uint32_t i;

	for (i = 0; cq->rails[i] != rail; i++)
		;
	cq->rails[i] = cq->rails[--cq->nr_rails];
	cq->by_number[rail->number] = NULL;
}

/* Makes it known, under a number of its own. */
static int make_known(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;
	uint32_t i, number = UINT32_MAX;
	int err = 0;

	lock_cqs(rail);
	pthread_mutex_lock(&v->lock);
	for (i = 0; i < v->attr.max_rails; i++) {
		if (!v->rails[i] && number == UINT32_MAX)
			number = i;
		/* (that of a QP which is just destroyed may be its namesake) */
		if (v->rails[i] && !atomic_load(&v->rails[i]->closing) &&
		    v->rails[i]->qp == rail->qp)
			err = -EEXIST;
	}
	if (number == UINT32_MAX && !err)
		err = -ENOSPC;
	if (!err) {
		rail->nonce = ++v->nonces[number] & ((1U << NONCE_BITS) - 1);
		rail->number = number;
		v->rails[number] = rail;
		v->nr_rails++;
		add_to(rail->send_cq, rail);
		if (rail->recv_cq != rail->send_cq)
			add_to(rail->recv_cq, rail);
	}
	pthread_mutex_unlock(&v->lock);
	unlock_cqs(rail);
	return err;
}

static void make_unknown(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;

	lock_cqs(rail);
	pthread_mutex_lock(&v->lock);
	v->rails[rail->number] = NULL;
	v->nr_rails--;
	remove_from(rail->send_cq, rail);
	if (rail->recv_cq != rail->send_cq)
		remove_from(rail->recv_cq, rail);
	pthread_mutex_unlock(&v->lock);
	unlock_cqs(rail);
}

/*
 * Making one
 */

static uint32_t power_of_two(uint32_t nr)
{
	uint32_t size = 1;

	while (size < nr)
		size *= 2;
	return size;
}

static void free_rail(struct lkvfence_rail *rail)
{
	pthread_mutex_destroy(&rail->lock);
	free(rail->sq);
	free(rail->rq);
	free(rail->windows);
	free(rail);
}

static int allocate(struct lkvfence_rail *rail,
		    const struct ibv_qp_init_attr *init, uint32_t windows)
{
	uint32_t i;

	rail->sq_size = init->cap.max_send_wr;
	if (rail->sq_size > RING_MAX)
		rail->sq_size = RING_MAX;
	rail->rq_size = rail->srq ? 0 : init->cap.max_recv_wr;
	if (rail->rq_size > RING_MAX)
		rail->rq_size = RING_MAX;
	rail->sq_mask = power_of_two(rail->sq_size) - 1;
	rail->rq_mask = power_of_two(rail->rq_size) - 1;
	rail->sq = calloc((size_t)rail->sq_mask + 1, sizeof(*rail->sq));
	rail->rq = calloc((size_t)rail->rq_mask + 1, sizeof(*rail->rq));
	rail->windows = calloc((size_t)windows + 1, sizeof(*rail->windows));
	if (!rail->sq || !rail->rq || !rail->windows)
		return -ENOMEM;
	rail->nr_windows = windows;
	for (i = 0; i < windows; i++)
		rail->windows[i].rail = rail;
	return 0;
}

static int start_guard(struct lkvfence_rail *rail)
{
	int err = 0;

	pthread_mutex_lock(&rail->lock);
	if (rail->guard) {
		err = lkvfence__guard(rail);
		if (!err && !lkvfence__guarded(rail))
			err = -ENOTCONN;
	}
	pthread_mutex_unlock(&rail->lock);
	return err;
}

static int look(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		struct ibv_qp_init_attr *init)
{
	int saved = errno, err;

	errno = 0;
	err = lkvfence__errno(ibv_query_qp(qp, attr, IBV_QP_STATE | IBV_QP_CAP,
					   init));
	errno = saved;
	if (err)
		return err;
	if (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_ERR)
		return -ENOTCONN;
	return 0;
}

/* What can be said before the QP is asked. */
static int check(const struct lkvfence_verbs *v,
		 const struct lkvfence_rail_attr *attr)
{
	const struct ibv_qp *qp = attr->qp;

	if (qp->context->device->transport_type != IBV_TRANSPORT_IB)
		return lkvfence__vfail(-EPROTONOSUPPORT,
			"rail: the device %s is neither InfiniBand nor RoCE: on iWARP a write completes when it is sent, and proves nothing of the other end",
			ibv_get_device_name(qp->context->device));
	if (qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_UC)
		return lkvfence__vfail(-EPROTONOSUPPORT,
			"rail: the queue pair is of type %d: only RC and UC write into memory in an order; UD, XRC, DC and raw packets can't be fenced this way",
			qp->qp_type);
	if (attr->send_cq->v != v || attr->recv_cq->v != v)
		return lkvfence__vfail(-EINVAL,
			"rail: send_cq and recv_cq must be of the same context as the rail");
	if (qp->send_cq != attr->send_cq->ibv || qp->recv_cq != attr->recv_cq->ibv)
		return lkvfence__vfail(-EINVAL,
			"rail: send_cq and recv_cq must be made of the CQs that the queue pair was created with");
	if (qp->srq && attr->guard)
		return lkvfence__vfail(-EOPNOTSUPP,
			"rail: no guard on a queue pair with a shared receive queue: its receives belong to no queue pair and don't come back flushed with one");
	if (attr->windows && !qp->context->ops.alloc_mw)
		return lkvfence__vfail(-EOPNOTSUPP,
			"rail: the provider has no memory windows");
	return 0;
}

static int fail_create(int err)
{
	switch (err) {
	case -ENOTCONN:
		return lkvfence__vfail(err,
			"rail: the queue pair is in RESET or ERR: move it to INIT first");
	case -ERANGE:
		return lkvfence__vfail(err,
			"rail: the guard is larger than the receive queue (max_recv_wr)");
	case -EEXIST:
		return lkvfence__vfail(err,
			"rail: the queue pair has a rail");
	case -ENOSPC:
		return lkvfence__vfail(err,
			"rail: there are as many as there may be (max_rails)");
	case -ENOMEM:
		return lkvfence__vfail(err, "rail: no memory");
	case -EAGAIN:
		return lkvfence__vfail(err,
			"rail: the receive queue is not empty: create the rail before anything is posted");
	default:
		return lkvfence__vfail(err, "rail: the provider says: %m");
	}
}

int lkvfence_rail_create(struct lkvfence_verbs *v,
			 const struct lkvfence_rail_attr *attr,
			 struct lkvfence_rail **out)
{
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr now = {};
	struct lkvfence_rail *rail;
	int err;

	*out = NULL;
	err = check(v, attr);
	if (err)
		return err;
	err = look(attr->qp, &now, &init);
	if (err)
		return fail_create(err);
	if (attr->guard > init.cap.max_recv_wr || attr->guard > RING_MAX)
		return fail_create(-ERANGE);

	rail = calloc(1, sizeof(*rail));
	if (!rail)
		return fail_create(-ENOMEM);
	pthread_mutex_init(&rail->lock, NULL);
	rail->v = v;
	rail->qp = attr->qp;
	rail->qp_num = attr->qp->qp_num;
	rail->send_cq = attr->send_cq;
	rail->recv_cq = attr->recv_cq;
	rail->guard = attr->guard;
	rail->recv_wr_id = attr->recv_wr_id;
	rail->signal_all = init.sq_sig_all;
	rail->reliable = attr->qp->qp_type == IBV_QPT_RC;
	rail->srq = attr->qp->srq;
	rail->lax = attr->windows && is_lax(attr->qp->context);
	rail->marker = IBV_WR_RDMA_WRITE;
	err = allocate(rail, &init, attr->windows);
	if (!err)
		err = make_known(rail);
	if (err)
		goto out;
	/* Known first: what the guard's receives take may be polled at once. */
	err = start_guard(rail);
	if (err) {
		make_unknown(rail);
		wait_unpinned(rail);
		goto out;
	}
	*out = rail;
	return 0;
out:
	free_rail(rail);
	return fail_create(err);
}

/*
 * Unmaking one
 */

/* Nobody will see whether these settle, but who destroyed the QP. */
static void end_settling(struct lkvfence_rail *rail, bool good,
			 struct work *work)
{
	uint32_t i;

	for (i = 0; i < rail->nr_windows; i++) {
		struct window *w = rail->windows + i;

		if (w->state != WINDOW_SETTLING)
			continue;
		w->state = w->mw ? WINDOW_FREE : WINDOW_NONE;
		lkvfence__detach(w, good, work);
	}
}

/* Accounts for what is in the queues, then closes the windows. */
static int close_rail(struct lkvfence_rail *rail, struct work *work)
{
	int err;

	lkvfence__sweep(rail->send_cq);
	lkvfence__sweep(rail->recv_cq);
	err = lkvfence__close_windows(rail, work);
	if (err) {
		/* The rail stays. */
		pthread_mutex_lock(&rail->lock);
		rail->ending = false;
		pthread_mutex_unlock(&rail->lock);
		return lkvfence__vfail(err,
			"rail: a memory window could not be deallocated");
	}
	return 0;
}

/* While it is closing, its completions are nobody's. */
static void set_closing(struct lkvfence_rail *rail, bool closing)
{
	lock_cqs(rail);
	atomic_store(&rail->closing, closing);
	unlock_cqs(rail);
}

/* Afterwards nobody else has it. */
static void cut_off(struct lkvfence_rail *rail, struct work *work)
{
	set_closing(rail, true);
	pthread_mutex_lock(&rail->lock);
	rail->dead = true;
	lkvfence__fail_all(rail, work);
	pthread_mutex_unlock(&rail->lock);
	lkvfence__forget_rail(rail);
	wait_unpinned(rail);
}

int lkvfence_rail_destroy(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v;
	int err;
	struct work work = NO_WORK(work);

	if (!rail)
		return 0;
	v = rail->v;
	err = close_rail(rail, &work);
	if (!err) {
		cut_off(rail, &work);
		end_settling(rail, false, &work);
		lkvfence__unbind_rail(rail);
		make_unknown(rail);
		free_rail(rail);
	}
	lkvfence__run(v, &work);
	return err;
}

int lkvfence_rail_destroy_qp(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;
	int saved = errno, err;
	struct work work = NO_WORK(work);

	err = close_rail(rail, &work);
	if (err)
		goto out;
	cut_off(rail, &work);

	errno = 0;
	err = lkvfence__errno(ibv_destroy_qp(rail->qp));
	errno = saved;
	if (err) {
		set_closing(rail, false);
		lkvfence__vfail(err, "rail: the queue pair can't be destroyed: %m");
		goto out;
	}
	end_settling(rail, true, &work);
	lkvfence__say_quiet(rail, LKVFENCE_EVIDENCE_QP_DESTROYED);
	lkvfence__unbind_rail(rail);
	make_unknown(rail);
	free_rail(rail);
out:
	lkvfence__run(v, &work);
	return err;
}

int lkvfence_rail_reset(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;
	struct work work = NO_WORK(work);

	err = look(rail->qp, &attr, &init);
	if (err)
		return fail_create(err);
	err = close_rail(rail, &work);
	if (!err) {
		pthread_mutex_lock(&rail->lock);
		lkvfence__fail_all(rail, &work);
		end_settling(rail, false, &work);
		rail->dead = false;
		/* The peer may be another one, and allow less. */
		rail->can_mark = false;
		rail->marker = IBV_WR_RDMA_WRITE;
		rail->flushed = false;
		rail->quiet = false;
		rail->ending = false;
		rail->rq_tail = rail->rq_head;
		rail->rq_known = rail->rq_head;
		pthread_mutex_unlock(&rail->lock);
		lkvfence__forget_rail(rail);
		err = start_guard(rail);
		if (err)
			fail_create(err);
	}
	lkvfence__run(v, &work);
	return err;
}

/*
 * Taking access away
 */

static int is_quiet(void *arg)
{
	struct lkvfence_rail *rail = arg;
	int quiet;

	pthread_mutex_lock(&rail->lock);
	quiet = rail->quiet;
	pthread_mutex_unlock(&rail->lock);
	return quiet;
}

int lkvfence_rail_flush(struct lkvfence_rail *rail, int timeout_ms)
{
	bool hope, again;
	int err;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&rail->lock);
	hope = rail->flushed || lkvfence__guarded(rail);
	/* There is no way out of ERR but by RESET. */
	again = rail->flushed && lkvfence__alive(rail);
	if (!again) {
		lkvfence__pin(rail);
		if (rail->flushed && !rail->quiet)
			lkvfence__list(rail, &work);
	}
	pthread_mutex_unlock(&rail->lock);
	if (again)
		return lkvfence__vfail(-ENOTCONN,
			"flush: the queue pair was reset: call lkvfence_rail_reset() before it is used again");

	err = lkvfence__to_error(rail);
	lkvfence__run(rail->v, &work);
	if (err) {
		lkvfence__vfail(err,
			"flush: the queue pair can't be moved to ERR: %m");
	} else if (!hope) {
		err = lkvfence__vfail(-EOPNOTSUPP,
			"flush: the queue pair is in ERR, but no receive was in its queue before: that is no proof; destroy it (lkvfence_rail_destroy_qp)");
	} else {
		err = is_quiet(rail);
		if (!err) {
			lkvfence__pin(rail);
			err = lkvfence__wait(&rail, 1, RECV_CQ, timeout_ms,
					     is_quiet, rail);
		}
		err = err == 1 ? 0 : err;
		if (err == -ETIMEDOUT)
			lkvfence__vfail(err,
				"flush: no receive has come back flushed after %d ms: call again, or destroy the queue pair",
				timeout_ms);
		else if (err)
			lkvfence__vfail(err,
				"flush: more completions of others than can be put aside: take them by lkvfence_cq_poll(), and call again");
	}
	lkvfence__unpin(rail);
	return err;
}
