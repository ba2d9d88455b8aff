/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A fence on a test bench: gives it memory as the module does, takes all news
 * after each call, frees what the fence forgot, and after each call derives
 * from the outside what the fence's gauges and counters must say.
 */
#ifndef LKVFENCE_TEST_RIG_H
#define LKVFENCE_TEST_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fence.h"
#include "pull.h"

#define SLOTS		200	/* more than three words of the bitmap */
#define MAX_TRANSFERS	8
#define MAX_LEASES	4
#define MAX_NEWS	64
#define DEFAULT_NS	100	/* limits of the rig's fence */
#define MAX_NS		1000
#define REVOKE_NS	50
#define MAX_SOURCES	6
#define MAX_TICKETS	64
#define MAX_ANSWERS	256
#define UNCLAIMED_NS	30	/* of the rig's pulls, unless the test says */
#define PULL_NS		400
#define TOMBSTONE_NS	200
#define MAX_TOMBSTONES	3

#define TAINT		LKVFENCE_POLICY_TAINT
#define QUARANTINE	LKVFENCE_POLICY_QUARANTINE
#define REVOKE		LKVFENCE_POLICY_REVOKE
#define REVOKE_NOW	LKVFENCE_POLICY_REVOKE_NOW
#define CQE		LKVFENCE_EVIDENCE_SUCCESS_CQE
#define SETTLED		LKVFENCE_EVIDENCE_QP_ERR_SETTLED
#define FLUSHED		LKVFENCE_EVIDENCE_RQ_FLUSHED
#define WINDOW		LKVFENCE_EVIDENCE_MW_INVALIDATED
#define DESTROYED	LKVFENCE_EVIDENCE_QP_DESTROYED
#define DEREGISTERED	LKVFENCE_EVIDENCE_MR_DEREGISTERED

/* What to begin. Lists end at the first range without count, source 0. */
struct want {
	u64 tag;
	u64 ttl;
	u32 policy;
	struct lkvfence_range ranges[8];
	u32 sources[8];
	bool offer;
};

/* What to pull. */
struct ask {
	u64 tag;
	u64 newer;		/* than that generation */
	u64 exact;		/* or that one */
	u32 source;
	u64 unclaimed;
	u64 timeout;
};

/* News as they came, with a copy of the transfer at that time. */
struct news {
	u32 bits;
	struct fence_transfer t;
};

struct rig {
	struct fence f;
	struct fence_limits limits;
	u32 nr_slots;
	u64 max_transfers;
	u64 now;
	bool released;			/* what the last return said */
	struct fence_refusal why;	/* of the last refused begin */
	u32 nr_news;			/* since the last forget_news() */
	struct news news[MAX_NEWS];
	struct fence_source *sources[MAX_SOURCES];	/* bound ones */
	/* Of released transfers; what the counters must say beside the others. */
	u64 evidence[LKVFENCE_MAX_EVIDENCE];
	u64 revokes;
	u64 revokes_failed;

	struct pulls p;
	struct pull_limits pull_limits;
	u32 expired;			/* of tickets and tombstones, by the last at() */
	u32 nr_offers;			/* memory for offers that is in use */
	u64 last_ticket;
	u64 nr_closed;
	struct pull_ticket *tickets[MAX_TICKETS];	/* those that wait */
	u32 nr_answers;			/* since the last forget_answers() */
	struct pull_ticket answers[MAX_ANSWERS];
};

int rig_setup(void **state);
int rig_teardown(void **state);
void rig_init(struct rig *r, u32 nr_slots);
void rig_destroy(struct rig *r);

int rig_begin(struct rig *r, const struct want *w, u64 *generation);
/* The generation of a transfer that must begin. */
u64 rig_must_begin(struct rig *r, const struct want *w);
#define begin(r, ...)		rig_must_begin(r, &(struct want){ __VA_ARGS__ })
#define try_begin(r, ...)	rig_begin(r, &(struct want){ __VA_ARGS__ }, NULL)

