/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the tests of liblkvfence-verbs on Soft-RoCE share: a pool of slots, what
 * is written into it, and connections over which that goes. Both ends are of this
 * process, and of one struct lkvfence_verbs; what differs is what each end does.
 */
#ifndef VERBS_RIG_H
#define VERBS_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <lkvfence-verbs.h>

#include "../rdma/port.h"

#define SLOT	65536U
#define DEPTH	1024

/* A connection: writes go from the sender's end to the receiver's. */
struct link {
	struct ibv_qp *send_qp, *recv_qp;
	struct lkvfence_rail *send, *recv;
};

struct rig {
	uint32_t nr_slots;
	struct port port;		/* with neither memory nor a queue */
	char *pool;
	char *stage;
	struct ibv_mr *pool_mr;		/* all may be done to it, windows too */
	struct ibv_mr *stage_mr;
	struct ibv_cq *ibv_send_cq, *ibv_recv_cq;
	struct lkvfence_verbs *v;
	struct lkvfence_cq *send_cq, *recv_cq;
	/* leases that came back, by the callback */
	pthread_mutex_t lock;
	struct lkvfence_returned returned[64];
	atomic_uint nr_returned;
	/* completions that the application got */
	unsigned int good, bad;
	enum ibv_wc_status first_bad;
	uint64_t last_good;
	uint8_t timeout, retries;	/* of senders, as IB has them */
};

void rig_new(struct rig *rig, uint32_t nr_slots);
void rig_end(struct rig *rig);

struct ibv_qp *rig_qp(struct rig *rig, enum ibv_qp_type type, struct ibv_srq *srq);
/* From INIT to RTS, with the other one. */
void qp_connect(struct rig *rig, struct ibv_qp *qp, const struct ibv_qp *peer);

void link_new(struct rig *rig, struct link *link, uint32_t guard, uint32_t windows);
/* Both QPs are destroyed. */
void link_end(struct link *link);

/*
 * A chain of @nr writes of whole slots from @first on, each of the byte @mark.
 * Unsignaled but for the last one, if @signaled. wr_id is the slot.
 */
struct ibv_send_wr *writes(struct rig *rig, uint32_t first, uint32_t nr,
			   uint32_t rkey, bool signaled);
void mark_stage(struct rig *rig, uint32_t first, uint32_t nr, int mark);
void mark_pool(struct rig *rig, uint32_t first, uint32_t nr, int mark);
/* How many bytes of these slots are another. */
size_t strays(const struct rig *rig, uint32_t first, uint32_t nr, int mark);
/* Wait until the first byte of a slot of the pool is @mark. */
void landing(const struct rig *rig, uint32_t slot, int mark);

struct lkvfence_send *send_under(struct rig *rig, struct lkvfence *fence,
				 uint64_t generation, uint32_t source);
struct lkvfence_recv *recv_of(struct rig *rig, struct lkvfence *fence,
			      uint64_t generation, uint32_t source);
/* A window on @nr slots from @first on; its rkey. */
uint32_t window(struct rig *rig, struct lkvfence_recv *recv, struct link *link,
		uint32_t first, uint32_t nr);

/*
 * A sender that writes into @nr slots from @first on, on and on, in a thread:
 * the byte @mark. It goes on until it is stopped, or can't: nothing that the other
 * end does makes it any wiser than a completion does.
 */
struct writer {
	struct rig *rig;
	struct link *link;
	uint32_t first, nr, rkey;
	pthread_t thread;
	atomic_bool stop;
	struct lkvfence_send *send;
};

/* Returns when its first write has landed. */
void writer_start(struct writer *w, struct rig *rig, struct link *link,
		  uint32_t first, uint32_t nr, uint32_t rkey, int mark);
/* Before its link is ended; its lease comes back by then at the latest. */
void writer_stop(struct writer *w);

/* Returns when what is under way now on other connections has gone through. */
void barrier(struct rig *rig, struct link *link);
/* Takes out all that is there; true, so that it can stand in a condition. */
bool poll_all(struct rig *rig);
/* The state of a lease in the region: enum lkvfence_lease_state; 0: none. */
uint32_t lease_state(struct lkvfence *f, uint64_t generation, uint32_t source);
uint32_t lease_evidence(struct lkvfence *f, uint64_t generation, uint32_t source);
/* How often a test that loops does so: LKVFENCE_VERBS_RUNS, or @standard. */
uint32_t runs(uint32_t standard);

#endif /* VERBS_RIG_H */
