// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Calls of the crowd. What another thread does at the same moment is not known,
 * so each answer must be one of those that may be given to what was asked; and
 * what is true for good is checked: a released generation stays released, and
 * is reported once (L6); a slot that is given again was free before (L1).
 */
#include "crowd.h"

#define REVOKES		((uint32_t)(LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW))
/* A hold, and a revocation at its end. */
#define LONGEST_MS	(CROWD_MAX_MS + CROWD_SETTLE_MS + CROWD_REVOKE_MS)
#define pick		crowd_pick
#define a_generation	crowd_generation
#define answer		crowd_answer
#define a_source	crowd_a_source

uint32_t crowd_pick(struct member *me, uint32_t n)
{
	return below(&me->seed, n);
}

/* One of those that were begun here not long ago; 0: none was. */
uint64_t crowd_generation(struct member *me, int region)
{
	return atomic_load(&me->crowd->recent[region][pick(me, CROWD_RECENT)]);
}

uint32_t crowd_a_source(struct member *me)
{
	return pick(me, pick(me, 3) ? CROWD_UNBOUND : CROWD_SOURCES);
}

static void tell(struct member *me, uint64_t generation, unsigned int what,
		 unsigned int excludes)
{
	uint64_t n = generation - me->crowd->first_generation;
	unsigned int before;

	never(me, n >= CROWD_FOLLOWED, "generation %" PRIu64 " is out of order", generation);
	if (n >= CROWD_FOLLOWED)
		return;
	before = atomic_fetch_or(&me->crowd->told[n], what);
	never(me, before & (what | excludes),
	      "L6: generation %" PRIu64 ": %#x is told, after %#x", generation, what, before);
}

/*
 * An answer that isn't success must be one of @may, a list that ends in 0.
 * Whether it was success.
 */
bool crowd_answer(struct member *me, unsigned int cmd, int err, const int *may)
{
	unsigned int nr = _IOC_NR(cmd) % 32;

	atomic_fetch_add(&me->crowd->calls, 1);
	if (!err) {
		atomic_fetch_add(&me->crowd->succeeded[nr], 1);
		return true;
	}
	if (err == -EBUSY || err == -EEXIST)
		atomic_fetch_add(&me->crowd->refused[err == -EEXIST], 1);
	while (*may && *may != err)
		may++;
	never(me, !*may, "command %#x: answer %d (%s)", _IOC_NR(cmd), err,
	      strerrorname_np(-err) ? strerrorname_np(-err) : "?");
	return false;
}

bool crowd_is_gone(struct member *me, int fd, uint64_t generation)
{
	struct lkvfence_query q = { .size = sizeof(q), .generation = generation };
	int err = sys(fd, LKVFENCE_IOC_QUERY, &q);

	answer(me, LKVFENCE_IOC_QUERY, err, MAY(-ESTALE));
	return err == -ESTALE;
}

/* L1: between two generations that had the slot, the earlier one was released. */
static void own(struct member *me, int fd, int region, uint32_t slot, uint64_t generation)
{
	_Atomic uint64_t *owner = &me->crowd->owner[region][slot];
	uint64_t before = atomic_load(owner);

	while (before < generation && !atomic_compare_exchange_weak(owner, &before, generation))
		;
	if (!before)
		return;
	never(me, before == generation, "L1: slot %u twice in %" PRIu64, slot, generation);
	if (before < generation)
		never(me, !crowd_is_gone(me, fd, before),
		      "L1: slot %u of %" PRIu64 " given to %" PRIu64, slot, before, generation);
	else
		never(me, !crowd_is_gone(me, fd, generation),
		      "L1: slot %u of %" PRIu64 " given to %" PRIu64, slot, generation, before);
}

/*
 * Commands
 */

/* A refusal may come where the region doesn't accept what was attested. */
static bool unaccepted(int region, const struct lkvfence_return_item *item)
{
	return item->result == -EOPNOTSUPP && crowd_accepts[region] &&
	       !(crowd_accepts[region] >> item->evidence & 1);
}

