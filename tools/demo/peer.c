// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The fifth act: a peer that fails, is refused, and recovers.
 *
 * Decode reads from a prefill, and the prefill's process is killed. A read that is
 * launched to it now gets no answer, and fails when the network card has given up
 * asking; until then its slot is out, and its client waits. An engine that doesn't
 * know better lets every further launch wait as long.
 *
 * With the module's table of peers the first of them says for all what it has seen
 * (on_failure(), below), and the others, of all processes of this user, are refused
 * at once: EHOSTDOWN. One strike doesn't last: the prober of liblkvfence-probe asks
 * whether RDMA gets there again, and when the prefill has been started anew it does.
 * The engine connects: a new session, and whatever is still said of the old one
 * changes nothing.
 *
 * The launcher is decode here, the prefill a child. Each launch has a queue pair of
 * its own, for one that has failed takes all with it that are posted on it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence-probe.h>
#include "demo.h"

#define LAUNCHES	8U		/* of each part of the act */
#define LANES		(LAUNCHES + 1)	/* and one to break */
#define SLOT_SIZE	65536U
#define SOURCE		1U
#define PROBE_MS	200U
#define IN_VAIN		2U		/* probes, before the prefill is started anew */
/* What the prefill of a session has in its memory. */
#define PATTERN(session) (0xa0 + (session))

struct launch {
	uint64_t generation;
	uint64_t start_ns;
};

struct act {
	struct rdma rdma;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct sockaddr_in address;	/* of the prefill's responder */
	struct lkvfence *fence;
	char name[64];
	bool table;			/* of peers: it is asked, and told */

	/* the prefill's processes, one after the other */
	pid_t pids[2];
	int fds[2];

	/* the session, from 1 */
	uint32_t session;
	struct ibv_qp *qps[LANES];
	struct rdma_end theirs;
	struct lkvfence_peer peer;
	struct launch launches[LANES];

	uint32_t begun, freed;		/* slots */
	bool healthy;			/* by the events */
};

/* What became of launches that were made together. */
struct launched {
	uint32_t good, refused, failed;
	uint64_t refused_ns[LAUNCHES];	/* until a refusal, each */
	uint64_t least_ns, most_ns;	/* until a failure */
	enum ibv_wc_status status;	/* of the last failure */
};

static double in_ms(uint64_t ns)
{
	return (double)ns / NS_PER_MS;
}

static void need(int err)
{
	if (err)
		die("%s", lkvfence_errmsg());
}

/*
 * The prefill
 */

/* When it is told to begin, it has something to read, and answers probes, until it is killed. */
static void prefill(const struct options *opt, struct act *a, uint32_t session, int fd)
{
	struct msg mine = { .type = MSG_END };
	struct lkvfence_responder *responder;
	struct rdma rdma = { .retries = 1 };
	struct ibv_qp *qps[LANES];
	struct rdma_end ends[LANES];
	static struct msg theirs;
	struct ibv_mr *mr;
	struct ibv_cq *cq;

	wire_receive(fd, &theirs, true);
	a->address.sin_port = htons((uint16_t)theirs.request);
	rdma_open(&rdma, opt->device);
	cq = ibv_create_cq(rdma.context, LANES, NULL, NULL, 0);
	if (!cq)
		die("no completion queue: %s", strerror(errno));
	mr = rdma_register(&rdma, LANES * SLOT_SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ);
	memset(mr->addr, (int)PATTERN(session), mr->length);
	if (lkvfence_responder_start(&responder, (const struct sockaddr *)&a->address))
		die("%s", lkvfence_probe_errmsg());
	mine.request = lkvfence_responder_port(responder);
	for (uint32_t i = 0; i < LANES; i++) {
		qps[i] = rdma_qp(&rdma, cq, 1);
		rdma_end(&rdma, qps[i], mr, &ends[i]);
		mine.end = ends[i];
		wire_send(fd, &mine);
	}
	for (uint32_t i = 0; i < LANES; i++) {
		wire_receive(fd, &theirs, true);
		rdma_connect_qp(&rdma, qps[i], &ends[i], &theirs.end);
	}
	mine.type = MSG_READY;
	wire_send(fd, &mine);
	for (;;)
		pause();
}

