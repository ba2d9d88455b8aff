// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L6b: ABORT with ALL ends every transfer of the region, whosever and in whatever state
 * it is, through the same gate; and refuses every pull that waits. What has ended before
 * stays as it is.
 */
#include "pull.h"

#define NAME	"L6b-abort-all"
#define NR	300

static struct lkvfence *f, *other, *third;

static int abort_all(uint32_t reason, uint64_t *nr)
{
	struct lkvfence_abort a = {
		.flags = LKVFENCE_ABORT_ALL, .reason = reason, .generation = 7, .tag = 8,
		.timeout_ns = 700000 * MS, .policy = LKVFENCE_POLICY_QUARANTINE,
	};
	int err = lkvfence_abort(third, &a);

	*nr = a.nr_ended;
	if (a.generation || a.tag || a.state || a.deadline_ns || a.leases_out ||
	    a.policy_in_force || a.reason_in_force)
		return -EBADMSG;
	return err;
}

static bool ended(uint64_t g, uint32_t reason)
{
	struct lkvfence_query q = query(third, g);

	return q.state == LKVFENCE_STATE_ENDED && q.reason == reason &&
	       q.policy == LKVFENCE_POLICY_QUARANTINE &&
	       q.deadline_ns == q.ended_ns + 700000 * MS;
}

static void each_kind(void)
{
	uint64_t plain = begin(f, 1, 0, 4, 1), offered = offer(other, 2, 4, 4, 1);
	uint64_t is_ready = offer(other, 3, 8, 4, 0), quiet = begin(f, 4, 12, 4, 0), before;
	uint64_t orphan, waits, unclaimed, taken, nr;
	struct lkvfence *gone = region(NAME, 0);
	struct lkvfence_event e;
	struct lkvfence_stat stat;

	orphan = begin(gone, 5, 16, 4, 1);
	lkvfence_close(gone);
	before = hold(f, 6, 20, 4, 1, 0, 0);
	need(!ready(other, is_ready, 0, 0), "READY");
	taken = pull(f, 3, 100);
	need(granted(f, taken, is_ready), "a grant");
	waits = pull(f, 2, 101);
	unclaimed = pull(f, 99, 102);

	gives(abort_all(LKVFENCE_REASON_SHUTDOWN, &nr), 0, "ABORT of all");
	gives(nr, 4, "ends the four that had not ended");
	check(ended(plain, LKVFENCE_REASON_SHUTDOWN) && ended(offered, LKVFENCE_REASON_SHUTDOWN) &&
	      ended(is_ready, LKVFENCE_REASON_SHUTDOWN), "with reason, policy and timeout");
	check(query(f, before).reason == LKVFENCE_REASON_ABORTED &&
	      query(f, before).policy == LKVFENCE_POLICY_TAINT &&
	      query(f, orphan).reason == LKVFENCE_REASON_ORPHANED,
	      "those that had ended are as they were");
	e = at_once(f);
	check(is_refused(&e, unclaimed, LKVFENCE_REASON_SHUTDOWN) && !e.generation,
	      "a pull that waited for an offer is refused");
	e = at_once(f);
	check(is_refused(&e, waits, LKVFENCE_REASON_SHUTDOWN) && e.generation == offered,
	      "and one that waited for READY");
	e = at_once(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == plain, "the owner is told");
	e = at_once(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == quiet &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "of what came back at once, too");
	check(silent(f) && silent(third), "once");
	gives(at_once(other).generation == offered && at_once(other).generation == is_ready, 1,
	      "and so is the other one");

	gives(abort_all(LKVFENCE_REASON_DROPPED, &nr), 0, "ABORT of all again");
	gives(nr, 0, "ends none");
	check(ended(plain, LKVFENCE_REASON_SHUTDOWN) && silent(f) && silent(other),
	      "the first reason stays, nobody is told again");
	check(refused(f, pull(f, 2, 103), LKVFENCE_REASON_SHUTDOWN), "tombstones know it");
	gives(drained(f, is_ready, 100), 0, "proof of the pull");
	stat = stat_of(f);
	check(stat.slots_taken == 4 * 4 && stat.slots_held == 4 * 4 && !stat.transfers_ready &&
	      !stat.tickets && adds_up(&stat), "all add up");
	clear(third);
}

/* More than are ended in one step; and the tags can be used again. */
static void many(void)
{
	unsigned int i;
	uint64_t nr;

	for (i = 0; i < NR; i++)
		offer(i % 2 ? f : other, i, 100 + i, 1, 1);
	for (i = 0; i < NR; i++)
		pull(third, i, 100);
	gives(abort_all(LKVFENCE_REASON_ABORTED, &nr), 0, "ABORT of all");
	gives(nr, NR, "ends all %d", NR);
	for (i = 0; i < NR && at_once(third).reason == LKVFENCE_REASON_ABORTED; i++)
		;
	gives(i, NR, "and refuses a pull of each");
	check(silent(third), "once");
	gives(stat_of(f).slots_held, NR, "all are held");
	clear(third);
	gives(lkvfence_release(f, offer(f, 1, 0, 1, 0)), 0, "the tags can be used again");
}

int main(void)
{
	f = region(NAME, 1000);
	other = region(NAME, 0);
	third = region(NAME, 0);
	each_kind();
	many();
	lkvfence_close(third);
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
