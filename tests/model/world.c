// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One step: ask the oracle what is allowed, call the fence, compare the answer
 * and the news, tell the oracle, compare everything.
 */
#include <errno.h>
#include <string.h>
#include <sanitizer/asan_interface.h>

#include "world.h"

void world_init(struct world *w, u32 nr_slots, u32 max_transfers,
		u32 max_leases, u32 nr_sources, bool pulls)
{
	memset(w, 0, sizeof(*w));
	w->now = 1000;
	w->limits.default_ns = 10;
	w->limits.max_ns = 25;
	w->limits.revoke_ns = 7;
	w->longest = w->limits.max_ns;
	w->max_transfers = max_transfers;
	w->max_leases = max_leases;
	w->nr_cells = max_transfers + 1;	/* one for a refused one */
	w->nr_sources = nr_sources;
	w->o.nr_slots = nr_slots;
	fence_init(&w->f, nr_slots, w->taken, w->owner);
	/* One class isn't good enough for where there are sources. */
	if (nr_sources) {
		w->o.accepts = LKVFENCE_ACCEPT_ALL & ~BIT(LKVFENCE_EVIDENCE_QP_DESTROYED);
		w->f.accepts = w->o.accepts;
	}
	w->pulls = pulls;
	pulls_init(&w->p, &w->f);
	w->pull_limits.tombstone_ns = 7;
	w->pull_limits.max_tombstones = 1;
	w->pull_limits.max_leases = max_leases;
	w->po.tombstone = w->pull_limits.tombstone_ns;
	w->po.max_tombstones = w->pull_limits.max_tombstones;
	w->po.max_leases = max_leases;
	world_compare(w);
}

/* Of its three parts: all that is always used, pulls, cells. */
#define PART1	offsetof(struct world, p)
#define PART2	(offsetof(struct world, cells) - PART1)

size_t world_size(const struct world *w)
{
	return PART1 + (w->pulls ? PART2 : 0) + w->nr_cells * sizeof(w->cells[0]);
}

void world_save(const struct world *w, char *to)
{
	memcpy(to, w, PART1);
	to += PART1;
	memcpy(to, w->cells, w->nr_cells * sizeof(w->cells[0]));
	to += w->nr_cells * sizeof(w->cells[0]);
	if (w->pulls)
		memcpy(to, &w->p, PART2);
}

void world_restore(struct world *w, const char *from)
{
	memcpy(w, from, PART1);
	from += PART1;
	memcpy(w->cells, from, w->nr_cells * sizeof(w->cells[0]));
	from += w->nr_cells * sizeof(w->cells[0]);
	if (w->pulls)
		memcpy(&w->p, from, PART2);
}

struct oracle_limits world_limits(const struct world *w)
{
	return (struct oracle_limits){
		w->limits.default_ns, w->limits.max_ns, w->limits.revoke_ns,
	};
}

static struct cell *cell_of(const struct fence_transfer *t)
{
	return container_of(t, struct cell, t);
}

static struct cell *get_cell(struct world *w)
{
	for (u32 i = 0; i < w->nr_cells; i++) {
		struct cell *c = &w->cells[i];

		ASAN_UNPOISON_MEMORY_REGION(&c->used, sizeof(c->used));
		if (!c->used) {
			ASAN_UNPOISON_MEMORY_REGION(c, sizeof(*c));
			memset(c, 0, sizeof(*c));
			/* Of a lease only the source is set. */
			memset(c->leases, 0xa5, sizeof(c->leases));
			c->used = true;
			return c;
		}
	}
	fail(w, "no cell for another transfer: the fence kept too many");
}

/* Whoever reads it from now on reads nonsense, or is caught by ASan. */
static void put_cell(struct world *w, struct cell *c)
{
	memset(c, 0xa5, sizeof(*c));
	c->used = false;
	if (w->poison)
		ASAN_POISON_MEMORY_REGION(c, sizeof(*c));
}

