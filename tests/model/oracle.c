// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The laws, as rules over facts. See oracle.h.
 */
#include <string.h>

#include "oracle.h"

struct transfer_fact *oracle_find(struct oracle *o, u64 generation)
{
	for (u32 i = 0; i < o->nr_transfers; i++)
		if (o->transfers[i].generation == generation)
			return &o->transfers[i];
	return NULL;
}

/* A tag names at most one transfer that has not ended. */
struct transfer_fact *oracle_find_tag(struct oracle *o, u64 tag)
{
	for (u32 i = 0; i < o->nr_transfers; i++)
		if (o->transfers[i].tag == tag &&
		    o->transfers[i].state == LKVFENCE_STATE_WAITING)
			return &o->transfers[i];
	return NULL;
}

struct lease_fact *oracle_find_lease(struct transfer_fact *t, u32 source)
{
	for (u32 i = 0; i < t->nr_leases; i++)
		if (t->leases[i].source == source)
			return &t->leases[i];
	return NULL;
}

u32 oracle_nr_slots(const struct oracle *o, u64 generation)
{
	u32 n = 0;

	for (u32 slot = 0; slot < o->nr_slots; slot++)
		n += o->owner[slot] == generation;
	return n;
}

/* L4: a lease that was returned as failed is still out. */
u32 oracle_unproven(const struct transfer_fact *t)
{
	u32 n = 0;

	for (u32 i = 0; i < t->nr_leases; i++)
		n += t->leases[i].state != LKVFENCE_LEASE_DRAINED;
	return n;
}

u64 oracle_next_clock(const struct oracle *o)
{
	u64 next = ~0ULL;

	for (u32 i = 0; i < o->nr_transfers; i++)
		if (o->transfers[i].clock && o->transfers[i].clock < next)
			next = o->transfers[i].clock;
	return next;
}

u32 oracle_nr_due(const struct oracle *o, u64 now)
{
	u32 n = 0;

	for (u32 i = 0; i < o->nr_transfers; i++)
		n += o->transfers[i].clock && o->transfers[i].clock <= now;
	return n;
}

/* The slots are back, exactly now and with exactly one outcome (L6). */
static void come_back(struct oracle *o, struct transfer_fact *t, u32 outcome,
		      u64 now)
{
	struct report *r = &o->report;
	u32 weakest = LKVFENCE_EVIDENCE_NONE;

	for (u32 i = 0; i < t->nr_leases; i++)
		if (!i || t->leases[i].evidence < weakest)
			weakest = t->leases[i].evidence;

	r->generation = t->generation;
	r->tag = t->tag;
	r->time = now;
	r->ended = t->ended;
	r->events |= 1U << LKVFENCE_EVENT_RELEASED;
	r->outcome = outcome;
	r->evidence = outcome == LKVFENCE_OUTCOME_TIMEOUT ?
		LKVFENCE_EVIDENCE_TIMEOUT : weakest;
	r->reason = t->reason;
	r->nr_slots = oracle_nr_slots(o, t->generation);
	o->counts.released[outcome]++;

	for (u32 slot = 0; slot < o->nr_slots; slot++)
		if (o->owner[slot] == t->generation)
			o->owner[slot] = 0;
	o->nr_transfers--;
	memmove(t, t + 1, (char *)&o->transfers[o->nr_transfers] - (char *)t);
	/* Nothing is left behind, so that equal facts are equal bytes. */
	memset(&o->transfers[o->nr_transfers], 0, sizeof(*t));
}

/* L2: an ended transfer whose leases are all quiet comes back at once. */
static bool come_back_if_quiet(struct oracle *o, struct transfer_fact *t,
			       u64 now)
{
	u32 outcome = LKVFENCE_OUTCOME_DRAINED;

	if (oracle_unproven(t))
		return false;
	for (u32 i = 0; i < t->nr_leases; i++)
		if (t->leases[i].evidence >= LKVFENCE_EVIDENCE_RQ_FLUSHED)
			outcome = LKVFENCE_OUTCOME_REVOKED;
	come_back(o, t, outcome, now);
	return true;
}

/* L6b: whatever ends a transfer early, ends it here. */
static void end_early(struct oracle *o, struct transfer_fact *t, u32 reason,
		      u64 timeout, const struct oracle_limits *limits, u64 now)
{
	if (!timeout)
		timeout = limits->timeout_default;
	if (timeout > limits->timeout_max)
		timeout = limits->timeout_max;
	t->state = LKVFENCE_STATE_ENDED;
	t->reason = reason;
	t->ended = now;
	t->ended_as = o->ends++;
	t->clock = now + timeout;
	if (come_back_if_quiet(o, t, now))
		return;
	o->report.generation = t->generation;
	o->report.events = 1U << LKVFENCE_EVENT_ENDED;
}

