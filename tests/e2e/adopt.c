// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* ADOPT makes a handle the owner of an orphan; its events come there. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("adopt", 64), *heir = region("adopt", 64);
	struct lkvfence *third = region("adopt", 64);
	uint64_t a = begin(f, 1, 0, 8, 1), b, c, gone = begin(f, 9, 40, 1, 0);
	struct lkvfence_query before, after;
	struct lkvfence_event e;

	b = hold(f, 2, 8, 8, 1, LKVFENCE_POLICY_QUARANTINE, 60000);
	c = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	gives(event(f).type, LKVFENCE_EVENT_QUARANTINED, "one is in quarantine");
	need(!lkvfence_release(f, gone), "RELEASE");
	gives(lkvfence_adopt(heir, a), -EBUSY, "another handle owns it");
	gives(lkvfence_adopt(f, a), -EALREADY, "this handle owns it");
	gives(lkvfence_adopt(heir, gone), -ESTALE, "a released one");
	gives(lkvfence_adopt(heir, c + 100000), -ENOENT, "one that never was");
	check(query(heir, a).state == LKVFENCE_STATE_WAITING, "nothing has changed");

	before = query(heir, b);
	lkvfence_close(f);
	check(silent(heir) && silent(third), "closing the owner is nobody's event");
	gives(lkvfence_adopt(heir, a), 0, "an orphan");
	gives(lkvfence_adopt(heir, b), 0, "one that had ended before");
	gives(lkvfence_adopt(heir, c), 0, "one in quarantine");
	gives(lkvfence_adopt(heir, a), -EALREADY, "a second time");
	gives(lkvfence_adopt(third, a), -EBUSY, "by a third handle");
	check(silent(heir), "adopting is no event");

	after = query(heir, b);
	check(after.flags == LKVFENCE_TRANSFER_MINE && after.reason == before.reason &&
	      after.ended_ns == before.ended_ns && after.policy == before.policy &&
	      after.deadline_ns == before.deadline_ns,
	      "end, policy and deadline stay as they were");
	after = query(heir, a);
	check(after.reason == LKVFENCE_REASON_ORPHANED &&
	      after.deadline_ns == after.ended_ns + 30000 * MS,
	      "an orphan has the default deadline");

	need(!drained(third, a, 1) && !drained(heir, b, 1) && !drained(heir, c, 1),
	     "RETURN");
	e = event(heir);
	check(e.generation == a && e.type == LKVFENCE_EVENT_RELEASED &&
	      e.reason == LKVFENCE_REASON_ORPHANED &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "the release comes to the heir");
	gives(event(heir).generation == b, 1, "of the second");
	e = event(heir);
	check(e.generation == c && e.type == LKVFENCE_EVENT_RELEASED &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "and late proof of the third");
	check(silent(heir) && silent(third), "once");

	/* A handle that owns what it adopted orphans it again. */
	f = region("adopt", 64);
	a = begin(f, 1, 0, 8, 1);
	lkvfence_close(f);
	gives(lkvfence_adopt(heir, a), 0, "an orphan");
	lkvfence_close(heir);
	gives(query(third, a).flags, LKVFENCE_TRANSFER_ORPHANED,
	      "it is one again when its heir is closed");

	/* Whoever does not read events gets no more to read. */
	gives(lkvfence_abort_generation(third, begin(third, 5, 32, 1, 0)), 0,
	      "an event that isn't read");
	set_param("max_transfers", 1);
	gives(lkvfence_adopt(third, a), -ENOSPC, "no room for more events");
	gives(query(third, a).flags, LKVFENCE_TRANSFER_ORPHANED, "nothing has changed");
	event(third);
	gives(lkvfence_adopt(third, a), 0, "now there is");
	clear(third);
	lkvfence_close(third);
	return done();
}
