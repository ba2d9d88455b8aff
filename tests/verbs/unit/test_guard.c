// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The guard in a receive queue, what its flush proves, and sources bound to it. */
#include "fake.h"

static void keeps_receives_posted(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 8, 0);
	unsigned int i;

	(void)state;
	assert_int_equal(q->nr_recvs, 8);
	for (i = 0; i < 100; i++) {
		arrive(q, 1, 0);
		assert_int_equal(poll_all(q), 1);
		assert_int_equal(polled(0).wr_id, 4711);
		assert_in_range(q->nr_recvs, 5, 8);
	}
	/* all at once: posted anew with the first that is seen */
	while (q->nr_recvs)
		arrive(q, 1, 0);
	poll_all(q);
	assert_in_range(q->nr_recvs, 5, 8);
	destroy(rail);
}

static void guard_of_one(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 1, 0);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(q->nr_recvs, 1);
		arrive(q, 1, 0);
		poll_all(q);
	}
	fake_error(q);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(stat_now().flushed, 1);
	destroy(rail);
}

/* What can't be posted now is posted with the next. */
static void posting_fails(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 4, 0);

	(void)state;
	fake.recv = (struct fake_post){ .err = ENOMEM, .after = 1 };
	arrive(q, 1, 0);
	arrive(q, 1, 0);
	poll_all(q);
	assert_int_equal(q->nr_recvs, 3);
	arrive(q, 1, 0);
	fake.recv.err = 0;
	poll_all(q);
	assert_int_equal(q->nr_recvs, 4);
	fake_error(q);
	poll_all(q);
	assert_int_equal(stat_now().flushed, 1);
	assert_int_equal(stat_now().stale, 0);
	destroy(rail);
}

static void bind(struct lkvfence_rail *const *rails, uint32_t nr)
{
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, "peer", rails, nr), 0);
}

static struct lkvfence_event revoke_event(uint64_t binding)
{
	return (struct lkvfence_event){
		.generation = binding,
		.tag = 5,
		.type = LKVFENCE_EVENT_REVOKE,
	};
}

static void what_is_bound(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *rail[2];

	(void)state;
	rail[0] = new_rail(&p);
	rail[1] = new_rail(&q);
	bind(rail, 2);
	assert_int_equal(fake.source.source, 5);
	assert_int_equal(fake.source.nr_qps, 2);
	assert_string_equal(fake.source.peer, "peer");
	assert_string_equal(fake.source_qps[0].device, "fake0");
	assert_int_equal(fake.source_qps[0].number, p->ibv.qp_num);
	assert_int_equal(fake.source_qps[1].number, q->ibv.qp_num);
	assert_int_equal(lkvfence_verbs_unbind(v, FENCE, 5), 0);
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, NULL, rail, 0), -EINVAL);
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, NULL, rail,
					     LKVFENCE_MAX_RAILS + 1), -E2BIG);
	fake.source_err = -EOPNOTSUPP;
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, NULL, rail, 1), -EOPNOTSUPP);
	assert_errmsg("the region says no");
	destroy(rail[0]);
	destroy(rail[1]);
}

/* A connection that fails is said to be quiet as soon as it is seen. */
static void flushed_by_itself(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail *rail[2];

	(void)state;
	rail[0] = rail_with(p, 2, 0);
	rail[1] = rail_with(q, 2, 0);
	bind(rail, 2);
	fake_error(q);
	assert_int_equal(fake.nr_quiets, 0);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_quiets, 1);
	assert_ptr_equal(fake.quiets[0].fence, FENCE);
	assert_int_equal(fake.quiets[0].binding, 1);
	assert_int_equal(fake.quiets[0].qp, 1);
	assert_int_equal(fake.quiets[0].evidence, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	poll_all(q);
	assert_int_equal(fake.nr_quiets, 1);
	destroy(rail[0]);
	/* it is said once, on whatever ground */
	assert_int_equal(lkvfence_rail_destroy_qp(rail[1]), 0);
	assert_int_equal(fake.nr_quiets, 1);
}

static struct fake_qp *doomed;

static void goes_to_error(struct fake_cq *cq)
{
	(void)cq;
	if (doomed->state != IBV_QPS_ERR)
		fake_error(doomed);
}

static void asked_by_the_kernel(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_event e = revoke_event(1);

	(void)state;
	bind(&rail, 1);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, 1), -ETIMEDOUT);
	assert_errmsg("source 5");
	assert_int_equal(fake.nr_quiets, 0);
	doomed = q;
	fake.on_poll = goes_to_error;
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, 60000), 1);
	assert_int_equal(fake.nr_quiets, 1);
	assert_int_equal(fake.quiets[0].evidence, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, 0), 1);
	assert_int_equal(fake.nr_quiets, 1);
	destroy(rail);
}

static void not_our_event(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_event e = revoke_event(2);

	(void)state;
	bind(&rail, 1);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), 0);
	e.generation = 1;
	assert_int_equal(lkvfence_verbs_event(v, OTHER, &e, -1), 0);
	e.type = LKVFENCE_EVENT_RELEASED;
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), 0);
	e.type = 99;
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), 0);
	/* bound anew: the old number means nobody any more */
	bind(&rail, 1);
	e = revoke_event(1);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), 0);
	fake_error(q);
	poll_all(q);
	assert_int_equal(fake.nr_quiets, 1);
	assert_int_equal(fake.quiets[0].binding, 2);
	destroy(rail);
}

