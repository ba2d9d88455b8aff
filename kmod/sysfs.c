// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/misc/lkvfence/: one value a file; sums over all regions there are
 * and were. regions/NAME/ has the same for each region. All but a region's
 * base are readable by anybody, and none can be written.
 */
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "main.h"
#include "peer.h"
#include "rdma.h"
#include "region.h"

/**
 * struct value - a member of struct lkvfence_stat, and its two files
 * @region: the file in a region's directory
 * @module: the file in the module's
 * @offset: of the member, a u64
 */
struct value {
	struct kobj_attribute region;
	struct device_attribute module;
	size_t offset;
};

static u64 value_in(const struct lkvfence_stat *stat, const struct value *v)
{
	return *(const u64 *)((const char *)stat + v->offset);
}

static ssize_t region_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	struct value *v = container_of(attr, struct value, region);
	struct lkvfence_stat stat;

	region_stat(container_of(kobj, struct region, kobj), &stat);
	return sysfs_emit(buf, "%llu\n", value_in(&stat, v));
}

static ssize_t module_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct value *v = container_of(attr, struct value, module);
	struct lkvfence_stat stat;
	u32 nr;
	int err = regions_stat(&stat, &nr);

	return err ?: sysfs_emit(buf, "%llu\n", value_in(&stat, v));
}

#define VALUE_MODE(_name, _member, _mode) {				\
	.region = __ATTR(_name, _mode, region_show, NULL),		\
	.module = __ATTR(_name, _mode, module_show, NULL),		\
	.offset = offsetof(struct lkvfence_stat, _member),		\
}

#define VALUE(_name, _member)	VALUE_MODE(_name, _member, 0444)

static struct value values[] = {
	/* These two mean nothing for all regions together. */
	VALUE(slot_size, slot_size),
	/* An address in somebody's process is not for everybody. */
	VALUE_MODE(base, base, 0400),
#define REGION_ONLY	2

	VALUE(slots, slots),
	VALUE(slots_taken, slots_taken),
	VALUE(slots_held, slots_held),
	VALUE(slots_quarantined, slots_quarantined),
	VALUE(transfers_alive, transfers_alive),
	VALUE(transfers_held, transfers_held),
	VALUE(transfers_quarantined, transfers_quarantined),
	VALUE(oldest_hold_ns, oldest_hold_ns),
	VALUE(begun, begun),
	VALUE(released_completed, released[LKVFENCE_OUTCOME_COMPLETED]),
	VALUE(released_drained, released[LKVFENCE_OUTCOME_DRAINED]),
	VALUE(released_revoked, released[LKVFENCE_OUTCOME_REVOKED]),
	VALUE(released_timeout, released[LKVFENCE_OUTCOME_TIMEOUT]),
	VALUE(released_gone, released[LKVFENCE_OUTCOME_GONE]),
	VALUE(returns_drained, returns_drained),
	VALUE(returns_failed, returns_failed),
	VALUE(returns_revoked, returns_revoked),
	VALUE(returns_early, returns_early),
	VALUE(returns_stale, returns_stale),
	VALUE(returns_unknown, returns_unknown),
	VALUE(returns_duplicate, returns_duplicate),
	VALUE(returns_unaccepted, returns_unaccepted),
	VALUE(refused_busy, refused_busy),
	VALUE(refused_exists, refused_exists),
	VALUE(refused_limit, refused_limit),
	VALUE(refused_revoked, refused_revoked),
	VALUE(forced, forced),
	VALUE(handles, handles),
	VALUE(revokes, revokes),
	VALUE(revokes_failed, revokes_failed),
	VALUE(evidence_timeout, evidence[LKVFENCE_EVIDENCE_TIMEOUT]),
	VALUE(evidence_qp_err_settled, evidence[LKVFENCE_EVIDENCE_QP_ERR_SETTLED]),
	VALUE(evidence_success_cqe, evidence[LKVFENCE_EVIDENCE_SUCCESS_CQE]),
	VALUE(evidence_in_band, evidence[LKVFENCE_EVIDENCE_IN_BAND]),
	VALUE(evidence_timeline, evidence[LKVFENCE_EVIDENCE_TIMELINE]),
	VALUE(evidence_rq_flushed, evidence[LKVFENCE_EVIDENCE_RQ_FLUSHED]),
	VALUE(evidence_mw_invalidated, evidence[LKVFENCE_EVIDENCE_MW_INVALIDATED]),
	VALUE(evidence_qp_destroyed, evidence[LKVFENCE_EVIDENCE_QP_DESTROYED]),
	VALUE(evidence_mr_deregistered, evidence[LKVFENCE_EVIDENCE_MR_DEREGISTERED]),
	VALUE(evidence_backing_gone, evidence[LKVFENCE_EVIDENCE_BACKING_GONE]),
	VALUE(sources, sources),
	VALUE(sources_revoked, sources_revoked),
	VALUE(sources_lost, sources_lost),
	VALUE(strays, strays),
	VALUE(strays_late, strays_late),
	VALUE(mismatches, mismatches),
	VALUE(transfers_ready, transfers_ready),
	VALUE(tickets, tickets),
	VALUE(tombstones, tombstones),
	VALUE(transfers_gathered, transfers_gathered),
	VALUE(joined, joined),
	VALUE(ended_by_group, ended_by_group),
	VALUE(pulls, pulls),
	VALUE(pulls_granted, pulls_granted),
	VALUE(pulls_refused, pulls_refused),
	VALUE(pulls_closed, pulls_closed),
	VALUE(refused_early, refused_early),
};

