// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Finding the module, the handshake, and handles. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

static int try_open(void)
{
	struct lkvfence_open req = { .name = "kv" };
	struct lkvfence *f = NULL;
	int err;

	errno = EXDEV;
	err = lkvfence_open(&f, &req);
	assert_int_equal(errno, EXDEV);
	assert_null(f);
	return err;
}

static void open_asks_and_tells(void **state)
{
	struct lkvfence_open req = {
		.size = 0xdead,
		.flags = LKVFENCE_OPEN_CREATE,
		.name = "kv",
		.slot_size = 4096,
		.nr_slots = 100,
		.mode = 0600,
		.fd = -7,
		.accepts = 1 << LKVFENCE_EVIDENCE_SUCCESS_CQE,
	};
	int fd = fake.pipe_out;
	struct lkvfence *f;

	(void)state;
	errno = EXDEV;
	assert_int_equal(lkvfence_open(&f, &req), 0);
	assert_int_equal(errno, EXDEV);
	assert_string_equal(fake.open_path, LKVFENCE_DEVICE);
	assert_int_equal(fake.open_flags & (O_ACCMODE | O_CLOEXEC),
			 O_RDWR | O_CLOEXEC);
	assert_int_equal(fake.cmd, LKVFENCE_IOC_OPEN);
	assert_int_equal(fake.in.open.flags,
			 LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_NONBLOCK);
	assert_string_equal(fake.in.open.name, "kv");
	assert_int_equal(fake.in.open.mode, 0600);
	assert_int_equal(fake.in.open.accepts, 1 << LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.in.open.pad, 0);
	/* the caller's flags are the caller's: the struct may be used again */
	assert_int_equal(req.flags, LKVFENCE_OPEN_CREATE);
	assert_int_equal(req.created, 1);
	/* what the region accepts, as the module tells it */
	assert_int_equal(req.accepts, LKVFENCE_ACCEPT_ALL);
	assert_int_equal(lkvfence_fd(f), fd);
	lkvfence_close(f);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	lkvfence_close(NULL);
}

static void open_is_repeated_on_eintr(void **state)
{
	(void)state;
	fake.open_eintr = 3;
	lkvfence_close(fake_handle());
	assert_int_equal(fake.opens, 4);
}

static void device_path_from_environment(void **state)
{
	(void)state;
	setenv("LKVFENCE_DEVICE", "/elsewhere/fence", 1);
	fake.open_errno = ENOENT;
	assert_int_equal(try_open(), -ENXIO);
	assert_string_equal(fake.open_path, "/elsewhere/fence");
	assert_errmsg("no /elsewhere/fence");

	setenv("LKVFENCE_DEVICE", "", 1);
	assert_int_equal(try_open(), -ENXIO);
	assert_string_equal(fake.open_path, LKVFENCE_DEVICE);
}

static void setuid_program_ignores_environment(void **state)
{
	(void)state;
	setenv("LKVFENCE_DEVICE", "/elsewhere/fence", 1);
	fake.setuid = true;
	fake.open_errno = ENOENT;
	assert_int_equal(try_open(), -ENXIO);
	assert_string_equal(fake.open_path, LKVFENCE_DEVICE);
}

static void no_module(void **state)
{
	(void)state;
	fake.open_errno = ENOENT;
	assert_int_equal(try_open(), -ENXIO);
	assert_string_equal(lkvfence_errmsg(),
		"the lkvfence module is not loaded (no /dev/lkvfence): run 'modprobe lkvfence' as root");
	assert_int_equal(fake.cmds, 0);
}

static void no_module_seen_from_container(void **state)
{
	(void)state;
	fake.open_errno = ENOENT;
	fake.container = true;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("not loaded");
	assert_errmsg("on the host");
	assert_errmsg("--device=/dev/lkvfence");

	fake.container = false;
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("on the host");
}

static void module_there_but_no_node(void **state)
{
	(void)state;
	fake.open_errno = ENOENT;
	fake.module_in_sys = true;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("is loaded, but there is no /dev/lkvfence");
	assert_errmsg("--device=/dev/lkvfence");
	assert_errmsg("udev");
}

static void node_there_but_no_module(void **state)
{
	(void)state;
	fake.open_errno = ENXIO;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("no driver answers");
	assert_errmsg("modprobe lkvfence");
	fake.open_errno = ENODEV;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("no driver answers");
}

static void no_permission_on_node(void **state)
{
	char who[64];

	(void)state;
	fake.open_errno = EACCES;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("device node /dev/lkvfence");
	assert_errmsg("belongs to uid 7, gid 118, mode 0660");
	snprintf(who, sizeof(who), "this process has uid %u, gid %u",
		 geteuid(), getegid());
	assert_errmsg(who);
	assert_errmsg("join group 118");
}

