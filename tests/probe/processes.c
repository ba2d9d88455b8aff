// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Probers of several processes: one of them probes a failed peer, whichever; when
 * it is killed or hangs, another one does; success is everybody's.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <lkvfence-probe.h>

#include "e2e.h"

#define CHILDREN	4
/* So long that a probe that doesn't hang is over before, on a busy machine, too. */
#define INTERVAL_MS	3000

/* Seen by all processes. */
static struct shared {
	atomic_uint inside, most, calls[CHILDREN], ready;
	atomic_int result;
	atomic_int stuck;	/* the child that hangs; or one of these */
	atomic_uint now_stuck;
} *shared;

#define NOBODY	-1
#define THE_NEXT	-2

static struct lkvfence *f;
static pid_t pids[CHILDREN];

static int probe(const struct lkvfence_probe *p, void *arg)
{
	unsigned int self = (uintptr_t)arg, inside;
	int next = THE_NEXT;

	(void)p;
	inside = atomic_fetch_add(&shared->inside, 1) + 1;
	if (inside > atomic_load(&shared->most))
		atomic_store(&shared->most, inside);
	atomic_fetch_add(&shared->calls[self], 1);
	atomic_compare_exchange_strong(&shared->stuck, &next, (int)self);
	while (atomic_load(&shared->stuck) == (int)self) {
		atomic_store(&shared->now_stuck, 1);
		usleep(1000);
	}
	atomic_fetch_sub(&shared->inside, 1);
	return atomic_load(&shared->result);
}

static void child(unsigned int number)
{
	struct lkvfence_prober_peer peer = {
		.name = "shared", .probe = probe, .arg = (void *)(uintptr_t)number,
	};
	struct lkvfence_prober_attr attr = { .interval_ns = INTERVAL_MS * MS };
	struct lkvfence_prober *prober;

	attr.fence = region("probe-processes", 8);
	need(!lkvfence_prober_start(&prober, &attr), "a prober: %s", lkvfence_probe_errmsg());
	need(!lkvfence_prober_add(prober, &peer), "a peer");
	atomic_fetch_add(&shared->ready, 1);
	for (;;)
		pause();
}

static struct lkvfence_peer look(void)
{
	struct lkvfence_peer p = { .name = "shared" };

	need(!lkvfence_peer(f, &p), "LOOK");
	return p;
}

static unsigned int calls(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < CHILDREN; i++)
		sum += atomic_load(&shared->calls[i]);
	return sum;
}

static void wait_calls(unsigned int more)
{
	unsigned int before = calls();

	need(until(calls() >= before + more), "probes");
}

static void kill_child(unsigned int i)
{
	int status;

	need(!kill(pids[i], SIGKILL) && waitpid(pids[i], &status, 0) == pids[i], "kill");
	pids[i] = 0;
}

static bool logged_words(const char *one, const char *other)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	char line[4096];
	bool found = false;
	ssize_t n;

	need(fd >= 0, "open of /dev/kmsg");
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = 0;
		found |= strstr(line, one) && strstr(line, other);
	}
	close(fd);
	return found;
}

static void one_probes(void)
{
	struct lkvfence_peer p;

	check(!calls(), "a healthy peer isn't probed");
	need(!lkvfence_peer_failed(f, "shared", 0), "FAILED");
	wait_calls(3);
	gives(atomic_load(&shared->most), 1, "of %u processes one probes at a time", CHILDREN);
	p = look();
	check(p.state == LKVFENCE_PEER_FAILED && p.probes >= 3 && !p.recoveries,
	      "probes that fail change nothing");
	atomic_store(&shared->result, 0);
	check(until(look().state == LKVFENCE_PEER_HEALTHY), "one that succeeds does, for all");
	p = look();
	gives(p.recoveries, 1, "once");
	check(logged_words("peer shared of uid 0", "recovered"), "the kernel's log tells");
}

/* Any of those that live: it is in its probe, and stays there. */
static unsigned int one_that_stays(void)
{
	atomic_store(&shared->now_stuck, 0);
	atomic_store(&shared->stuck, THE_NEXT);
	need(until(atomic_load(&shared->now_stuck)), "one that probes");
	return atomic_load(&shared->stuck);
}

/* The one that probes is killed in the midst of it. */
static void prober_killed(void)
{
	unsigned int i;
	pid_t prober;

	atomic_store(&shared->result, -1);
	need(!lkvfence_peer_failed(f, "shared", 0), "FAILED");
	i = one_that_stays();
	prober = look().pid;
	gives(prober, pids[i], "a process that is in its probe");
	kill_child(i);
	atomic_store(&shared->stuck, NOBODY);
	atomic_store(&shared->inside, 0);
	atomic_store(&shared->most, 0);
	wait_calls(2);
	check(look().pid != prober, "is killed: others go on");
	gives(atomic_load(&shared->most), 1, "one at a time");
	atomic_store(&shared->result, 0);
	check(until(look().state == LKVFENCE_PEER_HEALTHY), "success");
}

/* It hangs, and lives. */
static void hung(void)
{
	unsigned int i, before;
	struct lkvfence_peer p;

	atomic_store(&shared->result, -1);
	need(!lkvfence_peer_failed(f, "shared", 0), "FAILED");
	i = one_that_stays();
	before = atomic_load(&shared->calls[i]);
	wait_calls(3);
	gives(atomic_load(&shared->calls[i]), before, "the one that hangs isn't started again");
	check(calls() > before, "others probe in its place");
	atomic_store(&shared->result, 0);
	check(until(look().state == LKVFENCE_PEER_HEALTHY), "and find that it works");
	p = look();
	atomic_store(&shared->stuck, NOBODY);
	check(until(!atomic_load(&shared->inside)), "it comes back");
	check(until(look().stale > p.stale), "too late, and is told so");
	p = look();
	check(p.state == LKVFENCE_PEER_HEALTHY && p.failures == p.recoveries,
	      "nothing has changed by that");
}

int main(void)
{
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_CREATE, .name = "shared" };
	unsigned int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED, "shared memory");
	atomic_store(&shared->result, -1);
	atomic_store(&shared->stuck, NOBODY);
	for (i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		need(pids[i] >= 0, "fork");
		if (!pids[i])
			child(i);
	}
	f = region("probe-processes", 8);
	need(!lkvfence_peer(f, &p), "a peer");
	need(until(atomic_load(&shared->ready) == CHILDREN), "all probers");
	one_probes();
	prober_killed();
	hung();
	for (i = 0; i < CHILDREN; i++) {
		if (pids[i])
			kill_child(i);
	}
	lkvfence_close(f);
	return done();
}
