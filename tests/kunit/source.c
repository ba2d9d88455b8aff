// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources: binding, unbinding, whose they are, what their owner says of their
 * QPs, and their events. The QPs are fake ones; that real ones are found and
 * known again is for tests/rdma.
 */
#include <linux/err.h>

#include "rig.h"

#define SIZE		sizeof(struct lkvfence_event)
#define FLUSHED		LKVFENCE_EVIDENCE_RQ_FLUSHED
#define DESTROYED	LKVFENCE_EVIDENCE_QP_DESTROYED
#define DEREGISTERED	LKVFENCE_EVIDENCE_MR_DEREGISTERED
#define ALL		LKVFENCE_QUIET_ALL

static void bind_and_unbind(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	struct lkvfence_query_source q;
	struct lkvfence_qp qp;
	u64 a, b;

	a = bound(test, h, 7, FIRST_QP, 3);
	b = bound(test, h, 0, FIRST_QP + 10, 1);
	KUNIT_EXPECT_GT(test, a, 0);
	KUNIT_EXPECT_GT(test, b, a);
	KUNIT_EXPECT_EQ(test, 2, STAT(h, sources));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE] + 2, alive(OBJECT_SOURCE));

	q = look_at(test, h, 7, &qp);
	KUNIT_EXPECT_EQ(test, a, q.binding);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, q.state);
	KUNIT_EXPECT_EQ(test, 3, q.nr_qps);
	KUNIT_EXPECT_EQ(test, 0, q.leases_out);
	KUNIT_EXPECT_EQ(test, current->tgid, q.pid);
	KUNIT_EXPECT_STREQ(test, q.peer, "somebody");
	KUNIT_EXPECT_STREQ(test, qp.device, FAKE_DEVICE);
	KUNIT_EXPECT_EQ(test, FIRST_QP, qp.number);
	KUNIT_EXPECT_EQ(test, LKVFENCE_QP_OPEN, qp.state);

	KUNIT_EXPECT_EQ(test, -ENOENT, unbound(h, 1));
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 7));
	KUNIT_EXPECT_EQ(test, -ENOENT, unbound(h, 7));
	KUNIT_EXPECT_EQ(test, 0, source_is(test, h, 7));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, sources));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE] + 1, alive(OBJECT_SOURCE));
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 0));
	closed(h);
}

/* All sources in order of their numbers, the last number too. */
static void walk(struct kunit *test)
{
	static const u32 numbers[] = { 0, 3, 4, U32_MAX };
	struct handle *h = opened(test, test->name, 10);
	struct lkvfence_query_source q = {
		.size	= sizeof(q),
		.flags	= LKVFENCE_QUERY_SOURCE_FROM,
	};
	u32 i;

	KUNIT_EXPECT_EQ(test, -ENOENT, call_query_source(h, &q));
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		bound(test, h, numbers[(i + 2) % ARRAY_SIZE(numbers)], FIRST_QP + i, 1);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		q.nr_qps = 0;
		KUNIT_EXPECT_EQ(test, 0, call_query_source(h, &q));
		KUNIT_EXPECT_EQ(test, numbers[i], q.source);
		KUNIT_EXPECT_EQ(test, 1, q.nr_qps);
		q.source++;
	}
	q.flags = 0;
	q.source = 2;
	KUNIT_EXPECT_EQ(test, -ENOENT, call_query_source(h, &q));
	closed(h);
}

/* What is wrong with one QP, the second of two, is the call's answer. */
static void refusals(struct kunit *test)
{
	static const int errs[] = {
		-ENOENT, -EPERM, -EPROTONOSUPPORT, -ENOTCONN, -EINVAL,
	};
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 binding = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		fake_connect_some(FIRST_QP, 2);
		fake_find_fails(FIRST_QP + 1, errs[i]);
		KUNIT_EXPECT_EQ(test, errs[i], try_bind(test, h, 1, FIRST_QP, 2, &binding));
	}
	fake_connect_some(FIRST_QP, 2);
	fake_destroy(FIRST_QP + 1);
	KUNIT_EXPECT_EQ(test, -ENOENT, try_bind(test, h, 1, FIRST_QP, 2, &binding));
	fake_connect(FIRST_QP + 1);
	fake_err(FIRST_QP + 1);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, try_bind(test, h, 1, FIRST_QP, 2, &binding));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_bind(test, h, 1, FIRST_QP, 0, &binding));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_bind(test, h, 1, FIRST_QP, MAX_QPS + 1, &binding));
	KUNIT_EXPECT_EQ(test, 0, binding);
	KUNIT_EXPECT_EQ(test, 0, STAT(h, sources));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE], alive(OBJECT_SOURCE));

	/* One more than there may be; as many as may be. */
	bound(test, h, 1, FIRST_QP, MAX_QPS);
	set_param(test, "max_sources", "1");
	fake_connect(FIRST_QP + MAX_QPS);
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			try_bind(test, h, 2, FIRST_QP + MAX_QPS, 1, &binding));
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 1));
	KUNIT_EXPECT_EQ(test, 0, try_bind(test, h, 2, FIRST_QP + MAX_QPS, 1, &binding));
	closed(h);
}

