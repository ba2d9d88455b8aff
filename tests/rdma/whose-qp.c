// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Who may bind which QP: the process that created it, one that is connected, of a
 * kind that keeps order, on a device that it can see.
 */
#include <sched.h>
#include <signal.h>

#include "rig.h"

#define SLOTS	8

static struct rig rig;
static struct lkvfence *f;

static int bind_number(uint32_t number)
{
	return try_bind(f, 1, DEVICE, number);
}

static int in_this(void *arg)
{
	return -bind_number(*(uint32_t *)arg);
}

/* A child's own QP: made there, and bound there; and there by its parent's number. */
static int childs_own(void *arg)
{
	struct rig own = { .nr_slots = SLOTS, .pool = rig.pool };
	struct ibv_qp *qp;
	struct end self;
	int err;

	(void)arg;
	rig_open(&own);
	qp = rig_qp(&own, IBV_QPT_RC);
	rig_describe(&own, qp, &self);
	rig_join(&own, qp, &self, &self);
	err = bind_number(qp->qp_num);
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	rig_close(&own);
	return -err;
}

static int elsewhere(void *arg)
{
	need(!unshare(CLONE_NEWNET), "a network namespace");
	return in_this(arg);
}

/* A device is in one namespace only if the host says so, and has no other. */
static void other_namespace(uint32_t number)
{
	struct rig far = { 0 };
	pid_t pid;
	int status;

	if (run("rdma system set netns exclusive >/dev/null 2>&1")) {
		skip("there are other network namespaces", "in another network namespace");
		return;
	}
	/* It has to be the process that made the QP which moves. */
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		struct ibv_qp *qp;
		struct end self;

		far.nr_slots = SLOTS;
		far.pool = rig.pool;
		rig_open(&far);
		qp = rig_qp(&far, IBV_QPT_RC);
		rig_describe(&far, qp, &self);
		rig_join(&far, qp, &self, &self);
		number = qp->qp_num;
		if (in_this(&number))
			_exit(1);
		_exit(elsewhere(&number));
	}
	status = status_of(pid);
	need(until(!run("rdma system set netns shared >/dev/null 2>&1")), "shared again");
	gives(status, ENODEV, "in another network namespace, by the process that made it");
}

/* A QP in INIT, of some type. */
static struct ibv_qp *init_qp(enum ibv_qp_type type)
{
	struct ibv_qp *qp = rig_qp(&rig, type);

	qp_to_init(qp);
	return qp;
}

static void not_connected(void)
{
	struct ibv_qp *qp = rig_qp(&rig, IBV_QPT_RC);
	struct end self;

	gives(bind_number(qp->qp_num), -ENOTCONN, "one in RESET");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	qp = init_qp(IBV_QPT_RC);
	gives(bind_number(qp->qp_num), -ENOTCONN, "one in INIT");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	qp = rig_qp(&rig, IBV_QPT_RC);
	rig_describe(&rig, qp, &self);
	rig_join(&rig, qp, &self, &self);
	gives(bind_number(qp->qp_num), 0, "one in RTS");
	need(!ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
			    IBV_QP_STATE), "ERR");
	gives(bind_number(qp->qp_num), -ENOTCONN, "one in ERR");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	gives(bind_number(qp->qp_num), -ENOENT, "one that was destroyed");
}

static void other_kinds(void)
{
	struct ibv_qp *qp = init_qp(IBV_QPT_UD);

	gives(bind_number(qp->qp_num), -EPROTONOSUPPORT, "a UD one");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	/* The port's own, of the kernel: 0 and 1 where there are such. */
	check(bind_number(1) < 0, "the device's general services");
}

int main(void)
{
	struct lkvfence_qp qps[3] = { { .device = DEVICE } }, *const qp = qps;
	struct lkvfence_source s = {
		.source = 1, .nr_qps = 1, .qps = (uintptr_t)qps,
	};
	uint32_t number;
	struct lkvfence_stat before;

	rig_new(&rig, SLOTS);
	f = region("whose-qp", SLOTS);
	rig_connect(&rig, 0);
	number = rig.links[0].qp->qp_num;
	before = stat_of(f);

	gives(bind_number(rig.links[0].peer.qp), -EPERM, "the sender's QP");
	gives(in_child(in_this, &number), EPERM, "one that was inherited over fork");
	gives(bind_number(0xffffff), -ENOENT, "none of that number");
	gives(try_bind(f, 1, "rxe9", number), -ENODEV, "on no such device");
	gives(try_bind(f, 1, "", number), -ENODEV, "on one without a name");
	qp->number = number;
	memset(qp->device, 'x', sizeof(qp->device));
	gives(lkvfence_source(f, &s), -EINVAL, "a name without an end");
	memset(qp, 0, sizeof(*qp));
	snprintf(qp->device, sizeof(qp->device), DEVICE);
	qp->number = number;
	qp->state = 1;
	gives(lkvfence_source(f, &s), -EINVAL, "a state that isn't 0");
	qp->state = 0;
	s.nr_qps = 0;
	gives(lkvfence_source(f, &s), -EINVAL, "no QP");
	s.nr_qps = 65;
	gives(lkvfence_source(f, &s), -ERANGE, "too many");
	rig_connect(&rig, 1);
	qps[1] = *qp;
	qps[1].number = rig.links[1].qp->qp_num;
	qps[2] = *qp;
	s.nr_qps = 3;
	gives(lkvfence_source(f, &s), -EINVAL, "one that is named twice");
	s.nr_qps = 1;
	s.qps = 8;
	gives(lkvfence_source(f, &s), -EFAULT, "no memory");
	s.qps = (uintptr_t)qps;
	memset(s.peer, 'x', sizeof(s.peer));
	gives(lkvfence_source(f, &s), -EINVAL, "a peer without an end");
	unchanged(f, &before, "nothing has changed");
	gives(stat_of(f).sources, 0, "nothing is bound");

	gives(in_child(childs_own, NULL), 0, "a child's own");
	not_connected();
	other_kinds();
	gives(bind_number(number), 0, "one's own");
	other_namespace(number);
	gives(bind_number(number), 0, "and again, in place of itself");
	gives(stat_of(f).sources, 1, "one source is bound");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
