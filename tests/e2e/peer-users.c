// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Peers are a user's own: another one neither sees nor changes them, has his own of
 * the same name, and his own room for them. Whose region it is decides.
 */
#include <linux/capability.h>
#include <sys/stat.h>

#include "e2e.h"

#define SOMEBODY	1234

static struct lkvfence *root;
static int go[2], back[2];

static int call(struct lkvfence *f, uint32_t op, uint32_t flags, struct lkvfence_peer *p)
{
	*p = (struct lkvfence_peer){ .op = op, .flags = flags, .name = "same" };
	p->session = op == LKVFENCE_PEER_OP_CONNECT;
	return lkvfence_peer(f, p);
}

static bool step(int in, int out)
{
	char c = 0;

	return write(out, &c, 1) == 1 && read(in, &c, 1) == 1;
}

/* What another user sees; 0, or the number of what is wrong. */
static int somebody(void *arg)
{
	struct lkvfence_peer p, root_peer = *(struct lkvfence_peer *)arg;
	struct lkvfence *f, *shared;
	uint64_t g;

	become(SOMEBODY, SOMEBODY);
	f = region("peer-users-own", 8);
	if (call(f, LKVFENCE_PEER_OP_LOOK, 0, &p) != -ENOENT)
		return 1;
	p = (struct lkvfence_peer){ .flags = LKVFENCE_PEER_NEXT };
	if (lkvfence_peer(f, &p) != -ENOENT)
		return 2;
	p.flags |= LKVFENCE_PEER_ALL;
	if (lkvfence_peer(f, &p) != -EPERM)
		return 3;
	if (call(f, LKVFENCE_PEER_OP_FAILED, 0, &p) != -ENOENT)
		return 4;
	g = begin(f, 1, 0, 1, 0);
	if (lkvfence_take_healthy(f, g, 1, root_peer.id) != -EHOSTUNREACH)
		return 5;
	/* His own, of the same name. */
	if (call(f, LKVFENCE_PEER_OP_FAILED, LKVFENCE_PEER_CREATE, &p) ||
	    p.id == root_peer.id || p.uid != SOMEBODY ||
	    p.state != LKVFENCE_PEER_FAILED)
		return 6;
	/* Full for him: the other user's don't count. */
	if (call(f, LKVFENCE_PEER_OP_LOOK, 0, &p))
		return 7;
	p.name[0] = 'x';
	p.flags = LKVFENCE_PEER_CREATE;
	if (lkvfence_peer(f, &p) != -ENOSPC)
		return 8;
	/* A region of root's that everybody may open: root's peers. */
	shared = region("peer-users-shared", 0);
	if (call(shared, LKVFENCE_PEER_OP_LOOK, 0, &p) || p.id != root_peer.id)
		return 9;
	if (!step(go[0], back[1]))
		return 10;
	clear(f);
	lkvfence_close(shared);
	lkvfence_close(f);
	return 0;
}

/* All of them, of whichever user, by number. */
static unsigned int walk(struct lkvfence *f, uint32_t flags, bool *others)
{
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_NEXT | flags };
	unsigned int nr = 0;
	uint32_t last = 0;

	*others = false;
	while (!lkvfence_peer(f, &p)) {
		need(p.id > last, "numbers that rise");
		last = p.id;
		*others |= p.uid == SOMEBODY;
		nr++;
	}
	return nr;
}

int main(void)
{
	struct lkvfence_open open = {
		.flags = LKVFENCE_OPEN_CREATE, .name = "peer-users-shared",
		.slot_size = 4096, .nr_slots = 8, .mode = 0666,
	};
	struct lkvfence *shared;
	struct lkvfence_peer p, q;
	struct stat device_mode;
	bool others;
	pid_t pid;
	char c;

	set_param("max_peers", 1);
	need(!stat(LKVFENCE_DEVICE, &device_mode) && !chmod(LKVFENCE_DEVICE, 0666) &&
	     !pipe(go) && !pipe(back), "a device for everybody");
	root = region("peer-users", 8);
	need(!lkvfence_open(&shared, &open), "a region for everybody");
	gives(call(root, LKVFENCE_PEER_OP_CONNECT, 0, &p), 0, "root's peer");
	pid = fork();
	if (!pid)
		_exit(somebody(&p));
	need(pid > 0, "fork");
	close(back[1]);
	need(read(back[0], &c, 1) == 1, "the other user, in the midst (%d)", status_of(pid));
	gives(call(root, LKVFENCE_PEER_OP_LOOK, 0, &q), 0, "root's peer is there");
	check(q.id == p.id && q.state == LKVFENCE_PEER_HEALTHY && !q.stale,
	      "the other user's of the same name has failed, not this one");
	gives(walk(root, 0, &others), 1, "root sees his own one");
	check(!others, "and no others");
	gives(walk(root, LKVFENCE_PEER_ALL, &others), 2, "with ALL he sees all");
	check(others, "the other user's, too");
	need(write(go[1], "", 1) == 1, "go on");
	gives(status_of(pid), 0, "what the other user saw");
	check(until(walk(root, LKVFENCE_PEER_ALL, &others) == 1), "his went with his region");
	lose(CAP_DAC_OVERRIDE);
	q = (struct lkvfence_peer){ .flags = LKVFENCE_PEER_NEXT | LKVFENCE_PEER_ALL };
	gives(lkvfence_peer(root, &q), -EPERM, "ALL needs CAP_DAC_OVERRIDE");
	gives(walk(root, 0, &others), 1, "the user's own don't");
	lkvfence_close(shared);
	lkvfence_close(root);
	chmod(LKVFENCE_DEVICE, device_mode.st_mode & 07777);
	return done();
}
