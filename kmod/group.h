/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups: transfers, of several regions and processes, that are released together
 * or not at all (L12).
 *
 * The decision is pure, and made anew from what the members are, whenever one of
 * them changes: group_decide(). The rest carries it out: group.c.
 */
#ifndef LKVFENCE_GROUP_H
#define LKVFENCE_GROUP_H

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/lkvfence.h>

#include "fence.h"

struct group;
struct region;
struct transfer;

/* Members of one group: as many locks are held in its one step. */
#define MAX_MEMBERS	64U

/**
 * struct group_state - what is known of a group when it is decided
 * @size: how many members it is to have
 * @joined: how many there are
 * @alive: of these, how many have not ended
 * @gathered: how many would have been released by themselves
 * @reason: why the first of those that didn't finish ended; NONE: there is none
 * @outcome: the worst of those that have gathered
 * @evidence: the weakest of theirs; NONE: no lease was ever out
 * @late: its deadline has passed
 */
struct group_state {
	u32 size;
	u32 joined;
	u32 alive;
	u32 gathered;
	u32 reason;
	u32 outcome;
	u32 evidence;
	bool late;
};

/**
 * enum group_verdict - what is to be done
 * @GROUP_WAIT: nothing
 * @GROUP_END: end the members that have not ended
 * @GROUP_RELEASE: release all members, in one step
 */
enum group_verdict {
	GROUP_WAIT,
	GROUP_END,
	GROUP_RELEASE,
};

/* A member has gathered: outcomes are numbered by how bad they are, but for GONE. */
static inline void group_gathered(struct group_state *g, u32 outcome, u32 evidence)
{
	g->gathered++;
	g->outcome = max(g->outcome, outcome);
	if (!g->evidence || (evidence && evidence < g->evidence))
		g->evidence = evidence;
	if (g->outcome == LKVFENCE_OUTCOME_TIMEOUT)
		g->evidence = LKVFENCE_EVIDENCE_TIMEOUT;
}

/* What one member adds to what is known; they are added in the order in which they joined. */
static inline void group_add(struct group_state *g, const struct fence_transfer *t)
{
	if (fence_alive(t))
		g->alive++;
	else if (!g->reason && t->reason != LKVFENCE_REASON_FINISHED)
		g->reason = t->reason;
	if (t->gathered)
		group_gathered(g, t->outcome, t->weakest);
}

/*
 * No more members are to come: one of them ended early, and with it all of them;
 * or the others were waited for in vain.
 */
static inline bool group_sealed(const struct group_state *g)
{
	return g->joined == g->size || g->reason || g->late;
}

/* Why the members that are left are ended. */
static inline u32 group_reason(const struct group_state *g)
{
	return g->reason ?: LKVFENCE_REASON_EXPIRED;
}

/**
 * group_decide() - one decision for all members
 * @g: what is known
 *
 * Members that finish wait for the others. One that ends early ends all: what is
 * left of a request whose parts are spread over them is worth nothing. A member
 * that is dead is waited for until its own deadline, by its own policy; one that
 * never came, or doesn't end, until the group's.
 *
 * Return: enum group_verdict.
 */
static inline enum group_verdict group_decide(const struct group_state *g)
{
	if (!group_sealed(g))
		return GROUP_WAIT;
	if (g->alive && (g->reason || g->late))
		return GROUP_END;
	return g->gathered == g->joined ? GROUP_RELEASE : GROUP_WAIT;
}

/**
 * struct member - a transfer in a group
 * @node: in the group's @members, in the order in which they joined
 * @group: referenced
 * @region: referenced
 * @transfer: it can't be released but by the group
 */
struct member {
	struct list_head node;
	struct group *group;
	struct region *region;
	struct transfer *transfer;
};

/**
 * group_kick() - a member has ended, or gathered: have it decided
 * @t: the member; its region is locked
 */
void group_kick(struct transfer *t);

/* No region is left: nobody could join what is remembered. */
void groups_forget(void);

#endif /* LKVFENCE_GROUP_H */
