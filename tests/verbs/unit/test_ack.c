// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The acknowledgement in band: what is posted, and what returns which lease. */
#include <arpa/inet.h>

#include "fake.h"

static struct lkvfence_recv *new_recv(uint64_t generation, uint32_t source)
{
	struct lkvfence_recv_attr attr = {
		.generation = generation,
		.source = source,
		.data = &fake,
	};
	struct lkvfence_recv *recv;

	assert_int_equal(lkvfence_recv_begin(v, &attr, &recv), 0);
	return recv;
}

static struct lkvfence_recv *expecting(uint64_t generation,
				       struct lkvfence_rail *rail)
{
	struct lkvfence_recv *recv = new_recv(generation, 1);

	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	return recv;
}

/*
 * The sender's end
 */

static void marker(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	const struct ibv_send_wr *mark = q->sends + 2;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 8, false), NULL), 0);
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), 0);
	assert_int_equal(q->nr_sends, 3);
	assert_int_equal(mark->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(mark->num_sge, 0);
	assert_int_equal(mark->send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(ntohl(mark->imm_data), (uint32_t)G);
	/* it is the last */
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, false), NULL), -ECANCELED);
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), 0);
	assert_int_equal(q->nr_sends, 3);
	lkvfence_send_finish(send);
	assert_int_equal(q->nr_sends, 3);
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 3);
	destroy(rail);
}

static void marker_on_each_rail(void **state)
{
	struct lkvfence_rail *rail[3];
	struct fake_qp *q[3];
	struct lkvfence_send *send = new_send(G, 1);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		rail[i] = new_rail(&q[i]);
	assert_int_equal(lkvfence_send_post(send, rail[1], writes(1, 8, true), NULL), 0);
	/* behind the data, wherever there is some */
	assert_int_equal(lkvfence_send_mark(send, rail, 1), -EINVAL);
	assert_errmsg("not named");
	assert_int_equal(lkvfence_send_mark(send, rail, 0), -EINVAL);
	assert_int_equal(lkvfence_send_post(send, rail[1], writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_mark(send, rail, 3), 0);
	assert_int_equal(q[0]->nr_sends, 1);
	assert_int_equal(q[1]->nr_sends, 3);
	assert_int_equal(q[2]->nr_sends, 1);
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

/* It is posted in the end, and the lease waits for it. */
static void marker_finds_no_room(void **state)
{
	struct lkvfence_rail *rail[2];
	struct fake_qp *q[2];
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	rail[0] = new_rail(&q[0]);
	rail[1] = new_rail(&q[1]);
	assert_int_equal(lkvfence_rail_post(rail[1], writes(DEPTH - 1, 8, false), NULL), 0);
	assert_int_equal(lkvfence_rail_post(rail[1], writes(1, 8, false), NULL), -EAGAIN);
	assert_int_equal(lkvfence_send_mark(send, rail, 2), -EAGAIN);
	assert_int_equal(q[0]->nr_sends, 1);
	complete_all(q[0]);
	poll_all(q[0]);
	assert_int_equal(fake.nr_returned, 0);
	complete_all(q[1]);
	poll_all(q[1]);
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(lkvfence_send_mark(send, rail, 2), 0);
	assert_int_equal(q[0]->nr_sends, 0);
	assert_int_equal(q[1]->nr_sends, 1);
	complete_all(q[1]);
	poll_all(q[1]);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
	destroy(rail[0]);
	destroy(rail[1]);
}

static void no_marker_after_a_failure(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *rail[2];
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	rail[0] = new_rail(&p);
	rail[1] = new_rail(&q);
	assert_int_equal(lkvfence_send_post(send, rail[0], writes(1, 8, true), NULL), 0);
	complete(p, IBV_WC_RETRY_EXC_ERR);
	poll_all(p);
	assert_int_equal(lkvfence_send_mark(send, rail, 2), -ECANCELED);
	assert_errmsg("untrue");
	assert_int_equal(q->nr_sends, 0);
	lkvfence_send_finish(send);
	destroy(rail[0]);
	destroy(rail[1]);
}

static void marker_in_doubt(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	fake.send = (struct fake_post){ .err = EINVAL, .bad = BAD_NULL, .taken = true };
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), -EIO);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	fake.send.err = 0;
	complete_all(q);
	assert_int_equal(poll_all(q), 0);
	lkvfence_send_finish(send);
	destroy(rail);
}

