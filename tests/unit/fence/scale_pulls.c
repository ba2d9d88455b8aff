// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Pulls and early aborts of a million tags that nobody has. */
#include <stdlib.h>

#include "rig.h"

#define D		20	/* source: a consumer */
#define MILLION		1000000

/* L10: a million foreign tags, and what is true is still known. */
static void test_L10_a_million_foreign_tags(void **state)
{
	struct rig *r = *state;
	u64 g = begin(r, .tag = 1, .ranges = { { 0, 1 } }, .offer = true);
	u64 k = pull(r, .tag = 2, .source = D), h;
	struct pull_ticket *foreign = calloc(1, sizeof(*foreign));
	struct fence_lease lease = { .source = D };
	struct pull_offer *spare = NULL, *o;
	u32 most = 0;

	assert_non_null(foreign);
	abort_for(r, g, LKVFENCE_REASON_PEER, 0, 0);
	/* Without the rig: it would look at all there is, a million times. */
	for (u64 i = 0; i < MILLION; i++) {
		u64 tag = 1000 + i * 2654435761ULL % 4294967296ULL;

		if (!spare)
			spare = rig_offer(r);
		pull_offer_init(spare);
		if (pull_abort_early(&r->p, spare, tag, i % 3 ? 0 : U64_MAX,
				     LKVFENCE_REASON_DROPPED, &r->pull_limits, r->now))
			spare = NULL;
		pull_ticket_init(foreign);
		foreign->tag = tag + i % 2;
		foreign->lease = &lease;
		pull_ask(&r->p, foreign, UNCLAIMED_NS, PULL_NS, &r->pull_limits, r->now);
		if (!pull_answered(foreign))
			pull_withdraw(&r->p, foreign, r->now);
		assert_ptr_equal(pull_news(&r->p), foreign);
		assert_null(pull_news(&r->p));
		r->last_ticket++;
		most = max(most, r->nr_offers);
		while ((o = pull_forgotten(&r->p)))
			rig_free_offer(r, o);
	}
	if (spare)
		rig_free_offer(r, spare);
	/* One too many is in use when the oldest goes. */
	assert_true(most <= 1 + MAX_TOMBSTONES + 1);
	assert_true(waits(r, k));
	refused(r, pull(r, .tag = 1, .source = D), g, LKVFENCE_REASON_PEER);
	h = begin(r, .tag = 2, .ranges = { { 1, 1 } }, .offer = true);
	assert_int_equal(ready(r, h, 0, 0), 0);
	granted(r, k, h);
	assert_int_equal(r->p.counts.pulls, MILLION + 2);
	free(foreign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_L10_a_million_foreign_tags),
	};

	return RUN(tests);
}
