// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages between decode and prefill. The sockets keep message boundaries
 * and order; they are not the path of the data, and say nothing about it: a
 * message may overtake any RDMA write.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "demo.h"

void wire_pair(int fds[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		die("socketpair: %s", strerror(errno));
}

void wire_send(int fd, const struct msg *msg)
{
	size_t len = offsetof(struct msg, ranges) + msg->nr_ranges * sizeof(msg->ranges[0]);
	ssize_t sent;

	do
		sent = send(fd, msg, len, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent != (ssize_t)len)
		die("cannot send a message: %s", strerror(errno));
}

/* Returns false if there is no message now and the caller doesn't want to wait. */
bool wire_receive(int fd, struct msg *msg, bool wait)
{
	ssize_t len;

	do
		len = recv(fd, msg, sizeof(*msg), wait ? 0 : MSG_DONTWAIT);
	while (len < 0 && errno == EINTR);
	if (len < 0 && errno == EAGAIN)
		return false;
	if (len < 0)
		die("cannot receive a message: %s", strerror(errno));
	if (!len)
		die("the other side is gone");
	if ((size_t)len < offsetof(struct msg, ranges) || msg->nr_ranges > MAX_SLOTS ||
	    (size_t)len != offsetof(struct msg, ranges) + msg->nr_ranges * sizeof(msg->ranges[0]))
		die("a message of the wrong length");
	return true;
}