static void node_forbidden_whatever_its_mode(void **state)
{
	(void)state;
	fake.open_errno = EPERM;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("container's device rules");

	fake.open_errno = EACCES;
	fake.mode_admits = true;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("nodev mount");

	fake.no_stat = true;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("a directory above it");
}

/* What to do stands at the end: a long path must not push it out */
static void messages_end_in_advice(void **state)
{
	char path[201];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	setenv("LKVFENCE_DEVICE", path, 1);

	fake.open_errno = EPERM;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("--device=/ppp");
	fake.open_errno = EACCES;
	assert_int_equal(try_open(), -EACCES);
	assert_errmsg("change the node's group");
	fake.open_errno = ENOENT;
	fake.container = true;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("--device=/ppp");
	fake.module_in_sys = true;
	assert_int_equal(try_open(), -ENXIO);
	assert_errmsg("udev did not make the node");
}

static void not_our_node(void **state)
{
	(void)state;
	fake.info_errno = ENOTTY;
	assert_int_equal(try_open(), -EPROTO);
	assert_errmsg("not the node of the lkvfence module");
	setenv("LKVFENCE_DEVICE", "/dev/null", 1);
	assert_int_equal(try_open(), -EPROTO);
	assert_errmsg("LKVFENCE_DEVICE in the environment");
}

static void module_too_old(void **state)
{
	(void)state;
	fake.info.abi = 0;
	fake.info.abi_oldest = 0;
	assert_int_equal(try_open(), -EPROTO);
	assert_errmsg("module is too old");
	assert_errmsg("module 9.8.7 has ABI 0");
	assert_errmsg("install the module");
	assert_int_equal(fake.cmds, 0);
}

static void library_too_old(void **state)
{
	(void)state;
	fake.info.abi = LKVFENCE_ABI + 5;
	fake.info.abi_oldest = LKVFENCE_ABI + 1;
	assert_int_equal(try_open(), -EPROTO);
	assert_errmsg("liblkvfence is too old");
	assert_errmsg("install the library");
	assert_int_equal(fake.cmds, 0);
}

static void newer_module_that_serves_us(void **state)
{
	(void)state;
	fake.info.abi = LKVFENCE_ABI + 5;
	fake.info.abi_oldest = LKVFENCE_ABI;
	lkvfence_close(fake_handle());
}

static void info_judges_nothing(void **state)
{
	struct lkvfence_info info;

	(void)state;
	fake.info.abi = LKVFENCE_ABI + 5;
	fake.info.abi_oldest = LKVFENCE_ABI + 1;
	memset(&info, 0xff, sizeof(info));
	errno = EXDEV;
	assert_int_equal(lkvfence_info(&info), 0);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(info.abi, LKVFENCE_ABI + 5);
	assert_string_equal(info.version, "9.8.7");

	fake.open_errno = ENOENT;
	assert_int_equal(lkvfence_info(&info), -ENXIO);
	assert_int_equal(errno, EXDEV);
}

