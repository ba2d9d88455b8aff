// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pull mode, at the end that reads: this process's own reads are on their way
 * when the request dies. Its own QP is bound; moved to ERR, it takes no more
 * answers. That its reads completed, with success or not, is proof on this side.
 */
#include "rig.h"

#define SLOTS	32
#define ROUNDS	32

static struct rig rig;
static struct lkvfence *f;

static uint64_t under_way(uint64_t tag)
{
	uint64_t generation;

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	stamp(rig.stage, 0, SLOTS, generation);
	rig_pull(&rig, 0, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	return generation;
}

int main(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	struct tally tally;

	rig_new(&rig, SLOTS);
	f = region("read-target", SLOTS);

	generation = under_way(1);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort in mid-read");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	tally = rig_pulled(&rig, 0);
	check(tally.bad && tally.good + tally.bad == SLOTS * ROUNDS,
	      "its reads fail: %s", ibv_wc_status_str(tally.first_bad));
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");

	generation = under_way(2);
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort in mid-read");
	tally = rig_pulled(&rig, 0);
	check(!tally.bad && tally.good == SLOTS * ROUNDS, "all reads complete with success");
	gives(drained(f, generation, 1), 0, "which is said");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_DRAINED,
			  LKVFENCE_EVIDENCE_SUCCESS_CQE), "released as drained");
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(100000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
