// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Leases given back: what reaches the module, and what is said of a refused one. */
#include <errno.h>

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

static void reply_return(void *arg)
{
	struct lkvfence_return *ret = arg;
	struct lkvfence_return_item *items = (void *)(uintptr_t)ret->items;

	items[0].result = 0;
	items[0].released = 1;
	items[1].result = -EALREADY;
	ret->nr_accepted = 1;
}

static void returns(void **state)
{
	struct lkvfence_return_item items[2] = { { 0 } };

	(void)state;
	fake.reply = reply_return;
	assert_call(1, lkvfence_return(f, items, 2));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_RETURN);
	assert_int_equal(fake.in.ret.nr_items, 2);
	assert_true(fake.in.ret.items == (uintptr_t)items);
	assert_int_equal(items[0].released, 1);
	assert_int_equal(items[1].result, -EALREADY);

	fake.reply = NULL;
	fake.cmd_errno = EINVAL;
	assert_call(-EINVAL, lkvfence_return(f, items, 0));
	assert_errmsg("no items");
	fake.cmd_errno = ERANGE;
	assert_call(-ERANGE, lkvfence_return(f, items, 9));
	assert_errmsg("nr is 9, the module takes 8");
	fake.cmd_errno = EFAULT;
	assert_call(-EFAULT, lkvfence_return(f, items, 2));
	assert_errmsg("may be repeated");
}

static struct lkvfence_return_item one;
static int one_result;

static void reply_one(void *arg)
{
	struct lkvfence_return *ret = arg;
	struct lkvfence_return_item *item = (void *)(uintptr_t)ret->items;

	assert_int_equal(ret->nr_items, 1);
	one = *item;
	item->result = one_result;
	ret->nr_accepted = !one_result;
}

/* The calls that give one lease back */
static int one_drained(void)
{
	return lkvfence_drained(f, 6, 2, LKVFENCE_EVIDENCE_SUCCESS_CQE);
}

static int one_revoked(void)
{
	return lkvfence_revoked(f, 6, 2, LKVFENCE_EVIDENCE_QP_DESTROYED);
}

static int one_failed(void)
{
	return lkvfence_failed(f, 6, 2);
}

static const struct {
	int (*call)(void);
	const char *name;
} one_calls[] = {
	{ one_drained, "region kv: drained: " },
	{ one_revoked, "region kv: revoked: " },
	{ one_failed, "region kv: failed: " },
};

static void one_lease_back(void **state)
{
	static const struct {
		int result;
		const char *says;
	} cases[] = {
		{ -ESTALE, "generation 6 is stale: it was released earlier" },
		{ -ENOENT,
		  "generation 6 was never issued in this region, or source 2 never had a lease" },
		{ -EALREADY, "source 2 gave its lease of generation 6 back before" },
	};
	size_t i, j;

	(void)state;
	fake.reply = reply_one;
	assert_call(0, lkvfence_drained(f, 6, 2, LKVFENCE_EVIDENCE_IN_BAND));
	assert_true(one.generation == 6);
	assert_int_equal(one.source, 2);
	assert_int_equal(one.status, LKVFENCE_STATUS_DRAINED);
	assert_int_equal(one.evidence, LKVFENCE_EVIDENCE_IN_BAND);

	assert_call(0, lkvfence_failed(f, 6, 2));
	assert_int_equal(one.status, LKVFENCE_STATUS_FAILED);
	assert_int_equal(one.evidence, LKVFENCE_EVIDENCE_NONE);

	assert_call(0, lkvfence_revoked(f, 1ULL << 40, 3,
					LKVFENCE_EVIDENCE_MW_INVALIDATED));
	assert_true(one.generation == 1ULL << 40);
	assert_int_equal(one.source, 3);
	assert_int_equal(one.status, LKVFENCE_STATUS_REVOKED);
	assert_int_equal(one.evidence, LKVFENCE_EVIDENCE_MW_INVALIDATED);

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (j = 0; j < sizeof(one_calls) / sizeof(one_calls[0]); j++) {
			one_result = cases[i].result;
			assert_call(one_result, one_calls[j].call());
			assert_errmsg(one_calls[j].name);
			assert_errmsg(cases[i].says);
		}
	}

	one_result = 0;
	for (j = 0; j < sizeof(one_calls) / sizeof(one_calls[0]); j++) {
		fake.cmd_errno = ENOMEM;
		assert_call(-ENOMEM, one_calls[j].call());
	}
}

static void evidence_refused(void **state)
{
	(void)state;
	fake.reply = reply_one;
	one_result = -EINVAL;
	assert_call(-EINVAL, lkvfence_drained(f, 6, 2,
					      LKVFENCE_EVIDENCE_TIMEOUT));
	assert_errmsg("drained: evidence 1 (timeout)");
	assert_call(-EINVAL, lkvfence_revoked(f, 6, 2,
					      LKVFENCE_EVIDENCE_SUCCESS_CQE));
	assert_errmsg("revoked: evidence 3 (success_cqe)");

	/* the region was created so: told apart from what makes no sense */
	one_result = -EOPNOTSUPP;
	assert_call(-EOPNOTSUPP, lkvfence_drained(f, 6, 2,
						  LKVFENCE_EVIDENCE_IN_BAND));
	assert_errmsg("drained: the region was created so that it does not accept in_band as proof");
	assert_call(-EOPNOTSUPP,
		    lkvfence_revoked(f, 6, 2, LKVFENCE_EVIDENCE_RQ_FLUSHED));
	assert_errmsg("revoked: the region was created so that it does not accept rq_flushed");
	assert_errmsg("nothing changed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(returns),
		TEST(one_lease_back),
		TEST(evidence_refused),
	};

	return cmocka_run_group_tests_name("lib-return", tests, NULL, NULL);
}
