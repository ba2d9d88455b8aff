// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L11: who opens a region after a crash finds the same transfers, slots and
 * generations, and may adopt them, so that the releases are told to it.
 */
#include <signal.h>

#include "e2e.h"

#define NAME	"L11"
#define HANDLES	3
#define EACH	4
#define NR	(HANDLES * EACH)

/* An engine with several handles; some of its transfers have ended. */
static int engine(int pipe)
{
	uint64_t g[NR];
	int i;

	for (i = 0; i < NR; i++) {
		static struct lkvfence *f;

		if (i % EACH == 0)
			f = region(NAME, 64);
		if (i % 2)
			g[i] = begin(f, i, 4 * i, 4, 2);
		else
			g[i] = hold(f, i, 4 * i, 4, 2, LKVFENCE_POLICY_QUARANTINE, 60000);
		need(!drained(f, g[i], 1), "RETURN");
	}
	if (write(pipe, g, sizeof(g)) != sizeof(g))
		return 1;
	for (;;)
		pause();
}

int main(void)
{
	uint64_t g[NR], deadlines[NR] = { 0 };
	struct lkvfence *f, *other;
	struct lkvfence_stat stat;
	struct lkvfence_query q;
	struct lkvfence_event e;
	unsigned int i, wrong = 0;
	int fds[2];
	pid_t pid;

	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(engine(fds[1]));
	need(read(fds[0], g, sizeof(g)) == sizeof(g), "an engine");
	f = region(NAME, 0);
	for (i = 0; i < NR; i++)
		deadlines[i] = query(f, g[i]).deadline_ns;
	/* So that nobody has the region open when the engine dies. */
	lkvfence_close(f);
	kill(pid, SIGKILL);
	gives(status_of(pid), 128 + SIGKILL, "the engine is killed");

	f = region(NAME, 0);
	other = region(NAME, 0);
	stat = stat_of(f);
	check(stat.transfers_alive == NR && stat.transfers_held == NR &&
	      stat.slots_held == 4 * NR && stat.begun == NR && stat.handles == 2,
	      "all its slots are held");
	for (i = 0; i < NR; i++) {
		q = (struct lkvfence_query){
			.by = LKVFENCE_QUERY_NEXT,
			.generation = i ? g[i - 1] : 0,
		};
		wrong += lkvfence_query(f, &q) || q.generation != g[i] || q.tag != i ||
			 q.flags != LKVFENCE_TRANSFER_ORPHANED || q.leases_out != 1 ||
			 q.pid != pid || q.nr_slots != 4;
		if (i % 2)
			wrong += q.reason != LKVFENCE_REASON_ORPHANED ||
				 q.deadline_ns != q.ended_ns + 30000 * MS ||
				 q.policy != LKVFENCE_POLICY_TAINT;
		else
			wrong += q.reason != LKVFENCE_REASON_ABORTED ||
				 q.deadline_ns != deadlines[i] ||
				 q.policy != LKVFENCE_POLICY_QUARANTINE;
	}
	gives(wrong, 0, "the same generations, tags, slots, leases and deadlines");

	for (i = 0; i < NR; i++)
		wrong += lkvfence_adopt(i < EACH ? f : other, g[i]) != 0;
	gives(wrong, 0, "all are adopted, by two handles");
	for (i = 0; i < NR; i++)
		wrong += drained(f, g[i], 1) != -EALREADY || drained(f, g[i], 2) != 0;
	gives(wrong, 0, "what was proven before the crash is proven; the rest is now");
	for (i = 0; i < NR; i++) {
		e = event(i < EACH ? f : other);
		wrong += e.generation != g[i] || e.outcome != LKVFENCE_OUTCOME_DRAINED ||
			 e.type != LKVFENCE_EVENT_RELEASED;
	}
	check(!wrong && silent(f) && silent(other), "each release is told to its heir, once");
	stat = stat_of(f);
	check(!stat.slots_taken && adds_up(&stat), "all slots came back");
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
