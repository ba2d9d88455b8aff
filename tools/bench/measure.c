// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Each repetition is timed on its own, between two readings of the clock, so
 * that making ready and cleaning up stay out of it, and so that an interrupt
 * spoils one repetition and not the median. What two readings with an empty
 * function between them cost is taken off.
 */
#include <stdlib.h>
#include <time.h>
#include "bench.h"

/* Repetitions before those that count: caches of the allocators, page faults. */
#define WARM_UP	200

static double overhead;

static uint64_t now(void)
{
	struct timespec ts;

	/* Not slewed by NTP. */
	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint64_t time_one(const struct op *op)
{
	uint64_t start, end;

	if (op->before)
		op->before();
	start = now();
	op->run();
	end = now();
	if (op->after)
		op->after();
	return end - start;
}

struct stats measure_sort(double *took, uint32_t repeat)
{
	qsort(took, repeat, sizeof(*took), compare);
	return (struct stats){
		.median = (took[(repeat - 1) / 2] + took[repeat / 2]) / 2,
		.min = took[0],
		.p99 = took[(uint64_t)repeat * 99 / 100],
		.repeat = repeat,
	};
}

struct stats measure(const struct op *op, uint32_t repeat)
{
	double *took = calloc(repeat, sizeof(*took));
	struct stats stats;
	uint32_t i;

	if (!took)
		die("no memory for %u repetitions", repeat);
	for (i = 0; i < WARM_UP; i++)
		time_one(op);
	for (i = 0; i < repeat; i++)
		took[i] = (double)time_one(op) - overhead;
	stats = measure_sort(took, repeat);
	free(took);
	return stats;
}

static void nothing(void)
{
}

void measure_calibrate(uint32_t repeat)
{
	const struct op empty = { .name = "nothing", .run = nothing };

	overhead = 0;
	overhead = measure(&empty, repeat).median;
}

double measure_overhead(void)
{
	return overhead;
}

#define SPIN	1000000

/* Two instructions a turn. */
static void spin(void)
{
	uint64_t turns = SPIN;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
}

bool measure_counts_instructions(void)
{
	const struct op op = { .name = "spin", .run = spin };
	double took = time_one(&op) - overhead;

	/* Interrupts add a little. */
	return took > 2 * SPIN * 0.99 && took < 2 * SPIN * 1.05;
}
