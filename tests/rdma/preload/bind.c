// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A library to be preloaded (LD_PRELOAD) into a program that knows nothing of
 * lkvfence. Each RC queue pair that it connects is bound, as a source of its own, to
 * the region LKVFENCE_BIND_REGION; sources are numbered from LKVFENCE_BIND_FIRST on.
 * LKVFENCE_BIND_RETRIES is how often one sends again to who doesn't answer, where the
 * program takes as often as possible: Soft-RoCE would do it for ever.
 *
 * It is the program's own process that binds: nobody else may.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <lkvfence.h>

typedef int modify_fn(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lkvfence *fence;
static uint32_t next_source;

/* The region is somebody else's; this program is a guest in it. */
static int open_region(const char *name)
{
	const char *first = getenv("LKVFENCE_BIND_FIRST");
	struct lkvfence_open open = { 0 };

	if (fence)
		return 0;
	next_source = first ? (uint32_t)strtoul(first, NULL, 0) : 1;
	snprintf(open.name, sizeof(open.name), "%s", name);
	return lkvfence_open(&fence, &open);
}

static void bind_qp(const char *region, struct ibv_qp *qp)
{
	struct lkvfence_qp q = { .number = qp->qp_num };
	struct lkvfence_source s = {
		.nr_qps = 1,
		.qps = (uintptr_t)&q,
	};

	pthread_mutex_lock(&lock);
	if (open_region(region)) {
		fprintf(stderr, "bind: %s\n", lkvfence_errmsg());
	} else {
		s.source = next_source++;
		snprintf(q.device, sizeof(q.device), "%s",
			 ibv_get_device_name(qp->context->device));
		snprintf(s.peer, sizeof(s.peer), "preload");
		if (lkvfence_source(fence, &s))
			fprintf(stderr, "bind: %s\n", lkvfence_errmsg());
		else
			fprintf(stderr, "bind: queue pair %" PRIu32 " is source %" PRIu32 "\n",
				qp->qp_num, s.source);
	}
	pthread_mutex_unlock(&lock);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static modify_fn *modify;
	const char *region = getenv("LKVFENCE_BIND_REGION");
	const char *retries = getenv("LKVFENCE_BIND_RETRIES");
	int err;

	/* By version: the first one's structs were others. */
	if (!modify)
		*(void **)&modify = dlvsym(RTLD_NEXT, "ibv_modify_qp", "IBVERBS_1.1");
	if (retries && mask & IBV_QP_RETRY_CNT)
		attr->retry_cnt = (uint8_t)atoi(retries);
	err = modify(qp, attr, mask);
	/* Connected from here on: that it may also send comes later, if at all. */
	if (!err && region && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR &&
	    qp->qp_type == IBV_QPT_RC)
		bind_qp(region, qp);
	return err;
}