static void no_guard_no_proof(void **state)
{
	struct lkvfence_event e = revoke_event(1);
	struct lkvfence_rail *rail;
	struct fake_qp *q;

	(void)state;
	rail = new_rail(&q);
	bind(&rail, 1);
	fake_error(q);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), -EOPNOTSUPP);
	assert_errmsg("no receive");
	assert_int_equal(fake.nr_quiets, 0);
	/* destroying it is */
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_int_equal(fake.nr_quiets, 1);
	assert_int_equal(fake.quiets[0].evidence, LKVFENCE_EVIDENCE_QP_DESTROYED);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, 0), 1);
}

/* A rail that was forgotten can't be looked at any more. */
static void forgotten_rail(void **state)
{
	struct lkvfence_event e = revoke_event(1);
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	bind(&rail, 1);
	destroy(rail);
	assert_int_equal(fake.nr_quiets, 0);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), -EOPNOTSUPP);
}

static void the_region_objects(void **state)
{
	struct lkvfence_event e = revoke_event(1);
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	bind(&rail, 1);
	fake.quiet_err = -EOPNOTSUPP;
	fake_error(q);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), -EOPNOTSUPP);
	fake.quiet_err = -EBUSY;
	assert_int_equal(lkvfence_rail_reset(rail), -ENOTCONN);
	q->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	fake_error(q);
	/* who polled may have been another thread: the region's words are not here */
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), -EBUSY);
	assert_errmsg("event: ");
	/* that the kernel was first is fine */
	fake.quiet_err = -EALREADY;
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_int_equal(lkvfence_verbs_event(v, FENCE, &e, -1), 1);
}

/* A receive that was posted to a QP in ERR proves nothing when it is flushed. */
static void posted_too_late(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 1, 0);

	(void)state;
	bind(&rail, 1);
	arrive(q, 1, 0);
	q->state = IBV_QPS_ERR;
	poll_all(q);
	assert_int_equal(q->nr_recvs, 1);
	fake_error(q);
	poll_all(q);
	assert_int_equal(stat_now().flushed, 0);
	assert_int_equal(fake.nr_quiets, 0);
	assert_int_equal(lkvfence_rail_flush(rail, 1), -EOPNOTSUPP);
	destroy(rail);
}

/* ... nor one of which the QP's state could not be had. */
static void state_unknown(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 1, 0);

	(void)state;
	bind(&rail, 1);
	arrive(q, 1, 0);
	fake.query_err = EIO;
	poll_all(q);
	fake.query_err = 0;
	fake_error(q);
	poll_all(q);
	assert_int_equal(stat_now().flushed, 0);
	assert_int_equal(fake.nr_quiets, 0);
	destroy(rail);
}

/* Flushed, and the QP is not in ERR: it was reset, and is in its next life. */
static void not_in_error(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	bind(&rail, 1);
	fake_error(q);
	q->state = IBV_QPS_RTS;
	poll_all(q);
	assert_int_equal(fake.nr_quiets, 0);
	destroy(rail);
}

/* Another error of a receive is no flush. */
static void another_error(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 1, 0);
	struct ibv_wc wc = {
		.wr_id = q->recvs[0],
		.status = IBV_WC_LOC_LEN_ERR,
		.qp_num = q->ibv.qp_num,
	};

	(void)state;
	bind(&rail, 1);
	q->nr_recvs = 0;
	q->state = IBV_QPS_ERR;
	push(&fake.cqs[0], &wc);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_quiets, 0);
	destroy(rail);
}

/* The application's receives do as well. */
static void receives_of_the_application(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 0);
	struct ibv_recv_wr wr[20] = {}, *bad;
	unsigned int i;

	(void)state;
	bind(&rail, 1);
	for (i = 0; i < 20; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < 19 ? wr + i + 1 : NULL;
	}
	assert_int_equal(lkvfence_rail_recv(rail, wr, &bad), 0);
	assert_null(bad);
	arrive_send(q, 100);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(polled(0).wr_id, 0);
	fake_error(q);
	assert_int_equal(poll_all(q), 19);
	assert_int_equal(polled(18).wr_id, 19);
	assert_int_equal(polled(18).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fake.nr_quiets, 1);
	destroy(rail);
}

static void receives_half_posted(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 0);
	struct ibv_recv_wr wr[DEPTH + 1] = {}, *bad;
	unsigned int i;

	(void)state;
	for (i = 0; i <= DEPTH; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < DEPTH ? wr + i + 1 : NULL;
	}
	fake.recv = (struct fake_post){ .err = EINVAL, .after = 3 };
	assert_int_equal(lkvfence_rail_recv(rail, wr, &bad), -EINVAL);
	assert_ptr_equal(bad, wr + 3);
	fake.recv = (struct fake_post){ .err = EINVAL, .bad = BAD_NULL, .taken = true };
	wr[5].next = NULL;
	assert_int_equal(lkvfence_rail_recv(rail, bad, &bad), -EIO);
	assert_null(bad);
	fake.recv.err = 0;
	assert_int_equal(lkvfence_rail_recv(rail, wr + 6, &bad), -EAGAIN);
	assert_ptr_equal(bad, wr + DEPTH);
	assert_errmsg("full");
	for (i = 0; i < DEPTH; i++)
		arrive_send(q, 1);
	assert_int_equal(poll_all(q), DEPTH);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(polled(i).wr_id, i);
	destroy(rail);
}

