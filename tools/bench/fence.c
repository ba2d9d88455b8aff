// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The operations of the fence, called as an engine calls them: through the
 * library. Then those that matter again, among many holds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <lkvfence.h>
#include "bench.h"

#define NR_SLOTS	(1U << 20)
/* Slots below are for holds, which take every second one; the rest is ours. */
#define FREE_SLOT	(1U << 19)
/* Taken for good by a transfer of its own, to be run into. */
#define TAKEN_SLOT	(NR_SLOTS - 1)

#define FEW_HOLDS	10
#define MANY_SLOTS	4096
#define MANY_RANGES	257
#define MANY_LEASES	65
#define BULK		1024

/* Later than any run takes, and the same for all, as with the default. */
#define TIMEOUT_NS	(600 * 1000000000ULL)

static struct lkvfence *region;

/* What the next BEGIN takes, and what came of the last one. */
static struct lkvfence_range ranges[MANY_RANGES];
static uint32_t sources[MANY_LEASES];
static uint32_t nr_ranges, nr_sources;
static struct lkvfence_begin last;
static struct lkvfence_return_item items[MANY_LEASES];

/* Generations of the holds that make the crowd. */
static uint64_t *holds;
static uint32_t nr_holds;

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	/* The library's words say it all. */
	errno = 0;
	die("%s: %s", what, lkvfence_errmsg());
}

static struct lkvfence_begin one_begin(void)
{
	return (struct lkvfence_begin){
		.tag = 1,
		.ranges = (uintptr_t)ranges,
		.sources = (uintptr_t)sources,
		.nr_ranges = nr_ranges,
		.nr_sources = nr_sources,
	};
}

/*
 * Steps, of which operations are made
 */

static void begin(void)
{
	last = one_begin();
	check(lkvfence_begin(region, &last), "begin");
}

static void hold(void)
{
	last = one_begin();
	last.timeout_ns = TIMEOUT_NS;
	check(lkvfence_hold(region, &last), "hold");
}

static void release(void)
{
	check(lkvfence_release(region, last.generation), "release");
}

static void end(void)
{
	struct lkvfence_abort abort = {
		.generation = last.generation,
		.timeout_ns = TIMEOUT_NS,
	};

	check(lkvfence_abort(region, &abort), "abort");
}

static void drain(void)
{
	check(lkvfence_drained(region, last.generation, sources[0],
			       LKVFENCE_EVIDENCE_SUCCESS_CQE), "drained");
}

static void read_event(void)
{
	struct lkvfence_event event;
	int nr = lkvfence_events(region, &event, 1, 0);

	check(nr, "events");
	if (nr != 1 || event.generation != last.generation ||
	    event.type != LKVFENCE_EVENT_RELEASED) {
		errno = 0;
		die("no release was told");
	}
}

static void begin_release(void)
{
	begin();
	release();
}

static void begin_end(void)
{
	begin();
	end();
}

static void begin_end_drain(void)
{
	begin_end();
	drain();
}

static void end_drain_read(void)
{
	end();
	drain();
	read_event();
}

static void drain_read(void)
{
	drain();
	read_event();
}

static void drain_release(void)
{
	drain();
	release();
}

static void take_drain(void)
{
	check(lkvfence_take(region, last.generation, sources[0]), "take");
	drain();
}

static void query(void)
{
	struct lkvfence_range range[1];
	struct lkvfence_lease lease[1];
	struct lkvfence_query q = {
		.by = LKVFENCE_QUERY_GENERATION,
		.generation = last.generation,
		.ranges = (uintptr_t)range,
		.leases = (uintptr_t)lease,
		.nr_ranges = 1,
		.nr_leases = 1,
	};

	check(lkvfence_query(region, &q), "query");
}

static void stat_region(void)
{
	struct lkvfence_stat stat;

	check(lkvfence_stat(region, &stat), "stat");
}

static struct lkvfence_range taken = { TAKEN_SLOT, 1 };

static void begin_busy(void)
{
	struct lkvfence_begin b = {
		.size = sizeof(b),
		.tag = 2,
		.ranges = (uintptr_t)&taken,
		.nr_ranges = 1,
	};

	if (!ioctl(lkvfence_fd(region), LKVFENCE_IOC_BEGIN, &b) || errno != EBUSY)
		die("a taken slot was given");
}

