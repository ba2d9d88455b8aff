// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pull mode: the reader's completions prove that the data has landed in its
 * slots, and that the source's pages are read no more. Both leases are of this
 * host here: the reader's by its handle, the source's by the callback.
 */
#include "rig.h"

#define SLOTS	32

static struct rig rig;

static struct ibv_send_wr *reads(uint32_t first, uint32_t nr, bool signaled)
{
	struct ibv_send_wr *wr = writes(&rig, first, nr, rig.pool_mr->rkey, signaled), *w;

	for (w = wr; w; w = w->next)
		w->opcode = IBV_WR_RDMA_READ;
	return wr;
}

int main(void)
{
	struct lkvfence *mine = region("read-mine", SLOTS);
	struct lkvfence *source = region("read-source", SLOTS);
	struct lkvfence_send *send, *of_source;
	uint32_t i, wrong = 0, n = runs(20);
	struct link link;
	uint64_t g, s;

	rig_new(&rig, SLOTS);
	link_new(&rig, &link, 0, 0);
	for (i = 0; i < n; i++) {
		int mark = (i & 0x3f) + 1;

		rig.nr_returned = 0;
		g = begin(mine, i, 0, SLOTS, 1);
		s = begin(source, i, 0, SLOTS, 1);
		mark_pool(&rig, 0, SLOTS, mark);
		mark_stage(&rig, 0, SLOTS, 0);
		/* half of them under each, in one queue */
		send = send_under(&rig, mine, g, 1);
		of_source = send_under(&rig, NULL, s, 1);
		need(!lkvfence_send_post(send, link.send, reads(0, SLOTS / 2, false), NULL) &&
		     !lkvfence_send_post(of_source, link.send,
					 reads(SLOTS / 2, SLOTS / 2, i & 1), NULL), "%s",
		     lkvfence_verbs_errmsg());
		lkvfence_send_finish(send);
		lkvfence_send_finish(of_source);
		need(until(poll_all(&rig) && rig.nr_returned == 2), "both leases");
		wrong += lease_state(mine, g, 1) != LKVFENCE_LEASE_DRAINED;
		wrong += !!memcmp(rig.pool, rig.stage, (size_t)SLOTS * SLOT);
		wrong += rig.returned[1].generation != s ||
			 rig.returned[1].evidence != LKVFENCE_EVIDENCE_SUCCESS_CQE;
		wrong += !!lkvfence_drained(source, s, 1, rig.returned[1].evidence);
		wrong += !!lkvfence_release(mine, g);
		wrong += !!lkvfence_release(source, s);
	}
	gives(wrong, 0, "%u pulls: landed, and read no more", n);

	/* aborted half way: what was posted is waited for, and no more than that */
	g = begin(mine, n, 0, SLOTS, 1);
	send = send_under(&rig, mine, g, 1);
	need(!lkvfence_send_post(send, link.send, reads(0, SLOTS, false), NULL), "%s",
	     lkvfence_verbs_errmsg());
	need(!abort_with(mine, g, LKVFENCE_POLICY_QUARANTINE, 60000), "ABORT");
	lkvfence_send_stop(send);
	gives(lkvfence_send_post(send, link.send, reads(0, 1, true), NULL), -ECANCELED,
	      "nothing is posted after the abort");
	gives(lkvfence_send_drain(send, PATIENCE_MS), 0, "drain");
	lkvfence_send_finish(send);
	gives(event(mine).outcome, LKVFENCE_OUTCOME_DRAINED, "released as drained");

	/* a read that fails may have landed in part */
	g = begin(mine, n + 1, 0, SLOTS, 1);
	send = send_under(&rig, mine, g, 1);
	{
		struct ibv_send_wr *wr = reads(0, 2, true);

		wr[1].wr.rdma.rkey ^= 0x55;
		need(!lkvfence_send_post(send, link.send, wr, NULL), "%s",
		     lkvfence_verbs_errmsg());
	}
	gives(lkvfence_send_drain(send, PATIENCE_MS), -EIO, "a read with a wrong key");
	lkvfence_send_finish(send);
	gives(lease_state(mine, g, 1), LKVFENCE_LEASE_FAILED, "failed");

	link_end(&link);
	rig_end(&rig);
	clear(mine);
	clear(source);
	lkvfence_close(mine);
	lkvfence_close(source);
	return done();
}
