// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L6b: whatever ends a transfer, the same follows: slots held, no more leases,
 * the same gauges, the same proof, the same release.
 */
#include "e2e.h"

#define NAME	"L6b-one-gate"

static struct lkvfence *f, *other;

static uint64_t by_abort(void)
{
	uint64_t g = begin(f, 1, 0, 8, 2);

	need(!lkvfence_abort_generation(f, g), "ABORT");
	return g;
}

static uint64_t by_abort_of_another(void)
{
	uint64_t g = begin(f, 1, 0, 8, 2);

	need(!lkvfence_abort_generation(other, g), "ABORT");
	return g;
}

static uint64_t by_tag(void)
{
	uint64_t g = begin(f, 1, 0, 8, 2);

	need(!lkvfence_abort_tag(f, 1), "ABORT");
	return g;
}

static uint64_t by_hold(void)
{
	return hold(f, 1, 0, 8, 2, 0, 0);
}

static uint64_t by_expiry(void)
{
	struct lkvfence_begin b = want(1, 0, 8, 2);

	b.ttl_ns = 20 * MS;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(until(stat_of(f).transfers_held), "expiry");
	return b.generation;
}

static uint64_t by_orphaning(void)
{
	struct lkvfence *mine = region(NAME, 0);
	uint64_t g = begin(mine, 1, 0, 8, 2);

	lkvfence_close(mine);
	return g;
}

static const struct {
	uint64_t (*end)(void);
	const char *what;
	uint32_t reason;
} ways[] = {
	{ by_abort, "ABORT", LKVFENCE_REASON_ABORTED },
	{ by_abort_of_another, "ABORT by another handle", LKVFENCE_REASON_ABORTED },
	{ by_tag, "ABORT by tag", LKVFENCE_REASON_ABORTED },
	{ by_hold, "HOLD", LKVFENCE_REASON_ABORTED },
	{ by_expiry, "expiry", LKVFENCE_REASON_EXPIRED },
	{ by_orphaning, "orphaning", LKVFENCE_REASON_ORPHANED },
};

int main(void)
{
	struct lkvfence_stat before, held, after;
	struct lkvfence_event e[8];
	struct lkvfence_query q;
	unsigned int i;
	uint64_t g;

	f = region(NAME, 64);
	other = region(NAME, 0);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		const char *what = ways[i].what;

		before = stat_of(f);
		g = ways[i].end();
		held = stat_of(f);
		q = query(f, g);
		check(q.state == LKVFENCE_STATE_ENDED && q.reason == ways[i].reason &&
		      q.leases_out == 2 && q.deadline_ns == q.ended_ns + 30000 * MS,
		      "%s: ended, reason %s, default deadline", what,
		      lkvfence_reason_name(ways[i].reason));
		check(held.begun == before.begun + 1 && held.transfers_alive == 1 &&
		      held.transfers_held == 1 && held.slots_taken == 8 &&
		      held.slots_held == 8 && adds_up(&held), "%s: held", what);
		gives(lkvfence_take(f, g, 9), -ECANCELED, "%s: no new lease", what);
		gives(lkvfence_release(f, g), -EBUSY, "%s: no RELEASE", what);
		gives(drained(other, g, 1) ?: drained(f, g, 2), 0, "%s: proof", what);
		after = stat_of(f);
		check(after.released[LKVFENCE_OUTCOME_DRAINED] ==
		      before.released[LKVFENCE_OUTCOME_DRAINED] + 1 &&
		      !after.slots_taken && !after.slots_held && !after.transfers_held &&
		      !after.transfers_alive && adds_up(&after),
		      "%s: released as drained", what);
		while (lkvfence_events(f, e, 8, 0) > 0)
			;
	}
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