/*
 * A READ whose answer was lost is executed again, after what was posted behind
 * it: so a marker is not sent before all READs in front of it are answered.
 */
static void marker_behind_reads(void **state)
{
	const unsigned int fenced = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(2, 8, false);

	(void)state;
	wr[0].opcode = IBV_WR_RDMA_READ;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), 0);
	assert_int_equal(q->nr_sends, 3);
	assert_int_equal(q->sends[2].send_flags, fenced);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	/* those that are over hold nothing up */
	send = new_send(G + 1, 1);
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), 0);
	assert_int_equal(q->sends[0].send_flags, IBV_SEND_SIGNALED);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

/*
 * The receiver's end
 */

static void acknowledged(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 4, 0);
	struct lkvfence_recv_attr attr = {
		.fence = FENCE,
		.generation = G,
		.source = 3,
		.data = &fake,
	};
	struct lkvfence_recv *recv;

	(void)state;
	assert_int_equal(lkvfence_recv_begin(v, &attr, &recv), 0);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	arrive(q, (uint32_t)G, 0);
	/* the application sees none of it */
	assert_int_equal(poll_all(q), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	assert_int_equal(fake.nr_items, 1);
	assert_int_equal(fake.items[0].source, 3);
	assert_int_equal(fake.items[0].evidence, LKVFENCE_EVIDENCE_IN_BAND);
	assert_ptr_equal(fake.item_fence[0], FENCE);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(fake.nr_returned, 1);
	assert_int_equal(stat_now().in_band, 1);
	destroy(rail);
}

static void on_all_rails(void **state)
{
	struct lkvfence_rail *rail[3];
	struct fake_qp *q[3];
	struct lkvfence_recv *recv = new_recv(G, 1);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		q[i] = fake_qp();
		rail[i] = rail_with(q[i], 2, 0);
	}
	assert_int_equal(lkvfence_recv_expect(recv, rail, 3), 0);
	/* twice on one is not once on each */
	arrive(q[0], (uint32_t)G, 0);
	arrive(q[0], (uint32_t)G, 0);
	assert_int_equal(poll_all(q[0]), 1);
	assert_int_equal(fake.nr_returned, 0);
	arrive(q[2], (uint32_t)G, 0);
	poll_all(q[2]);
	assert_int_equal(fake.nr_returned, 0);
	arrive(q[1], (uint32_t)G, 0);
	poll_all(q[1]);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	lkvfence_recv_finish(recv, 0);
	for (i = 0; i < 3; i++)
		destroy(rail[i]);
}

/* A marker on another connection means another lease. */
static void of_another_rail(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail *a = rail_with(p, 2, 0), *b = rail_with(q, 2, 0);
	struct lkvfence_recv *recv = expecting(G, a);

	(void)state;
	arrive(q, (uint32_t)G, 0);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 0);
	assert_int_equal(stat_now().acks_unknown, 1);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(fake.nr_returned, 0);
	destroy(a);
	destroy(b);
}

/* What nobody awaits, and what has data, is the application's. */
static void not_awaited(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 4, 0);
	struct lkvfence_recv *recv = expecting(G, rail);

	(void)state;
	arrive(q, (uint32_t)G + 1, 0);
	arrive(q, (uint32_t)G, 16);
	arrive_send(q, 0);
	assert_int_equal(poll_all(q), 3);
	assert_int_equal(polled(0).wr_id, 4711);
	assert_int_equal(ntohl(polled(0).imm_data), (uint32_t)G + 1);
	assert_int_equal(polled(1).byte_len, 16);
	assert_int_equal(polled(2).opcode, IBV_WC_RECV);
	assert_int_equal(fake.nr_returned, 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Receives that the application posted come back to it, marker or not. */
static void own_receives(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 0, 0);
	struct lkvfence_recv *a = expecting(G, rail), *b = expecting(G + 1, rail);
	struct ibv_recv_wr wr = { .wr_id = 55 }, past = { .wr_id = 56 }, *bad;

	(void)state;
	assert_int_equal(lkvfence_rail_recv(rail, &wr, NULL), 0);
	/* one that was posted past the library does as well */
	assert_int_equal(ibv_post_recv(&q->ibv, &past, &bad), 0);
	arrive(q, (uint32_t)G, 0);
	arrive(q, (uint32_t)G + 1, 0);
	assert_int_equal(poll_all(q), 2);
	assert_int_equal(polled(0).wr_id, 55);
	assert_int_equal(polled(1).wr_id, 56);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(fake.returned[1].generation, G + 1);
	lkvfence_recv_finish(a, 0);
	lkvfence_recv_finish(b, 0);
	destroy(rail);
}

