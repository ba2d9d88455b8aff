// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reading events. Several threads and processes may read one handle, and an
 * event goes to whoever is first. So poll(2)'s answer may be out of date when
 * read(2) comes; that the descriptor is non-blocking (lkvfence_open() and
 * lkvfence_from_fd() see to it) is what keeps such a reader from waiting
 * longer than it was told to.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define NSEC_PER_MSEC	1000000
#define NSEC_PER_SEC	1000000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* What is left until @deadline, for poll(2): rounded up, so that it never spins */
static int left_ms(int64_t deadline)
{
	int64_t left = deadline - now_ns();

	if (left <= 0)
		return 0;
	left = (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return left > INT_MAX ? INT_MAX : (int)left;
}

static int read_events(const struct lkvfence *f, struct lkvfence_event *events,
		       uint32_t nr, int timeout_ms)
{
	static const struct timespec moment = { .tv_nsec = NSEC_PER_MSEC };
	struct pollfd pfd = { .fd = f->fd, .events = POLLIN };
	int64_t deadline = 0;
	bool broken = false, taken = false;
	ssize_t n;
	int ret;

	if (timeout_ms > 0)
		deadline = now_ns() + (int64_t)timeout_ms * NSEC_PER_MSEC;

	for (;;) {
		n = read(f->fd, events, nr * sizeof(*events));
		if (n >= 0)
			return n / sizeof(*events);
		if (errno != EAGAIN)
			return -errno;
		if (broken)
			return -EIO;
		/*
		 * There was an event, and another reader has it, or is stuck
		 * with it in a buffer that can't be written: give way, or this
		 * would spin for as long.
		 */
		if (taken)
			nanosleep(&moment, NULL);
		if (timeout_ms > 0)
			ret = left_ms(deadline);
		else
			ret = timeout_ms;
		if (!ret)
			return 0;

		ret = poll(&pfd, 1, ret);
		if (ret < 0)
			return -errno;
		/* Nothing to read and never will be: one last look, no spinning. */
		broken = ret > 0 && !(pfd.revents & POLLIN);
		taken = ret > 0 && !broken;
		/*
		 * When the time is up an event may still have come in: the
		 * loop looks once more, and left_ms() then ends it.
		 */
	}
}

int lkvfence_events(struct lkvfence *f, struct lkvfence_event *events,
		    uint32_t nr, int timeout_ms)
{
	int saved = errno;
	int ret;

	if (!nr)
		return lkvfence__fail(f, -EINVAL,
			"events: there must be room for at least one event");
	/* The count must fit the return value, the bytes a 32-bit size_t. */
	if (nr > INT_MAX / sizeof(*events))
		nr = INT_MAX / sizeof(*events);

	ret = read_events(f, events, nr, timeout_ms < 0 ? -1 : timeout_ms);
	errno = saved;
	if (ret == -EINTR)
		return lkvfence__fail(f, ret,
			"events: a signal came before an event did: call again");
	if (ret < 0)
		return lkvfence__fail_plain(f, ret, "events");
	return ret;
}
