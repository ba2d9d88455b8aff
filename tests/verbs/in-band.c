// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The acknowledgement in band: at the moment at which it returns the lease, all
 * of the data is there. On two rails, many times; and the marker of one lease
 * is never taken for another's, also where they agree in 32 bits.
 */
#include "rig.h"

#define SLOTS	32
#define WRAP	0x100000000ULL

static struct rig rig;

static void wrap(struct link *link)
{
	struct lkvfence_recv *old = recv_of(&rig, NULL, 77, 1);
	struct lkvfence_recv *new = recv_of(&rig, NULL, 77 + WRAP, 1);
	struct lkvfence_send *send = send_under(&rig, NULL, 77, 1);

	rig.nr_returned = 0;
	need(!lkvfence_recv_expect(old, &link->recv, 1), "%s", lkvfence_verbs_errmsg());
	gives(lkvfence_recv_expect(new, &link->recv, 1), -EBUSY,
	      "two of the same 32 bits are not awaited");
	/* the first one is given up, and its marker comes after all */
	lkvfence_recv_finish(old, 0);
	gives(lkvfence_recv_expect(new, &link->recv, 1), -EOVERFLOW,
	      "nor one where a stale marker may come");
	need(!lkvfence_send_mark(send, &link->send, 1), "%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
	check(until(poll_all(&rig) && rig.nr_returned), "the stale marker has arrived");
	poll_all(&rig);
	gives(rig.nr_returned, 1, "it returned nothing");
	gives(rig.returned[0].evidence, LKVFENCE_EVIDENCE_SUCCESS_CQE, "but the sender's lease");
	lkvfence_recv_finish(new, 0);
}

int main(void)
{
	struct lkvfence *f = region("in-band", SLOTS);
	struct lkvfence_verbs_stat stat;
	struct lkvfence_rail *to[2], *from[2];
	uint32_t i, n = runs(200), late = 0, undone = 0;
	struct link link[2];

	rig_new(&rig, SLOTS);
	link_new(&rig, &link[0], 4, 0);
	link_new(&rig, &link[1], 4, 0);
	for (i = 0; i < 2; i++) {
		to[i] = link[i].recv;
		from[i] = link[i].send;
	}
	for (i = 0; i < n; i++) {
		uint64_t g = begin(f, i, 0, SLOTS, 1);
		struct lkvfence_recv *recv = recv_of(&rig, f, g, 1);
		struct lkvfence_send *send;
		int mark = (i & 0x3f) + 1;

		/* on the sender's host there is no region: its callback is enough */
		send = send_under(&rig, NULL, g, 1);
		mark_stage(&rig, 0, SLOTS, mark);
		need(!lkvfence_recv_expect(recv, to, 2), "%s", lkvfence_verbs_errmsg());
		need(!lkvfence_send_post(send, from[0],
					 writes(&rig, 0, 24, rig.pool_mr->rkey, false), NULL) &&
		     !lkvfence_send_post(send, from[1],
					 writes(&rig, 24, 8, rig.pool_mr->rkey, false), NULL) &&
		     !lkvfence_send_mark(send, from, 2), "%s", lkvfence_verbs_errmsg());
		lkvfence_send_finish(send);
		/* the receiver looks at nothing but its own queue */
		if (until(lkvfence_cq_poll(rig.recv_cq, 1, &(struct ibv_wc){ 0 }) >= 0 &&
			  lease_state(f, g, 1) == LKVFENCE_LEASE_DRAINED))
			late += !!strays(&rig, 0, SLOTS, mark);
		else
			undone++;
		if (!i)
			gives(lease_evidence(f, g, 1), LKVFENCE_EVIDENCE_IN_BAND, "in band");
		lkvfence_recv_finish(recv, 0);
		undone += !!lkvfence_release(f, g);
		poll_all(&rig);
	}
	gives(undone, 0, "%u leases came back", n);
	gives(late, 0, "each time, all of the data was there");
	check(until(poll_all(&rig) && rig.nr_returned == 2 * n), "the senders', too");
	wrap(&link[0]);
	lkvfence_verbs_stat(rig.v, &stat);
	gives((long)stat.in_band, n, "so many came in band");
	gives((long)stat.acks_unknown, 1, "one marker meant nobody");

	link_end(&link[0]);
	link_end(&link[1]);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
