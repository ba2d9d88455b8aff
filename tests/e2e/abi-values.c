// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Unknown flags, padding that is not 0, values that don't make sense, and
 * counts and times out of bounds, each on its own in a call that is otherwise
 * right: refused, with nothing changed. Members that are "out" may hold anything.
 */
#include "abi.h"

static const struct {
	unsigned long cmd;
	const char *what;
	struct abi_place at;
	uint64_t value;
	int err;
} bad[] = {
	{ LKVFENCE_IOC_INFO, "flags", ABI_PLACE(info.flags), 1, EINVAL },
	{ LKVFENCE_IOC_OPEN, "an unknown flag", ABI_PLACE(open.flags), 1U << 3, EINVAL },
	{ LKVFENCE_IOC_OPEN, "the highest flag", ABI_PLACE(open.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_OPEN, "EXCLUSIVE alone", ABI_PLACE(open.flags),
	  LKVFENCE_OPEN_EXCLUSIVE, EINVAL },
	{ LKVFENCE_IOC_OPEN, "padding", ABI_PLACE(open.pad), 1, EINVAL },
	{ LKVFENCE_IOC_STAT, "flags", ABI_PLACE(stat.flags), 1, EINVAL },

	{ LKVFENCE_IOC_BEGIN, "flags", ABI_PLACE(begin.flags), 2, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "the highest flag", ABI_PLACE(begin.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "no range", ABI_PLACE(begin.nr_ranges), 0, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "too many ranges", ABI_PLACE(begin.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "most ranges", ABI_PLACE(begin.nr_ranges), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "too many sources", ABI_PLACE(begin.nr_sources), 4097, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "most sources", ABI_PLACE(begin.nr_sources), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "an unknown policy", ABI_PLACE(begin.policy), 3, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a policy between the two kinds", ABI_PLACE(begin.policy),
	  1 << 7, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a policy above both", ABI_PLACE(begin.policy), 1 << 10, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "REVOKE beside an unknown policy", ABI_PLACE(begin.policy),
	  LKVFENCE_POLICY_REVOKE | 3, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a timeout", ABI_PLACE(begin.timeout_ns), 1000 * MS, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a reason", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_ABORTED, EINVAL },
	{ LKVFENCE_IOC_BEGIN, "a short time to live", ABI_PLACE(begin.ttl_ns), 1, ERANGE },
	{ LKVFENCE_IOC_BEGIN, "a long time to live", ABI_PLACE(begin.ttl_ns), UINT64_MAX, ERANGE },

	{ LKVFENCE_IOC_HOLD, "OFFER", ABI_PLACE(begin.flags), LKVFENCE_BEGIN_OFFER, EINVAL },
	{ LKVFENCE_IOC_HOLD, "an unknown flag", ABI_PLACE(begin.flags), 2, EINVAL },
	{ LKVFENCE_IOC_HOLD, "no range", ABI_PLACE(begin.nr_ranges), 0, EINVAL },
	{ LKVFENCE_IOC_HOLD, "too many ranges", ABI_PLACE(begin.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_HOLD, "too many sources", ABI_PLACE(begin.nr_sources), 4097, ERANGE },
	{ LKVFENCE_IOC_HOLD, "an unknown policy", ABI_PLACE(begin.policy), UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_HOLD, "a time to live", ABI_PLACE(begin.ttl_ns), 1000 * MS, EINVAL },
	{ LKVFENCE_IOC_HOLD, "a short timeout", ABI_PLACE(begin.timeout_ns), 1, ERANGE },
	{ LKVFENCE_IOC_HOLD, "a long timeout", ABI_PLACE(begin.timeout_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_HOLD, "reason FINISHED", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_FINISHED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason EXPIRED", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_EXPIRED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason ORPHANED", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_ORPHANED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason REVOKED", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_REVOKED, EINVAL },
	{ LKVFENCE_IOC_HOLD, "reason UNKNOWN", ABI_PLACE(begin.reason),
	  LKVFENCE_REASON_UNKNOWN, EINVAL },
	{ LKVFENCE_IOC_HOLD, "a reason that isn't", ABI_PLACE(begin.reason), 15, EINVAL },
	{ LKVFENCE_IOC_HOLD, "REVOKE_NOW beside an unknown policy", ABI_PLACE(begin.policy),
	  LKVFENCE_POLICY_REVOKE_NOW | 3, EINVAL },

	{ LKVFENCE_IOC_TAKE, "flags", ABI_PLACE(take.flags), 1, EINVAL },
	{ LKVFENCE_IOC_TAKE, "padding", ABI_PLACE(take.pad), 1, EINVAL },
	{ LKVFENCE_IOC_TAKE, "generation 0", ABI_PLACE(take.generation), 0, ENOENT },
	{ LKVFENCE_IOC_TAKE, "a generation of the future", ABI_PLACE(take.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_RETURN, "flags", ABI_PLACE(ret.flags), 1, EINVAL },
	{ LKVFENCE_IOC_RETURN, "no item", ABI_PLACE(ret.nr_items), 0, EINVAL },
	{ LKVFENCE_IOC_RETURN, "too many items", ABI_PLACE(ret.nr_items), 65537, ERANGE },
	{ LKVFENCE_IOC_RETURN, "most items", ABI_PLACE(ret.nr_items), UINT32_MAX, ERANGE },

	{ LKVFENCE_IOC_ABORT, "an unknown flag", ABI_PLACE(abort.flags), 8, EINVAL },
	{ LKVFENCE_IOC_ABORT, "the highest flag", ABI_PLACE(abort.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_ABORT, "EARLY without BY_TAG", ABI_PLACE(abort.flags),
	  LKVFENCE_ABORT_EARLY, EINVAL },
	{ LKVFENCE_IOC_ABORT, "ALL and BY_TAG", ABI_PLACE(abort.flags),
	  LKVFENCE_ABORT_ALL | LKVFENCE_ABORT_BY_TAG, EINVAL },
	{ LKVFENCE_IOC_ABORT, "ALL and EARLY", ABI_PLACE(abort.flags),
	  LKVFENCE_ABORT_ALL | LKVFENCE_ABORT_EARLY, EINVAL },
	{ LKVFENCE_IOC_ABORT, "an unknown policy", ABI_PLACE(abort.policy), 3, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason FINISHED", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_FINISHED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason EXPIRED", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_EXPIRED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason ORPHANED", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_ORPHANED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason REVOKED", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_REVOKED, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason UNKNOWN", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_UNKNOWN, EINVAL },
	{ LKVFENCE_IOC_ABORT, "reason SOURCE", ABI_PLACE(abort.reason),
	  LKVFENCE_REASON_SOURCE, EINVAL },
	{ LKVFENCE_IOC_ABORT, "a policy above all", ABI_PLACE(abort.policy), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_ABORT, "the highest reason", ABI_PLACE(abort.reason), UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_ABORT, "a short timeout", ABI_PLACE(abort.timeout_ns), 1, ERANGE },
	{ LKVFENCE_IOC_ABORT, "a long timeout", ABI_PLACE(abort.timeout_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_ABORT, "generation 0", ABI_PLACE(abort.generation), 0, ENOENT },
	{ LKVFENCE_IOC_ABORT, "a generation of the future", ABI_PLACE(abort.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_RELEASE, "an unknown flag", ABI_PLACE(release.flags), 2, EINVAL },
	{ LKVFENCE_IOC_RELEASE, "generation 0", ABI_PLACE(release.generation), 0, ENOENT },
	{ LKVFENCE_IOC_RELEASE, "a generation of the future",
	  ABI_PLACE(release.generation), UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_QUERY, "an unknown way", ABI_PLACE(query.by), 4, EINVAL },
	{ LKVFENCE_IOC_QUERY, "too much room for ranges",
	  ABI_PLACE(query.nr_ranges), 65537, ERANGE },
	{ LKVFENCE_IOC_QUERY, "too much room for leases",
	  ABI_PLACE(query.nr_leases), 4097, ERANGE },
	{ LKVFENCE_IOC_QUERY, "generation 0", ABI_PLACE(query.generation), 0, ENOENT },
	{ LKVFENCE_IOC_QUERY, "a generation of the future", ABI_PLACE(query.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_ADOPT, "flags", ABI_PLACE(adopt.flags), 1, EINVAL },
	{ LKVFENCE_IOC_ADOPT, "generation 0", ABI_PLACE(adopt.generation), 0, ENOENT },
	{ LKVFENCE_IOC_ADOPT, "a generation of the future", ABI_PLACE(adopt.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_SOURCE, "an unknown flag", ABI_PLACE(source.flags), 2, EINVAL },
	{ LKVFENCE_IOC_SOURCE, "the highest flag", ABI_PLACE(source.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_SOURCE, "QPs that it unbinds", ABI_PLACE(source.flags),
	  LKVFENCE_SOURCE_UNBIND, EINVAL },

	{ LKVFENCE_IOC_QUIET, "flags", ABI_PLACE(quiet.flags), 1, EINVAL },
	{ LKVFENCE_IOC_QUIET, "no evidence", ABI_PLACE(quiet.evidence),
	  LKVFENCE_EVIDENCE_NONE, EINVAL },
	{ LKVFENCE_IOC_QUIET, "the kernel's evidence", ABI_PLACE(quiet.evidence),
	  LKVFENCE_EVIDENCE_QP_ERR_SETTLED, EINVAL },
	{ LKVFENCE_IOC_QUIET, "a drain", ABI_PLACE(quiet.evidence),
	  LKVFENCE_EVIDENCE_SUCCESS_CQE, EINVAL },
	{ LKVFENCE_IOC_QUIET, "a window", ABI_PLACE(quiet.evidence),
	  LKVFENCE_EVIDENCE_MW_INVALIDATED, EINVAL },
	{ LKVFENCE_IOC_QUIET, "unknown evidence", ABI_PLACE(quiet.evidence),
	  LKVFENCE_NR_EVIDENCE, EINVAL },
	{ LKVFENCE_IOC_QUIET, "the highest evidence", ABI_PLACE(quiet.evidence),
	  UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_QUIET, "binding 0", ABI_PLACE(quiet.binding), 0, ENOENT },
	{ LKVFENCE_IOC_QUIET, "the highest binding", ABI_PLACE(quiet.binding),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_REPORT, "flags", ABI_PLACE(report.flags), 1, EINVAL },
	{ LKVFENCE_IOC_REPORT, "kind 0", ABI_PLACE(report.kind), 0, EINVAL },
	{ LKVFENCE_IOC_REPORT, "an unknown kind", ABI_PLACE(report.kind), 4, EINVAL },
	{ LKVFENCE_IOC_REPORT, "the highest kind", ABI_PLACE(report.kind), UINT32_MAX, EINVAL },
	{ LKVFENCE_IOC_REPORT, "no slots", ABI_PLACE(report.nr_slots), 0, EINVAL },
	{ LKVFENCE_IOC_REPORT, "generation 0", ABI_PLACE(report.generation), 0, ENOENT },
	{ LKVFENCE_IOC_REPORT, "a generation of the future",
	  ABI_PLACE(report.generation), UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_QUERY_SOURCE, "an unknown flag", ABI_PLACE(query_source.flags), 2, EINVAL },
	{ LKVFENCE_IOC_QUERY_SOURCE, "too much room", ABI_PLACE(query_source.nr_qps), 65, ERANGE },
	{ LKVFENCE_IOC_QUERY_SOURCE, "most room", ABI_PLACE(query_source.nr_qps),
	  UINT32_MAX, ERANGE },

	{ LKVFENCE_IOC_READY, "flags", ABI_PLACE(ready.flags), 1, EINVAL },
	{ LKVFENCE_IOC_READY, "padding", ABI_PLACE(ready.pad), 1, EINVAL },
	{ LKVFENCE_IOC_READY, "a short time to live", ABI_PLACE(ready.ttl_ns), 1, ERANGE },
	{ LKVFENCE_IOC_READY, "a long time to live", ABI_PLACE(ready.ttl_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_READY, "too many consumers", ABI_PLACE(ready.consumers), 4097, ERANGE },
	{ LKVFENCE_IOC_READY, "most consumers", ABI_PLACE(ready.consumers), UINT32_MAX, ERANGE },
	{ LKVFENCE_IOC_READY, "generation 0", ABI_PLACE(ready.generation), 0, ENOENT },
	{ LKVFENCE_IOC_READY, "a generation of the future", ABI_PLACE(ready.generation),
	  UINT64_MAX, ENOENT },

	{ LKVFENCE_IOC_PULL, "an unknown flag", ABI_PLACE(pull.flags), 2, EINVAL },
	{ LKVFENCE_IOC_PULL, "the highest flag", ABI_PLACE(pull.flags), 1U << 31, EINVAL },
	{ LKVFENCE_IOC_PULL, "padding", ABI_PLACE(pull.pad), 1, EINVAL },
	{ LKVFENCE_IOC_PULL, "a short timeout", ABI_PLACE(pull.timeout_ns), 1, ERANGE },
	{ LKVFENCE_IOC_PULL, "a long timeout", ABI_PLACE(pull.timeout_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_PULL, "a short wait", ABI_PLACE(pull.unclaimed_ns), 1, ERANGE },
	{ LKVFENCE_IOC_PULL, "a long wait", ABI_PLACE(pull.unclaimed_ns), UINT64_MAX, ERANGE },
	{ LKVFENCE_IOC_PULL, "EXACT generation 0", ABI_PLACE(pull.flags),
	  LKVFENCE_PULL_EXACT, ENOENT },

	{ LKVFENCE_IOC_WITHDRAW, "flags", ABI_PLACE(withdraw.flags), 1, EINVAL },
	{ LKVFENCE_IOC_WITHDRAW, "ticket 0", ABI_PLACE(withdraw.ticket), 0, ENOENT },
	{ LKVFENCE_IOC_WITHDRAW, "a ticket of the future", ABI_PLACE(withdraw.ticket),
	  UINT64_MAX, ENOENT },
};

/* The same for SOURCE, where it binds: on other kernels it looks no further. */
static const struct {
	const char *what;
	struct abi_place at;
	uint64_t value;
	int err;
} bad_binding[] = {
	{ "no QPs", ABI_PLACE(source.nr_qps), 0, EINVAL },
	{ "too many QPs", ABI_PLACE(source.nr_qps), 65, ERANGE },
	{ "most QPs", ABI_PLACE(source.nr_qps), UINT32_MAX, ERANGE },
};

/* Members that are only out. */
static const struct {
	unsigned long cmd;
	struct abi_place at;
} out[] = {
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.abi) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.features) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.version) },
	{ LKVFENCE_IOC_OPEN, ABI_PLACE(open.fd) },
	{ LKVFENCE_IOC_OPEN, ABI_PLACE(open.created) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.name) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.begun) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.handles) },
	{ LKVFENCE_IOC_BEGIN, ABI_PLACE(begin.generation) },
	{ LKVFENCE_IOC_BEGIN, ABI_PLACE(begin.busy_generation) },
	{ LKVFENCE_IOC_BEGIN, ABI_PLACE(begin.busy_slot) },
	{ LKVFENCE_IOC_BEGIN, ABI_PLACE(begin.state) },
	{ LKVFENCE_IOC_HOLD, ABI_PLACE(begin.generation) },
	{ LKVFENCE_IOC_HOLD, ABI_PLACE(begin.busy_tag) },
	{ LKVFENCE_IOC_RETURN, ABI_PLACE(ret.nr_accepted) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.tag) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.deadline_ns) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.state) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.leases_out) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.policy_in_force) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.reason_in_force) },
	{ LKVFENCE_IOC_RELEASE, ABI_PLACE(release.outcome) },
	{ LKVFENCE_IOC_RELEASE, ABI_PLACE(release.leases_out) },
	{ LKVFENCE_IOC_QUERY, ABI_PLACE(query.state) },
	{ LKVFENCE_IOC_QUERY, ABI_PLACE(query.flags) },
	{ LKVFENCE_IOC_QUERY, ABI_PLACE(query.now_ns) },
	{ LKVFENCE_IOC_QUERY, ABI_PLACE(query.comm) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.settle_ns) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.max_qps) },
	{ LKVFENCE_IOC_OPEN, ABI_PLACE(open.accepts) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.evidence) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.mismatches) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.unclaimed_ns) },
	{ LKVFENCE_IOC_INFO, ABI_PLACE(info.max_pulls) },
	{ LKVFENCE_IOC_STAT, ABI_PLACE(stat.refused_early) },
	{ LKVFENCE_IOC_ABORT, ABI_PLACE(abort.nr_ended) },
	{ LKVFENCE_IOC_READY, ABI_PLACE(ready.deadline_ns) },
	{ LKVFENCE_IOC_PULL, ABI_PLACE(pull.ticket) },
	{ LKVFENCE_IOC_SOURCE, ABI_PLACE(source.binding) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.state) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.binding) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.leases_out) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.pid) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.pad) },
	{ LKVFENCE_IOC_QUERY_SOURCE, ABI_PLACE(query_source.peer) },
};

