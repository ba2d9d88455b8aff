// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The third act: a prefill that never answers.
 *
 * It is stopped in the middle of its writes, for good, and with it every
 * acknowledgement. What it has posted goes on landing, for that is done by its
 * machine's network card (here: by the kernel) and not by its process. So the
 * hold of its slots ends in one of these ways:
 *
 *   taint        at the deadline, without proof;
 *   revoke       at the deadline the kernel closes the queue pair, and releases
 *                when that has settled;
 *   revoke_now   the same without waiting for the deadline;
 *   with guard   decode keeps a receive posted on the queue pair: when that comes
 *                back flushed, it is proven that nothing lands any more, and
 *                nobody needs to wait for it to settle;
 *   window       the prefill was not given the key of the pool but that of a
 *                memory window of its own, and decode invalidates it. (On
 *                Soft-RoCE that takes a guard, too.)
 *
 * After the release decode uses the slots for something else, and looks whether
 * anything lands in it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence-verbs.h>
#include "demo.h"

#define STUCK_SLOTS	256U
#define SLOT_SIZE	65536U
#define DEADLINE_NS	(1000 * NS_PER_MS)
/* How long decode looks for strays. */
#define LOOK_NS		(300 * NS_PER_MS)
#define SOURCE		0U
/* The first byte of each kind of page. */
#define THEIRS		0xa5
#define OURS		0x3c

struct way {
	const char *name;
	uint32_t policy;
	bool bound, guard, window;
};

static const struct way ways[] = {
	{ "taint", LKVFENCE_POLICY_TAINT, false, false, false },
	{ "revoke", LKVFENCE_POLICY_REVOKE, true, false, false },
	{ "revoke, with guard", LKVFENCE_POLICY_REVOKE, true, true, false },
	{ "revoke_now", LKVFENCE_POLICY_REVOKE_NOW, true, false, false },
	{ "revoke_now, with guard", LKVFENCE_POLICY_REVOKE_NOW, true, true, false },
	{ "memory window", LKVFENCE_POLICY_TAINT, false, true, true },
};

struct stuck {
	struct rdma rdma;
	struct ibv_mr *mr;
	struct ibv_cq *ibv_cq;
	struct lkvfence *fence;
	struct lkvfence_verbs *verbs;
	struct lkvfence_cq *cq;
	struct lkvfence_rail *rail;
	struct lkvfence_recv *recv;
};

/* A prefill that writes all slots, again and again, and says nothing. */
static void sender_main(const struct options *opt, int fd)
{
	static struct rdma_batch batch;
	static struct msg theirs, work;
	struct msg mine = { .type = MSG_END };
	struct rdma rdma = { 0 };
	struct ibv_wc wc[16];
	uint32_t posted = 0;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	rdma_open(&rdma, opt->device);
	cq = ibv_create_cq(rdma.context, STUCK_SLOTS, NULL, NULL, 0);
	if (!cq)
		die("no completion queue: %s", strerror(errno));
	qp = rdma_qp(&rdma, cq, STUCK_SLOTS);
	mr = rdma_register(&rdma, SLOT_SIZE, 0);
	memset(mr->addr, THEIRS, SLOT_SIZE);
	rdma_end(&rdma, qp, NULL, &mine.end);
	wire_send(fd, &mine);
	wire_receive(fd, &theirs, true);
	rdma_connect_qp(&rdma, qp, &mine.end, &theirs.end);
	wire_receive(fd, &work, true);
	for (;;) {
		int nr;

		if (posted < STUCK_SLOTS) {
			rdma_write(&batch, mr, mr->addr, SLOT_SIZE,
				   work.end.addr + (uint64_t)posted * SLOT_SIZE,
				   work.end.rkey, posted);
			rdma_post(qp, &batch);
			posted++;
			continue;
		}
		nr = ibv_poll_cq(cq, 16, wc);
		/* Its connection is gone: it hangs. */
		if (nr < 0 || (nr && wc[nr - 1].status != IBV_WC_SUCCESS))
			pause();
	}
}

static pid_t start_sender(const struct options *opt, int *fd)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	wire_pair(pair);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		who = "stuck prefill";
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			exit(1);
		close(pair[0]);
		sender_main(opt, pair[1]);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

static void need(int err)
{
	if (err < 0)
		die("%s", lkvfence_verbs_errmsg());
}

