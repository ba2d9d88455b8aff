// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A send queue: what was posted, and what its completions prove.
 *
 * On a reliable connection requests are executed by the responder in order, and
 * complete in order. So the success of a request that goes to the responder
 * (WRITE, READ, SEND, atomic) proves that all before it succeeded, too: the
 * unsignaled ones among them get no completion of their own. It proves nothing
 * where a signaled one before it has no completion either: somebody else took
 * that, or the QP was reset in between, and then what was posted before the reset
 * is unaccounted for.
 *
 * A local request (bind, local invalidate) is executed by the requester alone.
 * Its success proves itself, and is not taken as proof of requests that wait for
 * an answer from elsewhere.
 *
 * An error or flush completion proves that the QP has failed. The request may
 * have been executed all the same, and so may those before it without a
 * completion, and those behind it. All of them are failed at once.
 *
 * A post that fails says by bad_wr how far it came. Where that points at none
 * of the requests (the provider enqueued them, and then could not ring its bell),
 * all of them may be executed, now or later: they are accounted as posted, and
 * their lease has failed.
 */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

enum what { UNKNOWN, LOCAL, REMOTE };

static enum what what_is(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return REMOTE;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return LOCAL;
	default:
		return UNKNOWN;
	}
}

static uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

static struct sent *at(const struct lkvfence_rail *rail, uint32_t pos)
{
	return rail->sq + (pos & rail->sq_mask);
}

static uint64_t id_of(const struct lkvfence_rail *rail, uint32_t pos)
{
	return KEY << 40 |
	       (uint64_t)rail->nonce << (POS_BITS + RAIL_BITS) |
	       (uint64_t)rail->number << POS_BITS | (pos & POS_MASK);
}

static uint32_t room(const struct lkvfence_rail *rail)
{
	return rail->sq_size - (rail->sq_head - rail->sq_tail);
}

/*
 * Posting
 */

/* A marker is of a kind that the peer is known to allow: one that was posted. */
static void learn(struct lkvfence_rail *rail, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		rail->marker = IBV_WR_RDMA_WRITE;
		rail->can_mark = true;
		break;
	case IBV_WR_RDMA_READ:
		if (!rail->can_mark)
			rail->marker = IBV_WR_RDMA_READ;
		rail->can_mark = true;
		break;
	default:
		break;
	}
}

/*
 * @nr requests, whose wr_id and next are the library's, go to the provider.
 * Returns how many may be in its queue. In @err is 0 or -errno; with @doubt it
 * isn't known whether they are.
 */
static uint32_t hand_over(struct lkvfence_rail *rail, struct ibv_send_wr *wr,
			  uint32_t nr, int *err, bool *doubt)
{
	struct ibv_send_wr *bad = NULL;
	int saved = errno;

	*doubt = false;
	errno = 0;
	*err = lkvfence__errno(ibv_post_send(rail->qp, wr, &bad));
	errno = saved;
	if (!*err)
		return nr;
	if (*err == -ENOMEM)
		*err = -EAGAIN;
	if (bad >= wr && bad < wr + nr)
		return (uint32_t)(bad - wr);
	COUNT(rail->v, in_doubt);
	*err = -EIO;
	*doubt = true;
	return nr;
}

/* The first @nr of what lies in the ring from sq_head on is posted. */
static void advance(struct lkvfence_rail *rail, const struct ibv_send_wr *wr,
		    uint32_t nr, bool doubt)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct sent *s = at(rail, rail->sq_head + i);

		/*
		 * What may never have been posted may never complete, and must
		 * not look like a completion that is missing.
		 */
		if (doubt)
			s->signaled = false;
		else if (s->signaled && !s->local)
			rail->proof = rail->sq_head + i + 1;
		if (wr[i].opcode == IBV_WR_RDMA_READ)
			rail->reads = rail->sq_head + i + 1;
		learn(rail, wr[i].opcode);
	}
	rail->sq_head += nr;
}

/*
 * Up to @max of the application's requests are copied, into @copies and the
 * ring. Returns how many.
 */
static uint32_t prepare(struct lkvfence_rail *rail, struct lkvfence_send *send,
			const struct ibv_send_wr *wr, uint32_t max,
			struct ibv_send_wr *copies, uint64_t *bytes)
{
	uint32_t nr;

	for (nr = 0; wr && nr < max; wr = wr->next, nr++) {
		enum what what = what_is(wr->opcode);

		if (what == UNKNOWN)
			break;
		bytes[nr] = bytes_of(wr);
		copies[nr] = *wr;
		copies[nr].wr_id = id_of(rail, rail->sq_head + nr);
		copies[nr].next = copies + nr + 1;
		*at(rail, rail->sq_head + nr) = (struct sent){
			.wr_id = wr->wr_id,
			.send = send,
			.bytes = bytes[nr],
			.kind = KIND_APP,
			.signaled = rail->signal_all ||
				    wr->send_flags & IBV_SEND_SIGNALED,
			.local = what == LOCAL,
		};
	}
	return nr;
}

