// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests of a production trace, served in pull mode by a producer and a consumer,
 * while clients hang up and everything is aborted at once: on one host, or on two
 * as tests/vm/pair starts them (LKVFENCE_PAIR, see pair.c).
 *
 * Whatever was aborted where and when: the load finishes, both ends are idle, no
 * slot is lost, and each text that survives is the right one.
 *
 * The consumer reads the producer's slots. For a request it has a transfer of its
 * own, in which a lease is out from the moment when its reads are posted until they
 * have completed; and a pull at the producer, whose lease it gives back then.
 */
#include <sys/mman.h>
#include <sys/socket.h>

#include "far.h"
#include "serving.h"
#include "verbs.h"

#define TRACE		"tools/demo/trace.jsonl"
#define REQUESTS	600U		/* of one load; LKVFENCE_RDMA_RUNS: fewer, or more */
#define LEAST		100U		/* so that some hang up */
#define AT_ONCE		96U
#define HANG_UP_MS	80		/* after so long, at most */
#define TOKENS		1024U		/* in a block */
#define ROW		132U		/* aborts in mid-transfer, one after the other */
#define ROUNDS		32U		/* so often these read all of it, to take a while */
#define SOURCE		1U

/* What is aborted at once, in the middle of a load. */
#define ALL_THERE	1U		/* by the producer */
#define ALL_HERE	2U		/* by the consumer */

struct request {
	uint32_t blocks;
	uint32_t first;			/* here */
	uint64_t generation;		/* likewise; 0: it is over */
	uint64_t there;			/* the producer's, once granted */
	uint32_t from;			/* its slots */
	uint32_t rounds;		/* how often they are read */
	int64_t hang_up_at;		/* 0: its client stays */
	bool dead;			/* it was aborted */
	bool answered;			/* its pull was */
	bool reading;
	bool taken;
};

struct load {
	const char *what;
	uint32_t hang_up;		/* percent of the clients */
	uint32_t all;			/* ALL_* */
};

static struct consumer {
	int fd;
	struct lkvfence *f;
	struct port port;
	struct ibv_qp *qps[LINKS];
	struct end there;
	char *pool;
	struct slots slots;
	uint32_t blocks[1024];		/* of the trace's requests */
	uint32_t nr_blocks;
	uint32_t started;		/* requests are numbered from 1 on */
	uint32_t open;
	uint32_t served;
	uint32_t aborted;
	uint32_t refused;
	uint32_t wrong;
	struct request requests[4096];
} c;

static void read_trace(void)
{
	FILE *file = fopen(TRACE, "r");
	char line[4096], *at;
	unsigned long blocks;

	need(file, TRACE);
	while (c.nr_blocks < ARRAY_SIZE(c.blocks) && fgets(line, sizeof(line), file)) {
		at = strstr(line, "\"input_length\":");
		need(at, "a request in " TRACE);
		blocks = strtoul(strchr(at, ':') + 1, NULL, 10) / TOKENS + 1;
		c.blocks[c.nr_blocks++] = (uint32_t)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
	}
	fclose(file);
}

static void say(uint32_t type, uint32_t request)
{
	struct message m = {
		.type = type,
		.request = request,
		.blocks = c.requests[request].blocks,
		.generation = c.requests[request].there,
	};

	tell(c.fd, &m);
}

/* One more request, if there is room for it. In half of them the pull is first. */
static bool start(uint32_t hang_up, uint32_t rounds)
{
	uint32_t n = c.started + 1, blocks = c.blocks[n % c.nr_blocks];
	uint32_t first = slots_get(&c.slots, blocks);
	struct request *r = &c.requests[n];

	need(n < ARRAY_SIZE(c.requests), "room for request %u", n);
	if (first == POOL)
		return false;
	c.started = n;
	c.open++;
	*r = (struct request){ .blocks = blocks, .first = first, .rounds = rounds };
	r->generation = begin(c.f, n, first, blocks, 0);
	if ((uint32_t)(rand() % 100) < hang_up)
		r->hang_up_at = now_ns() + rand() % HANG_UP_MS * (int64_t)MS;
	say(n % 2 ? MESSAGE_PULL : MESSAGE_REQUEST, n);
	say(n % 2 ? MESSAGE_REQUEST : MESSAGE_PULL, n);
	return true;
}

