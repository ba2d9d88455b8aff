// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The little of libibverbs that the demo needs: one reliable connection
 * between each prefill and decode, and RDMA WRITE over it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "demo.h"

#define PORT	1

/*
 * The address to talk from: a RoCE v2 one, and of these one that stands for
 * an IPv4 address, since those are configured on purpose.
 */
static void find_gid(struct rdma *rdma, const char *device)
{
	struct ibv_gid_entry entry;
	bool found = false;

	for (uint32_t i = 0; i < UINT8_MAX; i++) {
		bool mapped;

		if (ibv_query_gid_ex(rdma->context, PORT, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		mapped = IN6_IS_ADDR_V4MAPPED((struct in6_addr *)entry.gid.raw);
		if (found && !mapped)
			continue;
		rdma->gid = entry.gid;
		rdma->gid_index = (uint8_t)i;
		found = true;
		if (mapped)
			break;
	}
	if (!found)
		die("%s has no RoCE v2 address", device);
}

void rdma_open(struct rdma *rdma, const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;

	for (int i = 0; list && list[i]; i++) {
		if (!strcmp(ibv_get_device_name(list[i]), device))
			rdma->context = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	if (!rdma->context)
		die("no RDMA device %s (rdma link add %s type rxe netdev ...)", device, device);
	rdma->pd = ibv_alloc_pd(rdma->context);
	if (!rdma->pd || ibv_query_port(rdma->context, PORT, &port))
		die("%s: %s", device, strerror(errno));
	rdma->mtu = port.active_mtu;
	find_gid(rdma, device);
}

/* Registered memory, zeroed. */
struct ibv_mr *rdma_register(struct rdma *rdma, size_t size, int access)
{
	struct ibv_mr *mr;
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		die("no memory for %zu bytes", size);
	mr = ibv_reg_mr(rdma->pd, mem, size, access);
	if (!mr)
		die("cannot register %zu bytes: %s", size, strerror(errno));
	return mr;
}

struct ibv_qp *rdma_qp(struct rdma *rdma, struct ibv_cq *cq, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(rdma->pd, &init);

	if (!qp)
		die("cannot create a QP: %s", strerror(errno));
	return qp;
}

void rdma_end(struct rdma *rdma, struct ibv_qp *qp, struct ibv_mr *pool, struct rdma_end *end)
{
	*end = (struct rdma_end){
		.gid = rdma->gid,
		.qp = qp->qp_num,
		.psn = (uint32_t)now_ns() & 0xffffff,
	};
	if (pool) {
		end->addr = (uintptr_t)pool->addr;
		end->rkey = pool->rkey;
	}
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int error = ibv_modify_qp(qp, attr, mask);

	if (error)
		die("cannot connect: %s", strerror(error));
}

void rdma_connect_qp(struct rdma *rdma, struct ibv_qp *qp, const struct rdma_end *self,
		     const struct rdma_end *peer)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = rdma->mtu,
		.dest_qp_num = peer->qp,
		.rq_psn = peer->psn,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 16,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = rdma->gid_index,
				.hop_limit = 1,
			},
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = self->psn,
		.timeout = 18,		/* about a second: an emulated machine may pause */
		.retry_cnt = rdma->retries ? rdma->retries : 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};

	modify(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void add(struct rdma_batch *batch, enum ibv_wr_opcode opcode, struct ibv_mr *mr,
		const void *local, uint32_t len, uint64_t remote, uint32_t rkey, uint64_t id)
{
	struct ibv_sge *sge = batch->sges + batch->nr;
	struct ibv_send_wr *wr = batch->wrs + batch->nr;

	if (batch->nr)
		wr[-1].next = wr;
	batch->nr++;
	*sge = (struct ibv_sge){
		.addr = (uintptr_t)local,
		.length = len,
		.lkey = mr->lkey,
	};
	*wr = (struct ibv_send_wr){
		.wr_id = id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};
}

/*
 * Adds a write to those that rdma_post() will post at once. Each asks for its
 * completion: without it there is no proof.
 */
void rdma_write(struct rdma_batch *batch, struct ibv_mr *from, const void *local, uint32_t len,
		uint64_t remote, uint32_t rkey, uint64_t id)
{
	add(batch, IBV_WR_RDMA_WRITE, from, local, len, remote, rkey, id);
}

/* Likewise. */
void rdma_read(struct rdma_batch *batch, struct ibv_mr *to, void *local, uint32_t len,
	       uint64_t remote, uint32_t rkey, uint64_t id)
{
	add(batch, IBV_WR_RDMA_READ, to, local, len, remote, rkey, id);
}

void rdma_post(struct ibv_qp *qp, struct rdma_batch *batch)
{
	struct ibv_send_wr *bad;
	int error;

	if (!batch->nr)
		return;
	error = ibv_post_send(qp, batch->wrs, &bad);
	if (error)
		die("cannot post to the send queue: %s", strerror(error));
	batch->nr = 0;
}
