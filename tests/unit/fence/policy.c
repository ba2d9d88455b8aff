// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Policies with REVOKE, and which transfers can be revoked. */
#include "rig.h"

#define BOUND		1	/* sources that are bound in each test */
#define BOUND2		2
#define UNBOUND		3

static int setup(void **state)
{
	rig_setup(state);
	bind_(*state, BOUND);
	bind_(*state, BOUND2);
	return 0;
}

static void test_revocable_when_each_unproven_lease_is_bound(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	/* Nothing is out: there is nothing to take away. */
	assert_false(fence_revocable(get(r, g)));
	assert_int_equal(take(r, g, BOUND), 0);
	assert_true(fence_revocable(get(r, g)));
	assert_int_equal(take(r, g, UNBOUND), 0);
	assert_false(fence_revocable(get(r, g)));
	assert_int_equal(take(r, g, BOUND2), 0);
	assert_false(fence_revocable(get(r, g)));
	/* A lease that failed is unproven still; one that is drained isn't. */
	assert_int_equal(failed(r, g, BOUND), 0);
	assert_false(fence_revocable(get(r, g)));
	assert_int_equal(drained(r, g, UNBOUND), 0);
	assert_true(fence_revocable(get(r, g)));
	assert_int_equal(revoked(r, g, BOUND, WINDOW), 0);
	assert_int_equal(drained(r, g, BOUND2), 0);
	assert_false(fence_revocable(get(r, g)));
}

static void test_revocable_by_a_source_that_is_being_revoked(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { BOUND, BOUND2 });

	assert_true(revoke(r, BOUND));
	assert_true(fence_revocable(get(r, g)));
	/* But not by one that is lost. */
	lost(r, BOUND);
	assert_false(fence_revocable(get(r, g)));
	/* Until that one's lease is proven. */
	assert_int_equal(revoked(r, g, BOUND, DEREGISTERED), 0);
	assert_true(fence_revocable(get(r, g)));
}

static void test_policy_at_begin(void **state)
{
	static const struct {
		u32 asked, stored, in_force;
	} cases[] = {
		{ LKVFENCE_POLICY_DEFAULT, TAINT, TAINT | REVOKE },
		{ TAINT, TAINT, TAINT },
		{ QUARANTINE, QUARANTINE, QUARANTINE },
		{ REVOKE, TAINT | REVOKE, TAINT | REVOKE },
		{ REVOKE_NOW, TAINT | REVOKE_NOW, TAINT | REVOKE_NOW },
		{ TAINT | REVOKE, TAINT | REVOKE, TAINT | REVOKE },
		{ QUARANTINE | REVOKE_NOW, QUARANTINE | REVOKE_NOW,
		  QUARANTINE | REVOKE_NOW },
		{ REVOKE | REVOKE_NOW, TAINT | REVOKE | REVOKE_NOW,
		  TAINT | REVOKE | REVOKE_NOW },
	};
	struct rig *r = *state;

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u64 g = begin(r, .policy = cases[i].asked, .ranges = { { 0, 1 } },
			      .sources = { BOUND });

		assert_int_equal(get(r, g)->policy, cases[i].stored);
		assert_int_equal(fence_policy(get(r, g)), cases[i].in_force);
		assert_int_equal(drained(r, g, BOUND), 0);
		assert_int_equal(finish(r, g), 0);
	}
}

/* The default has REVOKE for as long as it is of use. */
static void test_default_policy_is_as_things_are(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	assert_int_equal(fence_policy(get(r, g)), TAINT);
	assert_int_equal(take(r, g, BOUND), 0);
	assert_int_equal(fence_policy(get(r, g)), TAINT | REVOKE);
	assert_int_equal(take(r, g, UNBOUND), 0);
	assert_int_equal(fence_policy(get(r, g)), TAINT);
	assert_int_equal(drained(r, g, UNBOUND), 0);
	assert_int_equal(fence_policy(get(r, g)), TAINT | REVOKE);
	/* Also beside what an ABORT asks for, laxer or stricter. */
	abort_for(r, g, LKVFENCE_REASON_ABORTED, TAINT, 0);
	assert_int_equal(fence_policy(get(r, g)), TAINT | REVOKE);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, QUARANTINE, 0);
	assert_int_equal(fence_policy(get(r, g)), QUARANTINE | REVOKE);
	assert_true(revoke(r, BOUND));
	assert_int_equal(fence_policy(get(r, g)), QUARANTINE | REVOKE);
	lost(r, BOUND);
	assert_int_equal(fence_policy(get(r, g)), QUARANTINE);
}

/* What was tried, and given up, isn't what happens next; asked for it stays. */
static void test_default_policy_once_it_was_tried(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .sources = { BOUND });
	u64 asked = begin(r, .tag = 2, .policy = REVOKE, .ranges = { { 1, 1 } },
			  .sources = { BOUND2 });

	abort_for(r, g, LKVFENCE_REASON_ABORTED, QUARANTINE, 0);
	abort_for(r, asked, LKVFENCE_REASON_ABORTED, QUARANTINE, 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 2);
	assert_true(get(r, g)->revoking);
	assert_true(fence_revocable(get(r, g)));
	assert_int_equal(fence_policy(get(r, g)), QUARANTINE | REVOKE);
	assert_int_equal(at(r, r->now + REVOKE_NS), 2);
	assert_true(get(r, g)->quarantined);
	/* Proof of its source may come yet. */
	assert_int_equal(source_of(r, BOUND)->state, FENCE_SOURCE_REVOKING);
	assert_false(fence_revocable(get(r, g)));
	assert_int_equal(fence_policy(get(r, g)), QUARANTINE);
	assert_false(fence_revocable(get(r, asked)));
	assert_int_equal(fence_policy(get(r, asked)), QUARANTINE | REVOKE);
}

static void test_L4_revoke_is_added_and_stays(void **state)
{
	static const struct {
		u32 asked, then;
	} steps[] = {
		{ REVOKE, TAINT | REVOKE },
		{ TAINT, TAINT | REVOKE },
		{ LKVFENCE_POLICY_DEFAULT, TAINT | REVOKE },
		{ QUARANTINE, QUARANTINE | REVOKE },
		{ TAINT, QUARANTINE | REVOKE },
		{ TAINT | REVOKE_NOW, QUARANTINE | REVOKE | REVOKE_NOW },
		{ TAINT | REVOKE, QUARANTINE | REVOKE | REVOKE_NOW },
	};
	struct rig *r = *state;
	u64 g = begin(r, .policy = TAINT, .ranges = { { 0, 1 } }, .sources = { UNBOUND });

	for (u32 i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		abort_for(r, g, LKVFENCE_REASON_ABORTED, steps[i].asked, 0);
		assert_int_equal(get(r, g)->policy, steps[i].then);
		assert_int_equal(fence_policy(get(r, g)), steps[i].then);
	}
}

int main(void)
{
#define BOTH(name)	cmocka_unit_test_setup_teardown(name, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		BOTH(test_revocable_when_each_unproven_lease_is_bound),
		BOTH(test_revocable_by_a_source_that_is_being_revoked),
		BOTH(test_policy_at_begin),
		BOTH(test_default_policy_is_as_things_are),
		BOTH(test_default_policy_once_it_was_tried),
		BOTH(test_L4_revoke_is_added_and_stays),
	};

	return RUN(tests);
}
