// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * All orders of what happens to the members of one group: they join, are proven
 * quiet, fail, finish, are aborted, die, say nothing, come late, while their
 * regions' clocks and the group are looked at or not. Run by orders --groups.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "groups.h"
#include "orders.h"
#include "table.h"

#define MAX_DEPTH	16

static struct group_world world;
static struct group_event trail[MAX_DEPTH + 64];
static u32 trail_len;
static u64 steps;

void group_fail(const struct group_world *w, const char *fmt, ...)
{
	va_list ap;

	printf("# quarantine: %#x; the events were:\n", w->policies);
	for (u32 i = 0; i < trail_len; i++) {
		printf("# %4u: ", i + 1);
		group_event_print(&trail[i]);
	}
	printf("not ok - at %llu: ", w->now);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\norders: FAILED\n");
	exit(1);
}

static void step(struct group_world *w, const struct group_event *e)
{
	group_must(w, trail_len < sizeof(trail) / sizeof(trail[0]));
	trail[trail_len++] = *e;
	steps++;
	group_step(w, e);
}

static void group_comes_to_an_end(struct group_world *w)
{
	static struct group_world copy;
	/* The group's, then the hold of who is ended for it; or one of another's. */
	u64 end = w->now + w->limits.default_ns + 2 * w->limits.max_ns;
	u32 len = trail_len;

	copy = *w;
	/* A copy elsewhere would point into the original. */
	for (;;) {
		struct group_event e = { .kind = GE_WORK };
		u64 next;

		if (w->kicked || (w->look_at && w->look_at <= w->now)) {
			step(w, &e);
			continue;
		}
		e.kind = GE_EXPIRE;
		while (e.who < GROUP_REGIONS && fence_next_deadline(&w->f[e.who]) > w->now)
			e.who++;
		if (e.who < GROUP_REGIONS) {
			step(w, &e);
			continue;
		}
		next = group_next(w);
		if (next == U64_MAX)
			break;
		group_must(w, next <= end);
		e.kind = GE_TIME;
		step(w, &e);
	}
	for (u32 i = 0; i < w->nr; i++) {
		bool over = false, kept = false;

		for (u32 j = 0; j < w->nr; j++) {
			const struct member_fact *m = &w->facts[j];

			over |= m->joined && m->ended;
			kept |= m->joined && m->quarantined && !m->proven && !m->forced;
		}
		if (w->facts[i].joined && over && !kept)
			group_must(w, w->facts[i].free);
	}
	*w = copy;
	trail_len = len;
}

static struct group_world copies[MAX_DEPTH];
static struct table states, explored;

/* The orders of @left more events from here on. */
static u64 explore(u32 left, bool merge)
{
	struct group_event e[GROUP_EVENTS];
	u64 hash = 0, orders = 0;
	u32 len = trail_len, nr;

	if (merge) {
		hash = (group_hash(&world) | 1) + 2 * left;
		if (table_has(&explored, hash))
			return table_find(&explored, hash)[1];
	}
	nr = group_events_all(&world, e);
	copies[left - 1] = world;
	for (u32 i = 0; i < nr; i++) {
		step(&world, &e[i]);
		if (merge && !table_has(&states, group_hash(&world) | 1)) {
			table_put(&states, group_hash(&world) | 1, 1);
			group_comes_to_an_end(&world);
		} else if (!merge && left == 1) {
			group_comes_to_an_end(&world);
		}
		orders += left > 1 ? explore(left - 1, merge) : 1;
		world = copies[left - 1];
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

void group_orders(u32 depth, u32 members, bool merge)
{
	/* Nobody, each one, and all have quarantine as their policy. */
	static const u32 policies[] = { 0, 1, 2, (1 << GROUP_MEMBERS) - 1 };

	for (u32 i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		double start = seconds();
		u64 orders;

		steps = 0;
		trail_len = 0;
		group_world_init(&world, members, policies[i]);
		orders = explore(depth, merge);
		printf("ok - %s depth %u, a group of %u, quarantine %#x: %llu orders, %llu steps",
		       merge ? "merged," : "one by one,", depth, members, policies[i], orders,
		       steps);
		if (merge)
			printf(", %llu distinct states", states.used);
		printf(", %.1f s\n", seconds() - start);
		table_free(&states);
		table_free(&explored);
	}
}

static u64 random_of(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* One group after the other, each for as long as something happens to it. */
void group_walk(u64 seed, u64 nr)
{
	u64 state = seed * 0x9e3779b97f4a7c15ULL + 1, done = 0, groups = 0, released = 0;
	struct group_event e[GROUP_EVENTS];
	double start = seconds();

	while (done < nr) {
		group_world_init(&world, 2 + random_of(&state) % 2, random_of(&state) % 8);
		trail_len = 0;
		for (u32 i = 0; i < 30; i++) {
			step(&world, &e[random_of(&state) % group_events_all(&world, e)]);
			done++;
		}
		group_comes_to_an_end(&world);
		groups++;
		released += world.released;
	}
	group_must(&world, nr < 10000 || released);
	printf("ok - seed %llu, groups: %llu steps, %llu groups, %llu released, %.1f s\n", seed,
	       done, groups, released, seconds() - start);
}
