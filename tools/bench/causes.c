// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Each answer there is, and how it is brought about. What makes ready has been
 * told, and what it told has been read, before the thread that waits goes to sleep:
 * so the event that it reads is the one that was caused.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence.h>
#include "bench.h"
#include "causes.h"
#include "waiter.h"

#define NAME		"bench-answers"
#define PEER		"bench-answers"
#define NR_SLOTS	64
#define MAX_MEMBERS	8

struct lkvfence *producer, *consumer, *bystander;
/* The other ranks of a group, each with a region of its own. */
static struct lkvfence *ranks[MAX_MEMBERS - 1];
static uint64_t rank_generations[MAX_MEMBERS - 1];

uint64_t tag, generation, causes_due;
static uint64_t ticket, group_number, session;

void check(int err, const char *what)
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
void pass_over(struct lkvfence *f)
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
		.tag = tag + 1,
		.ranges = (uintptr_t)&range,
		.sources = (uintptr_t)&source,
		.nr_ranges = 1,
		.nr_sources = nr_sources,
		.ttl_ns = ttl_ns,
	};

	tag++;
	check(lkvfence_offer(f, &b), "offer");
	return b.generation;
}

void offer(void)
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

void pull(void)
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

void ready(void)
{
	struct lkvfence_ready r = { .generation = generation };

	check(lkvfence_ready(producer, &r), "ready");
}

static void offer_ready(void)
{
	offer();
	ready();
}

void release(void)
{
	check(lkvfence_release(producer, generation), "release");
}

static void drain_release(void)
{
	check(lkvfence_drained(consumer, generation, SOURCE, LKVFENCE_EVIDENCE_SUCCESS_CQE),
	      "drained");
	release();
}

void end(void)
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

void end_all(void)
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

static void child_opens(void)
{
	open_region(NAME);
}

int start_nobody(void)
{
	start_child(child_opens);
	return pipe_fd;
}

void kill_child(void)
{
	if (kill(child, SIGKILL))
		die("kill");
}

void bury_child(void)
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
	causes_due = q.deadline_ns;
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
	causes_due = r.deadline_ns;
}

static void pull_for_short(void)
{
	causes_due = waiter_now() + SHORT;
	ask(tag, 0, HOUR, SHORT);
}

static void pull_unclaimed_for_short(void)
{
	causes_due = waiter_now() + SHORT;
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
		.session = session + 1,
	};

	session++;
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
 * All that this needs
 */

void causes_open(void)
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
}

void causes_close(void)
{
	for (uint32_t i = 0; i < MAX_MEMBERS - 1; i++)
		lkvfence_close(ranks[i]);
	lkvfence_close(bystander);
	lkvfence_close(consumer);
	lkvfence_close(producer);
}

/*
 * The tables
 */

#define GRANTED		LKVFENCE_EVENT_GRANTED
#define REFUSED		LKVFENCE_EVENT_REFUSED
#define RELEASED	LKVFENCE_EVENT_RELEASED
#define ENDED		LKVFENCE_EVENT_ENDED
#define CHANGED		LKVFENCE_EVENT_PEER
#define REASON(name)	LKVFENCE_REASON_##name

const struct answer calls[NR_CALLS] = {
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

const struct answer all = {
	"aborted: ABORT of all (no other waits)", offer_pull, end_all, tell_producer,
	&consumer, REFUSED, REASON(SHUTDOWN), false
};

const struct answer clocks[NR_CLOCKS] = {
	{ "expired: its time to live", NULL, offer_for_short, drain_producer,
	  &consumer, REFUSED, REASON(EXPIRED), true },
	{ "expired: READY's time to live, told to the producer", offer, ready_for_short,
	  NULL, &producer, RELEASED, REASON(EXPIRED), true },
	{ "unknown: nobody offers it", NULL, pull_unclaimed_for_short, NULL,
	  &consumer, REFUSED, REASON(UNKNOWN), true },
	{ "deadline of the pull", offer, pull_for_short, release,
	  &consumer, REFUSED, REASON(DEADLINE), true },
};
