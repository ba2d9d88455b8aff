/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the tests in this directory share. A test is a program that prints TAP:
 * one line for each thing it looked at, and the plan at the end, so that one
 * which dies on the way has no verdict. Tests run as root, in a virtual
 * machine, one after another; see run.
 *
 * Each test has regions of its own and leaves none behind. Nobody sleeps to
 * wait for something: read an event, or poll a state with until().
 */
#ifndef E2E_H
#define E2E_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lkvfence.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MS		1000000ULL		/* in nanoseconds */
/* Long enough for an emulated machine on a busy host; never waited for in vain. */
#define PATIENCE_MS	60000

/* One line of TAP: @cond must hold. Also its value. */
#define check(cond, ...) \
	e2e_check(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
/* One line of TAP: @ret, a count or a negative errno, must be @want. */
#define gives(ret, want, ...) \
	e2e_gives(ret, want, __FILE__, __LINE__, __VA_ARGS__)
/* No line if @cond holds; if not, the test ends here, and has failed. */
#define need(cond, ...) \
	do { if (!(cond)) e2e_bail(__FILE__, __LINE__, __VA_ARGS__); } while (0)
/* A region's counters and gauges must be as in @before. */
#define unchanged(f, before, ...) \
	e2e_changed(f, before, 0, 0, __FILE__, __LINE__, __VA_ARGS__)
/* ... but for @member, which has grown by @by. */
#define counted(f, before, member, by, ...) \
	e2e_changed(f, before, offsetof(struct lkvfence_stat, member), by, \
		    __FILE__, __LINE__, __VA_ARGS__)
/* Poll until @cond holds; false if it never does. */
#define until(cond) ({							\
	int64_t until_end = now_ns() + PATIENCE_MS * (int64_t)MS;	\
	bool until_good;						\
									\
	while (!(until_good = !!(cond)) && now_ns() < until_end)	\
		usleep(5000);						\
	until_good;							\
})

bool e2e_check(bool good, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool e2e_gives(long ret, long want, const char *file, int line,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void e2e_bail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
bool e2e_changed(struct lkvfence *f, const struct lkvfence_stat *before,
		 size_t member, uint64_t by, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 7, 8)));

void skip(const char *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The plan; the exit status of main(). */
int done(void);

int64_t now_ns(void);
/* An ioctl: 0 or above, or -errno. */
int sys(int fd, unsigned long cmd, void *arg);
/* /dev/lkvfence, opened. */
int device(void);

/*
 * A new handle on @name, which is created if need be, with mode 0600. With 0
 * slots it must be there.
 */
struct lkvfence *region(const char *name, uint32_t slots);
/* One that accepts only this evidence, where it is created. */
struct lkvfence *region_of(const char *name, uint32_t slots, uint32_t accepts);
/* The same with raw calls, and with more flags. */
int region_fd(const char *name, uint32_t slots, uint32_t flags);

/* What BEGIN and HOLD take: one range, and sources 1 to @nr_sources. */
struct lkvfence_begin want(uint64_t tag, uint32_t first, uint32_t count,
			   uint32_t nr_sources);
uint64_t begin(struct lkvfence *f, uint64_t tag, uint32_t first,
	       uint32_t count, uint32_t nr_sources);
/* A hold with a policy and a timeout in ms; 0: the default. */
uint64_t hold(struct lkvfence *f, uint64_t tag, uint32_t first, uint32_t count,
	      uint32_t nr_sources, uint32_t policy, unsigned int timeout_ms);
int drained(struct lkvfence *f, uint64_t generation, uint32_t source);
/* By the owner of the memory, who destroyed his QP. */
int revoked(struct lkvfence *f, uint64_t generation, uint32_t source);
int abort_with(struct lkvfence *f, uint64_t generation, uint32_t policy,
	       unsigned int timeout_ms);

/* Ends everything in a region and proves all leases quiet; by force, if need be. */
void clear(struct lkvfence *f);

struct lkvfence_stat stat_of(struct lkvfence *f);
struct lkvfence_query query(struct lkvfence *f, uint64_t generation);
/* The next event; type 0 if none comes. */
struct lkvfence_event event(struct lkvfence *f);
/* True if there is no event now. */
bool silent(struct lkvfence *f);
/* begun = alive + released, and pulls = tickets + answers + closed. */
bool adds_up(const struct lkvfence_stat *stat);

/* The one line of a file; "" if it can't be read. In a static buffer. */
const char *line_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* -errno, or 0. */
int write_file(const char *path, const char *text);
/* A parameter of the module; it gets its old value back at exit, or before. */
void set_param(const char *name, unsigned long value);
void put_params_back(void);
bool region_exists(const char *name);
/* INFO says that SOURCE binds QPs, on this kernel. */
bool can_revoke(void);
/* The kernel has logged a line about a generation, with these words. */
bool logged(uint64_t generation, const char *words);

/* Runs @fn in a child; its exit status, or 128 + the signal that ended it. */
int in_child(int (*fn)(void *arg), void *arg);
int status_of(pid_t pid);
/* Become nobody, or somebody, for good. */
void become(uid_t uid, gid_t gid);
/* Lose a capability (CAP_*), for good. */
void lose(int cap);

#endif /* E2E_H */
