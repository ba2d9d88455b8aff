// SPDX-License-Identifier: GPL-2.0-only
/* Pulls: each has one answer, from calls, from the clock, and when memory is refused. */
#include <linux/ktime.h>

#include "rig.h"

#define GRANTED		LKVFENCE_EVENT_GRANTED
#define REFUSED		LKVFENCE_EVENT_REFUSED
#define REASON(name)	LKVFENCE_REASON_##name
#define MANY		150	/* more than is done in one go */

static int try_offer(struct kunit *test, struct handle *h, u64 tag, u32 slot, u64 *g)
{
	struct rig *rig = test->priv;
	struct lkvfence_range range = { .first = slot, .count = 1 };
	struct lkvfence_begin arg = {
		.size		= sizeof(arg),
		.flags		= LKVFENCE_BEGIN_OFFER,
		.tag		= tag,
		.ranges		= rig->user,
		.nr_ranges	= 1,
	};
	u32 nth = current->fail_nth;
	int err;

	/* What fails is to fail in the call, and not in its preparation. */
	current->fail_nth = 0;
	if (copy_to_user((void __user *)rig->user, &range, sizeof(range)))
		return -EIO;
	current->fail_nth = nth;
	err = call_begin(h, &arg);
	*g = arg.generation;
	return err;
}

/* A transfer of one slot that is to be pulled. */
static u64 offered(struct kunit *test, struct handle *h, u64 tag, u32 slot)
{
	u64 g = 0;

	KUNIT_ASSERT_EQ(test, 0, try_offer(test, h, tag, slot, &g));
	return g;
}

static int ready(struct handle *h, u64 g, u32 ttl_ms, u32 consumers)
{
	struct lkvfence_ready arg = {
		.size		= sizeof(arg),
		.generation	= g,
		.ttl_ns		= ttl_ms * MS,
		.consumers	= consumers,
	};

	return call_ready(h, &arg);
}

/* By tag, from @source; times in ms, 0: the default. The ticket, or 0. */
static u64 pull(struct handle *h, u64 tag, u32 source, u32 timeout, u32 unclaimed)
{
	struct lkvfence_pull arg = {
		.size		= sizeof(arg),
		.tag		= tag,
		.source		= source,
		.timeout_ns	= timeout * MS,
		.unclaimed_ns	= unclaimed * MS,
	};

	return call_pull(h, &arg) ? 0 : arg.ticket;
}

/* The same, of a generation; @tag is for when it is over. */
static int exact(struct handle *h, u64 g, u64 tag, u32 source)
{
	struct lkvfence_pull arg = {
		.size		= sizeof(arg),
		.flags		= LKVFENCE_PULL_EXACT,
		.tag		= tag,
		.generation	= g,
		.source		= source,
	};

	return call_pull(h, &arg);
}

static int withdraw(struct handle *h, u64 ticket)
{
	struct lkvfence_withdraw arg = {
		.size	= sizeof(arg),
		.ticket	= ticket,
	};

	return call_withdraw(h, &arg);
}

static int abort_by(struct handle *h, u32 flags, u64 tag, u64 after, u64 *nr)
{
	struct lkvfence_abort arg = {
		.size		= sizeof(arg),
		.flags		= flags,
		.tag		= tag,
		.generation	= after,
		.reason		= REASON(DROPPED),
	};
	int err = call_abort(h, &arg);

	*nr = arg.nr_ended;
	return err;
}

static int early(struct handle *h, u64 tag, u64 after)
{
	u64 nr;

	return abort_by(h, LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY, tag, after, &nr);
}

/* The next event is the answer to this pull. */
static void expect(struct kunit *test, struct handle *h, u64 ticket, u64 g, u32 reason)
{
	struct lkvfence_event e = event(test, h);

	KUNIT_EXPECT_EQ(test, reason ? REFUSED : GRANTED, e.type);
	KUNIT_EXPECT_EQ(test, ticket, e.ticket);
	KUNIT_EXPECT_EQ(test, g, e.generation);
	KUNIT_EXPECT_EQ(test, reason, e.reason);
	KUNIT_EXPECT_EQ(test, reason ? 0 : 1, e.nr_slots);
}