u32 oracle_begin_wrong(struct oracle *o, const struct oracle_begin *b,
		       u64 max_transfers)
{
	bool named[ORACLE_SLOTS] = { false };
	u32 wrong = 0;

	for (u32 i = 0; i < b->nr_ranges; i++) {
		u64 first = b->ranges[i].first;
		u64 count = b->ranges[i].count;

		if (!count)
			wrong |= WRONG_INVALID;
		if (first + count > o->nr_slots)
			wrong |= WRONG_RANGE;
		for (u64 slot = first;
		     slot < first + count && slot < o->nr_slots; slot++) {
			if (named[slot])
				wrong |= WRONG_INVALID;
			named[slot] = true;
			if (o->owner[slot])
				wrong |= WRONG_BUSY;
		}
	}
	for (u32 i = 0; i < b->nr_sources; i++)
		for (u32 j = 0; j < i; j++)
			if (b->sources[i] == b->sources[j])
				wrong |= WRONG_INVALID;
	if (oracle_find_tag(o, b->tag))
		wrong |= WRONG_EXISTS;
	if (o->nr_transfers >= max_transfers)
		wrong |= WRONG_LIMIT;
	return wrong;
}

u32 oracle_first_busy(const struct oracle *o, const struct oracle_begin *b)
{
	for (u32 i = 0; i < b->nr_ranges; i++) {
		u64 past = (u64)b->ranges[i].first + b->ranges[i].count;

		for (u64 slot = b->ranges[i].first;
		     slot < past && slot < o->nr_slots; slot++)
			if (o->owner[slot])
				return slot;
	}
	return ~0U;
}

void oracle_begin_refused(struct oracle *o, u32 wrong)
{
	if (wrong == WRONG_BUSY)
		o->counts.refused_busy++;
	if (wrong == WRONG_EXISTS)
		o->counts.refused_exists++;
	if (wrong == WRONG_LIMIT)
		o->counts.refused_limit++;
}

/* L8: the time to live runs from the first lease on, not while it queues. */
static void grant(struct transfer_fact *t, u32 source, u64 now)
{
	if (!t->nr_leases && t->ttl)
		t->clock = now + t->ttl;
	t->leases[t->nr_leases].source = source;
	t->leases[t->nr_leases].state = LKVFENCE_LEASE_OUT;
	t->nr_leases++;
}

void oracle_begin(struct oracle *o, const struct oracle_begin *b,
		  u64 generation, u64 now)
{
	struct transfer_fact *t = &o->transfers[o->nr_transfers++];

	memset(t, 0, sizeof(*t));
	t->generation = generation;
	t->tag = b->tag;
	t->ttl = b->ttl;
	t->policy = b->policy;
	t->state = LKVFENCE_STATE_WAITING;
	t->begun = now;
	for (u32 i = 0; i < b->nr_sources; i++)
		grant(t, b->sources[i], now);
	for (u32 i = 0; i < b->nr_ranges; i++)
		for (u32 j = 0; j < b->ranges[i].count; j++)
			o->owner[b->ranges[i].first + j] = generation;
	o->last_generation = generation;
	o->counts.begun++;
}

u32 oracle_take_wrong(struct transfer_fact *t, u32 source, u32 max_leases)
{
	u32 wrong = 0;

	if (t->state != LKVFENCE_STATE_WAITING)
		return WRONG_CANCELED;		/* L3 */
	if (oracle_find_lease(t, source))
		wrong |= WRONG_EXISTS;
	if (t->nr_leases >= max_leases)
		wrong |= WRONG_LIMIT;
	return wrong;
}

void oracle_take(struct transfer_fact *t, u32 source, u64 now)
{
	grant(t, source, now);
}

static bool makes_sense(u32 status, u32 evidence)
{
	switch (status) {
	case LKVFENCE_STATUS_FAILED:
		return evidence == LKVFENCE_EVIDENCE_NONE;
	case LKVFENCE_STATUS_DRAINED:
		switch (evidence) {
		case LKVFENCE_EVIDENCE_SUCCESS_CQE:
		case LKVFENCE_EVIDENCE_IN_BAND:
		case LKVFENCE_EVIDENCE_RQ_FLUSHED:
		case LKVFENCE_EVIDENCE_MW_INVALIDATED:
		case LKVFENCE_EVIDENCE_QP_DESTROYED:
		case LKVFENCE_EVIDENCE_MR_DEREGISTERED:
			return true;
		}
	}
	return false;
}

