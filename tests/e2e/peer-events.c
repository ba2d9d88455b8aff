// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Who watches a peer hears of each change; of several that were not read in time
 * there is one event, which tells what came of them.
 */
#include <poll.h>

#include "e2e.h"

static struct lkvfence *f, *watcher, *elsewhere;

static struct lkvfence_peer do_peer(struct lkvfence *h, const char *name, uint32_t op,
				    uint32_t flags, uint64_t session)
{
	struct lkvfence_peer p = { .op = op, .flags = flags, .session = session };

	memcpy(p.name, name, strlen(name));
	need(!lkvfence_peer(h, &p), "PEER %u of %s", op, name);
	return p;
}

static bool polls(struct lkvfence *h)
{
	struct pollfd pfd = { .fd = lkvfence_fd(h), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents == POLLIN;
}

static bool tells(struct lkvfence *h, const struct lkvfence_peer *p, uint32_t reason)
{
	struct lkvfence_event e = event(h);

	return e.type == LKVFENCE_EVENT_PEER && e.tag == p->id &&
	       e.generation == p->generation && e.reason == reason &&
	       e.time_ns >= p->since_ns && !e.flags && !e.outcome && !e.evidence &&
	       !e.nr_slots && !e.leases_out && !e.held_ns && !e.pad;
}

#define FAILED	LKVFENCE_REASON_FAILED
#define HEALTHY	LKVFENCE_REASON_NONE

static void changes(void)
{
	struct lkvfence_peer p;

	do_peer(watcher, "p", LKVFENCE_PEER_OP_CONNECT, LKVFENCE_PEER_WATCH, 1);
	check(silent(watcher), "who begins to watch was told by the answer");
	do_peer(watcher, "p", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_WATCH, 0);
	/* Of another region, but of the same user. */
	do_peer(elsewhere, "p", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_WATCH, 0);

	p = do_peer(f, "p", LKVFENCE_PEER_OP_FAILED, 0, 1);
	check(polls(watcher) && polls(elsewhere), "it failed: poll(2) tells who watches");
	check(!polls(f) && silent(f), "and nobody else");
	check(tells(watcher, &p, FAILED), "and so does the event");
	check(tells(elsewhere, &p, FAILED), "on each handle");
	check(silent(watcher) && silent(elsewhere), "once, however often it was asked for");
	do_peer(f, "p", LKVFENCE_PEER_OP_FAILED, 0, 1);
	check(silent(watcher), "failed again is no news");
	do_peer(f, "p", LKVFENCE_PEER_OP_PROBE, 0, 0);
	do_peer(f, "p", LKVFENCE_PEER_OP_PROBED, 0, 0);
	check(silent(watcher), "nor are probes");
	p = do_peer(f, "p", LKVFENCE_PEER_OP_RECOVERED, 0, 1);
	check(tells(watcher, &p, HEALTHY), "it recovered");
	p = do_peer(f, "p", LKVFENCE_PEER_OP_CONNECT, 0, 2);
	check(tells(watcher, &p, HEALTHY), "it has another session");
	do_peer(f, "p", LKVFENCE_PEER_OP_CONNECT, 0, 2);
	check(silent(watcher), "the same session is no news");
	p = do_peer(watcher, "p", LKVFENCE_PEER_OP_FAILED, 0, 0);
	check(tells(watcher, &p, FAILED), "what a watcher did itself is told, too");
	do_peer(f, "p", LKVFENCE_PEER_OP_RECOVERED, 0, 0);
	event(watcher);
}

static void merged(void)
{
	struct lkvfence_peer p, q;
	struct lkvfence_event e;
	uint64_t g;
	int i;

	while (!silent(elsewhere))
		;
	for (i = 0; i < 100; i++) {
		do_peer(f, "p", LKVFENCE_PEER_OP_FAILED, 0, 0);
		do_peer(f, "p", LKVFENCE_PEER_OP_RECOVERED, 0, 0);
	}
	do_peer(f, "q", LKVFENCE_PEER_OP_CONNECT, 0, 1);
	do_peer(watcher, "q", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_WATCH, 0);
	q = do_peer(f, "q", LKVFENCE_PEER_OP_FAILED, 0, 0);
	p = do_peer(f, "p", LKVFENCE_PEER_OP_FAILED, 0, 0);
	check(tells(watcher, &p, FAILED), "201 changes unread: one event, of the last");
	check(tells(watcher, &q, FAILED), "of each peer one");
	check(silent(watcher), "and no more");
	check(tells(elsewhere, &p, FAILED), "also where nothing was read for long");

	/* Before those of transfers, in one read as well. */
	g = begin(watcher, 1, 0, 1, 0);
	need(!lkvfence_abort_generation(watcher, g), "ABORT");
	p = do_peer(f, "p", LKVFENCE_PEER_OP_RECOVERED, 0, 0);
	check(tells(watcher, &p, HEALTHY), "a peer's event comes before a transfer's");
	e = event(watcher);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == g, "which follows");
}

/* Unread events go with the handle; the peer stays. */
static void closed(void)
{
	struct lkvfence *h = region("peer-events", 8);
	struct lkvfence_peer p;

	do_peer(h, "p", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_WATCH, 0);
	do_peer(h, "q", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_WATCH, 0);
	do_peer(f, "p", LKVFENCE_PEER_OP_FAILED, 0, 0);
	check(polls(h), "an event is there");
	lkvfence_close(h);
	p = do_peer(f, "p", LKVFENCE_PEER_OP_RECOVERED, 0, 0);
	check(tells(watcher, &p, HEALTHY), "the other watcher hears of it");
	check(silent(watcher), "once");
}

int main(void)
{
	f = region("peer-events", 8);
	watcher = region("peer-events", 8);
	elsewhere = region("peer-events-2", 8);
	changes();
	merged();
	closed();
	lkvfence_close(elsewhere);
	lkvfence_close(watcher);
	lkvfence_close(f);
	return done();
}
