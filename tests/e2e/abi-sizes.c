// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Structs have sizes: too short is EINVAL; longer is fine as long as what the
 * module doesn't know is 0, else E2BIG. A refusal changes nothing.
 */
#include "abi.h"

static void refused(struct abi *abi, const struct abi_command *cmd,
		    size_t size, size_t dirt, int err)
{
	_Alignas(8) char buf[8192] = { 0 };
	struct lkvfence_stat before;
	union abi_arg arg;
	uint32_t usize = size;

	abi_good(abi, cmd, &arg);
	memcpy(buf, &arg, sizeof(arg));
	memcpy(buf, &usize, sizeof(usize));
	if (dirt)
		buf[dirt] = 1;
	before = stat_of(abi->f);
	gives(abi_call(abi, cmd, buf), err, "%s of size %zu%s", cmd->name, size,
	      dirt ? ", the last byte is not 0" : "");
	unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
}

static void accepted(struct abi *abi, const struct abi_command *cmd,
		     size_t size)
{
	_Alignas(8) char buf[8192] = { 0 };
	union abi_arg arg;
	uint32_t usize = size;
	size_t i;

	abi_good(abi, cmd, &arg);
	memcpy(buf, &arg, sizeof(arg));
	memcpy(buf, &usize, sizeof(usize));
	gives(abi_call(abi, cmd, buf), abi_answer(abi, cmd), "%s of size %zu",
	      cmd->name, size);
	memcpy(&usize, buf, sizeof(usize));
	for (i = cmd->size; i < sizeof(buf) && !buf[i]; i++)
		;
	check(usize == size && i == sizeof(buf),
	      "%s: the size and what lies behind are untouched", cmd->name);
	abi_undo(cmd, buf);
}

int main(void)
{
	struct abi abi = abi_start("abi-sizes");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
		const struct abi_command *cmd = &abi_commands[i];

		refused(&abi, cmd, 0, 0, -EINVAL);
		refused(&abi, cmd, 4, 0, -EINVAL);
		refused(&abi, cmd, cmd->size - 1, 0, -EINVAL);
		refused(&abi, cmd, cmd->size + 1, cmd->size, -E2BIG);
		refused(&abi, cmd, 4096, 4095, -E2BIG);
		refused(&abi, cmd, UINT32_MAX, 0, -E2BIG);
		accepted(&abi, cmd, cmd->size);
		accepted(&abi, cmd, cmd->size + 1);
		accepted(&abi, cmd, 4096);
	}
	return abi_done(&abi);
}
