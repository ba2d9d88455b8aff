// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A work request fails, and with it the rest of the queue: the sender has seen
 * every completion, and can prove nothing. It says "failed"; the slots are held
 * until the deadline, and come back tainted, or revoked where they can be.
 */
#include "rig.h"

#define SLOTS	16
#define ROUNDS	8

static struct rig rig;
static struct lkvfence *f;

/* A transfer that has ended with a failed lease; timeout in ms. */
static uint64_t fails(uint64_t tag, uint32_t policy, unsigned int timeout)
{
	struct lkvfence_begin again = want(1000, 0, 1, 0);
	uint64_t generation = begin(f, tag, 0, SLOTS, 1);
	struct tally tally;

	rig_write_badly(&rig, 0, generation, 0, SLOTS, ROUNDS);
	tally = rig_drain(&rig, 0);
	check(tally.bad && tally.good + tally.bad == SLOTS * ROUNDS &&
	      tally.first_bad != IBV_WC_WR_FLUSH_ERR, "a write fails: %s",
	      ibv_wc_status_str(tally.first_bad));
	gives(lkvfence_failed(f, generation, 1), 0, "the sender says failed");
	gives(lkvfence_release(f, generation), -EBUSY, "that is no proof");
	gives(drained(f, generation, 1), -EALREADY, "nor is it to be had from it any more");
	gives(abort_with(f, generation, policy, timeout), 0, "abort");
	gives(lkvfence_begin(f, &again), -EBUSY, "slots are held");
	return generation;
}

int main(void)
{
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t generation;

	rig_new(&rig, SLOTS);
	rig.retries = FOR_EVER;
	f = region("failed-wr", SLOTS);

	rig_connect(&rig, 0);
	generation = fails(1, LKVFENCE_POLICY_DEFAULT, 500);
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT) && e.held_ns >= 500 * MS,
	      "not bound: tainted, at the deadline");

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = fails(2, LKVFENCE_POLICY_DEFAULT, 500);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED) && e.held_ns >= 500 * MS,
	      "bound: revoked, at the deadline");

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = fails(3, LKVFENCE_POLICY_DEFAULT, 600000);
	rig_destroy(&rig, 0);
	gives(lkvfence_revoked(f, generation, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "the owner of the memory may still prove it: it destroys the QP");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_DESTROYED), "released as revoked");

	stat = stat_of(f);
	check(stat.returns_failed == 3 && stat.returns_revoked == 1 &&
	      stat.returns_duplicate == 3 && stat.revokes == 1 &&
	      !stat.slots_taken && adds_up(&stat), "it is counted, and no slot lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
