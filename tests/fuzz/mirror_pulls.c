// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pulls: what is offered, what is known of tags, tickets and their answers, from
 * PULLS in uapi/linux/lkvfence.h.
 *
 * What is told in one step has no order that the ABI speaks of, but for grants;
 * steps have: each has a number.
 */
#include <errno.h>
#include <string.h>

#include "mirror.h"

/*
 * Offers and tombstones
 */

static struct mirror_offer *find_offer(struct mirror_region *r, u64 tag)
{
	for (u32 i = 0; i < r->nr_offers; i++)
		if (r->offers[i].tag == tag)
			return &r->offers[i];
	return NULL;
}

static struct mirror_offer *find_live(struct mirror_region *r, u64 generation)
{
	for (u32 i = 0; i < r->nr_offers; i++)
		if (r->offers[i].lives && r->offers[i].generation == generation)
			return &r->offers[i];
	return NULL;
}

static void forget(struct mirror_region *r, struct mirror_offer *o)
{
	r->nr_offers--;
	memmove(o, o + 1, (char *)&r->offers[r->nr_offers] - (char *)o);
}

static struct mirror_offer *add_offer(struct mirror_region *r, u64 tag)
{
	struct mirror_offer *old = find_offer(r, tag), *o;

	if (old) {
		agree(!old->lives);
		forget(r, old);
	}
	agree(r->nr_offers < MIRROR_OFFERS);
	o = &r->offers[r->nr_offers++];
	memset(o, 0, sizeof(*o));
	o->tag = tag;
	return o;
}

static u32 nr_buried(const struct mirror_region *r, bool early)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_offers; i++)
		n += !r->offers[i].lives && r->offers[i].early == early;
	return n;
}

u32 mirror_nr_tombstones(const struct mirror_region *r)
{
	return nr_buried(r, false) + nr_buried(r, true);
}

/* The oldest tombstone of a kind. */
static struct mirror_offer *oldest(struct mirror_region *r, bool early)
{
	struct mirror_offer *first = NULL;

	for (u32 i = 0; i < r->nr_offers; i++) {
		struct mirror_offer *o = &r->offers[i];

		if (o->lives || o->early != early)
			continue;
		if (!first || o->buried_as < first->buried_as)
			first = o;
	}
	return first;
}

static void bury(struct mirror *m, struct mirror_region *r, struct mirror_offer *o,
		 u32 reason, u64 earliest, u64 latest)
{
	bool early = o->early;

	o->lives = false;
	o->reason = reason;
	o->buried_as = ++r->order;
	o->forget = earliest + m->tombstone_ns;
	o->forget_late = latest + m->tombstone_ns;
	while (nr_buried(r, early) > m->max_tombstones)
		forget(r, oldest(r, early));
}

/*
 * Tickets
 */

static void drop(struct mirror_region *r, struct mirror_ticket *k)
{
	r->nr_tickets--;
	memmove(k, k + 1, (char *)&r->tickets[r->nr_tickets] - (char *)k);
}

u32 mirror_nr_waiting(const struct mirror_region *r)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_tickets; i++)
		n += !r->tickets[i].reasons;
	return n;
}

/* The one answer (L6); @generation: of which, or 0. */
static void answer(struct mirror_region *r, struct mirror_ticket *k, u64 generation,
		   u32 reasons, u64 earliest, u64 latest)
{
	agree(!k->reasons && reasons);
	k->reasons = reasons;
	k->told = generation;
	k->earliest = earliest;
	k->latest = latest;
	k->step = r->step;
	if (reasons == BIT(LKVFENCE_REASON_NONE))
		r->pulls_granted++;
	else
		r->pulls_refused++;
}

/* Its source gets a lease, if it may have one. */
static void grant(struct mirror_region *r, struct mirror_ticket *k,
		  struct transfer_fact *fact, const struct call *c)
{
	u32 wrong = oracle_take_wrong(fact, k->source, MIRROR_MAX_LEASES) |
		    oracle_source_wrong(&r->o, k->source);

	if (wrong) {
		/* A source that is revoked is counted, unless that comes second. */
		if (wrong == WRONG_SHUTDOWN)
			oracle_take_refused(&r->o, wrong);
		answer(r, k, fact->generation, BIT(LKVFENCE_REASON_SOURCE), c->earliest, c->latest);
		return;
	}
	if (fact->nr_leases == ORACLE_LEASES) {
		r->blind = true;
		return;
	}
	mirror_take(r, fact, k->source, c->now);
	oracle_find_lease(fact, k->source)->pulled = true;
	k->nr_slots = oracle_nr_slots(&r->o, fact->generation);
	answer(r, k, fact->generation, BIT(LKVFENCE_REASON_NONE), c->earliest, c->latest);
}