static void post_reads(uint32_t n, bool last)
{
	struct request *r = &c.requests[n];
	struct ibv_sge sges[MAX_BLOCKS];
	struct ibv_send_wr wrs[MAX_BLOCKS], *bad;
	uint32_t i;
	int err;

	for (i = 0; i < r->blocks; i++) {
		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)c.pool + (uint64_t)(r->first + i) * BLOCK,
			.length = BLOCK,
			.lkey = c.port.mr->lkey,
		};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = n,
			.next = i + 1 < r->blocks ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			/* One queue completes in order: the last one stands for all. */
			.send_flags = last && i + 1 == r->blocks ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = {
				.remote_addr = c.there.address + (uint64_t)(r->from + i) * BLOCK,
				.rkey = c.there.rkey,
			},
		};
	}
	err = ibv_post_send(c.qps[n % LINKS], wrs, &bad);
	need(!err, "ibv_post_send: %s", strerror(err));
}

/*
 * Soft-RoCE may carry out what is posted before the call returns: who is to find
 * it under way has it posted by a thread.
 */
static pthread_t poster;

static void *post_all(void *arg)
{
	uint32_t n = (uint32_t)(uintptr_t)arg, left = c.requests[n].rounds;

	while (left--)
		post_reads(n, !left);
	return NULL;
}

/* It is over when its pull was answered and its own slots are back. */
static void over(uint32_t n)
{
	struct request *r = &c.requests[n];

	if (r->generation || !r->answered || (r->there && !r->taken))
		return;
	slots_put(&c.slots, r->first, r->blocks);
	c.open--;
}

static void die(uint32_t n)
{
	struct request *r = &c.requests[n];

	if (r->dead || !r->generation)
		return;
	r->dead = true;
	c.aborted++;
	need(!lkvfence_abort_generation(c.f, r->generation), "ABORT: %s", lkvfence_errmsg());
	say(MESSAGE_DROP, n);
}

static void granted(const struct message *m)
{
	struct request *r = &c.requests[m->request];
	int err;

	need(!r->answered, "request %u is answered once", m->request);
	r->answered = true;
	r->there = m->generation;
	r->from = m->first;
	err = lkvfence_take(c.f, r->generation, SOURCE);
	need(!err || err == -ECANCELED || err == -ENOENT || err == -ESTALE, "TAKE: %d", err);
	if (!err) {
		r->reading = true;
		if (r->rounds == 1)
			post_all((void *)(uintptr_t)m->request);
		else
			need(!pthread_create(&poster, NULL, post_all,
					     (void *)(uintptr_t)m->request), "a thread");
		return;
	}
	/* It is dead. Nothing was read, and nothing will be. */
	r->taken = true;
	say(MESSAGE_TAKEN, m->request);
	over(m->request);
}

static void refused(const struct message *m)
{
	struct request *r = &c.requests[m->request];

	need(!r->answered, "request %u is answered once", m->request);
	need(m->reason == LKVFENCE_REASON_DROPPED || m->reason == LKVFENCE_REASON_ABORTED,
	     "request %u is refused with the true reason, not %u", m->request, m->reason);
	r->answered = true;
	c.refused++;
	/* It may have been refused before it was offered. */
	die(m->request);
	over(m->request);
}

