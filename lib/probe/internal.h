/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the files of this library share; see lib/internal.h. */
#ifndef LKVFENCE_PROBE_INTERNAL_H
#define LKVFENCE_PROBE_INTERNAL_H

#include <pthread.h>

#include "lkvfence-probe.h"

#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_MSEC	1000000ULL

#pragma GCC visibility push(hidden)

__attribute__((format(printf, 2, 3)))
int lkvfence__pfail(int err, const char *fmt, ...);

uint64_t lkvfence__pnow_ns(void);

/* A thread that takes no signals; 0 or -errno. */
int lkvfence__pthread(pthread_t *thread, int detached, void *(*fn)(void *arg),
		      void *arg);

#pragma GCC visibility pop

#endif /* LKVFENCE_PROBE_INTERNAL_H */
