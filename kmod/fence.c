// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state machine.
 *
 *	fence_admit, fence_begin           fence_take, fence_return
 *	          |                                   |
 *	       WAITING  <-- leases go out and come back
 *	          |
 *	        end()     the one gate: ABORT, RELEASE, time to live, orphans
 *	          |
 *	        ENDED    --> quarantine, at the deadline, by policy
 *	          |
 *	       settle()   every lease proven?      fence_expire(), fence_force():
 *	          |                                the deadline passed, by policy
 *	          +------------> release() <-------------+
 *	                  the one place where slots come back
 *
 * Ownership. A slot belongs to a transfer from fence_admit() until release(),
 * and to the allocator otherwise; "taken" says which. A lease counts as
 * unproven from the moment it is granted until a return with evidence that
 * names its generation and source; a return without (failed) is remembered
 * but proves nothing (L4). So the slots can't come back but by settle() with
 * no lease unproven, or by the policy's word after the deadline (L2).
 *
 * Leases are kept by identity. "unproven" is the number of leases in the tree
 * that are not drained; it moves only where a lease's state does.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "fence.h"

/*
 * Trees. Generations, tags and sources are unique among the members of theirs.
 */

static struct fence_lease *find_lease(const struct fence_transfer *t, u32 source)
{
	struct rb_node *n = t->leases.rb_node;

	while (n) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (source == l->source)
			return l;
		n = source < l->source ? n->rb_left : n->rb_right;
	}
	return NULL;
}

/* Grant a lease. False if the source has, or had, one. */
static bool add_lease(struct fence_transfer *t, struct fence_lease *lease)
{
	struct rb_node **link = &t->leases.rb_node, *parent = NULL;

	while (*link) {
		struct fence_lease *l = rb_entry(*link, struct fence_lease, node);

		parent = *link;
		if (lease->source == l->source)
			return false;
		link = lease->source < l->source ? &parent->rb_left :
						   &parent->rb_right;
	}
	lease->state = LKVFENCE_LEASE_OUT;
	lease->evidence = LKVFENCE_EVIDENCE_NONE;
	rb_link_node(&lease->node, parent, link);
	rb_insert_color(&lease->node, &t->leases);
	t->nr_leases++;
	t->unproven++;
	return true;
}

static struct fence_transfer *find_generation(const struct fence *f,
					      u64 generation)
{
	struct rb_node *n = f->transfers.rb_root.rb_node;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_generation);

		if (generation == t->generation)
			return t;
		n = generation < t->generation ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static void add_generation(struct fence *f, struct fence_transfer *t)
{
	struct rb_node **link = &f->transfers.rb_root.rb_node, *parent = NULL;

	/* Generations rise: a new one goes behind all others. */
	while (*link) {
		parent = *link;
		link = &parent->rb_right;
	}
	rb_link_node(&t->by_generation, parent, link);
	rb_insert_color_cached(&t->by_generation, &f->transfers, !parent);
}

struct fence_transfer *fence_find_tag(const struct fence *f, u64 tag)
{
	struct rb_node *n = f->tags.rb_node;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_tag);

		if (tag == t->tag)
			return t;
		n = tag < t->tag ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static void add_tag(struct fence *f, struct fence_transfer *new)
{
	struct rb_node **link = &f->tags.rb_node, *parent = NULL;

	while (*link) {
		struct fence_transfer *t =
			rb_entry(*link, struct fence_transfer, by_tag);

		parent = *link;
		link = new->tag < t->tag ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_tag, parent, link);
	rb_insert_color(&new->by_tag, &f->tags);
}

struct fence_transfer *fence_find_slot(const struct fence *f, u32 slot)
{
	return test_bit(slot, f->taken) ? find_generation(f, f->owner[slot]) :
					  NULL;
}

struct fence_transfer *fence_find_next(const struct fence *f, u64 generation)
{
	struct rb_node *n = f->transfers.rb_root.rb_node;
	struct fence_transfer *next = NULL;