/* A source that can't be bound anew stays bound as it was. */
static void refused_anew(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), b = 0;
	struct lkvfence_qp qp;

	bound(test, h, 2, FIRST_QP + 1, 1);
	fake_connect(FIRST_QP + 2);
	/* There may be fewer by now than there are: it is none more. */
	set_param(test, "max_sources", "1");
	KUNIT_EXPECT_EQ(test, 0, try_bind(test, h, 1, FIRST_QP + 2, 1, &b));
	KUNIT_EXPECT_GT(test, b, a);
	fake_connect(FIRST_QP + 3);
	KUNIT_EXPECT_EQ(test, -ENOSPC, try_bind(test, h, 3, FIRST_QP + 3, 1, &a));
	fake_destroy(FIRST_QP + 3);
	KUNIT_EXPECT_EQ(test, -ENOENT, try_bind(test, h, 1, FIRST_QP + 3, 1, &a));
	KUNIT_EXPECT_EQ(test, b, look_at(test, h, 1, &qp).binding);
	KUNIT_EXPECT_EQ(test, 2, STAT(h, sources));
	closed(h);
}

/* Each place where it may be refused memory, or a look at the user's. */
static u32 walk_bind(struct kunit *test, struct handle *h)
{
	struct rig *rig = test->priv;
	u32 nth, nr = 0, bad = 0;
	u64 binding;
	bool did;
	int err;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		fail_at(nth);
		err = try_bind(test, h, 1, FIRST_QP, 3, &binding);
		did = did_fail();
		if (err) {
			nr++;
			bad += !did || (err != -ENOMEM && err != -EFAULT);
			bad += STAT(h, sources) != 0;
			bad += alive(OBJECT_SOURCE) != rig->alive[OBJECT_SOURCE];
		} else {
			bad += unbound(h, 1) != 0;
		}
		if (!did)
			break;
	}
	KUNIT_EXPECT_EQ(test, 0, err);
	KUNIT_EXPECT_EQ(test, 0, bad);
	return nr;
}

static void no_memory(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u32 most = 0, i;

	fake_connect_some(FIRST_QP, 3);
	/* The source, and three looks; one place may be missed, as in region.c. */
	for (i = 0; i < 10 && most < 4; i++)
		most = max(most, walk_bind(test, h));
	KUNIT_EXPECT_GE(test, most, 4);
	closed(h);
}

/* Bound anew it has another number, and what was before is forgotten. */
static void anew(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 a = bound(test, h, 1, FIRST_QP, 1), b, g;

	b = bound(test, h, 1, FIRST_QP + 1, 1);
	KUNIT_EXPECT_GT(test, b, a);
	KUNIT_EXPECT_EQ(test, 1, STAT(h, sources));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE] + 1, alive(OBJECT_SOURCE));
	KUNIT_EXPECT_EQ(test, -ENOENT, quiet(h, a, 0, DEREGISTERED));

	/* Not while it has a lease that proves nothing. */
	g = begin(test, h, 1, 0, 1, 1);
	fake_connect(FIRST_QP + 2);
	KUNIT_EXPECT_EQ(test, -EBUSY, try_bind(test, h, 1, FIRST_QP + 2, 1, &a));
	KUNIT_EXPECT_EQ(test, -EBUSY, unbound(h, 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	KUNIT_EXPECT_EQ(test, 0, try_bind(test, h, 1, FIRST_QP + 2, 1, &a));
	KUNIT_EXPECT_GT(test, a, b);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
}

/* A lease from before the binding isn't bound. */
static void lease_before(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = begin(test, h, 1, 0, 1, 1);
	int err;

	bound(test, h, 1, FIRST_QP, 1);
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_MINE, asked(h, g, &err).flags);
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 1));
	bound(test, h, 2, FIRST_QP, 1);
	KUNIT_EXPECT_EQ(test, 0, take(h, g, 2));
	/* One is bound and the other isn't: that is not enough. */
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_MINE, asked(h, g, &err).flags);
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_MINE | LKVFENCE_TRANSFER_REVOCABLE,
			asked(h, g, &err).flags);
	KUNIT_EXPECT_EQ(test, LKVFENCE_POLICY_TAINT | LKVFENCE_POLICY_REVOKE,
			asked(h, g, &err).policy);
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 2));
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_MINE, asked(h, g, &err).flags);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
}

