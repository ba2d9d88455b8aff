// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What is around the transfers: regions and handles that come and go, events
 * that wait, the clock, and calls that only look.
 */
#include <errno.h>
#include <string.h>

#include "mirror.h"

void mirror_init(struct mirror *m)
{
	memset(m, 0, sizeof(*m));
	for (u32 i = 0; i < MIRROR_HANDLES; i++)
		m->handles[i] = -1;
}

struct mirror_region *mirror_region(struct mirror *m, int handle)
{
	return handle < 0 ? NULL : &m->regions[m->handles[handle]];
}

bool mirror_sees_all(const struct mirror *m)
{
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		if (m->regions[i].exists && m->regions[i].blind)
			return false;
	return true;
}

/* Without handles and transfers a region goes. */
static void retire(struct mirror_region *r)
{
	if (!r->exists || r->handles)
		return;
	if (r->blind)
		r->maybe_gone = true;
	else if (!r->o.nr_transfers)
		r->exists = false;
}

/* Keeps what the oracle forgets. */
void mirror_check_region(struct mirror_region *r)
{
	mirror_sweep(r);
	for (u32 i = 0; i < r->nr && !r->blind; i++) {
		struct mirror_transfer *t = &r->transfers[i];
		struct transfer_fact *fact = oracle_find(&r->o, t->generation);

		agree(!fact == t->released);
		/* The last one stays visible in quarantine. */
		if (fact && fact->clock)
			t->deadline = fact->clock;
		if (!fact || fact->clock == t->clock)
			continue;
		t->clock = fact->clock;
		t->clock_as = ++r->order;
	}
}

/*
 * Events
 */

static void forget(struct mirror_region *r, struct mirror_transfer *t)
{
	r->nr--;
	memmove(t, t + 1, (char *)&r->transfers[r->nr] - (char *)t);
}

static void tell(struct mirror_transfer *t, u32 type, u64 earliest)
{
	t->told[type].type = type;
	t->earliest[type] = earliest;
	t->unread |= 1U << type;
}

/* A transfer's sources are to be revoked. */
static void start_sources(struct mirror_region *r, u64 generation, u64 now)
{
	struct transfer_fact *fact = oracle_find(&r->o, generation);

	for (u32 i = 0; i < fact->nr_leases; i++)
		if (fact->leases[i].bound)
			mirror_start(mirror_find_source(r, fact->leases[i].source), now);
}

/* Who hears of the oracle's report, and what. */
void mirror_hear(struct mirror *m, struct mirror_region *r, int caller, u32 mute,
		 u32 unproven, u64 earliest, u64 latest)
{
	const struct report *p = &r->o.report;
	struct mirror_transfer *t;
	struct transfer_fact *fact;
	bool tells;

	if (p->revoking)
		start_sources(r, p->generation, earliest);
	if (!p->events)
		return;
	t = mirror_find(r, p->generation);
	agree(t && !t->released);
	fact = oracle_find(&r->o, p->generation);
	mirror_over(m, r, p->generation, fact ? fact->reason : p->reason, p->all_taken,
		    earliest, latest);
	tells = t->owner >= 0;
	if (t->owner != caller)
		mute = 0;
	for (u32 type = LKVFENCE_EVENT_ENDED; type <= LKVFENCE_EVENT_RELEASED; type++) {
		struct lkvfence_event *e = &t->told[type];

		if (!(p->events & ~mute & 1U << type) || !tells)
			continue;
		memset(e, 0, sizeof(*e));
		e->generation = p->generation;
		if (type == LKVFENCE_EVENT_RELEASED) {
			e->tag = p->tag;
			e->time_ns = p->time;
			e->held_ns = p->time - p->ended;
			e->outcome = p->outcome;
			e->evidence = p->evidence;
			e->reason = p->reason;
			e->nr_slots = p->nr_slots;
			e->flags = (p->outcome == LKVFENCE_OUTCOME_TIMEOUT ?
				    LKVFENCE_EVENT_TAINTED : 0) |
				   (p->forced ? LKVFENCE_EVENT_FORCED : 0);
			tell(t, type, earliest);
			continue;
		}
		e->tag = fact->tag;
		e->time_ns = type == LKVFENCE_EVENT_ENDED ? fact->ended :
							    fact->quarantined;
		e->reason = fact->reason;
		e->nr_slots = oracle_nr_slots(&r->o, p->generation);
		tell(t, type, earliest);
	}
	if (p->events & 1U << LKVFENCE_EVENT_RELEASED) {
		t->released = true;
		t->unproven = unproven;
		if (!t->unread)
			forget(r, t);
		retire(r);
	}
}