static void region_errors(void **state)
{
	static const struct {
		int err;
		const char *says, *advises;
	} cases[] = {
		{ ENOENT, "no region kv", "LKVFENCE_OPEN_CREATE" },
		{ EEXIST, "region kv exists already", "EXCLUSIVE" },
		{ EACCES, "permission on region kv", "mode" },
		{ ENOSPC, "as many regions", "close handles" },
		{ EMFILE, "as many open files", "ulimit -n" },
		{ ENFILE, "open of region kv", "" },
		{ ENOMEM, "no memory", "limit" },
		{ E2BIG, "too old", "update the module" },
		{ EFAULT, "pointer", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.cmd_errno = cases[i].err;
		assert_int_equal(try_open(), -cases[i].err);
		assert_errmsg(cases[i].says);
		assert_errmsg(cases[i].advises);
	}
}

static void reply_geometry(void *arg)
{
	struct lkvfence_open *req = arg;

	req->slot_size = 4096;
	req->nr_slots = 100;
	req->base = 0xabc000;
}

static void other_geometry(void **state)
{
	struct lkvfence_open req = {
		.name = "kv", .slot_size = 8192, .nr_slots = 50, .base = 0x1000,
	};
	struct lkvfence *f;

	(void)state;
	fake.cmd_errno = ENOTUNIQ;
	fake.reply = reply_geometry;
	assert_int_equal(lkvfence_open(&f, &req), -ENOTUNIQ);
	assert_errmsg("100 slots of 4096 bytes at base 0xabc000");
	assert_errmsg("asked for were 50 of 8192 at 0x1000");
	assert_int_equal(req.nr_slots, 100);
}

static void too_many_slots(void **state)
{
	struct lkvfence_open req = {
		.flags = LKVFENCE_OPEN_CREATE, .name = "kv",
		.slot_size = 1, .nr_slots = 1001,
	};
	struct lkvfence *f;

	(void)state;
	fake.cmd_errno = ERANGE;
	assert_int_equal(lkvfence_open(&f, &req), -ERANGE);
	assert_errmsg("1001 slots are more than a region may have (1000)");
}

static void invalid_requests(void **state)
{
	static const struct {
		struct lkvfence_open req;
		const char *says;
	} cases[] = {
		{ { .name = "" }, "name '' is not valid" },
		{ { .name = ".kv" }, "name '.kv' is not valid" },
		{ { .name = "k/v" }, "name 'k/v' is not valid" },
		/* an escape sequence must not reach the terminal */
		{ { .name = "\033[31m" }, "name '?[31m' is not valid" },
		{ { .name = "kv", .flags = 0x80 }, "unknown flags 0x80" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_EXCLUSIVE },
		  "EXCLUSIVE goes with CREATE" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_CREATE, .nr_slots = 1 },
		  "slot_size and nr_slots must be above 0" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_CREATE, .nr_slots = 1,
		    .slot_size = 1, .mode = 0777 }, "mode 0777" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_CREATE, .nr_slots = 1,
		    .slot_size = 1, .accepts = 2 },
		  "accepts 0x2 has other bits than 0x7fc" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_CREATE, .nr_slots = 1,
		    .slot_size = 1, .accepts = 0x804 },
		  "accepts 0x804 has other bits than 0x7fc" },
		{ { .name = "kv", .flags = LKVFENCE_OPEN_CREATE, .nr_slots = 1,
		    .slot_size = 1, .accepts = 4, .pad = 1 },
		  "padding that is not 0" },
		{ { .name = "kv" }, "do not make sense" },
	};
	struct lkvfence_open req;
	struct lkvfence *f;
	size_t i;

	(void)state;
	fake.cmd_errno = EINVAL;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		req = cases[i].req;
		assert_int_equal(lkvfence_open(&f, &req), -EINVAL);
		assert_errmsg(cases[i].says);
	}

	/* no NUL anywhere: refused, and not read beyond */
	memset(&req, 0, sizeof(req));
	memset(req.name, 'k', sizeof(req.name));
	assert_int_equal(lkvfence_open(&f, &req), -EINVAL);
	assert_errmsg("is not valid");
}

static void from_fd_takes_a_handle(void **state)
{
	int fd = dup(fake.pipe_out);
	struct lkvfence *f = NULL;

	(void)state;
	errno = EXDEV;
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(lkvfence_from_fd(&f, fd), 0);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(lkvfence_fd(f), fd);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(fake.cmd, LKVFENCE_IOC_STAT);

	/* it learnt its region's name */
	fake.cmd_errno = ESTALE;
	assert_int_equal(lkvfence_release(f, 5), -ESTALE);
	assert_errmsg("region kv: ");
	lkvfence_close(f);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void from_fd_refuses_others(void **state)
{
	struct lkvfence *f = NULL;
	int fd = fake.pipe_out;

	(void)state;
	/* /dev/lkvfence itself: INFO yes, STAT no */
	fake.cmd_errno = ENOTTY;
	assert_int_equal(lkvfence_from_fd(&f, fd), -ENOTTY);
	assert_errmsg("not a handle on a region");

	fake.cmd_errno = 0;
	fake.info_errno = EINVAL;
	assert_int_equal(lkvfence_from_fd(&f, fd), -ENOTTY);

	fake.info_errno = EBADF;
	assert_int_equal(lkvfence_from_fd(&f, fd), -EBADF);
	assert_errmsg("not an open descriptor");

	fake.info_errno = 0;
	fake.info.abi_oldest = LKVFENCE_ABI + 1;
	assert_int_equal(lkvfence_from_fd(&f, fd), -EPROTO);
	assert_errmsg("liblkvfence is too old");

	/* on failure it stays the caller's, and as it was */
	assert_null(f);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(open_asks_and_tells),
		FAKE_TEST(open_is_repeated_on_eintr),
		FAKE_TEST(device_path_from_environment),
		FAKE_TEST(setuid_program_ignores_environment),
		FAKE_TEST(no_module),
		FAKE_TEST(no_module_seen_from_container),
		FAKE_TEST(module_there_but_no_node),
		FAKE_TEST(node_there_but_no_module),
		FAKE_TEST(no_permission_on_node),
		FAKE_TEST(node_forbidden_whatever_its_mode),
		FAKE_TEST(messages_end_in_advice),
		FAKE_TEST(not_our_node),
		FAKE_TEST(module_too_old),
		FAKE_TEST(library_too_old),
		FAKE_TEST(newer_module_that_serves_us),
		FAKE_TEST(info_judges_nothing),
		FAKE_TEST(region_errors),
		FAKE_TEST(other_geometry),
		FAKE_TEST(too_many_slots),
		FAKE_TEST(invalid_requests),
		FAKE_TEST(from_fd_takes_a_handle),
		FAKE_TEST(from_fd_refuses_others),
	};

	return cmocka_run_group_tests_name("lib-open", tests, NULL, NULL);
}
