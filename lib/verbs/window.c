// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Memory windows of type 2: what the peer is told is the rkey of a window that
 * is the transfer's own, and that can be taken away.
 *
 * Its local invalidate, completed with success, proves that the key is refused
 * from then on. Flushed, or failed in whatever way, it proves nothing: the window
 * is deallocated then, which the provider's call does or says that it didn't.
 *
 * That a key is refused doesn't mean that nothing is executed under it any more: a
 * packet may be past the check. On a QP in ERR that is to be reckoned with; where
 * it has a guard, the window counts as gone only when that has come back flushed.
 * On Soft-RoCE it is so on any QP (it has been seen: the rest of a packet landed
 * in memory that was in use again), so there the QP is moved to ERR when the key
 * is gone, and the guard is necessary.
 *
 * A window is invalidated once. To invalidate one that is not bound is an error
 * that costs the connection, and some kernels more than that. So it is done in
 * the state BOUND (or BINDING: the queue keeps the order) and takes the window out
 * of it; and a completion changes a window only if it is of the request that the
 * window is waiting for.
 *
 * Windows are deallocated before their QP is destroyed: they hold it, and some
 * devices wait for a minute before they destroy it regardless.
 */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

/* After so many uses a window is allocated anew, before its keys come again. */
#define MAX_USES	200

/* With the rail's lock held. */
static void doom(struct window *w, struct work *work)
{
	w->state = WINDOW_DOOMED;
	lkvfence__pin(w->rail);
	w->next = work->doomed;
	work->doomed = w;
}

void lkvfence__bound(struct lkvfence_rail *rail, uint32_t number, uint32_t pos,
		     bool good, struct work *work)
{
	struct window *w = rail->windows + number;

	if (w->state != WINDOW_BINDING || w->pos != pos)
		return;
	if (good)
		w->state = WINDOW_BOUND;
	else
		doom(w, work);
}

/*
 * The key of a window is gone. Is what is executed under it over, too? @doubt: it
 * may not be. With the rail's lock held.
 */
static void gone(struct window *w, bool doubt, struct work *work)
{
	struct lkvfence_rail *rail = w->rail;

	if (doubt && !rail->quiet && lkvfence__asked_for(w)) {
		if (lkvfence__guarded(rail) || rail->flushed) {
			w->state = WINDOW_SETTLING;
			/* A QP that is left, or in its next life, is let be. */
			rail->breaking |= !rail->ending;
			lkvfence__list(rail, work);
			return;
		}
		/* Nobody will be able to tell. */
		if (rail->lax) {
			COUNT(rail->v, windows_lost);
			lkvfence__detach(w, false, work);
		}
	}
	w->state = w->mw ? WINDOW_FREE : WINDOW_NONE;
	lkvfence__detach(w, true, work);
}

void lkvfence__invalidated(struct lkvfence_rail *rail, uint32_t number,
			   uint32_t pos, bool good, struct work *work)
{
	struct window *w = rail->windows + number;

	if (w->state != WINDOW_INVALIDATING || w->pos != pos)
		return;
	if (good) {
		COUNT(rail->v, invalidated);
		gone(w, rail->lax, work);
	} else {
		doom(w, work);
	}
}

/* A window on the list, with no lock held. */
void lkvfence__run_doomed(struct window *w, struct work *work)
{
	struct lkvfence_rail *rail = w->rail;
	int err;

	errno = 0;		/* lkvfence__run() puts it back */
	err = lkvfence__errno(ibv_dealloc_mw(w->mw));
	pthread_mutex_lock(&rail->lock);
	if (err) {
		COUNT(rail->v, windows_lost);
		w->state = WINDOW_LOST;
		lkvfence__detach(w, false, work);
	} else {
		COUNT(rail->v, deallocated);
		w->mw = NULL;
		gone(w, rail->lax || lkvfence__qp_state(rail) == IBV_QPS_ERR,
		     work);
	}
	pthread_mutex_unlock(&rail->lock);
	lkvfence__unpin(rail);
}

/* The rail's QP executes nothing any more. */
void lkvfence__settled(struct lkvfence_rail *rail, struct work *work)
{
	uint32_t i;

	for (i = 0; i < rail->nr_windows; i++) {
		struct window *w = rail->windows + i;

		if (w->state != WINDOW_SETTLING)
			continue;
		w->state = w->mw ? WINDOW_FREE : WINDOW_NONE;
		lkvfence__detach(w, true, work);
	}
}

