// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A load from several producers is over when each of them has answered and what was
 * granted is read; one that fails early frees nothing that another one still fills. A
 * consumer whose client is gone tells the producers, and has its own slots back only
 * after the answers to what it had asked.
 */
#include "pull.h"

#define NAME		"pull-fan-out"
#define PRODUCERS	3

static struct lkvfence *producers[PRODUCERS], *asks[PRODUCERS], *consumer;
static uint64_t offers[PRODUCERS], tickets[PRODUCERS];
/* Each load has another one: of the last it is known how it ended. */
static uint64_t tag;

/* One request: the consumer's slots, with a lease for each producer, and a pull of each. */
static uint64_t load(void)
{
	unsigned int i;
	uint64_t g;

	tag++;
	g = begin(consumer, tag, 0, 8, PRODUCERS);
	for (i = 0; i < PRODUCERS; i++) {
		tickets[i] = pull(asks[i], tag, 100);
		offers[i] = offer(producers[i], tag, 0, 8, 0);
	}
	return g;
}

/* What was read is read; nothing was launched where nothing was granted. */
static int answered(uint64_t g, unsigned int i)
{
	return drained(consumer, g, i + 1);
}

static void one_fails(void)
{
	struct lkvfence_abort a = { .reason = LKVFENCE_REASON_FAILED };
	uint64_t g = load();
	struct lkvfence_event e;

	need(!ready(producers[0], offers[0], 0, 1), "READY");
	check(granted(asks[0], tickets[0], offers[0]), "the first producer is read from");
	need(!lkvfence_abort_generation(producers[1], offers[1]), "ABORT");
	check(refused(asks[1], tickets[1], LKVFENCE_REASON_ABORTED), "the second one fails");
	gives(answered(g, 1), 0, "so nothing of it will land");
	a.generation = g;
	need(!lkvfence_abort(consumer, &a), "ABORT");
	check(a.state == LKVFENCE_STATE_ENDED && a.leases_out == 2,
	      "the request has failed, and waits for two");

	/* The third one had not been ready: it is not wanted any more. */
	gives(lkvfence_drop(asks[2], offers[2]), 0, "the third producer is told");
	check(refused(asks[2], tickets[2], LKVFENCE_REASON_DROPPED), "and answers");
	gives(answered(g, 2), 0, "so nothing of it will land either");
	check(silent(consumer) && stat_of(consumer).slots_held == 8,
	      "the slots wait for the first");
	gives(lkvfence_drop(asks[0], offers[0]), 0, "which is told too");
	check(stat_of(producers[0]).slots_held == 8, "and keeps its slots, for they are read");
	gives(drained(asks[0], offers[0], 100) ?: answered(g, 0), 0, "until that is over");
	e = at_once(consumer);
	check(e.generation == g && e.type == LKVFENCE_EVENT_RELEASED &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "all slots are back, with proof");
}

static void client_goes(void)
{
	uint64_t g = load();
	struct lkvfence_event e;
	unsigned int i;

	need(!lkvfence_abort_generation(consumer, g), "ABORT");
	need(!ready(producers[0], offers[0], 0, 1), "READY");
	gives(lkvfence_withdraw(asks[0], tickets[0]), -ENOENT, "too late for the first");
	gives(lkvfence_withdraw(asks[1], tickets[1]) ?: lkvfence_withdraw(asks[2], tickets[2]), 0,
	      "the others are withdrawn");
	for (i = 0; i < PRODUCERS; i++)
		need(!lkvfence_drop(asks[i], offers[i]), "ABORT");
	check(refused(asks[1], tickets[1], LKVFENCE_REASON_WITHDRAWN) &&
	      refused(asks[2], tickets[2], LKVFENCE_REASON_WITHDRAWN),
	      "one answer each: what came first");
	check(silent(asks[1]) && silent(asks[2]), "and no second one");
	need(!answered(g, 1) && !answered(g, 2), "RETURN");
	check(stat_of(consumer).slots_held == 8, "the slots wait for the original answer");
	check(granted(asks[0], tickets[0], offers[0]), "which is a grant");
	gives(stat_of(producers[0]).slots_held, 8, "of slots that are kept");
	/* Nothing was launched, for nobody wants it. */
	gives(drained(asks[0], offers[0], 100) ?: answered(g, 0), 0, "it is given back");
	e = at_once(consumer);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_DRAINED, "all slots are back");
	for (i = 0; i < PRODUCERS; i++)
		need(!stat_of(producers[i]).slots_taken, "the producers'");
}

static void all_is_well(void)
{
	uint64_t g = load();
	unsigned int i;

	for (i = PRODUCERS; i--;) {
		need(!ready(producers[i], offers[i], 0, 1), "READY");
		need(granted(asks[i], tickets[i], offers[i]), "a grant");
		gives(lkvfence_release(consumer, g), -EBUSY, "it is not over: %u", i);
		need(!drained(asks[i], offers[i], 100) && !answered(g, i), "RETURN");
		check(!stat_of(producers[i]).slots_taken, "producer %u is done", i);
	}
	gives(lkvfence_release(consumer, g), 0, "it is, when each has answered");
}

int main(void)
{
	char name[32];
	unsigned int i;

	consumer = region(NAME, 64);
	for (i = 0; i < PRODUCERS; i++) {
		snprintf(name, sizeof(name), NAME "-%u", i);
		producers[i] = region(name, 64);
		asks[i] = region(name, 0);
	}
	all_is_well();
	one_fails();
	client_goes();
	for (i = 0; i < PRODUCERS; i++) {
		lkvfence_close(asks[i]);
		lkvfence_close(producers[i]);
	}
	lkvfence_close(consumer);
	return done();
}
