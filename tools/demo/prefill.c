// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A prefill rank. It makes each request's KV in registered memory of its own
 * and posts RDMA writes for it, far ahead: as much as its staging memory
 * holds, for several requests, all on the one connection it has to decode.
 * What is posted can't be called back. That is the whole problem.
 *
 * On ABORT it posts nothing more for that generation, and answers when all it
 * had posted has completed with success: the proof, SUCCESS_CQE. The demo
 * makes it a bad correspondent, for a fence must stand that: some answers are
 * lost, some are sent twice, and some say "failed" at once, as a rank does
 * whose transfer call returned an error: then nobody knows what is still out.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "demo.h"

/* One request in the making. */
struct job {
	struct job *next;
	uint32_t request;
	uint64_t generation;
	uint32_t next_slot;		/* of the request: the first that is not posted */
	uint32_t writes_out;		/* posted, not completed */
	bool aborted;
	bool answered;			/* the ABORT, with "failed" */
	uint32_t range, offset;		/* next_slot's place in ranges */
	uint32_t nr_ranges;
	struct lkvfence_range ranges[];
};

struct prefill {
	const struct options *opt;
	struct rank_log *log;
	int decode_fd;
	struct job *jobs;		/* in the order in which they came */

	struct rdma rdma;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rdma_end pool;		/* decode's end */
	struct rdma_batch batch;

	/*
	 * Staging memory is a ring of slots. An RC connection completes writes
	 * in the order of posting, so the ring is freed in that order too.
	 */
	struct ibv_mr *staging;
	uint32_t head, nr_free;
	struct job **owners;		/* of the writes, by their number in the log */

	/* How many of 100 acknowledgements go wrong: what has built up so far. */
	uint32_t lost, failed, twice;
	uint32_t to_write;		/* slots of all jobs, posted or not, that have not landed */
	bool asked;			/* for more, and not got it yet */
	bool bye;
};

static char *staged(struct prefill *p, uint32_t slot)
{
	return (char *)p->staging->addr + (size_t)slot * p->opt->slot_size;
}

/* One more write, of as many consecutive slots as the pool and the ring allow. */
static void add_chunk(struct prefill *p, struct job *job)
{
	struct lkvfence_range *range = job->ranges + job->range;
	struct lkvfence_range chunk = {
		.first = range->first + job->offset,
		.count = range->count - job->offset,
	};
	uint32_t number = p->log->nr_writes++;
	struct write_log *log = p->log->writes + number;

	if (chunk.count > CHUNK_SLOTS)
		chunk.count = CHUNK_SLOTS;
	if (chunk.count > p->nr_free)
		chunk.count = p->nr_free;
	if (chunk.count > p->opt->staged_slots - p->head)
		chunk.count = p->opt->staged_slots - p->head;

	for (uint32_t i = 0; i < chunk.count; i++)
		text_slot(staged(p, p->head + i), job->request, job->next_slot + i);

	*log = (struct write_log){ .request = job->request, .slots = chunk, .posted_ns = now_ns() };
	p->owners[number] = job;
	rdma_write(&p->batch, p->staging, staged(p, p->head), chunk.count * p->opt->slot_size,
		   p->pool.addr + (uint64_t)chunk.first * p->opt->slot_size, p->pool.rkey, number);

	p->head = (p->head + chunk.count) % p->opt->staged_slots;
	p->nr_free -= chunk.count;
	job->writes_out++;
	job->next_slot += chunk.count;
	job->offset += chunk.count;
	if (job->offset == range->count) {
		job->range++;
		job->offset = 0;
	}
}

static bool all_posted(const struct job *job)
{
	return job->aborted || job->range == job->nr_ranges;
}

/*
 * Posts what the ring holds of the first request that isn't all posted, in
 * one call. Returns false if there was nothing to do. The caller looks for
 * messages in between, so that an abort stops what is not posted.
 */
static bool post_ahead(struct prefill *p)
{
	struct job *job = p->jobs;

	while (job && all_posted(job))
		job = job->next;
	if (!job || !p->nr_free)
		return false;
	while (p->nr_free && !all_posted(job))
		add_chunk(p, job);
	rdma_post(p->qp, &p->batch);
	return true;
}

