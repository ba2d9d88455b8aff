// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revocation.
 *
 * A source is revoked by work of its own, so that a driver that takes its time
 * holds up nothing else (L9); the transfers that wait for it have deadlines
 * (L8). The work goes through these steps, in this order:
 *
 *   1. The source gives no new leases; it was marked when the work was queued.
 *   2. Its transfers are ended, and those of every other source that shares one
 *      of its QPs, in whatever region. From here on none of their engines takes
 *      anything that comes through that QP for good (L6b).
 *   3. Its QPs are moved to ERR.
 *   4. It waits for each QP to be quiet: by what its owner attests (QUIET), or
 *      by time. A QP that wasn't moved is lost, if its owner doesn't attest.
 *   5. Its leases are revoked, or the source is lost, and its transfers go on to
 *      the rest of their policy.
 *
 * A QP's state moves from OPEN to ERR or LOST, and from any of them to QUIET,
 * where it stays. So each step can be taken again: the work begins with the
 * first one each time it is queued.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "compat.h"
#include "event.h"
#include "main.h"
#include "region.h"
#include "source.h"

/* Leases seen to before others get the region's lock. */
#define BATCH		64
/* When a source is looked at again whose device, or a processor, is busy. */
#define AGAIN		(HZ / 50)
/* And one that waits for evidence alone. */
#define NEVER		U64_MAX

static void post_event(struct source *s)
{
	struct handle *h = s->handle;

	if (!h || !list_empty(&s->unread))
		return;
	list_add_tail(&s->unread, &h->unread_sources);
	event_added(h);
}

/* Have the work look at the source at once. */
static void queue_now(struct source *s)
{
	source_get(s);
	/* Queued already: that has a reference. */
	if (mod_delayed_work(lkvfence_revoke_wq, &s->work, 0))
		source_put(s);
}

/* In @delay jiffies; or sooner, where somebody has something for it by now. */
static void queue_later(struct source *s, unsigned long delay)
{
	source_get(s);
	if (!queue_delayed_work(lkvfence_revoke_wq, &s->work, delay))
		source_put(s);
}

void source_start(struct source *s)
{
	if (s->started)
		return;
	s->started = true;
	s->revoke_ns = ktime_get_ns();
	post_event(s);
	queue_now(s);
}

void source_look(struct source *s)
{
	queue_now(s);
}

void sources_revoke(struct region *r, const struct fence_transfer *t)
{
	struct rb_node *n;

	lockdep_assert_held(&r->lock);
	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (l->bound)
			source_start(to_source(l->bound));
	}
}

/* Steps 1 and 2, for one source. False: it isn't bound, or not any more. */
static bool end_transfers(struct source *s)
{
	struct fence_limits limits = param_limits();
	struct region *r = s->region;
	u32 nr;

	do {
		mutex_lock(&r->lock);
		if (!s->bound) {
			s->doomed = true;
			mutex_unlock(&r->lock);
			return false;
		}
		fence_source_revoke(&s->fence);
		source_start(s);
		nr = fence_source_end(&r->fence, &s->fence, &limits,
				      ktime_get_ns(), BATCH);
		region_settle(r, NULL, 0);
		mutex_unlock(&r->lock);
		cond_resched();
	} while (nr == BATCH);
	return true;
}

/* Step 2, for the others. */
static void end_sharers(struct bound_qp *qp)
{
	struct source *s;

	while ((s = source_next_sharer(qp))) {
		end_transfers(s);
		source_put(s);
	}
}

static void set_state(struct bound_qp *qp, u32 state)
{
	struct mutex *lock = &qp->source->region->lock;

	mutex_lock(lock);
	/* Its owner may have been faster. */
	if (qp->state != LKVFENCE_QP_QUIET) {
		qp->state = state;
		qp->settled_ns = ktime_get_ns() + param_settle_ns();
		qp->grace = grace_begin();
	}
	mutex_unlock(lock);
}

/* Step 3. False: a device is busy with others, and it has to be tried again. */
static bool take_access(struct source *s)
{
	bool all = true;
	u32 i;

	for (i = 0; i < s->nr_qps; i++)
		end_sharers(&s->qps[i]);
	for (i = 0; i < s->nr_qps; i++) {
		struct bound_qp *qp = &s->qps[i];

		if (READ_ONCE(qp->state) != LKVFENCE_QP_OPEN)
			continue;
		if (!qp_enter(&qp->id)) {
			all = false;
			continue;
		}
		set_state(qp, qp_to_err(&qp->id) ? LKVFENCE_QP_LOST : LKVFENCE_QP_ERR);
		qp_leave(&qp->id);
		end_sharers(qp);
	}
	return all;
}

