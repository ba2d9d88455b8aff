// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups: what the fence does with a member, and what is decided for all of them.
 * Here each member has a fence of its own, as the ranks of an engine have.
 */
#include "rig.h"
#include "group.h"

#define MEMBERS	3

struct bench {
	struct rig rigs[MEMBERS];
	u64 g[MEMBERS];
	struct group_state state;
	u64 deadline;
};

static int bench_setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	for (u32 i = 0; i < MEMBERS; i++)
		rig_init(&b->rigs[i], SLOTS);
	*state = b;
	return 0;
}

static int bench_teardown(void **state)
{
	struct bench *b = *state;

	for (u32 i = 0; i < MEMBERS; i++)
		rig_destroy(&b->rigs[i]);
	free(b);
	return 0;
}

#undef TEST
#define TEST(name)	cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

/* A member each, with a lease of source 1 out. */
static void begin_members(struct bench *b, u32 nr, u32 policy)
{
	for (u32 i = 0; i < nr; i++) {
		b->g[i] = begin(&b->rigs[i], .tag = 1, .policy = policy,
				.ranges = { { 0, 4 } }, .sources = { 1 });
		assert_int_equal(join(&b->rigs[i], b->g[i]), 0);
	}
	b->state = (struct group_state){ .size = MEMBERS, .joined = nr };
}

static bool is_free(struct bench *b, u32 i)
{
	return !slot_taken(&b->rigs[i], 0);
}

/* What the module's work does, once. */
static enum group_verdict decide(struct bench *b, u32 nr)
{
	struct group_state *s = &b->state;
	enum group_verdict v;
	u64 now = b->rigs[0].now;

	*s = (struct group_state){
		.size = s->size,
		.joined = nr,
		.late = b->deadline && b->deadline <= now,
	};
	for (u32 i = 0; i < nr; i++)
		group_add(s, get(&b->rigs[i], b->g[i]));
	v = group_decide(s);
	for (u32 i = 0; i < nr; i++) {
		if (v == GROUP_END)
			end_member(&b->rigs[i], b->g[i], group_reason(s));
		else if (v == GROUP_RELEASE)
			release_member(&b->rigs[i], b->g[i], s->outcome, s->evidence);
	}
	if (v == GROUP_WAIT && s->gathered && !b->deadline)
		b->deadline = now + DEFAULT_NS;
	return v;
}

static void time_is(struct bench *b, u64 when)
{
	for (u32 i = 0; i < MEMBERS; i++)
		at(&b->rigs[i], when);
}

static void all_released(struct bench *b, u32 nr, u32 outcome, u32 evidence)
{
	for (u32 i = 0; i < nr; i++) {
		const struct news *n = &b->rigs[i].news[b->rigs[i].nr_news - 1];

		assert_true(is_free(b, i));
		assert_true(n->bits & FENCE_NEWS_RELEASED);
		assert_int_equal(n->t.outcome, outcome);
		assert_int_equal(n->t.weakest, evidence);
	}
}

static void none_free(struct bench *b, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		assert_false(is_free(b, i));
}

static void test_L12_finished_when_all_are(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, TAINT);
	for (u32 i = 0; i < MEMBERS; i++) {
		assert_int_equal(finish(&b->rigs[i], b->g[i]), -EBUSY);
		assert_int_equal(drained(&b->rigs[i], b->g[i], 1), 0);
		assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
		assert_int_equal(finish(&b->rigs[i], b->g[i]), 0);
		none_free(b, MEMBERS);
		/* A second time there is nothing to finish; nor to prolong. */
		assert_int_equal(finish(&b->rigs[i], b->g[i]), -EBUSY);
		abort_for(&b->rigs[i], b->g[i], LKVFENCE_REASON_ABORTED, QUARANTINE, 500);
		assert_int_equal(get(&b->rigs[i], b->g[i])->reason, LKVFENCE_REASON_FINISHED);
	}
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_COMPLETED, CQE);
}

