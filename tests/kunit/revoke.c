// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revocation, from the transfer that asks for it to the release: what is
 * concluded from each state that a QP can be found in. The QPs are fake ones;
 * that a real device's stay quiet is for tests/rdma.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "rig.h"

#define TAINT		LKVFENCE_POLICY_TAINT
#define QUARANTINE	LKVFENCE_POLICY_QUARANTINE
#define REVOKE		LKVFENCE_POLICY_REVOKE
#define NOW		LKVFENCE_POLICY_REVOKE_NOW
#define SETTLED		LKVFENCE_EVIDENCE_QP_ERR_SETTLED
#define FLUSHED		LKVFENCE_EVIDENCE_RQ_FLUSHED
#define DESTROYED	LKVFENCE_EVIDENCE_QP_DESTROYED
#define DEREGISTERED	LKVFENCE_EVIDENCE_MR_DEREGISTERED
#define ALL		LKVFENCE_QUIET_ALL

/* A handle on a region that doesn't accept that a QP settled. */
static struct handle *strict(struct kunit *test)
{
	struct lkvfence_open arg = named(test->name, 1000);
	struct region *r;
	struct handle *h;

	arg.accepts = LKVFENCE_ACCEPT_ALL & ~BIT(SETTLED);
	r = region_open(&arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	h = handle_alloc(r);
	KUNIT_ASSERT_NOT_NULL(test, h);
	return h;
}

/* A hold of one slot with @nr_sources leases. */
static u64 held(struct kunit *test, struct handle *h, u32 nr_sources, u32 policy,
		u32 timeout_ms)
{
	struct rig *rig = test->priv;
	struct lkvfence_range range = { .count = 1 };
	struct lkvfence_begin arg = {
		.size		= sizeof(arg),
		.tag		= 1,
		.ranges		= rig->user,
		.sources	= rig->user + sizeof(range),
		.nr_ranges	= 1,
		.nr_sources	= nr_sources,
		.policy		= policy,
		.timeout_ns	= timeout_ms * MS,
	};
	u32 sources[] = { 1, 2 };

	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)arg.ranges, &range,
					      sizeof(range)));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)arg.sources, sources,
					      sizeof(sources)));
	KUNIT_ASSERT_EQ(test, 0, call_hold(h, &arg));
	return arg.generation;
}

/* Nobody says anything: it settles. */
static void settles(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 2), g, start;
	struct lkvfence_event e;
	struct lkvfence_qp qp;
	int err;

	set_param(test, "settle_ms", "3000");
	g = begin(test, h, 1, 0, 4, 1);
	start = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKING, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_MINE | LKVFENCE_TRANSFER_REVOKING |
			LKVFENCE_TRANSFER_REVOCABLE, asked(h, g, &err).flags);
	expect_revoking(test, h, a);
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, e.type);
	KUNIT_EXPECT_EQ(test, g, e.generation);
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_REVOKED, e.outcome);
	KUNIT_EXPECT_EQ(test, SETTLED, e.evidence);
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_ABORTED, e.reason);
	KUNIT_EXPECT_EQ(test, 0, e.flags);
	/* Not before its time, and each QP was moved once. */
	KUNIT_EXPECT_GE(test, e.time_ns, start + 3000 * MS);
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP));
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP + 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKED, look_at(test, h, 1, &qp).state);
	KUNIT_EXPECT_EQ(test, LKVFENCE_QP_QUIET, qp.state);
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, revokes_failed));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, sources_revoked));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, evidence[SETTLED]));

	/* It gets no leases until it is bound anew. */
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, try_begin(test, h, 1, 0, 4, 1, &g));
	g = begin(test, h, 1, 0, 4, 0);
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, take(h, g, 1));
	KUNIT_EXPECT_EQ(test, 2, STAT(h, refused_revoked));
	bound(test, h, 1, FIRST_QP, 1);
	KUNIT_EXPECT_EQ(test, 0, take(h, g, 1));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
}

