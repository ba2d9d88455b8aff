// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L4: a lease that is given back as failed is still out, and whatever gets
 * worse makes a hold longer, never shorter.
 */
#include "e2e.h"

static void failed(struct lkvfence *f)
{
	uint64_t g = begin(f, 1, 0, 8, 2);
	struct lkvfence_event e;

	gives(lkvfence_failed(f, g, 1), 0, "a lease is given back as failed");
	gives(query(f, g).leases_out, 2, "it is still out");
	gives(lkvfence_release(f, g), -EBUSY, "and in the way of RELEASE");
	gives(drained(f, g, 1), -EALREADY, "it was given back: no other word counts");
	need(!drained(f, g, 2), "RETURN");
	gives(lkvfence_release(f, g), -EBUSY, "the other lease is drained: not enough");
	gives(abort_with(f, g, LKVFENCE_POLICY_TAINT, 2000), 0, "ABORT");
	gives(stat_of(f).slots_held, 8, "the slots are held");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g &&
	      e.outcome == LKVFENCE_OUTCOME_TIMEOUT && e.leases_out == 1 &&
	      e.flags == LKVFENCE_EVENT_TAINTED && e.held_ns >= 2000 * MS,
	      "until the deadline: tainted");
	gives(stat_of(f).returns_failed, 1, "counted as failed");

	g = hold(f, 1, 0, 8, 1, LKVFENCE_POLICY_TAINT, 2000);
	gives(lkvfence_failed(f, g, 1), 0, "failed behind the end");
	gives(stat_of(f).slots_held, 8, "the slots are held");
	gives(event(f).outcome, LKVFENCE_OUTCOME_TIMEOUT, "until the deadline");
}

static uint64_t deadline(struct lkvfence *f, uint64_t g, uint32_t policy,
			 unsigned int timeout_ms)
{
	struct lkvfence_abort a = {
		.generation = g,
		.policy = policy,
		.timeout_ns = timeout_ms * MS,
		.reason = LKVFENCE_REASON_SHUTDOWN,
	};
	int err = lkvfence_abort(f, &a);

	need(!err, "ABORT");
	return a.deadline_ns;
}

static void deadlines(struct lkvfence *f)
{
	uint64_t g = hold(f, 2, 8, 8, 1, LKVFENCE_POLICY_TAINT, 60000);
	struct lkvfence_query q = query(f, g);
	uint64_t was = q.deadline_ns, now;

	check(deadline(f, g, 0, 10) == was, "a shorter ABORT doesn't shorten");
	check(deadline(f, g, 0, 0) == was, "nor does one with no timeout");
	now = deadline(f, g, 0, 120000);
	check(now > was && now > q.ended_ns + 120000 * MS, "a longer one lengthens");
	check(deadline(f, g, 0, 60000) == now, "the first timeout again: no");
	set_param("timeout_max_ms", 180000);
	was = deadline(f, g, 0, 180000);
	check(was == q.ended_ns + 180000 * MS, "not beyond the longest, from the end");
	set_param("timeout_max_ms", 40000);
	set_param("timeout_default_ms", 20000);
	check(deadline(f, g, 0, 30000) == was && query(f, g).deadline_ns == was,
	      "lower parameters don't shorten");
	q = query(f, g);
	check(q.reason == LKVFENCE_REASON_ABORTED, "the first reason stays");
	need(!drained(f, g, 1), "RETURN");
	event(f);
}

static void policies(struct lkvfence *f)
{
	uint64_t g = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_TAINT, 30000);
	struct lkvfence_begin b = want(4, 24, 8, 1);

	deadline(f, g, LKVFENCE_POLICY_DEFAULT, 0);
	gives(query(f, g).policy, LKVFENCE_POLICY_TAINT, "default is the transfer's");
	deadline(f, g, LKVFENCE_POLICY_QUARANTINE, 0);
	gives(query(f, g).policy, LKVFENCE_POLICY_QUARANTINE, "a policy gets stricter");
	deadline(f, g, LKVFENCE_POLICY_TAINT, 0);
	gives(query(f, g).policy, LKVFENCE_POLICY_QUARANTINE, "and not laxer");
	need(!drained(f, g, 1), "RETURN");
	event(f);

	b.policy = LKVFENCE_POLICY_QUARANTINE;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(!abort_with(f, b.generation, LKVFENCE_POLICY_TAINT, 10), "ABORT");
	gives(query(f, b.generation).policy, LKVFENCE_POLICY_QUARANTINE,
	      "BEGIN's is not made laxer by ABORT");
	gives(event(f).type, LKVFENCE_EVENT_QUARANTINED, "the deadline: quarantine");
	need(!abort_with(f, b.generation, LKVFENCE_POLICY_TAINT, 10), "ABORT");
	usleep(50000);
	gives(stat_of(f).slots_quarantined, 8, "ABORT in quarantine changes nothing");
	check(silent(f), "and tells nothing");
	need(!drained(f, b.generation, 1), "RETURN");
	event(f);
}

int main(void)
{
	struct lkvfence *f = region("L4", 64);

	failed(f);
	deadlines(f);
	policies(f);
	lkvfence_close(f);
	return done();
}
