// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* BEGIN takes slots, grants leases, and refuses what can't be. */
#include "e2e.h"

static struct lkvfence_range ranges[65536];
static uint32_t sources[4096];

static void takes(struct lkvfence *f)
{
	struct lkvfence_begin b = {
		.tag = UINT64_MAX,
		.ranges = (uintptr_t)ranges,
		.nr_ranges = 3,
		.sources = (uintptr_t)sources,
		.nr_sources = 3,
	};
	struct lkvfence_stat stat;
	struct lkvfence_query q = { 0 };
	struct lkvfence_range told[4];
	struct lkvfence_lease leases[4];
	int64_t start = now_ns();

	ranges[0] = (struct lkvfence_range){ 100, 10 };
	ranges[1] = (struct lkvfence_range){ 0, 1 };
	ranges[2] = (struct lkvfence_range){ 199999, 1 };
	sources[0] = 7;
	sources[1] = 0;
	sources[2] = UINT32_MAX;
	gives(lkvfence_begin(f, &b), 0, "three ranges, three sources");
	check(b.generation && b.state == LKVFENCE_STATE_WAITING, "it is waiting");
	stat = stat_of(f);
	check(stat.begun == 1 && stat.transfers_alive == 1 &&
	      stat.slots_taken == 12 && !stat.slots_held, "12 slots are taken");

	q.generation = b.generation;
	q.ranges = (uintptr_t)told;
	q.leases = (uintptr_t)leases;
	q.nr_ranges = 4;
	q.nr_leases = 4;
	gives(lkvfence_query(f, &q), 0, "QUERY");
	check(q.tag == UINT64_MAX && q.nr_slots == 12 && q.nr_ranges == 3 &&
	      q.nr_leases == 3 && q.leases_out == 3, "its slots and leases");
	check(!memcmp(told, ranges, 3 * sizeof(*told)), "its ranges, as given");
	check(leases[0].source == 0 && leases[1].source == 7 &&
	      leases[2].source == UINT32_MAX &&
	      leases[0].state == LKVFENCE_LEASE_OUT &&
	      !leases[0].evidence, "its leases, by source");
	check(q.policy == LKVFENCE_POLICY_TAINT && !q.reason &&
	      q.flags == LKVFENCE_TRANSFER_MINE && !q.ended_ns && !q.deadline_ns,
	      "policy taint, no deadline, mine");
	check((int64_t)q.begun_ns >= start && q.begun_ns <= q.now_ns &&
	      (int64_t)q.now_ns <= now_ns(), "when it began");
	check(q.pid == getpid() && !strcmp(q.comm, "begin"), "who began it");
	clear(f);
}

static void refused(struct lkvfence *f)
{
	struct lkvfence_stat before = stat_of(f);
	struct lkvfence_begin b = want(1, 200000, 1, 1);

	gives(lkvfence_begin(f, &b), -ERANGE, "the slot behind the last one");
	b = want(1, 0, 200001, 1);
	gives(lkvfence_begin(f, &b), -ERANGE, "one slot more than there are");
	b = want(1, UINT32_MAX, UINT32_MAX, 1);
	gives(lkvfence_begin(f, &b), -ERANGE, "first and count at their highest");
	b = want(1, 1, UINT32_MAX, 1);
	gives(lkvfence_begin(f, &b), -ERANGE, "a sum of 2^32");
	b = want(1, 0, 0, 1);
	gives(lkvfence_begin(f, &b), -EINVAL, "no slots in a range");

	b.ranges = (uintptr_t)ranges;
	b.nr_ranges = 3;
	ranges[0] = (struct lkvfence_range){ 10, 10 };
	ranges[1] = (struct lkvfence_range){ 30, 10 };
	ranges[2] = (struct lkvfence_range){ 19, 1 };
	gives(lkvfence_begin(f, &b), -EINVAL, "a slot named twice");
	ranges[2] = ranges[1];
	gives(lkvfence_begin(f, &b), -EINVAL, "a range named twice");
	ranges[2] = (struct lkvfence_range){ 50, 0 };
	gives(lkvfence_begin(f, &b), -EINVAL, "no slots in the last range");
	ranges[2] = (struct lkvfence_range){ 199999, 2 };
	gives(lkvfence_begin(f, &b), -ERANGE, "a slot too many in the last range");

	b = want(1, 0, 1, 0);
	sources[0] = 5;
	sources[1] = 6;
	sources[2] = 5;
	b.sources = (uintptr_t)sources;
	b.nr_sources = 3;
	gives(lkvfence_begin(f, &b), -EINVAL, "a source named twice");
	unchanged(f, &before, "nothing has changed");
	/* If a refusal had left a slot behind, this would find it. */
	gives(lkvfence_release(f, begin(f, 1, 0, 200000, 0)), 0,
	      "all slots are free");
}

