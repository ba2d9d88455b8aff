/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the parts of the differential test share. */
#ifndef LKVFENCE_FUZZ_DIFFERENTIAL_H
#define LKVFENCE_FUZZ_DIFFERENTIAL_H

#include "../e2e/e2e.h"

struct options {
	uint64_t calls;
	uint64_t seed;
	unsigned int threads;
	unsigned int processes;
};

/* xorshift: the same seed gives the same numbers everywhere. */
static inline uint64_t random_of(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dULL;
}

static inline uint32_t below(uint64_t *seed, uint32_t n)
{
	return (random_of(seed) >> 32) % n;
}

/* One thread, and each answer is what the oracle says. */
void exact(const struct options *o);
/* Threads and processes, and each answer is one of those that may be. */
void crowd(const struct options *o);
/* Prove, end and wait until a region has no transfers; by force, if need be. */
void empty(const char *name);
/* One round of that; whether nothing was left. */
bool empty_once(const char *name);

#endif /* LKVFENCE_FUZZ_DIFFERENTIAL_H */
