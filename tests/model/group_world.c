// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups: what is done, to the fences and in place of kmod/group.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "groups.h"
#include "world.h"

#define DEFAULT_NS	20
#define MAX_NS		60
#define ABORT_NS	50

void group_world_init(struct group_world *w, u32 nr, u32 policies)
{
	struct fence_refusal why;

	memset(w, 0, sizeof(*w));
	w->now = 1000;
	w->nr = nr;
	w->policies = policies;
	w->limits = (struct fence_limits){ DEFAULT_NS, MAX_NS, 1 };
	for (u32 i = 0; i < GROUP_REGIONS; i++)
		fence_init(&w->f[i], GROUP_MEMBERS, &w->taken[i], w->owner[i]);
	for (u32 i = 0; i < nr; i++) {
		struct fence *f = &w->f[group_region(i)];
		struct fence_transfer *t = &w->t[i];

		w->ranges[i] = (struct lkvfence_range){ .first = i, .count = 1 };
		*t = (struct fence_transfer){
			.tag = i,
			.ranges = &w->ranges[i],
			.nr_ranges = 1,
			.policy = w->policies >> i & 1 ? LKVFENCE_POLICY_QUARANTINE :
				  LKVFENCE_POLICY_TAINT,
		};
		fence_transfer_init(t);
		/* The last one has nothing out, from the start. */
		if (i < 2) {
			w->leases[i].source = 1;
			group_must(w, !fence_transfer_lease(t, &w->leases[i]));
		}
		w->facts[i].proven = i == 2;
		group_must(w, !fence_admit(f, t, GROUP_MEMBERS, &why));
		fence_begin(f, t, i + 1, w->now);
	}
}

/* What kmod/group.c's work does. */
static void work(struct group_world *w)
{
	struct group_state s = {
		.size = w->nr,
		.joined = w->joined,
		.late = w->deadline && w->deadline <= w->now,
	};

	w->kicked = false;
	if (w->look_at <= w->now)
		w->look_at = 0;
	for (u32 i = 0; i < w->joined && !w->released; i++)
		group_add(&s, &w->t[w->order[i]]);
	if (group_sealed(&s))
		w->sealed = true;
	if (!w->joined || w->released)
		return;
	switch (group_decide(&s)) {
	case GROUP_END:
		for (u32 i = 0; i < w->joined; i++)
			fence_end_member(&w->f[group_region(w->order[i])], &w->t[w->order[i]],
					 group_reason(&s), &w->limits, w->now);
		break;
	case GROUP_RELEASE:
		w->released = true;
		w->look_at = 0;
		for (u32 i = 0; i < w->joined; i++)
			fence_release_member(&w->f[group_region(w->order[i])],
					     &w->t[w->order[i]], s.outcome, s.evidence, w->now);
		break;
	case GROUP_WAIT:
		if (s.gathered && !w->deadline)
			w->deadline = w->now + w->limits.default_ns;
		if (s.gathered && !s.late)
			w->look_at = w->deadline;
		break;
	}
}

static int join(struct group_world *w, u32 who)
{
	int err;

	if (w->sealed)
		return -ECANCELED;
	err = fence_join(&w->f[group_region(who)], &w->t[who]);
	if (err)
		return err;
	group_must(w, fence_join(&w->f[group_region(who)], &w->t[who]) == -EEXIST);
	w->order[w->joined++] = who;
	return 0;
}

static void give_back(struct group_world *w, u32 who, u32 status, u32 evidence)
{
	bool released;
	int err = fence_return(&w->f[group_region(who)], who + 1, 1, status, evidence, w->now,
			       &released);

	fact_return(w, who, status, evidence, err);
	group_must(w, released == (w->facts[who].free && !err));
}

static void end(struct group_world *w, u32 who, u32 reason, u64 timeout)
{
	fence_abort(&w->f[group_region(who)], &w->t[who], reason, 0, timeout, &w->limits, w->now);
	fact_end(w, who, true, reason, timeout);
}

