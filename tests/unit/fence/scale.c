// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A hundred thousand transfers at once, in a region of a million slots. */
#include <stdlib.h>

#include "rig.h"

#define NR	100000
#define EACH	10

/* A rig checks all slots at each step; here that is done at the end. */
struct crowd {
	struct fence f;
	struct fence_limits limits;
	struct fence_transfer *t;
	struct fence_lease *leases;
	struct fence_lease *more;
	struct lkvfence_range *ranges;
	unsigned long *taken;
	u64 *owner;
	u32 released;
	u32 outcomes[LKVFENCE_NR_OUTCOMES];
};

static int crowd_setup(void **state)
{
	struct crowd *c = calloc(1, sizeof(*c));
	struct fence_refusal why;

	*state = c;
	c->limits.default_ns = DEFAULT_NS;
	c->limits.max_ns = MAX_NS;
	c->t = calloc(NR, sizeof(*c->t));
	c->leases = calloc(NR, sizeof(*c->leases));
	c->more = calloc(NR, sizeof(*c->more));
	c->ranges = calloc(2 * NR, sizeof(*c->ranges));
	c->taken = calloc(NR * EACH / 64, sizeof(long));
	c->owner = calloc(NR * EACH, sizeof(u64));
	fence_init(&c->f, NR * EACH, c->taken, c->owner);
	for (u32 i = 0; i < NR; i++) {
		struct fence_transfer *t = &c->t[i];

		/* One half of its slots from below, one from above. */
		c->ranges[2 * i] = (struct lkvfence_range){ i * EACH / 2, EACH / 2 };
		c->ranges[2 * i + 1] = (struct lkvfence_range){
			NR * EACH - (i + 1) * EACH / 2, EACH / 2 };
		fence_transfer_init(t);
		t->tag = i * 2654435761ULL % (1 << 20);
		t->ranges = &c->ranges[2 * i];
		t->nr_ranges = 2;
		c->leases[i].source = i;
		if (fence_transfer_lease(t, &c->leases[i]) ||
		    fence_admit(&c->f, t, NR, &why))
			return -1;
		fence_begin(&c->f, t, i + 1, i);
	}
	return 0;
}

static int crowd_teardown(void **state)
{
	struct crowd *c = *state;

	free(c->t);
	free(c->leases);
	free(c->more);
	free(c->ranges);
	free(c->taken);
	free(c->owner);
	free(c);
	return 0;
}

static void take_news(struct crowd *c)
{
	struct fence_transfer *t;
	u32 bits;

	while ((t = fence_news(&c->f, &bits)))
		if (bits & FENCE_NEWS_RELEASED) {
			/* L6: not a second time. */
			assert_int_equal(t->news_bits, 0);
			assert_int_not_equal(t->tag, U64_MAX);
			c->released++;
			c->outcomes[t->outcome]++;
			memset(t, 0xff, sizeof(*t));
		}
}

static void must_be_empty(const struct crowd *c)
{
	assert_int_equal(c->released, NR);
	assert_int_equal(c->f.transfers_alive, 0);
	assert_int_equal(c->f.slots_taken, 0);
	assert_int_equal(c->f.slots_held, 0);
	for (u32 i = 0; i < NR * EACH / 64; i++)
		assert_int_equal(c->taken[i], 0);
	assert_int_equal(fence_next_deadline(&c->f), U64_MAX);
	assert_null(fence_find_next(&c->f, 0));
}

static void test_L1_hundred_thousand_transfers_and_no_slot_left(void **state)
{
	struct crowd *c = *state;
	struct lkvfence_range range = { 0, 1 };
	struct fence_transfer extra = { .tag = U64_MAX, .ranges = &range, .nr_ranges = 1 };
	struct fence_refusal why;
	struct fence_transfer *t;
	u32 nr = 0;

	assert_int_equal(c->f.transfers_alive, NR);
	assert_int_equal(c->f.slots_taken, NR * EACH);
	fence_transfer_init(&extra);
	for (u32 slot = 0; slot < NR * EACH; slot += 997) {
		range.first = slot;
		assert_int_equal(fence_admit(&c->f, &extra, NR + 1, &why), -EBUSY);
		assert_int_equal(why.slot, slot);
		t = fence_find_slot(&c->f, slot);
		assert_int_equal(why.generation, t->generation);
		assert_ptr_equal(fence_find_tag(&c->f, t->tag), t);
	}
	assert_int_equal(fence_admit(&c->f, &extra, NR, &why), -ENOSPC);
	for (t = fence_find_next(&c->f, 0); t; t = fence_find_next(&c->f, t->generation))
		assert_int_equal(t->generation, ++nr);
	assert_int_equal(nr, NR);
}

