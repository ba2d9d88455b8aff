// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
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

int rig_init_qps(struct kunit *test)
{
	fake_reset();
	/* A slow machine must not be taken for a driver that is stuck. */
	set_param(test, "revoke_timeout_ms", "60000");
	return rig_init(test);
}

void rig_exit_qps(struct kunit *test)
{
	fake_unblock();
	rig_exit(test);
	set_param(test, "revoke_timeout_ms", "10000");
	set_param(test, "settle_ms", "100");
	set_param(test, "max_sources", "4096");
	KUNIT_EXPECT_TRUE_MSG(test, fake_reset(), "QPs are remembered");
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

static int give_back(struct kunit *test, struct handle *h,
		     struct lkvfence_return_item item)
{
	struct rig *rig = test->priv;
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

int drained(struct kunit *test, struct handle *h, u64 generation, u32 source)
{
	return give_back(test, h, (struct lkvfence_return_item) {
		.generation	= generation,
		.source		= source,
		.status		= LKVFENCE_STATUS_DRAINED,
		.evidence	= CQE,
	});
}

int revoked(struct kunit *test, struct handle *h, u64 generation, u32 source)
{
	return give_back(test, h, (struct lkvfence_return_item) {
		.generation	= generation,
		.source		= source,
		.status		= LKVFENCE_STATUS_REVOKED,
		.evidence	= LKVFENCE_EVIDENCE_QP_DESTROYED,
	});
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

int try_bind(struct kunit *test, struct handle *h, u32 source, u32 qp, u32 nr,
	     u64 *binding)
{
	struct rig *rig = test->priv;
	struct lkvfence_source arg = {
		.size		= sizeof(arg),
		.source		= source,
		.nr_qps		= nr,
		.qps		= rig->user,
		.peer		= "somebody",
	};
	u32 i, nth = current->fail_nth;
	int err;

	current->fail_nth = 0;
	for (i = 0; i < nr && i < MAX_QPS; i++) {
		struct lkvfence_qp name = { .device = FAKE_DEVICE, .number = qp + i };

		if (!put(arg.qps + i * sizeof(name), &name, sizeof(name)))
			return -EIO;
	}
	current->fail_nth = nth;
	err = call_source(h, &arg);
	*binding = arg.binding;
	return err;
}

u64 bound(struct kunit *test, struct handle *h, u32 source, u32 qp, u32 nr)
{
	u64 binding = 0;

	fake_connect_some(qp, nr);
	KUNIT_ASSERT_EQ(test, 0, try_bind(test, h, source, qp, nr, &binding));
	return binding;
}

int unbound(struct handle *h, u32 source)
{
	struct lkvfence_source arg = {
		.size		= sizeof(arg),
		.flags		= LKVFENCE_SOURCE_UNBIND,
		.source		= source,
	};

	return call_source(h, &arg);
}

int quiet(struct handle *h, u64 binding, u32 qp, u32 evidence)
{
	struct lkvfence_quiet arg = {
		.size		= sizeof(arg),
		.binding	= binding,
		.qp		= qp,
		.evidence	= evidence,
	};

	return call_quiet(h, &arg);
}

struct lkvfence_query_source look_at(struct kunit *test, struct handle *h,
				     u32 source, struct lkvfence_qp *qp)
{
	struct rig *rig = test->priv;
	struct lkvfence_query_source arg = {
		.size		= sizeof(arg),
		.source		= source,
		.qps		= rig->user,
		.nr_qps		= 1,
	};

	if (call_query_source(h, &arg) ||
	    copy_from_user(qp, (void __user *)rig->user, sizeof(*qp))) {
		arg.state = 0;
		qp->state = 0;
	}
	return arg;
}

u32 source_is(struct kunit *test, struct handle *h, u32 source)
{
	struct lkvfence_qp qp;

	return look_at(test, h, source, &qp).state;
}

void expect_revoking(struct kunit *test, struct handle *h, u64 binding)
{
	struct lkvfence_event e = event(test, h);

	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_REVOKE, e.type);
	KUNIT_EXPECT_EQ(test, binding, e.generation);
}

void expect_released(struct kunit *test, struct handle *h, u64 generation,
		     u32 outcome, u32 evidence)
{
	struct lkvfence_event e = event(test, h);

	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, e.type);
	KUNIT_EXPECT_EQ(test, generation, e.generation);
	KUNIT_EXPECT_EQ(test, outcome, e.outcome);
	KUNIT_EXPECT_EQ(test, evidence, e.evidence);
}

u64 stat_value(struct handle *h, size_t offset)
{
	struct lkvfence_stat stat;

	region_stat(h->region, &stat);
	return *(u64 *)((char *)&stat + offset);
}

void set_param(struct kunit *test, const char *name, const char *value)
{
	const struct kernel_param *kp;
	int err = -ENOENT;
	unsigned int i;

	for (i = 0; i < THIS_MODULE->num_kp; i++) {
		kp = &THIS_MODULE->kp[i];
		if (strcmp(kp->name, name))
			continue;
		kernel_param_lock(THIS_MODULE);
		err = kp->ops->set(value, kp);
		kernel_param_unlock(THIS_MODULE);
		break;
	}
	KUNIT_EXPECT_EQ_MSG(test, 0, err, "parameter %s", name);
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

struct lkvfence_event nth_event(unsigned long at, u32 i)
{
	struct lkvfence_event e;

	if (copy_from_user(&e, (void __user *)(at + i * sizeof(e)), sizeof(e)))
		memset(&e, 0, sizeof(e));
	return e;
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