/* A source is the handle's that bound it, until that is closed. */
static void whose(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-whose", 10);
	struct handle *other = opened(test, "kunit-whose", 10);
	u64 a = bound(test, h, 1, FIRST_QP, 1), b, g;

	fake_connect(FIRST_QP + 1);
	KUNIT_EXPECT_EQ(test, -EEXIST, try_bind(test, other, 1, FIRST_QP + 1, 1, &b));
	KUNIT_EXPECT_EQ(test, -EPERM, unbound(other, 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, quiet(other, a, 0, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, other, 1));

	/* With a lease it outlives its handle, and then it is anybody's. */
	g = begin(test, other, 1, 0, 1, 1);
	closed(h);
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, other, 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, quiet(other, a, 0, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, -EBUSY, try_bind(test, other, 1, FIRST_QP + 1, 1, &b));
	KUNIT_EXPECT_EQ(test, -EBUSY, unbound(other, 1));
	/* It goes with its last lease. */
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, g, 1));
	KUNIT_EXPECT_EQ(test, 0, source_is(test, other, 1));
	KUNIT_EXPECT_EQ(test, 0, finished(other, g));
	closed(other);
}

/* Without leases it goes with the handle; and the region with the last one. */
static void orphans(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct handle *other = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 g;

	bound(test, h, 1, FIRST_QP, 2);
	bound(test, h, 2, FIRST_QP + 2, 2);
	bound(test, h, 3, FIRST_QP + 4, 2);
	g = begin(test, other, 1, 0, 1, 2);
	closed(h);
	KUNIT_EXPECT_EQ(test, 2, STAT(other, sources));
	KUNIT_EXPECT_EQ(test, 0, source_is(test, other, 3));
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, g, 2));
	KUNIT_EXPECT_EQ(test, 1, STAT(other, sources));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, other, 1));

	/* It keeps nobody: its region goes when its transfer is over. */
	KUNIT_EXPECT_EQ(test, 0, ended(other, g, LKVFENCE_POLICY_TAINT, 10));
	closed(other);
	KUNIT_EXPECT_TRUE(test, settled(test));
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_SOURCE], alive(OBJECT_SOURCE));
	KUNIT_EXPECT_FALSE(test, exists(test->name));
}

