// SPDX-License-Identifier: GPL-2.0-only
/* Deadlines: they come, never early, with nobody there too. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/random.h>

#include "rig.h"

#define LONG_MS		600000
#define MANY		150	/* more than the clock acts on in one go */

static u64 armed(struct handle *h)
{
	u64 when;

	mutex_lock(&h->region->lock);
	when = h->region->armed;
	mutex_unlock(&h->region->lock);
	return when;
}

static u64 deadline(struct handle *h, u64 g)
{
	int err;

	return asked(h, g, &err).deadline_ns;
}

static bool gone(const char *name)
{
	unsigned long end = jiffies + PATIENCE;

	while (exists(name)) {
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

static void fires(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = begin(test, h, 1, 0, 10, 1);
	struct lkvfence_event e;
	u64 due;

	KUNIT_EXPECT_EQ(test, U64_MAX, armed(h));
	KUNIT_EXPECT_EQ(test, 0, ended(h, g, LKVFENCE_POLICY_TAINT, 30));
	due = deadline(h, g);
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, e.type);
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_TIMEOUT, e.outcome);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_TAINTED, e.flags);
	KUNIT_EXPECT_GE(test, e.time_ns, due);
	KUNIT_EXPECT_GE(test, e.held_ns, 30 * MS);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), due);
	KUNIT_EXPECT_EQ(test, 0, h->region->fence.slots_taken);
	KUNIT_EXPECT_EQ(test, U64_MAX, armed(h));
	closed(h);
}

/* Many deadlines close to each other: each one comes, and none early. */
static void never_early(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-early", MANY);
	u32 *ms = kunit_kcalloc(test, MANY, sizeof(*ms), GFP_KERNEL);
	u64 *g = kunit_kcalloc(test, MANY, sizeof(*g), GFP_KERNEL);
	u32 i, early = 0, strange = 0;

	KUNIT_ASSERT_NOT_NULL(test, ms);
	KUNIT_ASSERT_NOT_NULL(test, g);
	for (i = 0; i < MANY; i++) {
		g[i] = begin(test, h, i, i, 1, 1);
		ms[i] = 10 + get_random_u32_below(40);
	}
	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, 0, ended(h, g[i], LKVFENCE_POLICY_TAINT, ms[i]));
	for (i = 0; i < MANY; i++) {
		struct lkvfence_event e = event(test, h);

		if (e.type != LKVFENCE_EVENT_RELEASED || e.tag >= MANY ||
		    e.generation != g[e.tag]) {
			strange++;
			continue;
		}
		early += e.held_ns < ms[e.tag] * MS;
		g[e.tag] = 0;	/* once */
	}
	KUNIT_EXPECT_EQ(test, 0, strange);
	KUNIT_EXPECT_EQ(test, 0, early);
	KUNIT_EXPECT_EQ(test, 0, h->region->fence.transfers_alive);
	closed(h);
}

/* More at one moment than are acted on in one go. */
static void at_once(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-at-once", MANY);
	struct region *r = h->region;
	struct fence_limits limits = param_limits();
	u64 when = ktime_get_ns();
	u32 i;

	for (i = 0; i < MANY; i++)
		begin(test, h, i, i, 1, 1);
	mutex_lock(&r->lock);
	for (i = 0; i < MANY; i++)
		fence_abort(&r->fence, fence_find_tag(&r->fence, i),
			    LKVFENCE_REASON_ABORTED, LKVFENCE_POLICY_TAINT,
			    50 * MS, &limits, when);
	region_settle(r, NULL, 0);
	mutex_unlock(&r->lock);
	KUNIT_EXPECT_TRUE(test, woken(h, !READ_ONCE(r->fence.transfers_alive)));
	KUNIT_EXPECT_EQ(test, MANY,
			r->fence.counts.released[LKVFENCE_OUTCOME_TIMEOUT]);
	closed(h);
}

/* An earlier deadline doesn't wait for the timer of a later one. */
static void earlier(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 late = begin(test, h, 1, 0, 1, 1);
	u64 soon = begin(test, h, 2, 1, 1, 1);
	struct lkvfence_event e;

	KUNIT_EXPECT_EQ(test, 0, ended(h, late, LKVFENCE_POLICY_TAINT, LONG_MS));
	KUNIT_EXPECT_EQ(test, deadline(h, late), armed(h));
	KUNIT_EXPECT_EQ(test, 0, ended(h, soon, LKVFENCE_POLICY_TAINT, 20));
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, soon, e.generation);
	KUNIT_EXPECT_EQ(test, LKVFENCE_OUTCOME_TIMEOUT, e.outcome);
	/* And now it waits for the other one again. */
	KUNIT_EXPECT_EQ(test, deadline(h, late), armed(h));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, late, 1));
	KUNIT_EXPECT_EQ(test, late, event(test, h).generation);
	closed(h);
}

