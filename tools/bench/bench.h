/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * lkvfence-bench: what each operation costs.
 *
 *   main.c      options, and what the machine must be like
 *   measure.c   the clock, repetition, and what is taken off
 *   baseline.c  what other system calls cost, to compare with
 *   fence.c     the operations of the fence
 *   orphans.c   the same among sources whose handle is gone
 *   latency.c   how long slots stay out after the last write
 *   answers.c   how soon who waits for a pull, a group or a peer is told
 *   causes.c    each way to tell them
 *   waiter.c    the thread that waits there
 *   verbs.c     queue pairs, for orphans.c and latency.c
 *   report.c    the table and the JSON file
 *
 * Under `qemu -icount shift=0` the guest's clock moves on by one nanosecond
 * with each instruction, so that time is a count of instructions and two runs
 * agree. Elsewhere the same program gives plain nanoseconds, and says so.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What the options say. */
struct options {
	const char *json;
	uint32_t repeat;
	uint32_t holds;
	uint32_t pulls;
	const char *only;
};

/**
 * struct op - something to measure
 * @name: for the table
 * @budget: instructions it may take, or 0 for no budget
 * @before: makes ready for one @run, not measured; may be NULL
 * @run: what is measured
 * @after: cleans up behind one @run, not measured; may be NULL
 */
struct op {
	const char *name;
	double budget;
	void (*before)(void);
	void (*run)(void);
	void (*after)(void);
};

/* What measuring gave, the cost of the clock taken off. */
struct stats {
	double median;
	double min;
	double p99;		/* 0: not taken */
	uint32_t repeat;
};

/* Ends the program, with errno's text if there is one. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* measure.c */
/* Finds out what reading the clock costs; to be called once, first. */
void measure_calibrate(uint32_t repeat);
double measure_overhead(void);
/* Is a nanosecond of this clock an instruction? */
bool measure_counts_instructions(void);
struct stats measure(const struct op *op, uint32_t repeat);
/* What single times come to; nothing is taken off them. They are sorted. */
struct stats measure_sort(double *took, uint32_t repeat);

/* report.c */
enum unit {
	UNIT_COST,		/* instructions, or ns */
	UNIT_COST_EACH,		/* the same, for one more of something */
	UNIT_RATIO,
};

/* What a report says about the whole run. */
struct machine {
	bool instructions;	/* else: nanoseconds */
	bool charged;		/* memory is charged to a cgroup */
	char kernel[65];
	char module[32];
	uint32_t abi;
};

/* A heading in the table; the lines below it are in that group in the JSON. */
void report_group(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_add(const char *name, enum unit unit, const struct stats *stats,
		double budget);
void report_print(const struct machine *machine);
void report_json(const struct machine *machine, const char *path);

void baseline(const struct options *options);
void fence(const struct options *options);
void orphans(const struct options *options);
void latency(const struct options *options);
void answers(const struct options *options);

#endif /* BENCH_H */
