// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The commands on a region's handle. Each call sets the struct's size, issues
 * the command, and words its errors; nothing is remembered between calls, so
 * threads need no lock and a restarted program misses nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "internal.h"

static bool is_policy(uint32_t policy)
{
	const uint32_t revokes = LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_REVOKE_NOW;

	return (policy & ~revokes) <= LKVFENCE_POLICY_QUARANTINE;
}

/* What callers may give */
static bool is_reason(uint32_t reason)
{
	return reason == LKVFENCE_REASON_DROPPED ||
	       (reason >= LKVFENCE_REASON_ABORTED &&
		reason <= LKVFENCE_REASON_SHUTDOWN);
}

static int fail_range(const struct lkvfence *f, const char *what)
{
	return lkvfence__fail(f, -ERANGE,
		"%s: a slot beyond the region's %" PRIu64 ", a timeout out of bounds, or a count above the limits that lkvfence_info() tells",
		what, f->nr_slots);
}

static int fail_begin_range(const struct lkvfence *f, const char *what,
			    const struct lkvfence_begin *begin)
{
	const struct lkvfence_range *range =
		(const struct lkvfence_range *)(uintptr_t)begin->ranges;
	struct lkvfence_info info;
	uint32_t i;

	if (!lkvfence__limits(f, &info))
		return fail_range(f, what);
	if (lkvfence__fail_count(f, what, "nr_ranges", begin->nr_ranges,
				 info.max_ranges) ||
	    lkvfence__fail_count(f, what, "nr_sources", begin->nr_sources,
				 info.max_leases) ||
	    lkvfence__fail_timeout(f, &info, what, "ttl_ns", begin->ttl_ns) ||
	    lkvfence__fail_timeout(f, &info, what, "timeout_ns", begin->timeout_ns))
		return -ERANGE;

	/*
	 * With counts and times in order only a slot is left: so the module
	 * has read all the ranges, and they may be read here.
	 */
	for (i = 0; i < begin->nr_ranges; i++) {
		if ((uint64_t)range[i].first + range[i].count <= f->nr_slots)
			continue;
		return lkvfence__fail(f, -ERANGE,
			"%s: range %" PRIu32 " (%" PRIu32 " slots from %" PRIu32 ") goes beyond the region's %" PRIu64 " slots",
			what, i, range[i].count, range[i].first, f->nr_slots);
	}
	return fail_range(f, what);
}

static int fail_begin_invalid(const struct lkvfence *f, const char *what,
			      const struct lkvfence_begin *begin, bool hold)
{
	if (begin->flags & ~LKVFENCE_BEGIN_FLAGS)
		return lkvfence__fail(f, -EINVAL,
			"%s: unknown flags 0x%" PRIx32, what,
			begin->flags & ~LKVFENCE_BEGIN_FLAGS);
	if (hold && begin->flags)
		return lkvfence__fail(f, -EINVAL,
			"%s: what is offered is begun, not held: flags must be 0 here",
			what);
	if (!begin->nr_ranges)
		return lkvfence__fail(f, -EINVAL,
			"%s: no slots: nr_ranges must be at least 1", what);
	if (!is_policy(begin->policy))
		return lkvfence__fail(f, -EINVAL,
			"%s: unknown policy %" PRIu32, what, begin->policy);
	if (!hold && (begin->timeout_ns || begin->reason))
		return lkvfence__fail(f, -EINVAL,
			"%s: timeout_ns and reason are for hold and abort: they must be 0 here",
			what);
	if (hold && begin->ttl_ns)
		return lkvfence__fail(f, -EINVAL,
			"%s: ttl_ns is for begin: it must be 0 here", what);
	if (hold && begin->reason && !is_reason(begin->reason))
		return lkvfence__fail(f, -EINVAL,
			"%s: reason %" PRIu32 " (%s) is not for callers to give",
			what, begin->reason,
			lkvfence_reason_name(begin->reason));
	return lkvfence__fail(f, -EINVAL,
		"%s: a slot or a source is named twice, or a range has no slots",
		what);
}

