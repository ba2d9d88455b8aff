// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Bound sources: their QPs, what is done to these, and the calls about them.
 *
 * What the kernel finds of a QP is not the oracle's affair: it comes with each
 * call, or each step of a revocation, and what follows from it is checked.
 */
#include <errno.h>
#include <string.h>

#include "mirror.h"

/*
 * Finding
 */

struct mirror_source *mirror_find_source(struct mirror_region *r, u32 source)
{
	for (u32 i = 0; i < r->o.nr_sources; i++)
		if (r->sources[i].source == source)
			return &r->sources[i];
	return NULL;
}

struct mirror_source *mirror_find_binding(struct mirror_region *r, u64 binding)
{
	for (u32 i = 0; i < r->o.nr_sources; i++)
		if (r->sources[i].binding == binding)
			return &r->sources[i];
	return NULL;
}

static void forget(struct mirror_region *r, struct mirror_source *s)
{
	oracle_unbind(&r->o, s->source);
	*s = r->sources[r->o.nr_sources];
}

void mirror_sweep(struct mirror_region *r)
{
	u32 i = 0;

	while (i < r->o.nr_sources && !r->blind) {
		struct mirror_source *s = &r->sources[i];

		if (s->handle < 0 && !oracle_nr_bound(&r->o, s->source))
			forget(r, s);
		else
			i++;
	}
}

/*
 * Revocation
 */

void mirror_start(struct mirror_source *s, u64 now)
{
	if (s->started)
		return;
	s->started = true;
	s->revoke_ns = now;
	s->unread = s->handle >= 0;
}

/* The first of its leases whose transfer its end has not reached. */
static struct transfer_fact *next_unseen(struct mirror_region *r, u32 source)
{
	struct transfer_fact *first = NULL;
	u64 order = ~0ULL;

	for (u32 i = 0; i < r->o.nr_transfers; i++) {
		struct transfer_fact *t = &r->o.transfers[i];
		struct lease_fact *l = oracle_find_lease(t, source);
		u64 nr;

		if (!l || !l->bound || l->seen)
			continue;
		nr = mirror_find(r, t->generation)->granted_as[l - t->leases];
		if (nr > order)
			continue;
		order = nr;
		first = t;
	}
	return first;
}

void mirror_end_source(struct mirror *m, struct mirror_region *r,
		       struct mirror_source *s, u64 now)
{
	struct oracle_limits limits = mirror_limits(m);
	struct transfer_fact *t;

	oracle_revoke(&r->o, s->source);
	mirror_start(s, now);
	r->step++;
	while ((t = next_unseen(r, s->source))) {
		memset(&r->o.report, 0, sizeof(r->o.report));
		oracle_end_lease(&r->o, t, s->source, &limits, now);
		mirror_hear(m, r, -1, 0, 0, now, now);
	}
	mirror_check_region(r);
}

/* Whoever has this QP, bound or about to be. L6b: in whatever region. */
void mirror_end_sharers(struct mirror *m, u32 identity, u64 now)
{
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		struct mirror_region *r = &m->regions[i];

		for (u32 j = 0; r->exists && !r->blind && j < r->o.nr_sources; j++) {
			struct mirror_source *s = &r->sources[j];
			bool shares = false;

			for (u32 k = 0; k < s->nr_qps; k++)
				shares |= s->qps[k].identity == identity;
			if (shares)
				mirror_end_source(m, r, s, now);
		}
	}
	for (struct mirror_binding *b = m->bindings; b; b = b->outer)
		for (u32 i = 0; i < b->nr_qps; i++)
			b->doomed |= b->identities[i] == identity;
}

void mirror_moved(struct mirror_qp *qp, int err, u64 settled)
{
	/* Its owner may have been faster. */
	if (qp->state == LKVFENCE_QP_QUIET)
		return;
	qp->state = err ? LKVFENCE_QP_LOST : LKVFENCE_QP_ERR;
	qp->settled_ns = settled;
}

void mirror_settled(struct mirror_qp *qp, int err)
{
	if (qp->state != LKVFENCE_QP_ERR)
		return;
	if (err && err != -ENOENT && err != -ESTALE && err != -ENODEV) {
		qp->state = LKVFENCE_QP_LOST;
	} else {
		qp->state = LKVFENCE_QP_QUIET;
		qp->evidence = LKVFENCE_EVIDENCE_QP_ERR_SETTLED;
	}
}

