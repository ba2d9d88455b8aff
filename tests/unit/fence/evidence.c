// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Evidence: on what ground a lease counts as quiet, and what is told of it. */
#include "rig.h"

#define EVIDENCE_PAST	(LKVFENCE_NR_EVIDENCE + 3)

static bool is_drain(u32 evidence)
{
	return evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE ||
	       evidence == LKVFENCE_EVIDENCE_IN_BAND;
}

static bool is_revocation(u32 evidence)
{
	return evidence == FLUSHED || evidence == WINDOW ||
	       evidence == DESTROYED || evidence == DEREGISTERED;
}

static bool makes_sense(u32 status, u32 evidence)
{
	return status == LKVFENCE_STATUS_DRAINED ? is_drain(evidence) :
	       status == LKVFENCE_STATUS_REVOKED ? is_revocation(evidence) :
	       status == LKVFENCE_STATUS_FAILED && !evidence;
}

/* Each status with each evidence; what makes no sense changes nothing. */
static void test_return_status_and_evidence(void **state)
{
	struct rig *r = *state;
	struct fence_counts before;

	for (u32 status = 0; status < 6; status++) {
		for (u32 evidence = 0; evidence < EVIDENCE_PAST; evidence++) {
			u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
			bool good = makes_sense(status, evidence);

			before = r->f.counts;
			assert_int_equal(give(r, g, 1, status, evidence),
					 good ? 0 : -EINVAL);
			assert_false(r->released);
			if (!good)
				assert_memory_equal(&before, &r->f.counts,
						    sizeof(before));
			assert_int_equal(get(r, g)->unproven,
					 !good || status == LKVFENCE_STATUS_FAILED);
			if (get(r, g)->unproven) {
				abort_(r, g);
				assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
			} else {
				assert_int_equal(finish(r, g), 0);
			}
			forget_news(r);
		}
	}
}

/* "Aborted, and my queue is flushed" lets whole messages land. */
static void test_L4_flushed_sender_is_no_drain(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	abort_(r, g);
	assert_int_equal(give(r, g, 1, LKVFENCE_STATUS_DRAINED, FLUSHED), -EINVAL);
	assert_int_equal(give(r, g, 1, LKVFENCE_STATUS_DRAINED, DESTROYED), -EINVAL);
	assert_int_equal(give(r, g, 1, LKVFENCE_STATUS_FAILED, FLUSHED), -EINVAL);
	assert_int_equal(get(r, g)->unproven, 1);
	/* Nor does a process attest what only the kernel can know. */
	assert_int_equal(revoked(r, g, 1, SETTLED), -EINVAL);
	assert_int_equal(give(r, g, 1, LKVFENCE_STATUS_DRAINED,
			      LKVFENCE_EVIDENCE_TIMELINE), -EINVAL);
	assert_int_equal(revoked(r, g, 1, LKVFENCE_EVIDENCE_BACKING_GONE), -EINVAL);
	assert_int_equal(get(r, g)->unproven, 1);
}

static int prove(struct rig *r, u64 g, u32 source, u32 evidence)
{
	return give(r, g, source, is_drain(evidence) ? LKVFENCE_STATUS_DRAINED :
		    LKVFENCE_STATUS_REVOKED, evidence);
}

static void test_weakest_evidence_is_told(void **state)
{
	static const u32 proofs[] = {
		DEREGISTERED, LKVFENCE_EVIDENCE_IN_BAND, DESTROYED,
	};
	struct rig *r = *state;

	/* Whatever the order in which they come. */
	for (u32 first = 0; first < 3; first++) {
		u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2, 3 });

		for (u32 i = 0; i < 3; i++)
			assert_int_equal(prove(r, g, i + 1, proofs[(first + i) % 3]), 0);
		assert_int_equal(finish(r, g), 0);
		assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->weakest,
				 LKVFENCE_EVIDENCE_IN_BAND);
	}
}

/* What the kernel did itself is weaker than what a sender saw succeed. */
static void test_settling_is_weakest(void **state)
{
	struct rig *r = *state;

	for (u32 first = 0; first < 2; first++) {
		const struct fence_transfer *t;
		u64 g;

		bind_(r, 2);
		g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2, 3 });
		assert_int_equal(revoked(r, g, 3, DEREGISTERED), 0);
		if (first)
			assert_int_equal(drained(r, g, 1), 0);
		revoke(r, 2);
		quiet(r, 2, SETTLED);
		if (!first)
			assert_int_equal(drained(r, g, 1), 0);
		t = &r->news[r->nr_news - 1].t;
		assert_int_equal(t->generation, g);
		assert_int_equal(t->outcome, LKVFENCE_OUTCOME_REVOKED);
		assert_int_equal(t->weakest, SETTLED);
		assert_int_equal(unbind(r, 2), 0);
	}
}

