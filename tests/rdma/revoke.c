// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Revocation, one transfer from its beginning to its end: a write is under way,
 * the transfer is aborted with REVOKE_NOW, and comes back as revoked, on the
 * ground that its QP was in ERR and time has passed. What is counted, and told.
 */
#include "rig.h"

#define SLOTS	64

static struct rig rig;
static struct lkvfence *f;

int main(void)
{
	struct lkvfence_stat before, stat;
	struct lkvfence_abort abort;
	uint64_t generation, binding;
	struct lkvfence_event e;
	struct lkvfence_query q;
	struct tally tally;

	rig_new(&rig, SLOTS);
	f = region("revoke", SLOTS);
	rig_connect(&rig, 0);
	before = stat_of(f);
	binding = bind_link(f, &rig, 1, 0);
	check(binding, "a binding has a number");
	gives(stat_of(f).sources, 1, "the source is bound");
	generation = begin(f, 7, 0, SLOTS, 1);
	q = query(f, generation);
	check(q.flags == (LKVFENCE_TRANSFER_MINE | LKVFENCE_TRANSFER_REVOCABLE),
	      "QUERY says that it can be revoked");
	check(q.policy == (LKVFENCE_POLICY_TAINT | LKVFENCE_POLICY_REVOKE),
	      "and by default will be");

	rig_write(&rig, 0, generation, 0, SLOTS, 64);
	landing(rig.pool, 0, generation);
	abort = (struct lkvfence_abort){
		.generation = generation,
		.policy = LKVFENCE_POLICY_REVOKE_NOW,
	};
	gives(lkvfence_abort(f, &abort), 0, "abort");
	check(abort.state == LKVFENCE_STATE_ENDED && abort.leases_out == 1,
	      "slots are held");

	e = event(f);
	check(e.type == LKVFENCE_EVENT_REVOKE && e.generation == binding &&
	      e.tag == 1 && e.leases_out <= 1 && e.reason == LKVFENCE_REASON_REVOKED,
	      "who bound the source is told of its revocation");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
	      "it is released as revoked, on the ground of a settled QP");
	check(e.reason == LKVFENCE_REASON_ABORTED && !e.leases_out,
	      "the first reason stays");
	stamp(rig.pool, 0, SLOTS, 1);

	tally = rig_drain(&rig, 0);
	check(tally.good + tally.bad == 64 * SLOTS && tally.bad,
	      "%u writes had completed, %u did not", tally.good, tally.bad);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");

	stat = stat_of(f);
	check(stat.revokes == before.revokes + 1 && !stat.revokes_failed &&
	      stat.sources_revoked == 1 && !stat.sources_lost &&
	      stat.evidence[LKVFENCE_EVIDENCE_QP_ERR_SETTLED] == 1 &&
	      stat.released[LKVFENCE_OUTCOME_REVOKED] == 1 && adds_up(&stat),
	      "it is counted");
	check(!stat.slots_taken && !stat.slots_held, "no slot is lost");

	gives(lkvfence_take(f, begin(f, 8, 0, 1, 0), 1), -ESHUTDOWN,
	      "a revoked source gets no lease");
	gives(stat_of(f).refused_revoked, 1, "and that is counted");
	rig_connect(&rig, 0);
	check(bind_link(f, &rig, 1, 0) != binding, "bound anew, with another number");
	gives(stat_of(f).sources, 1, "in place of the old one");
	generation = begin(f, 9, 8, 8, 1);
	rig_write(&rig, 0, generation, 8, 8, 1);
	tally = rig_drain(&rig, 0);
	check(tally.good == 8 && !tally.bad, "it may write again");
	gives(drained(f, generation, 1), 0, "and says so");
	gives(lkvfence_release(f, generation), 0, "the slots are back");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	gives(stat_of(f).sources, 0, "no source is bound");

	clear(f);
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
