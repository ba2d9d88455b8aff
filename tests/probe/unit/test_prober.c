// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The prober: whom it probes, what it makes of the result, and of what hangs. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <lkvfence-probe.h>

#include "fake.h"

#define MS	1000000ULL
#define INTERVAL	(20 * MS)

/* A test that waits in vain is ended by alarm(2). */
#define await(cond)	do { while (!(cond)) usleep(1000); } while (0)

static struct lkvfence handle, other_handle;
static struct lkvfence_prober *prober;
static unsigned int own_threads;	/* without probers */

/* What a callback does, and saw. */
struct script {
	atomic_int result;
	atomic_bool hang;
	atomic_uint calls;
	atomic_uint inside;
	atomic_ulong session;
	atomic_ulong generation;
};

static int play(const struct lkvfence_probe *probe, void *arg)
{
	struct script *s = arg;

	s->session = probe->session;
	s->generation = probe->generation;
	atomic_fetch_add(&s->inside, 1);
	atomic_fetch_add(&s->calls, 1);
	while (atomic_load(&s->hang))
		usleep(1000);
	atomic_fetch_sub(&s->inside, 1);
	return atomic_load(&s->result);
}

static struct lkvfence_prober *start(struct lkvfence *f)
{
	const struct lkvfence_prober_attr attr = { .fence = f, .interval_ns = INTERVAL };
	struct lkvfence_prober *p;

	assert_int_equal(lkvfence_prober_start(&p, &attr), 0);
	return p;
}

static void add(struct lkvfence_prober *p, const char *name, struct script *s)
{
	const struct lkvfence_prober_peer peer = { .name = name, .probe = play, .arg = s };

	assert_int_equal(lkvfence_prober_add(p, &peer), 0);
}

static struct lkvfence_prober_stat stat_of(struct lkvfence_prober *p)
{
	struct lkvfence_prober_stat stat;

	lkvfence_prober_stat(p, &stat);
	return stat;
}

static unsigned int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr - 2;
}

static int setup(void **state)
{
	(void)state;
	alarm(60);
	fake_reset();
	prober = start(&handle);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(lkvfence_prober_stop(prober, -1), 0);
	await(threads() == own_threads);
	alarm(0);
	return 0;
}

static void healthy(void **state)
{
	struct script s = { .result = 0 };
	unsigned int before;

	(void)state;
	add(prober, "p", &s);
	before = fake_calls();
	await(fake_calls() > before + 5);
	assert_int_equal(atomic_load(&s.calls), 0);
	assert_int_equal(threads(), own_threads + 1);
	assert_int_equal(stat_of(prober).peers, 1);
}

static void recovers(void **state)
{
	struct script s = { .result = 0 };

	(void)state;
	fake_connect("p", 77);
	add(prober, "p", &s);
	fake_fail("p");
	await(!fake_failed("p"));
	await(stat_of(prober).recoveries == 1);
	assert_int_equal(fake_recoveries("p"), 1);
	assert_int_equal(atomic_load(&s.calls), 1);
	assert_true(s.session == 77 && s.generation);
	/* and again */
	fake_fail("p");
	await(stat_of(prober).recoveries == 2);
	assert_int_equal(stat_of(prober).probes, 2);
}

static void stays_failed(void **state)
{
	struct script s = { .result = -EIO };

	(void)state;
	add(prober, "p", &s);
	fake_fail("p");
	await(stat_of(prober).failures >= 3);
	assert_true(fake_failed("p"));
	assert_int_equal(stat_of(prober).recoveries, 0);
	/* any result but 0 is a failure */
	atomic_store(&s.result, 1);
	await(stat_of(prober).failures >= 5);
	assert_true(fake_failed("p"));
	atomic_store(&s.result, 0);
	await(!fake_failed("p"));
}

static void hangs(void **state)
{
	struct script stuck = { .hang = true }, good = { .result = -EIO };
	unsigned int calls;

	(void)state;
	add(prober, "stuck", &stuck);
	add(prober, "good", &good);
	fake_fail("stuck");
	fake_fail("good");
	await(stat_of(prober).hung == 1);
	calls = atomic_load(&good.calls);
	await(atomic_load(&good.calls) >= calls + 5);
	assert_int_equal(atomic_load(&stuck.calls), 1);
	assert_int_equal(stat_of(prober).hung, 1);
	assert_int_equal(stat_of(prober).hangs, 1);
	/* nobody else began meanwhile: what comes of it counts */
	atomic_store(&stuck.hang, false);
	await(!fake_failed("stuck"));
	await(!stat_of(prober).hung);
	assert_int_equal(stat_of(prober).late, 0);
}

