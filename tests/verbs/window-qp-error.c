// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The QP is in ERR when a window is to be invalidated: what is posted is flushed,
 * which proves nothing. The window is deallocated, and the guard's flush awaited;
 * then not a byte lands. Nor does any of this take the minute that it takes to
 * destroy a QP that has a window.
 */
#include "rig.h"

#define SLOTS	16		/* and one for the barrier */
#define FRESH	0xee

static struct rig rig;

int main(void)
{
	struct lkvfence *f = region("window-qp-error", SLOTS);
	uint32_t i, n = runs(20), wrong = 0;
	struct lkvfence_verbs_stat stat;
	struct link other;
	size_t late = 0;

	rig_new(&rig, SLOTS + 1);
	link_new(&rig, &other, 0, 0);
	for (i = 0; i < n; i++) {
		struct lkvfence_recv *recv;
		struct lkvfence_event e;
		struct writer w;
		struct link link;
		uint64_t g;

		link_new(&rig, &link, 2, 2);
		g = begin(f, i, 0, SLOTS, 1);
		recv = recv_of(&rig, f, g, 1);
		writer_start(&w, &rig, &link, 0, SLOTS,
			     window(&rig, recv, &link, 0, SLOTS), 1);
		qp_to_err(link.recv_qp);
		need(!abort_with(f, g, LKVFENCE_POLICY_QUARANTINE, 60000), "ABORT");
		need(!lkvfence_recv_revoke(recv, PATIENCE_MS), "%s",
		     lkvfence_verbs_errmsg());
		e = event(f);
		mark_pool(&rig, 0, SLOTS, FRESH);
		wrong += e.outcome != LKVFENCE_OUTCOME_REVOKED ||
			 e.evidence != LKVFENCE_EVIDENCE_MW_INVALIDATED;
		lkvfence_recv_finish(recv, 0);
		barrier(&rig, &other);
		late += strays(&rig, 0, SLOTS, FRESH);
		writer_stop(&w);
		link_end(&link);
		poll_all(&rig);
	}
	gives(wrong, 0, "%u transfers came back as revoked, on mw_invalidated", n);
	gives((long)late, 0, "not a byte landed late");
	lkvfence_verbs_stat(rig.v, &stat);
	note("%u were invalidated all the same", (unsigned int)stat.invalidated);
	gives((long)stat.deallocated, n, "each window is gone");
	gives((long)stat.windows_lost, 0, "none is lost");
	gives((long)stat_of(f).slots_taken, 0, "no slot is lost");

	link_end(&other);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
