// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What a producer and its consumers say: what reaches the module, and what a
 * failure says.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

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

struct failure {
	int err;
	const char *says, *advises;
};

static void offer(void **state)
{
	struct lkvfence_range range = { 3, 4 };
	struct lkvfence_begin begin = {
		.tag = 77, .ranges = (uintptr_t)&range, .nr_ranges = 1,
		.policy = LKVFENCE_POLICY_QUARANTINE,
	};
	struct lkvfence_begin want = begin;

	(void)state;
	want.size = sizeof(want);
	want.flags = LKVFENCE_BEGIN_OFFER;
	assert_call(0, lkvfence_offer(f, &begin));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_BEGIN);
	assert_memory_equal(&fake.in.begin, &want, sizeof(want));

	/* the same struct may be tried again */
	fake.cmd_errno = ECANCELED;
	assert_call(-ECANCELED, lkvfence_offer(f, &begin));
	assert_int_equal(fake.in.begin.flags, LKVFENCE_BEGIN_OFFER);
	assert_errmsg("region kv: begin: tag 77 was aborted before it was offered");
	assert_errmsg("do not start its request");
}

static void reply_ready(void *arg)
{
	struct lkvfence_ready *ready = arg;

	ready->deadline_ns = 1ULL << 50;
}

static void ready_reaches_module(void **state)
{
	struct lkvfence_ready ready = {
		.size = 1, .generation = 1ULL << 40, .ttl_ns = 100, .consumers = 3,
	};
	struct lkvfence_ready want = ready;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_ready;
	assert_call(0, lkvfence_ready(f, &ready));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_READY);
	assert_memory_equal(&fake.in.ready, &want, sizeof(want));
	assert_true(ready.deadline_ns == 1ULL << 50);
	assert_int_equal(fake.cmds, 1);
}

static void ready_errors(void **state)
{
	static const struct failure cases[] = {
		{ ECANCELED, "generation 4 has ended", "wait for the released event" },
		{ EINVAL, "generation 4 was not begun with lkvfence_offer()",
		  "another number of consumers than 5" },
		{ ERANGE, "consumers is 5, the module takes 4", "" },
		{ ESTALE, "generation 4 is stale", "forget the number" },
		{ ENOENT, "generation 4 was never issued", "another region's" },
		{ EFAULT, "a pointer", "" },
		{ E2BIG, "too old", "update the module" },
		{ ENOTTY, "does not know this command", "too old" },
	};
	struct lkvfence_ready ready = { .generation = 4, .consumers = 5 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.cmd_errno = cases[i].err;
		assert_call(-cases[i].err, lkvfence_ready(f, &ready));
		assert_errmsg("region kv: ready: ");
		assert_errmsg(cases[i].says);
		assert_errmsg(cases[i].advises);
	}

	fake.cmd_errno = ERANGE;
	ready.ttl_ns = 60001;
	assert_call(-ERANGE, lkvfence_ready(f, &ready));
	assert_errmsg("ttl_ns of 60001 ns is out of bounds: the module takes 10 to 60000 ns");
	fake.info_errno = ENOMEM;
	assert_call(-ERANGE, lkvfence_ready(f, &ready));
	assert_errmsg("ready: ttl_ns or consumers is beyond the limits");
	fake.cmd_errno = EINVAL;
	ready.flags = 1;
	assert_call(-EINVAL, lkvfence_ready(f, &ready));
	assert_errmsg("ready: flags and pad must be 0");
	ready.flags = 0;
	ready.pad = 1;
	assert_call(-EINVAL, lkvfence_ready(f, &ready));
	assert_errmsg("ready: flags and pad must be 0");
}

static void reply_pull(void *arg)
{
	struct lkvfence_pull *pull = arg;

	pull->ticket = 1ULL << 33;
	pull->tag = 12;
}

static void pull_reaches_module(void **state)
{
	struct lkvfence_pull pull = {
		.size = 1, .flags = LKVFENCE_PULL_EXACT, .tag = 11,
		.generation = 1ULL << 40, .timeout_ns = 50, .unclaimed_ns = 40,
		.source = 9,
	};
	struct lkvfence_pull want = pull;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_pull;
	assert_call(0, lkvfence_pull(f, &pull));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_PULL);
	assert_memory_equal(&fake.in.pull, &want, sizeof(want));
	assert_true(pull.ticket == 1ULL << 33);
	assert_int_equal(pull.tag, 12);
	assert_int_equal(fake.cmds, 1);
}

