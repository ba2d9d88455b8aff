// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The calls that change a region's transfers, against the oracle.
 */
#include <errno.h>
#include <string.h>

#include "mirror.h"

u32 mirror_wrong(int err)
{
	static const struct {
		int err;
		u32 wrong;
	} known[] = {
		{ 0, 0 },
		{ -ERANGE, WRONG_RANGE }, { -EINVAL, WRONG_INVALID },
		{ -EEXIST, WRONG_EXISTS }, { -EBUSY, WRONG_BUSY },
		{ -ENOSPC, WRONG_LIMIT }, { -ECANCELED, WRONG_CANCELED },
		{ -ESTALE, WRONG_STALE }, { -ENOENT, WRONG_UNKNOWN },
		{ -EALREADY, WRONG_TWICE }, { -EFAULT, WRONG_FAULT },
		{ -E2BIG, WRONG_TOO_BIG }, { -ENOMEM, WRONG_MEMORY },
		{ -EPERM, WRONG_PERMISSION }, { -EACCES, WRONG_ACCESS },
		{ -ENOTUNIQ, WRONG_GEOMETRY }, { -EMFILE, WRONG_NO_FD },
		{ -ENFILE, WRONG_NO_FILE }, { -ENOTTY, WRONG_COMMAND },
		{ -ESHUTDOWN, WRONG_SHUTDOWN }, { -EOPNOTSUPP, WRONG_UNACCEPTED },
		{ -ENODEV, WRONG_NO_DEVICE }, { -EPROTONOSUPPORT, WRONG_TYPE },
		{ -ENOTCONN, WRONG_NOT_CONNECTED }, { -EIO, WRONG_DRIVER },
		{ -EHOSTDOWN, WRONG_HOST_DOWN }, { -EHOSTUNREACH, WRONG_NO_HOST },
		{ -EAGAIN, WRONG_AGAIN },
	};

	for (u32 i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].err == err)
			return known[i].wrong;
	return WRONG_OTHER;
}

/*
 * Is the answer one of those that are allowed: @wrong says what is wrong with
 * the call, @may what need not be. Sets @err to what the region has seen: where
 * the answer was lost on its way out, that is another than the caller's.
 * Returns whether it has seen the call at all.
 */
bool mirror_allows(const struct call *c, u32 wrong, u32 may, int *err)
{
	u32 got = mirror_wrong(c->err);

	*err = c->err;
	if (c->below) {
		if (!(got & c->below))
			mirror_fail("answer %d, where only %#x can be", c->err, c->below);
		if (!c->took_effect)
			return false;
		/* An answer is written with these, or with success. */
		if (wrong & (WRONG_BUSY | WRONG_EXISTS))
			wrong &= WRONG_BUSY | WRONG_EXISTS;
		if (wrong)
			*err = (wrong & WRONG_EXISTS) ? -EEXIST : -EBUSY;
		else
			*err = 0;
		return true;
	}
	if (got ? !(got & (wrong | may)) : wrong)
		mirror_fail("answer %d, but the oracle allows %#x", c->err, wrong | may);
	return true;
}

struct mirror_transfer *mirror_find(struct mirror_region *r, u64 generation)
{
	for (u32 i = 0; i < r->nr; i++)
		if (r->transfers[i].generation == generation)
			return &r->transfers[i];
	return NULL;
}

u32 mirror_lookup(struct oracle *o, u64 generation)
{
	if (!generation || generation > o->last_generation)
		return WRONG_UNKNOWN;
	return oracle_find(o, generation) ? 0 : WRONG_STALE;
}

struct oracle_limits mirror_limits(const struct mirror *m)
{
	return (struct oracle_limits){ m->default_ns, m->max_ns, m->revoke_ns };
}

#define REVOKES		((u32)(LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW))

bool mirror_is_policy(u32 policy)
{
	return (policy & ~REVOKES) <= LKVFENCE_POLICY_QUARANTINE;
}

bool mirror_is_timeout(const struct mirror *m, u64 ns)
{
	return !ns || (ns >= m->min_ns && ns <= m->max_ns);
}

bool mirror_is_reason(u32 reason)
{
	return reason == LKVFENCE_REASON_DROPPED ||
	       (reason <= LKVFENCE_REASON_SHUTDOWN && reason != LKVFENCE_REASON_FINISHED);
}

