/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The demo's own words and the contract of each of its files. main.c tells the
 * play; fence.c is the part to copy into an engine.
 */
#ifndef DEMO_H
#define DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <lkvfence.h>

#define NR_RANKS	2		/* prefill processes */
#define CELL		64		/* bytes of a cell, the unit in which KV is legible */
#define MAX_SLOTS	1024		/* slots of one request */
#define CHUNK_SLOTS	16		/* slots in one RDMA WRITE, at most */
#define NOBODY		UINT32_MAX	/* no request */
#define NS_PER_MS	1000000ULL

/* What the user asked for. */
#define MAX_TRIES	100U

struct options {
	uint32_t requests;
	uint32_t hangups;		/* of 100 clients, these hang up */
	uint32_t lost, failed, twice;	/* of 100 acknowledgements */
	uint64_t seed;
	uint32_t slot_size;		/* 0: to be chosen */
	uint32_t nr_slots;		/* of the decode pool */
	uint32_t staged_slots;		/* of the memory a prefill sends from */
	uint32_t tokens_per_slot;
	uint32_t short_slots;		/* a prefill asks for more when it has less to write */
	uint32_t step_ms;		/* one decode step of the whole batch */
	uint32_t speed;			/* of the trace's clock */
	uint32_t hold_ms;		/* least deadline of a hold */
	uint32_t tries;			/* of each way of the third and fourth act */
	const char *device;
	const char *trace;
	const char *json;
};

/* What is settled about a request before a run: the same in every run. */
struct plan {
	uint64_t arrive_ns;
	uint32_t nr_slots;
	uint32_t nr_steps;		/* decode steps until its answer is complete */
	uint32_t hang_up_at;		/* its client does when this slot has landed; or NOBODY */
	uint32_t first_slot;		/* where its slots begin in struct board's slots */
};

/*
 * What happened to a request, written down by decode. Times are those of
 * CLOCK_MONOTONIC, which all processes share; 0 is "it did not happen".
 */
struct life {
	uint64_t generation;
	uint32_t rank;
	uint64_t admitted_ns;
	uint64_t arrived_ns;		/* its KV is complete */
	uint64_t hung_up_ns;
	uint64_t acked_ns;		/* the first ABORT_ACK that says drained */
	uint64_t freed_ns;		/* its slots went back to the free list */
	uint64_t finished_ns;		/* its answer is complete */
	uint64_t held_ns;		/* as the module measured it */
	uint32_t outcome;		/* enum lkvfence_outcome */
	uint32_t stray_bytes;		/* bytes read that are not its own */
	uint32_t stray_cell;		/* where its text turns into another's, or the first one */
	uint32_t stray_owner;		/* whose that cell is, where legible */
};

/* The cells around that, as decode read them. */
#define EXCERPT_BEFORE	3
#define EXCERPT_CELLS	9
struct excerpt {
	uint32_t first_cell;
	uint32_t nr_cells;
	char cells[EXCERPT_CELLS][CELL];
};

/* One RDMA WRITE, written down by the prefill that posted it. */
struct write_log {
	uint32_t request;
	struct lkvfence_range slots;
	uint64_t posted_ns;
	uint64_t landed_ns;		/* success completion seen */
};

/* What a prefill did, and how it answered aborts. */
struct rank_log {
	uint32_t nr_writes;
	uint32_t acks_drained, acks_lost, acks_failed, acks_twice;
	uint64_t drain_ns;		/* what a full queue took, before the run */
	struct write_log *writes;
};

/* What a run leaves behind: in memory that launcher and children share. */
struct board {
	bool fence;
	uint64_t start_ns, end_ns;
	uint64_t hold_ns;		/* the deadline used last: it only grows */
	uint32_t slots_lost;
	uint32_t duplicate_acks;	/* refused by the module */
	struct lkvfence_stat stat;	/* with the fence: the module's own books */
	struct rank_log ranks[NR_RANKS];
	struct life *lives;		/* one for each request */
	struct excerpt *excerpts;	/* likewise */
	uint32_t *slots;		/* of all requests, see struct plan */
	uint32_t nr_slots;
	/* Which cells to keep also where nothing is wrong. */
	uint32_t watch_request, watch_cell;
};

