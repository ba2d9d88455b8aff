// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What it can be compared with: the cheapest system calls there are, a wakeup
 * by eventfd, and what an engine would have to pay instead of a fence, namely
 * registering its memory anew for every transfer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <lkvfence.h>
#include "bench.h"

#define MR_SIZE	65536

static int null_fd, event_fd;
static struct ibv_pd *pd;
static void *memory;

static void run_getppid(void)
{
	syscall(SYS_getppid);
}

static void run_ioctl(void)
{
	ioctl(null_fd, LKVFENCE_IOC_INFO, NULL);
}

static void run_eventfd(void)
{
	uint64_t value = 1;

	if (write(event_fd, &value, sizeof(value)) != sizeof(value) ||
	    read(event_fd, &value, sizeof(value)) != sizeof(value))
		die("eventfd");
}

static void run_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, MR_SIZE,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	if (!mr || ibv_dereg_mr(mr))
		die("registering %d bytes", MR_SIZE);
}

static struct ibv_context *open_rdma(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	if (list && list[0])
		context = ibv_open_device(list[0]);
	if (list)
		ibv_free_device_list(list);
	if (!context)
		die("no RDMA device");
	return context;
}

void baseline(const struct options *options)
{
	static const struct op ops[] = {
		{ .name = "getppid", .run = run_getppid },
		{ .name = "refused ioctl on /dev/null", .run = run_ioctl },
		{ .name = "eventfd write + read", .run = run_eventfd },
		{ .name = "reg + dereg of a 64 KiB MR", .run = run_mr },
	};
	struct ibv_context *context = open_rdma();
	struct stats stats;
	uint32_t i;

	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	memory = mmap(NULL, MR_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pd = ibv_alloc_pd(context);
	if (null_fd < 0 || event_fd < 0 || memory == MAP_FAILED || !pd)
		die("setting up the baseline");

	report_group("for comparison");
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		stats = measure(&ops[i], options->repeat);
		report_add(ops[i].name, UNIT_COST, &stats, 0);
	}

	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	munmap(memory, MR_SIZE);
	close(event_fd);
	close(null_fd);
}