static void test_L12_one_early_end_ends_all(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, TAINT);
	assert_int_equal(drained(&b->rigs[0], b->g[0], 1), 0);
	assert_int_equal(finish(&b->rigs[0], b->g[0]), 0);
	abort_for(&b->rigs[1], b->g[1], LKVFENCE_REASON_PEER, 0, 0);
	assert_int_equal(decide(b, MEMBERS), GROUP_END);
	assert_int_equal(get(&b->rigs[0], b->g[0])->reason, LKVFENCE_REASON_FINISHED);
	assert_int_equal(get(&b->rigs[2], b->g[2])->reason, LKVFENCE_REASON_PEER);
	assert_int_equal(take(&b->rigs[2], b->g[2], 2), -ECANCELED);
	assert_int_equal(drained(&b->rigs[2], b->g[2], 1), 0);
	assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
	none_free(b, MEMBERS);
	assert_int_equal(drained(&b->rigs[1], b->g[1], 1), 0);
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_DRAINED, CQE);
}

static u32 last_news(struct bench *b, u32 i)
{
	return b->rigs[i].news[b->rigs[i].nr_news - 1].bits;
}

static void test_L12_worst_outcome_weakest_evidence(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, TAINT);
	abort_(&b->rigs[0], b->g[0]);
	assert_true(last_news(b, 0) & FENCE_NEWS_MEMBER);
	assert_int_equal(decide(b, MEMBERS), GROUP_END);
	assert_int_equal(drained(&b->rigs[0], b->g[0], 1), 0);
	/* Who is behind it hears that there is something to decide. */
	assert_int_equal(last_news(b, 0), FENCE_NEWS_MEMBER);
	assert_int_equal(revoked(&b->rigs[1], b->g[1], 1, FLUSHED), 0);
	assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
	assert_int_equal(drained(&b->rigs[2], b->g[2], 1), 0);
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_REVOKED, CQE);
}

static void test_L12_L8_silent_member_until_its_deadline(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, TAINT);
	abort_for(&b->rigs[1], b->g[1], LKVFENCE_REASON_ABORTED, 0, 400);
	assert_int_equal(decide(b, MEMBERS), GROUP_END);
	assert_int_equal(drained(&b->rigs[0], b->g[0], 1), 0);
	assert_int_equal(drained(&b->rigs[2], b->g[2], 1), 0);
	time_is(b, b->rigs[0].now + 399);
	assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
	none_free(b, MEMBERS);
	time_is(b, b->rigs[0].now + 1);
	/* Late proof doesn't make it better any more. */
	assert_int_equal(drained(&b->rigs[1], b->g[1], 1), 0);
	none_free(b, MEMBERS);
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT);
}

static void test_L12_L2_quarantine_holds_all(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, QUARANTINE);
	abort_(&b->rigs[0], b->g[0]);
	assert_int_equal(decide(b, MEMBERS), GROUP_END);
	assert_int_equal(drained(&b->rigs[0], b->g[0], 1), 0);
	assert_int_equal(drained(&b->rigs[2], b->g[2], 1), 0);
	time_is(b, b->rigs[0].now + 100000);
	assert_true(get(&b->rigs[1], b->g[1])->quarantined);
	assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
	none_free(b, MEMBERS);
	/* The proven ones aren't in quarantine: only that one can be let go of. */
	assert_int_equal(force(&b->rigs[0], b->g[0]), -EBUSY);
	assert_int_equal(force(&b->rigs[1], b->g[1]), 0);
	none_free(b, MEMBERS);
	assert_int_equal(force(&b->rigs[1], b->g[1]), -EBUSY);
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT);
}

static void test_L12_late_proof_in_quarantine(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, QUARANTINE);
	for (u32 i = 0; i < MEMBERS; i++)
		abort_(&b->rigs[i], b->g[i]);
	time_is(b, b->rigs[0].now + 100000);
	for (u32 i = 0; i < MEMBERS; i++) {
		assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
		none_free(b, MEMBERS);
		assert_int_equal(revoked(&b->rigs[i], b->g[i], 1, FLUSHED), 0);
	}
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_REVOKED, FLUSHED);
}

/* Two of three came, and are done. */
static void test_L12_L8_member_that_never_comes(void **state)
{
	struct bench *b = *state;

	begin_members(b, 2, TAINT);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(drained(&b->rigs[i], b->g[i], 1), 0);
		assert_int_equal(finish(&b->rigs[i], b->g[i]), 0);
	}
	assert_int_equal(decide(b, 2), GROUP_WAIT);
	time_is(b, b->rigs[0].now + DEFAULT_NS - 1);
	assert_int_equal(decide(b, 2), GROUP_WAIT);
	none_free(b, 2);
	time_is(b, b->rigs[0].now + 1);
	assert_int_equal(decide(b, 2), GROUP_RELEASE);
	all_released(b, 2, LKVFENCE_OUTCOME_COMPLETED, CQE);
}

