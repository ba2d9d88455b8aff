// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The commands: what reaches the module, and what a failure says. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fake.h"

static struct lkvfence *f;

static int setup(void **state)
{
	if (fake_setup(state))
		return -1;
	f = fake_handle();
	return 0;
}

static int teardown(void **state)
{
	lkvfence_close(f);
	return fake_teardown(state);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

static void reply_begin(void *arg)
{
	struct lkvfence_begin *begin = arg;

	begin->generation = 1ULL << 40;
	begin->busy_generation = 18446744073709551615ULL;
	begin->busy_tag = 12345678901234567890ULL;
	begin->busy_slot = 17;
	begin->state = LKVFENCE_STATE_WAITING;
}

static void begin_reaches_module(void **state)
{
	struct lkvfence_range range = { 3, 4 };
	__u32 source = 9;
	struct lkvfence_begin begin = {
		.size = 1, .tag = 77, .ranges = (uintptr_t)&range,
		.sources = (uintptr_t)&source, .nr_ranges = 1, .nr_sources = 1,
		.ttl_ns = 100, .policy = LKVFENCE_POLICY_QUARANTINE,
	};
	struct lkvfence_begin want = begin;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_begin;
	assert_call(0, lkvfence_begin(f, &begin));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_BEGIN);
	assert_memory_equal(&fake.in.begin, &want, sizeof(want));
	assert_true(begin.generation == 1ULL << 40);
	assert_int_equal(begin.state, LKVFENCE_STATE_WAITING);

	begin = want;
	assert_call(0, lkvfence_hold(f, &begin));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_HOLD);
	assert_int_equal(fake.cmds, 2);
}

static void slot_taken(void **state)
{
	struct lkvfence_range range = { 17, 1 };
	struct lkvfence_begin begin = {
		.tag = 5, .ranges = (uintptr_t)&range, .nr_ranges = 1,
	};

	(void)state;
	fake.reply = reply_begin;
	fake.cmd_errno = EBUSY;
	assert_call(-EBUSY, lkvfence_begin(f, &begin));
	assert_errmsg("region kv: begin: slot 17 is taken by generation 18446744073709551615 of tag 12345678901234567890");
	assert_errmsg("take other slots, or wait");
	assert_int_equal(begin.busy_slot, 17);
	assert_call(-EBUSY, lkvfence_hold(f, &begin));
	assert_errmsg("hold: slot 17 is taken");
}

static void tag_in_use(void **state)
{
	struct lkvfence_range range = { 1, 1 };
	struct lkvfence_begin begin = {
		.tag = 5, .ranges = (uintptr_t)&range, .nr_ranges = 1,
	};

	(void)state;
	fake.reply = reply_begin;
	fake.cmd_errno = EEXIST;
	assert_call(-EEXIST, lkvfence_begin(f, &begin));
	assert_errmsg("tag 5 is in use by generation 18446744073709551615");
	assert_errmsg("end that one first");
}

static void source_shut_down(void **state)
{
	struct lkvfence_range range = { 1, 1 };
	struct lkvfence_begin begin = {
		.tag = 5, .ranges = (uintptr_t)&range, .nr_ranges = 1,
	};

	(void)state;
	fake.cmd_errno = ESHUTDOWN;
	assert_call(-ESHUTDOWN, lkvfence_begin(f, &begin));
	assert_errmsg("region kv: begin: a source was revoked, or its queue pairs are lost");
	assert_errmsg("lkvfence_source()");
	assert_call(-ESHUTDOWN, lkvfence_hold(f, &begin));
	assert_errmsg("hold: a source was revoked");
	assert_call(-ESHUTDOWN, lkvfence_take(f, 8, 7));
	assert_errmsg("take: source 7 was revoked, or its queue pairs are lost");
	assert_errmsg("lkvfence_source()");
}

static void begin_out_of_range(void **state)
{
	struct lkvfence_range range[2] = { { 0, 10 }, { 95, 6 } };
	struct lkvfence_begin ok = {
		.ranges = (uintptr_t)range, .nr_ranges = 2,
	};
	struct lkvfence_begin begin;

	(void)state;
	fake.cmd_errno = ERANGE;

	begin = ok;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("range 1 (6 slots from 95) goes beyond the region's 100 slots");

	/* the sum of two 32-bit numbers */
	range[1] = (struct lkvfence_range){ 0xffffffff, 2 };
	begin = ok;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("2 slots from 4294967295");

	begin = ok;
	begin.nr_ranges = 9;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("nr_ranges is 9, the module takes 8");

	begin = ok;
	begin.nr_sources = 5;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("nr_sources is 5, the module takes 4");

	/* the ranges need not be readable where the times are at fault */
	begin = ok;
	begin.ranges = 8;
	begin.ttl_ns = 9;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("ttl_ns of 9 ns is out of bounds: the module takes 10 to 60000 ns");

	begin = ok;
	begin.ranges = 8;
	begin.timeout_ns = 60001;
	assert_call(-ERANGE, lkvfence_hold(f, &begin));
	assert_errmsg("timeout_ns of 60001 ns");

	fake.info_errno = ENOMEM;
	begin = ok;
	begin.ranges = 8;
	assert_call(-ERANGE, lkvfence_begin(f, &begin));
	assert_errmsg("lkvfence_info()");
}

