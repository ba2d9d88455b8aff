// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Posts that fail: half way, where bad_wr says how far they came; and in a way in
 * which nobody says so. The provider of Soft-RoCE does the latter when the QP
 * isn't ready to send: the requests stay in its queue, and are executed later.
 */
#include "rig.h"

#define SLOTS	16

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("half-posted", SLOTS);
	struct ibv_send_wr *wr, *bad;
	struct lkvfence_rail_attr attr;
	struct lkvfence_send *send;
	struct lkvfence_rail *rail;
	struct ibv_qp *p, *q;
	struct link link;
	uint64_t g;

	rig_new(&rig, SLOTS);
	link_new(&rig, &link, 0, 0);
	g = begin(f, 1, 0, 8, 1);
	mark_stage(&rig, 0, 8, 1);
	send = send_under(&rig, f, g, 1);
	wr = writes(&rig, 0, 8, rig.pool_mr->rkey, true);
	wr[5].num_sge = 100;
	gives(lkvfence_send_post(send, link.send, wr, &bad), -EINVAL, "the sixth is not valid");
	gives(bad - wr, 5, "the first that is not posted");
	gives(lkvfence_send_drain(send, PATIENCE_MS), 0, "drain");
	gives((long)rig.returned[0].wrs, 5, "five were posted");
	gives((long)rig.returned[0].bytes, 5 * SLOT, "with their bytes");
	gives((long)strays(&rig, 0, 5, 1), 0, "and have landed");
	gives((long)strays(&rig, 5, 3, 0), 0, "the others have not");
	lkvfence_send_finish(send);
	gives(lkvfence_release(f, g), 0, "the slots are back");

	/* in doubt */
	p = rig_qp(&rig, IBV_QPT_RC, NULL);
	q = rig_qp(&rig, IBV_QPT_RC, NULL);
	qp_to_init(p);
	qp_to_init(q);
	attr = (struct lkvfence_rail_attr){
		.qp = p,
		.send_cq = rig.send_cq,
		.recv_cq = rig.recv_cq,
	};
	need(!lkvfence_rail_create(rig.v, &attr, &rail), "%s", lkvfence_verbs_errmsg());
	g = begin(f, 2, 8, 8, 1);
	mark_stage(&rig, 8, 8, 2);
	send = send_under(&rig, f, g, 1);
	gives(lkvfence_send_post(send, rail, writes(&rig, 8, 8, rig.pool_mr->rkey, true), &bad),
	      -EIO, "the provider fails, and doesn't say what it took");
	check(!bad, "nor does the library");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_FAILED, "the lease has failed at once");
	qp_connect(&rig, q, p);
	qp_connect(&rig, p, q);
	/* the next post rings the bell */
	rig.good = 0;
	need(!lkvfence_rail_post(rail, writes(&rig, 0, 1, rig.pool_mr->rkey, true), NULL), "%s",
	     lkvfence_verbs_errmsg());
	check(until(poll_all(&rig) && rig.last_good == 0 && rig.good), "the QP works");
	note("%zu bytes of requests in doubt landed", (size_t)8 * SLOT - strays(&rig, 8, 8, 2));
	gives((long)strays(&rig, 8, 8, 2), 0, "they were executed after all");
	gives(lease_state(f, g, 1), LKVFENCE_LEASE_FAILED, "failed it stays");
	gives(rig.nr_returned, 2, "told once");
	lkvfence_send_finish(send);

	need(!lkvfence_rail_destroy_qp(rail) && !ibv_destroy_qp(q), "the QPs destroyed");
	link_end(&link);
	rig_end(&rig);
	clear(f);
	lkvfence_close(f);
	return done();
}
