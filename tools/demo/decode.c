// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The decode engine: hands out slots, has a prefill fill them, generates by
 * reading them, and takes them back. Look for `d->fence`: at every place where
 * it stands, the branch without it is what engines did, and what goes wrong.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "demo.h"

enum state {
	WAITING,		/* no slots yet */
	TRANSFER,		/* a prefill writes into its slots */
	DECODING,		/* its answer is being made from them */
	HELD,			/* its client hung up; the fence has the slots */
	OVER,			/* its slots are back */
};

struct request {
	enum state state;
	uint32_t step;			/* decode steps done */
	uint32_t slots_read;
	uint32_t own_cells;		/* read in a row up to here, all its own */
	bool turned;			/* from its own text into another's */
};

struct decode {
	const struct options *opt;
	const struct plan *plan;
	struct board *board;
	const int *rank_fds;
	struct rdma rdma;
	struct ibv_mr *mr;		/* the pool's memory */
	struct ibv_qp *qps[NR_RANKS];
	struct pool pool;
	struct fence *fence;		/* NULL: without it */
	struct request *requests;
	uint32_t first, next;		/* admitted and not over: from first to below next */
	bool hungry[NR_RANKS];		/* the rank has asked for more work */
	uint64_t generations;		/* without the fence: the engine's own */
	uint64_t drain_ns;		/* the longest that a rank took to become quiet */
	uint64_t next_step_ns;
	char *seen, *expected;		/* a slot each */
};

static char *slot_memory(struct decode *d, uint32_t slot)
{
	return (char *)d->mr->addr + (size_t)slot * d->opt->slot_size;
}

static uint32_t *slots_of(struct decode *d, uint32_t id)
{
	return d->board->slots + d->plan[id].first_slot;
}

/* The slots go back to the free list; whoever is next gets them. */
static void slots_back(struct decode *d, uint32_t id, uint32_t outcome)
{
	struct life *life = d->board->lives + id;

	life->outcome = outcome;
	life->freed_ns = now_ns();
	pool_put(&d->pool, slots_of(d, id), d->plan[id].nr_slots);
	d->requests[id].state = OVER;
}

/* Takes slots for the request, and has a rank fill them. */
static bool admit(struct decode *d, uint32_t id, uint32_t rank)
{
	static struct msg msg;
	struct life *life = d->board->lives + id;
	uint32_t nr = d->plan[id].nr_slots;

	if (!pool_get(&d->pool, slots_of(d, id), nr))
		return false;		/* it waits, as in any engine */
	life->admitted_ns = now_ns();
	life->rank = rank;
	d->requests[id].state = TRANSFER;

	msg.type = MSG_PREFILL;
	msg.request = id;
	msg.nr_ranges = pool_ranges(slots_of(d, id), nr, msg.ranges);
	if (d->fence)
		msg.generation = fence_admit(d->fence, id, msg.ranges, msg.nr_ranges, rank);
	else
		msg.generation = ++d->generations;
	life->generation = msg.generation;
	wire_send(d->rank_fds[rank], &msg);
	return true;
}

/* Requests that have arrived go, in their order, to the ranks that ask for work. */
static void admissions(struct decode *d, uint64_t now)
{
	for (uint32_t rank = 0; rank < NR_RANKS; rank++) {
		if (!d->hungry[rank] || d->next == d->opt->requests ||
		    d->plan[d->next].arrive_ns > now - d->board->start_ns)
			continue;
		if (!admit(d, d->next, rank))
			return;
		d->hungry[rank] = false;
		d->next++;
	}
}

/*
 * How long a hold may last: longer than the abort's way to the rank, the
 * chunks that are queued there, and one call in flight. Each rank has measured
 * what a full queue takes, and each abort shows anew how long all that took
 * together: eight times the longest, and never less than --hold-ms.
 */
static uint64_t hold_ns(struct decode *d)
{
	uint64_t least = d->opt->hold_ms * NS_PER_MS;

	d->board->hold_ns = 8 * d->drain_ns > least ? 8 * d->drain_ns : least;
	return d->board->hold_ns;
}

