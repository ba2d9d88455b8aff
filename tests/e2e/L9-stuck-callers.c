// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L9: callers that are stuck in the middle of a call, because the memory they
 * pass can't be read or written just now, delay nobody else, not even in their
 * own region. userfaultfd(2) makes such memory.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "e2e.h"

#define NAME	"L9-stuck-callers"
#define PAGE	4096

static char *memory;
static int nr_pages;

/* A page whose first touch sleeps until the process dies. */
static void *sticky(void)
{
	return memory + PAGE * nr_pages++;
}

static bool make_memory(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range.len = 64 * PAGE,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		return false;
	memory = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)memory;
	return memory != MAP_FAILED && !ioctl(fd, UFFDIO_API, &api) &&
	       !ioctl(fd, UFFDIO_REGISTER, &reg);
}

static void stuck_begin(struct lkvfence *f)
{
	struct lkvfence_begin b = want(100, 0, 1, 1);

	b.ranges = (uintptr_t)sticky();
	lkvfence_begin(f, &b);
}

static void stuck_sources(struct lkvfence *f)
{
	struct lkvfence_begin b = want(101, 0, 1, 1);

	b.sources = (uintptr_t)sticky();
	lkvfence_hold(f, &b);
}

static void stuck_return(struct lkvfence *f)
{
	lkvfence_return(f, sticky(), 1);
}

static void stuck_query(struct lkvfence *f)
{
	struct lkvfence_query q = {
		.by = LKVFENCE_QUERY_NEXT,
		.ranges = (uintptr_t)sticky(),
		.nr_ranges = 1,
	};

	lkvfence_query(f, &q);
}

static void stuck_stat(struct lkvfence *f)
{
	ioctl(lkvfence_fd(f), LKVFENCE_IOC_STAT, sticky());
}

static void stuck_open(struct lkvfence *f)
{
	(void)f;
	ioctl(device(), LKVFENCE_IOC_OPEN, sticky());
}

static void stuck_read(struct lkvfence *f)
{
	lkvfence_abort_generation(f, begin(f, 102, 50, 1, 0));
	if (read(lkvfence_fd(f), sticky(), PAGE) < 0)
		return;
}

static void (*const stuck[])(struct lkvfence *f) = {
	stuck_begin, stuck_sources, stuck_return, stuck_query, stuck_stat,
	stuck_open, stuck_read,
};

static struct lkvfence *theirs;

static void *thread_main(void *arg)
{
	(*(void (**)(struct lkvfence *))arg)(theirs);
	/* Nobody comes here before the end of the test. */
	__atomic_store_n(&nr_pages, -1000, __ATOMIC_RELEASE);
	return NULL;
}

/* A process with a thread in each of these calls, all on one handle. */
static int victims(int pipe)
{
	struct lkvfence_event e;
	pthread_t thread;
	unsigned int i;

	if (!make_memory())
		return write(pipe, "n", 1);
	theirs = region(NAME, 64);
	begin(theirs, 99, 60, 1, 1);
	for (i = 0; i < ARRAY_SIZE(stuck); i++) {
		int before = nr_pages;

		pthread_create(&thread, NULL, thread_main, (void *)&stuck[i]);
		while (__atomic_load_n(&nr_pages, __ATOMIC_ACQUIRE) == before)
			usleep(1000);
	}
	usleep(300000);
	/* Another reader of the same handle, which doesn't block. */
	if (lkvfence_events(theirs, &e, 1, 0))
		nr_pages = 0;
	if (write(pipe, nr_pages == ARRAY_SIZE(stuck) ? "y" : "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

int main(void)
{
	struct lkvfence *f = region(NAME, 64);
	struct lkvfence_event e;
	int64_t start;
	uint64_t g;
	int fds[2];
	pid_t pid;
	char c = 0;

	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(victims(fds[1]));
	need(read(fds[0], &c, 1) == 1, "the other process");
	if (c == 'n') {
		skip("no userfaultfd", "callers that are stuck");
		lkvfence_close(f);
		return done();
	}
	check(c == 'y',
	      "%zu threads are stuck in calls, and keep no other from reading", ARRAY_SIZE(stuck));

	start = now_ns();
	g = begin(f, 1, 0, 8, 1);
	check(true, "BEGIN");
	gives(lkvfence_take(f, g, 2), 0, "TAKE");
	gives(drained(f, g, 1), 0, "RETURN");
	gives(lkvfence_abort_generation(f, g), 0, "ABORT");
	gives(query(f, g).leases_out, 1, "QUERY");
	gives(drained(f, g, 2), 0, "RETURN, the last");
	gives(event(f).generation == g, 1, "its event");
	gives(lkvfence_release(f, begin(f, 1, 0, 8, 0)), 0, "RELEASE");
	g = hold(f, 2, 8, 8, 1, LKVFENCE_POLICY_TAINT, 20);
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_TIMEOUT, "a deadline");
	lkvfence_close(region(NAME, 0));
	check(true, "OPEN, close");
	gives(atoi(line_of("/sys/class/misc/lkvfence/regions/" NAME "/handles")), 2,
	      "sysfs");
	note("all that took %.1f ms", (now_ns() - start) / 1e6);

	kill(pid, SIGKILL);
	gives(status_of(pid), 128 + SIGKILL, "those who are stuck can be killed");
	gives(stat_of(f).transfers_held, 1, "what they held is an orphan");
	clear(f);
	lkvfence_close(f);
	return done();
}
