// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The table on the screen, and the same for programs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <lkvfence.h>
#include "bench.h"

#define MAX_LINES	192
#define WIDTH		58

struct line {
	char group[64];
	const char *name;
	enum unit unit;
	struct stats stats;
	double budget;
};

static struct line lines[MAX_LINES];
static uint32_t nr_lines;
static char group[64];

void report_group(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(group, sizeof(group), format, args);
	va_end(args);
}

void report_add(const char *name, enum unit unit, const struct stats *stats,
		double budget)
{
	struct line *line = &lines[nr_lines++];

	if (nr_lines > MAX_LINES) {
		errno = 0;
		die("more than %d lines", MAX_LINES);
	}
	memcpy(line->group, group, sizeof(group));
	line->name = name;
	line->unit = unit;
	line->stats = *stats;
	line->budget = budget;
}

/* Budgets are in instructions; nanoseconds can't be held against them. */
static double budget_of(const struct machine *machine, const struct line *line)
{
	return machine->instructions || line->unit == UNIT_RATIO ? line->budget : 0;
}

static bool is_above(const struct machine *machine, const struct line *line)
{
	double budget = budget_of(machine, line);

	return budget && line->stats.median > budget;
}

static const char *unit_name(const struct machine *machine, enum unit unit)
{
	switch (unit) {
	case UNIT_COST:
		return machine->instructions ? "instructions" : "ns";
	case UNIT_COST_EACH:
		return machine->instructions ? "instructions each" : "ns each";
	case UNIT_RATIO:
		return "times";
	}
	return "";
}

/* Small numbers with their fraction, others without. */
static void print_number(enum unit unit, double value)
{
	char text[32];

	if (unit == UNIT_RATIO)
		snprintf(text, sizeof(text), "%.2f x", value);
	else if (unit == UNIT_COST_EACH && value < 100)
		snprintf(text, sizeof(text), "%.2f", value);
	else
		snprintf(text, sizeof(text), "%.0f", value);
	printf(" %10s", text);
}

void report_print(const struct machine *machine)
{
	const char *last = "";
	uint32_t above = 0, i;

	printf("\nlkvfence-bench: kernel %s, module %s, ABI %u, library %s\n",
	       machine->kernel, machine->module, machine->abi, lkvfence_version());
	if (machine->instructions)
		printf("Instructions, of user space and kernel, counted by the clock (1 ns is one).\n");
	else
		printf("NANOSECONDS, NOT INSTRUCTIONS: not run by `make bench`; budgets don't apply.\n");
	printf("Taken off each operation, not off latencies: %.0f, the cost of reading the clock and of an empty call.\n",
	       measure_overhead());
	printf("Memory is %scharged to a cgroup.\n", machine->charged ? "" : "NOT ");
	printf("\n%-*s %10s %10s %10s %10s\n", WIDTH, "", "median", "least", "99 %", "at most");

	for (i = 0; i < nr_lines; i++) {
		const struct line *line = &lines[i];
		double budget = budget_of(machine, line);

		if (strcmp(last, line->group))
			printf("%s\n", line->group);
		last = line->group;
		printf("  %-*s", WIDTH - 2, line->name);
		print_number(line->unit, line->stats.median);
		print_number(line->unit, line->stats.min);
		if (line->stats.p99)
			print_number(line->unit, line->stats.p99);
		else if (budget)
			printf(" %10s", "");
		if (budget)
			print_number(line->unit, budget);
		if (is_above(machine, line)) {
			printf("  ABOVE");
			above++;
		}
		putchar('\n');
	}
	if (machine->instructions)
		printf("\n%u above budget.\n", above);
}

/* A JSON string; the texts here are our own or a version's. */
static void json_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		if ((unsigned char)*text >= ' ')
			fputc(*text, f);
	}
	fputc('"', f);
}

static void json_optional(FILE *f, const char *name, double value)
{
	fprintf(f, ", \"%s\": ", name);
	if (value)
		fprintf(f, "%.3f", value);
	else
		fputs("null", f);
}

static void json_line(FILE *f, const struct machine *machine,
		      const struct line *line)
{
	double budget = budget_of(machine, line);

	fputs("\t\t{\"name\": ", f);
	json_string(f, line->name);
	fputs(", \"group\": ", f);
	json_string(f, line->group);
	fputs(", \"unit\": ", f);
	json_string(f, unit_name(machine, line->unit));
	fprintf(f, ", \"median\": %.3f, \"min\": %.3f", line->stats.median,
		line->stats.min);
	json_optional(f, "p99", line->stats.p99);
	json_optional(f, "budget", budget);
	fprintf(f, ", \"above_budget\": %s, \"repetitions\": %u}",
		is_above(machine, line) ? "true" : "false", line->stats.repeat);
}

void report_json(const struct machine *machine, const char *path)
{
	FILE *f = fopen(path, "w");
	uint32_t i;

	if (!f)
		die("%s", path);
	fputs("{\n\t\"kernel\": ", f);
	json_string(f, machine->kernel);
	fputs(",\n\t\"module\": ", f);
	json_string(f, machine->module);
	fprintf(f, ",\n\t\"abi\": %u", machine->abi);
	fputs(",\n\t\"library\": ", f);
	json_string(f, lkvfence_version());
	fprintf(f, ",\n\t\"counts_instructions\": %s",
		machine->instructions ? "true" : "false");
	fprintf(f, ",\n\t\"memory_charged\": %s",
		machine->charged ? "true" : "false");
	fprintf(f, ",\n\t\"clock_overhead\": %.3f", measure_overhead());
	fputs(",\n\t\"operations\": [\n", f);
	for (i = 0; i < nr_lines; i++) {
		json_line(f, machine, &lines[i]);
		fputs(i + 1 < nr_lines ? ",\n" : "\n", f);
	}
	fputs("\t]\n}\n", f);
	if (ferror(f) | fclose(f))
		die("%s", path);
}
