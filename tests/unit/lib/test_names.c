// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Every value of the ABI has its name. The table is made from the header when
 * this is built, so that a value that gets added can't be forgotten.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <lkvfence.h>

static const struct value {
	const char *kind, *name;
	uint32_t value;
} values[] = {
#define VALUE(kind, name) { #kind, #name, LKVFENCE_##kind##_##name }
#include "values.inc"
};

#define NR_VALUES	(sizeof(values) / sizeof(values[0]))

/* Each of the header's values has the name of its constant */
static void check_named(const char *kind, const char *(*name_of)(uint32_t),
			int at_least)
{
	char want[64];
	size_t i, j;
	int n = 0;

	for (i = 0; i < NR_VALUES; i++) {
		if (strcmp(values[i].kind, kind))
			continue;
		for (j = 0; values[i].name[j]; j++)
			want[j] = tolower(values[i].name[j]);
		want[j] = '\0';
		assert_string_equal(name_of(values[i].value), want);
		n++;
	}
	assert_true(n >= at_least);
}

static void check(const char *kind, const char *(*name_of)(uint32_t), int at_least)
{
	uint32_t v;
	size_t i;

	check_named(kind, name_of, at_least);
	/* and nothing else has one */
	for (v = 0; v < 300; v++) {
		for (i = 0; i < NR_VALUES; i++)
			if (!strcmp(values[i].kind, kind) && values[i].value == v)
				break;
		if (i == NR_VALUES)
			assert_string_equal(name_of(v), "unknown");
	}
	assert_string_equal(name_of(UINT32_MAX), "unknown");
}

#define NAMES(kind, call, at_least)					\
	static void call##s(void **state)				\
	{								\
		(void)state;						\
		check(#kind, lkvfence_##call, at_least);		\
	}

NAMES(STATE, state_name, 4)
NAMES(REASON, reason_name, 15)
NAMES(OUTCOME, outcome_name, 6)
NAMES(EVIDENCE, evidence_name, 11)
NAMES(EVENT, event_name, 6)
NAMES(LEASE, lease_state_name, 4)
NAMES(SOURCE, source_state_name, 4)
NAMES(QP, qp_state_name, 4)

/* A policy is what to do at the deadline, and what to try before */
static void policy_names(void **state)
{
	static const char * const rest[] = { "default", "taint", "quarantine" };
	static const char * const revokes[] = {
		"", "revoke", "revoke_now", "revoke_now"
	};
	char want[64];
	uint32_t v;

	(void)state;
	for (v = 0; v < 0x800; v++) {
		const char *first = revokes[v >> 8 & 3];
		uint32_t low = v & 0xff;

		if (low >= sizeof(rest) / sizeof(rest[0]) || v >> 10)
			strcpy(want, "unknown");
		else if (!*first)
			strcpy(want, rest[low]);
		else if (low == LKVFENCE_POLICY_DEFAULT)
			strcpy(want, first);
		else
			sprintf(want, "%s,%s", first, rest[low]);
		assert_string_equal(lkvfence_policy_name(v), want);
	}
	assert_string_equal(lkvfence_policy_name(UINT32_MAX), "unknown");
	assert_string_equal(lkvfence_policy_name(1U << 31 | 1), "unknown");
	check_named("POLICY", lkvfence_policy_name, 5);
}

static void version(void **state)
{
	(void)state;
	/* header, library and build agree */
	assert_string_equal(lkvfence_version(), LKVFENCE_VERSION);
	assert_string_equal(lkvfence_version(), BUILD_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_names),
		cmocka_unit_test(reason_names),
		cmocka_unit_test(policy_names),
		cmocka_unit_test(outcome_names),
		cmocka_unit_test(evidence_names),
		cmocka_unit_test(event_names),
		cmocka_unit_test(lease_state_names),
		cmocka_unit_test(source_state_names),
		cmocka_unit_test(qp_state_names),
		cmocka_unit_test(version),
	};

	return cmocka_run_group_tests_name("lib-names", tests, NULL, NULL);
}
