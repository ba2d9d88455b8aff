// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How long an aborted transfer's slots stay out after the last write has landed:
 * from the moment in which the sender sees its last completion to that in which
 * the receiver has read that the slots are free.
 *
 *   message   the sender tells the receiver over a socket, which returns the lease
 *   in band   a zero-length write with immediate follows the data, and returns
 *             the lease from the receiver's own completion queue
 *   window    the receiver invalidates the memory window that the sender was
 *             given. It asks nobody: here the time is that from the abort. On
 *             Soft-RoCE the library closes the connection with it, for only that
 *             proves something there; so each time has a connection of its own
 *
 * The sender is a process of its own, on the same RDMA device and processor. Both
 * sleep until there is something to do, so that what is measured contains the
 * wakeups that it takes.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <lkvfence-verbs.h>
#include "bench.h"
#include "verbs.h"

#define SLOT_SIZE	65536
#define SOURCE		0
#define WARM_UP		10

enum way { MESSAGE, IN_BAND, WINDOW, NR_WAYS, RECONNECT };

/* What one end tells the other, and the receiver tells the sender to do. */
struct note {
	union ibv_gid gid;
	uint32_t qp;
	uint32_t rkey;
	uint64_t addr;
	uint64_t generation;
	uint32_t way;
	uint32_t pad;
};

/* One end of the connection. */
struct end {
	int fd;
	struct device device;
	struct ibv_comp_channel *channel;
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct lkvfence_verbs *verbs;
	struct lkvfence_cq *cq;
	struct lkvfence_rail *rail;
	bool told;		/* the sender: its lease came back */
};

/* Shared with the sender: when it saw its last completion. */
static volatile uint64_t *completed;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void need(int err, const char *what)
{
	if (err >= 0)
		return;
	errno = 0;
	die("%s: %s", what, lkvfence_verbs_errmsg());
}

static void open_end(struct end *end, const struct lkvfence_verbs_attr *attr)
{
	device_open(&end->device);
	end->channel = ibv_create_comp_channel(end->device.context);
	end->ibv_cq = ibv_create_cq(end->device.context, 64, NULL, end->channel, 0);
	end->mr = ibv_reg_mr(end->device.pd, aligned_alloc(4096, SLOT_SIZE), SLOT_SIZE,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	if (!end->mr || !end->ibv_cq)
		die("cannot make one end of a connection");
	end->qp = device_qp(&end->device, end->ibv_cq);
	need(lkvfence_verbs_create(&end->verbs, attr), "verbs");
	need(lkvfence_cq_create(end->verbs, end->ibv_cq, &end->cq), "cq");
}

static void swap_notes(struct end *end, struct note *theirs)
{
	struct note mine = { .gid = end->device.gid, .qp = end->qp->qp_num };

	if (send(end->fd, &mine, sizeof(mine), 0) != sizeof(mine) ||
	    recv(end->fd, theirs, sizeof(*theirs), 0) != sizeof(*theirs))
		die("socket");
}

static void connect_end(struct end *end)
{
	struct note theirs;
	struct lkvfence_rail_attr rail = {
		.qp = end->qp,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.guard = 4,
		.windows = 4,
	};

	swap_notes(end, &theirs);
	device_connect(&end->device, end->qp, &theirs.gid, theirs.qp);
	need(lkvfence_rail_create(end->verbs, &rail, &end->rail), "rail");
	if (ibv_req_notify_cq(end->ibv_cq, 0))
		die("cannot ask for completions");
	/* Both are ready before either writes. */
	swap_notes(end, &theirs);
}

/* Takes what has completed. */
static void completions(struct end *end, bool closing)
{
	struct ibv_wc wc[8];
	int nr;

	do {
		nr = lkvfence_cq_poll(end->cq, 8, wc);
		need(nr, "poll");
		for (int i = 0; i < nr; i++) {
			if (wc[i].status != IBV_WC_SUCCESS && !closing) {
				errno = 0;
				die("a write failed: %s", ibv_wc_status_str(wc[i].status));
			}
		}
	} while (nr == 8);
}

/* The one before is lost, or no more needed: a new connection. */
static void reconnect(struct end *end)
{
	need(lkvfence_rail_destroy_qp(end->rail), "destroy");
	completions(end, true);
	end->qp = device_qp(&end->device, end->ibv_cq);
	connect_end(end);
}

/* Sleeps until something completes. */
static void channel_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(end->channel, &cq, &context))
		die("completion channel");
	ibv_ack_cq_events(cq, 1);
	/* Ask first, then look: what completes in between is seen by the look. */
	if (ibv_req_notify_cq(end->ibv_cq, 0))
		die("cannot ask for completions");
}