static u32 unread_sources(const struct mirror_region *r, int handle)
{
	u32 n = 0;

	for (u32 i = 0; i < r->o.nr_sources; i++)
		n += r->sources[i].handle == handle && r->sources[i].unread;
	return n;
}

u32 mirror_unread(const struct mirror *m, int handle, bool transfers)
{
	const struct mirror_region *r = &m->regions[m->handles[handle]];
	u32 n = 0;

	for (u32 i = 0; i < r->nr; i++)
		if (r->transfers[i].owner == handle)
			n += transfers ? !!r->transfers[i].unread :
				(u32)__builtin_popcount(r->transfers[i].unread);
	return n + unread_sources(r, handle) + mirror_unread_tickets(r, handle);
}

/* Sources come first, those that were revoked earlier before the others. */
static void read_source(struct mirror_region *r, int handle, const struct lkvfence_event *e)
{
	struct mirror_source *s = mirror_find_binding(r, e->generation);

	agree(e->type == LKVFENCE_EVENT_REVOKE);
	agree(s && s->handle == handle && s->unread && e->tag == s->source);
	for (u32 i = 0; i < r->o.nr_sources; i++)
		agree(r->sources[i].handle != handle || !r->sources[i].unread ||
		      r->sources[i].revoke_ns >= s->revoke_ns);
	agree(e->time_ns == s->revoke_ns && e->reason == LKVFENCE_REASON_REVOKED);
	agree(!e->held_ns && !e->flags && !e->outcome && !e->evidence && !e->nr_slots && !e->pad);
	/* As it is now, not as it was. */
	agree(e->leases_out == oracle_nr_bound(&r->o, s->source));
	s->unread = false;
}

static void read_one(struct mirror *m, struct mirror_region *r, int handle,
		     const struct lkvfence_event *e)
{
	struct mirror_transfer *t = mirror_find(r, e->generation);
	struct transfer_fact *fact = oracle_find(&r->o, e->generation);
	const struct lkvfence_event *w;

	if (!t || t->owner != handle || e->type > LKVFENCE_EVENT_RELEASED ||
	    !(t->unread & 1U << e->type))
		mirror_fail("event %u of generation %llu, which nobody told this handle",
			    e->type, e->generation);
	/* ENDED, QUARANTINED, RELEASED */
	agree(!(t->unread & ((1U << e->type) - 1)));
	w = &t->told[e->type];
	agree(e->tag == w->tag && e->reason == w->reason && e->nr_slots == w->nr_slots);
	agree(e->outcome == w->outcome && e->evidence == w->evidence);
	agree(e->flags == w->flags && !e->pad);
	agree(e->time_ns <= w->time_ns && e->time_ns >= t->earliest[e->type]);
	if (m->exact)
		agree(e->time_ns == w->time_ns && e->held_ns == w->held_ns);
	/* As it is now, not as it was. */
	agree(e->leases_out == (fact ? oracle_unproven(fact) : t->unproven));
	t->unread &= ~(1U << e->type);
	if (!t->unread && t->released)
		forget(r, t);
}

void mirror_read(struct mirror *m, int handle, const struct lkvfence_event *e,
		 long n, u32 room, bool cut_short)
{
	struct mirror_region *r = mirror_region(m, handle);
	u32 there = mirror_unread(m, handle, false);

	if (r->blind)
		return;
	if (!room)
		agree(n == -EINVAL);
	else if (n > 0)
		agree((u32)n == (there < room ? there : room) ||
		      (cut_short && (u32)n < there));
	else
		agree(cut_short || !there);
	for (long i = 0; i < n; i++) {
		if (unread_sources(r, handle))
			read_source(r, handle, &e[i]);
		else if (mirror_unread_tickets(r, handle))
			mirror_read_ticket(m, r, handle, &e[i]);
		else
			read_one(m, r, handle, &e[i]);
	}
}

/*
 * The clock
 */