static void large(struct lkvfence *f)
{
	struct lkvfence_begin b = {
		.tag = 3,
		.ranges = (uintptr_t)ranges,
		.nr_ranges = ARRAY_SIZE(ranges),
		.sources = (uintptr_t)sources,
		.nr_sources = ARRAY_SIZE(sources),
	};
	struct lkvfence_stat before, stat;
	uint32_t i;

	/* The last first, and each one beside a free slot. */
	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		ranges[i] = (struct lkvfence_range){ 2 * (65535 - i), 1 };
	for (i = 0; i < ARRAY_SIZE(sources); i++)
		sources[i] = i * 2654435761U;
	gives(lkvfence_begin(f, &b), 0, "65536 ranges and 4096 sources");
	stat = stat_of(f);
	gives(stat.slots_taken, 65536, "65536 slots are taken");
	gives(lkvfence_take(f, b.generation, 1), -ENOSPC, "no lease above 4096");
	clear(f);

	before = stat_of(f);
	sources[4095] = sources[17];
	gives(lkvfence_begin(f, &b), -EINVAL, "the last source is named before");
	sources[4095] = 4095 * 2654435761U;
	ranges[65535] = ranges[17];
	gives(lkvfence_begin(f, &b), -EINVAL, "the last slot is named before");
	unchanged(f, &before, "nothing has changed");
}

static void same_tag(struct lkvfence *f)
{
	uint64_t first = begin(f, 9, 0, 8, 1);
	struct lkvfence_begin b = want(9, 8, 8, 1);
	struct lkvfence_stat before = stat_of(f);

	gives(lkvfence_begin(f, &b), -EEXIST, "a tag that is in use");
	check(b.busy_generation == first && b.busy_tag == 9 && !b.generation,
	      "the transfer that has it is named");
	counted(f, &before, refused_exists, 1, "only refused_exists has changed");
	check(!!strstr(lkvfence_errmsg(), "9"), "in words, too: %s",
	      lkvfence_errmsg());
	before = stat_of(f);
	gives(lkvfence_hold(f, &b), -EEXIST, "HOLD with a tag that is in use");
	counted(f, &before, refused_exists, 1, "only refused_exists has changed");

	need(!lkvfence_abort_generation(f, first), "ABORT");
	b = want(9, 8, 8, 1);
	gives(lkvfence_begin(f, &b), 0, "the tag of one that has ended");
	gives(lkvfence_abort_tag(f, 9), 0, "ABORT by tag");
	check(query(f, b.generation).state == LKVFENCE_STATE_ENDED,
	      "it is the one that had not ended");
	gives(lkvfence_abort_tag(f, 9), -ENOENT, "again: no such tag");
	clear(f);
}

static void too_many(struct lkvfence *f)
{
	struct lkvfence_begin b = want(3, 30, 1, 0);
	struct lkvfence_stat before;
	struct lkvfence_event events[8];

	set_param("max_transfers", 2);
	begin(f, 1, 10, 1, 1);
	begin(f, 2, 20, 1, 1);
	before = stat_of(f);
	gives(lkvfence_begin(f, &b), -ENOSPC, "the third of two transfers");
	counted(f, &before, refused_limit, 1, "only refused_limit has changed");
	before = stat_of(f);
	gives(lkvfence_hold(f, &b), -ENOSPC, "HOLD likewise");
	counted(f, &before, refused_limit, 1, "only refused_limit has changed");

	/* Now none is alive, and two events wait to be read. */
	clear(f);
	before = stat_of(f);
	gives(lkvfence_begin(f, &b), -ENOSPC, "a handle with two unread events");
	counted(f, &before, refused_limit, 1, "only refused_limit has changed");
	gives(lkvfence_events(f, events, 8, 0), 2, "read them");
	gives(lkvfence_begin(f, &b), 0, "then there is room");
	gives(lkvfence_release(f, b.generation), 0, "RELEASE");
}

int main(void)
{
	struct lkvfence *f = region("begin", 200000);
	struct lkvfence_event events[64];

	takes(f);
	refused(f);
	large(f);
	same_tag(f);
	while (lkvfence_events(f, events, 64, 0) > 0)
		;
	too_many(f);
	lkvfence_close(f);
	return done();
}
