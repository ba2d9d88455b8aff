// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Transfers that are released together. */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

static int fail_join(const struct lkvfence *f, int err, const struct lkvfence_join *join)
{
	uint64_t generation = join->generation;
	struct lkvfence_info info;

	switch (err) {
	case -ECANCELED:
		return lkvfence__fail(f, err,
			"join: generation %" PRIu64 " has ended, or another member of group %" PRIu64 " was ended before this one joined: abort it as well, it is released alone",
			generation, (uint64_t)join->group);
	case -EEXIST:
		return lkvfence__fail(f, err, "join: generation %" PRIu64 " is in a group",
				      generation);
	case -EINVAL:
		if (join->flags || join->pad)
			return lkvfence__fail(f, err, "join: flags and pad must be 0");
		return lkvfence__fail(f, err,
			"join: others say that group %" PRIu64 " has another number of members than %" PRIu32,
			(uint64_t)join->group, join->nr_members);
	case -ERANGE:
		if (lkvfence__limits(f, &info))
			return lkvfence__fail(f, err,
				"join: a group has 2 to %" PRIu32 " members, not %" PRIu32,
				info.max_members, join->nr_members);
		return lkvfence__fail(f, err,
			"join: nr_members is beyond the limits that lkvfence_info() tells");
	default:
		return lkvfence__fail_generation(f, err, "join", generation);
	}
}

int lkvfence_join(struct lkvfence *f, uint64_t generation, uint64_t group,
		  uint32_t nr_members)
{
	struct lkvfence_join join = {
		.size = sizeof(join),
		.generation = generation,
		.group = group,
		.nr_members = nr_members,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_JOIN, &join);

	return err ? fail_join(f, err, &join) : 0;
}
