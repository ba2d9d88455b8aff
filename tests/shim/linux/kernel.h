/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* min(), max(), container_of() and a check that stops the test. */
#ifndef LKVFENCE_SHIM_KERNEL_H
#define LKVFENCE_SHIM_KERNEL_H

#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>

#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define BITS_PER_LONG	((unsigned int)(8 * sizeof(long)))

/* As the kernel does, refuse to compare two different types. */
#define shim_same_type(a, b) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(a), __typeof__(b)), \
		       "comparison of two different types")

#define min(a, b) ({				\
	__typeof__(a) min_a = (a);		\
	__typeof__(b) min_b = (b);		\
	shim_same_type(min_a, min_b);		\
	min_a < min_b ? min_a : min_b;		\
})

#define max(a, b) ({				\
	__typeof__(a) max_a = (a);		\
	__typeof__(b) max_b = (b);		\
	shim_same_type(max_a, max_b);		\
	max_a > max_b ? max_a : max_b;		\
})

#define likely(cond)	(cond)
#define unlikely(cond)	(cond)
#define min_t(type, a, b)	min((type)(a), (type)(b))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* What the kernel would warn of, or what would corrupt its memory in silence. */
#define shim_assert(cond) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s: misuse: %s\n", __FILE__, __LINE__,	\
			__func__, #cond);					\
		abort();							\
	}									\
} while (0)

#endif /* LKVFENCE_SHIM_KERNEL_H */
