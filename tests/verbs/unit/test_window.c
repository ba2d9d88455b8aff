// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Memory windows: taken away, and never twice. */
#include "windows.h"

static void invalidated(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	uint32_t rkey = open_window(recv, rail, q);
	const struct ibv_send_wr *inv = q->sends;

	(void)state;
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(q->nr_sends, 1);
	assert_int_equal(inv->opcode, IBV_WR_LOCAL_INV);
	assert_int_equal(inv->invalidate_rkey, rkey);
	assert_int_equal(inv->send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(fake.nr_returned, 0);
	/* once */
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(lkvfence_recv_revoke(recv, 1), -ETIMEDOUT);
	assert_int_equal(q->nr_sends, 1);
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	assert_int_equal(fake.returned[0].source, 3);
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	assert_int_equal(fake.nr_returned, 1);
	lkvfence_recv_finish(recv, 0);
	/* the window is used again, under another key */
	recv = new_recv(G + 1);
	assert_int_not_equal(open_window(recv, rail, q), rkey);
	assert_int_equal(fake.nr_mws, 1);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(stat_now().invalidated, 2);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

/* All of a lease's windows, on all rails. */
static void several(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail *a = rail_with(p, 0, 4), *b = rail_with(q, 0, 4);
	struct lkvfence_recv *recv = new_recv(G), *other = new_recv(G + 1);

	(void)state;
	open_window(recv, a, p);
	open_window(other, a, p);
	open_window(recv, a, p);
	open_window(recv, b, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(p->nr_sends, 2);
	assert_int_equal(q->nr_sends, 1);
	complete_all(p);
	poll_all(p);
	assert_int_equal(fake.nr_returned, 0);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	/* the other lease's is as it was */
	assert_true(fake.mws[1].bound);
	lkvfence_recv_finish(recv, 0);
	lkvfence_recv_finish(other, 0);
	complete_all(p);
	poll_all(p);
	destroy(a);
	destroy(b);
}

/* A flushed invalidate proves nothing: the window is deallocated. */
static void flushed(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);

	(void)state;
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	fake_error(q);
	assert_int_equal(fake.live_mws, 1);
	poll_all(q);
	assert_int_equal(fake.live_mws, 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	assert_int_equal(stat_now().deallocated, 1);
	assert_int_equal(stat_now().invalidated, 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Where the QP is known to have failed, there is nothing to post. */
static void on_a_failed_rail(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 2);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	poll_all(q);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ENOTCONN);
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	assert_int_equal(fake.live_mws, 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* In ERR a packet may be past its key: the guard's word is awaited, too. */
static void settles_with_the_guard(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_wc flush[2] = {};

	(void)state;
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	fake_error(q);
	/* the flushed invalidate, and not yet the receives */
	assert_int_equal(fake.cqs[0].nr, 3);
	flush[0] = fake.cqs[0].wc[(fake.cqs[0].first + 1) % ARRAY_SIZE(fake.cqs[0].wc)];
	flush[1] = fake.cqs[0].wc[(fake.cqs[0].first + 2) % ARRAY_SIZE(fake.cqs[0].wc)];
	fake.cqs[0].nr = 1;
	poll_all(q);
	assert_int_equal(fake.live_mws, 0);
	assert_int_equal(fake.nr_returned, 0);
	push(&fake.cqs[0], flush);
	push(&fake.cqs[0], flush + 1);
	assert_int_equal(lkvfence_recv_revoke(recv, 60000), 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Destroying the QP settles it as well; forgetting the rail doesn't. */
static void settles_with_the_qp(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake_qp *q = fake_qp();
		struct lkvfence_rail *rail = rail_with(q, 2, 1);
		struct lkvfence_recv *recv = new_recv(G);

		forget_returned();
		open_window(recv, rail, q);
		assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
		fake_error(q);
		fake.cqs[i].nr = 1;
		poll_all(q);
		assert_int_equal(fake.nr_returned, 0);
		if (i) {
			destroy(rail);
			assert_int_equal(fake.nr_returned, 0);
			assert_int_equal(lkvfence_recv_revoke(recv, -1), -EIO);
		} else {
			assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
			assert_returned(G, LKVFENCE_STATUS_REVOKED,
					LKVFENCE_EVIDENCE_MW_INVALIDATED);
		}
		lkvfence_recv_finish(recv, 0);
	}
}

static void can_t_be_deallocated(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);

	(void)state;
	open_window(recv, rail, q);
	fake_error(q);
	fake.dealloc_mw_err = EBUSY;
	assert_int_equal(lkvfence_recv_revoke(recv, -1), -EIO);
	assert_errmsg("stays out");
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(stat_now().windows_lost, 1);
	lkvfence_recv_finish(recv, 0);
	/* nor is the QP destroyed, which would take a minute */
	assert_int_equal(lkvfence_rail_destroy(rail), -EIO);
	assert_int_equal(lkvfence_rail_destroy_qp(rail), -EIO);
	assert_false(q->destroyed);
	/* until it can be */
	fake.dealloc_mw_err = 0;
	destroy(rail);
	assert_int_equal(fake.nr_returned, 0);
}

/*
 * A late invalidate, and a bind that is still in the queue when its lease is
 * revoked: the queue keeps the order, and neither happens twice.
 */
static struct lkvfence_recv *revoking;

/* Somebody else's call, while the window is waited for. */
static void revoke(struct fake_cq *cq)
{
	(void)cq;
	if (revoking)
		assert_int_equal(lkvfence_recv_revoke(revoking, 0), 0);
	revoking = NULL;
}

static void revoked_while_binding(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	revoking = recv;
	fake.on_poll = revoke;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 60000, &rkey), -EIO);
	assert_int_equal(q->nr_sends, 2);
	assert_int_equal(q->sends[1].invalidate_rkey, q->sends[0].bind_mw.rkey);
	complete(q, IBV_WC_SUCCESS);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 0);
	complete(q, IBV_WC_SUCCESS);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

static void break_it(struct fake_cq *cq)
{
	(void)cq;
	if (working->nr_sends)
		complete(working, IBV_WC_MW_BIND_ERR);
}

static void revoke_doomed(void)
{
	revoke(NULL);
}

/* Nor twice, where it is about to be deallocated. */
static void revoked_while_doomed(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	uint32_t rkey;

	(void)state;
	working = q;
	revoking = recv;
	fake.on_poll = break_it;
	fake.on_dealloc = revoke_doomed;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 60000, &rkey), -EIO);
	assert_null(revoking);
	fake.on_poll = NULL;
	fake.on_dealloc = NULL;
	assert_int_equal(fake.live_mws, 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

static void refused(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	/* the provider */
	fake.send = (struct fake_post){ .err = EINVAL };
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EINVAL);
	fake.send.err = ENOMEM;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EAGAIN);
	fake.send = (struct fake_post){ 0 };
	/* nothing was told to anybody: there is nothing to take away */
	assert_int_equal(lkvfence_recv_revoke(recv, -1), -EINVAL);
	assert_errmsg("no windows");
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
	/* the device: the QP fails with it */
	complete(q, IBV_WC_MW_BIND_ERR);
	poll_all(q);
	assert_int_equal(fake.live_mws, 0);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -ENOTCONN);
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

static void no_windows(void **state)
{
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	uint32_t rkey;

	(void)state;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EINVAL);
	assert_errmsg("without windows");
	destroy(rail);
	q = fake_qp();
	rail = rail_with(q, 0, 1);
	fake.alloc_mw_err = EPERM;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EPERM);
	assert_int_equal(q->nr_sends, 0);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(fake.nr_returned, 0);
	destroy(rail);
}

