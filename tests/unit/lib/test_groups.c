// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* JOIN: what reaches the module, and what a failure says. */
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

static void join(void **state)
{
	struct lkvfence_join want = {
		.size = sizeof(want), .generation = 9, .group = 77, .nr_members = 4,
	};

	(void)state;
	assert_call(0, lkvfence_join(f, 9, 77, 4));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_JOIN);
	assert_memory_equal(&fake.in.join, &want, sizeof(want));
}

static void join_fails(void **state)
{
	static const struct {
		int err;
		const char *says;
	} failures[] = {
		{ ECANCELED, "region kv: join: generation 9 has ended, or another member of" },
		{ ECANCELED, "abort it as well" },
		{ EEXIST, "region kv: join: generation 9 is in a group" },
		{ EINVAL, "join: others say that group 77 has another number of members than 4" },
		{ ERANGE, "region kv: join:" },
		{ ESTALE, "generation 9" },
		{ ENOENT, "generation 9 was never issued" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		fake.cmd_errno = failures[i].err;
		assert_call(-failures[i].err, lkvfence_join(f, 9, 77, 4));
		assert_errmsg(failures[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join),
		TEST(join_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
