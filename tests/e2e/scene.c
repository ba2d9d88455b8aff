// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * scene [TRANSFERS] - sets up regions in which there is something to see
 *
 *   scene    mode 0666; transfers waiting, ready, held, in quarantine, orphaned,
 *            and released in several ways; a pull that was granted, one that waits
 *   private  mode 0600; one transfer waiting, and two held in a group, of which one
 *            waits for the other
 *   big      only with TRANSFERS: a million slots, and so many transfers
 *
 * Prints "NAME GENERATION" for each transfer of "scene", then "ready", and
 * waits for the end of stdin. Then gives back what is still there; its exit
 * status is 0 only if all slots came back.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <lkvfence.h>

#define CHECK(call) do {						\
	int check = (call);						\
									\
	if (check < 0)							\
		errx(1, "line %d: %s: %s", __LINE__, strerror(-check),	\
		     lkvfence_errmsg());				\
} while (0)

static struct lkvfence *open_region(const char *name, uint32_t slots,
				    uint32_t mode)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE,
		.slot_size = 65536,
		.base = 0x7f0000000000,
		.nr_slots = slots,
		.mode = mode,
	};
	struct lkvfence *f;

	memcpy(open.name, name, strlen(name));
	CHECK(lkvfence_open(&f, &open));
	return f;
}

static void tell(const char *name, uint64_t generation)
{
	printf("%s %" PRIu64 "\n", name, generation);
}

/* A transfer of two pieces from @first on, with leases for @source and up. */
static struct lkvfence_begin two_pieces(struct lkvfence_range *ranges,
					uint32_t *sources, uint64_t tag,
					uint32_t first)
{
	ranges[0] = (struct lkvfence_range){ first, 16 };
	ranges[1] = (struct lkvfence_range){ first + 32, 1 };
	return (struct lkvfence_begin){
		.tag = tag,
		.ranges = (uintptr_t)ranges,
		.nr_ranges = 2,
		.sources = (uintptr_t)sources,
		.nr_sources = 3,
	};
}

/* The event that says that the deadline of @generation has passed. */
static void await(struct lkvfence *f, uint64_t generation, uint32_t type)
{
	struct lkvfence_event event;
	int n;

	do {
		n = lkvfence_events(f, &event, 1, 30000);
		CHECK(n);
		if (!n)
			errx(1, "no event of generation %" PRIu64, generation);
	} while (event.generation != generation || event.type != type);
}

static void waiting(struct lkvfence *f, uint64_t max)
{
	uint32_t sources[] = { 10, 11, 12 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, 1, 0);

	CHECK(lkvfence_begin(f, &b));
	CHECK(lkvfence_drained(f, b.generation, 11,
			       LKVFENCE_EVIDENCE_SUCCESS_CQE));
	tell("waiting", b.generation);
	b = two_pieces(ranges, sources, 2, 100);
	b.ttl_ns = max;
	CHECK(lkvfence_begin(f, &b));
	tell("expiring", b.generation);
}

static void offered(struct lkvfence *f, uint64_t max)
{
	uint32_t sources[] = { 60, 61, 62 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, 8, 700);
	struct lkvfence_ready r = { .ttl_ns = max, .consumers = 2 };
	struct lkvfence_pull p = {
		.tag = 8, .source = 80, .timeout_ns = max, .unclaimed_ns = max,
	};

	CHECK(lkvfence_offer(f, &b));
	r.generation = b.generation;
	CHECK(lkvfence_ready(f, &r));
	CHECK(lkvfence_pull(f, &p));
	await(f, b.generation, LKVFENCE_EVENT_GRANTED);
	p.tag = 9;
	CHECK(lkvfence_pull(f, &p));
	tell("offered", b.generation);
}

static void held(struct lkvfence *f, uint64_t max)
{
	uint32_t sources[] = { 20, 21, 22 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, 3, 200);

	b.timeout_ns = max;
	b.reason = LKVFENCE_REASON_PREEMPTED;
	CHECK(lkvfence_hold(f, &b));
	CHECK(lkvfence_drained(f, b.generation, 20, LKVFENCE_EVIDENCE_IN_BAND));
	tell("held", b.generation);
}

static void quarantined(struct lkvfence *f, uint64_t min, const char *name,
			uint64_t tag, uint32_t first)
{
	uint32_t sources[] = { 30, 31, 32 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, tag, first);

	b.timeout_ns = min;
	b.policy = LKVFENCE_POLICY_QUARANTINE;
	CHECK(lkvfence_hold(f, &b));
	CHECK(lkvfence_failed(f, b.generation, 32));
	await(f, b.generation, LKVFENCE_EVENT_QUARANTINED);
	tell(name, b.generation);
}

static void orphaned(void)
{
	struct lkvfence *f = open_region("scene", 4096, 0666);
	uint32_t sources[] = { 40, 41, 42 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, 5, 500);

	/* so that it doesn't go away at the default deadline */
	b.policy = LKVFENCE_POLICY_QUARANTINE;
	CHECK(lkvfence_begin(f, &b));
	lkvfence_close(f);
	tell("orphaned", b.generation);
}

