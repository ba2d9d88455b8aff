// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L8: a time to live passes by itself, from BEGIN on where that gave a lease. */
#include "e2e.h"

int main(void)
{
	struct lkvfence *f = region("begin-expires", 64);
	struct lkvfence_begin b = want(1, 0, 8, 2);
	struct lkvfence_event e;
	struct lkvfence_query q;

	b.ttl_ns = 100 * MS;
	need(!lkvfence_begin(f, &b), "BEGIN");
	/* No other call may come between. */
	e = event(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == b.generation &&
	      e.reason == LKVFENCE_REASON_EXPIRED && e.leases_out == 2,
	      "it ends, with nobody calling");
	q = query(f, b.generation);
	check(q.ended_ns >= q.begun_ns + 100 * MS && e.time_ns == q.ended_ns, "not early");
	check(q.state == LKVFENCE_STATE_ENDED && q.deadline_ns == q.ended_ns + 30000 * MS,
	      "its slots are held then, for the default time");
	clear(f);
	lkvfence_close(f);
	return done();
}
