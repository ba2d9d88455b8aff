// SPDX-License-Identifier: GPL-2.0-only
/* Regions: names, who may, how long they live, orphans, and no memory. */
#include <linux/cred.h>
#include <linux/err.h>

#include "rig.h"

static int try_open(const char *name, u32 flags, u32 nr_slots)
{
	struct lkvfence_open arg = named(name, nr_slots);
	struct region *r;

	arg.flags = flags;
	if (!(flags & LKVFENCE_OPEN_CREATE))
		arg.slot_size = 0;
	r = region_open(&arg);
	if (IS_ERR(r))
		return PTR_ERR(r);
	region_close(r);
	return 0;
}

static void open_and_close(struct kunit *test)
{
	struct lkvfence_open arg = named("kunit-open", 100);
	struct region *r, *again;
	struct lkvfence_stat stat;

	KUNIT_EXPECT_FALSE(test, exists("kunit-open"));
	KUNIT_EXPECT_EQ(test, -ENOENT, try_open("kunit-open", 0, 0));
	arg.base = 0x10000;
	r = region_open(&arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	KUNIT_EXPECT_EQ(test, 1, arg.created);

	arg = named("kunit-open", 0);
	arg.slot_size = 0;
	arg.flags = 0;
	arg.mode = 0;
	again = region_open(&arg);
	KUNIT_ASSERT_PTR_EQ(test, r, again);
	KUNIT_EXPECT_EQ(test, 0, arg.created);
	KUNIT_EXPECT_EQ(test, 4096, arg.slot_size);
	KUNIT_EXPECT_EQ(test, 0x10000, arg.base);
	KUNIT_EXPECT_EQ(test, 100, arg.nr_slots);
	KUNIT_EXPECT_EQ(test, 0600, arg.mode);
	region_stat(r, &stat);
	KUNIT_EXPECT_EQ(test, 2, stat.handles);
	KUNIT_EXPECT_EQ(test, 100, stat.slots);
	KUNIT_EXPECT_STREQ(test, stat.name, "kunit-open");

	region_close(again);
	KUNIT_EXPECT_TRUE(test, exists("kunit-open"));
	region_close(r);
	KUNIT_EXPECT_FALSE(test, exists("kunit-open"));
}

static void join(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 100);
	u32 create = LKVFENCE_OPEN_CREATE;

	KUNIT_EXPECT_EQ(test, 0, try_open(test->name, create, 100));
	KUNIT_EXPECT_EQ(test, 0, try_open(test->name, 0, 100));
	KUNIT_EXPECT_EQ(test, -ENOTUNIQ, try_open(test->name, create, 101));
	KUNIT_EXPECT_EQ(test, -ENOTUNIQ, try_open(test->name, 0, 99));
	KUNIT_EXPECT_EQ(test, -EEXIST,
			try_open(test->name, create | LKVFENCE_OPEN_EXCLUSIVE, 100));
	closed(h);
	KUNIT_EXPECT_EQ(test, 0,
			try_open(test->name, create | LKVFENCE_OPEN_EXCLUSIVE, 101));
}

/* A name is all of the name. */
static void names(struct kunit *test)
{
	struct handle *a = opened(test, "kunit-a", 10);
	struct handle *b = opened(test, "kunit-ab", 20);
	char longest[LKVFENCE_NAME_MAX + 1];
	struct handle *c;

	KUNIT_EXPECT_PTR_NE(test, a->region, b->region);
	KUNIT_EXPECT_FALSE(test, exists("kunit-"));
	begin(test, a, 1, 0, 10, 0);
	/* The same tag and slots elsewhere are something else. */
	begin(test, b, 1, 0, 10, 0);

	memset(longest, 'x', LKVFENCE_NAME_MAX);
	longest[LKVFENCE_NAME_MAX] = 0;
	c = opened(test, longest, 1);
	KUNIT_EXPECT_TRUE(test, exists(longest));
	longest[LKVFENCE_NAME_MAX - 1] = 0;
	KUNIT_EXPECT_FALSE(test, exists(longest));
	closed(c);
	closed(b);
	KUNIT_EXPECT_TRUE(test, exists("kunit-a"));
	closed(a);
}

