// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L12: transfers of several regions and processes that joined a group come back
 * together, or not at all; each owner is told the same, whoever of them has died.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "e2e.h"

#define RANKS	4
#define SLOTS	16
#define SOMEBODY	1234

static struct lkvfence *ranks[RANKS];
static uint64_t generations[RANKS];
static uint64_t last_group;

static struct lkvfence *rank_region(uint32_t i, uint32_t slots)
{
	char name[32];

	snprintf(name, sizeof(name), "L12-%u", i);
	return region(name, slots);
}

/* A transfer of each of the first @nr ranks, all in one group, a lease of source 1 out. */
static void begin_all(uint32_t nr, uint32_t size, uint32_t policy)
{
	uint32_t i;

	last_group++;
	for (i = 0; i < nr; i++) {
		struct lkvfence_begin b = want(last_group, 0, 4, 1);

		b.policy = policy;
		need(!lkvfence_begin(ranks[i], &b), "BEGIN: %s", lkvfence_errmsg());
		generations[i] = b.generation;
		need(!lkvfence_join(ranks[i], b.generation, last_group, size), "JOIN: %s",
		     lkvfence_errmsg());
	}
}

static uint64_t taken(uint32_t i)
{
	return stat_of(ranks[i]).slots_taken;
}

static bool all_taken(uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (taken(i) != 4)
			return false;
	}
	return true;
}

static struct lkvfence_event released(struct lkvfence *f)
{
	struct lkvfence_event e;

	do
		e = event(f);
	while (e.type && e.type != LKVFENCE_EVENT_RELEASED);
	return e;
}

/* Each is told, and told the same. */
static void all_told(uint32_t nr, uint32_t outcome, uint32_t evidence, const char *what)
{
	uint32_t i, same = 0;

	for (i = 0; i < nr; i++) {
		struct lkvfence_event e = released(ranks[i]);

		same += e.generation == generations[i] && e.outcome == outcome &&
			e.evidence == evidence;
	}
	check(same == nr, "%s: %u of %u are told that it is %s, by %s", what, same, nr,
	      lkvfence_outcome_name(outcome), lkvfence_evidence_name(evidence));
	for (i = 0; i < nr; i++)
		need(!taken(i), "the slots of rank %u are back", i);
}

static void finish(void)
{
	uint32_t i;

	begin_all(RANKS, RANKS, 0);
	check(query(ranks[0], generations[0]).flags & LKVFENCE_TRANSFER_GROUPED,
	      "QUERY tells who is in a group");
	for (i = 0; i < RANKS; i++) {
		gives(lkvfence_release(ranks[i], generations[i]), -EBUSY,
		      "rank %u: a lease is out", i);
		need(!drained(ranks[i], generations[i], 1), "RETURN");
		check(all_taken(RANKS), "rank %u is done: all slots are out", i);
		gives(lkvfence_release(ranks[i], generations[i]), 0, "it is finished");
		if (i + 1 == RANKS)
			break;
		check(all_taken(RANKS) && query(ranks[i], generations[i]).flags &
		      LKVFENCE_TRANSFER_GATHERED, "and waits for the others");
		gives(stat_of(ranks[i]).transfers_gathered, 1, "which is counted");
		gives(lkvfence_release(ranks[i], generations[i]), -EBUSY, "a second time: EBUSY");
	}
	all_told(RANKS, LKVFENCE_OUTCOME_COMPLETED, LKVFENCE_EVIDENCE_SUCCESS_CQE,
		 "all have finished");
	gives(stat_of(ranks[0]).joined, 1, "who joined is counted");
}