/*
 * As many of the requests from @wr on as go at once. How many were posted comes
 * in @posted; with -EIO nobody knows.
 */
static int post_batch(struct lkvfence_rail *rail, struct lkvfence_send *send,
		      struct ibv_send_wr *wr, uint32_t *posted,
		      struct work *work)
{
	struct ibv_send_wr copies[BATCH];
	uint64_t bytes[BATCH], gone = 0, back = 0;
	uint32_t max = room(rail), nr, done, i;
	bool doubt;
	int err;

	*posted = 0;
	if (rail->dead)
		return -ENOTCONN;
	/* The last place is for a marker, so that the others come off for sure. */
	if (max && rail->sq_size > 1)
		max--;
	nr = prepare(rail, send, wr, max < BATCH ? max : BATCH, copies, bytes);
	if (!nr && max)
		return -EOPNOTSUPP;
	err = nr ? 0 : -EAGAIN;
	if (nr && send)
		err = lkvfence__reserve(send, rail, bytes, &nr);
	if (err == -EAGAIN)
		lkvfence__mark(rail);
	if (err)
		return err;

	copies[nr - 1].next = NULL;
	done = hand_over(rail, copies, nr, &err, &doubt);
	advance(rail, copies, done, doubt);
	*posted = doubt ? 0 : done;
	if (!send)
		return err;

	for (i = 0; i < nr; i++)
		*(i < done ? &gone : &back) += bytes[i];
	if (done && !lkvfence__posted(send, rail, rail->sq_head - 1, done, gone))
		lkvfence__mark(rail);
	if (done < nr || doubt)
		lkvfence__over(send, rail, nr - done, back,
			       doubt ? IBV_WC_GENERAL_ERR : IBV_WC_SUCCESS,
			       work);
	return err;
}

int lkvfence__post(struct lkvfence_rail *rail, struct lkvfence_send *send,
		   struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   struct work *work)
{
	uint32_t posted;
	int err = 0;

	pthread_mutex_lock(&rail->lock);
	while (wr && !err) {
		err = post_batch(rail, send, wr, &posted, work);
		for (; posted; posted--)
			wr = wr->next;
	}
	pthread_mutex_unlock(&rail->lock);
	if (bad_wr)
		*bad_wr = err && err != -EIO ? wr : NULL;
	return err;
}

/*
 * One of the library's own, always signaled. A marker may have the last place. A
 * local one may not if a marker is needed: it would fill the queue for good, for
 * nothing that completes proves what is in front of it.
 */
int lkvfence__post_own(struct lkvfence_rail *rail, struct lkvfence_send *send,
		       enum kind kind, uint64_t id, struct ibv_send_wr *wr)
{
	bool local = what_is(wr->opcode) == LOCAL, doubt;
	uint32_t nr;
	int err;

	if (rail->dead)
		return -ENOTCONN;
	if (local && room(rail) == 1 && rail->can_mark &&
	    lkvfence__needs_marker(rail, rail->sq_head - 1))
		lkvfence__mark(rail);
	if (!room(rail))
		return -EAGAIN;
	wr->wr_id = id_of(rail, rail->sq_head);
	wr->next = NULL;
	wr->send_flags |= IBV_SEND_SIGNALED;
	*at(rail, rail->sq_head) = (struct sent){
		.wr_id = id,
		.send = send,
		.kind = kind,
		.signaled = true,
		.local = local,
	};
	nr = hand_over(rail, wr, 1, &err, &doubt);
	advance(rail, wr, nr, doubt);
	return err;
}

/*
 * Is there a request at or before @last that no signaled one behind it will
 * prove?
 */
bool lkvfence__needs_marker(const struct lkvfence_rail *rail, uint32_t last)
{
	return !rail->dead && (int32_t)(last - rail->sq_tail) >= 0 &&
	       (int32_t)(last - rail->proof) >= 0;
}

bool lkvfence__reading(const struct lkvfence_rail *rail)
{
	return (int32_t)(rail->reads - rail->sq_tail) > 0;
}

/*
 * A zero-length request touches no memory, and names none: the responder looks
 * at neither key nor address. It is answered in its turn all the same.
 */
void lkvfence__mark(struct lkvfence_rail *rail)
{
	struct ibv_send_wr wr = { .opcode = rail->marker };
	int err;

	rail->want = false;
	if (!rail->can_mark || !lkvfence__needs_marker(rail, rail->sq_head - 1))
		return;
	err = lkvfence__post_own(rail, NULL, KIND_MARKER, 0, &wr);
	if (!err)
		COUNT(rail->v, markers);
	if (err != -EAGAIN)
		return;
	/* Something in front of it completes first: then it is tried again. */
	rail->want = true;
	atomic_store(&rail->send_cq->want, true);
}