static void begin_invalid(void **state)
{
	static const struct {
		bool hold;
		struct lkvfence_begin begin;
		const char *says;
	} cases[] = {
		{ false, { .flags = 0x11 }, "unknown flags 0x10" },
		{ true, { .flags = LKVFENCE_BEGIN_OFFER, .nr_ranges = 1 },
		  "hold: what is offered is begun, not held" },
		{ false, { .nr_ranges = 0 }, "no slots" },
		{ false, { .nr_ranges = 1, .policy = 3 }, "unknown policy 3" },
		{ true, { .nr_ranges = 1, .policy = 0x103 }, "unknown policy 259" },
		{ false, { .nr_ranges = 1, .policy = 0x400 }, "unknown policy 1024" },
		/* policies, so something else is wrong */
		{ false, { .nr_ranges = 1, .policy = LKVFENCE_POLICY_REVOKE },
		  "named twice" },
		{ false, { .nr_ranges = 1, .policy = LKVFENCE_POLICY_REVOKE_NOW |
			   LKVFENCE_POLICY_QUARANTINE }, "named twice" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_REVOKED },
		  "reason 9 (revoked)" },
		{ false, { .nr_ranges = 1, .timeout_ns = 50 },
		  "for hold and abort" },
		{ false, { .nr_ranges = 1, .reason = 2 },
		  "for hold and abort" },
		{ true, { .nr_ranges = 1, .ttl_ns = 50 }, "ttl_ns is for begin" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_EXPIRED },
		  "reason 7 (expired)" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_FINISHED },
		  "reason 1 (finished)" },
		{ false, { .nr_ranges = 1 }, "named twice" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_WITHDRAWN },
		  "reason 13 (withdrawn)" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_DROPPED },
		  "named twice" },
		{ true, { .nr_ranges = 1, .reason = LKVFENCE_REASON_PEER,
			  .timeout_ns = 50 }, "named twice" },
	};
	struct lkvfence_begin begin;
	size_t i;

	(void)state;
	fake.cmd_errno = EINVAL;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin = cases[i].begin;
		if (cases[i].hold)
			assert_call(-EINVAL, lkvfence_hold(f, &begin));
		else
			assert_call(-EINVAL, lkvfence_begin(f, &begin));
		assert_errmsg(cases[i].says);
	}
}

static void region_full(void **state)
{
	struct lkvfence_begin begin = { .nr_ranges = 1 };

	(void)state;
	fake.cmd_errno = ENOSPC;
	assert_call(-ENOSPC, lkvfence_begin(f, &begin));
	assert_errmsg("the limit (50)");
	assert_errmsg("read events");
	assert_call(-ENOSPC, lkvfence_adopt(f, 3));
	assert_errmsg("adopt: ");
}

static void take(void **state)
{
	(void)state;
	assert_call(0, lkvfence_take(f, 1ULL << 33, 7));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_TAKE);
	assert_true(fake.in.take.generation == 1ULL << 33);
	assert_int_equal(fake.in.take.source, 7);
	assert_int_equal(fake.in.take.flags | fake.in.take.pad, 0);

	fake.cmd_errno = ECANCELED;
	assert_call(-ECANCELED, lkvfence_take(f, 8, 7));
	assert_errmsg("generation 8 has ended");
	assert_errmsg("do not launch");
	fake.cmd_errno = EEXIST;
	assert_call(-EEXIST, lkvfence_take(f, 8, 7));
	assert_errmsg("source 7 has, or had, a lease of generation 8");
	fake.cmd_errno = ENOSPC;
	assert_call(-ENOSPC, lkvfence_take(f, 8, 7));
	assert_errmsg("as many leases");
}

static void reply_abort(void *arg)
{
	struct lkvfence_abort *abort = arg;

	abort->generation = 31;
	abort->tag = 32;
	abort->deadline_ns = 33;
	abort->state = LKVFENCE_STATE_ENDED;
	abort->leases_out = 2;
}

