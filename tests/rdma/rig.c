// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The part of the rig that a test calls. verbs.c has what both processes do with
 * the device, sender.c the other process.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "verbs.h"

/*
 * Stamps
 */

struct mark {
	uint64_t generation;
	uint64_t slot;
};

#define MARKS	(SLOT / sizeof(struct mark))

static struct mark *marks_of(const char *mem, uint32_t slot)
{
	return (struct mark *)(mem + (size_t)slot * SLOT);
}

void stamp(char *mem, uint32_t first, uint32_t count, uint64_t generation)
{
	uint32_t slot, i;

	for (slot = first; slot < first + count; slot++) {
		volatile struct mark *m = marks_of(mem, slot);

		for (i = 0; i < MARKS; i++) {
			m[i].generation = generation;
			m[i].slot = slot;
		}
	}
}

size_t stamped(const char *mem, uint32_t first, uint32_t count, uint64_t generation)
{
	uint32_t slot, i;
	size_t n = 0;

	for (slot = first; slot < first + count; slot++) {
		const volatile struct mark *m = marks_of(mem, slot);

		for (i = 0; i < MARKS; i++)
			n += m[i].generation == generation && m[i].slot == slot;
	}
	return n * sizeof(struct mark);
}

size_t strays(const char *mem, uint32_t first, uint32_t count, uint64_t generation)
{
	return (size_t)count * SLOT - stamped(mem, first, count, generation);
}

void landing(const struct rig *rig, uint32_t slot, uint64_t generation)
{
	const volatile struct mark *m = marks_of(rig->pool, slot);

	need(until(m->generation == generation), "a write begins to land");
}

/*
 * The sender
 */

static void *shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	need(mem != MAP_FAILED, "%zu bytes", size);
	return mem;
}

void rig_start(struct rig *rig, uint32_t nr_slots)
{
	int fds[2];

	*rig = (struct rig){
		.nr_slots = nr_slots,
		.pool = shared((size_t)nr_slots * SLOT),
		.stage = shared((size_t)nr_slots * SLOT),
		.timeout = 16,
		.retries = 6,
	};
	need(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), "a socket");
	rig->sender = fork();
	need(rig->sender >= 0, "fork");
	if (!rig->sender) {
		close(fds[0]);
		sender_main(rig, fds[1]);
	}
	close(fds[1]);
	rig->fd = fds[0];
}

void rig_open(struct rig *rig)
{
	port_open(&rig->port, rig->pool, (size_t)rig->nr_slots * SLOT,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		  IBV_ACCESS_REMOTE_READ);
}

void rig_new(struct rig *rig, uint32_t nr_slots)
{
	rig_start(rig, nr_slots);
	rig_open(rig);
}

void rig_close(struct rig *rig)
{
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		rig_destroy(rig, i);
	port_close(&rig->port);
}

void rig_end(struct rig *rig)
{
	if (rig->sender > 0) {
		kill(rig->sender, SIGKILL);
		status_of(rig->sender);
	}
	close(rig->fd);
	if (rig->port.context)
		rig_close(rig);
	munmap(rig->pool, (size_t)rig->nr_slots * SLOT);
	munmap(rig->stage, (size_t)rig->nr_slots * SLOT);
}

/* Ask the sender, and wait for its answer. */
static void ask(struct rig *rig, struct order *order)
{
	ssize_t n;

	need(send(rig->fd, order, sizeof(*order), MSG_NOSIGNAL) == sizeof(*order),
	     "an order to the sender");
	n = recv(rig->fd, order, sizeof(*order), 0);
	need(n == sizeof(*order), "the sender's answer");
}

/*
 * Connections
 */

void rig_connect(struct rig *rig, uint32_t link)
{
	struct order order = {
		.type = ORDER_CONNECT,
		.link = link,
		.timeout = rig->timeout,
		.retries = rig->retries,
	};
	struct end self;

	rig_destroy(rig, link);
	rig->qps[link] = port_qp(&rig->port, IBV_QPT_RC, 1);
	end_describe(&rig->port, rig->qps[link], &self);
	order.end = self;
	ask(rig, &order);
	end_connect(&rig->port, rig->qps[link], &self, &order.end, 16, 6);
	post_receive(rig->qps[link], link);
}

void rig_destroy(struct rig *rig, uint32_t link)
{
	int err;

	if (!rig->qps[link])
		return;
	err = ibv_destroy_qp(rig->qps[link]);
	need(!err, "ibv_destroy_qp: %s", strerror(err));
	rig->qps[link] = NULL;
}

struct ibv_qp *rig_qp(struct rig *rig, enum ibv_qp_type type)
{
	return port_qp(&rig->port, type, 1);
}

