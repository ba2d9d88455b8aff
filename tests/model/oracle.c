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
		if (o->transfers[i].tag == tag && oracle_alive(&o->transfers[i]))
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

static bool is_proven(const struct lease_fact *l)
{
	return l->state == LKVFENCE_LEASE_DRAINED ||
	       l->state == LKVFENCE_LEASE_REVOKED;
}

/* L4: a lease that was returned as failed is still out. */
u32 oracle_unproven(const struct transfer_fact *t)
{
	u32 n = 0;

	for (u32 i = 0; i < t->nr_leases; i++)
		n += !is_proven(&t->leases[i]);
	return n;
}

bool oracle_alive(const struct transfer_fact *t)
{
	return t->state == LKVFENCE_STATE_WAITING || t->state == LKVFENCE_STATE_READY;
}

u32 oracle_taken(const struct transfer_fact *t)
{
	u32 n = 0;

	for (u32 i = 0; i < t->nr_leases; i++)
		n += t->leases[i].pulled &&
		     t->leases[i].state == LKVFENCE_LEASE_DRAINED;
	return n;
}

struct source_fact *oracle_find_source(struct oracle *o, u32 source)
{
	for (u32 i = 0; i < o->nr_sources; i++)
		if (o->sources[i].source == source)
			return &o->sources[i];
	return NULL;
}

/*
 * Each of its leases that are not proven quiet is bound, to a source whose QPs
 * are neither revoked nor lost. Where there is no such lease there is nothing
 * to take away.
 */
bool oracle_revocable(struct oracle *o, const struct transfer_fact *t)
{
	for (u32 i = 0; i < t->nr_leases; i++) {
		const struct lease_fact *l = &t->leases[i];
		u32 access;

		if (is_proven(l))
			continue;
		if (!l->bound)
			return false;
		access = oracle_find_source(o, l->source)->access;
		if (access == ACCESS_REVOKED || access == ACCESS_LOST)
			return false;
	}
	return oracle_unproven(t);
}

#define REVOKES		((u32)(LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW))

u32 oracle_policy(struct oracle *o, const struct transfer_fact *t)
{
	if (t->by_default && oracle_revocable(o, t))
		return t->policy | LKVFENCE_POLICY_REVOKE;
	return t->policy;
}

bool oracle_accepts(const struct oracle *o, u32 evidence)
{
	return (o->accepts ? o->accepts : LKVFENCE_ACCEPT_ALL) >> evidence & 1;
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
	o->counts.evidence[LKVFENCE_EVIDENCE_TIMEOUT] += oracle_unproven(t);

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
		if (t->leases[i].state == LKVFENCE_LEASE_REVOKED)
			outcome = LKVFENCE_OUTCOME_REVOKED;
	come_back(o, t, outcome, now);
	return true;
}

/*
 * L8: an ended transfer has a clock: its deadline's, or, while its access is
 * being taken away, the later one of that; in quarantine it has none.
 */
static void wind(struct transfer_fact *t)
{
	t->clock = t->deadline;
	if (t->revoking && t->revoke_by > t->clock)
		t->clock = t->revoke_by;
	if (t->in_quarantine)
		t->clock = 0;
}

/* Once for a transfer, if at all: L8 */
static bool begin_revoking(struct oracle *o, struct transfer_fact *t,
			   const struct oracle_limits *limits, u64 now)
{
	if (t->tried || !oracle_revocable(o, t))
		return false;
	for (u32 i = 0; i < t->nr_leases; i++)
		if (!is_proven(&t->leases[i]))
			oracle_find_source(o, t->leases[i].source)->access =
				ACCESS_REVOKING;
	t->tried = true;
	t->revoking = true;
	t->revoke_by = now + limits->revoke;
	wind(t);
	o->counts.revokes++;
	o->report.generation = t->generation;
	o->report.revoking = true;
	return true;
}

static void fall_back(struct oracle *o, struct transfer_fact *t)
{
	o->counts.revokes_failed += !t->fell_back;
	t->fell_back = true;
}

void oracle_stop_revoking(struct oracle *o, struct transfer_fact *t)
{
	if (!t->revoking)
		return;
	t->revoking = false;
	wind(t);
	/* Where the rest of its policy has been carried out, it stays at that. */
	if (t->in_quarantine)
		fall_back(o, t);
}

