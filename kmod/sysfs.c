// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/misc/lkvfence/: one value a file; sums over all regions there are
 * and were. regions/NAME/ has the same for each region. All are readable by
 * anybody, and none can be written.
 */
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/stddef.h>
#include <linux/sysfs.h>

#include "main.h"
#include "region.h"

/* File name, and member of struct lkvfence_stat. */
#define SHARED_VALUES(V)						\
	V(slots, slots)							\
	V(slots_taken, slots_taken)					\
	V(slots_held, slots_held)					\
	V(slots_quarantined, slots_quarantined)				\
	V(transfers_alive, transfers_alive)				\
	V(transfers_held, transfers_held)				\
	V(transfers_quarantined, transfers_quarantined)			\
	V(oldest_hold_ns, oldest_hold_ns)				\
	V(begun, begun)							\
	V(released_completed, released[LKVFENCE_OUTCOME_COMPLETED])	\
	V(released_drained, released[LKVFENCE_OUTCOME_DRAINED])		\
	V(released_revoked, released[LKVFENCE_OUTCOME_REVOKED])		\
	V(released_timeout, released[LKVFENCE_OUTCOME_TIMEOUT])		\
	V(released_gone, released[LKVFENCE_OUTCOME_GONE])		\
	V(returns_drained, returns_drained)				\
	V(returns_failed, returns_failed)				\
	V(returns_early, returns_early)					\
	V(returns_stale, returns_stale)					\
	V(returns_unknown, returns_unknown)				\
	V(returns_duplicate, returns_duplicate)				\
	V(refused_busy, refused_busy)					\
	V(refused_exists, refused_exists)				\
	V(refused_limit, refused_limit)					\
	V(forced, forced)						\
	V(handles, handles)

#define REGION_VALUES(V)						\
	SHARED_VALUES(V)						\
	V(slot_size, slot_size)						\
	V(base, base)

/* A region's */
#define REGION_SHOW(_name, _member)					\
static ssize_t region_##_name##_show(struct kobject *kobj,		\
				     struct kobj_attribute *attr,	\
				     char *buf)				\
{									\
	struct lkvfence_stat stat;					\
									\
	region_stat(container_of(kobj, struct region, kobj), &stat);	\
	return sysfs_emit(buf, "%llu\n", (u64)stat._member);		\
}									\
static struct kobj_attribute region_attr_##_name =			\
	__ATTR(_name, 0444, region_##_name##_show, NULL);

REGION_VALUES(REGION_SHOW)

#define REGION_ATTR(_name, _member)	&region_attr_##_name.attr,

static struct attribute *region_attrs[] = {
	REGION_VALUES(REGION_ATTR)
	NULL
};
static const struct attribute_group region_group = {
	.attrs = region_attrs,
};

const struct attribute_group *region_groups[] = {
	&region_group,
	NULL
};

/* The module's */
#define MODULE_SHOW(_name, _member)					\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct lkvfence_stat stat;					\
									\
	regions_stat(&stat);						\
	return sysfs_emit(buf, "%llu\n", (u64)stat._member);		\
}									\
static DEVICE_ATTR_RO(_name);

SHARED_VALUES(MODULE_SHOW)

static ssize_t abi_show(struct device *dev, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%u\n", LKVFENCE_ABI);
}
static DEVICE_ATTR_RO(abi);

static ssize_t version_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%s\n", LKVFENCE_MODULE_VERSION);
}
static DEVICE_ATTR_RO(version);

static ssize_t nr_regions_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct lkvfence_stat stat;

	return sysfs_emit(buf, "%u\n", regions_stat(&stat));
}
static DEVICE_ATTR_RO(nr_regions);

#define MODULE_ATTR(_name, _member)	&dev_attr_##_name.attr,

static struct attribute *module_attrs[] = {
	&dev_attr_abi.attr,
	&dev_attr_version.attr,
	&dev_attr_nr_regions.attr,
	SHARED_VALUES(MODULE_ATTR)
	NULL
};

static const struct attribute_group module_group = {
	.attrs = module_attrs,
};

/* objects/: for tests: created and destroyed agree when nothing is in use */
#define OBJECT_SHOW(_name, _count, _kind)				\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%lld\n",				\
			  atomic64_read(&objects_##_count[OBJECT_##_kind])); \
}									\
static DEVICE_ATTR_RO(_name);

#define OBJECT_FILES(F)							\
	F(regions_created, created, REGION)				\
	F(regions_destroyed, destroyed, REGION)				\
	F(handles_created, created, HANDLE)				\
	F(handles_destroyed, destroyed, HANDLE)				\
	F(transfers_created, created, TRANSFER)				\
	F(transfers_destroyed, destroyed, TRANSFER)			\
	F(leases_created, created, LEASE)				\
	F(leases_destroyed, destroyed, LEASE)

OBJECT_FILES(OBJECT_SHOW)

#define OBJECT_ATTR(_name, _count, _kind)	&dev_attr_##_name.attr,

static struct attribute *object_attrs[] = {
	OBJECT_FILES(OBJECT_ATTR)
	NULL
};

static const struct attribute_group object_group = {
	.name	= "objects",
	.attrs	= object_attrs,
};

const struct attribute_group *module_groups[] = {
	&module_group,
	&object_group,
	NULL
};