/*
 * Posts a window's invalidate; 0 or -errno. One that is fenced waits
 * until all before it is done; so a request that is sent again, for its answer was
 * lost, doesn't bring it about a second time.
 */
static int invalidate(struct window *w)
{
	struct lkvfence_rail *rail = w->rail;
	int err;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_FENCE,
		.invalidate_rkey = w->mw->rkey,
	};

	/* Not every device invalidates on UC; all deallocate. */
	if (!rail->reliable)
		return -EOPNOTSUPP;
	err = lkvfence__post_own(rail, NULL, KIND_INVALIDATE,
				 (uint32_t)(w - rail->windows), &wr);
	if (!err) {
		w->pos = rail->sq_head - 1;
		w->state = WINDOW_INVALIDATING;
	}
	return err;
}

static bool is_open(const struct window *w)
{
	return w->state == WINDOW_BINDING || w->state == WINDOW_BOUND;
}

/* It may have been given back meanwhile, and be another lease's. */
static bool is_of(struct window *w, const struct lkvfence_recv *recv)
{
	bool is;

	pthread_mutex_lock(&recv->v->lock);
	is = w->recv == recv;
	pthread_mutex_unlock(&recv->v->lock);
	return is;
}

/* Sees to all windows of a lease which nobody has seen to yet. */
void lkvfence__revoke(struct lkvfence_recv *recv, struct work *work)
{
	struct lkvfence_verbs *v = recv->v;
	struct lkvfence_rail *rail;
	struct window *w;

	for (;;) {
		pthread_mutex_lock(&v->lock);
		for (w = recv->windows; w && w->asked; w = w->of_recv)
			;
		if (w) {
			w->asked = true;
			lkvfence__pin(w->rail);
		}
		pthread_mutex_unlock(&v->lock);
		if (!w)
			return;
		rail = w->rail;
		pthread_mutex_lock(&rail->lock);
		if (is_of(w, recv) && is_open(w) && invalidate(w))
			doom(w, work);
		pthread_mutex_unlock(&rail->lock);
		lkvfence__unpin(rail);
	}
}

/* Gone (1), lost, or neither yet. */
static int revoked(void *arg)
{
	struct lkvfence_recv *recv = arg;
	int ret = 0;

	pthread_mutex_lock(&recv->v->lock);
	if (recv->lost)
		ret = -EIO;
	else if (recv->said && !recv->nr_live)
		ret = 1;
	pthread_mutex_unlock(&recv->v->lock);
	return ret;
}

/* The rails of a lease's windows, as many as can be had; pinned. */
static uint32_t get_rails(const struct lkvfence_recv *recv,
			  struct lkvfence_rail **rails)
{
	const struct window *w;
	uint32_t nr = 0, i;

	for (w = recv->windows; w && nr < MAX_RAILS; w = w->of_recv) {
		for (i = 0; i < nr && rails[i] != w->rail; i++)
			;
		if (i < nr)
			continue;
		lkvfence__pin(w->rail);
		rails[nr++] = w->rail;
	}
	return nr;
}

int lkvfence_recv_revoke(struct lkvfence_recv *recv, int timeout_ms)
{
	struct lkvfence_rail *rails[MAX_RAILS];
	struct lkvfence_verbs *v = recv->v;
	uint64_t generation = recv->tell.r.generation;
	uint32_t nr;
	int ret;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&v->lock);
	if (!recv->had_windows) {
		pthread_mutex_unlock(&v->lock);
		return lkvfence__vfail(-EINVAL,
			"revoke: the lease of generation %" PRIu64 " has no windows: take the queue pair's access away (lkvfence_rail_flush)",
			generation);
	}
	recv->revoking = true;
	nr = get_rails(recv, rails);
	lkvfence__windows_gone(recv, &work);
	pthread_mutex_unlock(&v->lock);

	lkvfence__revoke(recv, &work);
	lkvfence__run(v, &work);
	ret = revoked(recv);
	/* The receive CQs, too, for the guard's word on a QP in ERR. */
	if (!ret && timeout_ms)
		ret = lkvfence__wait(rails, nr, BOTH_CQS, timeout_ms, revoked,
				     recv);
	else
		while (nr)
			lkvfence__unpin(rails[--nr]);

	switch (ret) {
	case 0:
	case 1:
		return 0;
	case -EIO:
		return lkvfence__vfail(ret,
			"revoke: of a window of generation %" PRIu64 " it can't be proven that it is gone (it could not be deallocated; or the device is Soft-RoCE, and the rail has no guard): its lease stays out",
			generation);
	case -ETIMEDOUT:
		return lkvfence__vfail(ret,
			"revoke: a window of generation %" PRIu64 " is not gone after %d ms: something in front of it in the send queue waits; it goes when that completes or fails",
			generation, timeout_ms);
	default:
		return lkvfence__vfail(ret,
			"revoke: more completions of others than can be put aside: take them by lkvfence_cq_poll(), and call again");
	}
}