/* L6b: whatever ends a transfer early, ends it here. */
void oracle_end(struct oracle *o, struct transfer_fact *t, u32 reason,
		u64 timeout, const struct oracle_limits *limits, u64 now)
{
	if (!timeout)
		timeout = limits->timeout_default;
	if (timeout > limits->timeout_max)
		timeout = limits->timeout_max;
	o->report.over = t->offered;
	o->report.reason = reason;
	o->report.tag = t->tag;
	t->state = LKVFENCE_STATE_ENDED;
	t->reason = reason;
	t->ended = now;
	t->ended_as = o->ends++;
	t->deadline = now + timeout;
	wind(t);
	if (come_back_if_quiet(o, t, now))
		return;
	o->report.generation = t->generation;
	o->report.events = 1U << LKVFENCE_EVENT_ENDED;
	if (t->policy & LKVFENCE_POLICY_REVOKE_NOW)
		begin_revoking(o, t, limits, now);
}

bool oracle_prove(struct oracle *o, struct transfer_fact *t,
		  struct lease_fact *l, u32 state, u32 evidence, u64 now)
{
	l->state = state;
	l->evidence = evidence;
	l->bound = false;
	l->seen = false;
	o->counts.evidence[evidence]++;
	if (!oracle_alive(t))
		return come_back_if_quiet(o, t, now);
	/* It finishes by itself, when all have taken it and nobody reads it. */
	if (!t->consumers || oracle_taken(t) < t->consumers || oracle_unproven(t))
		return false;
	oracle_finish(o, t, now);
	return true;
}

u32 oracle_source_wrong(struct oracle *o, u32 source)
{
	struct source_fact *s = oracle_find_source(o, source);

	return s && s->access != ACCESS_BOUND ? WRONG_SHUTDOWN : 0;
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
	for (u32 i = 0; i < b->nr_sources; i++)
		wrong |= oracle_source_wrong(o, b->sources[i]);
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
	if (wrong == WRONG_SHUTDOWN)
		o->counts.refused_revoked++;
}

void oracle_take_refused(struct oracle *o, u32 wrong)
{
	if (wrong == WRONG_SHUTDOWN)
		o->counts.refused_revoked++;
}

void oracle_attach(struct oracle *o, struct transfer_fact *t, u32 source)
{
	oracle_find_lease(t, source)->bound = oracle_find_source(o, source);
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
	/* TAINT, if none is named or only what goes beside one. */
	t->policy = b->policy;
	if (!(b->policy & ~REVOKES))
		t->policy |= LKVFENCE_POLICY_TAINT;
	t->by_default = b->policy == LKVFENCE_POLICY_DEFAULT;
	t->offered = b->offer;
	t->state = LKVFENCE_STATE_WAITING;
	t->begun = now;
	for (u32 i = 0; i < b->nr_sources; i++) {
		grant(t, b->sources[i], now);
		oracle_attach(o, t, b->sources[i]);
	}
	for (u32 i = 0; i < b->nr_ranges; i++)
		for (u32 j = 0; j < b->ranges[i].count; j++)
			o->owner[b->ranges[i].first + j] = generation;
	o->last_generation = generation;
	o->counts.begun++;
}

