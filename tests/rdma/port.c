// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <arpa/inet.h>

#include "port.h"

#define PORT	1

/* A RoCE v2 address that stands for an IPv4 one: configured on purpose. */
static void find_gid(struct port *port)
{
	struct ibv_gid_entry entry;
	uint32_t i;

	for (i = 0; i < UINT8_MAX; i++) {
		if (ibv_query_gid_ex(port->context, PORT, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !IN6_IS_ADDR_V4MAPPED((struct in6_addr *)entry.gid.raw))
			continue;
		port->gid = entry.gid;
		port->gid_index = (uint8_t)i;
		return;
	}
	need(false, "a RoCE v2 address");
}

void port_device(struct port *port, const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr attr;
	int i;

	*port = (struct port){ 0 };
	for (i = 0; list && list[i] && !port->context; i++) {
		if (!strcmp(ibv_get_device_name(list[i]), device))
			port->context = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	need(port->context, "RDMA device %s", device);
	need(!ibv_query_port(port->context, PORT, &attr), "ibv_query_port");
	port->mtu = attr.active_mtu;
	find_gid(port);
	port->pd = ibv_alloc_pd(port->context);
	need(port->pd, "ibv_alloc_pd");
}

void port_open(struct port *port, const char *device, void *mem, size_t size,
	       int access, int depth)
{
	port_device(port, device);
	port->cq = ibv_create_cq(port->context, depth, NULL, NULL, 0);
	need(port->cq, "ibv_create_cq");
	port->mr = ibv_reg_mr(port->pd, mem, size, access);
	need(port->mr, "ibv_reg_mr");
}

void port_close(struct port *port)
{
	need((!port->mr || !ibv_dereg_mr(port->mr)) &&
	     (!port->cq || !ibv_destroy_cq(port->cq)) &&
	     !ibv_dealloc_pd(port->pd) && !ibv_close_device(port->context),
	     "the device closed");
	*port = (struct port){ 0 };
}

struct ibv_qp *port_qp(struct port *port, enum ibv_qp_type type, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = port->cq,
		.recv_cq = port->cq,
		.qp_type = type,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(port->pd, &init);

	need(qp, "ibv_create_qp");
	return qp;
}

void end_describe(const struct port *port, struct ibv_qp *qp, struct end *end)
{
	*end = (struct end){
		.gid = port->gid,
		.address = port->mr ? (uintptr_t)port->mr->addr : 0,
		.rkey = port->mr ? port->mr->rkey : 0,
		.qp = qp->qp_num,
		.psn = (uint32_t)now_ns() & 0xffffff,
	};
}

void qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err = ibv_modify_qp(qp, attr, mask);

	need(!err, "ibv_modify_qp to %d: %s", attr->qp_state, strerror(err));
}

void qp_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.qkey = 1,
	};

	qp_modify(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

void qp_to_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	qp_modify(qp, &attr, IBV_QP_STATE);
}

void end_ready(const struct port *port, struct ibv_qp *qp,
	       const struct end *self, const struct end *peer,
	       uint8_t timeout, uint8_t retries)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port->mtu,
		.dest_qp_num = peer->qp,
		.rq_psn = peer->psn,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 16,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = port->gid_index,
				.hop_limit = 1,
			},
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = self->psn,
		.timeout = timeout,
		.retry_cnt = retries,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	bool rc = qp->qp_type == IBV_QPT_RC;

	qp_modify(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		  IBV_QP_RQ_PSN | (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	qp_modify(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN |
		  (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

void end_connect(const struct port *port, struct ibv_qp *qp,
		 const struct end *self, const struct end *peer,
		 uint8_t timeout, uint8_t retries)
{
	qp_to_init(qp);
	end_ready(port, qp, self, peer, timeout, retries);
}
