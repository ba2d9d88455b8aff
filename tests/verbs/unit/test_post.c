// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Posting: half failed posts, limits, a full queue, and what is refused. */
#include "fake.h"

/* Posts that fail after so many: exactly these count. */
static void half_failed(void **state)
{
	unsigned int after;

	(void)state;
	for (after = 0; after < 5; after++) {
		struct fake_qp *q;
		struct lkvfence_rail *rail = new_rail(&q);
		struct lkvfence_send *send = new_send(G, 1);
		struct ibv_send_wr *wr = writes(5, 10, true), *bad = NULL;

		forget_returned();
		fake.send = (struct fake_post){ .err = EINVAL, .after = after };
		assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EINVAL);
		assert_ptr_equal(bad, wr + after);
		assert_int_equal(wr[after].wr_id, 1000 + after);
		fake.send.err = 0;
		/* from there on */
		assert_int_equal(lkvfence_send_post(send, rail, bad, NULL), 0);
		assert_int_equal(q->nr_sends, 5);
		lkvfence_send_finish(send);
		complete_all(q);
		assert_int_equal(poll_all(q), 1);
		assert_int_equal(polled(0).wr_id, 1004);
		assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
		assert_int_equal(fake.returned[0].wrs, 5);
		assert_int_equal(fake.returned[0].bytes, 50);
		destroy(rail);
	}
}

/* ... and what was not posted is not waited for. */
static void the_rest_is_given_up(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	fake.send = (struct fake_post){ .err = -EINVAL, .after = 2 };
	assert_int_equal(lkvfence_send_post(send, rail, writes(5, 10, true), NULL), -EINVAL);
	fake.send.err = 0;
	lkvfence_send_finish(send);
	/* the signaled one was not posted, so a marker was */
	assert_int_equal(q->nr_sends, 3);
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 2);
	assert_int_equal(fake.returned[0].bytes, 20);
	destroy(rail);
}

static void none_posted(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	fake.send = (struct fake_post){ .err = EINVAL };
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 10, true), NULL), -EINVAL);
	lkvfence_send_finish(send);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 0);
	destroy(rail);
}

/*
 * The provider fails and doesn't say how far it came. Whether they are in its
 * queue or not, nothing is proven any more, and nothing is waited for wrongly.
 */
static void in_doubt(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct fake_qp *q;
		struct lkvfence_rail *rail = new_rail(&q);
		struct lkvfence_send *send = new_send(G, 1), *next = new_send(G + 1, 1);
		struct ibv_send_wr *wr = writes(3, 10, true), *bad = wr;
		bool taken = i & 1;

		forget_returned();
		fake.send = (struct fake_post){
			.err = EINVAL,
			.bad = i & 2 ? BAD_NULL : BAD_WILD,
			.taken = taken,
		};
		assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EIO);
		assert_null(bad);
		assert_errmsg("doesn't say");
		assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
		fake.send.err = 0;
		assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), -ECANCELED);
		lkvfence_send_finish(send);

		/* The queue goes on; what is in it comes out under its wr_id. */
		assert_int_equal(lkvfence_send_post(next, rail, wr, NULL), 0);
		lkvfence_send_finish(next);
		complete_all(q);
		assert_int_equal(poll_all(q), taken ? 2 : 1);
		assert_int_equal(polled(0).wr_id, 1002);
		assert_int_equal(fake.nr_returned, 2);
		assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_DRAINED);
		assert_int_equal(stat_now().lost, 0);
		destroy(rail);
	}
	assert_int_equal(stat_now().in_doubt, 4);
}

static void in_doubt_without_lease(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	fake.send = (struct fake_post){ .err = EINVAL, .bad = BAD_NULL };
	assert_int_equal(lkvfence_rail_post(rail, writes(3, 10, true), NULL), -EIO);
	fake.send.err = 0;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 10, true), NULL), 0);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	destroy(rail);
}

/* Providers return errors with either sign, or -1. */
static void any_sign(void **state)
{
	static const int errs[] = { EINVAL, -EINVAL };
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		fake.send = (struct fake_post){ .err = errs[i] };
		errno = EXDEV;
		assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), -EINVAL);
		assert_int_equal(errno, EXDEV);
	}
	destroy(rail);
}

static void provider_is_full(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_send_wr *wr = writes(2, 8, true), *bad;

	(void)state;
	fake.send = (struct fake_post){ .err = ENOMEM, .after = 1 };
	assert_int_equal(lkvfence_rail_post(rail, wr, &bad), -EAGAIN);
	assert_ptr_equal(bad, wr + 1);
	q->nr_sends = 0;
	destroy(rail);
}

