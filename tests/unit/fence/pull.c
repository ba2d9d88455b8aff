// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Pulls: each is answered once, as soon as the answer is known. */
#include "rig.h"

#define OWN	7	/* source: the producer's own */
#define D	20	/* source: a consumer; others follow */

static u64 offer(struct rig *r, u64 tag)
{
	return begin(r, .tag = tag, .ranges = { { 4 * (u32)tag, 4 } }, .offer = true);
}

/*
 * Before and after
 */

static void test_L6_pull_before_begin(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D), g;

	assert_true(waits(r, k));
	r->now += 5;
	g = offer(r, 1);
	assert_true(waits(r, k));
	r->now += 5;
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
	assert_int_equal(get(r, g)->nr_leases, 1);
	assert_int_equal(get(r, g)->unproven, 1);
}

static void test_L6_pull_between_begin_and_ready(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);
	u64 k = pull(r, .tag = 1, .source = D);

	assert_true(waits(r, k));
	/* L2: what waits has no lease. */
	assert_int_equal(get(r, g)->nr_leases, 0);
	r->now += 5;
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
}

static void test_L6_pull_behind_ready_is_granted_at_once(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	granted(r, pull(r, .exact = g, .tag = 1, .source = D + 1), g);
}

static void test_L6_abort_answers_who_waits(void **state)
{
	struct rig *r = *state;
	u64 before = pull(r, .tag = 1, .source = D);
	u64 g = offer(r, 1);
	u64 after = pull(r, .tag = 1, .source = D + 1);
	u64 exact = pull(r, .tag = 1, .exact = g, .source = D + 2);
	u64 other = pull(r, .tag = 2, .source = D);

	r->now += 5;
	abort_for(r, g, LKVFENCE_REASON_FAILED, 0, 0);
	refused(r, before, g, LKVFENCE_REASON_FAILED);
	refused(r, after, g, LKVFENCE_REASON_FAILED);
	refused(r, exact, g, LKVFENCE_REASON_FAILED);
	assert_true(waits(r, other));
}

/* Its slots are held, for its own source is at it; the answer doesn't wait for that. */
static void test_L6_answer_comes_before_the_memory(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);
	u64 k = pull(r, .tag = 1, .source = D);

	abort_(r, g);
	refused(r, k, g, LKVFENCE_REASON_ABORTED);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_true(slot_taken(r, 0));
	forget_answers(r);
	assert_int_equal(failed(r, g, OWN), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_false(slot_taken(r, 0));
	/* L6: not a second time, now that it is released. */
	assert_int_equal(r->nr_answers, 0);
}

static void test_L6_late_pull_fails_with_the_true_reason(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), k;

	abort_for(r, g, LKVFENCE_REASON_PEER, 0, 0);
	r->now += 5;
	k = pull(r, .tag = 1, .source = D);
	refused(r, k, g, LKVFENCE_REASON_PEER);
	k = pull(r, .tag = 1, .exact = g, .source = D);
	refused(r, k, g, LKVFENCE_REASON_PEER);
}

static void test_L6b_each_end_has_its_reason(void **state)
{
	struct rig *r = *state;
	u64 g, early, late;

	for (u32 reason = LKVFENCE_REASON_ABORTED; reason <= LKVFENCE_REASON_SHUTDOWN;
	     reason++) {
		g = offer(r, reason);
		early = pull(r, .tag = reason, .source = D);
		abort_for(r, g, reason, 0, 0);
		late = pull(r, .tag = reason, .source = D);
		refused(r, early, g, reason);
		refused(r, late, g, reason);
	}
	g = offer(r, 20);
	early = pull(r, .tag = 20, .source = D);
	abort_for(r, g, LKVFENCE_REASON_DROPPED, 0, 0);
	refused(r, early, g, LKVFENCE_REASON_DROPPED);
	/* RELEASE before READY: the producer wants it no more. */
	g = offer(r, 21);
	early = pull(r, .tag = 21, .source = D);
	assert_int_equal(finish(r, g), 0);
	late = pull(r, .tag = 21, .source = D);
	refused(r, early, g, LKVFENCE_REASON_FINISHED);
	refused(r, late, g, LKVFENCE_REASON_FINISHED);
}

