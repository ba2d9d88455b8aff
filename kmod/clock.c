// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines. Each region has a timer of its own for the earliest of its
 * deadlines, and work that acts when it fires; a region with many of them
 * delays no other (L9). The timer ticks when the system is idle (L8).
 *
 * It is armed when an earlier deadline appears, and not touched when a
 * deadline goes away: most holds end long before theirs. It then fires for
 * nothing once, and is armed for what is there.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "compat.h"
#include "main.h"
#include "region.h"

/* Deadlines acted on before others get the region's lock. */
#define BATCH		64
/* Deadlines are never early; so much later they may be, to save wakeups. */
#define SLACK_NS	NSEC_PER_MSEC

static void clock_work(struct work_struct *work)
{
	struct region *r = container_of(work, struct region, work);
	struct fence_limits limits = param_limits();
	bool idle, more;

	do {
		mutex_lock(&r->lock);
		r->armed = U64_MAX;
		more = fence_expire(&r->fence, &limits, ktime_get_ns(), BATCH) == BATCH;
		more |= pull_expire(&r->pulls, ktime_get_ns(), BATCH) == BATCH;
		/* Arms the timer; at once, where more are due. */
		region_settle(r, NULL, 0);
		idle = !r->fence.transfers_alive;
		mutex_unlock(&r->lock);
		cond_resched();
	} while (more);

	/* It may have been kept by nothing but what has just been released. */
	if (idle)
		region_retire(r);
	region_put(r);
}

static enum hrtimer_restart clock_fire(struct hrtimer *timer)
{
	struct region *r = container_of(timer, struct region, timer);

	/*
	 * The work's reference. The table has one as long as the timer can
	 * fire, and where the work is queued already that has one too, so this
	 * never drops the last.
	 */
	region_get(r);
	if (!queue_work(lkvfence_wq, &r->work))
		region_put(r);
	return HRTIMER_NORESTART;
}

void clock_init(struct region *r)
{
	hrtimer_setup(&r->timer, clock_fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	INIT_WORK(&r->work, clock_work);
	r->armed = U64_MAX;
}

void clock_update(struct region *r)
{
	u64 next = fence_next_deadline(&r->fence);

	if (unlikely(r->pulls.active))
		next = min(next, pull_next_deadline(&r->pulls));
	if (next >= r->armed)
		return;
	r->armed = next;
	hrtimer_start_range_ns(&r->timer, ns_to_ktime(next), SLACK_NS,
			       HRTIMER_MODE_ABS);
}

void clock_stop(struct region *r)
{
	hrtimer_cancel(&r->timer);
}
