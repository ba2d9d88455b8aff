// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * REVOKE in the policy of a transfer whose leases aren't bound to QPs: there is
 * nothing to take away, so the rest of the policy is carried out, at the
 * deadline and not before, and that is counted. On every kernel.
 */
#include "e2e.h"

#define TAINT		LKVFENCE_POLICY_TAINT
#define QUARANTINE	LKVFENCE_POLICY_QUARANTINE
#define REVOKE		LKVFENCE_POLICY_REVOKE
#define NOW		LKVFENCE_POLICY_REVOKE_NOW
#define TIMEOUT_MS	1000

static void held(struct lkvfence *f, uint64_t g, uint32_t policy, const char *what)
{
	struct lkvfence_query q = query(f, g);

	gives(q.policy, policy, "%s: QUERY tells the policy in force", what);
	check(q.state == LKVFENCE_STATE_ENDED && q.flags == LKVFENCE_TRANSFER_MINE,
	      "%s: it is held, and neither revocable nor being revoked", what);
	check(q.deadline_ns == q.ended_ns + TIMEOUT_MS * MS,
	      "%s: no time is added for a revocation", what);
}

/* What came of it is told, and whether it is one that was to be revoked. */
static void fell_back(struct lkvfence *f, uint64_t g, const struct lkvfence_event *e,
		      const struct lkvfence_stat *before, uint32_t policy, const char *what)
{
	struct lkvfence_stat after = stat_of(f);
	bool asked = policy & (REVOKE | NOW);

	if (policy & QUARANTINE)
		check(e->type == LKVFENCE_EVENT_QUARANTINED && after.slots_quarantined == 8,
		      "%s: the deadline, and quarantine", what);
	else
		check(e->type == LKVFENCE_EVENT_RELEASED && !after.slots_taken &&
		      e->outcome == LKVFENCE_OUTCOME_TIMEOUT &&
		      e->flags == LKVFENCE_EVENT_TAINTED,
		      "%s: the deadline, and taint", what);
	check(e->generation == g, "%s: of it", what);
	gives(after.revokes_failed - before->revokes_failed, asked,
	      "%s: it is %scounted as one that fell back", what, asked ? "" : "not ");
	gives(after.revokes - before->revokes, 0, "%s: no revocation was begun", what);
}

static void at_deadline(struct lkvfence *f, uint32_t policy, uint32_t in_force,
			const char *what)
{
	struct lkvfence_stat before = stat_of(f);
	uint64_t g = hold(f, 1, 0, 8, 2, policy, TIMEOUT_MS), deadline;
	struct lkvfence_event e;

	held(f, g, in_force, what);
	deadline = query(f, g).deadline_ns;
	e = event(f);
	check(e.time_ns >= deadline, "%s: not before the deadline", what);
	fell_back(f, g, &e, &before, in_force, what);
	if (!(in_force & QUARANTINE))
		return;
	/* What fell back once is not counted again, and late proof is proof. */
	before = stat_of(f);
	need(!drained(f, g, 1) && !revoked(f, g, 2), "RETURN");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.outcome == LKVFENCE_OUTCOME_REVOKED,
	      "%s: late proof releases it", what);
	gives(stat_of(f).revokes_failed - before.revokes_failed, 0,
	      "%s: it is counted once", what);
}

/* Proof in time: nobody fell back on anything. */
static void in_time(struct lkvfence *f)
{
	struct lkvfence_stat before = stat_of(f), after;
	uint64_t g = hold(f, 2, 0, 8, 1, REVOKE | NOW | QUARANTINE, 60000);
	struct lkvfence_event e;

	gives(query(f, g).policy, REVOKE | NOW | QUARANTINE, "all at once");
	gives(drained(f, g, 1), 0, "proof in time");
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_DRAINED,
	      "releases it as drained");
	after = stat_of(f);
	check(after.revokes_failed == before.revokes_failed && after.revokes == before.revokes,
	      "nothing is counted");
}

/* L4: what an ABORT asks for is added to what is in force. */
static void tightened(struct lkvfence *f)
{
	struct lkvfence_stat before = stat_of(f);
	uint64_t g = hold(f, 3, 0, 8, 1, 0, TIMEOUT_MS);
	struct lkvfence_abort a = { .generation = g, .policy = NOW };
	struct lkvfence_event e;

	gives(lkvfence_abort(f, &a), 0, "ABORT asks for REVOKE_NOW");
	gives(a.policy_in_force, TAINT | NOW, "it is in force");
	check(a.state == LKVFENCE_STATE_ENDED && a.leases_out == 1, "and the slots are held");
	a.policy = QUARANTINE;
	gives(lkvfence_abort(f, &a), 0, "ABORT asks for QUARANTINE");
	gives(a.policy_in_force, QUARANTINE | NOW, "that is added");
	a.policy = TAINT | REVOKE;
	gives(lkvfence_abort(f, &a), 0, "ABORT asks for TAINT, and REVOKE");
	gives(a.policy_in_force, QUARANTINE | NOW | REVOKE, "nothing is taken back");
	held(f, g, QUARANTINE | NOW | REVOKE, "by ABORT");
	e = event(f);
	fell_back(f, g, &e, &before, QUARANTINE | NOW | REVOKE, "by ABORT");
	clear(f);
	need(event(f).type == LKVFENCE_EVENT_RELEASED, "a release");
}

int main(void)
{
	struct lkvfence *f = region("policy-revoke-unbound", 64);

	at_deadline(f, LKVFENCE_POLICY_DEFAULT, TAINT, "default");
	at_deadline(f, TAINT, TAINT, "taint");
	at_deadline(f, QUARANTINE, QUARANTINE, "quarantine");
	at_deadline(f, REVOKE, REVOKE | TAINT, "revoke");
	at_deadline(f, REVOKE | TAINT, REVOKE | TAINT, "revoke, taint");
	at_deadline(f, REVOKE | QUARANTINE, REVOKE | QUARANTINE, "revoke, quarantine");
	at_deadline(f, NOW, NOW | TAINT, "revoke now");
	at_deadline(f, NOW | QUARANTINE, NOW | QUARANTINE, "revoke now, quarantine");
	in_time(f);
	tightened(f);
	check(silent(f), "all is told");
	lkvfence_close(f);
	return done();
}
