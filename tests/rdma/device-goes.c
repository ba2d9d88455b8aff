// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The device is removed under load. That is no proof of anything: a QP that was
 * not moved before is lost, and its transfer goes on to the rest of its policy. One
 * that was moved had no way back. Nothing hangs, nor keeps the device: who removes
 * it waits for those that have it open, and for nobody else.
 */
#include <signal.h>

#include "rig.h"

#define SLOTS	48

static struct rig rig;
static struct lkvfence *f;

static pid_t remove_device(void)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (!pid) {
		execlp("rdma", "rdma", "link", "delete", DEVICE, NULL);
		_exit(127);
	}
	return pid;
}

static bool unknown(void)
{
	return try_bind(f, 99, DEVICE, 0xffffff) == -ENODEV;
}

static uint64_t under_way(uint32_t link, uint32_t policy)
{
	struct lkvfence_begin b = want(link, link * 16, 16, 0);

	rig_connect(&rig, link);
	bind_link(f, &rig, link + 1, link);
	b.policy = policy;
	need(!lkvfence_begin(f, &b), "BEGIN");
	need(!lkvfence_take(f, b.generation, link + 1), "TAKE");
	rig_write(&rig, link, b.generation, link * 16, 16, 64);
	return b.generation;
}

/* Of two that are released in whatever order, each asked for once. */
static struct lkvfence_event release_of(uint64_t generation, uint64_t other)
{
	static struct lkvfence_event kept;
	struct lkvfence_event e = kept;

	while (e.generation != generation) {
		if (e.generation == other)
			kept = e;
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		need(e.type, "a release");
	}
	return e;
}

/* It goes while one transfer is being revoked, and two wait for their ends. */
static void removed(void)
{
	struct lkvfence_query_source q = { .source = 2 };
	uint64_t taint, quarantine, moved;
	struct lkvfence_event e;
	struct lkvfence_stat stat;
	int status;
	pid_t pid;

	rig_new(&rig, SLOTS);
	taint = under_way(0, LKVFENCE_POLICY_REVOKE);
	quarantine = under_way(1, LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_QUARANTINE);
	moved = under_way(2, LKVFENCE_POLICY_REVOKE);
	landing(rig.pool, 32, moved);
	set_param("settle_ms", 2000);
	gives(abort_with(f, moved, LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
	      "one is revoked as the device goes");
	rig_see_flush(&rig, 2);

	gives(run("rmmod rdma_rxe 2>/dev/null"), 1, "the driver can't be unloaded in use");
	pid = remove_device();
	check(until(unknown()), "the device is being removed");
	gives(abort_with(f, taint, LKVFENCE_POLICY_REVOKE_NOW, 300), 0, "one is aborted");
	e = release_of(taint, moved);
	check(released_as(&e, taint, LKVFENCE_OUTCOME_TIMEOUT, LKVFENCE_EVIDENCE_TIMEOUT) &&
	      e.held_ns >= 300 * MS, "it can't be revoked: tainted, at the deadline");
	e = release_of(moved, taint);
	check(released_as(&e, moved, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
	      "the one whose QP had been moved is revoked");
	gives(abort_with(f, quarantine, LKVFENCE_POLICY_DEFAULT, 300), 0, "one is aborted");
	e = event_of(f, LKVFENCE_EVENT_QUARANTINED);
	gives(e.generation == quarantine, true, "quarantined, at the deadline");
	gives(lkvfence_query_source(f, &q), 0, "QUERY_SOURCE");
	gives(q.state, LKVFENCE_SOURCE_LOST, "its source is lost");
	stat = stat_of(f);
	check(stat.revokes == 3 && stat.revokes_failed == 2 && stat.sources_lost == 2 &&
	      stat.sources_revoked == 1 && adds_up(&stat),
	      "it is counted: %u revocations, %u failed; %u sources revoked, %u lost",
	      (unsigned int)stat.revokes, (unsigned int)stat.revokes_failed,
	      (unsigned int)stat.sources_revoked, (unsigned int)stat.sources_lost);

	rig_destroy(&rig, 1);
	gives(lkvfence_quiet(f, q.binding, 0, LKVFENCE_EVIDENCE_QP_DESTROYED), 0,
	      "the owner of the QP has destroyed it");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, quarantine, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_DESTROYED), "released as revoked");
	stamp(rig.pool, 16, 32, 1);
	usleep(100000);
	gives((long)strays(rig.pool, 16, 32, 1), 0, "no stray byte where there was proof");
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	put_params_back();
	rig_end(&rig);
	check(until(waitpid(pid, &status, WNOHANG) == pid) && !status,
	      "the device is removed when nobody has it open");
	check(!device_there(), "and is gone");
	device_back();
}

/* Its owner is dead, its source is bound yet: that keeps neither device nor driver. */
static void unloaded(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	pid_t pid;

	rig_start(&rig, SLOTS);
	generation = begin(f, 10, 0, 16, 0);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		struct lkvfence *own;

		lkvfence_close(f);
		own = region("device-goes", 0);
		rig_open(&rig);
		rig_connect(&rig, 0);
		bind_link(own, &rig, 7, 0);
		_exit(lkvfence_take(own, generation, 7) ? 1 : 0);
	}
	gives(status_of(pid), 0, "a process leaves a source with a lease behind");
	rig_end(&rig);
	check(until(!run("rmmod rdma_rxe 2>/dev/null")), "the driver can be unloaded");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 300), 0, "abort");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_TIMEOUT,
			  LKVFENCE_EVIDENCE_TIMEOUT), "tainted, at the deadline");
	device_back();
}

/* The device is another one then, whatever its name, and works. */
static void back(void)
{
	struct lkvfence_event e;
	uint64_t generation;

	rig_new(&rig, SLOTS);
	generation = under_way(0, LKVFENCE_POLICY_REVOKE);
	landing(rig.pool, 0, generation);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "revoked, on the new device");
	rig_end(&rig);
}

int main(void)
{
	atexit(device_back);
	f = region("device-goes", SLOTS);
	removed();
	unloaded();
	back();
	lkvfence_close(f);
	return done();
}
