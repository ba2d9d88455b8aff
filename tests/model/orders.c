// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Every order of events up to a depth, or a long random one.
 *
 *	orders [--depth N] [--merge N] [--transfers N] [--sources N | --pulls] [--scene N]
 *	orders --groups N [--depth N] [--merge N]
 *	orders [--pulls | --groups N] --seed S [--steps N]
 *
 * With --sources up to N sources are bound and revoked, and with --pulls transfers
 * are offered and pulled. Those are worlds of their own, which are entered at
 * several points (events_scene(), pull_events_scene()), or at one of them. With
 * --groups it is about the members of one group, of so many: groups.c.
 *
 * --depth N runs each sequence of N events, one by one. --merge N goes deeper:
 * of worlds that look alike (states.c) it follows one, and counts the orders
 * that lead on from it once for each way to get there. --depth trusts nothing
 * but the comparison after each step; --merge trusts also that what looks
 * alike acts alike.
 *
 * Prints TAP, and as the last line "orders: passed", with status 0; or what
 * failed and after which events, then "orders: FAILED", with status 1.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orders.h"
#include "table.h"
#include "world.h"

#define MAX_DEPTH	16
#define TRAIL		40	/* the last events, told on failure */

static struct world world;
static struct event trail[TRAIL];
static u64 trail_len;
static u64 steps;

void fail(const struct world *w, const char *fmt, ...)
{
	va_list ap;
	u64 i = trail_len > TRAIL ? trail_len - TRAIL : 0;

	printf("# %s\n", i ? "The last events were:" : "The events were:");
	for (; i < trail_len; i++) {
		printf("# %6llu: ", i + 1);
		event_print(&trail[i % TRAIL]);
	}
	printf("not ok - at %llu: ", w->now);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\norders: FAILED\n");
	exit(1);
}

static void step(const struct event *e)
{
	trail[trail_len++ % TRAIL] = *e;
	steps++;
	world_step(&world, e);
}

static void *copies[MAX_DEPTH];
static struct event *choices[MAX_DEPTH];
static struct table states, explored;

