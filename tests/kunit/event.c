// SPDX-License-Identifier: GPL-2.0-only
/* Events: their order, reads that are short or fail, readers that go. */
#include <linux/file.h>

#include "rig.h"

#define QUARANTINE	LKVFENCE_POLICY_QUARANTINE
#define SIZE		sizeof(struct lkvfence_event)

/* @nr transfers of one slot, of which this handle hears that they are over. */
static void over(struct kunit *test, struct handle *h, u64 *g, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		g[i] = begin(test, h, i, i, 1, 0);
		KUNIT_ASSERT_EQ(test, 0, ended(h, g[i], 0, 0));
	}
	KUNIT_ASSERT_EQ(test, nr, h->nr_unread);
}

static void order(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct handle *other = opened(test, test->name, 10);
	struct fence *f = &h->region->fence;
	struct rig *rig = test->priv;
	u64 a = begin(test, h, 1, 0, 1, 1);
	u64 b = begin(test, h, 2, 1, 1, 1);
	static const struct {
		bool second;
		u32 type;
	} want[] = {
		/* By transfer, in the order in which they had something to tell. */
		{ false, LKVFENCE_EVENT_ENDED },
		{ false, LKVFENCE_EVENT_QUARANTINED },
		{ false, LKVFENCE_EVENT_RELEASED },
		{ true, LKVFENCE_EVENT_ENDED },
		{ true, LKVFENCE_EVENT_RELEASED },
	};
	u32 i;

	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(h, rig->user, 10));
	/* Somebody else ends them; the first goes into quarantine. */
	KUNIT_EXPECT_EQ(test, 0, ended(other, a, QUARANTINE, 10));
	KUNIT_EXPECT_EQ(test, 0, ended(other, b, QUARANTINE, 0));
	KUNIT_EXPECT_TRUE(test, woken(h, READ_ONCE(f->transfers_quarantined)));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, b, 1));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, a, 1));

	KUNIT_EXPECT_EQ(test, 2, h->nr_unread);
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(want) * SIZE, try_read(h, rig->user, 10));
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		struct lkvfence_event e = nth_event(rig->user, i);

		KUNIT_EXPECT_EQ(test, want[i].second ? b : a, e.generation);
		KUNIT_EXPECT_EQ(test, want[i].type, e.type);
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(h, rig->user, 10));
	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(other, rig->user, 10));
	closed(other);
	closed(h);
}

/* An event that was read is not told again with what comes later. */
static void one_by_one(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-one", 10);
	struct handle *other = opened(test, "kunit-one", 10);
	u64 g = begin(test, h, 1, 0, 1, 1);

	KUNIT_EXPECT_EQ(test, 0, ended(other, g, QUARANTINE, 10));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_ENDED, event(test, h).type);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_QUARANTINED, event(test, h).type);
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, g, 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, event(test, h).type);
	KUNIT_EXPECT_EQ(test, 0, h->nr_unread);
	closed(other);
	closed(h);
}

/* Any number of events fits, and the rest stays: 20 in reads of 7. */
static void partial(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 20);
	struct rig *rig = test->priv;
	u64 g[20];
	u32 i, n = 0;

	over(test, h, g, 20);
	KUNIT_EXPECT_EQ(test, -EINVAL, try_read(h, rig->user, 0));
	while (n < 20) {
		u32 nr = min(7U, 20 - n);

		KUNIT_ASSERT_EQ(test, nr * SIZE, try_read(h, rig->user, 7));
		for (i = 0; i < nr; i++, n++)
			KUNIT_EXPECT_EQ(test, g[n], nth_event(rig->user, i).generation);
		KUNIT_EXPECT_EQ(test, 20 - n, h->nr_unread);
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(h, rig->user, 7));
	closed(h);
}

