// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The oracle's bound sources, from REVOCATION and SOURCE in
 * uapi/linux/lkvfence.h, and from what kmod/fence.h asks of its caller.
 */
#include "oracle.h"

static bool counts_for(const struct lease_fact *l, u32 source)
{
	return l->source == source && l->bound;
}

/* Its leases that are not proven quiet, of those granted since it was bound. */
u32 oracle_nr_bound(const struct oracle *o, u32 source)
{
	u32 n = 0;

	for (u32 i = 0; i < o->nr_transfers; i++)
		for (u32 j = 0; j < o->transfers[i].nr_leases; j++)
			n += counts_for(&o->transfers[i].leases[j], source);
	return n;
}

/* Those of them whose transfers have been ended, if they had not. */
u32 oracle_nr_seen(const struct oracle *o, u32 source)
{
	u32 n = 0;

	for (u32 i = 0; i < o->nr_transfers; i++)
		for (u32 j = 0; j < o->transfers[i].nr_leases; j++)
			n += counts_for(&o->transfers[i].leases[j], source) &&
			     o->transfers[i].leases[j].seen;
	return n;
}

u32 oracle_bind_wrong(struct oracle *o, u32 source)
{
	return oracle_find_source(o, source) ? WRONG_EXISTS : 0;
}

void oracle_bind(struct oracle *o, u32 source)
{
	struct source_fact *s = &o->sources[o->nr_sources++];

	s->source = source;
	s->access = ACCESS_BOUND;
}

u32 oracle_unbind_wrong(struct oracle *o, u32 source)
{
	return oracle_nr_bound(o, source) ? WRONG_BUSY : 0;
}

void oracle_unbind(struct oracle *o, u32 source)
{
	struct source_fact *s = oracle_find_source(o, source);

	*s = o->sources[--o->nr_sources];
	/* Nothing is left behind, so that equal facts are equal bytes. */
	o->sources[o->nr_sources] = (struct source_fact){ 0 };
}

bool oracle_revoke(struct oracle *o, u32 source)
{
	struct source_fact *s = oracle_find_source(o, source);

	if (s->access != ACCESS_BOUND)
		return false;
	s->access = ACCESS_REVOKING;
	return true;
}

/* What it is revoked for doesn't matter: what has not ended ends now. */
void oracle_end_lease(struct oracle *o, struct transfer_fact *t, u32 source,
		      const struct oracle_limits *limits, u64 now)
{
	oracle_find_lease(t, source)->seen = true;
	if (oracle_alive(t))
		oracle_end(o, t, LKVFENCE_REASON_REVOKED, 0, limits, now);
}

void oracle_revoke_lease(struct oracle *o, struct transfer_fact *t, u32 source,
			 u32 evidence, u64 now)
{
	oracle_prove(o, t, oracle_find_lease(t, source),
		     LKVFENCE_LEASE_REVOKED, evidence, now);
}

void oracle_revoked(struct oracle *o, u32 source)
{
	struct source_fact *s = oracle_find_source(o, source);

	o->counts.sources_revoked += s->access != ACCESS_REVOKED;
	s->access = ACCESS_REVOKED;
}

void oracle_lost(struct oracle *o, u32 source)
{
	struct source_fact *s = oracle_find_source(o, source);

	o->counts.sources_lost += s->access == ACCESS_REVOKING;
	s->access = ACCESS_LOST;
}

void oracle_lose_lease(struct oracle *o, struct transfer_fact *t, u32 source)
{
	oracle_find_lease(t, source)->seen = false;
	oracle_stop_revoking(o, t);
}

u32 oracle_report_wrong(const struct oracle *o, u64 generation, u32 kind)
{
	u32 wrong = 0;

	if (!generation || generation > o->last_generation)
		wrong |= WRONG_UNKNOWN;
	if (kind < LKVFENCE_REPORT_STRAY || kind > LKVFENCE_REPORT_MISMATCH)
		wrong |= WRONG_INVALID;
	return wrong;
}

void oracle_report(struct oracle *o, u32 kind)
{
	o->counts.strays += kind == LKVFENCE_REPORT_STRAY;
	o->counts.strays_late += kind == LKVFENCE_REPORT_STRAY_LATE;
	o->counts.mismatches += kind == LKVFENCE_REPORT_MISMATCH;
}
