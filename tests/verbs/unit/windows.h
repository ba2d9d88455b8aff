/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What tests of memory windows have in common. */
#ifndef TEST_VERBS_WINDOWS_H
#define TEST_VERBS_WINDOWS_H

#include "fake.h"

static struct fake_qp *working;

/* The device works while somebody polls. */
static void work(struct fake_cq *cq)
{
	(void)cq;
	if (working && working->nr_sends)
		complete(working, IBV_WC_SUCCESS);
}

static struct lkvfence_recv *new_recv(uint64_t generation)
{
	struct lkvfence_recv_attr attr = {
		.generation = generation,
		.source = 3,
		.data = &fake,
	};
	struct lkvfence_recv *recv;

	assert_int_equal(lkvfence_recv_begin(v, &attr, &recv), 0);
	return recv;
}

static uint32_t open_window(struct lkvfence_recv *recv, struct lkvfence_rail *rail,
			    struct fake_qp *q)
{
	static struct ibv_mr mr;
	struct ibv_mw_bind_info info = {
		.mr = &mr,
		.addr = 4096,
		.length = 100,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	uint32_t rkey = 0;

	working = q;
	fake.on_poll = work;
	assert_int_equal(lkvfence_recv_window(recv, rail, &info, 60000, &rkey), 0);
	fake.on_poll = NULL;
	return rkey;
}

#endif /* TEST_VERBS_WINDOWS_H */
