/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Between the files of the rig: what both processes post, and what they say to
 * each other.
 */
#ifndef VERBS_H
#define VERBS_H

#include "rig.h"

/* What the sender is told to do; the same comes back when it is done. */
enum order_type {
	ORDER_CONNECT,			/* end: the other's, then its own */
	ORDER_WRITE,
	ORDER_WRITE_BADLY,
	ORDER_STREAM,
	ORDER_READ,
	ORDER_DRAIN,			/* tally */
	ORDER_FLUSH,			/* tally */
	ORDER_HANG_UP,
};

struct order {
	uint32_t type;
	uint32_t link;
	uint64_t generation;
	uint32_t first, count, rounds, message;
	uint32_t timeout, retries;
	struct end end;
	struct tally tally;
};

/*
 * @count slots, so many times over. The last one has @bad_key for its key, if
 * that isn't 0.
 */
struct batch {
	enum ibv_wr_opcode opcode;
	uint64_t id;
	char *mem;			/* here: slot 0 */
	uint32_t lkey;
	uint64_t address;		/* there: slot 0 */
	uint32_t rkey;
	uint32_t bad_key;
	uint32_t message;
	uint32_t first, count, rounds;
};

/* The receiver's own work requests, among what completes. */
#define PULL	(1ULL << 32)

/* Doesn't return. */
void sender_main(const struct rig *rig, int fd, const char *device)
	__attribute__((noreturn));

void post_receive(struct ibv_qp *qp, uint64_t id);
void post_batch(struct ibv_qp *qp, const struct batch *batch);

#endif /* VERBS_H */
