/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The oracle: what must be true of a region after each step, written from the
 * laws in the opening comment of uapi/linux/lkvfence.h and not from the code.
 *
 * It holds facts in plain arrays and works everything else out anew each time
 * by looking at all of them. It has no pointers, so that a copy of it is a
 * copy. Where the laws leave room (several errors apply at once, two deadlines
 * fall on one instant), it says what is allowed and is then told what happened.
 */
#ifndef LKVFENCE_MODEL_ORACLE_H
#define LKVFENCE_MODEL_ORACLE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/lkvfence.h>

#define ORACLE_SLOTS		160
#define ORACLE_TRANSFERS	16
#define ORACLE_LEASES		6
#define ORACLE_RANGES		4
#define ORACLE_SOURCES		8

/* What may be wrong with a call; several at once. */
#define WRONG_RANGE		BIT(0)	/* ERANGE */
#define WRONG_INVALID		BIT(1)	/* EINVAL */
#define WRONG_EXISTS		BIT(2)	/* EEXIST */
#define WRONG_BUSY		BIT(3)	/* EBUSY */
#define WRONG_LIMIT		BIT(4)	/* ENOSPC */
#define WRONG_CANCELED		BIT(5)	/* ECANCELED */
#define WRONG_STALE		BIT(6)	/* ESTALE */
#define WRONG_UNKNOWN		BIT(7)	/* ENOENT */
#define WRONG_TWICE		BIT(8)	/* EALREADY */
#define WRONG_SHUTDOWN		BIT(18)	/* ESHUTDOWN */
#define WRONG_UNACCEPTED	BIT(19)	/* EOPNOTSUPP */
#define WRONG_OTHER		BIT(31)	/* an errno that nothing allows */

/* What is known of a bound source's access. */
enum access_fact {
	ACCESS_BOUND,
	ACCESS_REVOKING,
	ACCESS_REVOKED,
	ACCESS_LOST,
};

struct source_fact {
	u32 source;
	u32 access;
};

struct lease_fact {
	u32 source;
	u32 state;
	u32 evidence;
	bool pulled;		/* it answered a pull */
	bool bound;		/* granted when its source was, and unproven */
	bool seen;		/* its source's end has been here */
};

struct transfer_fact {
	u64 generation;
	u64 tag;
	u64 ttl;
	u64 clock;		/* when something happens by itself; 0: never */
	u64 deadline;		/* of its hold */
	u64 revoke_by;		/* how long its revocation may take */
	u64 begun;
	u64 ended;
	u64 ended_as;		/* how many had ended before, for their order */
	u64 quarantined;
	u32 policy;
	u32 state;
	u32 reason;
	u32 consumers;		/* how many will pull it; 0: nobody knows */
	bool offered;		/* to be pulled */
	bool by_default;	/* nobody chose its policy */
	bool tried;		/* its revocation was begun */
	bool revoking;		/* and goes on */
	bool fell_back;		/* it should have been revoked and was not */
	bool in_quarantine;
	u32 nr_leases;
	struct lease_fact leases[ORACLE_LEASES];
};

/* Something that must be told. */
struct report {
	u64 generation;
	u64 tag;
	u64 time;
	u64 ended;
	u32 events;		/* 1 << enum lkvfence_event_type */
	u32 outcome;
	u32 evidence;
	u32 reason;
	u32 nr_slots;
	bool forced;
	bool revoking;		/* its sources have to be revoked */
	bool over;		/* an offered one ended */
	bool all_taken;		/* by that: every consumer has it */
};

struct oracle_counts {
	u64 begun;
	u64 released[LKVFENCE_NR_OUTCOMES];
	u64 returns_drained;
	u64 returns_failed;
	u64 returns_revoked;
	u64 returns_early;
	u64 returns_stale;
	u64 returns_unknown;
	u64 returns_duplicate;
	u64 returns_unaccepted;
	u64 refused_busy;
	u64 refused_exists;
	u64 refused_limit;
	u64 refused_revoked;
	u64 forced;
	u64 revokes;
	u64 revokes_failed;
	u64 evidence[LKVFENCE_MAX_EVIDENCE];
	u64 sources_revoked;
	u64 sources_lost;
	u64 strays;
	u64 strays_late;
	u64 mismatches;
};

struct oracle {
	u32 nr_slots;
	u32 accepts;		/* bits, as in OPEN: 0 means all */
	u64 last_generation;
	u64 ends;
	struct oracle_counts counts;
	struct report report;	/* of the last step; events is 0 for none */
	u64 owner[ORACLE_SLOTS];	/* generation, 0 for a free slot */
	u32 nr_sources;
	struct source_fact sources[ORACLE_SOURCES];
	u32 nr_transfers;
	struct transfer_fact transfers[ORACLE_TRANSFERS];	/* by generation */
};

struct oracle_begin {
	u64 tag;
	u64 ttl;
	u32 policy;
	bool offer;
	u32 nr_ranges;
	struct lkvfence_range ranges[ORACLE_RANGES];
	u32 nr_sources;
	u32 sources[ORACLE_LEASES];
};

struct oracle_limits {
	u64 timeout_default;
	u64 timeout_max;
	u64 revoke;		/* how long a revocation may take */
};

