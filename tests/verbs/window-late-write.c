// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Writes are under way to a window when it is invalidated, and the slots are
 * used again at once: not a byte lands. The control, with a key that stays valid,
 * sees some.
 */
#include "rig.h"

#define SLOTS	16		/* and one for the barrier */
#define FRESH	0xee

static struct rig rig;

static bool control(void)
{
	struct writer w;
	struct link link;
	bool late;

	link_new(&rig, &link, 2, 0);
	writer_start(&w, &rig, &link, 0, SLOTS, rig.pool_mr->rkey, 1);
	mark_pool(&rig, 0, SLOTS, FRESH);
	late = until(strays(&rig, 0, SLOTS, FRESH));
	writer_stop(&w);
	link_end(&link);
	poll_all(&rig);
	return late;
}

/* Is a lease that failed among those that came back? The sender may learn of it early. */
static bool has_failed(void)
{
	uint32_t i;

	for (i = 0; i < rig.nr_returned && i < ARRAY_SIZE(rig.returned); i++) {
		if (rig.returned[i].status == LKVFENCE_STATUS_FAILED)
			return true;
	}
	return false;
}

int main(void)
{
	struct lkvfence *f = region("window-late-write", SLOTS);
	uint32_t i, n = runs(20), wrong = 0, failed = 0, late_runs = 0;
	struct lkvfence_verbs_stat stat;
	struct link other;
	size_t late = 0;

	rig_new(&rig, SLOTS + 1);
	link_new(&rig, &other, 0, 0);
	check(control(), "control: without it, late writes land");

	for (i = 0; i < n; i++) {
		struct lkvfence_event e;
		struct lkvfence_recv *recv;
		struct writer w;
		struct link link;
		uint64_t g;
		size_t l;

		rig.nr_returned = 0;
		link_new(&rig, &link, 2, 1);
		g = begin(f, i, 0, SLOTS, 1);
		recv = recv_of(&rig, f, g, 1);
		writer_start(&w, &rig, &link, 0, SLOTS,
			     window(&rig, recv, &link, 0, SLOTS), 1);
		need(!abort_with(f, g, LKVFENCE_POLICY_QUARANTINE, 60000), "ABORT");
		need(!lkvfence_recv_revoke(recv, PATIENCE_MS), "%s",
		     lkvfence_verbs_errmsg());
		e = event(f);
		mark_pool(&rig, 0, SLOTS, FRESH);
		wrong += e.type != LKVFENCE_EVENT_RELEASED ||
			 e.outcome != LKVFENCE_OUTCOME_REVOKED ||
			 e.evidence != LKVFENCE_EVIDENCE_MW_INVALIDATED;
		lkvfence_recv_finish(recv, 0);
		/* the sender goes on */
		barrier(&rig, &other);
		l = strays(&rig, 0, SLOTS, FRESH);
		late += l;
		late_runs += !!l;
		writer_stop(&w);
		link_end(&link);
		poll_all(&rig);
		failed += has_failed();
	}
	gives(wrong, 0, "%u transfers came back as revoked, on mw_invalidated", n);
	gives((long)late, 0, "not a byte landed late");
	if (late)
		note("in %u runs", late_runs);
	gives(failed, n, "the sender's lease has failed, each time");
	lkvfence_verbs_stat(rig.v, &stat);
	/* the others were deallocated, on QPs that a late write had moved to ERR */
	check(stat.invalidated, "%u windows were invalidated",
	      (unsigned int)stat.invalidated);
	gives((long)stat.windows_lost, 0, "none is lost");
	gives((long)stat_of(f).slots_taken, 0, "no slot is lost");

	link_end(&other);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
