// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device, the module's parameters, and the numbering of generations.
 */
#define pr_fmt(fmt) "lkvfence: " fmt

#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/time.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "main.h"
#include "region.h"
#include "uapi.h"

struct workqueue_struct *lkvfence_wq;
struct kobject *regions_kobj;

atomic64_t objects_created[NR_OBJECTS];
atomic64_t objects_destroyed[NR_OBJECTS];

/*
 * Parameters. They bound what is asked for from now on; nothing that is held
 * changes with them (L2, L4).
 */

static uint timeout_default_ms = 30 * MSEC_PER_SEC;
static uint timeout_min_ms = 10;
static uint timeout_max_ms = 3600 * MSEC_PER_SEC;
static uint max_slots = 1U << 24;
static uint max_regions = 1024;
static uint max_transfers = 1U << 20;

/* At load they come one by one, and module init looks at all of them. */
static bool loaded;

static bool timeouts_ordered(uint least, uint standard, uint most)
{
	return least && least <= standard && standard <= most;
}

/* The core lets one write at a time in. A bad value is never visible. */
static int set_timeout(const char *val, const struct kernel_param *kp)
{
	uint *param = kp->arg;
	uint new;
	int err;

	err = kstrtouint(val, 0, &new);
	if (err)
		return err;
	if (loaded &&
	    !timeouts_ordered(param == &timeout_min_ms ? new : timeout_min_ms,
			      param == &timeout_default_ms ? new : timeout_default_ms,
			      param == &timeout_max_ms ? new : timeout_max_ms))
		return -EINVAL;
	WRITE_ONCE(*param, new);
	return 0;
}

static const struct kernel_param_ops timeout_ops = {
	.set	= set_timeout,
	.get	= param_get_uint,
};

module_param_cb(timeout_default_ms, &timeout_ops, &timeout_default_ms, 0644);
MODULE_PARM_DESC(timeout_default_ms, "How long a hold waits for proof where nothing else is asked for, in ms (30000)");
module_param_cb(timeout_min_ms, &timeout_ops, &timeout_min_ms, 0644);
MODULE_PARM_DESC(timeout_min_ms, "The shortest timeout that may be asked for, in ms, at least 1 (10)");
module_param_cb(timeout_max_ms, &timeout_ops, &timeout_max_ms, 0644);
MODULE_PARM_DESC(timeout_max_ms, "The longest timeout that may be asked for, in ms (3600000)");
module_param(max_slots, uint, 0644);
MODULE_PARM_DESC(max_slots, "Slots in a region, at most 1073741824 (16777216)");
module_param(max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "Regions (1024)");
module_param(max_transfers, uint, 0644);
MODULE_PARM_DESC(max_transfers, "Unreleased transfers of a region, and unread events of a handle (1048576)");

static u64 ms_to_ns(uint ms)
{
	return (u64)ms * NSEC_PER_MSEC;
}

struct fence_limits param_limits(void)
{
	return (struct fence_limits) {
		.default_ns	= ms_to_ns(READ_ONCE(timeout_default_ms)),
		.max_ns		= ms_to_ns(READ_ONCE(timeout_max_ms)),
	};
}

u64 param_timeout_min_ns(void)
{
	return ms_to_ns(READ_ONCE(timeout_min_ms));
}

u32 param_max_slots(void)
{
	/* What an int can count, with room to spare. */
	return min(READ_ONCE(max_slots), 1U << 30);
}

u32 param_max_regions(void)
{
	return READ_ONCE(max_regions);
}

u32 param_max_transfers(void)
{
	return READ_ONCE(max_transfers);
}

/*
 * Generations. The first one is the wall clock at load, in nanoseconds, and
 * each further one is higher by 1. A call takes much longer than a
 * nanosecond, so the numbers fall behind the clock, and the next load begins
 * above all that were given: never the same twice, and older is lower.
 *
 * A host without a clock wakes up in the past. Before this code was written it
 * can't be, so the first number is then drawn at random from a space that the
 * clock won't reach before 2116.
 */
#define WRITTEN_NS	(1764460800ULL * NSEC_PER_SEC)	/* 2025-11-30 */

static atomic64_t last_generation;

static void generation_init(void)
{
	u64 first = ktime_get_real_ns();

	if (first < WRITTEN_NS) {
		get_random_bytes(&first, sizeof(first));
		first = BIT_ULL(62) | first >> 2;
		pr_notice("the clock is not set: generations start at random\n");
	}
	atomic64_set(&last_generation, first);
}

u64 generation_next(void)
{
	return atomic64_inc_return(&last_generation);
}

/*
 * The device
 */

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "lkvfence",
	.fops	= &device_fops,
	.mode	= 0660,
	.groups	= module_groups,
};

static int __init lkvfence_init(void)
{
	struct kobject *kobj;
	int err;

	if (!timeouts_ordered(timeout_min_ms, timeout_default_ms, timeout_max_ms)) {
		pr_err("timeouts must be 0 < timeout_min_ms <= timeout_default_ms <= timeout_max_ms\n");
		return -EINVAL;
	}
	loaded = true;
	generation_init();
	sysfs_prepare();

	lkvfence_wq = alloc_workqueue("lkvfence", WQ_UNBOUND, 0);
	if (!lkvfence_wq)
		return -ENOMEM;

	err = misc_register(&device);
	if (err)
		goto destroy_wq;

	/* The device may be open already; a region waits for its place. */
	kobj = kobject_create_and_add("regions", &device.this_device->kobj);
	if (!kobj) {
		err = -ENOMEM;
		goto deregister;
	}
	/* Pairs with region_publish(): who sees it sees it whole. */
	smp_store_release(&regions_kobj, kobj);
	return 0;

deregister:
	misc_deregister(&device);
destroy_wq:
	destroy_workqueue(lkvfence_wq);
	return err;
}

static void __exit lkvfence_exit(void)
{
	/* No region is left: each one keeps the module. */
	kobject_put(regions_kobj);
	misc_deregister(&device);
	/* The last region's work may still be on its way out. */
	destroy_workqueue(lkvfence_wq);
}

module_init(lkvfence_init);
module_exit(lkvfence_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(LKVFENCE_MODULE_VERSION);
MODULE_DESCRIPTION("KV cache slots are not reused while somebody may still write them by RDMA");
