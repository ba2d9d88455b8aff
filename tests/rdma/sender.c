// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The sender: a process with a device, memory to send from, and a QP for each
 * link. It looks at its completion queue only when it is told to.
 */
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

static void post(const struct rig *rig, const struct order *order,
		 enum ibv_wr_opcode opcode)
{
	struct sender_link *l = &links[order->link];
	struct batch batch = {
		.opcode = opcode,
		.id = order->link,
		.mem = rig->stage,
		.lkey = port.mr->lkey,
		.address = l->peer.address,
		.rkey = l->peer.rkey,
		.message = order->message,
		.first = order->first,
		.count = order->count,
		.rounds = order->rounds,
	};

	if (order->type == ORDER_WRITE_BADLY)
		batch.bad_key = l->peer.rkey ^ 0xff;
	post_batch(l->qp, &batch);
	l->out += order->count * order->rounds;
}

/* Takes one completion, if there is one. */
static bool complete(void)
{
	struct sender_link *l;
	struct ibv_wc wc;
	int n = ibv_poll_cq(port.cq, 1, &wc);

	need(n >= 0, "ibv_poll_cq");
	if (!n)
		return false;
	l = &links[wc.wr_id];
	l->out--;
	if (wc.status == IBV_WC_SUCCESS)
		l->tally.good++;
	else if (!l->tally.bad++)
		l->tally.first_bad = wc.status;
	return true;
}

/* What it had posted has completed, or never will. */
static void hang_up(struct sender_link *l)
{
	if (l->qp)
		need(!ibv_destroy_qp(l->qp), "ibv_destroy_qp");
	while (complete())
		;
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

static void drain(struct order *order)
{
	struct sender_link *l = &links[order->link];

	while (l->out) {
		if (!complete())
			usleep(1000);
	}
	order->tally = l->tally;
	l->tally = (struct tally){ 0 };
}

/* Is there an order to read, or the end? */
static bool ordered(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* The next order; until it comes, the last one goes on if it is to write on and on. */
static bool next_order(const struct rig *rig, int fd, struct order *order)
{
	struct sender_link *l = &links[order->link];

	while (order->type == ORDER_STREAM && !l->tally.bad && !ordered(fd)) {
		if (l->out <= order->count)
			post(rig, order, IBV_WR_RDMA_WRITE);
		else if (!complete())
			usleep(1000);
	}
	return recv(fd, order, sizeof(*order), MSG_WAITALL) == sizeof(*order);
}

static void obey(const struct rig *rig, struct order *order)
{
	switch (order->type) {
	case ORDER_CONNECT:
		connect_link(order);
		break;
	case ORDER_WRITE:
	case ORDER_WRITE_BADLY:
	case ORDER_STREAM:
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

/*
 * Soft-RoCE may carry out most of what is posted before the call that posts it
 * returns: that is answered first.
 */
static bool posts(const struct order *order)
{
	return order->type == ORDER_WRITE || order->type == ORDER_WRITE_BADLY ||
	       order->type == ORDER_STREAM || order->type == ORDER_READ;
}

static void answer(int fd, const struct order *order)
{
	need(send(fd, order, sizeof(*order), MSG_NOSIGNAL) == sizeof(*order),
	     "an answer");
}

void sender_main(const struct rig *rig, int fd, const char *device)
{
	struct order order = { .type = ORDER_HANG_UP };

	port_open(&port, device, rig->stage, (size_t)rig->nr_slots * SLOT,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 2 * MAX_POSTED);
	while (next_order(rig, fd, &order)) {
		if (posts(&order))
			answer(fd, &order);
		obey(rig, &order);
		if (!posts(&order))
			answer(fd, &order);
	}
	_exit(0);
}
