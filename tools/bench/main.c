// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * lkvfence-bench [--json FILE] [--repeat N] [--holds N] [--pulls N] [--only PART]
 *
 *   --json FILE   write the results there, too
 *   --repeat N    repetitions of an operation (2001); a fifth of that, and one, of
 *                 an answer
 *   --holds N     holds in the crowd (100000)
 *   --pulls N     pulls in the crowd (10000)
 *   --only PART   baseline, fence, orphans, latency or answers
 *
 * Prints what each operation costs, and writes the same as JSON. There is no
 * pass or fail in it: the exit status is 0 unless something could not be
 * measured at all.
 *
 * Needs root, the module, and an RDMA device. `make bench` gives it a machine
 * of its own whose clock counts instructions, and sets LKVFENCE_ICOUNT=1 to
 * say so; the program checks that before it calls anything "instructions".
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <lkvfence.h>
#include "bench.h"

#define CGROUP	"/sys/fs/cgroup"

void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	fprintf(stderr, "lkvfence-bench: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(1);
}

static uint32_t number(const char *option, const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || !value || value > 400000) {
		errno = 0;
		die("--%s takes a number from 1 to 400000, not '%s'", option, text);
	}
	return value;
}

static const struct {
	const char *name;
	void (*run)(const struct options *options);
} parts[] = {
	{ "baseline", baseline },
	{ "fence", fence },
	{ "orphans", orphans },
	{ "latency", latency },
	{ "answers", answers },
};

static const char *known_part(const char *text)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!strcmp(text, parts[i].name))
			return text;
	}
	errno = 0;
	die("there is no part '%s'", text);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "holds", required_argument, NULL, 'h' },
		{ "pulls", required_argument, NULL, 'p' },
		{ "only", required_argument, NULL, 'o' },
		{ 0 },
	};
	struct options options = { .repeat = 2001, .holds = 100000, .pulls = 10000 };
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'j':
			options.json = optarg;
			break;
		case 'r':
			options.repeat = number("repeat", optarg);
			break;
		case 'h':
			options.holds = number("holds", optarg);
			break;
		case 'p':
			options.pulls = number("pulls", optarg);
			break;
		case 'o':
			options.only = known_part(optarg);
			break;
		default:
			exit(2);
		}
	}
	return options;
}

/* One processor, so that neither caches nor clocks are changed on the way. */
static void stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	return !close(fd) && done;
}

/*
 * Into a cgroup of our own: an engine runs in a container, where the kernel
 * charges what it allocates for it. In the root cgroup it would not, and all
 * would look cheaper than it is.
 */
static bool enter_cgroup(void)
{
	return write_file(CGROUP "/cgroup.subtree_control", "+memory") &&
	       (!mkdir(CGROUP "/lkvfence-bench", 0755) || errno == EEXIST) &&
	       write_file(CGROUP "/lkvfence-bench/cgroup.procs", "0");
}

static bool counts_instructions(void)
{
	const char *said = getenv("LKVFENCE_ICOUNT");
	bool is = measure_counts_instructions();

	if (!said || strcmp(said, "1"))
		return false;
	if (!is)
		fprintf(stderr, "lkvfence-bench: LKVFENCE_ICOUNT is set, but this clock doesn't count instructions\n");
	return is;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct machine machine = { 0 };
	struct lkvfence_info info = { 0 };
	struct utsname name;

	errno = 0;
	if (lkvfence_info(&info))
		die("%s", lkvfence_errmsg());
	if (uname(&name))
		die("uname");
	snprintf(machine.kernel, sizeof(machine.kernel), "%s", name.release);
	snprintf(machine.module, sizeof(machine.module), "%s", info.version);
	machine.abi = info.abi;

	stay_here();
	machine.charged = enter_cgroup();
	measure_calibrate(options.repeat);
	machine.instructions = counts_instructions();

	for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!options.only || !strcmp(options.only, parts[i].name))
			parts[i].run(&options);
	}
	report_print(&machine);
	if (options.json)
		report_json(&machine, options.json);
	return 0;
}
