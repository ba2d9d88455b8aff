// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A rail's life: what is refused, whose completions are whose, and the end. */
#include "fake.h"

static struct lkvfence_rail_attr attr_of(struct fake_qp *q)
{
	return (struct lkvfence_rail_attr){
		.qp = &q->ibv,
		.send_cq = cq_of(q),
		.recv_cq = cq_of(q),
	};
}

static void types(void **state)
{
	static const enum ibv_qp_type no[] = {
		IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
		IBV_QPT_DRIVER,
	};
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail_attr attr = attr_of(q);
	struct lkvfence_rail *rail;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		q->ibv.qp_type = no[i];
		assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EPROTONOSUPPORT);
		assert_null(rail);
		assert_errmsg("only RC and UC");
	}
	q->ibv.qp_type = IBV_QPT_UC;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	destroy(rail);
}

/* On iWARP a WRITE completes when it is sent, whatever the QP's type is. */
static void transports(void **state)
{
	static const enum ibv_transport_type no[] = {
		IBV_TRANSPORT_IWARP, IBV_TRANSPORT_USNIC, IBV_TRANSPORT_USNIC_UDP,
		IBV_TRANSPORT_UNSPECIFIED, IBV_TRANSPORT_UNKNOWN,
	};
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail_attr attr = attr_of(q);
	struct ibv_device *device = q->ibv.context->device;
	struct lkvfence_rail *rail;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		device->transport_type = no[i];
		assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EPROTONOSUPPORT);
		assert_null(rail);
		assert_errmsg("iWARP");
	}
	device->transport_type = IBV_TRANSPORT_IB;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	destroy(rail);
}

static void states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int err;
	} cases[] = {
		{ IBV_QPS_RESET, -ENOTCONN },
		{ IBV_QPS_INIT, 0 },
		{ IBV_QPS_RTR, 0 },
		{ IBV_QPS_RTS, 0 },
		{ IBV_QPS_ERR, -ENOTCONN },
	};
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail_attr attr = attr_of(q);
	struct lkvfence_rail *rail;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		q->state = cases[i].state;
		assert_int_equal(lkvfence_rail_create(v, &attr, &rail), cases[i].err);
		destroy(rail);
	}
	fake.query_err = EIO;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EIO);
}

static void wrong_arguments(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail_attr attr = attr_of(q);
	struct lkvfence_verbs_attr none = {};
	struct lkvfence_rail *rail, *again;
	struct lkvfence_verbs *other;
	struct lkvfence_cq *foreign;

	(void)state;
	attr.send_cq = cq_of(p);
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EINVAL);
	attr = attr_of(q);
	attr.recv_cq = cq_of(p);
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EINVAL);
	/* one that was made for another context would look for the rail there */
	assert_int_equal(lkvfence_verbs_create(&other, &none), 0);
	assert_int_equal(lkvfence_cq_create(other, q->ibv.send_cq, &foreign), 0);
	attr = attr_of(q);
	attr.send_cq = foreign;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EINVAL);
	attr = attr_of(q);
	attr.recv_cq = foreign;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EINVAL);
	assert_int_equal(lkvfence_cq_destroy(foreign), 0);
	assert_int_equal(lkvfence_verbs_destroy(other), 0);
	attr = attr_of(q);
	attr.guard = DEPTH + 1;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -ERANGE);
	attr.guard = DEPTH;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	assert_int_equal(lkvfence_rail_create(v, &attr, &again), -EEXIST);
	destroy(rail);
	q->ibv.context->ops.alloc_mw = NULL;
	attr.windows = 1;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EOPNOTSUPP);
	assert_errmsg("no memory windows");
}

static unsigned int queries;

static void fails_meanwhile(struct fake_qp *q)
{
	if (++queries == 2)
		q->state = IBV_QPS_ERR;
}

/* The guard can't be posted, or not before the QP is in ERR: no rail. */
static void no_guard(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail_attr attr = attr_of(q);
	struct lkvfence_rail *rail;
	unsigned int i;

	(void)state;
	attr.guard = 4;
	fake.recv = (struct fake_post){ .err = EINVAL, .after = 2 };
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EINVAL);
	assert_null(rail);
	fake.recv.err = 0;
	for (i = 0; q->nr_recvs < DEPTH; i++)
		q->recvs[q->nr_recvs++] = i;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EAGAIN);
	assert_errmsg("not empty");
	q->nr_recvs = 0;
	queries = 0;
	fake.on_query = fails_meanwhile;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -ENOTCONN);
}