/* By default at the deadline, and not before; where TAINT was chosen, never. */
static void at_deadline(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), g;
	struct lkvfence_event e;

	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, 0, 5000));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	expect_revoking(test, h, a);
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_REVOKED, e.outcome);
	KUNIT_EXPECT_GE(test, e.held_ns, 5100 * MS);
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP));

	/* TAINT at the beginning: it was said that nothing is taken away. */
	bound(test, h, 1, FIRST_QP, 1);
	g = held(test, h, 1, TAINT, 10);
	expect_tainted(test, h, g);
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, revokes_failed));
	closed(h);
}

/* Everything that the source has leases of goes through the gate. */
static void ends_others(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 1000);
	struct handle *other = opened(test, test->name, 1000);
	u64 g, waiting, quiet_one;
	struct lkvfence_event e;
	u32 i, nr = 0;

	bound(test, h, 1, FIRST_QP, 1);
	waiting = begin(test, other, 1, 0, 1, 1);
	quiet_one = begin(test, other, 2, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, quiet_one, 1));
	/* More than are looked at in one go. */
	for (i = 0; i < 200; i++)
		begin(test, h, 1000 + i, 10 + i, 1, 1);
	g = begin(test, h, 3, 2, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));

	e = event(test, other);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_ENDED, e.type);
	KUNIT_EXPECT_EQ(test, waiting, e.generation);
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_REVOKED, e.reason);
	expect_revoked(test, other, waiting, SETTLED);
	/* One that it has nothing to do with any more goes on. */
	KUNIT_EXPECT_EQ(test, 0, other->nr_unread);
	KUNIT_EXPECT_EQ(test, 0, finished(other, quiet_one));

	while (nr < 201) {
		e = event(test, h);
		KUNIT_ASSERT_NE(test, 0, e.type);
		if (e.type == LKVFENCE_EVENT_RELEASED) {
			nr++;
			KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_REVOKED, e.outcome);
			KUNIT_EXPECT_EQ(test, e.generation == g ? LKVFENCE_REASON_ABORTED :
					LKVFENCE_REASON_REVOKED, e.reason);
		}
	}
	KUNIT_EXPECT_EQ(test, 202, STAT(h, evidence[SETTLED]));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes));
	closed(other);
	closed(h);
}

/* What the owner saw comes first, and the weakest of it is told. */
static void by_owner(struct kunit *test)
{
	struct handle *h = strict(test);
	u64 a = bound(test, h, 1, FIRST_QP, 3), g = begin(test, h, 1, 0, 1, 1);
	struct lkvfence_qp qp;

	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_TRUE(test, until(fake_moved(FIRST_QP + 2)));
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 0, DEREGISTERED));
	fake_destroy(FIRST_QP + 2);
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 2, DESTROYED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKING, look_at(test, h, 1, &qp).state);
	KUNIT_EXPECT_EQ(test, LKVFENCE_QP_QUIET, qp.state);
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 1, FLUSHED));
	expect_revoked(test, h, g, FLUSHED);
	KUNIT_EXPECT_EQ(test, 1, STAT(h, evidence[FLUSHED]));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKED, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, -EALREADY, quiet(h, a, ALL, DEREGISTERED));
	closed(h);
}

/* Only some of the QPs: the others settle, and that is the weakest. */
static void partly_by_owner(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 2), g = begin(test, h, 1, 0, 1, 1);

	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 1, DEREGISTERED));
	expect_revoking(test, h, a);
	/* It was waiting, and somebody else's word has ended it. */
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_ENDED, event(test, h).type);
	expect_revoked(test, h, g, SETTLED);
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP));
	/* One that is known to be quiet needn't be moved. */
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP + 1));
	closed(h);
}

/* No evidence that is accepted ever comes: the rest of the policy, in time. */
static void nobody_answers(struct kunit *test)
{
	struct handle *h = strict(test);
	u64 a = bound(test, h, 1, FIRST_QP, 1), g;

	set_param(test, "revoke_timeout_ms", "500");
	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 10));
	expect_revoking(test, h, a);
	expect_tainted(test, h, g);
	KUNIT_EXPECT_TRUE(test, until(fake_moved(FIRST_QP) == 1));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes_failed));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, evidence[SETTLED]));
	closed(h);
}

