// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See rig.h. */
#include <stdlib.h>
#include <linux/bitmap.h>

#include "rig.h"

/* A transfer's memory: apart, so that ASan knows where each piece ends. */
struct piece {
	struct fence_transfer t;
	struct lkvfence_range *ranges;
	struct fence_lease **leases;
	u32 nr_leases;
};

static struct piece *piece_of(const struct fence_transfer *t)
{
	return container_of(t, struct piece, t);
}

static void *need(size_t size)
{
	void *p = calloc(1, size);

	assert_non_null(p);
	return p;
}

static void free_piece(struct piece *p)
{
	for (u32 i = 0; i < p->nr_leases; i++)
		free(p->leases[i]);
	free(p->leases);
	free(p->ranges);
	free(p);
}

void rig_init(struct rig *r, u32 nr_slots)
{
	u32 longs = (nr_slots + BITS_PER_LONG - 1) / BITS_PER_LONG;

	memset(r, 0, sizeof(*r));
	r->nr_slots = nr_slots;
	r->max_transfers = MAX_TRANSFERS;
	r->limits.default_ns = DEFAULT_NS;
	r->limits.max_ns = MAX_NS;
	r->limits.revoke_ns = REVOKE_NS;
	r->now = 5000;
	fence_init(&r->f, nr_slots, need(longs * sizeof(long)),
		   need(nr_slots * sizeof(u64)));
	rig_pulls_init(r);
}

void rig_destroy(struct rig *r)
{
	struct fence_transfer *t = fence_find_next(&r->f, 0);

	while (t) {
		struct fence_transfer *next = fence_find_next(&r->f, t->generation);

		/* The fence isn't asked again once pieces of it are gone. */
		rb_erase_cached(&t->by_generation, &r->f.transfers);
		free_piece(piece_of(t));
		t = next;
	}
	for (u32 i = 0; i < MAX_SOURCES; i++)
		free(r->sources[i]);
	rig_pulls_destroy(r);
	free(r->f.taken);
	free(r->f.owner);
}

int rig_setup(void **state)
{
	struct rig *r = need(sizeof(*r));

	rig_init(r, SLOTS);
	*state = r;
	return 0;
}

int rig_teardown(void **state)
{
	rig_destroy(*state);
	free(*state);
	return 0;
}

bool slot_taken(const struct rig *r, u32 slot)
{
	return test_bit(slot, r->f.taken);
}

static bool is_proven(const struct fence_lease *l)
{
	return l->state == LKVFENCE_LEASE_DRAINED ||
	       l->state == LKVFENCE_LEASE_REVOKED;
}

static void check_transfer(struct fence_transfer *t)
{
	bool alive = fence_alive(t);
	u32 nr = 0, unproven = 0, bound = 0, taken = 0;
	bool revocable = true;
	struct rb_node *n;

	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		nr++;
		/* What was pulled and is drained; what was revoked isn't taken. */
		taken += l->pulled && l->state == LKVFENCE_LEASE_DRAINED;
		if (is_proven(l)) {
			assert_null(l->bound);
			continue;
		}
		assert_int_equal(l->evidence, LKVFENCE_EVIDENCE_NONE);
		unproven++;
		if (l->bound) {
			assert_ptr_equal(l->transfer, t);
			assert_int_equal(l->bound->source, l->source);
			bound++;
		}
		revocable = revocable && l->bound && l->bound->state <= FENCE_SOURCE_REVOKING;
	}
	assert_int_equal(t->nr_leases, nr);
	assert_int_equal(t->unproven, unproven);
	assert_int_equal(t->nr_bound, bound);
	assert_int_equal(fence_revocable(t), revocable && unproven &&
			 (!t->tried || t->revoking));
	assert_true(t->grouped || !t->gathered);
	assert_int_equal(t->taken, taken);
	assert_true(t->offered || (!t->consumers && t->state != LKVFENCE_STATE_READY));
	/* L2: what is ended and quiet isn't here any more, but for its group's sake. */
	assert_true(alive || unproven || t->gathered);
	/* Nor is what all its consumers have taken. */
	assert_true(unproven || !t->consumers || taken < t->consumers);
	/* L8: what is ended has a clock until it is in quarantine, or has gathered. */
	assert_true(alive || RB_EMPTY_NODE(&t->clock.node) == (t->quarantined || t->gathered));
	if (alive) {
		assert_false(t->tried || t->quarantined || t->gathered);
		return;
	}
	/* Its deadline's, or later where its access is being taken away. */
	if (!t->quarantined && !t->gathered) {
		assert_true((u64)t->clock.expires >= t->deadline_ns);
		assert_true(t->revoking || (u64)t->clock.expires == t->deadline_ns);
	}
	assert_true(t->deadline_ns <= t->ended_ns + MAX_NS);
	assert_true(t->tried || !t->revoking);
}

