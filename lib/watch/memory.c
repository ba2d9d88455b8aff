// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A slot's memory: its checksum, and the pattern.
 *
 * All of it is read while a device may write to it. That is the point: bytes
 * that change under the reader give a sum that is neither the old nor the new
 * one, and so count as changed. Nothing read here is used for anything else.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <isa-l/crc64.h>

#include "watch.h"

static unsigned char *slot_in(const struct lkvfence_watch_pool *pool, uint32_t slot)
{
	return (unsigned char *)pool->base + slot * pool->stride;
}

/*
 * CRC-64 of ECMA-182, reflected, inverted before and after: what is known as
 * CRC-64/XZ. Defined on bytes, so byte order doesn't matter.
 */
uint64_t lkvfence_watch_crc(uint64_t crc, const void *data, size_t len)
{
	return crc64_ecma_refl(crc, data, len);
}

uint64_t watch__sum_slot(const struct lkvfence_watch *w, uint32_t slot,
			 uint64_t crc, uint64_t *most)
{
	uint64_t len;
	uint32_t i;

	for (i = 0; i < w->nr_pools; i++) {
		len = w->pools[i].bytes < *most ? w->pools[i].bytes : *most;
		crc = lkvfence_watch_crc(crc, slot_in(&w->pools[i], slot), len);
		*most -= len;
	}
	return crc;
}

/*
 * The pattern is a block of words that is repeated; another one for each slot,
 * pool and generation, and well mixed, so that no data looks like it.
 */
#define GOLDEN	0x9e3779b97f4a7c15ULL
#define WORDS	64

struct block {
	uint64_t words[WORDS];
};

static void make_block(struct block *block, uint64_t generation, uint32_t slot, uint32_t pool)
{
	uint64_t x = generation + slot * GOLDEN + ((uint64_t)pool << 40);
	int i;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	for (i = 0; i < WORDS; i++) {
		block->words[i] = x;
		x += GOLDEN;
	}
}

void watch__fill_slot(const struct lkvfence_watch *w, uint32_t slot, uint64_t generation)
{
	struct block block;
	unsigned char *at;
	uint64_t left;
	uint32_t i;

	for (i = 0; i < w->nr_pools; i++) {
		make_block(&block, generation, slot, i);
		at = slot_in(&w->pools[i], slot);
		for (left = w->pools[i].bytes; left > sizeof(block); left -= sizeof(block)) {
			memcpy(at, &block, sizeof(block));
			at += sizeof(block);
		}
		memcpy(at, &block, left);
	}
}

bool watch__slot_is_filled(const struct lkvfence_watch *w, uint32_t slot, uint64_t generation)
{
	const unsigned char *at;
	struct block block;
	uint64_t left;
	uint32_t i;

	for (i = 0; i < w->nr_pools; i++) {
		make_block(&block, generation, slot, i);
		at = slot_in(&w->pools[i], slot);
		for (left = w->pools[i].bytes; left > sizeof(block); left -= sizeof(block)) {
			if (memcmp(at, &block, sizeof(block)))
				return false;
			at += sizeof(block);
		}
		if (memcmp(at, &block, left))
			return false;
	}
	return true;
}

int watch__check_range(const struct lkvfence_watch *w, const struct lkvfence_range *range)
{
	if ((uint64_t)range->first + range->count <= w->nr_slots)
		return 0;
	return watch__fail(w, -ERANGE,
		"%" PRIu32 " slots from %" PRIu32 " go beyond the %" PRIu32 " slots that the watcher was told of",
		range->count, range->first, w->nr_slots);
}
