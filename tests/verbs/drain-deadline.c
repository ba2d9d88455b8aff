// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Nobody answers: draining ends at its deadline, and the lease is out still. When
 * somebody does after all, it comes back; when the QP goes, as failed.
 */
#include "rig.h"

#define SLOTS	16

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("drain-deadline", SLOTS);
	struct lkvfence_rail_attr attr;
	struct lkvfence_send *send;
	struct lkvfence_rail *rail;
	struct ibv_qp *p, *q;
	uint64_t g;
	int i;

	rig_new(&rig, SLOTS);
	for (i = 0; i < 2; i++) {
		p = rig_qp(&rig, IBV_QPT_RC, NULL);
		q = rig_qp(&rig, IBV_QPT_RC, NULL);
		qp_to_init(p);
		qp_to_init(q);
		/* the peer is not ready to receive: what comes is dropped */
		qp_connect(&rig, p, q);
		attr = (struct lkvfence_rail_attr){
			.qp = p,
			.send_cq = rig.send_cq,
			.recv_cq = rig.recv_cq,
		};
		need(!lkvfence_rail_create(rig.v, &attr, &rail), "%s",
		     lkvfence_verbs_errmsg());
		g = begin(f, 1 + i, 0, SLOTS, 1);
		send = send_under(&rig, f, g, 1);
		need(!lkvfence_send_post(send, rail, writes(&rig, 0, 8, rig.pool_mr->rkey, false),
					 NULL), "%s", lkvfence_verbs_errmsg());
		gives(lkvfence_send_drain(send, 50), -ETIMEDOUT, "nobody answers");
		gives(lkvfence_send_drain(send, 0), -ETIMEDOUT, "still nobody");
		gives(lease_state(f, g, 1), LKVFENCE_LEASE_OUT, "the lease is out");
		gives(lkvfence_send_post(send, rail, writes(&rig, 0, 1, rig.pool_mr->rkey, true),
					 NULL), -ECANCELED, "and takes no more");
		if (!i) {
			qp_connect(&rig, q, p);
			gives(lkvfence_send_drain(send, PATIENCE_MS), 0, "somebody answers");
			gives(lease_state(f, g, 1), LKVFENCE_LEASE_DRAINED, "drained");
			lkvfence_send_finish(send);
			need(!lkvfence_rail_destroy_qp(rail), "%s", lkvfence_verbs_errmsg());
			need(!lkvfence_release(f, g), "RELEASE");
		} else {
			lkvfence_send_finish(send);
			need(!lkvfence_rail_destroy_qp(rail), "%s", lkvfence_verbs_errmsg());
			gives(lease_state(f, g, 1), LKVFENCE_LEASE_FAILED,
			      "the QP is destroyed: failed");
		}
		need(!ibv_destroy_qp(q), "ibv_destroy_qp");
	}
	rig_end(&rig);
	clear(f);
	lkvfence_close(f);
	return done();
}