static void test_L6_expired_in_the_queue(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ttl = 70, .ranges = { { 0, 4 } },
		      .sources = { OWN }, .offer = true);
	u64 k = pull(r, .tag = 1, .source = D, .timeout = 300);

	assert_int_equal(at(r, r->now + 70), 1);
	refused(r, k, g, LKVFENCE_REASON_EXPIRED);
	assert_int_equal(r->expired, 0);
}

static void test_L6_revoked_source_of_the_producer(void **state)
{
	struct rig *r = *state;
	u64 g, k;

	bind_(r, OWN);
	g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		  .offer = true);
	k = pull(r, .tag = 1, .source = D);
	assert_true(revoke(r, OWN));
	assert_int_equal(end_some(r, OWN, 10), 1);
	refused(r, k, g, LKVFENCE_REASON_REVOKED);
	assert_true(slot_taken(r, 0));
}

/* Whether or not the tag is used by something that isn't offered. */
static void test_pull_waits_for_what_is_offered(void **state)
{
	struct rig *r = *state;
	u64 plain = begin(r, .tag = 1, .ranges = { { 0, 4 } });
	u64 k = pull(r, .tag = 1, .source = D), g;

	assert_true(waits(r, k));
	assert_int_equal(finish(r, plain), 0);
	assert_true(waits(r, k));
	g = offer(r, 1);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
}

/*
 * Which one
 */

static void test_L5_exact_means_that_one(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h, k;

	k = pull(r, .tag = 1, .exact = g, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, k, g);
	abort_(r, g);
	assert_int_equal(drained(r, g, D), 0);
	h = offer(r, 1);
	assert_int_equal(ready(r, h, 0, 0), 0);
	/* The tag has another one now, and of this nothing more is known. */
	k = pull(r, .tag = 1, .exact = g, .source = D);
	refused(r, k, g, LKVFENCE_REASON_UNKNOWN);
	k = pull(r, .tag = 1, .exact = h, .source = D);
	granted(r, k, h);
	/* Another tag's. */
	k = pull(r, .tag = 2, .exact = h, .source = D + 1);
	refused(r, k, h, LKVFENCE_REASON_UNKNOWN);
}

static void test_L5_exact_never_waits_for_a_next_one(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .exact = 3, .source = D);

	refused(r, k, 3, LKVFENCE_REASON_UNKNOWN);
	/* An early abort of the tag has no generation. */
	assert_true(abort_early(r, 1, 0, LKVFENCE_REASON_ABORTED));
	k = pull(r, .tag = 1, .exact = 3, .source = D);
	refused(r, k, 3, LKVFENCE_REASON_UNKNOWN);
}

static void test_L5_newer_than_what_was_pulled_before(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h, k, l;

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	/* One that is there and isn't meant: READY, then ended. */
	k = pull(r, .tag = 1, .newer = g, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(finish(r, g), 0);
	assert_true(waits(r, k));
	l = pull(r, .tag = 1, .newer = g, .source = D + 1);
	assert_true(waits(r, l));
	/* Without a generation it would be answered by the tombstone. */
	refused(r, pull(r, .tag = 1, .source = D + 2), g, LKVFENCE_REASON_FINISHED);
	refused(r, pull(r, .tag = 1, .newer = g - 1, .source = D + 2), g,
		LKVFENCE_REASON_FINISHED);
	h = offer(r, 1);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, k, h);
	granted(r, l, h);
}

static void test_L5_newer_waits_out_the_older_one(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);
	u64 k = pull(r, .tag = 1, .newer = g, .source = D);
	u64 old = pull(r, .tag = 1, .source = D);

	/* Of two tickets of one tag READY answers the one that meant it. */
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, old, g);
	assert_true(waits(r, k));
	assert_int_equal(at(r, r->now + UNCLAIMED_NS), 0);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
}

