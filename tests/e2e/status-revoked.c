// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A lease whose access was taken away by the owner of the memory: proof, also
 * where the source has given it back as failed, before; but not where it is
 * proven already.
 */
#include "e2e.h"

static struct lkvfence_lease lease_of(struct lkvfence *f, uint64_t g)
{
	struct lkvfence_lease lease = { 0 };
	struct lkvfence_query q = {
		.generation = g,
		.leases = (uintptr_t)&lease,
		.nr_leases = 1,
	};

	need(!lkvfence_query(f, &q), "QUERY");
	return lease;
}

/* Before the end: it is proof when the end comes. */
static void early(struct lkvfence *f)
{
	uint64_t g = begin(f, 1, 0, 8, 1);
	struct lkvfence_lease lease;
	struct lkvfence_stat stat;
	struct lkvfence_event e;

	gives(revoked(f, g, 1), 0, "revoked while it waits");
	lease = lease_of(f, g);
	check(lease.state == LKVFENCE_LEASE_REVOKED &&
	      lease.evidence == LKVFENCE_EVIDENCE_QP_DESTROYED, "QUERY tells it");
	gives(query(f, g).leases_out, 0, "nothing is out");
	stat = stat_of(f);
	check(stat.returns_revoked == 1 && stat.returns_early == 1 && !stat.returns_drained,
	      "it is counted, as early");
	gives(revoked(f, g, 1), -EALREADY, "a second time");
	gives(drained(f, g, 1), -EALREADY, "drained, after that");
	gives(lkvfence_failed(f, g, 1), -EALREADY, "failed, after that");
	gives(stat_of(f).returns_duplicate, 3, "these are counted, too");
	need(!lkvfence_abort_generation(f, g), "ABORT");
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_REVOKED &&
	      e.evidence == LKVFENCE_EVIDENCE_QP_DESTROYED && !e.flags && !e.held_ns,
	      "an ABORT releases it at once, as revoked");

	g = begin(f, 1, 0, 8, 2);
	need(!revoked(f, g, 1) && !drained(f, g, 2), "RETURN");
	gives(lkvfence_release(f, g), 0, "RELEASE of one that is proven quiet so");
	check(stat_of(f).released[LKVFENCE_OUTCOME_COMPLETED] == 1 && silent(f),
	      "is completed: nobody was cut off before his end");
}

/* What the source couldn't say any more, the owner of its target can. */
static void failed_before(struct lkvfence *f)
{
	uint64_t g = hold(f, 2, 8, 8, 2, LKVFENCE_POLICY_TAINT, 60000);
	struct lkvfence_stat before;
	struct lkvfence_event e;

	need(!lkvfence_failed(f, g, 1) && !drained(f, g, 2), "RETURN");
	before = stat_of(f);
	gives(drained(f, g, 1), -EALREADY, "failed is no proof, and the source's last word");
	counted(f, &before, returns_duplicate, 1, "nothing has changed");
	gives(revoked(f, g, 2), -EALREADY, "a drained lease has nothing to be taken away");
	gives(stat_of(f).slots_held, 8, "the slots are held");
	gives(lkvfence_revoked(f, g, 1, LKVFENCE_EVIDENCE_RQ_FLUSHED), 0,
	      "the failed one is revoked");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g &&
	      e.outcome == LKVFENCE_OUTCOME_REVOKED && !e.flags && !e.leases_out,
	      "that releases it, as revoked");
	gives(e.evidence, LKVFENCE_EVIDENCE_SUCCESS_CQE, "on the weakest of both grounds");
	gives(revoked(f, g, 1), -ESTALE, "then it is stale");
	gives(stat_of(f).returns_failed, 1, "that it had failed stays counted");
}

/* In quarantine it is late proof, and another process may bring it. */
static void in_quarantine(struct lkvfence *f)
{
	struct lkvfence *other = region("status-revoked", 0);
	uint64_t g = hold(f, 3, 16, 8, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	struct lkvfence_event e = event(f);

	need(e.type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	need(!lkvfence_failed(f, g, 1), "RETURN");
	gives(stat_of(f).slots_quarantined, 8, "failed in quarantine: it stays");
	gives(lkvfence_revoked(other, g, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "revoked in quarantine, by another handle");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g &&
	      e.outcome == LKVFENCE_OUTCOME_REVOKED && !e.flags &&
	      e.evidence == LKVFENCE_EVIDENCE_MR_DEREGISTERED, "it comes back, untainted");
	check(silent(other), "told to its owner only");
	lkvfence_close(other);
}

int main(void)
{
	struct lkvfence *f = region("status-revoked", 64);
	struct lkvfence_stat stat;

	early(f);
	failed_before(f);
	in_quarantine(f);
	stat = stat_of(f);
	check(adds_up(&stat) && !stat.transfers_alive, "all came back");
	check(stat.released[LKVFENCE_OUTCOME_REVOKED] == 3 &&
	      !stat.released[LKVFENCE_OUTCOME_DRAINED] && !stat.revokes,
	      "each is counted as revoked; the kernel revoked none");
	lkvfence_close(f);
	return done();
}
