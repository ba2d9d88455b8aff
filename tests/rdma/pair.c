// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Two hosts, as tests/vm/pair starts them: the sender is on the other one.
 *
 * Without a fence its writes land in slots that were given out again; with one they
 * don't, whether the access was taken away, or the sender said that it is done.
 */
#include "far.h"
#include "rig.h"

#define SLOTS	16
#define ROUNDS	64
#define RUNS	20

static struct rig rig;
static struct lkvfence *f;

static uint64_t under_way(uint64_t tag, uint32_t rounds)
{
	uint64_t generation;

	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, tag, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, rounds);
	landing(rig.pool, 0, generation);
	return generation;
}

static void control(void)
{
	uint64_t generation = under_way(1, ROUNDS);

	stamp(rig.pool, 0, SLOTS, 1);
	check(until(strays(rig.pool, 0, SLOTS, 1)),
	      "without a fence, writes of the other host land in reused slots");
	rig_drain(&rig, 0);
	need(!drained(f, generation, 1) && !lkvfence_release(f, generation), "RELEASE");
}

static void by_message(void)
{
	uint64_t generation = under_way(2, 4);
	struct lkvfence_event e;
	struct tally tally;

	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort");
	tally = rig_drain(&rig, 0);
	check(tally.good == 4 * SLOTS && !tally.bad, "the other host says that it is done");
	gives(drained(f, generation, 1), 0, "drained");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_DRAINED,
			  LKVFENCE_EVIDENCE_SUCCESS_CQE), "released as drained");
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(200000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
}

static void revoked_often(void)
{
	uint32_t n = runs(RUNS), hit = 0, failed = 0, i;
	struct lkvfence_event e;
	uint64_t generation;

	for (i = 0; i < n; i++) {
		generation = under_way(3 + i, ROUNDS);
		need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		need(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
				 LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");
		stamp(rig.pool, 0, SLOTS, 1);
		/* The first time it sends until it gives up by itself. */
		failed += (i ? rig_flush(&rig, 0) : rig_drain(&rig, 0)).bad > 0;
		hit += strays(rig.pool, 0, SLOTS, 1) > 0;
	}
	check(failed, "%u of %u transfers were revoked in mid-write", failed, n);
	check(!hit, "%u of them left a stray byte", hit);
}

int main(void)
{
	const char *host = getenv("LKVFENCE_PAIR");

	if (far_listens())
		sender_far(far_accept());
	need(host, "LKVFENCE_PAIR: another host");
	rig_start_far(&rig, SLOTS, far_reach(host));
	rig_open(&rig);
	rig.retries = FOR_EVER;
	f = region("pair", SLOTS);
	control();
	by_message();
	rig.retries = 6;
	revoked_often();
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
