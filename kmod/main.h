/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the whole module shares: parameters, the numbering of generations, the
 * work queue, and the count of objects.
 */
#ifndef LKVFENCE_MAIN_H
#define LKVFENCE_MAIN_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "fence.h"
#include "pull.h"

#define LKVFENCE_MODULE_VERSION	"0.1.0"

/* Limits of a call; no parameters, for they bound what is allocated for one. */
#define MAX_RANGES		65536U
#define MAX_LEASES		4096U

/* Module parameters, as they are now; a hold keeps what it began with. */
struct fence_limits param_limits(void);
u64 param_timeout_min_ns(void);
u32 param_max_slots(void);
u32 param_max_regions(void);
u32 param_max_transfers(void);
u32 param_max_sources(void);
u32 param_max_pulls(void);
u64 param_unclaimed_ns(void);
struct pull_limits param_pull_limits(void);
u64 param_settle_ns(void);

/**
 * generation_next() - a number that was never given before
 *
 * Across reloads and reboots too; see main.c. Called under the region's lock,
 * so that the generations of one region rise.
 */
u64 generation_next(void);

/* The last number that was given. */
u64 generation_last(void);

/* Runs what deadlines cause. Unbound: regions don't wait for each other (L9). */
extern struct workqueue_struct *lkvfence_wq;

/* Takes sources' access away; a driver may keep it waiting. Unbound, too. */
extern struct workqueue_struct *lkvfence_revoke_wq;

/* Kinds of object, counted so that tests can see that created == destroyed. */
enum object {
	OBJECT_REGION,
	OBJECT_HANDLE,
	OBJECT_TRANSFER,
	OBJECT_LEASE,		/* of TAKE and PULL; those of BEGIN are part of the transfer */
	OBJECT_SOURCE,
	OBJECT_OFFER,		/* tombstones too */
	OBJECT_TICKET,
	OBJECT_GROUP,
	OBJECT_MEMBER,
	NR_OBJECTS,
};

extern atomic64_t objects_created[NR_OBJECTS];
extern atomic64_t objects_destroyed[NR_OBJECTS];

static inline void object_created(enum object kind)
{
	atomic64_inc(&objects_created[kind]);
}

static inline void object_destroyed(enum object kind)
{
	atomic64_inc(&objects_destroyed[kind]);
}

#endif /* LKVFENCE_MAIN_H */