static void test_newer_than_what_is_not_there_yet(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .newer = U64_MAX, .source = D);
	u64 l = pull(r, .tag = 1, .source = D + 1);
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, l, g);
	assert_true(waits(r, k));
	assert_int_equal(at(r, r->now + UNCLAIMED_NS), 0);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
}

/*
 * Who gets it
 */

static void test_granted_in_the_order_in_which_they_came(void **state)
{
	struct rig *r = *state;
	u64 k[4], g;

	r->pull_limits.max_leases = 2;
	k[0] = pull(r, .tag = 1, .source = D + 9);
	k[1] = pull(r, .tag = 1, .source = D + 2);
	g = offer(r, 1);
	k[2] = pull(r, .tag = 1, .source = D + 5);
	k[3] = pull(r, .tag = 1, .exact = g, .source = D);
	assert_int_equal(ready(r, g, 0, 0), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(r->answers[i].number, k[i]);
	granted(r, k[0], g);
	granted(r, k[1], g);
	/* There are too many: the last ones go without. */
	refused(r, k[2], g, LKVFENCE_REASON_SOURCE);
	refused(r, k[3], g, LKVFENCE_REASON_SOURCE);
}

static void test_L5_source_that_has_had_one(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { OWN },
		      .offer = true);
	u64 first = pull(r, .tag = 1, .source = D);
	u64 second = pull(r, .tag = 1, .source = D);
	u64 own = pull(r, .tag = 1, .source = OWN);

	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, first, g);
	refused(r, second, g, LKVFENCE_REASON_SOURCE);
	refused(r, own, g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(drained(r, g, D), 0);
	refused(r, pull(r, .tag = 1, .source = D), g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(get(r, g)->nr_leases, 2);
}

static void test_L3_source_that_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g, k;

	bind_(r, D);
	assert_true(revoke(r, D));
	g = offer(r, 1);
	k = pull(r, .tag = 1, .source = D);
	assert_true(waits(r, k));
	assert_int_equal(ready(r, g, 0, 0), 0);
	refused(r, k, g, LKVFENCE_REASON_SOURCE);
	assert_int_equal(r->f.counts.refused_revoked, 1);
	assert_int_equal(get(r, g)->unproven, 0);
}

static void test_pulled_lease_of_a_bound_source_is_bound(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, D);
	g = offer(r, 1);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(get(r, g)->nr_bound, 1);
	assert_int_equal(unbind(r, D), -EBUSY);
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(unbind(r, D), 0);
}

/*
 * What is granted stays, whatever becomes of the transfer
 */

static void test_L2_granted_keeps_the_slots_after_an_abort(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(finish(r, g), -EBUSY);
	assert_true(slot_taken(r, 4));
	assert_int_equal(at(r, r->now + DEFAULT_NS - 1), 0);
	assert_true(slot_taken(r, 4));
	assert_int_equal(drained(r, g, D), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_DRAINED);
	assert_false(slot_taken(r, 4));
}

static void test_L2_granted_keeps_the_slots_after_expiry(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .policy = QUARANTINE, .ranges = { { 4, 4 } },
		      .offer = true);

	assert_int_equal(ready(r, g, 50, 0), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(at(r, r->now + 50), 1);
	only_news(r, g, FENCE_NEWS_ENDED);
	refused(r, pull(r, .tag = 1, .source = D + 1), g, LKVFENCE_REASON_EXPIRED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, FENCE_NEWS_QUARANTINED);
	assert_true(slot_taken(r, 4));
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
	assert_false(slot_taken(r, 4));
}

static void test_L4_failed_pull_is_held_until_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, pull(r, .tag = 1, .source = D), g);
	assert_int_equal(failed(r, g, D), 0);
	assert_int_equal(finish(r, g), -EBUSY);
	abort_(r, g);
	only_news(r, g, FENCE_NEWS_ENDED);
	assert_int_equal(at(r, r->now + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, r->now + 1), 1);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->outcome,
			 LKVFENCE_OUTCOME_TIMEOUT);
}