/*
 * Wrap: the marker has 32 bits
 */

#define WRAP	0x100000000ULL

static void two_of_the_same_bits(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail *a = rail_with(p, 2, 0), *b = rail_with(q, 2, 0);
	struct lkvfence_recv *old = expecting(G, a), *new = new_recv(G + WRAP, 1);

	(void)state;
	assert_int_equal(lkvfence_recv_expect(new, &a, 1), -EBUSY);
	assert_errmsg("same low 32 bits");
	/* on another connection they can't be mixed up */
	assert_int_equal(lkvfence_recv_expect(new, &b, 1), 0);
	arrive(p, (uint32_t)G, 0);
	poll_all(p);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	lkvfence_recv_finish(old, 0);
	lkvfence_recv_finish(new, LKVFENCE_RECV_QUIET);
	/* its marker has come: the bits are free again */
	new = expecting(G + 2 * WRAP, a);
	lkvfence_recv_finish(new, LKVFENCE_RECV_QUIET);
	destroy(a);
	destroy(b);
}

/* A lease that was given up: its marker may yet come, and means nobody. */
static void a_stale_marker(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_recv *recv = expecting(G, rail);

	(void)state;
	lkvfence_recv_finish(recv, 0);
	recv = new_recv(G + WRAP, 1);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
	assert_errmsg("low 32 bits");
	arrive(q, (uint32_t)G, 0);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 0);
	/* others are awaited as before, up to where the bits are the same */
	lkvfence_recv_finish(recv, 0);
	recv = expecting(G + WRAP - 1, rail);
	arrive(q, (uint32_t)(G - 1), 0);
	poll_all(q);
	assert_returned(G + WRAP - 1, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_IN_BAND);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Its source is known to be done: nothing can come, nothing is remembered. */
static void given_up_quiet(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_recv *recv = expecting(G, rail);

	(void)state;
	lkvfence_recv_finish(recv, LKVFENCE_RECV_QUIET);
	recv = expecting(G + WRAP, rail);
	lkvfence_recv_finish(recv, LKVFENCE_RECV_QUIET);
	assert_int_equal(fake.nr_returned, 0);
	destroy(rail);
}

/* The span of what was given up counts, from below as from above. */
static void a_span_of_stale_ones(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_recv *recv;

	(void)state;
	lkvfence_recv_finish(expecting(G + 100, rail), 0);
	lkvfence_recv_finish(expecting(G, rail), 0);
	lkvfence_recv_finish(expecting(G + 50, rail), 0);
	recv = new_recv(G + WRAP, 1);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
	lkvfence_recv_finish(recv, 0);
	recv = new_recv(G + 100 - WRAP, 1);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
	/* a new connection has no old markers */
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	lkvfence_recv_finish(recv, 0);
	lkvfence_recv_finish(expecting(G, rail), 0);
	lkvfence_recv_finish(expecting(G + 100, rail), 0);
	recv = new_recv(G + 100 - WRAP, 1);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), 0);
	lkvfence_recv_finish(recv, 0);
	destroy(rail);
}

/* Two sources of one transfer behind one connection: the markers are the same. */
static void another_source_of_the_same(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct lkvfence_recv *recv;
	unsigned int i;

	(void)state;
	lkvfence_recv_finish(expecting(G, rail), 0);
	recv = new_recv(G, 2);
	assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
	/* of the first */
	arrive(q, (uint32_t)G, 0);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 0);
	lkvfence_recv_finish(recv, 0);
	/* many may be given up; what is in between them is awaited as before */
	for (i = 2; i < 200; i += 2)
		lkvfence_recv_finish(expecting(G + i, rail), 0);
	for (i = 0; i < 200; i += 2) {
		recv = new_recv(G + i, 2);
		assert_int_equal(lkvfence_recv_expect(recv, &rail, 1), -EOVERFLOW);
		lkvfence_recv_finish(recv, 0);
	}
	recv = expecting(G + 197, rail);
	lkvfence_recv_finish(recv, LKVFENCE_RECV_QUIET);
	/* once it has come, or can't come, the next one may */
	recv = expecting(G + 199, rail);
	arrive(q, (uint32_t)G + 199, 0);
	poll_all(q);
	lkvfence_recv_finish(recv, 0);
	lkvfence_recv_finish(expecting(G + 199, rail), LKVFENCE_RECV_QUIET);
	lkvfence_recv_finish(expecting(G + 199, rail), 0);
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	lkvfence_recv_finish(expecting(G, rail), 0);
	destroy(rail);
}

