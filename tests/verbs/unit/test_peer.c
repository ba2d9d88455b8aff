// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Whom a rail reaches: which failures are his. */
#include "fake.h"

static const enum ibv_wc_status transport[] = {
	IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RESP_TIMEOUT_ERR,
	IBV_WC_REM_ABORT_ERR, IBV_WC_REM_OP_ERR, IBV_WC_FATAL_ERR,
};

/* A write on a new rail with a peer, which completes so; the rail's QP. */
static struct fake_qp *write_ends(enum ibv_wc_status status, struct lkvfence_rail **rail)
{
	struct fake_qp *q;

	*rail = new_rail(&q);
	assert_int_equal(lkvfence_rail_peer(*rail, FENCE, "prefill-0", 7), 0);
	assert_int_equal(lkvfence_rail_post(*rail, writes(3, 8, true), NULL), 0);
	complete(q, status);
	poll_all(q);
	return q;
}

static void marked(void **state)
{
	struct lkvfence_rail *rail;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(transport); i++) {
		write_ends(transport[i], &rail);
		assert_int_equal(fake.nr_peers, i + 1);
		assert_ptr_equal(fake.peer_fence, FENCE);
		assert_string_equal(fake.peers[i].name, "prefill-0");
		assert_true(fake.peers[i].session == 7);
		assert_int_equal(fake.peers[i].op, LKVFENCE_PEER_OP_FAILED);
		assert_int_equal(fake.peers[i].flags, LKVFENCE_PEER_CREATE);
		assert_int_equal(stat_now().peers_failed, i + 1);
		destroy(rail);
		assert_int_equal(fake.nr_peers, i + 1);
	}
}

/* All others: he answered, or it is this side's. */
static void not_marked(void **state)
{
	struct lkvfence_rail *rail;
	enum ibv_wc_status status;
	unsigned int i;

	(void)state;
	for (status = IBV_WC_SUCCESS; status <= IBV_WC_GENERAL_ERR; status++) {
		for (i = 0; i < ARRAY_SIZE(transport); i++) {
			if (status == transport[i])
				break;
		}
		if (i < ARRAY_SIZE(transport))
			continue;
		destroy((write_ends(status, &rail), rail));
		assert_int_equal(fake.nr_peers, 0);
	}
	assert_int_equal(stat_now().peers_failed, 0);
}

/* What this side moved to ERR comes back flushed, whatever comes behind that. */
static void own_abort(void **state)
{
	struct lkvfence_rail *rail;
	struct fake_qp *q;

	(void)state;
	rail = new_rail(&q);
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, "prefill-0", 0), 0);
	assert_int_equal(lkvfence_rail_post(rail, writes(4, 8, true), NULL), 0);
	fake_error(q);
	poll_all(q);
	assert_int_equal(fake.nr_peers, 0);
	destroy(rail);
}

/* What comes of the same failure later, as the guard's flush, says nothing new. */
static void flushed_behind_it(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, "prefill-0", 7), 0);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(lkvfence_cq_poll(cq_of(q), 1, &wc), 1);
	assert_int_equal(fake.nr_peers, 1);
	poll_all(q);
	assert_int_equal(stat_now().flushed, 1);
	assert_int_equal(fake.nr_peers, 1);
	destroy(rail);
}

/* Once for a connection; and anew for the next one. */
static void once(void **state)
{
	struct lkvfence_rail *rail, *other;
	struct fake_qp *q = write_ends(IBV_WC_RETRY_EXC_ERR, &rail), *p;

	(void)state;
	assert_int_equal(fake.nr_peers, 1);
	assert_int_equal(sends_of(q), 0);
	q->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_reset(rail), 0);
	assert_int_equal(lkvfence_rail_peer(rail, OTHER, "prefill-1", 8), 0);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	poll_all(q);
	assert_int_equal(fake.nr_peers, 2);
	assert_ptr_equal(fake.peer_fence, OTHER);
	assert_string_equal(fake.peers[1].name, "prefill-1");
	assert_true(fake.peers[1].session == 8);

	/* a rail without a peer, or without one any more */
	other = new_rail(&p);
	assert_int_equal(lkvfence_rail_post(other, writes(1, 8, true), NULL), 0);
	complete(p, IBV_WC_RETRY_EXC_ERR);
	poll_all(p);
	destroy(other);
	other = new_rail(&p);
	assert_int_equal(lkvfence_rail_peer(other, FENCE, "prefill-2", 0), 0);
	assert_int_equal(lkvfence_rail_peer(other, NULL, NULL, 0), 0);
	assert_int_equal(lkvfence_rail_post(other, writes(1, 8, true), NULL), 0);
	complete(p, IBV_WC_RETRY_EXC_ERR);
	poll_all(p);
	assert_int_equal(fake.nr_peers, 2);
	destroy(other);
	destroy(rail);
}

/* The lease comes back as ever, whatever the module says of the peer. */
static void refused(void **state)
{
	struct lkvfence_send *send;
	struct lkvfence_rail *rail;
	struct fake_qp *q;

	(void)state;
	fake.peer_err = -ESTALE;
	rail = new_rail(&q);
	send = new_send(G, 1);
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, "prefill-0", 7), 0);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	poll_all(q);
	assert_int_equal(fake.nr_peers, 1);
	assert_int_equal(stat_now().peers_failed, 0);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	lkvfence_send_finish(send);
	destroy(rail);
}

static void names(void **state)
{
	struct lkvfence_rail *rail;
	struct fake_qp *q;
	char name[65];

	(void)state;
	rail = new_rail(&q);
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, "", 0), -EINVAL);
	assert_errmsg("1 to 63 bytes");
	assert_int_equal(lkvfence_rail_peer(rail, NULL, "p", 0), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[64] = 0;
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, name, 0), -EINVAL);
	name[63] = 0;
	assert_int_equal(lkvfence_rail_peer(rail, FENCE, name, 0), 0);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(marked),
		FAKE_TEST(not_marked),
		FAKE_TEST(own_abort),
		FAKE_TEST(flushed_behind_it),
		FAKE_TEST(once),
		FAKE_TEST(refused),
		FAKE_TEST(names),
	};

	return cmocka_run_group_tests_name("verbs-peer", tests, NULL, NULL);
}
