// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The producer's side: transfers that are offered, what becomes of them, and who
 * asks for their data.
 */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

int lkvfence_offer(struct lkvfence *f, struct lkvfence_begin *begin)
{
	begin->flags |= LKVFENCE_BEGIN_OFFER;
	return lkvfence_begin(f, begin);
}

/*
 * READY
 */

static int fail_ready(const struct lkvfence *f, int err,
		      const struct lkvfence_ready *ready)
{
	uint64_t generation = ready->generation;
	struct lkvfence_info info;

	switch (err) {
	case -ECANCELED:
		return lkvfence__fail(f, err,
			"ready: generation %" PRIu64 " has ended, and whoever asked for it was told: there is nothing left to do but to wait for the released event",
			generation);
	case -EINVAL:
		if (ready->flags || ready->pad)
			return lkvfence__fail(f, err,
				"ready: flags and pad must be 0");
		return lkvfence__fail(f, err,
			"ready: generation %" PRIu64 " was not begun with lkvfence_offer(), or is ready for another number of consumers than %" PRIu32,
			generation, ready->consumers);
	case -ERANGE:
		if (lkvfence__limits(f, &info) &&
		    (lkvfence__fail_timeout(f, &info, "ready", "ttl_ns",
					    ready->ttl_ns) ||
		     lkvfence__fail_count(f, "ready", "consumers",
					  ready->consumers, info.max_leases)))
			return err;
		return lkvfence__fail(f, err,
			"ready: ttl_ns or consumers is beyond the limits that lkvfence_info() tells");
	default:
		return lkvfence__fail_generation(f, err, "ready", generation);
	}
}

int lkvfence_ready(struct lkvfence *f, struct lkvfence_ready *ready)
{
	int err;

	ready->size = sizeof(*ready);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_READY, ready);
	return err ? fail_ready(f, err, ready) : 0;
}

/*
 * PULL, WITHDRAW
 */

static int fail_pull(const struct lkvfence *f, int err,
		     const struct lkvfence_pull *pull)
{
	struct lkvfence_info info;

	switch (err) {
	case -ENOSPC:
		if (!lkvfence__limits(f, &info))
			info.max_pulls = info.max_transfers = 0;
		return lkvfence__fail(f, err,
			"pull: the region's waiting pulls reach the limit (%" PRIu32 ", parameter max_pulls of module lkvfence), or the unread events of this handle theirs (%" PRIu32 "): read events with lkvfence_events(), withdraw what nobody wants, or try again later",
			info.max_pulls, info.max_transfers);
	case -ERANGE:
		if (lkvfence__limits(f, &info) &&
		    (lkvfence__fail_timeout(f, &info, "pull", "timeout_ns",
					    pull->timeout_ns) ||
		     lkvfence__fail_timeout(f, &info, "pull", "unclaimed_ns",
					    pull->unclaimed_ns)))
			return err;
		return lkvfence__fail(f, err,
			"pull: timeout_ns or unclaimed_ns is beyond the limits that lkvfence_info() tells");
	case -EINVAL:
		if (pull->flags & ~LKVFENCE_PULL_FLAGS)
			return lkvfence__fail(f, err,
				"pull: unknown flags 0x%" PRIx32,
				pull->flags & ~LKVFENCE_PULL_FLAGS);
		if (pull->pad || !(pull->flags & LKVFENCE_PULL_EXACT))
			break;
		return lkvfence__fail(f, err,
			"pull: generation %" PRIu64 " is not offered: its owner begins what is to be pulled with lkvfence_offer()",
			(uint64_t)pull->generation);
	}
	return lkvfence__fail_generation(f, err, "pull", pull->generation);
}

int lkvfence_pull(struct lkvfence *f, struct lkvfence_pull *pull)
{
	int err;

	pull->size = sizeof(*pull);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_PULL, pull);
	return err ? fail_pull(f, err, pull) : 0;
}

int lkvfence_withdraw(struct lkvfence *f, uint64_t ticket)
{
	struct lkvfence_withdraw withdraw = {
		.size = sizeof(withdraw),
		.ticket = ticket,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_WITHDRAW, &withdraw);

	if (!err)
		return 0;
	if (err == -ENOENT)
		return lkvfence__fail(f, err,
			"withdraw: no ticket %" PRIu64 " of this handle waits: where there was one, its answer is among the events, and may be a lease to give back",
			ticket);
	return lkvfence__fail_plain(f, err, "withdraw");
}

/*
 * ABORT, as the two sides say it
 */

int lkvfence_drop(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_abort abort = {
		.generation = generation,
		.reason = LKVFENCE_REASON_DROPPED,
	};

	return lkvfence_abort(f, &abort);
}

int lkvfence_abort_early(struct lkvfence *f, uint64_t tag, uint64_t after)
{
	struct lkvfence_abort abort = {
		.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY,
		.tag = tag,
		.generation = after,
	};

	return lkvfence_abort(f, &abort);
}

int lkvfence_abort_all(struct lkvfence *f, enum lkvfence_reason reason)
{
	struct lkvfence_abort abort = {
		.flags = LKVFENCE_ABORT_ALL,
		.reason = reason,
	};

	return lkvfence_abort(f, &abort);
}
