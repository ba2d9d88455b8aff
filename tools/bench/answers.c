// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How soon an answer is there: from the moment before the call that causes it to
 * that in which a sleeping thread has read the event (waiter.c). What a futex takes
 * to wake the same thread, in the same run, is the yardstick.
 *
 * Where the cause is a clock, it is the time from what the module said was due, or
 * for a pull's own times from the moment before PULL plus what it asked for.
 *
 * Then those that matter again, among many pulls that wait: half of them for tags
 * nobody offers, half for one transfer that isn't ready; half on the handle that is
 * answered, half on another one. Last, what each pull costs that one call answers
 * before ours.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <lkvfence.h>
#include "bench.h"
#include "causes.h"
#include "waiter.h"

/* Of the transfer for which the crowd waits. */
#define CROWD_SLOT	32
#define CROWD_TAG	(UINT64_MAX / 2)
#define FEW_PULLS	1
#define WARM_UP		10
/* Times that many pulls are answered at once. */
#define BURSTS		11

static uint32_t nr_crowd;

static double answer_once(const struct answer *a)
{
	struct lkvfence_event event;
	uint64_t start, seen;

	if (a->before)
		a->before();
	waiter_arm(WAITER_EVENT, *a->on, -1);
	causes_due = 0;
	start = waiter_now();
	a->cause();
	seen = waiter_seen(&event);
	if (event.type != a->type || event.reason != a->reason) {
		errno = 0;
		die("%s: %s (%s) was told", a->name, lkvfence_event_name(event.type),
		    lkvfence_reason_name(event.reason));
	}
	if (a->after)
		a->after();
	return (double)seen - (double)(causes_due ?: start);
}

static struct stats answer_stats(const struct answer *a, uint32_t repeat)
{
	double *took = calloc(repeat, sizeof(*took));
	struct stats stats;
	uint32_t i;

	if (!took)
		die("no memory for %u repetitions", repeat);
	for (i = 0; i < WARM_UP; i++)
		answer_once(a);
	for (i = 0; i < repeat; i++)
		took[i] = answer_once(a);
	stats = measure_sort(took, repeat);
	free(took);
	return stats;
}

/*
 * Yardsticks
 */

static int event_fd, timer_fd;

static double futex_once(void)
{
	struct lkvfence_event event;
	uint64_t start;

	waiter_arm(WAITER_FUTEX, NULL, -1);
	start = waiter_now();
	waiter_wake();
	return waiter_seen(&event) - start;
}

static double eventfd_once(void)
{
	struct lkvfence_event event;
	uint64_t start, one = 1;

	waiter_arm(WAITER_FD, NULL, event_fd);
	start = waiter_now();
	if (write(event_fd, &one, sizeof(one)) != sizeof(one))
		die("eventfd");
	return waiter_seen(&event) - start;
}

static double death_once(void)
{
	struct lkvfence_event event;
	uint64_t start, seen;

	waiter_arm(WAITER_FD, NULL, start_nobody());
	start = waiter_now();
	kill_child();
	seen = waiter_seen(&event);
	bury_child();
	return seen - start;
}

static double timerfd_once(void)
{
	struct lkvfence_event event;
	uint64_t when;
	struct itimerspec spec = { 0 };

	waiter_arm(WAITER_FD, NULL, timer_fd);
	when = waiter_now() + SHORT;
	spec.it_value.tv_sec = when / 1000000000;
	spec.it_value.tv_nsec = when % 1000000000;
	if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL))
		die("timerfd");
	return waiter_seen(&event) - when;
}

static struct stats yardstick(const char *name, double (*once)(void), uint32_t repeat)
{
	double *took = calloc(repeat, sizeof(*took));
	struct stats stats;
	uint32_t i;

	if (!took)
		die("no memory for %u repetitions", repeat);
	for (i = 0; i < WARM_UP; i++)
		once();
	for (i = 0; i < repeat; i++)
		took[i] = once();
	stats = measure_sort(took, repeat);
	report_add(name, UNIT_COST, &stats, 0);
	free(took);
	return stats;
}

static void add_ratio(const char *name, const struct stats *one, const struct stats *other)
{
	struct stats ratio = {
		.median = one->median / other->median,
		.min = one->min / other->min,
		.p99 = one->p99 / other->p99,
		.repeat = one->repeat,
	};

	report_add(name, UNIT_RATIO, &ratio, 0);
}

/*
 * The crowd: pulls that are answered by nothing that happens here
 */

/* What half of them wait for. */
static void offer_crowd(void)
{
	struct lkvfence_range range = { CROWD_SLOT, 1 };
	struct lkvfence_begin b = {
		.tag = CROWD_TAG, .ranges = (uintptr_t)&range, .nr_ranges = 1,
	};

	check(lkvfence_offer(bystander, &b), "offer");
}

static void crowd(uint32_t nr)
{
	for (; nr_crowd < nr; nr_crowd++) {
		struct lkvfence_pull p = {
			.tag = CROWD_TAG + (nr_crowd & 1 ? 0 : 1 + nr_crowd),
			.source = SOURCE,
			.unclaimed_ns = HOUR,
			.timeout_ns = HOUR,
		};

		check(lkvfence_pull(nr_crowd & 2 ? consumer : bystander, &p), "pull");
	}
}

static void must_wait(uint32_t nr)
{
	struct lkvfence_stat stat;

	check(lkvfence_stat(consumer, &stat), "stat");
	errno = 0;
	if (stat.tickets != nr)
		die("%llu pulls wait, not %u", (unsigned long long)stat.tickets, nr);
}