static void receives_are_the_guards(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 1, 0);
	struct ibv_recv_wr wr = {}, *bad;

	(void)state;
	assert_int_equal(lkvfence_rail_recv(rail, &wr, &bad), -EBUSY);
	assert_ptr_equal(bad, &wr);
	assert_errmsg("guard");
	destroy(rail);
}

static void shared_receive_queue(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail_attr attr = {
		.qp = &q->ibv,
		.send_cq = cq_of(q),
		.recv_cq = cq_of(q),
		.guard = 1,
	};
	struct lkvfence_rail *rail;
	struct ibv_recv_wr wr = {};
	struct ibv_srq srq;

	(void)state;
	q->ibv.srq = &srq;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), -EOPNOTSUPP);
	assert_null(rail);
	assert_errmsg("shared receive queue");
	attr.guard = 0;
	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	assert_int_equal(lkvfence_rail_recv(rail, &wr, NULL), -EOPNOTSUPP);
	assert_errmsg("shared receive queue");
	assert_int_equal(lkvfence_rail_flush(rail, -1), -EOPNOTSUPP);
	destroy(rail);
}

static void taken_away_by_hand(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	assert_int_equal(lkvfence_rail_flush(rail, 1), -ETIMEDOUT);
	assert_int_equal(q->state, IBV_QPS_ERR);
	fake_error(q);
	assert_int_equal(lkvfence_rail_flush(rail, -1), 0);
	assert_int_equal(lkvfence_rail_flush(rail, -1), 0);
	destroy(rail);

	q = fake_qp();
	rail = rail_with(q, 2, 0);
	fake.modify_err = EINVAL;
	assert_int_equal(lkvfence_rail_flush(rail, -1), -EINVAL);
	destroy(rail);
}

/*
 * A QP that was used again without a word: what was seen of its last life is not
 * said of this one.
 */
static void reset_without_a_word(void **state)
{
	struct lkvfence_recv_attr attr = { .generation = G, .source = 3 };
	struct ibv_mw_bind_info info = { .addr = 4096, .length = 100 };
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 1);
	struct lkvfence_recv *recv;
	uint32_t rkey;

	(void)state;
	fake_error(q);
	assert_int_equal(lkvfence_rail_flush(rail, 60000), 0);
	q->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_flush(rail, 0), -ENOTCONN);
	assert_errmsg("lkvfence_rail_reset");
	assert_int_equal(q->state, IBV_QPS_RTS);
	assert_int_equal(lkvfence_recv_begin(v, &attr, &recv), 0);
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 0, &rkey), -ENOTCONN);
	assert_int_equal(q->nr_sends, 0);
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	assert_int_equal(lkvfence_rail_flush(rail, 0), -ETIMEDOUT);
	assert_int_equal(q->state, IBV_QPS_ERR);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Not asked about after each receive: half of the queue at a time. */
static unsigned int queries;

static void count_queries(struct fake_qp *q)
{
	(void)q;
	queries++;
}

static void few_questions(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 32, 0);
	struct ibv_recv_wr one = {};
	unsigned int i;

	(void)state;
	queries = 0;
	fake.on_query = count_queries;
	for (i = 0; i < 160; i++) {
		arrive(q, 1, 0);
		poll_all(q);
	}
	assert_int_equal(queries, 10);
	destroy(rail);

	/* the application's, one at a time: when there are twice as many as are known */
	q = fake_qp();
	rail = rail_with(q, 0, 0);
	queries = 0;
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(lkvfence_rail_recv(rail, &one, NULL), 0);
	assert_int_equal(queries, 7);
	fake.on_query = NULL;
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(keeps_receives_posted),
		FAKE_TEST(guard_of_one),
		FAKE_TEST(posting_fails),
		FAKE_TEST(what_is_bound),
		FAKE_TEST(flushed_by_itself),
		FAKE_TEST(asked_by_the_kernel),
		FAKE_TEST(not_our_event),
		FAKE_TEST(no_guard_no_proof),
		FAKE_TEST(forgotten_rail),
		FAKE_TEST(the_region_objects),
		FAKE_TEST(posted_too_late),
		FAKE_TEST(state_unknown),
		FAKE_TEST(not_in_error),
		FAKE_TEST(another_error),
		FAKE_TEST(receives_of_the_application),
		FAKE_TEST(receives_half_posted),
		FAKE_TEST(receives_are_the_guards),
		FAKE_TEST(shared_receive_queue),
		FAKE_TEST(taken_away_by_hand),
		FAKE_TEST(reset_without_a_word),
		FAKE_TEST(few_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