/*
 * BEGIN, HOLD
 */

static u32 begin_arguments(const struct mirror *m, const struct lkvfence_begin *a,
			   bool hold)
{
	u32 wrong = 0;

	if (a->flags & ~LKVFENCE_BEGIN_FLAGS || !a->nr_ranges || !mirror_is_policy(a->policy))
		wrong |= WRONG_INVALID;
	if (hold ? a->flags || a->ttl_ns || !mirror_is_reason(a->reason) :
		   a->timeout_ns || a->reason)
		wrong |= WRONG_INVALID;
	if (a->nr_ranges > MIRROR_MAX_RANGES || a->nr_sources > MIRROR_MAX_LEASES ||
	    !mirror_is_timeout(m, a->ttl_ns) ||
	    !mirror_is_timeout(m, a->timeout_ns))
		wrong |= WRONG_RANGE;
	return wrong;
}

static void check_in_the_way(struct mirror_region *r, const struct call *c,
			     const struct oracle_begin *b, int err)
{
	const struct lkvfence_begin *a = &c->out.begin;
	struct oracle *o = &r->o;

	if (c->lost)
		return;
	if (err == -EBUSY) {
		agree(a->busy_slot == oracle_first_busy(o, b));
		agree(a->busy_generation == o->owner[a->busy_slot]);
		agree(a->busy_tag == oracle_find(o, a->busy_generation)->tag);
	}
	if (err == -EEXIST) {
		agree(a->busy_generation == oracle_find_tag(o, b->tag)->generation);
		agree(a->busy_tag == b->tag);
	}
}

static void begun(struct mirror *m, struct mirror_region *r, const struct call *c,
		  struct oracle_begin *b, bool hold)
{
	const struct lkvfence_begin *in = &c->in.begin, *out = &c->out.begin;
	struct mirror_transfer *t;
	struct transfer_fact *fact;

	agree(r->nr < MIRROR_TRANSFERS);
	t = &r->transfers[r->nr++];
	memset(t, 0, sizeof(*t));
	t->generation = out->generation;
	t->owner = c->handle;
	t->nr_ranges = b->nr_ranges;
	memcpy(t->ranges, b->ranges, sizeof(t->ranges));
	t->owned_as = ++r->order;
	oracle_begin(&r->o, b, out->generation, c->now);
	for (u32 i = 0; i < b->nr_sources; i++)
		t->granted_as[i] = ++r->order;
	if (b->offer)
		mirror_offered(r, b->tag, out->generation);
	if (hold)
		mirror_abort_one(m, r, oracle_find(&r->o, out->generation),
				 in->reason ? in->reason : LKVFENCE_REASON_ABORTED,
				 0, in->timeout_ns, c);
	fact = oracle_find(&r->o, out->generation);
	agree(c->lost || out->state == (fact ? fact->state : LKVFENCE_STATE_RELEASED));
}

