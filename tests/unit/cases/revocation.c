// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Cases: an access that has to be taken away, and until it is. */
#include "cases.h"

#define REVOKED		LKVFENCE_OUTCOME_REVOKED
#define RANK		1	/* a source that is bound to a queue pair */
#define RANK2		2

static u64 write_under_way(struct rig *r, u32 policy, struct write *w)
{
	u64 a;

	bind_(r, RANK);
	a = begin(r, .tag = 1, .policy = policy, .ranges = { { 0, 8 } },
		  .sources = { RANK });
	*w = launch(r, a, 0, 8);
	return a;
}

static void test_C27_silent_peer_is_fenced(void **state)
{
	struct rig *r = *state;
	struct write w;
	u64 a = write_under_way(r, LKVFENCE_POLICY_DEFAULT, &w);

	/* It never speaks again, and that needs no word of it. */
	abort_because(r, a, LKVFENCE_REASON_PEER);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	quiet(r, RANK, SETTLED);
	assert_int_equal(came_back(r, a, REVOKED)->reason, LKVFENCE_REASON_PEER);
	/* A signal behind that is ignored, and counted. */
	assert_int_equal(drained(r, a, RANK), -ESTALE);
	reuse(r, 2, 0, 8);
}

static void test_C49_destroyed_under_outstanding_work(void **state)
{
	struct rig *r = *state;
	struct write w;
	u64 a = write_under_way(r, QUARANTINE | REVOKE_NOW, &w);

	abort_(r, a);
	/* It is being destroyed, and so it isn't found. That is no proof, ... */
	lost(r, RANK);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* ... nor is it when time has passed: kept, and not freed by force. */
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* Destroy returned: it had waited for all that was outstanding. */
	assert_int_equal(quiet_some(r, RANK, DESTROYED, 8), 1);
	assert_int_equal(came_back(r, a, REVOKED)->weakest, DESTROYED);
	reuse(r, 2, 0, 8);
}

static void test_C50_every_posted_one_comes_to_an_end(void **state)
{
	struct rig *r = *state;
	u64 a, b, c;

	bind_(r, RANK);
	a = begin(r, .tag = 1, .ranges = { { 0, 4 } }, .sources = { RANK });
	b = begin(r, .tag = 2, .ranges = { { 4, 4 } }, .sources = { RANK });
	c = begin(r, .tag = 3, .ranges = { { 8, 4 } }, .sources = { RANK, RANK2 });
	/* The peer is gone, and comes again: the old connection can't just be forgotten. */
	assert_int_equal(unbind(r, RANK), -EBUSY);
	assert_true(revoke(r, RANK));
	assert_int_equal(try_begin(r, .tag = 4, .ranges = { { 12, 4 } },
				   .sources = { RANK }), -ESHUTDOWN);
	/* Through ERR: what stands in the queue comes back flushed, all of it. */
	quiet(r, RANK, FLUSHED);
	came_back(r, a, REVOKED);
	came_back(r, b, REVOKED);
	/* Nobody stands behind another one's work for good. */
	no_reuse(r, c, 8, 4);
	assert_int_equal(drained(r, c, RANK2), 0);
	came_back(r, c, REVOKED);
	/* The new connection starts with nothing of the old one. */
	assert_int_equal(unbind(r, RANK), 0);
	bind_(r, RANK);
	begin(r, .tag = 1, .ranges = { { 0, 12 } }, .sources = { RANK });
	assert_int_equal(source_of(r, RANK)->nr_leases, 1);
}

static void test_C62_stuck_for_good_is_revoked(void **state)
{
	struct rig *r = *state;
	struct write w;
	u64 a = write_under_way(r, QUARANTINE, &w);

	abort_because(r, a, LKVFENCE_REASON_PREEMPTED);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	/* Not reused, and not lost: the access is what goes. */
	abort_for(r, a, LKVFENCE_REASON_ABORTED, REVOKE_NOW, 0);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	quiet(r, RANK, SETTLED);
	came_back(r, a, REVOKED);
	assert_int_equal(r->f.slots_quarantined, 0);
}