static struct ibv_qp *connect_sender(struct stuck *s, int fd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->ibv_cq,
		.recv_cq = s->ibv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(s->rdma.pd, &init);
	struct msg mine = { .type = MSG_END };
	static struct msg theirs;

	if (!qp)
		die("cannot create a QP: %s", strerror(errno));
	rdma_end(&s->rdma, qp, s->mr, &mine.end);
	wire_receive(fd, &theirs, true);
	rdma_connect_qp(&s->rdma, qp, &mine.end, &theirs.end);
	wire_send(fd, &mine);
	return qp;
}

static uint64_t begin(struct stuck *s, const struct way *way)
{
	struct lkvfence_range range = { 0, STUCK_SLOTS };
	uint32_t source = SOURCE;
	struct lkvfence_begin begin = {
		.tag = 1,
		.ranges = (uintptr_t)&range,
		.nr_ranges = 1,
		.sources = (uintptr_t)&source,
		.nr_sources = 1,
		.policy = way->policy,
	};

	if (lkvfence_begin(s->fence, &begin))
		die("%s", lkvfence_errmsg());
	return begin.generation;
}

/* Tells the prefill where to write: into the pool, or through a window. */
static void send_work(struct stuck *s, const struct way *way, uint64_t generation, int fd)
{
	struct msg work = {
		.type = MSG_PREFILL,
		.generation = generation,
		.end = { .addr = (uintptr_t)s->mr->addr, .rkey = s->mr->rkey },
	};
	struct lkvfence_recv_attr attr = {
		.fence = s->fence,
		.generation = generation,
		.source = SOURCE,
	};
	struct ibv_mw_bind_info window = {
		.mr = s->mr,
		.addr = (uintptr_t)s->mr->addr,
		.length = s->mr->length,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	if (way->window) {
		need(lkvfence_recv_begin(s->verbs, &attr, &s->recv));
		need(lkvfence_recv_window(s->recv, s->rail, &window, -1, &work.end.rkey));
	}
	wire_send(fd, &work);
}

static uint8_t *slot(struct stuck *s, uint32_t i)
{
	return (uint8_t *)s->mr->addr + (size_t)i * SLOT_SIZE;
}

static void nap(void)
{
	poll(NULL, 0, 1);
}

/* Takes out what the library has to see. */
static void poll_cq(struct stuck *s)
{
	struct ibv_wc wc[16];

	while (lkvfence_cq_poll(s->cq, 16, wc) == 16)
		;
}

static struct lkvfence_event wait_for_release(struct stuck *s, const struct way *way)
{
	struct lkvfence_event e;
	int nr, err;

	for (;;) {
		poll_cq(s);
		nr = lkvfence_events(s->fence, &e, 1, 1);
		if (nr < 0)
			die("%s", lkvfence_errmsg());
		if (!nr)
			continue;
		if (e.type == LKVFENCE_EVENT_RELEASED)
			return e;
		/* Without a guard there is nothing to see: the kernel settles it. */
		err = 0;
		if (way->bound && way->guard)
			err = lkvfence_verbs_event(s->verbs, s->fence, &e, 1000);
		if (err < 0 && err != -ETIMEDOUT)
			die("%s", lkvfence_verbs_errmsg());
	}
}

/* The slots are somebody else's. Returns how many bytes land in them all the same. */
static uint64_t strays(struct stuck *s)
{
	uint64_t until, stray = 0;

	memset(s->mr->addr, OURS, s->mr->length);
	until = now_ns() + LOOK_NS;
	while (now_ns() < until)
		nap();
	for (size_t i = 0; i < s->mr->length; i++)
		stray += ((volatile uint8_t *)s->mr->addr)[i] != OURS;
	return stray;
}

static struct lkvfence_event one(const struct options *opt, struct stuck *s, const struct way *way,
				 uint64_t *stray)
{
	struct lkvfence_rail_attr attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.guard = way->guard,
		.windows = way->window,
	};
	struct lkvfence_abort abort = { .timeout_ns = DEADLINE_NS };
	struct lkvfence_event e;
	int fd;
	pid_t pid = start_sender(opt, &fd);

	memset(s->mr->addr, 0, s->mr->length);
	attr.qp = connect_sender(s, fd);
	need(lkvfence_rail_create(s->verbs, &attr, &s->rail));
	if (way->bound)
		need(lkvfence_verbs_bind(s->verbs, s->fence, SOURCE, "stuck prefill", &s->rail, 1));
	abort.generation = begin(s, way);
	send_work(s, way, abort.generation, fd);

	/* In the middle of it the prefill is stopped, and the client hangs up. */
	while (*(volatile uint8_t *)slot(s, 8) != THEIRS)
		nap();
	kill(pid, SIGSTOP);
	if (lkvfence_abort(s->fence, &abort))
		die("%s", lkvfence_errmsg());
	if (way->window)
		need(lkvfence_recv_revoke(s->recv, -1));
	e = wait_for_release(s, way);
	*stray += strays(s);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	lkvfence_recv_finish(s->recv, 0);
	s->recv = NULL;
	if (way->bound)
		need(lkvfence_verbs_unbind(s->verbs, s->fence, SOURCE));
	need(lkvfence_rail_destroy_qp(s->rail));
	poll_cq(s);
	return e;
}

