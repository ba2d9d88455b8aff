// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The owner of a QP, and who revokes it, at the same time. What the owner attested
 * stands, also where the kernel was about to move the QP; binding, unbinding,
 * QUIET and ABORT may meet in any order, and every transfer comes back.
 */
#include "rig.h"

#define SLOTS	8
#define RUNS	200
#define ROUNDS	300

static struct rig rig;
static struct lkvfence *f;

/* Threads that go at the same moment, each time. */
static uint32_t go, ready;
static bool over;

static void wait_for(uint32_t *value, uint32_t want)
{
	while (__atomic_load_n(value, __ATOMIC_ACQUIRE) != want &&
	       !__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		;
}

static void pause_ns(uint32_t ns)
{
	int64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* What the owner's thread attests in this round, and what comes of it. */
static uint64_t attested;
static int answer;

static void *attest(void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 1; i <= runs(RUNS); i++) {
		wait_for(&go, i);
		/* From before the move to behind it. */
		pause_ns(i % 50 * 10000);
		answer = lkvfence_quiet(f, attested, 0, LKVFENCE_EVIDENCE_MR_DEREGISTERED);
		__atomic_store_n(&ready, i, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* QUIET as the QP is moved. It never settles: what comes back does so by QUIET. */
static void owner_is_faster(void)
{
	uint32_t n = runs(RUNS), i, right = 0, first = 0;
	struct lkvfence_event e;
	uint64_t generation;
	pthread_t owner;
	struct ibv_qp *qp;
	int err;

	set_param("settle_ms", 600000);
	need(!pthread_create(&owner, NULL, attest, NULL), "a thread");
	for (i = 1; i <= n; i++) {
		qp = rig_loop(&rig);
		attested = bind_loop(f, 1, qp);
		generation = begin(f, i, 0, SLOTS, 1);
		__atomic_store_n(&go, i, __ATOMIC_RELEASE);
		err = abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0);
		wait_for(&ready, i);
		/* It had come back by then. */
		first += err == -ESTALE;
		need(!err || err == -ESTALE, "ABORT");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		if (answer || !released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
					   LKVFENCE_EVIDENCE_MR_DEREGISTERED))
			break;
		right++;
		need(!lkvfence_unbind(f, 1) && !ibv_destroy_qp(qp), "unbind");
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(owner, NULL);
	__atomic_store_n(&over, false, __ATOMIC_RELEASE);
	check(right == n, "%u of %u owners were heard (%d), %u of them before it began", right, n,
	      answer, first);
	put_params_back();
}

/* What is bound now, and what has a lease of it. */
static uint64_t binding, transfer;

static void *say_quiet(void *arg)
{
	uint32_t *good = arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		*good += !lkvfence_quiet(f, __atomic_load_n(&binding, __ATOMIC_ACQUIRE),
					 LKVFENCE_QUIET_ALL,
					 LKVFENCE_EVIDENCE_MR_DEREGISTERED);
		usleep(10);
	}
	return NULL;
}

static void *say_abort(void *arg)
{
	uint32_t *good = arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		*good += !abort_with(f, __atomic_load_n(&transfer, __ATOMIC_ACQUIRE),
				     LKVFENCE_POLICY_REVOKE_NOW, 0);
		usleep(10);
	}
	return NULL;
}

static void in_any_order(void)
{
	uint32_t n = runs(ROUNDS), quiet = 0, aborted = 0, unbound = 0, back = 0, i;
	struct lkvfence_event e;
	pthread_t threads[2];
	uint64_t generation;
	struct ibv_qp *qp;

	set_param("settle_ms", 1);
	need(!pthread_create(&threads[0], NULL, say_quiet, &quiet) &&
	     !pthread_create(&threads[1], NULL, say_abort, &aborted), "threads");
	for (i = 0; i < n; i++) {
		qp = rig_loop(&rig);
		__atomic_store_n(&binding, bind_loop(f, 1, qp), __ATOMIC_RELEASE);
		if (i % 4) {
			struct lkvfence_begin b = want(i, 0, SLOTS, 0);

			need(!lkvfence_begin(f, &b), "BEGIN");
			generation = b.generation;
			/* Its source may have been revoked by now. */
			if (!lkvfence_take(f, generation, 1)) {
				__atomic_store_n(&transfer, generation, __ATOMIC_RELEASE);
				e = event_of(f, LKVFENCE_EVENT_RELEASED);
				back += e.generation == generation &&
					e.outcome == LKVFENCE_OUTCOME_REVOKED;
			} else {
				back += !lkvfence_release(f, generation);
			}
		} else {
			back++;
		}
		unbound += !lkvfence_unbind(f, 1);
		need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	check(back == n && unbound == n,
	      "%u of %u transfers came back as revoked, and %u sources were unbound", back,
	      n, unbound);
	check(quiet && aborted, "meanwhile %u QUIETs and %u ABORTs were accepted", quiet, aborted);
	put_params_back();
}

int main(void)
{
	struct lkvfence_stat stat;

	rig_new(&rig, SLOTS);
	f = region("quiet-race", SLOTS);
	owner_is_faster();
	in_any_order();
	stat = stat_of(f);
	check(!stat.slots_taken && !stat.revokes_failed && !stat.sources && adds_up(&stat),
	      "no revocation failed, and no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
