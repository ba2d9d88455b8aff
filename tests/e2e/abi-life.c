// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A transfer's whole life in raw calls; for 32-bit programs, too. */
#include <poll.h>

#include "abi.h"

#define CALL(fd, cmd, arg, what) \
	gives(sys(fd, LKVFENCE_IOC_##cmd, arg), 0, #cmd ": " what)

static void returns(int fd, uint64_t generation)
{
	struct lkvfence_return_item items[2] = {
		{
			.generation = generation,
			.source = 0xfffffff0,
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_IN_BAND,
		}, {
			.generation = generation,
			.source = 8,
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		},
	};
	struct lkvfence_return r = {
		.size = sizeof(r),
		.items = (uintptr_t)items,
		.nr_items = 2,
	};

	CALL(fd, RETURN, &r, "two items");
	check(r.nr_accepted == 2 && !items[0].result && !items[1].result &&
	      !items[0].released && items[1].released == 1,
	      "both are accepted, the second one released it");
}

static void looks(int fd, uint64_t generation)
{
	struct lkvfence_range ranges[4];
	struct lkvfence_lease leases[4];
	struct lkvfence_query q = {
		.size = sizeof(q),
		.by = LKVFENCE_QUERY_NEXT,
		.ranges = (uintptr_t)ranges,
		.leases = (uintptr_t)leases,
		.nr_ranges = 4,
		.nr_leases = 4,
	};

	CALL(fd, QUERY, &q, "the first one");
	check(q.generation == generation && q.tag == 0x123456789abcdef0 &&
	      q.state == LKVFENCE_STATE_ENDED && q.nr_slots == 3 &&
	      q.nr_ranges == 2 && q.nr_leases == 2 && q.leases_out == 2 &&
	      q.pid == getpid(), "it is told");
	check(q.ended_ns >= q.begun_ns && q.deadline_ns == q.ended_ns + 3600000 * MS &&
	      q.now_ns >= q.ended_ns, "with its times");
	check(ranges[0].first == 0x10000 && ranges[1].count == 2 &&
	      leases[0].source == 8 && leases[1].source == 0xfffffff0,
	      "with its ranges and leases");
}

static void event_comes(int fd, uint64_t generation)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct lkvfence_event e[2];

	gives(poll(&p, 1, PATIENCE_MS), 1, "poll");
	gives(read(fd, e, sizeof(e)), sizeof(*e), "one event");
	check(e->generation == generation && e->tag == 0x123456789abcdef0 &&
	      e->type == LKVFENCE_EVENT_RELEASED && e->nr_slots == 3 &&
	      e->outcome == LKVFENCE_OUTCOME_DRAINED &&
	      e->evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE &&
	      e->reason == LKVFENCE_REASON_PEER, "it tells the release");
}

static void last_proof(int fd, uint64_t generation)
{
	struct lkvfence_return_item item = {
		.generation = generation,
		.source = 8,
		.status = LKVFENCE_STATUS_REVOKED,
		.evidence = LKVFENCE_EVIDENCE_MR_DEREGISTERED,
	};
	struct lkvfence_return r = {
		.size = sizeof(r),
		.items = (uintptr_t)&item,
		.nr_items = 1,
	};
	struct lkvfence_event e;

	CALL(fd, RETURN, &r, "the last proof");
	check(item.released && read(fd, &e, sizeof(e)) == sizeof(e) &&
	      e.outcome == LKVFENCE_OUTCOME_REVOKED, "released as revoked");
}

/* What the sources' commands say where none is bound; and a report. */
static void no_sources(int fd, uint64_t generation)
{
	struct lkvfence_source s = {
		.size = sizeof(s), .flags = LKVFENCE_SOURCE_UNBIND, .source = 8,
	};
	struct lkvfence_query_source q = {
		.size = sizeof(q), .flags = LKVFENCE_QUERY_SOURCE_FROM,
	};
	struct lkvfence_quiet u = {
		.size = sizeof(u), .binding = 1ULL << 40,
		.evidence = LKVFENCE_EVIDENCE_QP_DESTROYED,
	};
	struct lkvfence_report p = {
		.size = sizeof(p), .generation = generation,
		.kind = LKVFENCE_REPORT_STRAY_LATE, .nr_slots = 3,
	};

	gives(sys(fd, LKVFENCE_IOC_SOURCE, &s), can_revoke() ? -ENOENT : -EOPNOTSUPP,
	      "SOURCE: nothing to unbind");
	gives(sys(fd, LKVFENCE_IOC_QUERY_SOURCE, &q), -ENOENT, "QUERY_SOURCE: none");
	gives(sys(fd, LKVFENCE_IOC_QUIET, &u), -ENOENT, "QUIET: no such binding");
	CALL(fd, REPORT, &p, "of a transfer that is released");
}

int main(void)
{
	int fd = region_fd("abi-life", 0x20000, 0), other;
	struct lkvfence_range ranges[2] = { { 0x10000, 1 }, { 7, 2 } };
	uint32_t source = 8;
	struct lkvfence_begin b = {
		.size = sizeof(b),
		.tag = 0x123456789abcdef0,
		.ranges = (uintptr_t)ranges,
		.sources = (uintptr_t)&source,
		.nr_ranges = 2,
		.nr_sources = 1,
		.ttl_ns = 3000000 * MS,
	};
	struct lkvfence_take t = { .size = sizeof(t), .source = 0xfffffff0 };
	struct lkvfence_abort a = { .size = sizeof(a) };
	struct lkvfence_release r = { .size = sizeof(r) };
	struct lkvfence_adopt d = { .size = sizeof(d) };
	struct lkvfence_stat s = { .size = sizeof(s) };

	CALL(fd, BEGIN, &b, "two ranges, one source");
	check(b.generation > 1ULL << 32 && b.state == LKVFENCE_STATE_WAITING,
	      "generation %llu", (unsigned long long)b.generation);
	t.generation = b.generation;
	CALL(fd, TAKE, &t, "one more lease");
	a.flags = LKVFENCE_ABORT_BY_TAG;
	a.tag = b.tag;
	a.reason = LKVFENCE_REASON_PEER;
	a.timeout_ns = 3600000 * MS;
	CALL(fd, ABORT, &a, "by tag");
	check(a.generation == b.generation && a.state == LKVFENCE_STATE_ENDED &&
	      a.leases_out == 2, "it has ended");
	looks(fd, b.generation);
	returns(fd, b.generation);
	event_comes(fd, b.generation);
	no_sources(fd, b.generation);

	b.nr_sources = 0;
	b.ttl_ns = 0;
	b.generation = 0;
	CALL(fd, BEGIN, &b, "the same slots and tag");
	r.generation = b.generation;
	CALL(fd, RELEASE, &r, "of it");
	gives(r.outcome, LKVFENCE_OUTCOME_COMPLETED, "completed");

	b.nr_sources = 1;
	CALL(fd, HOLD, &b, "the same again");
	gives(b.state, LKVFENCE_STATE_ENDED, "held");
	other = region_fd("abi-life", 0, 0);
	close(fd);
	d.generation = b.generation;
	CALL(other, ADOPT, &d, "when its owner is gone");
	CALL(other, STAT, &s, "of the region");
	check(s.begun == 3 && s.slots_held == 3 && s.strays_late == 1 &&
	      s.evidence[LKVFENCE_EVIDENCE_IN_BAND] == 1 && s.handles == 1 &&
	      !strcmp(s.name, "abi-life") && s.slot_size == 65536 && s.slots == 0x20000,
	      "it tells what is there");
	gives(sys(other, LKVFENCE_IOC_HOLD, &b), -EBUSY, "HOLD of the same slots");
	check(b.busy_generation == d.generation && b.busy_slot == 0x10000,
	      "the slot in the way is told");
	last_proof(other, d.generation);
	close(other);
	return done();
}
