/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef LKVFENCE_SHIM_BITS_H
#define LKVFENCE_SHIM_BITS_H

#define BIT(nr)		(1UL << (nr))

#endif /* LKVFENCE_SHIM_BITS_H */
