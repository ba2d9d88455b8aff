// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Where completions don't prove enough, the library says so. */
#include "rig.h"

#define SLOTS	8

static struct rig rig;

static int try(struct ibv_qp *qp, uint32_t guard, struct lkvfence_rail **rail)
{
	struct lkvfence_rail_attr attr = {
		.qp = qp,
		.send_cq = rig.send_cq,
		.recv_cq = rig.recv_cq,
		.guard = guard,
		.windows = guard,
	};

	return lkvfence_rail_create(rig.v, &attr, rail);
}

int main(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct lkvfence_recv *recv;
	struct lkvfence_send *send;
	struct lkvfence_rail *rail;
	struct ibv_qp *qp, *peer;
	struct ibv_srq *srq;

	rig_new(&rig, SLOTS);
	qp = rig_qp(&rig, IBV_QPT_UD, NULL);
	qp_to_init(qp);
	gives(try(qp, 0, &rail), -EPROTONOSUPPORT, "UD");
	note("%s", lkvfence_verbs_errmsg());
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");

	/* UC: windows and a guard, for what the owner does; nothing of the sender's */
	qp = rig_qp(&rig, IBV_QPT_UC, NULL);
	peer = rig_qp(&rig, IBV_QPT_UC, NULL);
	qp_to_init(qp);
	qp_to_init(peer);
	gives(try(qp, 2, &rail), 0, "UC, with a guard and windows");
	qp_connect(&rig, qp, peer);
	qp_connect(&rig, peer, qp);
	send = send_under(&rig, NULL, 1, 1);
	gives(lkvfence_send_post(send, rail, writes(&rig, 0, 1, rig.pool_mr->rkey, true), NULL),
	      -EPROTONOSUPPORT, "UC: a post under a lease");
	note("%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
	recv = recv_of(&rig, NULL, 1, 1);
	gives(lkvfence_recv_expect(recv, &rail, 1), -EPROTONOSUPPORT, "UC: in band");
	rig.nr_returned = 0;
	{
		struct link uc = { .recv = rail };

		window(&rig, recv, &uc, 0, 1);
	}
	gives(lkvfence_recv_revoke(recv, PATIENCE_MS), 0, "UC: a window is revoked");
	gives(rig.returned[0].evidence, LKVFENCE_EVIDENCE_MW_INVALIDATED, "mw_invalidated");
	lkvfence_recv_finish(recv, 0);
	gives(lkvfence_rail_flush(rail, PATIENCE_MS), 0, "UC: the guard");
	need(!lkvfence_rail_destroy_qp(rail) && !ibv_destroy_qp(peer), "the QPs destroyed");

	srq = ibv_create_srq(rig.port.pd, &init);
	need(srq, "ibv_create_srq");
	qp = rig_qp(&rig, IBV_QPT_RC, srq);
	qp_to_init(qp);
	gives(try(qp, 1, &rail), -EOPNOTSUPP, "a guard with a shared receive queue");
	note("%s", lkvfence_verbs_errmsg());
	gives(try(qp, 0, &rail), 0, "without a guard it has a rail");
	gives(lkvfence_rail_flush(rail, PATIENCE_MS), -EOPNOTSUPP, "a flush, with none");
	note("%s", lkvfence_verbs_errmsg());
	need(!lkvfence_rail_destroy_qp(rail) && !ibv_destroy_srq(srq), "the SRQ destroyed");

	qp = rig_qp(&rig, IBV_QPT_RC, NULL);
	gives(try(qp, 0, &rail), -ENOTCONN, "a QP in RESET");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	rig_end(&rig);
	return done();
}
