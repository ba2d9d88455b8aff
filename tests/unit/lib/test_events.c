// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence_events(): timeouts, signals, and events that others read first. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void put_event(uint64_t generation)
{
	struct lkvfence_event e = { .generation = generation };

	assert_int_equal(write(fake.pipe_in, &e, sizeof(e)), sizeof(e));
}

static void what_is_there(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e[4];

	(void)state;
	put_event(1);
	put_event(2);
	put_event(3);
	errno = EXDEV;
	assert_int_equal(lkvfence_events(f, e, 2, 0), 2);
	assert_int_equal(e[1].generation, 2);
	assert_int_equal(lkvfence_events(f, e, 4, -1), 1);
	assert_int_equal(e[0].generation, 3);
	/* events that are there cost one system call */
	assert_int_equal(fake.polls, 0);
	assert_int_equal(fake.reads, 2);
	assert_int_equal(errno, EXDEV);
	lkvfence_close(f);
}

static void no_wait(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	errno = EXDEV;
	assert_int_equal(lkvfence_events(f, &e, 1, 0), 0);
	assert_int_equal(fake.polls, 0);
	assert_int_equal(errno, EXDEV);
	lkvfence_close(f);
}

static void time_passes(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;
	int64_t t = now_ms();

	(void)state;
	assert_int_equal(lkvfence_events(f, &e, 1, 50), 0);
	assert_true(now_ms() - t >= 50);
	/* it sleeps in poll, it doesn't spin */
	assert_true(fake.polls <= 3);
	lkvfence_close(f);
}

static int event_comes(struct pollfd *pfd, int timeout)
{
	(void)timeout;
	put_event(42);
	pfd->revents = POLLIN;
	return 1;
}

static void event_comes_in_time(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	fake.poll = event_comes;
	assert_int_equal(lkvfence_events(f, &e, 1, -1), 1);
	assert_int_equal(e.generation, 42);
	assert_int_equal(fake.poll_timeout, -1);
	/* any negative time is for ever */
	assert_int_equal(lkvfence_events(f, &e, 1, INT_MIN), 1);
	assert_int_equal(fake.poll_timeout, -1);
	assert_int_equal(lkvfence_events(f, &e, 1, INT_MAX), 1);
	assert_true(fake.poll_timeout > INT_MAX - 1000);
	lkvfence_close(f);
}

/* An event is there when poll looks, and gone when read comes */
static int event_is_stolen(struct pollfd *pfd, int timeout)
{
	struct lkvfence_event e;
	int ret;

	if (fake.polls > 3)
		return __real_poll(pfd, 1, timeout);
	put_event(42);
	ret = __real_poll(pfd, 1, timeout);
	assert_int_equal(ret, 1);
	usleep(50000);
	assert_int_equal(__real_read(pfd->fd, &e, sizeof(e)), sizeof(e));
	return ret;
}

static void stolen(struct lkvfence *f)
{
	struct lkvfence_event e;
	int64_t t = now_ms();

	fake.poll = event_is_stolen;
	assert_int_equal(lkvfence_events(f, &e, 1, 1000), 0);
	assert_true(now_ms() - t >= 1000);
	assert_true(fake.polls > 3);
	/* what was waited before the theft counts */
	assert_true(fake.poll_timeout <= 851);
}

static void stolen_event(void **state)
{
	struct lkvfence *f = fake_handle();

	(void)state;
	stolen(f);
	lkvfence_close(f);
}

static void stolen_event_on_blocking_descriptor(void **state)
{
	int fd = dup(fake.pipe_out);
	struct lkvfence *f;

	(void)state;
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(lkvfence_from_fd(&f, fd), 0);
	stolen(f);
	lkvfence_close(f);
}

static int poll_eintr(struct pollfd *pfd, int timeout)
{
	(void)pfd;
	(void)timeout;
	errno = EINTR;
	return -1;
}

static ssize_t read_eintr(int fd, void *buf, size_t len)
{
	(void)fd;
	(void)buf;
	(void)len;
	errno = EINTR;
	return -1;
}

