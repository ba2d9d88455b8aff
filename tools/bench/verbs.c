// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdbool.h>
#include <string.h>
#include "bench.h"
#include "verbs.h"

void device_open(struct device *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_gid_entry entry;
	bool found = false;

	if (!list || !list[0])
		die("no RDMA device");
	device->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!device->context)
		die("cannot open the RDMA device");
	for (uint32_t i = 0; i < UINT8_MAX && !found; i++) {
		if (ibv_query_gid_ex(device->context, PORT, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		/* One that stands for an IPv4 address: configured on purpose. */
		found = !memcmp(entry.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		device->gid = entry.gid;
		device->gid_index = i;
	}
	if (!found)
		die("the RDMA device has no RoCE v2 address");
	device->pd = ibv_alloc_pd(device->context);
	if (!device->pd)
		die("no protection domain");
}

struct ibv_qp *device_qp(const struct device *device, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(device->pd, &init);

	if (!qp)
		die("cannot create a QP");
	return qp;
}

void device_connect(const struct device *device, struct ibv_qp *qp, const union ibv_gid *peer_gid,
		    uint32_t peer_qp)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_qp,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = {
				.dgid = *peer_gid,
				.sgid_index = device->gid_index,
				.hop_limit = 1,
			},
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS) ||
	    ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
	    ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("cannot connect");
}