/* One doesn't end for longer than the others wait. */
static void test_L12_L8_member_that_does_not_end(void **state)
{
	struct bench *b = *state;

	begin_members(b, MEMBERS, TAINT);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(drained(&b->rigs[i], b->g[i], 1), 0);
		assert_int_equal(finish(&b->rigs[i], b->g[i]), 0);
	}
	assert_int_equal(decide(b, MEMBERS), GROUP_WAIT);
	time_is(b, b->rigs[0].now + DEFAULT_NS);
	assert_int_equal(decide(b, MEMBERS), GROUP_END);
	assert_int_equal(get(&b->rigs[2], b->g[2])->reason, LKVFENCE_REASON_EXPIRED);
	none_free(b, MEMBERS);
	time_is(b, b->rigs[0].now + DEFAULT_NS);
	assert_int_equal(decide(b, MEMBERS), GROUP_RELEASE);
	all_released(b, MEMBERS, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT);
}

static void test_L12_who_may_join(void **state)
{
	struct bench *b = *state;
	struct rig *r = &b->rigs[0];
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { 1 });

	assert_int_equal(join(r, g), 0);
	assert_int_equal(join(r, g), -EEXIST);
	assert_int_equal(r->f.counts.joined, 1);
	g = begin(r, .tag = 2, .ranges = { { 4, 4 } }, .sources = { 1 });
	abort_(r, g);
	assert_int_equal(join(r, g), -ECANCELED);
	assert_int_equal(drained(r, g, 1), 0);
	assert_false(slot_taken(r, 4));
}

/* All that three members can be: one is never released without the others. */
static void test_L12_all_states(void **state)
{
	enum { ALIVE, HELD, FINISHED, DRAINED, TIMED_OUT, KINDS };
	u32 released = 0, ended = 0, n;

	(void)state;
	for (n = 0; n < KINDS * KINDS * KINDS * 2 * 2; n++) {
		struct group_state s = { .size = MEMBERS, .joined = MEMBERS };
		u32 kinds = n, done = 0, early = 0, alive = 0;

		s.late = kinds % 2;
		kinds /= 2;
		s.joined -= kinds % 2;
		kinds /= 2;
		for (u32 i = 0; i < s.joined; i++, kinds /= KINDS) {
			u32 kind = kinds % KINDS;

			alive += kind == ALIVE;
			early += kind == HELD || kind >= DRAINED;
			done += kind >= FINISHED;
			if (kind == HELD || kind >= DRAINED)
				s.reason = LKVFENCE_REASON_ABORTED;
			if (kind >= FINISHED)
				group_gathered(&s, kind == FINISHED ? LKVFENCE_OUTCOME_COMPLETED :
					       kind == DRAINED ? LKVFENCE_OUTCOME_DRAINED :
					       LKVFENCE_OUTCOME_TIMEOUT, CQE);
		}
		s.alive = alive;
		switch (group_decide(&s)) {
		case GROUP_RELEASE:
			assert_int_equal(done, s.joined);
			assert_true(s.joined == s.size || early || s.late);
			released++;
			break;
		case GROUP_END:
			assert_true(alive && (early || s.late));
			ended++;
			break;
		case GROUP_WAIT:
			assert_false(done == s.joined &&
				     (s.joined == s.size || early || s.late));
			assert_false(alive && (early || s.late));
			break;
		}
	}
	assert_true(released && ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L12_finished_when_all_are),
		TEST(test_L12_one_early_end_ends_all),
		TEST(test_L12_worst_outcome_weakest_evidence),
		TEST(test_L12_L8_silent_member_until_its_deadline),
		TEST(test_L12_L2_quarantine_holds_all),
		TEST(test_L12_late_proof_in_quarantine),
		TEST(test_L12_L8_member_that_never_comes),
		TEST(test_L12_L8_member_that_does_not_end),
		TEST(test_L12_who_may_join),
		cmocka_unit_test(test_L12_all_states),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL);
}
