// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* poll(2) and epoll(7), level- and edge-triggered, on handles. */
#include <poll.h>
#include <sys/epoll.h>

#include "e2e.h"

static void post(struct lkvfence *f)
{
	need(!lkvfence_abort_generation(f, begin(f, 1, 0, 1, 0)), "ABORT");
}

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static int watch(int fd, uint32_t events)
{
	struct epoll_event e = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	need(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll");
	return ep;
}

static int ready(int ep, int timeout_ms)
{
	struct epoll_event e[4];

	return epoll_wait(ep, e, 4, timeout_ms);
}

static int late(void *arg)
{
	usleep(200000);
	post(arg);
	return 0;
}

int main(void)
{
	struct lkvfence *f = region("poll", 64);
	int fd = lkvfence_fd(f), level, edge;
	struct lkvfence_event e[8];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t start;
	pid_t pid;

	gives(poll_now(fd), 0, "nothing to read, and never anything to write");
	post(f);
	gives(poll_now(fd), POLLIN, "an event: readable");
	gives(poll_now(fd), POLLIN, "still");
	event(f);
	gives(poll_now(fd), 0, "read: not any more");

	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(late(f));
	gives(poll(&p, 1, PATIENCE_MS), 1, "poll waits for an event");
	gives(status_of(pid), 0, "from another process with the same handle");
	gives(lkvfence_events(f, e, 8, 0), 1, "it can be read here");

	hold(f, 2, 1, 1, 1, LKVFENCE_POLICY_TAINT, 50);
	gives(poll(&p, 1, PATIENCE_MS), 1, "poll waits for a deadline");
	gives(lkvfence_events(f, e, 8, 0), 1, "that is an event");

	level = watch(fd, EPOLLIN);
	edge = watch(fd, EPOLLIN | EPOLLET);
	gives(ready(level, 0) + ready(edge, 0), 0, "epoll: nothing");
	post(f);
	gives(ready(level, PATIENCE_MS), 1, "level: an event");
	gives(ready(level, 0), 1, "level: still");
	gives(ready(edge, PATIENCE_MS), 1, "edge: an event");
	gives(ready(edge, 0), 0, "edge: told before");
	post(f);
	gives(ready(edge, PATIENCE_MS), 1, "edge: one more event, although one is unread");
	gives(ready(edge, 0), 0, "edge: told before");
	/* What edge-triggered loops rely on: more of a transfer that is unread. */
	gives(lkvfence_events(f, e, 8, 0), 2, "two events");
	gives(ready(level, 0), 0, "level: all are read");
	post(f);
	gives(ready(edge, PATIENCE_MS), 1, "edge: the next");
	close(level);
	close(edge);
	event(f);

	gives(lkvfence_events(f, e, 8, 0), 0, "the library: no event, no wait");
	start = now_ns();
	gives(lkvfence_events(f, e, 8, 100), 0, "no event in a while");
	check(now_ns() - start >= 100 * (int64_t)MS, "it waited so long");
	lkvfence_close(f);
	return done();
}