/* A QP that can't be moved is lost, whatever the reason: that is no proof. */
static void lost(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct lkvfence_qp qp;
	u64 a, g;
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 number = FIRST_QP + 2 * i;

		a = bound(test, h, 1, number, 2);
		g = begin(test, h, 1, 0, 1, 1);
		if (i == 0)
			fake_destroy(number);
		else if (i == 1)
			fake_connect(number);	/* another one of that number */
		else
			fake_move_fails(number, i == 2 ? -ENODEV : -EIO);
		KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 500));
		expect_revoking(test, h, a);
		expect_tainted(test, h, g);
		KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_LOST, look_at(test, h, 1, &qp).state);
		KUNIT_EXPECT_EQ(test, LKVFENCE_QP_LOST, qp.state);
		/* Another one's QP is left alone; the second one isn't spared. */
		KUNIT_EXPECT_EQ(test, 0, fake_moved(number));
		KUNIT_EXPECT_EQ(test, 1, fake_moved(number + 1));
		KUNIT_EXPECT_EQ(test, i + 1, STAT(h, sources_lost));
		KUNIT_EXPECT_EQ(test, i + 1, STAT(h, revokes_failed));
		KUNIT_EXPECT_EQ(test, -ESHUTDOWN, try_begin(test, h, 1, 0, 1, 1, &g));
	}
	KUNIT_EXPECT_EQ(test, 0, STAT(h, sources_revoked));
	KUNIT_EXPECT_EQ(test, 4, STAT(h, revokes));
	closed(h);
}

/* In quarantine a lost source's owner may prove it quiet after all. */
static void lost_and_proven(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), g = begin(test, h, 1, 0, 1, 1);

	fake_destroy(FIRST_QP);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | QUARANTINE, 10));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_QUARANTINED, event(test, h).type);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_LOST, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 0, DESTROYED));
	expect_revoked(test, h, g, DESTROYED);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_REVOKED, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes_failed));
	closed(h);
}

/* What time settles: a QP that is where it was put, or began to be destroyed. */
static void after_the_move(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a, g;
	u32 i;

	set_param(test, "settle_ms", "2000");
	for (i = 0; i < 2; i++) {
		a = bound(test, h, 1, FIRST_QP, 1);
		g = begin(test, h, 1, 0, 1, 1);
		KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 10));
		expect_revoking(test, h, a);
		KUNIT_EXPECT_TRUE(test, until(fake_moved(FIRST_QP)));
		fake_destroy(FIRST_QP);
		/* Its number is another one's by then: that isn't it. */
		if (i)
			fake_connect(FIRST_QP);
		expect_revoked(test, h, g, SETTLED);
	}
	closed(h);
}

/* But not one that isn't where it was put any more: it is lost. */
static void left_err(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), g = begin(test, h, 1, 0, 1, 1);

	set_param(test, "settle_ms", "2000");
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 10));
	expect_revoking(test, h, a);
	KUNIT_EXPECT_TRUE(test, until(fake_moved(FIRST_QP)));
	fake_leaves_err(FIRST_QP);
	expect_tainted(test, h, g);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_LOST, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, sources_lost));
	closed(h);
}

/* What there is to read of some events, until @released transfers are. */
struct seen {
	u32 revokes;
	u32 ended;
	u32 revoked;
};

static struct seen see(struct kunit *test, struct handle *h, u32 released)
{
	struct seen seen = {};
	struct lkvfence_event e;

	while (seen.revoked < released) {
		e = event(test, h);
		if (e.type == LKVFENCE_EVENT_REVOKE) {
			seen.revokes++;
		} else if (e.type == LKVFENCE_EVENT_ENDED) {
			seen.ended++;
			KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_REVOKED, e.reason);
		} else if (e.type == LKVFENCE_EVENT_RELEASED) {
			seen.revoked++;
			KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_REVOKED, e.outcome);
			KUNIT_EXPECT_EQ(test, SETTLED, e.evidence);
		} else {
			KUNIT_FAIL(test, "event of type %u", e.type);
			break;
		}
	}
	return seen;
}

/*
 * A QP of several sources, in several regions: what is revoked is the QP. And
 * with it goes all else that these sources have, and who shares that.
 */