/*
 * Opening
 */

/* With the rail's lock held; it is the caller's, in state BUSY. */
static struct window *get_window(struct lkvfence_rail *rail)
{
	uint32_t i;

	for (i = 0; i < rail->nr_windows; i++) {
		struct window *w = rail->windows + i;

		if (w->state == WINDOW_FREE || w->state == WINDOW_NONE) {
			w->state = WINDOW_BUSY;
			return w;
		}
	}
	return NULL;
}

/* With no lock held. Returns 0 or -errno. */
static int allocate(struct window *w)
{
	int saved = errno, err = 0;

	if (w->mw && w->uses >= MAX_USES) {
		errno = 0;
		err = lkvfence__errno(ibv_dealloc_mw(w->mw));
		errno = saved;
		if (err)
			return err;
		w->mw = NULL;
	}
	if (!w->mw) {
		errno = 0;
		w->mw = ibv_alloc_mw(w->rail->qp->pd, IBV_MW_TYPE_2);
		w->uses = 0;
		if (!w->mw)
			err = errno ? -errno : -ENOMEM;
		errno = saved;
	}
	return err;
}

/* The lease gets the window, if it is not being revoked. */
static bool attach(struct window *w, struct lkvfence_recv *recv)
{
	struct lkvfence_verbs *v = recv->v;
	bool good;

	pthread_mutex_lock(&v->lock);
	good = !recv->revoking && !recv->told;
	if (good) {
		w->recv = recv;
		w->asked = false;
		w->of_recv = recv->windows;
		recv->windows = w;
		recv->nr_live++;
	}
	pthread_mutex_unlock(&v->lock);
	return good;
}

/* With the rail's lock held. */
static int bind(struct window *w, struct lkvfence_recv *recv,
		const struct ibv_mw_bind_info *info, struct work *work)
{
	struct lkvfence_rail *rail = w->rail;
	uint32_t rkey = ibv_inc_rkey(w->mw->rkey);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = w->mw, .rkey = rkey, .bind_info = *info },
	};
	int err;

	w->state = WINDOW_FREE;
	if (!attach(w, recv))
		return -ECANCELED;
	err = lkvfence__post_own(rail, NULL, KIND_BIND,
				 (uint32_t)(w - rail->windows), &wr);
	if (err == -EIO) {
		doom(w, work);
	} else if (err) {
		lkvfence__detach(w, true, work);
	} else {
		/* The provider has made use of the old one. */
		w->mw->rkey = rkey;
		w->uses++;
		w->pos = rail->sq_head - 1;
		w->state = WINDOW_BINDING;
		pthread_mutex_lock(&rail->v->lock);
		recv->had_windows = true;
		pthread_mutex_unlock(&rail->v->lock);
	}
	return err;
}

struct opening {
	struct window *window;
	uint32_t pos;
};

/* Bound (1), refused, or neither yet. */
static int opened(void *arg)
{
	const struct opening *o = arg;
	struct window *w = o->window;
	int ret = -EIO;

	pthread_mutex_lock(&w->rail->lock);
	if (w->pos == o->pos && w->state == WINDOW_BINDING)
		ret = 0;
	else if (w->pos == o->pos && w->state == WINDOW_BOUND)
		ret = 1;
	pthread_mutex_unlock(&w->rail->lock);
	return ret;
}

/*
 * It was waited for in vain. Nobody was told its key, so the lease is rid of it
 * at once, and the rail has it back when it is invalidated. By now it may be bound,
 * or not this lease's any more. Where that can't be posted it stays the lease's: to
 * deallocate it while it waits to be bound would cost the connection. It is done
 * only where nobody knows whether it was posted, for it must not be twice.
 */
static void withdraw(const struct opening *o, const struct lkvfence_recv *recv)
{
	struct window *w = o->window;
	struct lkvfence_rail *rail = w->rail;
	int err;
	struct work work = NO_WORK(work);

	pthread_mutex_lock(&rail->lock);
	if (w->pos == o->pos && is_of(w, recv) && is_open(w)) {
		err = invalidate(w);
		if (err == -EIO)
			doom(w, &work);
		if (!err || err == -EIO)
			lkvfence__detach(w, true, &work);
	}
	pthread_mutex_unlock(&rail->lock);
	lkvfence__run(rail->v, &work);
}

