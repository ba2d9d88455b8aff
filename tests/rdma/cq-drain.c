// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Proof by the sender: it saw all that it had posted complete with success, and
 * says so in a message. Until then the slots are held; then they come back as
 * drained, nothing is revoked, and the connection goes on.
 */
#include "rig.h"

#define SLOTS	32
#define ROUNDS	16

static struct rig rig;
static struct lkvfence *f;

static void drain(uint64_t tag, uint32_t policy)
{
	struct lkvfence_begin again = want(1000, SLOTS - 1, 1, 0);
	uint64_t generation = begin(f, tag, 0, SLOTS, 1);
	struct lkvfence_event e;
	struct tally tally;

	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	gives(abort_with(f, generation, policy, 600000), 0, "abort in mid-write");
	gives(lkvfence_begin(f, &again), -EBUSY, "slots are held");
	tally = rig_drain(&rig, 0);
	check(tally.good == ROUNDS * SLOTS && !tally.bad,
	      "every write completes with success");
	gives(stat_of(f).slots_held, SLOTS, "slots are held until that is said");
	gives(drained(f, generation, 1), 0, "it is said");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_DRAINED,
			  LKVFENCE_EVIDENCE_SUCCESS_CQE), "released as drained");
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(100000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
}

int main(void)
{
	struct lkvfence_stat stat;

	rig_new(&rig, SLOTS);
	rig.retries = FOR_EVER;
	f = region("cq-drain", SLOTS);
	rig_connect(&rig, 0);
	drain(1, LKVFENCE_POLICY_DEFAULT);

	bind_link(f, &rig, 1, 0);
	drain(2, LKVFENCE_POLICY_DEFAULT);
	drain(3, LKVFENCE_POLICY_REVOKE);
	stat = stat_of(f);
	check(!stat.revokes && !stat.sources_revoked && stat.sources == 1 &&
	      stat.evidence[LKVFENCE_EVIDENCE_SUCCESS_CQE] == 3 && adds_up(&stat),
	      "nothing was revoked, and the source is still bound");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
