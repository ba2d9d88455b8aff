// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * QUERY_SOURCE: one bound source by its number, or all of them one after the other;
 * its QPs as far as there is room, whom it stands for, and its state through a
 * revocation. And how many sources a region may have.
 */
#include "rig.h"

#define SLOTS	8
#define QPS	3
#define ROOM	5

static struct rig rig;
static struct lkvfence *f;
static struct ibv_qp *qps[1 + QPS];
static uint64_t bindings[2];

/* What is asked for, and where the answer goes: with a mark in all of the room. */
static struct lkvfence_qp room[ROOM];

static int ask(struct lkvfence_query_source *q, uint32_t source, uint32_t flags,
	       uint32_t nr)
{
	memset(room, 0x5a, sizeof(room));
	*q = (struct lkvfence_query_source){
		.source = source,
		.flags = flags,
		.qps = (uintptr_t)room,
		.nr_qps = nr,
		.pad = 1,
	};
	return lkvfence_query_source(f, q);
}

static bool marked(const struct lkvfence_qp *qp)
{
	const unsigned char *at = (const void *)qp;
	size_t i;

	for (i = 0; i < sizeof(*qp) && at[i] == 0x5a; i++)
		;
	return i == sizeof(*qp);
}

static void bind_both(void)
{
	struct lkvfence_qp named[QPS] = { 0 };
	struct lkvfence_source s = {
		.source = 9,
		.nr_qps = QPS,
		.qps = (uintptr_t)named,
		.peer = "prefill-9",
	};
	uint32_t i;

	for (i = 0; i < 1 + QPS; i++)
		qps[i] = rig_loop(&rig);
	bindings[0] = bind_loop(f, 3, qps[0]);
	for (i = 0; i < QPS; i++) {
		snprintf(named[i].device, sizeof(named[i].device), DEVICE);
		named[i].number = qps[1 + i]->qp_num;
	}
	need(!lkvfence_source(f, &s), "SOURCE");
	bindings[1] = s.binding;
}

static void by_number(void)
{
	struct lkvfence_query_source q;

	gives(ask(&q, 3, 0, 0), 0, "by its number");
	check(q.source == 3 && q.binding == bindings[0] && q.nr_qps == 1 && !q.peer[0],
	      "it is that one");
	check(q.state == LKVFENCE_SOURCE_BOUND && q.pid == getpid() && !q.leases_out &&
	      !q.pad, "bound, by this process, with no lease out");
	check(marked(&room[0]), "without room no QP is told");
	gives(ask(&q, 9, 0, 0), 0, "the other one");
	check(q.source == 9 && q.binding == bindings[1] && q.nr_qps == QPS &&
	      !strcmp(q.peer, "prefill-9"), "it is that one");
	gives(ask(&q, 4, 0, 0), -ENOENT, "a number between them");
	gives(ask(&q, 10, 0, 0), -ENOENT, "and one behind");
	gives(ask(&q, 3, ~LKVFENCE_QUERY_SOURCE_FLAGS, 0), -EINVAL, "unknown flags");
	gives(ask(&q, 3, 0, 65), -ERANGE, "more room than can be used");
}

static void from(void)
{
	static const struct {
		uint32_t from, found;
	} rows[] = { { 0, 3 }, { 3, 3 }, { 4, 9 }, { 9, 9 } };
	struct lkvfence_query_source q;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		gives(ask(&q, rows[i].from, LKVFENCE_QUERY_SOURCE_FROM, 0), 0, "from %u on",
		      rows[i].from);
		gives(q.source, rows[i].found, "the next one");
	}
	gives(ask(&q, 10, LKVFENCE_QUERY_SOURCE_FROM, 0), -ENOENT, "from 10 on there is none");
	gives(ask(&q, UINT32_MAX, LKVFENCE_QUERY_SOURCE_FROM, 0), -ENOENT, "nor from the last");
}

