// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Every command, with each allocation in it refused in turn, the first, the
 * second, and so on until there is no further one: it fails with ENOMEM and has
 * changed nothing, or can do without that memory and succeeds (L10).
 *
 * Needs a kernel with fault injection, as the debug kernel has.
 */
#include "abi.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define OBJECTS		"/sys/class/misc/lkvfence/objects/"
#define MAX_PLACES	5000

/* So many that a transfer of them is allocated each time, and no handle keeps it. */
#define NR_RANGES	100
#define NR_SOURCES	32

static struct lkvfence_range ranges[NR_RANGES];
static uint32_t sources[NR_SOURCES];
/* Where QUERY puts them. */
static struct lkvfence_range room[NR_RANGES];
static struct lkvfence_lease leases[NR_SOURCES];
static struct lkvfence_qp qps[64];
static int fail_nth;

/*
 * What fails: memory of any kind and size, also where the caller could wait,
 * but not access to user memory. Nothing is printed, for the log is to be clean.
 */
static bool configure(void)
{
	static const struct {
		const char *name, *value;
	} all[] = {
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/cache-filter", "N" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_usercopy/verbose", "0" },
		/* No call comes from there. */
		{ DEBUGFS "fail_usercopy/require-start", "1" },
		{ DEBUGFS "fail_usercopy/require-end", "1" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (write_file(all[i].name, all[i].value))
			return false;
	}
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return fail_nth >= 0;
}

static void put_back(void)
{
	write_file(DEBUGFS "fail_usercopy/require-start", "0");
	write_file(DEBUGFS "fail_usercopy/require-end", "18446744073709551615");
}

static void fail_at(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	need(pwrite(fail_nth, text, len, 0) == len, "fail-nth can be written");
}

/* No more. True if it came to that. */
static bool did_fail(void)
{
	char text[16] = "";

	need(pread(fail_nth, text, sizeof(text) - 1, 0) > 0, "fail-nth can be read");
	fail_at(0);
	return !atoi(text);
}

/*
 * A command, whether it shall create something beside (a region; an offer; a tombstone),
 * and whether there is anything in it that needs memory.
 */
struct way {
	const char *what;
	unsigned long cmd;
	bool creates;
	bool needs_memory;
};

static const struct abi_command *command_of(unsigned long cmd)
{
	size_t i;

	for (i = 0; abi_commands[i].cmd != cmd; i++)
		;
	return &abi_commands[i];
}

/* What abi_good() gives, but so that the command needs all that it may need. */
static void prepare(struct abi *abi, const struct way *way, union abi_arg *arg)
{
	abi_good(abi, command_of(way->cmd), arg);
	switch (way->cmd) {
	case LKVFENCE_IOC_OPEN:
		if (!way->creates)
			break;
		snprintf(arg->open.name, sizeof(arg->open.name), "fail-nth-new");
		arg->open.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE;
		arg->open.slot_size = 4096;
		arg->open.nr_slots = 65536;
		arg->open.mode = 0600;
		break;
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		arg->begin.ranges = (uintptr_t)ranges;
		arg->begin.nr_ranges = NR_RANGES;
		arg->begin.sources = (uintptr_t)sources;
		arg->begin.nr_sources = NR_SOURCES;
		arg->begin.flags = way->creates ? LKVFENCE_BEGIN_OFFER : 0;
		break;
	case LKVFENCE_IOC_ABORT:
		if (!way->creates)
			break;
		arg->abort.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY;
		arg->abort.generation = 0;
		arg->abort.tag = abi->next++ + (1ULL << 32);
		break;
	case LKVFENCE_IOC_QUERY_SOURCE:
		arg->query_source.qps = (uintptr_t)qps;
		arg->query_source.nr_qps = ARRAY_SIZE(qps);
		break;
	case LKVFENCE_IOC_QUERY:
		arg->query.ranges = (uintptr_t)room;
		arg->query.nr_ranges = NR_RANGES;
		arg->query.leases = (uintptr_t)leases;
		arg->query.nr_leases = NR_SOURCES;
		break;
	}
}

/* After it gave its answer: slots and descriptors are as before, for the next time. */
static void undo(struct abi *abi, const struct way *way, union abi_arg *arg)
{
	struct lkvfence_return_item items[NR_SOURCES] = {};
	int i;

	abi_undo(command_of(way->cmd), arg);
	if (way->cmd != LKVFENCE_IOC_BEGIN && way->cmd != LKVFENCE_IOC_HOLD)
		return;
	for (i = 0; i < NR_SOURCES; i++)
		items[i] = (struct lkvfence_return_item){
			.generation = arg->begin.generation,
			.source = sources[i],
			.status = LKVFENCE_STATUS_DRAINED,
			.evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE,
		};
	need(lkvfence_return(abi->f, items, NR_SOURCES) == NR_SOURCES, "RETURN");
	if (way->cmd == LKVFENCE_IOC_BEGIN) {
		arg->release = (struct lkvfence_release){
			.size = sizeof(arg->release),
			.generation = items[0].generation,
		};
		need(!sys(abi->fd, LKVFENCE_IOC_RELEASE, arg), "RELEASE");
	}
}

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* Memory that was had before what followed was refused is given back. */
static uint64_t sources_alive(void)
{
	uint64_t created = strtoull(line_of(OBJECTS "sources_created"), NULL, 10);

	return created - strtoull(line_of(OBJECTS "sources_destroyed"), NULL, 10);
}

