// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L3: an ended transfer gives no new leases, whatever ended it. */
#include "e2e.h"

static void no_more(struct lkvfence *f, uint64_t g, const char *what)
{
	struct lkvfence_query before = query(f, g), after;

	check(before.state == LKVFENCE_STATE_ENDED, "%s: it has ended", what);
	gives(lkvfence_take(f, g, 77), -ECANCELED, "%s: no new lease", what);
	gives(lkvfence_take(f, g, 1), -ECANCELED, "%s: nor an old one again", what);
	after = query(f, g);
	check(after.nr_leases == before.nr_leases && after.leases_out == before.leases_out,
	      "%s: nothing has changed", what);
	need(!drained(f, g, 1), "RETURN");
	gives(lkvfence_take(f, g, 77), -ESTALE, "%s: when it is released: stale", what);
}

int main(void)
{
	struct lkvfence *f = region("L3", 64), *other = region("L3", 64);
	struct lkvfence_begin b = want(3, 16, 8, 1);
	uint64_t g = begin(f, 1, 0, 8, 1);

	gives(lkvfence_take(f, g, 2), 0, "a waiting transfer gives leases");
	need(!drained(f, g, 2), "RETURN");
	need(!lkvfence_abort_generation(f, g), "ABORT");
	no_more(f, g, "ABORT");

	g = begin(f, 2, 8, 8, 1);
	need(!lkvfence_abort_generation(other, g), "ABORT");
	no_more(f, g, "ABORT by another handle");

	b.ttl_ns = 20 * MS;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(until(query(f, b.generation).state == LKVFENCE_STATE_ENDED), "expiry");
	gives(query(f, b.generation).reason, LKVFENCE_REASON_EXPIRED, "expired");
	no_more(f, b.generation, "expiry");

	no_more(f, hold(f, 4, 24, 8, 1, 0, 0), "HOLD");

	g = hold(f, 5, 32, 8, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	need(until(query(f, g).flags & LKVFENCE_TRANSFER_QUARANTINED), "quarantine");
	no_more(f, g, "quarantine");

	g = begin(other, 6, 40, 8, 1);
	lkvfence_close(other);
	no_more(f, g, "close");

	g = begin(f, 7, 48, 8, 0);
	need(!lkvfence_release(f, g), "RELEASE");
	gives(lkvfence_take(f, g, 1), -ESTALE, "RELEASE");
	lkvfence_close(f);
	return done();
}