/* Names of what may be proof, from the values that count it. */
static ssize_t accepts_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	const struct fence *f = &container_of(kobj, struct region, kobj)->fence;
	const size_t counted = offsetof(struct lkvfence_stat, evidence);
	ssize_t len = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		const struct value *v = &values[i];
		size_t evidence = (v->offset - counted) / sizeof(u64);

		if (v->offset < counted || evidence >= LKVFENCE_NR_EVIDENCE ||
		    !fence_accepts(f, evidence))
			continue;
		len += sysfs_emit_at(buf, len, "%s%s", len ? " " : "",
				     v->region.attr.name + strlen("evidence_"));
	}
	return len + sysfs_emit_at(buf, len, "\n");
}

static struct kobj_attribute region_accepts = __ATTR_RO(accepts);

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

/* Names, with spaces between them, of what this module can on this kernel. */
static ssize_t features_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%s\n", QP_POSSIBLE ? "qp" : "");
}
static DEVICE_ATTR_RO(features);

static ssize_t nr_regions_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct lkvfence_stat stat;
	u32 nr;
	int err = regions_stat(&stat, &nr);

	return err ?: sysfs_emit(buf, "%u\n", nr);
}
static DEVICE_ATTR_RO(nr_regions);

static struct attribute *region_attrs[ARRAY_SIZE(values) + 2];

static struct attribute *module_attrs[ARRAY_SIZE(values) - REGION_ONLY + 5] = {
	&dev_attr_abi.attr,
	&dev_attr_version.attr,
	&dev_attr_nr_regions.attr,
	&dev_attr_features.attr,
};

static const struct attribute_group region_group = {
	.attrs = region_attrs,
};

const struct attribute_group *region_groups[] = {
	&region_group,
	NULL
};

static const struct attribute_group module_group = {
	.attrs = module_attrs,
};

/*
 * objects/: for tests, and bug reports: created and destroyed agree when
 * nothing is in use.
 */
struct object_value {
	struct device_attribute attr;
	const atomic64_t *count;
};

static ssize_t object_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct object_value *v = container_of(attr, struct object_value, attr);

	return sysfs_emit(buf, "%lld\n", atomic64_read(v->count));
}

#define OBJECT(_name, _array, _kind) {					\
	.attr = __ATTR(_name, 0444, object_show, NULL),			\
	.count = &(_array)[_kind],					\
}

static struct object_value objects[] = {
	OBJECT(regions_created, objects_created, OBJECT_REGION),
	OBJECT(regions_destroyed, objects_destroyed, OBJECT_REGION),
	OBJECT(handles_created, objects_created, OBJECT_HANDLE),
	OBJECT(handles_destroyed, objects_destroyed, OBJECT_HANDLE),
	OBJECT(transfers_created, objects_created, OBJECT_TRANSFER),
	OBJECT(transfers_destroyed, objects_destroyed, OBJECT_TRANSFER),
	OBJECT(leases_created, objects_created, OBJECT_LEASE),
	OBJECT(leases_destroyed, objects_destroyed, OBJECT_LEASE),
	OBJECT(sources_created, objects_created, OBJECT_SOURCE),
	OBJECT(sources_destroyed, objects_destroyed, OBJECT_SOURCE),
	OBJECT(offers_created, objects_created, OBJECT_OFFER),
	OBJECT(offers_destroyed, objects_destroyed, OBJECT_OFFER),
	OBJECT(tickets_created, objects_created, OBJECT_TICKET),
	OBJECT(tickets_destroyed, objects_destroyed, OBJECT_TICKET),
	OBJECT(groups_created, objects_created, OBJECT_GROUP),
	OBJECT(groups_destroyed, objects_destroyed, OBJECT_GROUP),
	OBJECT(members_created, objects_created, OBJECT_MEMBER),
	OBJECT(members_destroyed, objects_destroyed, OBJECT_MEMBER),
	OBJECT(peers_created, objects_created, OBJECT_PEER),
	OBJECT(peers_destroyed, objects_destroyed, OBJECT_PEER),
};

static struct attribute *object_attrs[ARRAY_SIZE(objects) + 1];

static const struct attribute_group object_group = {
	.name	= "objects",
	.attrs	= object_attrs,
};

/* Peers are their users', not a region's. Counted as objects are. */
static struct object_value peer_values[] = {
	OBJECT(peers, peer_totals, PEERS),
	OBJECT(peers_failed, peer_totals, PEERS_FAILED),
	OBJECT(peer_failures, peer_totals, PEER_FAILURES),
	OBJECT(peer_recoveries, peer_totals, PEER_RECOVERIES),
	OBJECT(peer_refused, peer_totals, PEER_REFUSED),
};

static struct attribute *peer_attrs[ARRAY_SIZE(peer_values) + 1];

static const struct attribute_group peer_group = {
	.attrs = peer_attrs,
};

const struct attribute_group *module_groups[] = {
	&module_group,
	&peer_group,
	&object_group,
	NULL
};

void sysfs_prepare(void)
{
	u32 i, nr = 4;

	BUILD_BUG_ON(2 * NR_OBJECTS != ARRAY_SIZE(objects));
	for (i = 0; i < ARRAY_SIZE(values); i++)
		region_attrs[i] = &values[i].region.attr;
	region_attrs[i] = &region_accepts.attr;
	for (i = REGION_ONLY; i < ARRAY_SIZE(values); i++)
		module_attrs[nr++] = &values[i].module.attr;
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		object_attrs[i] = &objects[i].attr.attr;
	BUILD_BUG_ON(ARRAY_SIZE(peer_values) != NR_PEER_TOTALS);
	for (i = 0; i < ARRAY_SIZE(peer_values); i++)
		peer_attrs[i] = &peer_values[i].attr.attr;
}
