// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A payload's checksum from one end to the other. The order of the bytes is
 * that of the ranges as they are given, never of memory: so two ends with other
 * slots for the same payload agree.
 */
#include <errno.h>
#include <inttypes.h>

#include "watch.h"

/* How many slots, or -errno */
static int64_t check(const struct lkvfence_watch *w, const char *what,
		     const struct lkvfence_range *ranges, uint32_t nr_ranges,
		     uint64_t bytes)
{
	uint64_t slots = 0, most = 0, per_slot = 0;
	uint32_t i;
	int err;

	for (i = 0; i < nr_ranges; i++) {
		err = watch__check_range(w, &ranges[i]);
		if (err)
			return err;
		slots += ranges[i].count;
	}
	if (!slots)
		return watch__fail(w, -EINVAL, "%s: no slots: there must be at least 1", what);
	for (i = 0; i < w->nr_pools; i++)
		per_slot += w->pools[i].bytes;
	if (!__builtin_mul_overflow(slots, per_slot, &most) && bytes > most)
		return watch__fail(w, -ERANGE,
			"%s: %" PRIu64 " bytes are more than the %" PRIu64 " that the slots have",
			what, bytes, most);
	return (int64_t)slots;
}

static uint64_t add_up(const struct lkvfence_watch *w, const struct lkvfence_range *ranges,
		       uint32_t nr_ranges, uint64_t bytes)
{
	uint64_t crc = 0, left = bytes ? bytes : UINT64_MAX;
	uint32_t i, slot;

	for (i = 0; i < nr_ranges; i++)
		for (slot = 0; slot < ranges[i].count && left; slot++)
			crc = watch__sum_slot(w, ranges[i].first + slot, crc, &left);
	return crc;
}

int lkvfence_watch_sum(struct lkvfence_watch *w, const struct lkvfence_range *ranges,
		       uint32_t nr_ranges, uint64_t bytes, uint64_t *sum)
{
	int64_t slots = check(w, "sum", ranges, nr_ranges, bytes);

	if (slots < 0)
		return (int)slots;
	*sum = add_up(w, ranges, nr_ranges, bytes);
	return 0;
}

int lkvfence_watch_verify(struct lkvfence_watch *w, uint64_t generation,
			  const struct lkvfence_range *ranges, uint32_t nr_ranges,
			  uint64_t bytes, uint64_t sum)
{
	int64_t slots = check(w, "verify", ranges, nr_ranges, bytes);
	uint64_t here;

	if (slots < 0)
		return (int)slots;
	here = add_up(w, ranges, nr_ranges, bytes);
	watch__count(w, &w->stat.verified, 1);
	if (here == sum)
		return 0;

	watch__count(w, &w->stat.mismatches, 1);
	/* A module that can't count it doesn't make the payload any better. */
	if (w->f)
		watch__report(w, generation, LKVFENCE_REPORT_MISMATCH,
			      slots > UINT32_MAX ? UINT32_MAX : (uint32_t)slots);
	return watch__fail(w, -EBADMSG,
		"verify: the payload of generation %" PRIu64 " (%" PRId64 " slots) has the checksum %016" PRIx64 " and was sent with %016" PRIx64 ": do not use it; fail the request and abort the transfer",
		generation, slots, here, sum);
}