/*
 * The processes of both sessions, before there are threads of a prober: a child
 * that was forked among them might find a lock of theirs taken, for ever.
 */
static void fork_prefills(const struct options *opt, struct act *a)
{
	pid_t parent = getpid();
	int pair[2];

	for (uint32_t i = 0; i < 2; i++) {
		wire_pair(pair);
		fflush(NULL);
		a->pids[i] = fork();
		if (a->pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!a->pids[i]) {
			who = i ? "second prefill" : "prefill";
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
				exit(1);
			close(pair[0]);
			prefill(opt, a, i + 1, pair[1]);
		}
		close(pair[1]);
		a->fds[i] = pair[0];
	}
}

/* The second one listens where the first one did. */
static void start_prefill(struct act *a)
{
	struct msg go = {
		.type = MSG_PREFILL,
		.request = ntohs(a->address.sin_port),
	};

	wire_send(a->fds[a->session++], &go);
}

/* Its queue pairs go with it: when this returns, nobody answers. */
static void end_prefill(struct act *a, int i)
{
	kill(a->pids[i], SIGKILL);
	if (waitpid(a->pids[i], NULL, 0) != a->pids[i])
		die("the prefill is not this process's child");
	close(a->fds[i]);
}

/* A session: queue pairs, and with the table the word that there is one. */
static void connect_prefill(struct act *a)
{
	struct rdma_end theirs[LANES];
	struct msg mine = { .type = MSG_END };
	int fd = a->fds[a->session - 1];
	static struct msg msg;

	for (uint32_t i = 0; i < LANES; i++) {
		wire_receive(fd, &msg, true);
		theirs[i] = msg.end;
	}
	a->theirs = theirs[0];
	a->address.sin_port = htons((uint16_t)msg.request);
	for (uint32_t i = 0; i < LANES; i++) {
		a->qps[i] = rdma_qp(&a->rdma, a->cq, 1);
		rdma_end(&a->rdma, a->qps[i], NULL, &mine.end);
		rdma_connect_qp(&a->rdma, a->qps[i], &mine.end, &theirs[i]);
		wire_send(fd, &mine);
	}
	wire_receive(fd, &msg, true);
	if (!a->table)
		return;
	a->peer = (struct lkvfence_peer){
		.op = LKVFENCE_PEER_OP_CONNECT,
		.flags = LKVFENCE_PEER_WATCH,
		.session = a->session,
	};
	memcpy(a->peer.name, a->name, sizeof(a->peer.name));
	need(lkvfence_peer(a->fence, &a->peer));
}

static void destroy_qp(struct act *a, uint32_t lane)
{
	if (a->qps[lane] && ibv_destroy_qp(a->qps[lane]))
		die("cannot destroy a QP: %s", strerror(errno));
	a->qps[lane] = NULL;
}

static void disconnect(struct act *a)
{
	for (uint32_t i = 0; i < LANES; i++)
		destroy_qp(a, i);
}

/*
 * Launches
 */

/* One event; each that is waited for comes. */
static void event(struct act *a)
{
	struct lkvfence_event e;
	int nr;

	do
		nr = lkvfence_events(a->fence, &e, 1, 60000);
	while (nr == -EINTR);
	if (nr != 1)
		die("no event: %s", nr ? lkvfence_errmsg() : "none came in a minute");
	if (e.type == LKVFENCE_EVENT_RELEASED)
		a->freed++;
	if (e.type == LKVFENCE_EVENT_PEER)
		a->healthy = e.reason == LKVFENCE_REASON_NONE;
}

/* It is over without its data; a slot under which nothing is out comes back at once. */
static void give_up(struct act *a, uint32_t lane, uint32_t reason)
{
	struct lkvfence_abort abort = {
		.generation = a->launches[lane].generation,
		.reason = reason,
	};

	need(lkvfence_abort(a->fence, &abort));
}

/*
 * What tells a dead peer from a failed request. A peer that has refused one, or
 * found an error in it, has answered, and so is there. (A rail of liblkvfence-verbs
 * does this by itself: lkvfence_rail_peer().)
 */