static void do_begin(struct mirror *m, struct mirror_region *r,
		     const struct call *c, bool hold)
{
	const struct lkvfence_begin *in = &c->in.begin;
	u32 wrong = begin_arguments(m, in, hold);
	struct oracle_begin b = {
		.tag = in->tag, .ttl = in->ttl_ns, .policy = in->policy,
		.offer = in->flags & LKVFENCE_BEGIN_OFFER,
	};
	bool fits = in->nr_ranges <= ORACLE_RANGES && in->nr_sources <= ORACLE_LEASES;
	u32 may = 0;
	int err;

	if (wrong || (c->below && !c->took_effect)) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (!fits && !c->err)
		r->blind = true;
	if (!c->err || c->took_effect) {
		if (!c->err)
			agree(c->out.begin.generation > m->last_generation);
		if (c->out.begin.generation > m->last_generation)
			m->last_generation = c->out.begin.generation;
	}
	if (r->blind)
		return;
	if (!fits) {
		/* Too large for the oracle, and refused: that must be counted. */
		if (c->took_effect) {
			r->blind = true;
			return;
		}
		if (b.offer && c->err == -ECANCELED) {
			agree(mirror_offer_wrong(r, b.tag));
			mirror_offer_refused(r, b.tag);
			return;
		}
		agree(mirror_wrong(c->err) &
		      (WRONG_RANGE | WRONG_INVALID | WRONG_EXISTS | WRONG_BUSY | WRONG_LIMIT |
		       WRONG_SHUTDOWN));
		oracle_begin_refused(&r->o, mirror_wrong(c->err));
		return;
	}

	b.nr_ranges = in->nr_ranges;
	memcpy(b.ranges, c->ranges, b.nr_ranges * sizeof(b.ranges[0]));
	b.nr_sources = in->nr_sources;
	if (b.nr_sources)
		memcpy(b.sources, c->sources, b.nr_sources * sizeof(b.sources[0]));
	wrong = oracle_begin_wrong(&r->o, &b, m->max_transfers);
	if (mirror_unread(m, c->handle, true) >= m->max_transfers)
		wrong |= WRONG_LIMIT;
	else if (mirror_unread(m, c->handle, false) >= m->max_transfers)
		may |= WRONG_LIMIT;
	if (b.offer)
		wrong |= mirror_offer_wrong(r, b.tag);
	mirror_allows(c, wrong, may, &err);
	if (err == -ECANCELED)
		mirror_offer_refused(r, b.tag);
	if (c->took_effect && wrong & WRONG_BUSY && wrong & WRONG_EXISTS) {
		r->blind = true;	/* which of the two is not known */
	} else if (err) {
		check_in_the_way(r, c, &b, err);
		oracle_begin_refused(&r->o, mirror_wrong(err));
	} else {
		begun(m, r, c, &b, hold);
	}
}

/*
 * TAKE, RETURN
 */

void mirror_take(struct mirror_region *r, struct transfer_fact *fact, u32 source, u64 now)
{
	struct mirror_transfer *t = mirror_find(r, fact->generation);

	t->granted_as[fact->nr_leases] = ++r->order;
	t->taken++;
	oracle_take(fact, source, now);
	oracle_attach(&r->o, fact, source);
}

static void do_take(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_take *a = &c->in.take;
	struct transfer_fact *fact = oracle_find(&r->o, a->generation);
	bool healthy = a->flags & LKVFENCE_TAKE_HEALTHY;
	u32 wrong = a->flags & ~LKVFENCE_TAKE_FLAGS || (!healthy && a->peer) ? WRONG_INVALID : 0;
	int err;

	if (!wrong && r->blind)
		return;
	/* Who is healthy isn't known here; it is asked first, and nothing else happens then. */
	if (!wrong && healthy &&
	    mirror_wrong(c->err) & (WRONG_HOST_DOWN | WRONG_NO_HOST | WRONG_MEMORY))
		return;
	if (!wrong)
		wrong = mirror_lookup(&r->o, a->generation);
	if (!wrong)
		wrong = oracle_take_wrong(fact, a->source, MIRROR_MAX_LEASES);
	/* L3 comes first: nothing is said of a source's state behind the end. */
	if (fact && !(wrong & (WRONG_INVALID | WRONG_CANCELED)))
		wrong |= oracle_source_wrong(&r->o, a->source);
	if (!mirror_allows(c, wrong, 0, &err))
		return;
	if (err) {
		oracle_take_refused(&r->o, mirror_wrong(err));
		return;
	}
	if (fact->nr_leases == ORACLE_LEASES) {
		r->blind = true;
		return;
	}
	mirror_take(r, fact, a->source, c->now);
}

static bool return_one(struct mirror *m, struct mirror_region *r, const struct call *c,
		       const struct lkvfence_return_item *in,
		       const struct lkvfence_return_item *out)
{
	u32 wrong = oracle_return_wrong(&r->o, in->generation, in->source,
					in->status, in->evidence);
	u32 got = mirror_wrong(out->result);
	bool released = false;

	agree(in->generation == out->generation && in->source == out->source &&
	      in->status == out->status && in->evidence == out->evidence);
	if (wrong ? !(got & wrong) : got)
		mirror_fail("result %d of a return, but the oracle allows %#x",
			    out->result, wrong);
	if (out->result) {
		oracle_return_refused(&r->o, got);
	} else {
		memset(&r->o.report, 0, sizeof(r->o.report));
		released = oracle_return(&r->o, in->generation, in->source,
					 in->status, in->evidence, c->now);
		mirror_hear(m, r, c->handle, 0, 0, c->earliest, c->latest);
	}
	agree(out->released == released);
	return !out->result;
}