static void expect_errors(void **state)
{
	struct lkvfence_rail *rail[LKVFENCE_MAX_RAILS + 1], *twice[2];
	struct fake_qp *p, *q = fake_qp();
	struct lkvfence_recv *recv = new_recv(G, 1);
	unsigned int i;

	(void)state;
	q->ibv.qp_type = IBV_QPT_UC;
	rail[0] = rail_with(q, 0, 0);
	assert_int_equal(lkvfence_recv_expect(recv, rail, 1), -EPROTONOSUPPORT);
	assert_errmsg("overtake");
	destroy(rail[0]);
	for (i = 0; i <= LKVFENCE_MAX_RAILS; i++)
		rail[i] = new_rail(&p);
	twice[0] = rail[0];
	twice[1] = rail[0];
	assert_int_equal(lkvfence_recv_expect(recv, twice, 2), -EINVAL);
	assert_int_equal(lkvfence_recv_expect(recv, rail, 0), -EINVAL);
	assert_int_equal(lkvfence_recv_expect(recv, rail, LKVFENCE_MAX_RAILS + 1), -E2BIG);
	assert_int_equal(lkvfence_recv_expect(recv, rail, LKVFENCE_MAX_RAILS), 0);
	assert_int_equal(lkvfence_recv_expect(recv, rail, 1), -EBUSY);
	lkvfence_recv_finish(recv, 0);
	for (i = 0; i <= LKVFENCE_MAX_RAILS; i++)
		destroy(rail[i]);
	lkvfence_recv_finish(NULL, 0);
}

/* A rail that goes takes the hope with it; the lease stays out. */
static void the_rail_goes(void **state)
{
	struct fake_qp *p = fake_qp(), *q = fake_qp();
	struct lkvfence_rail *rail[2];
	struct lkvfence_recv *recv = new_recv(G, 1);

	(void)state;
	rail[0] = rail_with(p, 2, 0);
	rail[1] = rail_with(q, 2, 0);
	assert_int_equal(lkvfence_recv_expect(recv, rail, 2), 0);
	destroy(rail[0]);
	arrive(q, (uint32_t)G, 0);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(fake.nr_returned, 0);
	lkvfence_recv_finish(recv, 0);
	assert_int_equal(fake.nr_returned, 0);
	destroy(rail[1]);
}

static void no_more_leases(void **state)
{
	struct lkvfence_recv_attr attr = { .generation = G };
	struct lkvfence_recv *recv[33];
	unsigned int i;

	(void)state;
	for (i = 0; i < 32; i++)
		assert_int_equal(lkvfence_recv_begin(v, &attr, recv + i), 0);
	assert_int_equal(lkvfence_recv_begin(v, &attr, recv + 32), -ENOBUFS);
	assert_errmsg("max_recvs");
	for (i = 0; i < 32; i++)
		lkvfence_recv_finish(recv[i], 0);
	assert_int_equal(lkvfence_recv_begin(v, &attr, recv), 0);
	lkvfence_recv_finish(recv[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(marker),
		FAKE_TEST(marker_on_each_rail),
		FAKE_TEST(marker_finds_no_room),
		FAKE_TEST(no_marker_after_a_failure),
		FAKE_TEST(marker_in_doubt),
		FAKE_TEST(marker_behind_reads),
		FAKE_TEST(acknowledged),
		FAKE_TEST(on_all_rails),
		FAKE_TEST(of_another_rail),
		FAKE_TEST(not_awaited),
		FAKE_TEST(own_receives),
		FAKE_TEST(two_of_the_same_bits),
		FAKE_TEST(a_stale_marker),
		FAKE_TEST(given_up_quiet),
		FAKE_TEST(a_span_of_stale_ones),
		FAKE_TEST(another_source_of_the_same),
		FAKE_TEST(expect_errors),
		FAKE_TEST(the_rail_goes),
		FAKE_TEST(no_more_leases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
