// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The guard in a receive queue: its flush is had by hand, when the connection
 * fails, and when the kernel revokes. Each time the slots are used again at once,
 * and not a byte lands.
 */
#include "rig.h"

#define SLOTS	16		/* and one for the barrier */
#define FRESH	0xee

static struct rig rig;
static struct lkvfence *f;
static struct link link_, other;
static struct writer writer;
static uint32_t wrong;
static size_t late;

static uint64_t under_way(uint64_t tag)
{
	uint64_t g = begin(f, tag, 0, SLOTS, 1);

	writer_start(&writer, &rig, &link_, 0, SLOTS, rig.pool_mr->rkey, 1);
	return g;
}

/* The slots are used again, while the sender goes on. */
static void reuse(uint64_t g, uint32_t evidence)
{
	struct lkvfence_event e;

	do {
		e = event(f);
	} while (e.type == LKVFENCE_EVENT_REVOKE || e.type == LKVFENCE_EVENT_ENDED);
	mark_pool(&rig, 0, SLOTS, FRESH);
	if (e.type != LKVFENCE_EVENT_RELEASED || e.generation != g ||
	    e.outcome != LKVFENCE_OUTCOME_REVOKED || e.evidence != evidence) {
		note("event %u: outcome %u, evidence %u", e.type, e.outcome, e.evidence);
		wrong++;
	}
	barrier(&rig, &other);
	late += strays(&rig, 0, SLOTS, FRESH);
	writer_stop(&writer);
	link_end(&link_);
	poll_all(&rig);
}

static void verdict(uint32_t n, const char *what)
{
	gives(wrong, 0, "%s: %u transfers came back as revoked, on that ground", what, n);
	gives((long)late, 0, "%s: not a byte landed late", what);
	wrong = 0;
	late = 0;
}

/* User space alone. */
static void by_hand(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t g;

		link_new(&rig, &link_, 2, 0);
		g = under_way(i);
		need(!abort_with(f, g, LKVFENCE_POLICY_QUARANTINE, 60000), "ABORT");
		wrong += !!lkvfence_rail_flush(link_.recv, PATIENCE_MS);
		wrong += !!lkvfence_revoked(f, g, 1, LKVFENCE_EVIDENCE_RQ_FLUSHED);
		reuse(g, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	}
	verdict(n, "by hand");
}

/* The kernel moves it to ERR, and asks. */
static void by_the_kernel(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct lkvfence_event e;
		uint64_t g;

		link_new(&rig, &link_, 2, 0);
		need(!lkvfence_verbs_bind(rig.v, f, 1, "peer", &link_.recv, 1), "%s",
		     lkvfence_verbs_errmsg());
		g = under_way(i);
		need(!abort_with(f, g, LKVFENCE_POLICY_QUARANTINE | LKVFENCE_POLICY_REVOKE_NOW,
				 60000), "ABORT");
		e = event(f);
		wrong += e.type != LKVFENCE_EVENT_REVOKE;
		if (lkvfence_verbs_event(rig.v, f, &e, PATIENCE_MS) != 1) {
			note("%s", lkvfence_verbs_errmsg());
			wrong++;
		}
		reuse(g, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	}
	verdict(n, "by the kernel");
}

/* The connection fails: nobody aborts, and who polls makes it known. */
static void by_itself(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t g;

		link_new(&rig, &link_, 2, 0);
		need(!lkvfence_verbs_bind(rig.v, f, 1, "peer", &link_.recv, 1), "%s",
		     lkvfence_verbs_errmsg());
		g = under_way(i);
		qp_to_err(link_.recv_qp);
		need(until(poll_all(&rig) && !stat_of(f).slots_taken), "a release");
		reuse(g, LKVFENCE_EVIDENCE_RQ_FLUSHED);
	}
	verdict(n, "by itself");
}

/* The QP is destroyed, with windows bound to it. */
static void destroyed(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct lkvfence_recv *recv;
		struct lkvfence_rail *rail;
		uint64_t g;

		link_new(&rig, &link_, 2, 3);
		need(!lkvfence_verbs_bind(rig.v, f, 1, "peer", &link_.recv, 1), "%s",
		     lkvfence_verbs_errmsg());
		recv = recv_of(&rig, f, 1, 1);
		window(&rig, recv, &link_, 0, 1);
		window(&rig, recv, &link_, 1, 1);
		g = under_way(i);
		rail = link_.recv;
		link_.recv = NULL;
		wrong += !!lkvfence_rail_destroy_qp(rail);
		reuse(g, LKVFENCE_EVIDENCE_QP_DESTROYED);
		lkvfence_recv_finish(recv, 0);
	}
	verdict(n, "destroyed");
}

int main(void)
{
	uint32_t n = runs(20);

	f = region("guard", SLOTS);
	rig_new(&rig, SLOTS + 1);
	link_new(&rig, &other, 0, 0);
	by_hand(n);
	if (can_revoke()) {
		/* what comes by time comes too late */
		set_param("settle_ms", 30000);
		set_param("revoke_timeout_ms", 60000);
		by_the_kernel(n);
		by_itself(n);
		destroyed(n);
	} else {
		skip("INFO has no feature qp on this kernel", "bound sources");
	}
	gives((long)stat_of(f).slots_taken, 0, "no slot is lost");
	clear(f);
	link_end(&other);
	rig_end(&rig);
	lkvfence_close(f);
	return done();
}
