// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The producer of serving.c: what it computes is pulled by the other end. Also
 * what both ends have in common.
 */
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "serving.h"
#include "verbs.h"

#define REQUESTS	4096U		/* numbers of requests, at most */
/* What it takes to compute a request, at most. */
#define COMPUTE_MS	40

void tell(int fd, const struct message *m)
{
	need(send(fd, m, sizeof(*m), MSG_NOSIGNAL) == sizeof(*m), "a message to the other end");
}

bool hear(int fd, struct message *m)
{
	ssize_t n = recv(fd, m, sizeof(*m), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return false;
	need(recv(fd, m, sizeof(*m), MSG_WAITALL) == sizeof(*m), "the other end is there");
	return true;
}

bool either(int fd, struct lkvfence *f, int ms)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = lkvfence_fd(f), .events = POLLIN },
	};

	return poll(fds, ARRAY_SIZE(fds), ms) > 0;
}

uint32_t slots_get(struct slots *s, uint32_t count)
{
	uint32_t i, row = 0;

	for (i = 0; i < POOL; i++) {
		row = s->taken[i] ? 0 : row + 1;
		if (row < count)
			continue;
		memset(&s->taken[i + 1 - count], true, count);
		return i + 1 - count;
	}
	return POOL;
}

void slots_put(struct slots *s, uint32_t first, uint32_t count)
{
	memset(&s->taken[first], false, count);
}

static uint64_t word(uint32_t request, uint32_t block, uint32_t i)
{
	return (uint64_t)request << 32 | block << 16 | i;
}

void write_text(char *slot, uint32_t request, uint32_t blocks)
{
	uint64_t *to = (uint64_t *)slot;
	uint32_t block, i;

	for (block = 0; block < blocks; block++) {
		for (i = 0; i < BLOCK / sizeof(*to); i++)
			*to++ = word(request, block, i);
	}
}

bool right_text(const char *slot, uint32_t request, uint32_t blocks)
{
	const uint64_t *from = (const uint64_t *)slot;
	uint32_t block, i;

	for (block = 0; block < blocks; block++) {
		for (i = 0; i < BLOCK / sizeof(*from); i++) {
			if (*from++ != word(request, block, i))
				return false;
		}
	}
	return true;
}

/*
 * The producer
 */

/* Its part of a request. */
struct part {
	bool waits;			/* for slots */
	bool offered;
	uint32_t blocks;
	uint32_t first;
	uint64_t generation;
	int64_t ready_at;		/* 0: it is, or is over */
};

static struct producer {
	int fd;
	struct lkvfence *f;
	struct port port;
	char *pool;
	struct slots slots;
	struct part parts[REQUESTS];
	uint32_t first_open;		/* no request before it is anything */
	uint32_t last;
	uint32_t offered;		/* how many are */
} p;

static void connect_back(const struct message *m)
{
	struct message back = { .type = MESSAGE_CONNECT };
	struct ibv_qp *qp = port_qp(&p.port, IBV_QPT_RC, 1);

	end_describe(&p.port, qp, &back.end);
	end_connect(&p.port, qp, &back.end, &m->end, 16, 6);
	tell(p.fd, &back);
}

/* Offer it, if there is room; its data is there a little later. */
static void offer(uint32_t request)
{
	struct part *part = &p.parts[request];
	struct lkvfence_range range = { .count = part->blocks };
	struct lkvfence_begin b = {
		.tag = request,
		.ranges = (uintptr_t)&range,
		.nr_ranges = 1,
	};
	int err;

	part->first = slots_get(&p.slots, part->blocks);
	if (part->first == POOL)
		return;
	part->waits = false;
	range.first = part->first;
	err = lkvfence_offer(p.f, &b);
	if (err == -ECANCELED) {
		/* It was dropped before. */
		slots_put(&p.slots, part->first, part->blocks);
		return;
	}
	need(!err, "OFFER: %s", lkvfence_errmsg());
	part->offered = true;
	part->generation = b.generation;
	part->ready_at = now_ns() + rand() % COMPUTE_MS * (int64_t)MS;
	p.offered++;
}

static void compute(uint32_t request)
{
	struct part *part = &p.parts[request];
	struct lkvfence_ready ready = { .ttl_ns = 600000 * MS, .consumers = 1 };
	int err;

	if (part->waits)
		offer(request);
	if (!part->ready_at || part->ready_at > now_ns())
		return;
	part->ready_at = 0;
	/* It may write it: whoever ends it gets the slots back only by its event. */
	write_text(p.pool + (size_t)part->first * BLOCK, request, part->blocks);
	ready.generation = part->generation;
	err = lkvfence_ready(p.f, &ready);
	need(!err || err == -ECANCELED || err == -ESTALE, "READY: %s", lkvfence_errmsg());
}