static void revoked(struct mirror *m, struct mirror_region *r, u32 source,
		    u32 evidence, u64 now)
{
	u32 i = 0;

	while (i < r->o.nr_transfers) {
		struct transfer_fact *t = &r->o.transfers[i];
		struct lease_fact *l = oracle_find_lease(t, source);
		u32 nr = r->o.nr_transfers;

		if (l && l->bound) {
			memset(&r->o.report, 0, sizeof(r->o.report));
			oracle_revoke_lease(&r->o, t, source, evidence, now);
			mirror_hear(m, r, -1, 0, 0, now, now);
		}
		if (nr == r->o.nr_transfers)
			i++;
	}
	oracle_revoked(&r->o, source);
}

static void lost(struct mirror_region *r, u32 source)
{
	oracle_lost(&r->o, source);
	for (u32 i = 0; i < r->o.nr_transfers; i++) {
		struct lease_fact *l = oracle_find_lease(&r->o.transfers[i], source);

		if (l && l->bound && l->seen)
			oracle_lose_lease(&r->o, &r->o.transfers[i], source);
	}
}

/* All are quiet: on the weakest of their grounds. One is lost: it is lost. */
void mirror_conclude(struct mirror *m, struct mirror_region *r,
		     struct mirror_source *s, u64 now)
{
	u32 evidence = LKVFENCE_EVIDENCE_BACKING_GONE, nr_quiet = 0, nr_lost = 0;

	for (u32 i = 0; i < s->nr_qps; i++) {
		const struct mirror_qp *qp = &s->qps[i];

		nr_lost += qp->state == LKVFENCE_QP_LOST;
		if (qp->state != LKVFENCE_QP_QUIET)
			continue;
		nr_quiet++;
		if (qp->evidence < evidence)
			evidence = qp->evidence;
		agree(oracle_accepts(&r->o, qp->evidence));
	}
	r->step++;
	if (nr_quiet == s->nr_qps)
		revoked(m, r, s->source, evidence, now);
	else if (nr_lost)
		lost(r, s->source);
	mirror_check_region(r);
}

/*
 * SOURCE
 */

static bool ends(const char *s, size_t room)
{
	return strnlen(s, room) < room;
}

/* QP @i has been named before. */
static bool named_twice(const struct call *c, u32 i)
{
	for (u32 j = 0; j < i; j++)
		if (c->qps[j].number == c->qps[i].number &&
		    !strcmp(c->qps[j].device, c->qps[i].device))
			return true;
	return false;
}

/* What is wrong with the QPs, as far as anybody looked. */
static u32 qps_wrong(const struct call *c)
{
	u32 wrong = 0, looks = 0;

	for (u32 i = 0; i < c->nr_qps && !wrong; i++) {
		if (c->qps[i].state || !ends(c->qps[i].device, sizeof(c->qps[i].device)) ||
		    named_twice(c, i)) {
			wrong = WRONG_INVALID;
			break;
		}
		/* By its name first; and again when others can see it. */
		for (u32 again = 0; again < 2 && !wrong; again++) {
			const struct look *l = &c->looks[looks++];

			agree(looks <= c->nr_looks && l->finds == !again);
			wrong = mirror_wrong(l->err);
			/* Another one than a moment ago: it isn't there. */
			if (wrong == WRONG_STALE)
				wrong = WRONG_UNKNOWN;
		}
	}
	agree(looks == c->nr_looks);
	if (!wrong && !c->below)
		agree(c->nr_qps == c->in.source.nr_qps);
	return wrong;
}

static u32 bind_wrong(const struct call *c)
{
	const struct lkvfence_source *a = &c->in.source;
	u32 wrong = 0;

	if (!a->nr_qps || !ends(a->peer, sizeof(a->peer)))
		wrong |= WRONG_INVALID;
	if (a->nr_qps > MIRROR_MAX_QPS)
		wrong |= WRONG_RANGE;
	if (wrong)
		return wrong;
	wrong = qps_wrong(c);
	/* Somebody has begun to revoke one of these QPs. */
	if (!wrong && c->doomed)
		wrong = WRONG_NOT_CONNECTED;
	return wrong;
}

