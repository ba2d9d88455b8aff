// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The rules of pulls, over facts. See oracle_pulls.h. */
#include <string.h>

#include "oracle_pulls.h"

struct ticket_fact *oracle_find_ticket(struct pull_oracle *p, u64 number)
{
	for (u32 i = 0; i < p->nr_tickets; i++)
		if (p->tickets[i].number == number)
			return &p->tickets[i];
	return NULL;
}

struct known_fact *oracle_known(struct pull_oracle *p, u64 tag)
{
	for (u32 i = 0; i < p->nr_known; i++)
		if (p->known[i].tag == tag)
			return &p->known[i];
	return NULL;
}

static bool is_early(const struct known_fact *fact)
{
	return !fact->generation;
}

u32 oracle_nr_tombstones(const struct pull_oracle *p, bool early)
{
	u32 n = 0;

	for (u32 i = 0; i < p->nr_known; i++)
		n += !p->known[i].live && is_early(&p->known[i]) == early;
	return n;
}

bool oracle_early(struct pull_oracle *p, u64 tag)
{
	struct known_fact *fact = oracle_known(p, tag);

	return fact && is_early(fact) && !fact->spent;
}

/* L5: which one is meant: by its generation, or any that is newer than one. */
static bool is_meant(const struct ticket_fact *k, const struct known_fact *fact)
{
	if (k->tag != fact->tag)
		return false;
	if (k->exact)
		return fact->generation == k->generation;
	/* What was aborted early would have come next. */
	return is_early(fact) || fact->generation > k->generation;
}

struct known_fact *oracle_claimed(struct pull_oracle *p, const struct ticket_fact *k)
{
	struct known_fact *fact = oracle_known(p, k->tag);

	return fact && fact->live && is_meant(k, fact) ? fact : NULL;
}

u64 oracle_due(struct pull_oracle *p, const struct ticket_fact *k)
{
	if (oracle_claimed(p, k) || k->deadline < k->unclaimed)
		return k->deadline;
	return k->unclaimed;
}

u64 oracle_next_pull(const struct pull_oracle *p)
{
	u64 next = ~0ULL;

	for (u32 i = 0; i < p->nr_tickets; i++) {
		u64 due = oracle_due((struct pull_oracle *)p, &p->tickets[i]);

		if (due < next)
			next = due;
	}
	for (u32 i = 0; i < p->nr_known; i++)
		if (!p->known[i].live && p->known[i].forget < next)
			next = p->known[i].forget;
	return next;
}

u32 oracle_nr_pulls_due(struct pull_oracle *p, u64 now)
{
	u32 n = 0;

	for (u32 i = 0; i < p->nr_tickets; i++)
		n += oracle_due(p, &p->tickets[i]) <= now;
	for (u32 i = 0; i < p->nr_known; i++)
		n += !p->known[i].live && p->known[i].forget <= now;
	return n;
}

/* L6: it is answered by this, and gone. */
static void answer(struct pull_oracle *p, struct ticket_fact *k, u64 generation,
		   u32 reason, u32 nr_slots, u64 now)
{
	struct answer_fact *a = &p->answers[p->nr_answers++];

	a->number = k->number;
	a->tag = k->tag;
	a->generation = generation;
	a->reason = reason;
	a->nr_slots = nr_slots;
	a->time = now;
	if (reason == LKVFENCE_REASON_NONE)
		p->granted++;
	else
		p->refused[reason]++;
	oracle_close(p, k->number);
	p->closed--;
}

void oracle_close(struct pull_oracle *p, u64 number)
{
	struct ticket_fact *k = oracle_find_ticket(p, number);

	p->nr_tickets--;
	memmove(k, k + 1, (char *)&p->tickets[p->nr_tickets] - (char *)k);
	memset(&p->tickets[p->nr_tickets], 0, sizeof(*k));
	p->closed++;
}

/* The source gets a lease, if it may have one. */
static void grant(struct pull_oracle *p, struct oracle *o, struct ticket_fact *k,
		  struct transfer_fact *t, u64 now)
{
	u32 wrong = oracle_take_wrong(t, k->source, p->max_leases) |
		    oracle_source_wrong(o, k->source);

	if (wrong) {
		oracle_take_refused(o, wrong);
		answer(p, k, t->generation, LKVFENCE_REASON_SOURCE, 0, now);
		return;
	}
	oracle_take(t, k->source, now);
	oracle_attach(o, t, k->source);
	oracle_find_lease(t, k->source)->pulled = true;
	answer(p, k, t->generation, LKVFENCE_REASON_NONE,
	       oracle_nr_slots(o, t->generation), now);
}

/* Does what is known answer it? */
static bool look_at(struct pull_oracle *p, struct oracle *o, struct ticket_fact *k,
		    u64 now)
{
	struct known_fact *fact = oracle_known(p, k->tag);
	struct transfer_fact *t;

	if (!fact || !is_meant(k, fact)) {
		if (k->exact)
			answer(p, k, k->generation, LKVFENCE_REASON_UNKNOWN, 0, now);
		else if (fact && fact->next_reason)
			answer(p, k, 0, fact->next_reason, 0, now);
		else
			return false;
		return true;
	}
	if (!fact->live) {
		answer(p, k, fact->generation, fact->reason, 0, now);
		return true;
	}
	t = oracle_find(o, fact->generation);
	if (!t || t->state != LKVFENCE_STATE_READY)
		return false;
	grant(p, o, k, t, now);
	return true;
}

