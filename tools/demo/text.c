// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * KV that a person can read. A real cache holds keys and values computed from
 * the prompt; here it holds the prompt itself, cell by cell:
 *
 *     r00041.s0007 one hundred, one, two, ...                        \n
 *
 * The front names the request and its slot, so that any cell tells whose it
 * is, wherever it turns up. What follows runs on from cell to cell. Half of
 * the requests ask for counting, so that one sees at a glance where it stops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "demo.h"

#define FRONT		13			/* "r00041.s0007 " */
#define BODY		(CELL - FRONT - 1)	/* and a newline */
#define COUNT_PERIOD	100			/* cells, three numbers in each */

static const char * const letter[] = {
	"Dear doctor, this is for your eyes only. Since",
	"the operation in March I can't sleep, and the new",
	"pills make my hands shake. Please don't tell my",
	"employer; they think that I was on holiday.",
	NULL
};

static const char * const contract[] = {
	"Check this draft contract. The buyer offers forty",
	"million for the harbour site, half of it now, and",
	"nobody must hear of it before the council votes",
	"on the ninth. Is clause seven safe for us?",
	NULL
};

static const char * const diary[] = {
	"Put this into kinder words: I am leaving you, I",
	"have a flat in Leeds from June, the children know,",
	"and your mother was told by my sister. I am sorry",
	"that you hear it from a letter.",
	NULL
};

static const struct {
	const char *about;
	const char * const *lines;
} prompts[] = {
	{ "a letter to a doctor", letter },
	{ "a secret contract", contract },
	{ "a farewell letter", diary },
};

#define NR_PROMPTS	(sizeof(prompts) / sizeof(prompts[0]))

/* The bodies of a period, and a slot's worth more: every slot is one copy. */
static struct {
	uint32_t period;
	char *cells;
} bodies[1 + NR_PROMPTS];

static uint32_t cells_per_slot;

static const char *number(uint32_t n)	/* 1 to 100 */
{
	static const char * const small[] = {
		"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
		"ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
		"seventeen", "eighteen", "nineteen",
	};
	static const char * const tens[] = {
		"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
		"ninety",
	};
	static char word[32];

	if (n == 100)
		return "one hundred";
	if (n < 20)
		return small[n];
	snprintf(word, sizeof(word), "%s%s%s", tens[n / 10], n % 10 ? "-" : "", small[n % 10]);
	return word;
}

static void body_make(uint32_t kind, uint32_t cell, char *body)
{
	char line[CELL] = "";

	if (kind) {
		snprintf(line, sizeof(line), "%s",
			 prompts[kind - 1].lines[cell % bodies[kind].period]);
	} else {
		for (uint32_t i = 0; i < 3; i++) {
			strcat(line, number((3 * cell + i) % 100 + 1));
			strcat(line, i < 2 ? ", " : ",");
		}
	}
	memset(body, ' ', CELL);
	memcpy(body + FRONT, line, strnlen(line, BODY));
	body[CELL - 1] = '\n';
}

void text_init(uint32_t slot_size)
{
	cells_per_slot = slot_size / CELL;
	for (uint32_t kind = 0; kind <= NR_PROMPTS; kind++) {
		uint32_t period = 0, nr;

		if (!kind)
			period = COUNT_PERIOD;
		else
			while (prompts[kind - 1].lines[period])
				period++;
		nr = period + cells_per_slot;
		bodies[kind].period = period;
		free(bodies[kind].cells);
		bodies[kind].cells = malloc((size_t)nr * CELL);
		if (!bodies[kind].cells)
			die("no memory");
		for (uint32_t i = 0; i < nr; i++)
			body_make(kind, i, bodies[kind].cells + (size_t)i * CELL);
	}
}

static uint32_t kind_of(uint32_t request)
{
	return request % 2 ? 1 + request / 2 % NR_PROMPTS : 0;
}

bool text_counts(uint32_t request)
{
	return !kind_of(request);
}

const char *text_about(uint32_t request)
{
	return kind_of(request) ? prompts[kind_of(request) - 1].about : "counting";
}

static void front_make(char *front, uint32_t request, uint32_t index)
{
	char text[32];

	snprintf(text, sizeof(text), "r%05u.s%04u ", request % 100000, index % 10000);
	memcpy(front, text, FRONT);
}

/* What slot number @index of the request holds. */
void text_slot(char *slot, uint32_t request, uint32_t index)
{
	uint32_t kind = kind_of(request);
	uint32_t first = (uint64_t)index * cells_per_slot % bodies[kind].period;
	char front[FRONT];

	front_make(front, request, index);
	memcpy(slot, bodies[kind].cells + (size_t)first * CELL, (size_t)cells_per_slot * CELL);
	for (uint32_t i = 0; i < cells_per_slot; i++)
		memcpy(slot + (size_t)i * CELL, front, FRONT);
}

/* One cell, counted from the request's first. */
void text_cell(char *cell, uint32_t request, uint32_t index)
{
	uint32_t kind = kind_of(request);

	memcpy(cell, bodies[kind].cells + (size_t)(index % bodies[kind].period) * CELL, CELL);
	front_make(cell, request, index / cells_per_slot);
}

/* Whose cell it is, as it says itself. */
uint32_t text_owner(const char *cell)
{
	uint32_t request = 0;

	if (cell[0] != 'r' || cell[6] != '.')
		return NOBODY;
	for (int i = 1; i < 6; i++) {
		if (cell[i] < '0' || cell[i] > '9')
			return NOBODY;
		request = 10 * request + (uint32_t)(cell[i] - '0');
	}
	return request;
}