static void do_return(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_return *a = &c->in.ret;
	u32 wrong = 0, accepted = 0;
	int err;

	if (a->flags || !a->nr_items)
		wrong |= WRONG_INVALID;
	if (a->nr_items > MIRROR_MAX_RANGES)
		wrong |= WRONG_RANGE;
	mirror_allows(c, wrong, 0, &err);
	if (r->blind)
		return;
	/* Also where the call failed half way: those before took effect. */
	for (u32 i = 0; i < c->nr_items; i++)
		accepted += return_one(m, r, c, &c->items[i], &c->results[i]);
	if (!c->err) {
		agree(c->nr_items == a->nr_items);
		agree(c->out.ret.nr_accepted == accepted);
	}
}

/*
 * ADOPT, REPORT
 */

static void do_adopt(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_adopt *a = &c->in.adopt;
	struct mirror_transfer *t = mirror_find(r, a->generation);
	u32 wrong = a->flags ? WRONG_INVALID : 0, may = 0;
	int err;

	if (!wrong && r->blind)
		return;
	if (!wrong)
		wrong = mirror_lookup(&r->o, a->generation);
	if (!wrong && t->owner >= 0)
		wrong = t->owner == c->handle ? WRONG_TWICE : WRONG_BUSY;
	if (!wrong && mirror_unread(m, c->handle, true) >= m->max_transfers)
		wrong = WRONG_LIMIT;
	else if (!wrong && mirror_unread(m, c->handle, false) >= m->max_transfers)
		may = WRONG_LIMIT;
	if (mirror_allows(c, wrong, may, &err) && !err) {
		t->owner = c->handle;
		t->owned_as = ++r->order;
	}
}

static void do_report(struct mirror_region *r, const struct call *c)
{
	const struct lkvfence_report *a = &c->in.report;
	u32 wrong = a->flags || !a->nr_slots ? WRONG_INVALID : 0;
	int err;

	if (!wrong && r->blind)
		return;
	if (!wrong)
		wrong = oracle_report_wrong(&r->o, a->generation, a->kind);
	if (mirror_allows(c, wrong, 0, &err) && !err)
		oracle_report(&r->o, a->kind);
}

/*
 * All
 */

static void do_info(struct mirror *m, const struct call *c)
{
	const struct lkvfence_info *a = &c->out.info;
	int err;

	if (!mirror_allows(c, c->in.info.flags ? WRONG_INVALID : 0, 0, &err) ||
	    err || c->lost)
		return;
	agree(a->abi == LKVFENCE_ABI && a->abi_oldest == 1 && a->features == m->features);
	agree(a->max_slots == m->max_slots && a->max_transfers == m->max_transfers);
	agree(a->max_ranges == MIRROR_MAX_RANGES && a->max_leases == MIRROR_MAX_LEASES);
	agree(a->timeout_default_ns == m->default_ns);
	agree(a->timeout_min_ns == m->min_ns && a->timeout_max_ns == m->max_ns);
	agree(a->settle_ns == m->settle_ns && a->revoke_ns == m->revoke_ns);
	agree(a->max_sources == m->max_sources && a->max_qps == MIRROR_MAX_QPS);
	agree(a->unclaimed_ns == m->unclaimed_ns && a->tombstone_ns == m->tombstone_ns);
	agree(a->max_tombstones == m->max_tombstones && a->max_pulls == m->max_pulls);
	agree(memchr(a->version, 0, sizeof(a->version)) && a->version[0]);
}

static void do_stat(struct mirror *m, struct mirror_region *r, const struct call *c)
{
	int err;

	if (mirror_allows(c, c->in.stat.flags ? WRONG_INVALID : 0, 0, &err) &&
	    !err && !c->lost)
		mirror_stat(m, r, &c->out.stat, c->now);
}

