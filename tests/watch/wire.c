// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "e2e.h"
#include "wire.h"

#define PORT		1
#define GID_INDEX	1	/* the IPv4 address; see tests/vm/run */
#define DEPTH		16

static struct ibv_context *rxe0(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "rxe0"))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static struct ibv_qp *new_qp(struct wire *wire)
{
	struct ibv_qp_init_attr init = {
		.send_cq = wire->cq,
		.recv_cq = wire->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	return ibv_create_qp(wire->pd, &init);
}

static void connect_qp(struct wire *wire, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.dest_qp_num = peer,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .sgid_index = GID_INDEX, .hop_limit = 1 },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	need(!ibv_query_port(wire->context, PORT, &port) &&
	     !ibv_query_gid(wire->context, PORT, GID_INDEX, &gid), "rxe0's address");
	rtr.path_mtu = port.active_mtu;
	rtr.ah_attr.grh.dgid = gid;
	need(!ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS) &&
	     !ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER) &&
	     !ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
	     "a connection");
}

void wire_open(struct wire *wire, void *memory, size_t size)
{
	wire->context = rxe0();
	need(wire->context, "rxe0");
	wire->pd = ibv_alloc_pd(wire->context);
	wire->cq = ibv_create_cq(wire->context, DEPTH, NULL, NULL, 0);
	need(wire->pd && wire->cq, "a protection domain and a completion queue");
	wire->mr = ibv_reg_mr(wire->pd, memory, size,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	wire->sender = new_qp(wire);
	wire->receiver = new_qp(wire);
	need(wire->mr && wire->sender && wire->receiver, "memory and queue pairs");
	connect_qp(wire, wire->sender, wire->receiver->qp_num);
	connect_qp(wire, wire->receiver, wire->sender->qp_num);
}

void wire_close(struct wire *wire)
{
	need(!ibv_destroy_qp(wire->sender) && !ibv_destroy_qp(wire->receiver) &&
	     !ibv_dereg_mr(wire->mr) && !ibv_destroy_cq(wire->cq) &&
	     !ibv_dealloc_pd(wire->pd) && !ibv_close_device(wire->context),
	     "an end of the connection");
}

void wire_post(struct wire *wire, const void *from, void *to, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)from,
		.length = len,
		.lkey = wire->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)to,
			.rkey = wire->mr->rkey,
		},
	};

	need(!ibv_post_send(wire->sender, &wr, &bad), "a write");
}

void wire_wait(struct wire *wire)
{
	struct ibv_wc wc = { 0 };

	need(until(ibv_poll_cq(wire->cq, 1, &wc) == 1) && wc.status == IBV_WC_SUCCESS,
	     "the completion of a write");
}

void wire_write(struct wire *wire, const void *from, void *to, uint32_t len)
{
	wire_post(wire, from, to, len);
	wire_wait(wire);
}