static u32 wrong_of(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -ERANGE:
		return WRONG_RANGE;
	case -EINVAL:
		return WRONG_INVALID;
	case -EEXIST:
		return WRONG_EXISTS;
	case -EBUSY:
		return WRONG_BUSY;
	case -ENOSPC:
		return WRONG_LIMIT;
	case -ECANCELED:
		return WRONG_CANCELED;
	case -ESTALE:
		return WRONG_STALE;
	case -ENOENT:
		return WRONG_UNKNOWN;
	case -EALREADY:
		return WRONG_TWICE;
	case -ESHUTDOWN:
		return WRONG_SHUTDOWN;
	case -EOPNOTSUPP:
		return WRONG_UNACCEPTED;
	default:
		return WRONG_OTHER;
	}
}

void world_must_allow(const struct world *w, u32 wrong, int err)
{
	u32 got = wrong_of(err);

	if (wrong ? !(got & wrong) : got)
		fail(w, "answer %d, but the oracle allows %#x", err, wrong);
}

static u32 events_of(u32 bits)
{
	return !!(bits & FENCE_NEWS_ENDED) << LKVFENCE_EVENT_ENDED |
	       !!(bits & FENCE_NEWS_QUARANTINED) << LKVFENCE_EVENT_QUARANTINED |
	       !!(bits & FENCE_NEWS_RELEASED) << LKVFENCE_EVENT_RELEASED;
}

/* Whom the caller is told to revoke is closed already. */
static void must_be_revoking(const struct world *w, const struct fence_transfer *t)
{
	struct rb_node *n;

	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (l->state == LKVFENCE_LEASE_DRAINED ||
		    l->state == LKVFENCE_LEASE_REVOKED)
			continue;
		must(w, l->bound);
		must(w, l->bound->state == FENCE_SOURCE_REVOKING);
	}
}

/* One piece of news must be what the oracle reports of this step. */
static void hear(struct world *w, struct fence_transfer *t, u32 bits,
		 const struct report *r)
{
	if (t->generation != r->generation || events_of(bits) != r->events ||
	    !(bits & FENCE_NEWS_REVOKING) != !r->revoking ||
	    !(bits & FENCE_NEWS_OVER) != !r->over)
		fail(w, "news %#x of generation %llu, must be %#x%s%s of %llu", bits,
		     t->generation, r->events, r->revoking ? " and revoking" : "",
		     r->over ? " and over" : "", r->generation);
	if (r->over)
		pulls_over(w, t, r);
	bits &= ~FENCE_NEWS_OVER;
	if (r->revoking)
		must_be_revoking(w, t);
	if (bits & FENCE_NEWS_RELEASED) {
		struct cell *c = cell_of(t);

		world_compare_released(w, t, bits, r);
		/* L2, L8: without proof never before the last deadline seen. */
		if (r->outcome == LKVFENCE_OUTCOME_TIMEOUT)
			must(w, w->now >= c->clock && w->now >= c->deadline);
		pulls_released(w, r->generation);
		put_cell(w, c);
		w->released++;
	}
}

void world_hear(struct world *w)
{
	struct report *r = &w->o.report;
	struct fence_transfer *t;
	u32 bits;

	if (r->events || r->revoking || r->over) {
		t = fence_news(&w->f, &bits);
		if (!t)
			fail(w, "no news, must be %#x%s of generation %llu", r->events,
			     r->revoking ? " and revoking" : "", r->generation);
		hear(w, t, bits, r);
	}
	memset(r, 0, sizeof(*r));
}

static void no_more_news(struct world *w)
{
	struct fence_transfer *t;
	u32 bits = 0;

	t = fence_news(&w->f, &bits);
	if (t)
		fail(w, "news %#x of generation %llu too many", bits, t->generation);
}