static const struct abi_command *command(unsigned long cmd)
{
	size_t i = 0;

	while (abi_commands[i].cmd != cmd)
		i++;
	return &abi_commands[i];
}

static void refused(struct abi *abi, unsigned long number, const char *what,
		    struct abi_place at, uint64_t value, int err)
{
	const struct abi_command *cmd = command(number);
	struct lkvfence_stat before;
	union abi_arg arg, was;

	abi_good(abi, cmd, &arg);
	/* little endian, as all that this runs on */
	memcpy((char *)&arg + at.offset, &value, at.width);
	was = arg;
	before = stat_of(abi->f);
	gives(abi_call(abi, cmd, &arg), -err, "%s with %s", cmd->name, what);
	unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
	check(!memcmp(&arg, &was, cmd->size), "%s: nor has the struct", cmd->name);
}

static void all_refused(struct abi *abi)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		refused(abi, bad[i].cmd, bad[i].what, bad[i].at, bad[i].value, bad[i].err);
	for (i = 0; i < ARRAY_SIZE(bad_binding) && abi->can_revoke; i++)
		refused(abi, LKVFENCE_IOC_SOURCE, bad_binding[i].what, bad_binding[i].at,
			bad_binding[i].value, bad_binding[i].err);
}

static void ignored(struct abi *abi)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(out); i++) {
		const struct abi_command *cmd = command(out[i].cmd);
		union abi_arg arg;

		abi_good(abi, cmd, &arg);
		memset((char *)&arg + out[i].at.offset, 0xff, out[i].at.width);
		gives(abi_call(abi, cmd, &arg), abi_answer(abi, cmd),
		      "%s with anything in its out member at %zu", cmd->name,
		      out[i].at.offset);
		abi_undo(cmd, &arg);
	}
}

int main(void)
{
	struct abi abi = abi_start("abi-values");

	all_refused(&abi);
	ignored(&abi);
	return abi_done(&abi);
}
