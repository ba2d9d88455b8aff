// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state machine.
 *
 *	fence_admit, fence_begin           fence_take, fence_return
 *	          |                                   |
 *	   WAITING, READY  <-- leases go out and come back
 *	          |
 *	        end()     the one gate: ABORT, RELEASE, time to live, orphans,
 *	          |       all consumers have taken it
 *	          |
 *	        ENDED    --> quarantine, at the deadline, by policy
 *	          |      --> revoking: fence_source_quiet(), fence_source_lost()
 *	          |
 *	       settle()   every lease proven?      fence_expire(), fence_force():
 *	          |                                the deadline passed, by policy
 *	          +-------------> over() <---------------+
 *	                            |  \
 *	                            |   gathered, in a group (L12)
 *	                            |  /       fence_release_member()
 *	                        release()
 *	                  the one place where slots come back
 *
 * Ownership. A slot belongs to a transfer from fence_admit() until release(),
 * and to the allocator otherwise; "taken" says which. A lease counts as
 * unproven from the moment it is granted until a return with evidence that
 * names its generation and source, or until its source was revoked; a return
 * without (failed) is remembered but proves nothing (L4). So the slots can't
 * come back but by settle() with no lease unproven, or by the policy's word after
 * the deadline (L2).
 *
 * Leases are kept by identity. "unproven" is the number of leases in the tree
 * that are neither drained nor revoked; it moves only where a lease's state
 * does. "nr_bound" is the number of those that are in a source's lists.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "fence.h"
#include "fence_index.h"
#include "proof.h"

bool fence_revocable(const struct fence_transfer *t)
{
	struct rb_node *n;

	if (!t->unproven || t->nr_bound != t->unproven)
		return false;
	for_each_lease(t, n) {
		const struct fence_source *s = to_lease(n)->bound;

		if (s && s->state != FENCE_SOURCE_BOUND &&
		    s->state != FENCE_SOURCE_REVOKING)
			return false;
	}
	return true;
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

/* It has ended, and its slots are out. */
static void hold(struct fence *f, struct fence_transfer *t)
{
	list_add_tail(&t->held, &f->held);
	f->transfers_held++;
	f->slots_held += t->nr_slots;
	tell(f, t, FENCE_NEWS_ENDED);
}

/*
 * Gives slots back, and is the only one that does. Its callers: over(), with
 * proof or behind the deadline; and fence_release_member(), when that holds for
 * all members. L6: the transfer leaves the fence here, so nobody can find and
 * release it again.
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
	if (t->nr_bound)
		detach_all(f, t);

	/* L7: what wasn't proven is told as such. */
	if (outcome == LKVFENCE_OUTCOME_TIMEOUT) {
		t->weakest = LKVFENCE_EVIDENCE_TIMEOUT;
		f->counts.evidence[LKVFENCE_EVIDENCE_TIMEOUT] += t->unproven;
	}
	if (t->gathered)
		f->transfers_gathered--;
	t->outcome = outcome;
	t->state = LKVFENCE_STATE_RELEASED;
	t->released_ns = now;
	f->counts.released[outcome]++;
	tell(f, t, FENCE_NEWS_RELEASED);
}

/*
 * L12: it would be released, but for its group. It has no deadline any more: that
 * of its hold is over, or was never needed; and its group has one (group.c).
 */
static void gather(struct fence *f, struct fence_transfer *t, u32 outcome)
{
	stop_clock(f, t);
	if (list_empty(&t->held))
		hold(f, t);
	t->gathered = true;
	t->revoking = false;
	t->outcome = outcome;
	f->transfers_gathered++;
	tell(f, t, FENCE_NEWS_MEMBER);
}

/* Nothing is left to wait for, in this transfer. */
static void over(struct fence *f, struct fence_transfer *t, u32 outcome, u64 now)
{
	if (t->grouped)
		gather(f, t, outcome);
	else
		release(f, t, outcome, now);
}

/*
 * Release an ended transfer if every lease is proven quiet (L2). One that every
 * consumer has taken ends by that.
 */
static void settle(struct fence *f, struct fence_transfer *t, u64 now)
{
	u32 outcome = LKVFENCE_OUTCOME_DRAINED;

	if (t->unproven)
		return;
	if (fence_alive(t)) {
		if (fence_all_taken(t))
			fence_finish(f, t, now);
		return;
	}
	if (t->gathered)
		return;
	if (t->reason == LKVFENCE_REASON_FINISHED)
		outcome = LKVFENCE_OUTCOME_COMPLETED;
	else if (t->revoked)
		outcome = LKVFENCE_OUTCOME_REVOKED;
	over(f, t, outcome, now);
}

#define REVOKES		(LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW)

