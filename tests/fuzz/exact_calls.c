// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the one thread of exact.c asks for: mostly what makes sense.
 */
#include "exact.h"

static struct lkvfence_range ranges[ORACLE_RANGES + 2];
static u32 sources[ORACLE_LEASES + 2];
static struct lkvfence_return_item items[EXACT_ITEMS];
static struct lkvfence_lease leases[ORACLE_LEASES + 2];
static struct lkvfence_qp qps[EXACT_QPS];
static struct look look;

static u64 a_timeout(void)
{
	switch (pick(24)) {
	case 0:
		return m.min_ns - 1;
	case 1:
		return m.max_ns + 1;
	case 2:
		return m.max_ns;
	case 3:
		return m.min_ns;
	default:
		return (u64)(10 + pick(30) * pick(30)) * MS;
	}
}

static u64 a_generation(const struct mirror_region *r)
{
	switch (pick(40)) {
	case 0:
		return 0;
	case 1:
		return m.last_generation + 1;
	case 2:
		return any_number();
	case 3:
	case 4:
		return m.last_generation - pick(40);
	default:
		if (!r->nr)
			return m.last_generation;
		return r->transfers[pick(r->nr)].generation;
	}
}

static u32 a_source(void)
{
	return pick(30) ? 1 + pick(5) : any_number();
}

/* Nothing is bound: where access is to be taken away it can't be. */
static u32 a_policy(void)
{
	u32 policy = pick(30) ? pick(6) == 5 ? 2 : pick(2) : 3;

	if (!pick(3))
		policy |= pick(2) ? LKVFENCE_POLICY_REVOKE : LKVFENCE_POLICY_REVOKE_NOW;
	return pick(60) ? policy : 1U << pick(32);
}

static void fill_begin(struct lkvfence_begin *a, bool hold)
{
	a->tag = pick(12);
	a->nr_ranges = pick(30) ? 1 + pick(3) : pick(2) * MIRROR_MAX_RANGES;
	if (a->nr_ranges > ORACLE_RANGES)
		a->nr_ranges = MIRROR_MAX_RANGES + 1;
	for (u32 i = 0; i < 3; i++)
		ranges[i] = (struct lkvfence_range) {
			.first = pick(SLOTS + 1),
			.count = pick(60) ? 1 + pick(6) : pick(3) * 0x7fffffff,
		};
	a->ranges = (uintptr_t)ranges;
	a->nr_sources = pick(30) ? pick(4) : MIRROR_MAX_LEASES + 1;
	for (u32 i = 0; i < 4; i++)
		sources[i] = a_source();
	a->sources = (uintptr_t)sources;
	a->policy = a_policy();
	if (hold || !pick(60))
		a->timeout_ns = pick(3) ? a_timeout() : 0;
	if (!hold || !pick(60))
		a->ttl_ns = pick(3) ? 0 : a_timeout();
	if (hold || !pick(60))
		a->reason = pick(12);
	a->flags = hold ? !pick(100) : pick(2);
	if (!pick(100))
		a->flags = 1U << pick(32);
}

static void fill_return(struct lkvfence_return *a, const struct mirror_region *r)
{
	a->nr_items = pick(20) ? 1 + pick(5) : pick(3) * 19;
	a->items = (uintptr_t)items;
	for (u32 i = 0; i < a->nr_items; i++) {
		bool failed = !pick(6);

		items[i] = (struct lkvfence_return_item) {
			.generation = a_generation(r),
			.source = a_source(),
			.status = failed ? LKVFENCE_STATUS_FAILED : LKVFENCE_STATUS_DRAINED,
			.evidence = failed ? 0 : pick(8) ? 3 + pick(2) : pick(12),
			.result = 99,
			.released = 99,
		};
		if (!pick(6)) {
			items[i].status = LKVFENCE_STATUS_REVOKED;
			items[i].evidence = pick(8) ? 6 + pick(4) : pick(12);
		}
		if (!pick(60))
			items[i].status = pick(4);
	}
}