static void too_many(void **state)
{
	struct lkvfence_verbs_attr small = { .max_rails = 4097 };
	struct lkvfence_rail_attr attr[2] = {};
	struct lkvfence_rail *rail, *none;
	struct lkvfence_verbs *other;
	struct lkvfence_cq *cq[2];
	unsigned int i;

	(void)state;
	assert_int_equal(lkvfence_verbs_create(&other, &small), -ERANGE);
	assert_null(other);
	small.max_rails = 1;
	small.max_sends = UINT32_MAX;
	assert_int_equal(lkvfence_verbs_create(&other, &small), -ERANGE);
	small.max_sends = 0;
	assert_int_equal(lkvfence_verbs_create(&other, &small), 0);
	for (i = 0; i < 2; i++) {
		struct fake_qp *q = fake_qp();

		assert_int_equal(lkvfence_cq_create(other, q->ibv.send_cq, cq + i), 0);
		attr[i].qp = &q->ibv;
		attr[i].send_cq = cq[i];
		attr[i].recv_cq = cq[i];
	}
	assert_int_equal(lkvfence_rail_create(other, attr, &rail), 0);
	assert_int_equal(lkvfence_rail_create(other, attr + 1, &none), -ENOSPC);
	assert_null(none);
	assert_errmsg("max_rails");
	assert_int_equal(lkvfence_cq_destroy(cq[0]), -EBUSY);
	assert_int_equal(lkvfence_verbs_destroy(other), -EBUSY);
	destroy(rail);
	assert_int_equal(lkvfence_rail_create(other, attr + 1, &rail), 0);
	destroy(rail);
	assert_int_equal(lkvfence_cq_destroy(cq[0]), 0);
	assert_int_equal(lkvfence_verbs_destroy(other), -EBUSY);
	assert_int_equal(lkvfence_cq_destroy(cq[1]), 0);
	assert_int_equal(lkvfence_verbs_destroy(other), 0);
	assert_int_equal(lkvfence_verbs_destroy(NULL), 0);
	assert_int_equal(lkvfence_rail_destroy(NULL), 0);
	assert_int_equal(lkvfence_cq_destroy(NULL), 0);
}

/* What others have on the queue comes through as it is. */
static void completions_of_others(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_wc wc = { .wr_id = UINT64_MAX, .qp_num = q->ibv.qp_num };
	uint64_t ours;

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	ours = q->sends[0].wr_id;
	/* the same QP, and a wr_id of the application's */
	push(&fake.cqs[0], &wc);
	wc.status = IBV_WC_WR_FLUSH_ERR;
	push(&fake.cqs[0], &wc);
	/* a receive of the application's that has a request's wr_id, by chance */
	wc.status = IBV_WC_SUCCESS;
	wc.opcode = IBV_WC_RECV;
	wc.wr_id = ours;
	push(&fake.cqs[0], &wc);
	/* another QP */
	wc.opcode = IBV_WC_RDMA_WRITE;
	wc.wr_id = 7;
	wc.qp_num = 9;
	push(&fake.cqs[0], &wc);
	assert_int_equal(poll_all(q), 4);
	assert_int_equal(polled(0).wr_id, UINT64_MAX);
	assert_int_equal(polled(1).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(polled(2).wr_id, ours);
	assert_int_equal(polled(3).wr_id, 7);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(polled(0).wr_id, 1000);
	destroy(rail);
}

/*
 * Completions that a rail left behind mean nothing to its successor, which may
 * have its number, and the QP's number.
 */
static void successor(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	destroy(rail);
	complete_all(q);
	rail = rail_with(q, 0, 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_stop(send);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(stat_now().stale, 1);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
	destroy(rail);
}

static void destroyed_in_flight(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1), *done = new_send(G + 1, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(done, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(done);
	complete_all(q);
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	/* what is in the queue counts, though nobody polled */
	destroy(rail);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(fake.returned[0].generation, G + 1);
	assert_int_equal(fake.returned[0].status, LKVFENCE_STATUS_DRAINED);
	assert_int_equal(fake.returned[1].generation, G);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_FAILED);
	/* the application gets its own completion all the same */
	assert_int_equal(poll_all(q), 1);
}

static void destroyed_with_its_qp(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, NULL, &rail, 1), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	fake.destroy_err = EBUSY;
	assert_int_equal(lkvfence_rail_destroy_qp(rail), -EBUSY);
	assert_errmsg("destroyed");
	assert_int_equal(fake.nr_quiets, 0);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	/* it is there, and good for nothing but this */
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), -ENOTCONN);
	fake.destroy_err = 0;
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_true(q->destroyed);
	assert_int_equal(fake.nr_quiets, 1);
	assert_int_equal(fake.quiets[0].binding, 1);
	assert_int_equal(fake.quiets[0].evidence, LKVFENCE_EVIDENCE_QP_DESTROYED);
}

/* RESET drops requests without a word. */
static void reset(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 4, 0);
	struct lkvfence_send *lost = new_send(G, 1), *done = new_send(G + 1, 1);
	struct lkvfence_send *next = new_send(G + 2, 1);
	struct ibv_wc late = {
		.qp_num = q->ibv.qp_num,
		.opcode = IBV_WC_RDMA_WRITE,
	};

	(void)state;
	assert_int_equal(lkvfence_send_post(done, rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	assert_int_equal(lkvfence_send_post(lost, rail, writes(2, 8, false), NULL), 0);
	late.wr_id = q->sends[1].wr_id;
	lkvfence_send_finish(done);
	q->nr_sends = 0;
	q->nr_recvs = 0;
	q->state = IBV_QPS_RESET;
	assert_int_equal(lkvfence_rail_reset(rail), -ENOTCONN);
	q->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(fake.returned[0].status, LKVFENCE_STATUS_DRAINED);
	assert_int_equal(fake.returned[1].generation, G);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_FAILED);
	lkvfence_send_finish(lost);
	/* the guard is there again */
	assert_int_equal(q->nr_recvs, 4);

	assert_int_equal(lkvfence_send_post(next, rail, writes(2, 8, true), NULL), 0);
	lkvfence_send_finish(next);
	push(&fake.cqs[0], &late);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(polled(0).wr_id, 1000);
	assert_int_equal(fake.nr_returned, 2);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 3);
	assert_int_equal(fake.returned[2].status, LKVFENCE_STATUS_DRAINED);
	destroy(rail);
}

