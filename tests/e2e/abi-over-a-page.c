// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A struct of more than a page is E2BIG, even if all of it that is unknown is 0. */
#include "abi.h"

int main(void)
{
	static const uint32_t sizes[] = { 4097, 4104, 8192, 16384 };
	struct abi abi = abi_start("abi-over-a-page");
	char *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i, j;

	need(pages != MAP_FAILED, "memory");
	for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
		const struct abi_command *cmd = &abi_commands[i];

		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			struct lkvfence_stat before;
			union abi_arg arg;

			abi_good(&abi, cmd, &arg);
			arg.size = sizes[j];
			memset(pages, 0, 16384);
			memcpy(pages, &arg, cmd->size);
			before = stat_of(abi.f);
			gives(abi_call(&abi, cmd, pages), -E2BIG, "%s of size %u, all 0",
			      cmd->name, sizes[j]);
			unchanged(abi.f, &before, "%s: nothing has changed", cmd->name);
		}
	}
	return abi_done(&abi);
}
