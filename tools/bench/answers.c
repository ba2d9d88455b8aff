// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How soon an answer is there: from the moment before the call that causes it to
 * that in which a sleeping thread has read the event. What a futex takes to wake
 * the same thread, in the same run, is the yardstick.
 *
 * Where the cause is a clock, it is the time from what the module said was due, or
 * for a pull's own times from the moment before PULL plus what it asked for.
 *
 * Then those that matter again, among many pulls that wait: half of them for tags
 * nobody offers, half for one transfer that isn't ready; half on the handle that is
 * answered, half on another one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <lkvfence.h>
#include "bench.h"
#include "waiter.h"

#define NAME		"bench-answers"
#define PEER		"bench-answers"
#define NR_SLOTS	64
/* Of the transfer for which the crowd waits. */
#define CROWD_SLOT	32
#define CROWD_TAG	(1ULL << 32)
#define SOURCE		100
#define FEW_PULLS	1
#define MAX_MEMBERS	8
#define WARM_UP		10
#define MS		1000000ULL
#define HOUR		(3600000 * MS)

/* The shortest time that the module takes: it is over when the waiter sleeps. */
#define SHORT		(10 * MS)

/**
 * struct answer - an event, and what causes it
 * @name: for the table
 * @before: makes ready for one @cause, not measured; may be NULL
 * @cause: causes the event; sets @due where that isn't at once
 * @after: cleans up behind it, not measured; may be NULL
 * @on: the handle that is told
 * @type: of the event
 * @reason: of the event
 * @crowded: to be measured among many pulls, too
 */
struct answer {
	const char *name;
	void (*before)(void);
	void (*cause)(void);
	void (*after)(void);
	struct lkvfence **on;
	uint32_t type;
	uint32_t reason;
	bool crowded;
};

static struct lkvfence *producer, *consumer, *bystander;
/* The other ranks of a group, each with a region of its own. */
static struct lkvfence *ranks[MAX_MEMBERS - 1];
static uint64_t rank_generations[MAX_MEMBERS - 1];

/* Each transfer has a tag of its own, so that none meets another's tombstone. */
static uint64_t tag, generation, ticket, due;
static uint64_t group_number, session;
static uint32_t nr_crowd;

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	errno = 0;
	die("%s: %s", what, lkvfence_errmsg());
}

static struct lkvfence *open_region(const char *name)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE,
		.slot_size = 65536,
		.nr_slots = NR_SLOTS,
		.mode = 0600,
	};
	struct lkvfence *f;

	snprintf(open.name, sizeof(open.name), "%s", name);
	check(lkvfence_open(&f, &open), "open");
	return f;
}

/* What has been told already. */
static void pass_over(struct lkvfence *f)
{
	struct lkvfence_event events[64];

	while (lkvfence_events(f, events, 64, 0) > 0)
		;
}

/*
 * Steps, of which causes are made
 */

static uint64_t offer_by(struct lkvfence *f, uint64_t ttl_ns, uint32_t nr_sources)
{
	struct lkvfence_range range = { 0, 16 };
	uint32_t source = 1;
	struct lkvfence_begin b = {
		.tag = ++tag,
		.ranges = (uintptr_t)&range,
		.sources = (uintptr_t)&source,
		.nr_ranges = 1,
		.nr_sources = nr_sources,
		.ttl_ns = ttl_ns,
	};

	check(lkvfence_offer(f, &b), "offer");
	return b.generation;
}

static void offer(void)
{
	generation = offer_by(producer, 0, 0);
}

static void ask(uint64_t of_tag, uint64_t exact, uint64_t unclaimed_ns, uint64_t timeout_ns)
{
	struct lkvfence_pull p = {
		.flags = exact ? LKVFENCE_PULL_EXACT : 0,
		.tag = of_tag,
		.generation = exact,
		.source = SOURCE,
		.unclaimed_ns = unclaimed_ns,
		.timeout_ns = timeout_ns,
	};

	check(lkvfence_pull(consumer, &p), "pull");
	ticket = p.ticket;
}

static void pull(void)
{
	ask(tag, 0, HOUR, HOUR);
}

static void offer_pull(void)
{
	offer();
	pull();
}

static void pull_unclaimed(void)
{
	tag++;
	pull();
}

static void ready(void)
{
	struct lkvfence_ready r = { .generation = generation };

	check(lkvfence_ready(producer, &r), "ready");
}

static void offer_ready(void)
{
	offer();
	ready();
}

static void release(void)
{
	check(lkvfence_release(producer, generation), "release");
}