/* Asked for, and answered at once. */
#define expect_now(test, h, tag, source, g, reason) \
	expect(test, h, pull(h, tag, source, 0, 0), g, reason)

static void expect_nothing(struct kunit *test, struct handle *h)
{
	struct rig *rig = test->priv;

	KUNIT_EXPECT_EQ(test, -EAGAIN, try_read(h, rig->user, 1));
}

/* Before and after BEGIN, before and after READY: in the order of asking. */
static void grants(struct kunit *test)
{
	struct handle *p = opened(test, test->name, 10);
	struct handle *d = opened(test, test->name, 10);
	u64 first = pull(d, 7, 1, 0, 0), second, g;

	KUNIT_EXPECT_GT(test, first, 0);
	KUNIT_EXPECT_EQ(test, 1, STAT(d, tickets));
	g = offered(test, p, 7, 0);
	second = pull(d, 7, 2, 0, 0);
	KUNIT_EXPECT_GT(test, second, first);
	/* What waits has no lease. */
	KUNIT_EXPECT_EQ(test, 0, p->region->fence.counts.returns_unknown);
	KUNIT_EXPECT_EQ(test, -ENOENT, drained(test, d, g, 1));
	expect_nothing(test, d);

	KUNIT_EXPECT_EQ(test, 0, ready(p, g, 0, 3));
	expect(test, d, first, g, 0);
	expect(test, d, second, g, 0);
	expect_now(test, d, 7, 3, g, 0);
	KUNIT_EXPECT_EQ(test, 3, STAT(d, pulls_granted));
	KUNIT_EXPECT_EQ(test, 1, STAT(d, transfers_ready));
	KUNIT_EXPECT_EQ(test, -EBUSY, finished(p, g));

	/* All three have it: it is over, and forgotten. */
	KUNIT_EXPECT_EQ(test, 0, drained(test, d, g, 1));
	KUNIT_EXPECT_EQ(test, 0, drained(test, d, g, 3));
	expect_nothing(test, p);
	KUNIT_EXPECT_EQ(test, 0, drained(test, d, g, 2));
	expect_released(test, p, g, LKVFENCE_OUTCOME_COMPLETED, CQE);
	KUNIT_EXPECT_EQ(test, 0, STAT(d, tombstones));
	KUNIT_EXPECT_EQ(test, 0, STAT(d, transfers_ready));
	KUNIT_EXPECT_FALSE(test, d->region->pulls.active);
	closed(d);
	closed(p);
}

/* L2: what was granted keeps the slots, whatever becomes of the transfer. */
static void keeps(struct kunit *test)
{
	struct handle *p = opened(test, test->name, 1);
	struct handle *d = opened(test, test->name, 1);
	u64 g = offered(test, p, 7, 0);

	KUNIT_EXPECT_EQ(test, 0, ready(p, g, 0, 0));
	expect_now(test, d, 7, 1, g, 0);
	KUNIT_EXPECT_EQ(test, 0, ended(p, g, 0, 0));
	closed(p);
	KUNIT_EXPECT_EQ(test, 1, STAT(d, slots_held));
	KUNIT_EXPECT_EQ(test, 0, drained(test, d, g, 1));
	KUNIT_EXPECT_EQ(test, 0, STAT(d, slots_taken));
	closed(d);
}