/*
 * Clocks
 */

static void test_L8_unclaimed_has_a_short_time(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 k = pull(r, .tag = 1, .source = D);

	assert_int_equal(next_deadline(r), start + UNCLAIMED_NS);
	at(r, start + UNCLAIMED_NS - 1);
	assert_true(waits(r, k));
	at(r, start + UNCLAIMED_NS);
	assert_int_equal(r->expired, 1);
	refused(r, k, 0, LKVFENCE_REASON_UNKNOWN);
	assert_int_equal(next_deadline(r), U64_MAX);
}

static void test_L8_claimed_waits_for_its_deadline(void **state)
{
	struct rig *r = *state;
	u64 start = r->now;
	u64 k = pull(r, .tag = 1, .source = D), g;

	r->now += UNCLAIMED_NS - 1;
	g = offer(r, 1);
	assert_int_equal(next_deadline(r), start + PULL_NS);
	at(r, start + PULL_NS - 1);
	assert_true(waits(r, k));
	at(r, start + PULL_NS);
	refused(r, k, g, LKVFENCE_REASON_DEADLINE);
	/* The transfer doesn't know that anybody waited. */
	assert_int_equal(get(r, g)->state, LKVFENCE_STATE_WAITING);
	assert_int_equal(ready(r, g, 0, 0), 0);
}

static void test_L8_deadline_before_the_unclaimed_time(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D, .unclaimed = 50, .timeout = 20);
	u64 l = pull(r, .tag = 1, .source = D, .unclaimed = 20, .timeout = 20);

	at(r, r->now + 19);
	assert_true(waits(r, k));
	assert_true(waits(r, l));
	at(r, r->now + 1);
	refused(r, k, 0, LKVFENCE_REASON_DEADLINE);
	refused(r, l, 0, LKVFENCE_REASON_DEADLINE);
}

/* Somebody looks late: both times are past, and the pull's own is told. */
static void test_L8_late_clock(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D), l;

	l = pull(r, .tag = 1, .source = D, .timeout = 10 * PULL_NS);
	at(r, r->now + PULL_NS);
	refused(r, k, 0, LKVFENCE_REASON_DEADLINE);
	refused(r, l, 0, LKVFENCE_REASON_UNKNOWN);
}

static void test_L8_clock_in_batches(void **state)
{
	struct rig *r = *state;
	u64 k[5];

	for (u32 i = 0; i < 5; i++)
		k[i] = pull(r, .tag = i, .source = D, .unclaimed = 50 - 10 * i);
	assert_int_equal(next_deadline(r), r->now + 10);
	r->now += 100;
	for (u32 i = 5; i--; ) {
		assert_int_equal(pull_expire(&r->p, r->now, 1), 1);
		rig_settle(r);
		/* The earliest first. */
		refused(r, k[i], 0, LKVFENCE_REASON_UNKNOWN);
	}
	assert_int_equal(pull_expire(&r->p, r->now, 1), 0);
}

/* L9: twenty that nobody will ever answer, in front of one that is served. */
static void test_L9_twenty_dead_pulls_delay_nobody(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h = offer(r, 2), k;
	struct image before = image_of(r), after;

	for (u32 i = 0; i < 20; i++)
		pull(r, .tag = i % 2 ? 2 : 100 + i, .source = D + i);
	after = image_of(r);
	/* They hold nothing: no slot, no lease, no place. */
	assert_memory_equal(before.taken, after.taken, sizeof(after.taken));
	assert_int_equal(get(r, h)->nr_leases, 0);
	k = pull(r, .tag = 1, .source = D);
	assert_int_equal(ready(r, g, 0, 1), 0);
	granted(r, k, g);
	assert_int_equal(drained(r, g, D), 0);
	only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(r->nr_answers, 1);
	assert_int_equal(r->p.nr_tickets, 20);
}

/*
 * Nobody wants the answer any more
 */