/* Something is in the way of a new binding, or of the old one's going. */
static u32 place_wrong(const struct mirror *m, struct mirror_region *r,
		       const struct mirror_source *old, int handle)
{
	if (!old)
		return r->o.nr_sources >= m->max_sources ? WRONG_LIMIT : 0;
	if (old->handle >= 0 && old->handle != handle)
		return WRONG_EXISTS;
	return oracle_unbind_wrong(&r->o, old->source);
}

static void bound(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_source *a = &c->in.source;
	struct mirror_source *s;

	agree(r->o.nr_sources < ORACLE_SOURCES);
	s = &r->sources[r->o.nr_sources];
	memset(s, 0, sizeof(*s));
	oracle_bind(&r->o, a->source);
	s->source = a->source;
	s->binding = c->out.source.binding;
	s->handle = c->handle;
	memcpy(s->peer, a->peer, strlen(a->peer));
	s->nr_qps = a->nr_qps;
	for (u32 i = 0; i < s->nr_qps; i++) {
		s->qps[i].name = c->qps[i];
		s->qps[i].identity = c->looks[2 * i].identity;
		s->qps[i].state = LKVFENCE_QP_OPEN;
	}
}

static void bind(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	u32 wrong = bind_wrong(c);
	struct mirror_source *old;
	int err;

	if (!wrong && r->blind)
		return;
	old = mirror_find_source(r, c->in.source.source);
	if (!wrong)
		wrong = place_wrong(m, r, old, c->handle);
	if (!mirror_allows(c, wrong, 0, &err) || err)
		return;
	agree(c->out.source.binding > c->first_binding);
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		agree(!mirror_find_binding(&m->regions[i], c->out.source.binding));
	if (old)
		forget(r, old);
	if (c->in.source.nr_qps > MIRROR_QPS)
		r->blind = true;
	else
		bound(r, c);
}

static void unbind(struct mirror_region *r, const struct call *c)
{
	struct mirror_source *s = mirror_find_source(r, c->in.source.source);
	u32 wrong = c->in.source.nr_qps ? WRONG_INVALID : 0;
	int err;

	if (!wrong && r->blind)
		return;
	if (!wrong && !s)
		wrong = WRONG_UNKNOWN;
	else if (!wrong && s->handle >= 0 && s->handle != c->handle)
		wrong = WRONG_PERMISSION;
	else if (!wrong)
		wrong = oracle_unbind_wrong(&r->o, s->source);
	if (mirror_allows(c, wrong, 0, &err) && !err)
		forget(r, s);
}

void mirror_source(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	u32 flags = c->in.source.flags;
	int err;

	if (!c->err && !flags && c->out.source.binding > m->last_binding)
		m->last_binding = c->out.source.binding;
	if (flags & ~LKVFENCE_SOURCE_FLAGS)
		mirror_allows(c, WRONG_INVALID, 0, &err);
	else if (!(m->features & LKVFENCE_FEATURE_QP))
		mirror_allows(c, WRONG_UNACCEPTED, 0, &err);
	else if (flags & LKVFENCE_SOURCE_UNBIND)
		unbind(r, c);
	else
		bind(m, r, c);
}

/*
 * QUIET
 */

static bool is_quiet_evidence(u32 evidence)
{
	return evidence == LKVFENCE_EVIDENCE_RQ_FLUSHED ||
	       evidence == LKVFENCE_EVIDENCE_QP_DESTROYED ||
	       evidence == LKVFENCE_EVIDENCE_MR_DEREGISTERED;
}

/* Does what the kernel saw contradict what is attested? */
static u32 doubts(const struct call *c)
{
	for (u32 i = 0; i < c->nr_looks; i++) {
		bool in_err = !c->looks[i].err;
		bool not_in_err = c->looks[i].err == -ENOTCONN;

		switch (c->in.quiet.evidence) {
		case LKVFENCE_EVIDENCE_RQ_FLUSHED:
			if (not_in_err)
				return WRONG_BUSY;
			break;
		case LKVFENCE_EVIDENCE_QP_DESTROYED:
			if (in_err || not_in_err)
				return WRONG_BUSY;
			break;
		}
	}
	return 0;
}

static bool speaks_of(const struct lkvfence_quiet *a, u32 i)
{
	return a->qp == i || a->qp == LKVFENCE_QUIET_ALL;
}

