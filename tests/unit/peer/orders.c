// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * All orders of so many calls about one peer, by two who probe and in two
 * sessions. After each call the answer, and what is known of the peer, must be
 * what follows from the calls before it: not by a state that is carried along, but
 * by looking back for what was said last.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "peer_state.h"

#define MAX_DEPTH	8
#define INTERVAL	100
#define DELAY		30
#define STEP		50	/* a move of the clock */

enum call {
	CONNECT_1, CONNECT_2,
	FAIL, FAIL_1, FAIL_2, FAIL_FIRST, FAIL_LATER,
	RECOVER, RECOVER_1, RECOVER_FIRST, RECOVER_A, RECOVER_B,
	PROBE_A, PROBE_B,
	PROBED_A, PROBED_B, PROBED_A_ANY,
	GONE_A,
	LAUNCH,
	WAIT,
	NR_CALLS
};

static const char * const names[NR_CALLS] = {
	"connect 1", "connect 2", "fail", "fail 1", "fail 2",
	"fail of the first generation", "fail after 30", "recover", "recover 1",
	"recover of the first generation", "recover by A's probe",
	"recover by B's probe", "probe by A", "probe by B", "probed by A",
	"probed by B", "probed by A, whichever", "A is gone", "launch", "wait",
};

/* One call, when it came, and what it gave. */
struct entry {
	enum call call;
	uint64_t now;
	uint64_t number;	/* of a claim, or of a generation */
	int ret;
};

static struct entry entries[MAX_DEPTH];
static const int a, b;		/* who probes: their addresses */

/*
 * Looking back, from before entry @n
 */

/* The generation that the peer has: that of the last call with another session. */
static uint64_t session_of(int n, uint64_t *generation)
{
	uint64_t last = 0;
	int i;

	*generation = 1;
	for (i = 0; i < n; i++) {
		uint64_t session = entries[i].call == CONNECT_1 ? 1 : 2;

		if (entries[i].call > CONNECT_2 || session == last)
			continue;
		last = session;
		*generation = entries[i].number;
	}
	return last;
}

static bool changes_session(int i)
{
	uint64_t before, after;

	session_of(i, &before);
	session_of(i + 1, &after);
	return before != after;
}

static bool heals(int i)
{
	const struct entry *e = entries + i;

	return (e->call >= RECOVER && e->call <= RECOVER_B && !e->ret) ||
	       changes_session(i);
}

static bool fails(int i)
{
	return entries[i].call >= FAIL && entries[i].call <= FAIL_LATER &&
	       !entries[i].ret;
}

/* The call from which on it is failed; -1: it is healthy. */
static int failed_by(int n)
{
	int i, first = -1;

	for (i = n - 1; i >= 0 && !heals(i); i--) {
		if (fails(i))
			first = i;
	}
	return first;
}

static const int *prober_of(int i)
{
	return entries[i].call == PROBE_A ? &a : &b;
}

/* The claim that there is; -1: none. */
static int claim_at(int n)
{
	int i, claim = -1;

	for (i = failed_by(n) + 1; failed_by(n) >= 0 && i < n; i++) {
		enum call call = entries[i].call;

		if ((call == PROBE_A || call == PROBE_B) && !entries[i].ret)
			claim = i;
		else if (call >= PROBED_A && call <= PROBED_A_ANY && !entries[i].ret)
			claim = -1;
		else if (call == GONE_A && claim >= 0 && prober_of(claim) == &a)
			claim = -1;
	}
	return claim;
}

/* When a probe may be claimed. */
static uint64_t due_at(int n)
{
	int first = failed_by(n), i;
	const struct entry *e;

	for (i = n - 1; i > first; i--) {
		e = entries + i;
		if (claim_at(i + 1) == i || (e->call >= PROBED_A &&
					     e->call <= PROBED_A_ANY && !e->ret))
			return e->now + INTERVAL;
		if (claim_at(i) >= 0 && claim_at(i + 1) < 0)
			return e->now;
	}
	e = entries + first;
	return e->now + (e->call == FAIL_LATER ? DELAY : 0);
}

/* The last claim that was given to somebody, over or not; 0: none. */
static uint64_t last_claim(int n, const int *prober)
{
	int i;

	for (i = n - 1; i >= 0; i--) {
		if ((entries[i].call == PROBE_A || entries[i].call == PROBE_B) &&
		    !entries[i].ret && prober_of(i) == prober)
			return entries[i].number;
	}
	return 0;
}

static int answer_to_session(int n, uint64_t session, uint64_t generation)
{
	uint64_t present;
	uint64_t last = session_of(n, &present);

	return (session && session != last) || (generation && generation != present) ?
	       -ESTALE : 0;
}

