// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The words for what went wrong. A call's own errors are worded where the
 * call is; here are the buffer and the errors that mean the same everywhere.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

/*
 * One per thread: a message can't be overwritten by another thread between a
 * failed call and lkvfence_errmsg(), and no lock is needed.
 */
static _Thread_local char message[512];

const char *lkvfence_errmsg(void)
{
	return message;
}

int lkvfence__fail(const struct lkvfence *f, int err, const char *fmt, ...)
{
	int saved = errno;
	int n = 0;
	va_list ap;

	/* the name is at most 63 bytes, so there is room behind it */
	if (f)
		n = snprintf(message, sizeof(message), "region %s: ", f->name);

	errno = -err;		/* for %m */
	va_start(ap, fmt);
	vsnprintf(message + n, sizeof(message) - n, fmt, ap);
	va_end(ap);

	errno = saved;
	return err;
}

int lkvfence__fail_plain(const struct lkvfence *f, int err, const char *what)
{
	switch (err) {
	case -EFAULT:
		return lkvfence__fail(f, err,
			"%s: a pointer does not point at memory of this process that can be read and written",
			what);
	case -E2BIG:
		return lkvfence__fail(f, err,
			"%s: the program asks for something that the loaded module is too old to know: update the module",
			what);
	case -EINVAL:
		return lkvfence__fail(f, err,
			"%s: an unknown flag or value, padding that is not 0, or arguments that contradict each other",
			what);
	case -ENOMEM:
		return lkvfence__fail(f, err,
			"%s: no memory, or the memory limit of this process or its container is reached",
			what);
	case -EBADF:
		return lkvfence__fail(f, err,
			"%s: the handle's descriptor was closed, but not by lkvfence_close()",
			what);
	case -ENOTTY:
		return lkvfence__fail(f, err,
			"%s: the descriptor does not know this command: it is not a region's handle any more, or the loaded module is too old",
			what);
	default:
		return lkvfence__fail(f, err, "%s: %m", what);
	}
}

int lkvfence__fail_generation(const struct lkvfence *f, int err,
			      const char *what, uint64_t generation)
{
	switch (err) {
	case -ESTALE:
		return lkvfence__fail(f, err,
			"%s: generation %" PRIu64 " is stale: it was released earlier, and its slots may belong to another transfer by now; forget the number",
			what, generation);
	case -ENOENT:
		return lkvfence__fail(f, err,
			"%s: generation %" PRIu64 " was never issued in this region: a wrong number, or another region's",
			what, generation);
	default:
		return lkvfence__fail_plain(f, err, what);
	}
}

int lkvfence__fail_evidence(const struct lkvfence *f, const char *what,
			    uint32_t evidence)
{
	return lkvfence__fail(f, -EOPNOTSUPP,
		"%s: the region was created so that it does not accept %s as proof: nothing changed",
		what, lkvfence_evidence_name(evidence));
}

bool lkvfence__limits(const struct lkvfence *f, struct lkvfence_info *info)
{
	*info = (struct lkvfence_info){ .size = sizeof(*info) };
	return !lkvfence__ioctl(f->fd, LKVFENCE_IOC_INFO, info);
}

bool lkvfence__fail_timeout(const struct lkvfence *f,
			    const struct lkvfence_info *info, const char *what,
			    const char *member, uint64_t ns)
{
	if (!ns || (ns >= info->timeout_min_ns && ns <= info->timeout_max_ns))
		return false;
	lkvfence__fail(f, -ERANGE,
		"%s: %s of %" PRIu64 " ns is out of bounds: the module takes %" PRIu64 " to %" PRIu64 " ns (parameters of module lkvfence)",
		what, member, ns, (uint64_t)info->timeout_min_ns,
		(uint64_t)info->timeout_max_ns);
	return true;
}

bool lkvfence__fail_count(const struct lkvfence *f, const char *what,
			  const char *member, uint32_t nr, uint32_t max)
{
	if (nr <= max)
		return false;
	lkvfence__fail(f, -ERANGE,
		"%s: %s is %" PRIu32 ", the module takes %" PRIu32 " in one call",
		what, member, nr, max);
	return true;
}

struct shown_name lkvfence__shown(const char *name)
{
	struct shown_name shown = { "" };
	int i;

	for (i = 0; i < LKVFENCE_NAME_MAX && name[i]; i++)
		shown.s[i] = name[i] > ' ' && name[i] < 0x7f ? name[i] : '?';
	return shown;
}
