// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A struct that lies on two pages of which only one can be written: EFAULT,
 * before anything has happened, whichever page it is and whatever the size.
 */
#include "abi.h"

static void on_two(struct abi *abi, const struct abi_command *cmd, size_t size,
		   char *page, bool first)
{
	size_t offset, wrong = 0, changed = 0;

	for (offset = 8; offset < cmd->size; offset += 8) {
		struct lkvfence_stat before, after;
		char *at = page + 4096 - offset;
		union abi_arg arg;

		need(!mprotect(page, 8192, PROT_READ | PROT_WRITE), "mprotect");
		memset(page, 0, 8192);
		abi_good(abi, cmd, &arg);
		arg.size = size;
		memcpy(at, &arg, cmd->size);
		need(!mprotect(first ? page : page + 4096, 4096, PROT_READ), "mprotect");
		before = stat_of(abi->f);
		wrong += abi_call(abi, cmd, at) != -EFAULT;
		after = stat_of(abi->f);
		before.oldest_hold_ns = after.oldest_hold_ns;
		changed += !!memcmp(&before, &after, sizeof(after));
		/* What was made for this call must not pile up. */
		if (cmd->cmd == LKVFENCE_IOC_ABORT || cmd->cmd == LKVFENCE_IOC_RELEASE)
			lkvfence_abort_generation(abi->f, arg.abort.generation);
	}
	gives(wrong, 0, "%s of size %zu, its %s page read-only", cmd->name, size,
	      first ? "first" : "last");
	gives(changed, 0, "%s: nothing has changed", cmd->name);
}

int main(void)
{
	struct abi abi = abi_start("abi-straddling");
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	need(page != MAP_FAILED, "memory");
	for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
		const struct abi_command *cmd = &abi_commands[i];

		on_two(&abi, cmd, cmd->size, page, true);
		on_two(&abi, cmd, cmd->size, page, false);
		/* As a newer program has it; what lies behind is 0. */
		on_two(&abi, cmd, cmd->size + 8, page, true);
		on_two(&abi, cmd, cmd->size + 8, page, false);
	}
	return abi_done(&abi);
}