static void do_begin(struct world *w, const struct event *e)
{
	const struct oracle_begin *b = &e->begin;
	u32 wrong = oracle_begin_wrong(&w->o, b, w->max_transfers);
	struct pull_offer *offer = NULL;
	struct fence_refusal why;
	struct cell *c = get_cell(w);
	int err = 0;

	fence_transfer_init(&c->t);
	c->t.tag = b->tag;
	c->t.ttl_ns = b->ttl;
	c->t.policy = b->policy;
	memcpy(c->ranges, b->ranges, sizeof(c->ranges));
	c->t.ranges = c->ranges;
	c->t.nr_ranges = b->nr_ranges;
	for (u32 i = 0; i < b->nr_sources && !err; i++) {
		c->leases[c->nr_leases].source = b->sources[i];
		err = fence_transfer_lease(&c->t, &c->leases[c->nr_leases++]);
	}
	if (!err && b->offer) {
		offer = pulls_offer(w);
		c->t.offered = true;
		err = pull_may_offer(&w->p, b->tag);
		if (oracle_early(&w->po, b->tag))
			wrong |= WRONG_CANCELED;
	}
	if (!err)
		err = fence_admit(&w->f, &c->t, w->max_transfers, &why);
	world_must_allow(w, wrong, err);
	if (!err) {
		fence_begin(&w->f, &c->t, e->generation, w->now);
		oracle_begin(&w->o, b, e->generation, w->now);
		if (offer) {
			pull_offer(&w->p, offer, &c->t);
			oracle_offer(&w->po, &w->o, e->generation, b->tag, w->now);
		}
		return;
	}
	if (offer)
		pulls_put_offer(w, offer);
	if (err == -ECANCELED)
		oracle_offer_refused(&w->po, b->tag);
	if (err == -EBUSY) {
		must(w, why.slot == oracle_first_busy(&w->o, b));
		must(w, why.generation == w->o.owner[why.slot]);
		must(w, why.tag == oracle_find(&w->o, why.generation)->tag);
	}
	if (err == -EEXIST) {
		must(w, why.generation == oracle_find_tag(&w->o, b->tag)->generation);
		must(w, why.tag == b->tag);
	}
	oracle_begin_refused(&w->o, wrong_of(err));
	put_cell(w, c);
}

struct fence_transfer *world_get(struct world *w, u64 generation)
{
	struct fence_transfer *t;

	if (fence_lookup(&w->f, generation, &t))
		fail(w, "generation %llu is lost", generation);
	return t;
}

static void do_take(struct world *w, const struct event *e)
{
	struct transfer_fact *fact = oracle_find(&w->o, e->generation);
	u32 wrong = oracle_take_wrong(fact, e->source, w->max_leases);
	struct fence_transfer *t = world_get(w, e->generation);
	struct cell *c = cell_of(t);
	struct fence_lease refused = { .source = e->source };
	struct fence_lease *l = &refused;
	int err;

	if (!(wrong & WRONG_CANCELED))
		wrong |= oracle_source_wrong(&w->o, e->source);
	/* Where it will be granted it needs memory that stays. */
	if (c->nr_leases < ORACLE_LEASES) {
		l = &c->leases[c->nr_leases];
		l->source = e->source;
	}
	err = fence_take(&w->f, t, l, w->max_leases, w->now);
	world_must_allow(w, wrong, err);
	if (err) {
		oracle_take_refused(&w->o, wrong_of(err));
		return;
	}
	must(w, l != &refused);
	c->nr_leases++;
	oracle_take(fact, e->source, w->now);
	oracle_attach(&w->o, fact, e->source);
}

static void do_return(struct world *w, const struct event *e)
{
	u32 wrong = oracle_return_wrong(&w->o, e->generation, e->source,
					e->status, e->evidence);
	bool released = true, must_release = false;
	int err;

	err = fence_return(&w->f, e->generation, e->source, e->status,
			   e->evidence, w->now, &released);
	world_must_allow(w, wrong, err);
	if (err)
		oracle_return_refused(&w->o, wrong_of(err));
	else
		must_release = oracle_return(&w->o, e->generation, e->source,
					     e->status, e->evidence, w->now);
	must(w, released == must_release);
}

static void do_abort(struct world *w, const struct event *e)
{
	struct oracle_limits limits = world_limits(w);
	struct transfer_fact *fact;
	struct fence_transfer *t;

	if (e->by_tag) {
		fact = oracle_find_tag(&w->o, e->tag);
		t = fence_find_tag(&w->f, e->tag);
		must(w, !fact == !t);
		if (!t)
			return;
		must(w, fact->generation == t->generation);
	} else {
		fact = oracle_find(&w->o, e->generation);
		t = world_get(w, e->generation);
	}
	fence_abort(&w->f, t, e->reason, e->policy, e->timeout, &w->limits,
		    w->now);
	oracle_abort(&w->o, fact, e->reason, e->policy, e->timeout, &limits,
		     w->now);
}

