// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The crowd's groups and peers.
 */
#include "crowd.h"

#define CROWD_GROUPS	6
#define CROWD_PEERS	5

bool crowd_joined(struct member *me, uint64_t generation)
{
	uint64_t n = generation - me->crowd->first_generation;

	return n < CROWD_FOLLOWED && atomic_load(&me->crowd->told[n]) & TOLD_JOINED;
}

/* Said before it is done, so that nobody is surprised. */
static int join(struct member *me, int fd, uint64_t generation, uint64_t group, uint32_t size)
{
	struct lkvfence_join a = {
		.size = sizeof(a),
		.generation = generation,
		.group = group,
		.nr_members = size,
	};
	uint64_t n = generation - me->crowd->first_generation;
	int err;

	if (n >= CROWD_FOLLOWED)
		return -ENOENT;
	atomic_fetch_or(&me->crowd->told[n], TOLD_JOINED);
	err = sys(fd, LKVFENCE_IOC_JOIN, &a);
	crowd_answer(me, LKVFENCE_IOC_JOIN, err, MAY(-ECANCELED, -EEXIST, -EINVAL, -ESTALE));
	return err;
}

void crowd_join(struct member *me, int fd, uint64_t generation)
{
	uint64_t group = crowd_pick(me, CROWD_GROUPS);

	if (generation)
		join(me, fd, generation, group, 2 + (crowd_pick(me, 20) ? group % 3 : 3));
}

void crowd_group(struct member *me, int fd, int region)
{
	struct lkvfence_abort a = { .size = sizeof(a) };
	uint64_t g[2];
	bool gone;

	for (int i = 0; i < 2; i++) {
		g[i] = crowd_start(me, fd, region, false, 0, crowd_pick(me, 2));
		if (!g[i])
			return;
	}
	/* A number of its own: nobody else's group. */
	if (join(me, fd, g[0], g[0], 2) || join(me, fd, g[1], g[0], 2))
		return;
	if (crowd_pick(me, 2)) {
		a.generation = g[crowd_pick(me, 2)];
		crowd_end(me, fd, a);
	} else {
		crowd_release(me, fd, g[0]);
		crowd_release(me, fd, g[1]);
	}
	/* L12: if one is back, the other is. */
	gone = crowd_is_gone(me, fd, g[crowd_pick(me, 2)]);
	if (!gone)
		return;
	atomic_fetch_add(&me->crowd->together, 1);
	never(me, !crowd_is_gone(me, fd, g[0]) || !crowd_is_gone(me, fd, g[1]),
	      "L12: of %" PRIu64 " and %" PRIu64 " only one is back", g[0], g[1]);
}

/* Of a peer that somebody may change at the same moment. */
static void check_peer(struct member *me, const struct lkvfence_peer *p)
{
	bool failed = p->state == LKVFENCE_PEER_FAILED;

	never(me, !p->id || !p->generation || !p->name[0] ||
	      (!failed && p->state != LKVFENCE_PEER_HEALTHY), "peer %u in state %u", p->id,
	      p->state);
	never(me, p->failures != p->recoveries + failed, "peer %u: %llu failures, %llu recoveries",
	      p->id, (unsigned long long)p->failures, (unsigned long long)p->recoveries);
	never(me, p->since_ns > p->now_ns || p->now_ns > (uint64_t)now_ns(), "from the future");
	never(me, p->pid && !failed, "a healthy peer is probed");
	atomic_store(&me->crowd->peer, p->id);
}

void crowd_peer(struct member *me, int fd)
{
	struct lkvfence_peer p = {
		.size = sizeof(p),
		.op = crowd_pick(me, LKVFENCE_PEER_OP_PROBED + 1),
		.name = { 'p', '0' + crowd_pick(me, CROWD_PEERS) },
	};
	bool creates = p.op == LKVFENCE_PEER_OP_CONNECT;
	const int *may;
	uint32_t op = p.op;

	if (op == LKVFENCE_PEER_OP_CONNECT)
		p.session = 1 + crowd_pick(me, 3);
	if ((op == LKVFENCE_PEER_OP_LOOK || op == LKVFENCE_PEER_OP_CONNECT) && !crowd_pick(me, 4))
		p.flags |= LKVFENCE_PEER_WATCH;
	if ((op == LKVFENCE_PEER_OP_LOOK || op == LKVFENCE_PEER_OP_FAILED) && crowd_pick(me, 2)) {
		p.flags |= LKVFENCE_PEER_CREATE;
		creates = true;
	}
	may = creates ? MAY(0) : op == LKVFENCE_PEER_OP_LOOK ? MAY(-ENOENT) :
	      op == LKVFENCE_PEER_OP_PROBE ? MAY(-ENOENT, -EALREADY, -EAGAIN, -EBUSY) :
	      MAY(-ENOENT, -ESTALE);
	if (!crowd_answer(me, LKVFENCE_IOC_PEER, sys(fd, LKVFENCE_IOC_PEER, &p), may))
		return;
	check_peer(me, &p);
	never(me, op == LKVFENCE_PEER_OP_RECOVERED && p.state != LKVFENCE_PEER_HEALTHY,
	      "RECOVERED, and it is not");
	never(me, (op == LKVFENCE_PEER_OP_FAILED || op == LKVFENCE_PEER_OP_PROBE) &&
	      p.state != LKVFENCE_PEER_FAILED, "FAILED or probed, and healthy");
	never(me, !p.probe != (op != LKVFENCE_PEER_OP_PROBE), "claim %llu by %u",
	      (unsigned long long)p.probe, op);
}

void crowd_take_healthy(struct member *me, int fd, uint64_t generation)
{
	struct lkvfence_take a = {
		.size = sizeof(a),
		.flags = LKVFENCE_TAKE_HEALTHY,
		.generation = generation,
		.source = crowd_pick(me, CROWD_UNBOUND),
		.peer = atomic_load(&me->crowd->peer) + !crowd_pick(me, 8) * 1000,
	};

	if (generation)
		crowd_answer(me, LKVFENCE_IOC_TAKE, sys(fd, LKVFENCE_IOC_TAKE, &a),
			     MAY(-ECANCELED, -EEXIST, -ESTALE, -EHOSTDOWN, -EHOSTUNREACH));
}

void crowd_check_peer(struct member *me, const struct lkvfence_event *e)
{
	never(me, e->time_ns > (uint64_t)now_ns() || e->outcome || e->evidence || e->nr_slots,
	      "a strange event of a peer");
}