static void test_L6_withdrawn_is_answered(void **state)
{
	struct rig *r = *state;
	u64 k = pull(r, .tag = 1, .source = D);
	u64 g = offer(r, 2);
	u64 l = pull(r, .tag = 2, .source = D), m = pull(r, .tag = 2, .source = D + 1);

	withdraw(r, k);
	refused(r, k, 0, LKVFENCE_REASON_WITHDRAWN);
	withdraw(r, l);
	refused(r, l, g, LKVFENCE_REASON_WITHDRAWN);
	/* The others are as they were. */
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, m, g);
	assert_int_equal(get(r, g)->nr_leases, 1);
}

static void test_L6_closed_has_nobody_to_tell(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 2);
	u64 k = pull(r, .tag = 1, .source = D), l = pull(r, .tag = 2, .source = D);
	u64 m = pull(r, .tag = 2, .source = D + 1);

	close_ticket(r, k);
	close_ticket(r, l);
	assert_int_equal(r->p.counts.pulls_closed, 2);
	assert_int_equal(r->nr_answers, 0);
	assert_int_equal(next_deadline(r), r->now + PULL_NS);
	assert_int_equal(ready(r, g, 0, 0), 0);
	granted(r, m, g);
	assert_int_equal(r->nr_answers, 1);
	at(r, r->now + 10 * PULL_NS);
	assert_int_equal(r->nr_answers, 1);
}

/*
 * Many at once
 */

static void test_L6_abort_all_answers_all(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1), h = offer(r, 2), k[6];
	u64 plain = begin(r, .tag = 3, .ranges = { { 40, 4 } }, .sources = { OWN });

	assert_int_equal(ready(r, h, 0, 2), 0);
	k[0] = pull(r, .tag = 1, .source = D);
	k[1] = pull(r, .tag = 1, .exact = g, .source = D + 1);
	k[2] = pull(r, .tag = 5, .source = D);
	k[3] = pull(r, .tag = 4, .source = D);
	k[4] = pull(r, .tag = 5, .source = D + 1);
	k[5] = pull(r, .tag = 2, .newer = h, .source = D + 1);
	granted(r, pull(r, .tag = 2, .source = D), h);
	r->now += 5;
	abort_all(r, LKVFENCE_REASON_SHUTDOWN);
	refused(r, k[0], g, LKVFENCE_REASON_SHUTDOWN);
	refused(r, k[1], g, LKVFENCE_REASON_SHUTDOWN);
	for (u32 i = 2; i < 6; i++)
		refused(r, k[i], 0, LKVFENCE_REASON_SHUTDOWN);
	assert_int_equal(r->p.nr_tickets, 0);
	/* The reader, and the one that nobody offered, are held. */
	assert_int_equal(get(r, h)->state, LKVFENCE_STATE_ENDED);
	assert_int_equal(get(r, plain)->reason, LKVFENCE_REASON_SHUTDOWN);
	assert_true(slot_taken(r, 8));
	assert_int_equal(drained(r, h, D), 0);
	assert_false(slot_taken(r, 8));
	/* It holds for what was there: nothing of it hits who comes now. */
	g = offer(r, 5);
	assert_true(waits(r, pull(r, .tag = 5, .source = D)));
}

static void test_L6_one_end_answers_a_mixed_batch(void **state)
{
	struct rig *r = *state;
	u64 unclaimed = pull(r, .tag = 1, .source = D, .timeout = 900);
	u64 g = offer(r, 1);
	u64 short_one = pull(r, .tag = 1, .source = D + 1, .timeout = 10);
	u64 exact = pull(r, .tag = 1, .exact = g, .source = D + 2);
	u64 newer = pull(r, .tag = 1, .newer = g, .source = D + 3, .unclaimed = 100);
	u64 gone = pull(r, .tag = 1, .source = D + 4);

	at(r, r->now + 10);
	refused(r, short_one, g, LKVFENCE_REASON_DEADLINE);
	withdraw(r, gone);
	refused(r, gone, g, LKVFENCE_REASON_WITHDRAWN);
	forget_answers(r);
	abort_for(r, g, LKVFENCE_REASON_FAILED, 0, 0);
	assert_int_equal(r->nr_answers, 2);
	refused(r, unclaimed, g, LKVFENCE_REASON_FAILED);
	refused(r, exact, g, LKVFENCE_REASON_FAILED);
	assert_true(waits(r, newer));
}

