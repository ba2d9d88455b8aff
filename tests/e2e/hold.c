// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* HOLD is BEGIN and ABORT in one step. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("hold", 64);
	struct lkvfence_begin b = want(1, 0, 8, 2);
	struct lkvfence_query q;
	struct lkvfence_event e;
	struct lkvfence_stat stat, before;

	b.policy = LKVFENCE_POLICY_QUARANTINE;
	b.reason = LKVFENCE_REASON_PREEMPTED;
	b.timeout_ns = 60000 * MS;
	gives(lkvfence_hold(f, &b), 0, "HOLD with two sources");
	gives(b.state, LKVFENCE_STATE_ENDED, "it has ended");
	check(silent(f), "its owner knows: no event");
	q = query(f, b.generation);
	check(q.state == LKVFENCE_STATE_ENDED && q.begun_ns == q.ended_ns &&
	      q.deadline_ns == q.ended_ns + 60000 * MS,
	      "its deadline is the timeout behind its end");
	check(q.policy == LKVFENCE_POLICY_QUARANTINE &&
	      q.reason == LKVFENCE_REASON_PREEMPTED, "its policy and reason");
	stat = stat_of(f);
	check(stat.slots_held == 8 && stat.transfers_held == 1, "8 slots are held");

	before = stat_of(f);
	b = want(2, 7, 2, 1);
	gives(lkvfence_hold(f, &b), -EBUSY, "HOLD of a held slot");
	check(b.busy_slot == 7 && b.busy_tag == 1, "it is named");
	counted(f, &before, refused_busy, 1, "only refused_busy has changed");

	gives(drained(f, q.generation, 1), 0, "one proof");
	gives(drained(f, q.generation, 2), 0, "two proofs");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == q.generation &&
	      e.tag == 1 && e.outcome == LKVFENCE_OUTCOME_DRAINED &&
	      e.evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE && !e.flags &&
	      e.reason == LKVFENCE_REASON_PREEMPTED && e.nr_slots == 8 &&
	      !e.leases_out && !e.pad, "then it is released as drained");
	check(e.time_ns == q.ended_ns + e.held_ns, "the event tells how long it held");

	b = want(3, 0, 8, 0);
	gives(lkvfence_hold(f, &b), 0, "HOLD without any source");
	gives(b.state, LKVFENCE_STATE_RELEASED, "it is released at once");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == b.generation &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED && !e.evidence &&
	      e.reason == LKVFENCE_REASON_ABORTED, "told by an event");

	b = want(4, 0, 8, 1);
	gives(lkvfence_hold(f, &b), 0, "HOLD with no timeout");
	q = query(f, b.generation);
	gives(q.deadline_ns - q.ended_ns, 30000 * MS, "it gets the default");
	check(q.policy == LKVFENCE_POLICY_TAINT, "and policy taint");
	clear(f);
	lkvfence_close(f);
	return done();
}
