/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place where kernels differ. kmod/compat.mk finds the features.
 */
#ifndef LKVFENCE_COMPAT_H
#define LKVFENCE_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(LKVFENCE_MIN_VERSION, LKVFENCE_MIN_PATCHLEVEL, 0)
#error "this kernel is older than lkvfence is for: KERNEL_MIN in kmod/compat.mk"
#endif

#include <linux/hrtimer.h>
#include <linux/mm.h> /* kvmalloc, before it was in slab.h */

/*
 * Kernels may clear all that is on the stack. Not what is as large as a batch,
 * and written before it is read, in a call that is made for every request.
 */
#if __has_attribute(__uninitialized__)
#define __no_init	__attribute__((__uninitialized__))
#else
#define __no_init
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* LKVFENCE_COMPAT_H */
