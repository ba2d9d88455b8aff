// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* When a lease comes back, and how: what each completion proves. */
#include "fake.h"

static void every_one_signaled(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 7);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(lkvfence_send_post(send, rail, writes(1, 64, true), NULL), 0);
	complete_all(q);
	assert_int_equal(poll_all(q), 3);
	assert_int_equal(polled(0).wr_id, 1000);
	/* more may be posted under it */
	assert_int_equal(fake.nr_returned, 0);
	lkvfence_send_finish(send);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].source, 7);
	assert_int_equal(fake.returned[0].wrs, 3);
	assert_int_equal(fake.returned[0].bytes, 192);
	assert_int_equal(fake.returned[0].wc_status, IBV_WC_SUCCESS);
	assert_int_equal(fake.returned[0].result, 0);
	assert_ptr_equal(fake.returned[0].data, &fake);
	destroy(rail);
}

static void finished_first(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 7);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 64, true), NULL), 0);
	lkvfence_send_finish(send);
	assert_int_equal(fake.nr_returned, 0);
	complete(q, IBV_WC_SUCCESS);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	complete(q, IBV_WC_SUCCESS);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(polled(0).wr_id, 1001);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	destroy(rail);
}

static void nothing_posted(void **state)
{
	struct lkvfence_send *send = new_send(G, 7);

	(void)state;
	lkvfence_send_finish(send);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
}

/* A later signaled success proves them, whoever posted it. */
static void unsignaled_by_order(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *a = new_send(G, 1), *b = new_send(G + 1, 2);

	(void)state;
	assert_int_equal(lkvfence_send_post(a, rail, writes(3, 8, false), NULL), 0);
	assert_int_equal(lkvfence_send_post(b, rail, writes(1, 8, false), NULL), 0);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(a);
	lkvfence_send_finish(b);
	/* none is needed */
	assert_int_equal(q->nr_sends, 5);
	complete(q, IBV_WC_SUCCESS);
	complete(q, IBV_WC_SUCCESS);
	complete(q, IBV_WC_SUCCESS);
	complete(q, IBV_WC_SUCCESS);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	complete(q, IBV_WC_SUCCESS);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(fake.returned[0].generation, G);
	assert_int_equal(fake.returned[1].generation, G + 1);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_DRAINED);
	destroy(rail);
}

/* ... and not those that were posted behind it. */
static void not_those_behind(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, false), NULL), 0);
	lkvfence_send_stop(send);
	complete(q, IBV_WC_SUCCESS);
	complete(q, IBV_WC_SUCCESS);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 0);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

/* A local request proves itself, and nothing that waits for an answer. */
static void local_proves_itself(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_mw mw = { .rkey = 5 };
	struct ibv_send_wr inv = {
		.wr_id = 5,
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_LOCAL_INV,
		.qp_num = q->ibv.qp_num,
	};

	(void)state;
	(void)mw;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, false), NULL), 0);
	assert_int_equal(lkvfence_rail_post(rail, &inv, NULL), 0);
	lkvfence_send_stop(send);
	/* so a marker was posted */
	assert_int_equal(q->nr_sends, 3);
	wc.wr_id = q->sends[1].wr_id;
	push(&fake.cqs[0], &wc);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(polled(0).wr_id, 5);
	assert_int_equal(fake.nr_returned, 0);
	/* and once only */
	push(&fake.cqs[0], &wc);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(stat_now().stale, 1);

	wc.wr_id = q->sends[2].wr_id;
	wc.opcode = IBV_WC_RDMA_WRITE;
	push(&fake.cqs[0], &wc);
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
	assert_int_equal(stat_now().lost, 0);
	q->nr_sends = 0;
	destroy(rail);
}

static void an_error(void **state)
{
	static const enum ibv_wc_status errors[] = {
		IBV_WC_RETRY_EXC_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR,
		IBV_WC_LOC_PROT_ERR, IBV_WC_GENERAL_ERR,
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		struct fake_qp *q;
		struct lkvfence_rail *rail = new_rail(&q);
		struct lkvfence_send *send = new_send(G + i, 1);

		forget_returned();
		assert_int_equal(lkvfence_send_post(send, rail, writes(3, 8, true), NULL), 0);
		complete(q, IBV_WC_SUCCESS);
		complete(q, errors[i]);
		/* the failed one and the flushed one, as without the library */
		assert_int_equal(poll_all(q), 2);
		assert_int_equal(polled(0).wr_id, 1001);
		assert_int_equal(polled(0).status, errors[i]);
		assert_int_equal(polled(1).wr_id, 1002);
		assert_returned(G + i, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
		assert_int_equal(fake.returned[0].wc_status, errors[i]);
		assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL),
				 -ENOTCONN);
		lkvfence_send_finish(send);
		assert_int_equal(fake.nr_returned, 1);
		destroy(rail);
	}
	assert_int_equal(stat_now().failed, ARRAY_SIZE(errors));
	assert_int_equal(stat_now().drained, 0);
}

