// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"

struct fake fake;

int __real_open(const char *path, int flags, ...);
int __real_access(const char *path, int mode);
int __real_stat(const char *path, struct stat *st);
char *__real_secure_getenv(const char *name);

int __wrap_open(const char *path, int flags, ...);
int __wrap_access(const char *path, int mode);
int __wrap_faccessat(int dir, const char *path, int mode, int flags);
int __wrap_stat(const char *path, struct stat *st);
char *__wrap_secure_getenv(const char *name);
int __wrap_ioctl(int fd, unsigned long cmd, void *arg);
ssize_t __wrap_read(int fd, void *buf, size_t len);
int __wrap_poll(struct pollfd *pfd, nfds_t nr, int timeout);

int __wrap_open(const char *path, int flags, ...)
{
	fake.opens++;
	fake.open_path = path;
	fake.open_flags = flags;
	if (fake.open_eintr) {
		fake.open_eintr--;
		errno = EINTR;
		return -1;
	}
	if (fake.open_errno) {
		errno = fake.open_errno;
		return -1;
	}
	return __real_open("/dev/null", flags);
}

int __wrap_access(const char *path, int mode)
{
	bool there;

	assert_int_equal(mode, F_OK);
	if (!strcmp(path, "/sys/module/lkvfence"))
		there = fake.module_in_sys;
	else if (!strcmp(path, "/.dockerenv"))
		there = fake.container;
	else
		there = false;
	errno = ENOENT;
	return there ? 0 : -1;
}

int __wrap_faccessat(int dir, const char *path, int mode, int flags)
{
	(void)dir;
	(void)path;
	assert_int_equal(mode, R_OK | W_OK);
	/* a set-user-ID program opens as its effective user */
	assert_int_equal(flags, AT_EACCESS);
	errno = EACCES;
	return fake.mode_admits ? 0 : -1;
}

int __wrap_stat(const char *path, struct stat *st)
{
	(void)path;
	if (fake.no_stat) {
		errno = EACCES;
		return -1;
	}
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | 0660;
	st->st_uid = 7;
	st->st_gid = 118;
	return 0;
}

char *__wrap_secure_getenv(const char *name)
{
	return fake.setuid ? NULL : __real_secure_getenv(name);
}

static size_t size_of(unsigned long cmd)
{
	switch (cmd) {
	case LKVFENCE_IOC_OPEN:
		return sizeof(struct lkvfence_open);
	case LKVFENCE_IOC_STAT:
		return sizeof(struct lkvfence_stat);
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		return sizeof(struct lkvfence_begin);
	case LKVFENCE_IOC_TAKE:
		return sizeof(struct lkvfence_take);
	case LKVFENCE_IOC_RETURN:
		return sizeof(struct lkvfence_return);
	case LKVFENCE_IOC_ABORT:
		return sizeof(struct lkvfence_abort);
	case LKVFENCE_IOC_RELEASE:
		return sizeof(struct lkvfence_release);
	case LKVFENCE_IOC_QUERY:
		return sizeof(struct lkvfence_query);
	case LKVFENCE_IOC_ADOPT:
		return sizeof(struct lkvfence_adopt);
	case LKVFENCE_IOC_SOURCE:
		return sizeof(struct lkvfence_source);
	case LKVFENCE_IOC_QUIET:
		return sizeof(struct lkvfence_quiet);
	case LKVFENCE_IOC_REPORT:
		return sizeof(struct lkvfence_report);
	case LKVFENCE_IOC_QUERY_SOURCE:
		return sizeof(struct lkvfence_query_source);
	case LKVFENCE_IOC_READY:
		return sizeof(struct lkvfence_ready);
	case LKVFENCE_IOC_PULL:
		return sizeof(struct lkvfence_pull);
	case LKVFENCE_IOC_WITHDRAW:
		return sizeof(struct lkvfence_withdraw);
	case LKVFENCE_IOC_JOIN:
		return sizeof(struct lkvfence_join);
	case LKVFENCE_IOC_PEER:
		return sizeof(struct lkvfence_peer);
	}
	fail_msg("no such command: %#lx", cmd);
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, void *arg)
{
	assert_true(fd >= 0);
	if (cmd == LKVFENCE_IOC_INFO) {
		assert_int_equal(*(__u32 *)arg, sizeof(fake.info));
		if (fake.info_errno) {
			errno = fake.info_errno;
			return -1;
		}
		memcpy(arg, &fake.info, sizeof(fake.info));
		errno = EDOM;		/* success may leave anything there */
		return 0;
	}

	fake.cmds++;
	fake.cmd = cmd;
	memset(&fake.in, 0, sizeof(fake.in));
	memcpy(&fake.in, arg, size_of(cmd));
	/* every command's struct says its size, as this ABI has it */
	assert_int_equal(fake.in.size, size_of(cmd));
	if (fake.reply)
		fake.reply(arg);
	if (fake.cmd_errno) {
		errno = fake.cmd_errno;
		return -1;
	}
	if (cmd == LKVFENCE_IOC_OPEN) {
		struct lkvfence_open *req = arg;

		req->fd = fake.pipe_out;
		fake.pipe_out = -1;
		req->nr_slots = 100;
		req->slot_size = 4096;
		req->created = 1;
		req->accepts = LKVFENCE_ACCEPT_ALL;
	}
	if (cmd == LKVFENCE_IOC_STAT) {
		struct lkvfence_stat *stat = arg;

		strcpy(stat->name, "kv");
		stat->slots = 100;
	}
	errno = EDOM;
	return 0;
}

