// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Finding the module, and handles on its regions: what can go wrong before
 * the first slot is taken. No module, no permission, and versions that don't
 * fit are told apart, since each needs another person to act.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

int lkvfence__ioctl(int fd, unsigned int cmd, void *arg)
{
	int saved = errno;
	int ret = ioctl(fd, cmd, arg);

	if (ret < 0)
		ret = -errno;
	errno = saved;
	return ret;
}

/* A set-user-ID program must not be led to a node of the caller's choice. */
static const char *device_path(void)
{
	const char *path = secure_getenv("LKVFENCE_DEVICE");

	return path && *path ? path : LKVFENCE_DEVICE;
}

static bool in_container(void)
{
	return !access("/.dockerenv", F_OK) ||
	       !access("/run/.containerenv", F_OK) ||
	       !access("/run/systemd/container", F_OK) ||
	       getenv("KUBERNETES_SERVICE_HOST");
}

static int fail_no_node(const char *path)
{
	/* /sys shows the modules of the host inside of a container, too. */
	if (!access("/sys/module/lkvfence", F_OK))
		return lkvfence__fail(NULL, -ENXIO,
			"the lkvfence module is loaded, but there is no %.128s here: a container must be started with --device=%.128s; elsewhere, udev did not make the node",
			path, path);
	if (in_container())
		return lkvfence__fail(NULL, -ENXIO,
			"the lkvfence module is not loaded (no %.128s): run 'modprobe lkvfence' as root on the host, then start this container with --device=%.128s",
			path, path);
	return lkvfence__fail(NULL, -ENXIO,
		"the lkvfence module is not loaded (no %.128s): run 'modprobe lkvfence' as root",
		path);
}

static int fail_no_driver(const char *path)
{
	return lkvfence__fail(NULL, -ENXIO,
		"the lkvfence module is not loaded: %.128s is there, but no driver answers behind it; run 'modprobe lkvfence' as root%s",
		path, in_container() ? " on the host" : "");
}

