/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The other host, where a test has one: tests/vm/pair sets LKVFENCE_PAIR to its
 * address, and to "listen" there.
 */
#ifndef FAR_H
#define FAR_H

#include <stdbool.h>

/* Is this the host that is connected to? */
bool far_listens(void);
/* Who connects. */
int far_accept(void);
/* It may be starting yet. */
int far_reach(const char *host);

#endif /* FAR_H */