/*
 * Have the access taken away, if each unproven lease is of a source that can
 * be. L4: the clock moves later, so that there is time for it; L8: once. A
 * second time could do no more: after the first no source of it is untouched.
 */
static bool start_revoking(struct fence *f, struct fence_transfer *t,
			   const struct fence_limits *limits, u64 now)
{
	struct rb_node *n;

	if (t->tried || !fence_revocable(t))
		return false;
	for_each_lease(t, n) {
		if (to_lease(n)->bound)
			to_lease(n)->bound->state = FENCE_SOURCE_REVOKING;
	}
	t->revoking = true;
	t->tried = true;
	f->counts.revokes++;
	if (!t->quarantined && now + limits->revoke_ns > (u64)t->clock.expires)
		set_clock(f, t, now + limits->revoke_ns);
	tell(f, t, FENCE_NEWS_REVOKING);
	return true;
}

/*
 * The gate (L6b): whatever ends a transfer, it passes here, once. L8: no hold
 * is longer than the bound, whoever asked for it.
 */
static void end(struct fence *f, struct fence_transfer *t, u32 reason,
		u64 timeout_ns, const struct fence_limits *limits, u64 now)
{
	if (t->state == LKVFENCE_STATE_READY)
		f->transfers_ready--;
	t->state = LKVFENCE_STATE_ENDED;
	t->reason = reason;
	t->ended_ns = now;
	rb_erase(&t->by_tag, &f->tags);
	if (unlikely(t->offered))
		tell(f, t, FENCE_NEWS_OVER);
	if (unlikely(t->grouped))
		tell(f, t, FENCE_NEWS_MEMBER);
	if (!t->unproven) {
		/* Nothing to hold for, and told as the release only. */
		settle(f, t, now);
		return;
	}
	hold(f, t);
	t->deadline_ns = now + min(timeout_ns, limits->max_ns);
	set_clock(f, t, t->deadline_ns);
	if (t->policy & LKVFENCE_POLICY_REVOKE_NOW)
		start_revoking(f, t, limits, now);
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
	f->sources = RB_ROOT;
	f->accepts = LKVFENCE_ACCEPT_ALL;
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

/* Which of the leases are bound ones? False: one can't be granted any more. */
static bool find_sources(struct fence *f, struct fence_transfer *t)
{
	struct rb_node *n;

	if (RB_EMPTY_ROOT(&f->sources))
		return true;
	for_each_lease(t, n) {
		struct fence_source *s = fence_find_source(f, to_lease(n)->source);

		if (s && s->state != FENCE_SOURCE_BOUND)
			return false;
		to_lease(n)->bound = s;
	}
	return true;
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
	if (!find_sources(f, t))
		return refuse(why, NULL, 0, &f->counts.refused_revoked, -ESHUTDOWN);
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

	t->by_default = t->policy == LKVFENCE_POLICY_DEFAULT;
	if (!(t->policy & ~REVOKES))
		t->policy |= LKVFENCE_POLICY_TAINT;
	if (!RB_EMPTY_ROOT(&f->sources))
		attach_all(t);
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
	struct fence_source *s;

	if (!fence_alive(t))
		return -ECANCELED;
	if (find_lease(t, lease->source))
		return -EEXIST;
	if (t->nr_leases >= max_leases)
		return -ENOSPC;
	s = fence_find_source(f, lease->source);
	if (s && s->state != FENCE_SOURCE_BOUND) {
		f->counts.refused_revoked++;
		return -ESHUTDOWN;
	}
	add_lease(t, lease);
	if (s) {
		lease->bound = s;
		attach(t, lease);
	}
	start_life(f, t, now);
	return 0;
}

int fence_ready(struct fence *f, struct fence_transfer *t, u64 ttl_ns,
		u32 consumers, u64 now)
{
	bool renewal = t->state == LKVFENCE_STATE_READY;

	if (!fence_alive(t))
		return -ECANCELED;
	if (!t->offered || (renewal && consumers && consumers != t->consumers))
		return -EINVAL;
	/* L4: a renewal only ever moves it later. */
	if (renewal && ttl_ns && (RB_EMPTY_NODE(&t->clock.node) ||
				  now + ttl_ns <= (u64)t->clock.expires))
		return 0;
	if (!renewal) {
		t->state = LKVFENCE_STATE_READY;
		t->consumers = consumers;
		t->ttl_ns = 0;
		f->transfers_ready++;
	}
	stop_clock(f, t);
	/* Whoever asks is not told of a time that won't come. */
	t->clock.expires = 0;
	if (ttl_ns)
		set_clock(f, t, now + ttl_ns);
	return 0;
}

/* A lease counts as quiet: nothing touches the slots under it any more. */
static void prove(struct fence *f, struct fence_transfer *t,
		  struct fence_lease *lease, u32 state, u32 evidence)
{
	detach(f, t, lease);
	lease->state = state;
	lease->evidence = evidence;
	t->unproven--;
	if (t->weakest == LKVFENCE_EVIDENCE_NONE || evidence < t->weakest)
		t->weakest = evidence;
	if (state == LKVFENCE_LEASE_REVOKED)
		t->revoked = true;
	else
		t->taken += lease->pulled;
	f->counts.evidence[evidence]++;
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
	if (!is_open(lease, status)) {
		f->counts.returns_duplicate++;
		return -EALREADY;
	}
	if (status != LKVFENCE_STATUS_FAILED && !fence_accepts(f, evidence)) {
		f->counts.returns_unaccepted++;
		return -EOPNOTSUPP;
	}

	if (fence_alive(t))
		f->counts.returns_early++;
	if (status == LKVFENCE_STATUS_FAILED) {
		/* L4: given back, but still without proof. */
		lease->state = LKVFENCE_LEASE_FAILED;
		f->counts.returns_failed++;
		return 0;
	}
	if (status == LKVFENCE_STATUS_REVOKED) {
		prove(f, t, lease, LKVFENCE_LEASE_REVOKED, evidence);
		f->counts.returns_revoked++;
	} else {
		prove(f, t, lease, LKVFENCE_LEASE_DRAINED, evidence);
		f->counts.returns_drained++;
	}
	settle(f, t, now);
	*released = t->state == LKVFENCE_STATE_RELEASED;
	return 0;
}

/* L4: stricter, never laxer; policies are numbered in that order. */
static void tighten(struct fence_transfer *t, u32 policy)
{
	u32 rest = max(policy & ~REVOKES, t->policy & ~(u32)REVOKES);

	t->policy = rest | ((policy | t->policy) & REVOKES);
}

u32 fence_policy(const struct fence_transfer *t)
{
	return t->policy | (t->by_default && fence_revocable(t) ?
			    LKVFENCE_POLICY_REVOKE : 0);
}

void fence_abort(struct fence *f, struct fence_transfer *t, u32 reason,
		 u32 policy, u64 timeout_ns, const struct fence_limits *limits,
		 u64 now)
{
	u64 deadline;

	if (t->gathered)
		return;
	tighten(t, policy);
	if (fence_alive(t)) {
		end(f, t, reason, timeout_ns ?: limits->default_ns, limits, now);
		return;
	}
	if (timeout_ns && !t->quarantined) {
		/* L4: later, never earlier. L8: but not for ever. */
		timeout_ns = min(timeout_ns, limits->max_ns);
		deadline = min(now + timeout_ns, t->ended_ns + limits->max_ns);
		t->deadline_ns = max(t->deadline_ns, deadline);
		if (t->deadline_ns > (u64)t->clock.expires)
			set_clock(f, t, t->deadline_ns);
	}
	if (policy & LKVFENCE_POLICY_REVOKE_NOW)
		start_revoking(f, t, limits, now);
}

int fence_finish(struct fence *f, struct fence_transfer *t, u64 now)
{
	static const struct fence_limits no_hold;

	if (t->unproven || t->gathered)
		return -EBUSY;
	/* Nothing is unproven, so there will be no hold and no deadline. */
	end(f, t, LKVFENCE_REASON_FINISHED, 0, &no_hold, now);
	return 0;
}

int fence_force(struct fence *f, struct fence_transfer *t, u64 now)
{
	if (!t->quarantined || t->gathered)
		return -EBUSY;
	t->forced = true;
	f->counts.forced++;
	over(f, t, LKVFENCE_OUTCOME_TIMEOUT, now);
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

/* What was to be revoked is left to the rest of its policy: counted once. */
static void fall_back(struct fence *f, struct fence_transfer *t)
{
	if (t->fell_back)
		return;
	t->fell_back = true;
	f->counts.revokes_failed++;
}

/* The deadline passed: the rest of the policy. */
static void give_up(struct fence *f, struct fence_transfer *t, u64 now)
{
	if (t->tried || t->policy & REVOKES)
		fall_back(f, t);
	t->revoking = false;
	if ((t->policy & ~REVOKES) == LKVFENCE_POLICY_TAINT)
		over(f, t, LKVFENCE_OUTCOME_TIMEOUT, now);
	else
		quarantine(f, t, now);
}

u32 fence_expire(struct fence *f, const struct fence_limits *limits, u64 now,
		 u32 max)
{
	u32 nr;

	for (nr = 0; nr < max && fence_next_deadline(f) <= now; nr++) {
		struct fence_transfer *t =
			container_of(timerqueue_getnext(&f->clock),
				     struct fence_transfer, clock);

		if (fence_alive(t))
			end(f, t, LKVFENCE_REASON_EXPIRED, limits->default_ns,
			    limits, now);
		else if (!(fence_policy(t) & REVOKES) ||
			 !start_revoking(f, t, limits, now))
			give_up(f, t, now);
	}
	return nr;
}

/*
 * Members of groups
 */

int fence_join(struct fence *f, struct fence_transfer *t)
{
	if (!fence_alive(t))
		return -ECANCELED;
	if (t->grouped)
		return -EEXIST;
	t->grouped = true;
	f->counts.joined++;
	return 0;
}

void fence_end_member(struct fence *f, struct fence_transfer *t, u32 reason,
		      const struct fence_limits *limits, u64 now)
{
	if (!fence_alive(t))
		return;
	f->counts.ended_by_group++;
	end(f, t, reason, limits->default_ns, limits, now);
}

void fence_release_member(struct fence *f, struct fence_transfer *t, u32 outcome,
			  u32 evidence, u64 now)
{
	t->weakest = evidence;
	release(f, t, outcome, now);
}

/*
 * Sources
 */

int fence_bind(struct fence *f, struct fence_source *s, u32 source)
{
	if (!add_source(f, s, source))
		return -EEXIST;
	s->state = FENCE_SOURCE_BOUND;
	s->nr_leases = 0;
	INIT_LIST_HEAD(&s->leases);
	INIT_LIST_HEAD(&s->ended);
	f->nr_sources++;
	return 0;
}

int fence_unbind(struct fence *f, struct fence_source *s)
{
	if (s->nr_leases)
		return -EBUSY;
	rb_erase(&s->node, &f->sources);
	f->nr_sources--;
	return 0;
}

bool fence_source_revoke(struct fence_source *s)
{
	if (s->state != FENCE_SOURCE_BOUND)
		return false;
	s->state = FENCE_SOURCE_REVOKING;
	return true;
}

static struct fence_lease *first_of(struct list_head *leases)
{
	return list_first_entry_or_null(leases, struct fence_lease, of_source);
}

u32 fence_source_end(struct fence *f, struct fence_source *s,
		     const struct fence_limits *limits, u64 now, u32 max)
{
	struct fence_lease *lease;
	u32 nr;

	for (nr = 0; nr < max && (lease = first_of(&s->leases)); nr++) {
		list_move_tail(&lease->of_source, &s->ended);
		/* L6b. It has this lease out, so it is held. */
		if (fence_alive(lease->transfer))
			end(f, lease->transfer, LKVFENCE_REASON_REVOKED,
			    limits->default_ns, limits, now);
	}
	return nr;
}

u32 fence_source_quiet(struct fence *f, struct fence_source *s, u32 evidence,
		       u64 now, u32 max)
{
	struct fence_lease *lease;
	u32 nr;

	for (nr = 0; nr < max && s->nr_leases; nr++) {
		struct fence_transfer *t;

		/* One that was lost has them in the other list. */
		lease = first_of(&s->ended) ?: first_of(&s->leases);
		t = lease->transfer;
		prove(f, t, lease, LKVFENCE_LEASE_REVOKED, evidence);
		settle(f, t, now);
	}
	if (nr < max && s->state != FENCE_SOURCE_REVOKED) {
		s->state = FENCE_SOURCE_REVOKED;
		f->counts.sources_revoked++;
	}
	return nr;
}

/* The transfer won't be revoked: back to the deadline that it had. */
static void stop_revoking(struct fence *f, struct fence_transfer *t)
{
	if (!t->revoking)
		return;
	t->revoking = false;
	if (t->quarantined)
		fall_back(f, t);
	else
		set_clock(f, t, t->deadline_ns);
}

u32 fence_source_lost(struct fence *f, struct fence_source *s, u32 max)
{
	struct fence_lease *lease;
	u32 nr;

	if (s->state == FENCE_SOURCE_REVOKING) {
		s->state = FENCE_SOURCE_LOST;
		f->counts.sources_lost++;
	}
	for (nr = 0; nr < max && (lease = first_of(&s->ended)); nr++) {
		list_move_tail(&lease->of_source, &s->leases);
		stop_revoking(f, lease->transfer);
	}
	return nr;
}

int fence_report(struct fence *f, u64 generation, u32 kind)
{
	/* L5: an issued one, whether released or not. */
	if (!generation || generation > f->last_generation)
		return -ENOENT;
	switch (kind) {
	case LKVFENCE_REPORT_STRAY:
		f->counts.strays++;
		return 0;
	case LKVFENCE_REPORT_STRAY_LATE:
		f->counts.strays_late++;
		return 0;
	case LKVFENCE_REPORT_MISMATCH:
		f->counts.mismatches++;
		return 0;
	default:
		return -EINVAL;
	}
}