/*
 * The client is gone, and its answer with it. With the fence, this does not
 * wait for anything either: the client's end and the slots' end are two events.
 */
static void hang_up(struct decode *d, uint32_t id)
{
	struct life *life = d->board->lives + id;
	struct msg msg = { .type = MSG_ABORT, .request = id, .generation = life->generation };

	life->hung_up_ns = now_ns();
	if (d->fence) {
		fence_hang_up(d->fence, id, hold_ns(d));
		d->requests[id].state = HELD;
	} else {
		slots_back(d, id, LKVFENCE_OUTCOME_NONE);	/* the bug */
	}
	wire_send(d->rank_fds[life->rank], &msg);
}

/* Keeps what was read of a cell, if it is among those to be shown. */
static void keep_cell(struct decode *d, uint32_t id, uint32_t cell, const char *text)
{
	struct excerpt *excerpt = d->board->excerpts + id;
	uint32_t at = cell - excerpt->first_cell;

	if (excerpt->nr_cells && cell >= excerpt->first_cell && at < EXCERPT_CELLS) {
		memcpy(excerpt->cells[at], text, CELL);
		if (at + 1 > excerpt->nr_cells)
			excerpt->nr_cells = at + 1;
	}
}

/* Marks the cells around @cell as those to be shown. Earlier ones were right. */
static void keep_around(struct decode *d, uint32_t id, uint32_t cell)
{
	struct excerpt *excerpt = d->board->excerpts + id;

	excerpt->first_cell = cell < EXCERPT_BEFORE ? 0 : cell - EXCERPT_BEFORE;
	excerpt->nr_cells = 1;
	for (uint32_t i = excerpt->first_cell; i < cell; i++)
		text_cell(excerpt->cells[i - excerpt->first_cell], id, i);
}

/*
 * Decode reads a slot. The judgement is independent of the fence, and of who
 * wrote what when: what was read is compared with what this request's own
 * text says, byte by byte.
 */
static void read_slot(struct decode *d, uint32_t id, uint32_t index)
{
	struct request *r = d->requests + id;
	struct life *life = d->board->lives + id;
	uint32_t cells = d->opt->slot_size / CELL;
	bool watched = d->board->watch_request == id;

	memcpy(d->seen, slot_memory(d, slots_of(d, id)[index]), d->opt->slot_size);
	text_slot(d->expected, id, index);
	if (!watched && !d->board->excerpts[id].nr_cells &&
	    !memcmp(d->seen, d->expected, d->opt->slot_size)) {
		r->own_cells += cells;
		return;
	}
	for (uint32_t i = 0; i < cells; i++) {
		const char *seen = d->seen + i * CELL, *expected = d->expected + i * CELL;
		uint32_t cell = index * cells + i;

		if (watched && cell == d->board->watch_cell)
			keep_around(d, id, cell);
		if (memcmp(seen, expected, CELL)) {
			bool turn = !r->turned && r->own_cells >= EXCERPT_BEFORE;

			if (!life->stray_bytes || turn) {
				life->stray_cell = cell;
				life->stray_owner = text_owner(seen);
				if (!watched)
					keep_around(d, id, cell);
			}
			r->turned |= turn;
			r->own_cells = 0;
			for (int k = 0; k < CELL; k++)
				life->stray_bytes += seen[k] != expected[k];
		} else {
			r->own_cells++;
		}
		keep_cell(d, id, cell, seen);
	}
}

/* One step of the batch: every request that decodes reads on by a part of its slots. */
static void decode_step(struct decode *d)
{
	for (uint32_t id = d->first; id < d->next; id++) {
		struct request *r = d->requests + id;
		const struct plan *plan = d->plan + id;
		struct life *life = d->board->lives + id;

		if (r->state != DECODING)
			continue;
		r->step++;
		while (r->slots_read < (uint64_t)plan->nr_slots * r->step / plan->nr_steps)
			read_slot(d, id, r->slots_read++);
		if (r->step < plan->nr_steps)
			continue;
		life->finished_ns = now_ns();
		if (d->fence)
			fence_finish(d->fence, life->generation);
		slots_back(d, id, LKVFENCE_OUTCOME_COMPLETED);
	}
}