static int fail_no_access(const char *path, int err)
{
	uintmax_t uid = geteuid(), gid = getegid();
	struct stat st;

	if (stat(path, &st))
		return lkvfence__fail(NULL, -EACCES,
			"no permission on the way to device node %.128s, for uid %ju, gid %ju: a directory above it, or a security policy, forbids it",
			path, uid, gid);

	/*
	 * The mode lets us in and still open failed: the device rules of a
	 * cgroup (EPERM), a mount with nodev, or a security module.
	 */
	if (err == -EPERM || !faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		return lkvfence__fail(NULL, -EACCES,
			"no permission on device node %.128s (owner uid %ju, gid %ju, mode %04o), although its mode may admit uid %ju: the container's device rules, a nodev mount or a security policy forbid it; start the container with --device=%.128s",
			path, (uintmax_t)st.st_uid, (uintmax_t)st.st_gid,
			st.st_mode & 07777u, uid, path);

	return lkvfence__fail(NULL, -EACCES,
		"no permission on device node %.128s: it belongs to uid %ju, gid %ju, mode %04o, and this process has uid %ju, gid %ju; it needs to read and write: join group %ju, or have the administrator change the node's group",
		path, (uintmax_t)st.st_uid, (uintmax_t)st.st_gid,
		st.st_mode & 07777u, uid, gid, (uintmax_t)st.st_gid);
}

static int fail_not_ours(const char *path)
{
	return lkvfence__fail(NULL, -EPROTO,
		"%.128s is not the node of the lkvfence module: it does not answer its commands%s",
		path, strcmp(path, LKVFENCE_DEVICE) ?
		      "; see LKVFENCE_DEVICE in the environment" : "");
}

static int get_info(int fd, struct lkvfence_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return lkvfence__ioctl(fd, LKVFENCE_IOC_INFO, info);
}

/* Open the device and ask it who it is; the descriptor, or -errno */
static int open_device(const char *path, struct lkvfence_info *info)
{
	int fd, err;

	do {
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);

	if (fd < 0) {
		err = -errno;
		switch (err) {
		case -ENOENT:
		case -ENOTDIR:
			return fail_no_node(path);
		case -ENXIO:
		case -ENODEV:
			return fail_no_driver(path);
		case -EACCES:
		case -EPERM:
			return fail_no_access(path, err);
		case -EISDIR:
			return fail_not_ours(path);
		case -EMFILE:
			return lkvfence__fail(NULL, err,
				"this process has as many open files as it may have: close some, or raise 'ulimit -n'");
		default:
			return lkvfence__fail(NULL, err, "open of %.128s: %m",
					      path);
		}
	}

	err = get_info(fd, info);
	if (!err)
		return fd;

	close(fd);
	switch (err) {
	case -ENOMEM:
	case -EFAULT:
	case -E2BIG:
		return lkvfence__fail_plain(NULL, err, "info");
	default:
		/* a file, or another driver's node */
		return fail_not_ours(path);
	}
}

/*
 * Both sides must serve the other: the module says the oldest programs that
 * it serves, and this library knows the oldest module that it can work with.
 */
static int check_abi(const struct lkvfence_info *info)
{
	if (info->abi < ABI_OLDEST)
		return lkvfence__fail(NULL, -EPROTO,
			"the lkvfence module is too old for this library: module %.31s has ABI %u, library %s needs ABI %u or newer; install the module of this version and reload it",
			info->version, info->abi, LKVFENCE_VERSION, ABI_OLDEST);
	if (info->abi_oldest > LKVFENCE_ABI)
		return lkvfence__fail(NULL, -EPROTO,
			"liblkvfence is too old for the loaded module: library %s has ABI %u, module %.31s (ABI %u) serves ABI %u or newer; install the library of the module's version",
			LKVFENCE_VERSION, LKVFENCE_ABI, info->version,
			info->abi, info->abi_oldest);
	return 0;
}

int lkvfence_info(struct lkvfence_info *info)
{
	int saved = errno;
	int fd;

	fd = open_device(device_path(), info);
	if (fd >= 0)
		close(fd);
	errno = saved;
	return fd < 0 ? fd : 0;
}

#define NAME_CHARS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* The rules of the ABI's header; only asked after the module said EINVAL */
static bool name_is_valid(const char *name)
{
	size_t len = strnlen(name, LKVFENCE_NAME_MAX + 1);

	return len && len <= LKVFENCE_NAME_MAX && name[0] != '.' &&
	       strspn(name, NAME_CHARS) == len;
}

static int fail_open_invalid(const struct lkvfence_open *req, const char *name)
{
	if (!name_is_valid(req->name))
		return lkvfence__fail(NULL, -EINVAL,
			"region name '%s' is not valid: it takes 1 to %d of A-Z a-z 0-9 . _ - and no dot at the start",
			name, LKVFENCE_NAME_MAX);
	if (req->flags & ~LKVFENCE_OPEN_FLAGS)
		return lkvfence__fail(NULL, -EINVAL,
			"open of region %s: unknown flags 0x%x", name,
			req->flags & ~LKVFENCE_OPEN_FLAGS);
	if (req->flags & LKVFENCE_OPEN_EXCLUSIVE &&
	    !(req->flags & LKVFENCE_OPEN_CREATE))
		return lkvfence__fail(NULL, -EINVAL,
			"open of region %s: EXCLUSIVE goes with CREATE only",
			name);
	if (req->flags & LKVFENCE_OPEN_CREATE &&
	    (!req->slot_size || !req->nr_slots))
		return lkvfence__fail(NULL, -EINVAL,
			"open of region %s: to create it, slot_size and nr_slots must be above 0",
			name);
	if (req->flags & LKVFENCE_OPEN_CREATE && req->mode & ~0666u)
		return lkvfence__fail(NULL, -EINVAL,
			"open of region %s: mode %#o has other bits than 0666",
			name, req->mode);
	if (req->flags & LKVFENCE_OPEN_CREATE &&
	    req->accepts & ~LKVFENCE_ACCEPT_ALL)
		return lkvfence__fail(NULL, -EINVAL,
			"open of region %s: accepts %#x has other bits than %#x: evidence that can't be proof, or that the module doesn't know",
			name, req->accepts, LKVFENCE_ACCEPT_ALL);
	return lkvfence__fail(NULL, -EINVAL,
		"open of region %s: geometry or flags do not make sense, or padding that is not 0",
		name);
}

/* @asked is the request as it was, @told what the module made of it */
static int fail_open(int err, const struct lkvfence_open *asked,
		     const struct lkvfence_open *told,
		     const struct lkvfence_info *info)
{
	struct shown_name name = lkvfence__shown(asked->name);

	switch (err) {
	case -EINVAL:
		return fail_open_invalid(asked, name.s);
	case -ENOENT:
		return lkvfence__fail(NULL, err,
			"there is no region %s: create it with LKVFENCE_OPEN_CREATE, or start the process that does",
			name.s);
	case -EEXIST:
		return lkvfence__fail(NULL, err,
			"region %s exists already: open it without LKVFENCE_OPEN_EXCLUSIVE, or take another name; a region stays while it has a handle or a hold",
			name.s);
	case -EACCES:
		return lkvfence__fail(NULL, err,
			"no permission on region %s for uid %ju, gid %ju (the device node let you in, the region does not): whoever created it must give read and write in its mode",
			name.s, (uintmax_t)geteuid(), (uintmax_t)getegid());
	case -ENOTUNIQ:
		return lkvfence__fail(NULL, err,
			"region %s exists with another geometry: it has %u slots of %" PRIu64 " bytes at base 0x%" PRIx64 ", asked for were %u of %" PRIu64 " at 0x%" PRIx64 "; 0 stands for what the region has",
			name.s, told->nr_slots, (uint64_t)told->slot_size,
			(uint64_t)told->base, asked->nr_slots,
			(uint64_t)asked->slot_size, (uint64_t)asked->base);
	case -ERANGE:
		return lkvfence__fail(NULL, err,
			"open of region %s: %u slots are more than a region may have (%u)",
			name.s, asked->nr_slots, info->max_slots);
	case -ENOSPC:
		return lkvfence__fail(NULL, err,
			"region %s can't be created: there are as many regions as there may be; close handles of others, and let their holds end",
			name.s);
	case -EMFILE:
		return lkvfence__fail(NULL, err,
			"open of region %s: this process has as many open files as it may have: close some, or raise 'ulimit -n'",
			name.s);
	case -EFAULT:
	case -E2BIG:
	case -ENOMEM:
		return lkvfence__fail_plain(NULL, err, "open");
	default:
		return lkvfence__fail(NULL, err, "open of region %s: %m",
				      name.s);
	}
}

int lkvfence_open(struct lkvfence **f, struct lkvfence_open *req)
{
	struct lkvfence_open asked;
	struct lkvfence_info info;
	struct lkvfence *new;
	int saved = errno;
	int dev, err;

	dev = open_device(device_path(), &info);
	if (dev < 0) {
		err = dev;
		goto out;
	}
	err = check_abi(&info);
	if (err)
		goto out_close;

	/* Before OPEN: afterwards nothing can fail, so no region is left behind. */
	new = calloc(1, sizeof(*new));
	if (!new) {
		err = lkvfence__fail_plain(NULL, -ENOMEM, "open");
		goto out_close;
	}

	asked = *req;
	req->size = sizeof(*req);
	req->flags |= LKVFENCE_OPEN_NONBLOCK;
	err = lkvfence__ioctl(dev, LKVFENCE_IOC_OPEN, req);
	req->flags = asked.flags;
	if (err) {
		fail_open(err, &asked, req, &info);
		free(new);
		goto out_close;
	}

	new->fd = req->fd;
	new->nr_slots = req->nr_slots;
	memcpy(new->name, req->name, LKVFENCE_NAME_MAX);
	*f = new;
out_close:
	close(dev);
out:
	errno = saved;
	return err;
}

/*
 * A descriptor that came over a socket, or from a program without this
 * library, may be blocking and may survive exec. O_NONBLOCK belongs to the
 * open file, so its other holders see it change as well; without it another
 * reader could make lkvfence_events() wait beyond its timeout.
 */
static int adopt_flags(int fd)
{
	int flags;

	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int lkvfence_from_fd(struct lkvfence **f, int fd)
{
	struct lkvfence_stat stat = { .size = sizeof(stat) };
	struct lkvfence_info info;
	struct lkvfence *new;
	int saved = errno;
	int err;

	err = get_info(fd, &info);
	if (!err) {
		err = check_abi(&info);
		if (err)
			return err;
		/* The device answers INFO as well, but only handles know STAT. */
		err = lkvfence__ioctl(fd, LKVFENCE_IOC_STAT, &stat);
	}
	switch (err) {
	case 0:
		break;
	case -EBADF:
		return lkvfence__fail(NULL, err,
			"from_fd: %d is not an open descriptor", fd);
	case -ENOMEM:
	case -E2BIG:
		return lkvfence__fail_plain(NULL, err, "from_fd");
	default:
		return lkvfence__fail(NULL, -ENOTTY,
			"from_fd: descriptor %d is not a handle on a region: pass the one that lkvfence_fd() returns",
			fd);
	}

	new = calloc(1, sizeof(*new));
	err = new ? adopt_flags(fd) : -ENOMEM;
	errno = saved;
	if (err) {
		free(new);
		return lkvfence__fail_plain(NULL, err, "from_fd");
	}
	new->fd = fd;
	new->nr_slots = stat.slots;
	memcpy(new->name, stat.name, LKVFENCE_NAME_MAX);
	*f = new;
	return 0;
}

int lkvfence_fd(const struct lkvfence *f)
{
	return f->fd;
}

void lkvfence_close(struct lkvfence *f)
{
	int saved = errno;

	if (!f)
		return;
	/* Linux has freed the descriptor even where close says EINTR. */
	close(f->fd);
	free(f);
	errno = saved;
}

int lkvfence_stat(struct lkvfence *f, struct lkvfence_stat *stat)
{
	int err;

	memset(stat, 0, sizeof(*stat));
	stat->size = sizeof(*stat);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_STAT, stat);
	return err ? lkvfence__fail_plain(f, err, "stat") : 0;
}
