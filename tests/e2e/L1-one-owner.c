// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L1: a slot is in at most one unreleased transfer. Whoever wants a taken one
 * is refused, told the first slot in the way, and gets nothing.
 */
#include "e2e.h"

static void in_the_way(struct lkvfence *f, uint32_t first, uint32_t count,
		       uint32_t slot, uint64_t generation, uint64_t tag)
{
	struct lkvfence_begin b = want(99, first, count, 1);
	struct lkvfence_stat before = stat_of(f);

	gives(lkvfence_begin(f, &b), -EBUSY, "slots %u to %u", first,
	      first + count - 1);
	check(b.busy_slot == slot && b.busy_generation == generation &&
	      b.busy_tag == tag, "slot %u of tag %" PRIu64 " is named (was %u)",
	      slot, tag, b.busy_slot);
	counted(f, &before, refused_busy, 1, "only refused_busy has changed");
}

/* The first in the order of the request, not the lowest. */
static void request_order(struct lkvfence *f, uint64_t a, uint64_t c)
{
	struct lkvfence_range ranges[] = { { 80, 4 }, { 45, 10 }, { 0, 20 } };
	struct lkvfence_begin b = want(99, 0, 0, 1);

	b.ranges = (uintptr_t)ranges;
	b.nr_ranges = 3;
	gives(lkvfence_begin(f, &b), -EBUSY, "three ranges, two in the way");
	check(b.busy_slot == 50 && b.busy_generation == c && b.busy_tag == 3,
	      "the first in the request's order");
	ranges[1] = (struct lkvfence_range){ 0, 20 };
	ranges[2] = (struct lkvfence_range){ 45, 10 };
	gives(lkvfence_begin(f, &b), -EBUSY, "the other way round");
	check(b.busy_slot == 10 && b.busy_generation == a && b.busy_tag == 1,
	      "the other one");
	gives(lkvfence_release(f, begin(f, 98, 80, 4, 0)), 0,
	      "all or nothing: the free range was not taken");
}

int main(void)
{
	struct lkvfence *f = region("L1-one-owner", 128);
	struct lkvfence *other = region("L1-one-owner", 128);
	uint64_t a = begin(f, 1, 10, 10, 1), b = hold(f, 2, 30, 10, 1, 0, 0);
	uint64_t c = hold(f, 3, 50, 10, 1, LKVFENCE_POLICY_QUARANTINE, 10), d;

	need(event(f).type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	in_the_way(f, 10, 10, 10, a, 1);
	in_the_way(f, 19, 2, 19, a, 1);
	in_the_way(f, 0, 11, 10, a, 1);
	in_the_way(f, 0, 128, 10, a, 1);
	in_the_way(f, 15, 1, 15, a, 1);
	in_the_way(f, 20, 15, 30, b, 2);
	in_the_way(f, 59, 5, 59, c, 3);
	in_the_way(other, 5, 10, 10, a, 1);
	request_order(f, a, c);

	gives(lkvfence_release(f, begin(other, 4, 0, 10, 0)), 0, "right before it");
	gives(lkvfence_release(f, begin(other, 4, 20, 10, 0)), 0, "right behind it");
	gives(lkvfence_release(f, begin(other, 4, 0, 1, 0)), 0, "the first slot");
	gives(lkvfence_release(f, begin(other, 4, 127, 1, 0)), 0, "the last slot");

	need(!drained(f, a, 1), "RETURN");
	in_the_way(f, 10, 1, 10, a, 1);
	need(!lkvfence_release(f, a), "RELEASE");
	d = begin(f, 1, 10, 10, 1);
	check(d > a, "slots that came back can be taken, by a higher generation");
	in_the_way(f, 10, 1, 10, d, 1);
	clear(f);
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
