// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Unknown flags, padding that is not 0, values that don't make sense, and
 * counts and times out of bounds, each on its own in a call that is otherwise
 * right: refused, with nothing changed. Members that are "out" may hold anything.
 */
#include "abi.h"

#define S(member)	offsetof(union abi_arg, member), sizeof(((union abi_arg *)0)->member)

static const struct {
	unsigned long cmd;
	const char *what;
	size_t offset;
	size_t width;
	uint64_t value;
	int err;
} bad[] = {
	{ LKVFENCE_IOC_INFO, "flags", S(info.flags), 1, EINVAL },
	{ LKVFENCE_IOC_OPEN, "an unknown flag", S(open.flags), 1U << 3, EINVAL },
	{ LKVFENCE_IOC_OPEN, "the highest flag", S(open.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_OPEN, "EXCLUSIVE alone", S(open.flags),
	  LKVFENCE_OPEN_EXCLUSIVE, EINVAL },
	{ LKVFENCE_IOC_OPEN, "too many slots", S(open.nr_slots), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_STAT, "flags", S(stat.flags), 1, EINVAL },

	{ LKVFENCE_IOC_BEGIN, "flags", S(begin.flags), 1, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "no range", S(begin.nr_ranges), 0, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "too many ranges", S(begin.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "most ranges", S(begin.nr_ranges), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "too many sources", S(begin.nr_sources), 4097, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "most sources", S(begin.nr_sources), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "an unknown policy", S(begin.policy), 3, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a timeout", S(begin.timeout_ns), 1000 * MS, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a reason", S(begin.reason),
	  LKVFENCE_REASON_ABORTED, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a short time to live", S(begin.ttl_ns), 1, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "a long time to live", S(begin.ttl_ns), UINT64_MAX, ERANGE },

	{ LKVFENCE_IOC_HOLD, "flags", S(begin.flags), 1, EINVAL },
	{ LKVFENCE_IOC_HOLD, "no range", S(begin.nr_ranges), 0, EINVAL },
	{ LKVFENCE_IOC_HOLD, "too many ranges", S(begin.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_HOLD, "too many sources", S(begin.nr_sources), 4097, ERANGE },
	{ LKVFENCE_IOC_HOLD, "an unknown policy", S(begin.policy), UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_HOLD, "a time to live", S(begin.ttl_ns), 1000 * MS, EINVAL },
	{ LKVFENCE_IOC_HOLD, "a short timeout", S(begin.timeout_ns), 1, ERANGE },
	{ LKVFENCE_IOC_HOLD, "a long timeout", S(begin.timeout_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_HOLD, "reason FINISHED", S(begin.reason),
	  LKVFENCE_REASON_FINISHED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason EXPIRED", S(begin.reason),
	  LKVFENCE_REASON_EXPIRED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason ORPHANED", S(begin.reason),
	  LKVFENCE_REASON_ORPHANED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "an unknown reason", S(begin.reason), 9, EINVAL },

	{ LKVFENCE_IOC_TAKE, "flags", S(take.flags), 1, EINVAL },
	{ LKVFENCE_IOC_TAKE, "padding", S(take.pad), 1, EINVAL },
	{ LKVFENCE_IOC_TAKE, "generation 0", S(take.generation), 0, ENOENT },
	{ LKVFENCE_IOC_TAKE, "a generation of the future", S(take.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_RETURN, "flags", S(ret.flags), 1, EINVAL },
	{ LKVFENCE_IOC_RETURN, "no item", S(ret.nr_items), 0, EINVAL },
	{ LKVFENCE_IOC_RETURN, "too many items", S(ret.nr_items), 65537, ERANGE },
	{ LKVFENCE_IOC_RETURN, "most items", S(ret.nr_items), UINT32_MAX, ERANGE },

	{ LKVFENCE_IOC_ABORT, "an unknown flag", S(abort.flags), 2, EINVAL },
	{ LKVFENCE_IOC_ABORT, "an unknown policy", S(abort.policy), 3, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason FINISHED", S(abort.reason),
	  LKVFENCE_REASON_FINISHED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason EXPIRED", S(abort.reason),
	  LKVFENCE_REASON_EXPIRED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason ORPHANED", S(abort.reason),
	  LKVFENCE_REASON_ORPHANED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "the highest reason", S(abort.reason), UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_ABORT, "a short timeout", S(abort.timeout_ns), 1, ERANGE },
	{ LKVFENCE_IOC_ABORT, "a long timeout", S(abort.timeout_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_ABORT, "generation 0", S(abort.generation), 0, ENOENT },
	{ LKVFENCE_IOC_ABORT, "a generation of the future", S(abort.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_RELEASE, "an unknown flag", S(release.flags), 2, EINVAL },
	{ LKVFENCE_IOC_RELEASE, "generation 0", S(release.generation), 0, ENOENT },
	{ LKVFENCE_IOC_RELEASE, "a generation of the future",
	  S(release.generation), UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_QUERY, "an unknown way", S(query.by), 4, EINVAL },
	{ LKVFENCE_IOC_QUERY, "too much room for ranges", S(query.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_QUERY, "too much room for leases", S(query.nr_leases), 4097, ERANGE },
	{ LKVFENCE_IOC_QUERY, "generation 0", S(query.generation), 0, ENOENT },
	{ LKVFENCE_IOC_QUERY, "a generation of the future", S(query.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_ADOPT, "flags", S(adopt.flags), 1, EINVAL },
	{ LKVFENCE_IOC_ADOPT, "generation 0", S(adopt.generation), 0, ENOENT },
	{ LKVFENCE_IOC_ADOPT, "a generation of the future", S(adopt.generation),
	  UINT64_MAX, ENOENT },
};

/* Members that are only out. */
static const struct {
	unsigned long cmd;
	size_t offset;
	size_t width;
} out[] = {
	{ LKVFENCE_IOC_INFO, S(info.abi) },
	{ LKVFENCE_IOC_INFO, S(info.features) },
	{ LKVFENCE_IOC_INFO, S(info.version) },
	{ LKVFENCE_IOC_OPEN, S(open.fd) },
	{ LKVFENCE_IOC_OPEN, S(open.created) },
	{ LKVFENCE_IOC_STAT, S(stat.name) },
	{ LKVFENCE_IOC_STAT, S(stat.begun) },
	{ LKVFENCE_IOC_STAT, S(stat.handles) },
	{ LKVFENCE_IOC_BEGIN, S(begin.generation) },
	{ LKVFENCE_IOC_BEGIN, S(begin.busy_generation) },
	{ LKVFENCE_IOC_BEGIN, S(begin.busy_slot) },
	{ LKVFENCE_IOC_BEGIN, S(begin.state) },
	{ LKVFENCE_IOC_HOLD, S(begin.generation) },
	{ LKVFENCE_IOC_HOLD, S(begin.busy_tag) },
	{ LKVFENCE_IOC_RETURN, S(ret.nr_accepted) },
	{ LKVFENCE_IOC_ABORT, S(abort.tag) },
	{ LKVFENCE_IOC_ABORT, S(abort.deadline_ns) },
	{ LKVFENCE_IOC_ABORT, S(abort.state) },
	{ LKVFENCE_IOC_ABORT, S(abort.leases_out) },
	{ LKVFENCE_IOC_ABORT, S(abort.policy_in_force) },
	{ LKVFENCE_IOC_ABORT, S(abort.reason_in_force) },
	{ LKVFENCE_IOC_RELEASE, S(release.outcome) },
	{ LKVFENCE_IOC_RELEASE, S(release.leases_out) },
	{ LKVFENCE_IOC_QUERY, S(query.state) },
	{ LKVFENCE_IOC_QUERY, S(query.flags) },
	{ LKVFENCE_IOC_QUERY, S(query.now_ns) },
	{ LKVFENCE_IOC_QUERY, S(query.comm) },
};

static const struct abi_command *command(unsigned long cmd)
{
	size_t i = 0;

	while (abi_commands[i].cmd != cmd)
		i++;
	return &abi_commands[i];
}

static void refused(struct abi *abi)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct abi_command *cmd = command(bad[i].cmd);
		struct lkvfence_stat before;
		union abi_arg arg, was;

		abi_good(abi, cmd, &arg);
		/* little endian, as all that this runs on */
		memcpy((char *)&arg + bad[i].offset, &bad[i].value, bad[i].width);
		was = arg;
		before = stat_of(abi->f);
		gives(abi_call(abi, cmd, &arg), -bad[i].err, "%s with %s",
		      cmd->name, bad[i].what);
		unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
		check(!memcmp(&arg, &was, cmd->size), "%s: nor has the struct",
		      cmd->name);
	}
}

static void ignored(struct abi *abi)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(out); i++) {
		const struct abi_command *cmd = command(out[i].cmd);
		union abi_arg arg;

		abi_good(abi, cmd, &arg);
		memset((char *)&arg + out[i].offset, 0xff, out[i].width);
		gives(abi_call(abi, cmd, &arg), 0,
		      "%s with anything in its out member at %zu", cmd->name,
		      out[i].offset);
		abi_undo(cmd, &arg);
	}
}

int main(void)
{
	struct abi abi = abi_start("abi-values");

	refused(&abi);
	ignored(&abi);
	return abi_done(&abi);
}
