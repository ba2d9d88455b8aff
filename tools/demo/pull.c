// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The fourth act: the same hole the other way round. A prefill keeps what it has
 * computed until decode has read it, by RDMA READ. When the request dies in the
 * middle of that, an engine gives the slots to the next one at once; the reads that
 * decode has posted go on, and what they fetch from then on is somebody else's.
 *
 * With the fence decode's reads are a pull: it is granted a lease when the data is
 * READY. The end of the request keeps the slots until the lease is back, and a pull
 * that comes later is refused at once, for the true reason.
 *
 * The launcher is the prefill here; decode is a child, whose memory it can see.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence.h>
#include "demo.h"

#define PULL_SLOTS	256U
#define SLOT_SIZE	65536U
#define PATIENCE_NS	(300000 * NS_PER_MS)
#define POOL_SIZE	((size_t)PULL_SLOTS * SLOT_SIZE)
#define SOURCE		1U
/* The first byte of each kind of page. */
#define THEIRS		0xa5
#define STRANGERS	0x3c

struct pull {
	struct rdma rdma;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct lkvfence *fence;
	uint8_t *reader_mem;		/* decode's, to look at */
	uint64_t last_tag;
};

/* Decode: reads all slots as they were computed, and says when it has them. */
static void reader_main(const struct options *opt, uint8_t *mem, int fd)
{
	static struct rdma_batch batch;
	static struct msg theirs, work;
	struct msg mine = { .type = MSG_END };
	struct rdma rdma = { 0 };
	uint32_t done = 0;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	rdma_open(&rdma, opt->device);
	cq = ibv_create_cq(rdma.context, PULL_SLOTS, NULL, NULL, 0);
	mr = ibv_reg_mr(rdma.pd, mem, POOL_SIZE, IBV_ACCESS_LOCAL_WRITE);
	if (!cq || !mr)
		die("decode's end: %s", strerror(errno));
	qp = rdma_qp(&rdma, cq, PULL_SLOTS);
	rdma_end(&rdma, qp, NULL, &mine.end);
	wire_send(fd, &mine);
	wire_receive(fd, &theirs, true);
	rdma_connect_qp(&rdma, qp, &mine.end, &theirs.end);
	wire_receive(fd, &work, true);
	for (uint32_t i = 0; i < PULL_SLOTS; i++)
		rdma_read(&batch, mr, mem + (size_t)i * SLOT_SIZE, SLOT_SIZE,
			  work.end.addr + (uint64_t)i * SLOT_SIZE, work.end.rkey, i);
	rdma_post(qp, &batch);
	while (done < PULL_SLOTS) {
		int nr = ibv_poll_cq(cq, 1, &wc);

		if (nr < 0 || (nr && wc.status != IBV_WC_SUCCESS))
			die("a read failed: %s", ibv_wc_status_str(wc.status));
		done += (uint32_t)nr;
	}
	mine = (struct msg){ .type = MSG_DONE };
	wire_send(fd, &mine);
	/* Until it is ended. */
	wire_receive(fd, &work, true);
	ibv_destroy_qp(qp);
	exit(0);
}

static pid_t start_reader(const struct options *opt, uint8_t *mem, int *fd)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	wire_pair(pair);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		who = "decode";
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			exit(1);
		close(pair[0]);
		reader_main(opt, mem, pair[1]);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

static struct ibv_qp *connect_reader(struct pull *p, int fd)
{
	struct ibv_qp *qp = rdma_qp(&p->rdma, p->cq, 1);
	struct msg mine = { .type = MSG_END };
	static struct msg theirs;

	rdma_end(&p->rdma, qp, p->mr, &mine.end);
	wire_receive(fd, &theirs, true);
	rdma_connect_qp(&p->rdma, qp, &mine.end, &theirs.end);
	wire_send(fd, &mine);
	return qp;
}

static void need(int err)
{
	if (err)
		die("%s", lkvfence_errmsg());
}

/* The next event; each of them is waited for. */
static struct lkvfence_event event(struct pull *p)
{
	struct lkvfence_event e;
	int nr;

	do
		nr = lkvfence_events(p->fence, &e, 1, (int)(PATIENCE_NS / NS_PER_MS));
	while (nr == -EINTR);
	if (nr != 1)
		die("no event: %s", nr ? lkvfence_errmsg() : "none came in five minutes");
	return e;
}

static void ask(struct pull *p, uint64_t tag)
{
	struct lkvfence_pull pull = { .tag = tag, .source = SOURCE };

	need(lkvfence_pull(p->fence, &pull));
}

/* What a request is for the fence: computed, offered, pulled, granted. */
static uint64_t serve(struct pull *p)
{
	struct lkvfence_range range = { 0, PULL_SLOTS };
	struct lkvfence_begin begin = {
		.tag = ++p->last_tag,
		.ranges = (uintptr_t)&range,
		.nr_ranges = 1,
	};
	struct lkvfence_ready ready = { .consumers = 1 };
	struct lkvfence_event e;

	need(lkvfence_offer(p->fence, &begin));
	/* Decode asks while it is being computed, and is answered when it is. */
	ask(p, begin.tag);
	ready.generation = begin.generation;
	need(lkvfence_ready(p->fence, &ready));
	e = event(p);
	if (e.type != LKVFENCE_EVENT_GRANTED || e.generation != begin.generation)
		die("the pull was not granted");
	return begin.generation;
}

