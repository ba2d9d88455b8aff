// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L11: when a process that pulls is killed, its waiting pulls go with it, counted as
 * closed, and so do answers that it has not read; a lease that it was granted stays out
 * until somebody proves it. Others' pulls of the same tags wait on.
 */
#include <signal.h>

#include "pull.h"

#define NAME	"L11-pulls-of-the-dead"
#define WAITING	200

/* Pulls of what is offered, what isn't, and of what is ready; reads nothing. */
static int consumer(int out)
{
	struct lkvfence *f = region(NAME, 0);
	unsigned int i;

	for (i = 0; i < WAITING; i++)
		pull(f, i % 2 ? 1 : 1000 + i, 100 + i);
	pull(f, 2, 100);
	need(!lkvfence_withdraw(f, pull(f, 3, 100)), "WITHDRAW");
	if (write(out, "r", 1) != 1)
		return 1;
	for (;;)
		pause();
}

int main(void)
{
	struct lkvfence *f = region(NAME, 64);
	uint64_t offered = offer(f, 1, 0, 4, 0), is_ready = offer(f, 2, 4, 4, 0), mine;
	uint64_t tickets = objects("tickets"), handles = objects("handles");
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	int fds[2];
	pid_t pid;
	char c;

	need(!ready(f, is_ready, 0, 1), "READY");
	mine = pull(f, 1, 50);
	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(consumer(fds[1]));
	need(read(fds[0], &c, 1) == 1, "a consumer");
	stat = stat_of(f);
	check(stat.tickets == WAITING + 1 && stat.pulls == WAITING + 3 &&
	      stat.pulls_granted == 1 && stat.pulls_refused == 1 && adds_up(&stat),
	      "%d pulls wait", WAITING);
	gives(objects("tickets"), tickets + 1 + WAITING + 2, "and two answers");

	kill(pid, SIGKILL);
	gives(status_of(pid), 128 + SIGKILL, "the consumer is killed");
	need(until(objects("handles") == handles), "its handle is closed");
	stat = stat_of(f);
	check(stat.tickets == 1 && stat.pulls_closed == WAITING && stat.pulls_granted == 1 &&
	      stat.pulls_refused == 1 && adds_up(&stat), "its pulls are closed");
	gives(objects("tickets"), tickets + 1, "nothing is left of them");
	check(silent(f), "that is nobody's event");

	check(query(f, is_ready).leases_out == 1 && query(f, is_ready).state ==
	      LKVFENCE_STATE_READY, "what it was granted is out");
	gives(lkvfence_release(f, is_ready), -EBUSY, "the slots are kept");
	gives(ready(f, offered, 0, 0), 0, "READY");
	check(granted(f, mine, offered), "another's pull of the same tag is granted");
	gives(query(f, offered).nr_leases, 1, "and nobody else's");

	/* Who took the queue pair away can prove it for the dead. */
	gives(revoked(f, is_ready, 100), 0, "proof");
	check(silent(f), "a read that was cut off has not taken it");
	gives(lkvfence_release(f, is_ready), 0, "RELEASE");
	gives(drained(f, offered, 50) ?: lkvfence_release(f, offered), 0, "RELEASE");
	e = at_once(f);
	check(!e.type, "no event follows");
	lkvfence_close(f);
	check(until(!region_exists(NAME)), "the region is gone");
	return done();
}
