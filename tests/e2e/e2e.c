// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <grp.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "e2e.h"

/*
 * TAP
 */

static unsigned int nr_checks, nr_failed;

/* A child must not repeat what its parent has not written yet. */
__attribute__((constructor)) static void by_line(void)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

__attribute__((format(printf, 2, 0)))
static bool tell(bool good, const char *fmt, va_list args)
{
	char what[512];

	vsnprintf(what, sizeof(what), fmt, args);
	printf("%sok %u - %s\n", good ? "" : "not ", ++nr_checks, what);
	nr_failed += !good;
	return good;
}

bool e2e_check(bool good, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(good, fmt, args);
	va_end(args);
	if (!good)
		note("%s:%d", file, line);
	return good;
}

static const char *name_of(long ret, char buf[64])
{
	if (ret < 0 && ret > -4096)
		snprintf(buf, 64, "%ld (%s)", ret, strerror(-ret));
	else
		snprintf(buf, 64, "%ld", ret);
	return buf;
}

bool e2e_gives(long ret, long wanted, const char *file, int line,
	       const char *fmt, ...)
{
	char got[64], expected[64];
	va_list args;

	va_start(args, fmt);
	tell(ret == wanted, fmt, args);
	va_end(args);
	if (ret != wanted)
		note("%s:%d: got %s, expected %s", file, line,
		     name_of(ret, got), name_of(wanted, expected));
	return ret == wanted;
}

void e2e_bail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(false, fmt, args);
	va_end(args);
	note("%s:%d: %s, \"%s\"; can't go on", file, line,
	     strerror(errno), lkvfence_errmsg());
	exit(1);
}

void skip(const char *why, const char *fmt, ...)
{
	va_list args;

	printf("ok %u - ", ++nr_checks);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(" # SKIP %s\n", why);
}

void note(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

int done(void)
{
	printf("1..%u\n", nr_checks);
	return nr_failed || !nr_checks;
}

/*
 * Statistics
 */

struct member {
	const char *name;
	size_t offset;
};

#define MEMBER(m)	{ #m, offsetof(struct lkvfence_stat, m) }

/* All of it, but for the age of the oldest hold, and handles: see below. */
static const struct member members[] = {
	MEMBER(slot_size), MEMBER(base), MEMBER(slots), MEMBER(slots_taken),
	MEMBER(slots_held), MEMBER(slots_quarantined), MEMBER(transfers_alive),
	MEMBER(transfers_held), MEMBER(transfers_quarantined), MEMBER(begun),
	MEMBER(released[0]), MEMBER(released[1]), MEMBER(released[2]),
	MEMBER(released[3]), MEMBER(released[4]), MEMBER(released[5]),
	MEMBER(released[6]), MEMBER(released[7]),
	MEMBER(returns_drained), MEMBER(returns_failed), MEMBER(returns_revoked),
	MEMBER(returns_early), MEMBER(returns_stale), MEMBER(returns_unknown),
	MEMBER(returns_duplicate), MEMBER(returns_unaccepted),
	MEMBER(refused_busy), MEMBER(refused_exists), MEMBER(refused_limit),
	MEMBER(refused_revoked), MEMBER(forced), MEMBER(revokes),
	MEMBER(revokes_failed), MEMBER(evidence[0]), MEMBER(evidence[1]),
	MEMBER(evidence[2]), MEMBER(evidence[3]), MEMBER(evidence[4]),
	MEMBER(evidence[5]), MEMBER(evidence[6]), MEMBER(evidence[7]),
	MEMBER(evidence[8]), MEMBER(evidence[9]), MEMBER(evidence[10]),
	MEMBER(evidence[11]), MEMBER(evidence[12]), MEMBER(evidence[13]),
	MEMBER(evidence[14]), MEMBER(evidence[15]), MEMBER(sources),
	MEMBER(sources_revoked), MEMBER(sources_lost), MEMBER(strays),
	MEMBER(strays_late), MEMBER(mismatches), MEMBER(transfers_ready),
	MEMBER(tickets), MEMBER(tombstones), MEMBER(pulls),
	MEMBER(pulls_granted), MEMBER(pulls_refused), MEMBER(pulls_closed),
	MEMBER(refused_early), MEMBER(transfers_gathered), MEMBER(joined),
	MEMBER(ended_by_group),
};

_Static_assert(ARRAY_SIZE(members) + 2 ==
	       (sizeof(struct lkvfence_stat) - offsetof(struct lkvfence_stat, slot_size)) /
	       sizeof(__u64), "a member of STAT that nobody looks at");

static uint64_t value(const struct lkvfence_stat *stat, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)stat + offset, sizeof(v));
	return v;
}