struct fence_transfer *get(struct rig *r, u64 generation);
int take(struct rig *r, u64 generation, u32 source);
int give(struct rig *r, u64 generation, u32 source, u32 status, u32 evidence);
int drained(struct rig *r, u64 generation, u32 source);
int failed(struct rig *r, u64 generation, u32 source);
int revoked(struct rig *r, u64 generation, u32 source, u32 evidence);
void abort_for(struct rig *r, u64 generation, u32 reason, u32 policy, u64 timeout);
void abort_(struct rig *r, u64 generation);
int finish(struct rig *r, u64 generation);
int force(struct rig *r, u64 generation);
int join(struct rig *r, u64 generation);
void end_member(struct rig *r, u64 generation, u32 reason);
void release_member(struct rig *r, u64 generation, u32 outcome, u32 evidence);
/* It is @when now; returns how many expired. */
u32 at(struct rig *r, u64 when);

/* Sources, and what the module does to them. */
int try_bind(struct rig *r, u32 source);
void bind_(struct rig *r, u32 source);
int unbind(struct rig *r, u32 source);
struct fence_source *source_of(struct rig *r, u32 source);
bool revoke(struct rig *r, u32 source);
u32 end_some(struct rig *r, u32 source, u32 max);
u32 quiet_some(struct rig *r, u32 source, u32 evidence, u32 max);
u32 lost_some(struct rig *r, u32 source, u32 max);
/* All of it, from the state REVOKING on. */
void quiet(struct rig *r, u32 source, u32 evidence);
void lost(struct rig *r, u32 source);

/* rig_pulls.c */
int ready(struct rig *r, u64 generation, u64 ttl, u32 consumers);
u64 rig_pull(struct rig *r, const struct ask *ask);
/* The number of the ticket. */
#define pull(r, ...)		rig_pull(r, &(struct ask){ __VA_ARGS__ })
void withdraw(struct rig *r, u64 ticket);
/* The handle that asked is closed. */
void close_ticket(struct rig *r, u64 ticket);
/* Whether it is something new. */
bool abort_early(struct rig *r, u64 tag, u64 after, u32 reason);
/* As ABORT with ALL. */
void abort_all(struct rig *r, u32 reason);
bool waits(const struct rig *r, u64 ticket);
/* The one answer to a ticket, at this instant. */
void granted(const struct rig *r, u64 ticket, u64 generation);
void refused(const struct rig *r, u64 ticket, u64 generation, u32 reason);
void forget_answers(struct rig *r);
/* The next one of both clocks. */
u64 next_deadline(const struct rig *r);

/* For rig.c and rig_pulls.c */
void rig_pulls_init(struct rig *r);
void rig_pulls_destroy(struct rig *r);
void rig_pulls_settle(struct rig *r);
void rig_pulls_check(struct rig *r);
struct pull_offer *rig_offer(struct rig *r);
void rig_free_offer(struct rig *r, struct pull_offer *o);
struct fence_lease *rig_lease(u32 source);
/* It is the transfer's from now on. */
void rig_keep_lease(struct fence_transfer *t, struct fence_lease *l);
void rig_settle(struct rig *r);

void forget_news(struct rig *r);
/* The only news since the last time are of @generation, and these. */
const struct fence_transfer *only_news(struct rig *r, u64 generation, u32 bits);
void no_news(struct rig *r);

/* Everything but the counters of refusals and returns. */
struct image {
	unsigned long taken[SLOTS / 64 + 2];
	u64 numbers[13];
};

struct image image_of(const struct rig *r);
void must_be_unchanged(const struct rig *r, const struct image *before);

bool slot_taken(const struct rig *r, u32 slot);

/* One behaviour, on a fresh rig. */
#define TEST(name)	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define RUN(tests)	cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL)

#endif /* LKVFENCE_TEST_RIG_H */
