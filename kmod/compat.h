/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place where kernels differ. kmod/compat.mk finds the features.
 */
#ifndef LKVFENCE_COMPAT_H
#define LKVFENCE_COMPAT_H

#include <linux/hrtimer.h>

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