static void return_all(struct member *me, int fd, int region,
		       struct lkvfence_return_item *items, uint32_t nr)
{
	struct lkvfence_return a = {
		.size = sizeof(a),
		.items = (uintptr_t)items,
		.nr_items = nr,
	};
	uint32_t accepted = 0;

	if (!answer(me, LKVFENCE_IOC_RETURN, sys(fd, LKVFENCE_IOC_RETURN, &a), MAY(0)))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		const struct lkvfence_return_item *item = &items[i];

		accepted += !item->result;
		never(me, item->result && item->result != -ENOENT && item->result != -EALREADY &&
		      item->result != -ESTALE && !unaccepted(region, item),
		      "result %d of a return", item->result);
		never(me, item->result && item->released, "a refused return released");
		if (item->released)
			tell(me, item->generation, TOLD_RETURN, TOLD_ANSWER | TOLD_AT_ONCE);
	}
	never(me, accepted != a.nr_accepted, "%u returns accepted, not %u", accepted,
	      a.nr_accepted);
}

static struct lkvfence_return_item a_return(struct member *me, uint64_t generation,
					    uint32_t source)
{
	struct lkvfence_return_item item = {
		.generation = generation,
		.source = source,
		.status = LKVFENCE_STATUS_DRAINED,
		.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
	};

	switch (pick(me, 24)) {
	case 0:
	case 1:
		item.status = LKVFENCE_STATUS_FAILED;
		item.evidence = LKVFENCE_EVIDENCE_NONE;
		break;
	case 2:
		item.status = LKVFENCE_STATUS_REVOKED;
		item.evidence = LKVFENCE_EVIDENCE_QP_DESTROYED;
		break;
	case 3:
		item.status = LKVFENCE_STATUS_REVOKED;
		item.evidence = LKVFENCE_EVIDENCE_MW_INVALIDATED;
		break;
	case 4:
		item.evidence = LKVFENCE_EVIDENCE_IN_BAND;
		break;
	}
	return item;
}

static void do_return(struct member *me, int fd, int region)
{
	struct lkvfence_return_item items[24];
	uint32_t nr = pick(me, 20) ? 1 + pick(me, 4) : 24;

	for (uint32_t i = 0; i < nr; i++)
		items[i] = a_return(me, a_generation(me, region), a_source(me));
	return_all(me, fd, region, items, nr);
}

void crowd_release(struct member *me, int fd, uint64_t generation)
{
	struct lkvfence_release a = {
		.size = sizeof(a),
		.flags = pick(me, 6) ? 0 : LKVFENCE_RELEASE_FORCE,
		.generation = generation,
	};
	int err = sys(fd, LKVFENCE_IOC_RELEASE, &a);

	if (!answer(me, LKVFENCE_IOC_RELEASE, err, MAY(-EBUSY, -ESTALE))) {
		never(me, err == -EBUSY && !a.flags && !a.leases_out &&
		      !crowd_joined(me, generation), "EBUSY with no lease out");
		return;
	}
	/* L2 */
	never(me, !a.flags != !a.leases_out, "%u leases out at a RELEASE", a.leases_out);
	/* L12: it waits for its group. */
	if (!a.outcome && crowd_joined(me, generation))
		return;
	tell(me, a.generation, TOLD_ANSWER, TOLD_RETURN | TOLD_AT_ONCE);
	never(me, a.outcome != (a.flags ? LKVFENCE_OUTCOME_TIMEOUT : LKVFENCE_OUTCOME_COMPLETED),
	      "outcome %u of a RELEASE", a.outcome);
}

static void do_release(struct member *me, int fd, int region)
{
	uint64_t generation = a_generation(me, region);

	if (generation)
		crowd_release(me, fd, generation);
}

static uint32_t revokes(struct member *me)
{
	switch (pick(me, 8)) {
	case 0:
		return LKVFENCE_POLICY_REVOKE;
	case 1:
		return LKVFENCE_POLICY_REVOKE_NOW;
	default:
		return 0;
	}
}

