// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A QP of iWARP can't be bound: nobody knows what ERR puts an end to there. */
#include "rig.h"

#define NAME	"siw7"

static void take_down(void)
{
	run("rdma link delete " NAME " 2>/dev/null");
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **d;
	struct ibv_context *context = NULL;

	for (d = all; d && *d; d++) {
		if (!strcmp(ibv_get_device_name(*d), NAME))
			context = ibv_open_device(*d);
	}
	ibv_free_device_list(all);
	return context;
}

static void refused(struct ibv_context *context)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct lkvfence *f = region("iwarp", 8);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp *qp;

	init.send_cq = cq;
	init.recv_cq = cq;
	need(pd && cq, "a PD and a CQ");
	qp = ibv_create_qp(pd, &init);
	need(qp, "ibv_create_qp");
	gives(try_bind(f, 1, NAME, qp->qp_num), -EPROTONOSUPPORT, "a QP of iWARP");
	gives(try_bind(f, 1, NAME, qp->qp_num + 1), -ENOENT, "one that isn't there");
	gives(stat_of(f).sources, 0, "no source is bound");
	need(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd),
	     "they can be destroyed");
	lkvfence_close(f);
}

int main(void)
{
	struct ibv_context *context;

	take_down();
	if (run("modprobe -q siw") || run("rdma link add " NAME " type siw netdev v1")) {
		skip("a QP of iWARP", "this kernel has no Soft-iWARP (Debian's have none, the debug kernel has)");
		return done();
	}
	atexit(take_down);
	context = open_device();
	need(context, "the device " NAME);
	refused(context);
	need(!ibv_close_device(context), "ibv_close_device");
	gives(run("rdma link delete " NAME), 0, "the device can be removed");
	return done();
}