/* Each end says why, to who waits and to who comes late. */
static void reasons(struct kunit *test)
{
	struct handle *p = opened(test, test->name, 10);
	struct handle *d = opened(test, test->name, 10);
	u64 g = offered(test, p, 7, 0), ticket = pull(d, 7, 1, 0, 0);

	KUNIT_EXPECT_EQ(test, 0, ended(d, g, 0, 0));
	expect(test, d, ticket, g, REASON(ABORTED));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, event(test, p).type);
	expect_now(test, d, 7, 1, g, REASON(ABORTED));
	KUNIT_EXPECT_EQ(test, 0, exact(d, g, 7, 1));
	KUNIT_EXPECT_EQ(test, REASON(ABORTED), event(test, d).reason);
	KUNIT_EXPECT_EQ(test, 0, exact(d, g, 8, 1));
	KUNIT_EXPECT_EQ(test, REASON(UNKNOWN), event(test, d).reason);

	/* The tag's next use is another one. */
	g = offered(test, p, 7, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(p, g));
	expect_now(test, d, 7, 1, g, REASON(FINISHED));
	KUNIT_EXPECT_EQ(test, 1, STAT(d, tombstones));

	/* A source has one lease of a generation. */
	g = offered(test, p, 7, 0);
	KUNIT_EXPECT_EQ(test, 0, ready(p, g, 0, 0));
	expect_now(test, d, 7, 1, g, 0);
	expect_now(test, d, 7, 1, g, REASON(SOURCE));
	ticket = pull(d, 8, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, withdraw(d, ticket));
	expect(test, d, ticket, 0, REASON(WITHDRAWN));
	KUNIT_EXPECT_EQ(test, -ENOENT, withdraw(d, ticket));

	/* Who goes ends what it began: whoever waits hears that. */
	offered(test, p, 9, 1);
	pull(d, 9, 2, 0, 0);
	closed(p);
	KUNIT_EXPECT_EQ(test, REASON(ORPHANED), event(test, d).reason);
	KUNIT_EXPECT_EQ(test, 0, drained(test, d, g, 1));
	KUNIT_EXPECT_EQ(test, STAT(d, pulls), STAT(d, pulls_granted) + STAT(d, pulls_refused));
	closed(d);
}

static void strange(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = begin(test, h, 1, 0, 1, 0);

	KUNIT_EXPECT_EQ(test, -EINVAL, ready(h, g, 0, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, exact(h, g, 1, 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, exact(h, g + 1, 1, 1));
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	KUNIT_EXPECT_EQ(test, 0, exact(h, g, 1, 1));
	KUNIT_EXPECT_EQ(test, REASON(UNKNOWN), event(test, h).reason);
	g = offered(test, h, 2, 0);
	KUNIT_EXPECT_EQ(test, -ERANGE, ready(h, g, 0, MAX_LEASES + 1));
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 0, 2));
	KUNIT_EXPECT_EQ(test, -EINVAL, ready(h, g, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 0, 0));
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	KUNIT_EXPECT_EQ(test, -ESTALE, ready(h, g, 0, 0));
	set_param(test, "max_pulls", "1");
	KUNIT_EXPECT_GT(test, pull(h, 5, 1, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, 0, pull(h, 5, 2, 0, 0));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, tickets));
	closed(h);
}

/* L8: no pull waits longer than it was told to; and none less. */
static void deadlines(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = offered(test, h, 7, 0), before = ktime_get_ns();
	u64 unclaimed = pull(h, 8, 1, 100, 30), late = pull(h, 7, 1, 60, 20);
	struct lkvfence_event e = event(test, h);

	KUNIT_EXPECT_EQ(test, unclaimed, e.ticket);
	KUNIT_EXPECT_EQ(test, REASON(UNKNOWN), e.reason);
	KUNIT_EXPECT_GE(test, e.time_ns, before + 30 * MS);
	e = event(test, h);
	KUNIT_EXPECT_EQ(test, late, e.ticket);
	KUNIT_EXPECT_EQ(test, REASON(DEADLINE), e.reason);
	KUNIT_EXPECT_EQ(test, g, e.generation);
	KUNIT_EXPECT_GE(test, e.time_ns, before + 60 * MS);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
}

