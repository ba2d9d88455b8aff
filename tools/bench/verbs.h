/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The little of libibverbs that the measurements with queue pairs share. */
#ifndef BENCH_VERBS_H
#define BENCH_VERBS_H

#include <infiniband/verbs.h>

#define PORT		1

/* The first RDMA device, at an address that stands for an IPv4 one. */
struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint8_t gid_index;
};

void device_open(struct device *device);
/* An RC queue pair with that one completion queue, in RESET. */
struct ibv_qp *device_qp(const struct device *device, struct ibv_cq *cq);
/* From RESET to RTS. */
void device_connect(const struct device *device, struct ibv_qp *qp, const union ibv_gid *peer_gid,
		    uint32_t peer_qp);

#endif /* BENCH_VERBS_H */
