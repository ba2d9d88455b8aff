// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Revocation of a transfer: when it is begun, and how long it may take. */
#include "rig.h"

#define BOUND		1	/* sources that are bound in each test */
#define BOUND2		2
#define UNBOUND		3

#define ENDED		FENCE_NEWS_ENDED
#define QUARANTINED	FENCE_NEWS_QUARANTINED
#define RELEASED	FENCE_NEWS_RELEASED
#define REVOKING	FENCE_NEWS_REVOKING

static int setup(void **state)
{
	rig_setup(state);
	bind_(*state, BOUND);
	bind_(*state, BOUND2);
	return 0;
}

/* A transfer of slot 0 with leases of both bound sources, that has ended now. */
static u64 held(struct rig *r, u32 policy, u64 timeout)
{
	u64 g = begin(r, .tag = 1, .policy = policy, .ranges = { { 0, 1 } },
		      .sources = { BOUND, BOUND2 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, timeout);
	return g;
}

static void abort_now(struct rig *r, u64 g)
{
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
}

static void must_be_revoking(struct rig *r, u64 g)
{
	assert_true(get(r, g)->revoking);
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(source_of(r, BOUND2)->state, FENCE_SOURCE_REVOKING);
}

static void must_be_untouched(struct rig *r, u64 g)
{
	assert_false(get(r, g)->tried);
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_BOUND);
	assert_int_equal(source_of(r, BOUND2)->state, FENCE_SOURCE_BOUND);
	assert_int_equal(r->f.counts.revokes, 0);
}

/*
 * At the deadline
 */

static void test_revoke_begins_at_the_deadline(void **state)
{
	static const u32 policies[] = {
		LKVFENCE_POLICY_DEFAULT, REVOKE, TAINT | REVOKE, QUARANTINE | REVOKE,
	};

	for (u32 i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct rig *r = *state;
		u64 g = held(r, policies[i], 0);
		u64 end = r->now;

		only_news(r, g, ENDED);
		assert_int_equal(at(r, end + DEFAULT_NS - 1), 0);
		must_be_untouched(r, g);
		assert_int_equal(at(r, end + DEFAULT_NS), 1);
		only_news(r, g, REVOKING);
		must_be_revoking(r, g);
		/* The slots are held as before, with time to do it. */
		assert_int_equal(get(r, g)->state, LKVFENCE_STATE_ENDED);
		assert_false(get(r, g)->quarantined);
		assert_int_equal(r->f.slots_held, 1);
		assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS);
		assert_int_equal(get(r, g)->deadline_ns, end + DEFAULT_NS);
		assert_int_equal(r->f.counts.revokes, 1);
		assert_int_equal(r->f.counts.revokes_failed, 0);

		rig_teardown(state);
		setup(state);
	}
}

static void test_taint_and_quarantine_alone_revoke_nothing(void **state)
{
	struct rig *r = *state;
	u64 g;

	held(r, TAINT, 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
	g = held(r, QUARANTINE, 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_true(get(r, g)->quarantined);
	must_be_untouched(r, g);
	/* It didn't ask for it, so nothing has failed. */
	assert_int_equal(r->f.counts.revokes_failed, 0);
}

/* One lease that isn't bound, and all of it is as it was without sources. */
static void test_half_bound_is_not_revoked(void **state)
{
	struct rig *r = *state;

	for (u32 asked = 0; asked < 2; asked++) {
		u64 g = begin(r, .policy = asked ? REVOKE : LKVFENCE_POLICY_DEFAULT,
			      .ranges = { { 0, 1 } }, .sources = { BOUND, UNBOUND });

		abort_(r, g);
		forget_news(r);
		assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
		assert_int_equal(only_news(r, g, RELEASED)->outcome,
				 LKVFENCE_OUTCOME_TIMEOUT);
		assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_BOUND);
		assert_int_equal(r->f.counts.revokes, 0);
		/* Who asked for it didn't get it. */
		assert_int_equal(r->f.counts.revokes_failed, asked);
	}
}

/* It is as it is at the deadline that counts. */
static void test_bound_by_the_deadline_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { BOUND, UNBOUND });

	abort_(r, g);
	assert_int_equal(drained(r, g, UNBOUND), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_true(get(r, g)->revoking);
	/* It was none of the leases without proof. */
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(source_of(r, BOUND2)->state, FENCE_SOURCE_BOUND);
}

