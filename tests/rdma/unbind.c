// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A source is bound anew, or not at all any more, only when nothing is out under
 * it, and only by the handle that bound it. When that is closed, the binding
 * stays as long as there is a lease that needs it.
 */
#include "rig.h"

#define SLOTS	16

static struct rig rig;

static int bind_number(struct lkvfence *f, uint32_t source)
{
	return try_bind(f, source, DEVICE, rig.links[0].qp->qp_num);
}

static void leases_out(struct lkvfence *f)
{
	uint64_t generation = begin(f, 1, 0, 8, 1);
	struct lkvfence_event e;

	gives(lkvfence_unbind(f, 1), -EBUSY, "unbinding with a lease out");
	gives(bind_number(f, 1), -EBUSY, "binding anew with a lease out");
	gives(lkvfence_failed(f, generation, 1), 0, "the lease is given back as failed");
	gives(lkvfence_unbind(f, 1), -EBUSY, "that is as good as out");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "revoke");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "revoked");
	gives(bind_number(f, 1), -ENOTCONN, "binding the same QP, in ERR now");
	gives(lkvfence_unbind(f, 1), 0, "unbinding");
	gives(lkvfence_unbind(f, 1), -ENOENT, "twice");
	rig_connect(&rig, 0);
}

static void others_handle(struct lkvfence *f)
{
	struct lkvfence *other = region("unbind", 0);
	uint64_t binding = bind_link(f, &rig, 1, 0);

	gives(bind_number(other, 1), -EEXIST, "another handle's source");
	gives(lkvfence_unbind(other, 1), -EPERM, "nor can it be unbound");
	gives(bind_number(other, 2), 0, "the same QP for another source");
	gives(lkvfence_quiet(other, binding, 0, LKVFENCE_EVIDENCE_RQ_FLUSHED), -ENOENT,
	      "nor can it be spoken for by who has one");
	lkvfence_close(other);
	gives(stat_of(f).sources, 1, "goes with its handle");
	gives(bind_number(f, 2), 0, "and may be bound by this one");
	gives(lkvfence_unbind(f, 2), 0, "unbound");
}

/* The handle goes, its source has a lease out in a transfer of another handle's. */
static void handle_goes(struct lkvfence *f)
{
	struct lkvfence *other = region("unbind", 0);
	struct lkvfence_event e;
	uint64_t generation;

	rig_connect(&rig, 0);
	bind_link(other, &rig, 7, 0);
	generation = begin(f, 2, 0, 8, 0);
	need(!lkvfence_take(f, generation, 7), "TAKE");
	lkvfence_close(other);
	gives(stat_of(f).sources, 2, "a source with a lease outlives its handle");
	gives(bind_number(f, 7), -EBUSY, "and can't be bound anew");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "revoke");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
	      "it can be revoked; nobody is told of that");
	check(until(stat_of(f).sources == 1), "then it is unbound");
}

/* Its event goes with the source, or with the handle: read or not. */
static void unread(struct lkvfence *f)
{
	struct lkvfence *other = region("unbind", 0);
	struct ibv_qp *qp = rig_loop(&rig), *another = rig_loop(&rig);
	uint64_t binding = bind_loop(f, 3, qp);

	gives(lkvfence_quiet(f, binding, 0, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "a source without a lease is revoked");
	gives(lkvfence_unbind(f, 3), 0, "and unbound, with its event unread");
	check(silent(f), "there is none any more");
	binding = bind_loop(other, 3, another);
	gives(lkvfence_quiet(other, binding, 0, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "another handle's is");
	lkvfence_close(other);
	check(until(stat_of(f).sources == 1), "it goes with its handle");
	check(silent(f), "nobody is told of it");
	need(!ibv_destroy_qp(qp) && !ibv_destroy_qp(another), "ibv_destroy_qp");
}

/* A lower limit than there are sources by now: none more, and those that are stay. */
static void as_many_as_there_may_be(struct lkvfence *f)
{
	struct lkvfence_stat before;

	gives(stat_of(f).sources, 1, "one source is bound");
	gives(bind_number(f, 2), 0, "another one");
	set_param("max_sources", 1);
	before = stat_of(f);
	gives(bind_number(f, 3), -ENOSPC, "one more than max_sources");
	unchanged(f, &before, "nothing has changed");
	gives(bind_number(f, 2), 0, "in place of one that there is");
	gives(lkvfence_unbind(f, 2), 0, "unbinding");
	gives(bind_number(f, 2), -ENOSPC, "there are as many as there may be");
	put_params_back();
	gives(bind_number(f, 2), 0, "until there may be more");
	gives(lkvfence_unbind(f, 2), 0, "unbinding");
}

/* All handles go: region, transfer and source last until the deadline. */
static void all_go(void)
{
	struct lkvfence *f = region("unbind-all", SLOTS);
	uint64_t generation;

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, 1, 0, 8, 1);
	rig_stream(&rig, 0, generation, 0, 8);
	landing(rig.pool, 0, generation);
	set_param("timeout_default_ms", 1000);
	lkvfence_close(f);
	check(region_exists("unbind-all"), "a region with a hold outlives its handles");
	check(until(!region_exists("unbind-all")), "and goes when the source is revoked");
	check(strtoull(line_of("/sys/class/misc/lkvfence/evidence_qp_err_settled"),
		       NULL, 10) > 0, "which is counted");
	put_params_back();
	stamp(rig.pool, 0, 8, 1);
	check(rig_drain(&rig, 0).bad, "the sender fails");
	gives((long)strays(rig.pool, 0, 8, 1), 0, "no stray byte");
}

int main(void)
{
	struct lkvfence *f;

	rig_new(&rig, SLOTS);
	f = region("unbind", SLOTS);
	gives(lkvfence_unbind(f, 1), -ENOENT, "unbinding what isn't bound");
	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	gives(bind_number(f, 1), 0, "binding anew without leases");
	gives(lkvfence_unbind(f, 1), 0, "unbinding without leases");
	bind_link(f, &rig, 1, 0);
	as_many_as_there_may_be(f);
	leases_out(f);
	others_handle(f);
	handle_goes(f);
	unread(f);
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	all_go();
	rig_end(&rig);
	return done();
}