	while (n) {
		struct fence_transfer *t =
			rb_entry(n, struct fence_transfer, by_generation);

		if (t->generation > generation) {
			next = t;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return next;
}

int fence_lookup(const struct fence *f, u64 generation,
		 struct fence_transfer **t)
{
	*t = find_generation(f, generation);
	if (*t)
		return 0;
	/* L5. 0 is no generation, so that a zeroed message isn't "stale". */
	return generation && generation <= f->last_generation ? -ESTALE : -ENOENT;
}

/*
 * The clock. A transfer has one time: that of its life, then that of its hold.
 */

static void stop_clock(struct fence *f, struct fence_transfer *t)
{
	if (!RB_EMPTY_NODE(&t->clock.node))
		timerqueue_del(&f->clock, &t->clock);
}

static void set_clock(struct fence *f, struct fence_transfer *t, u64 when)
{
	stop_clock(f, t);
	t->clock.expires = when;
	timerqueue_add(&f->clock, &t->clock);
}

/* L8: the time to live runs from the first lease, not while it queues. */
static void start_life(struct fence *f, struct fence_transfer *t, u64 now)
{
	if (t->ttl_ns && t->nr_leases && RB_EMPTY_NODE(&t->clock.node))
		set_clock(f, t, now + t->ttl_ns);
}

u64 fence_next_deadline(const struct fence *f)
{
	struct timerqueue_node *first =
		timerqueue_getnext((struct timerqueue_head *)&f->clock);

	return first ? (u64)first->expires : U64_MAX;
}

/*
 * News
 */

static void tell(struct fence *f, struct fence_transfer *t, u32 bit)
{
	t->news_bits |= bit;
	if (list_empty(&t->news))
		list_add_tail(&t->news, &f->news);
}

struct fence_transfer *fence_news(struct fence *f, u32 *bits)
{
	struct fence_transfer *t;

	t = list_first_entry_or_null(&f->news, struct fence_transfer, news);
	if (!t)
		return NULL;
	list_del_init(&t->news);
	*bits = t->news_bits;
	t->news_bits = 0;
	return t;
}

/*
 * The end of a transfer
 */

/*
 * Gives slots back, and is the only one that does. Its callers: settle(), with
 * proof; fence_expire() and fence_force(), behind the deadline. L6: the
 * transfer leaves the fence here, so nobody can find and release it again.
 */
static void release(struct fence *f, struct fence_transfer *t, u32 outcome,
		    u64 now)
{
	u32 i;

	for (i = 0; i < t->nr_ranges; i++)
		bitmap_clear(f->taken, t->ranges[i].first, t->ranges[i].count);
	f->slots_taken -= t->nr_slots;

	rb_erase_cached(&t->by_generation, &f->transfers);
	f->transfers_alive--;
	stop_clock(f, t);
	/* One that was proven quiet when it ended was never held. */
	if (!list_empty(&t->held)) {
		list_del_init(&t->held);
		f->transfers_held--;
		f->slots_held -= t->nr_slots;
	}
	if (t->quarantined) {
		f->transfers_quarantined--;
		f->slots_quarantined -= t->nr_slots;
	}

	/* L7: what wasn't proven is told as such. */
	if (outcome == LKVFENCE_OUTCOME_TIMEOUT)
		t->weakest = LKVFENCE_EVIDENCE_TIMEOUT;
	t->outcome = outcome;
	t->state = LKVFENCE_STATE_RELEASED;
	t->released_ns = now;
	f->counts.released[outcome]++;
	tell(f, t, FENCE_NEWS_RELEASED);
}

/* Release an ended transfer if every lease is proven quiet (L2). */
static void settle(struct fence *f, struct fence_transfer *t, u64 now)
{
	u32 outcome = LKVFENCE_OUTCOME_DRAINED;

	if (t->state != LKVFENCE_STATE_ENDED || t->unproven)
		return;
	if (t->reason == LKVFENCE_REASON_FINISHED)
		outcome = LKVFENCE_OUTCOME_COMPLETED;
	else if (t->revoked)
		outcome = LKVFENCE_OUTCOME_REVOKED;
	release(f, t, outcome, now);
}

/*
 * The gate (L6b): whatever ends a transfer, it passes here, once. L8: no hold
 * is longer than the bound, whoever asked for it.
 */
static void end(struct fence *f, struct fence_transfer *t, u32 reason,
		u64 timeout_ns, const struct fence_limits *limits, u64 now)
{
	t->state = LKVFENCE_STATE_ENDED;
	t->reason = reason;
	t->ended_ns = now;
	rb_erase(&t->by_tag, &f->tags);
	if (!t->unproven) {
		/* Nothing to hold for, and told as the release only. */
		settle(f, t, now);
		return;
	}
	list_add_tail(&t->held, &f->held);
	f->transfers_held++;
	f->slots_held += t->nr_slots;
	set_clock(f, t, now + min(timeout_ns, limits->max_ns));
	tell(f, t, FENCE_NEWS_ENDED);
}

/*
 * Calls
 */

void fence_init(struct fence *f, u32 nr_slots, unsigned long *taken, u64 *owner)
{
	memset(f, 0, sizeof(*f));
	f->nr_slots = nr_slots;
	f->taken = taken;
	f->owner = owner;
	f->transfers = RB_ROOT_CACHED;
	f->tags = RB_ROOT;
	timerqueue_init_head(&f->clock);
	INIT_LIST_HEAD(&f->held);
	INIT_LIST_HEAD(&f->news);
}

void fence_transfer_init(struct fence_transfer *t)
{
	t->leases = RB_ROOT;
	timerqueue_init(&t->clock);
	INIT_LIST_HEAD(&t->held);
	INIT_LIST_HEAD(&t->news);
}

int fence_transfer_lease(struct fence_transfer *t, struct fence_lease *lease)
{
	return add_lease(t, lease) ? 0 : -EINVAL;
}

/* Give the first @nr ranges of a transfer that wasn't admitted back. */
static void undo_take(struct fence *f, const struct fence_transfer *t, u32 nr)
{
	while (nr--)
		bitmap_clear(f->taken, t->ranges[nr].first, t->ranges[nr].count);
}

static int take_slots(struct fence *f, struct fence_transfer *t, u32 *slot)
{
	u32 i;

	t->nr_slots = 0;
	for (i = 0; i < t->nr_ranges; i++) {
		const struct lkvfence_range *r = &t->ranges[i];
		u64 past = (u64)r->first + r->count;
		u32 busy;
		int err;

		if (!r->count || past > f->nr_slots) {
			undo_take(f, t, i);
			return r->count ? -ERANGE : -EINVAL;
		}
		busy = find_next_bit(f->taken, past, r->first);
		if (busy < past) {
			undo_take(f, t, i);
			*slot = busy;
			/* Free now: this very transfer had named it before. */
			err = test_bit(busy, f->taken) ? -EBUSY : -EINVAL;
			return err;
		}
		bitmap_set(f->taken, r->first, r->count);
		t->nr_slots += r->count;
	}
	return 0;
}

static int refuse(struct fence_refusal *why, const struct fence_transfer *t,
		  u32 slot, u64 *counter, int err)
{
	if (t) {
		why->generation = t->generation;
		why->tag = t->tag;
	}
	why->slot = slot;
	++*counter;
	return err;
}

int fence_admit(struct fence *f, struct fence_transfer *t, u64 max_transfers,
		struct fence_refusal *why)
{
	struct fence_transfer *other;
	u32 slot = 0;
	int err;

	memset(why, 0, sizeof(*why));
	other = fence_find_tag(f, t->tag);
	if (other)
		return refuse(why, other, 0, &f->counts.refused_exists, -EEXIST);
	if (f->transfers_alive >= max_transfers)
		return refuse(why, NULL, 0, &f->counts.refused_limit, -ENOSPC);
	err = take_slots(f, t, &slot);
	if (err == -EBUSY)
		return refuse(why, fence_find_slot(f, slot), slot,
			      &f->counts.refused_busy, -EBUSY);
	return err;
}

void fence_begin(struct fence *f, struct fence_transfer *t, u64 generation,
		 u64 now)
{
	u32 i;

	t->generation = generation;
	f->last_generation = generation;
	for (i = 0; i < t->nr_ranges; i++)
		memset64(f->owner + t->ranges[i].first, generation,
			 t->ranges[i].count);
	f->slots_taken += t->nr_slots;

	if (t->policy == LKVFENCE_POLICY_DEFAULT)
		t->policy = LKVFENCE_POLICY_TAINT;
	t->state = LKVFENCE_STATE_WAITING;
	t->begun_ns = now;
	add_generation(f, t);
	add_tag(f, t);
	f->transfers_alive++;
	f->counts.begun++;
	start_life(f, t, now);
}

int fence_take(struct fence *f, struct fence_transfer *t,
	       struct fence_lease *lease, u32 max_leases, u64 now)
{
	if (t->state != LKVFENCE_STATE_WAITING)
		return -ECANCELED;
	if (find_lease(t, lease->source))
		return -EEXIST;
	if (t->nr_leases >= max_leases)
		return -ENOSPC;
	add_lease(t, lease);
	start_life(f, t, now);
	return 0;
}

/* What a process may attest; the rest is the kernel's own to say. */
static bool is_proof(u32 evidence)
{
	switch (evidence) {
	case LKVFENCE_EVIDENCE_SUCCESS_CQE:
	case LKVFENCE_EVIDENCE_IN_BAND:
	case LKVFENCE_EVIDENCE_RQ_FLUSHED:
	case LKVFENCE_EVIDENCE_MW_INVALIDATED:
	case LKVFENCE_EVIDENCE_QP_DESTROYED:
	case LKVFENCE_EVIDENCE_MR_DEREGISTERED:
		return true;
	default:
		return false;
	}
}

/* Proof by taking the access away. */
static bool is_revocation(u32 evidence)
{
	switch (evidence) {
	case LKVFENCE_EVIDENCE_RQ_FLUSHED:
	case LKVFENCE_EVIDENCE_MW_INVALIDATED:
	case LKVFENCE_EVIDENCE_QP_DESTROYED:
	case LKVFENCE_EVIDENCE_MR_DEREGISTERED:
		return true;
	default:
		return false;
	}
}

static bool is_return(u32 status, u32 evidence)
{
	switch (status) {
	case LKVFENCE_STATUS_DRAINED:
		return is_proof(evidence);
	case LKVFENCE_STATUS_FAILED:
		return evidence == LKVFENCE_EVIDENCE_NONE;
	default:
		return false;
	}
}

static void drain(struct fence_transfer *t, struct fence_lease *lease,
		  u32 evidence)
{
	lease->state = LKVFENCE_LEASE_DRAINED;
	lease->evidence = evidence;
	t->unproven--;
	if (t->weakest == LKVFENCE_EVIDENCE_NONE || evidence < t->weakest)
		t->weakest = evidence;
	if (is_revocation(evidence))
		t->revoked = true;
}

int fence_return(struct fence *f, u64 generation, u32 source, u32 status,
		 u32 evidence, u64 now, bool *released)
{
	struct fence_transfer *t;
	struct fence_lease *lease;
	int err;

	*released = false;
	if (!is_return(status, evidence))
		return -EINVAL;

	err = fence_lookup(f, generation, &t);
	if (err == -ESTALE)
		f->counts.returns_stale++;
	else if (err)
		f->counts.returns_unknown++;
	if (err)
		return err;

	lease = find_lease(t, source);
	if (!lease) {
		f->counts.returns_unknown++;
		return -ENOENT;
	}
	if (lease->state != LKVFENCE_LEASE_OUT) {
		f->counts.returns_duplicate++;
		return -EALREADY;
	}

	if (t->state == LKVFENCE_STATE_WAITING)
		f->counts.returns_early++;
	if (status == LKVFENCE_STATUS_FAILED) {
		/* L4: given back, but still without proof. */
		lease->state = LKVFENCE_LEASE_FAILED;
		f->counts.returns_failed++;
		return 0;
	}
	drain(t, lease, evidence);
	f->counts.returns_drained++;
	settle(f, t, now);
	*released = t->state == LKVFENCE_STATE_RELEASED;
	return 0;
}

void fence_abort(struct fence *f, struct fence_transfer *t, u32 reason,
		 u32 policy, u64 timeout_ns, const struct fence_limits *limits,
		 u64 now)
{
	u64 deadline;

	/* L4: stricter, never laxer; policies are numbered in that order. */
	if (policy > t->policy)
		t->policy = policy;

	if (t->state == LKVFENCE_STATE_WAITING) {
		end(f, t, reason, timeout_ns ?: limits->default_ns, limits, now);
		return;
	}
	if (!timeout_ns || t->quarantined)
		return;
	/* L4: later, never earlier. L8: but not for ever. */
	timeout_ns = min(timeout_ns, limits->max_ns);
	deadline = min(now + timeout_ns, t->ended_ns + limits->max_ns);
	if (deadline > (u64)t->clock.expires)
		set_clock(f, t, deadline);
}

int fence_finish(struct fence *f, struct fence_transfer *t, u64 now)
{
	static const struct fence_limits no_hold;

	if (t->unproven)
		return -EBUSY;
	/* Nothing is unproven, so there will be no hold and no deadline. */
	end(f, t, LKVFENCE_REASON_FINISHED, 0, &no_hold, now);
	return 0;
}

int fence_force(struct fence *f, struct fence_transfer *t, u64 now)
{
	if (!t->quarantined)
		return -EBUSY;
	t->forced = true;
	f->counts.forced++;
	release(f, t, LKVFENCE_OUTCOME_TIMEOUT, now);
	return 0;
}

static void quarantine(struct fence *f, struct fence_transfer *t, u64 now)
{
	stop_clock(f, t);
	t->quarantined = true;
	t->quarantined_ns = now;
	f->transfers_quarantined++;
	f->slots_quarantined += t->nr_slots;
	tell(f, t, FENCE_NEWS_QUARANTINED);
}

u32 fence_expire(struct fence *f, const struct fence_limits *limits, u64 now,
		 u32 max)
{
	u32 nr;

	for (nr = 0; nr < max && fence_next_deadline(f) <= now; nr++) {
		struct fence_transfer *t =
			container_of(timerqueue_getnext(&f->clock),
				     struct fence_transfer, clock);

		if (t->state == LKVFENCE_STATE_WAITING)
			end(f, t, LKVFENCE_REASON_EXPIRED, limits->default_ns,
			    limits, now);
		else if (t->policy == LKVFENCE_POLICY_TAINT)
			release(f, t, LKVFENCE_OUTCOME_TIMEOUT, now);
		else
			quarantine(f, t, now);
	}
	return nr;
}