/* All that was posted for it has completed. */
static void completed(const struct ibv_wc *wc)
{
	uint32_t n = (uint32_t)wc->wr_id;
	struct request *r = &c.requests[n];

	need(wc->status == IBV_WC_SUCCESS, "a read: %s", ibv_wc_status_str(wc->status));
	r->reading = false;
	r->taken = true;
	if (!r->dead)
		c.wrong += !right_text(c.pool + (size_t)r->first * BLOCK, n, r->blocks);
	say(MESSAGE_TAKEN, n);
	need(!drained(c.f, r->generation, SOURCE), "RETURN: %s", lkvfence_errmsg());
	/* An event tells of an aborted one. */
	if (r->dead)
		return;
	need(!lkvfence_release(c.f, r->generation), "RELEASE: %s", lkvfence_errmsg());
	r->generation = 0;
	c.served++;
	over(n);
}

static void learn(const struct lkvfence_event *e)
{
	uint32_t n = (uint32_t)e->tag;
	struct request *r = &c.requests[n];

	if (e->type != LKVFENCE_EVENT_RELEASED)
		return;
	need(e->generation == r->generation && !r->reading &&
	     e->outcome == LKVFENCE_OUTCOME_DRAINED, "request %u comes back once, proven", n);
	/* By ABORT of all: its pull may wait yet. */
	if (!r->dead) {
		r->dead = true;
		c.aborted++;
		say(MESSAGE_DROP, n);
	}
	r->generation = 0;
	over(n);
}

static void learn_all(void)
{
	struct lkvfence_event e[16];
	int n, i;

	while ((n = lkvfence_events(c.f, e, ARRAY_SIZE(e), 0)) > 0) {
		for (i = 0; i < n; i++)
			learn(&e[i]);
	}
	need(!n, "events: %s", lkvfence_errmsg());
}

/* What has come in. */
static void work(int ms)
{
	struct message m;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(c.port.cq, 1, &wc))) {
		need(n == 1, "ibv_poll_cq");
		completed(&wc);
	}
	either(c.fd, c.f, ms);
	while (hear(c.fd, &m)) {
		if (m.type == MESSAGE_GRANTED)
			granted(&m);
		else
			refused(&m);
	}
	learn_all();
}

static void hang_up_due(void)
{
	int64_t now = now_ns();
	uint32_t n;

	for (n = c.started; n && n + 4 * AT_ONCE > c.started; n--) {
		struct request *r = &c.requests[n];

		if (r->generation && r->hang_up_at && r->hang_up_at < now)
			die(n);
	}
}

/* ABORT of all, at a moment that nobody chose. */
static void abort_all(uint32_t all)
{
	uint32_t n;

	if (all & ALL_THERE)
		say(MESSAGE_ABORT_ALL, 0);
	if (!(all & ALL_HERE))
		return;
	for (n = 1; n <= c.started; n++) {
		struct request *r = &c.requests[n];

		/* That of what is being read comes when it is not any more. */
		if (!r->generation || r->dead)
			continue;
		r->dead = true;
		c.aborted++;
		say(MESSAGE_DROP, n);
	}
	need(!lkvfence_abort_all(c.f, LKVFENCE_REASON_SHUTDOWN), "ABORT: %s", lkvfence_errmsg());
}

static void carry(const struct load *load, uint32_t requests)
{
	uint32_t end = c.started + requests, at = 0;
	uint32_t served = c.served, aborted = c.aborted, refused_before = c.refused;

	if (load->all)
		at = c.started + requests / 4 + (uint32_t)rand() % (requests / 2);
	while (c.started < end || c.open) {
		int64_t patience = now_ns() + PATIENCE_MS * (int64_t)MS;
		uint32_t before = c.started - c.open;

		while (c.started < end && c.open < AT_ONCE && start(load->hang_up, 1))
			;
		if (at && c.started >= at) {
			abort_all(load->all);
			at = 0;
		}
		do {
			work(1);
			hang_up_due();
			need(now_ns() < patience, "%s: it goes on: %u of %u requests are open",
			     load->what, c.open, c.started);
		} while (c.open && c.started - c.open == before);
	}
	served = c.served - served;
	aborted = c.aborted - aborted;
	check(served + aborted == requests, "%s: %u served, %u aborted, %u of their pulls refused",
	      load->what, served, aborted, c.refused - refused_before);
	check(!load->hang_up || aborted, "%s: some were aborted", load->what);
	gives(c.wrong, 0, "%s: each text that was served is right", load->what);
	check(!stat_of(c.f).transfers_alive && !stat_of(c.f).slots_taken,
	      "%s: the consumer is idle", load->what);
}

