// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * max_peers: the healthy one that nobody watches or has named for longest makes
 * room; where all are failed or watched there is none.
 */
#include "e2e.h"

#define MAX	4

static struct lkvfence *f;

static int call(const char *name, uint32_t op, uint32_t flags)
{
	struct lkvfence_peer p = { .op = op, .flags = flags };

	memcpy(p.name, name, strlen(name));
	p.session = op == LKVFENCE_PEER_OP_CONNECT;
	return lkvfence_peer(f, &p);
}

static int add(const char *name)
{
	return call(name, LKVFENCE_PEER_OP_CONNECT, 0);
}

/* Without naming any of them. */
static bool there(const char *name)
{
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_NEXT };

	while (!lkvfence_peer(f, &p)) {
		if (!strcmp(p.name, name))
			return true;
	}
	return false;
}

int main(void)
{
	struct lkvfence *watcher;
	struct lkvfence_peer p;
	char name[8];
	int i;

	set_param("max_peers", MAX);
	f = region("peer-full", 8);
	watcher = region("peer-full", 8);
	need(!add("a") && !add("b") && !add("c") && !add("d"), "four peers");
	gives(add("a"), 0, "one of them is named again");
	gives(add("e"), 0, "a fifth one");
	check(there("a") && !there("b") && there("c") && there("d") && there("e"),
	      "the longest unnamed one made room");
	gives(call("b", LKVFENCE_PEER_OP_LOOK, 0), -ENOENT, "and is not known");
	need(!lkvfence_peer_failed(f, "c", 0), "FAILED");
	gives(add("f"), 0, "another one");
	check(there("c") && !there("d"), "a failed one stays; the next makes room");
	p = (struct lkvfence_peer){ .flags = LKVFENCE_PEER_WATCH, .name = "a" };
	need(!lkvfence_peer(watcher, &p), "WATCH");
	gives(add("g"), 0, "another one");
	check(there("a") && !there("e"), "so does one that is watched");
	need(!lkvfence_peer_failed(f, "f", 0) && !lkvfence_peer_failed(f, "g", 0), "FAILED");
	gives(add("h"), -ENOSPC, "all failed or watched: no room");
	gives(lkvfence_peer_failed(f, "h", 0), -ENOSPC, "not for a failed one either");
	gives(call("h", LKVFENCE_PEER_OP_LOOK, LKVFENCE_PEER_CREATE), -ENOSPC, "nor a look");
	gives(add("a"), 0, "those that are there are no worse for it");
	lkvfence_close(watcher);
	gives(add("h"), 0, "nobody watches any more: there is room");
	check(!there("a"), "its own");
	need(!lkvfence_peer_recovered(f, "c", 0), "RECOVERED");
	gives(add("i"), 0, "likewise");

	/* Lowered: no more are added than go. */
	set_param("max_peers", 2);
	gives(add("j"), 0, "a limit below what there is");
	set_param("max_peers", 0);
	gives(add("k"), 0, "one goes for each that comes");
	set_param("max_peers", 4096);
	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		if (add(name))
			break;
	}
	gives(i, 5000, "five thousand come by");
	gives(strtoul(line_of("/sys/class/misc/lkvfence/peers"), NULL, 10), 4096,
	      "as many as may be are there");
	check(there("f") && there("g") && there("n4999") && !there("n0"),
	      "failed ones, and the last");
	lkvfence_close(f);
	return done();
}