static void open_all(const struct options *opt, struct stuck *s)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE | LKVFENCE_OPEN_NONBLOCK,
		.slot_size = SLOT_SIZE,
		.nr_slots = STUCK_SLOTS,
		.mode = 0600,
	};
	struct lkvfence_verbs_attr attr = { 0 };

	rdma_open(&s->rdma, opt->device);
	s->mr = rdma_register(&s->rdma, (size_t)STUCK_SLOTS * SLOT_SIZE, IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	s->ibv_cq = ibv_create_cq(s->rdma.context, 64, NULL, NULL, 0);
	if (!s->ibv_cq)
		die("no completion queue: %s", strerror(errno));
	snprintf(open.name, sizeof(open.name), "stuck.%d", getpid());
	if (lkvfence_open(&s->fence, &open))
		die("%s", lkvfence_errmsg());
	need(lkvfence_verbs_create(&s->verbs, &attr));
	need(lkvfence_cq_create(s->verbs, s->ibv_cq, &s->cq));
}

static void close_all(struct stuck *s)
{
	need(lkvfence_cq_destroy(s->cq));
	need(lkvfence_verbs_destroy(s->verbs));
	lkvfence_close(s->fence);
	ibv_destroy_cq(s->ibv_cq);
	ibv_dereg_mr(s->mr);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Tries one way, a few times. The same ground each time, or it is not shown. */
static bool play(const struct options *opt, struct stuck *s, const struct way *way,
		 struct stuck_row *row)
{
	uint64_t held[MAX_TRIES] = { 0 };
	bool good = true;

	*row = (struct stuck_row){ .name = way->name };
	for (uint32_t i = 0; i < opt->tries; i++) {
		struct lkvfence_event e = one(opt, s, way, &row->stray_bytes);

		good = good && (!i || (e.outcome == row->outcome && e.evidence == row->evidence));
		row->outcome = e.outcome;
		row->evidence = e.evidence;
		held[i] = e.held_ns;
	}
	qsort(held, opt->tries, sizeof(held[0]), compare);
	row->held_ms = (double)held[opt->tries / 2] / NS_PER_MS;
	row->most_ms = (double)held[opt->tries - 1] / NS_PER_MS;
	/* What decode itself has taken away, or the kernel, lets nothing through. */
	return good && (way->policy == LKVFENCE_POLICY_TAINT && !way->window ?
			row->outcome == LKVFENCE_OUTCOME_TIMEOUT :
			row->outcome == LKVFENCE_OUTCOME_REVOKED && !row->stray_bytes);
}

bool stuck_main(const struct options *opt, struct stuck_row *rows, uint32_t *nr)
{
	struct lkvfence_info info = { 0 };
	struct stuck s = { 0 };
	bool good = true;

	if (lkvfence_info(&info))
		die("%s", lkvfence_errmsg());
	*nr = 0;
	open_all(opt, &s);
	printf("\nA prefill that is stopped for good, and never answers. Deadline %llu ms, %u times each:\n\n"
	       "  %-24s %12s %12s  %-9s %-15s %12s\n", DEADLINE_NS / NS_PER_MS, opt->tries, "",
	       "hold, ms", "at most", "outcome", "evidence", "stray bytes");
	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct stuck_row *row = rows + *nr;

		if (ways[i].bound && !(info.features & LKVFENCE_FEATURE_QP)) {
			printf("  %-24s not possible on this kernel\n", ways[i].name);
			continue;
		}
		good = play(opt, &s, ways + i, row) && good;
		printf("  %-24s %12.1f %12.1f  %-9s %-15s %12llu\n", row->name, row->held_ms,
		       row->most_ms, lkvfence_outcome_name(row->outcome),
		       lkvfence_evidence_name(row->evidence), (unsigned long long)row->stray_bytes);
		++*nr;
	}
	close_all(&s);
	return good;
}
