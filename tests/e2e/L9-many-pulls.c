// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L9: a hundred thousand pulls that wait hold nothing. One that comes after them is
 * answered in the call that makes it so, and so is one of another region; when their
 * time is up they are refused, each once, and a neighbour's deadline is not forgotten
 * over that. The number is bounded.
 */
#include "pull.h"

#define NAME	"L9-many-pulls"

static struct lkvfence_event events[4096];

/* They are answered together, once each: how many. */
static unsigned int read_all(struct lkvfence *f, uint32_t reason, unsigned int nr,
			     unsigned int *wrong)
{
	static bool seen[100001];
	unsigned int told = 0;
	uint64_t first = 0;
	int n, i;

	memset(seen, 0, sizeof(seen));
	while (told < nr) {
		n = lkvfence_events(f, events, ARRAY_SIZE(events), PATIENCE_MS);
		need(n > 0, "answers");
		for (i = 0; i < n; i++) {
			first = first ?: events[i].ticket - events[i].tag;
			*wrong += events[i].type != LKVFENCE_EVENT_REFUSED ||
				  events[i].reason != reason || events[i].tag >= nr ||
				  events[i].ticket != first + events[i].tag ||
				  seen[events[i].tag];
			if (events[i].tag < nr)
				seen[events[i].tag] = true;
		}
		told += n;
	}
	return told;
}

/* Pulls of so many tags. */
static void wait_all(struct lkvfence *f, unsigned int nr, uint64_t timeout_ns)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct lkvfence_pull p = a_pull(i, i);

		p.timeout_ns = timeout_ns;
		need(!lkvfence_pull(f, &p), "PULL %u", i);
	}
}

/* The one after them, and one in a region beside. */
static void not_delayed(struct lkvfence *f, struct lkvfence *beside, const char *what)
{
	uint64_t g = offer(f, 1000000, 0, 1, 0), h = offer(beside, 1, 0, 1, 0), ticket;

	ticket = pull(f, 1000000, 7);
	check(silent(f), "%s: one more waits", what);
	need(!ready(f, g, 0, 1), "READY");
	check(granted(f, ticket, g), "%s: and is granted at once", what);
	need(!drained(f, g, 7), "RETURN");
	gives(event(f).generation == g, 1, "%s: and over", what);
	need(!ready(beside, h, 0, 1), "READY");
	check(granted(beside, pull(beside, 1, 7), h), "%s: so is one beside them", what);
	need(!drained(beside, h, 7) && event(beside).generation == h, "RETURN");
}

int main(void)
{
	const unsigned int nr = debug_kernel() ? 10000 : 100000;
	struct lkvfence *f, *beside, *many;
	struct lkvfence_pull p = a_pull(0, 0);
	struct lkvfence_stat stat;
	unsigned int wrong = 0, i;
	uint64_t g, waits, before;
	int64_t start;

	set_param("max_pulls", nr + 1);
	f = region(NAME, 64);
	beside = region(NAME "-2", 64);
	before = objects("tickets");

	/* Dead ones of which nobody will hear again, then the twenty-first. */
	wait_all(f, 20, HOUR);
	not_delayed(f, beside, "after 20");
	gives(lkvfence_abort_all(f, LKVFENCE_REASON_ABORTED), 0, "ABORT of all");
	gives(read_all(f, LKVFENCE_REASON_ABORTED, 20, &wrong), 20, "refuses them");

	start = now_ns();
	wait_all(f, nr, HOUR);
	note("%.1f us for each pull", (now_ns() - start) / 1e3 / nr);
	stat = stat_of(f);
	check(stat.tickets == nr && !stat.slots_taken && !stat.transfers_alive &&
	      adds_up(&stat), "%u wait, and hold no slot", nr);
	not_delayed(f, beside, "after all of them");
	waits = pull(f, 2000000, 1);
	gives(lkvfence_pull(f, &p), -ENOSPC, "no more than max_pulls wait");
	gives(lkvfence_pull(beside, &p), 0, "in each region");
	gives(lkvfence_withdraw(f, waits), 0, "WITHDRAW");
	check(refused(f, waits, LKVFENCE_REASON_WITHDRAWN), "makes room");
	start = now_ns();
	gives(lkvfence_abort_all(f, LKVFENCE_REASON_SHUTDOWN), 0, "ABORT of all");
	note("%.1f ms to refuse all", (now_ns() - start) / 1e6);
	check(read_all(f, LKVFENCE_REASON_SHUTDOWN, nr, &wrong) == nr && !wrong && silent(f),
	      "each is refused once");

	/* All deadlines at once; meanwhile the region beside has deadlines of its own. */
	start = now_ns();
	wait_all(f, nr, 1000 * MS);
	while (stat_of(f).tickets) {
		g = hold(beside, 2, 8, 1, 1, LKVFENCE_POLICY_TAINT, 10);
		need(event(beside).generation == g, "a deadline");
	}
	check(read_all(f, LKVFENCE_REASON_DEADLINE, nr, &wrong) == nr && !wrong && silent(f),
	      "all are refused at their deadline, each once");

	/* A handle that is closed with so many takes them along. */
	many = region(NAME, 0);
	wait_all(many, nr, HOUR);
	for (i = 0; i < 8; i++)
		need(!lkvfence_withdraw(f, pull(f, i, 7)), "WITHDRAW");
	lkvfence_close(many);
	stat = stat_of(f);
	check(!stat.tickets && stat.pulls_closed == nr && adds_up(&stat),
	      "closed with their handle");
	gives(lkvfence_abort_all(beside, LKVFENCE_REASON_ABORTED), 0, "ABORT of all");
	lkvfence_close(beside);
	lkvfence_close(f);
	gives(objects("tickets"), before, "nothing is left");
	return done();
}