/* Unsignaled ones before the error have no success: nothing is known of them. */
static void before_and_behind_an_error(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *before = new_send(G, 1), *at = new_send(G + 1, 1);
	struct lkvfence_send *behind = new_send(G + 2, 1);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(lkvfence_send_post(before, rail, writes(1, 8, false), NULL), 0);
	assert_int_equal(lkvfence_send_post(at, rail, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(behind, rail, writes(2, 8, true), NULL), 0);
	lkvfence_send_finish(before);
	lkvfence_send_finish(at);
	lkvfence_send_finish(behind);
	complete(q, IBV_WC_SUCCESS);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	/* all of them at once, before the flushes are seen */
	assert_int_equal(lkvfence_cq_poll(cq_of(q), 1, &wc), 1);
	assert_int_equal(wc.wr_id, 1000);
	assert_int_equal(fake.nr_returned, 3);
	assert_int_equal(fake.returned[0].status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(fake.returned[2].status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(poll_all(q), 2);
	assert_int_equal(fake.nr_returned, 3);
	destroy(rail);
}

/* One that failed lets go of nothing of the others, on this rail or another. */
static void siblings(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1), *other = new_send(G + 1, 1);
	struct lkvfence_send *fresh;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, a, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(send, b, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(other, b, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	lkvfence_send_finish(other);
	complete(p, IBV_WC_RETRY_EXC_ERR);
	poll_all(p);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	/* the object is not given to others while a part of it is in flight */
	fresh = new_send(G + 2, 1);
	assert_ptr_not_equal(fresh, send);
	lkvfence_send_finish(fresh);
	complete_all(q);
	assert_int_equal(poll_all(q), 2);
	assert_int_equal(fake.nr_returned, 3);
	assert_int_equal(fake.returned[2].generation, G + 1);
	assert_int_equal(fake.returned[2].status, LKVFENCE_STATUS_DRAINED);
	destroy(a);
	destroy(b);
}

static void all_rails_must_succeed(void **state)
{
	struct fake_qp *q[3];
	struct lkvfence_rail *rail[3];
	struct lkvfence_send *send = new_send(G, 1);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		rail[i] = new_rail(&q[i]);
		assert_int_equal(lkvfence_send_post(send, rail[i], writes(1, 8, true), NULL), 0);
	}
	lkvfence_send_finish(send);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fake.nr_returned, 0);
		complete_all(q[i]);
		poll_all(q[i]);
	}
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	for (i = 0; i < 3; i++)
		destroy(rail[i]);
}

/*
 * A success passes over a signaled one whose completion was never seen:
 * somebody else took it, or the QP was reset. What was before is unaccounted for.
 */
static void a_completion_is_missing(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *a = new_send(G, 1), *b = new_send(G + 1, 1);
	struct lkvfence_send *c = new_send(G + 2, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(b, rail, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(a, rail, writes(1, 8, false), NULL), 0);
	complete_all(q);
	fake.cqs[0].nr = 0;
	assert_int_equal(lkvfence_send_post(c, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(a);
	lkvfence_send_finish(b);
	lkvfence_send_finish(c);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 3);
	assert_int_equal(stat_now().lost, 1);
	assert_int_equal(fake.returned[0].generation, G + 1);
	assert_int_equal(fake.returned[0].status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(fake.returned[1].generation, G);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(fake.returned[1].wc_status, IBV_WC_GENERAL_ERR);
	assert_int_equal(fake.returned[2].status, LKVFENCE_STATUS_DRAINED);
	destroy(rail);
}

static void said_to_have_failed(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *bad, *wr = writes(1, 8, true);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	lkvfence_send_fail(send);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	assert_int_equal(fake.returned[0].wc_status, IBV_WC_GENERAL_ERR);
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -ECANCELED);
	assert_ptr_equal(bad, wr);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	lkvfence_send_finish(send);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

static void stopped(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_stop(send);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), -ECANCELED);
	assert_errmsg("takes no more requests");
	assert_int_equal(q->nr_sends, 1);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
	destroy(rail);
}

/* A region's handle: many at once are one call. */
static void to_the_region(void **state)
{
	struct lkvfence_send_attr attr = { .fence = FENCE };
	struct lkvfence_send *send[20];
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		attr.generation = G + i;
		attr.source = i;
		attr.fence = i < 18 ? FENCE : OTHER;
		assert_int_equal(lkvfence_send_begin(v, &attr, send + i), 0);
		assert_int_equal(lkvfence_send_post(send[i], rail,
						    writes(1, 8, i == 19), NULL), 0);
		if (i < 19)
			continue;
	}
	for (i = 0; i < 20; i++)
		lkvfence_send_finish(send[i]);
	fake.item_result = -ESTALE;
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_items, 20);
	assert_int_equal(fake.nr_returns, 3);
	for (i = 0; i < 20; i++) {
		assert_ptr_equal(fake.item_fence[i], i < 18 ? FENCE : OTHER);
		assert_int_equal(fake.items[i].generation, G + i);
		assert_int_equal(fake.items[i].source, i);
		assert_int_equal(fake.items[i].status, LKVFENCE_STATUS_DRAINED);
		assert_int_equal(fake.items[i].evidence, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	}
	/* the callback learns of it, too, and of what the region said */
	assert_int_equal(fake.nr_returned, 20);
	assert_int_equal(fake.returned[19].result, -ESTALE);
	assert_int_equal(stat_now().refused, 20);
	destroy(rail);
}

static void the_region_is_not_there(void **state)
{
	struct lkvfence_send_attr attr = { .fence = FENCE, .generation = G };
	struct lkvfence_send *send;

	(void)state;
	fake.return_err = -EBADF;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	lkvfence_send_finish(send);
	assert_int_equal(fake.returned[0].result, -EBADF);
}

static void nobody_would_learn(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G };
	struct lkvfence_verbs_attr none = {};
	struct lkvfence_verbs *mute;
	struct lkvfence_send *send;

	(void)state;
	assert_int_equal(lkvfence_verbs_create(&mute, &none), 0);
	assert_int_equal(lkvfence_send_begin(mute, &attr, &send), -EINVAL);
	assert_null(send);
	assert_errmsg("nobody would learn");
	attr.fence = FENCE;
	assert_int_equal(lkvfence_send_begin(mute, &attr, &send), 0);
	lkvfence_send_finish(send);
	assert_int_equal(fake.nr_items, 1);
	assert_int_equal(lkvfence_verbs_destroy(mute), 0);
}