bool e2e_changed(struct lkvfence *f, const struct lkvfence_stat *before,
		 size_t member, uint64_t by, const char *file, int line,
		 const char *fmt, ...)
{
	struct lkvfence_stat after = stat_of(f);
	bool good = after.handles == before->handles;
	va_list args;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(members); i++) {
		size_t at = members[i].offset;

		if (value(&after, at) != value(before, at) + (at == member ? by : 0))
			good = false;
	}
	va_start(args, fmt);
	tell(good, fmt, args);
	va_end(args);
	for (i = 0; i < ARRAY_SIZE(members) && !good; i++) {
		size_t at = members[i].offset;

		if (value(&after, at) != value(before, at) || at == member)
			note("%s:%d: %s: %" PRIu64 " before, %" PRIu64 " now",
			     file, line, members[i].name, value(before, at),
			     value(&after, at));
	}
	return good;
}

struct lkvfence_stat stat_of(struct lkvfence *f)
{
	struct lkvfence_stat stat;
	int err = lkvfence_stat(f, &stat);

	need(!err, "STAT");
	return stat;
}

bool adds_up(const struct lkvfence_stat *stat)
{
	uint64_t sum = stat->transfers_alive;
	int i;

	for (i = 0; i < LKVFENCE_MAX_OUTCOMES; i++)
		sum += stat->released[i];
	return stat->begun == sum &&
	       stat->pulls == stat->tickets + stat->pulls_granted +
			      stat->pulls_refused + stat->pulls_closed;
}

/*
 * Calls
 */

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int sys(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

int device(void)
{
	int fd = open(LKVFENCE_DEVICE, O_RDWR | O_CLOEXEC);

	need(fd >= 0, "open of " LKVFENCE_DEVICE);
	return fd;
}

static struct lkvfence_open geometry(const char *name, uint32_t slots,
				     uint32_t flags)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = flags | (slots ? LKVFENCE_OPEN_CREATE : 0),
		.slot_size = slots ? 65536 : 0,
		.nr_slots = slots,
		.mode = 0600,
	};

	snprintf(open.name, sizeof(open.name), "%s", name);
	return open;
}

struct lkvfence *region_of(const char *name, uint32_t slots, uint32_t accepts)
{
	struct lkvfence_open open = geometry(name, slots, 0);
	struct lkvfence *f;
	int err;

	open.accepts = accepts;
	err = lkvfence_open(&f, &open);
	need(!err, "open of region %s", name);
	return f;
}

struct lkvfence *region(const char *name, uint32_t slots)
{
	return region_of(name, slots, 0);
}

int region_fd(const char *name, uint32_t slots, uint32_t flags)
{
	struct lkvfence_open open = geometry(name, slots, flags);
	int dev = device();
	int err = sys(dev, LKVFENCE_IOC_OPEN, &open);

	need(!err, "OPEN of region %s", name);
	close(dev);
	return open.fd;
}

#define MAX_WANTED	4096

struct lkvfence_begin want(uint64_t tag, uint32_t first, uint32_t count,
			   uint32_t nr_sources)
{
	/* Threads and several requests at once: each has its own range. */
	static __thread struct lkvfence_range ranges[16];
	static uint32_t sources[MAX_WANTED];
	static __thread unsigned int next;
	struct lkvfence_range *range = &ranges[next++ % ARRAY_SIZE(ranges)];
	uint32_t i;

	need(nr_sources <= MAX_WANTED, "room for sources");
	for (i = 0; i < nr_sources; i++)
		__atomic_store_n(&sources[i], i + 1, __ATOMIC_RELAXED);
	*range = (struct lkvfence_range){ first, count };
	return (struct lkvfence_begin){
		.size = sizeof(struct lkvfence_begin),
		.tag = tag,
		.ranges = (uintptr_t)range,
		.nr_ranges = 1,
		.sources = (uintptr_t)sources,
		.nr_sources = nr_sources,
	};
}

uint64_t begin(struct lkvfence *f, uint64_t tag, uint32_t first,
	       uint32_t count, uint32_t nr_sources)
{
	struct lkvfence_begin b = want(tag, first, count, nr_sources);
	int err = lkvfence_begin(f, &b);

	need(!err, "BEGIN of tag %" PRIu64 ", slots %u+%u", tag, first, count);
	return b.generation;
}

uint64_t hold(struct lkvfence *f, uint64_t tag, uint32_t first, uint32_t count,
	      uint32_t nr_sources, uint32_t policy, unsigned int timeout_ms)
{
	struct lkvfence_begin b = want(tag, first, count, nr_sources);
	int err;

	b.policy = policy;
	b.timeout_ns = timeout_ms * MS;
	err = lkvfence_hold(f, &b);
	need(!err, "HOLD of tag %" PRIu64 ", slots %u+%u", tag, first, count);
	return b.generation;
}

int drained(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	return lkvfence_drained(f, generation, source,
				LKVFENCE_EVIDENCE_SUCCESS_CQE);
}

int revoked(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	return lkvfence_revoked(f, generation, source,
				LKVFENCE_EVIDENCE_QP_DESTROYED);
}