/* A lease of the sender came back: that is the message. */
static void tell(const struct lkvfence_returned *returned, void *arg)
{
	struct end *end = arg;
	struct note note = { .generation = returned->generation };

	if (returned->status != LKVFENCE_STATUS_DRAINED) {
		errno = 0;
		die("a lease came back as failed");
	}
	if (send(end->fd, &note, sizeof(note), 0) != sizeof(note))
		die("send");
	end->told = true;
}

static void sender_main(int fd)
{
	struct end end = { .fd = fd };
	struct lkvfence_verbs_attr attr = { .returned = tell, .arg = &end };
	struct note work;

	open_end(&end, &attr);
	connect_end(&end);
	while (recv(fd, &work, sizeof(work), 0) == sizeof(work)) {
		struct lkvfence_send_attr lease = {
			.generation = work.generation,
			.source = SOURCE,
		};
		struct ibv_sge sge = {
			.addr = (uintptr_t)end.mr->addr,
			.length = SLOT_SIZE,
			.lkey = end.mr->lkey,
		};
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = work.addr, .rkey = work.rkey },
		}, *bad;
		struct lkvfence_send *send;

		if (work.way == RECONNECT) {
			reconnect(&end);
			continue;
		}
		need(lkvfence_send_begin(end.verbs, &lease, &send), "lease");
		need(lkvfence_send_post(send, end.rail, &wr, &bad), "post");
		if (work.way == IN_BAND)
			need(lkvfence_send_mark(send, &end.rail, 1), "mark");
		end.told = false;
		lkvfence_send_finish(send);
		/* The marker in band may complete after the write has been seen to. */
		while (!end.told) {
			channel_event(&end);
			/* The lease comes back within the look, so take the time before it. */
			*completed = now();
			completions(&end, false);
		}
	}
	exit(0);
}

static void receive_message(struct end *end, struct lkvfence *f, enum way way)
{
	struct note note;

	if (recv(end->fd, &note, sizeof(note), 0) != sizeof(note))
		die("the sender is gone");
	/* In the other ways it is not needed, or too late. */
	if (way == MESSAGE && lkvfence_drained(f, note.generation, SOURCE,
					       LKVFENCE_EVIDENCE_SUCCESS_CQE)) {
		errno = 0;
		die("%s", lkvfence_errmsg());
	}
}

/* Until the release and the sender's message were seen; the time of the first. */
static uint64_t wait_for_release(struct end *end, struct lkvfence *f, enum way way)
{
	struct pollfd fds[] = {
		{ .fd = end->fd, .events = POLLIN },
		{ .fd = end->channel->fd, .events = POLLIN },
		{ .fd = lkvfence_fd(f), .events = POLLIN },
	};
	bool told = way == WINDOW;
	uint64_t released = 0;
	struct lkvfence_event e;

	while (!released || !told) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			die("poll");
		if (fds[0].revents) {
			receive_message(end, f, way);
			told = true;
		}
		if (fds[1].revents) {
			channel_event(end);
			completions(end, way == WINDOW);
		}
		if (lkvfence_events(f, &e, 1, 0) == 1 && e.type == LKVFENCE_EVENT_RELEASED)
			released = now();
	}
	return released;
}

static void fail_fence(int err)
{
	if (!err)
		return;
	errno = 0;
	die("%s", lkvfence_errmsg());
}