static void tell(struct prefill *p, uint32_t type, const struct job *job, uint32_t status)
{
	struct msg msg = {
		.type = type,
		.request = job->request,
		.generation = job->generation,
		.status = status,
	};

	wire_send(p->decode_fd, &msg);
}

/* True for @percent of 100 calls, evenly spread. */
static bool comes_up(uint32_t *built_up, uint32_t percent)
{
	*built_up += percent;
	if (*built_up < 100)
		return false;
	*built_up -= 100;
	return true;
}

/* A job whose last write has completed is over, and that is told. */
static void settle(struct prefill *p, struct job *job)
{
	struct job **link = &p->jobs;

	if (job->writes_out || !all_posted(job))
		return;
	if (!job->aborted) {
		tell(p, MSG_DONE, job, 0);
	} else if (!job->answered) {
		if (comes_up(&p->lost, p->opt->lost)) {
			p->log->acks_lost++;
		} else {
			p->log->acks_drained++;
			tell(p, MSG_ABORT_ACK, job, LKVFENCE_STATUS_DRAINED);
			if (comes_up(&p->twice, p->opt->twice)) {
				p->log->acks_twice++;
				tell(p, MSG_ABORT_ACK, job, LKVFENCE_STATUS_DRAINED);
			}
		}
	}
	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	free(job);
}

static void completions(struct prefill *p)
{
	struct ibv_wc wc[16];
	int nr;

	while ((nr = ibv_poll_cq(p->cq, 16, wc)) > 0) {
		for (int i = 0; i < nr; i++) {
			struct write_log *log = p->log->writes + wc[i].wr_id;
			struct job *job = p->owners[wc[i].wr_id];

			/* An error is no proof of anything; a real rank says "failed". */
			if (wc[i].status != IBV_WC_SUCCESS)
				die("a write failed: %s", ibv_wc_status_str(wc[i].status));
			log->landed_ns = now_ns();
			p->nr_free += log->slots.count;
			p->to_write -= log->slots.count;
			job->writes_out--;
			settle(p, job);
		}
	}
	if (nr < 0)
		die("cannot poll for completions");
}

static void begin_job(struct prefill *p, const struct msg *msg)
{
	struct job **link = &p->jobs;
	struct job *job = calloc(1, sizeof(*job) + msg->nr_ranges * sizeof(job->ranges[0]));

	if (!job)
		die("no memory");
	job->request = msg->request;
	job->generation = msg->generation;
	job->nr_ranges = msg->nr_ranges;
	memcpy(job->ranges, msg->ranges, msg->nr_ranges * sizeof(job->ranges[0]));
	for (uint32_t i = 0; i < job->nr_ranges; i++)
		p->to_write += job->ranges[i].count;
	p->asked = false;
	while (*link)
		link = &(*link)->next;
	*link = job;
}

static void abort_job(struct prefill *p, const struct msg *msg)
{
	struct job *job = p->jobs;

	while (job && job->generation != msg->generation)
		job = job->next;
	if (!job)
		return;			/* it was over: DONE is on its way, and is as good */
	if (job->aborted)
		return;
	for (uint32_t i = job->range; i < job->nr_ranges; i++)
		p->to_write -= job->ranges[i].count;
	p->to_write += job->offset;	/* posted, of the range that was begun */
	job->aborted = true;
	if (job->writes_out && comes_up(&p->failed, p->opt->failed)) {
		p->log->acks_failed++;
		job->answered = true;
		tell(p, MSG_ABORT_ACK, job, LKVFENCE_STATUS_FAILED);
	}
	settle(p, job);
}

static void messages(struct prefill *p)
{
	static struct msg msg;

	while (wire_receive(p->decode_fd, &msg, false)) {
		switch (msg.type) {
		case MSG_PREFILL:
			begin_job(p, &msg);
			break;
		case MSG_ABORT:
			abort_job(p, &msg);
			break;
		case MSG_BYE:
			p->bye = true;
			break;
		default:
			die("message %u is not for a prefill", msg.type);
		}
	}
}

/* Asks for another request in time, so that the connection is never idle. */
static void ask_for_more(struct prefill *p)
{
	struct msg msg = { .type = MSG_WANT };

	if (p->asked || p->bye || p->to_write >= p->opt->short_slots)
		return;
	p->asked = true;
	wire_send(p->decode_fd, &msg);
}