static void on_failure(struct act *a, enum ibv_wc_status status)
{
	if (a->table && status == IBV_WC_RETRY_EXC_ERR)
		need(lkvfence_peer_failed(a->fence, a->name, a->session));
}

static void launch(struct act *a, uint32_t lane, uint32_t rkey, struct launched *to)
{
	static struct rdma_batch batch;
	struct lkvfence_range range = { lane, 1 };
	struct lkvfence_begin begin = {
		.tag = a->begun++,
		.ranges = (uintptr_t)&range,
		.nr_ranges = 1,
	};
	struct launch *l = a->launches + lane;
	uint8_t *slot = (uint8_t *)a->mr->addr + (size_t)lane * SLOT_SIZE;
	int err;

	need(lkvfence_begin(a->fence, &begin));
	l->generation = begin.generation;
	l->start_ns = now_ns();
	err = a->table ? lkvfence_take_healthy(a->fence, l->generation, SOURCE, a->peer.id) :
			 lkvfence_take(a->fence, l->generation, SOURCE);
	if (err == -EHOSTDOWN) {
		to->refused_ns[to->refused++] = now_ns() - l->start_ns;
		give_up(a, lane, LKVFENCE_REASON_PEER);
		return;
	}
	need(err);
	memset(slot, 0, SLOT_SIZE);
	rdma_read(&batch, a->mr, slot, SLOT_SIZE, a->theirs.addr + (uint64_t)lane * SLOT_SIZE,
		  rkey, lane);
	rdma_post(a->qps[lane], &batch);
}

static void completed(struct act *a, const struct ibv_wc *wc, struct launched *to)
{
	uint32_t lane = (uint32_t)wc->wr_id;
	const struct launch *l = a->launches + lane;
	const uint8_t *slot = (uint8_t *)a->mr->addr + (size_t)lane * SLOT_SIZE;
	uint64_t ns = now_ns() - l->start_ns;

	if (wc->status == IBV_WC_SUCCESS) {
		need(lkvfence_drained(a->fence, l->generation, SOURCE,
				      LKVFENCE_EVIDENCE_SUCCESS_CQE));
		to->good += slot[0] == PATTERN(a->session) &&
			    !memcmp(slot, slot + 1, SLOT_SIZE - 1);
		/* No event follows. */
		need(lkvfence_release(a->fence, l->generation));
		a->freed++;
		return;
	}
	to->failed++;
	to->status = wc->status;
	to->most_ns = ns > to->most_ns ? ns : to->most_ns;
	to->least_ns = to->least_ns && to->least_ns < ns ? to->least_ns : ns;
	on_failure(a, wc->status);
	/* An error proves nothing of what may still land; that there is no QP does. */
	destroy_qp(a, lane);
	need(lkvfence_revoked(a->fence, l->generation, SOURCE, LKVFENCE_EVIDENCE_QP_DESTROYED));
	give_up(a, lane, LKVFENCE_REASON_FAILED);
}

/* Reads through lanes @first and up, at the same time; returns when all are over. */
static struct launched launch_all(struct act *a, uint32_t first, uint32_t nr, uint32_t rkey)
{
	struct launched to = { 0 };
	struct ibv_wc wc;

	for (uint32_t i = 0; i < nr; i++)
		launch(a, first + i, rkey, &to);
	for (uint32_t left = nr - to.refused; left;) {
		int polled = ibv_poll_cq(a->cq, 1, &wc);

		if (polled < 0)
			die("cannot poll the completion queue");
		if (!polled)
			poll(NULL, 0, 1);
		else
			completed(a, &wc, &to);
		left -= (uint32_t)polled;
	}
	while (a->freed < a->begun)
		event(a);
	return to;
}

/*
 * The act
 */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One finds that the prefill is dead; then come the others. */
