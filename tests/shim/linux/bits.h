/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef SHIM_LINUX_BITS_H
#define SHIM_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))

#endif /* SHIM_LINUX_BITS_H */