uint64_t crowd_start(struct member *me, int fd, int region, bool hold, uint32_t first,
		     uint32_t nr_sources)
{
	unsigned int cmd = hold ? LKVFENCE_IOC_HOLD : LKVFENCE_IOC_BEGIN;
	uint32_t nr = 1 + pick(me, 2), slots = crowd_slots[region];
	struct lkvfence_range ranges[2];
	uint32_t sources[3] = { first, first + 1, first + 2 };
	struct lkvfence_begin a = {
		.size = sizeof(a),
		.tag = pick(me, CROWD_TAGS),
		.ranges = (uintptr_t)ranges,
		.nr_ranges = nr,
		.sources = (uintptr_t)sources,
		.nr_sources = nr_sources,
		.policy = (pick(me, 40) ? pick(me, 2) : LKVFENCE_POLICY_QUARANTINE) | revokes(me),
	};
	bool inside;
	int err;

	/* Each in its own half, so that no slot is named twice. */
	for (uint32_t i = 0; i < nr; i++) {
		ranges[i].first = i * slots / 2 + pick(me, slots / 2 - 2);
		ranges[i].count = 1 + pick(me, 2);
	}
	if (hold)
		a.timeout_ns = pick(me, 2) ? (CROWD_MIN_MS + pick(me, 60)) * MS : 0;
	else if (!pick(me, 8))
		a.ttl_ns = (CROWD_MIN_MS + pick(me, 60)) * MS;
	if (!hold)
		a.flags = pick(me, 2) ? LKVFENCE_BEGIN_OFFER : 0;
	err = sys(fd, cmd, &a);
	if (!answer(me, cmd, err, a.flags ?
		    MAY(-EBUSY, -EEXIST, -ENOSPC, -ESHUTDOWN, -ECANCELED) :
		    MAY(-EBUSY, -EEXIST, -ENOSPC, -ESHUTDOWN))) {
		never(me, err == -ESHUTDOWN && first + nr_sources <= CROWD_UNBOUND,
		      "BEGIN: no source is bound, and yet one is revoked");
		if (err == -ENOSPC || err == -ESHUTDOWN || err == -ECANCELED)
			return 0;
		never(me, a.busy_generation < me->crowd->first_generation,
		      "no generation is in the way");
		never(me, err == -EEXIST && a.busy_tag != a.tag, "another tag is in the way");
		inside = false;
		for (uint32_t i = 0; i < nr; i++)
			inside |= a.busy_slot - ranges[i].first < ranges[i].count;
		never(me, err == -EBUSY && !inside, "slot %u in the way was not asked for",
		      a.busy_slot);
		return 0;
	}
	atomic_fetch_add(&me->crowd->begun, 1);
	tell(me, a.generation, TOLD_BEGUN, 0);
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0; j < ranges[i].count; j++)
			own(me, fd, region, ranges[i].first + j, a.generation);
	never(me, a.state != (!hold ? LKVFENCE_STATE_WAITING :
			      a.nr_sources ? LKVFENCE_STATE_ENDED : LKVFENCE_STATE_RELEASED),
	      "state %u after BEGIN or HOLD", a.state);
	if (a.state == LKVFENCE_STATE_RELEASED)
		tell(me, a.generation, TOLD_AT_ONCE, TOLD_ANSWER | TOLD_RETURN);
	atomic_store(&me->crowd->recent[region][pick(me, CROWD_RECENT)], a.generation);
	return a.generation;
}

/* Where it was offered: who asks for it is served, and has what he wanted. */
static void serve(struct member *me, int fd, int region, uint64_t generation)
{
	uint32_t source = pick(me, CROWD_UNBOUND);
	struct lkvfence_return_item item = a_return(me, generation, source);

	crowd_ready(me, fd, generation);
	crowd_pull(me, fd, pick(me, 3) ? generation : 0, source);
	if (pick(me, 3))
		return_all(me, fd, region, &item, 1);
}