/*
 * Nobody knows whether the invalidate was posted. Should it come out as done,
 * when the window has long been used for another lease, it is no proof of that.
 */
static void invalidate_in_doubt(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G), *next = new_recv(G + 1);
	struct ibv_wc late = { .qp_num = q->ibv.qp_num, .opcode = IBV_WC_LOCAL_INV };

	(void)state;
	open_window(recv, rail, q);
	fake.send = (struct fake_post){ .err = EIO, .bad = BAD_NULL, .taken = true };
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	fake.send.err = 0;
	assert_int_equal(fake.live_mws, 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	late.wr_id = q->sends[0].wr_id;
	q->nr_sends = 0;

	open_window(next, rail, q);
	assert_int_equal(lkvfence_recv_revoke(next, 0), 0);
	push(&fake.cqs[0], &late);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 1);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 2);
	lkvfence_recv_finish(next, 0);
	destroy(rail);
}

/* Nor whether a bind was: the window isn't used again. */
static void bind_in_doubt(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	fake.send = (struct fake_post){ .err = EIO, .bad = BAD_NULL, .taken = true };
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EIO);
	fake.send.err = 0;
	assert_int_equal(fake.live_mws, 0);
	q->nr_sends = 0;
	open_window(recv, rail, q);
	assert_int_equal(fake.nr_mws, 2);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