/* Only what its evidence proves is accepted of the owner, and once. */
static void attested(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 a = bound(test, h, 1, FIRST_QP, 3);
	u32 what;

	for (what = 0; what <= LKVFENCE_NR_EVIDENCE; what++) {
		if (what != FLUSHED && what != DESTROYED && what != DEREGISTERED)
			KUNIT_EXPECT_EQ(test, -EINVAL, quiet(h, a, 0, what));
	}
	KUNIT_EXPECT_EQ(test, -ENOENT, quiet(h, a + 1, 0, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, -ENOENT, quiet(h, 0, 0, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, -ERANGE, quiet(h, a, 3, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, -ERANGE, quiet(h, a, ALL - 1, DEREGISTERED));

	/* What can be seen to be otherwise: it is connected, and there. */
	KUNIT_EXPECT_EQ(test, -EBUSY, quiet(h, a, 0, FLUSHED));
	KUNIT_EXPECT_EQ(test, -EBUSY, quiet(h, a, 0, DESTROYED));
	fake_err(FIRST_QP);
	KUNIT_EXPECT_EQ(test, -EBUSY, quiet(h, a, 0, DESTROYED));
	KUNIT_EXPECT_EQ(test, -EBUSY, quiet(h, a, ALL, FLUSHED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));

	/* What can't be: from now on it is being revoked. */
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 0, FLUSHED));
	KUNIT_EXPECT_NE(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	KUNIT_EXPECT_EQ(test, -EALREADY, quiet(h, a, 0, FLUSHED));
	fake_destroy(FIRST_QP);
	KUNIT_EXPECT_EQ(test, -EALREADY, quiet(h, a, 0, DESTROYED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_REVOKE, event(test, h).type);
	closed(h);
}

/* Evidence that the region doesn't accept says nothing here. */
static void not_accepted(struct kunit *test)
{
	struct lkvfence_open arg = named(test->name, 10);
	struct region *r;
	struct handle *h;
	u64 a;

	arg.accepts = BIT(DESTROYED) | BIT(CQE);
	r = region_open(&arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	h = handle_alloc(r);
	KUNIT_ASSERT_NOT_NULL(test, h);
	a = bound(test, h, 1, FIRST_QP, 1);
	fake_err(FIRST_QP);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, quiet(h, a, 0, FLUSHED));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, quiet(h, a, 0, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, -ERANGE, quiet(h, a, 1, DEREGISTERED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_SOURCE_BOUND, source_is(test, h, 1));
	fake_destroy(FIRST_QP);
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a, 0, DESTROYED));
	KUNIT_EXPECT_EQ(test, a, event(test, h).generation);
	closed(h);
}

/* Events of sources come before those of transfers, in any number of reads. */
static void events_first(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 g[3], a[10];
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(g); i++) {
		g[i] = begin(test, h, i, i, 1, 0);
		KUNIT_EXPECT_EQ(test, 0, ended(h, g[i], 0, 0));
	}
	for (i = 0; i < ARRAY_SIZE(a); i++) {
		a[i] = bound(test, h, i + 1, FIRST_QP + i, 1);
		KUNIT_EXPECT_EQ(test, 0, quiet(h, a[i], ALL, DEREGISTERED));
	}
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(a) + ARRAY_SIZE(g), h->nr_unread);
	/* Behind the last one nothing can be written: nothing is lost of it. */
	KUNIT_EXPECT_EQ(test, -EFAULT, try_read(h, rig->user + USER_SIZE - SIZE / 2, 1));
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(a) + ARRAY_SIZE(g), h->nr_unread);

	while (n < ARRAY_SIZE(a) + ARRAY_SIZE(g)) {
		ssize_t ret = try_read(h, rig->user, 4);

		KUNIT_ASSERT_GT(test, ret, 0);
		for (i = 0; i < ret / SIZE; i++, n++) {
			struct lkvfence_event e = nth_event(rig->user, i);

			if (n < ARRAY_SIZE(a)) {
				KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_REVOKE, e.type);
				KUNIT_EXPECT_EQ(test, a[n], e.generation);
				KUNIT_EXPECT_EQ(test, n + 1, e.tag);
				KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_REVOKED, e.reason);
				KUNIT_EXPECT_NE(test, 0, e.time_ns);
			} else {
				KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, e.type);
				KUNIT_EXPECT_EQ(test, g[n - ARRAY_SIZE(a)], e.generation);
			}
		}
	}
	KUNIT_EXPECT_EQ(test, 0, h->nr_unread);
	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(h, rig->user, 4));
	closed(h);
}

/* An event of a source that is unbound, or bound anew, is not told any more. */
static void events_gone(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 a[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(a); i++) {
		a[i] = bound(test, h, i, FIRST_QP + i, 1);
		KUNIT_EXPECT_EQ(test, 0, quiet(h, a[i], ALL, DEREGISTERED));
	}
	KUNIT_EXPECT_EQ(test, 3, h->nr_unread);
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 1));
	KUNIT_EXPECT_EQ(test, 2, h->nr_unread);
	bound(test, h, 0, FIRST_QP + 3, 1);
	KUNIT_EXPECT_EQ(test, SIZE, try_read(h, rig->user, 10));
	KUNIT_EXPECT_EQ(test, a[2], nth_event(rig->user, 0).generation);
	KUNIT_EXPECT_EQ(test, 0, h->nr_unread);
	/* What is unread when its handle closes goes with that. */
	KUNIT_EXPECT_EQ(test, 0, unbound(h, 2));
	a[0] = bound(test, h, 5, FIRST_QP + 4, 1);
	KUNIT_EXPECT_EQ(test, 0, quiet(h, a[0], ALL, DEREGISTERED));
	closed(h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bind_and_unbind),
	KUNIT_CASE(walk),
	KUNIT_CASE(refusals),
	KUNIT_CASE(refused_anew),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(anew),
	KUNIT_CASE(lease_before),
	KUNIT_CASE(whose),
	KUNIT_CASE(orphans),
	KUNIT_CASE(attested),
	KUNIT_CASE(not_accepted),
	KUNIT_CASE(events_first),
	KUNIT_CASE(events_gone),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-source",
	.init = rig_init_qps,
	.exit = rig_exit_qps,
	.test_cases = cases,
};

kunit_test_suite(suite);