/* Looking */
struct transfer_fact *oracle_find(struct oracle *o, u64 generation);
struct transfer_fact *oracle_find_tag(struct oracle *o, u64 tag);
struct lease_fact *oracle_find_lease(struct transfer_fact *t, u32 source);
u32 oracle_nr_slots(const struct oracle *o, u64 generation);
u32 oracle_unproven(const struct transfer_fact *t);
/* It has not ended. */
bool oracle_alive(const struct transfer_fact *t);
/* How many of its consumers have it: L4, drained and nothing else. */
u32 oracle_taken(const struct transfer_fact *t);
struct source_fact *oracle_find_source(struct oracle *o, u32 source);
/* Can it be revoked? */
bool oracle_revocable(struct oracle *o, const struct transfer_fact *t);
/* What happens at its deadline, as things are. */
u32 oracle_policy(struct oracle *o, const struct transfer_fact *t);
bool oracle_accepts(const struct oracle *o, u32 evidence);
u64 oracle_next_clock(const struct oracle *o);
u32 oracle_nr_due(const struct oracle *o, u64 now);

/*
 * Each of these says which errors apply; exactly one of them must be what the
 * fence answered, and none means success.
 */
u32 oracle_begin_wrong(struct oracle *o, const struct oracle_begin *b,
		       u64 max_transfers);
/* The first slot of @b that is taken, in the order of its ranges. */
u32 oracle_first_busy(const struct oracle *o, const struct oracle_begin *b);
u32 oracle_take_wrong(struct transfer_fact *t, u32 source, u32 max_leases);
/* Beside these, for a take of a transfer that has not ended. */
u32 oracle_source_wrong(struct oracle *o, u32 source);
u32 oracle_ready_wrong(const struct transfer_fact *t, u32 consumers);
u32 oracle_return_wrong(struct oracle *o, u64 generation, u32 source,
			u32 status, u32 evidence);
u32 oracle_finish_wrong(const struct transfer_fact *t);
u32 oracle_force_wrong(const struct transfer_fact *t);

/* What happens when none applies, or with the refusals what is counted. */
void oracle_begin_refused(struct oracle *o, u32 wrong);
void oracle_begin(struct oracle *o, const struct oracle_begin *b,
		  u64 generation, u64 now);
void oracle_take_refused(struct oracle *o, u32 wrong);
void oracle_take(struct transfer_fact *t, u32 source, u64 now);
/* Follows oracle_take(): the lease counts for its source, where that is bound. */
void oracle_attach(struct oracle *o, struct transfer_fact *t, u32 source);
void oracle_ready(struct transfer_fact *t, u64 ttl, u32 consumers, u64 now);
void oracle_return_refused(struct oracle *o, u32 wrong);
/* Returns whether this releases the transfer. */
bool oracle_return(struct oracle *o, u64 generation, u32 source, u32 status,
		   u32 evidence, u64 now);
void oracle_abort(struct oracle *o, struct transfer_fact *t, u32 reason,
		  u32 policy, u64 timeout, const struct oracle_limits *limits,
		  u64 now);
void oracle_finish(struct oracle *o, struct transfer_fact *t, u64 now);
void oracle_force(struct oracle *o, struct transfer_fact *t, u64 now);
void oracle_end(struct oracle *o, struct transfer_fact *t, u32 reason,
		u64 timeout, const struct oracle_limits *limits, u64 now);
/* A lease is proven. Returns whether this releases the transfer. */
bool oracle_prove(struct oracle *o, struct transfer_fact *t,
		  struct lease_fact *l, u32 state, u32 evidence, u64 now);
/* Its revocation came to nothing. */
void oracle_stop_revoking(struct oracle *o, struct transfer_fact *t);
/* Returns whether it was due, and nothing else before it. */
bool oracle_expire(struct oracle *o, struct transfer_fact *t,
		   const struct oracle_limits *limits, u64 now);

/*
 * sources.c: bound sources. What is done to their leases is done in batches, and
 * which leases come first is the fence's choice: these are told of each.
 */
u32 oracle_nr_bound(const struct oracle *o, u32 source);
u32 oracle_nr_seen(const struct oracle *o, u32 source);
u32 oracle_bind_wrong(struct oracle *o, u32 source);
u32 oracle_unbind_wrong(struct oracle *o, u32 source);
void oracle_bind(struct oracle *o, u32 source);
void oracle_unbind(struct oracle *o, u32 source);
/* Returns whether that is news. */
bool oracle_revoke(struct oracle *o, u32 source);
void oracle_end_lease(struct oracle *o, struct transfer_fact *t, u32 source,
		      const struct oracle_limits *limits, u64 now);
void oracle_revoke_lease(struct oracle *o, struct transfer_fact *t, u32 source,
			 u32 evidence, u64 now);
/* All leases are: the source is revoked. */
void oracle_revoked(struct oracle *o, u32 source);
void oracle_lost(struct oracle *o, u32 source);
void oracle_lose_lease(struct oracle *o, struct transfer_fact *t, u32 source);
u32 oracle_report_wrong(const struct oracle *o, u64 generation, u32 kind);
void oracle_report(struct oracle *o, u32 kind);

#endif /* LKVFENCE_MODEL_ORACLE_H */