static void abort_of_one(void)
{
	struct lkvfence_event e;
	uint32_t i;

	begin_all(RANKS, RANKS, 0);
	need(!drained(ranks[0], generations[0], 1) &&
	     !lkvfence_release(ranks[0], generations[0]), "RELEASE");
	gives(abort_with(ranks[2], generations[2], 0, 600000), 0, "one is aborted");
	for (i = 1; i < RANKS; i++) {
		if (i == 2)
			continue;
		e = event(ranks[i]);
		check(e.type == LKVFENCE_EVENT_ENDED && e.generation == generations[i] &&
		      e.reason == LKVFENCE_REASON_ABORTED, "rank %u is ended for that", i);
		gives(lkvfence_take(ranks[i], generations[i], 2), -ECANCELED, "and stays so");
	}
	for (i = 1; i < RANKS; i++) {
		check(all_taken(RANKS), "%u are without proof: all slots are out", RANKS - i);
		need(!drained(ranks[i], generations[i], 1), "RETURN");
	}
	all_told(RANKS, LKVFENCE_OUTCOME_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE,
		 "one was aborted");
	check(stat_of(ranks[1]).ended_by_group == 1 && !stat_of(ranks[0]).ended_by_group,
	      "who was ended for another's sake is counted");
}

/* A rank's process is killed, with its lease out. */
static void killed(uint32_t policy)
{
	struct lkvfence_event e;
	int pipes[2];
	uint32_t i;
	pid_t pid;

	set_param("timeout_default_ms", 1000);
	begin_all(RANKS - 1, RANKS, policy);
	need(!pipe(pipes), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		/* The others' handles would live on in it. */
		for (i = 0; i < RANKS; i++)
			lkvfence_close(ranks[i]);
		ranks[RANKS - 1] = rank_region(RANKS - 1, 0);
		generations[RANKS - 1] = begin(ranks[RANKS - 1], last_group, 0, 4, 1);
		need(!lkvfence_join(ranks[RANKS - 1], generations[RANKS - 1], last_group, RANKS),
		     "JOIN");
		need(write(pipes[1], "x", 1) == 1, "a word");
		for (;;)
			pause();
	}
	need(read(pipes[0], &i, 1) == 1, "the last rank has joined");
	close(pipes[0]);
	close(pipes[1]);
	need(!kill(pid, SIGKILL), "kill");
	status_of(pid);
	e = event(ranks[0]);
	check(e.type == LKVFENCE_EVENT_ENDED && e.reason == LKVFENCE_REASON_ORPHANED,
	      "a rank is dead: the others are ended");
	for (i = 0; i < RANKS - 1; i++)
		need(!drained(ranks[i], generations[i], 1), "RETURN");
	check(all_taken(RANKS), "they are quiet, and held for its sake");
}

static void death(void)
{
	uint64_t g;

	killed(LKVFENCE_POLICY_TAINT);
	all_told(RANKS - 1, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT,
		 "one is dead");
	gives(taken(RANKS - 1), 0, "the dead one's are back as well");

	killed(LKVFENCE_POLICY_QUARANTINE);
	/* The dead one's own policy is the default. */
	all_told(RANKS - 1, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT,
		 "its own policy decides");
	put_params_back();

	begin_all(RANKS, RANKS, LKVFENCE_POLICY_QUARANTINE);
	gives(abort_with(ranks[0], generations[0], 0, 100), 0, "with quarantine");
	need(!drained(ranks[1], generations[1], 1) && !drained(ranks[2], generations[2], 1) &&
	     !drained(ranks[3], generations[3], 1), "RETURN");
	check(until(query(ranks[0], generations[0]).flags & LKVFENCE_TRANSFER_QUARANTINED),
	      "the silent one is in quarantine");
	check(all_taken(RANKS), "and all slots are out");
	g = generations[1];
	gives(lkvfence_force_release(ranks[1], g), -EBUSY, "who isn't can't be let go of");
	gives(lkvfence_force_release(ranks[0], generations[0]), 0, "an administrator lets go");
	all_told(RANKS, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT, "by force");
}

