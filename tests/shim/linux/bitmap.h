/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Bitmaps, one bit at a time: slow, and simple enough to be believed. */
#ifndef LKVFENCE_SHIM_BITMAP_H
#define LKVFENCE_SHIM_BITMAP_H

#include <linux/kernel.h>
#include <linux/types.h>

static inline bool test_bit(long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG) & 1;
}

static inline void bitmap_set(unsigned long *map, unsigned int start,
			      unsigned int nbits)
{
	for (unsigned long i = start; i < (unsigned long)start + nbits; i++)
		map[i / BITS_PER_LONG] |= 1UL << (i % BITS_PER_LONG);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start,
				unsigned int nbits)
{
	for (unsigned long i = start; i < (unsigned long)start + nbits; i++)
		map[i / BITS_PER_LONG] &= ~(1UL << (i % BITS_PER_LONG));
}

/* The first bit that is set from @offset on and below @size, or @size. */
static inline unsigned long find_next_bit(const unsigned long *map,
					  unsigned long size,
					  unsigned long offset)
{
	for (unsigned long i = offset; i < size; i++)
		if (map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG) & 1)
			return i;
	return size;
}

#endif /* LKVFENCE_SHIM_BITMAP_H */
