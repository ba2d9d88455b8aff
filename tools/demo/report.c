// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What a run comes to: the numbers, as a table and as JSON. story.c tells one case. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "demo.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The least value that @percent of 100 don't exceed. */
static double percentile_ms(const uint64_t *sorted, uint32_t nr, uint32_t percent)
{
	return nr ? (double)sorted[((uint64_t)nr * percent + 99) / 100 - 1] / NS_PER_MS : 0;
}

/*
 * The engine's count and the module's, against each other: what was begun is
 * over, each in one way, and the ways agree with what the events told.
 */
static bool books_agree(const struct options *opt, const struct board *board,
			const struct tally *tally)
{
	const struct lkvfence_stat *stat = &board->stat;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LKVFENCE_NR_OUTCOMES; i++) {
		sum += stat->released[i];
		if (stat->released[i] != tally->outcomes[i])
			return false;
	}
	return stat->begun == opt->requests && stat->begun == stat->transfers_alive + sum &&
	       !stat->transfers_alive && !stat->slots_taken && !stat->slots_held;
}

void report_tally(const struct options *opt, const struct board *board, struct tally *tally)
{
	uint64_t *held = calloc(opt->requests, sizeof(*held));

	if (!held)
		die("no memory");
	memset(tally, 0, sizeof(*tally));
	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct life *life = board->lives + i;

		if (life->hung_up_ns)
			held[tally->aborted++] = life->held_ns;
		else if (life->finished_ns)
			tally->completed++;
		tally->corrupted += life->stray_bytes > 0;
		tally->stray_bytes += life->stray_bytes;
		tally->outcomes[life->outcome]++;
	}
	qsort(held, tally->aborted, sizeof(*held), compare);
	tally->hold_p50_ms = percentile_ms(held, tally->aborted, 50);
	tally->hold_p99_ms = percentile_ms(held, tally->aborted, 99);
	free(held);
	for (uint32_t i = 0; i < opt->requests; i++) {
		const struct write_log *write = late_write(board, i);
		double late_ms;

		if (!write)
			continue;
		late_ms = (double)(write->landed_ns - board->lives[i].hung_up_ns) / NS_PER_MS;
		if (late_ms > tally->latest_ms)
			tally->latest_ms = late_ms;
		tally->late++;
	}
	tally->adds_up = !board->fence || books_agree(opt, board, tally);
}

/* A slot's return without the fence has no outcome of the ABI; it gets a word of its own. */
static const char *outcome_name(uint32_t outcome)
{
	return outcome == LKVFENCE_OUTCOME_NONE ? "unfenced" : lkvfence_outcome_name(outcome);
}

static void row(const char *what)
{
	printf("  %-44s", what);
}