static void aborts(void **state)
{
	struct lkvfence_abort abort = {
		.flags = LKVFENCE_ABORT_BY_TAG, .tag = 32, .timeout_ns = 50,
		.reason = LKVFENCE_REASON_PEER,
	};

	(void)state;
	fake.reply = reply_abort;
	assert_call(0, lkvfence_abort(f, &abort));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_ABORT);
	assert_int_equal(fake.in.abort.timeout_ns, 50);
	assert_int_equal(abort.generation, 31);
	assert_int_equal(abort.leases_out, 2);

	assert_call(0, lkvfence_abort_generation(f, 44));
	assert_int_equal(fake.in.abort.flags, 0);
	assert_int_equal(fake.in.abort.generation, 44);
	assert_int_equal(fake.in.abort.timeout_ns, 0);

	assert_call(0, lkvfence_abort_tag(f, 45));
	assert_int_equal(fake.in.abort.flags, LKVFENCE_ABORT_BY_TAG);
	assert_int_equal(fake.in.abort.tag, 45);
	assert_int_equal(fake.in.abort.generation, 0);
}

static void abort_errors(void **state)
{
	struct lkvfence_abort abort = { .generation = 4, .timeout_ns = 70000 };

	(void)state;
	fake.cmd_errno = ERANGE;
	assert_call(-ERANGE, lkvfence_abort(f, &abort));
	assert_errmsg("timeout_ns of 70000 ns is out of bounds: the module takes 10 to 60000 ns");

	fake.cmd_errno = EINVAL;
	abort.reason = LKVFENCE_REASON_ORPHANED;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("reason 8 (orphaned)");
	abort.reason = LKVFENCE_REASON_REVOKED;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("reason 9 (revoked)");
	/* a policy, so the reason is at fault */
	abort.policy = LKVFENCE_POLICY_REVOKE_NOW | LKVFENCE_POLICY_TAINT;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("reason 9 (revoked)");
	abort.policy = 9;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("unknown policy 9");
	abort.flags = 8 | LKVFENCE_ABORT_BY_TAG;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("unknown flags 0x8");
	abort = (struct lkvfence_abort){ .flags = LKVFENCE_ABORT_EARLY };
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("EARLY goes with BY_TAG, and ALL alone");
	abort.flags = LKVFENCE_ABORT_ALL | LKVFENCE_ABORT_BY_TAG;
	abort.reason = LKVFENCE_REASON_DROPPED;
	assert_call(-EINVAL, lkvfence_abort(f, &abort));
	assert_errmsg("EARLY goes with BY_TAG, and ALL alone");

	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_abort_tag(f, 45));
	assert_errmsg("no transfer of tag 45 that has not ended");
}

static void reply_busy(void *arg)
{
	struct lkvfence_release *release = arg;

	release->leases_out = 3;
}

static void release_busy(void **state)
{
	(void)state;
	assert_call(0, lkvfence_release(f, 4));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_RELEASE);
	assert_int_equal(fake.in.release.generation, 4);
	assert_int_equal(fake.in.release.flags, 0);

	fake.cmd_errno = EBUSY;
	fake.reply = reply_busy;
	assert_call(-EBUSY, lkvfence_release(f, 4));
	assert_errmsg("generation 4 still has 3 leases without proof");
	assert_errmsg("lkvfence_drained()");
	assert_errmsg("lkvfence_abort()");
}

static void force_release(void **state)
{
	(void)state;
	assert_call(0, lkvfence_force_release(f, 4));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_RELEASE);
	assert_int_equal(fake.in.release.flags, LKVFENCE_RELEASE_FORCE);

	fake.cmd_errno = EPERM;
	assert_call(-EPERM, lkvfence_force_release(f, 4));
	assert_errmsg("CAP_SYS_ADMIN");
	fake.cmd_errno = EBUSY;
	assert_call(-EBUSY, lkvfence_force_release(f, 4));
	assert_errmsg("not in quarantine");
}

static void query(void **state)
{
	struct lkvfence_query q = {
		.by = LKVFENCE_QUERY_SLOT, .slot = 100, .generation = 4,
	};

	(void)state;
	assert_call(0, lkvfence_query(f, &q));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_QUERY);
	assert_int_equal(fake.in.query.by, LKVFENCE_QUERY_SLOT);

	fake.cmd_errno = ERANGE;
	assert_call(-ERANGE, lkvfence_query(f, &q));
	assert_errmsg("slot 100 is beyond the region's 100 slots");
	q.nr_ranges = 9;
	assert_call(-ERANGE, lkvfence_query(f, &q));
	assert_errmsg("nr_ranges is 9");
	q.nr_ranges = 0;
	q.nr_leases = 5;
	assert_call(-ERANGE, lkvfence_query(f, &q));
	assert_errmsg("nr_leases is 5");

	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_query(f, &q));
	assert_errmsg("slot 100 is free");
	q.by = LKVFENCE_QUERY_NEXT;
	assert_call(-ENOENT, lkvfence_query(f, &q));
	assert_errmsg("no unreleased transfer above generation 4");
	q.by = LKVFENCE_QUERY_TAG;
	assert_call(-ENOENT, lkvfence_query(f, &q));
	assert_errmsg("no transfer of tag 0 that has not ended");

	fake.cmd_errno = EINVAL;
	q.by = 4;
	assert_call(-EINVAL, lkvfence_query(f, &q));
	assert_errmsg("unknown way 4");
}

