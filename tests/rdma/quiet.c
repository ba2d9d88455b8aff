// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * QUIET: what the owner of a QP saw of it beats waiting. All QPs of a source have
 * to be quiet, and the weakest ground counts. What the kernel can see to be wrong
 * is refused.
 */
#include "rig.h"

#define SLOTS	16

static struct rig rig;
static struct lkvfence *f;

/* A transfer in mid-write on each of @nr links, and their binding. */
static uint64_t under_way(uint64_t tag, uint32_t nr, uint64_t *binding)
{
	uint64_t generation;
	uint32_t i;

	for (i = 0; i < nr; i++)
		rig_connect(&rig, i);
	*binding = bind_links(f, &rig, 1, 0, nr);
	generation = begin(f, tag, 0, SLOTS, 1);
	for (i = 0; i < nr; i++)
		rig_write(&rig, i, generation, i * 4, 4, 64);
	for (i = 0; i < nr; i++)
		landing(rig.pool, i * 4, generation);
	return generation;
}

static void revoke_now(uint64_t generation, uint64_t binding)
{
	struct lkvfence_event e;

	need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
	e = event_of(f, LKVFENCE_EVENT_REVOKE);
	need(e.generation == binding, "the event of the revocation");
}

static void is_revoked(uint64_t generation, uint32_t evidence, const char *how)
{
	struct lkvfence_event e = event_of(f, LKVFENCE_EVENT_RELEASED);

	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED, evidence),
	      "released as revoked: %s", how);
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(100000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
}

static int quiet(uint64_t binding, uint32_t qp, uint32_t evidence)
{
	return lkvfence_quiet(f, binding, qp, evidence);
}

static void refused(void)
{
	uint64_t binding, generation = under_way(1, 2, &binding);

	gives(quiet(binding, 2, LKVFENCE_EVIDENCE_RQ_FLUSHED), -ERANGE, "no such QP");
	gives(quiet(binding + 1000, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), -ENOENT,
	      "no such binding");
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_QP_ERR_SETTLED), -EINVAL,
	      "the kernel's own evidence");
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_SUCCESS_CQE), -EINVAL,
	      "evidence of a sender");
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), -EBUSY,
	      "flushed, they say, of a QP that isn't in ERR");
	gives(quiet(binding, LKVFENCE_QUIET_ALL, LKVFENCE_EVIDENCE_QP_DESTROYED), -EBUSY,
	      "destroyed, they say, of one that is there");
	gives(query(f, generation).state, LKVFENCE_STATE_WAITING, "nothing has happened");

	revoke_now(generation, binding);
	rig_see_flush(&rig, 0);
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_QP_DESTROYED), -EBUSY,
	      "destroyed, they say, of one that is in ERR");
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), 0, "flushed: that is so");
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), -EALREADY, "twice");
	check(query(f, generation).leases_out == 1 && silent(f), "one of two is not all");
	rig_destroy(&rig, 1);
	gives(quiet(binding, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "the other one is destroyed");
	is_revoked(generation, LKVFENCE_EVIDENCE_RQ_FLUSHED, "on the weaker ground");
	gives(quiet(binding, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), -EALREADY,
	      "and again when it is over");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	gives(quiet(binding, 1, LKVFENCE_EVIDENCE_QP_DESTROYED), -ENOENT,
	      "an old binding");
}

static void flushed(void)
{
	uint64_t binding, generation = under_way(2, 1, &binding);

	revoke_now(generation, binding);
	rig_see_flush(&rig, 0);
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), 0, "flushed");
	is_revoked(generation, LKVFENCE_EVIDENCE_RQ_FLUSHED, "a flushed receive");
}

static void destroyed(void)
{
	uint64_t binding, generation = under_way(3, 3, &binding);

	revoke_now(generation, binding);
	rig_destroy(&rig, 0);
	gives(quiet(binding, LKVFENCE_QUIET_ALL, LKVFENCE_EVIDENCE_QP_DESTROYED), -EBUSY,
	      "all destroyed, they say, where the first one is");
	rig_destroy(&rig, 1);
	rig_destroy(&rig, 2);
	gives(quiet(binding, LKVFENCE_QUIET_ALL, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "all are destroyed");
	is_revoked(generation, LKVFENCE_EVIDENCE_QP_DESTROYED, "QPs that are no more");
}

static void deregistered(void)
{
	uint64_t binding, generation = under_way(4, 2, &binding);

	revoke_now(generation, binding);
	rig_deregister(&rig);
	gives(quiet(binding, LKVFENCE_QUIET_ALL, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "the memory is deregistered");
	is_revoked(generation, LKVFENCE_EVIDENCE_MR_DEREGISTERED, "memory without a key");
	rig_register(&rig);
}

/* The engine tears a connection down by itself: what it had out is revoked with it. */
static void unasked(void)
{
	uint64_t binding, generation = under_way(5, 2, &binding);
	struct lkvfence_event e;

	rig_destroy(&rig, 0);
	gives(quiet(binding, 0, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "one QP is destroyed, and nobody had asked for it");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_REVOKE && e.generation == binding,
	      "the source is revoked for that");
	e = event(f);
	check(e.type == LKVFENCE_EVENT_ENDED && e.generation == generation &&
	      e.reason == LKVFENCE_REASON_REVOKED, "its transfer is ended for that");
	is_revoked(generation, LKVFENCE_EVIDENCE_QP_ERR_SETTLED,
		   "the kernel saw to the other QP");
}

int main(void)
{
	struct lkvfence_stat stat;

	rig_new(&rig, SLOTS);
	f = region("quiet", SLOTS);
	/* No settling behind our back. */
	set_param("settle_ms", 600000);
	refused();
	flushed();
	destroyed();
	deregistered();
	put_params_back();
	unasked();
	stat = stat_of(f);
	check(stat.evidence[LKVFENCE_EVIDENCE_RQ_FLUSHED] == 2 &&
	      stat.evidence[LKVFENCE_EVIDENCE_QP_DESTROYED] == 1 &&
	      stat.evidence[LKVFENCE_EVIDENCE_MR_DEREGISTERED] == 1 &&
	      stat.evidence[LKVFENCE_EVIDENCE_QP_ERR_SETTLED] == 1 &&
	      stat.released[LKVFENCE_OUTCOME_REVOKED] == 5 &&
	      stat.sources_revoked == 5 && !stat.revokes_failed && adds_up(&stat),
	      "it is counted by class");
	gives(stat.slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
