/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What answers a pull, or tells a member of a group or who watches a peer. */
#ifndef BENCH_CAUSES_H
#define BENCH_CAUSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <lkvfence.h>

#define MS		1000000ULL
#define HOUR		(3600000 * MS)
/* The shortest time that the module takes: till it is over the waiter sleeps. */
#define SHORT		(10 * MS)
/* Whose lease the consumer's pulls ask for. */
#define SOURCE		100

/**
 * struct answer - an event, and what causes it
 * @name: for the table
 * @before: makes ready for one @cause, not measured; may be NULL
 * @cause: causes the event; sets causes_due where that isn't at once
 * @after: cleans up behind it, not measured; may be NULL
 * @on: the handle that is told
 * @type: of the event
 * @reason: of the event
 * @crowded: to be measured among many pulls, too
 */
struct answer {
	const char *name;
	void (*before)(void);
	void (*cause)(void);
	void (*after)(void);
	struct lkvfence **on;
	uint32_t type;
	uint32_t reason;
	bool crowded;
};

/* One region: who offers, who pulls, and somebody else who does either. */
extern struct lkvfence *producer, *consumer, *bystander;
/* Each transfer has a tag of its own, so that none meets another's tombstone. */
extern uint64_t tag, generation;
/* When the event is due; 0: at once. */
extern uint64_t causes_due;

#define NR_CALLS	18
#define NR_CLOCKS	4
extern const struct answer calls[NR_CALLS];
extern const struct answer clocks[NR_CLOCKS];
/* ABORT of all: it answers whoever waits, so it can't be measured among others. */
extern const struct answer all;

void causes_open(void);
void causes_close(void);

/* Steps, of which causes are made; and what is used beside them. */
void check(int err, const char *what);
void pass_over(struct lkvfence *f);
void offer(void);
void pull(void);
void ready(void);
void release(void);
void end(void);
void end_all(void);

/* A process with a handle, that does nothing; its pipe, which ends with it. */
int start_nobody(void);
void kill_child(void);
void bury_child(void);

#endif /* BENCH_CAUSES_H */
