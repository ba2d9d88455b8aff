// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L12, and what the opening comment of uapi/linux/lkvfence.h says of groups: from
 * what happened to each member, what must be true of it and of all.
 */
#include <errno.h>

#include "groups.h"

/* By itself it would be released. */
bool fact_quiet(const struct member_fact *m)
{
	return m->ended && (m->proven || m->given_up || m->forced);
}

void fact_end(struct group_world *w, u32 who, bool early, u32 reason, u64 timeout)
{
	struct member_fact *m = &w->facts[who];
	u64 deadline;

	if (!m->ended) {
		m->ended = true;
		m->early = early;
		m->reason = reason;
		m->ended_at = w->now;
		m->deadline = w->now + (timeout ? timeout : w->limits.default_ns);
	} else if (timeout && !fact_quiet(m) && !m->quarantined) {
		/* L4: later, never earlier; L8: not for ever. */
		deadline = min(w->now + timeout, m->ended_at + w->limits.max_ns);
		m->deadline = max(m->deadline, deadline);
	}
}

static bool one_ended_early(const struct group_world *w)
{
	for (u32 i = 0; i < w->nr; i++)
		if (w->facts[i].joined && w->facts[i].early)
			return true;
	return false;
}

static bool is_late(const struct group_world *w)
{
	return w->first_seen && w->now >= w->first_seen + w->limits.default_ns;
}

void fact_join(struct group_world *w, u32 who, int err)
{
	struct member_fact *m = &w->facts[who];

	m->joined = !err;
	m->refused = err;
	if (m->ended || w->known_over)
		group_must(w, err == -ECANCELED);
	else if (!one_ended_early(w) && !is_late(w))
		group_must(w, !err);
	else
		group_must(w, !err || err == -ECANCELED);
}

void fact_return(struct group_world *w, u32 who, u32 status, u32 evidence, int err)
{
	struct member_fact *m = &w->facts[who];

	/* Once only; but what failed may still be revoked. */
	if (m->proven || (m->failed && status != LKVFENCE_STATUS_REVOKED)) {
		group_must(w, err == -EALREADY);
		return;
	}
	group_must(w, !err);
	if (status == LKVFENCE_STATUS_FAILED) {
		m->failed = true;
	} else {
		m->proven = true;
		m->evidence = evidence;
	}
	m->free |= !m->joined && fact_quiet(m);
}

void fact_finish(struct group_world *w, u32 who, int err)
{
	struct member_fact *m = &w->facts[who];

	if (m->ended || !m->proven) {
		group_must(w, err == -EBUSY);
		return;
	}
	group_must(w, !err);
	fact_end(w, who, false, LKVFENCE_REASON_FINISHED, 0);
}

void fact_force(struct group_world *w, u32 who, int err)
{
	struct member_fact *m = &w->facts[who];
	bool may = m->quarantined && !fact_quiet(m);

	group_must(w, err == (may ? 0 : -EBUSY));
	m->forced |= may;
}

void fact_expire(struct group_world *w, u32 region)
{
	for (u32 i = 0; i < w->nr; i++) {
		struct member_fact *m = &w->facts[i];

		if (group_region(i) != region || !m->ended || fact_quiet(m) ||
		    m->quarantined || m->deadline > w->now)
			continue;
		if (w->policies >> i & 1)
			m->quarantined = true;
		else
			m->given_up = true;
	}
}

/* It was looked at: what it must have done. */
void fact_work(struct group_world *w)
{
	bool early = one_ended_early(w), late = is_late(w), all_quiet = w->joined, seen = false;
	u32 reasons = 0;

	if (!w->joined)
		return;
	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];

		if (!m->joined)
			continue;
		all_quiet &= fact_quiet(m);
		seen |= fact_quiet(m);
		if (m->early)
			reasons |= 1 << m->reason;
	}
	if (!reasons)
		reasons = 1 << LKVFENCE_REASON_EXPIRED;
	w->known_over |= early || late;
	for (u32 i = 0; i < w->nr && (early || late); i++) {
		struct member_fact *m = &w->facts[i];

		if (!m->joined || m->ended)
			continue;
		group_must(w, reasons & 1 << w->t[i].reason);
		fact_end(w, i, true, w->t[i].reason, 0);
	}
	/* Together, or not at all. */
	for (u32 i = 0; i < w->nr && all_quiet; i++)
		if (w->joined == w->nr || early || late)
			w->facts[i].free |= w->facts[i].joined;
	/* Who waits has one that isn't done yet, or isn't here. */
	if (seen && !w->first_seen && !(early && !all_quiet))
		w->first_seen = w->now;
}

