// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What a call is given stays as it was: only members that are "out" are
 * written, so that a struct can be used for the next call.
 */
#include "abi.h"

/* All members that are not "out" and not filled in by abi_good(). */
static const struct {
	unsigned long cmd;
	const char *name;
	struct abi_place at;
	uint64_t value;
} in[] = {
	{ LKVFENCE_IOC_OPEN, "flags", ABI_PLACE(open.flags), LKVFENCE_OPEN_NONBLOCK },
	{ LKVFENCE_IOC_BEGIN, "ttl_ns", ABI_PLACE(begin.ttl_ns), 60000 * MS },
	{ LKVFENCE_IOC_BEGIN, "policy", ABI_PLACE(begin.policy), 0 },
	{ LKVFENCE_IOC_HOLD, "timeout_ns", ABI_PLACE(begin.timeout_ns), 0 },
	{ LKVFENCE_IOC_HOLD, "policy", ABI_PLACE(begin.policy), 0 },
	{ LKVFENCE_IOC_HOLD, "reason", ABI_PLACE(begin.reason), 0 },
	{ LKVFENCE_IOC_ABORT, "timeout_ns", ABI_PLACE(abort.timeout_ns), 0 },
	{ LKVFENCE_IOC_ABORT, "policy", ABI_PLACE(abort.policy), 0 },
	{ LKVFENCE_IOC_ABORT, "reason", ABI_PLACE(abort.reason), 0 },
	{ LKVFENCE_IOC_RELEASE, "flags", ABI_PLACE(release.flags), 0 },
	{ LKVFENCE_IOC_QUERY, "slot", ABI_PLACE(query.slot), 12345 },
	{ LKVFENCE_IOC_QUERY, "by", ABI_PLACE(query.by), LKVFENCE_QUERY_GENERATION },
	{ LKVFENCE_IOC_SOURCE, "peer", ABI_PLACE(source.peer), 0x3170 },
	{ LKVFENCE_IOC_QUIET, "qp", ABI_PLACE(quiet.qp), LKVFENCE_QUIET_ALL },
	{ LKVFENCE_IOC_REPORT, "nr_slots", ABI_PLACE(report.nr_slots), 16 },
	{ LKVFENCE_IOC_ABORT, "flags", ABI_PLACE(abort.flags), 0 },
	{ LKVFENCE_IOC_READY, "ttl_ns", ABI_PLACE(ready.ttl_ns), 60000 * MS },
	{ LKVFENCE_IOC_READY, "consumers", ABI_PLACE(ready.consumers), 4096 },
	{ LKVFENCE_IOC_PULL, "tag", ABI_PLACE(pull.tag), 0xfedcba9876543210 },
	{ LKVFENCE_IOC_PULL, "generation", ABI_PLACE(pull.generation), 12345 },
	{ LKVFENCE_IOC_PULL, "timeout_ns", ABI_PLACE(pull.timeout_ns), 3600000 * MS },
	{ LKVFENCE_IOC_PULL, "unclaimed_ns", ABI_PLACE(pull.unclaimed_ns), 3600000 * MS },
	{ LKVFENCE_IOC_PULL, "source", ABI_PLACE(pull.source), UINT32_MAX },
	{ LKVFENCE_IOC_QUERY_SOURCE, "flags", ABI_PLACE(query_source.flags),
	  LKVFENCE_QUERY_SOURCE_FROM },
	{ LKVFENCE_IOC_QUERY_SOURCE, "source", ABI_PLACE(query_source.source), 12345 },
};

static void kept(struct abi *abi, const struct abi_command *cmd, size_t i,
		 int err, union abi_arg *arg)
{
	/* A name is longer than the value, and 0 behind it. */
	size_t width = in[i].at.width < 8 ? in[i].at.width : 8;

	memcpy((char *)arg + in[i].at.offset, &in[i].value, width);
	gives(abi_call(abi, cmd, arg), err, "%s", cmd->name);
	check(!memcmp((char *)arg + in[i].at.offset, &in[i].value, width),
	      "%s leaves %s as it was", cmd->name, in[i].name);
}

int main(void)
{
	struct abi abi = abi_start("abi-inputs");
	union abi_arg arg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(in); i++) {
		const struct abi_command *cmd = abi_commands;

		while (cmd->cmd != in[i].cmd)
			cmd++;
		abi_good(&abi, cmd, &arg);
		kept(&abi, cmd, i, abi_answer(&abi, cmd), &arg);
		abi_undo(cmd, &arg);
		if (cmd->cmd != LKVFENCE_IOC_BEGIN && cmd->cmd != LKVFENCE_IOC_HOLD)
			continue;
		/* Refused: the engine will try again, or in another way. */
		arg.begin = want(5000, 0, 1, 1);
		kept(&abi, cmd, i, -EBUSY, &arg);
	}
	return abi_done(&abi);
}
