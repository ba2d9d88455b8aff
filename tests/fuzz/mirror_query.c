// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What QUERY tells of a transfer, against the oracle.
 */
#include <string.h>

#include "mirror.h"

static struct transfer_fact *find_next(struct oracle *o, u64 generation)
{
	struct transfer_fact *next = NULL;

	for (u32 i = 0; i < o->nr_transfers; i++) {
		struct transfer_fact *t = &o->transfers[i];

		if (t->generation > generation && (!next || t->generation < next->generation))
			next = t;
	}
	return next;
}

static struct transfer_fact *queried(struct mirror_region *r,
				     const struct lkvfence_query *in, u32 *wrong)
{
	struct oracle *o = &r->o;
	struct transfer_fact *fact = NULL;

	switch (in->by) {
	case LKVFENCE_QUERY_GENERATION:
		*wrong = mirror_lookup(o, in->generation);
		return oracle_find(o, in->generation);
	case LKVFENCE_QUERY_TAG:
		fact = oracle_find_tag(o, in->tag);
		break;
	case LKVFENCE_QUERY_SLOT:
		if (in->slot >= r->nr_slots)
			*wrong = WRONG_RANGE;
		else if (o->owner[in->slot])
			fact = oracle_find(o, o->owner[in->slot]);
		break;
	case LKVFENCE_QUERY_NEXT:
		fact = find_next(o, in->generation);
		break;
	}
	if (!*wrong && !fact)
		*wrong = WRONG_UNKNOWN;
	return fact;
}

static void check_leases(struct transfer_fact *fact, const struct lkvfence_lease *got, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct lease_fact *l = oracle_find_lease(fact, got[i].source);

		agree(!i || got[i].source > got[i - 1].source);
		agree(l && got[i].state == l->state && got[i].evidence == l->evidence);
	}
}

static u32 flags_of(struct oracle *o, const struct mirror_transfer *t,
		    const struct transfer_fact *fact, int handle)
{
	return (fact->in_quarantine ? LKVFENCE_TRANSFER_QUARANTINED : 0) |
	       (t->owner < 0 ? LKVFENCE_TRANSFER_ORPHANED : 0) |
	       (t->owner == handle ? LKVFENCE_TRANSFER_MINE : 0) |
	       (fact->revoking ? LKVFENCE_TRANSFER_REVOKING : 0) |
	       (oracle_revocable(o, fact) ? LKVFENCE_TRANSFER_REVOCABLE : 0) |
	       (fact->offered ? LKVFENCE_TRANSFER_OFFERED : 0);
}

static void check_query(struct oracle *o, const struct mirror_transfer *t,
			struct transfer_fact *fact, const struct call *c)
{
	const struct lkvfence_query *in = &c->in.query, *out = &c->out.query;
	u32 n;

	agree(out->generation == fact->generation && out->tag == fact->tag);
	agree(out->state == fact->state && out->policy == oracle_policy(o, fact));
	agree(out->reason == fact->reason && out->nr_leases == fact->nr_leases);
	agree(out->flags == flags_of(o, t, fact, c->handle));
	agree(out->begun_ns == fact->begun && out->ended_ns == fact->ended);
	agree(out->deadline_ns == t->deadline);
	agree(out->now_ns >= c->earliest && out->now_ns <= c->now);
	agree(out->nr_ranges == t->nr_ranges && out->leases_out == oracle_unproven(fact));
	n = in->nr_ranges < t->nr_ranges ? in->nr_ranges : t->nr_ranges;
	if (n)
		agree(!memcmp(c->got_ranges, t->ranges, n * sizeof(t->ranges[0])));
	n = in->nr_leases < fact->nr_leases ? in->nr_leases : fact->nr_leases;
	check_leases(fact, c->got_leases, n);
}

void mirror_query(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_query *in = &c->in.query;
	struct transfer_fact *fact;
	u32 wrong = 0;
	int err;

	if (in->nr_ranges > MIRROR_MAX_RANGES || in->nr_leases > MIRROR_MAX_LEASES)
		wrong |= WRONG_RANGE;
	if (in->by > LKVFENCE_QUERY_NEXT)
		wrong |= WRONG_INVALID;
	if (wrong || c->below) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (r->blind)
		return;
	fact = queried(r, in, &wrong);
	mirror_allows(c, wrong, 0, &err);
	if (err)
		return;
	check_query(&r->o, mirror_find(r, fact->generation), fact, c);
	agree(c->out.query.nr_slots == oracle_nr_slots(&r->o, fact->generation));
	agree(c->out.query.pid == m->pid);
	agree(!strncmp(c->out.query.comm, m->comm, sizeof(m->comm)));
}
