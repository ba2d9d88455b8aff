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
#include <linux/sysfs.h>
#include <linux/time.h>

#include "main.h"
#include "rdma.h"
#include "region.h"
#include "uapi.h"

struct workqueue_struct *lkvfence_wq;
struct workqueue_struct *lkvfence_revoke_wq;
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
static uint max_sources = 4096;
static uint max_pulls = 1U << 16;
static uint max_tombstones = 4096;
static uint max_peers = 4096;

/*
 * How long after a QP was moved to ERR nothing comes through it any more. What
 * had been accepted before may still be on its way to memory. With hardware it is
 * what is inside the device and on its bus, where an unanswered transaction is
 * given up after 50 ms at most. With Soft-RoCE it is one packet that a thread is
 * copying, for which no time is long enough: see the graces in rdma.c. There this
 * is for what a driver may yet sleep for.
 */
static uint settle_ms = 100;
/*
 * How long the rest of a revocation may take: the driver's part, and the wait for
 * all threads of a busy machine, which took 1.7 s where twenty wanted to run on
 * two processors.
 */
static uint revoke_timeout_ms = 10000;

/*
 * How long a pull waits for its tag to be offered: a request reaches both ends
 * within seconds. And how long it is known why a transfer ended: longer than a
 * pull may have been under way.
 */
static uint unclaimed_ms = 5 * MSEC_PER_SEC;
static uint tombstone_ms = 60 * MSEC_PER_SEC;

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

/* At least 1, and so little that sums of times can't overflow. */
static int set_duration(const char *val, const struct kernel_param *kp)
{
	uint new;
	int err;

	err = kstrtouint(val, 0, &new);
	if (err)
		return err;
	if (!new || new > 600 * MSEC_PER_SEC)
		return -EINVAL;
	WRITE_ONCE(*(uint *)kp->arg, new);
	return 0;
}

static const struct kernel_param_ops duration_ops = {
	.set	= set_duration,
	.get	= param_get_uint,
};

module_param_cb(timeout_default_ms, &timeout_ops, &timeout_default_ms, 0644);
MODULE_PARM_DESC(timeout_default_ms, "How long a hold waits for proof where nothing else is asked for, in ms (30000)");
module_param_cb(timeout_min_ms, &timeout_ops, &timeout_min_ms, 0644);
MODULE_PARM_DESC(timeout_min_ms, "The shortest timeout that may be asked for, in ms, at least 1 (10)");
module_param_cb(timeout_max_ms, &timeout_ops, &timeout_max_ms, 0644);
MODULE_PARM_DESC(timeout_max_ms, "The longest timeout that may be asked for, in ms (3600000)");
module_param(max_slots, uint, 0644);
MODULE_PARM_DESC(max_slots, "Slots in a region, at most 268435455 (16777216)");
module_param(max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "Regions (1024)");
module_param(max_transfers, uint, 0644);
MODULE_PARM_DESC(max_transfers, "Unreleased transfers of a region, and unread events of a handle (1048576)");

module_param(max_sources, uint, 0644);
MODULE_PARM_DESC(max_sources, "Bound sources of a region (4096)");
module_param_cb(settle_ms, &duration_ops, &settle_ms, 0644);
MODULE_PARM_DESC(settle_ms, "How long after it was moved to ERR a queue pair counts as quiet, in ms, 1 to 600000 (100)");
module_param_cb(revoke_timeout_ms, &duration_ops, &revoke_timeout_ms, 0644);
MODULE_PARM_DESC(revoke_timeout_ms, "How long a revocation may take, beside settle_ms, in ms, 1 to 600000 (10000)");
module_param(max_pulls, uint, 0644);
MODULE_PARM_DESC(max_pulls, "Waiting tickets of a region (65536)");
module_param(max_tombstones, uint, 0644);
MODULE_PARM_DESC(max_tombstones, "Offered transfers of a region, and as many tags aborted early, of which it is known how they ended (4096)");
module_param(max_peers, uint, 0644);
MODULE_PARM_DESC(max_peers, "Peers of one user (4096)");
module_param_cb(unclaimed_ms, &duration_ops, &unclaimed_ms, 0644);
MODULE_PARM_DESC(unclaimed_ms, "How long a pull that names no time waits for its tag to be offered, in ms, 1 to 600000 (5000)");
module_param_cb(tombstone_ms, &duration_ops, &tombstone_ms, 0644);
MODULE_PARM_DESC(tombstone_ms, "How long it is known why an offered transfer ended, in ms, 1 to 600000 (60000)");

static u64 ms_to_ns(uint ms)
{
	return (u64)ms * NSEC_PER_MSEC;
}

