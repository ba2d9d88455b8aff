// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * "I aborted, and my queue is flushed": the sender moves its QP to ERR, sees all
 * its completions, and says so. To believe that is wrong: what it had sent may
 * stand in the receiver's queue yet, whole messages of it. The control believes
 * it, again and again, until it has been hit once; with the fence such a return
 * is failed, and the slots come back when the access was taken away.
 *
 * This is rare, so it may take long, and is no part of what runs every time.
 */
#include "rig.h"

#define SLOTS	1
#define ROUNDS	64
#define RUNS	1000
#define CONTROL	20000

static struct rig rig;
static struct lkvfence *f;

static struct tally abort_sender(uint64_t generation)
{
	rig_connect(&rig, 0);
	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	return rig_flush(&rig, 0);
}

static void control(void)
{
	size_t bytes = 0;
	uint32_t i;

	for (i = 0; i < CONTROL && !bytes; i++) {
		abort_sender(2 * i + 1);
		stamp(rig.pool, 0, SLOTS, 2 * i + 2);
		usleep(2000);
		bytes = strays(rig.pool, 0, SLOTS, 2 * i + 2);
	}
	check(bytes, "to believe it: hit after %u runs, %zu bytes", i, bytes);
}

static void fenced(void)
{
	uint32_t n = runs(RUNS), hit = 0, failed = 0, i;
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t generation;

	for (i = 0; i < n; i++) {
		struct tally tally;

		rig_connect(&rig, 0);
		bind_link(f, &rig, 1, 0);
		generation = begin(f, i, 0, SLOTS, 1);
		rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
		landing(rig.pool, 0, generation);
		tally = rig_flush(&rig, 0);
		if (tally.bad) {
			failed++;
			need(!lkvfence_failed(f, generation, 1), "RETURN");
		} else {
			need(!drained(f, generation, 1), "RETURN");
		}
		need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		need(e.generation == generation &&
		     e.outcome == (tally.bad ? LKVFENCE_OUTCOME_REVOKED :
					       LKVFENCE_OUTCOME_DRAINED), "released");
		stamp(rig.pool, 0, SLOTS, 1);
		usleep(2000);
		hit += strays(rig.pool, 0, SLOTS, 1) > 0;
	}
	check(!hit, "not to believe it: %u runs, %u of them failed, %u hit", n, failed, hit);
	check(failed > n / 2, "most were aborted in mid-write");
	stat = stat_of(f);
	check(!stat.slots_taken && adds_up(&stat), "no slot is lost");
}

int main(void)
{
	rig_new(&rig, SLOTS);
	f = region("long-flushed", SLOTS);
	control();
	fenced();
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