static void test_C64_closed_by_force(void **state)
{
	struct rig *r = *state;
	struct write w;
	u64 a = write_under_way(r, REVOKE_NOW, &w), b;

	/* Closed, but the key still works: that it is revoked has to complete. */
	abort_(r, a);
	assert_int_equal(take(r, a, RANK2), -ECANCELED);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	assert_int_equal(end_some(r, RANK, 8), 1);
	no_reuse(r, a, 0, 8);
	lands(r, w);
	assert_int_equal(quiet_some(r, RANK, DEREGISTERED, 8), 1);
	came_back(r, a, REVOKED);

	/* In doubt it fails, and is told as what nobody can prove. */
	assert_int_equal(unbind(r, RANK), 0);
	b = write_under_way(r, REVOKE_NOW, &w);
	abort_(r, b);
	lost(r, RANK);
	no_reuse(r, b, 0, 8);
	lands(r, w);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(came_back(r, b, TIMEOUT)->weakest, LKVFENCE_EVIDENCE_TIMEOUT);
}

static void test_C68_in_error_is_not_drained(void **state)
{
	struct rig *r = *state;
	struct write flushed;
	u64 a = write_under_way(r, REVOKE_NOW, &flushed);

	abort_because(r, a, LKVFENCE_REASON_FAILED);
	/* The queue pair is in ERR, and its completions have not been read yet. */
	assert_int_equal(end_some(r, RANK, 8), 1);
	assert_int_equal(failed(r, a, RANK), 0);
	no_reuse(r, a, 0, 8);
	lands(r, flushed);
	/* A sender that has read its own says nothing of what is still to land. */
	assert_int_equal(give(r, a, RANK, LKVFENCE_STATUS_DRAINED, FLUSHED), -EINVAL);
	no_reuse(r, a, 0, 8);
	/* The receiver's last one came, behind all the others. */
	assert_int_equal(quiet_some(r, RANK, FLUSHED, 8), 1);
	assert_int_equal(came_back(r, a, REVOKED)->weakest, FLUSHED);
	reuse(r, 2, 0, 8);
}

static void test_C69_first_path_is_fenced(void **state)
{
	struct rig *r = *state;
	struct write path1;
	u64 a;

	bind_(r, RANK);
	bind_(r, RANK2);
	a = begin(r, .ranges = { { 0, 8 } }, .sources = { RANK });
	path1 = launch(r, a, 0, 8);
	assert_int_equal(take(r, a, RANK2), 0);
	assert_int_equal(drained(r, a, RANK2), 0);
	/* Path 2 did it all. Path 1 is fenced, and the time is for when that fails. */
	abort_for(r, a, LKVFENCE_REASON_FAILED, REVOKE_NOW, 0);
	assert_int_equal(source_of(r, RANK)->state, FENCE_SOURCE_REVOKING);
	assert_int_equal(source_of(r, RANK2)->state, FENCE_SOURCE_BOUND);
	no_reuse(r, a, 0, 8);
	lands(r, path1);
	quiet(r, RANK, SETTLED);
	assert_true(came_back(r, a, REVOKED)->released_ns < r->now + DEFAULT_NS);
	/* Path 2 is as good as before. */
	begin(r, .tag = 2, .ranges = { { 0, 8 } }, .sources = { RANK2 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_C27_silent_peer_is_fenced),
		TEST(test_C49_destroyed_under_outstanding_work),
		TEST(test_C50_every_posted_one_comes_to_an_end),
		TEST(test_C62_stuck_for_good_is_revoked),
		TEST(test_C64_closed_by_force),
		TEST(test_C68_in_error_is_not_drained),
		TEST(test_C69_first_path_is_fenced),
	};

	return RUN(tests);
}
