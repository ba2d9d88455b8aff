// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Memory windows on Soft-RoCE, where a key's end is not that of what is executed. */
#include "windows.h"

/*
 * Soft-RoCE invalidates while a packet is copied that had the key: the QP is moved
 * to ERR, and the guard's word awaited.
 */
static void on_soft_roce(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct lkvfence_rail *rail;

	(void)state;
	fake.vendor_id = 0xffffff;
	rail = rail_with(q, 2, 2);
	open_window(recv, rail, q);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	complete_all(q);
	assert_int_equal(q->state, IBV_QPS_RTS);
	poll_all(q);
	assert_int_equal(stat_now().invalidated, 2);
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(q->state, IBV_QPS_ERR);
	fake_error(q);
	assert_int_equal(lkvfence_recv_revoke(recv, -1), 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* A key that nobody was told costs no connection. */
static void in_vain_on_soft_roce(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	struct lkvfence_rail *rail;
	uint32_t rkey;

	(void)state;
	fake.vendor_id = 0xffffff;
	rail = rail_with(q, 2, 1);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ETIMEDOUT);
	complete_all(q);
	poll_all(q);
	assert_int_equal(stat_now().invalidated, 1);
	assert_int_equal(q->state, IBV_QPS_RTS);
	open_window(recv, rail, q);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(q->state, IBV_QPS_RTS);
	destroy(rail);
}

/* It was asked for before it was given up. */
static void revoked_and_finished_on_soft_roce(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct lkvfence_rail *rail;

	(void)state;
	fake.vendor_id = 0xffffff;
	rail = rail_with(q, 2, 1);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 0);
	fake_error(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	destroy(rail);
}

/* What nobody asks proof of costs nothing. */
static void finished_on_soft_roce(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct lkvfence_rail *rail;

	(void)state;
	fake.vendor_id = 0xffffff;
	rail = rail_with(q, 2, 1);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	open_window(recv, rail, q);
	arrive(q, (uint32_t)G, 0);
	poll_all(q);
	lkvfence_recv_finish(recv, 0);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	assert_int_equal(q->state, IBV_QPS_RTS);
	destroy(rail);
}

static void soft_roce_without_guard(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake_qp *q = fake_qp();
		struct lkvfence_recv *recv = new_recv(G);
		struct lkvfence_rail *rail;

		/* a device that doesn't say what it is may be one */
		fake.vendor_id = i ? 0xffffff : 0;
		fake.query_device_err = i ? 0 : EIO;
		rail = rail_with(q, 0, 1);
		open_window(recv, rail, q);
		working = q;
		fake.on_poll = work;
		assert_int_equal(lkvfence_recv_revoke(recv, -1), -EIO);
		assert_errmsg("Soft-RoCE");
		fake.on_poll = NULL;
		assert_int_equal(fake.nr_returned, 0);
		lkvfence_recv_finish(recv, 0);
		destroy(rail);
	}
}

/* A reset QP is in its next life: it isn't broken for the sake of the last one. */
static void reset_on_soft_roce(void **state)
{
	unsigned int i;

	(void)state;
	fake.vendor_id = 0xffffff;
	for (i = 0; i < 2; i++) {
		struct fake_qp *q = fake_qp();
		struct lkvfence_rail *rail = rail_with(q, 2, 1);
		struct lkvfence_recv *recv = new_recv(G);

		open_window(recv, rail, q);
		if (i) {
			assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
			complete_all(q);
			poll_all(q);
			assert_int_equal(q->state, IBV_QPS_ERR);
		}
		q->state = IBV_QPS_RTS;
		q->nr_recvs = 0;
		assert_int_equal(lkvfence_rail_reset(rail), 0);
		assert_int_equal(q->state, IBV_QPS_RTS);
		assert_int_equal(fake.live_mws, 0);
		/* nor is it known what the last one still executed */
		assert_int_equal(lkvfence_recv_revoke(recv, -1), -EIO);
		assert_int_equal(fake.nr_returned, 0);
		lkvfence_recv_finish(recv, 0);
		destroy(rail);
	}
}

/* A rail that could not be destroyed goes on as before. */
static void not_destroyed(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G);
	struct lkvfence_rail *rail;

	(void)state;
	fake.vendor_id = 0xffffff;
	rail = rail_with(q, 2, 2);
	open_window(recv, rail, q);
	fake.dealloc_mw_err = EBUSY;
	assert_int_equal(lkvfence_rail_destroy(rail), -EIO);
	fake.dealloc_mw_err = 0;
	lkvfence_recv_finish(recv, 0);
	forget_returned();

	recv = new_recv(G + 1);
	open_window(recv, rail, q);
	assert_int_equal(lkvfence_recv_revoke(recv, 0), 0);
	complete_all(q);
	poll_all(q);
	/* on Soft-RoCE this is how it is proven */
	assert_int_equal(q->state, IBV_QPS_ERR);
	fake_error(q);
	poll_all(q);
	assert_returned(G + 1, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(on_soft_roce),
		FAKE_TEST(in_vain_on_soft_roce),
		FAKE_TEST(revoked_and_finished_on_soft_roce),
		FAKE_TEST(finished_on_soft_roce),
		FAKE_TEST(soft_roce_without_guard),
		FAKE_TEST(reset_on_soft_roce),
		FAKE_TEST(not_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
