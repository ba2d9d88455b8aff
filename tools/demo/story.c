// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One case, told so that a person understands it: what happened to one range
 * of slots, and the victim's text beside what it should have been.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "demo.h"

#define NR_LINES	12
#define COLUMN		48

struct line {
	uint64_t at_ns;
	char text[160];
};

/* A timeline: lines are added as they are found, and sorted by time. */
struct story {
	uint32_t nr;
	struct line lines[NR_LINES];
};

__attribute__((format(printf, 3, 4)))
static void add(struct story *story, uint64_t at_ns, const char *format, ...)
{
	struct line *line = story->lines + story->nr;
	va_list args;

	if (!at_ns || story->nr == NR_LINES)
		return;
	line->at_ns = at_ns;
	va_start(args, format);
	vsnprintf(line->text, sizeof(line->text), format, args);
	va_end(args);
	story->nr++;
}

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void tell(struct story *story)
{
	qsort(story->lines, story->nr, sizeof(story->lines[0]), compare);
	for (uint32_t i = 0; i < story->nr; i++)
		printf("  %8.1f ms  %s\n", (double)(story->lines[i].at_ns - story->lines[0].at_ns) /
		       NS_PER_MS, story->lines[i].text);
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
	return ((double)to_ns - (double)from_ns) / NS_PER_MS;
}

/* The victim that is easiest to understand: it counts, and what it reads doesn't. */
uint32_t report_victim(const struct options *opt, const struct board *control)
{
	uint32_t best = NOBODY, best_score = 0;

	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct life *life = control->lives + i;
		uint32_t score = 1;

		if (!life->stray_bytes || life->stray_owner >= opt->requests)
			continue;
		score += 4 * text_counts(i) + 4 * !text_counts(life->stray_owner);
		score += 2 * (life->stray_cell >= EXCERPT_BEFORE);
		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static const struct write_log *write_of(const struct board *board, uint32_t request, uint32_t slot)
{
	const struct rank_log *rank = &board->ranks[board->lives[request].rank];

	for (uint32_t i = 0; i < rank->nr_writes; i++) {
		const struct write_log *write = rank->writes + i;

		if (write->request == request && slot - write->slots.first < write->slots.count)
			return write;
	}
	return NULL;
}

/* The last write of a request that landed after its client had hung up. */
static const struct write_log *late_write(const struct board *board, uint32_t request)
{
	const struct life *life = board->lives + request;
	const struct rank_log *rank = &board->ranks[life->rank];
	const struct write_log *late = NULL;

	for (uint32_t i = 0; i < rank->nr_writes; i++) {
		if (rank->writes[i].request == request && life->hung_up_ns &&
		    rank->writes[i].landed_ns > life->hung_up_ns)
			late = rank->writes + i;
	}
	return late;
}

/* Who gets one of the slots first after a request gave them back. */
static uint32_t next_owner(const struct options *opt, const struct plan *plan,
			   const struct board *board, uint32_t request, struct lkvfence_range slots)
{
	uint32_t next = NOBODY;

	for (uint32_t i = 0; i < opt->requests; i++) {
		const uint32_t *own = board->slots + plan[i].first_slot;

		if (board->lives[i].admitted_ns < board->lives[request].freed_ns ||
		    (next != NOBODY && board->lives[i].admitted_ns > board->lives[next].admitted_ns))
			continue;
		for (uint32_t k = 0; k < plan[i].nr_slots; k++) {
			if (own[k] - slots.first < slots.count) {
				next = i;
				break;
			}
		}
	}
	return next;
}

static void title(struct lkvfence_range slots, const char *how)
{
	if (slots.count > 1)
		printf("\nSlots %u to %u, %s\n\n", slots.first, slots.first + slots.count - 1, how);
	else
		printf("\nSlot %u, %s\n\n", slots.first, how);
}

static void tell_control(const struct options *opt, const struct plan *plan,
			 const struct board *board, uint32_t victim)
{
	const struct life *v = board->lives + victim;
	uint32_t donor = v->stray_owner;
	const struct life *d = board->lives + donor;
	uint32_t index = v->stray_cell / (opt->slot_size / CELL);
	uint32_t slot = board->slots[plan[victim].first_slot + index];
	const struct write_log *late = write_of(board, donor, slot);
	const struct write_log *own = write_of(board, victim, slot);
	struct story story = { 0 };

	if (!late || !own)
		return;
	title(late->slots, "without the fence");
	add(&story, d->admitted_ns, "request %u (%s) gets them; rank %u will fill them", donor,
	    text_about(donor), d->rank);
	add(&story, late->posted_ns, "rank %u posts its write for request %u", d->rank, donor);
	add(&story, d->hung_up_ns, "the client of %u hangs up: ABORT to rank %u, slots to the free list",
	    donor, d->rank);
	add(&story, v->admitted_ns, "request %u (%s) gets slot %u; rank %u will fill it", victim,
	    text_about(victim), slot, v->rank);
	add(&story, own->landed_ns, "rank %u has written slot %u for request %u", v->rank, slot, victim);
	add(&story, late->landed_ns, "LATE WRITE: that of rank %u for request %u has landed, %.1f ms after the hang-up",
	    d->rank, donor, ms(d->hung_up_ns, late->landed_ns));
	add(&story, d->acked_ns, "rank %u answers: drained. Nobody waits for it", d->rank);
	add(&story, v->finished_ns, "request %u is complete, and nobody noticed: %u bytes it read were not its own",
	    victim, v->stray_bytes);
	tell(&story);
}

/* The same donor if it had a late write in this run too, else whoever had the latest. */
static uint32_t choose_donor(const struct options *opt, const struct board *board, uint32_t donor)
{
	double longest = 0;

	if (donor < opt->requests && late_write(board, donor) &&
	    board->lives[donor].outcome == LKVFENCE_OUTCOME_DRAINED)
		return donor;
	donor = NOBODY;
	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct write_log *late = late_write(board, i);

		if (!late || board->lives[i].outcome != LKVFENCE_OUTCOME_DRAINED)
			continue;
		if (ms(board->lives[i].hung_up_ns, late->landed_ns) > longest) {
			longest = ms(board->lives[i].hung_up_ns, late->landed_ns);
			donor = i;
		}
	}
	return donor;
}