/* A QP that failed and was reset works again. */
static void reset_after_an_error(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 1);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	fake_error(q);
	poll_all(q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	poll_all(q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), -ENOTCONN);
	assert_int_equal(lkvfence_rail_flush(rail, -1), 0);
	q->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	/* what was seen of its former life says nothing of this one */
	assert_int_equal(lkvfence_rail_flush(rail, 1), -ETIMEDOUT);
	destroy(rail);
}

/* Send and receive queue apart. */
static void two_queues(void **state)
{
	struct fake_qp *q = fake_qp(), *spare = fake_qp();
	struct lkvfence_rail_attr attr;
	struct lkvfence_send *send = new_send(G, 1);
	struct lkvfence_rail *rail;
	struct lkvfence_recv_attr rattr = { .generation = G + 1 };
	struct ibv_wc wc = { .opcode = IBV_WC_RDMA_WRITE };
	struct lkvfence_recv *recv;

	(void)state;
	q->ibv.recv_cq = &fake.cqs[1].ibv;
	attr = attr_of(q);
	attr.recv_cq = cq_of(spare);
	attr.guard = 2;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	assert_int_equal(lkvfence_recv_begin(v, &rattr, &recv), 0);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	/* a request's completion comes on one of them */
	wc.qp_num = q->ibv.qp_num;
	wc.wr_id = q->sends[0].wr_id;
	push(&fake.cqs[1], &wc);
	assert_int_equal(poll_all(spare), 0);
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(stat_now().stale, 1);
	complete_all(q);
	arrive(q, (uint32_t)G + 1, 0);
	assert_int_equal(poll_all(spare), 0);
	assert_returned(G + 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(lkvfence_cq_destroy(cq_of(q)), -EBUSY);
	assert_int_equal(lkvfence_cq_destroy(cq_of(spare)), -EBUSY);
	lkvfence_recv_finish(recv, 0);
	/* both are looked at before the rail goes */
	send = new_send(G + 2, 1);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	complete_all(q);
	destroy(rail);
	assert_int_equal(fake.nr_returned, 3);
	assert_int_equal(fake.returned[2].status, LKVFENCE_STATUS_DRAINED);
	assert_int_equal(poll_all(q), 1);
}

/* What comes while a QP is destroyed is nobody's. */
static unsigned int before, after;

static void arrives_late(struct fake_qp *q)
{
	arrive(q, 1, 0);
	before = q->nr_recvs;
	assert_int_equal(poll_all(q), 0);
	after = q->nr_recvs;
}

static void while_it_goes(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	fake.on_destroy = arrives_late;
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_int_equal(before, 1);
	assert_int_equal(after, 1);
	assert_int_equal(stat_now().stale, 1);
}

/* A completion of ours on a queue on which it can't be. */
static void on_the_wrong_queue(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_wc wc = { .qp_num = p->ibv.qp_num, .opcode = IBV_WC_RDMA_WRITE };

	(void)state;
	assert_int_equal(lkvfence_send_post(send, a, writes(1, 8, true), NULL), 0);
	lkvfence_send_stop(send);
	wc.wr_id = p->sends[0].wr_id;
	push(&fake.cqs[1], &wc);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	complete_all(p);
	poll_all(p);
	assert_int_equal(fake.nr_returned, 1);
	lkvfence_send_finish(send);
	destroy(a);
	destroy(b);
}

/* Connected anew, perhaps to a peer that allows less: what was learned is void. */
static void another_peer(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(1, 8, true);

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, wr, NULL), 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	wr->opcode = IBV_WR_RDMA_READ;
	wr->send_flags = 0;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	lkvfence_send_finish(send);
	assert_int_equal(q->nr_sends, 2);
	assert_int_equal(q->sends[1].opcode, IBV_WR_RDMA_READ);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(types),
		FAKE_TEST(transports),
		FAKE_TEST(states),
		FAKE_TEST(wrong_arguments),
		FAKE_TEST(no_guard),
		FAKE_TEST(too_many),
		FAKE_TEST(another_peer),
		FAKE_TEST(completions_of_others),
		FAKE_TEST(successor),
		FAKE_TEST(destroyed_in_flight),
		FAKE_TEST(destroyed_with_its_qp),
		FAKE_TEST(reset),
		FAKE_TEST(reset_after_an_error),
		FAKE_TEST(two_queues),
		FAKE_TEST(while_it_goes),
		FAKE_TEST(on_the_wrong_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