/* A read of which the end can't be written: nothing is told twice, or lost. */
static void bad_pointer(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-pointer", 20);
	struct rig *rig = test->priv;
	unsigned long end = rig->user + USER_SIZE;
	u64 g[20];
	ssize_t ret;
	u32 i, n = 0;

	over(test, h, g, 20);
	KUNIT_EXPECT_EQ(test, -EFAULT, try_read(h, end, 20));
	KUNIT_EXPECT_EQ(test, 20, h->nr_unread);
	/* Whole events, as many as it says, are there. */
	ret = try_read(h, end - 11 * SIZE, 20);
	KUNIT_EXPECT_GE(test, ret, 0);
	KUNIT_EXPECT_LE(test, ret, 11 * SIZE);
	KUNIT_EXPECT_EQ(test, 0, ret % SIZE);
	for (; n < ret / SIZE; n++)
		KUNIT_EXPECT_EQ(test, g[n], nth_event(end - 11 * SIZE, n).generation);
	KUNIT_EXPECT_EQ(test, 20 - n, h->nr_unread);
	/* All others are told by the next. */
	KUNIT_EXPECT_EQ(test, (20 - n) * SIZE, try_read(h, rig->user, 20));
	for (i = 0; n < 20; i++, n++)
		KUNIT_EXPECT_EQ(test, g[n], nth_event(rig->user, i).generation);
	closed(h);
}

/* The same, with each place where it may be refused memory or access. */
static void refused(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 20);
	struct rig *rig = test->priv;
	u32 nth, nr = 0, bad = 0, told = 0;
	u64 g[20];
	ssize_t ret;
	bool did;

	over(test, h, g, 20);
	for (nth = 1; nth < MAX_PLACES; nth++) {
		fail_at(nth);
		ret = try_read(h, rig->user, 20);
		did = did_fail();
		if (ret > 0)
			told += ret / SIZE;
		else
			nr++;
		bad += ret < 0 && ret != -EFAULT;
		bad += h->nr_unread != 20 - told;
		if (!did || !h->nr_unread)
			break;
	}
	KUNIT_EXPECT_EQ(test, 0, bad);
	KUNIT_EXPECT_GE(test, nr, 1);
	KUNIT_EXPECT_EQ(test, 20, told);
	closed(h);
}

/* A handle that goes takes its events along. */
static void forget(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 200);
	struct handle *other = opened(test, test->name, 200);
	struct rig *rig = test->priv;
	struct lkvfence_adopt adopt = { .size = sizeof(adopt) };
	u64 g[150], held;
	s64 handles = alive(OBJECT_HANDLE);

	over(test, h, g, ARRAY_SIZE(g));
	held = begin(test, h, 1000, 199, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(other, held, 0, 0));
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(g) + 1, h->nr_unread);
	closed(h);
	KUNIT_EXPECT_EQ(test, handles - 1, alive(OBJECT_HANDLE));
	/* What was over is gone; what is held is not. */
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_TRANSFER] + 1, alive(OBJECT_TRANSFER));

	/* Its next owner hears of the release, not of the end before. */
	adopt.generation = held;
	KUNIT_EXPECT_EQ(test, 0, call_adopt(other, &adopt));
	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(other, rig->user, 1));
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, held, 1));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, event(test, other).type);
	closed(other);
}

/* L6: where the owner's own RELEASE is the report there is no event. */
static void answered(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-answer", 10);
	struct handle *other = opened(test, "kunit-answer", 10);
	u64 g = begin(test, h, 1, 0, 1, 0);

	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	KUNIT_EXPECT_EQ(test, 0, h->nr_unread);
	g = begin(test, h, 1, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(other, g));
	KUNIT_EXPECT_EQ(test, g, event(test, h).generation);
	KUNIT_EXPECT_EQ(test, 0, other->nr_unread);
	closed(other);
	closed(h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(order),
	KUNIT_CASE(one_by_one),
	KUNIT_CASE(partial),
	KUNIT_CASE(bad_pointer),
	KUNIT_CASE(refused),
	KUNIT_CASE(forget),
	KUNIT_CASE(answered),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-event",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
