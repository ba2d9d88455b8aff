// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A source is lost: nobody knows of its access, and that is no proof. */
#include "rig.h"

#define NR	4	/* transfers of source 1, one slot each */

#define QUARANTINED	FENCE_NEWS_QUARANTINED
#define RELEASED	FENCE_NEWS_RELEASED

static void begin_all(struct rig *r, u64 g[NR], u32 policy)
{
	bind_(r, 1);
	for (u32 i = 0; i < NR; i++)
		g[i] = begin(r, .tag = i, .policy = policy, .ranges = { { i, 1 } },
			     .sources = { 1 });
}

/* How many of the news since the last time are these, of these transfers. */
static u32 nr_news(const struct rig *r, const u64 g[NR], u32 bits)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_news; i++)
		for (u32 j = 0; j < NR; j++)
			n += r->news[i].t.generation == g[j] && r->news[i].bits == bits;
	return n;
}

static u64 revoked_at_deadline(struct rig *r, u32 policy)
{
	u64 g;

	bind_(r, 1);
	g = begin(r, .policy = policy, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_true(get(r, g)->revoking);
	assert_int_equal(end_some(r, 1, 8), 1);
	forget_news(r);
	return g;
}

/* Nobody knows: that is no proof, and the rest of the policy is due at once. */
static void test_L2_lost_behind_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 g = revoked_at_deadline(r, LKVFENCE_POLICY_DEFAULT);

	assert_int_equal(lost_some(r, 1, 8), 1);
	no_news(r);
	assert_false(get(r, g)->revoking);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_LOST);
	assert_int_equal(r->f.counts.sources_lost, 1);
	assert_int_equal(r->f.counts.revokes_failed, 0);
	assert_int_equal(fence_next_deadline(&r->f), r->now);
	assert_int_equal(at(r, r->now), 1);
	assert_int_equal(only_news(r, g, RELEASED)->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

static void test_L2_lost_and_quarantined(void **state)
{
	struct rig *r = *state;
	u64 g = revoked_at_deadline(r, QUARANTINE | REVOKE);

	lost(r, 1);
	assert_int_equal(at(r, r->now), 1);
	only_news(r, g, QUARANTINED);
	assert_int_equal(r->f.counts.revokes_failed, 1);
	/* Not again, for there is nobody whose access could be taken. */
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
	no_news(r);
	assert_int_equal(r->f.counts.revokes, 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

/* L4: before the deadline, it is the deadline that counts, as before. */
static void test_L4_lost_before_the_deadline(void **state)
{
	struct rig *r = *state;
	u64 start = r->now, g;

	bind_(r, 1);
	g = begin(r, .policy = REVOKE_NOW, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	r->now = start + DEFAULT_NS - 10;
	lost(r, 1);
	assert_int_equal(fence_next_deadline(&r->f), start + DEFAULT_NS);
	assert_int_equal(at(r, start + DEFAULT_NS - 1), 0);
	assert_int_equal(at(r, start + DEFAULT_NS), 1);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_TIMEOUT], 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

/* L4: what an ABORT had asked for in the meantime stays. */
static void test_L4_lost_after_an_extension(void **state)
{
	struct rig *r = *state;
	u64 g = revoked_at_deadline(r, LKVFENCE_POLICY_DEFAULT);

	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 300);
	lost(r, 1);
	assert_int_equal(fence_next_deadline(&r->f), r->now + 300);
}

static void test_lost_in_quarantine_is_counted(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
	forget_news(r);
	assert_int_equal(r->f.counts.revokes_failed, 0);
	lost(r, 1);
	no_news(r);
	assert_int_equal(r->f.counts.revokes_failed, 1);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_int_equal(r->f.slots_quarantined, 1);
}

/* It failed by not being possible, then by being lost: one transfer. */
static void test_failure_is_counted_once(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .policy = QUARANTINE | REVOKE, .ranges = { { 0, 1 } },
		  .sources = { 1, 2 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
	assert_int_equal(drained(r, g, 2), 0);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
	assert_int_equal(r->f.counts.revokes, 1);
	lost(r, 1);
	assert_int_equal(r->f.counts.revokes_failed, 1);
}

/* Half of it is gone, the other half nobody knows. */
static void test_L2_lost_half_way(void **state)
{
	struct rig *r = *state;
	const struct fence_transfer *t;
	u64 g;

	bind_(r, 1);
	bind_(r, 2);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	quiet(r, 1, DEREGISTERED);
	lost(r, 2);
	forget_news(r);
	assert_int_equal(get(r, g)->unproven, 1);
	assert_int_equal(at(r, r->now), 1);
	t = only_news(r, g, RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_TIMEOUT);
	assert_int_equal(t->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
	assert_int_equal(r->f.counts.evidence[LKVFENCE_EVIDENCE_TIMEOUT], 1);
	assert_int_equal(r->f.counts.evidence[DEREGISTERED], 1);
}

/* Who wasn't revoked for its own sake has its clock as it was. */
static void test_lost_leaves_other_clocks(void **state)
{
	struct rig *r = *state;
	u64 start = r->now, g;

	bind_(r, 1);
	g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	assert_true(revoke(r, 1));
	lost(r, 1);
	assert_int_equal(get(r, g)->reason, LKVFENCE_REASON_REVOKED);
	assert_int_equal(fence_next_deadline(&r->f), start + DEFAULT_NS);
	assert_int_equal(at(r, start + DEFAULT_NS), 1);
	assert_int_equal(r->f.counts.revokes_failed, 0);
}

/* Nor has anything failed for one in quarantine that had not asked for it. */
static void test_lost_for_anothers_sake_is_no_failure(void **state)
{
	struct rig *r = *state;
	u64 g;

	bind_(r, 1);
	g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_true(revoke(r, 1));
	lost(r, 1);
	assert_int_equal(r->f.counts.revokes_failed, 0);
	assert_int_equal(fence_next_deadline(&r->f), U64_MAX);
	assert_true(get(r, g)->quarantined);
}

static void test_lost_in_batches(void **state)
{
	struct rig *r = *state;
	u32 revoking = NR;
	u64 g[NR];

	begin_all(r, g, REVOKE_NOW);
	for (u32 i = 0; i < NR; i++)
		abort_for(r, g[i], LKVFENCE_REASON_ABORTED, 0, 10 + i);
	assert_int_equal(end_some(r, 1, 8), NR);
	assert_int_equal(lost_some(r, 1, 0), 0);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_LOST);
	while (revoking) {
		u32 left = 0;

		assert_int_equal(lost_some(r, 1, 1), 1);
		for (u32 i = 0; i < NR; i++)
			left += get(r, g[i])->revoking;
		assert_int_equal(left, --revoking);
	}
	assert_int_equal(lost_some(r, 1, 1), 0);
	assert_int_equal(r->f.counts.sources_lost, 1);
	assert_int_equal(source_of(r, 1)->nr_leases, NR);
	assert_int_equal(at(r, r->now + 10), 1);
	assert_int_equal(at(r, r->now + NR), NR - 1);
	assert_int_equal(source_of(r, 1)->nr_leases, 0);
	assert_int_equal(unbind(r, 1), 0);
}

/* All of it again, by a caller who doesn't remember: nothing happens twice. */
static void test_lost_again(void **state)
{
	struct rig *r = *state;
	u64 g = revoked_at_deadline(r, LKVFENCE_POLICY_DEFAULT);

	lost(r, 1);
	abort_for(r, g, LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_DEFAULT, 100);
	assert_int_equal(end_some(r, 1, 8), 1);
	assert_int_equal(lost_some(r, 1, 8), 1);
	no_news(r);
	assert_int_equal(fence_next_deadline(&r->f), r->now + 100);
	assert_int_equal(r->f.counts.sources_lost, 1);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_LOST);
}

/* The kernel can't, but who owns the QP knows that it is gone. */
static void test_quiet_after_lost(void **state)
{
	/* Of three leases so many were seen as lost. */
	for (u32 nr = 0; nr <= 3; nr++) {
		struct rig *r = *state;
		u64 g[NR];

		begin_all(r, g, QUARANTINE | REVOKE_NOW);
		for (u32 i = 0; i < NR; i++)
			abort_(r, g[i]);
		assert_int_equal(end_some(r, 1, 8), NR);
		assert_int_equal(lost_some(r, 1, nr), nr);
		forget_news(r);
		assert_int_equal(quiet_some(r, 1, DESTROYED, 2), 2);
		assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_LOST);
		assert_int_equal(quiet_some(r, 1, DESTROYED, 8), 2);
		assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_REVOKED);
		assert_int_equal(nr_news(r, g, RELEASED), NR);
		assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], NR);
		assert_int_equal(r->f.counts.sources_lost, 1);
		assert_int_equal(r->f.counts.sources_revoked, 1);
		assert_int_equal(r->f.counts.revokes_failed, 0);

		rig_teardown(state);
		rig_setup(state);
	}
}