/*
 * What becomes of transfers
 */

u32 mirror_offer_wrong(struct mirror_region *r, u64 tag)
{
	struct mirror_offer *o = find_offer(r, tag);

	return o && o->early && !o->spent ? WRONG_CANCELED : 0;
}

void mirror_offer_refused(struct mirror_region *r, u64 tag)
{
	find_offer(r, tag)->spent = true;
	r->refused_early++;
}

void mirror_offered(struct mirror_region *r, u64 tag, u64 generation)
{
	struct mirror_offer *o = add_offer(r, tag);

	o->generation = generation;
	o->lives = true;
	for (u32 i = 0; i < r->nr_tickets; i++) {
		struct mirror_ticket *k = &r->tickets[i];

		if (!k->reasons && !k->waits_for && k->tag == tag && k->generation < generation)
			k->waits_for = generation;
	}
}

void mirror_over(struct mirror *m, struct mirror_region *r, u64 generation, u32 reason,
		 bool all_taken, u64 earliest, u64 latest)
{
	struct mirror_offer *o = find_live(r, generation);

	if (!o)
		return;
	for (u32 i = 0; i < r->nr_tickets; i++) {
		struct mirror_ticket *k = &r->tickets[i];

		if (k->waits_for != generation)
			continue;
		if (!k->reasons)
			answer(r, k, generation, BIT(reason) |
			       (!m->exact && k->deadline <= latest ?
				BIT(LKVFENCE_REASON_DEADLINE) : 0), earliest, latest);
		else if (k->step == r->step && k->reasons & BIT(LKVFENCE_REASON_DEADLINE))
			/* Both times had come: whichever was looked at first. */
			k->reasons |= BIT(reason);
	}
	if (o->aborted) {
		/* What comes after it was aborted, and that stays known. */
		o->early = true;
		o->generation = 0;
		bury(m, r, o, o->aborted, earliest, latest);
	} else if (reason == LKVFENCE_REASON_FINISHED && all_taken) {
		forget(r, o);
	} else {
		bury(m, r, o, reason, earliest, latest);
	}
}

/* Tickets that wait for a tag to be offered; or for any. */
static void refuse_unclaimed(struct mirror_region *r, const u64 *tag, u32 reason,
			     const struct call *c)
{
	for (u32 i = 0; i < r->nr_tickets; i++) {
		struct mirror_ticket *k = &r->tickets[i];

		if (!k->reasons && !k->waits_for && (!tag || k->tag == *tag))
			answer(r, k, 0, BIT(reason), c->earliest, c->latest);
	}
}

void mirror_abort_all(struct mirror_region *r, u32 reason, const struct call *c)
{
	refuse_unclaimed(r, NULL, reason, c);
}

void mirror_abort_early(struct mirror *m, struct mirror_region *r, u64 tag, u64 after,
			u32 reason, const struct call *c)
{
	struct mirror_offer *o = find_offer(r, tag);

	/* What is meant has been aborted already, or has ended otherwise. */
	if (o && (o->early || o->aborted || o->generation > after))
		return;
	if (o && o->lives) {
		o->aborted = reason;
	} else {
		o = add_offer(r, tag);
		o->early = true;
		bury(m, r, o, reason, c->earliest, c->latest);
	}
	refuse_unclaimed(r, &tag, reason, c);
}

/*
 * Calls
 */

void mirror_ready(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_ready *a = &c->in.ready;
	struct transfer_fact *fact;
	u32 wrong = 0;
	bool renewal;
	int err;

	if (a->flags || a->pad)
		wrong |= WRONG_INVALID;
	if (!mirror_is_timeout(m, a->ttl_ns) || a->consumers > MIRROR_MAX_LEASES)
		wrong |= WRONG_RANGE;
	if (!wrong && r->blind)
		return;
	fact = oracle_find(&r->o, a->generation);
	if (!wrong)
		wrong = mirror_lookup(&r->o, a->generation);
	if (!wrong)
		wrong = oracle_ready_wrong(fact, a->consumers);
	if (!mirror_allows(c, wrong, 0, &err) || err)
		return;
	renewal = fact->state == LKVFENCE_STATE_READY;
	if (!renewal)
		mirror_find(r, a->generation)->clock = 0;
	oracle_ready(fact, a->ttl_ns, a->consumers, c->now);
	agree(c->lost || c->out.ready.deadline_ns == fact->clock);
	for (u32 i = 0; i < r->nr_tickets && !r->blind; i++) {
		struct mirror_ticket *k = &r->tickets[i];

		if (k->reasons || k->waits_for != fact->generation)
			continue;
		agree(!renewal);
		grant(r, k, fact, c);
	}
	/* The last one known stays visible behind the end. */
	mirror_find(r, a->generation)->deadline = fact->clock;
}

