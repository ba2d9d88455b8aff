// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pull mode, at the end that is read: a peer reads our slots, the request dies,
 * and the slots are given to another one. What the peer gets from then on must
 * not be that one's content.
 */
#include "rig.h"

#define SLOTS	32
#define ROUNDS	32

static struct rig rig;
static struct lkvfence *f;

int main(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	struct tally tally;

	rig_new(&rig, SLOTS);
	f = region("read-source", SLOTS);
	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, 1, 0, SLOTS, 1);
	stamp(rig.pool, 0, SLOTS, generation);
	rig_read(&rig, 0, 0, SLOTS, ROUNDS);
	landing(rig.stage, 0, generation);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort in mid-read");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	tally = rig_drain(&rig, 0);
	check(tally.bad, "the reader fails: %s", ibv_wc_status_str(tally.first_bad));
	check(stamped(rig.stage, 0, SLOTS, generation), "it has read what was there before");
	gives((long)stamped(rig.stage, 0, SLOTS, 1), 0, "and no byte of what is there now");

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, 2, 0, SLOTS, 1);
	stamp(rig.pool, 0, SLOTS, generation);
	rig_read(&rig, 0, 0, SLOTS, ROUNDS);
	landing(rig.stage, 0, generation);
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort in mid-read");
	tally = rig_drain(&rig, 0);
	check(!tally.bad && tally.good == SLOTS * ROUNDS, "the reader reads to the end");
	gives(drained(f, generation, 1), 0, "and says so");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_DRAINED,
			  LKVFENCE_EVIDENCE_SUCCESS_CQE), "released as drained");
	gives((long)strays(rig.stage, 0, SLOTS, generation), 0, "what it has read is whole");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
