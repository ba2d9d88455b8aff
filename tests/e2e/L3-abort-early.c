// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L3: an abort that comes before the offer refuses that, once; it refuses no other, nor
 * the tag's next use, however often and late it is repeated.
 */
#include "pull.h"

#define NAME	"L3-abort-early"

static struct lkvfence *f, *consumer;

static int offers(uint64_t tag)
{
	struct lkvfence_begin b = want(tag, 0, 4, 1);
	int err = lkvfence_offer(f, &b);

	if (!err)
		need(!drained(f, b.generation, 1) && !lkvfence_release(f, b.generation),
		     "RELEASE");
	return err;
}

static void once(void)
{
	struct lkvfence_abort a = {
		.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY, .tag = 1,
		.reason = LKVFENCE_REASON_PEER, .deadline_ns = 5, .state = 5,
	};
	uint64_t waits = pull(consumer, 1, 100), other = pull(consumer, 2, 101);
	struct lkvfence_stat before, after;

	before = stat_of(f);
	gives(lkvfence_abort(f, &a), 0, "ABORT of a tag that was never seen");
	check(!a.generation && !a.state && !a.deadline_ns && !a.nr_ended && !a.leases_out &&
	      a.tag == 1, "it says that there is none");
	check(refused(consumer, waits, LKVFENCE_REASON_PEER), "a pull that waits is refused");
	waits = pull(consumer, 1, 102);
	check(refused(consumer, waits, LKVFENCE_REASON_PEER), "and one that comes later");
	check(silent(consumer), "none of another tag");
	a.reason = LKVFENCE_REASON_SHUTDOWN;
	gives(lkvfence_abort(consumer, &a), 0, "ABORT again, by another handle");
	waits = pull(consumer, 1, 103);
	check(refused(consumer, waits, LKVFENCE_REASON_PEER), "the first reason stays");
	after = stat_of(f);
	check(after.begun == before.begun && after.tombstones == before.tombstones + 1,
	      "there is one tombstone");

	gives(offers(1), -ECANCELED, "the offer is refused");
	after = stat_of(f);
	check(after.refused_early == before.refused_early + 1 && !after.slots_taken &&
	      after.begun == before.begun && adds_up(&after), "and leaves nothing but a count");
	waits = pull(consumer, 1, 104);
	check(refused(consumer, waits, LKVFENCE_REASON_PEER),
	      "a pull that is later than that is told, too");
	gives(lkvfence_abort(f, &a), 0, "ABORT once more");
	gives(offers(1), 0, "the next use of the tag isn't meant");
	gives(stat_of(f).tombstones, before.tombstones + 1, "nor counted twice");
	gives(lkvfence_withdraw(consumer, other), 0, "the other pull waited all the time");
	event(consumer);
}

/* BEGIN without OFFER is no offer, and other tags are others. */
static void others(void)
{
	gives(lkvfence_abort_early(f, 10, 0), 0, "ABORT");
	gives(lkvfence_release(f, begin(f, 10, 0, 4, 0)), 0, "what isn't offered is not meant");
	gives(offers(11), 0, "nor is another tag");
	gives(offers(10), -ECANCELED, "the offer is");
	gives(offers(10), 0, "once");
}

/* A late one, of a use that is over. */
static void late(void)
{
	uint64_t g = offer(f, 20, 0, 4, 0);

	need(!lkvfence_release(f, g), "RELEASE");
	gives(lkvfence_abort_early(f, 20, 0), 0, "ABORT of what has ended");
	gives(offers(20), 0, "is too late, and not early");

	/* When all have taken it, nothing is known any more: but the generation says it. */
	g = offer(f, 21, 0, 4, 0);
	need(!ready(f, g, 0, 1) && granted(consumer, pull(consumer, 21, 100), g) &&
	     !drained(consumer, g, 100), "a pull");
	event(f);
	gives(lkvfence_abort_generation(f, g), -ESTALE, "ABORT by generation hits nothing else");
	gives(offers(21), 0, "the tag can be used");
}

/* The next use of a tag is aborted, while this one lives, and when it is over. */
static void the_next(bool take)
{
	uint64_t g = offer(f, 22, 0, 4, 0), after, before;
	struct lkvfence_pull p = a_pull(22, 101);
	struct lkvfence_event e;

	p.generation = g;
	need(!lkvfence_pull(consumer, &p), "PULL");
	before = pull(consumer, 22, 102);
	gives(lkvfence_abort_early(f, 22, g), 0, "ABORT of what comes after this one");
	check(query(f, g).state == LKVFENCE_STATE_WAITING, "leaves this one alone");
	e = at_once(consumer);
	check(is_refused(&e, p.ticket, LKVFENCE_REASON_ABORTED) && !e.generation,
	      "a pull of that is refused");
	need(!lkvfence_pull(consumer, &p), "PULL");
	check(refused(consumer, p.ticket, LKVFENCE_REASON_ABORTED), "so is one that comes later");
	gives(lkvfence_abort_early(f, 22, g), 0, "ABORT again");
	check(silent(consumer), "a pull of this one waits");
	need(!ready(f, g, 0, 1), "READY");
	check(granted(consumer, before, g), "and is granted");
	need(!drained(consumer, g, 102), "RETURN");
	need(event(f).generation == g, "the end");
	if (take) {
		after = pull(consumer, 22, 103);
		check(refused(consumer, after, LKVFENCE_REASON_ABORTED),
		      "a pull when it is over is one of the next");
	}
	gives(offers(22), -ECANCELED, "the next one is refused");
	gives(offers(22), 0, "once");

	g = offer(f, 23, 0, 4, 0);
	need(!lkvfence_release(f, g), "RELEASE");
	gives(lkvfence_abort_early(f, 23, g), 0, "ABORT of the next when this one is over");
	gives(offers(23), -ECANCELED, "refuses that");
	gives(offers(23), 0, "once");
}

/* While it waits for the offer, for a bounded time. */
static void forgotten(void)
{
	set_param("tombstone_ms", 20);
	gives(lkvfence_abort_early(f, 30, 0), 0, "ABORT");
	need(until(!stat_of(f).tombstones), "time");
	gives(offers(30), 0, "it is forgotten when tombstone_ms are over");
	put_params_back();
	gives(lkvfence_abort_early(f, 31, 0), 0, "ABORT");
	set_param("max_tombstones", 0);
	gives(lkvfence_abort_early(f, 32, 0), 0, "ABORT where nothing is to be remembered");
	gives(offers(32), 0, "and isn't");
	gives(offers(31), 0, "nor what had been before");
}

int main(void)
{
	f = region(NAME, 64);
	consumer = region(NAME, 0);
	once();
	others();
	late();
	the_next(true);
	the_next(false);
	/* What these left, so that it doesn't count. */
	lkvfence_close(consumer);
	lkvfence_close(f);
	f = region(NAME, 64);
	forgotten();
	lkvfence_close(f);
	return done();
}
