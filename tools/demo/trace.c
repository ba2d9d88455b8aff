// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests from a production trace: when they arrive, how long the prompt is,
 * how long the answer; and, since the trace doesn't tell, whose client hangs
 * up and when. The same options give the same requests, in every run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "demo.h"

#define TOKENS_PER_STEP	16	/* of the answer; one step stands for so many real ones */
#define MAX_STEPS	64
#define MIN_STEPS	16

/* A number that depends on the seed and on @n only (splitmix64). */
static uint64_t chance(uint64_t seed, uint64_t n)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15ULL + n * 0xd1342543de82ef95ULL + 1;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static uint32_t bounded(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

static uint64_t member(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* One request from a line of JSON; the members are numbers, and of known names. */
static void parse(const struct options *opt, const char *line, struct plan *plan)
{
	uint64_t input = member(line, "\"input_length\":");
	uint64_t output = member(line, "\"output_length\":");

	if (!input)
		die("%s: not a request: %.60s", opt->trace, line);
	plan->arrive_ns = member(line, "\"timestamp\":") * NS_PER_MS / opt->speed;
	plan->nr_slots = bounded((input + opt->tokens_per_slot - 1) / opt->tokens_per_slot, 1,
				 opt->nr_slots / 2 < MAX_SLOTS ? opt->nr_slots / 2 : MAX_SLOTS);
	plan->nr_steps = bounded(output / TOKENS_PER_STEP, MIN_STEPS, MAX_STEPS);
	plan->hang_up_at = NOBODY;
}

/*
 * Chooses the clients that hang up: as many as asked for, each request with a
 * chance that grows with its length. So it is in the field too: the longer it
 * takes, the more lose patience. Each waits until up to a quarter has landed.
 */
static void choose_hangups(const struct options *opt, struct plan *plan)
{
	uint32_t wanted = (uint32_t)((uint64_t)opt->requests * opt->hangups / 100);
	uint64_t left = 0;

	for (uint32_t i = 0; i < opt->requests; i++)
		left += plan[i].nr_slots;
	while (wanted) {
		uint64_t at = chance(opt->seed, wanted) % left;
		uint32_t i = 0;

		/* The request in which slot @at of those not yet chosen lies. */
		while (plan[i].hang_up_at != NOBODY || at >= plan[i].nr_slots) {
			if (plan[i].hang_up_at == NOBODY)
				at -= plan[i].nr_slots;
			i++;
		}
		left -= plan[i].nr_slots;
		plan[i].hang_up_at = (uint32_t)(chance(~opt->seed, i) % (plan[i].nr_slots / 4 + 1));
		wanted--;
	}
}

struct plan *plan_make(const struct options *opt)
{
	struct plan *plan = calloc(opt->requests, sizeof(*plan));
	FILE *file = fopen(opt->trace, "re");
	uint32_t nr = 0, slots = 0;
	size_t size = 0;
	char *line = NULL;

	if (!file)
		die("%s: %s", opt->trace, strerror(errno));
	if (!plan)
		die("no memory");
	while (nr < opt->requests && getline(&line, &size, file) > 0) {
		parse(opt, line, plan + nr);
		plan[nr].first_slot = slots;
		slots += plan[nr].nr_slots;
		nr++;
	}
	if (nr < opt->requests)
		die("%s has only %u requests", opt->trace, nr);
	free(line);
	fclose(file);
	choose_hangups(opt, plan);
	return plan;
}
