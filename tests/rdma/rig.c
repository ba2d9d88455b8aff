// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The part of the rig that a test calls. verbs.c has what both processes do with
 * the device, sender.c the other process.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
		struct mark *m = marks_of(mem, slot);

		for (i = 0; i < MARKS; i++) {
			__atomic_store_n(&m[i].generation, generation, __ATOMIC_RELAXED);
			__atomic_store_n(&m[i].slot, slot, __ATOMIC_RELAXED);
		}
	}
}

size_t stamped(const char *mem, uint32_t first, uint32_t count, uint64_t generation)
{
	uint32_t slot, i;
	size_t n = 0;

	for (slot = first; slot < first + count; slot++) {
		const struct mark *m = marks_of(mem, slot);

		for (i = 0; i < MARKS; i++)
			n += __atomic_load_n(&m[i].generation, __ATOMIC_RELAXED) == generation &&
			     __atomic_load_n(&m[i].slot, __ATOMIC_RELAXED) == slot;
	}
	return n * sizeof(struct mark);
}

size_t strays(const char *mem, uint32_t first, uint32_t count, uint64_t generation)
{
	return (size_t)count * SLOT - stamped(mem, first, count, generation);
}

/* Without pause: what is looked for may be over soon. */
void landing(const char *mem, uint32_t slot, uint64_t generation)
{
	const struct mark *m = marks_of(mem, slot);
	int64_t end = now_ns() + PATIENCE_MS * (int64_t)MS;

	while (__atomic_load_n(&m->generation, __ATOMIC_RELAXED) != generation)
		need(now_ns() < end, "slot %u begins to land", slot);
}

/*
 * The sender
 */

static char *shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	need(mem != MAP_FAILED, "%zu bytes", size);
	return mem;
}

void rig_start(struct rig *rig, uint32_t nr_slots)
{
	rig_start_on(rig, nr_slots, DEVICE);
}

static void init(struct rig *rig, uint32_t nr_slots)
{
	*rig = (struct rig){
		.nr_slots = nr_slots,
		.message = SLOT,
		.pool = shared((size_t)nr_slots * SLOT),
		.timeout = 16,
		.retries = 6,
	};
}

void rig_start_far(struct rig *rig, uint32_t nr_slots, int fd)
{
	init(rig, nr_slots);
	rig->fd = fd;
	need(send(fd, &nr_slots, sizeof(nr_slots), MSG_NOSIGNAL) == sizeof(nr_slots),
	     "the far sender told");
}

void sender_far(int fd)
{
	struct rig rig = { 0 };

	need(recv(fd, &rig.nr_slots, sizeof(rig.nr_slots), MSG_WAITALL) ==
	     sizeof(rig.nr_slots), "to be told how many slots there are");
	rig.stage = shared((size_t)rig.nr_slots * SLOT);
	sender_main(&rig, fd, DEVICE);
}

