/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What kmod/fence.c needs of the kernel's types, in user space. The ABI's
 * types (__u32 and so on) come from the system's header of the same name.
 */
#ifndef LKVFENCE_SHIM_TYPES_H
#define LKVFENCE_SHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#endif /* LKVFENCE_SHIM_TYPES_H */