static void launch_to_the_dead(struct act *a, struct peer_row *row)
{
	struct launched one, others;

	end_prefill(a, 0);
	one = launch_all(a, 0, 1, a->theirs.rkey);
	if (a->table)
		printf("  the prefill is killed; a read fails after %.0f ms, %s: it is marked\n",
		       in_ms(one.most_ns), ibv_wc_status_str(one.status));
	others = launch_all(a, 1, LAUNCHES - 1, a->theirs.rkey);
	row->tried = LAUNCHES;
	row->refused = one.refused + others.refused;
	row->waited = one.failed + others.failed;
	if (others.refused) {
		qsort(others.refused_ns, others.refused, sizeof(uint64_t), compare);
		row->half_ms = in_ms(others.refused_ns[others.refused / 2]);
		row->refused_ms = in_ms(others.refused_ns[others.refused - 1]);
	}
	row->waited_ms = in_ms(one.most_ns > others.most_ns ? one.most_ns : others.most_ns);
	row->least_ms = in_ms(others.failed && others.least_ns < one.least_ns ?
			      others.least_ns : one.least_ns);
}

static void wrong_key(struct act *a, struct peer_row *row)
{
	struct launched to = launch_all(a, LAUNCHES, 1, ~a->theirs.rkey);
	struct lkvfence_peer peer = { .op = LKVFENCE_PEER_OP_LOOK };

	memcpy(peer.name, a->name, sizeof(peer.name));
	need(lkvfence_peer(a->fence, &peer));
	row->stayed = to.failed == 1 && peer.state == LKVFENCE_PEER_HEALTHY && !peer.failures;
	printf("  a read with a wrong key fails, %s: that is an answer; it is %s\n",
	       ibv_wc_status_str(to.status), lkvfence_peer_state_name(peer.state));
}

static void come_back(struct act *a, struct lkvfence_prober *prober, struct peer_row *row)
{
	struct lkvfence_prober_stat stat;
	uint64_t start, generation = a->peer.generation;
	struct launched to;

	do {
		poll(NULL, 0, 5);
		lkvfence_prober_stat(prober, &stat);
	} while (stat.failures < IN_VAIN);
	disconnect(a);
	start = now_ns();
	start_prefill(a);
	/* Read in their order: first that it has failed. */
	while (a->healthy)
		event(a);
	while (!a->healthy)
		event(a);
	row->back_ms = in_ms(now_ns() - start);
	row->in_vain = (uint32_t)stat.failures;
	printf("  probed every %u ms, %u times in vain; it is started anew, and healthy %.0f ms later\n",
	       PROBE_MS, row->in_vain, row->back_ms);
	connect_prefill(a);
	row->new_generation = a->peer.generation > generation;
	to = launch_all(a, 0, LAUNCHES, a->theirs.rkey);
	row->after = to.good;
	row->late_stale = lkvfence_peer_failed(a->fence, a->name, 1) == -ESTALE;
	printf("  session %u: %u launches of %u go; that session 1 has failed is %s\n",
	       a->session, to.good, LAUNCHES, row->late_stale ? "refused as stale" : "BELIEVED");
}

static void play(const struct options *opt, struct act *a, struct peer_row *row)
{
	struct lkvfence_probe_target target = { .address = (struct sockaddr *)&a->address };
	struct lkvfence_prober_attr attr = {
		.fence = a->fence,
		.interval_ns = PROBE_MS * NS_PER_MS,
	};
	struct lkvfence_prober_peer peer = {
		.name = a->name,
		.probe = lkvfence_probe_rdma,
		.arg = &target,
	};
	struct lkvfence_prober *prober = NULL;
	struct lkvfence_stat stat;
	struct launched to;

	a->session = 0;
	a->address.sin_port = 0;
	fork_prefills(opt, a);
	start_prefill(a);
	connect_prefill(a);
	to = launch_all(a, 0, LAUNCHES, a->theirs.rkey);
	row->before = to.good;
	if (a->table) {
		printf("  session %u: %u launches of %u go\n", a->session, to.good, LAUNCHES);
		wrong_key(a, row);
		if (lkvfence_prober_start(&prober, &attr) || lkvfence_prober_add(prober, &peer))
			die("%s", lkvfence_probe_errmsg());
	}
	launch_to_the_dead(a, row);
	if (a->table) {
		come_back(a, prober, row);
		lkvfence_prober_stop(prober, -1);
		a->peer.op = LKVFENCE_PEER_OP_LOOK;
		a->peer.flags = 0;
		need(lkvfence_peer(a->fence, &a->peer));
		row->counted = a->peer;
	}
	end_prefill(a, 1);
	disconnect(a);
	need(lkvfence_stat(a->fence, &stat));
	row->slots_lost = stat.slots_taken;
}

