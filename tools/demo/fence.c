// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * How an engine uses liblkvfence: one call where it hands out slots, one where
 * a transfer's KV has arrived, one where a request is complete, one where a
 * client hangs up, one for each answer of a prefill, and a descriptor in its
 * event loop. Slots go back to its free list in two places only: when
 * fence_finish() returned, and when fence_event() tells a release.
 *
 * A source, in lkvfence's words, is here a prefill rank, and has its number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "demo.h"

struct fence {
	struct lkvfence *f;
	uint64_t timeout_min_ns, timeout_max_ns;
};

struct fence *fence_open(const void *pool, const struct options *opt)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE,
		.slot_size = opt->slot_size,
		.base = (uintptr_t)pool,
		.nr_slots = opt->nr_slots,
		.mode = 0600,
	};
	struct fence *fence = calloc(1, sizeof(*fence));
	struct lkvfence_info info;

	if (!fence)
		die("no memory");
	if (lkvfence_info(&info))
		die("%s", lkvfence_errmsg());
	fence->timeout_min_ns = info.timeout_min_ns;
	fence->timeout_max_ns = info.timeout_max_ns;
	snprintf(open.name, sizeof(open.name), "demo.%d", getpid());
	if (lkvfence_open(&fence->f, &open))
		die("%s", lkvfence_errmsg());
	return fence;
}

int fence_fd(const struct fence *fence)
{
	return lkvfence_fd(fence->f);
}

/*
 * Slots are handed out. The rank will be told their addresses, so it has a
 * lease from the beginning: there must be no moment at which it could write
 * and the module doesn't know. The generation goes to the rank with them.
 */
uint64_t fence_admit(struct fence *fence, uint32_t request, const struct lkvfence_range *ranges,
		     uint32_t nr_ranges, uint32_t rank)
{
	struct lkvfence_begin begin = {
		.tag = request,
		.ranges = (uintptr_t)ranges,
		.nr_ranges = nr_ranges,
		.sources = (uintptr_t)&rank,
		.nr_sources = 1,
	};

	/* EBUSY would say that our own free list handed out what is still held. */
	if (lkvfence_begin(fence->f, &begin))
		die("request %u: %s", request, lkvfence_errmsg());
	return begin.generation;
}

/* The rank saw all its writes complete: it touches the slots no more. */
void fence_arrived(struct fence *fence, uint64_t generation, uint32_t rank)
{
	if (lkvfence_drained(fence->f, generation, rank, LKVFENCE_EVIDENCE_SUCCESS_CQE))
		die("%s", lkvfence_errmsg());
}

/* The answer is complete. On return the slots are ours again; no event follows. */
void fence_finish(struct fence *fence, uint64_t generation)
{
	if (lkvfence_release(fence->f, generation))
		die("%s", lkvfence_errmsg());
}

/*
 * The client hung up. An engine knows its own request number at this point,
 * so that is what it says. From here on the slots are held, until the rank
 * proves that it is quiet or until the deadline; which of them it was, and
 * when, is told by an event. Nobody waits for it here.
 *
 * With policy TAINT the slots come back at the deadline also without proof.
 * That is safe as long as the deadline is longer than a write can be late; an
 * engine that can't promise that takes LKVFENCE_POLICY_QUARANTINE.
 */
void fence_hang_up(struct fence *fence, uint32_t request, uint64_t hold_ns)
{
	struct lkvfence_abort abort = {
		.flags = LKVFENCE_ABORT_BY_TAG,
		.tag = request,
		.timeout_ns = hold_ns,
		.policy = LKVFENCE_POLICY_TAINT,
		.reason = LKVFENCE_REASON_ABORTED,
	};

	if (abort.timeout_ns < fence->timeout_min_ns)
		abort.timeout_ns = fence->timeout_min_ns;
	if (abort.timeout_ns > fence->timeout_max_ns)
		abort.timeout_ns = fence->timeout_max_ns;
	if (lkvfence_abort(fence->f, &abort))
		die("request %u: %s", request, lkvfence_errmsg());
}

/*
 * A prefill's answer. It names its generation, so an answer that comes late,
 * or a second time, can't be taken for that of the slots' next owner: the
 * module refuses it, and the engine need not keep a table of its own. Returns
 * false if it was refused so.
 */
bool fence_ack(struct fence *fence, uint64_t generation, uint32_t rank, uint32_t status)
{
	int error;

	if (status == LKVFENCE_STATUS_DRAINED)
		error = lkvfence_drained(fence->f, generation, rank,
					 LKVFENCE_EVIDENCE_SUCCESS_CQE);
	else
		error = lkvfence_failed(fence->f, generation, rank);
	if (error && error != -ESTALE && error != -EALREADY)
		die("%s", lkvfence_errmsg());
	return !error;
}

/* The next event, if there is one. */
bool fence_event(struct fence *fence, struct lkvfence_event *event)
{
	int nr = lkvfence_events(fence->f, event, 1, 0);

	if (nr < 0 && nr != -EINTR)
		die("%s", lkvfence_errmsg());
	return nr == 1;
}

/* The books of the region go to @stat; then it ends with its last handle. */
void fence_close(struct fence *fence, struct lkvfence_stat *stat)
{
	if (lkvfence_stat(fence->f, stat))
		die("%s", lkvfence_errmsg());
	lkvfence_close(fence->f);
	free(fence);
}
