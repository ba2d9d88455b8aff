// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The sender stands still past the deadline, and then goes on as if nothing had
 * happened. Released without proof, its writes land in somebody else's slots;
 * revoked, they don't.
 */
#include <signal.h>

#include "rig.h"

#define SLOTS	16

static struct rig rig;
static struct lkvfence *f;

static void stop(void)
{
	int status;

	need(!kill(rig.sender, SIGSTOP) &&
	     waitpid(rig.sender, &status, WUNTRACED) == rig.sender &&
	     WIFSTOPPED(status), "a sender that stands still");
}

static uint64_t stopped(uint64_t tag, uint32_t policy)
{
	struct lkvfence_begin b = want(tag, 0, SLOTS, 1);

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	b.policy = policy;
	need(!lkvfence_begin(f, &b), "BEGIN");
	rig_stream(&rig, 0, b.generation, 0, SLOTS);
	landing(rig.pool, 0, b.generation);
	stop();
	gives(abort_with(f, b.generation, LKVFENCE_POLICY_DEFAULT, 300), 0, "abort");
	return b.generation;
}

int main(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	struct tally tally;

	rig_new(&rig, SLOTS);
	f = region("sender-stopped", SLOTS);

	generation = stopped(1, LKVFENCE_POLICY_TAINT);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT), "taint: released without proof");
	stamp(rig.pool, 0, SLOTS, 1);
	need(!kill(rig.sender, SIGCONT), "SIGCONT");
	check(until(strays(rig.pool, 0, SLOTS, 1)), "and late writes land");
	tally = rig_drain(&rig, 0);
	check(!tally.bad, "the sender notices nothing");

	generation = stopped(2, LKVFENCE_POLICY_REVOKE);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "revoke: released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	need(!kill(rig.sender, SIGCONT), "SIGCONT");
	/* Whether it fails depends: all that it had posted may have landed in time. */
	rig_drain(&rig, 0);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "and nothing lands");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
