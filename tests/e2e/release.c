// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* RELEASE gives slots back when every lease is proven quiet. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("release", 64), *other = region("release", 64);
	struct lkvfence_release r = { .size = sizeof(r) };
	struct lkvfence_stat before;
	struct lkvfence_event e;
	int fd = lkvfence_fd(f);

	r.generation = begin(f, 1, 0, 8, 2);
	before = stat_of(f);
	gives(sys(fd, LKVFENCE_IOC_RELEASE, &r), -EBUSY, "two leases are out");
	gives(r.leases_out, 2, "it says how many");
	unchanged(f, &before, "nothing has changed");
	drained(f, r.generation, 1);
	gives(sys(fd, LKVFENCE_IOC_RELEASE, &r), -EBUSY, "one lease is out");
	gives(r.leases_out, 1, "it says how many");
	lkvfence_drained(f, r.generation, 2, LKVFENCE_EVIDENCE_IN_BAND);
	gives(sys(fd, LKVFENCE_IOC_RELEASE, &r), 0, "all are proven");
	check(r.outcome == LKVFENCE_OUTCOME_COMPLETED && !r.leases_out &&
	      r.evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE,
	      "completed, with the weakest evidence");
	check(silent(f), "the answer is the report: no event");
	gives(stat_of(f).released[LKVFENCE_OUTCOME_COMPLETED], 1, "it is counted");
	gives(sys(fd, LKVFENCE_IOC_RELEASE, &r), -ESTALE, "a second time");

	r.generation = begin(f, 1, 0, 8, 0);
	gives(sys(fd, LKVFENCE_IOC_RELEASE, &r), 0, "one that gave no lease");
	check(r.outcome == LKVFENCE_OUTCOME_COMPLETED && !r.evidence,
	      "completed, nothing to prove");

	r.generation = begin(f, 1, 0, 8, 1);
	need(!lkvfence_failed(f, r.generation, 1), "RETURN");
	gives(lkvfence_release(f, r.generation), -EBUSY, "L4: a failed lease is out");
	need(!abort_with(f, r.generation, LKVFENCE_POLICY_QUARANTINE, 10), "ABORT");
	gives(lkvfence_release(f, r.generation), -EBUSY, "an ended one with a lease out");
	gives(event(f).type, LKVFENCE_EVENT_QUARANTINED, "its deadline passes");
	gives(lkvfence_release(f, r.generation), -EBUSY, "one in quarantine");
	need(!lkvfence_force_release(f, r.generation), "by force");

	r.generation = begin(f, 2, 8, 8, 0);
	gives(lkvfence_release(other, r.generation), 0, "by another handle");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == r.generation &&
	      e.outcome == LKVFENCE_OUTCOME_COMPLETED &&
	      e.reason == LKVFENCE_REASON_FINISHED, "then the owner gets the event");
	check(silent(other), "and who released it does not");
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
