// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Random calls against the module in the kernel, in two ways: by one thread,
 * where the oracle of tests/model knows each answer (exact.c), and by a crowd
 * of threads and processes, where it is known what can't be (crowd.c). To be
 * run as root where nobody else uses lkvfence; prints TAP.
 */
#include <getopt.h>

#include "differential.h"

static _Noreturn void usage(FILE *to, int status)
{
	fprintf(to, "differential [--calls N] [--seed S] [--threads T] [--processes P] [exact|crowd]\n"
		"\n"
		"  --calls N      calls of each kind of test (25000)\n"
		"  --seed S       of the random numbers, above 0 (1)\n"
		"  --threads T    of each process of the crowd (3)\n"
		"  --processes P  at a time in the crowd (3)\n");
	exit(status);
}

static uint64_t number(const char *arg)
{
	char *end;
	uint64_t n = strtoull(arg, &end, 0);

	if (!n || *end)
		usage(stderr, 2);
	return n;
}

/* Objects that are alive, by what sysfs counts. */
static int64_t alive(const char *kind)
{
	const char *dir = "/sys/class/misc/lkvfence/objects";
	int64_t created = atoll(line_of("%s/%s_created", dir, kind));

	return created - atoll(line_of("%s/%s_destroyed", dir, kind));
}

static void nothing_left(void)
{
	static const char * const kinds[] = {
		"regions", "handles", "transfers", "leases", "sources", "offers", "tickets",
		"groups", "members", "peers",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		check(until(!alive(kinds[i])), "as many %s are destroyed as were created",
		      kinds[i]);
}

/* One round; true when nothing is left. */
static bool emptied(struct lkvfence *f)
{
	struct lkvfence_lease leases[8];
	struct lkvfence_query q = { 0 };
	bool left = false;

	for (;;) {
		q = (struct lkvfence_query){
			.by = LKVFENCE_QUERY_NEXT,
			.generation = q.generation,
			.leases = (uintptr_t)leases,
			.nr_leases = ARRAY_SIZE(leases),
		};
		if (lkvfence_query(f, &q))
			return !left;
		left = true;
		for (uint32_t i = 0; i < q.nr_leases && i < ARRAY_SIZE(leases); i++)
			drained(f, q.generation, leases[i].source);
		lkvfence_abort_generation(f, q.generation);
		lkvfence_force_release(f, q.generation);
	}
}

bool empty_once(const char *name)
{
	struct lkvfence *f;
	bool nothing;

	if (!region_exists(name))
		return true;
	f = region(name, 0);
	nothing = emptied(f);
	lkvfence_close(f);
	return nothing;
}

/* Leases that nobody can prove any more wait for their deadline (L4). */
void empty(const char *name)
{
	struct lkvfence *f;

	if (!region_exists(name))
		return;
	f = region(name, 0);
	check(until(emptied(f)), "all transfers of region %s come back", name);
	lkvfence_close(f);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "calls", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' },
		{ "processes", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .calls = 25000, .seed = 1, .threads = 3, .processes = 3 };
	const char *only = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o.calls = number(optarg);
			break;
		case 's':
			o.seed = number(optarg);
			break;
		case 't':
			o.threads = number(optarg);
			break;
		case 'p':
			o.processes = number(optarg);
			break;
		default:
			usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
		}
	}
	if (optind < argc)
		only = argv[optind++];
	if (optind < argc || (only && strcmp(only, "exact") && strcmp(only, "crowd")))
		usage(stderr, 2);

	note("seed %" PRIu64 ", %" PRIu64 " calls of each kind", o.seed, o.calls);
	if (!only || !strcmp(only, "exact")) {
		exact(&o);
		nothing_left();
	}
	if (!only || !strcmp(only, "crowd")) {
		crowd(&o);
		nothing_left();
	}
	return done();
}