/* What is READY expires, and that is told as well. */
static void expires(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g = offered(test, h, 7, 0), before = ktime_get_ns();
	int err;

	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 30, 0));
	KUNIT_EXPECT_GE(test, asked(h, g, &err).deadline_ns, before + 30 * MS);
	/* Later only. */
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 50, 0));
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 10, 0));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_RELEASED, event(test, h).type);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), before + 50 * MS);
	expect_now(test, h, 7, 1, g, REASON(EXPIRED));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, transfers_ready));

	/* Never is later than any time, and that is told. */
	g = offered(test, h, 7, 0);
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 600000, 0));
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 0, 0));
	KUNIT_EXPECT_EQ(test, 0, asked(h, g, &err).deadline_ns);
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 10, 0));
	KUNIT_EXPECT_EQ(test, 0, asked(h, g, &err).deadline_ns);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
}

/* More at one moment than are acted on in one go. */
static void at_once(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct pulls *p = &h->region->pulls;
	u32 i;

	for (i = 0; i < MANY; i++)
		pull(h, 7, i, 40, 0);
	/* Where some have been answered by now others are due together. */
	mutex_lock(&h->region->lock);
	msleep(60);
	mutex_unlock(&h->region->lock);
	KUNIT_EXPECT_TRUE(test, woken(h, !READ_ONCE(p->nr_tickets)));
	KUNIT_EXPECT_EQ(test, MANY, h->nr_unread);
	KUNIT_EXPECT_EQ(test, MANY, p->counts.pulls_refused);
	KUNIT_EXPECT_EQ(test, U64_MAX, h->region->armed);
	closed(h);
}

/* Bounded in number, each kind for itself, and in time. */
static void tombstones(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g, i;

	set_param(test, "max_tombstones", "3");
	for (i = 0; i < 5; i++) {
		g = offered(test, h, i, 0);
		KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	}
	KUNIT_EXPECT_EQ(test, 3, STAT(h, tombstones));
	for (i = 10; i < 20; i++)
		KUNIT_EXPECT_EQ(test, 0, early(h, i, 0));
	KUNIT_EXPECT_EQ(test, 6, STAT(h, tombstones));
	/* Tags that anybody names don't displace what is known of transfers. */
	expect_now(test, h, 4, 1, g, REASON(FINISHED));
	expect_now(test, h, 19, 1, 0, REASON(DROPPED));
	KUNIT_EXPECT_GT(test, pull(h, 1, 1, 0, 0), 0);
	expect_nothing(test, h);

	set_param(test, "tombstone_ms", "20");
	g = offered(test, h, 4, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	closed(h);
	h = opened(test, "kunit-tombstones", 10);
	g = offered(test, h, 4, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	KUNIT_EXPECT_EQ(test, 0, early(h, 5, 0));
	KUNIT_EXPECT_TRUE(test, until(!STAT(h, tombstones)));
	closed(h);
}

/* ABORT may be there before BEGIN; and is for one BEGIN only. */
static void before_begin(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	u64 g, ticket = pull(h, 7, 1, 0, 0), other;

	KUNIT_EXPECT_EQ(test, 0, early(h, 7, 0));
	expect(test, h, ticket, 0, REASON(DROPPED));
	KUNIT_EXPECT_EQ(test, 0, early(h, 7, 0));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, tombstones));
	/* What nobody pulls isn't meant. */
	g = begin(test, h, 7, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(h, g));
	KUNIT_EXPECT_EQ(test, -ECANCELED, try_offer(test, h, 7, 0, &g));
	KUNIT_EXPECT_EQ(test, 1, STAT(h, refused_early));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, slots_taken));
	g = offered(test, h, 7, 0);
	/* Aborted is what comes after it. */
	ticket = pull(h, 7, 1, 0, 0);
	other = 0;
	KUNIT_EXPECT_EQ(test, 0, early(h, 7, g));
	KUNIT_EXPECT_EQ(test, 0, early(h, 7, g));
	expect_nothing(test, h);
	KUNIT_EXPECT_EQ(test, 0, ready(h, g, 0, 1));
	expect(test, h, ticket, g, 0);
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	expect_released(test, h, g, LKVFENCE_OUTCOME_COMPLETED, CQE);
	KUNIT_EXPECT_EQ(test, -ECANCELED, try_offer(test, h, 7, 0, &other));
	other = offered(test, h, 7, 0);
	KUNIT_EXPECT_GT(test, other, g);
	/* And this one is meant. */
	KUNIT_EXPECT_EQ(test, 0, early(h, 7, g));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, transfers_alive));
	closed(h);
}

