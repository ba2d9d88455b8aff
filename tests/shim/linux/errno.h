/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The error numbers are the system's. */
#ifndef LKVFENCE_SHIM_ERRNO_H
#define LKVFENCE_SHIM_ERRNO_H

#include_next <linux/errno.h>

#endif /* LKVFENCE_SHIM_ERRNO_H */
