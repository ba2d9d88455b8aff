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
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "calls.h"
#include "event.h"
#include "main.h"
#include "qps.h"
#include "region.h"
#include "source.h"

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
/* The same for cases with QPs: these, and parameters, are then as they were. */
int rig_init_qps(struct kunit *test);
void rig_exit_qps(struct kunit *test);
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
/* Waits for @cond, of which nobody is woken up. */
#define until(cond) ({							\
	unsigned long until_end = jiffies + PATIENCE;			\
	bool until_good;						\
									\
	while (!(until_good = !!(cond)) &&				\
	       time_before(jiffies, until_end))				\
		msleep(20);						\
	until_good;							\
})
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
/* One return as revoked, by who destroyed his QP; its result. */
int revoked(struct kunit *test, struct handle *h, u64 generation, u32 source);
/* ABORT with a policy and a timeout in ms; 0: the default. */
int ended(struct handle *h, u64 generation, u32 policy, u32 timeout_ms);
int finished(struct handle *h, u64 generation);
struct lkvfence_query asked(struct handle *h, u64 generation, int *err);

/* SOURCE, for the @nr QPs from @qp on; 0 or an errno. */
int try_bind(struct kunit *test, struct handle *h, u32 source, u32 qp, u32 nr,
	     u64 *binding);
/* The same, which must succeed, for QPs that are new; the binding. */
u64 bound(struct kunit *test, struct handle *h, u32 source, u32 qp, u32 nr);
int unbound(struct handle *h, u32 source);
int quiet(struct handle *h, u64 binding, u32 qp, u32 evidence);
/* What is known of a source, and of its first QP. */
struct lkvfence_query_source look_at(struct kunit *test, struct handle *h,
				     u32 source, struct lkvfence_qp *qp);
/* LKVFENCE_SOURCE_*, or 0 where it isn't bound. */
u32 source_is(struct kunit *test, struct handle *h, u32 source);
/* The next event is that of a source that is being revoked, or of a release. */
void expect_revoking(struct kunit *test, struct handle *h, u64 binding);
void expect_released(struct kunit *test, struct handle *h, u64 generation,
		     u32 outcome, u32 evidence);
#define expect_revoked(test, h, g, evidence) \
	expect_released(test, h, g, LKVFENCE_OUTCOME_REVOKED, evidence)
#define expect_tainted(test, h, g) \
	expect_released(test, h, g, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT)

/* One value of STAT; all of it is too much for a stack. */
#define STAT(h, member)	stat_value(h, offsetof(struct lkvfence_stat, member))
u64 stat_value(struct handle *h, size_t offset);

/* A parameter of the module, as by sysfs. */
void set_param(struct kunit *test, const char *name, const char *value);

/* read(2) of at most @nr events to user memory at @at, without waiting. */
ssize_t try_read(struct handle *h, unsigned long at, u32 nr);
/* The next event; it is waited for. Type 0 if none comes. */
struct lkvfence_event event(struct kunit *test, struct handle *h);
/* Of what was read to @at, event number @i. */
struct lkvfence_event nth_event(unsigned long at, u32 i);

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
