// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* An OPEN that fails, wherever it does, leaves no descriptor, handle or region. */
#include <pthread.h>
#include <sys/mman.h>

#include "e2e.h"

#define NAME	"open-leaves-nothing"
#define OBJECTS	"/sys/class/misc/lkvfence/objects/"
#define TRIES	60

static struct lkvfence_open request(uint32_t flags, uint32_t nr_slots)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = flags,
		.name = NAME,
		.slot_size = nr_slots ? 65536 : 0,
		.nr_slots = nr_slots,
		.mode = 0600,
	};

	return open;
}

static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void refused(int dev, struct lkvfence_open open, int err, const char *what)
{
	int fd = next_fd();

	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), err, "%s", what);
	gives(next_fd(), fd, "the next descriptor is the same as before");
}

static void refusals(int dev)
{
	int fd;

	refused(dev, request(0, 0), -ENOENT, "a name that isn't there");
	fd = region_fd(NAME, 64, 0);
	refused(dev, request(LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE, 64),
		-EEXIST, "EXCLUSIVE, and it is there");
	refused(dev, request(0, 63), -ENOTUNIQ, "another geometry");
	close(fd);
	need(until(!region_exists(NAME)), "no region");
	set_param("max_regions", 0);
	refused(dev, request(LKVFENCE_OPEN_CREATE, 64), -ENOSPC, "too many regions");
	put_params_back();
	check(!region_exists(NAME), "there is no region");
}

/* Memory that can't be written any more, from some time after @go. */
static char *page;
static bool go;
static unsigned int delay_us;

static void *spoils(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		;
	usleep(delay_us);
	mprotect(page, 4096, PROT_READ);
	return NULL;
}

static uint64_t count(const char *what)
{
	return strtoull(line_of(OBJECTS "%s", what), NULL, 10);
}

static uint64_t handles(void)
{
	return count("handles_created") - count("handles_destroyed");
}

/* Making the maps of so many slots takes long enough to spoil the answer. */
static bool spoiled(int dev, unsigned int nr, int *ret)
{
	struct lkvfence_open open = request(LKVFENCE_OPEN_CREATE, 1 << 22);
	uint64_t before = count("regions_created");
	pthread_t thread;

	need(!mprotect(page, 4096, PROT_READ | PROT_WRITE), "mprotect");
	snprintf(open.name, sizeof(open.name), NAME "-%u", nr);
	memcpy(page, &open, sizeof(open));
	go = false;
	need(!pthread_create(&thread, NULL, spoils, NULL), "a thread");
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	*ret = sys(dev, LKVFENCE_IOC_OPEN, page);
	pthread_join(thread, NULL);
	if (!*ret) {
		memcpy(&open, page, sizeof(open));
		close(open.fd);
	}
	return *ret && count("regions_created") > before;
}

static void faults(int dev)
{
	unsigned int i, hit = 0, wrong = 0, fds = 0;
	uint64_t before = handles();

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(page != MAP_FAILED, "memory");
	for (i = 0; i < TRIES && hit < 3; i++) {
		int fd = next_fd(), ret;

		/* From too early to too late. */
		delay_us = i % 20 * 500;
		hit += spoiled(dev, i, &ret);
		wrong += ret && ret != -EFAULT;
		fds += next_fd() != fd;
	}
	check(hit, "the answer of OPEN can't be written, in %u of %u calls", hit, i);
	gives(wrong, 0, "it is EFAULT");
	gives(fds, 0, "no descriptor is left");
	gives(handles() - before, 0, "nor a handle");
}

int main(void)
{
	int dev = device();

	refusals(dev);
	faults(dev);
	close(dev);
	return done();
}
