/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small structs in and out of user space, as words.
 *
 * copy_from_user() and copy_to_user() look up what the kernel's side points
 * to, and copy byte by byte on some machines. Where the size is small and its
 * bound plain to see, neither is needed, and a request that goes well is
 * spared a few hundred instructions.
 */
#ifndef LKVFENCE_WORDS_H
#define LKVFENCE_WORDS_H

#include <linux/types.h>
#include <linux/uaccess.h>

/* Returns 0, or -EFAULT when some of it could not be read. */
static inline int words_from_user(u64 *to, const u64 __user *from, size_t nr)
{
	size_t i;

	if (!user_access_begin(from, nr * sizeof(*from)))
		return -EFAULT;
#pragma GCC unroll 8
	for (i = 0; i < nr; i++)
		unsafe_get_user(to[i], from + i, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

/* Returns 0, or -EFAULT when some of it could not be written. */
static inline int words_to_user(u64 __user *to, const u64 *from, size_t nr)
{
	size_t i;

	if (!user_access_begin(to, nr * sizeof(*to)))
		return -EFAULT;
#pragma GCC unroll 8
	for (i = 0; i < nr; i++)
		unsafe_put_user(from[i], to + i, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

#endif /* LKVFENCE_WORDS_H */