static u32 outcome_of(const struct member_fact *m)
{
	if (m->given_up || m->forced)
		return LKVFENCE_OUTCOME_TIMEOUT;
	if (!m->early)
		return LKVFENCE_OUTCOME_COMPLETED;
	return m->evidence == LKVFENCE_EVIDENCE_RQ_FLUSHED ? LKVFENCE_OUTCOME_REVOKED :
	       LKVFENCE_OUTCOME_DRAINED;
}

/* The release is told as what it was: alone, or the worst of all members. */
static void hear_release(struct group_world *w, u32 who)
{
	static const u32 badness[] = {
		LKVFENCE_OUTCOME_COMPLETED, LKVFENCE_OUTCOME_DRAINED, LKVFENCE_OUTCOME_REVOKED,
		LKVFENCE_OUTCOME_TIMEOUT,
	};
	u32 worst = 0, weakest = LKVFENCE_EVIDENCE_NONE;

	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];

		if (i != who && (!m->joined || !w->facts[who].joined))
			continue;
		for (u32 j = 0; j < 4; j++)
			if (outcome_of(m) == badness[j])
				worst = max(worst, j);
		if (m->evidence && (!weakest || m->evidence < weakest))
			weakest = m->evidence;
	}
	if (badness[worst] == LKVFENCE_OUTCOME_TIMEOUT)
		weakest = LKVFENCE_EVIDENCE_TIMEOUT;
	group_must(w, w->t[who].outcome == badness[worst]);
	group_must(w, w->t[who].weakest == weakest);
}

static u32 place_of(const struct group_world *w, u32 who)
{
	u32 i = 0;

	while (i < w->joined && w->order[i] != who)
		i++;
	return i;
}

void fact_hear(struct group_world *w)
{
	struct fence_transfer *t;
	u32 bits, last, who;

	for (u32 i = 0; i < w->nr; i++)
		w->facts[i].free |= !w->facts[i].joined && fact_quiet(&w->facts[i]);
	for (u32 region = 0; region < GROUP_REGIONS; region++) {
		last = 0;
		while ((t = fence_news(&w->f[region], &bits))) {
			struct member_fact *m;

			who = t - w->t;
			m = &w->facts[who];
			if (bits & FENCE_NEWS_MEMBER && m->joined && !w->released)
				w->kicked = true;
			if (bits & FENCE_NEWS_ENDED) {
				group_must(w, m->ended && !m->told_end);
				m->told_end = true;
			}
			if (!(bits & FENCE_NEWS_RELEASED))
				continue;
			group_must(w, m->free && !m->told_free);
			m->told_free = true;
			hear_release(w, who);
			/* In the order in which they joined. */
			group_must(w, !m->joined || place_of(w, who) >= last);
			last = m->joined ? place_of(w, who) : last;
		}
	}
}

void fact_compare(struct group_world *w)
{
	u64 gathered[GROUP_REGIONS] = { 0 }, taken[GROUP_REGIONS] = { 0 };
	u64 next[GROUP_REGIONS] = { U64_MAX, U64_MAX };

	for (u32 i = 0; i < w->nr; i++) {
		const struct member_fact *m = &w->facts[i];
		const struct fence_transfer *t = &w->t[i];
		struct fence *f = &w->f[group_region(i)];
		struct fence_lease more = { .source = 7 };

		group_must(w, m->free == !fence_find_slot(f, i));
		group_must(w, m->free == m->told_free);
		group_must(w, m->free == (t->state == LKVFENCE_STATE_RELEASED));
		if (m->free)
			continue;
		/* Who is held was told of the end. */
		group_must(w, m->told_end == m->ended);
		group_must(w, fence_alive(t) == !m->ended);
		group_must(w, t->reason == m->reason);
		group_must(w, t->quarantined == m->quarantined);
		group_must(w, t->grouped == m->joined);
		group_must(w, t->gathered == (m->joined && fact_quiet(m)));
		/* L3 */
		if (m->ended)
			group_must(w, fence_take(f, &w->t[i], &more, 4, w->now) == -ECANCELED);
		taken[group_region(i)]++;
		gathered[group_region(i)] += t->gathered;
		if (m->ended && !fact_quiet(m) && !m->quarantined)
			next[group_region(i)] = min(next[group_region(i)], m->deadline);
	}
	for (u32 i = 0; i < GROUP_REGIONS; i++) {
		group_must(w, w->f[i].slots_taken == taken[i]);
		group_must(w, w->f[i].transfers_gathered == gathered[i]);
		group_must(w, fence_next_deadline(&w->f[i]) == next[i]);
	}
}