static void fill_abort(struct lkvfence_abort *a, const struct mirror_region *r)
{
	a->flags = pick(4) ? 0 : LKVFENCE_ABORT_BY_TAG;
	a->tag = pick(12);
	a->generation = a_generation(r);
	a->timeout_ns = pick(3) ? a_timeout() : 0;
	a->policy = pick(8) ? 0 : a_policy();
	a->reason = pick(12);
	if (!pick(8)) {
		a->flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY;
		if (pick(2))
			a->generation = 0;
	}
	if (!pick(40))
		a->flags = LKVFENCE_ABORT_ALL;
	if (!pick(60))
		a->flags = 1U << pick(32);
}

static void fill_query(struct lkvfence_query *a, const struct mirror_region *r)
{
	a->by = pick(50) ? pick(4) : 4;
	a->generation = a_generation(r);
	a->tag = pick(12);
	a->slot = pick(SLOTS + 1);
	a->nr_ranges = pick(30) ? pick(ORACLE_RANGES + 1) : MIRROR_MAX_RANGES + 1;
	a->nr_leases = pick(ORACLE_LEASES + 1);
	a->ranges = (uintptr_t)ranges;
	a->leases = (uintptr_t)leases;
}

/*
 * QPs that aren't there, or are the kernel's. What the kernel will find is known
 * before: the first one is in the way already.
 */
static void fill_source(struct lkvfence_source *a, struct call *c)
{
	/* Of the management QP of a port, as the kernel's table has it. */
	const u32 of_kernel = 1U << 24 | 1;
	bool rxe0 = pick(2);

	a->flags = pick(4) ? 0 : LKVFENCE_SOURCE_UNBIND;
	if (!pick(60))
		a->flags = 1U << pick(32);
	a->source = a_source();
	a->nr_qps = a->flags ? pick(8) == 7 : 1 + pick(EXACT_QPS);
	if (!pick(30))
		a->nr_qps = pick(2) * (MIRROR_MAX_QPS + 1);
	a->qps = (uintptr_t)qps;
	memset(qps, 0, sizeof(qps));
	snprintf(qps[0].device, sizeof(qps[0].device), "%s", rxe0 ? "rxe0" : "mlx5_0");
	qps[0].number = pick(3) ? of_kernel - 1 - pick(8) : pick(2) ? of_kernel : any_number();
	if (!pick(20))
		memset(qps[0].device, 'r', sizeof(qps[0].device));
	if (!pick(20))
		qps[0].state = 1 + pick(4);
	snprintf(a->peer, sizeof(a->peer), "somebody");
	if (!pick(20))
		memset(a->peer, 'p', sizeof(a->peer));
	look = (struct look){ .finds = true, .err = -ENODEV };
	if (rxe0 && exact_has_rxe)
		look.err = qps[0].number == of_kernel ? -EPERM : -ENOENT;
	c->qps = qps;
	c->nr_qps = 1;
	c->looks = &look;
	c->nr_looks = !qps[0].state && strnlen(qps[0].device, 64) < 64;
}

/* No binding is ours, whatever its number. */
static void fill_quiet(struct lkvfence_quiet *a)
{
	a->binding = pick(2) ? pick(100) : any_number();
	a->qp = pick(2) ? pick(3) : LKVFENCE_QUIET_ALL;
	a->evidence = pick(12);
	a->flags = !pick(60);
}

static void fill_report(struct lkvfence_report *a, const struct mirror_region *r)
{
	a->generation = a_generation(r);
	a->kind = pick(20) ? 1 + pick(3) : pick(5);
	a->nr_slots = pick(20);
	a->flags = !pick(60);
}

static void fill_query_source(struct lkvfence_query_source *a)
{
	a->source = a_source();
	a->flags = pick(30) ? pick(2) : 1U << pick(32);
	a->nr_qps = pick(30) ? pick(EXACT_QPS + 1) : MIRROR_MAX_QPS + 1;
	a->qps = (uintptr_t)qps;
}