/* Long chains go to the provider in parts, and are one for the caller. */
static void long_chain(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(DEPTH - 1, 8, true);
	unsigned int i;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	assert_int_equal(q->nr_posts, 4);
	for (i = 0; i < DEPTH - 1; i++) {
		/* the application's are not touched */
		assert_int_equal(wr[i].wr_id, 1000 + i);
		assert_ptr_equal(wr[i].next, i + 1 < DEPTH - 1 ? wr + i + 1 : NULL);
		assert_ptr_equal(q->sends[i].sg_list, wr[i].sg_list);
	}
	lkvfence_send_finish(send);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, DEPTH - 1);
	destroy(rail);
}

/*
 * A queue that is full of unsignaled requests would stay so for ever: the last
 * place is a marker's.
 */
static void full_queue(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_send_wr *wr = writes(DEPTH + 3, 8, false), *bad;

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, wr, &bad), -EAGAIN);
	assert_errmsg("send queue is full");
	assert_ptr_equal(bad, wr + DEPTH - 1);
	assert_int_equal(q->nr_sends, DEPTH);
	assert_int_equal(q->sends[DEPTH - 1].num_sge, 0);
	assert_true(q->sends[DEPTH - 1].send_flags & IBV_SEND_SIGNALED);
	assert_int_equal(lkvfence_rail_post(rail, bad, &bad), -EAGAIN);
	assert_int_equal(q->nr_sends, DEPTH);
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(lkvfence_rail_post(rail, bad, &bad), 0);
	assert_int_equal(q->nr_sends, 4);
	assert_int_equal(stat_now().markers, 1);
	q->nr_sends = 0;
	destroy(rail);
}

/* Where the last one is signaled, nothing is to be proven. */
static void full_queue_that_proves_itself(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	unsigned int i;

	(void)state;
	for (i = 0; i < DEPTH - 1; i++)
		assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), -EAGAIN);
	assert_int_equal(q->nr_sends, DEPTH - 1);
	assert_int_equal(stat_now().markers, 0);
	complete_all(q);
	poll_all(q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

/* A position is of 20 bits, and a queue goes round. */
static void many_rounds(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	unsigned int i;

	(void)state;
	for (i = 0; i < (1U << 20) / 32 + 100; i++) {
		assert_int_equal(lkvfence_rail_post(rail, writes(32, 8, true), NULL), 0);
		complete_all(q);
		assert_int_equal(poll_all(q), 1);
		assert_int_equal(polled(0).wr_id, 1031);
	}
	assert_int_equal(stat_now().stale, 0);
	assert_int_equal(stat_now().lost, 0);
	destroy(rail);
}

static void limit_of_requests(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G, .max_wrs = 4 };
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct ibv_send_wr *wr = writes(3, 8, true), *bad;
	struct lkvfence_send *send;

	(void)state;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	assert_int_equal(lkvfence_send_post(send, a, wr, NULL), 0);
	/* of all rails together; what fits is posted */
	assert_int_equal(lkvfence_send_post(send, b, wr, &bad), -EAGAIN);
	assert_errmsg("limit");
	assert_ptr_equal(bad, wr + 1);
	assert_int_equal(q->nr_sends, 2);
	/* without a marker this one would not come off */
	assert_int_equal(q->sends[1].num_sge, 0);
	assert_int_equal(lkvfence_send_post(send, b, bad, &bad), -EAGAIN);
	assert_ptr_equal(bad, wr + 1);
	complete_all(p);
	poll_all(p);
	assert_int_equal(lkvfence_send_post(send, b, bad, &bad), 0);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 6);
	destroy(a);
	destroy(b);
}

/* Markers on other rails are posted by who polls these. */
static void limit_and_other_rails(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G, .max_wrs = 2 };
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct lkvfence_send *send;

	(void)state;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	assert_int_equal(lkvfence_send_post(send, a, writes(2, 8, false), NULL), 0);
	assert_int_equal(lkvfence_send_post(send, b, writes(1, 8, true), NULL), -EAGAIN);
	assert_int_equal(p->nr_sends, 2);
	assert_int_equal(poll_all(p), 0);
	assert_int_equal(p->nr_sends, 3);
	complete_all(p);
	poll_all(p);
	assert_int_equal(lkvfence_send_post(send, b, writes(1, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	destroy(a);
	destroy(b);
}

static void limit_of_bytes(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G, .max_bytes = 100 };
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_send_wr *wr = writes(3, 40, true), *bad;
	struct lkvfence_send *send;

	(void)state;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EAGAIN);
	assert_ptr_equal(bad, wr + 2);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 20, true), &bad), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 1, true), &bad), -EAGAIN);
	/* one that never fits is another error */
	wr = writes(1, 101, true);
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EMSGSIZE);
	assert_ptr_equal(bad, wr);
	assert_errmsg("100 bytes");
	complete_all(q);
	poll_all(q);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 100, true), &bad), 0);
	/* zero-length requests take no bytes */
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 0, true), &bad), 0);
	complete_all(q);
	lkvfence_send_finish(send);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	destroy(rail);
}