static u32 quiet_wrong(struct mirror_region *r, const struct mirror_source *s,
		       const struct call *c)
{
	const struct lkvfence_quiet *a = &c->in.quiet;
	u32 wrong = doubts(c), news = 0, nr = 0;

	/* Nobody looks before the binding was found. */
	if (!s)
		return wrong | WRONG_UNKNOWN;
	if (a->qp != LKVFENCE_QUIET_ALL && a->qp >= s->nr_qps) {
		agree(!c->nr_looks);
		return WRONG_RANGE;
	}
	if (!oracle_accepts(&r->o, a->evidence)) {
		agree(!c->nr_looks);
		return WRONG_UNACCEPTED;
	}
	for (u32 i = 0; i < s->nr_qps; i++) {
		nr += speaks_of(a, i);
		news += speaks_of(a, i) && s->qps[i].state != LKVFENCE_QP_QUIET;
	}
	/* Each that it speaks of was looked at. */
	agree(wrong || c->nr_looks == nr);
	return news ? wrong : wrong | WRONG_TWICE;
}

void mirror_quiet(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_quiet *a = &c->in.quiet;
	struct mirror_source *s;
	u32 wrong = 0;
	int err;

	if (a->flags || !is_quiet_evidence(a->evidence))
		wrong = WRONG_INVALID;
	if (c->below && !c->took_effect) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (!wrong && r->blind)
		return;
	s = mirror_find_binding(r, a->binding);
	if (s && s->handle != c->handle)
		s = NULL;
	if (!wrong)
		wrong = quiet_wrong(r, s, c);
	if (!mirror_allows(c, wrong, 0, &err) || err)
		return;
	for (u32 i = 0; i < s->nr_qps; i++) {
		if (!speaks_of(a, i) || s->qps[i].state == LKVFENCE_QP_QUIET)
			continue;
		s->qps[i].state = LKVFENCE_QP_QUIET;
		s->qps[i].evidence = a->evidence;
	}
	oracle_revoke(&r->o, s->source);
	mirror_start(s, c->now);
}

/*
 * QUERY_SOURCE
 */

static struct mirror_source *queried(struct mirror_region *r,
				     const struct lkvfence_query_source *a)
{
	struct mirror_source *least = NULL;

	if (!(a->flags & LKVFENCE_QUERY_SOURCE_FROM))
		return mirror_find_source(r, a->source);
	for (u32 i = 0; i < r->o.nr_sources; i++) {
		struct mirror_source *s = &r->sources[i];

		if (s->source >= a->source && (!least || s->source < least->source))
			least = s;
	}
	return least;
}

static u32 state_of(struct mirror_region *r, u32 source)
{
	switch (oracle_find_source(&r->o, source)->access) {
	case ACCESS_BOUND:
		return LKVFENCE_SOURCE_BOUND;
	case ACCESS_REVOKING:
		return LKVFENCE_SOURCE_REVOKING;
	case ACCESS_REVOKED:
		return LKVFENCE_SOURCE_REVOKED;
	default:
		return LKVFENCE_SOURCE_LOST;
	}
}

void mirror_query_source(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_query_source *a = &c->in.query_source;
	const struct lkvfence_query_source *out = &c->out.query_source;
	struct mirror_source *s;
	u32 wrong = 0;
	int err;

	if (a->flags & ~LKVFENCE_QUERY_SOURCE_FLAGS)
		wrong |= WRONG_INVALID;
	if (a->nr_qps > MIRROR_MAX_QPS)
		wrong |= WRONG_RANGE;
	if (!wrong && r->blind)
		return;
	s = queried(r, a);
	if (!wrong && !s && !c->below)
		wrong = WRONG_UNKNOWN;
	mirror_allows(c, wrong, 0, &err);
	if (c->err)
		return;
	agree(out->source == s->source && out->binding == s->binding);
	agree(out->state == state_of(r, s->source) && out->nr_qps == s->nr_qps);
	agree(out->leases_out == oracle_nr_bound(&r->o, s->source));
	agree(out->pid == m->pid && !out->pad);
	agree(!memcmp(out->peer, s->peer, sizeof(out->peer)));
	for (u32 i = 0; i < s->nr_qps && i < a->nr_qps; i++) {
		agree(!memcmp(c->got_qps[i].device, s->qps[i].name.device,
			      sizeof(c->got_qps[i].device)));
		agree(c->got_qps[i].number == s->qps[i].name.number);
		agree(c->got_qps[i].state == s->qps[i].state);
	}
}
