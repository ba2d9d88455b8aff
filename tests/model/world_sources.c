// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Steps of bound sources: what the module does when it revokes. In which order a
 * batch takes leases is the fence's choice, so the oracle is told which it took:
 * as many as there may be, and each only once.
 */
#include <errno.h>
#include <string.h>
#include <sanitizer/asan_interface.h>

#include "world.h"

struct source_cell *source_cell_of(struct fence_source *s)
{
	return container_of(s, struct source_cell, s);
}

static struct source_cell *get_cell(struct world *w)
{
	for (u32 i = 0; i < ORACLE_SOURCES; i++) {
		struct source_cell *c = &w->sources[i];

		ASAN_UNPOISON_MEMORY_REGION(&c->used, sizeof(c->used));
		if (!c->used) {
			ASAN_UNPOISON_MEMORY_REGION(c, sizeof(*c));
			memset(c, 0xa5, sizeof(*c));
			c->used = true;
			c->quieting = false;
			return c;
		}
	}
	fail(w, "no cell for another source");
}

static void put_cell(struct world *w, struct source_cell *c)
{
	memset(c, 0xa5, sizeof(*c));
	c->used = false;
	if (w->poison)
		ASAN_POISON_MEMORY_REGION(c, sizeof(*c));
}

static struct fence_source *get_source(struct world *w, u32 source)
{
	struct fence_source *s = fence_find_source(&w->f, source);

	if (!s)
		fail(w, "source %u is lost", source);
	return s;
}

bool source_may(struct world *w, u32 source, enum event_kind kind)
{
	struct source_fact *fact = oracle_find_source(&w->o, source);
	bool all_seen, quieting;

	if (!fact)
		return kind == EV_BIND && w->o.nr_sources < ORACLE_SOURCES;
	quieting = source_cell_of(get_source(w, source))->quieting;
	all_seen = oracle_nr_seen(&w->o, source) == oracle_nr_bound(&w->o, source);
	switch (kind) {
	case EV_SOURCE_END:
		/* The caller may take all steps again. */
		return fact->access != ACCESS_BOUND;
	case EV_SOURCE_QUIET:
		return fact->access == ACCESS_REVOKED || fact->access == ACCESS_LOST ||
		       (fact->access == ACCESS_REVOKING && all_seen);
	case EV_SOURCE_LOST:
		/* What is known to be quiet isn't lost any more. */
		if (quieting)
			return false;
		return fact->access == ACCESS_LOST ||
		       (fact->access == ACCESS_REVOKING && all_seen);
	default:
		return true;
	}
}

static void do_bind(struct world *w, const struct event *e)
{
	struct source_cell *c = get_cell(w);
	int err = fence_bind(&w->f, &c->s, e->source);

	world_must_allow(w, oracle_bind_wrong(&w->o, e->source), err);
	if (err)
		put_cell(w, c);
	else
		oracle_bind(&w->o, e->source);
}

static void do_unbind(struct world *w, const struct event *e)
{
	struct fence_source *s = get_source(w, e->source);
	int err = fence_unbind(&w->f, s);

	world_must_allow(w, oracle_unbind_wrong(&w->o, e->source), err);
	if (err)
		return;
	oracle_unbind(&w->o, e->source);
	put_cell(w, source_cell_of(s));
}

static void do_revoke(struct world *w, const struct event *e)
{
	bool news = fence_source_revoke(get_source(w, e->source));

	must(w, news == oracle_revoke(&w->o, e->source));
}

static bool is_in(const struct list_head *list, const struct list_head *node)
{
	const struct list_head *p;

	for (p = list->next; p != list; p = p->next)
		if (p == node)
			return true;
	return false;
}

static struct fence_lease *find_lease(const struct fence_transfer *t, u32 source)
{
	struct rb_node *n;

	for (n = rb_first(&t->leases); n; n = rb_next(n))
		if (rb_entry(n, struct fence_lease, node)->source == source)
			return rb_entry(n, struct fence_lease, node);
	return NULL;
}

static void must_be_batch(const struct world *w, u32 nr, u32 max, u32 there)
{
	if (nr != min(max, there))
		fail(w, "%u leases at most, %u there, and %u looked at", max, there, nr);
}