static void test_no_lease_needs_no_evidence(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	assert_int_equal(finish(r, g), 0);
	assert_int_equal(only_news(r, g, FENCE_NEWS_RELEASED)->weakest,
			 LKVFENCE_EVIDENCE_NONE);
	for (u32 e = 0; e < LKVFENCE_MAX_EVIDENCE; e++)
		assert_int_equal(r->f.counts.evidence[e], 0);
}

/* One lease whose access was taken away makes the outcome, whatever the others. */
static void test_outcome_is_revoked_by_one_such_lease(void **state)
{
	struct rig *r = *state;

	for (u32 e = CQE; e <= DEREGISTERED; e++) {
		const struct fence_transfer *t;
		u64 g;

		if (!is_drain(e) && !is_revocation(e))
			continue;
		/* In either order. */
		for (u32 last = 0; last < 2; last++) {
			g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
			abort_(r, g);
			forget_news(r);
			if (last)
				assert_int_equal(drained(r, g, 1), 0);
			assert_int_equal(prove(r, g, 2, e), 0);
			if (!last)
				assert_int_equal(drained(r, g, 1), 0);
			t = only_news(r, g, FENCE_NEWS_RELEASED);
			assert_int_equal(t->outcome, is_revocation(e) ?
					 LKVFENCE_OUTCOME_REVOKED :
					 LKVFENCE_OUTCOME_DRAINED);
			assert_int_equal(t->weakest, CQE);
		}
	}
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_REVOKED], 8);
	assert_int_equal(r->f.counts.released[LKVFENCE_OUTCOME_DRAINED], 4);
}

/* A finished one is completed, though an access was taken away before. */
static void test_finished_and_revoked_is_completed(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2 });
	const struct fence_transfer *t;

	assert_int_equal(revoked(r, g, 1, WINDOW), 0);
	assert_int_equal(drained(r, g, 2), 0);
	assert_int_equal(finish(r, g), 0);
	t = only_news(r, g, FENCE_NEWS_RELEASED);
	assert_int_equal(t->outcome, LKVFENCE_OUTCOME_COMPLETED);
	assert_int_equal(t->weakest, CQE);
}

static void test_leases_are_counted_by_evidence(void **state)
{
	struct rig *r = *state;
	const u64 *count = r->f.counts.evidence;
	u64 g;

	bind_(r, 4);
	g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2, 3, 4 });
	/* When it is proven, not when it is released. */
	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(count[CQE], 1);
	assert_int_equal(revoked(r, g, 2, WINDOW), 0);
	assert_int_equal(count[WINDOW], 1);
	/* A lease that is failed has no evidence, until it has. */
	assert_int_equal(failed(r, g, 3), 0);
	assert_int_equal(count[LKVFENCE_EVIDENCE_NONE], 0);
	assert_int_equal(revoked(r, g, 3, WINDOW), 0);
	assert_int_equal(count[WINDOW], 2);
	assert_true(revoke(r, 4));
	quiet(r, 4, SETTLED);
	assert_int_equal(count[SETTLED], 1);
	assert_int_equal(count[LKVFENCE_EVIDENCE_TIMEOUT], 0);
	assert_int_equal(r->f.counts.returns_drained, 1);
	/* What the kernel did is no return. */
	assert_int_equal(r->f.counts.returns_revoked, 2);
	/* Refused ones count for nothing. */
	assert_int_equal(revoked(r, g, 2, WINDOW), -ESTALE);
	assert_int_equal(count[WINDOW], 2);
}

/* L7: each lease without proof, when the slots come back. */
static void test_L7_leases_without_evidence_are_counted(void **state)
{
	struct rig *r = *state;
	const u64 *count = r->f.counts.evidence;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1, 2, 3 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(failed(r, g, 2), 0);
	abort_(r, g);
	assert_int_equal(count[LKVFENCE_EVIDENCE_TIMEOUT], 0);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(count[LKVFENCE_EVIDENCE_TIMEOUT], 2);
	assert_int_equal(count[CQE], 1);

	g = begin(r, .policy = QUARANTINE, .ranges = { { 0, 1 } }, .sources = { 1 });
	abort_(r, g);
	assert_int_equal(at(r, r->now + DEFAULT_NS), 1);
	assert_int_equal(count[LKVFENCE_EVIDENCE_TIMEOUT], 2);
	assert_int_equal(force(r, g), 0);
	assert_int_equal(count[LKVFENCE_EVIDENCE_TIMEOUT], 3);
}

/*
 * Accepted classes
 */

static void test_new_fence_accepts_all_proof(void **state)
{
	struct rig *r = *state;

	for (u32 e = 0; e < LKVFENCE_MAX_EVIDENCE; e++)
		assert_int_equal(fence_accepts(&r->f, e),
				 e >= SETTLED && e < LKVFENCE_NR_EVIDENCE);
}

