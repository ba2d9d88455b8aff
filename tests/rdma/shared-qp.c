// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Two sources share a QP, in two regions, and a third one has another QP beside
 * it. To revoke one is to end the transfers of both: each engine is told why, and
 * each gets its slots back as revoked. What doesn't go through that QP goes on.
 */
#include "rig.h"

#define SLOTS	32

static struct rig rig;
static struct lkvfence *f, *g;

int main(void)
{
	struct lkvfence_query_source q = { .source = 5 };
	uint64_t mine, other, waiting, aside, binding;
	struct lkvfence_event e;
	struct tally tally;

	rig_new(&rig, SLOTS);
	rig.retries = FOR_EVER;
	f = region("shared-qp-a", SLOTS);
	g = region("shared-qp-b", SLOTS);
	rig_connect(&rig, 0);
	rig_connect(&rig, 1);
	rig_connect(&rig, 2);
	/* Links 0 and 1; link 1 alone; link 2. */
	bind_links(f, &rig, 1, 0, 2);
	binding = bind_link(g, &rig, 5, 1);
	bind_link(g, &rig, 6, 2);
	mine = begin(f, 1, 0, 8, 1);
	other = begin(g, 1, 8, 8, 0);
	gives(lkvfence_take(g, other, 5), 0, "a lease of the source that shares");
	waiting = begin(g, 2, 16, 8, 0);
	gives(lkvfence_take(g, waiting, 5), 0, "and another");
	gives(lkvfence_take(g, waiting, 6), 0, "beside one that doesn't");
	aside = begin(g, 3, 24, 8, 0);
	gives(lkvfence_take(g, aside, 6), 0, "which has one of its own");

	rig_write(&rig, 1, other, 8, 8, 64);
	landing(rig.pool, 8, other);
	gives(abort_with(f, mine, LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
	      "one is aborted: revoke now");

	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, mine, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED) &&
	      e.reason == LKVFENCE_REASON_ABORTED, "it is released as revoked");
	e = event(g);
	check(e.type == LKVFENCE_EVENT_REVOKE && e.generation == binding && e.tag == 5,
	      "the other region's engine is told of the source");
	e = event(g);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == other &&
	      e.reason == LKVFENCE_REASON_REVOKED, "and that its transfer ended, and why");
	e = event_of(g, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, other, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED) &&
	      e.reason == LKVFENCE_REASON_REVOKED, "it is released as revoked");
	stamp(rig.pool, 8, 8, 1);
	/* It goes on trying for ever, so it is told to stop. */
	rig_flush(&rig, 1);
	gives((long)strays(rig.pool, 8, 8, 1), 0, "no stray byte");

	check(query(g, waiting).state == LKVFENCE_STATE_ENDED &&
	      query(g, waiting).reason == LKVFENCE_REASON_REVOKED &&
	      query(g, waiting).leases_out == 1,
	      "a transfer with a source more has ended, and waits for that");
	gives(lkvfence_take(g, waiting, 5), -ECANCELED, "it gives no lease");
	gives(lkvfence_query_source(g, &q), 0, "QUERY_SOURCE");
	check(q.state == LKVFENCE_SOURCE_REVOKED && !q.leases_out,
	      "the source is revoked");
	gives(query(g, aside).state, LKVFENCE_STATE_WAITING,
	      "one that has nothing to do with it goes on");
	rig_write(&rig, 2, aside, 24, 8, 1);
	tally = rig_drain(&rig, 2);
	check(tally.good == 8 && !tally.bad, "and is written");
	gives(drained(g, aside, 6), 0, "drained");
	gives(lkvfence_release(g, aside), 0, "and released");
	gives(drained(g, waiting, 6), 0, "the last lease is drained");
	e = event_of(g, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, waiting, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");

	check(stat_of(f).sources_revoked == 1 && stat_of(g).sources_revoked == 1 &&
	      stat_of(f).revokes == 1 && !stat_of(g).revokes &&
	      !stat_of(g).revokes_failed && stat_of(g).sources == 2,
	      "each region counts its own");
	check(!stat_of(f).slots_taken && !stat_of(g).slots_taken, "no slot is lost");
	lkvfence_close(g);
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
