/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A module for the library's tests that needs no kernel. The linker's --wrap
 * sends the library's system calls here; descriptors are real ones, so that
 * flags and leaks can be looked at.
 */
#ifndef TEST_LIB_FAKE_H
#define TEST_LIB_FAKE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <poll.h>
#include <sys/types.h>
#include <cmocka.h>
#include <lkvfence.h>

union fake_arg {
	__u32 size;
	struct lkvfence_info info;
	struct lkvfence_open open;
	struct lkvfence_stat stat;
	struct lkvfence_begin begin;
	struct lkvfence_take take;
	struct lkvfence_return ret;
	struct lkvfence_abort abort;
	struct lkvfence_release release;
	struct lkvfence_query query;
	struct lkvfence_adopt adopt;
	struct lkvfence_source source;
	struct lkvfence_quiet quiet;
	struct lkvfence_report report;
	struct lkvfence_query_source query_source;
	struct lkvfence_ready ready;
	struct lkvfence_pull pull;
	struct lkvfence_withdraw withdraw;
};

struct fake {
	/* open(2) */
	int open_eintr;			/* so many times EINTR first */
	int open_errno;
	const char *open_path;		/* as last called */
	int open_flags;
	int opens;

	/* the environment */
	bool setuid;			/* secure_getenv() gives nothing */
	bool module_in_sys;
	bool container;
	bool no_stat;
	bool mode_admits;		/* faccessat() says yes */

	/* ioctl(2) */
	struct lkvfence_info info;	/* what INFO says */
	int info_errno;
	int cmd_errno;			/* what other commands fail with */
	void (*reply)(void *arg);	/* fills the out members, on failure too */
	unsigned long cmd;		/* the last one that isn't INFO */
	union fake_arg in;		/* its struct on the way in */
	int cmds;

	/* read(2) and poll(2); without a hook the real ones on the real pipe */
	ssize_t (*read)(int fd, void *buf, size_t len);
	int (*poll)(struct pollfd *pfd, int timeout);
	int reads;
	int polls;
	int poll_timeout;		/* as last called */

	int pipe_in;			/* events written here can be read */
	int pipe_out;			/* what OPEN returns */
};

extern struct fake fake;

int fake_setup(void **state);
int fake_teardown(void **state);

/* A handle on region "kv" of 100 slots */
struct lkvfence *fake_handle(void);

/* The call is made with errno set, returns @err and leaves errno alone */
#define assert_call(err, call)						\
	do {								\
		errno = EXDEV;						\
		assert_int_equal(call, err);				\
		assert_int_equal(errno, EXDEV);				\
	} while (0)

/* What the message must say */
void assert_errmsg(const char *text);

ssize_t __real_read(int fd, void *buf, size_t len);
int __real_poll(struct pollfd *pfd, nfds_t nr, int timeout);

int open_fds(void);

#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

#endif /* TEST_LIB_FAKE_H */