static void test_return_needs_accepted_evidence(void **state)
{
	struct rig *r = *state;

	for (u32 e = CQE; e <= DEREGISTERED; e++) {
		struct fence_counts before;
		struct image image;
		u64 g;

		if (!is_drain(e) && !is_revocation(e))
			continue;
		g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });
		abort_(r, g);
		forget_news(r);
		r->f.accepts = LKVFENCE_ACCEPT_ALL & ~BIT(e);
		before = r->f.counts;
		image = image_of(r);
		assert_int_equal(prove(r, g, 1, e), -EOPNOTSUPP);
		assert_false(r->released);
		before.returns_unaccepted++;
		assert_memory_equal(&before, &r->f.counts, sizeof(before));
		must_be_unchanged(r, &image);
		no_news(r);
		assert_int_equal(get(r, g)->unproven, 1);
		/* Nothing else is needed than that it be accepted. */
		r->f.accepts = BIT(e);
		assert_int_equal(prove(r, g, 1, e), 0);
		assert_true(r->released);
		forget_news(r);
	}
}

/* To give up without proof asks for no acceptance. */
static void test_failed_is_always_accepted(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	r->f.accepts = BIT(DEREGISTERED);
	assert_int_equal(failed(r, g, 1), 0);
	assert_int_equal(r->f.counts.returns_failed, 1);
	assert_int_equal(r->f.counts.returns_unaccepted, 0);
}

/* What is wrong with a return otherwise is said as before. */
static void test_L5_unaccepted_and_stale(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .ranges = { { 0, 1 } }, .sources = { 1 });

	assert_int_equal(drained(r, g, 1), 0);
	assert_int_equal(finish(r, g), 0);
	r->f.accepts = BIT(DEREGISTERED);
	assert_int_equal(drained(r, g, 1), -ESTALE);
	assert_int_equal(drained(r, g + 1, 1), -ENOENT);
	assert_int_equal(give(r, g, 1, LKVFENCE_STATUS_DRAINED, FLUSHED), -EINVAL);
	assert_int_equal(r->f.counts.returns_unaccepted, 0);
	assert_int_equal(r->f.counts.returns_stale, 1);
}

/*
 * Reports
 */

static void test_reports_are_counted_by_kind(void **state)
{
	struct rig *r = *state;
	struct fence_counts want;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	want = r->f.counts;
	assert_int_equal(fence_report(&r->f, g, LKVFENCE_REPORT_STRAY), 0);
	want.strays++;
	assert_memory_equal(&want, &r->f.counts, sizeof(want));
	assert_int_equal(fence_report(&r->f, g, LKVFENCE_REPORT_MISMATCH), 0);
	want.mismatches++;
	assert_memory_equal(&want, &r->f.counts, sizeof(want));
	/* Long released, and of a region before this one. */
	assert_int_equal(finish(r, g), 0);
	want.released[LKVFENCE_OUTCOME_COMPLETED]++;
	assert_int_equal(fence_report(&r->f, g, LKVFENCE_REPORT_STRAY_LATE), 0);
	assert_int_equal(fence_report(&r->f, 1, LKVFENCE_REPORT_STRAY_LATE), 0);
	want.strays_late += 2;
	assert_memory_equal(&want, &r->f.counts, sizeof(want));
}

static void test_report_of_what_never_was(void **state)
{
	struct rig *r = *state;
	struct fence_counts before;
	u64 g = begin(r, .ranges = { { 0, 1 } });

	before = r->f.counts;
	assert_int_equal(fence_report(&r->f, g + 1, LKVFENCE_REPORT_STRAY), -ENOENT);
	assert_int_equal(fence_report(&r->f, 0, LKVFENCE_REPORT_STRAY), -ENOENT);
	assert_int_equal(fence_report(&r->f, g, 0), -EINVAL);
	assert_int_equal(fence_report(&r->f, g, 4), -EINVAL);
	assert_int_equal(fence_report(&r->f, g, U32_MAX), -EINVAL);
	assert_memory_equal(&before, &r->f.counts, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_return_status_and_evidence),
		TEST(test_L4_flushed_sender_is_no_drain),
		TEST(test_weakest_evidence_is_told),
		TEST(test_settling_is_weakest),
		TEST(test_no_lease_needs_no_evidence),
		TEST(test_outcome_is_revoked_by_one_such_lease),
		TEST(test_finished_and_revoked_is_completed),
		TEST(test_leases_are_counted_by_evidence),
		TEST(test_L7_leases_without_evidence_are_counted),
		TEST(test_new_fence_accepts_all_proof),
		TEST(test_return_needs_accepted_evidence),
		TEST(test_failed_is_always_accepted),
		TEST(test_L5_unaccepted_and_stale),
		TEST(test_reports_are_counted_by_kind),
		TEST(test_report_of_what_never_was),
	};

	return RUN(tests);
}