static void begin_busy_worded(void)
{
	struct lkvfence_begin b = {
		.tag = 2,
		.ranges = (uintptr_t)&taken,
		.nr_ranges = 1,
	};

	if (lkvfence_begin(region, &b) != -EBUSY)
		die("a taken slot was given");
}

static void unknown_command(void)
{
	ioctl(lkvfence_fd(region), _IO(LKVFENCE_IOC_MAGIC, 0x7f), NULL);
}

/* BEGIN with all the leases, all back in one RETURN, RELEASE. */
static void begin_bulk_release(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < nr_sources; i++)
		items[i].generation = last.generation;
	if (lkvfence_return(region, items, nr_sources) != (int)nr_sources)
		die("not all leases came back");
	release();
}

/*
 * What the next BEGIN takes
 */

static void shape(uint32_t ranges_wanted, uint32_t slots_each,
		  uint32_t sources_wanted)
{
	uint32_t i;

	/* A slot stays free between two ranges, so that they can't be joined. */
	for (i = 0; i < ranges_wanted; i++)
		ranges[i] = (struct lkvfence_range){
			FREE_SLOT + i * (slots_each + 1), slots_each
		};
	for (i = 0; i < sources_wanted; i++) {
		sources[i] = 100 + i;
		items[i] = (struct lkvfence_return_item){
			.source = sources[i],
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		};
	}
	nr_ranges = ranges_wanted;
	nr_sources = sources_wanted;
}

/* One BEGIN and RELEASE with more of something against one with less. */
struct shape {
	uint32_t ranges, slots, sources;
};

static void add_slope(const char *name, double budget, void (*run)(void),
		      struct shape few, struct shape many, uint32_t more,
		      uint32_t repeat)
{
	const struct op op = { .name = name, .run = run };
	struct stats low, high, each = { 0 };

	shape(few.ranges, few.slots, few.sources);
	low = measure(&op, repeat);
	shape(many.ranges, many.slots, many.sources);
	high = measure(&op, repeat);
	each.median = (high.median - low.median) / more;
	each.min = (high.min - low.min) / more;
	each.repeat = repeat;
	report_add(name, UNIT_COST_EACH, &each, budget);
}

/*
 * The crowd: ended transfers that wait for their lease, as after a burst of
 * hang-ups.
 */

static void crowd(uint32_t nr)
{
	uint32_t source = 7;

	for (; nr_holds < nr; nr_holds++) {
		struct lkvfence_range range = { nr_holds, 1 };
		struct lkvfence_begin b = {
			.tag = 1000 + nr_holds,
			.ranges = (uintptr_t)&range,
			.sources = (uintptr_t)&source,
			.nr_ranges = 1,
			.nr_sources = 1,
			.timeout_ns = TIMEOUT_NS,
		};

		check(lkvfence_hold(region, &b), "hold");
		holds[nr_holds] = b.generation;
	}
}

/* All back, in bulk; and all of them are told. */
static void disperse(void)
{
	static struct lkvfence_return_item bulk[BULK];
	static struct lkvfence_event events[BULK];
	uint32_t told = 0, done, i, nr;
	int n;

	for (done = 0; done < nr_holds; done += nr) {
		nr = nr_holds - done < BULK ? nr_holds - done : BULK;
		for (i = 0; i < nr; i++)
			bulk[i] = (struct lkvfence_return_item){
				.generation = holds[done + i],
				.source = 7,
				.status = LKVFENCE_STATUS_DRAINED,
				.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
			};
		if (lkvfence_return(region, bulk, nr) != (int)nr)
			die("not all holds came back");
		while ((n = lkvfence_events(region, events, BULK, 0)) > 0)
			told += n;
		check(n, "events");
	}
	if (told != nr_holds) {
		errno = 0;
		die("%u holds, but %u releases were told", nr_holds, told);
	}
}

/*
 * The measurements
 */

/* An operation, and with how many leases its transfer begins. */
struct fence_op {
	struct op op;
	uint32_t sources;
	bool crowded;
};

