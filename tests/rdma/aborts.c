// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Aborts in mid-write, many of them, in each of the ways in which slots may be
 * proven quiet: not a byte of a write lands in a slot that was given out again,
 * and every slot comes back.
 */
#include "rig.h"

#define SLOTS	8
#define ROUNDS	16
#define RUNS	50

static struct rig rig;
static struct lkvfence *f;
static uint64_t binding;

static void take_away(uint64_t generation)
{
	struct lkvfence_event e;

	need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
	e = event_of(f, LKVFENCE_EVENT_REVOKE);
	need(e.generation == binding, "the event of the revocation");
}

static void attest(uint32_t evidence)
{
	need(!lkvfence_quiet(f, binding, 0, evidence), "QUIET: %s", lkvfence_errmsg());
}

/* The ways. Each aborts the transfer, and sees to the proof. */

static void by_message(uint64_t generation)
{
	struct tally tally;

	need(!abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), "ABORT");
	tally = rig_drain(&rig, 0);
	need(tally.good == SLOTS * ROUNDS && !tally.bad, "all completed with success");
	need(!drained(f, generation, 1), "RETURN");
}

static void by_flush(uint64_t generation)
{
	take_away(generation);
	rig_see_flush(&rig, 0);
	attest(LKVFENCE_EVIDENCE_RQ_FLUSHED);
}

static void by_destroying(uint64_t generation)
{
	take_away(generation);
	rig_destroy(&rig, 0);
	attest(LKVFENCE_EVIDENCE_QP_DESTROYED);
}

static void by_deregistering(uint64_t generation)
{
	need(!abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), "ABORT");
	rig_deregister(&rig);
	need(!lkvfence_revoked(f, generation, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED),
	     "RETURN");
	rig_register(&rig);
}

struct way {
	const char *what;
	void (*abort)(uint64_t generation);
	uint32_t outcome;
	uint32_t evidence;
};

static const struct way ways[] = {
	{ "drained by message", by_message,
	  LKVFENCE_OUTCOME_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE },
	{ "revoked, with settling", take_away,
	  LKVFENCE_OUTCOME_REVOKED, LKVFENCE_EVIDENCE_QP_ERR_SETTLED },
	{ "revoked, with a flushed receive", by_flush,
	  LKVFENCE_OUTCOME_REVOKED, LKVFENCE_EVIDENCE_RQ_FLUSHED },
	{ "revoked, and the QP destroyed", by_destroying,
	  LKVFENCE_OUTCOME_REVOKED, LKVFENCE_EVIDENCE_QP_DESTROYED },
	{ "memory deregistered", by_deregistering,
	  LKVFENCE_OUTCOME_REVOKED, LKVFENCE_EVIDENCE_MR_DEREGISTERED },
};

/* One abort; how many bytes of the slots were hit after they had come back. */
static size_t once(const struct way *way, uint64_t tag)
{
	struct lkvfence_event e;
	uint64_t generation;

	rig_connect(&rig, 0);
	binding = bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	way->abort(generation);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	need(released_as(&e, generation, way->outcome, way->evidence), "released");
	stamp(rig.pool, 0, SLOTS, generation + 1);
	/* It gets some time to do harm, and then is told to stop. */
	usleep(5000);
	rig_flush(&rig, 0);
	return strays(rig.pool, 0, SLOTS, generation + 1);
}

static void many(const struct way *way)
{
	uint32_t n = runs(RUNS), hit = 0, i;
	struct lkvfence_stat before = stat_of(f), after;
	int64_t start = now_ns();
	size_t bytes = 0, now;

	/* Where it is sure that all will complete, nothing may cut it short. */
	rig.retries = way->abort == by_message ? FOR_EVER : 6;
	/* What is attested must not come too late. */
	if (way->abort != take_away)
		set_param("settle_ms", 600000);
	for (i = 0; i < n; i++) {
		now = once(way, i);
		hit += now > 0;
		bytes += now;
	}
	put_params_back();
	check(!bytes, "%s: %u aborts, %u hit, %zu stray bytes", way->what, n, hit, bytes);
	after = stat_of(f);
	check(after.released[way->outcome] == before.released[way->outcome] + n &&
	      after.evidence[way->evidence] == before.evidence[way->evidence] + n &&
	      after.revokes_failed == before.revokes_failed && adds_up(&after),
	      "%s: all come back so", way->what);
	check(!after.slots_taken && !after.slots_held, "%s: no slot is lost", way->what);
	note("%" PRId64 " ms an abort", (now_ns() - start) / (int64_t)MS / n);
}

int main(void)
{
	size_t i;

	rig_new(&rig, SLOTS);
	f = region("aborts", SLOTS);
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		many(&ways[i]);
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