/* Its leases are those, and no others, that are unproven and its own. */
static void check_source(struct fence *f, struct fence_source *s)
{
	struct list_head *lists[] = { &s->leases, &s->ended };
	u32 nr = 0, unproven = 0;
	struct fence_transfer *t;
	u64 generation = 0;

	assert_ptr_equal(fence_find_source(f, s->source), s);
	for (u32 i = 0; i < 2; i++) {
		struct list_head *p;

		for (p = lists[i]->next; p != lists[i]; p = p->next, nr++) {
			struct fence_lease *l =
				list_entry(p, struct fence_lease, of_source);

			assert_ptr_equal(l->bound, s);
			assert_false(is_proven(l));
			/* L6b: whose access is being taken away has ended. */
			assert_true(!i || l->transfer->state == LKVFENCE_STATE_ENDED);
		}
	}
	while ((t = fence_find_next(f, generation))) {
		struct rb_node *n;

		for (n = rb_first(&t->leases); n; n = rb_next(n))
			unproven += rb_entry(n, struct fence_lease, node)->bound == s;
		generation = t->generation;
	}
	assert_int_equal(s->nr_leases, nr);
	assert_int_equal(s->nr_leases, unproven);
	assert_true(s->state != FENCE_SOURCE_BOUND || list_empty(&s->ended));
	assert_true(s->state != FENCE_SOURCE_REVOKED || !nr);
}

static void check_sources(struct rig *r)
{
	u32 nr = 0;

	for (u32 i = 0; i < MAX_SOURCES; i++) {
		if (!r->sources[i])
			continue;
		check_source(&r->f, r->sources[i]);
		nr++;
	}
	assert_int_equal(r->f.nr_sources, nr);
}

/* On what grounds its leases count as quiet. */
static void add_evidence(const struct fence_transfer *t, u64 *evidence)
{
	struct rb_node *n;

	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		const struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (is_proven(l))
			evidence[l->evidence]++;
		else if (t->state == LKVFENCE_STATE_RELEASED)
			evidence[LKVFENCE_EVIDENCE_TIMEOUT]++;
	}
}

/* What the gauges and counters must be, seen from outside. */
static void check(struct rig *r)
{
	const struct fence *f = &r->f;
	u64 slots[4] = { 0 }, transfers[4] = { 0 }, bits = 0, released = 0;
	u64 revokes = r->revokes, revokes_failed = r->revokes_failed;
	u64 evidence[LKVFENCE_MAX_EVIDENCE];
	struct fence_transfer *t = NULL;
	u64 generation = 0, nr_ready = 0, gathered = 0;

	memcpy(evidence, r->evidence, sizeof(evidence));
	for (u32 slot = 0; slot < r->nr_slots; slot++)
		bits += slot_taken(r, slot);
	while ((t = fence_find_next(f, generation))) {
		u32 level = fence_alive(t) ? 1 : t->quarantined ? 3 : 2;

		nr_ready += t->state == LKVFENCE_STATE_READY;
		gathered += t->gathered;
		check_transfer(t);
		add_evidence(t, evidence);
		revokes += t->tried;
		revokes_failed += t->fell_back;
		for (; level; level--) {
			slots[level] += t->nr_slots;
			transfers[level]++;
		}
		generation = t->generation;
	}
	for (u32 i = 0; i < LKVFENCE_NR_OUTCOMES; i++)
		released += f->counts.released[i];

	assert_int_equal(f->slots_taken, bits);
	assert_int_equal(f->slots_taken, slots[1]);
	assert_int_equal(f->slots_held, slots[2]);
	assert_int_equal(f->slots_quarantined, slots[3]);
	assert_int_equal(f->transfers_alive, transfers[1]);
	assert_int_equal(f->transfers_held, transfers[2]);
	assert_int_equal(f->transfers_quarantined, transfers[3]);
	assert_int_equal(f->transfers_ready, nr_ready);
	assert_int_equal(f->transfers_gathered, gathered);
	assert_int_equal(f->counts.begun, f->transfers_alive + released);
	assert_int_equal(f->counts.revokes, revokes);
	assert_int_equal(f->counts.revokes_failed, revokes_failed);
	assert_memory_equal(f->counts.evidence, evidence, sizeof(evidence));
	check_sources(r);
	rig_pulls_check(r);
}

