// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The words for what went wrong, the clock, and how a thread is begun. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "internal.h"

/* One per thread, so that no lock is needed. */
static _Thread_local char message[512];

const char *lkvfence_probe_errmsg(void)
{
	return message;
}

int lkvfence__pfail(int err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	errno = -err;		/* for %m */
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);

	errno = saved;
	return err;
}

uint64_t lkvfence__pnow_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* The program's signals are for the program's threads. */
int lkvfence__pthread(pthread_t *thread, int detached, void *(*fn)(void *arg),
		      void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err && detached)
		pthread_detach(*thread);
	return -err;
}