/*
 * Completing
 */

/* Requests in a row, under one lease and of one fate, are accounted at once. */
struct run {
	struct lkvfence_rail *rail;
	struct work *work;
	struct lkvfence_send *send;
	enum ibv_wc_status status;
	uint32_t nr;
	uint64_t bytes;
};

static void end_run(struct run *run)
{
	if (run->send && run->nr)
		lkvfence__over(run->send, run->rail, run->nr, run->bytes,
			       run->status, run->work);
	run->nr = 0;
	run->bytes = 0;
}

static void over(struct run *run, uint32_t pos, enum ibv_wc_status status)
{
	struct sent *s = at(run->rail, pos);
	bool good = status == IBV_WC_SUCCESS;

	if (s->done)
		return;
	s->done = true;
	if (run->send != s->send || run->status != status)
		end_run(run);
	run->send = s->send;
	run->status = status;
	run->nr++;
	run->bytes += s->bytes;

	if (s->kind == KIND_BIND)
		lkvfence__bound(run->rail, s->wr_id, pos, good, run->work);
	else if (s->kind == KIND_INVALIDATE)
		lkvfence__invalidated(run->rail, s->wr_id, pos, good,
				      run->work);
}

/* Requests that are over leave the ring, the oldest first. */
static void shorten(struct lkvfence_rail *rail)
{
	while (rail->sq_tail != rail->sq_head && at(rail, rail->sq_tail)->done)
		rail->sq_tail++;
	/* Positions that are past stay so when the counter has gone round. */
	if ((int32_t)(rail->sq_tail - rail->proof) > 0)
		rail->proof = rail->sq_tail;
	if (!lkvfence__reading(rail))
		rail->reads = rail->sq_tail;
}

/*
 * The one at @pos succeeded, and goes to the responder: so did all before it,
 * unless a completion is missing among these.
 */
static void prove(struct run *run, uint32_t pos)
{
	enum ibv_wc_status before = IBV_WC_SUCCESS;
	struct lkvfence_rail *rail = run->rail;
	uint32_t p;

	for (p = rail->sq_tail; p != pos; p++) {
		const struct sent *s = at(rail, p);

		if (!s->signaled || s->done)
			continue;
		COUNT(rail->v, lost);
		before = IBV_WC_GENERAL_ERR;
	}
	for (p = rail->sq_tail; p != pos; p++)
		over(run, p, before);
	over(run, pos, IBV_WC_SUCCESS);
}

/* The one at @pos failed: nothing is known of those before it, nor behind. */
static void fail(struct run *run, uint32_t pos, enum ibv_wc_status status)
{
	struct lkvfence_rail *rail = run->rail;
	bool first = !rail->dead;
	uint32_t p;

	rail->dead = true;
	if (first)
		lkvfence__peer_failed(rail, status, run->work);
	for (p = rail->sq_tail; p != pos + 1; p++)
		over(run, p, status);
	end_run(run);
	/* They are flushed, and come out by and by; their leases need not wait. */
	for (; first && p != rail->sq_head; p++) {
		const struct sent *s = at(rail, p);

		if (s->send && !s->done)
			lkvfence__over(s->send, rail, 0, 0, status, run->work);
	}
}

bool lkvfence__completed(struct lkvfence_rail *rail, uint32_t pos,
			 struct ibv_wc *wc, struct work *work)
{
	struct run run = { .rail = rail, .work = work };
	uint32_t index = (pos - rail->sq_tail) & POS_MASK;
	struct sent *s;
	bool app;

	pos = rail->sq_tail + index;
	s = at(rail, pos);
	if (index >= rail->sq_head - rail->sq_tail || s->done) {
		COUNT(rail->v, stale);
		return false;
	}
	app = s->kind == KIND_APP;
	wc->wr_id = s->wr_id;
	if (wc->status != IBV_WC_SUCCESS)
		fail(&run, pos, wc->status);
	else if (s->local)
		over(&run, pos, IBV_WC_SUCCESS);
	else
		prove(&run, pos);
	end_run(&run);
	shorten(rail);
	return app;
}

/* Nothing more will be known of what is in flight. */
void lkvfence__fail_all(struct lkvfence_rail *rail, struct work *work)
{
	struct run run = { .rail = rail, .work = work };
	uint32_t p;

	for (p = rail->sq_tail; p != rail->sq_head; p++)
		over(&run, p, IBV_WC_GENERAL_ERR);
	end_run(&run);
	shorten(rail);
	rail->want = false;
}