/* Of a transfer that is about to be freed. */
static void remember(struct rig *r, const struct fence_transfer *t)
{
	struct rb_node *n;

	for (n = rb_first(&t->leases); n; n = rb_next(n))
		assert_null(rb_entry(n, struct fence_lease, node)->bound);
	assert_int_equal(t->nr_bound, 0);
	add_evidence(t, r->evidence);
	r->revokes += t->tried;
	r->revokes_failed += t->fell_back;
}

/* Takes the news, frees what the fence forgot, and checks. */
void rig_settle(struct rig *r)
{
	struct fence_transfer *t;
	u32 bits;

	while ((t = fence_news(&r->f, &bits))) {
		/* L6b: what was offered says so when it ends, and nothing else does. */
		if (bits & FENCE_NEWS_OVER) {
			assert_true(t->offered);
			pull_over(&r->p, t, &r->pull_limits, r->now);
			bits &= ~FENCE_NEWS_OVER;
		}
		assert_in_range(r->nr_news, 0, MAX_NEWS - 1);
		r->news[r->nr_news].bits = bits;
		r->news[r->nr_news++].t = *t;
		if (bits & FENCE_NEWS_RELEASED) {
			remember(r, t);
			free_piece(piece_of(t));
		}
	}
	rig_pulls_settle(r);
	check(r);
}

struct fence_lease *rig_lease(u32 source)
{
	struct fence_lease *l = need(sizeof(*l));

	/* The fence may count on nothing else in it. */
	memset(l, 0xa5, sizeof(*l));
	l->source = source;
	return l;
}

static struct fence_lease *add_lease(struct piece *p, struct fence_lease *l)
{
	p->leases = realloc(p->leases, (p->nr_leases + 1) * sizeof(*p->leases));
	assert_non_null(p->leases);
	p->leases[p->nr_leases++] = l;
	return l;
}

static struct fence_lease *new_lease(struct piece *p, u32 source)
{
	return add_lease(p, rig_lease(source));
}

void rig_keep_lease(struct fence_transfer *t, struct fence_lease *l)
{
	add_lease(piece_of(t), l);
}

int rig_begin(struct rig *r, const struct want *w, u64 *generation)
{
	struct piece *p = need(sizeof(*p));
	struct pull_offer *offer = NULL;
	u32 nr = 0;
	int err = 0;

	while (nr < 8 && (w->ranges[nr].count || w->ranges[nr].first))
		nr++;
	p->ranges = need(nr * sizeof(*p->ranges) + !nr);
	memcpy(p->ranges, w->ranges, nr * sizeof(*p->ranges));
	fence_transfer_init(&p->t);
	p->t.tag = w->tag;
	p->t.ttl_ns = w->ttl;
	p->t.policy = w->policy;
	p->t.ranges = p->ranges;
	p->t.nr_ranges = nr;
	for (u32 i = 0; i < 8 && w->sources[i] && !err; i++)
		err = fence_transfer_lease(&p->t, new_lease(p, w->sources[i]));
	if (!err && w->offer) {
		offer = rig_offer(r);
		p->t.offered = true;
		err = pull_may_offer(&r->p, w->tag);
	}
	if (!err)
		err = fence_admit(&r->f, &p->t, r->max_transfers, &r->why);
	if (err) {
		if (offer)
			rig_free_offer(r, offer);
		free_piece(p);
	} else {
		/* Other regions take numbers too. */
		fence_begin(&r->f, &p->t, r->f.last_generation + 3, r->now);
		if (offer)
			pull_offer(&r->p, offer, &p->t);
		if (generation)
			*generation = r->f.last_generation;
	}
	rig_settle(r);
	return err;
}