static void tell_fenced(const struct options *opt, const struct plan *plan,
			const struct board *board, uint32_t donor)
{
	const struct write_log *late;
	struct story story = { 0 };
	const struct life *d, *n;
	uint32_t next;

	donor = choose_donor(opt, board, donor);
	if (donor == NOBODY)
		return;
	late = late_write(board, donor);
	d = board->lives + donor;
	next = next_owner(opt, plan, board, donor, late->slots);
	title(late->slots, "with the fence");
	add(&story, d->admitted_ns, "request %u (%s) gets them, as generation %llu; rank %u will fill them",
	    donor, text_about(donor), (unsigned long long)d->generation, d->rank);
	add(&story, late->posted_ns, "rank %u posts its write for request %u", d->rank, donor);
	add(&story, d->hung_up_ns, "the client of %u hangs up: ABORT to rank %u, slots are HELD", donor,
	    d->rank);
	add(&story, late->landed_ns, "LATE WRITE of rank %u has landed, %.1f ms after the hang-up: in nobody's slots",
	    d->rank, ms(d->hung_up_ns, late->landed_ns));
	add(&story, d->acked_ns, "rank %u answers for generation %llu: drained", d->rank,
	    (unsigned long long)d->generation);
	add(&story, d->freed_ns, "RELEASED (%s) after %.1f ms: slots to the free list",
	    lkvfence_outcome_name(d->outcome), (double)d->held_ns / NS_PER_MS);
	if (next != NOBODY) {
		n = board->lives + next;
		add(&story, n->admitted_ns, "request %u (%s) gets them, or some of them", next,
		    text_about(next));
		add(&story, n->finished_ns, "request %u is complete: %u bytes it read were not its own",
		    next, n->stray_bytes);
		add(&story, n->hung_up_ns, "the client of %u hangs up too", next);
	}
	tell(&story);
}

/* A cell for the eye: whose it is, and its text. */
static void print_cell(const char *cell, uint32_t request)
{
	bool own = text_owner(cell) == request;
	char text[CELL + 1];

	snprintf(text, sizeof(text), "%.*s", CELL - 1, cell);
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '.';
	/* "rNNNNN.sNNNN text" */
	printf("%c %.6s  %-*.*s", own ? ' ' : '!', text, COLUMN, COLUMN, text + 13);
}

static void tell_texts(struct board * const *runs, uint32_t nr, uint32_t victim)
{
	const struct excerpt *left = runs[0]->excerpts + victim;
	const struct excerpt *right = nr > 1 ? runs[1]->excerpts + victim : NULL;

	printf("\nWhat request %u (%s) read, from cell %u on; foreign cells are marked with !\n\n",
	       victim, text_about(victim), left->first_cell);
	printf("  %-*s  %s\n", COLUMN + 8, "without the fence", right ? "  with the fence" : "");
	for (uint32_t i = 0; i < left->nr_cells; i++) {
		print_cell(left->cells[i], victim);
		if (right && i < right->nr_cells) {
			printf("  ");
			print_cell(right->cells[i], victim);
		}
		putchar('\n');
	}
}

void report_story(const struct options *opt, const struct plan *plan, struct board * const *runs,
		  uint32_t nr, uint32_t victim)
{
	uint32_t donor = NOBODY;

	if (victim != NOBODY) {
		tell_control(opt, plan, runs[0], victim);
		donor = runs[0]->lives[victim].stray_owner;
	}
	if (runs[nr - 1]->fence)
		tell_fenced(opt, plan, runs[nr - 1], donor);
	if (victim != NOBODY)
		tell_texts(runs, nr, victim);
}
