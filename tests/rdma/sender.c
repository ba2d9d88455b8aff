// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The sender: a process with a device, memory to send from, and a QP for each
 * link. It looks at its completion queue only when it is told to.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "verbs.h"

/* One connection. What is posted and has not completed is out. */
struct sender_link {
	struct ibv_qp *qp;
	struct end peer;
	uint32_t out;
	struct tally tally;
};

static struct port port;
static struct sender_link links[LINKS];

static void hang_up(struct sender_link *l)
{
	if (l->qp)
		need(!ibv_destroy_qp(l->qp), "ibv_destroy_qp");
	*l = (struct sender_link){ 0 };
}

static void connect_link(struct order *order)
{
	struct sender_link *l = &links[order->link];
	struct end self;

	hang_up(l);
	l->peer = order->end;
	l->qp = port_qp(&port, IBV_QPT_RC, MAX_POSTED);
	end_describe(&port, l->qp, &self);
	end_connect(&port, l->qp, &self, &l->peer, (uint8_t)order->timeout,
		    (uint8_t)order->retries);
	order->end = self;
}

/*
 * All in one call: one by one, the first are over before the last are posted,
 * and an abort would find little under way.
 */
static void post(const struct rig *rig, const struct order *order,
		 enum ibv_wr_opcode opcode)
{
	static struct ibv_send_wr wrs[MAX_POSTED];
	static struct ibv_sge sges[MAX_POSTED];
	struct sender_link *l = &links[order->link];
	uint32_t n = order->count * order->rounds, i;
	struct ibv_send_wr *bad;
	int err;

	need(n && n <= MAX_POSTED - l->out, "room for %u more", n);
	for (i = 0; i < n; i++) {
		uint32_t slot = order->first + i % order->count;

		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)rig->stage + (size_t)slot * SLOT,
			.length = SLOT,
			.lkey = port.mr->lkey,
		};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = order->link,
			.next = i + 1 < n ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {
				.remote_addr = l->peer.address + (size_t)slot * SLOT,
				.rkey = l->peer.rkey,
			},
		};
	}
	err = ibv_post_send(l->qp, wrs, &bad);
	need(!err, "ibv_post_send: %s", strerror(err));
	l->out += n;
}

static void drain(struct order *order)
{
	struct sender_link *l = &links[order->link];
	struct ibv_wc wc;
	int n;

	while (l->out) {
		n = ibv_poll_cq(port.cq, 1, &wc);
		need(n >= 0, "ibv_poll_cq");
		if (!n) {
			usleep(1000);
			continue;
		}
		links[wc.wr_id].out--;
		if (wc.status == IBV_WC_SUCCESS)
			links[wc.wr_id].tally.good++;
		else if (!links[wc.wr_id].tally.bad++)
			links[wc.wr_id].tally.first_bad = wc.status;
	}
	order->tally = l->tally;
}

static void obey(const struct rig *rig, struct order *order)
{
	switch (order->type) {
	case ORDER_CONNECT:
		connect_link(order);
		break;
	case ORDER_WRITE:
		stamp(rig->stage, order->first, order->count, order->generation);
		post(rig, order, IBV_WR_RDMA_WRITE);
		break;
	case ORDER_READ:
		post(rig, order, IBV_WR_RDMA_READ);
		break;
	case ORDER_FLUSH:
		qp_to_err(links[order->link].qp);
		drain(order);
		break;
	case ORDER_DRAIN:
		drain(order);
		break;
	case ORDER_HANG_UP:
		hang_up(&links[order->link]);
		break;
	}
}

void sender_main(const struct rig *rig, int fd)
{
	struct order order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	port_open(&port, rig->stage, (size_t)rig->nr_slots * SLOT,
		  IBV_ACCESS_LOCAL_WRITE);
	while (recv(fd, &order, sizeof(order), 0) == sizeof(order)) {
		obey(rig, &order);
		if (send(fd, &order, sizeof(order), MSG_NOSIGNAL) != sizeof(order))
			break;
	}
	_exit(0);
}