void mirror_expire_one(struct mirror *m, struct mirror_region *r,
		       struct transfer_fact *fact, u64 earliest, u64 now, u64 latest)
{
	struct oracle_limits limits = mirror_limits(m);
	u32 unproven = oracle_unproven(fact);

	memset(&r->o.report, 0, sizeof(r->o.report));
	agree(oracle_expire(&r->o, fact, &limits, now));
	mirror_hear(m, r, -1, 0, unproven, earliest, latest);
	mirror_check_region(r);
}

u64 mirror_next_clock(struct mirror_region *r)
{
	u64 transfers = oracle_next_clock(&r->o), pulls = mirror_pulls_clock(r);

	return transfers < pulls ? transfers : pulls;
}

/* Of those whose time comes first the one of which that was said first. */
static struct transfer_fact *first_due(struct mirror_region *r)
{
	u64 next = oracle_next_clock(&r->o), order = ~0ULL;
	struct transfer_fact *first = NULL;

	for (u32 i = 0; i < r->o.nr_transfers; i++) {
		struct transfer_fact *fact = &r->o.transfers[i];
		u64 clock_as = mirror_find(r, fact->generation)->clock_as;

		if (fact->clock != next || clock_as >= order)
			continue;
		order = clock_as;
		first = fact;
	}
	return first;
}

void mirror_expire(struct mirror *m, struct mirror_region *r, u64 now)
{
	r->step++;
	while (!r->blind && mirror_tickets_clock(r) <= now)
		mirror_expire_ticket(r, now, now);
	while (r->exists && !r->blind && oracle_next_clock(&r->o) <= now)
		mirror_expire_one(m, r, first_due(r), now, now, now);
	while (r->exists && !r->blind && mirror_expire_grave(r, now))
		;
}

/*
 * Handles
 */

/* In the order in which it got them. */
static struct mirror_transfer *first_owned(struct mirror_region *r, int handle)
{
	struct mirror_transfer *first = NULL;

	for (u32 i = 0; i < r->nr; i++) {
		struct mirror_transfer *t = &r->transfers[i];

		if (t->owner == handle && (!first || t->owned_as < first->owned_as))
			first = t;
	}
	return first;
}

void mirror_close(struct mirror *m, int handle, u64 earliest, u64 now)
{
	struct mirror_region *r = mirror_region(m, handle);
	struct oracle_limits limits = mirror_limits(m);
	struct mirror_transfer *t;

	r->step++;
	m->handles[handle] = -1;
	r->handles--;
	for (u32 j = 0; j < r->o.nr_sources; j++) {
		if (r->sources[j].handle != handle)
			continue;
		r->sources[j].handle = -1;
		r->sources[j].unread = false;
	}
	if (!r->blind)
		mirror_close_tickets(r, handle);
	while (!r->blind && (t = first_owned(r, handle))) {
		struct transfer_fact *fact = oracle_find(&r->o, t->generation);

		t->unread = 0;
		t->owner = -1;
		if (t->released)
			forget(r, t);
		if (!fact || !oracle_alive(fact))
			continue;
		memset(&r->o.report, 0, sizeof(r->o.report));
		oracle_abort(&r->o, fact, LKVFENCE_REASON_ORPHANED, 0, 0,
			     &limits, now);
		mirror_hear(m, r, -1, 0, 0, earliest, now);
	}
	retire(r);
	mirror_check_region(r);
}

static struct mirror_region *find_region(struct mirror *m, const char *name)
{
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		if (m->regions[i].exists && !strcmp(m->regions[i].name, name))
			return &m->regions[i];
	return NULL;
}

static bool is_name(const char *name)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strnlen(name, LKVFENCE_NAME_MAX + 1);

	return len && len <= LKVFENCE_NAME_MAX && name[0] != '.' &&
	       strspn(name, good) == len;
}

static u32 open_arguments(const struct lkvfence_open *a)
{
	bool create = a->flags & LKVFENCE_OPEN_CREATE;
	u32 wrong = 0;

	if (a->flags & ~LKVFENCE_OPEN_FLAGS || !is_name(a->name))
		wrong |= WRONG_INVALID;
	if (a->flags & LKVFENCE_OPEN_EXCLUSIVE && !create)
		wrong |= WRONG_INVALID;
	if (a->pad)
		wrong |= WRONG_INVALID;
	if (create && (a->mode & ~0666U || a->accepts & ~LKVFENCE_ACCEPT_ALL))
		wrong |= WRONG_INVALID;
	return wrong;
}

