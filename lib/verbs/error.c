// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The words for what went wrong. They are this library's own: liblkvfence
 * keeps its buffer to itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

/* One per thread, so that no lock is needed. */
static _Thread_local char message[512];

const char *lkvfence_verbs_errmsg(void)
{
	return message;
}

int lkvfence__vfail(int err, const char *fmt, ...)
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

/*
 * libibverbs says that its calls return the value of errno; providers return it
 * with either sign, and some return -1 and set errno.
 */
int lkvfence__errno(int ret)
{
	if (ret == -1 && errno)
		return -errno;
	return ret > 0 ? -ret : ret;
}