ssize_t __wrap_read(int fd, void *buf, size_t len)
{
	__atomic_add_fetch(&fake.reads, 1, __ATOMIC_RELAXED);
	return fake.read ? fake.read(fd, buf, len) : __real_read(fd, buf, len);
}

int __wrap_poll(struct pollfd *pfd, nfds_t nr, int timeout)
{
	__atomic_add_fetch(&fake.polls, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&fake.poll_timeout, timeout, __ATOMIC_RELAXED);
	assert_int_equal(nr, 1);
	assert_int_equal(pfd->events, POLLIN);
	return fake.poll ? fake.poll(pfd, timeout) :
			   __real_poll(pfd, nr, timeout);
}

int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int fds_before;

int fake_setup(void **state)
{
	int fds[2];

	(void)state;
	fds_before = open_fds();
	memset(&fake, 0, sizeof(fake));
	fake.info = (struct lkvfence_info){
		.size = sizeof(fake.info),
		.abi = LKVFENCE_ABI,
		.abi_oldest = 1,
		.max_slots = 1000,
		.max_ranges = 8,
		.max_leases = 4,
		.max_transfers = 50,
		.timeout_default_ns = 30000,
		.timeout_min_ns = 10,
		.timeout_max_ns = 60000,
		.settle_ns = 100,
		.revoke_ns = 2100,
		.max_sources = 20,
		.max_qps = 6,
		.unclaimed_ns = 5000,
		.tombstone_ns = 60000,
		.max_tombstones = 40,
		.max_pulls = 30,
		.max_peers = 40,
		.version = "9.8.7",
	};
	if (pipe(fds))
		return -1;
	fake.pipe_out = fds[0];
	fake.pipe_in = fds[1];
	/* a test that hangs is a test that fails */
	alarm(20);
	unsetenv("LKVFENCE_DEVICE");
	unsetenv("KUBERNETES_SERVICE_HOST");
	return 0;
}

/* Whatever a test did, no descriptor is left behind */
int fake_teardown(void **state)
{
	(void)state;
	alarm(0);
	close(fake.pipe_in);
	if (fake.pipe_out >= 0)
		close(fake.pipe_out);
	assert_int_equal(open_fds(), fds_before);
	return 0;
}

struct lkvfence *fake_handle(void)
{
	struct lkvfence_open req = { .name = "kv" };
	struct lkvfence *f = NULL;
	int fd = fake.pipe_out;

	/* as the module does, asked for by the library's NONBLOCK */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(lkvfence_open(&f, &req), 0);
	assert_non_null(f);
	assert_int_equal(lkvfence_fd(f), fd);
	fake.cmds = 0;
	return f;
}

void assert_errmsg(const char *text)
{
	if (!strstr(lkvfence_errmsg(), text))
		fail_msg("message \"%s\" doesn't say \"%s\"", lkvfence_errmsg(),
			 text);
	/* cut off messages lose what to do, which stands at their end */
	assert_true(strlen(lkvfence_errmsg()) < 511);
}
