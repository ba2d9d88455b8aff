// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A receiver that is gone: the sender's rail marks its peer as failed, and whoever
 * watches it hears of it. An access error is an answer, and marks nobody.
 */
#include "rig.h"

#define SLOTS	8

static struct rig rig;

static struct lkvfence_peer look(struct lkvfence *f, uint32_t flags)
{
	struct lkvfence_peer p = { .flags = flags, .name = "receiver" };

	need(!lkvfence_peer(f, &p), "LOOK");
	return p;
}

int main(void)
{
	struct lkvfence *f = region("peer-fails", SLOTS), *watcher = region("peer-fails-2", 8);
	struct lkvfence_verbs_stat stat;
	struct lkvfence_event e;
	struct lkvfence_peer p;
	struct link a, b;

	rig_new(&rig, SLOTS);
	rig.retries = 2;	/* 7 is for ever, with Soft-RoCE */
	link_new(&rig, &a, 0, 0);
	link_new(&rig, &b, 0, 0);
	p = look(watcher, LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH);
	p.op = LKVFENCE_PEER_OP_CONNECT;
	p.flags = 0;
	p.session = 5;
	need(!lkvfence_peer(f, &p) && event(watcher).type == LKVFENCE_EVENT_PEER, "CONNECT");
	need(!lkvfence_rail_peer(a.send, f, "receiver", 5) &&
	     !lkvfence_rail_peer(b.send, f, "receiver", 5), "rails with a peer");

	need(!lkvfence_rail_post(a.send, writes(&rig, 0, 1, rig.pool_mr->rkey ^ 0x55, true), NULL),
	     "a key that nobody gave out");
	check(until(poll_all(&rig) && rig.bad), "a write fails");
	gives(rig.first_bad, IBV_WC_REM_ACCESS_ERR, "as the other side says");
	gives(look(f, 0).state, LKVFENCE_PEER_HEALTHY, "who is there");

	rig.bad = 0;
	rig.first_bad = IBV_WC_SUCCESS;
	need(!lkvfence_rail_destroy_qp(b.recv), "the receiver's end goes");
	b.recv = NULL;
	b.recv_qp = NULL;
	need(!lkvfence_rail_post(b.send, writes(&rig, 0, 1, rig.pool_mr->rkey, true), NULL),
	     "a write to nobody");
	check(until(poll_all(&rig) && rig.bad), "it fails");
	gives(rig.first_bad, IBV_WC_RETRY_EXC_ERR, "for nobody answers");
	p = look(f, 0);
	check(p.state == LKVFENCE_PEER_FAILED && p.failures == 1, "the peer is failed");
	e = event(watcher);
	check(e.type == LKVFENCE_EVENT_PEER && e.tag == p.id &&
	      e.generation == p.generation && e.reason == LKVFENCE_REASON_FAILED,
	      "and who watches hears of it, in another region");
	lkvfence_verbs_stat(rig.v, &stat);
	gives(stat.peers_failed, 1, "counted by the sender's library");

	link_end(&a);
	link_end(&b);
	rig_end(&rig);
	lkvfence_close(watcher);
	lkvfence_close(f);
	return done();
}