void oracle_look(struct pull_oracle *p, struct oracle *o, u64 now)
{
	u32 i = 0;

	/* One that is answered leaves its place to the next. */
	while (i < p->nr_tickets)
		i += !look_at(p, o, &p->tickets[i], now);
}

static void forget(struct pull_oracle *p, struct known_fact *fact)
{
	p->nr_known--;
	memmove(fact, fact + 1, (char *)&p->known[p->nr_known] - (char *)fact);
	memset(&p->known[p->nr_known], 0, sizeof(*fact));
}

/* The last one of its tag, and behind all others. */
static void know(struct pull_oracle *p, struct known_fact fact)
{
	struct known_fact *old = oracle_known(p, fact.tag);

	if (old)
		forget(p, old);
	p->known[p->nr_known++] = fact;
}

/* L8: there are only so many of each kind, and the later ones stay. */
static void bound(struct pull_oracle *p, bool early)
{
	u32 i = 0;

	while (oracle_nr_tombstones(p, early) > p->max_tombstones) {
		while (p->known[i].live || is_early(&p->known[i]) != early)
			i++;
		forget(p, &p->known[i]);
	}
}

void oracle_offer(struct pull_oracle *p, struct oracle *o, u64 generation, u64 tag,
		  u64 now)
{
	know(p, (struct known_fact){ .tag = tag, .generation = generation, .live = true });
	oracle_look(p, o, now);
}

void oracle_offer_refused(struct pull_oracle *p, u64 tag)
{
	oracle_known(p, tag)->spent = true;
	p->refused_early++;
}

static struct known_fact tombstone(const struct pull_oracle *p, u64 tag,
				   u64 generation, u32 reason, u64 now)
{
	return (struct known_fact){
		.tag = tag, .generation = generation, .reason = reason,
		.forget = now + p->tombstone,
	};
}

void oracle_over(struct pull_oracle *p, struct oracle *o, const struct report *r,
		 u64 now)
{
	u32 next_reason = oracle_known(p, r->tag)->next_reason;

	/* Who waits is told before it is forgotten, if it will be. */
	know(p, tombstone(p, r->tag, r->generation, r->reason, now));
	oracle_look(p, o, now);
	if (next_reason)
		know(p, tombstone(p, r->tag, 0, next_reason, now));
	else if (r->all_taken)
		forget(p, oracle_known(p, r->tag));
	p->all_taken += r->all_taken;
	bound(p, false);
	bound(p, true);
}

void oracle_ask(struct pull_oracle *p, struct oracle *o, const struct ticket_fact *k,
		u64 now)
{
	p->tickets[p->nr_tickets++] = *k;
	p->asked++;
	oracle_look(p, o, now);
}

/* What it waited for, if that was there. */
static u64 generation_of(struct pull_oracle *p, const struct ticket_fact *k)
{
	struct known_fact *fact = oracle_claimed(p, k);

	return fact ? fact->generation : 0;
}

void oracle_withdraw(struct pull_oracle *p, u64 number, u64 now)
{
	struct ticket_fact *k = oracle_find_ticket(p, number);

	answer(p, k, generation_of(p, k), LKVFENCE_REASON_WITHDRAWN, 0, now);
}

bool oracle_abort_early(struct pull_oracle *p, struct oracle *o, u64 tag, u64 after,
			u32 reason, u64 now)
{
	struct known_fact *fact = oracle_known(p, tag);

	/* It has been aborted, or has ended: this comes a second time. */
	if (fact && (is_early(fact) || fact->generation > after))
		return false;
	if (fact && fact->live) {
		if (!fact->next_reason)
			fact->next_reason = reason;
		oracle_look(p, o, now);
		return false;
	}
	know(p, tombstone(p, tag, 0, reason, now));
	oracle_look(p, o, now);
	bound(p, true);
	return true;
}

void oracle_refuse_unclaimed(struct pull_oracle *p, u32 reason, u64 now)
{
	u32 i = 0;

	while (i < p->nr_tickets) {
		if (oracle_claimed(p, &p->tickets[i]))
			i++;
		else
			answer(p, &p->tickets[i], 0, reason, 0, now);
	}
}

bool oracle_expire_ticket(struct pull_oracle *p, u64 number, u64 now)
{
	struct ticket_fact *k = oracle_find_ticket(p, number);
	u64 due;

	if (!k)
		return false;
	due = oracle_due(p, k);
	if (due > now)
		return false;
	for (u32 i = 0; i < p->nr_tickets; i++)
		if (oracle_due(p, &p->tickets[i]) < due)
			return false;
	answer(p, k, generation_of(p, k), k->deadline <= now ?
	       LKVFENCE_REASON_DEADLINE : LKVFENCE_REASON_UNKNOWN, 0, now);
	return true;
}

bool oracle_forget(struct pull_oracle *p, u64 tag, u64 now)
{
	struct known_fact *fact = oracle_known(p, tag);

	if (!fact || fact->live || fact->forget > now)
		return false;
	forget(p, fact);
	return true;
}
