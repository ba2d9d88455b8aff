// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A peer by itself: what is known of it after each call, sessions and their
 * generations, and what PEER refuses.
 */
#include "e2e.h"

static struct lkvfence *f;

static struct lkvfence_peer peer(const char *name, uint32_t op)
{
	struct lkvfence_peer p = { .op = op };

	memcpy(p.name, name, strlen(name));
	return p;
}

static struct lkvfence_peer look(const char *name)
{
	struct lkvfence_peer p = peer(name, LKVFENCE_PEER_OP_LOOK);

	need(!lkvfence_peer(f, &p), "LOOK at %s", name);
	return p;
}

static struct lkvfence_peer connected(const char *name, uint64_t session)
{
	struct lkvfence_peer p = peer(name, LKVFENCE_PEER_OP_CONNECT);

	p.session = session;
	need(!lkvfence_peer(f, &p), "CONNECT of %s", name);
	return p;
}

static int call(const char *name, uint32_t op, uint64_t session, uint64_t generation)
{
	struct lkvfence_peer p = peer(name, op);

	p.session = session;
	p.generation = generation;
	return lkvfence_peer(f, &p);
}

#define FAILED		LKVFENCE_PEER_OP_FAILED
#define RECOVERED	LKVFENCE_PEER_OP_RECOVERED

static void life(void)
{
	struct lkvfence_peer first, p, q;

	gives(call("p0", LKVFENCE_PEER_OP_LOOK, 0, 0), -ENOENT, "nobody has named it yet");
	gives(call("p0", FAILED, 0, 0), -ENOENT, "it can't have failed");
	gives(call("p0", RECOVERED, 0, 0), -ENOENT, "nor recovered");
	gives(call("p0", LKVFENCE_PEER_OP_PROBE, 0, 0), -ENOENT, "nor be probed");
	gives(call("p0", LKVFENCE_PEER_OP_PROBED, 0, 0), -ENOENT, "nor have been");

	first = connected("p0", 7);
	check(first.state == LKVFENCE_PEER_HEALTHY && first.session == 7 &&
	      first.id && first.generation && first.sessions == 1 &&
	      first.uid == geteuid() && !first.pid, "CONNECT: it is healthy");
	check(first.since_ns <= first.now_ns && first.now_ns <= (uint64_t)now_ns(),
	      "by the system's clock");
	p = connected("p0", 7);
	check(p.generation == first.generation && p.id == first.id &&
	      p.since_ns == first.since_ns && p.sessions == 1,
	      "the same session again changes nothing");

	gives(call("p0", FAILED, 7, first.generation), 0, "a transfer to it failed");
	p = look("p0");
	check(p.state == LKVFENCE_PEER_FAILED && p.failures == 1 && !p.recoveries &&
	      p.since_ns >= first.now_ns && p.next_probe_ns == p.since_ns,
	      "it is failed, and may be probed at once");
	gives(call("p0", FAILED, 7, 0), 0, "another one failed");
	q = look("p0");
	check(q.failures == 1 && q.since_ns == p.since_ns, "it is failed once");
	gives(call("p0", RECOVERED, 7, 0), 0, "it works again");
	p = look("p0");
	check(p.state == LKVFENCE_PEER_HEALTHY && p.failures == 1 && p.recoveries == 1 &&
	      p.generation == first.generation && !p.next_probe_ns, "it is healthy");
	gives(call("p0", RECOVERED, 0, 0), 0, "it still works");
	gives(look("p0").recoveries, 1, "it recovered once");
}

static void sessions(void)
{
	struct lkvfence_peer first = look("p0"), p, second;

	need(!call("p0", FAILED, 0, 0), "FAILED");
	second = connected("p0", 8);
	check(second.state == LKVFENCE_PEER_HEALTHY && second.session == 8 &&
	      second.generation > first.generation && second.id == first.id &&
	      second.sessions == 2 && second.recoveries == 2,
	      "another session: a new generation, and healthy");
	gives(call("p0", FAILED, 7, 0), -ESTALE, "a late failure of the last session");
	gives(call("p0", FAILED, 0, first.generation), -ESTALE, "of the last generation");
	gives(call("p0", FAILED, 8, first.generation), -ESTALE, "of both");
	gives(call("p0", RECOVERED, 7, 0), -ESTALE, "a late success");
	p = look("p0");
	check(p.state == LKVFENCE_PEER_HEALTHY && p.failures == 2 && p.stale == 4,
	      "they are counted, and change nothing");
	/* Numbers of sessions come again; generations don't. */
	p = connected("p0", 7);
	check(p.generation > second.generation, "a number that there was before");
	gives(call("p0", FAILED, 7, first.generation), -ESTALE, "is another session");
	gives(call("p0", FAILED, 7, p.generation), 0, "of its own generation");
	gives(call("p0", RECOVERED, 0, 0), 0, "of whichever there is");
}

static void created(void)
{
	struct lkvfence_peer p = peer("p1", LKVFENCE_PEER_OP_LOOK), q;

	p.flags = LKVFENCE_PEER_CREATE;
	p.session = 99;
	p.generation = 98;
	p.probe = 97;
	gives(lkvfence_peer(f, &p), 0, "LOOK that creates");
	check(p.state == LKVFENCE_PEER_HEALTHY && !p.session && !p.sessions && !p.probe &&
	      p.generation != 98, "it has no session yet");
	q = connected("p1", 1);
	check(q.id == p.id && q.generation > p.generation && q.sessions == 1,
	      "its first one is a new generation");
	gives(lkvfence_peer_failed(f, "p2", 5), 0, "FAILED that creates");
	p = look("p2");
	check(p.state == LKVFENCE_PEER_FAILED && p.session == 5 && p.failures == 1,
	      "it is failed, in that session");
	gives(lkvfence_peer_recovered(f, "p2", 5), 0, "and recovers");
	gives(lkvfence_peer_recovered(f, "p3", 5), -ENOENT, "RECOVERED creates nothing");
}

