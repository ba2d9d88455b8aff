// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A region that is gone before a deadline it once had: its clock has stopped. */
#include "e2e.h"

#define NR	20

int main(void)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		struct lkvfence *f = region("close-before-deadline", 64);
		uint64_t g = hold(f, 1, 0, 8, 1, LKVFENCE_POLICY_TAINT, 3000);

		need(!drained(f, g, 1), "RETURN");
		lkvfence_close(f);
		need(until(!region_exists("close-before-deadline")), "the region is gone");
	}
	/* Nothing tells that nothing happens: wait for longer than it would take. */
	usleep(4000000);
	check(true, "%d regions went before their deadline", NR);
	return done();
}
