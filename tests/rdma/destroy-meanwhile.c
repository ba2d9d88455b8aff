// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A process destroys its QP, or is killed, while that is being revoked. Neither
 * waits for the other for good; what comes of the transfer is counted, once.
 */
#include <signal.h>

#include "rig.h"

#define SLOTS	8
#define RUNS	30

static struct rig rig;
static struct lkvfence *f;

/* Destroyed at about the moment at which the kernel moves it to ERR. */
static void destroyed(uint32_t i, uint32_t *by_time, uint32_t *by_word)
{
	struct lkvfence_event e;
	uint64_t binding, generation;
	int err;

	rig_connect(&rig, 0);
	binding = bind_link(f, &rig, 1, 0);
	generation = begin(f, i, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, 16);
	landing(rig.pool, 0, generation);
	need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
	if (i % 3)
		usleep(i % 3 * 100);
	rig_destroy(&rig, 0);
	err = lkvfence_quiet(f, binding, 0, LKVFENCE_EVIDENCE_QP_DESTROYED);
	need(!err || err == -EALREADY, "QUIET: %d", err);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	need(e.generation == generation && e.outcome == LKVFENCE_OUTCOME_REVOKED,
	     "released as revoked");
	*by_time += e.evidence == LKVFENCE_EVIDENCE_QP_ERR_SETTLED;
	*by_word += e.evidence == LKVFENCE_EVIDENCE_QP_DESTROYED;
	stamp(rig.pool, 0, SLOTS, 1);
	rig_hang_up(&rig, 0);
	need(!strays(rig.pool, 0, SLOTS, 1), "no stray byte");
}

/* Has a QP, and a transfer of its own that is being revoked as it dies. */
static void victim(uint64_t tag)
{
	struct lkvfence *own = region("destroy-meanwhile-killed", SLOTS);
	uint64_t generation;

	rig_open(&rig);
	rig_connect(&rig, 0);
	bind_link(own, &rig, 1, 0);
	generation = begin(own, tag, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, 16);
	landing(rig.pool, 0, generation);
	abort_with(own, generation, LKVFENCE_POLICY_REVOKE_NOW, 1000);
	kill(getpid(), SIGKILL);
}

static void killed(uint32_t i)
{
	pid_t pid = fork();
	int status;

	need(pid >= 0, "fork");
	if (!pid) {
		lkvfence_close(f);
		victim(i);
	}
	need(until(waitpid(pid, &status, WNOHANG) == pid), "it dies");
	need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "by the signal");
	need(until(!region_exists("destroy-meanwhile-killed")), "its region goes");
	rig_hang_up(&rig, 0);
}

static uint64_t total(const char *name)
{
	return strtoull(line_of("/sys/class/misc/lkvfence/%s", name), NULL, 10);
}

int main(void)
{
	uint32_t n = runs(RUNS), by_time = 0, by_word = 0, i;
	uint64_t nr_revoked, timeout;
	struct lkvfence_stat stat;

	rig_new(&rig, SLOTS);
	f = region("destroy-meanwhile", SLOTS);
	for (i = 0; i < n; i++)
		destroyed(i, &by_time, &by_word);
	stat = stat_of(f);
	check(by_time + by_word == n && stat.released[LKVFENCE_OUTCOME_REVOKED] == n,
	      "%u QPs destroyed in mid-revocation: all nr_revoked, %u of them by time, %u by word",
	      n, by_time, by_word);
	check(!stat.revokes_failed && adds_up(&stat) && !stat.slots_taken,
	      "no revocation failed, and no slot is lost");

	rig_close(&rig);
	nr_revoked = total("released_revoked");
	timeout = total("released_timeout");
	for (i = 0; i < n; i++)
		killed(i);
	nr_revoked = total("released_revoked") - nr_revoked;
	timeout = total("released_timeout") - timeout;
	check(nr_revoked + timeout == n,
	      "%u owners killed in mid-revocation: %" PRIu64 " nr_revoked, %" PRIu64 " tainted, none hangs",
	      n, nr_revoked, timeout);
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
