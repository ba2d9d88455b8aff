/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites share: handles on regions of their own, calls on them as
 * from a process, and allocations that fail.
 *
 * The module's main.c is part of the test module, so all is as in lkvfence.ko:
 * the work queue, the parameters, the device. Each case leaves as many objects
 * as there were, which rig_exit() looks at.
 */
#ifndef LKVFENCE_KUNIT_RIG_H
#define LKVFENCE_KUNIT_RIG_H

#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "calls.h"
#include "event.h"
#include "main.h"
#include "region.h"

#define MS		((u64)NSEC_PER_MSEC)
#define PATIENCE	(60 * HZ)	/* never waited for in vain */
#define CQE		LKVFENCE_EVIDENCE_SUCCESS_CQE

/**
 * struct rig - of one case
 * @user: memory of the process that the case plays, two pages; nothing is
 *	mapped behind them
 * @alive: objects there were before, by kind
 */
struct rig {
	unsigned long user;
	s64 alive[NR_OBJECTS];
};

#define USER_SIZE	(2 * PAGE_SIZE)

int rig_init(struct kunit *test);
void rig_exit(struct kunit *test);
/* Objects of a kind that are alive. */
s64 alive(enum object kind);
/* True if as many objects are alive as before the case, soon. */
bool settled(struct kunit *test);

/* OPEN's argument for a region that is created with mode 0600 if need be. */
struct lkvfence_open named(const char *name, u32 nr_slots);
/* A handle on it; asserts that there is one. */
struct handle *opened(struct kunit *test, const char *name, u32 nr_slots);
/* Waits for @cond, of which this handle's readers are woken up. */
#define woken(h, cond) \
	(wait_event_interruptible_timeout((h)->wait, cond, PATIENCE) > 0)
/* What closing the last descriptor does. */
void closed(struct handle *h);
bool exists(const char *name);

/*
 * BEGIN of @count slots with sources 1 to @nr_sources, from user memory; at
 * most 64 sources. 0 or an errno.
 */
int try_begin(struct kunit *test, struct handle *h, u64 tag, u32 first,
	      u32 count, u32 nr_sources, u64 *generation);
/* The same, which must succeed; the generation. */
u64 begin(struct kunit *test, struct handle *h, u64 tag, u32 first, u32 count,
	  u32 nr_sources);
int take(struct handle *h, u64 generation, u32 source);
/* One return as drained; its result. */
int drained(struct kunit *test, struct handle *h, u64 generation, u32 source);
/* ABORT with a policy and a timeout in ms; 0: the default. */
int ended(struct handle *h, u64 generation, u32 policy, u32 timeout_ms);
int finished(struct handle *h, u64 generation);
struct lkvfence_query asked(struct handle *h, u64 generation, int *err);

/* read(2) of at most @nr events to user memory at @at, without waiting. */
ssize_t try_read(struct handle *h, unsigned long at, u32 nr);
/* The next event; it is waited for. Type 0 if none comes. */
struct lkvfence_event event(struct kunit *test, struct handle *h);

/*
 * The @nth place from here on where this task may be refused memory, or an
 * access to user memory, will be. What then is done must not be an assertion.
 */
static inline void fail_at(u32 nth)
{
	current->fail_nth = nth;
}

/* No more. True if it came to that. */
static inline bool did_fail(void)
{
	bool did = !current->fail_nth;

	current->fail_nth = 0;
	return did;
}

/* More places than any call here has. */
#define MAX_PLACES	4000

#endif /* LKVFENCE_KUNIT_RIG_H */
