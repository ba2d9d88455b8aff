// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * JOIN and PEER: which answers may be given. What comes of a group is seen from the
 * outside (judge_groups.c); who of the peers is healthy is tested by itself
 * (tests/unit/peer).
 */
#include "mirror.h"

void mirror_join(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_join *a = &c->in.join;
	/* Others said another number of members, or the group is over. */
	u32 wrong = 0, may = WRONG_INVALID | WRONG_CANCELED;
	const struct transfer_fact *fact;
	int err;

	if (a->flags || a->pad)
		wrong |= WRONG_INVALID;
	if (a->nr_members < 2 || a->nr_members > 64)
		wrong |= WRONG_RANGE;
	if (wrong) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (r->blind) {
		if (c->err)
			mirror_allows(c, WRONG_EXISTS | WRONG_STALE | WRONG_UNKNOWN, may, &err);
		return;
	}
	wrong = mirror_lookup(&r->o, a->generation);
	fact = oracle_find(&r->o, a->generation);
	if (fact && !oracle_alive(fact))
		wrong = WRONG_CANCELED;
	if (c->took_effect || (mirror_allows(c, wrong, may, &err) && !err))
		r->blind = true;
}

static bool is_name(const char *name)
{
	u32 len = 0;

	for (; len < sizeof(((struct lkvfence_peer *)0)->name) && name[len]; len++)
		if (name[len] <= ' ' || name[len] > '~')
			return false;
	return len && len < sizeof(((struct lkvfence_peer *)0)->name);
}

static u32 flags_of(u32 op)
{
	switch (op) {
	case LKVFENCE_PEER_OP_LOOK:
		return LKVFENCE_PEER_FLAGS;
	case LKVFENCE_PEER_OP_CONNECT:
		return LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH;
	case LKVFENCE_PEER_OP_FAILED:
		return LKVFENCE_PEER_CREATE;
	default:
		return 0;
	}
}

static u32 peer_arguments(const struct mirror *m, const struct lkvfence_peer *a)
{
	u32 wrong = 0, next = LKVFENCE_PEER_NEXT | LKVFENCE_PEER_ALL;

	if (a->op > LKVFENCE_PEER_OP_PROBED || a->pad || a->flags & ~flags_of(a->op))
		return WRONG_INVALID;
	if (a->flags & next) {
		if (!(a->flags & LKVFENCE_PEER_NEXT) || a->flags & ~next)
			wrong |= WRONG_INVALID;
	} else if (!is_name(a->name)) {
		wrong |= WRONG_INVALID;
	}
	if (a->op == LKVFENCE_PEER_OP_CONNECT && !a->session)
		wrong |= WRONG_INVALID;
	if (a->op == LKVFENCE_PEER_OP_FAILED || a->op >= LKVFENCE_PEER_OP_PROBE)
		wrong |= mirror_is_timeout(m, a->interval_ns) ? 0 : WRONG_RANGE;
	else if (a->interval_ns)
		wrong |= WRONG_INVALID | WRONG_RANGE;
	return wrong;
}

void mirror_peer(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_peer *in = &c->in.peer, *out = &c->out.peer;
	u32 wrong = peer_arguments(m, in), may = 0;
	int err;

	if (wrong) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (!(in->flags & LKVFENCE_PEER_CREATE) && in->op != LKVFENCE_PEER_OP_CONNECT)
		may |= WRONG_UNKNOWN;
	else
		may |= WRONG_LIMIT;
	if (in->flags & LKVFENCE_PEER_ALL && !(c->caps & 1))
		wrong |= WRONG_PERMISSION;
	if (in->op == LKVFENCE_PEER_OP_FAILED || in->op == LKVFENCE_PEER_OP_RECOVERED ||
	    in->op == LKVFENCE_PEER_OP_PROBED)
		may |= WRONG_STALE;
	if (in->op == LKVFENCE_PEER_OP_PROBE)
		may |= WRONG_TWICE | WRONG_AGAIN | WRONG_BUSY;
	/* It is told of, and events of it are not known here. */
	if (in->flags & LKVFENCE_PEER_WATCH && (!c->err || c->took_effect))
		r->blind = true;
	if (!mirror_allows(c, wrong, may, &err) || err || c->lost)
		return;
	agree(out->id && is_name(out->name));
	if (out->id > m->last_peer)
		m->last_peer = out->id;
	agree(out->state == LKVFENCE_PEER_HEALTHY || out->state == LKVFENCE_PEER_FAILED);
	agree(out->failures == out->recoveries + (out->state == LKVFENCE_PEER_FAILED));
	agree(out->now_ns <= c->latest && out->since_ns <= out->now_ns);
	agree(!out->pid || out->state == LKVFENCE_PEER_FAILED);
	if (in->op == LKVFENCE_PEER_OP_CONNECT)
		agree(out->session == in->session && out->sessions);
	if (in->op == LKVFENCE_PEER_OP_FAILED || in->op == LKVFENCE_PEER_OP_PROBE)
		agree(out->state == LKVFENCE_PEER_FAILED);
	if (in->op == LKVFENCE_PEER_OP_RECOVERED)
		agree(out->state == LKVFENCE_PEER_HEALTHY);
	agree(!!out->probe == (in->op == LKVFENCE_PEER_OP_PROBE));
}
