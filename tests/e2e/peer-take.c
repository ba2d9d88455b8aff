// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A TAKE that asks for it is refused while the peer is failed; all others aren't,
 * and a refused one leaves nothing but a counter.
 */
#include "e2e.h"

#define SYSFS	"/sys/class/misc/lkvfence/"

static uint64_t value(const char *name)
{
	return strtoull(line_of(SYSFS "%s", name), NULL, 10);
}

static int take_raw(struct lkvfence *f, uint64_t g, uint32_t flags, uint32_t peer)
{
	struct lkvfence_take take = {
		.size = sizeof(take), .flags = flags, .generation = g,
		.source = 50, .peer = peer,
	};

	return sys(lkvfence_fd(f), LKVFENCE_IOC_TAKE, &take);
}

int main(void)
{
	struct lkvfence *f = region("peer-take", 8), *other = region("peer-take-2", 8);
	struct lkvfence_peer p = {
		.op = LKVFENCE_PEER_OP_CONNECT, .name = "prefill-0", .session = 1,
	};
	uint64_t failures = value("peer_failures"), recoveries = value("peer_recoveries");
	uint64_t refused = value("peer_refused"), g = begin(f, 1, 0, 4, 0), h;
	struct lkvfence_query q;

	gives(lkvfence_take_healthy(f, g, 1, 1), -EHOSTUNREACH, "there is no peer at all");
	need(!lkvfence_peer(f, &p), "CONNECT");
	gives(lkvfence_take_healthy(f, g, 1, p.id), 0, "a healthy peer: a lease");
	gives(lkvfence_take_healthy(f, g, 1, p.id), -EEXIST, "one of a source, as always");
	gives(lkvfence_take_healthy(f, g, 2, p.id + 1), -EHOSTUNREACH, "no such peer");
	gives(lkvfence_take_healthy(f, g, 2, 0), -EHOSTUNREACH, "nor has any number 0");

	/* Another process, by another region of this user. */
	need(!lkvfence_peer_failed(other, "prefill-0", 1), "FAILED");
	gives(lkvfence_take_healthy(f, g, 2, p.id), -EHOSTDOWN, "a failed one: refused");
	gives(lkvfence_take_healthy(f, g + 1, 2, p.id), -EHOSTDOWN, "whatever else is wrong");
	gives(lkvfence_take(f, g, 3), 0, "who doesn't ask gets a lease");
	q = query(f, g);
	gives(q.leases_out, 2, "a refused one left no lease");
	h = begin(other, 1, 0, 4, 0);
	gives(lkvfence_take_healthy(other, h, 1, p.id), -EHOSTDOWN, "in all regions of the user");
	gives(value("peers"), 1, "sysfs: peers");
	gives(value("peers_failed"), 1, "sysfs: peers_failed");
	gives(value("peer_failures"), failures + 1, "sysfs: peer_failures");
	gives(value("peer_refused"), refused + 3, "sysfs: peer_refused");

	need(!lkvfence_peer_recovered(f, "prefill-0", 0), "RECOVERED");
	gives(lkvfence_take_healthy(f, g, 2, p.id), 0, "recovered: the same launch may be");
	gives(value("peer_recoveries"), recoveries + 1, "sysfs: peer_recoveries");
	gives(value("peers_failed"), 0, "sysfs: none is failed");
	p.op = LKVFENCE_PEER_OP_LOOK;
	need(!lkvfence_peer(f, &p), "LOOK");
	gives(p.refused, 3, "the peer knows how many were refused");

	gives(take_raw(f, g, 2, 0), -EINVAL, "an unknown flag");
	gives(take_raw(f, g, 0, p.id), -EINVAL, "a peer without the flag");
	gives(take_raw(f, g, 0, 0), 0, "neither");
	clear(f);
	clear(other);
	lkvfence_close(other);
	lkvfence_close(f);
	check(until(!value("peers")), "sysfs: with the last region they are forgotten");
	return done();
}