static void fill_ready(struct lkvfence_ready *a, const struct mirror_region *r)
{
	a->generation = a_generation(r);
	a->ttl_ns = pick(2) ? a_timeout() : 0;
	a->consumers = pick(30) ? pick(4) : MIRROR_MAX_LEASES + 1;
	a->pad = !pick(60);
	a->flags = !pick(60);
}

static void fill_pull(struct lkvfence_pull *a, const struct mirror_region *r)
{
	a->flags = !pick(3);
	if (!pick(60))
		a->flags = 1U << pick(32);
	a->tag = pick(12);
	a->generation = a->flags || !pick(4) ? a_generation(r) : 0;
	a->timeout_ns = pick(2) ? a_timeout() : 0;
	a->unclaimed_ns = pick(4) ? 0 : a_timeout();
	a->source = a_source();
	a->pad = !pick(60);
}

/* One of those that there are, more often than not. */
static void fill_withdraw(struct lkvfence_withdraw *a, const struct mirror_region *r)
{
	a->ticket = pick(8) && r->nr_tickets ? r->tickets[pick(r->nr_tickets)].number :
		    m.last_ticket + 1 - pick(4);
	a->flags = !pick(60);
}

struct lkvfence_return_item *fill(struct call *c, const struct mirror_region *r)
{
	union argument *a = &c->in;

	switch (c->cmd) {
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		fill_begin(&a->begin, c->cmd == LKVFENCE_IOC_HOLD);
		break;
	case LKVFENCE_IOC_TAKE:
		a->take.generation = a_generation(r);
		a->take.source = a_source();
		a->take.peer = !pick(60);
		break;
	case LKVFENCE_IOC_RETURN:
		fill_return(&a->ret, r);
		break;
	case LKVFENCE_IOC_ABORT:
		fill_abort(&a->abort, r);
		break;
	case LKVFENCE_IOC_RELEASE:
		a->release.generation = a_generation(r);
		a->release.flags = pick(30) ? !pick(4) : 1U << pick(32);
		break;
	case LKVFENCE_IOC_QUERY:
		fill_query(&a->query, r);
		break;
	case LKVFENCE_IOC_ADOPT:
		a->adopt.generation = a_generation(r);
		break;
	case LKVFENCE_IOC_SOURCE:
		fill_source(&a->source, c);
		break;
	case LKVFENCE_IOC_QUIET:
		fill_quiet(&a->quiet);
		break;
	case LKVFENCE_IOC_REPORT:
		fill_report(&a->report, r);
		break;
	case LKVFENCE_IOC_QUERY_SOURCE:
		fill_query_source(&a->query_source);
		break;
	case LKVFENCE_IOC_READY:
		fill_ready(&a->ready, r);
		break;
	case LKVFENCE_IOC_PULL:
		fill_pull(&a->pull, r);
		break;
	case LKVFENCE_IOC_WITHDRAW:
		fill_withdraw(&a->withdraw, r);
		break;
	}
	c->ranges = ranges;
	c->sources = sources;
	c->items = items;
	c->got_ranges = ranges;
	c->got_leases = leases;
	return items;
}

void spoil(struct call *c, u8 *bytes)
{
	size_t size = mirror_size(c->cmd);

	switch (pick(5)) {
	case 0:
		c->in.size = pick(size);
		break;
	case 1:
		c->in.size = size + 8 * (1 + pick(20));
		break;
	case 2:
		c->in.size = size + 8 * (1 + pick(20));
		c->tail = true;
		bytes[size + pick(8)] = 1 + pick(255);
		break;
	case 3:
		c->in.size = 4097 + pick(1 << 20);
		break;
	case 4:
		/* Readable up to its middle at most. */
		if (c->cmd == LKVFENCE_IOC_BEGIN || c->cmd == LKVFENCE_IOC_HOLD) {
			c->in.begin.nr_ranges = 1;
			c->in.begin.ranges = pick(2) ? 8 : ~0ULL - 7;
		} else if (c->cmd == LKVFENCE_IOC_SOURCE) {
			c->in.source.qps = pick(2) ? 8 : ~0ULL - 7;
			c->nr_qps = 0;
			c->nr_looks = 0;
		}
		break;
	}
}
