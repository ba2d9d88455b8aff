/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * For the abi-* tests: every command with arguments that would do, so that a
 * test can spoil one thing at a time. These tests are built twice, for 64 and
 * for 32 bits.
 */
#ifndef E2E_ABI_H
#define E2E_ABI_H

#include <sys/mman.h>

#include "e2e.h"

union abi_arg {
	uint32_t size;
	struct lkvfence_info info;
	struct lkvfence_open open;
	struct lkvfence_stat stat;
	struct lkvfence_begin begin;
	struct lkvfence_take take;
	struct lkvfence_return ret;
	struct lkvfence_abort abort;
	struct lkvfence_release release;
	struct lkvfence_query query;
	struct lkvfence_adopt adopt;
	struct lkvfence_source source;
	struct lkvfence_quiet quiet;
	struct lkvfence_report report;
	struct lkvfence_query_source query_source;
	struct lkvfence_ready ready;
	struct lkvfence_pull pull;
	struct lkvfence_withdraw withdraw;
};

/* Where a member is in any of these. */
struct abi_place {
	size_t offset;
	size_t width;
};

#define ABI_PLACE(member) \
	{ offsetof(union abi_arg, member), sizeof(((union abi_arg *)0)->member) }

struct abi_command {
	const char *name;
	unsigned long cmd;
	size_t size;
	bool on_device;
};

static const struct abi_command abi_commands[] = {
	{ "INFO", LKVFENCE_IOC_INFO, sizeof(struct lkvfence_info), true },
	{ "OPEN", LKVFENCE_IOC_OPEN, sizeof(struct lkvfence_open), true },
	{ "STAT", LKVFENCE_IOC_STAT, sizeof(struct lkvfence_stat), false },
	{ "BEGIN", LKVFENCE_IOC_BEGIN, sizeof(struct lkvfence_begin), false },
	{ "HOLD", LKVFENCE_IOC_HOLD, sizeof(struct lkvfence_begin), false },
	{ "TAKE", LKVFENCE_IOC_TAKE, sizeof(struct lkvfence_take), false },
	{ "RETURN", LKVFENCE_IOC_RETURN, sizeof(struct lkvfence_return), false },
	{ "ABORT", LKVFENCE_IOC_ABORT, sizeof(struct lkvfence_abort), false },
	{ "RELEASE", LKVFENCE_IOC_RELEASE, sizeof(struct lkvfence_release), false },
	{ "QUERY", LKVFENCE_IOC_QUERY, sizeof(struct lkvfence_query), false },
	{ "ADOPT", LKVFENCE_IOC_ADOPT, sizeof(struct lkvfence_adopt), false },
	{ "SOURCE", LKVFENCE_IOC_SOURCE, sizeof(struct lkvfence_source), false },
	{ "QUIET", LKVFENCE_IOC_QUIET, sizeof(struct lkvfence_quiet), false },
	{ "REPORT", LKVFENCE_IOC_REPORT, sizeof(struct lkvfence_report), false },
	{ "QUERY_SOURCE", LKVFENCE_IOC_QUERY_SOURCE,
	  sizeof(struct lkvfence_query_source), false },
	{ "READY", LKVFENCE_IOC_READY, sizeof(struct lkvfence_ready), false },
	{ "PULL", LKVFENCE_IOC_PULL, sizeof(struct lkvfence_pull), false },
	{ "WITHDRAW", LKVFENCE_IOC_WITHDRAW, sizeof(struct lkvfence_withdraw), false },
};

/* A region with a transfer (@generation) whose source 1 has a lease. */
struct abi {
	const char *region;
	struct lkvfence *f;
	int dev;
	int fd;
	uint64_t generation;
	uint32_t next;
	bool can_revoke;
	struct lkvfence_return_item item;
	struct lkvfence_qp qp;
};

static inline struct abi abi_start(const char *name)
{
	struct abi abi = { .region = name, .dev = device(), .next = 100 };

	abi.f = region(name, 65536);
	abi.fd = lkvfence_fd(abi.f);
	abi.generation = begin(abi.f, 1, 0, 16, 1);
	abi.can_revoke = can_revoke();
	return abi;
}

static inline int abi_done(struct abi *abi)
{
	clear(abi->f);
	lkvfence_close(abi->f);
	close(abi->dev);
	return done();
}

/*
 * What @cmd gives with such arguments: success; but without a QP nothing can be
 * bound, so those of sources find, at the last of their steps, that one isn't
 * there.
 */