/* Only sources of leases without proof are closed. */
static void test_source_of_a_proven_lease_is_left_alone(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, REVOKE, 0);

	assert_int_equal(drained(r, g, BOUND2), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(source_of(r, BOUND2)->state, FENCE_SOURCE_BOUND);
}

static void test_failed_lease_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, LKVFENCE_POLICY_DEFAULT, 0);

	assert_int_equal(failed(r, g, BOUND), 0);
	assert_int_equal(failed(r, g, BOUND2), 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	must_be_revoking(r, g);
	quiet(r, BOUND, SETTLED);
	quiet(r, BOUND2, FLUSHED);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 1);
}

/*
 * How long it takes
 */

static void test_L8_too_slow_is_tainted(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, LKVFENCE_POLICY_DEFAULT, 0);
	u64 deadline = r->now + DEFAULT_NS;
	const struct fence_transfer *t;

	/* The clock was late: the time is from when it is begun. */
	assert_int_equal(at(r, deadline + 10), 1);
	forget_news(r);
	assert_int_equal(at(r, deadline + 10 + REVOKE_NS - 1), 0);
	assert_int_equal(at(r, deadline + 10 + REVOKE_NS), 1);
	t = only_news(r, g, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
	assert_int_equal(r->f.counts.evidence[LKVFENCE_EVIDENCE_TIMEOUT], 2);
	/* Its sources aren't done for that, and may be let go of. */
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(source_of(r, BOUND)->nr_leases, 0);
	quiet(r, BOUND, SETTLED);
	assert_int_equal(r->f.counts.evidence[SETTLED], 0);
	no_news(r);
}

static void test_L2_too_slow_is_quarantined(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE | REVOKE, 0);
	const struct fence_transfer *t;

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	forget_news(r);
	assert_int_equal(at(r, r->now + REVOKE_NS), 1);
	only_news(r, g, QUARANTINED);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(r->f.counts.revokes_failed, 1);
	assert_false(get(r, g)->revoking);
	/* It comes after all. */
	r->now += 100 * MAX_NS;
	quiet(r, BOUND, SETTLED);
	no_news(r);
	quiet(r, BOUND2, FLUSHED);
	t = only_news(r, g, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(t->weakest, SETTLED);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

/* L4: longer than revoke_ns to the deadline, and that stays what it is. */
static void test_L4_revocation_shortens_no_hold(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 500);
	u64 end = r->now;

	abort_now(r, g);
	must_be_revoking(r, g);
	assert_int_equal(fence_next_deadline(&r->f), end + 500);
	assert_int_equal(at(r, end + 499), 0);
	assert_int_equal(at(r, end + 500), 1);
	/* Not once more: it had its time. */
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

static void test_L4_extension_while_it_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, REVOKE, 0);
	u64 end = r->now;

	assert_int_equal(at(r, end + DEFAULT_NS), 1);
	/* Less than there is, then more; L8: not beyond the bound. */
	abort_for(r, g, LKVFENCE_REASON_ABORTED, 0, REVOKE_NS - 1);
	assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS);
	assert_int_equal(get(r, g)->deadline_ns, r->now + REVOKE_NS - 1);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, 0, REVOKE_NS + 1);
	assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS + 1);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, 0, MAX_NS);
	assert_int_equal(fence_next_deadline(&r->f), end + MAX_NS);
}