static void do_end(struct world *w, const struct event *e)
{
	struct oracle_limits limits = world_limits(w);
	struct fence_source *s = get_source(w, e->source);
	u32 unseen = oracle_nr_bound(&w->o, e->source) -
		     oracle_nr_seen(&w->o, e->source);
	u32 nr, new = 0;
	const struct list_head *p;

	nr = fence_source_end(&w->f, s, &w->limits, w->now, e->max);
	must_be_batch(w, nr, e->max, unseen);
	for (p = s->ended.next; p != &s->ended; p = p->next) {
		const struct fence_lease *l =
			list_entry(p, struct fence_lease, of_source);
		struct transfer_fact *t = oracle_find(&w->o, l->transfer->generation);

		must(w, t);
		if (oracle_find_lease(t, e->source)->seen)
			continue;
		oracle_end_lease(&w->o, t, e->source, &limits, w->now);
		world_hear(w);
		new++;
	}
	must(w, new == nr);
}

/* Those that stay are seen by their leases, the others by the news. */
static void do_quiet(struct world *w, const struct event *e)
{
	struct fence_source *s = get_source(w, e->source);
	u32 there = oracle_nr_bound(&w->o, e->source);
	u32 nr, new = 0;
	struct fence_transfer *t;

	nr = fence_source_quiet(&w->f, s, e->evidence, w->now, e->max);
	must_be_batch(w, nr, e->max, there);
	for (u32 i = 0; i < w->o.nr_transfers; i++) {
		struct transfer_fact *fact = &w->o.transfers[i];
		struct lease_fact *l = oracle_find_lease(fact, e->source);

		if (!l || !l->bound || fence_lookup(&w->f, fact->generation, &t) ||
		    find_lease(t, e->source)->state != LKVFENCE_LEASE_REVOKED)
			continue;
		oracle_revoke_lease(&w->o, fact, e->source, e->evidence, w->now);
		must(w, !w->o.report.events);
		new++;
	}
	while ((t = list_first_entry_or_null(&w->f.news, struct fence_transfer, news))) {
		struct transfer_fact *fact = oracle_find(&w->o, t->generation);
		struct lease_fact *l = fact ? oracle_find_lease(fact, e->source) : NULL;

		must(w, l && l->bound);
		oracle_revoke_lease(&w->o, fact, e->source, e->evidence, w->now);
		must(w, w->o.report.events);
		world_hear(w);
		new++;
	}
	must(w, new == nr);
	source_cell_of(s)->quieting = true;
	if (nr == there)
		oracle_revoked(&w->o, e->source);
}

static void do_lost(struct world *w, const struct event *e)
{
	struct fence_source *s = get_source(w, e->source);
	u32 seen = oracle_nr_seen(&w->o, e->source);
	u32 nr, new = 0;

	nr = fence_source_lost(&w->f, s, e->max);
	must_be_batch(w, nr, e->max, seen);
	oracle_lost(&w->o, e->source);
	for (u32 i = 0; i < w->o.nr_transfers; i++) {
		struct transfer_fact *fact = &w->o.transfers[i];
		struct lease_fact *l = oracle_find_lease(fact, e->source);
		struct fence_transfer *t;
		struct cell *c;

		if (!l || !l->seen)
			continue;
		t = world_get(w, fact->generation);
		if (is_in(&s->ended, &find_lease(t, e->source)->of_source))
			continue;
		/* L4: the one time that a hold may end earlier than was said. */
		c = container_of(t, struct cell, t);
		if (fact->revoking)
			c->clock = c->deadline;
		oracle_lose_lease(&w->o, fact, e->source);
		new++;
	}
	must(w, new == nr);
}

void source_step(struct world *w, const struct event *e)
{
	switch (e->kind) {
	case EV_BIND:
		do_bind(w, e);
		break;
	case EV_UNBIND:
		do_unbind(w, e);
		break;
	case EV_REVOKE:
		do_revoke(w, e);
		break;
	case EV_SOURCE_END:
		do_end(w, e);
		break;
	case EV_SOURCE_QUIET:
		do_quiet(w, e);
		break;
	case EV_SOURCE_LOST:
		do_lost(w, e);
		break;
	default:
		fail(w, "no step of a source");
	}
}