static inline int abi_answer(const struct abi *abi, const struct abi_command *cmd)
{
	switch (cmd->cmd) {
	case LKVFENCE_IOC_SOURCE:
		return abi->can_revoke ? -ENODEV : -EOPNOTSUPP;
	case LKVFENCE_IOC_QUIET:
	case LKVFENCE_IOC_QUERY_SOURCE:
		return -ENOENT;
	default:
		return 0;
	}
}

/* A pull that waits, for longer than the test runs, if it is asked. */
static inline struct lkvfence_pull abi_pull(uint32_t tag)
{
	return (struct lkvfence_pull){
		.tag = tag,
		.source = tag,
		.timeout_ns = 3600000 * MS,
		.unclaimed_ns = 3600000 * MS,
	};
}

/* Arguments with which @cmd will give its answer, this time. */
static inline void abi_good(struct abi *abi, const struct abi_command *cmd,
			    union abi_arg *arg)
{
	uint32_t next = abi->next++;
	struct lkvfence_begin offer;
	struct lkvfence_pull pull;
	struct lkvfence *other;

	memset(arg, 0, sizeof(*arg));
	switch (cmd->cmd) {
	case LKVFENCE_IOC_OPEN:
		snprintf(arg->open.name, sizeof(arg->open.name), "%s", abi->region);
		break;
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		arg->begin = want(next, next, 1, 1);
		break;
	case LKVFENCE_IOC_TAKE:
		arg->take.generation = abi->generation;
		arg->take.source = next;
		break;
	case LKVFENCE_IOC_RETURN:
		need(!lkvfence_take(abi->f, abi->generation, next), "TAKE");
		abi->item = (struct lkvfence_return_item){
			.generation = abi->generation,
			.source = next,
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		};
		arg->ret.items = (uintptr_t)&abi->item;
		arg->ret.nr_items = 1;
		break;
	case LKVFENCE_IOC_ABORT:
		arg->abort.generation = begin(abi->f, next, next, 1, 1);
		break;
	case LKVFENCE_IOC_RELEASE:
		arg->release.generation = begin(abi->f, next, next, 1, 0);
		break;
	case LKVFENCE_IOC_QUERY:
		arg->query.generation = abi->generation;
		break;
	case LKVFENCE_IOC_ADOPT:
		other = region(abi->region, 0);
		arg->adopt.generation = begin(other, next, next, 1, 1);
		lkvfence_close(other);
		break;
	case LKVFENCE_IOC_SOURCE:
		abi->qp = (struct lkvfence_qp){ .device = "nowhere0", .number = 17 };
		arg->source.source = next;
		arg->source.qps = (uintptr_t)&abi->qp;
		arg->source.nr_qps = 1;
		break;
	case LKVFENCE_IOC_QUIET:
		arg->quiet.binding = 1;
		arg->quiet.evidence = LKVFENCE_EVIDENCE_RQ_FLUSHED;
		break;
	case LKVFENCE_IOC_REPORT:
		arg->report.generation = abi->generation;
		arg->report.kind = LKVFENCE_REPORT_STRAY;
		arg->report.nr_slots = 1;
		break;
	case LKVFENCE_IOC_READY:
		offer = want(next, next, 1, 1);
		need(!lkvfence_offer(abi->f, &offer), "an offer");
		arg->ready.generation = offer.generation;
		break;
	case LKVFENCE_IOC_PULL:
		arg->pull = abi_pull(next);
		break;
	case LKVFENCE_IOC_WITHDRAW:
		pull = abi_pull(next);
		need(!lkvfence_pull(abi->f, &pull), "PULL");
		arg->withdraw.ticket = pull.ticket;
		break;
	}
	arg->size = cmd->size;
}

static inline int abi_call(struct abi *abi, const struct abi_command *cmd,
			   void *arg)
{
	return sys(cmd->on_device ? abi->dev : abi->fd, cmd->cmd, arg);
}

/* After a call that gave its answer: OPEN gave us a handle. */
static inline void abi_undo(const struct abi_command *cmd, const void *arg)
{
	struct lkvfence_open open;

	if (cmd->cmd != LKVFENCE_IOC_OPEN)
		return;
	memcpy(&open, arg, sizeof(open));
	close(open.fd);
}

/* Two pages; the second one can't be touched. */
static inline char *abi_pages(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE),
	     "two pages of memory");
	return page;
}

#endif /* E2E_ABI_H */