static int answer_to_result(int n, const int *prober)
{
	int claim = claim_at(n);

	return claim >= 0 && prober_of(claim) == prober ? 0 : -ESTALE;
}

/* Somebody's result names his last claim, and he had none: then it names none. */
static int answer_to_recovery(int n, const int *prober)
{
	int claim = claim_at(n);
	uint64_t number = last_claim(n, prober);

	if (!number)
		return 0;
	return claim >= 0 && entries[claim].number == number ? 0 : -ESTALE;
}

static int answer_to_probe(int n)
{
	if (failed_by(n) < 0)
		return -EALREADY;
	if (entries[n].now >= due_at(n))
		return 0;
	return claim_at(n) >= 0 ? -EBUSY : -EAGAIN;
}

static int expected(int n)
{
	switch (entries[n].call) {
	case FAIL_1:
	case RECOVER_1:
		return answer_to_session(n, 1, 0);
	case FAIL_2:
		return answer_to_session(n, 2, 0);
	case FAIL_FIRST:
	case RECOVER_FIRST:
		return answer_to_session(n, 0, 1);
	case RECOVER_A:
		return answer_to_recovery(n, &a);
	case RECOVER_B:
		return answer_to_recovery(n, &b);
	case PROBE_A:
	case PROBE_B:
		return answer_to_probe(n);
	case PROBED_A:
	case PROBED_A_ANY:
		return answer_to_result(n, &a);
	case PROBED_B:
		return answer_to_result(n, &b);
	case LAUNCH:
		return failed_by(n) >= 0 ? -EHOSTDOWN : 0;
	default:
		return 0;
	}
}

/*
 * Calling
 */

static int do_call(struct peer_state *p, int n)
{
	struct entry *e = entries + n;

	switch (e->call) {
	case CONNECT_1:
	case CONNECT_2:
		peer_connect(p, e->call == CONNECT_1 ? 1 : 2, e->number, e->now);
		return 0;
	case FAIL:
		return peer_fail(p, 0, 0, 0, e->now);
	case FAIL_1:
		return peer_fail(p, 1, 0, 0, e->now);
	case FAIL_2:
		return peer_fail(p, 2, 0, 0, e->now);
	case FAIL_FIRST:
		return peer_fail(p, 0, 1, 0, e->now);
	case FAIL_LATER:
		return peer_fail(p, 0, 0, DELAY, e->now);
	case RECOVER:
		return peer_recover(p, 0, 0, NULL, 0, e->now);
	case RECOVER_1:
		return peer_recover(p, 1, 0, NULL, 0, e->now);
	case RECOVER_FIRST:
		return peer_recover(p, 0, 1, NULL, 0, e->now);
	case RECOVER_A:
		return peer_recover(p, 0, 0, &a, last_claim(n, &a), e->now);
	case RECOVER_B:
		return peer_recover(p, 0, 0, &b, last_claim(n, &b), e->now);
	case PROBE_A:
		return peer_probe(p, &a, e->number, INTERVAL, e->now);
	case PROBE_B:
		return peer_probe(p, &b, e->number, INTERVAL, e->now);
	case PROBED_A:
		return peer_probed(p, &a, last_claim(n, &a), INTERVAL, e->now);
	case PROBED_B:
		return peer_probed(p, &b, last_claim(n, &b), INTERVAL, e->now);
	case PROBED_A_ANY:
		return peer_probed(p, &a, 0, INTERVAL, e->now);
	case GONE_A:
		peer_prober_gone(p, &a, e->now);
		return 0;
	case LAUNCH:
		return peer_may_launch(p);
	default:
		return 0;
	}
}

static void wrong(int n, const char *what, uint64_t got, uint64_t wanted)
{
	int i;

	for (i = 0; i <= n; i++)
		fprintf(stderr, "# %" PRIu64 ": %s: %d\n", entries[i].now,
			names[entries[i].call], entries[i].ret);
	fail_msg("%s: %" PRId64 ", not %" PRId64, what, (int64_t)got, (int64_t)wanted);
}

static void same(int n, const char *what, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		wrong(n, what, got, wanted);
}

static uint64_t since(int n)
{
	int i;

	for (i = n; i >= 0; i--) {
		if (changes_session(i) ||
		    (failed_by(i) < 0) != (failed_by(i + 1) < 0))
			return entries[i].now;
	}
	return 0;
}