static int fail_window(int err, uint64_t generation, int timeout_ms)
{
	switch (err) {
	case -EAGAIN:
		return lkvfence__vfail(err,
			"window: no window of the rail is free, or its send queue is full: poll, and finish leases");
	case -EINVAL:
		return lkvfence__vfail(err,
			"window: the rail was created without windows, or the provider doesn't take the memory or access: %m");
	case -ECANCELED:
		return lkvfence__vfail(err,
			"window: the lease of generation %" PRIu64 " has come back, or is being revoked",
			generation);
	case -EIO:
		return lkvfence__vfail(err,
			"window: the device refused it, and the queue pair has failed, or the lease was revoked meanwhile; see that the memory region has IBV_ACCESS_MW_BIND, and local write for remote write");
	case -ETIMEDOUT:
		return lkvfence__vfail(err,
			"window: it is not bound after %d ms: something in front of it in the send queue waits; the rail has it back when that is over",
			timeout_ms);
	case -ENOTCONN:
		return lkvfence__vfail(err,
			"window: the queue pair has failed");
	case -ENOBUFS:
		return lkvfence__vfail(err,
			"window: more completions of others than can be put aside: take them by lkvfence_cq_poll()");
	default:
		return lkvfence__vfail(err, "window: the provider says: %m");
	}
}

int lkvfence_recv_window(struct lkvfence_recv *recv, struct lkvfence_rail *rail,
			 const struct ibv_mw_bind_info *info, int timeout_ms,
			 uint32_t *rkey)
{
	uint64_t generation = recv->tell.r.generation;
	struct opening o = {};
	struct window *w = NULL;
	uint32_t key = 0;
	int err;
	struct work work = NO_WORK(work);

	if (!rail->nr_windows)
		return fail_window(-EINVAL, generation, 0);
	lkvfence__pin(rail);
	pthread_mutex_lock(&rail->lock);
	/* (flushed: it is in ERR, or was reset without lkvfence_rail_reset()) */
	if (rail->dead || rail->flushed) {
		err = -ENOTCONN;
	} else {
		w = get_window(rail);
		err = w ? 0 : -EAGAIN;
	}
	pthread_mutex_unlock(&rail->lock);
	if (!err) {
		err = allocate(w);
		pthread_mutex_lock(&rail->lock);
		if (err)
			w->state = w->mw ? WINDOW_FREE : WINDOW_NONE;
		else
			err = bind(w, recv, info, &work);
		if (!err)
			key = w->mw->rkey;
		o.window = w;
		o.pos = w->pos;
		pthread_mutex_unlock(&rail->lock);
	}
	lkvfence__run(rail->v, &work);
	if (!err) {
		lkvfence__pin(rail);
		err = lkvfence__wait(&rail, 1, SEND_CQ, timeout_ms, opened, &o);
		if (err == 1) {
			*rkey = key;
			err = 0;
		} else {
			withdraw(&o, recv);
		}
	}
	lkvfence__unpin(rail);
	return err ? fail_window(err, generation, timeout_ms) : 0;
}

/*
 * Closing
 */

/*
 * All windows of a rail that is about to go, or was reset. With no lock held.
 * Those that have yet to settle are left so.
 */
int lkvfence__close_windows(struct lkvfence_rail *rail, struct work *work)
{
	bool busy, first = true;
	unsigned int turn = 0;
	uint32_t i;
	int err;

	do {
		err = 0;
		busy = false;
		pthread_mutex_lock(&rail->lock);
		rail->ending = true;
		for (i = 0; i < rail->nr_windows; i++) {
			struct window *w = rail->windows + i;

			switch (w->state) {
			case WINDOW_FREE:
			case WINDOW_BINDING:
			case WINDOW_BOUND:
			case WINDOW_INVALIDATING:
				doom(w, work);
				break;
			case WINDOW_DOOMED:
			case WINDOW_BUSY:
				/* another thread's, for a moment */
				busy = true;
				break;
			case WINDOW_LOST:
				/* it may go now */
				if (first)
					doom(w, work);
				err = -EIO;
				break;
			case WINDOW_SETTLING:
				if (w->mw)
					doom(w, work);
				break;
			case WINDOW_NONE:
				break;
			}
		}
		pthread_mutex_unlock(&rail->lock);
		if (work->doomed) {
			lkvfence__run(rail->v, work);
			busy = true;
		} else if (busy) {
			lkvfence__pause(&turn);
		}
		first = false;
	} while (busy);
	return err;
}