/* What opening says to somebody of that user and group, without capabilities. */
static int open_as(struct kunit *test, const char *name, uid_t uid, gid_t gid)
{
	struct cred *new = prepare_creds();
	const struct cred *old;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, new);
	new->euid = KUIDT_INIT(uid);
	new->egid = KGIDT_INIT(gid);
	new->fsgid = KGIDT_INIT(gid);
	cap_clear(new->cap_effective);
	old = override_creds(new);
	err = try_open(name, 0, 0);
	revert_creds(old);
	put_cred(new);
	return err;
}

static void permissions(struct kunit *test)
{
	/* Of the region of user 0, group 0: who else may open it. */
	static const struct {
		umode_t mode;
		int owner, group, other;
	} all[] = {
		{ 0600, 0, -EACCES, -EACCES },
		{ 0660, 0, 0, -EACCES },
		{ 0666, 0, 0, 0 },
		/* Reading alone, or writing, is not enough. */
		{ 0444, -EACCES, -EACCES, -EACCES },
		{ 0222, -EACCES, -EACCES, -EACCES },
		{ 0000, -EACCES, -EACCES, -EACCES },
		/* The first class that fits decides, as for a file. */
		{ 0606, 0, -EACCES, 0 },
		{ 0066, -EACCES, 0, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct lkvfence_open arg = named("kunit-mode", 1);
		struct region *r;

		arg.mode = all[i].mode;
		r = region_open(&arg);
		KUNIT_ASSERT_FALSE(test, IS_ERR(r));
		KUNIT_EXPECT_EQ_MSG(test, all[i].owner, open_as(test, "kunit-mode", 0, 7),
				    "owner, mode %o", all[i].mode);
		KUNIT_EXPECT_EQ_MSG(test, all[i].group, open_as(test, "kunit-mode", 7, 0),
				    "group, mode %o", all[i].mode);
		KUNIT_EXPECT_EQ_MSG(test, all[i].other, open_as(test, "kunit-mode", 7, 7),
				    "other, mode %o", all[i].mode);
		/* CAP_DAC_OVERRIDE */
		KUNIT_EXPECT_EQ(test, 0, try_open("kunit-mode", 0, 0));
		region_close(r);
	}
}

/* L11: who opens the name next finds the hold, and may adopt it. */
static void orphans(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-orphan", 100);
	struct handle *other;
	struct lkvfence_query q;
	u64 g = begin(test, h, 1, 0, 10, 2);
	struct lkvfence_adopt adopt = { .size = sizeof(adopt), .generation = g };
	int err;

	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	closed(h);
	KUNIT_ASSERT_TRUE(test, exists("kunit-orphan"));
	other = opened(test, "kunit-orphan", 100);
	q = asked(other, g, &err);
	KUNIT_EXPECT_EQ(test, 0, err);
	KUNIT_EXPECT_EQ(test, LKVFENCE_STATE_ENDED, q.state);
	KUNIT_EXPECT_EQ(test, LKVFENCE_REASON_ORPHANED, q.reason);
	KUNIT_EXPECT_EQ(test, LKVFENCE_TRANSFER_ORPHANED, q.flags);
	KUNIT_EXPECT_EQ(test, q.ended_ns + param_limits().default_ns, q.deadline_ns);
	KUNIT_EXPECT_EQ(test, 1, q.leases_out);

	KUNIT_EXPECT_EQ(test, 0, call_adopt(other, &adopt));
	KUNIT_EXPECT_EQ(test, -EALREADY, call_adopt(other, &adopt));
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, g, 2));
	KUNIT_EXPECT_EQ(test, g, event(test, other).generation);
	asked(other, g, &err);
	KUNIT_EXPECT_EQ(test, -ESTALE, err);
	closed(other);
	KUNIT_EXPECT_FALSE(test, exists("kunit-orphan"));
}