/* L8: the longest hold there is, and what a revocation takes, once. */
static void test_L8_revocation_moves_the_clock_once(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE | REVOKE, MAX_NS);
	u64 end = r->now;

	assert_int_equal(at(r, end + MAX_NS), 1);
	assert_int_equal(fence_next_deadline(&r->f), end + MAX_NS + REVOKE_NS);
	r->now += REVOKE_NS - 1;
	abort_now(r, g);
	assert_int_equal(fence_next_deadline(&r->f), end + MAX_NS + REVOKE_NS);
	/* Nor where one source is lost, and its lease proven by other means. */
	lost(r, BOUND);
	assert_int_equal(revoked(r, g, BOUND, DEREGISTERED), 0);
	assert_int_equal(source_of(r, BOUND2)->state, FENCE_SOURCE_REVOKING);
	assert_false(fence_revocable(get(r, g)));
	forget_news(r);
	abort_now(r, g);
	no_news(r);
	assert_int_equal(fence_next_deadline(&r->f), end + MAX_NS);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(at(r, r->now), 1);
	only_news(r, g, QUARANTINED);
	abort_now(r, g);
	no_news(r);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

/*
 * At once
 */

static void test_now_as_it_ends(void **state)
{
	static const u32 ways[] = {
		LKVFENCE_REASON_ABORTED, LKVFENCE_REASON_EXPIRED,
		LKVFENCE_REASON_ORPHANED, LKVFENCE_REASON_REVOKED,
	};

	for (u32 i = 0; i < 4; i++) {
		struct rig *r = *state;
		u64 g = begin(r, .ttl = 30, .policy = REVOKE_NOW, .ranges = { { 0, 1 } },
			      .sources = { BOUND, BOUND2 });

		must_be_untouched(r, g);
		if (ways[i] == LKVFENCE_REASON_EXPIRED) {
			assert_int_equal(at(r, r->now + 30), 1);
		} else if (ways[i] == LKVFENCE_REASON_REVOKED) {
			assert_true(revoke(r, BOUND));
			assert_int_equal(end_some(r, BOUND, 8), 1);
		} else {
			abort_for(r, g, ways[i], LKVFENCE_POLICY_DEFAULT, 0);
		}
		only_news(r, g, ENDED | REVOKING);
		must_be_revoking(r, g);
		assert_int_equal(get(r, g)->reason, ways[i]);
		assert_int_equal(fence_next_deadline(&r->f), r->now + DEFAULT_NS);
		assert_int_equal(r->f.counts.revokes, 1);

		rig_teardown(state);
		setup(state);
	}
}

static void test_now_asked_for_by_the_abort(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = TAINT, .ranges = { { 0, 1 } },
		      .sources = { BOUND, BOUND2 });

	abort_for(r, g, LKVFENCE_REASON_PEER, REVOKE_NOW, 10);
	only_news(r, g, ENDED | REVOKING);
	must_be_revoking(r, g);
	/* Its time to do it, though its deadline comes before. */
	assert_int_equal(get(r, g)->deadline_ns, r->now + 10);
	assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS);
}

static void test_now_of_one_that_is_held(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 0);

	r->now += 60;
	forget_news(r);
	abort_now(r, g);
	only_news(r, g, REVOKING);
	must_be_revoking(r, g);
	assert_int_equal(fence_next_deadline(&r->f), r->now + REVOKE_NS);
	assert_int_equal(get(r, g)->reason, LKVFENCE_REASON_ABORTED);
	/* Asked for twice, done once. */
	r->now++;
	abort_now(r, g);
	no_news(r);
	assert_int_equal(fence_next_deadline(&r->f), r->now - 1 + REVOKE_NS);
	assert_int_equal(r->f.counts.revokes, 1);
}

/* The deadline passed, and the call came before the clock. */
static void test_now_between_deadline_and_clock(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, TAINT, 0);

	r->now += DEFAULT_NS + 5;
	abort_now(r, g);
	assert_int_equal(at(r, r->now + REVOKE_NS - 1), 0);
	quiet(r, BOUND, FLUSHED);
	quiet(r, BOUND2, FLUSHED);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 1);
}

static void test_now_in_quarantine(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	forget_news(r);
	/* REVOKE alone is for a deadline, and that is past. */
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE, 50);
	no_news(r);
	must_be_untouched(r, g);
	abort_now(r, g);
	only_news(r, g, REVOKING);
	must_be_revoking(r, g);
	/* There is no clock for it: it stays out for as long as that takes. */
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(r->f.slots_quarantined, 1);
	quiet(r, BOUND2, FLUSHED);
	quiet(r, BOUND, DEREGISTERED);
	assert_int_equal(only_news(r, g, RELEASED)->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(r->f.slots_quarantined, 0);
	assert_int_equal(r->f.counts.revokes_failed, 0);
}

