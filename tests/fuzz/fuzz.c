// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The module in user space, driven by the bytes of a fuzzer: a sequence of
 * calls on several handles, with what a hostile or unlucky caller does to them:
 * pointers to nowhere, pages that can't be written, memory that changes while
 * it is read, allocations that fail, signals, other users, time, and QPs that come
 * and go. While a driver sleeps, other calls are made.
 *
 * Most bytes choose among values that matter; some are taken as they are.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "qps.h"

static const u8 *input, *input_end;

u8 fuzz_byte(void)
{
	return input < input_end ? *input++ : 0;
}

u64 fuzz_word(void)
{
	u64 v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | fuzz_byte();
	return v;
}

/* What the next call is to meet; a call uses it up. */
static struct {
	u32 size;
	unsigned long arg;
	u32 where;		/* 1 + which pointer, 0: none */
	u64 pointer;
	u32 nr_patches;
	struct {
		u8 at;
		u64 with;
	} patches[4];
	u8 fail, fail_nr, flip;
	u16 flip_at;
	u8 flip_to;
	u8 slow;
	bool healthy;
} plan;

/* So many times more a driver takes its time. */
static u32 slow;

_Noreturn void mirror_fail(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "fuzz: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

u64 fuzz_timeout(void)
{
	u8 b = fuzz_byte();

	switch (b) {
	case 0:
		return 0;
	case 1:
		return mirror.min_ns;
	case 2:
		return mirror.min_ns - 1;
	case 3:
		return mirror.max_ns;
	case 4:
		return mirror.max_ns + 1;
	case 5:
		return fuzz_word();
	default:
		return (u64)b * b * 1000000;
	}
}

u64 fuzz_generation(void)
{
	u8 b = fuzz_byte();

	switch (b) {
	case 255:
		return 0;
	case 254:
		return mirror.last_generation + 1;
	case 253:
		return ~0ULL;
	case 252:
		return fuzz_word();
	default:
		return mirror.last_generation - b % 24;
	}
}

static u32 a_policy(void)
{
	u8 b = fuzz_byte();

	/* With and without REVOKE and REVOKE_NOW. */
	return b < 240 ? b % 3 | (b / 3 % 4) << 8 : b < 250 ? b % 3 : b;
}

u32 fuzz_source(void)
{
	u8 b = fuzz_byte();

	return b < 240 ? b % 8 : ~0U - b;
}

static u32 a_slot(void)
{
	u8 b = fuzz_byte();

	return b < 250 ? b % 64 : (u32)fuzz_word();
}

/* Mostly one of the first few. */
static int a_handle(void)
{
	u8 b = fuzz_byte();

	for (int i = 0; i < SHIM_FDS; i++)
		if (shim.fds[(b + i) % SHIM_FDS])
			return (b + i) % SHIM_FDS;
	return -1;
}

void fuzz_put(unsigned long at, const void *data, size_t len)
{
	void *to = shim_user(at, len);

	if (to)
		memcpy(to, data, len);
}

/* The first few are written one by one; what is behind them stays as it was. */
static void put_ranges(u32 nr)
{
	for (u32 i = 0; i < nr && i < 16; i++) {
		u8 count = fuzz_byte();
		struct lkvfence_range r = {
			.first = a_slot(),
			.count = count < 250 ? count % 9 : (u32)fuzz_word(),
		};

		fuzz_put(AT_RANGES + i * sizeof(r), &r, sizeof(r));
	}
}

static void put_sources(u32 nr)
{
	for (u32 i = 0; i < nr && i < 40; i++) {
		u32 source = fuzz_source();

		fuzz_put(AT_SOURCES + i * sizeof(source), &source, sizeof(source));
	}
}

static void put_items(u32 nr)
{
	for (u32 i = 0; i < nr && i < 40; i++) {
		u8 kind = fuzz_byte();
		struct lkvfence_return_item item = {
			.generation = fuzz_generation(),
			.source = fuzz_source(),
			.status = kind < 128 ? 1 + kind % 2 :
				  kind < 224 ? LKVFENCE_STATUS_REVOKED : kind,
			.result = 77,
			.released = 77,
		};

		if (item.status == LKVFENCE_STATUS_DRAINED)
			item.evidence = kind / 2 % 16;
		else if (item.status == LKVFENCE_STATUS_REVOKED)
			item.evidence = kind % 16;
		else
			item.evidence = kind == 127;
		fuzz_put(AT_ITEMS + i * sizeof(item), &item, sizeof(item));
	}
}

u32 fuzz_count(u32 most)
{
	u8 b = fuzz_byte();

	return b < 200 ? b % 5 : b < 240 ? b % 48 : b < 250 ? most + b - 245 : (u32)fuzz_word();
}

static void fill_open(struct lkvfence_open *a)
{
	static const char * const names[] = { "a", "b", "c", "d", "", ".a", "a/b", "a.-_Z9" };
	static const u32 slots[] = { 64, 8, 160, 64, 0, 1, 4096, 5000 };
	static const u32 accepts[] = {
		0, LKVFENCE_ACCEPT_ALL, ~(u32)BIT(LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
		~(u32)BIT(LKVFENCE_EVIDENCE_SUCCESS_CQE), BIT(LKVFENCE_EVIDENCE_RQ_FLUSHED), ~0U,
	};
	u8 name = fuzz_byte(), geometry = fuzz_byte(), mode = fuzz_byte(), proof = fuzz_byte();

	a->flags = name >> 4 & 7;
	if (name >> 7)
		a->flags ^= LKVFENCE_OPEN_CREATE;
	if (name % 16 == 15)
		memset(a->name, 'x', sizeof(a->name));
	else
		strscpy(a->name, names[name % 8 < 4 && name % 16 > 7 ? name % 4 : name % 8],
			sizeof(a->name));
	a->slot_size = geometry & 1 ? 0 : 65536;
	a->base = geometry & 2 ? 0x1000 * (geometry & 12) : 0;
	a->nr_slots = slots[geometry >> 4 & 7];
	if (geometry >> 7)
		a->nr_slots = 64;
	a->mode = mode < 200 ? 0600 : mode < 240 ? mode & 0666 : mode;
	a->accepts = accepts[proof % ARRAY_SIZE(accepts)];
	if (proof < 240)
		a->accepts &= LKVFENCE_ACCEPT_ALL;
	a->pad = proof == 255;
}

static void fill_begin(struct lkvfence_begin *a, bool hold)
{
	u8 more;

	a->tag = fuzz_byte() % 8;
	a->nr_ranges = fuzz_count(MIRROR_MAX_RANGES);
	put_ranges(a->nr_ranges);
	a->nr_sources = fuzz_count(MIRROR_MAX_LEASES);
	put_sources(a->nr_sources);
	a->ranges = AT_RANGES;
	a->sources = AT_SOURCES;
	a->policy = a_policy();
	more = fuzz_byte();
	if (hold || more & 16)
		a->timeout_ns = more & 1 ? fuzz_timeout() : 0;
	if (!hold || more & 32)
		a->ttl_ns = more & 2 ? fuzz_timeout() : 0;
	if (hold || more & 64)
		a->reason = more & 4 ? fuzz_byte() % 12 : 0;
	a->flags = more >> 7;
	a->busy_generation = 77;
	a->busy_slot = 77;
	a->state = 77;
}

static void fill_abort(struct lkvfence_abort *a)
{
	u8 how = fuzz_byte();

	a->flags = how & 1 ? LKVFENCE_ABORT_BY_TAG : 0;
	if (a->flags)
		a->tag = fuzz_byte() % 8;
	else
		a->generation = fuzz_generation();
	a->timeout_ns = how & 2 ? fuzz_timeout() : 0;
	a->policy = how & 4 ? a_policy() : 0;
	a->reason = how & 8 ? fuzz_byte() % 12 : 0;
	if (how & 16)
		a->flags |= LKVFENCE_ABORT_EARLY;
	/* Who has known one of that tag names it. */
	if (how & 32 && a->flags & LKVFENCE_ABORT_BY_TAG)
		a->generation = fuzz_generation();
	if (how >= 224)
		a->flags = how & 1 ? LKVFENCE_ABORT_ALL : how;
	a->nr_ended = 77;
}

static void fill_query(struct lkvfence_query *a)
{
	u8 by = fuzz_byte();

	a->by = by % 5;
	a->generation = fuzz_generation();
	a->tag = by >> 4 & 7;
	a->slot = a_slot();
	a->nr_ranges = fuzz_count(MIRROR_MAX_RANGES);
	a->nr_leases = fuzz_count(MIRROR_MAX_LEASES);
	a->ranges = AT_RANGES;
	a->leases = AT_LEASES;
}

static u32 fill(union argument *a, unsigned int cmd)
{
	switch (cmd) {
	case LKVFENCE_IOC_OPEN:
		fill_open(&a->open);
		return sizeof(a->open);
	case LKVFENCE_IOC_STAT:
		return sizeof(a->stat);
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		fill_begin(&a->begin, cmd == LKVFENCE_IOC_HOLD);
		return sizeof(a->begin);
	case LKVFENCE_IOC_TAKE:
		a->take.generation = fuzz_generation();
		a->take.source = fuzz_source();
		if (plan.healthy)
			fuzz_fill_healthy(&a->take);
		return sizeof(a->take);
	case LKVFENCE_IOC_RETURN:
		a->ret.nr_items = fuzz_count(MIRROR_MAX_RANGES);
		put_items(a->ret.nr_items);
		a->ret.items = AT_ITEMS;
		return sizeof(a->ret);
	case LKVFENCE_IOC_ABORT:
		fill_abort(&a->abort);
		return sizeof(a->abort);
	case LKVFENCE_IOC_RELEASE:
		a->release.generation = fuzz_generation();
		a->release.flags = fuzz_byte() % 8 == 7;
		return sizeof(a->release);
	case LKVFENCE_IOC_QUERY:
		fill_query(&a->query);
		return sizeof(a->query);
	case LKVFENCE_IOC_ADOPT:
		a->adopt.generation = fuzz_generation();
		return sizeof(a->adopt);
	case LKVFENCE_IOC_SOURCE:
		fuzz_fill_source(&a->source);
		return sizeof(a->source);
	case LKVFENCE_IOC_QUIET:
		fuzz_fill_quiet(&a->quiet);
		return sizeof(a->quiet);
	case LKVFENCE_IOC_REPORT:
		fuzz_fill_report(&a->report);
		return sizeof(a->report);
	case LKVFENCE_IOC_QUERY_SOURCE:
		fuzz_fill_query_source(&a->query_source);
		return sizeof(a->query_source);
	default:
		return fuzz_fill_pulls(a, cmd);
	}
}

static void set_plan(void)
{
	shim_call_begin();
	slow = plan.slow;
	switch (plan.fail % 8) {
	case 1:
		shim.fail_alloc = 1 + plan.fail_nr % 4;
		break;
	case 2:
		shim.fail_copy = 1 + plan.fail_nr % 64;
		break;
	case 3:
		shim.fail_file = true;
		break;
	case 4:
		shim.fail_fd = true;
		break;
	case 5:
		shim.fail_add = true;
		break;
	case 6:
		shim.signal = true;
		break;
	}
	if (plan.flip) {
		shim.flip_copy = 1 + plan.flip % 32;
		shim.flip_at = plan.flip_at;
		shim.flip_to = plan.flip_to;
	}
}

static void ioctl_with(int fd, unsigned int cmd)
{
	union argument a;
	unsigned long arg = plan.arg ? plan.arg : AT_ARG;
	u32 size;

	memset(&a, 0, sizeof(a));
	size = fill(&a, cmd);
	a.size = plan.size ? plan.size : size;
	if (plan.where && cmd != LKVFENCE_IOC_RETURN)
		memcpy(plan.where == 1 ? &a.begin.ranges : &a.begin.sources,
		       &plan.pointer, sizeof(plan.pointer));
	else if (plan.where)
		a.ret.items = plan.pointer == AT_ARG ? AT_ARG + 8 : plan.pointer;
	for (u32 i = 0; i < plan.nr_patches; i++)
		memcpy(a.bytes + plan.patches[i].at % (sizeof(a) - 7),
		       &plan.patches[i].with, 8);
	fuzz_put(arg, &a, size > sizeof(a) ? sizeof(a) : size);
	set_plan();
	memset(&plan, 0, sizeof(plan));
	judge_ioctl(fd, cmd, arg, shim.flip_copy);
}

static void do_read(int fd)
{
	u8 room = fuzz_byte();
	unsigned long buf = plan.arg ? plan.arg : AT_READ;
	size_t len = room % 24 * sizeof(struct lkvfence_event) + (room > 200 ? room % 64 : 0);

	set_plan();
	memset(&plan, 0, sizeof(plan));
	judge_read(fd, buf, len);
}

static void set_param(void)
{
	static const struct kernel_param * const params[] = {
		&shim_param_timeout_default_ms, &shim_param_timeout_min_ms,
		&shim_param_timeout_max_ms, NULL, NULL, NULL, NULL, &shim_param_settle_ms,
		&shim_param_revoke_timeout_ms, NULL, NULL, &shim_param_unclaimed_ms,
		&shim_param_tombstone_ms,
	};
	static const char * const times[] = {
		"30000", "10", "3600000", "20", "100", "0", "1", "-1",
	};
	u8 which = fuzz_byte(), value = fuzz_byte();

	/* The last four came later. */
	which = which < 198 ? which % 9 : 9 + which % 4;
	switch (which) {
	case 3:
		*(uint *)shim_param_max_slots.arg = value % 2 ? 100 : 4096;
		break;
	case 4:
		*(uint *)shim_param_max_regions.arg = value % 5;
		break;
	case 5:
		*(uint *)shim_param_max_transfers.arg = value % (ORACLE_TRANSFERS + 1);
		break;
	case 6:
		*(uint *)shim_param_max_sources.arg = value % (ORACLE_SOURCES + 1);
		break;
	case 9:
		*(uint *)shim_param_max_pulls.arg = value % 13;
		break;
	case 10:
		*(uint *)shim_param_max_tombstones.arg = value % 9;
		break;
	default:
		/* It may be refused. */
		params[which]->ops->set(times[value % 8], params[which]);
	}
	judge_limits();
}

/* What the next call meets. */
static void make_plan(void)
{
	static const u64 pointers[] = {
		0, ~0ULL, AT_ARG, AT_ARG + 8, USER_BASE + USER_SIZE - 40, USER_BASE - 8,
		AT(3) - 20, 1ULL << 63,
	};
	u8 what = fuzz_byte();

	switch (what % 7) {
	case 0:
		plan.fail = fuzz_byte();
		plan.fail_nr = fuzz_byte();
		break;
	case 1:
		plan.flip = 1 + fuzz_byte() % 32;
		plan.flip_at = AT_ARG - USER_BASE + fuzz_byte() * (what & 64 ? 16 : 1);
		if (what & 128)
			plan.flip_at = AT_RANGES - USER_BASE + fuzz_byte();
		plan.flip_to = fuzz_byte();
		break;
	case 2:
		plan.nr_patches += plan.nr_patches < 4;
		plan.patches[plan.nr_patches - 1].at = fuzz_byte();
		plan.patches[plan.nr_patches - 1].with = what & 64 ? fuzz_word() : fuzz_byte();
		break;
	case 3:
		plan.size = what & 64 ? fuzz_byte() * 64 : fuzz_byte();
		break;
	case 4:
		plan.where = 1 + fuzz_byte() % 2;
		plan.pointer = pointers[fuzz_byte() % ARRAY_SIZE(pointers)];
		break;
	case 5:
		plan.arg = what & 64 ? pointers[fuzz_byte() % ARRAY_SIZE(pointers)] :
				       AT(3) - 2 * fuzz_byte();
		break;
	case 6:
		plan.slow = 1 + fuzz_byte() % 4;
		break;
	}
}

static void set_caller(void)
{
	u8 who = fuzz_byte();

	shim.uid = who % 3;
	shim.gid = who / 3 % 3;
	shim.caps = who >> 6;
}

static void step(void)
{
	static const unsigned int commands[] = {
		LKVFENCE_IOC_READY, LKVFENCE_IOC_PULL, LKVFENCE_IOC_BEGIN, LKVFENCE_IOC_PULL,
		LKVFENCE_IOC_RETURN, LKVFENCE_IOC_READY, LKVFENCE_IOC_WITHDRAW, LKVFENCE_IOC_ABORT,
	};
	u8 op = fuzz_byte();
	int fd;

	/* What only some of all inputs are about. */
	if (op >= 224 && op < 248) {
		fd = a_handle();
		ioctl_with(fd, commands[op % ARRAY_SIZE(commands)]);
		judge_all();
		return;
	}
	/* And these are of fewer still: the mirror knows nothing of groups. */
	if (op >= 248 && op < 252) {
		fd = a_handle();
		plan.healthy = op == 251;
		ioctl_with(fd, op < 250 ? LKVFENCE_IOC_JOIN :
			   op == 250 ? LKVFENCE_IOC_PEER : LKVFENCE_IOC_TAKE);
		judge_all();
		return;
	}
	switch (op % 28) {
	case 0:
		ioctl_with(-1, LKVFENCE_IOC_OPEN);
		break;
	case 14:
		fd = op >= 100 ? -1 : a_handle();
		ioctl_with(fd, op >= 200 ? (unsigned int)fuzz_word() : LKVFENCE_IOC_INFO);
		break;
	case 15:
	case 16:
		fd = a_handle();
		if (fd >= 0 && op % 28 == 15)
			do_read(fd);
		else if (fd >= 0)
			judge_poll(fd);
		break;
	case 17:
		fd = a_handle();
		if (fd >= 0 && !judge_uses(fd))
			judge_close(fd);
		break;
	case 18:
		/* From nothing to an hour. */
		fd = fuzz_byte();
		shim.now += fd < 64 ? (u64)fd * 1000 : fd < 192 ? (u64)fd * 1000000 / 4 :
			    (u64)(fd - 190) * 60000000000ULL;
		judge_clock(op < 128, op < 200);
		break;
	case 19:
		set_param();
		break;
	case 20:
		fd = fuzz_byte();
		shim.pages[fd % USER_PAGES] = fd / USER_PAGES % 3;
		break;
	case 21:
		set_caller();
		break;
	case 22:
	case 23:
		make_plan();
		return;
	case 24:
		fuzz_change_qps();
		break;
	case 25:
	case 26:
	case 27:
		set_plan();
		memset(&plan, 0, sizeof(plan));
		fuzz_work();
		break;
	default:
		fd = a_handle();
		if (op >= 252)
			fd = -1;
		ioctl_with(fd, LKVFENCE_IOC_STAT + op % 28 - 1);
	}
	judge_all();
}

void meanwhile(void)
{
	static u32 depth;
	u8 steps;

	if (!slow || depth == 3 || input >= input_end)
		return;
	slow--;
	depth++;
	for (steps = 1 + fuzz_byte() % 4; steps && input < input_end; steps--)
		step();
	depth--;
}

static void reset(void)
{
	static const char * const defaults[] = {
		"10", "3600000", "30000", "100", "2000", "3000", "5000",
	};
	static const struct kernel_param * const params[] = {
		&shim_param_timeout_min_ms, &shim_param_timeout_max_ms,
		&shim_param_timeout_default_ms, &shim_param_settle_ms,
		&shim_param_revoke_timeout_ms, &shim_param_unclaimed_ms,
		&shim_param_tombstone_ms,
	};

	memset(&plan, 0, sizeof(plan));
	memset(shim.memory, 0, sizeof(shim.memory));
	memset(shim.pages, 0, sizeof(shim.pages));
	shim.now = 1000000000;
	shim.uid = 0;
	shim.gid = 0;
	shim.caps = 3;
	/* Twice, for each one bounds the others. */
	for (u32 i = 0; i < 2 * ARRAY_SIZE(params); i++)
		params[i % 7]->ops->set(defaults[i % 7], params[i % 7]);
	*(uint *)shim_param_max_slots.arg = 4096;
	*(uint *)shim_param_max_regions.arg = 4;
	*(uint *)shim_param_max_transfers.arg = ORACLE_TRANSFERS;
	*(uint *)shim_param_max_sources.arg = ORACLE_SOURCES;
	*(uint *)shim_param_max_pulls.arg = 12;
	*(uint *)shim_param_max_tombstones.arg = 6;
	slow = 0;
	qps_reset();
	mirror_init(&mirror);
	mirror.features = LKVFENCE_FEATURE_QP;
	mirror.exact = true;
	mirror.pid = shim_task.tgid;
	memcpy(mirror.comm, shim_task.comm, sizeof(mirror.comm));
	judge_limits();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	shim_assert(argc && argv);
	shim_assert(!shim_init());
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	reset();
	input = data;
	input_end = data + size;
	while (input < input_end)
		step();
	memset(&plan, 0, sizeof(plan));
	slow = 0;
	judge_end();
	return 0;
}