/* Two of four have come. */
static void incomplete(void)
{
	uint64_t late;
	uint32_t i;

	begin_all(2, RANKS, 0);
	late = begin(ranks[2], last_group, 0, 4, 0);
	gives(lkvfence_join(ranks[2], late, last_group, 3), -EINVAL, "another number of members");
	gives(lkvfence_join(ranks[0], generations[0], last_group, RANKS), -EEXIST, "JOIN, twice");
	gives(abort_with(ranks[0], generations[0], 0, 600000), 0, "one of two of four is aborted");
	need(!drained(ranks[0], generations[0], 1) && !drained(ranks[1], generations[1], 1),
	     "RETURN");
	all_told(2, LKVFENCE_OUTCOME_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE,
		 "nobody waits for who hasn't come");
	gives(lkvfence_join(ranks[2], late, last_group, RANKS), -ECANCELED,
	      "who comes later is told");
	gives(lkvfence_abort_generation(ranks[2], late), 0, "and ends alone");
	check(released(ranks[2]).generation == late, "released");

	set_param("timeout_default_ms", 500);
	begin_all(2, RANKS, 0);
	for (i = 0; i < 2; i++)
		need(!drained(ranks[i], generations[i], 1) &&
		     !lkvfence_release(ranks[i], generations[i]), "RELEASE");
	check(taken(0) == 4 && taken(1) == 4, "two have finished, two haven't come");
	all_told(2, LKVFENCE_OUTCOME_COMPLETED, LKVFENCE_EVIDENCE_SUCCESS_CQE,
		 "they are not waited for any longer");
	put_params_back();
}

/* Another user's group, of the number that one of root's has. */
static int somebody(void *arg)
{
	uint64_t g[2], number = *(uint64_t *)arg;
	struct lkvfence *f;
	uint32_t i;

	become(SOMEBODY, SOMEBODY);
	f = region("L12-other", SLOTS);
	for (i = 0; i < 2; i++) {
		g[i] = begin(f, i, 4 * i, 4, 0);
		if (lkvfence_join(f, g[i], number, 2))
			return 1;
	}
	for (i = 0; i < 2; i++) {
		if (lkvfence_release(f, g[i]))
			return 2;
	}
	for (i = 0; i < 2; i++) {
		if (released(f).generation != g[i])
			return 3;
	}
	lkvfence_close(f);
	return 0;
}

static void others(void)
{
	struct stat st;
	uint32_t i;

	need(!stat(LKVFENCE_DEVICE, &st) && !chmod(LKVFENCE_DEVICE, 0666), "chmod");
	begin_all(1, 2, 0);
	gives(in_child(somebody, &last_group), 0, "another user's group has the same number");
	need(!chmod(LKVFENCE_DEVICE, st.st_mode & 07777), "chmod");
	check(taken(0) == 4, "root's still waits for its second member");
	generations[1] = begin(ranks[1], last_group, 0, 4, 1);
	gives(lkvfence_join(ranks[1], generations[1], last_group, 2), 0, "which comes");
	for (i = 0; i < 2; i++)
		need(!drained(ranks[i], generations[i], 1) &&
		     !lkvfence_release(ranks[i], generations[i]), "RELEASE");
	all_told(2, LKVFENCE_OUTCOME_COMPLETED, LKVFENCE_EVIDENCE_SUCCESS_CQE, "both are done");
}

static uint64_t groups(void)
{
	uint64_t created = atoll(line_of("/sys/class/misc/lkvfence/objects/groups_created"));

	return created - atoll(line_of("/sys/class/misc/lkvfence/objects/groups_destroyed"));
}

/* L8: of groups that are over and were never complete, so many are remembered. */
static void remembered(void)
{
	uint64_t g, first;
	uint32_t n, i;

	set_param("max_tombstones", 3);
	first = last_group + 1;
	for (n = 0; n < 8; n++) {
		begin_all(2, RANKS, 0);
		need(!abort_with(ranks[0], generations[0], 0, 600000), "ABORT");
		for (i = 0; i < 2; i++)
			need(!drained(ranks[i], generations[i], 1), "RETURN");
		for (i = 0; i < 2; i++)
			need(released(ranks[i]).generation == generations[i], "released");
	}
	check(until(groups() == 3), "three of eight groups are remembered");
	g = begin(ranks[0], 1, 0, 4, 0);
	gives(lkvfence_join(ranks[0], g, last_group - 2, RANKS), -ECANCELED,
	      "the third from the end is");
	gives(lkvfence_join(ranks[0], g, first, RANKS), 0, "the first is not: it is a new one");
	gives(lkvfence_abort_generation(ranks[0], g), 0, "ABORT");
	check(released(ranks[0]).generation == g, "which ends alone");
	put_params_back();
}