static void test_force_while_it_is_revoked(void **state)
{
	struct rig *r = *state;
	u64 g = held(r, QUARANTINE, 0);

	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	abort_now(r, g);
	assert_int_equal(end_some(r, BOUND, 8), 1);
	forget_news(r);
	assert_int_equal(force(r, g), 0);
	assert_int_equal(only_news(r, g, RELEASED)->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	quiet(r, BOUND, SETTLED);
	quiet(r, BOUND2, SETTLED);
	no_news(r);
}

/* At the end it can't; at the deadline it can, and then it is. */
static void test_now_and_half_bound_waits_for_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = REVOKE_NOW, .ranges = { { 0, 1 } },
		      .sources = { BOUND, UNBOUND });

	abort_(r, g);
	only_news(r, g, ENDED);
	must_be_untouched(r, g);
	abort_now(r, g);
	must_be_untouched(r, g);
	assert_int_equal(drained(r, g, UNBOUND), 0);
	must_be_untouched(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	only_news(r, g, REVOKING);
	assert_true(get(r, g)->revoking);
	assert_int_equal(r->f.counts.revokes_failed, 0);
}

/* Nothing to wait for: nobody is revoked for its sake. */
static void test_now_and_quiet_is_released(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .policy = REVOKE_NOW, .ranges = { { 0, 1 } },
		      .sources = { BOUND, BOUND2 });

	assert_int_equal(drained(r, g, BOUND), 0);
	assert_int_equal(drained(r, g, BOUND2), 0);
	abort_now(r, g);
	assert_int_equal(only_news(r, g, RELEASED)->outcome, LKVFENCE_OUTCOME_DRAINED);
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_BOUND);
	assert_int_equal(r->f.counts.revokes, 0);
}

/* Proof comes while it is revoked: what there is of it decides the outcome. */
static void test_proof_while_it_is_revoked(void **state)
{
	struct rig *r = *state;

	for (u32 one = 0; one < 2; one++) {
		u64 g = held(r, REVOKE_NOW, 0);

		must_be_revoking(r, g);
		forget_news(r);
		if (one)
			quiet(r, BOUND, SETTLED);
		else
			assert_int_equal(drained(r, g, BOUND), 0);
		assert_int_equal(drained(r, g, BOUND2), 0);
		assert_true(r->released);
		assert_int_equal(only_news(r, g, RELEASED)->outcome,
				 one ? LKVFENCE_OUTCOME_REVOKED : LKVFENCE_OUTCOME_DRAINED);
		assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
		assert_int_equal(r->f.counts.revokes_failed, 0);
		rig_teardown(state);
		setup(state);
		r = *state;
	}
}

int main(void)
{
#define BOTH(name)	cmocka_unit_test_setup_teardown(name, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		BOTH(test_revoke_begins_at_the_deadline),
		BOTH(test_taint_and_quarantine_alone_revoke_nothing),
		BOTH(test_half_bound_is_not_revoked),
		BOTH(test_bound_by_the_deadline_is_revoked),
		BOTH(test_source_of_a_proven_lease_is_left_alone),
		BOTH(test_failed_lease_is_revoked),
		BOTH(test_L8_too_slow_is_tainted),
		BOTH(test_L2_too_slow_is_quarantined),
		BOTH(test_L4_revocation_shortens_no_hold),
		BOTH(test_L4_extension_while_it_is_revoked),
		BOTH(test_L8_revocation_moves_the_clock_once),
		BOTH(test_now_as_it_ends),
		BOTH(test_now_asked_for_by_the_abort),
		BOTH(test_now_of_one_that_is_held),
		BOTH(test_now_between_deadline_and_clock),
		BOTH(test_now_in_quarantine),
		BOTH(test_force_while_it_is_revoked),
		BOTH(test_now_and_half_bound_waits_for_the_deadline),
		BOTH(test_now_and_quiet_is_released),
		BOTH(test_proof_while_it_is_revoked),
	};

	return RUN(tests);
}