static int fail_full(const struct lkvfence *f, const char *what)
{
	struct lkvfence_info info;

	if (!lkvfence__limits(f, &info))
		info.max_transfers = 0;
	return lkvfence__fail(f, -ENOSPC,
		"%s: the region's transfers, or the unread events of this handle, reach the limit (%" PRIu32 "): read events with lkvfence_events(), release or wait",
		what, info.max_transfers);
}

static int fail_begin(const struct lkvfence *f, int err,
		      const struct lkvfence_begin *begin, bool hold)
{
	const char *what = hold ? "hold" : "begin";

	switch (err) {
	case -EBUSY:
		return lkvfence__fail(f, err,
			"%s: slot %" PRIu32 " is taken by generation %" PRIu64 " of tag %" PRIu64 ": take other slots, or wait until that one is released",
			what, begin->busy_slot,
			(uint64_t)begin->busy_generation,
			(uint64_t)begin->busy_tag);
	case -EEXIST:
		return lkvfence__fail(f, err,
			"%s: tag %" PRIu64 " is in use by generation %" PRIu64 ", which has not ended: end that one first, or take another tag",
			what, (uint64_t)begin->tag,
			(uint64_t)begin->busy_generation);
	case -ENOSPC:
		return fail_full(f, what);
	case -ECANCELED:
		return lkvfence__fail(f, err,
			"%s: tag %" PRIu64 " was aborted before it was offered: do not start its request; the tag can be offered again",
			what, (uint64_t)begin->tag);
	case -ESHUTDOWN:
		return lkvfence__fail(f, err,
			"%s: a source was revoked, or its queue pairs are lost: bind it to new ones with lkvfence_source(), or name another",
			what);
	case -ERANGE:
		return fail_begin_range(f, what, begin);
	case -EINVAL:
		return fail_begin_invalid(f, what, begin, hold);
	default:
		return lkvfence__fail_plain(f, err, what);
	}
}

int lkvfence_begin(struct lkvfence *f, struct lkvfence_begin *begin)
{
	int err;

	begin->size = sizeof(*begin);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_BEGIN, begin);
	return err ? fail_begin(f, err, begin, false) : 0;
}

int lkvfence_hold(struct lkvfence *f, struct lkvfence_begin *begin)
{
	int err;

	begin->size = sizeof(*begin);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_HOLD, begin);
	return err ? fail_begin(f, err, begin, true) : 0;
}

int lkvfence_take(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	struct lkvfence_take take = {
		.size = sizeof(take),
		.generation = generation,
		.source = source,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_TAKE, &take);

	switch (err) {
	case 0:
		return 0;
	case -ECANCELED:
		return lkvfence__fail(f, err,
			"take: generation %" PRIu64 " has ended and gives no more leases: do not launch",
			generation);
	case -EEXIST:
		return lkvfence__fail(f, err,
			"take: source %" PRIu32 " has, or had, a lease of generation %" PRIu64 ": give each launch a source number of its own",
			source, generation);
	case -ENOSPC:
		return lkvfence__fail(f, err,
			"take: generation %" PRIu64 " has as many leases as a transfer may have",
			generation);
	case -ESHUTDOWN:
		return lkvfence__fail(f, err,
			"take: source %" PRIu32 " was revoked, or its queue pairs are lost: bind it to new ones with lkvfence_source()",
			source);
	default:
		return lkvfence__fail_generation(f, err, "take", generation);
	}
}

int lkvfence_return(struct lkvfence *f, struct lkvfence_return_item *items,
		    uint32_t nr)
{
	struct lkvfence_return ret = {
		.size = sizeof(ret),
		.items = (uintptr_t)items,
		.nr_items = nr,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_RETURN, &ret);
	struct lkvfence_info info;

	switch (err) {
	case 0:
		return ret.nr_accepted;
	case -EFAULT:
		return lkvfence__fail(f, err,
			"return: not all of the %" PRIu32 " items can be read and written; those before have taken effect, and the call may be repeated",
			nr);
	case -EINVAL:
		if (!nr)
			return lkvfence__fail(f, err,
				"return: no items: there must be at least 1");
		break;
	case -ERANGE:
		if (lkvfence__limits(f, &info) &&
		    lkvfence__fail_count(f, "return", "nr", nr, info.max_ranges))
			return err;
		return fail_range(f, "return");
	}
	return lkvfence__fail_plain(f, err, "return");
}