static void sharers(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-share", 10);
	struct handle *same = opened(test, "kunit-share", 10);
	struct handle *far = opened(test, "kunit-share-far", 10);
	u64 g, spared, binding;
	struct seen seen;

	fake_connect_some(FIRST_QP, 3);
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, h, 1, FIRST_QP, 1, &binding));
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, same, 2, FIRST_QP, 2, &binding));
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, far, 1, FIRST_QP, 1, &binding));
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, far, 3, FIRST_QP + 1, 1, &binding));
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, far, 4, FIRST_QP + 2, 1, &binding));
	g = begin(test, same, 2, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, take(same, g, 2));
	begin(test, far, 1, 0, 1, 1);
	g = begin(test, far, 2, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, take(far, g, 3));
	spared = begin(test, far, 3, 2, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, take(far, spared, 4));

	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	seen = see(test, h, 1);
	KUNIT_EXPECT_EQ(test, 1, seen.revokes);
	KUNIT_EXPECT_EQ(test, 0, seen.ended);
	seen = see(test, same, 1);
	KUNIT_EXPECT_EQ(test, 1, seen.revokes);
	KUNIT_EXPECT_EQ(test, 1, seen.ended);
	seen = see(test, far, 2);
	KUNIT_EXPECT_EQ(test, 2, seen.revokes);
	KUNIT_EXPECT_EQ(test, 2, seen.ended);
	/* Only one was revoked for its own sake; one has nothing to do with it. */
	KUNIT_EXPECT_EQ(test, 2, STAT(h, sources_revoked));
	KUNIT_EXPECT_EQ(test, 2, STAT(far, sources_revoked));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes));
	KUNIT_EXPECT_EQ(test, 0, STAT(far, revokes));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, far, 4));
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP + 2));
	KUNIT_EXPECT_EQ(test, 0, drained(test, far, spared, 4));
	KUNIT_EXPECT_EQ(test, 0, finished(far, spared));
	closed(far);
	closed(same);
	closed(h);
}

/* Transfers with a lease that isn't bound are left to the rest of their policy. */
static void not_all_bound(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g;

	bound(test, h, 1, FIRST_QP, 1);
	g = begin(test, h, 1, 0, 1, 2);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | TAINT, 100));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	expect_tainted(test, h, g);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 0, fake_moved(FIRST_QP));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, revokes));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, revokes_failed));

	/* When the other lease is proven there is a way. */
	g = begin(test, h, 1, 0, 1, 2);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW | QUARANTINE, 10));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_QUARANTINED, event(test, h).type);
	KUNIT_EXPECT_EQ(test, 0, revoked(test, h, g, 2));
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, NOW, 0));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_REVOKE, event(test, h).type);
	expect_revoked(test, h, g, SETTLED);
	closed(h);
}

/* Nobody is there: an orphan is revoked, and its region goes after it. */
static void orphan(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct lkvfence_stat all;
	u64 g, outcomes;
	u32 nr;

	KUNIT_ASSERT_EQ(test, 0, regions_stat(&all, &nr));
	outcomes = all.released[LKVFENCE_OUTCOME_REVOKED];
	bound(test, h, 1, FIRST_QP, 1);
	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, REVOKE, 200));
	closed(h);
	KUNIT_EXPECT_TRUE(test, settled(test));
	KUNIT_EXPECT_EQ(test, 1, fake_moved(FIRST_QP));
	KUNIT_ASSERT_EQ(test, 0, regions_stat(&all, &nr));
	KUNIT_EXPECT_EQ(test, outcomes + 1, all.released[LKVFENCE_OUTCOME_REVOKED]);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(settles),
	KUNIT_CASE(at_deadline),
	KUNIT_CASE(ends_others),
	KUNIT_CASE(by_owner),
	KUNIT_CASE(partly_by_owner),
	KUNIT_CASE(nobody_answers),
	KUNIT_CASE(lost),
	KUNIT_CASE(lost_and_proven),
	KUNIT_CASE(after_the_move),
	KUNIT_CASE(left_err),
	KUNIT_CASE(sharers),
	KUNIT_CASE(not_all_bound),
	KUNIT_CASE(orphan),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-revoke",
	.init = rig_init_qps,
	.exit = rig_exit_qps,
	.test_cases = cases,
};

kunit_test_suite(suite);
