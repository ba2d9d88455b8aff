// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The other end of a latency: a thread of this process, on the same processor,
 * that is asleep before the cause, is woken by it, and reads the clock when it has
 * in its hands what it was told. It has a priority above all others', so that it
 * runs when it is woken, and not now and then only when who woke it sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "waiter.h"

static pthread_t thread;
static sem_t go, done;
/* Its state, as the kernel sees it. */
static int stat_fd;

/* What it is to do; written before @go, read after it. */
static enum waiter_kind kind;
static struct lkvfence *handle;
static int descriptor;
static bool stopping;

/* It does nothing more that could sleep but what it was asked to. */
static atomic_bool armed;
static atomic_uint word;

/* What it saw; written before @done, read after it. */
static uint64_t seen_ns;
static struct lkvfence_event seen;

uint64_t waiter_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void wait_for_event(void)
{
	if (lkvfence_events(handle, &seen, 1, -1) == 1)
		return;
	errno = 0;
	die("events: %s", lkvfence_errmsg());
}

static void wait_for_futex(void)
{
	while (!atomic_load(&word)) {
		if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) &&
		    errno != EAGAIN)
			die("futex");
	}
}

static void wait_for_fd(void)
{
	struct pollfd pfd = { .fd = descriptor, .events = POLLIN };
	uint64_t value;

	if (poll(&pfd, 1, -1) != 1 || read(descriptor, &value, sizeof(value)) < 0)
		die("a descriptor");
}

static void *waiter_main(void *arg)
{
	const struct sched_param above = { .sched_priority = 1 };
	char path[64];

	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &above);
	if (errno)
		die("priority");
	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", syscall(SYS_gettid));
	stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (stat_fd < 0)
		die("%s", path);
	sem_post(&done);
	for (;;) {
		sem_wait(&go);
		if (stopping)
			return arg;
		atomic_store(&armed, true);
		switch (kind) {
		case WAITER_EVENT:
			wait_for_event();
			break;
		case WAITER_FUTEX:
			wait_for_futex();
			break;
		case WAITER_FD:
			wait_for_fd();
			break;
		}
		seen_ns = waiter_now();
		sem_post(&done);
	}
}

void waiter_start(void)
{
	stopping = false;
	if (sem_init(&go, 0, 0) || sem_init(&done, 0, 0))
		die("semaphore");
	errno = pthread_create(&thread, NULL, waiter_main, NULL);
	if (errno)
		die("thread");
	sem_wait(&done);
}

void waiter_stop(void)
{
	stopping = true;
	sem_post(&go);
	pthread_join(thread, NULL);
	close(stat_fd);
	sem_destroy(&go);
	sem_destroy(&done);
}

static bool asleep(void)
{
	char text[256];
	ssize_t nr = pread(stat_fd, text, sizeof(text) - 1, 0);
	const char *end;

	if (nr <= 0)
		die("state of a thread");
	text[nr] = 0;
	/* "tid (name) S" */
	end = strrchr(text, ')');
	return end && !strncmp(end, ") S", 3);
}

void waiter_arm(enum waiter_kind on, struct lkvfence *f, int fd)
{
	kind = on;
	handle = f;
	descriptor = fd;
	atomic_store(&word, 0);
	atomic_store(&armed, false);
	sem_post(&go);
	while (!atomic_load(&armed) || !asleep())
		sched_yield();
}

void waiter_wake(void)
{
	atomic_store(&word, 1);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

uint64_t waiter_seen(struct lkvfence_event *event)
{
	sem_wait(&done);
	*event = seen;
	return seen_ns;
}
