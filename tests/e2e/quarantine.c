// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Policy quarantine: at the deadline nothing is released. Late proof releases
 * after all; or an administrator does, by force, and nobody else.
 */
#include <linux/capability.h>

#include "e2e.h"

static struct lkvfence *f;
static uint64_t generation;

static int force(void *arg)
{
	(void)arg;
	return -lkvfence_force_release(f, generation);
}

static int powerless_force(void *arg)
{
	lose(CAP_SYS_ADMIN);
	return force(arg);
}

static int nobody_force(void *arg)
{
	become(65534, 65534);
	return force(arg);
}

static void enters(void)
{
	struct lkvfence_query before, after;
	struct lkvfence_stat stat;
	struct lkvfence_event e;

	generation = hold(f, 1, 0, 8, 2, LKVFENCE_POLICY_QUARANTINE, 50);
	before = query(f, generation);
	e = event(f);
	check(e.type == LKVFENCE_EVENT_QUARANTINED && e.generation == generation &&
	      e.time_ns >= before.deadline_ns && e.leases_out == 2 && !e.outcome &&
	      !e.flags && !e.held_ns, "the deadline is told, and nothing released");
	stat = stat_of(f);
	check(stat.slots_quarantined == 8 && stat.transfers_quarantined == 1 &&
	      stat.slots_held == 8 && stat.transfers_held == 1 && adds_up(&stat),
	      "it is counted, and held");
	after = query(f, generation);
	check(after.flags == (LKVFENCE_TRANSFER_QUARANTINED | LKVFENCE_TRANSFER_MINE) &&
	      after.state == LKVFENCE_STATE_ENDED && after.leases_out == 2,
	      "QUERY tells it");
}

static void late_proof(void)
{
	struct lkvfence_event e;

	gives(drained(f, generation, 1), 0, "late proof of one");
	gives(stat_of(f).slots_quarantined, 8, "not enough");
	gives(drained(f, generation, 2), 0, "late proof of the other");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.outcome == LKVFENCE_OUTCOME_DRAINED &&
	      !e.flags && e.evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE &&
	      e.held_ns >= 50 * MS, "it is released as drained");
	check(!stat_of(f).slots_quarantined && !stat_of(f).slots_taken, "slots are free");
}

static void by_force(void)
{
	struct lkvfence *other = region("quarantine", 0);
	uint64_t waiting = begin(f, 2, 8, 8, 1), held;
	struct lkvfence_stat before, stat;
	struct lkvfence_event e;

	held = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_QUARANTINE, 60000);
	before = stat_of(f);
	gives(lkvfence_force_release(f, waiting), -EBUSY, "force of one that waits");
	gives(lkvfence_force_release(f, held), -EBUSY, "of one before its deadline");
	gives(lkvfence_force_release(f, held + 1000000), -ENOENT, "of none");
	gives(in_child(nobody_force, NULL), EPERM, "by nobody");
	gives(in_child(powerless_force, NULL), EPERM, "by root without CAP_SYS_ADMIN");
	unchanged(f, &before, "nothing has changed");

	need(!drained(f, held, 1), "RETURN");
	event(f);
	enters();
	before = stat_of(f);
	gives(in_child(nobody_force, NULL), EPERM, "in quarantine: by nobody");
	gives(in_child(powerless_force, NULL), EPERM, "by root without CAP_SYS_ADMIN");
	gives(lkvfence_release(f, generation), -EBUSY, "RELEASE without force");
	unchanged(f, &before, "nothing has changed");
	gives(lkvfence_force_release(other, generation), 0, "by root, on another handle");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == generation &&
	      e.outcome == LKVFENCE_OUTCOME_TIMEOUT &&
	      e.flags == (LKVFENCE_EVENT_TAINTED | LKVFENCE_EVENT_FORCED) &&
	      e.evidence == LKVFENCE_EVIDENCE_TIMEOUT && e.leases_out == 2,
	      "its owner is told: tainted, forced");
	stat = stat_of(f);
	check(stat.forced == 1 && stat.released[LKVFENCE_OUTCOME_TIMEOUT] == 1 &&
	      !stat.slots_quarantined && adds_up(&stat), "it is counted as both");
	gives(lkvfence_force_release(other, generation), -ESTALE, "a second time");
	lkvfence_close(other);

	enters();
	gives(lkvfence_force_release(f, generation), 0, "by its owner");
	check(silent(f), "the answer is the report: no event");
}

static void orphan(void)
{
	struct lkvfence *mine = region("quarantine", 0);

	generation = hold(mine, 4, 24, 8, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	lkvfence_close(mine);
	check(until(query(f, generation).flags ==
		    (LKVFENCE_TRANSFER_QUARANTINED | LKVFENCE_TRANSFER_ORPHANED)),
	      "an orphan goes into quarantine");
	gives(drained(f, generation, 1), 0, "late proof");
	gives(stat_of(f).slots_quarantined, 0, "releases it");
}

int main(void)
{
	f = region("quarantine", 64);
	enters();
	late_proof();
	by_force();
	orphan();
	clear(f);
	lkvfence_close(f);
	return done();
}