static void do_begin(struct member *me, int fd, int region, bool hold)
{
	uint32_t first = pick(me, 3) ? 0 : pick(me, CROWD_SOURCES - 2), nr = pick(me, 3);
	uint64_t generation = crowd_start(me, fd, region, hold, first, nr);
	struct lkvfence_return_item items[3];

	if (generation && !hold && !pick(me, 3))
		serve(me, fd, region, generation);
	/* Most live as they should, so that there is room for more. */
	if (!generation || !pick(me, 4))
		return;
	for (uint32_t i = 0; i < nr; i++)
		items[i] = a_return(me, generation, first + i);
	if (nr)
		return_all(me, fd, region, items, nr);
	if (!hold && pick(me, 4))
		crowd_release(me, fd, generation);
}

static void do_take(struct member *me, int fd, int region)
{
	struct lkvfence_take a = {
		.size = sizeof(a),
		.generation = a_generation(me, region),
		.source = a_source(me),
	};

	if (a.generation)
		answer(me, LKVFENCE_IOC_TAKE, sys(fd, LKVFENCE_IOC_TAKE, &a),
		       a.source < CROWD_UNBOUND ? MAY(-ECANCELED, -EEXIST, -ESTALE) :
		       MAY(-ECANCELED, -EEXIST, -ESTALE, -ESHUTDOWN));
}

void crowd_end(struct member *me, int fd, struct lkvfence_abort a)
{
	uint64_t asked = a.generation, tag = a.tag;
	bool none = a.flags & (LKVFENCE_ABORT_EARLY | LKVFENCE_ABORT_ALL);
	int64_t now;

	if (!answer(me, LKVFENCE_IOC_ABORT, sys(fd, LKVFENCE_IOC_ABORT, &a),
		    none ? MAY(0) : a.flags ? MAY(-ENOENT) : MAY(-ESTALE)))
		return;
	now = now_ns();
	/* Of no transfer, or of more than one, nothing is said. */
	if (none && !a.generation) {
		never(me, a.state || a.deadline_ns || a.leases_out || a.policy_in_force ||
		      a.reason_in_force, "ABORT of none says something of it");
		return;
	}
	never(me, a.flags & LKVFENCE_ABORT_ALL, "ABORT of all says it is of one");
	never(me, a.flags & LKVFENCE_ABORT_EARLY && (a.nr_ended != 1 || a.generation <= asked),
	      "ABORT of one that isn't meant");
	never(me, a.flags ? a.tag != tag : a.generation != asked, "ABORT of another");
	/* One that only waits for its group stays as it is. */
	if (crowd_joined(me, a.generation) && a.state == LKVFENCE_STATE_ENDED)
		return;
	never(me, !a.reason_in_force || a.reason_in_force == LKVFENCE_REASON_FINISHED,
	      "reason %u in force", a.reason_in_force);
	/* L4 */
	never(me, !(a.policy_in_force & ~REVOKES) ||
	      (a.policy_in_force & ~REVOKES) < (a.policy & ~REVOKES) ||
	      (a.policy & REVOKES & ~a.policy_in_force), "policy %#x in force, %#x asked for",
	      a.policy_in_force, a.policy);
	if (a.state == LKVFENCE_STATE_RELEASED) {
		never(me, a.deadline_ns || a.leases_out, "a deadline of what is released");
		tell(me, a.generation, TOLD_AT_ONCE, TOLD_ANSWER | TOLD_RETURN);
	} else {
		never(me, a.state != LKVFENCE_STATE_ENDED || !a.leases_out || !a.deadline_ns,
		      "state %u, %u leases out, after ABORT", a.state, a.leases_out);
		/* L8 */
		never(me, a.deadline_ns > (uint64_t)now + LONGEST_MS * MS, "too late a deadline");
	}
}

static void do_abort(struct member *me, int fd, int region)
{
	struct lkvfence_abort a = {
		.size = sizeof(a),
		.flags = pick(me, 2) ? 0 : LKVFENCE_ABORT_BY_TAG,
		.generation = a_generation(me, region),
		.tag = pick(me, CROWD_TAGS),
		.timeout_ns = pick(me, 2) ? 0 : (CROWD_MIN_MS + pick(me, 60)) * MS,
		.policy = (pick(me, 60) ? 0 : LKVFENCE_POLICY_QUARANTINE) | revokes(me),
		.reason = pick(me, 2) ? 0 : LKVFENCE_REASON_ABORTED + pick(me, 5),
	};

	if (!pick(me, 4)) {
		a.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY;
		if (pick(me, 2))
			a.generation = 0;
		crowd_end(me, fd, a);
	} else if (!pick(me, 100)) {
		a.flags = LKVFENCE_ABORT_ALL;
		crowd_end(me, fd, a);
	} else if (a.generation) {
		crowd_end(me, fd, a);
	}
}