/* A deadline that moved, or went, before it came: the timer finds the next. */
static void in_vain(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-in-vain", 10);
	u64 a = begin(test, h, 1, 0, 1, 1);
	u64 b = begin(test, h, 2, 1, 1, 1);
	unsigned long end = jiffies + PATIENCE;
	u64 moved;

	KUNIT_EXPECT_EQ(test, 0, ended(h, a, LKVFENCE_POLICY_TAINT, 500));
	KUNIT_EXPECT_EQ(test, 0, ended(h, a, LKVFENCE_POLICY_TAINT, LONG_MS));
	moved = deadline(h, a);
	while (armed(h) != moved && time_before(jiffies, end))
		msleep(20);
	KUNIT_EXPECT_EQ(test, moved, armed(h));
	KUNIT_EXPECT_EQ(test, 2, h->region->fence.transfers_alive);

	KUNIT_EXPECT_EQ(test, 0, ended(h, b, LKVFENCE_POLICY_TAINT, 500));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, b, 1));
	end = jiffies + PATIENCE;
	while (armed(h) != moved && time_before(jiffies, end))
		msleep(20);
	KUNIT_EXPECT_EQ(test, moved, armed(h));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, a, 1));
	KUNIT_EXPECT_EQ(test, b, event(test, h).generation);
	KUNIT_EXPECT_EQ(test, a, event(test, h).generation);
	closed(h);
}

/* L8: nobody is there, nobody calls: the hold goes, and the region with it. */
static void idle(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = begin(test, h, 1, 0, 10, 1);

	KUNIT_EXPECT_EQ(test, 0, ended(h, g, LKVFENCE_POLICY_TAINT, 200));
	closed(h);
	KUNIT_EXPECT_TRUE(test, gone(test->name));
	KUNIT_EXPECT_TRUE(test, settled(test));
}

/* A time to live ends a transfer; the hold's deadline comes after that. */
static void lives(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	struct lkvfence_range range = { .first = 0, .count = 10 };
	u32 source = 1;
	struct lkvfence_begin arg = {
		.size		= sizeof(arg),
		.tag		= 1,
		.ranges		= rig->user,
		.sources	= rig->user + sizeof(range),
		.nr_ranges	= 1,
		.nr_sources	= 1,
		.ttl_ns		= 20 * MS,
	};
	struct lkvfence_event e;
	struct lkvfence_query q;
	int err;

	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)arg.ranges, &range,
					      sizeof(range)));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)arg.sources, &source,
					      sizeof(source)));
	KUNIT_ASSERT_EQ(test, 0, call_begin(h, &arg));
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_ENDED, e.type);
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_EXPIRED, e.reason);
	q = asked(h, arg.generation, &err);
	KUNIT_EXPECT_GE(test, q.ended_ns, q.begun_ns + 20 * MS);
	KUNIT_EXPECT_EQ(test, q.ended_ns + param_limits().default_ns, q.deadline_ns);
	KUNIT_EXPECT_EQ(test, q.deadline_ns, armed(h));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, arg.generation, 1));
	KUNIT_EXPECT_EQ(test, arg.generation, event(test, h).generation);
	closed(h);
}

/* A region that goes stops its timer. */
static void stops(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct region *r = h->region;
	u64 g = begin(test, h, 1, 0, 1, 1);

	KUNIT_EXPECT_EQ(test, 0, ended(h, g, LKVFENCE_POLICY_TAINT, LONG_MS));
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	region_get(r);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&r->timer));
	closed(h);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&r->timer));
	KUNIT_EXPECT_FALSE(test, work_pending(&r->work));
	region_put(r);
}

/* Deadlines need no memory: they come where none is to be had. */
static void without_memory(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-starved", 10);
	u64 g = begin(test, h, 1, 0, 10, 1);
	bool did;
	int err;

	fail_at(1);
	err = ended(h, g, LKVFENCE_POLICY_TAINT, 20);
	did = did_fail();
	KUNIT_EXPECT_EQ(test, 0, err);
	KUNIT_EXPECT_FALSE(test, did);
	KUNIT_EXPECT_EQ(test, g, event(test, h).generation);
	closed(h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(fires),
	KUNIT_CASE(never_early),
	KUNIT_CASE(at_once),
	KUNIT_CASE(earlier),
	KUNIT_CASE(in_vain),
	KUNIT_CASE(idle),
	KUNIT_CASE(lives),
	KUNIT_CASE(stops),
	KUNIT_CASE(without_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-clock",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
