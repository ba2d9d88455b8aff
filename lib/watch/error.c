// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The words for what went wrong. liblkvfence keeps its own where only it can
 * write, so these have a place of their own; what it said is copied.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "watch.h"

static _Thread_local char message[512];

const char *lkvfence_watch_errmsg(void)
{
	return message;
}

int watch__fail(const struct lkvfence_watch *w, int err, const char *fmt, ...)
{
	int saved = errno;
	int n = 0;
	va_list ap;

	/* the name is at most 63 bytes, so there is room behind it */
	if (w && w->name[0])
		n = snprintf(message, sizeof(message), "region %s: ", w->name);

	va_start(ap, fmt);
	vsnprintf(message + n, sizeof(message) - n, fmt, ap);
	va_end(ap);

	errno = saved;
	return err;
}

int watch__fail_call(int err)
{
	return watch__fail(NULL, err, "%s", lkvfence_errmsg());
}

int watch__fail_unwatched(const struct lkvfence_watch *w, const char *what,
			  uint64_t generation)
{
	return watch__fail(w, -ENOENT,
		"%s: generation %" PRIu64 " is not watched: it never was, or it is released",
		what, generation);
}