/* Another process's prober takes over, and the first one comes back too late. */
static void comes_back_late(void **state)
{
	struct lkvfence_prober *other = start(&other_handle);
	struct script stuck = { .hang = true }, good = { .result = -EIO };

	(void)state;
	add(prober, "p", &stuck);
	fake_fail("p");
	await(atomic_load(&stuck.calls) == 1);
	add(other, "p", &good);
	await(atomic_load(&good.calls) >= 2);
	atomic_store(&stuck.hang, false);
	await(stat_of(prober).late >= 1);
	await(stat_of(prober).recoveries + stat_of(other).recoveries == 1);
	assert_int_equal(lkvfence_prober_stop(other, -1), 0);
}

/* Probers of several processes: never two at once. */
static void one_at_a_time(void **state)
{
	struct script s = { .result = -EIO };
	struct lkvfence_prober *other = start(&other_handle);
	unsigned int i;

	(void)state;
	add(prober, "p", &s);
	add(other, "p", &s);
	fake_fail("p");
	for (i = 0; i < 500; i++) {
		assert_in_range(atomic_load(&s.inside), 0, 1);
		usleep(500);
	}
	await(atomic_load(&s.calls) > 3);
	await(fake_probes("p") > 3);
	assert_int_equal(stat_of(prober).late + stat_of(other).late, 0);
	assert_int_equal(lkvfence_prober_stop(other, -1), 0);
}

/* A session that began meanwhile isn't what was probed. */
static void reconnected(void **state)
{
	struct script s = { .hang = true };

	(void)state;
	fake_connect("p", 1);
	add(prober, "p", &s);
	fake_fail("p");
	await(atomic_load(&s.calls) == 1);
	fake_connect("p", 2);
	fake_fail("p");
	atomic_store(&s.result, 0);
	atomic_store(&s.hang, false);
	await(stat_of(prober).late == 1);
	await(fake_recoveries("p") == 2);
}

static void removed(void **state)
{
	struct script s = { .hang = true };

	(void)state;
	add(prober, "idle", &s);
	assert_int_equal(lkvfence_prober_remove(prober, "idle"), 0);
	assert_int_equal(lkvfence_prober_remove(prober, "idle"), -ENOENT);
	add(prober, "p", &s);
	fake_fail("p");
	await(atomic_load(&s.calls) == 1);
	assert_int_equal(lkvfence_prober_remove(prober, "p"), -EBUSY);
	assert_int_equal(stat_of(prober).peers, 0);
	assert_int_equal(stat_of(prober).running, 1);
	/* added anew while the last one's probe still runs */
	add(prober, "p", &s);
	atomic_store(&s.result, -EIO);
	atomic_store(&s.hang, false);
	await(atomic_load(&s.calls) >= 3);
	assert_int_equal(lkvfence_prober_remove(prober, "nobody"), -ENOENT);
}

static void abandoned(void **state)
{
	struct lkvfence_prober *p = start(&handle);
	static struct script s = { .hang = true };
	unsigned int calls;

	(void)state;
	add(p, "p", &s);
	fake_fail("p");
	await(atomic_load(&s.calls) == 1);
	assert_int_equal(lkvfence_prober_stop(p, 5), 1);
	calls = fake_calls();
	assert_true(threads() >= own_threads + 2);
	atomic_store(&s.hang, false);
	await(threads() == own_threads + 1);
	/* it told nobody: the handle may be closed by now */
	assert_int_equal(fake_calls(), calls);
	assert_true(fake_failed("p"));
	assert_int_equal(lkvfence_prober_stop(NULL, 0), 0);
}

static int leaves(const struct lkvfence_probe *probe, void *arg)
{
	(void)probe;
	atomic_fetch_add((atomic_uint *)arg, 1);
	pthread_exit(NULL);
}

/* A callback that ends its thread has failed. */
static void ends_its_thread(void **state)
{
	static atomic_uint calls;
	const struct lkvfence_prober_peer peer = {
		.name = "p", .probe = leaves, .arg = &calls,
	};

	(void)state;
	assert_int_equal(lkvfence_prober_add(prober, &peer), 0);
	fake_fail("p");
	await(stat_of(prober).failures >= 2);
	assert_true(fake_failed("p"));
	assert_true(atomic_load(&calls) >= 2);
	await(!stat_of(prober).running);
}

static int guarded(lkvfence_probe_fn fn, const struct lkvfence_probe *probe, void *arg)
{
	(void)fn;
	(void)probe;
	(void)arg;
	return 0;
}

static void guard(void **state)
{
	struct script s = { .result = -EIO };
	const struct lkvfence_prober_peer peer = {
		.name = "p", .probe = play, .arg = &s, .guard = guarded,
	};

	(void)state;
	assert_null(LKVFENCE_PROBE_GUARD);
	assert_int_equal(lkvfence_prober_add(prober, &peer), 0);
	fake_fail("p");
	await(!fake_failed("p"));
	assert_int_equal(atomic_load(&s.calls), 0);
}

