// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The sender is killed in mid-write. Nobody is there to prove anything, and its
 * death proves nothing: the slots are held until the access is taken away.
 */
#include <signal.h>

#include "rig.h"

#define SLOTS	32
#define ROUNDS	32

static struct rig rig;
static struct lkvfence *f;

static void kill_it(uint64_t tag)
{
	struct lkvfence_begin again = want(1000, SLOTS - 1, 1, 0);
	struct lkvfence_event e;
	uint64_t generation;

	rig_new(&rig, SLOTS);
	f = region("sender-killed", SLOTS);
	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	need(!kill(rig.sender, SIGKILL), "kill");
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort");
	gives(status_of(rig.sender), 128 + SIGKILL, "the sender is dead");
	rig.sender = 0;
	gives(lkvfence_begin(f, &again), -EBUSY, "slots are held");
	check(silent(f), "its death is no proof");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "revoke");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(300000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
	gives(stat_of(f).slots_taken, 0, "no slot lost");
	lkvfence_close(f);
	rig_end(&rig);
}

int main(void)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		kill_it(i);
	return done();
}