static double one(struct end *end, struct lkvfence *f, enum way way)
{
	struct lkvfence_range range = { 0, 1 };
	uint32_t source = SOURCE;
	struct lkvfence_begin begin = {
		.ranges = (uintptr_t)&range, .nr_ranges = 1,
		.sources = (uintptr_t)&source, .nr_sources = 1,
	};
	struct ibv_mw_bind_info window = {
		.mr = end->mr,
		.addr = (uintptr_t)end->mr->addr,
		.length = SLOT_SIZE,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct note work = {
		.addr = (uintptr_t)end->mr->addr, .rkey = end->mr->rkey, .way = way,
	};
	struct lkvfence_recv_attr attr = { .fence = f, .source = SOURCE };
	struct lkvfence_recv *recv = NULL;
	uint64_t start, end_ns;

	fail_fence(lkvfence_begin(f, &begin));
	work.generation = begin.generation;
	attr.generation = begin.generation;
	if (way != MESSAGE)
		need(lkvfence_recv_begin(end->verbs, &attr, &recv), "lease");
	if (way == IN_BAND)
		need(lkvfence_recv_expect(recv, &end->rail, 1), "expect");
	if (way == WINDOW)
		need(lkvfence_recv_window(recv, end->rail, &window, -1, &work.rkey), "window");
	/* The slots are held while the data is under way, or with a window after it. */
	if (way != WINDOW)
		fail_fence(lkvfence_abort_generation(f, begin.generation));
	if (send(end->fd, &work, sizeof(work), 0) != sizeof(work))
		die("send");
	if (way == WINDOW) {
		receive_message(end, f, way);
		*completed = now();
		fail_fence(lkvfence_abort_generation(f, begin.generation));
		need(lkvfence_recv_revoke(recv, 0), "revoke");
	}
	end_ns = wait_for_release(end, f, way);
	start = *completed;
	lkvfence_recv_finish(recv, LKVFENCE_RECV_QUIET);
	/* In band it may be known here before the sender looked: less than 0. */
	return (double)end_ns - (double)start;
}

static double one_connection(struct end *end, struct lkvfence *f, enum way way)
{
	const struct note note = { .way = RECONNECT };
	double took = one(end, f, way);

	if (way == WINDOW) {
		if (send(end->fd, &note, sizeof(note), 0) != sizeof(note))
			die("send");
		reconnect(end);
	}
	return took;
}

static void measure_way(struct end *end, struct lkvfence *f, const char *name, enum way way,
			uint32_t repeat)
{
	double *took = calloc(repeat, sizeof(*took));
	struct stats stats;

	if (!took)
		die("no memory for %u repetitions", repeat);
	for (uint32_t i = 0; i < WARM_UP; i++)
		one_connection(end, f, way);
	for (uint32_t i = 0; i < repeat; i++)
		took[i] = one_connection(end, f, way);
	stats = measure_sort(took, repeat);
	report_add(name, UNIT_COST, &stats, 0);
	free(took);
}

static pid_t start_sender(int *fd)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			exit(1);
		close(pair[0]);
		sender_main(pair[1]);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

void latency(const struct options *options)
{
	static const char * const names[NR_WAYS] = {
		[MESSAGE] = "by a message of the sender's, from its last completion",
		[IN_BAND] = "in band, from the sender's last completion",
		[WINDOW] = "by invalidating the window, from the abort",
	};
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE | LKVFENCE_OPEN_NONBLOCK,
		.name = "bench-latency",
		.slot_size = SLOT_SIZE,
		.nr_slots = 1,
		.mode = 0600,
	};
	struct lkvfence_verbs_attr attr = { 0 };
	uint32_t repeat = options->repeat / 20 + 1;
	struct end end = { 0 };
	struct lkvfence *f;
	pid_t pid;

	completed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (completed == MAP_FAILED)
		die("no memory");
	pid = start_sender(&end.fd);
	open_end(&end, &attr);
	connect_end(&end);
	fail_fence(lkvfence_open(&f, &open));

	report_group("an aborted transfer's slots free on the receiver, 64 KiB");
	for (enum way way = 0; way < NR_WAYS; way++)
		measure_way(&end, f, names[way], way, repeat);

	close(end.fd);
	waitpid(pid, NULL, 0);
	need(lkvfence_rail_destroy_qp(end.rail), "destroy");
	lkvfence_close(f);
}
