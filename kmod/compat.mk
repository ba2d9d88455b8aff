# SPDX-License-Identifier: GPL-2.0-only
# The kernels that lkvfence is for, said here and nowhere else: the oldest it
# builds for, and those the tests run on (make check-matrix). kmod/compat.h
# refuses older ones; the README and packages read it from here.
KERNEL_MIN := 5.10
KERNEL_TESTED := 5.10 6.1 6.12 7.2

ccflags-y += -DLKVFENCE_MIN_VERSION=$(word 1,$(subst ., ,$(KERNEL_MIN)))
ccflags-y += -DLKVFENCE_MIN_PATCHLEVEL=$(word 2,$(subst ., ,$(KERNEL_MIN)))

# What kernels differ in, found by looking at their headers: distributions
# backport, so version numbers tell little. kmod/compat.h acts on it.
compat-has = $(shell grep -qw $(1) $(srctree)/include/$(2) && echo -D$(3))

ccflags-y += $(call compat-has,hrtimer_setup,linux/hrtimer.h,HAVE_HRTIMER_SETUP)

# Looking at other processes' queue pairs is safe where their destruction waits
# for who looks before it frees anything (CVE-2026-92512). Kernels that were
# mended export this; the oldest ones, and those without RDMA, don't. What is
# built with it needs it, so that it doesn't load into another kernel.
HAVE_QP := $(shell grep -qw rdma_restrack_begin_del $(objtree)/Module.symvers 2>/dev/null && echo y)
ccflags-$(HAVE_QP) += -DHAVE_QP