static void test_L2_hundred_thousand_holds_drain_in_any_order(void **state)
{
	struct crowd *c = *state;
	bool released;

	for (u32 i = 0; i < NR; i++)
		fence_abort(&c->f, &c->t[i], LKVFENCE_REASON_PEER, 0, 0, &c->limits, NR);
	take_news(c);
	assert_int_equal(c->f.slots_held, NR * EACH);
	/* 7919 has no divisor in common with NR: each comes once. */
	for (u64 i = 0; i < NR; i++) {
		u64 n = i * 7919 % NR;

		assert_int_equal(fence_return(&c->f, n + 1, n, LKVFENCE_STATUS_DRAINED,
					      CQE, NR, &released), 0);
		assert_true(released);
		take_news(c);
	}
	assert_int_equal(c->outcomes[LKVFENCE_OUTCOME_DRAINED], NR);
	must_be_empty(c);
}

static void test_L8_hundred_thousand_deadlines_in_batches(void **state)
{
	struct crowd *c = *state;
	u32 nr, batches = 0;

	for (u64 i = 0; i < NR; i++)
		fence_abort(&c->f, &c->t[i], LKVFENCE_REASON_PEER, 0,
			    1 + i * 7919 % MAX_NS, &c->limits, NR);
	take_news(c);
	assert_int_equal(fence_expire(&c->f, &c->limits, NR, U32_MAX), 0);
	do {
		nr = fence_expire(&c->f, &c->limits, NR + MAX_NS, 64);
		assert_in_range(nr, 0, 64);
		take_news(c);
		batches++;
	} while (nr == 64);
	assert_in_range(batches, NR / 64, NR / 64 + 1);
	assert_int_equal(c->outcomes[LKVFENCE_OUTCOME_TIMEOUT], NR);
	must_be_empty(c);
}

/* L9: one source of all of them is revoked in pieces, and nobody waits for more. */
static void test_L9_hundred_thousand_leases_of_one_source(void **state)
{
	struct crowd *c = *state;
	struct fence_source s;
	u32 batches = 0, nr;

	assert_int_equal(fence_bind(&c->f, &s, NR), 0);
	for (u32 i = 0; i < NR; i++) {
		c->more[i].source = NR;
		assert_int_equal(fence_take(&c->f, &c->t[i], &c->more[i], 2, NR), 0);
		if (i % 2)
			fence_return(&c->f, i + 1, i, LKVFENCE_STATUS_DRAINED, CQE, NR,
				     &(bool){ false });
	}
	assert_int_equal(s.nr_leases, NR);
	assert_true(fence_source_revoke(&s));
	do {
		nr = fence_source_end(&c->f, &s, &c->limits, NR, 64);
		take_news(c);
		batches++;
	} while (nr == 64);
	assert_int_equal(c->f.transfers_held, NR);
	do {
		nr = fence_source_quiet(&c->f, &s, SETTLED, NR, 64);
		take_news(c);
		batches++;
	} while (nr == 64);
	assert_in_range(batches, 2 * (NR / 64), 2 * (NR / 64 + 1));
	assert_int_equal(c->outcomes[LKVFENCE_OUTCOME_REVOKED], NR / 2);
	for (u32 i = 0; i < NR; i += 2) {
		bool released;

		assert_int_equal(fence_return(&c->f, i + 1, i, LKVFENCE_STATUS_DRAINED,
					      CQE, NR, &released), 0);
		assert_true(released);
		take_news(c);
	}
	assert_int_equal(c->outcomes[LKVFENCE_OUTCOME_REVOKED], NR);
	must_be_empty(c);
	assert_int_equal(fence_unbind(&c->f, &s), 0);
}

int main(void)
{
#define CROWD(name)	cmocka_unit_test_setup_teardown(name, crowd_setup, crowd_teardown)
	const struct CMUnitTest tests[] = {
		CROWD(test_L1_hundred_thousand_transfers_and_no_slot_left),
		CROWD(test_L2_hundred_thousand_holds_drain_in_any_order),
		CROWD(test_L8_hundred_thousand_deadlines_in_batches),
		CROWD(test_L9_hundred_thousand_leases_of_one_source),
	};

	return RUN(tests);
}
