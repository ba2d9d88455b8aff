// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sources and their queue pairs, and reports: what reaches the module, and what a
 * failure says.
 */
#include <errno.h>
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

static void reply_binding(void *arg)
{
	struct lkvfence_source *source = arg;

	source->binding = 1ULL << 50;
}

static void source_reaches_module(void **state)
{
	struct lkvfence_qp qps[2] = {
		{ .device = "rxe0", .number = 17 },
		{ .device = "rxe1", .number = 18 },
	};
	struct lkvfence_source source = {
		.size = 1, .source = 9, .nr_qps = 2, .qps = (uintptr_t)qps,
		.peer = "prefill-3",
	};
	struct lkvfence_source want = source;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_binding;
	assert_call(0, lkvfence_source(f, &source));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_SOURCE);
	assert_memory_equal(&fake.in.source, &want, sizeof(want));
	assert_true(source.binding == 1ULL << 50);
	assert_int_equal(fake.cmds, 1);
}

static void source_errors(void **state)
{
	static const struct {
		int err;
		const char *says, *advises;
	} cases[] = {
		{ EOPNOTSUPP, "can't bind queue pairs on this kernel", "lkvfence --version" },
		{ ENODEV, "no RDMA device of that name", "rdma link" },
		{ ENOENT, "no queue pair of that number", "rdma res show qp" },
		{ EPERM, "belongs to another process", "not in a child" },
		{ EPROTONOSUPPORT, "only RC and UC", "" },
		{ ENOTCONN, "is not connected", "connect it first" },
		{ EBUSY, "source 9 has leases that are not proven quiet", "bound anew" },
		{ EEXIST, "source 9 was bound by another handle", "different numbers" },
		{ ENOSPC, "as many bound sources as it may have", "max_sources" },
		{ ERANGE, "nr_qps is 7, the module takes 6", "" },
		{ EINVAL, "padding that is not 0", "NUL" },
		{ EINVAL, "a queue pair that is named twice", "" },
		{ EFAULT, "a pointer", "" },
		{ ENOMEM, "no memory", "limit" },
		{ E2BIG, "too old", "update the module" },
		{ ENOTTY, "does not know this command", "too old" },
		{ EBADF, "closed", "lkvfence_close()" },
		{ ELOOP, "source: ", "" },
	};
	struct lkvfence_source source = { .source = 9, .nr_qps = 7 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.cmd_errno = cases[i].err;
		assert_call(-cases[i].err, lkvfence_source(f, &source));
		assert_errmsg("region kv: source: ");
		assert_errmsg(cases[i].says);
		assert_errmsg(cases[i].advises);
	}

	/* where the module doesn't say how many it takes */
	fake.cmd_errno = ERANGE;
	fake.info_errno = ENOMEM;
	assert_call(-ERANGE, lkvfence_source(f, &source));
	assert_errmsg("source: ");
}

static void source_invalid(void **state)
{
	static const struct {
		struct lkvfence_source source;
		const char *says;
	} cases[] = {
		{ { .flags = 2, .nr_qps = 1 }, "source: unknown flags 0x2" },
		{ { .flags = 0x80000001 }, "source: unknown flags 0x80000000" },
		{ { .nr_qps = 0 }, "source: no queue pairs" },
		{ { .flags = LKVFENCE_SOURCE_UNBIND, .nr_qps = 3 },
		  "unbind: nr_qps is 3: it must be 0" },
	};
	struct lkvfence_source source;
	size_t i;

	(void)state;
	fake.cmd_errno = EINVAL;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		source = cases[i].source;
		assert_call(-EINVAL, lkvfence_source(f, &source));
		assert_errmsg(cases[i].says);
	}
}

static void unbind(void **state)
{
	struct lkvfence_source want = {
		.size = sizeof(want), .flags = LKVFENCE_SOURCE_UNBIND, .source = 9,
	};

	(void)state;
	assert_call(0, lkvfence_unbind(f, 9));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_SOURCE);
	assert_memory_equal(&fake.in.source, &want, sizeof(want));

	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_unbind(f, 9));
	assert_errmsg("region kv: unbind: source 9 is not bound");
	fake.cmd_errno = EBUSY;
	assert_call(-EBUSY, lkvfence_unbind(f, 9));
	assert_errmsg("unbind: source 9 has leases that are not proven quiet");
	assert_errmsg("end their transfers");
	fake.cmd_errno = EPERM;
	assert_call(-EPERM, lkvfence_unbind(f, 9));
	assert_errmsg("unbind: source 9 was bound by another handle");
	fake.cmd_errno = EOPNOTSUPP;
	assert_call(-EOPNOTSUPP, lkvfence_unbind(f, 9));
	assert_errmsg("unbind: the module can't bind queue pairs on this kernel");
	assert_errmsg("source 9 has none");
	fake.cmd_errno = ENOTTY;
	assert_call(-ENOTTY, lkvfence_unbind(f, 9));
	assert_errmsg("unbind: ");

	/* the long way says the same */
	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_source(f, &want));
	assert_errmsg("unbind: source 9 is not bound");
}