static void names(void)
{
	static const char * const bad[] = { "", " ", "a b", "a\n", "\033[m", "\177", "\xc3\xa9" };
	struct lkvfence_peer p, q;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p = peer(bad[i], LKVFENCE_PEER_OP_LOOK);
		p.flags = LKVFENCE_PEER_CREATE;
		gives(lkvfence_peer(f, &p), -EINVAL, "bad name %u", i);
	}
	memset(p.name, 'x', sizeof(p.name));
	gives(lkvfence_peer(f, &p), -EINVAL, "a name without an end");
	p.name[63] = 0;
	gives(lkvfence_peer(f, &p), 0, "the longest name");
	q = peer("[fe80::1%eth0]:4791/~rank-0", LKVFENCE_PEER_OP_CONNECT);
	q.session = 1;
	gives(lkvfence_peer(f, &q), 0, "any printable character");
	check(q.id > p.id, "another peer");
	/* What is behind the end is nobody's name. */
	q = peer("p0", LKVFENCE_PEER_OP_LOOK);
	memcpy(q.name + 3, "rest", 4);
	gives(lkvfence_peer(f, &q), 0, "bytes behind the end");
	check(q.id == look("p0").id && !q.name[3], "are ignored");
}

static void invalid(void)
{
	static const struct {
		uint32_t op, flags;
		uint64_t session, interval;
		uint32_t pad;
		int err;
		const char *what;
	} cases[] = {
		{ 6, 0, 1, 0, 0, -EINVAL, "an unknown operation" },
		{ 0, 16, 0, 0, 0, -EINVAL, "an unknown flag" },
		{ 0, 0, 0, 0, 1, -EINVAL, "padding" },
		{ 0, 0, 0, 100 * MS, 0, -EINVAL, "LOOK with an interval" },
		{ 0, LKVFENCE_PEER_ALL, 0, 0, 0, -EINVAL, "ALL without NEXT" },
		{ 0, LKVFENCE_PEER_NEXT | LKVFENCE_PEER_CREATE, 0, 0, 0, -EINVAL,
		  "NEXT and CREATE" },
		{ 0, LKVFENCE_PEER_NEXT | LKVFENCE_PEER_WATCH, 0, 0, 0, -EINVAL, "NEXT and WATCH" },
		{ 1, 0, 0, 0, 0, -EINVAL, "CONNECT without a session" },
		{ 1, LKVFENCE_PEER_NEXT, 1, 0, 0, -EINVAL, "CONNECT and NEXT" },
		{ 1, 0, 1, 100 * MS, 0, -EINVAL, "CONNECT with an interval" },
		{ 2, LKVFENCE_PEER_WATCH, 0, 0, 0, -EINVAL, "FAILED and WATCH" },
		{ 2, 0, 0, 9 * MS, 0, -ERANGE, "FAILED, too short an interval" },
		{ 2, 0, 0, 3600001 * MS, 0, -ERANGE, "FAILED, too long a one" },
		{ 3, LKVFENCE_PEER_CREATE, 0, 0, 0, -EINVAL, "RECOVERED and CREATE" },
		{ 3, 0, 0, 100 * MS, 0, -EINVAL, "RECOVERED with an interval" },
		{ 4, LKVFENCE_PEER_CREATE, 0, 0, 0, -EINVAL, "PROBE and CREATE" },
		{ 4, 0, 0, 9 * MS, 0, -ERANGE, "PROBE, too short an interval" },
		{ 5, LKVFENCE_PEER_WATCH, 0, 0, 0, -EINVAL, "PROBED and WATCH" },
		{ 5, 0, 0, UINT64_MAX, 0, -ERANGE, "PROBED, for ever" },
	};
	struct lkvfence_peer before = look("p0"), after;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lkvfence_peer p = peer("p0", cases[i].op);

		p.flags = cases[i].flags;
		p.session = cases[i].session;
		p.interval_ns = cases[i].interval;
		p.pad = cases[i].pad;
		gives(lkvfence_peer(f, &p), cases[i].err, "%s", cases[i].what);
	}
	after = look("p0");
	after.now_ns = before.now_ns;
	check(!memcmp(&before, &after, sizeof(before)), "nothing has changed");
}

/* By number, from 0 to the last. */
static void by_number(void)
{
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_NEXT };
	uint32_t last = 0, nr = 0;
	bool rising = true;

	while (!lkvfence_peer(f, &p)) {
		rising &= p.id > last;
		last = p.id;
		nr++;
	}
	check(rising && nr == 5, "a walk by NEXT sees each once (%u)", nr);
	p.id = UINT32_MAX;
	gives(lkvfence_peer(f, &p), -ENOENT, "there is none above the highest number");
}

int main(void)
{
	struct lkvfence_stat before;

	f = region("peer", 8);
	before = stat_of(f);
	life();
	sessions();
	created();
	names();
	invalid();
	by_number();
	unchanged(f, &before, "the region has nothing to do with it");
	check(silent(f), "nobody watches: no events");
	lkvfence_close(f);

	f = region("peer", 8);
	gives(call("p0", LKVFENCE_PEER_OP_LOOK, 0, 0), -ENOENT,
	      "without the last region of its user it was forgotten");
	lkvfence_close(f);
	return done();
}