static bool same(struct abi *abi, struct lkvfence_stat *before)
{
	struct lkvfence_stat now = stat_of(abi->f);

	before->oldest_hold_ns = now.oldest_hold_ns;
	return !memcmp(before, &now, sizeof(now));
}

static void walk(struct abi *abi, const struct way *way)
{
	unsigned int nth, refused = 0, harmless = 0, wrong = 0, changed = 0, left = 0;
	/* Where there is no QP to be bound it isn't success, but it is the end. */
	const int answer = abi_answer(abi, command_of(way->cmd));
	int ret = answer;

	for (nth = 1; nth < MAX_PLACES; nth++) {
		struct lkvfence_stat before;
		union abi_arg arg;
		uint64_t alive = sources_alive();
		int fd = next_fd();
		bool did;

		prepare(abi, way, &arg);
		before = stat_of(abi->f);
		fail_at(nth);
		ret = abi_call(abi, command_of(way->cmd), &arg);
		did = did_fail();
		if (ret != answer) {
			refused++;
			wrong += !did || ret != -ENOMEM;
			changed += !same(abi, &before);
		} else {
			undo(abi, way, &arg);
			harmless += did;
		}
		left += next_fd() != fd || region_exists("fail-nth-new") ||
			sources_alive() != alive;
		if (!did)
			break;
	}
	check(ret == answer && nth < MAX_PLACES,
	      "%s: %u places to refuse memory, of which %u do no harm", way->what,
	      nth - 1, harmless);
	gives(wrong, 0, "%s: where it fails it says ENOMEM", way->what);
	gives(changed, 0, "%s: and has changed nothing", way->what);
	gives(left, 0, "%s: and leaves no descriptor, no region and no source", way->what);
	if (way->needs_memory)
		check(refused, "%s: it can fail so (%u did)", way->what, refused);
	else
		gives(refused, 0, "%s: it needs no memory", way->what);
}

int main(void)
{
	/* Its memory is needed only where QPs are bound. */
	const bool binds = can_revoke();
	const struct way ways[] = {
		{ "INFO", LKVFENCE_IOC_INFO, false, false },
		{ "OPEN", LKVFENCE_IOC_OPEN, false, true },
		{ "OPEN, which creates", LKVFENCE_IOC_OPEN, true, true },
		{ "STAT", LKVFENCE_IOC_STAT, false, false },
		{ "BEGIN", LKVFENCE_IOC_BEGIN, false, true },
		{ "BEGIN with OFFER", LKVFENCE_IOC_BEGIN, true, true },
		{ "HOLD", LKVFENCE_IOC_HOLD, false, true },
		{ "TAKE", LKVFENCE_IOC_TAKE, false, true },
		{ "RETURN", LKVFENCE_IOC_RETURN, false, false },
		{ "ABORT", LKVFENCE_IOC_ABORT, false, false },
		{ "ABORT with EARLY", LKVFENCE_IOC_ABORT, true, true },
		{ "RELEASE", LKVFENCE_IOC_RELEASE, false, false },
		{ "QUERY", LKVFENCE_IOC_QUERY, false, true },
		{ "ADOPT", LKVFENCE_IOC_ADOPT, false, false },
		{ "SOURCE", LKVFENCE_IOC_SOURCE, false, binds },
		{ "QUIET", LKVFENCE_IOC_QUIET, false, false },
		{ "REPORT", LKVFENCE_IOC_REPORT, false, false },
		{ "QUERY_SOURCE", LKVFENCE_IOC_QUERY_SOURCE, false, true },
		{ "READY", LKVFENCE_IOC_READY, false, false },
		{ "PULL", LKVFENCE_IOC_PULL, false, true },
		{ "WITHDRAW", LKVFENCE_IOC_WITHDRAW, false, false },
	};
	struct abi abi;
	size_t i;

	if (!configure()) {
		skip("no fault injection in this kernel", "memory that is refused");
		return done();
	}
	for (i = 0; i < NR_RANGES; i++)
		ranges[i] = (struct lkvfence_range){ .first = 40000 + 2 * i, .count = 1 };
	for (i = 0; i < NR_SOURCES; i++)
		sources[i] = i + 1;
	/* No deadline may come while two answers of STAT are compared. */
	set_param("timeout_default_ms", 3600000);
	abi = abi_start("fail-nth");
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		walk(&abi, &ways[i]);
	put_back();
	return abi_done(&abi);
}