u64 rig_must_begin(struct rig *r, const struct want *w)
{
	u64 generation;

	assert_int_equal(rig_begin(r, w, &generation), 0);
	return generation;
}

struct fence_transfer *get(struct rig *r, u64 generation)
{
	struct fence_transfer *t;

	assert_int_equal(fence_lookup(&r->f, generation, &t), 0);
	assert_int_equal(t->generation, generation);
	return t;
}

int take(struct rig *r, u64 generation, u32 source)
{
	struct fence_transfer *t = get(r, generation);
	struct fence_lease *l = new_lease(piece_of(t), source);
	int err = fence_take(&r->f, t, l, MAX_LEASES, r->now);

	if (err) {
		piece_of(t)->nr_leases--;
		free(l);
	}
	rig_settle(r);
	return err;
}

int give(struct rig *r, u64 generation, u32 source, u32 status, u32 evidence)
{
	int err;

	r->released = true;
	err = fence_return(&r->f, generation, source, status, evidence, r->now,
			   &r->released);
	rig_settle(r);
	return err;
}

int drained(struct rig *r, u64 generation, u32 source)
{
	return give(r, generation, source, LKVFENCE_STATUS_DRAINED, CQE);
}

int failed(struct rig *r, u64 generation, u32 source)
{
	return give(r, generation, source, LKVFENCE_STATUS_FAILED,
		    LKVFENCE_EVIDENCE_NONE);
}

int revoked(struct rig *r, u64 generation, u32 source, u32 evidence)
{
	return give(r, generation, source, LKVFENCE_STATUS_REVOKED, evidence);
}

void abort_for(struct rig *r, u64 generation, u32 reason, u32 policy, u64 timeout)
{
	fence_abort(&r->f, get(r, generation), reason, policy, timeout,
		    &r->limits, r->now);
	rig_settle(r);
}

void abort_(struct rig *r, u64 generation)
{
	abort_for(r, generation, LKVFENCE_REASON_ABORTED,
		  LKVFENCE_POLICY_DEFAULT, 0);
}

int finish(struct rig *r, u64 generation)
{
	int err = fence_finish(&r->f, get(r, generation), r->now);

	rig_settle(r);
	return err;
}

int force(struct rig *r, u64 generation)
{
	int err = fence_force(&r->f, get(r, generation), r->now);

	rig_settle(r);
	return err;
}

int join(struct rig *r, u64 generation)
{
	int err = fence_join(&r->f, get(r, generation));

	rig_settle(r);
	return err;
}

void end_member(struct rig *r, u64 generation, u32 reason)
{
	fence_end_member(&r->f, get(r, generation), reason, &r->limits, r->now);
	rig_settle(r);
}

void release_member(struct rig *r, u64 generation, u32 outcome, u32 evidence)
{
	fence_release_member(&r->f, get(r, generation), outcome, evidence, r->now);
	rig_settle(r);
}

u32 at(struct rig *r, u64 when)
{
	u32 nr;

	r->now = when;
	nr = fence_expire(&r->f, &r->limits, when, 1000);
	r->expired = pull_expire(&r->p, when, 1000);
	rig_settle(r);
	return nr;
}

static struct fence_source **place_of(struct rig *r, u32 source)
{
	u32 i;