void report_table(const struct options *opt, struct board * const *runs,
		  const struct tally *tallies, uint32_t nr)
{
	uint32_t i, k;

#define ROW(what, format, value)			\
	do {						\
		row(what);				\
		for (i = 0; i < nr; i++)		\
			printf(format, value);		\
		putchar('\n');				\
	} while (0)

	putchar('\n');
	ROW("", "%18s", runs[i]->fence ? "with the fence" : "without fence");
	ROW("requests", "%18u", opt->requests);
	ROW("completed", "%18u", tallies[i].completed);
	ROW("aborted: the client hung up in mid-transfer", "%18u", tallies[i].aborted);
	ROW("    with writes that landed after that", "%18u", tallies[i].late);
	ROW("requests that read another's text", "%18u", tallies[i].corrupted);
	ROW("stray bytes read", "%18llu", (unsigned long long)tallies[i].stray_bytes);
	for (k = 0; k < LKVFENCE_NR_OUTCOMES; k++) {
		char what[64];

		snprintf(what, sizeof(what), "slots came back as: %s", outcome_name(k));
		for (i = 0; i < nr && !tallies[i].outcomes[k]; i++)
			;
		if (i < nr)
			ROW(what, "%18u", tallies[i].outcomes[k]);
	}
	ROW("hold, ms: half of them at most", "%18.1f", tallies[i].hold_p50_ms);
	ROW("hold, ms: 99 of 100 at most", "%18.1f", tallies[i].hold_p99_ms);
	ROW("latest write after a hang-up, ms", "%18.1f", tallies[i].latest_ms);
	ROW("deadline of a hold, ms", "%18.0f",
	    runs[i]->fence ? (double)runs[i]->hold_ns / NS_PER_MS : 0);
	ROW("acknowledgements: drained", "%18u",
	    runs[i]->ranks[0].acks_drained + runs[i]->ranks[1].acks_drained);
	ROW("acknowledgements: lost on the way", "%18u",
	    runs[i]->ranks[0].acks_lost + runs[i]->ranks[1].acks_lost);
	ROW("acknowledgements: failed, no proof", "%18u",
	    runs[i]->ranks[0].acks_failed + runs[i]->ranks[1].acks_failed);
	ROW("acknowledgements: sent twice", "%18u",
	    runs[i]->ranks[0].acks_twice + runs[i]->ranks[1].acks_twice);
	ROW("slots lost", "%18u", runs[i]->slots_lost);
	ROW("the module's books agree", "%18s",
	    !runs[i]->fence ? "-" : tallies[i].adds_up ? "yes" : "NO");
	ROW("a full send queue drained in, ms", "%18.0f",
	    (double)(runs[i]->ranks[0].drain_ns > runs[i]->ranks[1].drain_ns ?
		     runs[i]->ranks[0].drain_ns : runs[i]->ranks[1].drain_ns) / NS_PER_MS);
	ROW("seconds", "%18.1f", (double)(runs[i]->end_ns - runs[i]->start_ns) / 1e9);
#undef ROW
}

static void json_run(FILE *file, const struct options *opt, const struct board *board,
		     const struct tally *tally)
{
	const struct rank_log *a = &board->ranks[0], *b = &board->ranks[1];

	fprintf(file, "  \"%s\": {\n", board->fence ? "fence" : "control");
	fprintf(file, "    \"requests\": %u,\n    \"completed\": %u,\n    \"aborted\": %u,\n",
		opt->requests, tally->completed, tally->aborted);
	fprintf(file, "    \"corrupted_requests\": %u,\n    \"stray_bytes\": %llu,\n",
		tally->corrupted, (unsigned long long)tally->stray_bytes);
	fprintf(file, "    \"outcomes\": {");
	for (uint32_t i = board->fence; i < LKVFENCE_NR_OUTCOMES; i++)
		fprintf(file, "%s \"%s\": %u", i > board->fence ? "," : "", outcome_name(i),
			tally->outcomes[i]);
	fprintf(file, " },\n    \"hold_ms\": { \"p50\": %.3f, \"p99\": %.3f },\n",
		tally->hold_p50_ms, tally->hold_p99_ms);
	fprintf(file, "    \"aborted_with_late_writes\": %u,\n", tally->late);
	fprintf(file, "    \"latest_write_ms\": %.3f,\n", tally->latest_ms);
	fprintf(file, "    \"slots_lost\": %u,\n", board->slots_lost);
	fprintf(file, "    \"acks\": { \"drained\": %u, \"lost\": %u, ",
		a->acks_drained + b->acks_drained, a->acks_lost + b->acks_lost);
	fprintf(file, "\"failed\": %u, \"twice\": %u },\n",
		a->acks_failed + b->acks_failed, a->acks_twice + b->acks_twice);
	if (board->fence) {
		fprintf(file, "    \"deadline_least_ms\": %u,\n", opt->hold_ms);
		fprintf(file, "    \"deadline_ms\": %.3f,\n", (double)board->hold_ns / NS_PER_MS);
		fprintf(file, "    \"acks_refused\": %u,\n", board->duplicate_acks);
		fprintf(file, "    \"books_agree\": %s,\n", tally->adds_up ? "true" : "false");
	}
	fprintf(file, "    \"seconds\": %.3f\n  }",
		(double)(board->end_ns - board->start_ns) / 1e9);
}

