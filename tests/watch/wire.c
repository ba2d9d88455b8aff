// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "wire.h"

#define DEPTH		16

void wire_open(struct wire *wire, void *memory, size_t size)
{
	struct port *port = &wire->port;
	struct end sender, receiver;

	port_open(port, DEVICE, memory, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  DEPTH);
	wire->sender = port_qp(port, IBV_QPT_RC, DEPTH);
	wire->receiver = port_qp(port, IBV_QPT_RC, DEPTH);
	end_describe(port, wire->sender, &sender);
	end_describe(port, wire->receiver, &receiver);
	end_connect(port, wire->sender, &sender, &receiver, 18, FOR_EVER);
	end_connect(port, wire->receiver, &receiver, &sender, 18, FOR_EVER);
}

void wire_close(struct wire *wire)
{
	need(!ibv_destroy_qp(wire->sender) && !ibv_destroy_qp(wire->receiver),
	     "both ends destroyed");
	port_close(&wire->port);
}

void wire_post(struct wire *wire, const void *from, void *to, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)from,
		.length = len,
		.lkey = wire->port.mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)to,
			.rkey = wire->port.mr->rkey,
		},
	};

	need(!ibv_post_send(wire->sender, &wr, &bad), "a write");
}

void wire_wait(struct wire *wire)
{
	struct ibv_wc wc = { 0 };

	need(until(ibv_poll_cq(wire->port.cq, 1, &wc) == 1) && wc.status == IBV_WC_SUCCESS,
	     "the completion of a write");
}

void wire_write(struct wire *wire, const void *from, void *to, uint32_t len)
{
	wire_post(wire, from, to, len);
	wire_wait(wire);
}