int abort_with(struct lkvfence *f, uint64_t generation, uint32_t policy,
	       unsigned int timeout_ms)
{
	struct lkvfence_abort a = {
		.generation = generation,
		.policy = policy,
		.timeout_ns = timeout_ms * MS,
	};

	return lkvfence_abort(f, &a);
}

void clear(struct lkvfence *f)
{
	static struct lkvfence_lease leases[MAX_WANTED];
	struct lkvfence_query q = { 0 };
	uint32_t i;

	for (;;) {
		q = (struct lkvfence_query){
			.by = LKVFENCE_QUERY_NEXT,
			.generation = q.generation,
			.leases = (uintptr_t)leases,
			.nr_leases = MAX_WANTED,
		};
		if (lkvfence_query(f, &q))
			break;
		for (i = 0; i < q.nr_leases; i++) {
			/* One that has failed only its memory's owner can prove. */
			if (drained(f, q.generation, leases[i].source))
				revoked(f, q.generation, leases[i].source);
		}
		/* The shortest deadline, where there was none and it is needed. */
		if (abort_with(f, q.generation, 0, 10) == -ERANGE)
			lkvfence_abort_generation(f, q.generation);
		lkvfence_force_release(f, q.generation);
	}
	/* What is left can't be proven any more, in a region that accepts little. */
	need(until(!stat_of(f).transfers_alive), "a region without transfers");
}

struct lkvfence_query query(struct lkvfence *f, uint64_t generation)
{
	struct lkvfence_query q = {
		.by = LKVFENCE_QUERY_GENERATION,
		.generation = generation,
	};
	int err = lkvfence_query(f, &q);

	need(!err, "QUERY of generation %" PRIu64, generation);
	return q;
}

struct lkvfence_event event(struct lkvfence *f)
{
	struct lkvfence_event e = { 0 };
	int n = lkvfence_events(f, &e, 1, PATIENCE_MS);

	need(n >= 0, "read of an event");
	return e;
}

bool silent(struct lkvfence *f)
{
	struct lkvfence_event e;

	return lkvfence_events(f, &e, 1, 0) == 0;
}

/*
 * Files
 */

const char *line_of(const char *fmt, ...)
{
	static char line[256];
	char path[512];
	va_list args;
	ssize_t n = 0;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	return line;
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

#define PARAMETERS	"/sys/module/lkvfence/parameters/"

static struct {
	char path[128];
	char old[32];
} touched[16];
static unsigned int nr_touched;
static pid_t toucher;

/* Last touched, first put back: some bound others. */
void put_params_back(void)
{
	if (getpid() != toucher)
		return;
	while (nr_touched) {
		nr_touched--;
		write_file(touched[nr_touched].path, touched[nr_touched].old);
	}
}

void set_param(const char *name, unsigned long val)
{
	char text[32];
	int err;

	if (!toucher) {
		toucher = getpid();
		atexit(put_params_back);
	}
	need(nr_touched < ARRAY_SIZE(touched), "room for parameters");
	snprintf(touched[nr_touched].path, sizeof(touched[0].path), "%s%s",
		 PARAMETERS, name);
	snprintf(touched[nr_touched].old, sizeof(touched[0].old), "%.30s",
		 line_of("%s%s", PARAMETERS, name));
	snprintf(text, sizeof(text), "%lu", val);
	err = write_file(touched[nr_touched].path, text);
	need(!err, "parameter %s = %lu", name, val);
	nr_touched++;
}

bool can_revoke(void)
{
	struct lkvfence_info info;

	need(!lkvfence_info(&info), "INFO");
	return info.features & LKVFENCE_FEATURE_QP;
}

bool logged(uint64_t generation, const char *words)
{
	char line[4096], number[32];
	bool found = false;
	ssize_t n;
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	need(fd >= 0, "open of /dev/kmsg");
	snprintf(number, sizeof(number), "generation %" PRIu64, generation);
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = 0;
		if (strstr(line, "lkvfence: ") && strstr(line, number) &&
		    strstr(line, words))
			found = true;
	}
	close(fd);
	return found;
}

bool region_exists(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/misc/lkvfence/regions/%s", name);
	return !access(path, F_OK);
}

/*
 * Processes
 */

int status_of(pid_t pid)
{
	int status;

	need(waitpid(pid, &status, 0) == pid, "wait for a child");
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

int in_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (!pid)
		_exit(fn(arg));
	return status_of(pid);
}

void become(uid_t uid, gid_t gid)
{
	need(!setgroups(0, NULL) && !setresgid(gid, gid, gid) &&
	     !setresuid(uid, uid, uid), "become uid %u, gid %u", uid, gid);
}

void lose(int cap)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	need(!syscall(SYS_capget, &header, data), "capget");
	data[cap / 32].effective &= ~(1U << cap % 32);
	data[cap / 32].permitted &= ~(1U << cap % 32);
	need(!syscall(SYS_capset, &header, data), "capset without %d", cap);
}
