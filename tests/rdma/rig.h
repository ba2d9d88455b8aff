/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the tests in this directory share: a pool of slots, and a process that
 * writes or reads them by RDMA over a real connection.
 *
 * Every write is stamped: each 16 bytes of a slot say which slot they are for,
 * and under which generation they were sent. So whoever gets a slot next, and
 * stamps it himself, sees afterwards what landed late: bytes of another stamp.
 *
 * The sender is a child. It does what it is told, and looks at its completions
 * only when it is asked for them: so it may be killed, or stopped, with writes
 * under way. Pool and staging memory are shared, for a test to look at; a sender
 * that is stopped shares them as well as any.
 */
#ifndef RIG_H
#define RIG_H

#include <pthread.h>

#include "port.h"

#define SLOT		65536U		/* bytes; as region() has it */
#define LINKS		4		/* connections of a rig, at most */
/* Posted at once, at most. */
#define MAX_POSTED	4096

struct batch;

/* What became of work requests. */
struct tally {
	uint32_t good;
	uint32_t bad;
	uint32_t first_bad;		/* enum ibv_wc_status */
};

/*
 * A pool and its sender. timeout and retries are the sender's, as IB has them:
 * 4096 ns * 2^timeout, and so many times more; Soft-RoCE takes 7 for "for ever".
 * They may be set before a link is made. rig_start() chooses some 2 s, after
 * which a sender learns that nobody answers any more.
 */
struct rig {
	uint32_t nr_slots;
	uint32_t message;		/* bytes written or read of a slot: all of it */
	char *pool;
	char *stage;			/* what is sent from, and read to */
	pid_t sender;
	int fd;				/* to talk to the sender */
	uint8_t timeout;
	uint8_t retries;
	struct port port;		/* of the process that called rig_open() */
	struct link {
		struct ibv_qp *qp;
		struct end peer;
		bool flushed;		/* the receive that was posted on it */
		uint32_t pulling;	/* reads that have not completed */
		struct batch *batch;	/* these, and who posts them */
		pthread_t thread;
		struct tally pulled;
	} links[LINKS];
};

/*
 * Memory and the sender, which starts with nothing but these: to be called
 * before regions are opened, which it would keep open.
 */
void rig_start(struct rig *rig, uint32_t nr_slots);
/* With a sender that uses another device. */
void rig_start_on(struct rig *rig, uint32_t nr_slots, const char *device);
/* With one on another host, at the end of a socket; its memory isn't to be seen. */
void rig_start_far(struct rig *rig, uint32_t nr_slots, int fd);
/* That one; it ends when the socket does. */
void sender_far(int fd) __attribute__((noreturn));
/* The device, and the pool registered, in the process that owns the slots. */
void rig_open(struct rig *rig);
void rig_open_on(struct rig *rig, const char *device);
/* Take the pool's key away; and give out another one, for connections to come. */
void rig_deregister(struct rig *rig);
void rig_register(struct rig *rig);
/* Forget the device: QPs first. */
void rig_close(struct rig *rig);
/* Start and open, where one process does both. */
void rig_new(struct rig *rig, uint32_t nr_slots);
/* The sender goes, however it is, and all that there is of the rig. */
void rig_end(struct rig *rig);

/* A new connection in the place of @link's last one. */
void rig_connect(struct rig *rig, uint32_t link);
void rig_destroy(struct rig *rig, uint32_t link);
/* A QP of this process, connected to nothing. */
struct ibv_qp *rig_qp(struct rig *rig, enum ibv_qp_type type);
/* The address of a QP of this process; and a connection with another one. */
void rig_describe(const struct rig *rig, struct ibv_qp *qp, struct end *end);
void rig_join(const struct rig *rig, struct ibv_qp *qp, const struct end *self,
	      const struct end *peer);