static void signals_are_told(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	errno = EXDEV;
	fake.poll = poll_eintr;
	assert_int_equal(lkvfence_events(f, &e, 1, 1000), -EINTR);
	assert_errmsg("signal");
	fake.poll = NULL;
	fake.read = read_eintr;
	assert_int_equal(lkvfence_events(f, &e, 1, 0), -EINTR);
	assert_int_equal(errno, EXDEV);
	lkvfence_close(f);
}

static int poll_hup(struct pollfd *pfd, int timeout)
{
	(void)timeout;
	pfd->revents = POLLHUP;
	return 1;
}

static void no_spinning_on_a_dead_descriptor(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	fake.poll = poll_hup;
	assert_int_equal(lkvfence_events(f, &e, 1, -1), -EIO);
	assert_int_equal(fake.polls, 1);
	lkvfence_close(f);
}

static void closed_behind_its_back(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	close(lkvfence_fd(f));
	assert_int_equal(lkvfence_events(f, &e, 1, 0), -EBADF);
	assert_errmsg("not by lkvfence_close()");
	lkvfence_close(f);
}

static size_t read_len;

static ssize_t read_size(int fd, void *buf, size_t len)
{
	(void)fd;
	(void)buf;
	read_len = len;
	errno = EAGAIN;
	return -1;
}

static void odd_counts(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;

	(void)state;
	assert_int_equal(lkvfence_events(f, &e, 0, 0), -EINVAL);
	assert_int_equal(fake.reads, 0);
	fake.read = read_size;
	assert_int_equal(lkvfence_events(f, &e, UINT32_MAX, 0), 0);
	assert_true(read_len <= INT_MAX);
	assert_int_equal(read_len % sizeof(e), 0);
	lkvfence_close(f);
}

/* Parent and child share the handle, and one event goes to one of them */
static void fork_shares_the_handle(void **state)
{
	struct lkvfence *f = fake_handle();
	struct lkvfence_event e;
	int status;
	pid_t pid;

	(void)state;
	put_event(1);
	put_event(2);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int n = lkvfence_events(f, &e, 1, 5000);

		lkvfence_close(f);
		_exit(n == 1 && e.generation == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* the child's close was not the handle's end */
	assert_int_equal(lkvfence_events(f, &e, 1, 0), 1);
	assert_int_equal(e.generation, 2);
	assert_int_equal(lkvfence_events(f, &e, 1, 0), 0);
	lkvfence_close(f);
}

#define THREADS		4
#define EVENTS		2000

static struct lkvfence *shared;
static unsigned char seen[EVENTS];
static int total;

static void *reader(void *arg)
{
	struct lkvfence_event e[3];
	int n, i;

	(void)arg;
	while (__atomic_load_n(&total, __ATOMIC_ACQUIRE) < EVENTS) {
		n = lkvfence_events(shared, e, 3, 20);
		if (n < 0)
			return (void *)(intptr_t)n;
		for (i = 0; i < n; i++)
			__atomic_add_fetch(&seen[e[i].generation], 1,
					   __ATOMIC_RELAXED);
		__atomic_add_fetch(&total, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void several_readers(void **state)
{
	pthread_t t[THREADS];
	void *ret;
	int i;

	(void)state;
	shared = fake_handle();
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, NULL), 0);
	for (i = 0; i < EVENTS; i++)
		put_event(i);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &ret), 0);
		assert_null(ret);
	}
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(seen[i], 1);
	lkvfence_close(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(what_is_there),
		FAKE_TEST(no_wait),
		FAKE_TEST(time_passes),
		FAKE_TEST(event_comes_in_time),
		FAKE_TEST(stolen_event),
		FAKE_TEST(stolen_event_on_blocking_descriptor),
		FAKE_TEST(signals_are_told),
		FAKE_TEST(no_spinning_on_a_dead_descriptor),
		FAKE_TEST(closed_behind_its_back),
		FAKE_TEST(odd_counts),
		FAKE_TEST(several_readers),
		FAKE_TEST(fork_shares_the_handle),
	};

	return cmocka_run_group_tests_name("lib-events", tests, NULL, NULL);
}