static struct lkvfence_probed told[64];	/* what is told is seen behind its number */
static atomic_uint nr_told;

static void tell(const struct lkvfence_probed *probed, void *arg)
{
	assert_ptr_equal(arg, told);
	assert_string_equal(probed->peer, "p");
	if (nr_told < 64)
		told[nr_told] = *probed;
	atomic_fetch_add(&nr_told, 1);
}

static void tells(void **state)
{
	const struct lkvfence_prober_attr attr = {
		.fence = &handle, .interval_ns = INTERVAL, .max_peers = 1,
		.probed = tell, .arg = told,
	};
	struct script s = { .result = -EIO };
	struct lkvfence_prober *p;
	unsigned int nr;

	(void)state;
	assert_int_equal(lkvfence_prober_start(&p, &attr), 0);
	add(p, "p", &s);
	fake_fail("p");
	await(atomic_load(&nr_told) == 1);
	assert_int_equal(told[0].result, -EIO);
	assert_int_equal(told[0].err, 0);
	atomic_store(&s.result, 0);
	await(!fake_failed("p"));
	nr = atomic_load(&s.calls);
	await(atomic_load(&nr_told) == nr);
	assert_int_equal(told[nr - 1].result, 0);
	assert_int_equal(lkvfence_prober_stop(p, -1), 0);
}

static void errors(void **state)
{
	struct lkvfence_prober_attr attr = { .fence = &handle, .interval_ns = 1 };
	struct lkvfence_prober_peer peer = { .name = "p", .probe = play };
	struct lkvfence_prober *p;
	char name[65];

	(void)state;
	assert_int_equal(lkvfence_prober_start(&p, &attr), -ERANGE);
	assert_null(p);
	assert_non_null(strstr(lkvfence_probe_errmsg(), "1 ns is out of bounds"));
	attr.interval_ns = UINT64_MAX;
	assert_int_equal(lkvfence_prober_start(&p, &attr), -ERANGE);
	fake_set_info_error(-ENXIO);
	assert_int_equal(lkvfence_prober_start(&p, &attr), -ENXIO);
	assert_non_null(strstr(lkvfence_probe_errmsg(), "the module's words"));
	fake_set_info_error(0);
	/* 30 s */
	attr = (struct lkvfence_prober_attr){ .fence = &handle, .max_peers = 1 };
	assert_int_equal(lkvfence_prober_start(&p, &attr), 0);

	memset(name, 'n', sizeof(name));
	name[64] = 0;
	peer.name = name;
	assert_int_equal(lkvfence_prober_add(p, &peer), -EINVAL);
	peer.name = "";
	assert_int_equal(lkvfence_prober_add(p, &peer), -EINVAL);
	peer.name = NULL;
	assert_int_equal(lkvfence_prober_add(p, &peer), -EINVAL);
	peer.name = "p";
	peer.probe = NULL;
	assert_int_equal(lkvfence_prober_add(p, &peer), -EINVAL);
	peer.probe = play;
	name[63] = 0;
	peer.name = name;
	assert_int_equal(lkvfence_prober_add(p, &peer), 0);
	assert_int_equal(lkvfence_prober_add(p, &peer), -EEXIST);
	peer.name = "q";
	assert_int_equal(lkvfence_prober_add(p, &peer), -ENOSPC);
	assert_non_null(strstr(lkvfence_probe_errmsg(), "max_peers"));
	assert_int_equal(lkvfence_prober_stop(p, 0), 0);
}

/* A module that doesn't answer is asked again, no more. */
static void module_fails(void **state)
{
	struct script s = { .result = 0 };

	(void)state;
	fake_fail("p");
	fake_set_error(-ENOTTY);
	add(prober, "p", &s);
	await(stat_of(prober).errors >= 2);
	assert_int_equal(atomic_load(&s.calls), 0);
	fake_set_error(0);
	await(!fake_failed("p"));
}

static void *returns(void *arg)
{
	return arg;
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(healthy),
		TEST(recovers),
		TEST(stays_failed),
		TEST(hangs),
		TEST(comes_back_late),
		TEST(one_at_a_time),
		TEST(reconnected),
		TEST(removed),
		TEST(abandoned),
		TEST(ends_its_thread),
		TEST(guard),
		TEST(tells),
		TEST(errors),
		TEST(module_fails),
	};
	pthread_t thread;

	/* A sanitizer's comes with the first one. */
	if (pthread_create(&thread, NULL, returns, NULL) || pthread_join(thread, NULL))
		return 1;
	own_threads = threads();
	return cmocka_run_group_tests_name("probe-prober", tests, NULL, NULL);
}
