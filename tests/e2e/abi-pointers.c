// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A bad pointer is EFAULT, wherever it is, and changes nothing. What RETURN
 * says of its items has a test of its own.
 */
#include "abi.h"

static void bad_struct(struct abi *abi, const struct abi_command *cmd,
		       void *at, const char *what)
{
	struct lkvfence_stat before = stat_of(abi->f);

	gives(abi_call(abi, cmd, at), -EFAULT, "%s with its struct %s",
	      cmd->name, what);
	unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
}

/* A struct of which @inside bytes lie in good memory, at each place in turn. */
static void split(struct abi *abi, const struct abi_command *cmd, char *page,
		  int first, int second, const char *what)
{
	struct lkvfence_stat before;
	unsigned int wrong = 0;
	union abi_arg arg;
	size_t inside;
	int err;

	abi_good(abi, cmd, &arg);
	before = stat_of(abi->f);
	for (inside = 1; inside < cmd->size; inside++) {
		char *at = page + 4096 - inside;

		need(!mprotect(page, 8192, PROT_READ | PROT_WRITE), "mprotect");
		memcpy(at, &arg, cmd->size);
		need(!mprotect(page, 4096, first) && !mprotect(page + 4096, 4096, second),
		     "mprotect");
		err = abi_call(abi, cmd, at);
		if (err != -EFAULT && !wrong++)
			note("%s: %d with %zu bytes in the first page", cmd->name, err,
			     inside);
	}
	gives(wrong, 0, "%s with a part of its struct in memory that %s", cmd->name, what);
	unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
	need(!mprotect(page, 4096, PROT_READ | PROT_WRITE) &&
	     !mprotect(page + 4096, 4096, PROT_NONE), "mprotect");
}

static void structs(struct abi *abi, const struct abi_command *cmd)
{
	char *page = abi_pages(), *at;
	union abi_arg arg;

	bad_struct(abi, cmd, NULL, "at NULL");
	bad_struct(abi, cmd, page + 4096, "in memory of no access");
	bad_struct(abi, cmd, (void *)-4096L, "in the kernel's memory");
	split(abi, cmd, page, PROT_READ | PROT_WRITE, PROT_NONE, "isn't there");
	split(abi, cmd, page, PROT_READ | PROT_WRITE, PROT_READ, "is read-only");
	split(abi, cmd, page, PROT_READ, PROT_READ | PROT_WRITE, "is read-only, the first");

	abi_good(abi, cmd, &arg);
	memcpy(page, &arg, cmd->size);
	need(!mprotect(page, 4096, PROT_READ), "mprotect");
	bad_struct(abi, cmd, page, "in memory that is read-only");
	check(!memcmp(page, &arg, cmd->size), "%s: nor has the struct", cmd->name);

	/* The very same, at the very end of memory that can be written. */
	need(!mprotect(page, 4096, PROT_READ | PROT_WRITE), "mprotect");
	at = page + 4096 - cmd->size;
	memcpy(at, &arg, cmd->size);
	gives(abi_call(abi, cmd, at), abi_answer(abi, cmd),
	      "%s with its struct at the end of memory", cmd->name);
	abi_undo(cmd, at);

	abi_good(abi, cmd, &arg);
	memcpy(page + 1, &arg, cmd->size);
	gives(abi_call(abi, cmd, page + 1), abi_answer(abi, cmd),
	      "%s with its struct not aligned", cmd->name);
	abi_undo(cmd, page + 1);
	munmap(page, 8192);
}

static void bad_inner(struct abi *abi, const struct abi_command *cmd,
		      union abi_arg *arg, const char *what)
{
	struct lkvfence_stat before = stat_of(abi->f);

	gives(abi_call(abi, cmd, arg), -EFAULT, "%s with its %s", cmd->name, what);
	unchanged(abi->f, &before, "%s: nothing has changed", cmd->name);
}

/* Where a pointer in a struct may point to, and shouldn't. */
static void inner(struct abi *abi, const struct abi_command *cmd,
		  __u64 *pointer, union abi_arg *arg, const char *name)
{
	char *page = abi_pages();
	uint64_t good = *pointer;
	char what[64];

	memcpy(page + 4092, (void *)(uintptr_t)good, 4);
	snprintf(what, sizeof(what), "%s reaching out of memory", name);
	*pointer = (uintptr_t)page + 4092;
	bad_inner(abi, cmd, arg, what);
	snprintf(what, sizeof(what), "%s at 0", name);
	*pointer = 0;
	bad_inner(abi, cmd, arg, what);
	snprintf(what, sizeof(what), "%s in the kernel's memory", name);
	*pointer = (uint64_t)-4096;
	bad_inner(abi, cmd, arg, what);
	snprintf(what, sizeof(what), "%s where no address is", name);
	*pointer = good | 1ULL << 63;
	bad_inner(abi, cmd, arg, what);
	if (sizeof(void *) == 4) {
		snprintf(what, sizeof(what), "%s beyond 32 bits", name);
		*pointer = good | 1ULL << 32;
		bad_inner(abi, cmd, arg, what);
	}
	*pointer = good;
	munmap(page, 8192);
}

static void inners(struct abi *abi, const struct abi_command *cmd)
{
	struct lkvfence_range ranges[4];
	struct lkvfence_lease leases[4];
	union abi_arg arg;
	char *page;

	abi_good(abi, cmd, &arg);
	switch (cmd->cmd) {
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		inner(abi, cmd, &arg.begin.ranges, &arg, "ranges");
		arg.begin.nr_sources = 2;
		inner(abi, cmd, &arg.begin.sources, &arg, "sources");
		break;
	case LKVFENCE_IOC_QUERY:
		arg.query.ranges = (uintptr_t)ranges;
		arg.query.nr_ranges = 4;
		inner(abi, cmd, &arg.query.ranges, &arg, "ranges");
		arg.query.leases = (uintptr_t)leases;
		arg.query.nr_leases = 4;
		arg.query.nr_ranges = 0;
		memset(leases, 0, sizeof(leases));
		inner(abi, cmd, &arg.query.leases, &arg, "leases");
		page = abi_pages();
		need(!mprotect(page, 4096, PROT_READ), "mprotect");
		arg.query.leases = (uintptr_t)page;
		bad_inner(abi, cmd, &arg, "leases in memory that is read-only");
		munmap(page, 8192);
		arg.query.leases = (uintptr_t)leases;
		break;
	case LKVFENCE_IOC_SOURCE:
		if (abi->can_revoke)
			inner(abi, cmd, &arg.source.qps, &arg, "QPs");
		break;
	default:
		return;
	}
	gives(abi_call(abi, cmd, &arg), abi_answer(abi, cmd),
	      "%s with its pointers right", cmd->name);
}

int main(void)
{
	struct abi abi = abi_start("abi-pointers");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
		structs(&abi, &abi_commands[i]);
		inners(&abi, &abi_commands[i]);
	}
	return abi_done(&abi);
}