/* More than are orphaned in one go; the last proof retires the region. */
static void orphans_retire(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-retire", 200);
	struct handle *other;
	u64 g[150];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(g); i++)
		g[i] = begin(test, h, i, i, 1, i % 3 ? 1 : 0);
	closed(h);
	other = opened(test, "kunit-retire", 200);
	KUNIT_EXPECT_EQ(test, 100, other->region->fence.transfers_held);
	for (i = 0; i < ARRAY_SIZE(g); i++)
		KUNIT_EXPECT_EQ(test, i % 3 ? 0 : -ESTALE,
				drained(test, other, g[i], 1));
	KUNIT_EXPECT_EQ(test, 0, other->region->fence.transfers_alive);
	closed(other);
	KUNIT_EXPECT_FALSE(test, exists("kunit-retire"));
}

/* L5: a region of the same name knows that what came before is stale. */
static void reborn(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = begin(test, h, 1, 0, 10, 0);
	int err;

	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
	h = opened(test, test->name, 20);
	asked(h, g, &err);
	KUNIT_EXPECT_EQ(test, -ESTALE, err);
	KUNIT_EXPECT_EQ(test, -ESTALE, drained(test, h, g, 1));
	asked(h, g + 1000000, &err);
	KUNIT_EXPECT_EQ(test, -ENOENT, err);
	KUNIT_EXPECT_GT(test, begin(test, h, 1, 0, 10, 0), g);
	closed(h);
}

/* No memory for a region, whatever part of it: no region, no name. */
static void open_without_memory(struct kunit *test)
{
	struct rig *rig = test->priv;
	struct lkvfence_open arg;
	struct region *r;
	u32 nth, refused = 0, bad = 0;
	bool did;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		arg = named("kunit-memory", 65536);
		fail_at(nth);
		r = region_open(&arg);
		did = did_fail();
		if (!IS_ERR(r)) {
			region_close(r);
		} else {
			refused++;
			bad += !did || PTR_ERR(r) != -ENOMEM;
			bad += exists("kunit-memory");
			bad += alive(OBJECT_REGION) != rig->alive[OBJECT_REGION];
		}
		if (!did)
			break;
	}
	kunit_info(test, "%u places, %u of them refuse", nth - 1, refused);
	KUNIT_EXPECT_LT(test, nth, MAX_PLACES);
	KUNIT_EXPECT_EQ(test, 0, bad);
	/* At least the region, its name, its directory. */
	KUNIT_EXPECT_GE(test, refused, 3);

	arg = named("kunit-memory", 1);
	r = region_open(&arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	for (nth = 1, refused = 0; nth < MAX_PLACES; nth++) {
		struct handle *h;

		fail_at(nth);
		h = handle_alloc(r);
		did = did_fail();
		if (h)
			handle_free(h);
		else
			refused++;
		if (!did)
			break;
	}
	KUNIT_EXPECT_GE(test, refused, 1);
	region_close(r);
}

/* Proves sources 1 to @nr quiet, and finishes the transfer. */
static void finish_all(struct kunit *test, struct handle *h, u64 g, u32 nr)
{
	u32 i;

	for (i = 1; i <= nr; i++)
		KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, i));
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
}

/*
 * Calls that allocate: refused, they have changed nothing. Some allocations
 * may fail without harm to the call: it succeeds, and is undone.
 *
 * Each walk over the places of a call is made twice, and the second counts:
 * by then what is allocated once and for all, such as the stack traces that
 * KASAN keeps, is there, and the places are the same from call to call.
 */