static void measure_all(const struct answer *a, uint32_t nr, struct stats *stats, bool crowded,
			uint32_t repeat)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (crowded && !a[i].crowded)
			continue;
		stats[i] = answer_stats(&a[i], repeat);
		report_add(a[i].name, UNIT_COST, &stats[i], 0);
	}
}

static void among_few(struct stats *stats, uint32_t repeat)
{
	struct stats futex, of_all, late[NR_CLOCKS];
	uint32_t i;

	report_group("who waits is told, from the cause; %u other pull waits", FEW_PULLS);
	futex = yardstick("for comparison: a futex wakes a thread", futex_once, repeat);
	yardstick("for comparison: an eventfd, by poll and read", eventfd_once, repeat);
	yardstick("for comparison: a process is killed, and its pipe ends", death_once, repeat);
	measure_all(&all, 1, &of_all, false, repeat);
	offer_crowd();
	crowd(FEW_PULLS);
	measure_all(calls, NR_CALLS, stats, false, repeat);
	must_wait(FEW_PULLS);

	report_group("the same, against the futex");
	add_ratio(all.name, &of_all, &futex);
	for (i = 0; i < NR_CALLS; i++)
		add_ratio(calls[i].name, &stats[i], &futex);

	report_group("from when it was due; %u other pull waits", FEW_PULLS);
	yardstick("for comparison: a timerfd, by poll and read", timerfd_once, repeat);
	measure_all(clocks, NR_CLOCKS, late, false, repeat);
}

static void among_many(const struct stats *stats, uint32_t repeat)
{
	struct stats many[NR_CALLS], many_late[NR_CLOCKS];

	report_group("who waits is told; %u other pulls wait", nr_crowd);
	measure_all(calls, NR_CALLS, many, true, repeat);
	report_group("from when it was due; %u other pulls wait", nr_crowd);
	measure_all(clocks, NR_CLOCKS, many_late, true, repeat);
	must_wait(nr_crowd);
	report_group("%u other pulls wait, against %u", nr_crowd, FEW_PULLS);
	for (uint32_t i = 0; i < NR_CALLS; i++) {
		if (calls[i].crowded)
			add_ratio(calls[i].name, &many[i], &stats[i]);
	}
}

/*
 * Bursts: many that are answered by one call, ours as the last
 */

static uint32_t nr_burst;

static void others_pull(uint64_t step)
{
	for (uint32_t i = 1; i < nr_burst; i++) {
		struct lkvfence_pull p = {
			.tag = tag,
			.source = SOURCE + i,
			.unclaimed_ns = HOUR,
			.timeout_ns = HOUR,
		};

		check(lkvfence_pull(bystander, &p), "pull");
		tag += step;
	}
	pull();
}

static void all_pull(void)
{
	offer();
	others_pull(0);
}

/* Each for a tag of its own; ours is the highest. */
static void all_pull_unclaimed(void)
{
	tag++;
	others_pull(1);
}

static void pass_over_both(void)
{
	pass_over(producer);
	pass_over(bystander);
}

static void all_drain(void)
{
	pass_over(bystander);
	for (uint32_t i = 0; i < nr_burst; i++)
		check(lkvfence_drained(consumer, generation, SOURCE + i,
				       LKVFENCE_EVIDENCE_SUCCESS_CQE), "drained");
	release();
}

static void burst(const char *what, const struct answer *a, uint32_t nr)
{
	struct stats one, many, each = { .repeat = BURSTS };
	static char names[3][64];
	static uint32_t i;

	nr_burst = 1;
	one = answer_stats(a, BURSTS);
	nr_burst = nr;
	many = answer_stats(a, BURSTS);
	each.median = (many.median - one.median) / (nr - 1);
	each.min = (many.min - one.min) / (nr - 1);
	snprintf(names[i], sizeof(names[i]), "%s (1 to %u)", what, nr);
	report_add(names[i++], UNIT_COST_EACH, &each, 0);
}

static void bursts(uint32_t nr)
{
	static const struct answer by_ready = {
		"READY", all_pull, ready, all_drain,
		&consumer, LKVFENCE_EVENT_GRANTED, LKVFENCE_REASON_NONE, false
	};
	static const struct answer by_end = {
		"ABORT", all_pull, end, pass_over_both,
		&consumer, LKVFENCE_EVENT_REFUSED, LKVFENCE_REASON_ABORTED, false
	};
	static const struct answer by_all = {
		"ABORT of all", all_pull_unclaimed, end_all, pass_over_both,
		&consumer, LKVFENCE_EVENT_REFUSED, LKVFENCE_REASON_SHUTDOWN, false
	};
	struct lkvfence_info info = { 0 };

	if (nr < 2)
		return;
	check(lkvfence_info(&info), "info");
	report_group("one more pull, answered by the same call before");
	burst("READY", &by_ready, nr < info.max_leases ? nr : info.max_leases);
	burst("ABORT", &by_end, nr);
	burst("ABORT of all", &by_all, nr);
}

void answers(const struct options *options)
{
	struct stats stats[NR_CALLS];
	uint32_t repeat = options->repeat / 5 + 1;

	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (event_fd < 0 || timer_fd < 0)
		die("setting up the answers");
	causes_open();
	waiter_start();
	among_few(stats, repeat);
	crowd(options->pulls);
	among_many(stats, repeat);
	/* The crowd goes with its handles. */
	causes_close();
	causes_open();
	bursts(options->pulls);
	waiter_stop();
	causes_close();
	close(event_fd);
	close(timer_fd);
}
