/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A producer and a consumer, on one host or on two, which serve requests in pull
 * mode; see serving.c, which is the consumer, and producer.c. They say to each
 * other what engines do, over a socket.
 */
#ifndef SERVING_H
#define SERVING_H

#include "rig.h"

#define BLOCK		4096U		/* bytes of a slot here */
#define POOL		2048U		/* slots of either end */
#define MAX_BLOCKS	16U		/* of a request */

enum message_type {
	MESSAGE_CONNECT,	/* both ways: end */
	MESSAGE_REQUEST,	/* to the producer: its part of a request, blocks */
	MESSAGE_PULL,		/* the consumer wants it */
	MESSAGE_TAKEN,		/* it has it, or has read nothing of it: generation */
	MESSAGE_DROP,		/* it doesn't want it any more */
	MESSAGE_ABORT_ALL,
	MESSAGE_CLOSE,		/* both ways, when all is over: left */
	MESSAGE_GRANTED,	/* to the consumer: generation, first */
	MESSAGE_REFUSED,	/* reason */
};

struct message {
	uint32_t type;
	uint32_t request;
	uint32_t blocks;
	uint32_t first;
	uint32_t reason;
	uint32_t left;
	uint64_t generation;
	struct end end;
};

void tell(int fd, const struct message *m);
/* False if there is none now; waits for all of one that has begun. */
bool hear(int fd, struct message *m);
/* Wait for either; false if nothing comes for ms. */
bool either(int fd, struct lkvfence *f, int ms);

/* Free slots, some in a row. POOL where there are none. */
struct slots {
	bool taken[POOL];
};

uint32_t slots_get(struct slots *s, uint32_t count);
void slots_put(struct slots *s, uint32_t first, uint32_t count);

/* The text of a request: each word of a block is another one's nowhere else. */
void write_text(char *slot, uint32_t request, uint32_t blocks);
bool right_text(const char *slot, uint32_t request, uint32_t blocks);

/* Serves who connects by @fd, until it says CLOSE. */
void produce(int fd);

#endif /* SERVING_H */
