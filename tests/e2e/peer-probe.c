// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Of all processes one probes a failed peer: until it says what came of it, is
 * killed, or hangs for longer than its interval.
 */
#include <signal.h>

#include "e2e.h"

#define CHILDREN	8

static struct lkvfence *f, *other;

static struct lkvfence_peer peer(uint32_t op)
{
	return (struct lkvfence_peer){ .op = op, .name = "probed" };
}

static int probe(struct lkvfence *h, unsigned int interval_ms, uint64_t *number)
{
	struct lkvfence_peer p = peer(LKVFENCE_PEER_OP_PROBE);
	int err;

	p.interval_ns = interval_ms * MS;
	err = lkvfence_peer(h, &p);
	*number = p.probe;
	return err;
}

static int result(struct lkvfence *h, uint32_t op, uint64_t number, unsigned int interval_ms)
{
	struct lkvfence_peer p = peer(op);

	p.probe = number;
	p.interval_ns = interval_ms * MS;
	return lkvfence_peer(h, &p);
}

static struct lkvfence_peer look(void)
{
	struct lkvfence_peer p = peer(LKVFENCE_PEER_OP_LOOK);

	need(!lkvfence_peer(f, &p), "LOOK");
	return p;
}

#define RECOVERED	LKVFENCE_PEER_OP_RECOVERED
#define PROBED		LKVFENCE_PEER_OP_PROBED
#define LONG_MS		3000000	/* never waited for */

static void claims(void)
{
	struct lkvfence_peer p;
	uint64_t one, two;

	gives(probe(f, 0, &one), -EALREADY, "a healthy peer isn't probed");
	need(!lkvfence_peer_failed(f, "probed", 0), "FAILED");
	gives(probe(f, LONG_MS, &one), 0, "a failed one is");
	p = look();
	check(one && p.pid == getpid() && p.probes == 1 &&
	      p.next_probe_ns >= p.since_ns + LONG_MS * MS, "by this process");

	p = peer(LKVFENCE_PEER_OP_PROBE);
	gives(lkvfence_peer(other, &p), -EBUSY, "by nobody else meanwhile");
	check(p.pid == getpid() && p.next_probe_ns && p.state == LKVFENCE_PEER_FAILED &&
	      !p.probe, "who is told by whom, and until when");
	gives(probe(f, LONG_MS, &two), -EBUSY, "nor by this one once more");
	gives(result(other, PROBED, one, 0), -ESTALE, "its result is nobody else's to tell");
	gives(result(other, RECOVERED, one, 0), -ESTALE, "whatever it is");
	gives(result(f, PROBED, one + 1, 0), -ESTALE, "not of another claim");
	gives(result(f, PROBED, one, LONG_MS), 0, "it failed");
	check(!look().pid, "nobody probes");
	p = peer(LKVFENCE_PEER_OP_PROBE);
	gives(lkvfence_peer(other, &p), -EAGAIN, "the next time is later");
	check(p.next_probe_ns > p.now_ns && !p.pid, "when, is told");
	gives(result(f, PROBED, 0, 0), -ESTALE, "there is no claim any more");

	/* Any success counts, whoever saw it. */
	gives(lkvfence_peer_recovered(other, "probed", 0), 0, "somebody saw it work");
	need(!lkvfence_peer_failed(f, "probed", 0), "FAILED");
	gives(probe(f, LONG_MS, &one), 0, "it fails anew: probed at once");
	gives(lkvfence_peer_recovered(other, "probed", 0), 0, "somebody sees it work meanwhile");
	gives(result(f, PROBED, one, 0), -ESTALE, "the probe is over");
	gives(look().state, LKVFENCE_PEER_HEALTHY, "and changes nothing");

	p = peer(LKVFENCE_PEER_OP_FAILED);
	p.interval_ns = LONG_MS * MS;
	need(!lkvfence_peer(f, &p), "FAILED with an interval");
	gives(probe(f, 0, &one), -EAGAIN, "the first probe may be due later");
	need(!lkvfence_peer_recovered(f, "probed", 0), "RECOVERED");
	need(!lkvfence_peer_failed(f, "probed", 0), "FAILED");
	gives(probe(f, LONG_MS, &one), 0, "a claim");
	gives(result(f, RECOVERED, one, 0), 0, "it succeeds");
	gives(look().state, LKVFENCE_PEER_HEALTHY, "the peer is healthy");
}

