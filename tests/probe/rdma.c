// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The light probe, on Soft-RoCE: what it says of who answers, of who isn't there, and
 * of one that doesn't answer in time.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <lkvfence-probe.h>

#include "e2e.h"

#define ADDRESS	"10.0.0.1"	/* rxe0, on v0 */

static struct sockaddr_in at(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	need(inet_pton(AF_INET, ADDRESS, &a.sin_addr) == 1, "an address");
	return a;
}

static int probe(uint16_t port, uint32_t timeout_ms)
{
	struct sockaddr_in address = at(port);
	struct lkvfence_probe_target target = {
		.address = (struct sockaddr *)&address, .timeout_ms = timeout_ms,
	};
	const struct lkvfence_probe p = { .peer = "p" };
	int err = lkvfence_probe_rdma(&p, &target);

	if (err)
		note("%s", lkvfence_probe_errmsg());
	return err;
}

static void by_itself(struct lkvfence_responder **r, struct lkvfence_responder **second)
{
	struct sockaddr_in any = at(0), same;
	unsigned int i, good = 0;

	gives(lkvfence_responder_start(r, (struct sockaddr *)&any), 0, "a responder (%s)",
	      lkvfence_probe_errmsg());
	need(*r && lkvfence_responder_port(*r), "its port");
	gives(probe(lkvfence_responder_port(*r), 60000), 0, "a probe succeeds");
	/* more than it keeps at a time, and none is left */
	for (i = 0; i < 100; i++)
		good += !probe(lkvfence_responder_port(*r), 60000);
	gives(good, 100, "a hundred do");
	same = at(lkvfence_responder_port(*r));
	gives(lkvfence_responder_start(second, (struct sockaddr *)&same), -EADDRINUSE,
	      "another one at the same port");
	check(!*second, "isn't there");
	check(probe(1, 60000) < 0, "where nobody listens it fails");
	gives(probe(lkvfence_responder_port(*r), 60000), 0, "the other one is none the worse");
}

/* A responder that is stopped: its kernel takes the request, and nobody answers. */
static void silent_one(void)
{
	struct sockaddr_in any = at(0);
	struct lkvfence_responder *r;
	uint16_t port;
	int fds[2];
	pid_t pid;

	need(!pipe(fds), "pipe");
	pid = fork();
	if (!pid) {
		if (lkvfence_responder_start(&r, (struct sockaddr *)&any))
			_exit(1);
		port = lkvfence_responder_port(r);
		if (write(fds[1], &port, sizeof(port)) != sizeof(port))
			_exit(1);
		for (;;)
			pause();
	}
	need(read(fds[0], &port, sizeof(port)) == sizeof(port), "a port");
	gives(probe(port, 60000), 0, "a responder of another process");
	need(!kill(pid, SIGSTOP), "stop it");
	check(probe(port, 300) == -ETIMEDOUT, "one that hangs: the deadline passes");
	need(!kill(pid, SIGCONT), "go on");
	check(until(!probe(port, 60000)), "it is back");
	need(!kill(pid, SIGKILL), "kill it");
	status_of(pid);
	check(probe(port, 60000) < 0, "and gone");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	struct lkvfence_responder *r = NULL, *second = NULL;

	silent_one();
	by_itself(&r, &second);
	lkvfence_responder_stop(r);
	lkvfence_responder_stop(NULL);
	return done();
}