static void pull_errors(void **state)
{
	static const struct failure cases[] = {
		{ ENOSPC, "reach the limit (30, parameter max_pulls", "read events" },
		{ ENOSPC, "unread events of this handle theirs (50)", "withdraw" },
		{ EINVAL, "generation 4 is not offered", "lkvfence_offer()" },
		{ ENOENT, "generation 4 was never issued", "another region's" },
		{ ERANGE, "beyond the limits", "lkvfence_info()" },
		{ ENOMEM, "no memory", "limit" },
		{ EFAULT, "a pointer", "" },
		{ E2BIG, "too old", "update the module" },
		{ ENOTTY, "does not know this command", "too old" },
	};
	struct lkvfence_pull pull = {
		.flags = LKVFENCE_PULL_EXACT, .generation = 4,
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.cmd_errno = cases[i].err;
		assert_call(-cases[i].err, lkvfence_pull(f, &pull));
		assert_errmsg("region kv: pull: ");
		assert_errmsg(cases[i].says);
		assert_errmsg(cases[i].advises);
	}

	fake.cmd_errno = ERANGE;
	pull.timeout_ns = 9;
	assert_call(-ERANGE, lkvfence_pull(f, &pull));
	assert_errmsg("pull: timeout_ns of 9 ns is out of bounds: the module takes 10 to 60000 ns");
	pull.timeout_ns = 10;
	pull.unclaimed_ns = 60001;
	assert_call(-ERANGE, lkvfence_pull(f, &pull));
	assert_errmsg("pull: unclaimed_ns of 60001 ns");

	fake.cmd_errno = EINVAL;
	pull.flags = 3;
	assert_call(-EINVAL, lkvfence_pull(f, &pull));
	assert_errmsg("pull: unknown flags 0x2");
	pull.flags = 0;
	assert_call(-EINVAL, lkvfence_pull(f, &pull));
	assert_errmsg("pull: an unknown flag or value, padding that is not 0");

	/* where the module doesn't tell its limits */
	fake.cmd_errno = ENOSPC;
	fake.info_errno = ENOMEM;
	assert_call(-ENOSPC, lkvfence_pull(f, &pull));
	assert_errmsg("max_pulls");
}

static void withdraw(void **state)
{
	struct lkvfence_withdraw want = {
		.size = sizeof(want), .ticket = 1ULL << 33,
	};

	(void)state;
	assert_call(0, lkvfence_withdraw(f, want.ticket));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_WITHDRAW);
	assert_memory_equal(&fake.in.withdraw, &want, sizeof(want));

	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_withdraw(f, want.ticket));
	assert_errmsg("region kv: withdraw: no ticket 8589934592 of this handle waits");
	assert_errmsg("may be a lease to give back");
	fake.cmd_errno = ENOTTY;
	assert_call(-ENOTTY, lkvfence_withdraw(f, 1));
	assert_errmsg("withdraw: ");
}

static void drop(void **state)
{
	struct lkvfence_abort want = {
		.size = sizeof(want), .generation = 44,
		.reason = LKVFENCE_REASON_DROPPED,
	};

	(void)state;
	assert_call(0, lkvfence_drop(f, 44));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_ABORT);
	assert_memory_equal(&fake.in.abort, &want, sizeof(want));
	fake.cmd_errno = ESTALE;
	assert_call(-ESTALE, lkvfence_drop(f, 44));
	assert_errmsg("generation 44 is stale");
}

static void abort_early(void **state)
{
	struct lkvfence_abort want = {
		.size = sizeof(want), .tag = 45, .generation = 1ULL << 40,
		.flags = LKVFENCE_ABORT_BY_TAG | LKVFENCE_ABORT_EARLY,
	};

	(void)state;
	assert_call(0, lkvfence_abort_early(f, 45, 1ULL << 40));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_ABORT);
	assert_memory_equal(&fake.in.abort, &want, sizeof(want));
	fake.cmd_errno = ENOMEM;
	assert_call(-ENOMEM, lkvfence_abort_early(f, 45, 0));
	assert_errmsg("abort: no memory");
}

static void abort_all(void **state)
{
	struct lkvfence_abort want = {
		.size = sizeof(want), .flags = LKVFENCE_ABORT_ALL,
		.reason = LKVFENCE_REASON_SHUTDOWN,
	};

	(void)state;
	assert_call(0, lkvfence_abort_all(f, LKVFENCE_REASON_SHUTDOWN));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_ABORT);
	assert_memory_equal(&fake.in.abort, &want, sizeof(want));
	fake.cmd_errno = EINVAL;
	assert_call(-EINVAL, lkvfence_abort_all(f, LKVFENCE_REASON_UNKNOWN));
	assert_errmsg("abort: reason 11 (unknown) is not for callers to give");
}

/* Answers are read like all events; the ticket is where held_ns is. */
static void answers(void **state)
{
	const struct lkvfence_event told[2] = {
		{ .type = LKVFENCE_EVENT_GRANTED, .ticket = 1ULL << 33,
		  .generation = 9, .tag = 5, .nr_slots = 3 },
		{ .type = LKVFENCE_EVENT_REFUSED, .ticket = 8, .tag = 6,
		  .reason = LKVFENCE_REASON_UNKNOWN },
	};
	struct lkvfence_event e[3];

	(void)state;
	assert_int_equal(write(fake.pipe_in, told, sizeof(told)), sizeof(told));
	assert_call(2, lkvfence_events(f, e, 3, 0));
	assert_memory_equal(e, told, sizeof(told));
	assert_true(e[0].held_ns == e[0].ticket);
	assert_string_equal(lkvfence_event_name(e[0].type), "granted");
	assert_string_equal(lkvfence_event_name(e[1].type), "refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(offer),
		TEST(ready_reaches_module),
		TEST(ready_errors),
		TEST(pull_reaches_module),
		TEST(pull_errors),
		TEST(withdraw),
		TEST(drop),
		TEST(abort_early),
		TEST(abort_all),
		TEST(answers),
	};

	return cmocka_run_group_tests_name("lib-pulls", tests, NULL, NULL);
}
