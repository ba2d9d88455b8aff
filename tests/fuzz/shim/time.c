// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The kernel of kernel.h: time, timers and work, which go on when the test says
 * so.
 */
#include "shim.h"

u64 ktime_get_ns(void)
{
	return shim.now;
}

void hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*function)(struct hrtimer *timer),
		   int clock, enum hrtimer_mode mode)
{
	shim_assert(clock == CLOCK_MONOTONIC && mode == HRTIMER_MODE_ABS);
	*timer = (struct hrtimer){ .function = function };
}

int hrtimer_cancel(struct hrtimer *timer)
{
	struct hrtimer **link = &shim.timers;

	while (*link && *link != timer)
		link = &(*link)->next;
	shim_assert(!!*link == timer->armed);
	if (!*link)
		return 0;
	*link = timer->next;
	timer->armed = false;
	return 1;
}

void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t when, u64 slack,
			    enum hrtimer_mode mode)
{
	shim_assert(timer->function && mode == HRTIMER_MODE_ABS && when >= 0);
	hrtimer_cancel(timer);
	timer->expires = when;
	timer->slack = slack;
	timer->armed = true;
	timer->next = shim.timers;
	shim.timers = timer;
}

bool shim_fire(struct hrtimer *timer, bool eager)
{
	if (!timer->armed || timer->expires + (eager ? 0 : timer->slack) > shim.now)
		return false;
	hrtimer_cancel(timer);
	shim_assert(timer->function(timer) == HRTIMER_NORESTART);
	return true;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	struct work_struct **link = &shim.work;

	shim_assert(wq && work->func);
	if (work->pending)
		return false;
	while (*link)
		link = &(*link)->next;
	work->next = NULL;
	work->pending = true;
	*link = work;
	return true;
}

bool shim_run(struct work_struct *work)
{
	struct work_struct **link = &shim.work;

	while (*link && *link != work)
		link = &(*link)->next;
	if (!*link)
		return false;
	*link = work->next;
	work->pending = false;
	work->func(work);
	shim_call_end();
	return true;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay)
{
	bool was = work->work.pending;

	shim_assert(wq && work->work.func);
	work->due = shim.now + (u64)delay * SHIM_JIFFY_NS;
	if (was)
		return true;
	work->work.pending = true;
	work->next = shim.delayed;
	shim.delayed = work;
	return false;
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay)
{
	return !work->work.pending && !mod_delayed_work(wq, work, delay);
}

bool cancel_delayed_work(struct delayed_work *work)
{
	struct delayed_work **link = &shim.delayed;

	if (!work->work.pending)
		return false;
	while (*link != work)
		link = &(*link)->next;
	*link = work->next;
	work->work.pending = false;
	return true;
}

bool shim_is_running(const struct delayed_work *work)
{
	for (u32 i = 0; i < shim.nr_running; i++)
		if (shim.running[i] == work)
			return true;
	return false;
}

void shim_run_delayed(struct delayed_work *work)
{
	struct delayed_work **link = &shim.delayed;

	shim_assert(work->work.pending && work->due <= shim.now);
	shim_assert(!shim_is_running(work) && shim.nr_running < SHIM_DEEP);
	while (*link != work)
		link = &(*link)->next;
	*link = work->next;
	work->work.pending = false;
	shim.running[shim.nr_running++] = work;
	/* It may free itself. */
	work->work.func(&work->work);
	shim.nr_running--;
	shim_call_end();
}