static int return_one(struct lkvfence *f, const char *what,
		      struct lkvfence_return_item *item)
{
	int err = lkvfence_return(f, item, 1);

	if (err < 0)
		return err;

	switch (item->result) {
	case 0:
		return 0;
	case -ENOENT:
		return lkvfence__fail(f, item->result,
			"%s: generation %" PRIu64 " was never issued in this region, or source %" PRIu32 " never had a lease of it",
			what, (uint64_t)item->generation, item->source);
	case -EALREADY:
		return lkvfence__fail(f, item->result,
			"%s: source %" PRIu32 " gave its lease of generation %" PRIu64 " back before: nothing changed",
			what, item->source, (uint64_t)item->generation);
	case -EINVAL:
		return lkvfence__fail(f, item->result,
			"%s: evidence %u (%s) is not one that a program can give here",
			what, item->evidence,
			lkvfence_evidence_name(item->evidence));
	case -EOPNOTSUPP:
		return lkvfence__fail_evidence(f, what, item->evidence);
	default:
		return lkvfence__fail_generation(f, item->result, what,
						 item->generation);
	}
}

int lkvfence_drained(struct lkvfence *f, uint64_t generation, uint32_t source,
		     enum lkvfence_evidence evidence)
{
	struct lkvfence_return_item item = {
		.generation = generation,
		.source = source,
		.status = LKVFENCE_STATUS_DRAINED,
		.evidence = evidence,
	};

	return return_one(f, "drained", &item);
}

int lkvfence_revoked(struct lkvfence *f, uint64_t generation, uint32_t source,
		     enum lkvfence_evidence evidence)
{
	struct lkvfence_return_item item = {
		.generation = generation,
		.source = source,
		.status = LKVFENCE_STATUS_REVOKED,
		.evidence = evidence,
	};

	return return_one(f, "revoked", &item);
}

int lkvfence_failed(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	struct lkvfence_return_item item = {
		.generation = generation,
		.source = source,
		.status = LKVFENCE_STATUS_FAILED,
		.evidence = LKVFENCE_EVIDENCE_NONE,
	};

	return return_one(f, "failed", &item);
}

static int fail_tag(const struct lkvfence *f, int err, const char *what,
		    uint64_t tag)
{
	if (err != -ENOENT)
		return lkvfence__fail_plain(f, err, what);
	return lkvfence__fail(f, err,
		"%s: there is no transfer of tag %" PRIu64 " that has not ended; ended ones are found by their generation",
		what, tag);
}

static int fail_abort(const struct lkvfence *f, int err,
		      const struct lkvfence_abort *abort)
{
	struct lkvfence_info info;

	switch (err) {
	case -ERANGE:
		if (lkvfence__limits(f, &info) &&
		    lkvfence__fail_timeout(f, &info, "abort", "timeout_ns",
					   abort->timeout_ns))
			return err;
		return fail_range(f, "abort");
	case -EINVAL:
		if (abort->flags & ~LKVFENCE_ABORT_FLAGS)
			return lkvfence__fail(f, err,
				"abort: unknown flags 0x%" PRIx32,
				abort->flags & ~LKVFENCE_ABORT_FLAGS);
		if (!is_policy(abort->policy))
			return lkvfence__fail(f, err,
				"abort: unknown policy %" PRIu32,
				abort->policy);
		if (abort->reason && !is_reason(abort->reason))
			return lkvfence__fail(f, err,
				"abort: reason %" PRIu32 " (%s) is not for callers to give",
				abort->reason,
				lkvfence_reason_name(abort->reason));
		return lkvfence__fail(f, err,
			"abort: EARLY goes with BY_TAG, and ALL alone");
	}
	if (abort->flags & LKVFENCE_ABORT_BY_TAG)
		return fail_tag(f, err, "abort", abort->tag);
	return lkvfence__fail_generation(f, err, "abort", abort->generation);
}

int lkvfence_abort(struct lkvfence *f, struct lkvfence_abort *abort)
{
	int err;

	abort->size = sizeof(*abort);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_ABORT, abort);
	return err ? fail_abort(f, err, abort) : 0;
}

