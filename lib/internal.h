/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the library share. Nothing here is exported: the symbol
 * map keeps these names out of the shared library, and the double underscore
 * keeps them out of the way of programs that link the static one.
 */
#ifndef LKVFENCE_INTERNAL_H
#define LKVFENCE_INTERNAL_H

#include <stdbool.h>

#include "lkvfence.h"

/* The oldest module that this library can work with. */
#define ABI_OLDEST	1

/*
 * Written before the handle is given out and never after, so that threads
 * need no lock.
 */
struct lkvfence {
	int fd;
	char name[LKVFENCE_NAME_MAX + 1];
	uint64_t nr_slots;
};

#pragma GCC visibility push(hidden)

/* 0 (or what the driver returns) or -errno; errno is left alone */
int lkvfence__ioctl(int fd, unsigned int cmd, void *arg);

/*
 * Set the thread's message, prefixed with the region's name where @f isn't
 * NULL, and return @err, so that a caller can `return lkvfence__fail(...)`.
 * errno is left alone.
 */
__attribute__((format(printf, 3, 4)))
int lkvfence__fail(const struct lkvfence *f, int err, const char *fmt, ...);

/* The same for errors that mean one thing whatever the command */
int lkvfence__fail_plain(const struct lkvfence *f, int err, const char *what);

/* ENOENT and ESTALE of commands that name a generation, else as plain */
int lkvfence__fail_generation(const struct lkvfence *f, int err,
			      const char *what, uint64_t generation);

/* The region doesn't accept such evidence */
int lkvfence__fail_evidence(const struct lkvfence *f, const char *what,
			    uint32_t evidence);

/* The module's limits, as they are now; false where it doesn't answer */
bool lkvfence__limits(const struct lkvfence *f, struct lkvfence_info *info);

/*
 * What is out of bounds? The limits are asked for again, since they are the
 * module's parameters and may have changed. False, and no message, where this
 * one isn't at fault.
 */
bool lkvfence__fail_timeout(const struct lkvfence *f,
			    const struct lkvfence_info *info, const char *what,
			    const char *member, uint64_t ns);
bool lkvfence__fail_count(const struct lkvfence *f, const char *what,
			  const char *member, uint32_t nr, uint32_t max);

/*
 * A region's name as it may be shown: what isn't printable comes out as '?',
 * since a name that the module refused is anybody's bytes.
 */
struct shown_name {
	char s[LKVFENCE_NAME_MAX + 1];
};

struct shown_name lkvfence__shown(const char *name);

#pragma GCC visibility pop

#endif /* LKVFENCE_INTERNAL_H */
