// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "../e2e/e2e.h"
#include "far.h"

#define PORT	7471

bool far_listens(void)
{
	const char *host = getenv("LKVFENCE_PAIR");

	return host && !strcmp(host, "listen");
}

int far_accept(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0), fd;

	need(!setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	     !bind(s, (struct sockaddr *)&at, sizeof(at)) && !listen(s, 1), "a socket");
	fd = accept(s, NULL, NULL);
	need(fd >= 0, "accept");
	close(s);
	return fd;
}

int far_reach(const char *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = -1;

	need(inet_pton(AF_INET, host, &to.sin_addr) == 1, "an address");
	need(until((fd >= 0 ? close(fd) : 0,
		    fd = socket(AF_INET, SOCK_STREAM, 0),
		    !connect(fd, (struct sockaddr *)&to, sizeof(to)))), "the other host");
	return fd;
}