/* Looks without pause: does it ever see one free, and the other not? */
static void *watch(void *arg)
{
	bool *stop = arg;
	uintptr_t torn = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		/* The first one is looked at again, for a step may lie between the two. */
		bool first = taken(0), second = taken(1), again = taken(0);

		torn += first == again && first != second;
	}
	return (void *)torn;
}

static void one_step(void)
{
	bool stop = false;
	uint32_t i, n;
	pthread_t thread;
	void *torn;

	/* Taken and given back by turns, by others' calls: only the release is one step. */
	for (n = 0; n < 50; n++) {
		begin_all(2, 2, 0);
		stop = false;
		need(!pthread_create(&thread, NULL, watch, &stop), "a thread");
		for (i = 0; i < 2; i++)
			need(!drained(ranks[i], generations[i], 1) &&
			     !lkvfence_release(ranks[i], generations[i]), "RELEASE");
		for (i = 0; i < 2; i++)
			need(released(ranks[i]).generation == generations[i], "an event");
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, &torn);
		if (torn)
			break;
	}
	check(n == 50, "nobody ever sees one back and the other not");
}

/* Many groups over the same regions, joined and finished in both orders at once. */
static void *crossing(void *arg)
{
	uint64_t base = (uintptr_t)arg, n, g[2];
	uint32_t order = base & 1, i;

	for (n = 0; n < 100; n++) {
		for (i = 0; i < 2; i++) {
			uint32_t at = i ^ order;

			g[at] = begin(ranks[at], base << 32 | n, 4 + 4 * order, 4, 1);
			need(!lkvfence_join(ranks[at], g[at], base << 32 | n, 2), "JOIN");
		}
		for (i = 0; i < 2; i++) {
			uint32_t at = i ^ order;

			need(!drained(ranks[at], g[at], 1) && !lkvfence_release(ranks[at], g[at]),
			     "RELEASE");
		}
		need(until(lkvfence_query(ranks[order ^ 1], &(struct lkvfence_query){
				.generation = g[order ^ 1] }) == -ESTALE), "released");
	}
	return NULL;
}

static void crossed(void)
{
	pthread_t threads[2];
	uintptr_t i;

	for (i = 0; i < 2; i++)
		need(!pthread_create(&threads[i], NULL, crossing, (void *)(1000 + i)), "a thread");
	for (i = 0; i < 2; i++)
		need(!pthread_join(threads[i], NULL), "the thread");
	check(!taken(0) && !taken(1), "groups over the same regions, in either order");
	for (i = 0; i < 2; i++) {
		while (!silent(ranks[i]))
			;
	}
}

/* As many as there may be, and all of one region. */
static void largest(void)
{
	struct lkvfence *f = region("L12-large", 64);
	struct lkvfence_info info = { 0 };
	uint64_t g[64], in_order = 0;
	uint32_t i;

	need(!lkvfence_info(&info), "INFO");
	gives(info.max_members, 64, "members that a group may have");
	for (i = 0; i < 64; i++) {
		g[i] = begin(f, i, i, 1, 0);
		need(!lkvfence_join(f, g[i], 1, 64), "JOIN");
	}
	for (i = 64; i--;)
		need(!lkvfence_release(f, g[i]), "RELEASE");
	for (i = 0; i < 64; i++)
		in_order += released(f).generation == g[i];
	check(in_order == 64, "64 members are told in the order in which they joined");
	lkvfence_close(f);
}

/* The handles go while members wait. */
static void closed(void)
{
	uint32_t i;

	set_param("timeout_default_ms", 1000);
	begin_all(RANKS, RANKS, 0);
	need(!drained(ranks[0], generations[0], 1) &&
	     !lkvfence_release(ranks[0], generations[0]), "RELEASE");
	for (i = 0; i < RANKS; i++)
		lkvfence_close(ranks[i]);
	check(region_exists("L12-0"), "a region lives as long as its member");
	check(until(!region_exists("L12-0") && !region_exists("L12-3")),
	      "and goes with it, at the deadline of the others");
	put_params_back();
}

int main(void)
{
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		ranks[i] = rank_region(i, SLOTS);
	finish();
	abort_of_one();
	death();
	incomplete();
	others();
	remembered();
	one_step();
	crossed();
	largest();
	closed();
	return done();
}