/* All that is due; when the next one is, in ms. */
static int compute_all(void)
{
	uint32_t i;

	for (i = p.first_open; i <= p.last; i++) {
		compute(i);
		if (i == p.first_open && !p.parts[i].waits && !p.parts[i].offered)
			p.first_open++;
	}
	return 5;
}

static void obey(const struct message *m)
{
	struct lkvfence_pull pull = {
		.tag = m->request,
		.source = 1,
		.timeout_ns = 600000 * MS,
		.unclaimed_ns = 600000 * MS,
	};
	int err;

	switch (m->type) {
	case MESSAGE_CONNECT:
		connect_back(m);
		break;
	case MESSAGE_REQUEST:
		need(m->request < REQUESTS && m->blocks && m->blocks <= MAX_BLOCKS,
		     "a request");
		p.parts[m->request] = (struct part){ .waits = true, .blocks = m->blocks };
		if (m->request > p.last)
			p.last = m->request;
		break;
	case MESSAGE_PULL:
		need(!lkvfence_pull(p.f, &pull), "PULL: %s", lkvfence_errmsg());
		break;
	case MESSAGE_TAKEN:
		err = drained(p.f, m->generation, 1);
		need(!err, "the lease of request %u: %d", m->request, err);
		break;
	case MESSAGE_DROP:
		need(!lkvfence_abort_early(p.f, m->request, 0), "ABORT: %s",
		     lkvfence_errmsg());
		break;
	case MESSAGE_ABORT_ALL:
		need(!lkvfence_abort_all(p.f, LKVFENCE_REASON_ABORTED), "ABORT: %s",
		     lkvfence_errmsg());
		break;
	}
}

static void learn(const struct lkvfence_event *e)
{
	struct part *part = &p.parts[e->tag];
	struct message m = {
		.request = (uint32_t)e->tag,
		.generation = e->generation,
		.first = part->first,
		.reason = e->reason,
	};

	switch (e->type) {
	case LKVFENCE_EVENT_GRANTED:
		m.type = MESSAGE_GRANTED;
		tell(p.fd, &m);
		break;
	case LKVFENCE_EVENT_REFUSED:
		m.type = MESSAGE_REFUSED;
		tell(p.fd, &m);
		break;
	case LKVFENCE_EVENT_RELEASED:
		need(part->offered && part->generation == e->generation &&
		     e->outcome != LKVFENCE_OUTCOME_TIMEOUT, "it comes back once, with proof");
		part->offered = false;
		part->ready_at = 0;
		p.offered--;
		/* Another one's text must not be found in what is read late. */
		memset(p.pool + (size_t)part->first * BLOCK, 0xee,
		       (size_t)part->blocks * BLOCK);
		slots_put(&p.slots, part->first, part->blocks);
		break;
	}
}

static void learn_all(void)
{
	struct lkvfence_event e[16];
	int n, i;

	while ((n = lkvfence_events(p.f, e, ARRAY_SIZE(e), 0)) > 0) {
		for (i = 0; i < n; i++)
			learn(&e[i]);
	}
	need(!n, "events: %s", lkvfence_errmsg());
}

void produce(int fd)
{
	struct message m = { 0 };
	struct lkvfence_stat stat;

	p = (struct producer){ .fd = fd, .first_open = 1 };
	p.pool = mmap(NULL, (size_t)POOL * BLOCK, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	need(p.pool != MAP_FAILED, "memory");
	port_open(&p.port, DEVICE, p.pool, (size_t)POOL * BLOCK,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 2 * MAX_POSTED);
	p.f = region("producer", POOL);
	while (m.type != MESSAGE_CLOSE) {
		either(fd, p.f, compute_all());
		learn_all();
		while (m.type != MESSAGE_CLOSE && hear(fd, &m))
			obey(&m);
	}
	/* What it was told last, and what waits for slots that somebody has dropped. */
	until((compute_all(), learn_all(), !p.offered && p.first_open > p.last));
	stat = stat_of(p.f);
	m = (struct message){
		.type = MESSAGE_CLOSE,
		.left = (uint32_t)(stat.transfers_alive + stat.slots_taken + stat.tickets +
				   p.offered),
	};
	lkvfence_close(p.f);
	tell(fd, &m);
}
