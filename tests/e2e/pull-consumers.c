// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * READY with a number of consumers: when as many have taken it, and nobody is at it
 * any more, the transfer is finished by itself, and forgotten: there is no tombstone.
 */
#include "pull.h"

#define NAME	"pull-consumers"
#define TAG	1

static struct lkvfence *producer, *consumer;

/* It ended by itself, and the producer is told. */
static void finished(uint64_t g, const char *what)
{
	struct lkvfence_event e = at_once(producer);
	struct lkvfence_stat stat = stat_of(producer);

	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g &&
	      e.reason == LKVFENCE_REASON_FINISHED && !e.flags && !e.held_ns &&
	      e.outcome == LKVFENCE_OUTCOME_COMPLETED &&
	      e.evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE, "%s: it is finished", what);
	check(silent(producer) && !stat.tombstones && !stat.slots_taken &&
	      !stat.transfers_ready, "%s: once, and forgotten", what);
}

/* @consumers are awaited, and @pulls come, each returned at once. */
static uint64_t taken(uint32_t consumers, uint32_t pulls)
{
	uint64_t g = offer(producer, TAG, 0, 8, 0);
	uint32_t i;

	need(!ready(producer, g, 0, consumers), "READY");
	for (i = 0; i < pulls; i++) {
		need(granted(consumer, pull(consumer, TAG, 100 + i), g), "a grant");
		need(!drained(consumer, g, 100 + i), "RETURN");
	}
	return g;
}

static void by_number(void)
{
	static const uint32_t numbers[] = { 1, 2, 64, 4096 };
	unsigned int i;
	uint64_t g;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		char what[32];

		snprintf(what, sizeof(what), "%u consumers", numbers[i]);
		g = taken(numbers[i], numbers[i] - 1);
		check(query(producer, g).state == LKVFENCE_STATE_READY && silent(producer),
		      "%s: not before the last one", what);
		need(granted(consumer, pull(consumer, TAG, 99), g), "a grant");
		need(!drained(consumer, g, 99), "RETURN");
		finished(g, what);
	}
}

/* Nobody knows how many there will be: the producer finishes it. */
static void unknown_number(void)
{
	uint64_t g = taken(0, 10), late;

	check(query(producer, g).state == LKVFENCE_STATE_READY && silent(producer),
	      "no number: it stays ready");
	gives(lkvfence_release(producer, g), 0, "no number: RELEASE");
	late = pull(consumer, TAG, 100);
	check(refused(consumer, late, LKVFENCE_REASON_FINISHED),
	      "no number: there is a tombstone");
}

/* Only who has what he wanted counts; and nobody is cut off. */
static void not_taken(void)
{
	uint64_t g = offer(producer, TAG, 0, 8, 1);

	need(!ready(producer, g, 0, 2), "READY");
	need(granted(consumer, pull(consumer, TAG, 100), g) &&
	     granted(consumer, pull(consumer, TAG, 101), g) &&
	     granted(consumer, pull(consumer, TAG, 102), g), "grants");
	need(!drained(consumer, g, 100), "RETURN");
	need(!lkvfence_failed(consumer, g, 101) && !revoked(consumer, g, 101), "RETURN");
	check(silent(producer), "one whose access was taken away has not taken it");
	need(!drained(producer, g, 1), "RETURN");
	check(silent(producer), "nor has a lease that was no pull's");
	need(!lkvfence_take(consumer, g, 103) && !drained(consumer, g, 103), "TAKE");
	check(silent(producer), "even if it was taken by a consumer");
	need(granted(consumer, pull(consumer, TAG, 104), g), "a grant");
	need(!drained(consumer, g, 102), "RETURN");
	check(silent(producer) && query(producer, g).state == LKVFENCE_STATE_READY,
	      "two have, and a third one is at it");
	need(!drained(consumer, g, 104), "RETURN");
	finished(g, "when he is done");
}

static void renewed(void)
{
	uint64_t g = offer(producer, TAG, 0, 8, 0);

	gives(ready(producer, g, 0, 1), 0, "for one consumer");
	gives(ready(producer, g, 0, 2), -EINVAL, "a renewal for two");
	gives(ready(producer, g, 0, 0), 0, "a renewal that doesn't say");
	gives(ready(producer, g, 0, 1), 0, "a renewal for one");
	need(granted(consumer, pull(consumer, TAG, 100), g) &&
	     !drained(consumer, g, 100), "a pull");
	finished(g, "renewed");
	gives(ready(producer, g, 0, 1), -ESTALE, "READY of what was taken");
}

/* The data is there for a pull that had waited, and for one that comes again. */
static void again(void)
{
	struct lkvfence_pull p = a_pull(TAG, 100);
	uint64_t waits = pull(consumer, TAG, 99), g = offer(producer, TAG, 0, 8, 0), next;
	struct lkvfence_event e;

	need(!ready(producer, g, 0, 2), "READY");
	check(granted(consumer, waits, g), "one that had waited");
	check(granted(consumer, pull(consumer, TAG, 98), g), "and one that comes then");
	need(!drained(consumer, g, 98) && !drained(consumer, g, 99), "RETURN");
	finished(g, "both");

	/* The tag is used again: who was served names what he had. */
	p.generation = g;
	need(!lkvfence_pull(consumer, &p), "PULL");
	check(silent(consumer), "a pull of what comes next waits");
	next = offer(producer, TAG, 0, 8, 0);
	need(!ready(producer, next, 0, 1), "READY");
	e = at_once(consumer);
	check(is_granted(&e, p.ticket, next), "and gets that");
	need(!drained(consumer, next, 100), "RETURN");
	finished(next, "the next");
}

int main(void)
{
	producer = region(NAME, 64);
	consumer = region(NAME, 0);
	by_number();
	not_taken();
	renewed();
	again();
	unknown_number();
	lkvfence_close(consumer);
	lkvfence_close(producer);
	return done();
}
