// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * holder REGION TIMEOUT_MS wait | leave | drain | pull - for the tests that are scripts
 *
 * Holds 8 slots of a region, says "held GENERATION", and waits to be killed, or leaves
 * them behind; or proves quiet what another one left. With "pull" the 8 slots are what it
 * offered to itself, and there is a pull that waits, an answer that isn't read, and a
 * tombstone of either kind. Run without arguments it is a test of itself.
 */
#include "pull.h"

static int drain(const char *name)
{
	struct lkvfence *f = region(name, 0);

	clear(f);
	lkvfence_close(f);
	return 0;
}

static uint64_t offers(struct lkvfence *f, unsigned int timeout_ms)
{
	uint64_t g = offer(f, 1, 0, 8, 0);

	need(!lkvfence_release(f, offer(f, 2, 8, 8, 0)) && !lkvfence_abort_early(f, 3, 0),
	     "tombstones");
	need(!ready(f, g, 0, 1), "READY");
	pull(f, 1, 100);
	pull(f, 4, 100);
	need(!abort_with(f, g, LKVFENCE_POLICY_TAINT, timeout_ms), "ABORT");
	return g;
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
	if (!strcmp(argv[3], "pull"))
		generation = offers(f, atoi(argv[2]));
	else
		generation = hold(f, 1, 0, 8, 1, LKVFENCE_POLICY_TAINT, atoi(argv[2]));
	printf("held %" PRIu64 "\n", generation);
	if (strcmp(argv[3], "leave"))
		pause();
	return 0;
}
