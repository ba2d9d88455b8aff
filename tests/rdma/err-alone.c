// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A QP that is moved to ERR may still be writing what it had accepted before:
 * who reuses a slot at once is hit, on some kernels and at times. So the state is
 * no proof by itself; a settle time behind it is. The control is what this
 * process does by itself, without the fence; it must be hit on kernels where
 * that is known to happen often.
 *
 * Slots are of one small write each, so that reuse is a matter of a microsecond.
 */
#include <sys/utsname.h>

#include "rig.h"

#define SLOTS	4
#define POSTED	4096
#define MESSAGE	4096
#define RUNS	50
#define CONTROL	2000

static struct rig rig;
static struct lkvfence *f;

/* Only the part of a slot that is written. */
static void mark(uint64_t generation)
{
	uint32_t slot, i;

	for (slot = 0; slot < SLOTS; slot++) {
		uint64_t *at = (uint64_t *)(rig.pool + slot * SLOT);

		for (i = 0; i < MESSAGE / sizeof(*at); i += 2) {
			__atomic_store_n(&at[i], generation, __ATOMIC_RELAXED);
			__atomic_store_n(&at[i + 1], slot, __ATOMIC_RELAXED);
		}
	}
}

static size_t strange(uint64_t generation)
{
	size_t n = 0;
	uint32_t slot, i;

	for (slot = 0; slot < SLOTS; slot++) {
		uint64_t *at = (uint64_t *)(rig.pool + slot * SLOT);

		for (i = 0; i < MESSAGE / sizeof(*at); i += 2)
			n += __atomic_load_n(&at[i], __ATOMIC_RELAXED) != generation ||
			     __atomic_load_n(&at[i + 1], __ATOMIC_RELAXED) != slot;
	}
	return n * 16;
}

static void under_way(uint64_t generation)
{
	rig_connect(&rig, 0);
	rig_write(&rig, 0, generation, 0, SLOTS, POSTED / SLOTS);
	landing(rig.pool, SLOTS - 1, generation);
}

/* What the sender has left is of no interest any more. */
static void over(void)
{
	usleep(2000);
	rig_flush(&rig, 0);
}

static bool known_for_it(void)
{
	struct utsname name;

	need(!uname(&name), "uname");
	return !strncmp(name.release, "6.1.", 4);
}

static void control(void)
{
	uint32_t most = runs(CONTROL), hit = 0, i;
	bool measure = runs(0);
	size_t bytes = 0, now;

	/* Once is enough, where nobody asks how often. */
	if (!known_for_it() && !measure)
		most = RUNS;
	for (i = 0; i < most && (!hit || measure); i++) {
		under_way(2 * i + 1);
		rig_err(&rig, 0);
		mark(2 * i + 2);
		over();
		now = strange(2 * i + 2);
		hit += now > 0;
		bytes += now;
	}
	note("ERR alone: %u of %u runs hit, %zu bytes", hit, i, bytes);
	if (known_for_it())
		check(hit, "ERR alone lets late writes land: the control has teeth");
	else
		skip("this kernel isn't known for it", "ERR alone lets late writes land");
}

static void fenced(void)
{
	uint32_t n = runs(RUNS), hit = 0, i;
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t generation;

	for (i = 0; i < n; i++) {
		under_way(2 * i + 1);
		bind_link(f, &rig, 1, 0);
		generation = begin(f, i, 0, SLOTS, 1);
		need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		mark(2 * i + 2);
		need(e.generation == generation &&
		     e.outcome == LKVFENCE_OUTCOME_REVOKED &&
		     e.evidence == LKVFENCE_EVIDENCE_QP_ERR_SETTLED, "released as revoked");
		over();
		hit += strange(2 * i + 2) > 0;
	}
	check(!hit, "%u revocations with settling: %u were hit", n, hit);
	stat = stat_of(f);
	check(stat.released[LKVFENCE_OUTCOME_REVOKED] == n && !stat.slots_taken &&
	      !stat.revokes_failed && adds_up(&stat), "no slot is lost");
}

int main(void)
{
	rig_new(&rig, SLOTS);
	rig.message = MESSAGE;
	f = region("err-alone", SLOTS);
	control();
	fenced();
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