/* One of each outcome that there is without RDMA. */
static void released(struct lkvfence *f, uint64_t min)
{
	uint32_t sources[] = { 50, 51, 52 };
	struct lkvfence_range ranges[2];
	struct lkvfence_begin b = two_pieces(ranges, sources, 6, 600);
	int i;

	b.nr_sources = 0;
	CHECK(lkvfence_begin(f, &b));
	CHECK(lkvfence_release(f, b.generation));
	tell("completed", b.generation);

	b = two_pieces(ranges, sources, 6, 600);
	CHECK(lkvfence_hold(f, &b));
	for (i = 0; i < 3; i++)
		CHECK(lkvfence_drained(f, b.generation, sources[i],
				       LKVFENCE_EVIDENCE_SUCCESS_CQE));
	tell("drained", b.generation);
	if (lkvfence_drained(f, b.generation, 50,
			     LKVFENCE_EVIDENCE_SUCCESS_CQE) != -ESTALE)
		errx(1, "a second return was not refused");

	b = two_pieces(ranges, sources, 6, 600);
	b.timeout_ns = min;
	CHECK(lkvfence_hold(f, &b));
	await(f, b.generation, LKVFENCE_EVENT_RELEASED);
	tell("tainted", b.generation);
}

/* Tags 10 and 11, in slots behind those of fill(); by the end of 11 both end. */
static void grouped(struct lkvfence *f, uint64_t max)
{
	struct lkvfence_abort a = { .timeout_ns = max };
	uint64_t first = 0, tag;
	uint32_t source = 1;

	for (tag = 10; tag < 12; tag++) {
		struct lkvfence_range range = { tag, 1 };
		struct lkvfence_begin b = {
			.tag = tag,
			.ranges = (uintptr_t)&range,
			.nr_ranges = 1,
			.sources = (uintptr_t)&source,
			.nr_sources = 1,
		};

		CHECK(lkvfence_begin(f, &b));
		CHECK(lkvfence_join(f, b.generation, 7, 2));
		first = first ? first : b.generation;
		a.generation = b.generation;
	}
	CHECK(lkvfence_drained(f, first, source, LKVFENCE_EVIDENCE_SUCCESS_CQE));
	CHECK(lkvfence_abort(f, &a));
	await(f, first, LKVFENCE_EVENT_ENDED);
}

static void fill(struct lkvfence *f, unsigned int transfers)
{
	uint32_t source = 1;
	unsigned int i;

	for (i = 0; i < transfers; i++) {
		struct lkvfence_range range = { i * 50, 3 };
		struct lkvfence_begin b = {
			.tag = i,
			.ranges = (uintptr_t)&range,
			.nr_ranges = 1,
			.sources = (uintptr_t)&source,
			.nr_sources = 1,
		};

		CHECK(lkvfence_begin(f, &b));
	}
}

/*
 * Proves all leases quiet, whoever holds them, and counts what stays. A lease
 * that was given back as failed can't be proven any more: by force, then.
 */
static uint64_t clear(struct lkvfence *f)
{
	struct lkvfence_stat stat = { 0 };
	struct lkvfence_lease leases[8];
	struct lkvfence_query q = { 0 };
	uint32_t i;

	for (;;) {
		q = (struct lkvfence_query){
			.by = LKVFENCE_QUERY_NEXT,
			.generation = q.generation,
			.leases = (uintptr_t)leases,
			.nr_leases = 8,
		};
		if (lkvfence_query(f, &q))
			break;
		for (i = 0; i < q.nr_leases; i++)
			lkvfence_drained(f, q.generation, leases[i].source,
					 LKVFENCE_EVIDENCE_SUCCESS_CQE);
		lkvfence_abort_generation(f, q.generation);
		lkvfence_force_release(f, q.generation);
	}
	CHECK(lkvfence_stat(f, &stat));
	/* A group's members are released a moment after the last return. */
	for (i = 0; stat.slots_taken && i < 60000; i++) {
		usleep(1000);
		CHECK(lkvfence_stat(f, &stat));
	}
	return stat.slots_taken;
}

int main(int argc, char **argv)
{
	struct lkvfence *scene, *private, *big = NULL;
	struct lkvfence_info info = { 0 };
	uint64_t stay;
	char buf[64];

	CHECK(lkvfence_info(&info));
	scene = open_region("scene", 4096, 0666);
	private = open_region("private", 64, 0600);
	fill(private, 1);
	grouped(private, info.timeout_max_ns);
	if (argc > 1) {
		big = open_region("big", 1000000, 0666);
		fill(big, atoi(argv[1]));
	}
	waiting(scene, info.timeout_max_ns);
	offered(scene, info.timeout_max_ns);
	held(scene, info.timeout_max_ns);
	quarantined(scene, info.timeout_min_ns, "quarantined", 4, 300);
	quarantined(scene, info.timeout_min_ns, "forced", 7, 400);
	orphaned();
	released(scene, info.timeout_min_ns);
	puts("ready");
	fflush(stdout);

	while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	stay = clear(scene) + clear(private);
	if (big)
		stay += clear(big);
	lkvfence_close(big);
	lkvfence_close(private);
	lkvfence_close(scene);
	if (stay)
		errx(1, "%" PRIu64 " slots did not come back", stay);
	return 0;
}