void group_step(struct group_world *w, const struct group_event *e)
{
	struct fence *f = &w->f[e->kind == GE_EXPIRE ? e->who : group_region(e->who)];
	struct fence_transfer *t = &w->t[e->who];

	switch (e->kind) {
	case GE_JOIN:
		fact_join(w, e->who, join(w, e->who));
		break;
	case GE_DRAIN:
		give_back(w, e->who, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
		break;
	case GE_REVOKE:
		give_back(w, e->who, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_RQ_FLUSHED);
		break;
	case GE_FAIL:
		give_back(w, e->who, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
		break;
	case GE_FINISH:
		fact_finish(w, e->who, fence_finish(f, t, w->now));
		break;
	case GE_ABORT:
		end(w, e->who, LKVFENCE_REASON_ABORTED, ABORT_NS);
		break;
	case GE_DIE:
		end(w, e->who, LKVFENCE_REASON_ORPHANED, 0);
		break;
	case GE_FORCE:
		fact_force(w, e->who, fence_force(f, t, w->now));
		break;
	case GE_WORK:
		work(w);
		fact_work(w);
		break;
	case GE_EXPIRE:
		fence_expire(f, &w->limits, w->now, GROUP_MEMBERS + 1);
		fact_expire(w, e->who);
		break;
	case GE_TIME:
		w->now = group_next(w);
		break;
	}
	fact_hear(w);
	fact_compare(w);
}

u64 group_next(const struct group_world *w)
{
	u64 next = U64_MAX;

	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];

		if (m->ended && !fact_quiet(m) && !m->quarantined && m->deadline > w->now &&
		    m->deadline < next)
			next = m->deadline;
	}
	if (w->look_at > w->now && w->look_at < next)
		next = w->look_at;
	return next;
}

static void add(struct group_event **e, enum group_event_kind kind, u32 who)
{
	*(*e)++ = (struct group_event){ .kind = kind, .who = who };
}

u32 group_events_all(const struct group_world *w, struct group_event *e)
{
	struct group_event *first = e;

	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];

		if (m->free)
			continue;
		if (!m->joined && !m->refused)
			add(&e, GE_JOIN, i);
		if (!m->proven) {
			add(&e, GE_DRAIN, i);
			add(&e, GE_REVOKE, i);
		}
		if (!m->proven && !m->failed)
			add(&e, GE_FAIL, i);
		add(&e, GE_FINISH, i);
		add(&e, GE_ABORT, i);
		if (!m->ended)
			add(&e, GE_DIE, i);
		if (m->ended && w->policies >> i & 1)
			add(&e, GE_FORCE, i);
	}
	/* It may be looked at for no reason, too. */
	add(&e, GE_WORK, 0);
	for (u32 i = 0; i < GROUP_REGIONS; i++)
		if (fence_next_deadline(&w->f[i]) <= w->now)
			add(&e, GE_EXPIRE, i);
	if (group_next(w) != U64_MAX)
		add(&e, GE_TIME, 0);
	return e - first;
}

void group_event_print(const struct group_event *e)
{
	static const char * const names[] = {
		"join", "drained", "revoked", "failed", "finish", "abort", "die", "force",
		"the group is looked at", "look at the clock of region", "time",
	};

	printf("%s", names[e->kind]);
	if (e->kind != GE_WORK && e->kind != GE_TIME)
		printf(" %u", e->who);
	printf("\n");
}

/* What is past is past, however long. */
static u64 until(const struct group_world *w, u64 when)
{
	return when > w->now ? when - w->now : 0;
}

u64 group_hash(const struct group_world *w)
{
	u64 h = w->policies;

	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];
		const struct fence_transfer *t = &w->t[i];

		mix(&h, m->joined | m->refused << 1 | m->ended << 2 | m->early << 3 |
		    m->proven << 4 | m->failed << 5 | m->given_up << 6 | m->quarantined << 7 |
		    m->forced << 8 | m->free << 9 | m->told_end << 10 | m->told_free << 11);
		mix(&h, m->reason | m->evidence << 8 | t->state << 16 | (u64)t->gathered << 24);
		/* Of who is free nothing happens any more. */
		mix(&h, m->free || !m->ended ? 0 : until(w, m->deadline));
		mix(&h, m->free || !m->ended ? 0 : until(w, m->ended_at + w->limits.max_ns));
		mix(&h, t->outcome | t->weakest << 8);
	}
	for (u32 i = 0; i < w->joined; i++)
		mix(&h, w->order[i]);
	mix(&h, w->joined | w->sealed << 8 | w->released << 9 | w->kicked << 10 |
	    w->known_over << 11 | (u64)!!w->deadline << 12 | (u64)!!w->look_at << 13);
	mix(&h, until(w, w->deadline));
	mix(&h, until(w, w->look_at));
	return h;
}