/*
 * A client that will hang up does so when a certain one of its slots has
 * landed. Real clients don't know; the demo looks into the memory, so that
 * each hang-up falls into a transfer however fast the machine is.
 */
static bool landed(struct decode *d, uint32_t id, uint32_t index)
{
	uint32_t cells = d->opt->slot_size / CELL;
	const char *last = slot_memory(d, slots_of(d, id)[index]) + (cells - 1) * CELL;
	char expected[CELL];

	text_cell(expected, id, (index + 1) * cells - 1);
	return !memcmp(last, expected, CELL);
}

static void hang_ups(struct decode *d)
{
	for (uint32_t id = d->first; id < d->next; id++) {
		uint32_t at = d->plan[id].hang_up_at;

		if (d->requests[id].state == TRANSFER && at != NOBODY && landed(d, id, at))
			hang_up(d, id);
	}
}

/* All of a request's KV has been written, says its rank. */
static void done(struct decode *d, const struct msg *msg)
{
	struct request *r = d->requests + msg->request;
	struct life *life = d->board->lives + msg->request;

	if (r->state != TRANSFER) {
		/* The client hung up while this was on its way: as good as an ABORT_ACK. */
		if (d->fence)
			fence_ack(d->fence, msg->generation, life->rank, LKVFENCE_STATUS_DRAINED);
		return;
	}
	if (d->fence)
		fence_arrived(d->fence, msg->generation, life->rank);
	life->arrived_ns = now_ns();
	if (d->plan[msg->request].hang_up_at != NOBODY)
		hang_up(d, msg->request);	/* too fast for us to look */
	else
		r->state = DECODING;
}

/* A rank answers an abort. Without the fence there is nothing left to do with it. */
static void abort_ack(struct decode *d, const struct msg *msg, uint32_t rank)
{
	struct life *life = d->board->lives + msg->request;
	uint64_t now = now_ns();

	if (msg->status == LKVFENCE_STATUS_DRAINED && !life->acked_ns) {
		life->acked_ns = now;
		if (d->drain_ns < now - life->hung_up_ns)
			d->drain_ns = now - life->hung_up_ns;
	}
	if (d->fence && !fence_ack(d->fence, msg->generation, rank, msg->status))
		d->board->duplicate_acks++;
}

static void messages(struct decode *d, uint32_t rank)
{
	static struct msg msg;

	while (wire_receive(d->rank_fds[rank], &msg, false)) {
		if (msg.type != MSG_WANT && msg.request >= d->next)
			die("a message about request %u, which was never sent", msg.request);
		if (msg.type == MSG_WANT)
			d->hungry[rank] = true;
		else if (msg.type == MSG_DONE)
			done(d, &msg);
		else if (msg.type == MSG_ABORT_ACK)
			abort_ack(d, &msg, rank);
		else
			die("message %u is not for decode", msg.type);
	}
}

/*
 * What the fence tells: here, and only here, the slots of the dead come back.
 * Where the event has LKVFENCE_EVENT_TAINTED, nothing is known about what is
 * in them. This engine never reads a slot that was not written anew, so it
 * need not care; one that keeps prefixes must forget these.
 */
static void fence_events(struct decode *d)
{
	struct lkvfence_event event;

	while (fence_event(d->fence, &event)) {
		uint32_t id = (uint32_t)event.tag;

		if (event.type != LKVFENCE_EVENT_RELEASED)
			continue;
		if (id >= d->next || d->requests[id].state != HELD)
			die("a release of request %u, which is not held", id);
		d->board->lives[id].held_ns = event.held_ns;
		slots_back(d, id, event.outcome);
	}
}