static void drain_release(void)
{
	check(lkvfence_drained(consumer, generation, SOURCE, LKVFENCE_EVIDENCE_SUCCESS_CQE),
	      "drained");
	release();
}

static void end(void)
{
	check(lkvfence_abort_generation(producer, generation), "abort");
}

static void offer_end(void)
{
	offer();
	end();
}

static void end_by_tag(void)
{
	check(lkvfence_abort_tag(producer, tag), "abort");
}

static void end_early(void)
{
	check(lkvfence_abort_early(producer, tag, 0), "abort");
}

static void end_all(void)
{
	check(lkvfence_abort_all(producer, LKVFENCE_REASON_SHUTDOWN), "abort");
}

static void drop(void)
{
	check(lkvfence_drop(consumer, generation), "drop");
}

static void withdraw(void)
{
	check(lkvfence_withdraw(consumer, ticket), "withdraw");
}

/* Nothing is known of it but that it was. */
static void pull_forgotten(void)
{
	ask(++tag, generation, HOUR, HOUR);
}

static void tell_producer(void)
{
	pass_over(producer);
}

/*
 * Producers that go
 */

static struct lkvfence *leaving;
static pid_t child;
static int pipe_fd;

static void offer_elsewhere(void)
{
	leaving = open_region(NAME);
	generation = offer_by(leaving, 0, 0);
	pull();
}

static void close_elsewhere(void)
{
	lkvfence_close(leaving);
}