/* A post that fails half way gives back what it had reserved. */
static void limit_and_half_failed(void **state)
{
	struct lkvfence_send_attr attr = {
		.generation = G,
		.max_wrs = 3,
		.max_bytes = 24,
	};
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_send_wr *wr = writes(3, 8, true), *bad;
	struct lkvfence_send *send;

	(void)state;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	fake.send = (struct fake_post){ .err = EINVAL, .after = 1 };
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EINVAL);
	fake.send.err = 0;
	assert_int_equal(lkvfence_send_post(send, rail, bad, &bad), 0);
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EAGAIN);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.returned[0].wrs, 3);
	destroy(rail);
}

static void too_many_rails(void **state)
{
	struct lkvfence_rail *rail[LKVFENCE_MAX_RAILS + 1];
	struct fake_qp *q[LKVFENCE_MAX_RAILS + 1];
	struct lkvfence_send_attr attr = { .generation = G, .max_bytes = 16 * 8 };
	struct lkvfence_send *send;
	unsigned int i;

	(void)state;
	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	for (i = 0; i <= LKVFENCE_MAX_RAILS; i++)
		rail[i] = new_rail(&q[i]);
	for (i = 0; i < LKVFENCE_MAX_RAILS; i++) {
		assert_int_equal(lkvfence_send_post(send, rail[i], writes(1, 8, true), NULL), 0);
		complete_all(q[i]);
		poll_all(q[i]);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(lkvfence_send_post(send, rail[LKVFENCE_MAX_RAILS],
						    writes(16, 8, true), NULL), -E2BIG);
	assert_errmsg("16 rails");
	assert_int_equal(q[LKVFENCE_MAX_RAILS]->nr_sends, 0);
	/* nothing was reserved for good */
	assert_int_equal(lkvfence_send_post(send, rail[0], writes(16, 8, true), NULL), 0);
	lkvfence_send_finish(send);
	complete_all(q[0]);
	poll_all(q[0]);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	for (i = 0; i <= LKVFENCE_MAX_RAILS; i++)
		destroy(rail[i]);
}

static void unknown_opcode(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct ibv_send_wr *wr = writes(3, 8, true), *bad;

	(void)state;
	wr[1].opcode = IBV_WR_TSO;
	assert_int_equal(lkvfence_rail_post(rail, wr, &bad), -EOPNOTSUPP);
	assert_errmsg("opcode");
	assert_ptr_equal(bad, wr + 1);
	assert_int_equal(q->nr_sends, 1);
	complete_all(q);
	destroy(rail);
}

/* A completion on UC says that it was sent, not that it was executed. */
static void only_rc(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(1, 8, true), *bad;
	struct lkvfence_rail *rail;

	(void)state;
	q->ibv.qp_type = IBV_QPT_UC;
	rail = rail_with(q, 0, 0);
	assert_int_equal(lkvfence_send_post(send, rail, wr, &bad), -EPROTONOSUPPORT);
	assert_ptr_equal(bad, wr);
	assert_errmsg("not RC");
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), -EPROTONOSUPPORT);
	assert_int_equal(q->nr_sends, 0);
	/* what touches no slots may be sent */
	assert_int_equal(lkvfence_rail_post(rail, wr, NULL), 0);
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
	lkvfence_send_finish(send);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(half_failed),
		FAKE_TEST(the_rest_is_given_up),
		FAKE_TEST(none_posted),
		FAKE_TEST(in_doubt),
		FAKE_TEST(in_doubt_without_lease),
		FAKE_TEST(any_sign),
		FAKE_TEST(provider_is_full),
		FAKE_TEST(long_chain),
		FAKE_TEST(full_queue),
		FAKE_TEST(full_queue_that_proves_itself),
		FAKE_TEST(many_rounds),
		FAKE_TEST(limit_of_requests),
		FAKE_TEST(limit_and_other_rails),
		FAKE_TEST(limit_of_bytes),
		FAKE_TEST(limit_and_half_failed),
		FAKE_TEST(too_many_rails),
		FAKE_TEST(unknown_opcode),
		FAKE_TEST(only_rc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
