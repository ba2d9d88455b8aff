/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Between the files of the rig: the little of libibverbs that both processes
 * need, and what they say to each other.
 */
#ifndef VERBS_H
#define VERBS_H

#include "rig.h"

#define PORT	1

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

/* The device, and memory registered. */
void port_open(struct port *port, const char *device, void *mem, size_t size,
	       int access);
void port_close(struct port *port);
struct ibv_qp *port_qp(struct port *port, enum ibv_qp_type type, uint32_t depth);

void end_describe(const struct port *port, struct ibv_qp *qp, struct end *end);
/* From RESET to RTS. */
void end_connect(const struct port *port, struct ibv_qp *qp,
		 const struct end *self, const struct end *peer,
		 uint8_t timeout, uint8_t retries);
void post_receive(struct ibv_qp *qp, uint64_t id);
void post_batch(struct ibv_qp *qp, const struct batch *batch);
void qp_to_err(struct ibv_qp *qp);

#endif /* VERBS_H */