static void no_more_leases(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G };
	struct lkvfence_send *send[33];
	unsigned int i;

	(void)state;
	for (i = 0; i < 32; i++)
		assert_int_equal(lkvfence_send_begin(v, &attr, send + i), 0);
	assert_int_equal(lkvfence_send_begin(v, &attr, send + 32), -ENOBUFS);
	assert_errmsg("max_sends");
	lkvfence_send_finish(send[0]);
	assert_int_equal(lkvfence_send_begin(v, &attr, send), 0);
	for (i = 0; i < 32; i++)
		lkvfence_send_finish(send[i]);
	assert_int_equal(fake.nr_returned, 33);
	lkvfence_send_finish(NULL);
}

/* READ is no different: its success proves that the data is here. */
static void reads(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(2, 8, false);

	(void)state;
	wr[0].opcode = IBV_WR_RDMA_READ;
	wr[1].opcode = IBV_WR_RDMA_READ;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	lkvfence_send_finish(send);
	/* the peer may allow reads alone */
	assert_int_equal(q->nr_sends, 3);
	assert_int_equal(q->sends[2].opcode, IBV_WR_RDMA_READ);
	assert_int_equal(q->sends[2].num_sge, 0);
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 2);
	destroy(rail);
}

/* A QP whose requests are all signaled by default. */
static void signal_all(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail;
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	q->sig_all = true;
	rail = rail_with(q, 0, 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(3, 8, false), NULL), 0);
	lkvfence_send_finish(send);
	assert_int_equal(q->nr_sends, 3);
	complete_all(q);
	assert_int_equal(poll_all(q), 3);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(stat_now().lost, 0);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(every_one_signaled),
		FAKE_TEST(finished_first),
		FAKE_TEST(nothing_posted),
		FAKE_TEST(unsignaled_by_order),
		FAKE_TEST(not_those_behind),
		FAKE_TEST(local_proves_itself),
		FAKE_TEST(an_error),
		FAKE_TEST(before_and_behind_an_error),
		FAKE_TEST(siblings),
		FAKE_TEST(all_rails_must_succeed),
		FAKE_TEST(a_completion_is_missing),
		FAKE_TEST(said_to_have_failed),
		FAKE_TEST(stopped),
		FAKE_TEST(to_the_region),
		FAKE_TEST(the_region_is_not_there),
		FAKE_TEST(nobody_would_learn),
		FAKE_TEST(no_more_leases),
		FAKE_TEST(reads),
		FAKE_TEST(signal_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