static void wait_for_something(struct prefill *p)
{
	struct pollfd fds[] = {
		{ .fd = p->decode_fd, .events = POLLIN },
		{ .fd = p->channel->fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	void *context;

	if (poll(fds, 2, -1) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	if (fds[1].revents) {
		if (ibv_get_cq_event(p->channel, &cq, &context))
			die("cannot read the completion channel: %s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
		/* Ask first, then look: what completes in between is seen by the look. */
		if (ibv_req_notify_cq(p->cq, 0))
			die("cannot ask for completions");
	}
}

static void connect_to_decode(struct prefill *p)
{
	struct msg mine = { .type = MSG_END };
	static struct msg theirs;

	rdma_open(&p->rdma, p->opt->device);
	p->channel = ibv_create_comp_channel(p->rdma.context);
	if (!p->channel)
		die("no completion channel: %s", strerror(errno));
	p->cq = ibv_create_cq(p->rdma.context, (int)p->opt->staged_slots + 1, NULL, p->channel, 0);
	if (!p->cq || ibv_req_notify_cq(p->cq, 0))
		die("no completion queue: %s", strerror(errno));
	p->qp = rdma_qp(&p->rdma, p->cq, p->opt->staged_slots);
	p->staging = rdma_register(&p->rdma, (size_t)p->opt->staged_slots * p->opt->slot_size, 0);
	p->nr_free = p->opt->staged_slots;

	rdma_end(&p->rdma, p->qp, NULL, &mine.end);
	wire_send(p->decode_fd, &mine);
	wire_receive(p->decode_fd, &theirs, true);
	p->pool = theirs.end;
	rdma_connect_qp(&p->rdma, p->qp, &mine.end, &theirs.end);
}

/*
 * How long a full queue takes to drain: decode needs to know it, to choose a
 * deadline that is longer. Nobody uses the pool yet, so it may be written to.
 */
static void measure(struct prefill *p)
{
	struct msg ready = { .type = MSG_READY };
	uint64_t start = now_ns();
	struct ibv_wc wc;
	int nr;

	for (uint32_t i = 0; i < p->opt->staged_slots; i++) {
		rdma_write(&p->batch, p->staging, staged(p, i), p->opt->slot_size,
			   p->pool.addr + (uint64_t)i * p->opt->slot_size, p->pool.rkey, i);
		if (p->batch.nr == MAX_SLOTS || i + 1 == p->opt->staged_slots)
			rdma_post(p->qp, &p->batch);
	}
	for (uint32_t left = p->opt->staged_slots; left; left -= (uint32_t)nr) {
		nr = ibv_poll_cq(p->cq, 1, &wc);
		if (nr < 0 || (nr && wc.status != IBV_WC_SUCCESS))
			die("a write failed: %s", ibv_wc_status_str(wc.status));
	}
	p->log->drain_ns = now_ns() - start;
	ready.drain_ns = p->log->drain_ns;
	wire_send(p->decode_fd, &ready);
}

void prefill_main(const struct options *opt, struct board *board, uint32_t rank, int decode_fd)
{
	static struct prefill p;
	struct msg bye = { .type = MSG_BYE };

	/* More than half built up: each kind of bad answer comes early, at a place of its own. */
	p = (struct prefill){
		.opt = opt,
		.log = &board->ranks[rank],
		.decode_fd = decode_fd,
		.lost = opt->lost ? 50 + (uint32_t)(opt->seed + rank) % 25 : 0,
		.failed = opt->failed ? 60 + (uint32_t)(opt->seed + rank) % 25 : 0,
		.twice = opt->twice ? 70 + (uint32_t)(opt->seed + rank) % 25 : 0,
	};
	p.owners = calloc(board->nr_slots, sizeof(p.owners[0]));
	if (!p.owners)
		die("no memory");
	connect_to_decode(&p);
	measure(&p);

	while (!p.bye || p.jobs) {
		do {
			messages(&p);
			completions(&p);
			ask_for_more(&p);
		} while (post_ahead(&p));
		if (!p.bye || p.jobs)
			wait_for_something(&p);
	}
	wire_send(decode_fd, &bye);
}
