// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rig.h"

s64 alive(enum object kind)
{
	return atomic64_read(&objects_created[kind]) -
	       atomic64_read(&objects_destroyed[kind]);
}

int rig_init(struct kunit *test)
{
	struct rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rig);
	/* A third page is mapped, but can't be touched. */
	rig->user = kunit_vm_mmap(test, NULL, 0, USER_SIZE + PAGE_SIZE,
				  PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(rig->user));
	KUNIT_ASSERT_EQ(test, rig->user,
			kunit_vm_mmap(test, NULL, rig->user, USER_SIZE,
				      PROT_READ | PROT_WRITE,
				      MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
	for (i = 0; i < NR_OBJECTS; i++)
		rig->alive[i] = alive(i);
	test->priv = rig;
	return 0;
}

static bool same(const struct rig *rig)
{
	int i;

	for (i = 0; i < NR_OBJECTS; i++) {
		if (alive(i) != rig->alive[i])
			return false;
	}
	return true;
}

bool settled(struct kunit *test)
{
	unsigned long end = jiffies + PATIENCE;

	while (!same(test->priv)) {
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

void rig_exit(struct kunit *test)
{
	did_fail();
	/* Nothing to compare with where init has failed. */
	if (test->priv)
		KUNIT_EXPECT_TRUE_MSG(test, settled(test), "objects are left");
}

struct lkvfence_open named(const char *name, u32 nr_slots)
{
	struct lkvfence_open arg = {
		.size		= sizeof(arg),
		.flags		= LKVFENCE_OPEN_CREATE,
		.slot_size	= 4096,
		.nr_slots	= nr_slots,
		.mode		= 0600,
	};

	strscpy(arg.name, name, sizeof(arg.name));
	return arg;
}

struct handle *opened(struct kunit *test, const char *name, u32 nr_slots)
{
	struct lkvfence_open arg = named(name, nr_slots);
	struct region *r = region_open(&arg);
	struct handle *h;

	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	h = handle_alloc(r);
	KUNIT_ASSERT_NOT_NULL(test, h);
	return h;
}

void closed(struct handle *h)
{
	struct region *r = h->region;

	handle_free(h);
	region_close(r);
}

bool exists(const char *name)
{
	struct lkvfence_open arg = named(name, 0);
	struct region *r;

	arg.flags = 0;
	arg.slot_size = 0;
	r = region_open(&arg);
	if (IS_ERR(r))
		return false;
	region_close(r);
	return true;
}

static bool put(unsigned long at, const void *what, size_t len)
{
	return !copy_to_user((void __user *)at, what, len);
}

int try_begin(struct kunit *test, struct handle *h, u64 tag, u32 first,
	      u32 count, u32 nr_sources, u64 *generation)
{
	struct rig *rig = test->priv;
	struct lkvfence_range range = { .first = first, .count = count };
	struct lkvfence_begin arg = {
		.size		= sizeof(arg),
		.tag		= tag,
		.ranges		= rig->user,
		.sources	= rig->user + sizeof(range),
		.nr_ranges	= 1,
		.nr_sources	= nr_sources,
	};
	u32 sources[64], i, nth = current->fail_nth;
	int err;

	/* What fails is to fail in the call, and not in its preparation. */
	current->fail_nth = 0;
	for (i = 0; i < nr_sources && i < ARRAY_SIZE(sources); i++)
		sources[i] = i + 1;
	if (!put(arg.ranges, &range, sizeof(range)) ||
	    !put(arg.sources, sources, i * sizeof(*sources)))
		return -EIO;
	current->fail_nth = nth;
	err = call_begin(h, &arg);
	*generation = arg.generation;
	return err;
}

u64 begin(struct kunit *test, struct handle *h, u64 tag, u32 first, u32 count,
	  u32 nr_sources)
{
	u64 generation = 0;

	KUNIT_ASSERT_EQ(test, 0, try_begin(test, h, tag, first, count,
					   nr_sources, &generation));
	return generation;
}

int take(struct handle *h, u64 generation, u32 source)
{
	struct lkvfence_take arg = {
		.size		= sizeof(arg),
		.generation	= generation,
		.source		= source,
	};

	return call_take(h, &arg);
}

int drained(struct kunit *test, struct handle *h, u64 generation, u32 source)
{
	struct rig *rig = test->priv;
	struct lkvfence_return_item item = {
		.generation	= generation,
		.source		= source,
		.status		= LKVFENCE_STATUS_DRAINED,
		.evidence	= CQE,
	};
	struct lkvfence_return arg = {
		.size		= sizeof(arg),
		.items		= rig->user,
		.nr_items	= 1,
	};
	int err;

	if (!put(arg.items, &item, sizeof(item)))
		return -EIO;
	err = call_return(h, &arg);
	if (!err && copy_from_user(&item, (void __user *)arg.items, sizeof(item)))
		err = -EIO;
	return err ?: item.result;
}

int ended(struct handle *h, u64 generation, u32 policy, u32 timeout_ms)
{
	struct lkvfence_abort arg = {
		.size		= sizeof(arg),
		.generation	= generation,
		.policy		= policy,
		.timeout_ns	= timeout_ms * MS,
	};

	return call_abort(h, &arg);
}

int finished(struct handle *h, u64 generation)
{
	struct lkvfence_release arg = {
		.size		= sizeof(arg),
		.generation	= generation,
	};

	return call_release(h, &arg);
}

struct lkvfence_query asked(struct handle *h, u64 generation, int *err)
{
	struct lkvfence_query arg = {
		.size		= sizeof(arg),
		.generation	= generation,
	};

	*err = call_query(h, &arg);
	return arg;
}

ssize_t try_read(struct handle *h, unsigned long at, u32 nr)
{
	struct file *file;
	ssize_t ret;
	u32 nth = current->fail_nth;

	current->fail_nth = 0;
	/* All that event_read() looks at. */
	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -EIO;
	file->private_data = h;
	file->f_flags = O_NONBLOCK;
	current->fail_nth = nth;
	ret = event_read(file, (char __user *)at,
			 nr * sizeof(struct lkvfence_event), NULL);
	kfree(file);
	return ret;
}

struct lkvfence_event event(struct kunit *test, struct handle *h)
{
	struct rig *rig = test->priv;
	struct lkvfence_event e = {};

	if (!woken(h, READ_ONCE(h->nr_unread)) ||
	    try_read(h, rig->user, 1) != sizeof(e) ||
	    copy_from_user(&e, (void __user *)rig->user, sizeof(e)))
		e.type = 0;
	return e;
}
