// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A thread of the kernel stands still in the middle of writing what came, because
 * something of higher priority has its processor: for longer than the settle time.
 * Waiting is no proof then, as the control shows; a QP has settled only when that
 * thread went on.
 *
 * The sender, in whose system calls Soft-RoCE of some kernels carries packets out,
 * shares its processor with a process that takes it for 300 ms at a time.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "rig.h"

#define SLOTS	4
#define ROUNDS	64
#define RUNS	12
#define CONTROL	400
#define PREEMPT	"/sys/kernel/debug/sched/preempt"

static struct rig rig;
static struct lkvfence *f;
static char model[16];
static pid_t hog;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	need(!sched_setaffinity(0, sizeof(set), &set), "processor %d", cpu);
}

static void start_hog(void)
{
	struct sched_param param = { .sched_priority = 40 };

	hog = fork();
	need(hog >= 0, "fork");
	if (hog)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	need(!sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
	for (;;) {
		int64_t start = now_ns();

		while (now_ns() < start + 300 * (int64_t)MS)
			;
		usleep(60000 + rand() % 5000);
	}
}

/* Which kernel threads may be preempted; the line names all, the one in (). */
static void preempt_all(void)
{
	const char *line = line_of(PREEMPT), *open = strchr(line, '(');

	if (!open)
		return;
	snprintf(model, sizeof(model), "%.*s", (int)strcspn(open + 1, ")"), open + 1);
	need(!write_file(PREEMPT, "full"), "preemption of the kernel");
}

static void put_back(void)
{
	if (hog > 0)
		kill(hog, SIGKILL);
	if (model[0])
		write_file(PREEMPT, model);
}

static void under_way(uint64_t generation)
{
	rig_connect(&rig, 0);
	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, SLOTS - 1, generation);
}

static size_t late(uint64_t generation)
{
	/* Until the hog has let go of the processor once. */
	usleep(400000);
	rig_flush(&rig, 0);
	return strays(rig.pool, 0, SLOTS, generation);
}

static void control(void)
{
	struct utsname name;
	size_t bytes = 0;
	uint32_t i;

	need(!uname(&name), "uname");
	if (strncmp(name.release, "6.1.", 4)) {
		skip("this kernel isn't known for it", "ERR and 20 ms are no proof");
		return;
	}
	for (i = 0; i < CONTROL && !bytes; i++) {
		under_way(2 * i + 1);
		rig_err(&rig, 0);
		usleep(20000);
		stamp(rig.pool, 0, SLOTS, 2 * i + 2);
		bytes = late(2 * i + 2);
	}
	check(bytes, "ERR and 20 ms are no proof: hit after %u runs, %zu bytes", i, bytes);
}

static void fenced(void)
{
	uint32_t n = runs(RUNS), hit = 0, i;
	struct lkvfence_event e;
	uint64_t generation;

	set_param("settle_ms", 1);
	set_param("revoke_timeout_ms", 60000);
	for (i = 0; i < n; i++) {
		under_way(2 * i + 1);
		bind_link(f, &rig, 1, 0);
		generation = begin(f, i, 0, SLOTS, 1);
		need(!abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), "ABORT");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		need(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
				 LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "released as revoked");
		stamp(rig.pool, 0, SLOTS, 2 * i + 2);
		hit += late(2 * i + 2) > 0;
	}
	check(!hit, "%u revocations with a settle time of 1 ms: %u were hit", n, hit);
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	put_params_back();
}

int main(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		skip("it takes two processors", "a thread that stands still");
		return done();
	}
	/* The sender stays where it is started. */
	pin(1);
	rig_new(&rig, SLOTS);
	pin(0);
	f = region("standstill", SLOTS);
	atexit(put_back);
	preempt_all();
	start_hog();
	control();
	fenced();
	kill(hog, SIGKILL);
	status_of(hog);
	hog = 0;
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