void crowd_revoke(struct member *me, int fd, int region, uint32_t source)
{
	struct lkvfence_abort a = {
		.size = sizeof(a),
		.policy = LKVFENCE_POLICY_REVOKE_NOW,
		.generation = crowd_start(me, fd, region, pick(me, 2), source, 1),
	};

	if (a.generation)
		crowd_end(me, fd, a);
}

static void check_query(struct member *me, const struct lkvfence_query *q,
			const struct lkvfence_lease *leases)
{
	bool held = q->state == LKVFENCE_STATE_ENDED && !(q->flags & LKVFENCE_TRANSFER_GATHERED);
	bool over = q->state == LKVFENCE_STATE_ENDED;
	uint32_t out = 0;

	never(me, q->flags & LKVFENCE_TRANSFER_GATHERED &&
	      !(q->flags & LKVFENCE_TRANSFER_GROUPED), "gathered, and in no group");
	never(me, q->flags & LKVFENCE_TRANSFER_GROUPED && !crowd_joined(me, q->generation),
	      "in a group, and nobody had it join one");
	never(me, q->generation < me->crowd->first_generation, "QUERY finds no generation");
	never(me, !over && q->state != LKVFENCE_STATE_WAITING &&
	      q->state != LKVFENCE_STATE_READY, "state %u", q->state);
	never(me, q->state == LKVFENCE_STATE_READY && !(q->flags & LKVFENCE_TRANSFER_OFFERED),
	      "READY, and not offered");
	never(me, over != !!q->reason || over != !!q->ended_ns, "an end without a reason");
	never(me, held && (!q->leases_out || !q->deadline_ns),
	      "held for nothing (L2), for ever (L8)");
	never(me, held && q->deadline_ns <= q->ended_ns, "L8: deadline before the end");
	/* What is revoked has more time from then on, whenever that is. */
	never(me, held && !(q->flags & (LKVFENCE_TRANSFER_REVOKING |
					LKVFENCE_TRANSFER_QUARANTINED)) &&
	      q->deadline_ns > q->ended_ns + CROWD_MAX_MS * MS, "L8: deadline");
	never(me, q->begun_ns > q->now_ns || q->ended_ns > q->now_ns, "from the future");
	never(me, q->flags & LKVFENCE_TRANSFER_QUARANTINED &&
	      ((q->policy & ~REVOKES) != LKVFENCE_POLICY_QUARANTINE || q->now_ns < q->deadline_ns),
	      "quarantine before its time, or against its policy");
	/* A busy machine is late, but not by so much. */
	never(me, held && !(q->flags & LKVFENCE_TRANSFER_QUARANTINED) &&
	      q->now_ns > q->deadline_ns + PATIENCE_MS * MS, "L8: a deadline was missed");
	for (uint32_t i = 0; i < q->nr_leases; i++) {
		bool proven = leases[i].state == LKVFENCE_LEASE_DRAINED ||
			      leases[i].state == LKVFENCE_LEASE_REVOKED;

		out += !proven;
		never(me, i && leases[i].source <= leases[i - 1].source, "order of leases");
		never(me, proven != !!leases[i].evidence, "evidence %u in state %u",
		      leases[i].evidence, leases[i].state);
	}
	never(me, out != q->leases_out, "%u leases out, not %u", out, q->leases_out);
	never(me, q->flags & LKVFENCE_TRANSFER_REVOCABLE && !out, "revocable, and nothing is out");
}

static void adopt(struct member *me, int fd, uint64_t generation)
{
	struct lkvfence_adopt a = {
		.size = sizeof(a),
		.generation = generation,
	};

	answer(me, LKVFENCE_IOC_ADOPT, sys(fd, LKVFENCE_IOC_ADOPT, &a),
	       MAY(-EBUSY, -EALREADY, -ESTALE, -ENOSPC));
}

