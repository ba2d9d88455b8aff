// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A region that doesn't take a settled QP for proof: the QP is moved to ERR all
 * the same, and then only what its owner saw counts. Without that, the rest of
 * the policy.
 */
#include "rig.h"

#define SLOTS	16

static struct rig rig;
static struct lkvfence *f;

static struct lkvfence *open_strict(void)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE,
		.name = "accepts",
		.slot_size = SLOT,
		.nr_slots = SLOTS,
		.mode = 0600,
		.accepts = LKVFENCE_ACCEPT_ALL &
			   ~(1U << LKVFENCE_EVIDENCE_QP_ERR_SETTLED) &
			   ~(1U << LKVFENCE_EVIDENCE_QP_DESTROYED),
	};
	struct lkvfence *strict;

	need(!lkvfence_open(&strict, &open), "open");
	check(open.accepts == (LKVFENCE_ACCEPT_ALL &
			       ~(1U << LKVFENCE_EVIDENCE_QP_ERR_SETTLED) &
			       ~(1U << LKVFENCE_EVIDENCE_QP_DESTROYED)),
	      "it says what it accepts");
	return strict;
}

static uint64_t revoke_it(uint64_t tag, uint32_t policy, uint64_t *binding)
{
	uint64_t generation;
	struct lkvfence_event e;

	rig_connect(&rig, 0);
	*binding = bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, 16);
	landing(rig.pool, 0, generation);
	gives(abort_with(f, generation, policy, 100), 0, "abort, revoke now");
	e = event_of(f, LKVFENCE_EVENT_REVOKE);
	check(e.generation == *binding, "its owner is told to look");
	return generation;
}

int main(void)
{
	struct lkvfence_query_source q = { .source = 1 };
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t generation, binding;

	rig_new(&rig, SLOTS);
	f = open_strict();
	set_param("settle_ms", 10);
	set_param("revoke_timeout_ms", 60000);

	generation = revoke_it(1, LKVFENCE_POLICY_REVOKE_NOW, &binding);
	rig_see_flush(&rig, 0);
	/* Many times the settle time. */
	usleep(300000);
	check(silent(f) && query(f, generation).flags & LKVFENCE_TRANSFER_REVOKING,
	      "time proves nothing");
	gives(lkvfence_quiet(f, binding, 0, LKVFENCE_EVIDENCE_QP_DESTROYED), -EOPNOTSUPP,
	      "nor does other evidence that isn't accepted");
	gives(lkvfence_quiet(f, binding, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), -ERANGE,
	      "of a QP that there isn't, still less");
	gives(lkvfence_quiet(f, binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), 0,
	      "a flushed receive does");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_RQ_FLUSHED), "released as revoked");

	set_param("revoke_timeout_ms", 300);
	generation = revoke_it(2, LKVFENCE_POLICY_REVOKE_NOW, &binding);
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT) && e.held_ns >= 310 * MS,
	      "its owner says nothing: tainted, when revocation takes too long");
	stat = stat_of(f);
	check(stat.revokes == 2 && stat.revokes_failed == 1, "that is counted");
	gives(lkvfence_query_source(f, &q), 0, "the source is bound");
	gives(q.state, LKVFENCE_SOURCE_REVOKING, "and not proven quiet");

	generation = revoke_it(3, LKVFENCE_POLICY_REVOKE_NOW | LKVFENCE_POLICY_QUARANTINE,
			       &binding);
	e = event(f);
	check(e.type == LKVFENCE_EVENT_QUARANTINED && e.generation == generation,
	      "with quarantine the slots stay out");
	rig_destroy(&rig, 0);
	rig_deregister(&rig);
	gives(lkvfence_quiet(f, binding, LKVFENCE_QUIET_ALL,
			     LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0, "until there is proof");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_MR_DEREGISTERED), "released as revoked");
	stat = stat_of(f);
	check(!stat.slots_taken && adds_up(&stat), "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