static void check_counts(const struct peer_state *p, int n)
{
	uint64_t failures = 0, recoveries = 0, probes = 0, refused = 0, stale = 0;
	uint64_t sessions = 0;
	int i;

	for (i = 0; i <= n; i++) {
		enum call call = entries[i].call;

		failures += failed_by(i) < 0 && failed_by(i + 1) >= 0;
		recoveries += failed_by(i) >= 0 && failed_by(i + 1) < 0;
		probes += (call == PROBE_A || call == PROBE_B) && !entries[i].ret;
		refused += entries[i].ret == -EHOSTDOWN;
		stale += entries[i].ret == -ESTALE;
		sessions += changes_session(i);
	}
	same(n, "failures", p->counts.failures, failures);
	same(n, "recoveries", p->counts.recoveries, recoveries);
	same(n, "failures and recoveries", failures - recoveries, p->failed);
	same(n, "probes", p->counts.probes, probes);
	same(n, "refused", p->counts.refused, refused);
	same(n, "stale", p->counts.stale, stale);
	same(n, "sessions", p->counts.sessions, sessions);
}

static void check(const struct peer_state *p, int n)
{
	uint64_t generation;
	uint64_t session = session_of(n + 1, &generation);
	int claim = claim_at(n + 1);
	bool failed = failed_by(n + 1) >= 0;

	same(n, "session", p->session, session);
	same(n, "generation", p->generation, generation);
	same(n, "failed", p->failed, failed);
	same(n, "since", p->since_ns, since(n));
	same(n, "due", p->due_ns, failed ? due_at(n + 1) : 0);
	same(n, "claim", p->probe, claim >= 0 ? entries[claim].number : 0);
	same(n, "prober", (uintptr_t)p->prober,
	     claim >= 0 ? (uintptr_t)prober_of(claim) : 0);
	check_counts(p, n);
}

static uint64_t nr_calls;

static void walk(const struct peer_state *before, int n, int depth, uint64_t now)
{
	enum call call;

	for (call = 0; call < NR_CALLS; call++) {
		struct peer_state p = *before;
		struct entry *e = entries + n;

		*e = (struct entry){
			.call = call,
			.now = now + (call == WAIT ? STEP : 0),
			.number = n + 2,
		};
		e->ret = expected(n);
		same(n, "answer", do_call(&p, n), e->ret);
		check(&p, n);
		nr_calls++;
		if (n + 1 < depth)
			walk(&p, n + 1, depth, e->now + 1);
	}
}

static void all_orders(void **state)
{
	const char *given = getenv("PEER_DEPTH");
	int depth = given ? atoi(given) : 4;
	struct peer_state p;

	(void)state;
	assert_in_range(depth, 1, MAX_DEPTH);
	peer_init(&p, 0, 1, 0);
	walk(&p, 0, depth, 0);
	assert_true(nr_calls >= NR_CALLS);
	printf("# %" PRIu64 " calls\n", nr_calls);
}

/* So long that claims run out, and are taken over. */
static void random_walks(void **state)
{
	const struct peer_state fresh = { .generation = 1 };
	unsigned int seed = 1, i;
	struct peer_state p;
	uint64_t now;
	int n;

	(void)state;
	for (i = 0; i < 100000; i++) {
		p = fresh;
		now = 0;
		for (n = 0; n < MAX_DEPTH; n++) {
			struct entry *e = entries + n;

			now += rand_r(&seed) % 3 ? 1 : STEP;
			*e = (struct entry){
				.call = rand_r(&seed) % NR_CALLS,
				.now = now,
				.number = n + 2,
			};
			e->ret = expected(n);
			same(n, "answer", do_call(&p, n), e->ret);
			check(&p, n);
		}
	}
}

/* Who claims again has one claim, the last one. */
static void older_claim(void **state)
{
	struct peer_state p;

	(void)state;
	peer_init(&p, 0, 1, 0);
	assert_int_equal(peer_fail(&p, 0, 0, 0, 1), 0);
	assert_int_equal(peer_probe(&p, &a, 5, INTERVAL, 1), 0);
	assert_int_equal(peer_probe(&p, &a, 6, INTERVAL, INTERVAL), -EBUSY);
	assert_int_equal(peer_probe(&p, &a, 6, INTERVAL, INTERVAL + 1), 0);
	assert_int_equal(peer_probed(&p, &a, 5, INTERVAL, INTERVAL + 1), -ESTALE);
	assert_int_equal(peer_recover(&p, 0, 0, &a, 5, INTERVAL + 1), -ESTALE);
	assert_true(p.failed && p.probe == 6);
	assert_int_equal(peer_recover(&p, 0, 0, &a, 6, INTERVAL + 1), 0);
	assert_false(p.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_orders),
		cmocka_unit_test(random_walks),
		cmocka_unit_test(older_claim),
	};

	return cmocka_run_group_tests_name("peer-orders", tests, NULL, NULL);
}