static void json_stuck(FILE *file, const struct stuck_row *rows, uint32_t nr)
{
	fprintf(file, ",\n  \"stuck\": [");
	for (uint32_t i = 0; i < nr; i++) {
		fprintf(file, "%s\n    { \"way\": \"%s\", \"hold_ms\": %.3f, \"hold_max_ms\": %.3f,",
			i ? "," : "", rows[i].name, rows[i].held_ms, rows[i].most_ms);
		fprintf(file, " \"outcome\": \"%s\", \"evidence\": \"%s\", \"stray_bytes\": %llu }",
			lkvfence_outcome_name(rows[i].outcome),
			lkvfence_evidence_name(rows[i].evidence),
			(unsigned long long)rows[i].stray_bytes);
	}
	fprintf(file, "\n  ]");
}

static void json_pull(FILE *file, const struct pull_row rows[2])
{
	fprintf(file, ",\n  \"pull\": {");
	for (int fence = 0; fence < 2; fence++) {
		fprintf(file, "%s\n    \"%s\": { \"tries\": %u, \"hold_max_ms\": %.3f,",
			fence ? "," : "", fence ? "fence" : "control", rows[fence].tries,
			rows[fence].most_ms);
		fprintf(file, " \"outcome\": \"%s\", \"foreign_bytes\": %llu, \"late_refused\": %u }",
			lkvfence_outcome_name(rows[fence].outcome),
			(unsigned long long)rows[fence].foreign_bytes, rows[fence].late_refused);
	}
	fprintf(file, "\n  }");
}

static void json_peer(FILE *file, const struct peer_row rows[2])
{
	const struct lkvfence_peer *counted = &rows[1].counted;

	fprintf(file, ",\n  \"peer\": {");
	for (int table = 0; table < 2; table++) {
		const struct peer_row *r = rows + table;

		fprintf(file, "%s\n    \"%s\": { \"before\": %u, \"tried\": %u, \"refused\": %u,",
			table ? "," : "", table ? "table" : "control", r->before, r->tried,
			r->refused);
		fprintf(file, " \"refused_ms\": %.3f,", r->half_ms);
		fprintf(file, " \"refused_max_ms\": %.3f, \"waited\": %u, \"waited_min_ms\": %.3f,",
			r->refused_ms, r->waited, r->least_ms);
		fprintf(file, " \"waited_max_ms\": %.3f, \"slots_lost\": %u }", r->waited_ms,
			r->slots_lost);
	}
	fprintf(file, ",\n    \"stayed_healthy\": %s, \"new_generation\": %s, \"late_is_stale\": %s,",
		rows[1].stayed ? "true" : "false", rows[1].new_generation ? "true" : "false",
		rows[1].late_stale ? "true" : "false");
	fprintf(file, "\n    \"probes_in_vain\": %u, \"back_ms\": %.3f, \"after\": %u,",
		rows[1].in_vain, rows[1].back_ms, rows[1].after);
	fprintf(file, "\n    \"counted\": { \"failures\": %llu, \"recoveries\": %llu, \"probes\": %llu,",
		counted->failures, counted->recoveries, counted->probes);
	fprintf(file, " \"refused\": %llu, \"sessions\": %llu, \"stale\": %llu }\n  }",
		counted->refused, counted->sessions, counted->stale);
}

void report_json(const struct options *opt, struct board * const *runs,
		 const struct tally *tallies, uint32_t nr, const struct stuck_row *rows,
		 uint32_t nr_rows, const struct pull_row *pulls, const struct peer_row *peers)
{
	FILE *file = fopen(opt->json, "we");
	struct utsname name;

	if (!file || uname(&name))
		die("%s: %s", opt->json, strerror(errno));
	fprintf(file, "{\n  \"kernel\": \"%s\",\n  \"seed\": %llu,\n  \"hangups_percent\": %u,\n",
		name.release, (unsigned long long)opt->seed, opt->hangups);
	fprintf(file, "  \"slots\": %u,\n  \"slot_size\": %u", opt->nr_slots, opt->slot_size);
	for (uint32_t i = 0; i < nr; i++) {
		fprintf(file, ",\n");
		json_run(file, opt, runs[i], tallies + i);
	}
	if (nr_rows)
		json_stuck(file, rows, nr_rows);
	if (pulls)
		json_pull(file, pulls);
	if (peers)
		json_peer(file, peers);
	fprintf(file, "\n}\n");
	if (fclose(file))
		die("%s: %s", opt->json, strerror(errno));
}
