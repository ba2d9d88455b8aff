// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The light probe: a fresh connection by RDMA CM, and a write of no bytes over it.
 * Its acknowledgement comes from the peer's device, so both directions work. Such
 * a write needs no memory of the peer's, and no key.
 *
 * Everything is of one call: what a probe that fails leaves is destroyed with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <rdma/rdma_cma.h>

#include "internal.h"

#define TIMEOUT_MS	5000

struct attempt {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	bool connected;
	uint64_t end_ns;
};

static int left_ms(const struct attempt *a)
{
	uint64_t now = lkvfence__pnow_ns();

	return now < a->end_ns ? (a->end_ns - now) / NSEC_PER_MSEC + 1 : 0;
}

/* What an event that wasn't hoped for means. */
static int error_of(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		return -ECONNREFUSED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	default:
		/* for some the status is a code of the wire's own */
		return event->status < 0 && event->status > -4096 ?
		       event->status : -EHOSTUNREACH;
	}
}

static int expect(struct attempt *a, enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = a->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int err;

	for (;;) {
		if (!rdma_get_cm_event(a->channel, &event))
			break;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!left_ms(a))
			return -ETIMEDOUT;
		if (poll(&pfd, 1, left_ms(a)) < 0 && errno != EINTR)
			return -errno;
	}
	err = event->event == type ? 0 : error_of(event);
	rdma_ack_cm_event(event);
	return err;
}

static int resolve(struct attempt *a, const struct lkvfence_probe_target *target)
{
	struct sockaddr *source = (struct sockaddr *)(uintptr_t)target->source;
	struct sockaddr *address = (struct sockaddr *)(uintptr_t)target->address;
	int flags, err;

	a->channel = rdma_create_event_channel();
	if (!a->channel)
		return -errno;
	flags = fcntl(a->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(a->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	if (rdma_create_id(a->channel, &a->id, NULL, RDMA_PS_TCP))
		return -errno;
	if (rdma_resolve_addr(a->id, source, address, left_ms(a)))
		return -errno;
	err = expect(a, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (err)
		return err;
	if (rdma_resolve_route(a->id, left_ms(a)))
		return -errno;
	return expect(a, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int connect_qp(struct attempt *a)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .retry_count = 3 };
	int err;

	a->pd = ibv_alloc_pd(a->id->verbs);
	if (!a->pd)
		return -errno;
	a->cq = ibv_create_cq(a->id->verbs, 2, NULL, NULL, 0);
	if (!a->cq)
		return -errno;
	init.send_cq = a->cq;
	init.recv_cq = a->cq;
	if (rdma_create_qp(a->id, a->pd, &init))
		return -errno;
	if (rdma_connect(a->id, &param))
		return -errno;
	err = expect(a, RDMA_CM_EVENT_ESTABLISHED);
	a->connected = !err;
	return err;
}

static int write_nothing(struct attempt *a)
{
	static const struct timespec moment = { .tv_nsec = 200000 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	int n;

	n = ibv_post_send(a->id->qp, &wr, &bad);
	if (n)
		return n < 0 ? n : -n;
	for (;;) {
		n = ibv_poll_cq(a->cq, 1, &wc);
		if (n < 0 || (n && wc.status != IBV_WC_SUCCESS))
			return -EIO;
		if (n)
			return 0;
		if (!left_ms(a))
			return -ETIMEDOUT;
		nanosleep(&moment, NULL);
	}
}

static void clean_up(struct attempt *a)
{
	if (a->connected)
		rdma_disconnect(a->id);
	if (a->id && a->id->qp)
		rdma_destroy_qp(a->id);
	if (a->cq)
		ibv_destroy_cq(a->cq);
	if (a->pd)
		ibv_dealloc_pd(a->pd);
	if (a->id)
		rdma_destroy_id(a->id);
	if (a->channel)
		rdma_destroy_event_channel(a->channel);
}

int lkvfence_probe_rdma(const struct lkvfence_probe *probe, void *arg)
{
	const struct lkvfence_probe_target *target = arg;
	uint32_t timeout_ms = target->timeout_ms ? target->timeout_ms : TIMEOUT_MS;
	struct attempt a = {
		.end_ns = lkvfence__pnow_ns() + timeout_ms * NSEC_PER_MSEC,
	};
	int saved = errno;
	int err = resolve(&a, target);

	if (!err)
		err = connect_qp(&a);
	if (!err)
		err = write_nothing(&a);
	clean_up(&a);
	errno = saved;
	if (err)
		return lkvfence__pfail(err, "probe of peer %s: %m", probe->peer);
	return 0;
}