/* The answer that is known at once, if any. */
static void look(struct mirror_region *r, struct mirror_ticket *k, const struct call *c)
{
	struct mirror_offer *o = find_offer(r, k->tag);
	struct transfer_fact *fact;

	if (k->exact && (!o || o->generation != k->generation)) {
		answer(r, k, k->generation, BIT(LKVFENCE_REASON_UNKNOWN), c->earliest, c->latest);
		return;
	}
	if (!o || (!k->exact && !o->early && o->generation <= k->generation)) {
		if (o && o->aborted)
			answer(r, k, 0, BIT(o->aborted), c->earliest, c->latest);
		return;
	}
	if (!o->lives) {
		answer(r, k, o->generation, BIT(o->reason), c->earliest, c->latest);
		return;
	}
	fact = oracle_find(&r->o, o->generation);
	agree(fact && oracle_alive(fact));
	k->waits_for = o->generation;
	if (fact->state == LKVFENCE_STATE_READY)
		grant(r, k, fact, c);
}

static u64 or_default(u64 ns, u64 by_default)
{
	return ns ? ns : by_default;
}

static void asked(struct mirror *m, struct mirror_region *r, const struct call *c,
		  const struct transfer_fact *fact)
{
	const struct lkvfence_pull *in = &c->in.pull;
	u64 timeout = or_default(in->timeout_ns, m->default_ns);
	u64 unclaimed = or_default(in->unclaimed_ns, m->unclaimed_ns);
	struct mirror_ticket *k;

	agree(r->nr_tickets < MIRROR_TICKETS);
	k = &r->tickets[r->nr_tickets++];
	memset(k, 0, sizeof(*k));
	k->number = c->out.pull.ticket;
	k->handle = c->handle;
	k->exact = in->flags & LKVFENCE_PULL_EXACT;
	k->tag = k->exact && fact ? fact->tag : in->tag;
	k->generation = in->generation;
	k->source = in->source;
	k->deadline = c->earliest + timeout;
	k->deadline_late = c->latest + timeout;
	k->unclaimed = c->earliest + unclaimed;
	k->unclaimed_late = c->latest + unclaimed;
	r->pulls++;
	agree(c->lost || c->out.pull.tag == k->tag);
	look(r, k, c);
}

void mirror_pull(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_pull *in = &c->in.pull;
	bool exact = in->flags & LKVFENCE_PULL_EXACT;
	struct transfer_fact *fact = NULL;
	u32 wrong = 0, may = 0;
	int err;

	if (in->flags & ~LKVFENCE_PULL_FLAGS || in->pad)
		wrong |= WRONG_INVALID;
	if (!mirror_is_timeout(m, in->timeout_ns) || !mirror_is_timeout(m, in->unclaimed_ns))
		wrong |= WRONG_RANGE;
	if (!c->err && c->out.pull.ticket > m->last_ticket)
		m->last_ticket = c->out.pull.ticket;
	else
		agree(c->err);
	if (!wrong && r->blind)
		return;
	if (!wrong && exact) {
		fact = oracle_find(&r->o, in->generation);
		/* Of one that is over that is the answer, and no error. */
		wrong = mirror_lookup(&r->o, in->generation) & ~WRONG_STALE;
		if (fact && !fact->offered)
			wrong |= WRONG_INVALID;
	}
	if (mirror_nr_waiting(r) >= m->max_pulls ||
	    mirror_unread(m, c->handle, true) >= m->max_transfers)
		wrong |= WRONG_LIMIT;
	else if (mirror_unread(m, c->handle, false) >= m->max_transfers)
		may = WRONG_LIMIT;
	if (!mirror_allows(c, wrong, may, &err) || err)
		return;
	if (c->err && c->out.pull.ticket > m->last_ticket)
		m->last_ticket = c->out.pull.ticket;
	asked(m, r, c, fact);
}

void mirror_withdraw(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_withdraw *a = &c->in.withdraw;
	u32 wrong = a->flags ? WRONG_INVALID : WRONG_UNKNOWN;
	struct mirror_ticket *k = NULL;
	int err;

	if (!a->flags && r->blind)
		return;
	for (u32 i = 0; i < r->nr_tickets && !a->flags; i++) {
		k = &r->tickets[i];
		if (k->number != a->ticket || k->handle != c->handle || k->reasons)
			continue;
		wrong = 0;
		break;
	}
	if (mirror_allows(c, wrong, 0, &err) && !err)
		answer(r, k, k->waits_for, BIT(LKVFENCE_REASON_WITHDRAWN), c->earliest, c->latest);
}