	for (i = 0; i < MAX_SOURCES; i++)
		if (r->sources[i] && r->sources[i]->source == source)
			return &r->sources[i];
	for (i = 0; i < MAX_SOURCES; i++)
		if (!r->sources[i])
			return &r->sources[i];
	fail_msg("more than %u sources", MAX_SOURCES);
	return NULL;
}

int try_bind(struct rig *r, u32 source)
{
	struct fence_source *s = memset(need(sizeof(*s)), 0xa5, sizeof(*s));
	int err = fence_bind(&r->f, s, source);

	if (err)
		free(s);
	else
		*place_of(r, source) = s;
	rig_settle(r);
	return err;
}

void bind_(struct rig *r, u32 source)
{
	assert_int_equal(try_bind(r, source), 0);
}

int unbind(struct rig *r, u32 source)
{
	struct fence_source **place = place_of(r, source);
	int err;

	assert_non_null(*place);
	err = fence_unbind(&r->f, *place);
	if (!err) {
		free(*place);
		*place = NULL;
	}
	rig_settle(r);
	return err;
}

struct fence_source *source_of(struct rig *r, u32 source)
{
	struct fence_source *s = fence_find_source(&r->f, source);

	assert_non_null(s);
	assert_int_equal(s->source, source);
	return s;
}

bool revoke(struct rig *r, u32 source)
{
	bool news = fence_source_revoke(source_of(r, source));

	rig_settle(r);
	return news;
}

u32 end_some(struct rig *r, u32 source, u32 max)
{
	u32 nr = fence_source_end(&r->f, source_of(r, source), &r->limits, r->now, max);

	rig_settle(r);
	return nr;
}

u32 quiet_some(struct rig *r, u32 source, u32 evidence, u32 max)
{
	u32 nr = fence_source_quiet(&r->f, source_of(r, source), evidence, r->now, max);

	rig_settle(r);
	return nr;
}

u32 lost_some(struct rig *r, u32 source, u32 max)
{
	u32 nr = fence_source_lost(&r->f, source_of(r, source), max);

	rig_settle(r);
	return nr;
}

void quiet(struct rig *r, u32 source, u32 evidence)
{
	assert_int_equal(source_of(r, source)->state, FENCE_SOURCE_REVOKING);
	end_some(r, source, 1000);
	quiet_some(r, source, evidence, 1000);
	assert_int_equal(source_of(r, source)->state, FENCE_SOURCE_REVOKED);
	assert_int_equal(source_of(r, source)->nr_leases, 0);
}

void lost(struct rig *r, u32 source)
{
	assert_int_equal(source_of(r, source)->state, FENCE_SOURCE_REVOKING);
	end_some(r, source, 1000);
	lost_some(r, source, 1000);
	assert_int_equal(source_of(r, source)->state, FENCE_SOURCE_LOST);
}

void forget_news(struct rig *r)
{
	r->nr_news = 0;
}

const struct fence_transfer *only_news(struct rig *r, u64 generation, u32 bits)
{
	assert_int_equal(r->nr_news, 1);
	assert_int_equal(r->news[0].t.generation, generation);
	assert_int_equal(r->news[0].bits, bits);
	forget_news(r);
	return &r->news[0].t;
}

void no_news(struct rig *r)
{
	assert_int_equal(r->nr_news, 0);
}

struct image image_of(const struct rig *r)
{
	const struct fence *f = &r->f;
	struct image i = {
		.numbers = { f->slots_taken, f->slots_held, f->slots_quarantined,
			     f->transfers_alive, f->transfers_held,
			     f->transfers_quarantined, f->last_generation,
			     f->nr_sources, f->transfers_ready,
			     r->p.nr_offers, r->p.nr_dead, r->p.nr_early,
			     r->p.nr_tickets },
	};

	memcpy(i.taken, f->taken,
	       (r->nr_slots + BITS_PER_LONG - 1) / BITS_PER_LONG * sizeof(long));
	return i;
}

void must_be_unchanged(const struct rig *r, const struct image *before)
{
	struct image after = image_of(r);

	assert_memory_equal(&after, before, sizeof(after));
}