size_t mirror_size(unsigned int cmd)
{
	switch (cmd) {
	case LKVFENCE_IOC_INFO:
		return sizeof(struct lkvfence_info);
	case LKVFENCE_IOC_OPEN:
		return sizeof(struct lkvfence_open);
	case LKVFENCE_IOC_STAT:
		return sizeof(struct lkvfence_stat);
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		return sizeof(struct lkvfence_begin);
	case LKVFENCE_IOC_TAKE:
		return sizeof(struct lkvfence_take);
	case LKVFENCE_IOC_RETURN:
		return sizeof(struct lkvfence_return);
	case LKVFENCE_IOC_ABORT:
		return sizeof(struct lkvfence_abort);
	case LKVFENCE_IOC_RELEASE:
		return sizeof(struct lkvfence_release);
	case LKVFENCE_IOC_QUERY:
		return sizeof(struct lkvfence_query);
	case LKVFENCE_IOC_ADOPT:
		return sizeof(struct lkvfence_adopt);
	case LKVFENCE_IOC_SOURCE:
		return sizeof(struct lkvfence_source);
	case LKVFENCE_IOC_QUIET:
		return sizeof(struct lkvfence_quiet);
	case LKVFENCE_IOC_REPORT:
		return sizeof(struct lkvfence_report);
	case LKVFENCE_IOC_QUERY_SOURCE:
		return sizeof(struct lkvfence_query_source);
	case LKVFENCE_IOC_READY:
		return sizeof(struct lkvfence_ready);
	case LKVFENCE_IOC_PULL:
		return sizeof(struct lkvfence_pull);
	case LKVFENCE_IOC_WITHDRAW:
		return sizeof(struct lkvfence_withdraw);
	case LKVFENCE_IOC_JOIN:
		return sizeof(struct lkvfence_join);
	case LKVFENCE_IOC_PEER:
		return sizeof(struct lkvfence_peer);
	default:
		return 0;
	}
}

/* What is wrong before the struct was looked at. */
static u32 wrong_outside(const struct call *c)
{
	bool on_device = c->handle < 0;
	bool for_device = c->cmd == LKVFENCE_IOC_OPEN;
	size_t size = mirror_size(c->cmd);

	if (!size || (c->cmd != LKVFENCE_IOC_INFO && for_device != on_device))
		return WRONG_COMMAND;
	if (c->below)
		return 0;
	if (c->size < size)
		return WRONG_INVALID;
	if (c->size > 4096 || (c->size > size && c->tail))
		return WRONG_TOO_BIG;
	return 0;
}

void mirror_call(struct mirror *m, const struct call *c)
{
	struct mirror_region *r = mirror_region(m, c->handle);
	u32 wrong = wrong_outside(c);
	int err;

	if (wrong) {
		mirror_allows(c, wrong, 0, &err);
		return;
	}
	if (r)
		r->step++;
	switch (c->cmd) {
	case LKVFENCE_IOC_INFO:
		do_info(m, c);
		return;
	case LKVFENCE_IOC_OPEN:
		mirror_open(m, c);
		return;
	case LKVFENCE_IOC_STAT:
		do_stat(m, r, c);
		break;
	case LKVFENCE_IOC_BEGIN:
		do_begin(m, r, c, false);
		break;
	case LKVFENCE_IOC_HOLD:
		do_begin(m, r, c, true);
		break;
	case LKVFENCE_IOC_TAKE:
		do_take(r, c);
		break;
	case LKVFENCE_IOC_RETURN:
		do_return(m, r, c);
		break;
	case LKVFENCE_IOC_ABORT:
		mirror_abort(m, r, c);
		break;
	case LKVFENCE_IOC_RELEASE:
		mirror_release(m, r, c);
		break;
	case LKVFENCE_IOC_QUERY:
		mirror_query(m, r, c);
		break;
	case LKVFENCE_IOC_ADOPT:
		do_adopt(m, r, c);
		break;
	case LKVFENCE_IOC_SOURCE:
		mirror_source(m, r, c);
		break;
	case LKVFENCE_IOC_QUIET:
		mirror_quiet(r, c);
		break;
	case LKVFENCE_IOC_REPORT:
		do_report(r, c);
		break;
	case LKVFENCE_IOC_QUERY_SOURCE:
		mirror_query_source(m, r, c);
		break;
	case LKVFENCE_IOC_READY:
		mirror_ready(m, r, c);
		break;
	case LKVFENCE_IOC_PULL:
		mirror_pull(m, r, c);
		break;
	case LKVFENCE_IOC_WITHDRAW:
		mirror_withdraw(r, c);
		break;
	case LKVFENCE_IOC_JOIN:
		mirror_join(r, c);
		break;
	case LKVFENCE_IOC_PEER:
		mirror_peer(m, r, c);
		break;
	}
	mirror_check_region(r);
}