void mirror_close_tickets(struct mirror_region *r, int handle)
{
	u32 i = 0;

	while (i < r->nr_tickets) {
		if (r->tickets[i].handle != handle) {
			i++;
			continue;
		}
		r->pulls_closed += !r->tickets[i].reasons;
		drop(r, &r->tickets[i]);
	}
}

/*
 * The clock
 */

/* When something happens to it by itself, at the earliest. */
static u64 clock_of(const struct mirror_ticket *k)
{
	if (k->reasons)
		return ~0ULL;
	return k->waits_for || k->deadline < k->unclaimed ? k->deadline : k->unclaimed;
}

u64 mirror_tickets_clock(const struct mirror_region *r)
{
	u64 next = ~0ULL;

	for (u32 i = 0; i < r->nr_tickets; i++)
		if (clock_of(&r->tickets[i]) < next)
			next = clock_of(&r->tickets[i]);
	return next;
}

/* The oldest of each kind goes first, whatever becomes of the parameter. */
static u64 graves_clock(struct mirror_region *r)
{
	const struct mirror_offer *dead = oldest(r, false), *early = oldest(r, true);
	u64 next = dead ? dead->forget : ~0ULL;

	return early && early->forget < next ? early->forget : next;
}

u64 mirror_pulls_clock(struct mirror_region *r)
{
	u64 tickets = mirror_tickets_clock(r), graves = graves_clock(r);

	return tickets < graves ? tickets : graves;
}

void mirror_expire_ticket(struct mirror_region *r, u64 earliest, u64 latest)
{
	u64 next = mirror_tickets_clock(r);
	struct mirror_ticket *k = r->tickets;
	u32 reasons = 0;

	while (clock_of(k) != next)
		k++;
	agree(next <= latest);
	if (k->deadline <= latest)
		reasons |= BIT(LKVFENCE_REASON_DEADLINE);
	if (!k->waits_for && k->unclaimed <= latest && k->deadline_late > earliest)
		reasons |= BIT(LKVFENCE_REASON_UNKNOWN);
	answer(r, k, k->waits_for, reasons, earliest, latest);
}

bool mirror_expire_grave(struct mirror_region *r, u64 now)
{
	for (u32 early = 0; early < 2; early++) {
		struct mirror_offer *o = oldest(r, early);

		if (!o || o->forget > now)
			continue;
		forget(r, o);
		return true;
	}
	return false;
}

/*
 * Events
 */

u32 mirror_unread_tickets(const struct mirror_region *r, int handle)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_tickets; i++)
		n += r->tickets[i].handle == handle && r->tickets[i].reasons;
	return n;
}

void mirror_read_ticket(const struct mirror *m, struct mirror_region *r, int handle,
			const struct lkvfence_event *e)
{
	struct mirror_ticket *k = r->tickets;
	bool granted = e->type == LKVFENCE_EVENT_GRANTED;

	while (k < r->tickets + r->nr_tickets && k->number != e->ticket)
		k++;
	agree(k < r->tickets + r->nr_tickets && k->handle == handle && k->reasons);
	agree(granted || e->type == LKVFENCE_EVENT_REFUSED);
	agree(granted == (e->reason == LKVFENCE_REASON_NONE));
	agree(e->reason < 32 && k->reasons & BIT(e->reason));
	agree(e->generation == k->told && e->tag == k->tag);
	agree(e->nr_slots == (granted ? k->nr_slots : 0));
	agree(e->time_ns >= k->earliest && e->time_ns <= k->latest);
	agree(!e->flags && !e->outcome && !e->evidence && !e->leases_out && !e->pad);
	for (u32 i = 0; i < r->nr_tickets; i++) {
		const struct mirror_ticket *other = &r->tickets[i];

		if (other->handle != handle || !other->reasons)
			continue;
		agree(m->exact ? other->step >= k->step : other->latest >= k->earliest);
		/* Grants in the order in which they were asked for. */
		agree(other >= k || !granted || other->step > k->step ||
		      other->told != k->told || other->reasons != k->reasons);
	}
	drop(r, k);
}

/*
 * Looking
 */

void mirror_stat_pulls(const struct mirror_region *r, const struct lkvfence_stat *s)
{
	u32 ready = 0;

	for (u32 i = 0; i < r->o.nr_transfers; i++)
		ready += r->o.transfers[i].state == LKVFENCE_STATE_READY;
	agree(s->transfers_ready == ready);
	agree(s->tickets == mirror_nr_waiting(r));
	agree(s->tombstones == mirror_nr_tombstones(r));
	agree(s->pulls == r->pulls && s->pulls_granted == r->pulls_granted);
	agree(s->pulls_refused == r->pulls_refused && s->pulls_closed == r->pulls_closed);
	agree(s->refused_early == r->refused_early);
}
