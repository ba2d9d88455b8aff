// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * holder REGION TIMEOUT_MS wait | leave | drain - for the tests that are scripts
 *
 * Holds 8 slots of a region, says "held GENERATION", and waits to be killed, or leaves
 * them behind; or proves quiet what another one left. Run without arguments it
 * is a test of itself.
 */
#include "e2e.h"

static int drain(const char *name)
{
	struct lkvfence *f = region(name, 0);

	clear(f);
	lkvfence_close(f);
	return 0;
}

int main(int argc, char **argv)
{
	struct lkvfence *f;
	uint64_t generation;

	if (argc < 4) {
		f = region("holder", 64);
		hold(f, 1, 0, 8, 1, LKVFENCE_POLICY_TAINT, 60000);
		lkvfence_close(f);
		check(region_exists("holder"), "held");
		gives(drain("holder"), 0, "drained");
		check(until(!region_exists("holder")), "gone");
		return done();
	}
	if (!strcmp(argv[3], "drain"))
		return drain(argv[1]);
	f = region(argv[1], 64);
	generation = hold(f, 1, 0, 8, 1, LKVFENCE_POLICY_TAINT, atoi(argv[2]));
	printf("held %" PRIu64 "\n", generation);
	if (!strcmp(argv[3], "wait"))
		pause();
	return 0;
}