int lkvfence_abort_generation(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_abort abort = { .generation = generation };

	return lkvfence_abort(f, &abort);
}

int lkvfence_abort_tag(struct lkvfence *f, uint64_t tag)
{
	struct lkvfence_abort abort = {
		.flags = LKVFENCE_ABORT_BY_TAG,
		.tag = tag,
	};

	return lkvfence_abort(f, &abort);
}

int lkvfence_release(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_release release = {
		.size = sizeof(release),
		.generation = generation,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_RELEASE, &release);

	if (!err)
		return 0;
	if (err == -EBUSY)
		return lkvfence__fail(f, err,
			"release: generation %" PRIu64 " still has %" PRIu32 " lease%s without proof: give them back with lkvfence_drained(), or lkvfence_abort() it and wait for the released event",
			generation, release.leases_out,
			release.leases_out == 1 ? "" : "s");
	return lkvfence__fail_generation(f, err, "release", generation);
}

int lkvfence_force_release(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_release release = {
		.size = sizeof(release),
		.flags = LKVFENCE_RELEASE_FORCE,
		.generation = generation,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_RELEASE, &release);

	switch (err) {
	case 0:
		return 0;
	case -EPERM:
		return lkvfence__fail(f, err,
			"force_release: only an administrator (CAP_SYS_ADMIN) may let go of generation %" PRIu64 " without proof",
			generation);
	case -EBUSY:
		return lkvfence__fail(f, err,
			"force_release: generation %" PRIu64 " is not in quarantine: it has not reached its deadline, or its policy is taint",
			generation);
	default:
		return lkvfence__fail_generation(f, err, "force_release",
						 generation);
	}
}

static int fail_query(const struct lkvfence *f, int err,
		      const struct lkvfence_query *query)
{
	struct lkvfence_info info;

	switch (err) {
	case -ERANGE:
		if (lkvfence__limits(f, &info) &&
		    (lkvfence__fail_count(f, "query", "nr_ranges",
					  query->nr_ranges, info.max_ranges) ||
		     lkvfence__fail_count(f, "query", "nr_leases",
					  query->nr_leases, info.max_leases)))
			return err;
		if (query->by != LKVFENCE_QUERY_SLOT)
			return fail_range(f, "query");
		return lkvfence__fail(f, err,
			"query: slot %" PRIu32 " is beyond the region's %" PRIu64 " slots",
			query->slot, f->nr_slots);
	case -EINVAL:
		if (query->by <= LKVFENCE_QUERY_NEXT)
			break;
		return lkvfence__fail(f, err,
			"query: unknown way %" PRIu32 " to find a transfer",
			query->by);
	case -ENOENT:
		switch (query->by) {
		case LKVFENCE_QUERY_SLOT:
			return lkvfence__fail(f, err,
				"query: slot %" PRIu32 " is free", query->slot);
		case LKVFENCE_QUERY_NEXT:
			return lkvfence__fail(f, err,
				"query: there is no unreleased transfer above generation %" PRIu64,
				(uint64_t)query->generation);
		case LKVFENCE_QUERY_TAG:
			return fail_tag(f, err, "query", query->tag);
		}
		break;
	}
	return lkvfence__fail_generation(f, err, "query", query->generation);
}

int lkvfence_query(struct lkvfence *f, struct lkvfence_query *query)
{
	int err;

	query->size = sizeof(*query);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_QUERY, query);
	return err ? fail_query(f, err, query) : 0;
}

int lkvfence_adopt(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_adopt adopt = {
		.size = sizeof(adopt),
		.generation = generation,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_ADOPT, &adopt);

	switch (err) {
	case 0:
		return 0;
	case -EBUSY:
		return lkvfence__fail(f, err,
			"adopt: generation %" PRIu64 " has an owner: it can be adopted once that handle is closed",
			generation);
	case -EALREADY:
		return lkvfence__fail(f, err,
			"adopt: this handle owns generation %" PRIu64 " already",
			generation);
	case -ENOSPC:
		return fail_full(f, "adopt");
	default:
		return lkvfence__fail_generation(f, err, "adopt", generation);
	}
}
