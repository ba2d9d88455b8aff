// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How calls end transfers, against the oracle.
 */
#include <errno.h>
#include <string.h>

#include "mirror.h"

#define REVOKES		((u32)(LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW))

/* L4 */
static u32 stricter(u32 a, u32 b)
{
	u32 base_a = a & ~REVOKES, base_b = b & ~REVOKES;

	return (base_a > base_b ? base_a : base_b) | ((a | b) & REVOKES);
}

void mirror_abort_one(struct mirror *m, struct mirror_region *r,
		      struct transfer_fact *fact, u32 reason, u32 policy,
		      u64 timeout, const struct call *c)
{
	struct oracle_limits limits = mirror_limits(m);

	memset(&r->o.report, 0, sizeof(r->o.report));
	oracle_abort(&r->o, fact, reason, policy, timeout, &limits, c->now);
	mirror_hear(m, r, c->handle, 1U << LKVFENCE_EVENT_ENDED, 0, c->earliest, c->latest);
}

/*
 * ABORT
 */

static u32 abort_arguments(const struct mirror *m, const struct lkvfence_abort *in)
{
	const u32 all = LKVFENCE_ABORT_ALL;
	u32 wrong = 0;

	if (in->flags & ~LKVFENCE_ABORT_FLAGS || !mirror_is_policy(in->policy) ||
	    !mirror_is_reason(in->reason))
		wrong |= WRONG_INVALID;
	if (in->flags & all && in->flags != all)
		wrong |= WRONG_INVALID;
	if ((in->flags & LKVFENCE_ABORT_EARLY) && !(in->flags & LKVFENCE_ABORT_BY_TAG))
		wrong |= WRONG_INVALID;
	if (!mirror_is_timeout(m, in->timeout_ns))
		wrong |= WRONG_RANGE;
	return wrong;
}

/* Nothing is said of a transfer. */
static void check_no_transfer(const struct lkvfence_abort *out)
{
	agree(!out->generation && !out->deadline_ns && !out->state && !out->leases_out);
	agree(!out->policy_in_force && !out->reason_in_force);
}

/* All that there are when it is called; more can't come in between. */
static void abort_all(struct mirror *m, struct mirror_region *r, u32 reason,
		      const struct call *c)
{
	const struct lkvfence_abort *in = &c->in.abort, *out = &c->out.abort;
	struct transfer_fact *fact;
	u64 nr = 0;
	u32 i = 0;

	mirror_abort_all(r, reason, c);
	while (i < r->o.nr_transfers) {
		fact = &r->o.transfers[i];
		if (oracle_alive(fact)) {
			u32 before = r->o.nr_transfers;

			mirror_abort_one(m, r, fact, reason, in->policy, in->timeout_ns, c);
			nr++;
			if (r->o.nr_transfers < before)
				continue;
		}
		i++;
	}
	if (c->lost)
		return;
	check_no_transfer(out);
	agree(!out->tag && out->nr_ended == nr);
}

/* By tag; that of which it is known that it isn't meant doesn't count. */
static struct transfer_fact *find_meant(struct mirror_region *r, const struct lkvfence_abort *in)
{
	struct transfer_fact *fact = oracle_find_tag(&r->o, in->tag);

	if (fact && in->flags & LKVFENCE_ABORT_EARLY && fact->generation <= in->generation)
		return NULL;
	return fact;
}

void mirror_abort(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_abort *in = &c->in.abort, *out = &c->out.abort;
	u32 reason = in->reason ? in->reason : LKVFENCE_REASON_ABORTED;
	u32 wrong = abort_arguments(m, in);
	struct transfer_fact *fact = NULL;
	struct transfer_fact was;
	int err;

	if (!wrong && r->blind)
		return;
	if (!wrong && in->flags & LKVFENCE_ABORT_BY_TAG) {
		fact = find_meant(r, in);
		wrong = fact || in->flags & LKVFENCE_ABORT_EARLY ? 0 : WRONG_UNKNOWN;
	} else if (!wrong && !(in->flags & LKVFENCE_ABORT_ALL)) {
		fact = oracle_find(&r->o, in->generation);
		wrong = mirror_lookup(&r->o, in->generation);
	}
	if (!mirror_allows(c, wrong, 0, &err) || err)
		return;

	if (in->flags & LKVFENCE_ABORT_ALL) {
		abort_all(m, r, reason, c);
		return;
	}
	if (!fact) {
		mirror_abort_early(m, r, in->tag, in->generation, reason, c);
		if (!c->lost)
			check_no_transfer(out);
		agree(c->lost || (out->tag == in->tag && !out->nr_ended));
		return;
	}
	was = *fact;
	mirror_abort_one(m, r, fact, reason, in->policy, in->timeout_ns, c);
	if (c->lost)
		return;
	agree(out->generation == was.generation && out->tag == was.tag);
	agree(out->nr_ended == oracle_alive(&was));
	agree(out->reason_in_force == (was.reason ? was.reason : reason));
	fact = oracle_find(&r->o, was.generation);
	agree(out->policy_in_force == (fact ? oracle_policy(&r->o, fact) :
					      stricter(in->policy, was.policy)));
	if (!fact) {
		agree(out->state == LKVFENCE_STATE_RELEASED);
		agree(!out->deadline_ns && !out->leases_out);
		return;
	}
	agree(out->state == LKVFENCE_STATE_ENDED);
	agree(out->leases_out == oracle_unproven(fact));
	mirror_check_region(r);
	agree(out->deadline_ns == mirror_find(r, was.generation)->deadline);
}

/*
 * RELEASE
 */

void mirror_release(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_release *in = &c->in.release, *out = &c->out.release;
	bool force = in->flags & LKVFENCE_RELEASE_FORCE;
	struct transfer_fact *fact = oracle_find(&r->o, in->generation);
	u32 wrong = 0, unproven;
	int err;

	if (in->flags & ~LKVFENCE_RELEASE_FLAGS)
		wrong |= WRONG_INVALID;
	if (force && !(c->caps & 2))
		wrong |= WRONG_PERMISSION;
	if (!wrong && r->blind)
		return;
	if (!wrong)
		wrong = mirror_lookup(&r->o, in->generation);
	if (!wrong)
		wrong = force ? oracle_force_wrong(fact) : oracle_finish_wrong(fact);
	if (!mirror_allows(c, wrong, 0, &err))
		return;
	if (err && err != -EBUSY)
		return;
	unproven = oracle_unproven(fact);
	agree(c->lost || out->leases_out == unproven);
	if (err)
		return;

	memset(&r->o.report, 0, sizeof(r->o.report));
	if (force)
		oracle_force(&r->o, fact, c->now);
	else
		oracle_finish(&r->o, fact, c->now);
	agree(c->lost || out->outcome == r->o.report.outcome);
	agree(c->lost || out->evidence == r->o.report.evidence);
	mirror_hear(m, r, c->handle, 1U << LKVFENCE_EVENT_RELEASED, unproven, c->earliest,
		    c->latest);
}