/* main.c */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
extern const char *who;			/* this process, for die() */
uint64_t now_ns(void);

/* trace.c: requests from a production trace, and whose client will hang up */
struct plan *plan_make(const struct options *opt);

/* text.c: KV that a person can read, and whose origin shows in each cell */
void text_init(uint32_t slot_size);
void text_slot(char *slot, uint32_t request, uint32_t index);
void text_cell(char *cell, uint32_t request, uint32_t index);
uint32_t text_owner(const char *cell);
bool text_counts(uint32_t request);
const char *text_about(uint32_t request);

/* pool.c: the decode side's allocator */
struct pool {
	uint32_t *free;
	uint32_t nr_free;
	uint32_t nr_slots;
};

void pool_init(struct pool *pool, uint32_t nr_slots);
bool pool_get(struct pool *pool, uint32_t *slots, uint32_t nr);
void pool_put(struct pool *pool, const uint32_t *slots, uint32_t nr);
uint32_t pool_ranges(const uint32_t *slots, uint32_t nr, struct lkvfence_range *ranges);

/* verbs.c: the little of libibverbs that the demo needs; dies on errors */
struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint8_t gid_index;
	uint8_t retries;		/* where there is no answer; 0: many */
	enum ibv_mtu mtu;
};

/* What one end of a connection tells the other. */
struct rdma_end {
	union ibv_gid gid;
	uint32_t qp, psn;
	uint64_t addr;			/* of the pool, with its key */
	uint32_t rkey;
	uint32_t pad;
};

/* Writes that are posted together: those of a request, at most. */
struct rdma_batch {
	uint32_t nr;
	struct ibv_send_wr wrs[MAX_SLOTS];
	struct ibv_sge sges[MAX_SLOTS];
};

void rdma_open(struct rdma *rdma, const char *device);
struct ibv_mr *rdma_register(struct rdma *rdma, size_t size, int access);
struct ibv_qp *rdma_qp(struct rdma *rdma, struct ibv_cq *cq, uint32_t depth);
void rdma_end(struct rdma *rdma, struct ibv_qp *qp, struct ibv_mr *pool, struct rdma_end *end);
void rdma_connect_qp(struct rdma *rdma, struct ibv_qp *qp, const struct rdma_end *self,
		     const struct rdma_end *peer);
void rdma_write(struct rdma_batch *batch, struct ibv_mr *from, const void *local, uint32_t len,
		uint64_t remote, uint32_t rkey, uint64_t id);
void rdma_read(struct rdma_batch *batch, struct ibv_mr *to, void *local, uint32_t len,
	       uint64_t remote, uint32_t rkey, uint64_t id);
void rdma_post(struct ibv_qp *qp, struct rdma_batch *batch);

/* wire.c: messages between decode and prefill, over a Unix socket each */
enum msg_type {
	MSG_END = 1,	/* both: my end of the connection */
	MSG_READY,	/* P: connected, and I know how long a full queue takes */
	MSG_WANT,	/* P: my queue is short, send me a request */
	MSG_PREFILL,	/* D: compute this request's KV and write it into these slots */
	MSG_DONE,	/* P: all of it has been written, seen by success completions */
	MSG_ABORT,	/* D: post no more for this generation, and tell when it is quiet */
	MSG_ABORT_ACK,	/* P: it is quiet (DRAINED), or I can't tell (FAILED) */
	MSG_BYE,	/* D: no more; P: all my writes are over */
};

struct msg {
	uint32_t type;
	uint32_t request;
	uint64_t generation;
	uint64_t drain_ns;		/* READY */
	uint32_t status;		/* ABORT_ACK: enum lkvfence_status */
	uint32_t nr_ranges;		/* PREFILL */
	struct rdma_end end;		/* END */
	struct lkvfence_range ranges[MAX_SLOTS];
};