static u32 walk_begin(struct kunit *test, struct handle *h)
{
	struct lkvfence_stat before, now;
	u32 nth, refused = 0, bad = 0;
	int err = 0;
	bool did;
	u64 g;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		region_stat(h->region, &before);
		fail_at(nth);
		/* More leases than fit into what a handle may keep. */
		err = try_begin(test, h, 1, 0, 10, 64, &g);
		did = did_fail();
		region_stat(h->region, &now);
		if (err) {
			refused++;
			bad += !did || (err != -ENOMEM && err != -EFAULT);
			bad += !!memcmp(&before, &now, sizeof(now));
		} else {
			finish_all(test, h, g, 64);
		}
		if (!did)
			break;
	}
	KUNIT_EXPECT_EQ(test, 0, bad);
	KUNIT_EXPECT_EQ(test, 0, err);
	return refused;
}

static void begin_without_memory(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-begin", 100);

	walk_begin(test, h);
	/* Itself, ranges, sources. */
	KUNIT_EXPECT_GE(test, walk_begin(test, h), 3);
	closed(h);
}

static u32 walk_take(struct kunit *test, struct handle *h)
{
	u32 nth, refused = 0, bad = 0, leases = 0;
	u64 g = begin(test, h, 1, 0, 10, 0);
	bool did;
	int err;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		fail_at(nth);
		err = take(h, g, leases + 1);
		did = did_fail();
		if (err) {
			refused++;
			bad += !did || err != -ENOMEM;
		} else {
			leases++;
		}
		bad += asked(h, g, &err).nr_leases != leases;
		if (!did)
			break;
	}
	KUNIT_EXPECT_EQ(test, 0, bad);
	KUNIT_EXPECT_GE(test, leases, 1);
	finish_all(test, h, g, leases);
	return refused;
}

static void take_without_memory(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-take", 100);

	walk_take(test, h);
	KUNIT_EXPECT_GE(test, walk_take(test, h), 1);
	closed(h);
}

static u32 walk_query(struct kunit *test, struct handle *h, u64 g)
{
	struct rig *rig = test->priv;
	u32 nth, refused = 0, bad = 0;
	struct lkvfence_query q = {
		.size		= sizeof(q),
		.generation	= g,
		.ranges		= rig->user,
		.leases		= rig->user + 1024,
	};
	int err = 0;
	bool did;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		q.nr_ranges = 8;
		q.nr_leases = 64;
		fail_at(nth);
		err = call_query(h, &q);
		did = did_fail();
		if (!did)
			break;
		refused += !!err;
		bad += err && err != -ENOMEM && err != -EFAULT;
	}
	KUNIT_EXPECT_EQ(test, 0, bad);
	KUNIT_EXPECT_EQ(test, 0, err);
	KUNIT_EXPECT_EQ(test, 1, q.nr_ranges);
	KUNIT_EXPECT_EQ(test, 64, q.nr_leases);
	return refused;
}

static void query_without_memory(struct kunit *test)
{
	struct handle *h = opened(test, "kunit-query", 100);
	u64 g = begin(test, h, 1, 0, 10, 64);
	u32 most = 0, i;

	/*
	 * Room for ranges, for leases, and the copying of both. What the kernel
	 * allocates for itself now and then moves the places: one may be missed.
	 */
	for (i = 0; i < 10 && most < 4; i++)
		most = max(most, walk_query(test, h, g));
	KUNIT_EXPECT_GE(test, most, 4);
	finish_all(test, h, g, 64);
	closed(h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(open_and_close),
	KUNIT_CASE(join),
	KUNIT_CASE(names),
	KUNIT_CASE(permissions),
	KUNIT_CASE(orphans),
	KUNIT_CASE(orphans_retire),
	KUNIT_CASE(reborn),
	KUNIT_CASE(open_without_memory),
	KUNIT_CASE(begin_without_memory),
	KUNIT_CASE(take_without_memory),
	KUNIT_CASE(query_without_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-region",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