void rig_start_on(struct rig *rig, uint32_t nr_slots, const char *device)
{
	int fds[2];

	init(rig, nr_slots);
	rig->stage = shared((size_t)nr_slots * SLOT);
	need(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), "a socket");
	rig->sender = fork();
	need(rig->sender >= 0, "fork");
	if (!rig->sender) {
		close(fds[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sender_main(rig, fds[1], device);
	}
	close(fds[1]);
	rig->fd = fds[0];
}

#define POOL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

void rig_open(struct rig *rig)
{
	rig_open_on(rig, DEVICE);
}

void rig_open_on(struct rig *rig, const char *device)
{
	port_open(&rig->port, device, rig->pool, (size_t)rig->nr_slots * SLOT,
		  POOL_ACCESS, 2 * MAX_POSTED);
}

void rig_deregister(struct rig *rig)
{
	int err = ibv_dereg_mr(rig->port.mr);

	need(!err, "ibv_dereg_mr: %s", strerror(err));
	rig->port.mr = NULL;
}

void rig_register(struct rig *rig)
{
	rig->port.mr = ibv_reg_mr(rig->port.pd, rig->pool,
				  (size_t)rig->nr_slots * SLOT, POOL_ACCESS);
	need(rig->port.mr, "ibv_reg_mr");
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
	if (rig->stage)
		munmap(rig->stage, (size_t)rig->nr_slots * SLOT);
}

/* Ask the sender, and wait for its answer. */
static void ask(struct rig *rig, struct order *order)
{
	ssize_t n;

	need(send(rig->fd, order, sizeof(*order), MSG_NOSIGNAL) == sizeof(*order),
	     "an order to the sender");
	n = recv(rig->fd, order, sizeof(*order), MSG_WAITALL);
	need(n == sizeof(*order), "the sender's answer");
}

/*
 * Connections
 */

/* False, so that it can stand in a condition. */
static bool take_completions(struct rig *rig)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(rig->port.cq, 1, &wc))) {
		struct link *l = &rig->links[(uint32_t)wc.wr_id];

		need(n == 1, "ibv_poll_cq");
		if (!(wc.wr_id & PULL)) {
			need(wc.status == IBV_WC_WR_FLUSH_ERR, "no receive: %d",
			     wc.status);
			l->flushed = true;
			continue;
		}
		l->pulling--;
		if (wc.status == IBV_WC_SUCCESS)
			l->pulled.good++;
		else if (!l->pulled.bad++)
			l->pulled.first_bad = wc.status;
	}
	return false;
}

void rig_connect(struct rig *rig, uint32_t link)
{
	struct link *l = &rig->links[link];
	struct order order = {
		.type = ORDER_CONNECT,
		.link = link,
		.timeout = rig->timeout,
		.retries = rig->retries,
	};
	struct end self;

	rig_destroy(rig, link);
	l->qp = port_qp(&rig->port, IBV_QPT_RC, MAX_POSTED);
	rig_describe(rig, l->qp, &self);
	order.end = self;
	ask(rig, &order);
	l->peer = order.end;
	rig_join(rig, l->qp, &self, &l->peer);
	post_receive(l->qp, link);
}

/* What it had posted has completed, or never will. */
void rig_destroy(struct rig *rig, uint32_t link)
{
	struct link *l = &rig->links[link];
	int err;

	if (!l->qp)
		return;
	err = ibv_destroy_qp(l->qp);
	need(!err, "ibv_destroy_qp: %s", strerror(err));
	take_completions(rig);
	*l = (struct link){ 0 };
}

struct ibv_qp *rig_qp(struct rig *rig, enum ibv_qp_type type)
{
	return port_qp(&rig->port, type, 1);
}

void rig_describe(const struct rig *rig, struct ibv_qp *qp, struct end *end)
{
	end_describe(&rig->port, qp, end);
}

void rig_join(const struct rig *rig, struct ibv_qp *qp, const struct end *self,
	      const struct end *peer)
{
	end_connect(&rig->port, qp, self, peer, 16, 6);
}

struct ibv_qp *rig_loop(struct rig *rig)
{
	struct ibv_qp *qp = rig_qp(rig, IBV_QPT_RC);
	struct end self;

	rig_describe(rig, qp, &self);
	rig_join(rig, qp, &self, &self);
	return qp;
}

enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr created;
	struct ibv_qp_attr attr;

	need(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &created), "ibv_query_qp");
	return attr.qp_state;
}

void rig_err(struct rig *rig, uint32_t link)
{
	qp_to_err(rig->links[link].qp);
}

