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
#define COLUMN		50	/* of a text */

struct line {
	uint64_t at_ns;
	const char *role;
	char text[128];
};

/* A timeline: lines are added as they are found, and sorted by time. */
struct story {
	uint32_t nr;
	struct line lines[NR_LINES];
};

/* What happened at @at_ns; nothing, if that is 0. */
__attribute__((format(printf, 4, 5)))
static void add(struct story *story, uint64_t at_ns, const char *role, const char *format, ...)
{
	struct line *line = story->lines + story->nr;
	va_list args;

	if (!at_ns || story->nr == NR_LINES)
		return;
	line->at_ns = at_ns;
	line->role = role;
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
		printf("  %8.1f ms  %-10s  %s\n",
		       (double)(story->lines[i].at_ns - story->lines[0].at_ns) / NS_PER_MS,
		       story->lines[i].role, story->lines[i].text);
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
	return ((double)to_ns - (double)from_ns) / NS_PER_MS;
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

/* The first slot of the pool in which a victim read something foreign. */
static uint32_t stray_slot(const struct options *opt, const struct plan *plan,
			   const struct board *board, uint32_t victim)
{
	uint32_t index = board->lives[victim].stray_cell / (opt->slot_size / CELL);

	return board->slots[plan[victim].first_slot + index];
}

/*
 * The victim that is easiest to understand: it counts, and what it reads in
 * the middle of that doesn't; and its own write was seen before the late one.
 */
uint32_t report_victim(const struct options *opt, const struct plan *plan,
		       const struct board *control)
{
	uint32_t best = NOBODY, best_score = 0;

	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct life *life = control->lives + i;
		const struct write_log *late, *own;
		uint32_t score = 1, slot;

		if (!life->stray_bytes || life->stray_owner >= opt->requests)
			continue;
		slot = stray_slot(opt, plan, control, i);
		late = write_of(control, life->stray_owner, slot);
		own = write_of(control, i, slot);
		if (late && own && late->landed_ns > own->landed_ns)
			score += 8;
		if (text_counts(i) && !text_counts(life->stray_owner))
			score += life->stray_cell < EXCERPT_BEFORE ? 4 : 16;
		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

/* The last write of a request that landed after its client had hung up. */
const struct write_log *late_write(const struct board *board, uint32_t request)
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
		    (next != NOBODY &&
		     board->lives[i].admitted_ns > board->lives[next].admitted_ns))
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
	uint32_t slot = stray_slot(opt, plan, board, victim);
	const struct write_log *late = write_of(board, donor, slot);
	const struct write_log *own = write_of(board, victim, slot);
	const struct lkvfence_range *a, *b;
	struct lkvfence_range both;
	struct story story = { 0 };

	if (!late || !own)
		return;
	/* The slots that are in both writes. */
	a = &late->slots;
	b = &own->slots;
	both.first = a->first > b->first ? a->first : b->first;
	both.count = (a->first + a->count < b->first + b->count ? a->first + a->count :
		      b->first + b->count) - both.first;
	title(both, "without the fence");
	add(&story, d->admitted_ns, "donor",
	    "request %u (%s) gets the slots; rank %u is to fill them", donor,
	    text_about(donor), d->rank);
	add(&story, late->posted_ns, "donor", "rank %u posts its write for request %u", d->rank,
	    donor);
	add(&story, d->hung_up_ns, "abort",
	    "the client of %u hangs up; ABORT to rank %u; the slots are free at once", donor,
	    d->rank);
	add(&story, v->admitted_ns, "victim",
	    "request %u (%s) gets the slots; rank %u is to fill them", victim,
	    text_about(victim), v->rank);
	add(&story, own->landed_ns, "victim", "rank %u's write for request %u has landed", v->rank,
	    victim);
	add(&story, late->landed_ns, "LATE WRITE",
	    "rank %u's write for request %u has landed, %.1f ms after the hang-up", d->rank, donor,
	    ms(d->hung_up_ns, late->landed_ns));
	add(&story, d->acked_ns, "", "rank %u answers the abort: drained. Nobody waited for it",
	    d->rank);
	add(&story, v->finished_ns, "victim",
	    "request %u is complete, without an error; it read %u bytes that are not its own",
	    victim, v->stray_bytes);
	tell(&story);
}

