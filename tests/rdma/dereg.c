// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The owner of the memory deregisters the only key that the source had: proof for
 * the lease, whether its source is bound or not.
 */
#include "rig.h"

#define SLOTS	32

static struct rig rig;
static struct lkvfence *f;

static void deregister(uint64_t tag, bool bound)
{
	struct lkvfence_event e;
	struct tally tally;
	uint64_t generation;

	rig_connect(&rig, 0);
	if (bound)
		bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	rig_stream(&rig, 0, generation, 0, SLOTS);
	landing(rig.pool, 0, generation);
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort");
	rig_deregister(&rig);
	gives(lkvfence_revoked(f, generation, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "the memory is deregistered");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_MR_DEREGISTERED), "released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	tally = rig_drain(&rig, 0);
	check(tally.bad, "the sender fails: %s", ibv_wc_status_str(tally.first_bad));
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
	rig_register(&rig);
}

int main(void)
{
	struct lkvfence_stat stat;

	rig_new(&rig, SLOTS);
	f = region("dereg", SLOTS);
	deregister(1, false);
	deregister(2, true);
	stat = stat_of(f);
	check(stat.evidence[LKVFENCE_EVIDENCE_MR_DEREGISTERED] == 2 &&
	      stat.returns_revoked == 2 && !stat.revokes && stat.sources == 1 &&
	      !stat.sources_revoked && !stat.slots_taken && adds_up(&stat),
	      "it is counted, no QP was touched, and no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
