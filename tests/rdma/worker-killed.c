// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The receiver is two processes, as in real engines: a worker that registered the
 * memory and has the QP, and a scheduler that gives slots out. The worker is killed
 * in mid-write. That its QP is not found any more proves nothing to the kernel:
 * the slots are held, and come back tainted, or not at all, until who knows better
 * says so.
 */
#include <signal.h>
#include <sys/mman.h>

#include "rig.h"

#define SLOTS	32

static struct rig rig;
static struct lkvfence *f;

/* What the worker tells: it is connected, and bound. */
static uint64_t *worker_bound;

static pid_t start_worker(void)
{
	pid_t pid;

	__atomic_store_n(worker_bound, 0, __ATOMIC_RELAXED);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		/* A handle of its own: the parent's would live on. */
		struct lkvfence *own;

		lkvfence_close(f);
		own = region("worker-killed", 0);
		rig_open(&rig);
		rig_connect(&rig, 0);
		__atomic_store_n(worker_bound, bind_link(own, &rig, 1, 0), __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	need(until(__atomic_load_n(worker_bound, __ATOMIC_ACQUIRE)), "a worker");
	return pid;
}

/* A transfer whose worker is dead. */
static uint64_t dies(uint64_t tag, uint32_t policy, unsigned int timeout)
{
	pid_t worker = start_worker();
	struct lkvfence_begin b = want(tag, 0, SLOTS, 1);

	b.policy = policy;
	need(!lkvfence_begin(f, &b), "BEGIN");
	check(query(f, b.generation).flags & LKVFENCE_TRANSFER_REVOCABLE,
	      "it can be revoked, for a source of the worker's");
	rig_stream(&rig, 0, b.generation, 0, SLOTS);
	landing(rig.pool, 0, b.generation);
	need(!kill(worker, SIGKILL), "kill");
	gives(status_of(worker), 128 + SIGKILL, "the worker is dead");
	gives(query(f, b.generation).state, LKVFENCE_STATE_WAITING,
	      "nothing happens for that");
	gives(abort_with(f, b.generation, LKVFENCE_POLICY_DEFAULT, timeout), 0, "abort");
	return b.generation;
}

int main(void)
{
	struct lkvfence_query_source q = { .source = 1 };
	struct lkvfence_stat stat;
	struct lkvfence_event e;
	uint64_t generation;

	worker_bound = mmap(NULL, sizeof(*worker_bound), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(worker_bound != MAP_FAILED, "memory");
	rig_start(&rig, SLOTS);
	f = region("worker-killed", SLOTS);

	generation = dies(1, LKVFENCE_POLICY_REVOKE, 500);
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT) && e.held_ns >= 500 * MS,
	      "it can't be revoked any more: tainted, at the deadline");
	stat = stat_of(f);
	check(stat.revokes == 1 && stat.revokes_failed == 1 && stat.sources_lost == 1 &&
	      !stat.sources_revoked && adds_up(&stat), "which is counted");
	check(until(!stat_of(f).sources), "the source goes with the last lease");

	generation = dies(2, LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_QUARANTINE, 500);
	e = event(f);
	check(e.type == LKVFENCE_EVENT_QUARANTINED && e.generation == generation,
	      "with quarantine the slots stay out");
	gives(lkvfence_query_source(f, &q), 0, "QUERY_SOURCE");
	check(q.state == LKVFENCE_SOURCE_LOST && q.leases_out == 1, "its source is lost");
	/* It was waited for: all that it had open is closed, its memory deregistered. */
	gives(lkvfence_revoked(f, generation, 1, LKVFENCE_EVIDENCE_MR_DEREGISTERED), 0,
	      "who has waited for the worker's end knows that its memory is deregistered");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_MR_DEREGISTERED), "released as revoked");
	stamp(rig.pool, 0, SLOTS, 1);
	check(rig_drain(&rig, 0).bad, "the sender fails");
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte");
	check(until(!stat_of(f).sources), "the source goes with the last lease");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