/*
 * Whose story is told of the run with the fence: best the same donor's, if it
 * had a late write here too, and somebody completed in its slots afterwards.
 */
static uint32_t choose_donor(const struct options *opt, const struct plan *plan,
			     const struct board *board, uint32_t preferred)
{
	uint32_t best = NOBODY;
	double best_score = 0;

	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct write_log *late = late_write(board, i);
		double score;
		uint32_t next;

		if (!late || board->lives[i].outcome != LKVFENCE_OUTCOME_DRAINED)
			continue;
		next = next_owner(opt, plan, board, i, late->slots);
		score = ms(board->lives[i].hung_up_ns, late->landed_ns);
		if (next != NOBODY && board->lives[next].finished_ns)
			score += 1e6;
		if (i == preferred)
			score += 1e5;
		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static void tell_fenced(const struct options *opt, const struct plan *plan,
			const struct board *board, uint32_t preferred)
{
	uint32_t donor = choose_donor(opt, plan, board, preferred), next;
	const struct write_log *late;
	const struct life *d, *n;
	struct story story = { 0 };

	if (donor == NOBODY)
		return;
	late = late_write(board, donor);
	d = board->lives + donor;
	next = next_owner(opt, plan, board, donor, late->slots);
	title(late->slots, "with the fence");
	add(&story, d->admitted_ns, "donor",
	    "request %u (%s) gets the slots; rank %u is to fill them", donor,
	    text_about(donor), d->rank);
	add(&story, late->posted_ns, "donor", "rank %u posts its write for request %u", d->rank,
	    donor);
	add(&story, d->hung_up_ns, "abort",
	    "the client of %u hangs up; ABORT to rank %u; the slots are HELD", donor, d->rank);
	add(&story, late->landed_ns, "late write",
	    "rank %u's write for request %u has landed in held slots, %.1f ms after the hang-up",
	    d->rank, donor, ms(d->hung_up_ns, late->landed_ns));
	add(&story, d->acked_ns, "proof", "rank %u answers for generation %llu: drained", d->rank,
	    (unsigned long long)d->generation);
	add(&story, d->freed_ns, "RELEASED",
	    "the slots are free, as %s; they were held for %.1f ms",
	    lkvfence_outcome_name(d->outcome), (double)d->held_ns / NS_PER_MS);
	if (next != NOBODY) {
		n = board->lives + next;
		add(&story, n->admitted_ns, "next owner",
		    "request %u (%s) gets slots of them; rank %u is to fill them", next,
		    text_about(next), n->rank);
		add(&story, n->finished_ns, "next owner",
		    "request %u is complete; it read %u bytes that are not its own", next,
		    n->stray_bytes);
		add(&story, n->hung_up_ns, "next owner", "the client of %u hangs up too", next);
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
	/* "rNNNNN.sNNNN text": the slot's number is of no interest here. */
	printf("%c %.6s  %-*.*s", own ? ' ' : '!', text, COLUMN, COLUMN, text + 13);
}

static void tell_texts(struct board * const *runs, uint32_t nr, uint32_t victim)
{
	const struct excerpt *left = runs[0]->excerpts + victim;
	const struct excerpt *right = nr > 1 ? runs[1]->excerpts + victim : NULL;

	printf("\nWhat request %u (%s) read, from cell %u on; foreign cells are marked with !\n\n",
	       victim, text_about(victim), left->first_cell);
	printf("  %-*s  %s\n", COLUMN + 10, "without the fence", right ? "with the fence" : "");
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