/* A QP of this process that is connected to itself, in RTS: one without traffic. */
struct ibv_qp *rig_loop(struct rig *rig);
enum ibv_qp_state state_of(struct ibv_qp *qp);
/* ibv_modify_qp() to ERR, by this process. */
void rig_err(struct rig *rig, uint32_t link);
/* Wait for the flushed receive that each connection has from its beginning. */
void rig_see_flush(struct rig *rig, uint32_t link);

/*
 * Have the sender post @rounds writes of each of @count slots from @first on,
 * under @generation, over @link; or read them. Returns when it is about to:
 * landing() says when they are under way.
 */
void rig_write(struct rig *rig, uint32_t link, uint64_t generation,
	       uint32_t first, uint32_t count, uint32_t rounds);
void rig_read(struct rig *rig, uint32_t link, uint32_t first, uint32_t count,
	      uint32_t rounds);
/* The last of the writes is to memory that it has no key for. */
void rig_write_badly(struct rig *rig, uint32_t link, uint64_t generation,
		     uint32_t first, uint32_t count, uint32_t rounds);
/* It writes on and on, a few at a time, until it gets another order. */
void rig_stream(struct rig *rig, uint32_t link, uint64_t generation,
		uint32_t first, uint32_t count);
/* The sender waits for all that it has posted on @link. */
struct tally rig_drain(struct rig *rig, uint32_t link);
/* It moves its own QP to ERR, and then waits for the rest, flushed or not. */
struct tally rig_flush(struct rig *rig, uint32_t link);
/* It destroys its QP. */
void rig_hang_up(struct rig *rig, uint32_t link);

/* This process reads from the sender's memory into its slots, in a thread. */
void rig_pull(struct rig *rig, uint32_t link, uint32_t first, uint32_t count,
	      uint32_t rounds);
/* Wait until these reads have completed, with success or not. */
struct tally rig_pulled(struct rig *rig, uint32_t link);

/* Stamp @count slots from @first on; @mem is slot 0. */
void stamp(char *mem, uint32_t first, uint32_t count, uint64_t generation);
/* How many of their bytes have another stamp. */
size_t strays(const char *mem, uint32_t first, uint32_t count, uint64_t generation);
/* How many of their bytes have this one. */
size_t stamped(const char *mem, uint32_t first, uint32_t count, uint64_t generation);
/* Wait until @slot of @mem begins with this stamp. */
void landing(const char *mem, uint32_t slot, uint64_t generation);

/* SOURCE, for one or more links; the binding. */
uint64_t bind_links(struct lkvfence *f, const struct rig *rig, uint32_t source,
		    uint32_t link, uint32_t nr);
uint64_t bind_link(struct lkvfence *f, const struct rig *rig, uint32_t source,
		   uint32_t link);
/*
 * A transfer of all slots, with one lease: of source 1, which is bound to a new
 * link 0. Returns when the first write of so many rounds has landed.
 */
uint64_t rig_under_way(struct rig *rig, struct lkvfence *f, uint64_t tag,
		       uint32_t rounds);
/* SOURCE for one QP of any device; -errno. */
int try_bind(struct lkvfence *f, uint32_t source, const char *device,
	     uint32_t number);
/* For one that must be bound, on DEVICE; the binding. */
uint64_t bind_loop(struct lkvfence *f, uint32_t source, const struct ibv_qp *qp);
/* The state of a source's first QP, as QUERY_SOURCE has it; @state: the source's. */
uint32_t qp_of(struct lkvfence *f, uint32_t source, uint32_t *state);
/* The next event of that type; others before it are passed over. */
struct lkvfence_event event_of(struct lkvfence *f, uint32_t type);
/* True if @e is a release as @outcome, on that ground. */
bool released_as(const struct lkvfence_event *e, uint64_t generation,
		 uint32_t outcome, uint32_t evidence);

/* Is DEVICE there? Have it there, and ready. */
bool device_there(void);
void device_back(void);

/* How often a test that loops does so: LKVFENCE_RDMA_RUNS, or @standard. */
uint32_t runs(uint32_t standard);
/* Runs a command; its exit status. */
int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* RIG_H */