static void do_adopt(struct member *me, int fd, int region)
{
	uint64_t generation = a_generation(me, region);

	if (generation)
		adopt(me, fd, generation);
}

static void do_query(struct member *me, int fd, int region)
{
	struct lkvfence_range ranges[2];
	struct lkvfence_lease leases[CROWD_SOURCES];
	struct lkvfence_query a = {
		.size = sizeof(a),
		.by = pick(me, 4),
		.generation = a_generation(me, region),
		.tag = pick(me, CROWD_TAGS),
		.slot = pick(me, crowd_slots[region]),
		.ranges = (uintptr_t)ranges,
		.leases = (uintptr_t)leases,
		.nr_ranges = 2,
		.nr_leases = CROWD_SOURCES,
	};
	uint64_t asked = a.generation, slots = 0;
	uint32_t slot = a.slot;
	bool inside = false;

	if (!answer(me, LKVFENCE_IOC_QUERY, sys(fd, LKVFENCE_IOC_QUERY, &a),
		    a.by == LKVFENCE_QUERY_GENERATION && asked ? MAY(-ESTALE) : MAY(-ENOENT)))
		return;
	check_query(me, &a, leases);
	for (uint32_t i = 0; i < a.nr_ranges; i++) {
		slots += ranges[i].count;
		inside |= slot - ranges[i].first < ranges[i].count;
	}
	never(me, slots != a.nr_slots, "ranges of %" PRIu64 " slots, not %u", slots, a.nr_slots);
	never(me, a.by == LKVFENCE_QUERY_SLOT && !inside, "QUERY of a slot finds another");
	never(me, a.by == LKVFENCE_QUERY_NEXT && a.generation <= asked, "QUERY goes back");
	never(me, a.by == LKVFENCE_QUERY_TAG && a.state == LKVFENCE_STATE_ENDED,
	      "QUERY by tag finds what has ended");
	/* Others may have seen that it has lost its owner, too. */
	if (a.flags & LKVFENCE_TRANSFER_ORPHANED)
		adopt(me, fd, a.generation);
}

static void do_stat(struct member *me, int fd, int region)
{
	struct lkvfence_stat s = { .size = sizeof(s) };
	uint64_t released = 0;

	if (!answer(me, LKVFENCE_IOC_STAT, sys(fd, LKVFENCE_IOC_STAT, &s), MAY(0)))
		return;
	for (int i = 0; i < LKVFENCE_MAX_OUTCOMES; i++)
		released += s.released[i];
	never(me, s.begun != s.transfers_alive + released, "begun %llu, alive %llu, released %"
	      PRIu64, (unsigned long long)s.begun, (unsigned long long)s.transfers_alive, released);
	never(me, s.pulls != s.tickets + s.pulls_granted + s.pulls_refused + s.pulls_closed,
	      "pulls of STAT");
	never(me, s.slots != crowd_slots[region] || s.slots_taken > s.slots ||
	      s.slots_held > s.slots_taken || s.slots_quarantined > s.slots_held ||
	      s.transfers_held > s.transfers_alive || s.transfers_quarantined > s.transfers_held ||
	      s.transfers_alive > s.slots_taken || !s.handles, "gauges of STAT");
}

