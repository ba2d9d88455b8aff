// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * fork(2): parent and child have the same handle. Either may call, an event
 * goes to who reads it first, and it is closed when both have closed it.
 */
#include <signal.h>

#include "e2e.h"

static struct lkvfence *f, *watcher;
static uint64_t generation;

static int child_calls(void *arg)
{
	struct lkvfence_query q = query(f, generation);
	uint64_t g;

	(void)arg;
	if (q.flags != LKVFENCE_TRANSFER_MINE || drained(f, generation, 1))
		return 1;
	/* Its own is the handle's, too. */
	g = begin(f, 2, 8, 8, 1);
	return query(f, g).flags == LKVFENCE_TRANSFER_MINE &&
	       query(f, g).pid == getpid() ? 0 : 2;
}

static int child_reads(void *arg)
{
	(void)arg;
	return event(f).generation == generation ? 0 : 1;
}

static int child_closes(void *arg)
{
	(void)arg;
	lkvfence_close(f);
	return 0;
}

int main(void)
{
	struct lkvfence_query q;
	uint64_t of_child;
	pid_t pid;

	f = region("fork", 64);
	watcher = region("fork", 64);
	generation = begin(f, 1, 0, 8, 2);
	gives(in_child(child_calls, NULL), 0, "the child may call");
	q = (struct lkvfence_query){ .by = LKVFENCE_QUERY_TAG, .tag = 2 };
	gives(lkvfence_query(f, &q), 0, "what it began is there when it has exited");
	of_child = q.generation;
	check(q.state == LKVFENCE_STATE_WAITING && q.flags == LKVFENCE_TRANSFER_MINE,
	      "and not ended, for we have the handle");
	gives(query(f, generation).leases_out, 1, "what it returned is returned");
	gives(in_child(child_closes, NULL), 0, "the child closes the handle");
	gives(query(watcher, generation).state, LKVFENCE_STATE_WAITING,
	      "the parent has it still");
	gives(stat_of(watcher).handles, 2, "it is one handle");

	need(!lkvfence_abort_generation(f, generation) && !drained(f, generation, 2),
	     "ABORT, RETURN");
	gives(in_child(child_reads, NULL), 0, "the child reads the event");
	check(silent(f), "then the parent doesn't get it");

	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		lkvfence_close(watcher);
		for (;;)
			pause();
	}
	lkvfence_close(f);
	usleep(100000);
	gives(query(watcher, of_child).state, LKVFENCE_STATE_WAITING,
	      "the parent closes it: the child has it");
	kill(pid, SIGKILL);
	status_of(pid);
	q = query(watcher, of_child);
	check(q.state == LKVFENCE_STATE_ENDED && q.reason == LKVFENCE_REASON_ORPHANED,
	      "it is closed when both are gone");
	clear(watcher);
	lkvfence_close(watcher);
	return done();
}