static void all(struct kunit *test)
{
	struct handle *h = opened(test, test->name, MANY + 2);
	struct handle *other = opened(test, test->name, MANY + 2);
	u64 g, nr, unclaimed = pull(other, 10000, 1, 0, 0);
	u32 i;

	for (i = 0; i < MANY; i++)
		offered(test, h, i, i);
	g = begin(test, other, 5000, MANY, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(other, g, 0, 0));
	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_GT(test, pull(other, i, 1, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, 0, abort_by(h, LKVFENCE_ABORT_ALL, 0, 0, &nr));
	KUNIT_EXPECT_EQ(test, MANY, nr);
	expect(test, other, unclaimed, 0, REASON(DROPPED));
	KUNIT_EXPECT_EQ(test, MANY, other->nr_unread);
	KUNIT_EXPECT_EQ(test, MANY, h->nr_unread);
	KUNIT_EXPECT_EQ(test, 1, STAT(h, transfers_alive));
	KUNIT_EXPECT_EQ(test, 0, STAT(h, tickets));
	KUNIT_EXPECT_EQ(test, 0, abort_by(h, LKVFENCE_ABORT_ALL, 0, 0, &nr));
	KUNIT_EXPECT_EQ(test, 0, nr);
	KUNIT_EXPECT_EQ(test, 0, drained(test, h, g, 1));
	closed(other);
	closed(h);
}

/* A handle that goes takes its tickets along: those that wait, and answers. */
static void close_with(struct kunit *test)
{
	struct handle *p = opened(test, test->name, 10);
	struct handle *d = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 g = offered(test, p, 7, 0), own;
	u32 i;

	for (i = 0; i < MANY; i++)
		pull(d, 7 + i % 2, i, 0, 0);
	/* It offers, too. */
	own = offered(test, d, 9, 1);
	KUNIT_EXPECT_EQ(test, 0, ready(p, g, 0, 0));
	KUNIT_EXPECT_EQ(test, MANY / 2, d->nr_unread);
	KUNIT_EXPECT_EQ(test, MANY / 2, STAT(p, tickets));
	closed(d);
	KUNIT_EXPECT_EQ(test, rig->alive[OBJECT_TICKET], alive(OBJECT_TICKET));
	KUNIT_EXPECT_EQ(test, MANY / 2, STAT(p, pulls_closed));
	KUNIT_EXPECT_EQ(test, 0, STAT(p, tickets));
	expect_now(test, p, 9, 1, own, REASON(ORPHANED));
	/* What was granted stays granted. */
	KUNIT_EXPECT_EQ(test, -EBUSY, finished(p, g));
	for (i = 0; i < MANY; i += 2)
		KUNIT_EXPECT_EQ(test, 0, drained(test, p, g, i));
	KUNIT_EXPECT_EQ(test, 0, finished(p, g));
	closed(p);
}

/* Sources come first, then tickets, then transfers, whatever was first. */
static void order(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct handle *other = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 binding = bound(test, h, 3, FIRST_QP, 1), g, ticket;
	struct lkvfence_event e;

	g = begin(test, other, 1, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, finished(other, g));
	g = begin(test, h, 1, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, ended(other, g, 0, 0));
	ticket = pull(h, 7, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, withdraw(h, ticket));
	KUNIT_EXPECT_EQ(test, 0, quiet(h, binding, 0, LKVFENCE_EVIDENCE_MR_DEREGISTERED));
	KUNIT_EXPECT_EQ(test, 3, h->nr_unread);
	KUNIT_EXPECT_EQ(test, 3 * sizeof(e), try_read(h, rig->user, 10));
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_REVOKE, nth_event(rig->user, 0).type);
	e = nth_event(rig->user, 1);
	KUNIT_EXPECT_EQ(test, REFUSED, e.type);
	KUNIT_EXPECT_EQ(test, ticket, e.ticket);
	KUNIT_EXPECT_EQ(test, LKVFENCE_EVENT_ENDED, nth_event(rig->user, 2).type);
	expect_nothing(test, h);
	KUNIT_EXPECT_EQ(test, 0, drained(test, other, g, 1));
	closed(other);
	closed(h);
}