/* Proof of one lease by other means, where its source is lost. */
static void test_return_after_lost(void **state)
{
	struct rig *r = *state;
	u64 g = revoked_at_deadline(r, QUARANTINE | REVOKE);

	lost(r, 1);
	assert_int_equal(at(r, r->now), 1);
	forget_news(r);
	assert_int_equal(revoked(r, g, 1, DEREGISTERED), 0);
	assert_int_equal(only_news(r, g, RELEASED)->outcome, LKVFENCE_OUTCOME_REVOKED);
	assert_int_equal(source_of(r, 1)->nr_leases, 0);
	assert_int_equal(source_of(r, 1)->state, FENCE_SOURCE_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L2_lost_behind_the_deadline),
		TEST(test_L2_lost_and_quarantined),
		TEST(test_L4_lost_before_the_deadline),
		TEST(test_L4_lost_after_an_extension),
		TEST(test_lost_in_quarantine_is_counted),
		TEST(test_failure_is_counted_once),
		TEST(test_L2_lost_half_way),
		TEST(test_lost_leaves_other_clocks),
		TEST(test_lost_for_anothers_sake_is_no_failure),
		TEST(test_lost_in_batches),
		TEST(test_lost_again),
		TEST(test_quiet_after_lost),
		TEST(test_return_after_lost),
	};

	return RUN(tests);
}