/* The orders of @left more events from here on. */
static u64 explore(u32 left, bool merge)
{
	struct event *e = choices[left - 1];
	u64 hash = 0, orders = 0;
	u64 len = trail_len;
	u32 nr;

	if (merge) {
		hash = (state_hash(&world) | 1) + 2 * left;
		if (table_has(&explored, hash))
			return table_find(&explored, hash)[1];
	}
	nr = world.pulls ? pull_events_all(&world, e) : events_all(&world, e);
	if (nr > MAX_EVENTS)
		fail(&world, "%u events, and no room for them", nr);
	world_save(&world, copies[left - 1]);
	for (u32 i = 0; i < nr; i++) {
		step(&e[i]);
		if (merge)
			table_put(&states, state_hash(&world) | 1, 1);
		orders += left > 1 ? explore(left - 1, merge) : 1;
		world_restore(&world, copies[left - 1]);
		trail_len = len;
	}
	if (merge)
		table_put(&explored, hash, orders);
	return orders;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* From where the scene begins. */
static void enter(u32 transfers, u32 sources, bool pulls, u32 scene)
{
	struct event e[MAX_SCENE];
	u32 nr = 0;

	world_init(&world, 4, transfers, 2, sources, pulls);
	if (scene)
		nr = pulls ? pull_events_scene(&world, scene, e) :
			     events_scene(&world, scene, e);
	for (u32 i = 0; i < nr; i++)
		step(&e[i]);
}

static void all_orders(u32 depth, u32 transfers, u32 sources, bool pulls, u32 scene,
		       bool merge)
{
	double start = seconds();
	u64 orders;

	steps = 0;
	trail_len = 0;
	enter(transfers, sources, pulls, scene);
	for (u32 i = 0; i < depth; i++) {
		copies[i] = malloc(world_size(&world));
		choices[i] = calloc(MAX_EVENTS, sizeof(*choices[i]));
		if (!copies[i] || !choices[i]) {
			perror("orders");
			exit(1);
		}
	}
	orders = explore(depth, merge);
	printf("ok - %s depth %u, up to %u transfers",
	       merge ? "merged," : "one by one,", depth, transfers);
	if (pulls)
		printf(", pulls, scene %u", scene);
	else if (scene)
		printf(" and %u sources, scene %u", sources, scene);
	printf(": %llu orders, %llu steps", orders, steps);
	if (merge)
		printf(", %llu distinct states", states.used);
	printf(", %.1f s\n", seconds() - start);
	for (u32 i = 0; i < depth; i++) {
		free(copies[i]);
		free(choices[i]);
	}
	table_free(&states);
	table_free(&explored);
}

/* The last one needs a third transfer: it is entered only where it is asked for. */
static void all_scenes(u32 depth, u32 transfers, u32 sources, bool pulls, u32 scene,
		       bool merge)
{
	u32 scenes = pulls ? PULL_SCENES + 1 : SCENES;

	if ((!sources && !pulls) || scene) {
		all_orders(depth, transfers, sources, pulls, scene, merge);
		return;
	}
	for (scene = 1; scene < scenes; scene++)
		all_orders(depth, transfers, sources, pulls, scene, merge);
}

static void tell_pulls(u64 nr)
{
	const struct pull_counts *c = &world.p.counts;
	const u64 *refused = world.po.refused;

	printf("#   pulls: %llu, %llu granted, %llu refused, %llu closed; %llu offers refused\n",
	       c->pulls, c->pulls_granted, c->pulls_refused, c->pulls_closed,
	       c->refused_early);
	printf("#   refused as unknown %llu, deadline %llu, withdrawn %llu, source %llu\n",
	       refused[LKVFENCE_REASON_UNKNOWN], refused[LKVFENCE_REASON_DEADLINE],
	       refused[LKVFENCE_REASON_WITHDRAWN], refused[LKVFENCE_REASON_SOURCE]);
	if (nr < 100000)
		return;
	must(&world, c->pulls_granted && c->pulls_closed && c->refused_early);
	must(&world, world.po.all_taken);
	for (u32 i = LKVFENCE_REASON_FINISHED; i <= LKVFENCE_REASON_SOURCE; i++)
		must(&world, refused[i]);
}

static void random_walk(u64 seed, u64 nr, bool pulls)
{
	u64 state = seed * 0x9e3779b97f4a7c15ULL + 1;
	const struct fence_counts *c = &world.f.counts;
	double start = seconds();
	struct event e;

	world_init(&world, 150, 9, 5, 7, pulls);
	world.poison = true;
	world.limits.default_ns = 100;
	world.limits.max_ns = 300;
	world.limits.revoke_ns = 60;
	world.longest = 300;
	world.pull_limits.tombstone_ns = 80;
	world.pull_limits.max_tombstones = 3;
	world.po.tombstone = 80;
	world.po.max_tombstones = 3;
	for (u64 i = 0; i < nr; i++) {
		if (pulls)
			pull_event_random(&world, &state, &e);
		else
			event_random(&world, &state, &e);
		step(&e);
	}
	printf("#   transfers: %llu begun, %llu completed, %llu drained, %llu revoked, %llu timeout (%llu forced)\n",
	       c->begun, c->released[LKVFENCE_OUTCOME_COMPLETED],
	       c->released[LKVFENCE_OUTCOME_DRAINED],
	       c->released[LKVFENCE_OUTCOME_REVOKED],
	       c->released[LKVFENCE_OUTCOME_TIMEOUT], c->forced);
	printf("#   refused: %llu busy, %llu exists, %llu limit\n",
	       c->refused_busy, c->refused_exists, c->refused_limit);
	printf("#   returns: %llu drained, %llu failed, %llu early, %llu stale, %llu unknown, %llu duplicate\n",
	       c->returns_drained, c->returns_failed, c->returns_early,
	       c->returns_stale, c->returns_unknown, c->returns_duplicate);
	printf("#   and %llu revoked, %llu unaccepted\n", c->returns_revoked,
	       c->returns_unaccepted);
	printf("#   revocations: %llu, %llu failed; sources: %llu revoked, %llu lost, %llu refused\n",
	       c->revokes, c->revokes_failed, c->sources_revoked, c->sources_lost,
	       c->refused_revoked);
	/* A walk that never got somewhere shows nothing about it. */
	if (nr >= 100000)
		must(&world, c->released[LKVFENCE_OUTCOME_COMPLETED] &&
		     c->released[LKVFENCE_OUTCOME_DRAINED] &&
		     c->released[LKVFENCE_OUTCOME_REVOKED] &&
		     c->released[LKVFENCE_OUTCOME_TIMEOUT] && c->forced &&
		     c->refused_busy && c->refused_exists && (c->refused_limit || pulls) &&
		     c->returns_failed && c->returns_early && c->returns_stale &&
		     c->returns_unknown && c->returns_duplicate &&
		     c->returns_revoked && c->returns_unaccepted &&
		     c->revokes && c->revokes_failed && c->sources_revoked &&
		     c->sources_lost && c->refused_revoked && c->strays &&
		     c->evidence[LKVFENCE_EVIDENCE_QP_ERR_SETTLED]);
	if (pulls)
		tell_pulls(nr);
	printf("ok - seed %llu%s: %llu steps, %.1f s\n", seed, pulls ? ", pulls" : "", nr,
	       seconds() - start);
}

static u64 number(const char *s, u64 most)
{
	char *end;
	u64 v = strtoull(s, &end, 0);

	if (!*s || *end || v > most) {
		fprintf(stderr, "orders: %s: not a number up to %llu\n", s, most);
		exit(2);
	}
	return v;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "depth", required_argument, NULL, 'd' },
		{ "merge", required_argument, NULL, 'm' },
		{ "transfers", required_argument, NULL, 't' },
		{ "sources", required_argument, NULL, 'b' },
		{ "scene", required_argument, NULL, 'c' },
		{ "pulls", no_argument, NULL, 'p' },
		{ "groups", required_argument, NULL, 'g' },
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	u32 depth = 0, merge = 0, transfers = 2, sources = 0, scene = 0, members = 0;
	u64 seed = 0, nr = 100000;
	bool walk = false, pulls = false;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			depth = number(optarg, MAX_DEPTH);
			break;
		case 'm':
			merge = number(optarg, MAX_DEPTH);
			break;
		case 't':
			transfers = number(optarg, 4);
			break;
		case 'b':
			sources = number(optarg, 2);
			break;
		case 'c':
			scene = number(optarg, SCENES);
			break;
		case 'p':
			pulls = true;
			break;
		case 'g':
			members = number(optarg, 3);
			break;
		case 's':
			seed = number(optarg, U64_MAX);
			walk = true;
			break;
		case 'n':
			nr = number(optarg, U64_MAX);
			walk = true;
			break;
		default:
			return 2;
		}
	}
	if (optind < argc || !(depth || merge || walk) || (pulls && sources) ||
	    (pulls && scene > PULL_SCENES) || members == 1 || (members && (pulls || sources))) {
		fprintf(stderr, "usage: orders [--depth N] [--merge N] [--transfers N] [--sources N] [--pulls] [--groups N] [--scene N] [--seed S] [--steps N]\n");
		return 2;
	}
	if (members) {
		if (depth)
			group_orders(depth, members, false);
		if (merge)
			group_orders(merge, members, true);
		if (walk)
			group_walk(seed, nr);
		printf("orders: passed\n");
		return 0;
	}
	if (depth)
		all_scenes(depth, transfers, sources, pulls, scene, false);
	if (merge)
		all_scenes(merge, transfers, sources, pulls, scene, true);
	if (walk)
		random_walk(seed, nr, pulls);
	printf("orders: passed\n");
	return 0;
}
