# SPDX-License-Identifier: GPL-2.0-only
# What kernels differ in, found by looking at their headers: distributions
# backport, so version numbers tell little. kmod/compat.h acts on it.
compat-has = $(shell grep -qw $(1) $(srctree)/include/$(2) && echo -D$(3))

ccflags-y += $(call compat-has,hrtimer_setup,linux/hrtimer.h,HAVE_HRTIMER_SETUP)