u32 oracle_take_wrong(struct transfer_fact *t, u32 source, u32 max_leases)
{
	u32 wrong = 0;

	if (!oracle_alive(t))
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

u32 oracle_ready_wrong(const struct transfer_fact *t, u32 consumers)
{
	u32 wrong = 0;

	if (!oracle_alive(t))
		wrong |= WRONG_CANCELED;	/* L3 */
	if (!t->offered)
		wrong |= WRONG_INVALID;
	if (t->state == LKVFENCE_STATE_READY && consumers && consumers != t->consumers)
		wrong |= WRONG_INVALID;
	return wrong;
}

/* Its life is counted from READY on; L4: and then only gets longer. */
void oracle_ready(struct transfer_fact *t, u64 ttl, u32 consumers, u64 now)
{
	bool renewal = t->state == LKVFENCE_STATE_READY;

	if (!renewal) {
		t->state = LKVFENCE_STATE_READY;
		t->consumers = consumers;
		t->ttl = 0;
	}
	if (!ttl)
		t->clock = 0;
	else if (!renewal || (t->clock && t->clock < now + ttl))
		t->clock = now + ttl;
}

static bool makes_sense(u32 status, u32 evidence)
{
	switch (status) {
	case LKVFENCE_STATUS_FAILED:
		return evidence == LKVFENCE_EVIDENCE_NONE;
	case LKVFENCE_STATUS_DRAINED:
		return evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE ||
		       evidence == LKVFENCE_EVIDENCE_IN_BAND;
	case LKVFENCE_STATUS_REVOKED:
		return evidence == LKVFENCE_EVIDENCE_RQ_FLUSHED ||
		       evidence == LKVFENCE_EVIDENCE_MW_INVALIDATED ||
		       evidence == LKVFENCE_EVIDENCE_QP_DESTROYED ||
		       evidence == LKVFENCE_EVIDENCE_MR_DEREGISTERED;
	}
	return false;
}

/* L5 */
u32 oracle_return_wrong(struct oracle *o, u64 generation, u32 source,
			u32 status, u32 evidence)
{
	struct transfer_fact *t = oracle_find(o, generation);
	struct lease_fact *l;
	u32 wrong = 0;

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
	/* Who owns the memory speaks for it, also where the source gave up. */
	if (is_proven(l) || (l->state == LKVFENCE_LEASE_FAILED &&
			     status != LKVFENCE_STATUS_REVOKED))
		wrong |= WRONG_TWICE;
	if (status != LKVFENCE_STATUS_FAILED && !oracle_accepts(o, evidence))
		wrong |= WRONG_UNACCEPTED;
	return wrong;
}

void oracle_return_refused(struct oracle *o, u32 wrong)
{
	if (wrong == WRONG_STALE)
		o->counts.returns_stale++;
	if (wrong == WRONG_UNKNOWN)
		o->counts.returns_unknown++;
	if (wrong == WRONG_TWICE)
		o->counts.returns_duplicate++;
	if (wrong == WRONG_UNACCEPTED)
		o->counts.returns_unaccepted++;
}

bool oracle_return(struct oracle *o, u64 generation, u32 source, u32 status,
		   u32 evidence, u64 now)
{
	struct transfer_fact *t = oracle_find(o, generation);
	struct lease_fact *l = oracle_find_lease(t, source);

	if (oracle_alive(t))
		o->counts.returns_early++;
	if (status == LKVFENCE_STATUS_FAILED) {
		o->counts.returns_failed++;
		l->state = LKVFENCE_LEASE_FAILED;
		return false;
	}
	if (status == LKVFENCE_STATUS_REVOKED) {
		o->counts.returns_revoked++;
		return oracle_prove(o, t, l, LKVFENCE_LEASE_REVOKED, evidence, now);
	}
	o->counts.returns_drained++;
	return oracle_prove(o, t, l, LKVFENCE_LEASE_DRAINED, evidence, now);
}

/* L4: stricter only. REVOKE goes beside the others, and stays once asked for. */
static u32 stricter(u32 a, u32 b)
{
	u32 base_a = a & ~REVOKES, base_b = b & ~REVOKES;

	return (base_a > base_b ? base_a : base_b) | ((a | b) & REVOKES);
}

void oracle_abort(struct oracle *o, struct transfer_fact *t, u32 reason,
		  u32 policy, u64 timeout, const struct oracle_limits *limits,
		  u64 now)
{
	u64 deadline = now + timeout;

	t->policy = stricter(t->policy, policy);
	if (oracle_alive(t)) {
		oracle_end(o, t, reason, timeout, limits, now);
		return;
	}
	/* L4: later or not at all; L8: not without end. */
	if (deadline > t->ended + limits->timeout_max)
		deadline = t->ended + limits->timeout_max;
	if (timeout && !t->in_quarantine && deadline > t->deadline) {
		t->deadline = deadline;
		wind(t);
	}
	if (policy & LKVFENCE_POLICY_REVOKE_NOW)
		begin_revoking(o, t, limits, now);
}

u32 oracle_finish_wrong(const struct transfer_fact *t)
{
	return oracle_unproven(t) ? WRONG_BUSY : 0;
}

void oracle_finish(struct oracle *o, struct transfer_fact *t, u64 now)
{
	o->report.over = t->offered;
	o->report.all_taken = t->consumers && oracle_taken(t) >= t->consumers;
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

/* The rest of a policy, behind the deadline. */
static void give_up(struct oracle *o, struct transfer_fact *t, u64 now)
{
	/* Its access should have been taken away, and was not. */
	if (t->tried || (t->policy & REVOKES))
		fall_back(o, t);
	if ((t->policy & ~REVOKES) == LKVFENCE_POLICY_TAINT) {
		come_back(o, t, LKVFENCE_OUTCOME_TIMEOUT, now);
		return;
	}
	t->revoking = false;
	t->in_quarantine = true;
	t->quarantined = now;
	wind(t);
	o->report.generation = t->generation;
	o->report.events = 1U << LKVFENCE_EVENT_QUARANTINED;
}

bool oracle_expire(struct oracle *o, struct transfer_fact *t,
		   const struct oracle_limits *limits, u64 now)
{
	if (!t->clock || t->clock > now || t->clock != oracle_next_clock(o))
		return false;
	if (oracle_alive(t))
		oracle_end(o, t, LKVFENCE_REASON_EXPIRED, 0, limits, now);
	else if (!(oracle_policy(o, t) & REVOKES) ||
		 !begin_revoking(o, t, limits, now))
		give_up(o, t, now);
	return true;
}
