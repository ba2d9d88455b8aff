// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L7: a release without proof says so: in the event, the counters and the log. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("L7", 64);
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t g = hold(f, 1, 0, 8, 3, LKVFENCE_POLICY_TAINT, 2000), other;

	need(!drained(f, g, 2), "RETURN");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g,
	      "the deadline releases it");
	gives(e.outcome, LKVFENCE_OUTCOME_TIMEOUT, "outcome timeout");
	gives(e.flags, LKVFENCE_EVENT_TAINTED, "flag TAINTED");
	gives(e.evidence, LKVFENCE_EVIDENCE_TIMEOUT, "evidence timeout: none at all");
	gives(e.leases_out, 2, "two leases had no proof");
	check(e.held_ns >= 2000 * MS, "not before the deadline");
	stat = stat_of(f);
	gives(stat.released[LKVFENCE_OUTCOME_TIMEOUT], 1, "STAT counts it");
	gives(atoi(line_of("/sys/class/misc/lkvfence/regions/L7/released_timeout")), 1,
	      "sysfs counts it");
	check(logged(g, "tainted"), "the kernel's log tells it");
	gives(drained(f, g, 1), -ESTALE, "proof that comes now is too late");

	other = hold(f, 2, 8, 8, 1, LKVFENCE_POLICY_TAINT, 60000);
	need(!drained(f, other, 1), "RETURN");
	e = event(f);
	check(!e.flags && e.outcome == LKVFENCE_OUTCOME_DRAINED,
	      "one with proof isn't tainted");
	check(!logged(other, ""), "and not in the log");

	g = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	need(event(f).type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	check(logged(g, "quarantine"), "the log tells of a quarantine");
	need(!lkvfence_force_release(f, g), "by force");
	check(logged(g, "tainted"), "and of one that ended by force");
	lkvfence_close(f);
	return done();
}
