// SPDX-License-Identifier: GPL-2.0-only
/*
 * How calls end transfers: ABORT and RELEASE. All go through the fence's gate.
 */
#include <linux/capability.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "calls.h"
#include "main.h"
#include "region.h"
#include "ticket.h"

/* Transfers ended before others get the region's lock. */
#define BATCH		64

/*
 * ABORT
 */

static int check_abort(const struct lkvfence_abort *arg)
{
	u32 by = arg->flags & LKVFENCE_ABORT_BY_TAG;

	if (arg->flags & ~LKVFENCE_ABORT_FLAGS || !is_policy(arg->policy) ||
	    !is_abort_reason(arg->reason))
		return -EINVAL;
	if ((arg->flags & LKVFENCE_ABORT_EARLY && !by) ||
	    (arg->flags & LKVFENCE_ABORT_ALL && arg->flags != LKVFENCE_ABORT_ALL))
		return -EINVAL;
	return is_timeout(arg->timeout_ns) ? 0 : -ERANGE;
}

/* What is said of a transfer, where there is none, or more than one. */
static void clear_abort(struct lkvfence_abort *arg)
{
	arg->generation = 0;
	arg->deadline_ns = 0;
	arg->state = 0;
	arg->leases_out = 0;
	arg->policy_in_force = 0;
	arg->reason_in_force = 0;
}

/* End up to BATCH of those after @from, and not after @last. The last one seen. */
static u64 abort_some(struct handle *h, struct lkvfence_abort *arg, u64 from,
		      u64 last)
{
	struct fence_limits limits = param_limits();
	struct fence *f = &h->region->fence;
	struct fence_transfer *t;
	u32 nr;

	for (nr = 0; nr < BATCH; nr++) {
		t = fence_find_next(f, from);
		if (!t || t->generation > last)
			return last;
		from = t->generation;
		if (!fence_alive(t))
			continue;
		fence_abort(f, t, abort_reason(arg->reason), arg->policy,
			    arg->timeout_ns, &limits, ktime_get_ns());
		arg->nr_ended++;
	}
	return from;
}

/* L6b: each through the gate that it would have gone through alone. */
static int abort_all(struct handle *h, struct lkvfence_abort *arg)
{
	struct region *r = h->region;
	u64 from = 0, last;

	mutex_lock(&r->lock);
	last = r->fence.last_generation;
	pull_abort_all(&r->pulls, abort_reason(arg->reason), ktime_get_ns());
	for (;;) {
		from = abort_some(h, arg, from, last);
		region_settle(r, h, FENCE_NEWS_ENDED);
		mutex_unlock(&r->lock);
		if (from == last)
			break;
		cond_resched();
		mutex_lock(&r->lock);
	}
	clear_abort(arg);
	arg->tag = 0;
	return 0;
}

/* The transfer of a tag that has not ended, if it is meant. */
static struct fence_transfer *find_tag(struct fence *f, const struct lkvfence_abort *arg)
{
	struct fence_transfer *t = fence_find_tag(f, arg->tag);

	if (t && arg->flags & LKVFENCE_ABORT_EARLY && t->generation <= arg->generation)
		return NULL;
	return t;
}

/* There is none: remember it for one that may come. */
static void abort_early(struct handle *h, struct lkvfence_abort *arg,
			struct pull_offer **tombstone)
{
	struct pull_limits limits = param_pull_limits();
	struct region *r = h->region;

	if (pull_abort_early(&r->pulls, *tombstone, arg->tag, arg->generation,
			     abort_reason(arg->reason), &limits, ktime_get_ns()))
		*tombstone = NULL;
	region_settle(r, h, 0);
	clear_abort(arg);
}

int call_abort(struct handle *h, void *argp)
{
	struct lkvfence_abort *arg = argp;
	bool early = arg->flags & LKVFENCE_ABORT_EARLY;
	struct fence_limits limits = param_limits();
	struct pull_offer *tombstone = NULL;
	struct region *r = h->region;
	struct fence_transfer *t;
	int err;

	err = check_abort(arg);
	if (err)
		return err;
	arg->nr_ended = 0;
	if (arg->flags & LKVFENCE_ABORT_ALL)
		return abort_all(h, arg);
	if (early) {
		tombstone = offer_alloc();
		if (!tombstone)
			return -ENOMEM;
	}

	mutex_lock(&r->lock);
	if (arg->flags & LKVFENCE_ABORT_BY_TAG) {
		t = find_tag(&r->fence, arg);
		err = t || early ? 0 : -ENOENT;
	} else {
		err = fence_lookup(&r->fence, arg->generation, &t);
	}
	if (!err && !t) {
		abort_early(h, arg, &tombstone);
	} else if (!err) {
		arg->nr_ended = fence_alive(t);
		fence_abort(&r->fence, t, abort_reason(arg->reason),
			    arg->policy, arg->timeout_ns, &limits,
			    ktime_get_ns());
		/* Before it is settled, and perhaps freed. */
		arg->generation = t->generation;
		arg->tag = t->tag;
		arg->policy_in_force = fence_policy(t);
		arg->reason_in_force = t->reason;
		arg->state = t->state;
		arg->deadline_ns = t->state == LKVFENCE_STATE_RELEASED ?
				   0 : t->clock.expires;
		arg->leases_out = t->unproven;
		region_settle(r, h, FENCE_NEWS_ENDED);
	}
	mutex_unlock(&r->lock);
	if (tombstone)
		offer_free(tombstone);
	return err;
}

/*
 * RELEASE
 */

int call_release(struct handle *h, void *argp)
{
	struct lkvfence_release *arg = argp;
	struct region *r = h->region;
	struct fence_transfer *t;
	bool force = arg->flags & LKVFENCE_RELEASE_FORCE;
	int err;

	if (arg->flags & ~LKVFENCE_RELEASE_FLAGS)
		return -EINVAL;
	if (force && !capable(CAP_SYS_ADMIN))
		return -EPERM;

	arg->outcome = LKVFENCE_OUTCOME_NONE;
	arg->evidence = LKVFENCE_EVIDENCE_NONE;
	arg->pad = 0;
	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &t);
	if (!err) {
		err = force ? fence_force(&r->fence, t, ktime_get_ns()) :
			      fence_finish(&r->fence, t, ktime_get_ns());
		arg->leases_out = t->unproven;
	}
	if (!err) {
		/* L6: the answer is the report, for the owner. L12: or it waits. */
		if (t->state == LKVFENCE_STATE_RELEASED) {
			arg->outcome = t->outcome;
			arg->evidence = t->weakest;
		}
		region_settle(r, h, FENCE_NEWS_RELEASED | FENCE_NEWS_ENDED);
	}
	mutex_unlock(&r->lock);
	return err;
}