void crowd_call(struct member *me, int fd, int region)
{
	uint32_t what = pick(me, 144);

	if (what < 20)
		do_begin(me, fd, region, false);
	else if (what < 28)
		do_begin(me, fd, region, true);
	else if (what < 38)
		do_take(me, fd, region);
	else if (what < 58)
		do_return(me, fd, region);
	else if (what < 72)
		do_abort(me, fd, region);
	else if (what < 82)
		do_release(me, fd, region);
	else if (what < 89)
		do_query(me, fd, region);
	else if (what < 92)
		do_adopt(me, fd, region);
	else if (what < 95)
		do_stat(me, fd, region);
	else if (what < 99)
		crowd_source(me, fd, region);
	else if (what < 101)
		crowd_quiet(me, fd);
	else if (what < 104)
		crowd_query_source(me, fd);
	else if (what < 105)
		crowd_report(me, fd, region);
	else if (what < 113)
		crowd_ready(me, fd, a_generation(me, region));
	else if (what < 126)
		crowd_pull(me, fd, pick(me, 2) ? a_generation(me, region) : 0, a_source(me));
	else if (what < 129)
		crowd_withdraw(me, fd);
	else if (what < 132)
		crowd_group(me, fd, region);
	else if (what < 134)
		crowd_join(me, fd, a_generation(me, region));
	else if (what < 138)
		crowd_peer(me, fd);
	else if (what < 140)
		crowd_take_healthy(me, fd, a_generation(me, region));
	else
		crowd_bad(me, fd);
}

/*
 * Events
 */

static void check_event(struct member *me, const struct lkvfence_event *e)
{
	bool timeout = e->outcome == LKVFENCE_OUTCOME_TIMEOUT;

	atomic_fetch_add(&me->crowd->events, 1);
	if (e->type == LKVFENCE_EVENT_REVOKE) {
		crowd_check_revoke(me, e);
		return;
	}
	if (e->type == LKVFENCE_EVENT_GRANTED || e->type == LKVFENCE_EVENT_REFUSED) {
		crowd_check_answer(me, e);
		return;
	}
	if (e->type == LKVFENCE_EVENT_PEER) {
		crowd_check_peer(me, e);
		return;
	}
	never(me, e->time_ns > (uint64_t)now_ns() || !e->nr_slots || e->pad, "a strange event");
	if (e->type != LKVFENCE_EVENT_RELEASED) {
		never(me, e->outcome || e->flags || e->held_ns || e->evidence,
		      "event %u with what belongs to RELEASED", e->type);
		tell(me, e->generation, e->type == LKVFENCE_EVENT_ENDED ? TOLD_ENDED :
		     TOLD_QUARANTINED, 0);
		return;
	}
	tell(me, e->generation, TOLD_EVENT, 0);
	/* L12: it is told what became of all, which says little of the one. */
	if (crowd_joined(me, e->generation)) {
		never(me, timeout != !!(e->flags & LKVFENCE_EVENT_TAINTED) ||
		      timeout != (e->evidence == LKVFENCE_EVIDENCE_TIMEOUT),
		      "of a group: outcome %u, flags %#x, evidence %u", e->outcome, e->flags,
		      e->evidence);
		return;
	}
	/* L7, and L2: with proof no lease is out, without proof one is. */
	never(me, timeout != !!(e->flags & LKVFENCE_EVENT_TAINTED) || timeout != !!e->leases_out ||
	      timeout != (e->evidence == LKVFENCE_EVIDENCE_TIMEOUT),
	      "outcome %u, flags %#x, evidence %u, %u leases out", e->outcome, e->flags,
	      e->evidence, e->leases_out);
	never(me, e->outcome < LKVFENCE_OUTCOME_COMPLETED || e->outcome > LKVFENCE_OUTCOME_TIMEOUT,
	      "outcome %u", e->outcome);
	never(me, (e->outcome == LKVFENCE_OUTCOME_COMPLETED) !=
	      (e->reason == LKVFENCE_REASON_FINISHED), "outcome %u for reason %u", e->outcome,
	      e->reason);
	/* L8: nothing is let go before the shortest deadline there is. */
	never(me, timeout && e->held_ns < CROWD_MIN_MS * MS, "held for %llu ns only",
	      (unsigned long long)e->held_ns);
}

void crowd_read(struct member *me, int fd)
{
	struct lkvfence_event events[12];
	size_t room = 1 + pick(me, ARRAY_SIZE(events));
	ssize_t n = read(fd, events, room * sizeof(events[0]));

	atomic_fetch_add(&me->crowd->calls, 1);
	never(me, n < 0 && errno != EAGAIN, "read: %s", strerrorname_np(errno));
	never(me, !n || (n > 0 && n % sizeof(events[0])), "read of %zd bytes", n);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(events[0]); i++)
		check_event(me, &events[i]);
}