/* Where the prefill's responder listens. False, and why, if it couldn't. */
static bool find_address(struct act *a, const char *device)
{
	const struct in6_addr *gid = (const struct in6_addr *)a->rdma.gid.raw;
	struct lkvfence_responder *responder;

	if (!IN6_IS_ADDR_V4MAPPED(gid)) {
		printf("  not played: %s has no IPv4 address\n", device);
		return false;
	}
	a->address.sin_family = AF_INET;
	memcpy(&a->address.sin_addr, gid->s6_addr + 12, 4);
	if (lkvfence_responder_start(&responder, (struct sockaddr *)&a->address)) {
		printf("  not played: %s\n", lkvfence_probe_errmsg());
		return false;
	}
	lkvfence_responder_stop(responder);
	return true;
}

static void open_all(struct act *a)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE | LKVFENCE_OPEN_NONBLOCK,
		.slot_size = SLOT_SIZE,
		.nr_slots = LANES,
		.mode = 0600,
	};

	a->mr = rdma_register(&a->rdma, LANES * SLOT_SIZE, IBV_ACCESS_LOCAL_WRITE);
	a->cq = ibv_create_cq(a->rdma.context, LANES, NULL, NULL, 0);
	if (!a->cq)
		die("no completion queue: %s", strerror(errno));
	snprintf(open.name, sizeof(open.name), "peer.%d", getpid());
	snprintf(a->name, sizeof(a->name), "prefill.%d", getpid());
	a->healthy = true;
	need(lkvfence_open(&a->fence, &open));
}

static void close_all(struct act *a)
{
	lkvfence_close(a->fence);
	ibv_destroy_cq(a->cq);
	ibv_dereg_mr(a->mr);
}

static void print_row(const struct peer_row *row, bool table)
{
	printf("  %-18s %6u %8u ", table ? "with the table" : "without the table", row->tried,
	       row->refused);
	if (row->refused)
		printf("%9.3f %9.3f ", row->half_ms, row->refused_ms);
	else
		printf("%9s %9s ", "-", "-");
	printf("%7u %9.0f ", row->waited, row->least_ms);
	if (table)
		printf("%11llu", row->counted.recoveries);
	else
		printf("%11s", "-");
	printf(" %11u\n", row->slots_lost);
}

/* By the module's own books, too. */
static bool is_good(const struct peer_row rows[2])
{
	const struct peer_row *t = rows + 1;

	return rows[0].before == LAUNCHES && rows[0].waited == LAUNCHES && !rows[0].slots_lost &&
	       t->before == LAUNCHES && t->stayed && t->waited == 1 &&
	       t->refused == LAUNCHES - 1 && t->counted.refused == t->refused &&
	       t->counted.failures == 1 && t->counted.recoveries == 1 &&
	       t->counted.probes > t->in_vain && t->counted.sessions == 2 &&
	       t->new_generation && t->late_stale && t->counted.stale == 1 &&
	       t->after == LAUNCHES && !t->slots_lost;
}

bool peer_main(const struct options *opt, struct peer_row rows[2], bool *played)
{
	struct act a = { .rdma.retries = 1 };

	rdma_open(&a.rdma, opt->device);
	printf("\nA prefill dies and is started anew. %u launches to it while it is dead, first one, then the others:\n\n",
	       LAUNCHES);
	*played = find_address(&a, opt->device);
	if (!*played)
		return true;
	open_all(&a);
	for (int table = 0; table < 2; table++) {
		rows[table] = (struct peer_row){ 0 };
		a.table = table;
		play(opt, &a, rows + table);
	}
	close_all(&a);
	printf("\n  %-18s %6s %8s %9s %9s %7s %9s %11s %11s\n", "", "tried", "refused", "in, ms",
	       "at most", "waited", "for, ms", "recoveries", "slots lost");
	for (int table = 0; table < 2; table++)
		print_row(rows + table, table);
	printf("\n  Each of the %u that were refused would have waited as long as those without the table,\n"
	       "  %.0f to %.0f ms, with its slot out.\n", rows[1].refused, rows[0].least_ms,
	       rows[0].waited_ms);
	return is_good(rows);
}