struct fence_limits param_limits(void)
{
	return (struct fence_limits) {
		.default_ns	= ms_to_ns(READ_ONCE(timeout_default_ms)),
		.max_ns		= ms_to_ns(READ_ONCE(timeout_max_ms)),
		.revoke_ns	= ms_to_ns(READ_ONCE(settle_ms)) +
				  ms_to_ns(READ_ONCE(revoke_timeout_ms)),
	};
}

u64 param_timeout_min_ns(void)
{
	return ms_to_ns(READ_ONCE(timeout_min_ms));
}

u32 param_max_slots(void)
{
	/* The kernel allocates no more than INT_MAX bytes at once. */
	return min_t(u32, READ_ONCE(max_slots), INT_MAX / sizeof(u64));
}

u32 param_max_regions(void)
{
	return READ_ONCE(max_regions);
}

u32 param_max_transfers(void)
{
	return READ_ONCE(max_transfers);
}

u32 param_max_sources(void)
{
	return READ_ONCE(max_sources);
}

u32 param_max_pulls(void)
{
	return READ_ONCE(max_pulls);
}

u32 param_max_peers(void)
{
	return READ_ONCE(max_peers);
}

u64 param_unclaimed_ns(void)
{
	return ms_to_ns(READ_ONCE(unclaimed_ms));
}

struct pull_limits param_pull_limits(void)
{
	return (struct pull_limits) {
		.tombstone_ns	= ms_to_ns(READ_ONCE(tombstone_ms)),
		.max_tombstones	= READ_ONCE(max_tombstones),
		.max_leases	= MAX_LEASES,
	};
}

u64 param_settle_ns(void)
{
	return ms_to_ns(READ_ONCE(settle_ms));
}

/*
 * Generations. The first one is drawn at random from 2^62 numbers, and each
 * further one is higher by 1. No clock is trusted: hosts without one wake up
 * at the same moment again and again, and others are set back. Two loads of
 * which each begins n transfers share a number with probability n / 2^61: for
 * n of 10^12 that is less than 1 in two million.
 */
static atomic64_t last_generation;

static int generation_init(void)
{
	u64 first;
	int err;

	/* A machine that has just started may have no randomness yet. */
	err = wait_for_random_bytes();
	if (err)
		return err;
	get_random_bytes(&first, sizeof(first));
	atomic64_set(&last_generation, BIT_ULL(62) | first >> 2);
	return 0;
}

u64 generation_next(void)
{
	return atomic64_inc_return(&last_generation);
}

u64 generation_last(void)
{
	return atomic64_read(&last_generation);
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
	int err;

	if (!timeouts_ordered(timeout_min_ms, timeout_default_ms, timeout_max_ms)) {
		pr_err("timeouts must be 0 < timeout_min_ms <= timeout_default_ms <= timeout_max_ms\n");
		return -EINVAL;
	}
	loaded = true;
	err = generation_init();
	if (err)
		return err;
	sysfs_prepare();

	lkvfence_wq = alloc_workqueue("lkvfence", WQ_UNBOUND, 0);
	if (!lkvfence_wq)
		return -ENOMEM;
	lkvfence_revoke_wq = alloc_workqueue("lkvfence_revoke", WQ_UNBOUND, 0);
	if (!lkvfence_revoke_wq) {
		err = -ENOMEM;
		goto destroy_wq;
	}
	err = qp_init();
	if (err)
		goto destroy_revoke_wq;

	/* Regions live below the module, so that they can before the device does. */
	regions_kobj = kobject_create_and_add("regions", &THIS_MODULE->mkobj.kobj);
	if (!regions_kobj) {
		err = -ENOMEM;
		goto exit_qp;
	}

	err = misc_register(&device);
	if (err)
		goto put_regions;

	/* The device may be open by now: nothing that follows may fail. */
	if (sysfs_create_link(&device.this_device->kobj, regions_kobj, "regions"))
		pr_warn("no link to the regions in sysfs; they are in /sys/module/lkvfence/regions\n");
	return 0;

put_regions:
	kobject_put(regions_kobj);
exit_qp:
	qp_exit();
destroy_revoke_wq:
	destroy_workqueue(lkvfence_revoke_wq);
destroy_wq:
	destroy_workqueue(lkvfence_wq);
	return err;
}

static void __exit lkvfence_exit(void)
{
	/* No region is left: each one keeps the module. */
	sysfs_remove_link(&device.this_device->kobj, "regions");
	misc_deregister(&device);
	kobject_put(regions_kobj);
	/* The last region's work may still be on its way out. */
	destroy_workqueue(lkvfence_revoke_wq);
	destroy_workqueue(lkvfence_wq);
	qp_exit();
}

module_init(lkvfence_init);
module_exit(lkvfence_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(LKVFENCE_MODULE_VERSION);
MODULE_DESCRIPTION("KV cache slots are not reused while somebody may still write them by RDMA");