/* A claim that nobody ends, and what comes of it too late. */
static void hung(void)
{
	uint64_t one, two;

	need(!lkvfence_peer_failed(f, "probed", 0), "FAILED");
	gives(probe(f, 20, &one), 0, "a prober that will hang");
	check(until(probe(other, LONG_MS, &two) == 0), "after its interval others may");
	check(two > one, "under another number");
	gives(result(f, PROBED, one, 0), -ESTALE, "it comes back: too late");
	gives(result(f, PROBED, 0, 0), -ESTALE, "whatever it names");
	gives(result(f, RECOVERED, one, 0), -ESTALE, "whatever it says");
	gives(look().state, LKVFENCE_PEER_FAILED, "it changed nothing");
	gives(result(other, PROBED, two, 20), 0, "the other's result counts");

	check(until(probe(f, 20, &one) == 0), "another one that hangs");
	usleep(40000);
	gives(result(f, RECOVERED, one, 0), 0, "it comes late, but nobody else began");
	gives(look().state, LKVFENCE_PEER_HEALTHY, "its success counts");
}

static void prober_killed(void)
{
	int ready[2], status;
	uint64_t one;
	pid_t pid;
	char c;

	need(!lkvfence_peer_failed(f, "probed", 0) && !pipe(ready), "FAILED");
	pid = fork();
	if (!pid) {
		struct lkvfence *own = region("peer-probe", 8);

		if (probe(own, LONG_MS, &one) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	need(pid > 0 && read(ready[0], &c, 1) == 1, "a child with the claim");
	gives(look().pid, pid, "another process probes");
	gives(probe(f, LONG_MS, &one), -EBUSY, "so this one doesn't");
	need(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "it is killed");
	check(until(probe(f, LONG_MS, &one) == 0), "its claim went with it");
	gives(result(f, RECOVERED, one, 0), 0, "success");
	close(ready[0]);
	close(ready[1]);
}

/* Many at once: how many have the claim? */
static int tries(void *arg)
{
	struct lkvfence *own = region("peer-probe", 8);
	int *fds = arg;
	uint64_t one;
	int err;
	char c;

	/* together, and until all have tried */
	if (read(fds[0], &c, 1) != 1)
		return 2;
	err = probe(own, LONG_MS, &one);
	c = err == 0 ? 'y' : err == -EBUSY ? 'n' : '?';
	if (write(fds[3], &c, 1) != 1 || read(fds[4], &c, 1) != 1)
		return 2;
	return 0;
}

static void one_of_many(void)
{
	char go[CHILDREN] = { 0 }, answers[CHILDREN];
	unsigned int i, round, yes, no, good = 0;
	pid_t pids[CHILDREN];
	int fds[6];

	for (round = 0; round < 10; round++) {
		need(!lkvfence_peer_failed(f, "probed", 0), "FAILED");
		need(!pipe(fds) && !pipe(fds + 2) && !pipe(fds + 4), "pipes");
		for (i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			need(pids[i] >= 0, "fork");
			if (!pids[i])
				_exit(tries(fds));
		}
		need(write(fds[1], go, CHILDREN) == CHILDREN, "go");
		for (i = 0, yes = 0, no = 0; i < CHILDREN; i++) {
			need(read(fds[2], answers + i, 1) == 1, "an answer");
			yes += answers[i] == 'y';
			no += answers[i] == 'n';
		}
		need(write(fds[5], go, CHILDREN) == CHILDREN, "end");
		for (i = 0; i < CHILDREN; i++)
			need(!status_of(pids[i]), "a child that ends well");
		good += yes == 1 && no == CHILDREN - 1;
		for (i = 0; i < 6; i++)
			close(fds[i]);
		need(!lkvfence_peer_recovered(f, "probed", 0), "RECOVERED");
	}
	gives(good, 10, "of %u processes one probes, each time", CHILDREN);
}

/* A session that begins ends the claim, too. */
static void reconnect(void)
{
	struct lkvfence_peer p = peer(LKVFENCE_PEER_OP_CONNECT);
	uint64_t one;

	need(!lkvfence_peer_failed(f, "probed", 0) && !probe(f, LONG_MS, &one), "a claim");
	p.session = 77;
	need(!lkvfence_peer(other, &p), "CONNECT");
	check(p.state == LKVFENCE_PEER_HEALTHY && !p.pid, "a new session: nothing to probe");
	gives(result(f, PROBED, one, 0), -ESTALE, "the old session's probe");
	gives(result(f, RECOVERED, one, 0), -ESTALE, "is over");
	p = look();
	check(p.failures == p.recoveries, "as many recoveries as failures");
}

int main(void)
{
	struct lkvfence_peer p = peer(LKVFENCE_PEER_OP_LOOK);

	f = region("peer-probe", 8);
	other = region("peer-probe", 8);
	p.flags = LKVFENCE_PEER_CREATE;
	need(!lkvfence_peer(f, &p), "LOOK");
	claims();
	hung();
	prober_killed();
	one_of_many();
	reconnect();
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