static void reply_query(void *arg)
{
	struct lkvfence_query_source *query = arg;

	query->source = 12;
	query->state = LKVFENCE_SOURCE_REVOKING;
	query->binding = 77;
	query->nr_qps = 5;
}

static void query_source(void **state)
{
	struct lkvfence_qp qps[2];
	struct lkvfence_query_source query = {
		.size = 1, .flags = LKVFENCE_QUERY_SOURCE_FROM, .source = 9,
		.qps = (uintptr_t)qps, .nr_qps = 2,
	};
	struct lkvfence_query_source want = query;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_query;
	assert_call(0, lkvfence_query_source(f, &query));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_QUERY_SOURCE);
	assert_memory_equal(&fake.in.query_source, &want, sizeof(want));
	assert_int_equal(query.source, 12);
	assert_int_equal(query.nr_qps, 5);
	assert_int_equal(query.binding, 77);

	fake.reply = NULL;
	query = want;
	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_query_source(f, &query));
	assert_errmsg("query_source: no source from 9 on is bound");
	query.flags = 0;
	assert_call(-ENOENT, lkvfence_query_source(f, &query));
	assert_errmsg("query_source: source 9 is not bound");
	query.nr_qps = 7;
	fake.cmd_errno = ERANGE;
	assert_call(-ERANGE, lkvfence_query_source(f, &query));
	assert_errmsg("nr_qps is 7, the module takes 6");
	fake.info_errno = ENOMEM;
	assert_call(-ERANGE, lkvfence_query_source(f, &query));
	assert_errmsg("query_source: ");
	fake.cmd_errno = EFAULT;
	assert_call(-EFAULT, lkvfence_query_source(f, &query));
	assert_errmsg("query_source: a pointer");
}

static void quiet(void **state)
{
	static const struct {
		int err;
		const char *says;
	} cases[] = {
		{ ENOENT, "this handle has no binding 4294967296, or not any more" },
		{ ERANGE, "binding 4294967296 has no queue pair 3" },
		{ EBUSY, "rq_flushed of binding 4294967296 is not so: the queue pair" },
		{ EALREADY, "of binding 4294967296 is quiet already: nothing changed" },
		{ EINVAL, "evidence 6 (rq_flushed) says nothing of a queue pair" },
		{ EOPNOTSUPP, "does not accept rq_flushed as proof: nothing changed" },
		{ ENOMEM, "no memory" },
		{ ENOTTY, "too old" },
	};
	const uint64_t binding = 1ULL << 32;
	size_t i;

	(void)state;
	assert_call(0, lkvfence_quiet(f, binding, 3, LKVFENCE_EVIDENCE_QP_DESTROYED));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_QUIET);
	assert_int_equal(fake.in.quiet.flags, 0);
	assert_true(fake.in.quiet.binding == binding);
	assert_int_equal(fake.in.quiet.qp, 3);
	assert_int_equal(fake.in.quiet.evidence, LKVFENCE_EVIDENCE_QP_DESTROYED);

	assert_call(0, lkvfence_quiet(f, binding, LKVFENCE_QUIET_ALL,
				      LKVFENCE_EVIDENCE_MR_DEREGISTERED));
	assert_int_equal(fake.in.quiet.qp, UINT32_MAX);

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.cmd_errno = cases[i].err;
		assert_call(-cases[i].err,
			    lkvfence_quiet(f, binding, 3,
					   LKVFENCE_EVIDENCE_RQ_FLUSHED));
		assert_errmsg("region kv: quiet: ");
		assert_errmsg(cases[i].says);
	}
}

static void report(void **state)
{
	(void)state;
	assert_call(0, lkvfence_report(f, 1ULL << 40, LKVFENCE_REPORT_STRAY_LATE, 7));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_REPORT);
	assert_int_equal(fake.in.report.flags, 0);
	assert_true(fake.in.report.generation == 1ULL << 40);
	assert_int_equal(fake.in.report.kind, LKVFENCE_REPORT_STRAY_LATE);
	assert_int_equal(fake.in.report.nr_slots, 7);

	fake.cmd_errno = ENOENT;
	assert_call(-ENOENT, lkvfence_report(f, 4, LKVFENCE_REPORT_STRAY, 1));
	assert_errmsg("region kv: report: generation 4 was never issued");
	fake.cmd_errno = EINVAL;
	assert_call(-EINVAL, lkvfence_report(f, 4, 9, 1));
	assert_errmsg("report: unknown kind 9");
	assert_call(-EINVAL, lkvfence_report(f, 4, LKVFENCE_REPORT_STRAY, 0));
	assert_errmsg("report: no slots");
	fake.cmd_errno = ENOTTY;
	assert_call(-ENOTTY, lkvfence_report(f, 4, LKVFENCE_REPORT_STRAY, 1));
	assert_errmsg("report: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(source_reaches_module),
		TEST(source_errors),
		TEST(source_invalid),
		TEST(unbind),
		TEST(query_source),
		TEST(quiet),
		TEST(report),
	};

	return cmocka_run_group_tests_name("lib-sources", tests, NULL, NULL);
}