static void as_far_as_there_is_room(void)
{
	struct lkvfence_query_source q;
	uint32_t i, nr, right;

	for (nr = 0; nr <= ROOM; nr++) {
		gives(ask(&q, 9, 0, nr), 0, "room for %u", nr);
		gives(q.nr_qps, QPS, "it says how many there are");
		for (i = 0, right = 0; i < ROOM; i++) {
			if (i < nr && i < QPS)
				right += room[i].number == qps[1 + i]->qp_num &&
					 room[i].state == LKVFENCE_QP_OPEN &&
					 !strcmp(room[i].device, DEVICE);
			else
				right += marked(&room[i]);
		}
		gives(right, ROOM, "so many QPs are told, and nothing behind is touched");
	}
}

static void revoked_one_by_one(void)
{
	uint64_t generation = begin(f, 1, 0, SLOTS, 0);
	struct lkvfence_query_source q;
	struct lkvfence_event e;

	need(!lkvfence_take(f, generation, 9) && !lkvfence_take(f, generation, 3), "TAKE");
	need(!ask(&q, 9, 0, QPS), "QUERY_SOURCE");
	gives(q.leases_out, 1, "a lease is out");
	set_param("settle_ms", 600000);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort");
	need(until(!ask(&q, 9, 0, QPS) && room[0].state != LKVFENCE_QP_OPEN &&
		   room[1].state != LKVFENCE_QP_OPEN && room[2].state != LKVFENCE_QP_OPEN),
	     "its QPs are moved");
	check(q.state == LKVFENCE_SOURCE_REVOKING && room[0].state == LKVFENCE_QP_ERR &&
	      room[1].state == LKVFENCE_QP_ERR && room[2].state == LKVFENCE_QP_ERR,
	      "it is being revoked");
	gives(lkvfence_quiet(f, bindings[1], 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "one QP is quiet");
	need(!ask(&q, 9, 0, QPS), "QUERY_SOURCE");
	check(q.state == LKVFENCE_SOURCE_REVOKING && q.leases_out == 1 &&
	      room[0].state == LKVFENCE_QP_ERR && room[1].state == LKVFENCE_QP_QUIET &&
	      room[2].state == LKVFENCE_QP_ERR, "that one");
	gives(lkvfence_quiet(f, bindings[1], LKVFENCE_QUIET_ALL,
			     LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0, "all are");
	check(until(!ask(&q, 9, 0, 0) && q.state == LKVFENCE_SOURCE_REVOKED && !q.leases_out),
	      "it is revoked");
	check(!ask(&q, 3, 0, 1) && q.leases_out == 1, "the other one has its lease out yet");
	gives(lkvfence_quiet(f, bindings[0], 0, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "it is quiet, too");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_MR_DEREGISTERED), "released as revoked");
	put_params_back();
}

/* max_sources: for those that are new; one that is bound anew takes no room. */
static void limited(void)
{
	struct lkvfence *other = region("query-source-limited", SLOTS);
	struct ibv_qp *qp = rig_loop(&rig);

	set_param("max_sources", 2);
	gives(try_bind(other, 1, DEVICE, qp->qp_num), 0, "one source");
	gives(try_bind(other, 2, DEVICE, qp->qp_num), 0, "and another");
	gives(try_bind(other, 3, DEVICE, qp->qp_num), -ENOSPC, "a third is too many");
	gives(stat_of(other).sources, 2, "two are bound");
	gives(try_bind(other, 2, DEVICE, qp->qp_num), 0, "one that is there may be bound anew");
	set_param("max_sources", 1);
	gives(try_bind(other, 2, DEVICE, qp->qp_num), 0, "also where the limit is lower by now");
	gives(stat_of(other).sources, 2, "two are bound");
	gives(lkvfence_unbind(other, 1), 0, "unbind");
	gives(try_bind(other, 1, DEVICE, qp->qp_num), -ENOSPC, "then it counts as new");
	put_params_back();
	gives(try_bind(other, 1, DEVICE, qp->qp_num), 0, "with room there is no limit");
	lkvfence_close(other);
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
}

int main(void)
{
	uint32_t i;

	rig_new(&rig, SLOTS);
	f = region("query-source", SLOTS);
	bind_both();
	by_number();
	from();
	as_far_as_there_is_room();
	revoked_one_by_one();
	limited();
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	for (i = 0; i < 1 + QPS; i++)
		need(!ibv_destroy_qp(qps[i]), "ibv_destroy_qp");
	rig_end(&rig);
	return done();
}
