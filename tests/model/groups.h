/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A world of one group (L12): its members, in two regions, and beside them what
 * must be true of them, from the law and not from the code.
 *
 * It is one block without pointers out of it, so that a copy put back takes it
 * back to an earlier instant.
 */
#ifndef LKVFENCE_MODEL_GROUPS_H
#define LKVFENCE_MODEL_GROUPS_H

#include "fence.h"
#include "group.h"

#define GROUP_MEMBERS	3
#define GROUP_REGIONS	2	/* the first member's, and the others' */
#define GROUP_EVENTS	40

enum group_event_kind {
	GE_JOIN,
	GE_DRAIN,
	GE_REVOKE,
	GE_FAIL,
	GE_FINISH,
	GE_ABORT,
	GE_DIE,
	GE_FORCE,
	GE_WORK,		/* the group is looked at, and acts */
	GE_EXPIRE,		/* a region's clock is looked at */
	GE_TIME,		/* up to the next instant at which something is due */
};

struct group_event {
	enum group_event_kind kind;
	u32 who;		/* a member, or a region */
};

/* What happened to a member. */
struct member_fact {
	bool joined;
	bool refused;		/* it came too late */
	bool ended;
	bool early;		/* otherwise than by finishing */
	bool proven;		/* its lease is, or there was none */
	bool failed;		/* its lease came back without proof */
	bool given_up;		/* at its deadline, by its policy */
	bool quarantined;
	bool forced;
	bool free;		/* its slots are back */
	bool told_end, told_free;
	u32 reason;
	u32 evidence;		/* of its lease; NONE: there is no proof, or none was out */
	u64 ended_at;
	u64 deadline;
};

struct group_world {
	u64 now;
	u32 nr;
	u32 policies;		/* bits: members with quarantine */
	struct fence_limits limits;
	struct fence f[GROUP_REGIONS];
	unsigned long taken[GROUP_REGIONS];
	u64 owner[GROUP_REGIONS][GROUP_MEMBERS];
	struct fence_transfer t[GROUP_MEMBERS];
	struct fence_lease leases[GROUP_MEMBERS];
	struct lkvfence_range ranges[GROUP_MEMBERS];

	/* The group, as the module's caller of group_decide() keeps it. */
	u32 joined;
	u32 order[GROUP_MEMBERS];
	bool sealed;
	bool released;
	bool kicked;
	u64 deadline;
	u64 look_at;

	/* The facts */
	struct member_fact facts[GROUP_MEMBERS];
	u64 first_seen;		/* when it saw one that only waits for it; 0: never yet */
	bool known_over;	/* it saw that one ended early, or that its deadline passed */
};

void group_world_init(struct group_world *w, u32 nr, u32 policies);
u32 group_events_all(const struct group_world *w, struct group_event *e);
void group_event_print(const struct group_event *e);
void group_step(struct group_world *w, const struct group_event *e);
/* The next instant at which something is due by itself; U64_MAX: there is none. */
u64 group_next(const struct group_world *w);
u64 group_hash(const struct group_world *w);

/* group_facts.c: what follows from a step, and what must be true behind it */
bool fact_quiet(const struct member_fact *m);
void fact_end(struct group_world *w, u32 who, bool early, u32 reason, u64 timeout);
void fact_join(struct group_world *w, u32 who, int err);
void fact_return(struct group_world *w, u32 who, u32 status, u32 evidence, int err);
void fact_finish(struct group_world *w, u32 who, int err);
void fact_force(struct group_world *w, u32 who, int err);
void fact_expire(struct group_world *w, u32 region);
void fact_work(struct group_world *w);
/* All that is told must be true, and all that is to be told must have been. */
void fact_hear(struct group_world *w);
void fact_compare(struct group_world *w);

static inline u32 group_region(u32 who)
{
	return who ? 1 : 0;
}

/* groups.c: prints what led here, and ends the run */
_Noreturn __attribute__((__format__(printf, 2, 3)))
void group_fail(const struct group_world *w, const char *fmt, ...);

#define group_must(w, cond) do {					\
	if (!(cond))							\
		group_fail(w, "%s: not true: %s", __func__, #cond);	\
} while (0)

#endif /* LKVFENCE_MODEL_GROUPS_H */
