// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The other end of lkvfence_probe_rdma(): takes connections, and does nothing on
 * them, for a write of no bytes is acknowledged by the device alone.
 *
 * A prober that dies doesn't say so: what it left is dropped after a while, or when
 * there are many.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "internal.h"

#define MAX_CONNECTIONS	64
#define LIFE_NS		(60 * NSEC_PER_SEC)
#define LOOK_MS		5000	/* how often what is old is looked for */

/* A connection; the oldest is the last. */
struct connection {
	struct connection *next;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint64_t since_ns;
};

struct lkvfence_responder {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	int stop;
	pthread_t thread;
	struct connection *connections;
	unsigned int nr;
};

static void drop(struct lkvfence_responder *r, struct connection **link)
{
	struct connection *c = *link;

	*link = c->next;
	r->nr--;
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	free(c);
}

static void drop_id(struct lkvfence_responder *r, const struct rdma_cm_id *id)
{
	struct connection **link;

	for (link = &r->connections; *link; link = &(*link)->next) {
		if ((*link)->id != id)
			continue;
		drop(r, link);
		return;
	}
}

static void drop_old(struct lkvfence_responder *r)
{
	struct connection **link = &r->connections;
	uint64_t now = lkvfence__pnow_ns();

	while (*link) {
		if (r->nr >= MAX_CONNECTIONS ? !(*link)->next :
		    now - (*link)->since_ns >= LIFE_NS)
			drop(r, link);
		else
			link = &(*link)->next;
	}
}

static int accept_id(struct connection *c)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { 0 };

	c->pd = ibv_alloc_pd(c->id->verbs);
	if (!c->pd)
		return -1;
	c->cq = ibv_create_cq(c->id->verbs, 2, NULL, NULL, 0);
	if (!c->cq)
		return -1;
	init.send_cq = c->cq;
	init.recv_cq = c->cq;
	return rdma_create_qp(c->id, c->pd, &init) || rdma_accept(c->id, &param) ?
	       -1 : 0;
}

static void take(struct lkvfence_responder *r, struct rdma_cm_id *id)
{
	struct connection *c;

	drop_old(r);
	c = calloc(1, sizeof(*c));
	if (!c) {
		rdma_destroy_id(id);
		return;
	}
	c->id = id;
	c->since_ns = lkvfence__pnow_ns();
	c->next = r->connections;
	r->connections = c;
	r->nr++;
	/* Destroyed without an answer, it is rejected. */
	if (accept_id(c))
		drop(r, &r->connections);
}

static void handle(struct lkvfence_responder *r)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(r->channel, &event)) {
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;

		/* First: an id can't be destroyed while it has events. */
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			take(r, id);
		else if (type != RDMA_CM_EVENT_ESTABLISHED)
			drop_id(r, id);
	}
}

static void *respond(void *arg)
{
	struct lkvfence_responder *r = arg;
	struct pollfd pfds[2] = {
		{ .fd = r->channel->fd, .events = POLLIN },
		{ .fd = r->stop, .events = POLLIN },
	};

	for (;;) {
		poll(pfds, 2, r->nr ? LOOK_MS : -1);
		if (pfds[1].revents)
			return NULL;
		handle(r);
		drop_old(r);
	}
}

static void destroy(struct lkvfence_responder *r)
{
	while (r->connections)
		drop(r, &r->connections);
	if (r->listener)
		rdma_destroy_id(r->listener);
	if (r->channel)
		rdma_destroy_event_channel(r->channel);
	if (r->stop >= 0)
		close(r->stop);
	free(r);
}

static int start(struct lkvfence_responder *r, const struct sockaddr *address)
{
	struct sockaddr *at = (struct sockaddr *)(uintptr_t)address;
	int flags;

	r->stop = eventfd(0, EFD_CLOEXEC);
	if (r->stop < 0)
		return -errno;
	r->channel = rdma_create_event_channel();
	if (!r->channel)
		return -errno;
	flags = fcntl(r->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(r->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	if (rdma_create_id(r->channel, &r->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(r->listener, at) ||
	    rdma_listen(r->listener, MAX_CONNECTIONS))
		return -errno;
	return lkvfence__pthread(&r->thread, 0, respond, r);
}

int lkvfence_responder_start(struct lkvfence_responder **responder,
			     const struct sockaddr *address)
{
	struct lkvfence_responder *r = calloc(1, sizeof(*r));
	int saved = errno;
	int err;

	*responder = NULL;
	if (!r)
		return lkvfence__pfail(-ENOMEM, "responder: no memory");
	err = start(r, address);
	errno = saved;
	if (err) {
		destroy(r);
		errno = saved;
		return lkvfence__pfail(err,
			"responder: can't listen for RDMA connections there: %m (module rdma_ucm?)");
	}
	*responder = r;
	return 0;
}

uint16_t lkvfence_responder_port(const struct lkvfence_responder *r)
{
	uint16_t port = rdma_get_src_port(r->listener);

	/* as it is on the wire */
	return (uint16_t)(port << 8 | port >> 8);
}

void lkvfence_responder_stop(struct lkvfence_responder *r)
{
	const uint64_t one = 1;
	int saved = errno;

	if (!r)
		return;
	if (write(r->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(r->thread, NULL);
	destroy(r);
	errno = saved;
}