void rig_err(struct rig *rig, uint32_t link)
{
	qp_to_err(rig->qps[link]);
}

/*
 * The queue is this process's own, and nothing but these receives ends in it.
 * A QP that was destroyed takes its completions along.
 */
void rig_see_flush(struct rig *rig, uint32_t link)
{
	struct ibv_wc wc;
	int n = 0;

	need(until((n = ibv_poll_cq(rig->port.cq, 1, &wc))), "a flushed receive");
	need(n == 1 && wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == link,
	     "that receive: %d, status %d, of %" PRIu64, n, wc.status, wc.wr_id);
}

static void post(struct rig *rig, uint32_t type, uint32_t link,
		 uint64_t generation, uint32_t first, uint32_t count,
		 uint32_t rounds)
{
	struct order order = {
		.type = type,
		.link = link,
		.generation = generation,
		.first = first,
		.count = count,
		.rounds = rounds,
	};

	ask(rig, &order);
}

void rig_write(struct rig *rig, uint32_t link, uint64_t generation,
	       uint32_t first, uint32_t count, uint32_t rounds)
{
	post(rig, ORDER_WRITE, link, generation, first, count, rounds);
}

void rig_read(struct rig *rig, uint32_t link, uint32_t first, uint32_t count,
	      uint32_t rounds)
{
	post(rig, ORDER_READ, link, 0, first, count, rounds);
}

static struct tally tally_of(struct rig *rig, uint32_t type, uint32_t link)
{
	struct order order = { .type = type, .link = link };

	ask(rig, &order);
	return order.tally;
}

struct tally rig_drain(struct rig *rig, uint32_t link)
{
	return tally_of(rig, ORDER_DRAIN, link);
}

struct tally rig_flush(struct rig *rig, uint32_t link)
{
	return tally_of(rig, ORDER_FLUSH, link);
}

void rig_hang_up(struct rig *rig, uint32_t link)
{
	tally_of(rig, ORDER_HANG_UP, link);
}

/*
 * The fence
 */

uint64_t bind_links(struct lkvfence *f, const struct rig *rig, uint32_t source,
		    uint32_t link, uint32_t nr)
{
	struct lkvfence_qp qps[LINKS] = { 0 };
	struct lkvfence_source s = {
		.source = source,
		.nr_qps = nr,
		.qps = (uintptr_t)qps,
		.peer = "sender",
	};
	uint32_t i;

	for (i = 0; i < nr; i++) {
		strcpy(qps[i].device, DEVICE);
		qps[i].number = rig->qps[link + i]->qp_num;
	}
	need(!lkvfence_source(f, &s), "SOURCE %u", source);
	return s.binding;
}

uint64_t bind_link(struct lkvfence *f, const struct rig *rig, uint32_t source,
		   uint32_t link)
{
	return bind_links(f, rig, source, link, 1);
}

int try_bind(struct lkvfence *f, uint32_t source, const char *device,
	     uint32_t number)
{
	struct lkvfence_qp qp = { .number = number };
	struct lkvfence_source s = {
		.source = source,
		.nr_qps = 1,
		.qps = (uintptr_t)&qp,
	};

	snprintf(qp.device, sizeof(qp.device), "%s", device);
	return lkvfence_source(f, &s);
}

struct lkvfence_event event_of(struct lkvfence *f, uint32_t type)
{
	struct lkvfence_event e;

	do
		e = event(f);
	while (e.type && e.type != type);
	return e;
}

bool released_as(const struct lkvfence_event *e, uint64_t generation,
		 uint32_t outcome, uint32_t evidence)
{
	bool tainted = e->flags & LKVFENCE_EVENT_TAINTED;

	if (e->type == LKVFENCE_EVENT_RELEASED && e->generation == generation &&
	    e->outcome == outcome && e->evidence == evidence &&
	    tainted == (outcome == LKVFENCE_OUTCOME_TIMEOUT))
		return true;
	note("event: type %u, generation %" PRIu64 " of %" PRIu64 ", outcome %s, evidence %s, flags %#x, reason %s",
	     e->type, (uint64_t)e->generation, generation,
	     lkvfence_outcome_name(e->outcome), lkvfence_evidence_name(e->evidence),
	     e->flags, lkvfence_reason_name(e->reason));
	return false;
}

uint32_t runs(uint32_t standard)
{
	const char *given = getenv("LKVFENCE_RDMA_RUNS");

	return given && atoi(given) > 0 ? (uint32_t)atoi(given) : standard;
}

int run(const char *fmt, ...)
{
	char command[512];
	va_list args;
	int status;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
