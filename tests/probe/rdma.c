// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The light probe, on Soft-RoCE: a link that flaps makes a peer fail, be refused,
 * be probed in vain, and recover when it is up again. And what the probe says of
 * who isn't there, and of one that doesn't answer in time.
 *
 * For that the ends are two devices, on either end of a pair of interfaces, and all
 * packets between them are dropped. An interface that is taken down won't do: see
 * lkvfence_probe_rdma(3).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <lkvfence-probe.h>

#include "e2e.h"

#define NEAR	"10.0.0.1"	/* rxe0, on v0 */
#define FAR	"10.0.0.2"	/* rxe1, on v1 */

static struct sockaddr_in address_of(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	need(inet_pton(AF_INET, address, &a.sin_addr) == 1, "an address");
	return a;
}

static struct sockaddr_in at(uint16_t port)
{
	return address_of(NEAR, port);
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

static struct lkvfence_peer look(struct lkvfence *f)
{
	struct lkvfence_peer p = { .name = "far" };

	need(!lkvfence_peer(f, &p), "LOOK");
	return p;
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

static void tell(const struct lkvfence_probed *probed, void *arg)
{
	(void)arg;
	note("a probe of %s: %s", probed->peer,
	     probed->result ? strerror(-probed->result) : "success");
}

static bool sh(const char *command)
{
	return !system(command);
}

static void one_device(void)
{
	sh("tests/probe/two-devices down");
}

static void flaps(struct lkvfence *f)
{
	struct sockaddr_in near = address_of(NEAR, 0), far = address_of(FAR, 0);
	struct lkvfence_probe_target target = {
		.address = (struct sockaddr *)&far, .source = (struct sockaddr *)&near,
		.timeout_ms = 4000,
	};
	struct lkvfence_prober_attr attr = {
		.fence = f, .interval_ns = 5000 * MS, .probed = tell,
	};
	struct lkvfence_prober_peer peer = {
		.name = "far", .probe = lkvfence_probe_rdma, .arg = &target,
	};
	struct lkvfence_prober_stat stat;
	struct lkvfence_responder *r;
	struct lkvfence_prober *prober;
	uint64_t g = begin(f, 1, 0, 4, 0);
	struct lkvfence_peer p;
	unsigned int i;

	need(!lkvfence_responder_start(&r, (struct sockaddr *)&far), "a responder: %s",
	     lkvfence_probe_errmsg());
	far.sin_port = htons(lkvfence_responder_port(r));
	need(!lkvfence_prober_start(&prober, &attr) && !lkvfence_prober_add(prober, &peer),
	     "a prober");
	for (i = 1; i <= 3; i++) {
		need(sh("tc qdisc add dev v0 root netem loss 100%"), "link down");
		need(!lkvfence_peer_failed(f, "far", 0), "a transfer fails");
		p = look(f);
		gives(lkvfence_take_healthy(f, g, 2 * i, p.id), -EHOSTDOWN, "refused");
		need(until((lkvfence_prober_stat(prober, &stat), stat.failures >= i)), "probes");
		gives(look(f).state, LKVFENCE_PEER_FAILED, "probed in vain while it is down");
		need(sh("tc qdisc del dev v0 root"), "link up");
		check(until(look(f).state == LKVFENCE_PEER_HEALTHY), "up again: it recovers");
		gives(lkvfence_take_healthy(f, g, 2 * i + 1, p.id), 0, "and isn't refused");
		gives(look(f).recoveries, i, "which is counted");
	}
	gives(lkvfence_prober_stop(prober, -1), 0, "all probes are over");
	lkvfence_responder_stop(r);
	clear(f);
}

int main(void)
{
	struct lkvfence *f = region("probe-rdma", 8);
	struct lkvfence_responder *r = NULL, *second = NULL;
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_CREATE, .name = "far" };

	need(!lkvfence_peer(f, &p), "a peer");
	silent_one();
	by_itself(&r, &second);
	atexit(one_device);
	if (sh("tests/probe/two-devices up"))
		flaps(f);
	else
		skip("no two devices, or nothing that drops packets, here", "a link that flaps");
	lkvfence_responder_stop(r);
	lkvfence_responder_stop(NULL);
	lkvfence_close(f);
	return done();
}
