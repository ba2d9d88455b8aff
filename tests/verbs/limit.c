// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* No more is in flight under a lease than its limits allow, signaled or not. */
#include "rig.h"

#define SLOTS	64

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("limit", SLOTS);
	struct lkvfence_send_attr attr = {
		.fence = f,
		.source = 1,
		.max_bytes = 4 * SLOT,
	};
	struct lkvfence_send *send;
	unsigned int refused = 0;
	struct ibv_send_wr *wr;
	struct link a, b;
	bool other = false;
	int err;

	rig_new(&rig, SLOTS);
	link_new(&rig, &a, 0, 0);
	link_new(&rig, &b, 0, 0);
	mark_stage(&rig, 0, SLOTS, 1);
	attr.generation = begin(f, 1, 0, SLOTS, 1);
	need(!lkvfence_send_begin(rig.v, &attr, &send), "%s", lkvfence_verbs_errmsg());
	wr = writes(&rig, 0, SLOTS, rig.pool_mr->rkey, false);
	while ((err = lkvfence_send_post(send, other ? b.send : a.send, wr, &wr))) {
		if (err != -EAGAIN)
			break;
		refused++;
		other = !other;
		poll_all(&rig);
	}
	gives(err, 0, "all are posted in the end");
	check(refused >= SLOTS / 4 - 1, "%u times there was no room", refused);
	gives(lkvfence_send_drain(send, PATIENCE_MS), 0, "drain");
	gives((long)rig.returned[0].wrs, SLOTS, "all of them");
	gives((long)strays(&rig, 0, SLOTS, 1), 0, "the data is there");
	lkvfence_send_finish(send);
	gives(lkvfence_release(f, attr.generation), 0, "the slots are back");

	link_end(&a);
	link_end(&b);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