void rig_see_flush(struct rig *rig, uint32_t link)
{
	need(until(take_completions(rig) || rig->links[link].flushed),
	     "a flushed receive");
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
		.message = rig->message,
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

void rig_write_badly(struct rig *rig, uint32_t link, uint64_t generation,
		     uint32_t first, uint32_t count, uint32_t rounds)
{
	post(rig, ORDER_WRITE_BADLY, link, generation, first, count, rounds);
}

void rig_stream(struct rig *rig, uint32_t link, uint64_t generation,
		uint32_t first, uint32_t count)
{
	post(rig, ORDER_STREAM, link, generation, first, count, 1);
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

static void *post_reads(void *arg)
{
	struct link *l = arg;

	post_batch(l->qp, l->batch);
	return NULL;
}

void rig_pull(struct rig *rig, uint32_t link, uint32_t first, uint32_t count,
	      uint32_t rounds)
{
	struct link *l = &rig->links[link];

	need(!l->batch, "one batch at a time");
	l->batch = calloc(1, sizeof(*l->batch));
	need(l->batch, "memory");
	*l->batch = (struct batch){
		.opcode = IBV_WR_RDMA_READ,
		.id = PULL | link,
		.mem = rig->pool,
		.lkey = rig->port.mr->lkey,
		.address = l->peer.address,
		.rkey = l->peer.rkey,
		.message = rig->message,
		.first = first,
		.count = count,
		.rounds = rounds,
	};
	l->pulling = count * rounds;
	need(!pthread_create(&l->thread, NULL, post_reads, l), "a thread");
}

struct tally rig_pulled(struct rig *rig, uint32_t link)
{
	struct link *l = &rig->links[link];
	struct tally tally;

	need(!pthread_join(l->thread, NULL), "the thread");
	free(l->batch);
	l->batch = NULL;
	need(until(take_completions(rig) || !l->pulling), "all reads completed");
	tally = l->pulled;
	l->pulled = (struct tally){ 0 };
	return tally;
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
		snprintf(qps[i].device, sizeof(qps[i].device), DEVICE);
		qps[i].number = rig->links[link + i].qp->qp_num;
	}
	need(!lkvfence_source(f, &s), "SOURCE %u", source);
	return s.binding;
}

uint64_t bind_link(struct lkvfence *f, const struct rig *rig, uint32_t source,
		   uint32_t link)
{
	return bind_links(f, rig, source, link, 1);
}

uint64_t rig_under_way(struct rig *rig, struct lkvfence *f, uint64_t tag,
		       uint32_t rounds)
{
	uint64_t generation;

	rig_connect(rig, 0);
	bind_link(f, rig, 1, 0);
	generation = begin(f, tag, 0, rig->nr_slots, 1);
	rig_write(rig, 0, generation, 0, rig->nr_slots, rounds);
	landing(rig->pool, 0, generation);
	return generation;
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

uint64_t bind_loop(struct lkvfence *f, uint32_t source, const struct ibv_qp *qp)
{
	struct lkvfence_query_source q = { .source = source };

	need(!try_bind(f, source, DEVICE, qp->qp_num), "SOURCE %u", source);
	need(!lkvfence_query_source(f, &q), "QUERY_SOURCE %u", source);
	return q.binding;
}

uint32_t qp_of(struct lkvfence *f, uint32_t source, uint32_t *state)
{
	struct lkvfence_qp qp = { .state = 0 };
	struct lkvfence_query_source q = {
		.source = source,
		.qps = (uintptr_t)&qp,
		.nr_qps = 1,
	};

	need(!lkvfence_query_source(f, &q), "QUERY_SOURCE %u", source);
	if (state)
		*state = q.state;
	return qp.state;
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
	bool timeout = outcome == LKVFENCE_OUTCOME_TIMEOUT;

	if (e->type == LKVFENCE_EVENT_RELEASED && e->generation == generation &&
	    e->outcome == outcome && e->evidence == evidence &&
	    tainted == timeout)
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

/*
 * The device, as tests/vm/run left it: on v0, with an IPv4 address
 */

static bool ready(void)
{
	const char *port = "/sys/class/infiniband/" DEVICE "/ports/1";
	int i;

	if (!strstr(line_of("%s/state", port), "ACTIVE"))
		return false;
	for (i = 0; i < 8; i++) {
		if (strstr(line_of("%s/gids/%d", port, i), ":ffff:0a00:0001"))
			return true;
	}
	return false;
}

bool device_there(void)
{
	return !access("/sys/class/infiniband/" DEVICE, F_OK);
}

void device_back(void)
{
	if (!device_there()) {
		run("modprobe rdma_rxe");
		run("rdma link add " DEVICE " type rxe netdev v0");
	}
	need(until(ready()), DEVICE " is there");
}
