// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Positions in a send queue go round in 32 bits. Nobody posts so many in a test,
 * so this one looks inside.
 */
#include "fake.h"
#include "verbs/internal.h"

/* So many requests were posted since, of kinds that prove nothing of others. */
static void let_pass(struct lkvfence_rail *rail, uint32_t nr)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };
	struct fake_qp *q = container_of(rail->qp, struct fake_qp, ibv);

	assert_int_equal(rail->sq_head, rail->sq_tail);
	rail->sq_head += nr;
	rail->sq_tail += nr;
	/* one as the library sees it */
	inv.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(lkvfence_rail_post(rail, &inv, NULL), 0);
	q->sends[0].opcode = IBV_WR_SEND;
	complete_all(q);
	assert_int_equal(poll_all(q), 1);
}

/* What was proven long ago is not what will be. */
static void marker_after_a_long_time(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send;
	unsigned int i;

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	poll_all(q);
	for (i = 0; i < 3; i++)
		let_pass(rail, 0x40000000);
	send = new_send(G, 1);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, false), NULL), 0);
	lkvfence_send_finish(send);
	assert_int_equal(q->nr_sends, 2);
	complete_all(q);
	poll_all(q);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	destroy(rail);
}

/* A READ of long ago is answered. */
static void read_of_a_long_time_ago(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(1, 8, true);
	unsigned int i;

	(void)state;
	wr->opcode = IBV_WR_RDMA_READ;
	assert_int_equal(lkvfence_rail_post(rail, wr, NULL), 0);
	complete_all(q);
	poll_all(q);
	for (i = 0; i < 3; i++)
		let_pass(rail, 0x40000000);
	assert_int_equal(lkvfence_send_mark(send, &rail, 1), 0);
	assert_int_equal(q->sends[0].send_flags, IBV_SEND_SIGNALED);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(marker_after_a_long_time),
		FAKE_TEST(read_of_a_long_time_ago),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
