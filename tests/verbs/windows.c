// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Windows are used again and again, each time under another key; old keys fail. */
#include "rig.h"

#define SLOTS	8

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("windows", SLOTS);
	uint32_t i, n = runs(300), same = 0, wrong = 0, last = 0;
	struct ibv_mw_bind_info info = { 0 };
	struct lkvfence_send *send;
	struct lkvfence_recv *recv;
	struct link link;
	uint32_t rkey;
	uint64_t g;

	rig_new(&rig, SLOTS);
	link_new(&rig, &link, 2, 2);
	for (i = 0; i < n; i++) {
		g = begin(f, i, 0, SLOTS, 1);
		recv = recv_of(&rig, f, g, 1);
		rkey = window(&rig, recv, &link, 0, SLOTS);
		same += rkey == last;
		last = rkey;
		mark_stage(&rig, 0, SLOTS, (i & 0x3f) + 1);
		send = send_under(&rig, f, g, 1);
		need(!lkvfence_send_post(send, link.send,
					 writes(&rig, 0, SLOTS, rkey, i & 1), NULL), "%s",
		     lkvfence_verbs_errmsg());
		wrong += !!lkvfence_send_drain(send, PATIENCE_MS);
		lkvfence_send_finish(send);
		wrong += !!strays(&rig, 0, SLOTS, (i & 0x3f) + 1);
		lkvfence_recv_finish(recv, LKVFENCE_RECV_QUIET);
		wrong += !!lkvfence_release(f, g);
		poll_all(&rig);
	}
	gives(wrong, 0, "%u transfers through windows", n);
	gives(same, 0, "no key comes twice in a row");

	/* the key of a window that was given back */
	rig.nr_returned = 0;
	g = begin(f, n, 0, SLOTS, 1);
	recv = recv_of(&rig, f, g, 1);
	window(&rig, recv, &link, 0, SLOTS);
	mark_pool(&rig, 0, SLOTS, 0);
	send = send_under(&rig, NULL, g, 1);
	need(!lkvfence_send_post(send, link.send, writes(&rig, 0, 1, last, true), NULL),
	     "%s", lkvfence_verbs_errmsg());
	gives(lkvfence_send_drain(send, PATIENCE_MS), -EIO, "an old key is refused");
	lkvfence_send_finish(send);
	gives((long)strays(&rig, 0, SLOTS, 0), 0, "nothing is written");
	/* both ends' connection is lost by that; the window goes all the same */
	gives(lkvfence_recv_revoke(recv, PATIENCE_MS), 0, "revoke");
	gives(lease_evidence(f, g, 1), LKVFENCE_EVIDENCE_MW_INVALIDATED, "mw_invalidated");
	gives(lkvfence_recv_window(recv, link.recv, &info, 0, &rkey), -ENOTCONN,
	      "no window on a connection that is lost");
	lkvfence_recv_finish(recv, 0);
	gives(lkvfence_release(f, g), 0, "the slots are back");

	link_end(&link);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