static u32 create_wrong(const struct mirror *m, const struct lkvfence_open *a, u32 nr)
{
	u32 wrong = 0;

	if (!(a->flags & LKVFENCE_OPEN_CREATE))
		return WRONG_UNKNOWN;
	if (!a->slot_size || !a->nr_slots)
		wrong |= WRONG_INVALID;
	if (a->nr_slots > m->max_slots)
		wrong |= WRONG_RANGE;
	if (nr >= m->max_regions)
		wrong |= WRONG_LIMIT;
	return wrong;
}

static u32 open_wrong(const struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_open *a = &c->in.open;
	u32 mode = r->mode, wrong = 0;

	if (a->flags & LKVFENCE_OPEN_EXCLUSIVE)
		wrong |= WRONG_EXISTS;
	if (c->uid == r->uid)
		mode >>= 6;
	else if (c->gid == r->gid)
		mode >>= 3;
	if ((mode & 6) != 6 && !(c->caps & 1))
		wrong |= WRONG_ACCESS;
	if ((a->slot_size && a->slot_size != r->slot_size) ||
	    (a->base && a->base != r->base) || (a->nr_slots && a->nr_slots != r->nr_slots))
		wrong |= WRONG_GEOMETRY;
	return wrong;
}

static struct mirror_region *new_region(struct mirror *m, const struct call *c)
{
	const struct lkvfence_open *a = &c->in.open;
	struct mirror_region *r = m->regions;

	while (r->exists)
		r++;
	agree(r < m->regions + MIRROR_REGIONS);
	memset(r, 0, sizeof(*r));
	r->exists = true;
	memcpy(r->name, a->name, strlen(a->name) + 1);
	r->slot_size = a->slot_size;
	r->base = a->base;
	r->nr_slots = a->nr_slots;
	r->mode = a->mode;
	r->uid = c->uid;
	r->gid = c->gid;
	r->blind = a->nr_slots > ORACLE_SLOTS;
	r->o.nr_slots = r->blind ? ORACLE_SLOTS : a->nr_slots;
	r->o.accepts = a->accepts;
	/* What was issued on this host before is stale here, too (L5). */
	r->o.last_generation = m->last_generation;
	return r;
}

static u32 accepted(const struct oracle *o)
{
	return o->accepts ? o->accepts : LKVFENCE_ACCEPT_ALL;
}

void mirror_open(struct mirror *m, const struct call *c)
{
	const struct lkvfence_open *a = &c->out.open;
	u32 wrong = open_arguments(&c->in.open), may = 0, nr = 0;
	struct mirror_region *r;
	int err;

	if (wrong || c->below) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	r = find_region(m, c->in.open.name);
	if (r && r->maybe_gone && !c->err && a->created) {
		r->exists = false;
		r = NULL;
	}
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		nr += m->regions[i].exists && !m->regions[i].maybe_gone;
		may |= m->regions[i].exists && m->regions[i].maybe_gone ? WRONG_LIMIT : 0;
	}
	wrong = r ? open_wrong(r, c) : create_wrong(m, &c->in.open, nr);
	if (r && r->maybe_gone)
		may |= create_wrong(m, &c->in.open, nr);
	mirror_allows(c, wrong, may, &err);
	if (r && (!err || err == -ENOTUNIQ))
		agree(a->slot_size == r->slot_size && a->base == r->base &&
		      a->nr_slots == r->nr_slots && a->mode == r->mode &&
		      a->accepts == accepted(&r->o));
	if (err)
		return;
	agree(a->created == !r);
	if (!r)
		r = new_region(m, c);
	agree(a->accepts == accepted(&r->o));
	r->maybe_gone = false;
	r->handles++;
	agree(m->handles[c->new_handle] < 0);
	m->handles[c->new_handle] = r - m->regions;
}

/*
 * Looking
 */