static void test_counters_add_up(void **state)
{
	struct rig *r = *state;
	u64 g = offer(r, 1);

	pull(r, .tag = 1, .source = D);
	pull(r, .tag = 1, .source = D);
	pull(r, .tag = 2, .source = D);
	close_ticket(r, pull(r, .tag = 2, .source = D));
	withdraw(r, pull(r, .tag = 2, .source = D));
	pull(r, .tag = 2, .exact = g, .source = D);
	assert_int_equal(ready(r, g, 0, 0), 0);
	assert_int_equal(r->p.counts.pulls, 6);
	assert_int_equal(r->p.counts.pulls_granted, 1);
	assert_int_equal(r->p.counts.pulls_refused, 3);
	assert_int_equal(r->p.counts.pulls_closed, 1);
	assert_int_equal(r->p.nr_tickets, 1);
}

/* 0 would say that it wasn't. */
static void test_answered_at_the_beginning_of_time(void **state)
{
	struct rig *r = *state;
	struct fence_lease lease = { .source = D };
	struct pull_ticket k;

	pull_ticket_init(&k);
	k.tag = 1;
	k.exact = true;
	k.generation = 3;
	k.lease = &lease;
	pull_ask(&r->p, &k, 1, 1, &r->pull_limits, 0);
	assert_true(pull_answered(&k));
	assert_ptr_equal(pull_news(&r->p), &k);
	assert_null(pull_news(&r->p));
	assert_false(r->p.active);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L6_pull_before_begin),
		TEST(test_L6_pull_between_begin_and_ready),
		TEST(test_L6_pull_behind_ready_is_granted_at_once),
		TEST(test_L6_abort_answers_who_waits),
		TEST(test_L6_answer_comes_before_the_memory),
		TEST(test_L6_late_pull_fails_with_the_true_reason),
		TEST(test_L6b_each_end_has_its_reason),
		TEST(test_L6_expired_in_the_queue),
		TEST(test_L6_revoked_source_of_the_producer),
		TEST(test_pull_waits_for_what_is_offered),
		TEST(test_L5_exact_means_that_one),
		TEST(test_L5_exact_never_waits_for_a_next_one),
		TEST(test_L5_newer_than_what_was_pulled_before),
		TEST(test_L5_newer_waits_out_the_older_one),
		TEST(test_newer_than_what_is_not_there_yet),
		TEST(test_granted_in_the_order_in_which_they_came),
		TEST(test_L5_source_that_has_had_one),
		TEST(test_L3_source_that_is_revoked),
		TEST(test_pulled_lease_of_a_bound_source_is_bound),
		TEST(test_L2_granted_keeps_the_slots_after_an_abort),
		TEST(test_L2_granted_keeps_the_slots_after_expiry),
		TEST(test_L4_failed_pull_is_held_until_the_deadline),
		TEST(test_L8_unclaimed_has_a_short_time),
		TEST(test_L8_claimed_waits_for_its_deadline),
		TEST(test_L8_deadline_before_the_unclaimed_time),
		TEST(test_L8_late_clock),
		TEST(test_L8_clock_in_batches),
		TEST(test_L9_twenty_dead_pulls_delay_nobody),
		TEST(test_L6_withdrawn_is_answered),
		TEST(test_L6_closed_has_nobody_to_tell),
		TEST(test_L6_abort_all_answers_all),
		TEST(test_L6_one_end_answers_a_mixed_batch),
		TEST(test_counters_add_up),
		TEST(test_answered_at_the_beginning_of_time),
	};

	return RUN(tests);
}