/* L5 */
u32 oracle_return_wrong(struct oracle *o, u64 generation, u32 source,
			u32 status, u32 evidence)
{
	struct transfer_fact *t = oracle_find(o, generation);
	struct lease_fact *l;

	if (!makes_sense(status, evidence))
		return WRONG_INVALID;
	/* The kernel gives no generation 0, so that was never issued either. */
	if (!generation || generation > o->last_generation)
		return WRONG_UNKNOWN;
	if (!t)
		return WRONG_STALE;
	l = oracle_find_lease(t, source);
	if (!l)
		return WRONG_UNKNOWN;
	if (l->state != LKVFENCE_LEASE_OUT)
		return WRONG_TWICE;
	return 0;
}

void oracle_return_refused(struct oracle *o, u32 wrong)
{
	if (wrong == WRONG_STALE)
		o->counts.returns_stale++;
	if (wrong == WRONG_UNKNOWN)
		o->counts.returns_unknown++;
	if (wrong == WRONG_TWICE)
		o->counts.returns_duplicate++;
}

bool oracle_return(struct oracle *o, u64 generation, u32 source, u32 status,
		   u32 evidence, u64 now)
{
	struct transfer_fact *t = oracle_find(o, generation);
	struct lease_fact *l = oracle_find_lease(t, source);

	if (t->state == LKVFENCE_STATE_WAITING)
		o->counts.returns_early++;
	if (status == LKVFENCE_STATUS_FAILED) {
		o->counts.returns_failed++;
		l->state = LKVFENCE_LEASE_FAILED;
		return false;
	}
	o->counts.returns_drained++;
	l->state = LKVFENCE_LEASE_DRAINED;
	l->evidence = evidence;
	if (t->state == LKVFENCE_STATE_WAITING)
		return false;
	return come_back_if_quiet(o, t, now);
}

void oracle_abort(struct oracle *o, struct transfer_fact *t, u32 reason,
		  u32 policy, u64 timeout, const struct oracle_limits *limits,
		  u64 now)
{
	u64 deadline;

	if (policy > t->policy)
		t->policy = policy;
	if (t->state == LKVFENCE_STATE_WAITING) {
		end_early(o, t, reason, timeout, limits, now);
		return;
	}
	/* L4: later or not at all; L8: not without end. */
	if (!timeout || t->in_quarantine)
		return;
	deadline = now + timeout;
	if (deadline > t->ended + limits->timeout_max)
		deadline = t->ended + limits->timeout_max;
	if (deadline > t->clock)
		t->clock = deadline;
}

u32 oracle_finish_wrong(const struct transfer_fact *t)
{
	return oracle_unproven(t) ? WRONG_BUSY : 0;
}

void oracle_finish(struct oracle *o, struct transfer_fact *t, u64 now)
{
	t->reason = LKVFENCE_REASON_FINISHED;
	t->ended = now;
	o->ends++;
	come_back(o, t, LKVFENCE_OUTCOME_COMPLETED, now);
}

u32 oracle_force_wrong(const struct transfer_fact *t)
{
	return t->in_quarantine ? 0 : WRONG_BUSY;
}

void oracle_force(struct oracle *o, struct transfer_fact *t, u64 now)
{
	o->counts.forced++;
	o->report.forced = true;
	come_back(o, t, LKVFENCE_OUTCOME_TIMEOUT, now);
}

bool oracle_expire(struct oracle *o, struct transfer_fact *t,
		   const struct oracle_limits *limits, u64 now)
{
	if (!t->clock || t->clock > now || t->clock != oracle_next_clock(o))
		return false;
	if (t->state == LKVFENCE_STATE_WAITING) {
		end_early(o, t, LKVFENCE_REASON_EXPIRED, 0, limits, now);
	} else if (t->policy == LKVFENCE_POLICY_TAINT) {
		come_back(o, t, LKVFENCE_OUTCOME_TIMEOUT, now);
	} else {
		t->clock = 0;
		t->in_quarantine = true;
		t->quarantined = now;
		o->report.generation = t->generation;
		o->report.events = 1U << LKVFENCE_EVENT_QUARANTINED;
	}
	return true;
}