static void do_finish(struct world *w, const struct event *e)
{
	struct transfer_fact *fact = oracle_find(&w->o, e->generation);
	int err = fence_finish(&w->f, world_get(w, e->generation), w->now);

	world_must_allow(w, oracle_finish_wrong(fact), err);
	if (!err)
		oracle_finish(&w->o, fact, w->now);
}

static void do_force(struct world *w, const struct event *e)
{
	struct transfer_fact *fact = oracle_find(&w->o, e->generation);
	int err = fence_force(&w->f, world_get(w, e->generation), w->now);

	world_must_allow(w, oracle_force_wrong(fact), err);
	if (!err)
		oracle_force(&w->o, fact, w->now);
}

/*
 * What is due comes in the order of its times. Where times are equal the fence
 * may choose: the oracle follows the news, and refuses what isn't due next.
 */
static void do_expire(struct world *w, const struct event *e)
{
	struct oracle_limits limits = world_limits(w);
	u32 due, nr, bits;

	w->now = e->until;
	due = oracle_nr_due(&w->o, w->now);
	nr = fence_expire(&w->f, &w->limits, w->now, e->max);
	if (nr != (due < e->max ? due : e->max))
		fail(w, "%u of %u expired, at most %u", nr, due, e->max);
	if (w->pulls)
		pulls_expire(w, e->max);

	while (nr--) {
		struct fence_transfer *t = fence_news(&w->f, &bits);
		struct transfer_fact *fact;

		if (!t)
			fail(w, "expired without news");
		fact = oracle_find(&w->o, t->generation);
		memset(&w->o.report, 0, sizeof(w->o.report));
		if (!fact || !oracle_expire(&w->o, fact, &limits, w->now))
			fail(w, "generation %llu is not due next", t->generation);
		hear(w, t, bits, &w->o.report);
	}
	memset(&w->o.report, 0, sizeof(w->o.report));
}

/* L5: what was issued may be reported on, released or not. */
static void do_report(struct world *w, const struct event *e)
{
	int err = fence_report(&w->f, e->generation, e->reason);

	world_must_allow(w, oracle_report_wrong(&w->o, e->generation, e->reason), err);
	if (!err)
		oracle_report(&w->o, e->reason);
}

/* Which sources have leases that prove nothing yet; bits. */
static u32 busy_sources(const struct world *w)
{
	u32 busy = 0;

	for (u32 i = 0; i < w->o.nr_sources; i++)
		if (oracle_nr_bound(&w->o, w->o.sources[i].source))
			busy |= 1U << w->o.sources[i].source;
	return busy;
}

void world_step(struct world *w, const struct event *e)
{
	u32 busy = busy_sources(w);

	w->f.source_idle = false;
	memset(&w->o.report, 0, sizeof(w->o.report));
	switch (e->kind) {
	case EV_BEGIN:
		do_begin(w, e);
		break;
	case EV_TAKE:
		do_take(w, e);
		break;
	case EV_RETURN:
		do_return(w, e);
		break;
	case EV_ABORT:
		do_abort(w, e);
		break;
	case EV_FINISH:
		do_finish(w, e);
		break;
	case EV_FORCE:
		do_force(w, e);
		break;
	case EV_LAG:
		w->now = e->until;
		break;
	case EV_EXPIRE:
		do_expire(w, e);
		break;
	case EV_LIMITS:
		w->limits.max_ns = e->timeout;
		w->longest = max(w->longest, w->limits.max_ns);
		break;
	case EV_REPORT:
		do_report(w, e);
		break;
	case EV_BIND:
	case EV_UNBIND:
	case EV_REVOKE:
	case EV_SOURCE_END:
	case EV_SOURCE_QUIET:
	case EV_SOURCE_LOST:
		source_step(w, e);
		break;
	case EV_READY:
	case EV_PULL:
	case EV_WITHDRAW:
	case EV_ABORT_EARLY:
	case EV_ABORT_ALL:
	case EV_CLOSE:
		pulls_step(w, e);
		break;
	}
	world_hear(w);
	if (w->pulls)
		pulls_hear(w);
	no_more_news(w);
	/* It is said of a source's last lease, and of nothing else. */
	must(w, w->f.source_idle == !!(busy & ~busy_sources(w)));
	world_compare(w);
}
