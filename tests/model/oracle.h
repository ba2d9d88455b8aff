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
#define WRONG_OTHER		BIT(31)	/* an errno that nothing allows */

struct lease_fact {
	u32 source;
	u32 state;
	u32 evidence;
};

struct transfer_fact {
	u64 generation;
	u64 tag;
	u64 ttl;
	u64 clock;		/* when something happens by itself; 0: never */
	u64 begun;
	u64 ended;
	u64 ended_as;		/* how many had ended before, for their order */
	u64 quarantined;
	u32 policy;
	u32 state;
	u32 reason;
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
};

struct oracle_counts {
	u64 begun;
	u64 released[LKVFENCE_NR_OUTCOMES];
	u64 returns_drained;
	u64 returns_failed;
	u64 returns_early;
	u64 returns_stale;
	u64 returns_unknown;
	u64 returns_duplicate;
	u64 refused_busy;
	u64 refused_exists;
	u64 refused_limit;
	u64 forced;
};

struct oracle {
	u32 nr_slots;
	u64 last_generation;
	u64 ends;
	struct oracle_counts counts;
	struct report report;	/* of the last step; events is 0 for none */
	u64 owner[ORACLE_SLOTS];	/* generation, 0 for a free slot */
	u32 nr_transfers;
	struct transfer_fact transfers[ORACLE_TRANSFERS];	/* by generation */
};

struct oracle_begin {
	u64 tag;
	u64 ttl;
	u32 policy;
	u32 nr_ranges;
	struct lkvfence_range ranges[ORACLE_RANGES];
	u32 nr_sources;
	u32 sources[ORACLE_LEASES];
};

struct oracle_limits {
	u64 timeout_default;
	u64 timeout_max;
};

/* Looking */
struct transfer_fact *oracle_find(struct oracle *o, u64 generation);
struct transfer_fact *oracle_find_tag(struct oracle *o, u64 tag);
struct lease_fact *oracle_find_lease(struct transfer_fact *t, u32 source);
u32 oracle_nr_slots(const struct oracle *o, u64 generation);
u32 oracle_unproven(const struct transfer_fact *t);
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
u32 oracle_return_wrong(struct oracle *o, u64 generation, u32 source,
			u32 status, u32 evidence);
u32 oracle_finish_wrong(const struct transfer_fact *t);
u32 oracle_force_wrong(const struct transfer_fact *t);

/* What happens when none applies, or with the refusals what is counted. */
void oracle_begin_refused(struct oracle *o, u32 wrong);
void oracle_begin(struct oracle *o, const struct oracle_begin *b,
		  u64 generation, u64 now);
void oracle_take(struct transfer_fact *t, u32 source, u64 now);
void oracle_return_refused(struct oracle *o, u32 wrong);
/* Returns whether this releases the transfer. */
bool oracle_return(struct oracle *o, u64 generation, u32 source, u32 status,
		   u32 evidence, u64 now);
void oracle_abort(struct oracle *o, struct transfer_fact *t, u32 reason,
		  u32 policy, u64 timeout, const struct oracle_limits *limits,
		  u64 now);
void oracle_finish(struct oracle *o, struct transfer_fact *t, u64 now);
void oracle_force(struct oracle *o, struct transfer_fact *t, u64 now);
/* Returns whether it was due, and nothing else before it. */
bool oracle_expire(struct oracle *o, struct transfer_fact *t,
		   const struct oracle_limits *limits, u64 now);

#endif /* LKVFENCE_MODEL_ORACLE_H */