/* All on one range of 16 slots. */
static const struct fence_op ops[] = {
	{ { "BEGIN + RELEASE, one range of 16 slots", 3000,
	    NULL, begin_release, NULL }, 0, true },
	{ { "  BEGIN", 0, NULL, begin, release }, 0, false },
	{ { "  RELEASE", 0, begin, release, NULL }, 0, false },
	{ { "ABORT + last RETURN + read of the event", 5000,
	    begin, end_drain_read, NULL }, 1, true },
	{ { "  ABORT", 0, begin, end, drain_read }, 1, false },
	{ { "  last RETURN", 0, begin_end, drain, read_event }, 1, false },
	{ { "  read of the event", 0, begin_end_drain, read_event, NULL }, 1, false },
	{ { "HOLD, one lease", 0, NULL, hold, drain_read }, 1, true },
	{ { "QUERY by generation, one range and one lease", 0,
	    begin, query, drain_release }, 1, true },
	{ { "TAKE + RETURN", 0, begin, take_drain, release }, 0, true },
	{ { "STAT", 0, NULL, stat_region, NULL }, 0, true },
	{ { "refused BEGIN (EBUSY), by ioctl", 0,
	    NULL, begin_busy, NULL }, 0, true },
	{ { "refused BEGIN (EBUSY), by the library, which words it", 0,
	    NULL, begin_busy_worded, NULL }, 0, false },
	{ { "refused ioctl (ENOTTY)", 0, NULL, unknown_command, NULL }, 0, false },
};

static struct stats measure_op(const struct fence_op *op, uint32_t repeat)
{
	shape(1, 16, op->sources);
	return measure(&op->op, repeat);
}

static void among_few(struct stats *stats, uint32_t repeat)
{
	const struct shape one = { 1, 1, 0 };
	const struct shape slots = { 1, MANY_SLOTS, 0 };
	const struct shape many = { MANY_RANGES, 1, 0 };
	const struct shape lease = { 1, 1, 1 };
	const struct shape leases = { 1, 1, MANY_LEASES };
	uint32_t i;

	report_group("with %u holds alive", FEW_HOLDS);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		stats[i] = measure_op(&ops[i], repeat);
		report_add(ops[i].op.name, UNIT_COST, &stats[i], ops[i].op.budget);
	}

	report_group("one more, in BEGIN + RELEASE");
	add_slope("slot in a range (1 to 4,096)", 4, begin_release, one, slots,
		  MANY_SLOTS - 1, repeat);
	add_slope("range of one slot (1 to 257)", 0, begin_release, one, many,
		  MANY_RANGES - 1, repeat);
	add_slope("lease, and its RETURN in bulk (1 to 65)", 0,
		  begin_bulk_release, lease, leases, MANY_LEASES - 1, repeat);
}

static void among_many(const struct stats *few, uint32_t repeat)
{
	struct stats many[ARRAY_SIZE(ops)], ratio = { 0 };
	uint32_t i;

	report_group("with %u holds alive", nr_holds);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (!ops[i].crowded)
			continue;
		many[i] = measure_op(&ops[i], repeat);
		report_add(ops[i].op.name, UNIT_COST, &many[i], 0);
	}
	report_group("with %u holds alive, against %u", nr_holds, FEW_HOLDS);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (!ops[i].crowded)
			continue;
		ratio.median = many[i].median / few[i].median;
		ratio.min = many[i].min / few[i].min;
		ratio.repeat = repeat;
		report_add(ops[i].op.name, UNIT_RATIO, &ratio, 1.5);
	}
}

void fence(const struct options *options)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE,
		.name = "lkvfence-bench",
		.slot_size = 65536,
		.nr_slots = NR_SLOTS,
		.mode = 0600,
	};
	struct lkvfence_begin obstacle = {
		.tag = 3,
		.ranges = (uintptr_t)&taken,
		.nr_ranges = 1,
	};
	struct stats few[ARRAY_SIZE(ops)];

	holds = calloc(options->holds + FEW_HOLDS, sizeof(*holds));
	if (!holds)
		die("no memory for %u holds", options->holds);
	check(lkvfence_open(&region, &open), "open");
	check(lkvfence_begin(region, &obstacle), "begin");

	crowd(FEW_HOLDS);
	among_few(few, options->repeat);
	crowd(options->holds);
	among_many(few, options->repeat);
	disperse();

	check(lkvfence_release(region, obstacle.generation), "release");
	lkvfence_close(region);
	free(holds);
}
