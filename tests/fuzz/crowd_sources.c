// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sources of the crowd: bound to real QPs, which are destroyed, and moved to ERR,
 * by their owners and by the kernel. Each QP is connected to itself: nothing is
 * sent.
 */
#include <pthread.h>

#include "../rdma/port.h"
#include "crowd.h"

#define QPS	6

/* Of a process. What a thread does to a QP nobody else does at that time. */
static struct port port;
static struct ibv_qp *qps[QPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char memory[4096];

void crowd_qps_open(void)
{
	port_open(&port, DEVICE, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE, 1);
}

static void create(uint32_t i)
{
	struct end self;

	qps[i] = port_qp(&port, IBV_QPT_RC, 1);
	end_describe(&port, qps[i], &self);
	end_connect(&port, qps[i], &self, &self, 14, 1);
}

/* One of this process's QPs: a new one, one that is in ERR, or one that goes. */
static uint32_t a_qp(struct member *me)
{
	uint32_t i = crowd_pick(me, QPS), number;

	pthread_mutex_lock(&lock);
	if (!qps[i])
		create(i);
	number = qps[i]->qp_num;
	switch (crowd_pick(me, 12)) {
	case 0:
		qp_to_err(qps[i]);
		break;
	case 1:
	case 2:
		need(!ibv_destroy_qp(qps[i]), "ibv_destroy_qp");
		qps[i] = NULL;
		break;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

static void quiet(struct member *me, int fd, uint64_t binding)
{
	static const uint32_t evidence[] = {
		LKVFENCE_EVIDENCE_RQ_FLUSHED, LKVFENCE_EVIDENCE_QP_DESTROYED,
		LKVFENCE_EVIDENCE_MR_DEREGISTERED,
	};
	struct lkvfence_quiet a = {
		.size = sizeof(a),
		.binding = binding,
		.qp = crowd_pick(me, 2) ? LKVFENCE_QUIET_ALL : crowd_pick(me, 2),
		.evidence = evidence[crowd_pick(me, 3)],
	};

	crowd_answer(me, LKVFENCE_IOC_QUIET, sys(fd, LKVFENCE_IOC_QUIET, &a),
		     MAY(-ENOENT, -EBUSY, -EALREADY, -ERANGE, -EOPNOTSUPP));
}

void crowd_source(struct member *me, int fd, int region)
{
	struct lkvfence_qp names[2] = { 0 };
	struct lkvfence_source a = {
		.size = sizeof(a),
		.source = CROWD_UNBOUND + crowd_pick(me, CROWD_SOURCES - CROWD_UNBOUND),
		.qps = (uintptr_t)names,
		.nr_qps = 1 + !crowd_pick(me, 3),
		.peer = "the crowd",
	};
	bool twice;
	int err;

	if (!me->crowd->can_revoke)
		return;
	if (!crowd_pick(me, 10)) {
		a.flags = LKVFENCE_SOURCE_UNBIND;
		a.nr_qps = 0;
		crowd_answer(me, LKVFENCE_IOC_SOURCE, sys(fd, LKVFENCE_IOC_SOURCE, &a),
			     MAY(-ENOENT, -EBUSY, -EPERM));
		return;
	}
	for (uint32_t i = 0; i < a.nr_qps; i++) {
		snprintf(names[i].device, sizeof(names[i].device), DEVICE);
		names[i].number = a_qp(me);
	}
	twice = a.nr_qps == 2 && names[0].number == names[1].number;
	err = sys(fd, LKVFENCE_IOC_SOURCE, &a);
	/* Its QPs may be gone, in ERR, or about to be taken away from another source. */
	if (!crowd_answer(me, LKVFENCE_IOC_SOURCE, err,
			  twice ? MAY(-ENOENT, -ENOTCONN, -EINVAL) :
			  MAY(-ENOENT, -ENOTCONN, -EBUSY, -EEXIST)))
		return;
	never(me, twice, "a binding of one QP twice");
	never(me, !a.binding, "a binding without a number");
	for (uint32_t i = 0; i < CROWD_BINDINGS; i++)
		never(me, atomic_load(&me->crowd->bindings[i]) == a.binding,
		      "binding %llu is given twice", (unsigned long long)a.binding);
	atomic_store(&me->crowd->bindings[crowd_pick(me, CROWD_BINDINGS)], a.binding);
	/* Most are soon revoked, and spoken for. */
	if (crowd_pick(me, 4))
		crowd_revoke(me, fd, region, a.source);
	if (!crowd_pick(me, 3))
		quiet(me, fd, a.binding);
}

void crowd_quiet(struct member *me, int fd)
{
	quiet(me, fd, atomic_load(&me->crowd->bindings[crowd_pick(me, CROWD_BINDINGS)]));
}

void crowd_query_source(struct member *me, int fd)
{
	struct lkvfence_qp got[2];
	struct lkvfence_query_source a = {
		.size = sizeof(a),
		.flags = crowd_pick(me, 2) ? LKVFENCE_QUERY_SOURCE_FROM : 0,
		.source = crowd_pick(me, CROWD_SOURCES),
		.qps = (uintptr_t)got,
		.nr_qps = 2,
	};
	uint32_t asked = a.source, nr_quiet = 0, nr_open = 0;

	if (!crowd_answer(me, LKVFENCE_IOC_QUERY_SOURCE, sys(fd, LKVFENCE_IOC_QUERY_SOURCE, &a),
			  MAY(-ENOENT)))
		return;
	never(me, a.flags ? a.source < asked : a.source != asked, "QUERY_SOURCE of another");
	never(me, a.source < CROWD_UNBOUND || !a.binding || !a.pid || !a.nr_qps ||
	      a.nr_qps > 2 || strcmp(a.peer, "the crowd"), "a strange source");
	for (uint32_t i = 0; i < a.nr_qps && i < 2; i++) {
		nr_quiet += got[i].state == LKVFENCE_QP_QUIET;
		nr_open += got[i].state == LKVFENCE_QP_OPEN;
		never(me, got[i].state < LKVFENCE_QP_OPEN || got[i].state > LKVFENCE_QP_LOST,
		      "QP in state %u", got[i].state);
	}
	switch (a.state) {
	case LKVFENCE_SOURCE_BOUND:
		never(me, nr_open != a.nr_qps, "a QP of a bound source was touched");
		break;
	case LKVFENCE_SOURCE_REVOKED:
		never(me, nr_quiet != a.nr_qps, "revoked, and only %u of %u QPs are quiet",
		      nr_quiet, a.nr_qps);
		never(me, a.leases_out, "revoked, and %u leases are out", a.leases_out);
		break;
	default:
		never(me, a.state != LKVFENCE_SOURCE_REVOKING && a.state != LKVFENCE_SOURCE_LOST,
		      "source in state %u", a.state);
	}
}

void crowd_report(struct member *me, int fd, int region)
{
	struct lkvfence_report a = {
		.size = sizeof(a),
		.generation = crowd_generation(me, region),
		.kind = LKVFENCE_REPORT_STRAY + crowd_pick(me, 3),
		.nr_slots = 1,
	};

	if (a.generation)
		crowd_answer(me, LKVFENCE_IOC_REPORT, sys(fd, LKVFENCE_IOC_REPORT, &a), MAY(0));
}

void crowd_check_revoke(struct member *me, const struct lkvfence_event *e)
{
	atomic_fetch_add(&me->crowd->revoked, 1);
	never(me, !me->crowd->can_revoke || !e->generation || e->tag < CROWD_UNBOUND ||
	      e->tag >= CROWD_SOURCES || e->time_ns > (uint64_t)now_ns() ||
	      e->reason != LKVFENCE_REASON_REVOKED || e->held_ns || e->flags || e->outcome ||
	      e->evidence || e->nr_slots || e->pad, "a strange REVOKE of source %llu",
	      (unsigned long long)e->tag);
}
