// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revocation by drivers that take their time, and what others do meanwhile. The
 * QPs are fake ones.
 */
#include "rig.h"

#define TAINT		LKVFENCE_POLICY_TAINT
#define NOW		LKVFENCE_POLICY_REVOKE_NOW
#define SETTLED		LKVFENCE_EVIDENCE_QP_ERR_SETTLED
#define DEREGISTERED	LKVFENCE_EVIDENCE_MR_DEREGISTERED
#define ALL		LKVFENCE_QUIET_ALL

/* L9, L8: a driver that is stuck keeps nobody but who waits for it, nor that. */
static void stuck_driver(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-stuck", 10);
	struct handle *far = opened(test, "kunit-stuck-far", 10);
	u64 a, b, g;

	set_param(test, "revoke_timeout_ms", "500");
	a = bound(test, h, 1, FIRST_QP, 1);
	b = bound(test, far, 1, FIRST_QP + 1, 1);
	fake_block();
	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 10));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_TRUE(test, until(fake_blocks()));
	/* Calls go on, in this region and in others. */
	KUNIT_EXPECT_EQ(test, 0, finished(h, begin(test, h, 2, 1, 1, 0)));
	KUNIT_EXPECT_EQ(test, 0, finished(far, begin(test, far, 2, 1, 1, 0)));
	KUNIT_EXPECT_EQ(test, 0, quiet(far, b, ALL, DEREGISTERED));
	expect_revoking(test, far, b);
	KUNIT_EXPECT_TRUE(test, until(source_is(test, far, 1) ==
				      LKVFENCE_SOURCE_REVOKED));
	expect_tainted(test, h, g);
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes_failed));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKING, source_is(test, h, 1));
	closed(far);
	closed(h);
	/* What waits for the driver keeps its memory, and gives it back then. */
	KUNIT_EXPECT_TRUE(test, fake_blocks());
	fake_unblock();
}

/* Its QP is destroyed and its handle closed while the driver is at it. */
static void killed_meanwhile(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g;

	bound(test, h, 1, FIRST_QP, 2);
	fake_block();
	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 10));
	KUNIT_EXPECT_TRUE(test, until(fake_blocks()));
	fake_destroy(FIRST_QP);
	closed(h);
	fake_unblock();
	/* The first is lost: a taint, at the deadline. Nothing is left then. */
	KUNIT_EXPECT_TRUE(test, settled(test));
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP + 1));
}

/* Time alone settles nothing while a thread is at what it had begun with. */
static void still_at_it(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), g = begin(test, h, 1, 0, 1, 1);
	struct lkvfence_qp qp;

	set_param(test, "settle_ms", "1");
	fake_at_it(true);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_TRUE(test, until(fake_asked_for_grace() > 3));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKING, look_at(test, h, 1, &qp).state);
	KUNIT_EXPECT_EQ(test, LKVFENCE_QP_ERR, qp.state);
	fake_at_it(false);
	expect_revoked(test, h, g, SETTLED);
	closed(h);
}

/* A device that is busy with others' works: it is tried again, and in time. */
static void busy_device(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 2), g = begin(test, h, 1, 0, 1, 1);

	fake_full(true);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_TRUE(test, until(fake_turned_away() > 6));
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKING, source_is(test, h, 1));
	/* What its owner says needs no room. */
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 0, DEREGISTERED));
	fake_full(false);
	expect_revoked(test, h, g, SETTLED);
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP));
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP + 1));
	closed(h);
}

/* What the next case does while a source is being bound. */
struct meanwhile {
	struct kunit *test;
	struct handle *h;
	u64 g;
	u64 binding;
};

static void revoke_meanwhile(void *arg)
{
	struct meanwhile *m = arg;

	KUNIT_EXPECT_EQ(m->test, 0, ended(m->h, m->g, NOW, 0));
	expect_revoking(m->test, m->h, m->binding);
	expect_revoked(m->test, m->h, m->g, SETTLED);
}

/* A binding is in time for the revocation of another one, or doesn't happen. */
static void bound_too_late(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct handle *other = opened(test, test->name, 10);
	struct meanwhile m = { .test = test, .h = h };
	struct rig *rig = test->priv;
	u64 binding;

	m.binding = bound(test, h, 1, FIRST_QP, 1);
	m.g = begin(test, h, 1, 0, 1, 1);
	fake_when_checked(FIRST_QP, revoke_meanwhile, &m);
	/* The look comes a moment too early to see it. */
	fake_seems_connected(FIRST_QP);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, try_bind(test, other, 2, FIRST_QP, 1, &binding));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, sources));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE] + 1, alive(OBJECT_SOURCE));
	closed(other);
	closed(h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(stuck_driver),
	KUNIT_CASE(killed_meanwhile),
	KUNIT_CASE(still_at_it),
	KUNIT_CASE(busy_device),
	KUNIT_CASE(bound_too_late),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-slow",
	.init = rig_init_qps,
	.exit = rig_exit_qps,
	.test_cases = cases,
};

kunit_test_suite(suite);