/* It has the writing end of a pipe, and whatever it opens itself. */
static void start_child(void (*does)(void))
{
	pid_t parent = getpid();
	int ends[2];
	char c;

	if (pipe(ends))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		close(ends[0]);
		if (does)
			does();
		if (write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (read(ends[0], &c, 1) != 1) {
		errno = 0;
		die("a process ended early");
	}
	pipe_fd = ends[0];
}

static void child_offers(void)
{
	struct lkvfence *f = open_region(NAME);

	tag--;
	offer_by(f, 0, 0);
}

static void start_producer(void)
{
	tag++;
	start_child(child_offers);
	pull();
}

static void start_nobody(void)
{
	start_child(NULL);
}

static void kill_child(void)
{
	if (kill(child, SIGKILL))
		die("kill");
}

static void bury_child(void)
{
	waitpid(child, NULL, 0);
	close(pipe_fd);
}

/*
 * Clocks
 */

static void offer_for_short(void)
{
	struct lkvfence_query q = { .by = LKVFENCE_QUERY_GENERATION };

	generation = offer_by(producer, SHORT, 1);
	pull();
	q.generation = generation;
	check(lkvfence_query(producer, &q), "query");
	due = q.deadline_ns;
}

static void drain_producer(void)
{
	check(lkvfence_drained(producer, generation, 1, LKVFENCE_EVIDENCE_SUCCESS_CQE),
	      "drained");
	pass_over(producer);
}

static void ready_for_short(void)
{
	struct lkvfence_ready r = { .generation = generation, .ttl_ns = SHORT };

	check(lkvfence_ready(producer, &r), "ready");
	due = r.deadline_ns;
}

static void pull_for_short(void)
{
	due = waiter_now() + SHORT;
	ask(tag, 0, HOUR, SHORT);
}

static void pull_unclaimed_for_short(void)
{
	due = waiter_now() + SHORT;
	ask(++tag, 0, SHORT, HOUR);
}

/*
 * Groups: the last to join is the producer's
 */

static void group_of(uint32_t nr, uint32_t nr_sources)
{
	uint32_t i;

	group_number++;
	for (i = 0; i < nr - 1; i++) {
		rank_generations[i] = offer_by(ranks[i], 0, 0);
		check(lkvfence_join(ranks[i], rank_generations[i], group_number, nr), "join");
	}
	generation = offer_by(producer, 0, nr_sources);
	check(lkvfence_join(producer, generation, group_number, nr), "join");
}

/* All but the first to join are done. */
static void finish_most(uint32_t nr)
{
	uint32_t i;

	group_of(nr, 0);
	release();
	for (i = 1; i < nr - 1; i++)
		check(lkvfence_release(ranks[i], rank_generations[i]), "release");
}

static void finish_two(void)
{
	finish_most(2);
}

static void finish_eight(void)
{
	finish_most(MAX_MEMBERS);
}

static void finish_last(void)
{
	check(lkvfence_release(ranks[0], rank_generations[0]), "release");
}

static void join_two(void)
{
	group_of(2, 1);
}

static void end_member(void)
{
	check(lkvfence_abort_generation(ranks[0], rank_generations[0]), "abort");
}

static void pass_over_ranks(void)
{
	for (uint32_t i = 0; i < MAX_MEMBERS - 1; i++)
		pass_over(ranks[i]);
}

/* The release follows the proof, by the group's own decision. */
static void drain_member(void)
{
	struct lkvfence_event e;

	check(lkvfence_drained(producer, generation, 1, LKVFENCE_EVIDENCE_SUCCESS_CQE),
	      "drained");
	if (lkvfence_events(producer, &e, 1, -1) != 1 || e.type != LKVFENCE_EVENT_RELEASED) {
		errno = 0;
		die("no release of a group was told");
	}
	pass_over_ranks();
}

/*
 * Peers
 */

static void connect_by(struct lkvfence *f, uint32_t flags)
{
	struct lkvfence_peer p = {
		.op = LKVFENCE_PEER_OP_CONNECT,
		.flags = flags,
		.name = PEER,
		.session = ++session,
	};

	check(lkvfence_peer(f, &p), "peer");
}

static void new_session(void)
{
	connect_by(producer, 0);
}

static void fail_peer(void)
{
	check(lkvfence_peer_failed(producer, PEER, 0), "peer");
}

static void recover_peer(void)
{
	check(lkvfence_peer_recovered(producer, PEER, 0), "peer");
}

static void fail_peer_told(void)
{
	fail_peer();
	pass_over(consumer);
}

static void recover_peer_told(void)
{
	recover_peer();
	pass_over(consumer);
}

/*
 * The measurements
 */

#define GRANTED		LKVFENCE_EVENT_GRANTED
#define REFUSED		LKVFENCE_EVENT_REFUSED
#define RELEASED	LKVFENCE_EVENT_RELEASED
#define ENDED		LKVFENCE_EVENT_ENDED
#define CHANGED		LKVFENCE_EVENT_PEER
#define REASON(name)	LKVFENCE_REASON_##name

static const struct answer calls[] = {
	{ "granted: READY", offer_pull, ready, drain_release,
	  &consumer, GRANTED, REASON(NONE), true },
	{ "granted: PULL of what is READY", offer_ready, pull, drain_release,
	  &consumer, GRANTED, REASON(NONE), true },
	{ "aborted: ABORT by generation", offer_pull, end, tell_producer,
	  &consumer, REFUSED, REASON(ABORTED), true },
	{ "aborted: ABORT by tag", offer_pull, end_by_tag, tell_producer,
	  &consumer, REFUSED, REASON(ABORTED), true },
	{ "aborted: ABORT before the offer", pull_unclaimed, end_early, NULL,
	  &consumer, REFUSED, REASON(ABORTED), true },
	{ "aborted: PULL that comes after it", offer_end, pull, tell_producer,
	  &consumer, REFUSED, REASON(ABORTED), true },
	{ "finished: RELEASE", offer_pull, release, NULL,
	  &consumer, REFUSED, REASON(FINISHED), true },
	{ "dropped by a consumer", offer_pull, drop, tell_producer,
	  &consumer, REFUSED, REASON(DROPPED), true },
	{ "withdrawn", offer_pull, withdraw, release,
	  &consumer, REFUSED, REASON(WITHDRAWN), true },
	{ "unknown: PULL of a generation that is over", offer_end, pull_forgotten,
	  tell_producer, &consumer, REFUSED, REASON(UNKNOWN), true },
	{ "orphaned: the producer's handle is closed", offer_elsewhere, close_elsewhere,
	  NULL, &consumer, REFUSED, REASON(ORPHANED), true },
	{ "orphaned: the producer is killed", start_producer, kill_child, bury_child,
	  &consumer, REFUSED, REASON(ORPHANED), false },
	{ "group of 2: the last RELEASE", finish_two, finish_last, pass_over_ranks,
	  &producer, RELEASED, REASON(FINISHED), true },
	{ "group of 8: likewise, the last one told", finish_eight, finish_last,
	  pass_over_ranks, &producer, RELEASED, REASON(FINISHED), true },
	{ "group of 2: the other member's ABORT", join_two, end_member, drain_member,
	  &producer, ENDED, REASON(ABORTED), true },
	{ "peer: failed", NULL, fail_peer, recover_peer_told,
	  &consumer, CHANGED, REASON(FAILED), false },
	{ "peer: recovered", fail_peer_told, recover_peer, NULL,
	  &consumer, CHANGED, REASON(NONE), false },
	{ "peer: a new session", NULL, new_session, NULL,
	  &consumer, CHANGED, REASON(NONE), false },
};

/* It answers whoever waits, so it can't be among others. */
static const struct answer alone[] = {
	{ "aborted: ABORT of all", offer_pull, end_all, tell_producer,
	  &consumer, REFUSED, REASON(SHUTDOWN), false },
};

static const struct answer clocks[] = {
	{ "expired: its time to live", NULL, offer_for_short, drain_producer,
	  &consumer, REFUSED, REASON(EXPIRED), true },
	{ "expired: READY's time to live, told to the producer", offer, ready_for_short,
	  NULL, &producer, RELEASED, REASON(EXPIRED), true },
	{ "unknown: nobody offers it", NULL, pull_unclaimed_for_short, NULL,
	  &consumer, REFUSED, REASON(UNKNOWN), true },
	{ "deadline of the pull", offer, pull_for_short, release,
	  &consumer, REFUSED, REASON(DEADLINE), true },
};

static double answer_once(const struct answer *a)
{
	struct lkvfence_event event;
	uint64_t start, seen;

	if (a->before)
		a->before();
	waiter_arm(WAITER_EVENT, *a->on, -1);
	due = 0;
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
	return (double)seen - (double)(due ?: start);
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

	start_nobody();
	waiter_arm(WAITER_FD, NULL, pipe_fd);
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

static void open_all(void)
{
	char name[32];

	producer = open_region(NAME);
	consumer = open_region(NAME);
	bystander = open_region(NAME);
	for (uint32_t i = 0; i < MAX_MEMBERS - 1; i++) {
		snprintf(name, sizeof(name), NAME "-%u", i);
		ranks[i] = open_region(name);
	}
	connect_by(consumer, LKVFENCE_PEER_WATCH);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (event_fd < 0 || timer_fd < 0)
		die("setting up the answers");
}

static void close_all(void)
{
	close(event_fd);
	close(timer_fd);
	for (uint32_t i = 0; i < MAX_MEMBERS - 1; i++)
		lkvfence_close(ranks[i]);
	lkvfence_close(bystander);
	lkvfence_close(consumer);
	lkvfence_close(producer);
}

static void among_few(struct stats *stats, struct stats *late, uint32_t repeat)
{
	struct stats futex, all;
	uint32_t i;

	report_group("who waits is told, from the cause; %u other pull waits", FEW_PULLS);
	futex = yardstick("for comparison: a futex wakes a thread", futex_once, repeat);
	yardstick("for comparison: an eventfd, by poll and read", eventfd_once, repeat);
	yardstick("for comparison: a process is killed, its pipe ends", death_once, repeat);
	measure_all(alone, ARRAY_SIZE(alone), &all, false, repeat);
	offer_crowd();
	crowd(FEW_PULLS);
	measure_all(calls, ARRAY_SIZE(calls), stats, false, repeat);
	must_wait(FEW_PULLS);

	report_group("the same, against the futex");
	add_ratio(alone[0].name, &all, &futex);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		add_ratio(calls[i].name, &stats[i], &futex);

	report_group("from when it was due; %u other pull waits", FEW_PULLS);
	yardstick("for comparison: a timerfd, by poll and read", timerfd_once, repeat);
	measure_all(clocks, ARRAY_SIZE(clocks), late, false, repeat);
}

static void ratios(const struct answer *a, uint32_t nr, const struct stats *many,
		   const struct stats *few)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (a[i].crowded)
			add_ratio(a[i].name, &many[i], &few[i]);
	}
}

static void among_many(const struct stats *stats, const struct stats *late, uint32_t repeat)
{
	struct stats many[ARRAY_SIZE(calls)], many_late[ARRAY_SIZE(clocks)];

	report_group("who waits is told; %u other pulls wait", nr_crowd);
	measure_all(calls, ARRAY_SIZE(calls), many, true, repeat);
	report_group("from when it was due; %u other pulls wait", nr_crowd);
	measure_all(clocks, ARRAY_SIZE(clocks), many_late, true, repeat);
	must_wait(nr_crowd);
	report_group("%u other pulls wait, against %u", nr_crowd, FEW_PULLS);
	ratios(calls, ARRAY_SIZE(calls), many, stats);
	ratios(clocks, ARRAY_SIZE(clocks), many_late, late);
}

void answers(const struct options *options)
{
	struct stats stats[ARRAY_SIZE(calls)], late[ARRAY_SIZE(clocks)];
	uint32_t repeat = options->repeat / 5 + 1;

	open_all();
	waiter_start();
	among_few(stats, late, repeat);
	crowd(options->pulls);
	among_many(stats, late, repeat);
	waiter_stop();
	close_all();
}
