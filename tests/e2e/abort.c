// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* ABORT ends a transfer; its slots are held while a lease is without proof. */
#include "e2e.h"

static void reasons(struct lkvfence *f)
{
	uint32_t reason;

	for (reason = 0; reason <= LKVFENCE_REASON_SHUTDOWN; reason++) {
		struct lkvfence_abort a = {
			.generation = begin(f, 2, 8, 8, 1),
			.reason = reason,
		};

		if (reason == LKVFENCE_REASON_FINISHED) {
			lkvfence_abort_generation(f, a.generation);
			drained(f, a.generation, 1);
			event(f);
			continue;
		}
		gives(lkvfence_abort(f, &a), 0, "reason %s",
		      lkvfence_reason_name(reason));
		gives(query(f, a.generation).reason,
		      reason ?: LKVFENCE_REASON_ABORTED, "it is kept");
		need(!drained(f, a.generation, 1), "RETURN");
		gives(event(f).reason, reason ?: LKVFENCE_REASON_ABORTED,
		      "and told with the release");
	}
}

static void at_once(struct lkvfence *f, struct lkvfence *other)
{
	struct lkvfence_abort a = { .generation = begin(f, 3, 16, 8, 0) };
	struct lkvfence_event e;

	gives(lkvfence_abort(f, &a), 0, "ABORT of one that gave no lease");
	check(a.state == LKVFENCE_STATE_RELEASED && !a.leases_out && !a.deadline_ns,
	      "it is released at once");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == a.generation &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED && !e.evidence && !e.held_ns,
	      "its owner gets an event all the same");

	a = (struct lkvfence_abort){ .generation = begin(f, 3, 16, 8, 1) };
	need(!drained(f, a.generation, 1), "RETURN");
	gives(lkvfence_abort(other, &a), 0, "ABORT by another handle, all proven");
	check(a.state == LKVFENCE_STATE_RELEASED, "released at once");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == a.generation &&
	      silent(f), "one event, RELEASED");
	check(silent(other), "none for who aborted");
	gives(lkvfence_abort(f, &a), -ESTALE, "ABORT of a released one");
	a.generation += 1000000;
	gives(lkvfence_abort(f, &a), -ENOENT, "ABORT of one that never was");
}

int main(void)
{
	struct lkvfence *f = region("abort", 64), *other = region("abort", 64);
	struct lkvfence_abort a = { .flags = LKVFENCE_ABORT_BY_TAG, .tag = 1 };
	struct lkvfence_stat stat;
	struct lkvfence_query q;
	struct lkvfence_event e;

	gives(lkvfence_abort(f, &a), -ENOENT, "ABORT of a tag that isn't there");
	a.generation = 0;
	begin(f, 1, 0, 8, 3);
	gives(lkvfence_abort(f, &a), 0, "ABORT by tag");
	q = query(f, a.generation);
	check(q.tag == 1 && a.tag == 1 && a.state == LKVFENCE_STATE_ENDED &&
	      a.leases_out == 3, "it has ended, three leases are out");
	check(a.policy_in_force == LKVFENCE_POLICY_TAINT &&
	      a.reason_in_force == LKVFENCE_REASON_ABORTED,
	      "the policy and the reason in force are told");
	check(a.deadline_ns == q.deadline_ns &&
	      q.deadline_ns == q.ended_ns + 30000 * MS, "the default deadline");
	stat = stat_of(f);
	check(stat.slots_held == 8 && stat.transfers_held == 1, "8 slots are held");
	check(silent(f), "its owner ended it: no event");
	check(until(stat_of(f).oldest_hold_ns), "the oldest hold has an age");
	drained(f, a.generation, 1);
	drained(f, a.generation, 2);
	gives(stat_of(f).slots_held, 8, "two of three proofs: still held");
	drained(f, a.generation, 3);
	gives(stat_of(f).slots_taken, 0, "three of three: free");
	gives(event(f).outcome, LKVFENCE_OUTCOME_DRAINED, "drained");

	a = (struct lkvfence_abort){ .generation = begin(f, 1, 0, 8, 1) };
	gives(lkvfence_abort(other, &a), 0, "ABORT by another handle");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == a.generation &&
	      e.tag == 1 && !e.outcome && !e.held_ns && !e.flags &&
	      e.leases_out == 1 && e.nr_slots == 8 &&
	      e.reason == LKVFENCE_REASON_ABORTED, "its owner is told that it ended");
	drained(other, a.generation, 1);
	gives(event(f).type, LKVFENCE_EVENT_RELEASED, "and that it was released");

	reasons(f);
	at_once(f, other);
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