void wire_pair(int fds[2]);
void wire_send(int fd, const struct msg *msg);
bool wire_receive(int fd, struct msg *msg, bool wait);

/* fence.c: how an engine uses liblkvfence */
struct fence;
struct fence *fence_open(const void *pool, const struct options *opt);
int fence_fd(const struct fence *fence);
uint64_t fence_admit(struct fence *fence, uint32_t request, const struct lkvfence_range *ranges,
		     uint32_t nr_ranges, uint32_t rank);
void fence_arrived(struct fence *fence, uint64_t generation, uint32_t rank);
void fence_finish(struct fence *fence, uint64_t generation);
void fence_hang_up(struct fence *fence, uint32_t request, uint64_t hold_ns);
bool fence_ack(struct fence *fence, uint64_t generation, uint32_t rank, uint32_t status);
bool fence_event(struct fence *fence, struct lkvfence_event *event);
void fence_close(struct fence *fence, struct lkvfence_stat *stat);

/* the processes */
void prefill_main(const struct options *opt, struct board *board, uint32_t rank, int decode_fd);
void decode_main(const struct options *opt, const struct plan *plan, struct board *board,
		 const int rank_fds[NR_RANKS]);

/* stuck.c: the third act, a prefill that never answers */
struct stuck_row {
	const char *name;
	double held_ms, most_ms;	/* half of the holds at most, and all of them */
	uint32_t outcome, evidence;
	uint64_t stray_bytes;		/* landed after the release */
};

#define STUCK_WAYS	6
bool stuck_main(const struct options *opt, struct stuck_row *rows, uint32_t *nr);

/* pull.c: the fourth act, the prefill's slots while decode reads them */
struct pull_row {
	uint32_t tries;
	double most_ms;			/* the longest hold */
	uint32_t outcome, evidence;
	uint64_t foreign_bytes;		/* read by decode, and of another request */
	uint32_t late_refused;		/* pulls after the end that were told why */
};

bool pull_main(const struct options *opt, struct pull_row rows[2]);

/* peer.c: the fifth act, a prefill that dies and comes back */
struct peer_row {
	uint32_t before, after;		/* launches that went, while it was well */
	uint32_t tried, refused, waited; /* launches while it was dead */
	double half_ms, refused_ms;	/* until a refusal: half of them at most, and all */
	double least_ms, waited_ms;	/* until a failure, at least and at most */
	bool stayed;			/* healthy, when a request of its own fault failed */
	uint32_t in_vain;		/* probes */
	double back_ms;			/* from its start to its recovery */
	bool new_generation;		/* with the new session */
	bool late_stale;		/* a late word of the old session was refused */
	struct lkvfence_peer counted;	/* the module's own books */
	uint32_t slots_lost;
};

bool peer_main(const struct options *opt, struct peer_row rows[2], bool *played);

/* report.c and story.c: what a run comes to, for people and for programs */
struct tally {
	uint32_t completed, aborted, corrupted;
	uint32_t late;			/* aborted, and a write landed after that */
	uint64_t stray_bytes;
	uint32_t outcomes[LKVFENCE_NR_OUTCOMES];
	double hold_p50_ms, hold_p99_ms;
	double latest_ms;		/* that a write landed after its client's hang-up */
	bool adds_up;			/* the module's books agree with the engine's */
};

void report_tally(const struct options *opt, const struct board *board, struct tally *tally);
const struct write_log *late_write(const struct board *board, uint32_t request);
uint32_t report_victim(const struct options *opt, const struct plan *plan,
		       const struct board *control);
void report_table(const struct options *opt, struct board * const *runs,
		  const struct tally *tallies, uint32_t nr);
void report_story(const struct options *opt, const struct plan *plan, struct board * const *runs,
		  uint32_t nr, uint32_t victim);
void report_json(const struct options *opt, struct board * const *runs,
		 const struct tally *tallies, uint32_t nr, const struct stuck_row *rows,
		 uint32_t nr_rows, const struct pull_row *pulls, const struct peer_row *peers);

#endif /* DEMO_H */
