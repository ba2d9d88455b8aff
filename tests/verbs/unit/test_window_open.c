// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Memory windows: bound, and told; or not in time, and not told. */
#include "windows.h"

static void opened(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 2);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	struct ibv_send_wr *bind = q->sends;
	uint32_t rkey;

	(void)state;
	/* not before it is bound */
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
	assert_int_equal(q->nr_sends, 2);
	assert_int_equal(bind->opcode, IBV_WR_BIND_MW);
	assert_int_equal(bind->send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(bind->bind_mw.bind_info.addr, 4096);
	/* the low byte goes round */
	assert_int_equal(bind->bind_mw.rkey, 1 << 8 | 0xff);
	rkey = open_window(recv, rail, q);
	assert_int_equal(rkey, 2 << 8 | 0xff);
	assert_true(fake.mws[1].bound);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -EAGAIN);
	working = q;
	fake.on_poll = work;
	assert_int_equal(lkvfence_recv_revoke(recv, 60000), 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* One that was waited for in vain is the rail's again, also if it is bound late. */
static void in_vain(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	uint32_t rkey = 4711;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
		assert_int_equal(rkey, 4711);
		assert_int_equal(q->nr_sends, 2);
		assert_int_equal(q->sends[1].opcode, IBV_WR_LOCAL_INV);
		assert_int_equal(q->sends[1].invalidate_rkey, q->sends[0].bind_mw.rkey);
		/* its key is valid until then */
		assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -EAGAIN);
		complete(q, IBV_WC_SUCCESS);
		poll_all(q);
		assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -EAGAIN);
		complete(q, IBV_WC_SUCCESS);
		poll_all(q);
	}
	assert_int_equal(stat_now().invalidated, 3);
	/* the lease is none the worse for it */
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	assert_int_equal(fake.nr_returned, 0);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Windows don't fill a send queue so that what is in front of them stays unproven. */
static void last_place(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	struct lkvfence_rail *rail;
	uint32_t rkey;

	(void)state;
	q->cap.max_send_wr = 4;
	rail = rail_with(q, 0, 4);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, false), NULL), 0);
	open_window(recv, rail, q);
	open_window(recv, rail, q);
	assert_int_equal(q->nr_sends, 0);
	/* it is a marker that goes */
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -EAGAIN);
	assert_int_equal(q->nr_sends, 1);
	assert_int_equal(q->sends[0].opcode, IBV_WR_RDMA_WRITE);
	complete_all(q);
	poll_all(q);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	poll_all(q);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

static struct fake_qp *doubtful;

/* From here on the provider doesn't say what it takes. */
static void doubt(struct fake_cq *cq)
{
	(void)cq;
	if (doubtful)
		fake.send = (struct fake_post){ .err = EIO, .bad = BAD_NULL, .taken = true };
	doubtful = NULL;
}

/* Is it invalidated or not? It isn't a second time; it is deallocated. */
static void in_vain_and_in_doubt(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	uint32_t rkey;

	(void)state;
	doubtful = q;
	fake.on_poll = doubt;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
	fake.on_poll = NULL;
	fake.send = (struct fake_post){ 0 };
	assert_int_equal(fake.live_mws, 0);
	lkvfence_recv_finish(recv, 0);
	/* not again, by the lease's end either */
	assert_int_equal(q->nr_sends, 2);
	q->nr_sends = 0;
	open_window(recv = new_recv(G + 1), rail, q);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

/* Nor is it deallocated while it waits to be bound, where nothing can be posted. */
static void in_vain_with_a_full_queue(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 1);
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	unsigned int i, room = q->cap.max_send_wr;
	uint32_t rkey;

	(void)state;
	for (i = 0; i + 1 < room; i++)
		assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
	assert_int_equal(q->nr_sends, room);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.live_mws, 1);
	assert_int_equal(q->state, IBV_QPS_RTS);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	recv = new_recv(G + 1);
	open_window(recv, rail, q);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(opened),
		FAKE_TEST(in_vain),
		FAKE_TEST(in_vain_and_in_doubt),
		FAKE_TEST(last_place),
		FAKE_TEST(in_vain_with_a_full_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
