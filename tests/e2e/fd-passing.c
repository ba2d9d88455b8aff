// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A handle may be passed over a socket, to a process that couldn't open the
 * region itself; and lkvfence_from_fd() knows what is no handle.
 */
#include <sys/socket.h>

#include "e2e.h"

#define NAME	"fd-passing"

static uint64_t generation;

static void send_fd(int sock, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = { { 0 } };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	need(sendmsg(sock, &msg, 0) == 1, "sendmsg");
}

static int receive_fd(int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	char c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};
	int fd;

	need(recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg), "recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Nobody in particular, who has no handle but what comes over the socket. */
static int receiver(int sock)
{
	struct lkvfence_open open = { .name = NAME };
	struct lkvfence *f;
	int fd;

	become(65534, 65534);
	/* Not even the device. */
	if (lkvfence_open(&f, &open) != -EACCES)
		return 1;
	fd = receive_fd(sock);
	if (lkvfence_from_fd(&f, fd))
		return 2;
	if (lkvfence_fd(f) != fd || stat_of(f).slots != 64 ||
	    fcntl(fd, F_GETFD) != FD_CLOEXEC || !(fcntl(fd, F_GETFL) & O_NONBLOCK))
		return 3;
	if (query(f, generation).flags != LKVFENCE_TRANSFER_MINE ||
	    drained(f, generation, 1))
		return 4;
	if (event(f).generation != generation)
		return 5;
	begin(f, 2, 8, 8, 1);
	/* The sender has closed its own now: this is the last. */
	return 0;
}

static void no_handles(void)
{
	struct lkvfence *f = NULL;
	int fds[2], dev = device();

	need(!pipe(fds), "pipe");
	gives(lkvfence_from_fd(&f, -1), -EBADF, "no descriptor");
	gives(lkvfence_from_fd(&f, 999), -EBADF, "one that isn't open");
	gives(lkvfence_from_fd(&f, fds[0]), -ENOTTY, "a pipe");
	gives(lkvfence_from_fd(&f, dev), -ENOTTY, "the device");
	check(!f && fcntl(dev, F_GETFD) >= 0 && fcntl(fds[0], F_GETFD) >= 0,
	      "they are left alone");
	close(fds[0]);
	close(fds[1]);
	close(dev);
}

int main(void)
{
	struct lkvfence *f = region(NAME, 64), *watcher;
	struct lkvfence_query q = { .by = LKVFENCE_QUERY_NEXT };
	int socks[2];
	pid_t pid;

	no_handles();
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks), "socketpair");
	generation = hold(f, 1, 0, 8, 1, 0, 0);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		lkvfence_close(f);
		_exit(receiver(socks[1]));
	}
	watcher = region(NAME, 0);
	close(socks[1]);
	send_fd(socks[0], lkvfence_fd(f));
	lkvfence_close(f);
	gives(status_of(pid), 0, "the receiver has the very same handle");
	check(until(stat_of(watcher).handles == 1),
	      "it is closed with the receiver");
	gives(lkvfence_query(watcher, &q), 0, "what it began is there");
	check(q.tag == 2 && q.reason == LKVFENCE_REASON_ORPHANED &&
	      q.flags == LKVFENCE_TRANSFER_ORPHANED, "as an orphan");
	clear(watcher);
	lkvfence_close(watcher);
	return done();
}
