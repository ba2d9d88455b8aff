// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * After an engine's worker has died: sources that it had bound stay, for as long
 * as they have leases, and belong to nobody. Other handles of the region must not
 * pay for that (L9): BEGIN and RELEASE cost what they cost before.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence.h>
#include "bench.h"
#include "verbs.h"

#define NR_SOURCES	1000U
#define NAME		"bench-orphans"

static struct lkvfence *region;

static void check(int err)
{
	if (err >= 0)
		return;
	errno = 0;
	die("%s", lkvfence_errmsg());
}

static struct lkvfence *open_region(void)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE,
		.name = NAME,
		.slot_size = 65536,
		.nr_slots = NR_SOURCES + 16,
		.mode = 0600,
	};
	struct lkvfence *f;

	check(lkvfence_open(&f, &open));
	return f;
}

/* One queue pair for all of them: the kernel doesn't mind. */
static void worker_main(int fd)
{
	struct device device;
	struct lkvfence_qp name = { .number = 0 };
	struct lkvfence_source source = { .qps = (uintptr_t)&name, .nr_qps = 1 };
	struct lkvfence *f = open_region();
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	device_open(&device);
	cq = ibv_create_cq(device.context, 16, NULL, NULL, 0);
	if (!cq)
		die("no completion queue");
	qp = device_qp(&device, cq);
	device_connect(&device, qp, &device.gid, qp->qp_num);
	snprintf(name.device, sizeof(name.device), "%s",
		 ibv_get_device_name(device.context->device));
	name.number = qp->qp_num;
	for (source.source = 0; source.source < NR_SOURCES; source.source++)
		check(lkvfence_source(f, &source));
	if (write(fd, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

static pid_t start_worker(void)
{
	pid_t parent = getpid(), pid;
	int ends[2];
	char bound;

	if (pipe(ends))
		die("pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		close(ends[0]);
		worker_main(ends[1]);
	}
	close(ends[1]);
	if (read(ends[0], &bound, 1) != 1) {
		errno = 0;
		die("the worker has bound no sources");
	}
	close(ends[0]);
	return pid;
}

/* The slot behind those of the sources, without a lease. */
static void begin_release(void)
{
	struct lkvfence_range range = { NR_SOURCES, 16 };
	struct lkvfence_begin b = {
		.tag = NR_SOURCES,
		.ranges = (uintptr_t)&range,
		.nr_ranges = 1,
	};

	check(lkvfence_begin(region, &b));
	check(lkvfence_release(region, b.generation));
}

static void must_be(uint64_t sources, uint64_t handles)
{
	struct lkvfence_stat stat;

	check(lkvfence_stat(region, &stat));
	errno = 0;
	if (stat.sources != sources || stat.handles != handles)
		die("%llu sources and %llu handles", (unsigned long long)stat.sources,
		    (unsigned long long)stat.handles);
}

void orphans(const struct options *options)
{
	static const struct op op = {
		"BEGIN + RELEASE, one range of 16 slots", 0, NULL, begin_release, NULL
	};
	static uint64_t generations[NR_SOURCES];
	struct lkvfence_info info = { 0 };
	struct stats before, after, ratio = { 0 };
	pid_t pid;

	check(lkvfence_info(&info));
	/* Nothing can be bound: there is nothing to measure. */
	if (!(info.features & LKVFENCE_FEATURE_QP))
		return;
	region = open_region();
	pid = start_worker();
	for (uint32_t i = 0; i < NR_SOURCES; i++) {
		struct lkvfence_range range = { i, 1 };
		struct lkvfence_begin b = {
			.tag = i,
			.ranges = (uintptr_t)&range,
			.sources = (uintptr_t)&i,
			.nr_ranges = 1,
			.nr_sources = 1,
		};

		check(lkvfence_begin(region, &b));
		generations[i] = b.generation;
	}
	must_be(NR_SOURCES, 2);
	before = measure(&op, options->repeat);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	must_be(NR_SOURCES, 1);
	after = measure(&op, options->repeat);

	report_group("with %u orphaned sources", NR_SOURCES);
	report_add(op.name, UNIT_COST, &after, 0);
	report_group("with %u orphaned sources, against before", NR_SOURCES);
	ratio.median = after.median / before.median;
	ratio.min = after.min / before.min;
	ratio.repeat = options->repeat;
	report_add(op.name, UNIT_RATIO, &ratio, 1.5);

	for (uint32_t i = 0; i < NR_SOURCES; i++) {
		check(lkvfence_drained(region, generations[i], i, LKVFENCE_EVIDENCE_SUCCESS_CQE));
		check(lkvfence_release(region, generations[i]));
	}
	must_be(0, 1);
	lkvfence_close(region);
}