/*
 * Did a QP stay where it was put? One that is not found was in ERR until somebody
 * began to destroy it, or its device went. Where the driver doesn't say, it may be
 * anywhere.
 */
static bool stayed(int err)
{
	return !err || err == -ENOENT || err == -ESTALE || err == -ENODEV;
}

/*
 * Step 4: time has passed for a QP, and nobody in the kernel is still at what he
 * was at when it was moved. False as in step 3, or there is somebody.
 */
static bool settle_qps(struct source *s)
{
	struct region *r = s->region;
	bool all = true;
	u32 i;

	for (i = 0; i < s->nr_qps; i++) {
		struct bound_qp *qp = &s->qps[i];
		int err;

		if (READ_ONCE(qp->state) != LKVFENCE_QP_ERR ||
		    ktime_get_ns() < qp->settled_ns)
			continue;
		if (!grace_over(qp->grace) || !qp_enter(&qp->id)) {
			all = false;
			continue;
		}
		err = qp_check(&qp->id, true);
		qp_leave(&qp->id);
		mutex_lock(&r->lock);
		if (qp->state == LKVFENCE_QP_ERR && !stayed(err)) {
			qp->state = LKVFENCE_QP_LOST;
		} else if (qp->state == LKVFENCE_QP_ERR) {
			qp->state = LKVFENCE_QP_QUIET;
			qp->evidence = LKVFENCE_EVIDENCE_QP_ERR_SETTLED;
		}
		mutex_unlock(&r->lock);
	}
	return all;
}

/**
 * struct verdict - what is known of all QPs of a source
 * @lost: one is lost
 * @quiet: all are quiet
 * @evidence: on what ground, the weakest
 * @next_ns: else when to look again
 */
struct verdict {
	bool lost;
	bool quiet;
	u32 evidence;
	u64 next_ns;
};

static struct verdict judge(const struct source *s)
{
	struct verdict v = {
		.quiet		= true,
		.evidence	= LKVFENCE_EVIDENCE_BACKING_GONE,
		.next_ns	= NEVER,
	};
	u32 i;

	for (i = 0; i < s->nr_qps; i++) {
		const struct bound_qp *qp = &s->qps[i];

		switch (qp->state) {
		case LKVFENCE_QP_QUIET:
			v.evidence = min_t(u32, v.evidence, qp->evidence);
			continue;
		case LKVFENCE_QP_LOST:
			v.lost = true;
			break;
		case LKVFENCE_QP_ERR:
			v.next_ns = min(v.next_ns, qp->settled_ns);
			break;
		}
		v.quiet = false;
	}
	return v;
}

/* Step 5. Returns when to look again. */
static u64 conclude(struct source *s)
{
	struct region *r = s->region;
	struct verdict v;
	u32 nr;

	do {
		mutex_lock(&r->lock);
		v = judge(s);
		nr = 0;
		if (!s->bound)
			v.next_ns = NEVER;
		else if (v.quiet)
			nr = fence_source_quiet(&r->fence, &s->fence, v.evidence,
						ktime_get_ns(), BATCH);
		else if (v.lost)
			nr = fence_source_lost(&r->fence, &s->fence, BATCH);
		region_settle(r, NULL, 0);
		mutex_unlock(&r->lock);
		cond_resched();
	} while (nr == BATCH);
	return v.next_ns;
}

static void revoke_work(struct work_struct *work)
{
	struct source *s = container_of(to_delayed_work(work), struct source, work);
	struct region *r = s->region;
	/* Doesn't change once the region exists. */
	bool settles = fence_accepts(&r->fence, LKVFENCE_EVIDENCE_QP_ERR_SETTLED);
	bool busy;
	u64 next, now;

	if (end_transfers(s)) {
		busy = !take_access(s);
		if (settles)
			busy |= !settle_qps(s);
		next = conclude(s);
		now = ktime_get_ns();
		if (busy)
			queue_later(s, AGAIN);
		else if (settles && next != NEVER)
			queue_later(s, nsecs_to_jiffies(next > now ? next - now : 0) + 1);
	}
	/* It may have been kept by nothing but what has been revoked. */
	region_retire(r);
	source_put(s);
}

void source_init_revoking(struct source *s)
{
	INIT_DELAYED_WORK(&s->work, revoke_work);
}