/* An answer that can't be written stays, and is told once. */
static void bad_pointer(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);
	struct rig *rig = test->priv;
	u64 ticket = pull(h, 7, 1, 0, 0);

	KUNIT_EXPECT_EQ(test, 0, withdraw(h, ticket));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_read(h, rig->user + USER_SIZE, 1));
	KUNIT_EXPECT_EQ(test, 1, h->nr_unread);
	expect(test, h, ticket, 0, REASON(WITHDRAWN));
	expect_nothing(test, h);
	closed(h);
}

/* Calls with each place where they may be refused memory: they did it, or nothing. */
enum ask { OFFER, PULL, EARLY };

static int try(struct kunit *test, struct handle *h, enum ask call, u64 tag)
{
	u64 g;

	switch (call) {
	case OFFER:
		return try_offer(test, h, tag, 0, &g);
	case PULL:
		return pull(h, tag, 1, 0, 0) ? 0 : -ENOMEM;
	case EARLY:
		return early(h, tag, 0);
	}
	return -EINVAL;
}

static void refuse(struct kunit *test, struct handle *h, enum ask call)
{
	u32 nth, nr = 0, bad = 0;
	bool did = true;
	int err;

	for (nth = 1; nth < MAX_PLACES && did; nth++) {
		fail_at(nth);
		err = try(test, h, call, 100 + nth);
		did = did_fail();
		nr += err == -ENOMEM;
		bad += err && err != -ENOMEM && err != -EFAULT;
		if (!err && call == OFFER)
			bad += !!abort_by(h, LKVFENCE_ABORT_BY_TAG, 100 + nth, 0, &(u64){ 0 });
		else if (err && call == OFFER)
			bad += STAT(h, slots_taken);
	}
	KUNIT_EXPECT_EQ(test, 0, bad);
	KUNIT_EXPECT_GE(test, nr, 1);
	KUNIT_EXPECT_FALSE(test, did);
}

static void no_memory(struct kunit *test)
{
	struct handle *h = opened(test, test->name, 10);

	refuse(test, h, OFFER);
	refuse(test, h, PULL);
	refuse(test, h, EARLY);
	closed(h);
}

static void put_back(struct kunit *test)
{
	set_param(test, "max_pulls", "65536");
	set_param(test, "max_tombstones", "4096");
	set_param(test, "tombstone_ms", "60000");
	rig_exit_qps(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(grants),
	KUNIT_CASE(keeps),
	KUNIT_CASE(reasons),
	KUNIT_CASE(strange),
	KUNIT_CASE(deadlines),
	KUNIT_CASE(expires),
	KUNIT_CASE(at_once),
	KUNIT_CASE(tombstones),
	KUNIT_CASE(before_begin),
	KUNIT_CASE(all),
	KUNIT_CASE(close_with),
	KUNIT_CASE(order),
	KUNIT_CASE(bad_pointer),
	KUNIT_CASE(no_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "lkvfence-pull",
	.init = rig_init_qps,
	.exit = put_back,
	.test_cases = cases,
};

kunit_test_suite(suite);
