// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A link that flaps makes a peer fail, be refused, be probed in vain, and recover
 * when it is up again: over two devices of Soft-RoCE, between which all packets are
 * dropped. flaps.sh runs it. An interface that is taken down won't do: see
 * lkvfence_probe_rdma(3).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <lkvfence-probe.h>

#include "e2e.h"

#define NEAR	"10.0.0.1"	/* rxe0, on v0 */
#define FAR	"10.0.0.2"	/* rxe1, on v1 */

static struct sockaddr_in address_of(const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	need(inet_pton(AF_INET, address, &a.sin_addr) == 1, "an address");
	return a;
}

static struct lkvfence_peer look(struct lkvfence *f)
{
	struct lkvfence_peer p = { .name = "far" };

	need(!lkvfence_peer(f, &p), "LOOK");
	return p;
}

static bool sh(const char *command)
{
	return !system(command);
}

static void flaps(struct lkvfence *f)
{
	struct sockaddr_in near = address_of(NEAR), far = address_of(FAR);
	struct lkvfence_probe_target target = {
		.address = (struct sockaddr *)&far, .source = (struct sockaddr *)&near,
		.timeout_ms = 4000,
	};
	struct lkvfence_prober_attr attr = {
		.fence = f, .interval_ns = 5000 * MS,
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
	struct lkvfence *f = region("probe-flap", 8);
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_CREATE, .name = "far" };

	need(!lkvfence_peer(f, &p), "a peer");
	flaps(f);
	lkvfence_close(f);
	return done();
}