static void wait_for_something(struct decode *d)
{
	struct pollfd fds[NR_RANKS + 1];

	for (uint32_t i = 0; i < NR_RANKS; i++)
		fds[i] = (struct pollfd){ .fd = d->rank_fds[i], .events = POLLIN };
	fds[NR_RANKS] = (struct pollfd){
		.fd = d->fence ? fence_fd(d->fence) : -1,
		.events = POLLIN,
	};
	/* A millisecond, to see how far the transfers are whose clients hang up. */
	if (poll(fds, NR_RANKS + 1, 1) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	for (uint32_t i = 0; i < NR_RANKS; i++) {
		if (fds[i].revents)
			messages(d, i);
	}
	if (fds[NR_RANKS].revents)
		fence_events(d);
}

static void connect_to_ranks(struct decode *d)
{
	static struct msg theirs;
	struct ibv_cq *cq;

	rdma_open(&d->rdma, d->opt->device);
	cq = ibv_create_cq(d->rdma.context, 16, NULL, NULL, 0);
	if (!cq)
		die("no completion queue: %s", strerror(errno));
	d->mr = rdma_register(&d->rdma, (size_t)d->opt->nr_slots * d->opt->slot_size,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	for (uint32_t i = 0; i < NR_RANKS; i++) {
		struct msg mine = { .type = MSG_END };

		d->qps[i] = rdma_qp(&d->rdma, cq, 1);
		rdma_end(&d->rdma, d->qps[i], d->mr, &mine.end);
		wire_receive(d->rank_fds[i], &theirs, true);
		rdma_connect_qp(&d->rdma, d->qps[i], &mine.end, &theirs.end);
		wire_send(d->rank_fds[i], &mine);
	}
}

/* Each rank is connected, and has measured what a full queue takes. */
static void ranks_ready(struct decode *d)
{
	static struct msg msg;

	for (uint32_t i = 0; i < NR_RANKS; i++) {
		wire_receive(d->rank_fds[i], &msg, true);
		if (d->drain_ns < msg.drain_ns)
			d->drain_ns = msg.drain_ns;
	}
}

/* No more work; and every rank has seen its last write complete. */
static void say_goodbye(struct decode *d)
{
	static struct msg msg;

	for (uint32_t i = 0; i < NR_RANKS; i++) {
		struct msg bye = { .type = MSG_BYE };

		wire_send(d->rank_fds[i], &bye);
	}
	for (uint32_t i = 0; i < NR_RANKS; i++) {
		do {
			wire_receive(d->rank_fds[i], &msg, true);
			if (msg.type == MSG_ABORT_ACK)
				abort_ack(d, &msg, i);
		} while (msg.type != MSG_BYE);
	}
}

static bool all_over(struct decode *d)
{
	for (uint32_t id = d->first; id < d->next; id++) {
		if (d->requests[id].state != OVER)
			return false;
	}
	return d->next == d->opt->requests;
}

void decode_main(const struct options *opt, const struct plan *plan, struct board *board,
		 const int rank_fds[NR_RANKS])
{
	struct decode d = { .opt = opt, .plan = plan, .board = board, .rank_fds = rank_fds };

	d.requests = calloc(opt->requests, sizeof(*d.requests));
	d.seen = malloc(opt->slot_size);
	d.expected = malloc(opt->slot_size);
	if (!d.requests || !d.seen || !d.expected)
		die("no memory");
	pool_init(&d.pool, opt->nr_slots);
	connect_to_ranks(&d);
	ranks_ready(&d);
	if (board->fence)
		d.fence = fence_open(d.mr->addr, opt);

	board->start_ns = now_ns();
	d.next_step_ns = board->start_ns;
	while (!all_over(&d)) {
		uint64_t now = now_ns();

		hang_ups(&d);
		admissions(&d, now);
		if (now >= d.next_step_ns) {
			decode_step(&d);
			d.next_step_ns = now + opt->step_ms * NS_PER_MS;
		}
		while (d.first < d.next && d.requests[d.first].state == OVER)
			d.first++;
		wait_for_something(&d);
	}
	board->end_ns = now_ns();
	say_goodbye(&d);
	board->slots_lost = d.pool.nr_slots - d.pool.nr_free;
	if (d.fence)
		fence_close(d.fence, &board->stat);
	for (uint32_t i = 0; i < NR_RANKS; i++)
		ibv_destroy_qp(d.qps[i]);
	ibv_dereg_mr(d.mr);
}