/* Finished leases give their windows back; that returns nothing. */
static void finished(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 1);
	struct lkvfence_recv *recv = new_recv(G), *next;

	(void)state;
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	open_window(recv, rail, q);
	arrive(q, (uint32_t)G, 0);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(q->nr_sends, 1);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 1);
	/* after what came in band it is revoked no more */
	recv = new_recv(G + 1);
	open_window(recv, rail, q);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(fake.nr_returned, 1);
	/* the object is not given to others while it has a window */
	next = new_recv(G + 2);
	assert_ptr_not_equal(next, recv);
	lkvfence_recv_finish(next, 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

/* Revoked and finished at once: it comes back by itself. */
static void revoked_and_finished(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -EAGAIN);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	destroy(rail);
}

static void none_for_a_revoked_one(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 2);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = {};
	uint32_t rkey;

	(void)state;
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, -1, &rkey), -ECANCELED);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 1);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* The low byte of a key goes round: before it does, the window is a new one. */
static void keys_go_round(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	uint32_t keys[600];
	unsigned int i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct lkvfence_recv *recv = new_recv(G);

		keys[i] = open_window(recv, rail, q);
		for (j = 0; j < i; j++)
			assert_int_not_equal(keys[i], keys[j]);
		lkvfence_recv_finish(recv, 0);
		complete_all(q);
		poll_all(q);
	}
	assert_int_equal(fake.live_mws, 1);
	destroy(rail);
}

/* On UC not every device invalidates. */
static void on_uc(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct lkvfence_rail *rail;

	(void)state;
	q->ibv.qp_type = IBV_QPT_UC;
	rail = rail_with(q, 0, 1);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	assert_int_equal(q->nr_sends, 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Windows go before their QP, and their leases are told when they are revoked. */
static void before_the_qp(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 3);
	struct lkvfence_recv *a = new_recv(G), *b = new_recv(G + 1);

	(void)state;
	open_window(a, rail, q);
	open_window(b, rail, q);
	assert_int_equal(lkvfence_recv_revoke(b, 0), 0);
	/* the fake provider fails if one is bound */
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_true(q->destroyed);
	assert_returned(G + 1, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	assert_int_equal(lkvfence_recv_revoke(a, -1), 0);
	assert_int_equal(fake.nr_returned, 2);
	lkvfence_recv_finish(a, 0);
	lkvfence_recv_finish(b, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(invalidated),
		FAKE_TEST(several),
		FAKE_TEST(flushed),
		FAKE_TEST(on_a_failed_rail),
		FAKE_TEST(settles_with_the_guard),
		FAKE_TEST(settles_with_the_qp),
		FAKE_TEST(can_t_be_deallocated),
		FAKE_TEST(revoked_while_binding),
		FAKE_TEST(revoked_while_doomed),
		FAKE_TEST(refused),
		FAKE_TEST(no_windows),
		FAKE_TEST(invalidate_in_doubt),
		FAKE_TEST(bind_in_doubt),
		FAKE_TEST(finished),
		FAKE_TEST(revoked_and_finished),
		FAKE_TEST(none_for_a_revoked_one),
		FAKE_TEST(keys_go_round),
		FAKE_TEST(on_uc),
		FAKE_TEST(before_the_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
