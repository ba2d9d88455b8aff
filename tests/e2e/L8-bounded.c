// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L8: every hold has a deadline within bounds, which passes by itself, while
 * nobody calls and the system is idle. A time to live runs from the first lease.
 */
#include "e2e.h"

static void bounds(struct lkvfence *f)
{
	struct lkvfence_begin b;
	struct lkvfence_info info;
	struct lkvfence_stat before;

	set_param("timeout_min_ms", 100);
	set_param("timeout_max_ms", 60000);
	need(!lkvfence_info(&info), "INFO");
	check(info.timeout_min_ns == 100 * MS && info.timeout_max_ns == 60000 * MS,
	      "INFO tells the bounds as they are now");
	before = stat_of(f);
	b = want(1, 0, 8, 1);
	b.timeout_ns = 100 * MS - 1;
	gives(lkvfence_hold(f, &b), -ERANGE, "HOLD: a nanosecond too short");
	b.timeout_ns = 60000 * MS + 1;
	gives(lkvfence_hold(f, &b), -ERANGE, "a nanosecond too long");
	b = want(1, 0, 8, 1);
	b.ttl_ns = 100 * MS - 1;
	gives(lkvfence_begin(f, &b), -ERANGE, "BEGIN: a time to live too short");
	b.ttl_ns = 60000 * MS + 1;
	gives(lkvfence_begin(f, &b), -ERANGE, "too long");
	unchanged(f, &before, "nothing has changed");
	b = want(1, 0, 8, 1);
	b.timeout_ns = 100 * MS;
	gives(lkvfence_hold(f, &b), 0, "the shortest");
	b = want(2, 8, 8, 1);
	b.timeout_ns = 60000 * MS;
	gives(lkvfence_hold(f, &b), 0, "the longest");
	gives(event(f).tag, 1, "the shortest passes");
	need(!drained(f, b.generation, 1), "RETURN");
	event(f);
}

static void alone(struct lkvfence *f)
{
	int64_t start = now_ns();
	uint64_t g = hold(f, 3, 0, 8, 1, LKVFENCE_POLICY_TAINT, 1500);
	struct lkvfence_event e = event(f);

	/* We slept in poll(2) meanwhile; no other process runs here. */
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_TIMEOUT,
	      "a deadline passes while the system is idle");
	check(e.held_ns >= 1500 * MS && now_ns() - start >= 1500 * (int64_t)MS,
	      "not early");
	note("%.3f ms late", (e.held_ns - 1500 * MS) / 1e6);
}

static void many(struct lkvfence *f)
{
	uint64_t last = 0, earliest = UINT64_MAX;
	struct lkvfence_event e;
	unsigned int i, wrong = 0;

	for (i = 0; i < 20; i++)
		hold(f, i, i, 1, 1, LKVFENCE_POLICY_TAINT, 100 + (i * 7 % 20) * 20);
	for (i = 0; i < 20; i++) {
		e = event(f);
		wrong += e.outcome != LKVFENCE_OUTCOME_TIMEOUT || e.time_ns < last ||
			 e.held_ns < (100 + e.tag * 7 % 20 * 20) * MS;
		last = e.time_ns;
		if (e.held_ns < earliest)
			earliest = e.held_ns;
	}
	gives(wrong, 0, "20 deadlines in another order than they were set, none early");
}

static void life(struct lkvfence *f)
{
	struct lkvfence_begin b = want(4, 0, 8, 0);
	struct lkvfence_query q;
	struct lkvfence_event e;
	uint64_t taken;

	b.ttl_ns = 2000 * MS;
	need(!lkvfence_begin(f, &b), "BEGIN");
	usleep(2500000);
	q = query(f, b.generation);
	check(q.state == LKVFENCE_STATE_WAITING && !q.deadline_ns,
	      "a time to live doesn't run before the first lease");
	taken = now_ns();
	need(!lkvfence_take(f, b.generation, 1), "TAKE");
	q = query(f, b.generation);
	check(q.deadline_ns >= taken + 2000 * MS && q.deadline_ns <= q.now_ns + 2000 * MS,
	      "it runs from there");
	lkvfence_take(f, b.generation, 2);
	check(query(f, b.generation).deadline_ns == q.deadline_ns ||
	      query(f, b.generation).state == LKVFENCE_STATE_ENDED,
	      "not from the second");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == b.generation &&
	      e.reason == LKVFENCE_REASON_EXPIRED && e.time_ns >= taken + 2000 * MS,
	      "it ends as expired");
	q = query(f, b.generation);
	check(q.deadline_ns == q.ended_ns + 30000 * MS, "then it is held, by default");
	clear(f);
	event(f);

	b = want(5, 0, 8, 1);
	b.ttl_ns = 2000 * MS;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(!drained(f, b.generation, 1), "RETURN");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.outcome == LKVFENCE_OUTCOME_DRAINED &&
	      e.reason == LKVFENCE_REASON_EXPIRED && silent(f),
	      "all proven: it expires and is released in one step");
}

int main(void)
{
	struct lkvfence *f = region("L8", 64);

	alone(f);
	many(f);
	life(f);
	bounds(f);
	lkvfence_close(f);
	return done();
}
