/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The little of libibverbs that all tests on Soft-RoCE need, here and elsewhere:
 * a device, queue pairs on it, and how two of them are connected.
 */
#ifndef RDMA_PORT_H
#define RDMA_PORT_H

#include <infiniband/verbs.h>

#include "../e2e/e2e.h"

#define DEVICE		"rxe0"
#define FOR_EVER	7		/* as retries */

/* One end of a connection, as the other one needs to know it. */
struct end {
	union ibv_gid gid;
	uint64_t address;
	uint32_t rkey;
	uint32_t qp;
	uint32_t psn;
};

/* A process's view of the device. */
struct port {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t gid_index;
	enum ibv_mtu mtu;
};

/* The device alone; and with memory, and a completion queue for port_qp(). */
void port_device(struct port *port, const char *device);
void port_open(struct port *port, const char *device, void *mem, size_t size,
	       int access, int depth);
void port_close(struct port *port);
struct ibv_qp *port_qp(struct port *port, enum ibv_qp_type type, uint32_t depth);

void qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/* From RESET to INIT, whatever its type. */
void qp_to_init(struct ibv_qp *qp);
void qp_to_err(struct ibv_qp *qp);

void end_describe(const struct port *port, struct ibv_qp *qp, struct end *end);
/* From INIT to RTS: RC or UC. Of itself only the psn matters. */
void end_ready(const struct port *port, struct ibv_qp *qp,
	       const struct end *self, const struct end *peer,
	       uint8_t timeout, uint8_t retries);
/* From RESET to RTS. */
void end_connect(const struct port *port, struct ibv_qp *qp,
		 const struct end *self, const struct end *peer,
		 uint8_t timeout, uint8_t retries);

#endif /* RDMA_PORT_H */