/* One by one, each when its first block has landed and its reads have not completed. */
static void abort_in_a_row(void)
{
	uint32_t i, mid = 0, n;
	struct ibv_wc wc;

	for (i = 0; i < ROW; i++) {
		const volatile uint64_t *word;
		struct request *r;

		need(start(0, ROUNDS), "room");
		n = c.started;
		r = &c.requests[n];
		word = (uint64_t *)(c.pool + (size_t)r->first * BLOCK) + 1;
		memset(c.pool + (size_t)r->first * BLOCK, 0, (size_t)r->blocks * BLOCK);
		while (!r->reading)
			work(1);
		while (!*word)
			;
		if (ibv_poll_cq(c.port.cq, 1, &wc))
			completed(&wc);
		else
			mid++;
		die(n);
		need(!pthread_join(poster, NULL), "the thread");
		while (c.open)
			work(1);
	}
	check(mid, "%u aborts in a row, %u of them in mid-transfer", ROW, mid);
	check(!stat_of(c.f).transfers_alive && !stat_of(c.f).slots_taken,
	      "every slot is back");
}

static void connect_link(uint32_t link)
{
	struct message m = { .type = MESSAGE_CONNECT };
	struct end self;

	c.qps[link] = port_qp(&c.port, IBV_QPT_RC, MAX_POSTED / LINKS);
	end_describe(&c.port, c.qps[link], &self);
	m.end = self;
	tell(c.fd, &m);
	need(until(hear(c.fd, &m)) && m.type == MESSAGE_CONNECT, "an answer");
	c.there = m.end;
	end_connect(&c.port, c.qps[link], &self, &c.there, 16, 6);
}

static int other_end(void)
{
	const char *host = getenv("LKVFENCE_PAIR");
	int fds[2];
	pid_t pid;

	if (host)
		return far_reach(host);
	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "a socket");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		produce(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	return fds[0];
}

int main(void)
{
	static const struct load loads[] = {
		{ "10 % hang up", 10, 0 },
		{ "50 % hang up", 50, 0 },
		{ "all aborted by the producer", 10, ALL_THERE },
		{ "all aborted by the consumer", 10, ALL_HERE },
		{ "all aborted by both", 10, ALL_THERE | ALL_HERE },
	};
	struct message m = { .type = MESSAGE_CLOSE };
	uint32_t i;

	if (far_listens()) {
		produce(far_accept());
		return 0;
	}
	srand(1);
	read_trace();
	c.fd = other_end();
	c.pool = mmap(NULL, (size_t)POOL * BLOCK, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	need(c.pool != MAP_FAILED, "memory");
	port_open(&c.port, DEVICE, c.pool, (size_t)POOL * BLOCK, IBV_ACCESS_LOCAL_WRITE,
		  2 * MAX_POSTED);
	for (i = 0; i < LINKS; i++)
		connect_link(i);
	c.f = region("consumer", POOL);
	for (i = 0; i < ARRAY_SIZE(loads); i++)
		carry(&loads[i], runs(REQUESTS) < LEAST ? LEAST : runs(REQUESTS));
	abort_in_a_row();
	lkvfence_close(c.f);
	tell(c.fd, &m);
	need(until(hear(c.fd, &m)), "the producer's last word");
	check(m.type == MESSAGE_CLOSE && !m.left, "the producer is idle, no slot is lost");
	for (i = 0; i < LINKS; i++)
		ibv_destroy_qp(c.qps[i]);
	return done();
}
