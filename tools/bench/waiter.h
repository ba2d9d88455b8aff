/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A thread that sleeps until it is told something, and takes the time of it. */
#ifndef BENCH_WAITER_H
#define BENCH_WAITER_H

#include <stdint.h>
#include <lkvfence.h>
#include "bench.h"

/* What it sleeps on. */
enum waiter_kind {
	WAITER_EVENT,		/* an event of a handle: poll(2) and read(2) */
	WAITER_FUTEX,		/* a futex, until waiter_wake() */
	WAITER_FD,		/* poll(2) and read(2) of any other descriptor */
};

/* CLOCK_MONOTONIC, as the module's own times. */
uint64_t waiter_now(void);

void waiter_start(void);
void waiter_stop(void);

/* Has it sleep: on return it does. @f is for WAITER_EVENT, @fd for WAITER_FD. */
void waiter_arm(enum waiter_kind kind, struct lkvfence *f, int fd);
/* Wakes it from WAITER_FUTEX. */
void waiter_wake(void);
/* When it was back with what it was told; of an event, which one. */
uint64_t waiter_seen(struct lkvfence_event *event);

#endif /* BENCH_WAITER_H */