/* Pulls that come when the request is over. Are they told at once, and why? */
static bool late_pull(struct pull *p)
{
	struct lkvfence_event e;

	ask(p, p->last_tag);
	e = event(p);
	return e.type == LKVFENCE_EVENT_REFUSED && e.reason == LKVFENCE_REASON_ABORTED;
}

/* The client hangs up. When this returns, the slots are the next one's. */
static uint64_t hang_up(struct pull *p, uint64_t generation, int fd, struct pull_row *row)
{
	/* No machine is so slow that decode's reads would take until then. */
	struct lkvfence_abort abort = { .generation = generation, .timeout_ns = PATIENCE_NS };
	static struct msg done;
	struct lkvfence_event e;

	if (!generation)
		return 0;
	need(lkvfence_abort(p->fence, &abort));
	row->late_refused += late_pull(p);
	/* Decode's word that its reads have completed gives its lease back. */
	wire_receive(fd, &done, true);
	need(lkvfence_drained(p->fence, generation, SOURCE, LKVFENCE_EVIDENCE_SUCCESS_CQE));
	e = event(p);
	if (e.type != LKVFENCE_EVENT_RELEASED || e.generation != generation)
		die("not the event of the release");
	row->outcome = e.outcome;
	row->evidence = e.evidence;
	return e.held_ns;
}

static uint64_t one(const struct options *opt, struct pull *p, bool fence, struct pull_row *row)
{
	struct msg work = { .type = MSG_PREFILL };
	uint64_t generation, held;
	static struct msg done;
	struct ibv_qp *qp;
	int fd, status;
	pid_t pid;

	memset(p->reader_mem, 0, POOL_SIZE);
	pid = start_reader(opt, p->reader_mem, &fd);
	qp = connect_reader(p, fd);
	memset(p->mr->addr, THEIRS, POOL_SIZE);
	generation = fence ? serve(p) : 0;
	work.end.addr = (uintptr_t)p->mr->addr;
	work.end.rkey = p->mr->rkey;
	wire_send(fd, &work);

	/* In the middle of decode's reads. */
	while (((volatile uint8_t *)p->reader_mem)[8 * SLOT_SIZE] != THEIRS)
		poll(NULL, 0, 1);
	held = hang_up(p, generation, fd, row);
	memset(p->mr->addr, STRANGERS, POOL_SIZE);
	if (!fence)
		wire_receive(fd, &done, true);
	for (size_t i = 0; i < POOL_SIZE; i++)
		row->foreign_bytes += p->reader_mem[i] == STRANGERS;

	wire_send(fd, &work);
	if (waitpid(pid, &status, 0) != pid || status)
		die("decode's end of the connection failed");
	close(fd);
	ibv_destroy_qp(qp);
	return held;
}

static void open_all(const struct options *opt, struct pull *p)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE | LKVFENCE_OPEN_NONBLOCK,
		.slot_size = SLOT_SIZE,
		.nr_slots = PULL_SLOTS,
		.mode = 0600,
	};

	rdma_open(&p->rdma, opt->device);
	p->mr = rdma_register(&p->rdma, POOL_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	p->cq = ibv_create_cq(p->rdma.context, 4, NULL, NULL, 0);
	p->reader_mem = mmap(NULL, POOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
	if (!p->cq || p->reader_mem == MAP_FAILED)
		die("the pull: %s", strerror(errno));
	snprintf(open.name, sizeof(open.name), "pull.%d", getpid());
	need(lkvfence_open(&p->fence, &open));
}

static void close_all(struct pull *p)
{
	lkvfence_close(p->fence);
	munmap(p->reader_mem, POOL_SIZE);
	ibv_destroy_cq(p->cq);
	ibv_dereg_mr(p->mr);
}

bool pull_main(const struct options *opt, struct pull_row rows[2])
{
	struct pull p = { 0 };
	uint64_t held, most;

	open_all(opt, &p);
	printf("\nPull mode: the request dies while decode reads its slots, %u times each:\n\n"
	       "  %-24s %12s  %-9s %-15s %15s %12s\n", opt->tries, "", "hold, ms", "outcome", "evidence",
	       "stranger's bytes", "late pulls");
	for (int fence = 0; fence < 2; fence++) {
		struct pull_row *row = rows + fence;

		*row = (struct pull_row){ .tries = opt->tries };
		for (uint32_t i = most = 0; i < opt->tries; i++) {
			held = one(opt, &p, fence, row);
			most = held > most ? held : most;
		}
		row->most_ms = (double)most / NS_PER_MS;
		printf("  %-24s %12.1f  %-9s %-15s %15llu ", fence ? "with the fence" : "without the fence",
		       row->most_ms, fence ? lkvfence_outcome_name(row->outcome) : "-",
		       fence ? lkvfence_evidence_name(row->evidence) : "-",
		       (unsigned long long)row->foreign_bytes);
		if (fence)
			printf("%u of %u told why\n", row->late_refused, opt->tries);
		else
			printf("%12s\n", "-");
	}
	close_all(&p);
	return rows[0].foreign_bytes && !rows[1].foreign_bytes &&
	       rows[1].late_refused == opt->tries && rows[1].outcome == LKVFENCE_OUTCOME_DRAINED;
}
