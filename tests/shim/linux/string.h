/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef LKVFENCE_SHIM_STRING_H
#define LKVFENCE_SHIM_STRING_H

#include <linux/types.h>
#include <string.h>

static inline void *memset64(u64 *s, u64 v, size_t count)
{
	for (size_t i = 0; i < count; i++)
		s[i] = v;
	return s;
}

#endif /* LKVFENCE_SHIM_STRING_H */