static void adopt(void **state)
{
	(void)state;
	assert_call(0, lkvfence_adopt(f, 4));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_ADOPT);
	assert_int_equal(fake.in.adopt.generation, 4);
	fake.cmd_errno = EBUSY;
	assert_call(-EBUSY, lkvfence_adopt(f, 4));
	assert_errmsg("has an owner");
	fake.cmd_errno = EALREADY;
	assert_call(-EALREADY, lkvfence_adopt(f, 4));
	assert_errmsg("already");
}

static void stat_sets_size(void **state)
{
	struct lkvfence_stat stat;

	(void)state;
	memset(&stat, 0xff, sizeof(stat));
	assert_call(0, lkvfence_stat(f, &stat));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_STAT);
	assert_int_equal(stat.slots, 100);
	/* an older module fills less: the rest is 0, not garbage */
	assert_int_equal(stat.handles, 0);
}

/* All calls that name a generation tell stale from never issued */
static void stale_and_never_issued(void **state)
{
	struct lkvfence_query q = { .generation = 4 };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		int err = i ? ENOENT : ESTALE;
		const char *says = i ? "generation 4 was never issued" :
				       "generation 4 is stale: it was released earlier";

		fake.cmd_errno = err;
		assert_call(-err, lkvfence_take(f, 4, 1));
		assert_errmsg(says);
		assert_call(-err, lkvfence_abort_generation(f, 4));
		assert_errmsg(says);
		assert_call(-err, lkvfence_release(f, 4));
		assert_errmsg(says);
		assert_call(-err, lkvfence_force_release(f, 4));
		assert_errmsg(says);
		assert_call(-err, lkvfence_query(f, &q));
		assert_errmsg(says);
		assert_call(-err, lkvfence_adopt(f, 4));
		assert_errmsg(says);
		assert_call(-err, lkvfence_report(f, 4, LKVFENCE_REPORT_STRAY, 1));
		assert_errmsg(says);
	}
}

static void message_stays_after_success(void **state)
{
	(void)state;
	fake.cmd_errno = ESTALE;
	assert_call(-ESTALE, lkvfence_release(f, 4));
	fake.cmd_errno = 0;
	assert_call(0, lkvfence_release(f, 5));
	assert_errmsg("generation 4 is stale");
}

static pthread_barrier_t barrier;

static void *other_thread(void *arg)
{
	const char **msg = arg;

	/* nothing failed here yet, whatever failed elsewhere */
	msg[0] = *lkvfence_errmsg() ? "a message from another thread" : "";
	lkvfence_release(f, 1000);
	pthread_barrier_wait(&barrier);
	/* meanwhile the main thread fails */
	pthread_barrier_wait(&barrier);
	msg[1] = strstr(lkvfence_errmsg(), "1000") ? "" : "overwritten";
	return NULL;
}

static void message_is_the_threads_own(void **state)
{
	const char *msg[2];
	pthread_t t;

	(void)state;
	fake.cmd_errno = ESTALE;
	assert_call(-ESTALE, lkvfence_release(f, 4));
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&t, NULL, other_thread, msg), 0);
	pthread_barrier_wait(&barrier);
	assert_errmsg("generation 4 ");
	assert_call(-ESTALE, lkvfence_release(f, 2000));
	pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_string_equal(msg[0], "");
	assert_string_equal(msg[1], "");
	assert_errmsg("generation 2000 ");
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(begin_reaches_module),
		TEST(slot_taken),
		TEST(tag_in_use),
		TEST(source_shut_down),
		TEST(begin_out_of_range),
		TEST(begin_invalid),
		TEST(region_full),
		TEST(take),
		TEST(aborts),
		TEST(abort_errors),
		TEST(release_busy),
		TEST(force_release),
		TEST(query),
		TEST(adopt),
		TEST(stat_sets_size),
		TEST(stale_and_never_issued),
		TEST(message_stays_after_success),
		TEST(message_is_the_threads_own),
	};

	return cmocka_run_group_tests_name("lib-calls", tests, NULL, NULL);
}
