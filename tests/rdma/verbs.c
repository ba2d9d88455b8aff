// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "verbs.h"

/* Without memory: nothing is meant to be received by it. */
void post_receive(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_recv_wr wr = { .wr_id = id };
	struct ibv_recv_wr *bad;
	int err = ibv_post_recv(qp, &wr, &bad);

	need(!err, "ibv_post_recv: %s", strerror(err));
}

/*
 * All in one call: one by one, the first are over before the last are posted,
 * and an abort would find little under way.
 */
void post_batch(struct ibv_qp *qp, const struct batch *batch)
{
	static struct ibv_send_wr wrs[MAX_POSTED];
	static struct ibv_sge sges[MAX_POSTED];
	uint32_t n = batch->count * batch->rounds, i;
	struct ibv_send_wr *bad;
	int err;

	need(n && n <= MAX_POSTED, "room for %u work requests", n);
	for (i = 0; i < n; i++) {
		size_t offset = (size_t)(batch->first + i % batch->count) * SLOT;

		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)batch->mem + offset,
			.length = batch->message,
			.lkey = batch->lkey,
		};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = batch->id,
			.next = i + 1 < n ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = batch->opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {
				.remote_addr = batch->address + offset,
				.rkey = batch->rkey,
			},
		};
	}
	if (batch->bad_key)
		wrs[n - 1].wr.rdma.rkey = batch->bad_key;
	err = ibv_post_send(qp, wrs, &bad);
	need(!err, "ibv_post_send: %s", strerror(err));
}
