/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * RDMA WRITE over Soft-RoCE from one part of the process's memory to another: a
 * sender and a receiver in one, so that a write can be late on purpose.
 */
#ifndef TEST_WATCH_WIRE_H
#define TEST_WATCH_WIRE_H

#include "../rdma/port.h"

struct wire {
	struct port port;
	struct ibv_qp *sender;
	struct ibv_qp *receiver;
};

/* On rxe0; the test ends if that can't be. */
void wire_open(struct wire *wire, void *memory, size_t size);
void wire_close(struct wire *wire);

/* Post one write; and wait until it was acknowledged. */
void wire_post(struct wire *wire, const void *from, void *to, uint32_t len);
void wire_wait(struct wire *wire);
void wire_write(struct wire *wire, const void *from, void *to, uint32_t len);

#endif /* TEST_WATCH_WIRE_H */