static void stat_sums(const struct lkvfence_stat *s)
{
	u64 released = 0;

	for (u32 i = 0; i < LKVFENCE_MAX_OUTCOMES; i++)
		released += s->released[i];
	agree(s->begun == s->transfers_alive + released);
	agree(s->slots_quarantined <= s->slots_held && s->slots_held <= s->slots_taken);
	agree(s->slots_taken <= s->slots && s->transfers_held <= s->transfers_alive);
	agree(s->transfers_quarantined <= s->transfers_held);
	agree(s->transfers_ready + s->transfers_held <= s->transfers_alive);
	/* L6: each pull has its answer, or waits for it. */
	agree(s->pulls == s->tickets + s->pulls_granted + s->pulls_refused + s->pulls_closed);
	agree(s->revokes_failed <= s->begun && s->revokes <= s->begun);
	/* L7: what was released without proof had leases, and nothing else had. */
	agree(!s->evidence[LKVFENCE_EVIDENCE_NONE]);
	/* L12: but for the members of groups, which are told of the worst. */
	agree(s->evidence[LKVFENCE_EVIDENCE_TIMEOUT] + s->joined >=
	      s->released[LKVFENCE_OUTCOME_TIMEOUT]);
	agree(s->transfers_gathered <= s->transfers_held && s->ended_by_group <= s->joined);
}

static void stat_gauges(const struct oracle *o, const struct lkvfence_stat *s,
			u64 now, bool exact)
{
	u64 slots[3] = { 0 }, transfers[3] = { 0 }, oldest = now;

	for (u32 i = 0; i < o->nr_transfers; i++) {
		const struct transfer_fact *t = &o->transfers[i];
		u32 in = 1 + (t->state == LKVFENCE_STATE_ENDED) + t->in_quarantine;

		if (in > 1 && t->ended < oldest)
			oldest = t->ended;
		while (in--) {
			slots[in] += oracle_nr_slots(o, t->generation);
			transfers[in]++;
		}
	}
	agree(s->slots_taken == slots[0] && s->slots_held == slots[1]);
	agree(s->slots_quarantined == slots[2]);
	agree(s->transfers_alive == transfers[0] && s->transfers_held == transfers[1]);
	agree(s->transfers_quarantined == transfers[2]);
	agree(exact ? s->oldest_hold_ns == now - oldest :
		      s->oldest_hold_ns <= now - oldest || !transfers[1]);
}

void mirror_stat(struct mirror *m, struct mirror_region *r,
		 const struct lkvfence_stat *s, u64 now)
{
	const struct oracle_counts *o = &r->o.counts;

	stat_sums(s);
	agree(!strcmp(s->name, r->name) && s->slots == r->nr_slots);
	agree(s->slot_size == r->slot_size && s->base == r->base);
	agree(s->accepts == (r->o.accepts ? r->o.accepts : LKVFENCE_ACCEPT_ALL));
	agree(s->handles == r->handles);
	if (r->blind)
		return;
	stat_gauges(&r->o, s, now, m->exact);
	for (u32 i = 0; i < LKVFENCE_MAX_OUTCOMES; i++)
		agree(s->released[i] == (i < LKVFENCE_NR_OUTCOMES ? o->released[i] : 0));
	agree(s->begun == o->begun && s->forced == o->forced);
	agree(s->returns_drained == o->returns_drained);
	agree(s->returns_failed == o->returns_failed);
	agree(s->returns_early == o->returns_early);
	agree(s->returns_stale == o->returns_stale);
	agree(s->returns_unknown == o->returns_unknown);
	agree(s->returns_duplicate == o->returns_duplicate);
	agree(s->refused_busy == o->refused_busy);
	agree(s->refused_exists == o->refused_exists);
	agree(s->refused_limit == o->refused_limit);
	agree(s->refused_revoked == o->refused_revoked);
	agree(s->returns_revoked == o->returns_revoked);
	agree(s->returns_unaccepted == o->returns_unaccepted);
	agree(s->revokes == o->revokes && s->revokes_failed == o->revokes_failed);
	agree(s->sources == r->o.nr_sources && s->sources_revoked == o->sources_revoked);
	agree(s->sources_lost == o->sources_lost && s->mismatches == o->mismatches);
	agree(s->strays == o->strays && s->strays_late == o->strays_late);
	agree(!memcmp(s->evidence, o->evidence, sizeof(s->evidence)));
	mirror_stat_pulls(r, s);
}
