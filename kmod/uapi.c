// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoding of what user space asks for (L10): the two kinds of file, the table
 * of commands, and OPEN, which makes one kind from the other.
 *
 * Every struct is copied in once and looked at only in that copy; what it
 * points to likewise. The answer is copied out with no lock held.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "calls.h"
#include "compat.h"
#include "event.h"
#include "group.h"
#include "main.h"
#include "rdma.h"
#include "region.h"
#include "source.h"
#include "uapi.h"
#include "words.h"

/*
 * INFO
 */

static int do_info(struct handle *h, void *argp)
{
	struct lkvfence_info *arg = argp;
	struct fence_limits limits = param_limits();

	if (arg->flags)
		return -EINVAL;
	*arg = (struct lkvfence_info) {
		.size			= arg->size,
		.abi			= LKVFENCE_ABI,
		.abi_oldest		= 1,
		.features		= QP_POSSIBLE ? LKVFENCE_FEATURE_QP : 0,
		.max_slots		= param_max_slots(),
		.max_ranges		= MAX_RANGES,
		.max_leases		= MAX_LEASES,
		.max_transfers		= param_max_transfers(),
		.timeout_default_ns	= limits.default_ns,
		.timeout_min_ns		= param_timeout_min_ns(),
		.timeout_max_ns		= limits.max_ns,
		.settle_ns		= param_settle_ns(),
		.revoke_ns		= limits.revoke_ns,
		.max_sources		= param_max_sources(),
		.max_qps		= MAX_QPS,
		.unclaimed_ns		= param_unclaimed_ns(),
		.tombstone_ns		= param_pull_limits().tombstone_ns,
		.max_tombstones		= param_pull_limits().max_tombstones,
		.max_pulls		= param_max_pulls(),
		.max_members		= MAX_MEMBERS,
		.version		= LKVFENCE_MODULE_VERSION,
	};
	return 0;
}

/*
 * OPEN
 */

static bool is_name(const char *name)
{
	size_t len = strnlen(name, LKVFENCE_NAME_MAX + 1);
	size_t i;

	if (!len || len > LKVFENCE_NAME_MAX || name[0] == '.')
		return false;
	for (i = 0; i < len; i++) {
		char c = name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
			return false;
	}
	return true;
}

static int check_open(const struct lkvfence_open *arg)
{
	bool create = arg->flags & LKVFENCE_OPEN_CREATE;

	if (arg->flags & ~LKVFENCE_OPEN_FLAGS || !is_name(arg->name))
		return -EINVAL;
	if (arg->flags & LKVFENCE_OPEN_EXCLUSIVE && !create)
		return -EINVAL;
	if (arg->pad)
		return -EINVAL;
	if (create && (arg->mode & ~0666 || arg->accepts & ~LKVFENCE_ACCEPT_ALL))
		return -EINVAL;
	return 0;
}

/* An open file on a region. */
static struct file *open_handle(struct lkvfence_open *arg)
{
	int flags = O_RDWR;
	struct region *r;
	struct handle *h;
	struct file *file;

	r = region_open(arg);
	if (IS_ERR(r))
		return ERR_CAST(r);
	h = handle_alloc(r);
	if (!h) {
		region_close(r);
		return ERR_PTR(-ENOMEM);
	}
	if (arg->flags & LKVFENCE_OPEN_NONBLOCK)
		flags |= O_NONBLOCK;
	file = anon_inode_getfile("[lkvfence]", &handle_fops, h, flags);
	if (IS_ERR(file)) {
		handle_free(h);
		region_close(r);
	}
	return file;
}

static int do_open(struct lkvfence_open *arg, void __user *uarg, size_t size)
{
	struct file *file;
	int fd, err;

	err = check_open(arg);
	if (err)
		return err;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;

	file = open_handle(arg);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		err = PTR_ERR(file);
		if (err == -ENOTUNIQ && copy_to_user(uarg, arg, size))
			return -EFAULT;
		return err;
	}
	arg->fd = fd;
	if (copy_to_user(uarg, arg, size)) {
		put_unused_fd(fd);
		fput(file);
		return -EFAULT;
	}
	fd_install(fd, file);
	return 0;
}

/*
 * Commands
 */

/* The ABI, for good: structs grow at the end, and these are those of ABI 1. */
static_assert(sizeof(struct lkvfence_range) == 8);
static_assert(sizeof(struct lkvfence_info) == 152);
static_assert(sizeof(struct lkvfence_open) == 112);
static_assert(sizeof(struct lkvfence_stat) == 616);
static_assert(sizeof(struct lkvfence_begin) == 96);
static_assert(sizeof(struct lkvfence_take) == 24);
static_assert(sizeof(struct lkvfence_return_item) == 24);
static_assert(sizeof(struct lkvfence_return) == 24);
static_assert(sizeof(struct lkvfence_abort) == 72);
static_assert(sizeof(struct lkvfence_release) == 32);
static_assert(sizeof(struct lkvfence_lease) == 8);
static_assert(sizeof(struct lkvfence_query) == 128);
static_assert(sizeof(struct lkvfence_adopt) == 16);
static_assert(sizeof(struct lkvfence_event) == 64);
static_assert(sizeof(struct lkvfence_qp) == 72);
static_assert(sizeof(struct lkvfence_source) == 96);
static_assert(sizeof(struct lkvfence_quiet) == 24);
static_assert(sizeof(struct lkvfence_report) == 24);
static_assert(sizeof(struct lkvfence_query_source) == 112);
static_assert(sizeof(struct lkvfence_ready) == 40);
static_assert(sizeof(struct lkvfence_pull) == 56);
static_assert(sizeof(struct lkvfence_withdraw) == 16);
static_assert(sizeof(struct lkvfence_join) == 32);

union command_arg {
	u32 size;
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
	struct lkvfence_join join;
};

/**
 * struct command - how a command's struct is copied, and who does it
 * @size: of its struct, as we know it
 * @least: of its struct in ABI 1
 * @run: does it; @arg is written back when it returns 0, -EBUSY or -EEXIST
 */
struct command {
	size_t size;
	size_t least;
	int (*run)(struct handle *h, void *arg);
};

#define COMMAND(_struct, _last, _run)					\
	{ sizeof(struct _struct), offsetofend(struct _struct, _last), _run }

/* By number, less that of STAT. */
static const struct command commands[] = {
	COMMAND(lkvfence_stat, ended_by_group, call_stat),
	COMMAND(lkvfence_begin, state, call_begin),
	COMMAND(lkvfence_begin, state, call_hold),
	COMMAND(lkvfence_take, pad, call_take),
	COMMAND(lkvfence_return, nr_accepted, call_return),
	COMMAND(lkvfence_abort, nr_ended, call_abort),
	COMMAND(lkvfence_release, pad, call_release),
	COMMAND(lkvfence_query, comm, call_query),
	COMMAND(lkvfence_adopt, generation, call_adopt),
	COMMAND(lkvfence_source, binding, call_source),
	COMMAND(lkvfence_quiet, evidence, call_quiet),
	COMMAND(lkvfence_report, nr_slots, call_report),
	COMMAND(lkvfence_query_source, peer, call_query_source),
	COMMAND(lkvfence_ready, deadline_ns, call_ready),
	COMMAND(lkvfence_pull, ticket, call_pull),
	COMMAND(lkvfence_withdraw, ticket, call_withdraw),
	COMMAND(lkvfence_join, pad, call_join),
};

static const struct command info_command = COMMAND(lkvfence_info, version, do_info);
static const struct command open_command = COMMAND(lkvfence_open, pad, NULL);

/*
 * A struct of the size that we know, which is the usual one. Nothing needs to
 * be checked on our side: all sizes in the table are multiples of a word, and
 * of members of the union. False: go the long way, which tells what is wrong.
 */
static bool copy_known(union command_arg *arg, u64 __user *uarg, size_t size)
{
	u64 *words = (u64 *)arg;
	size_t i, last = size / sizeof(u64) - 1;

	if (!user_access_begin(uarg, size))
		return false;
	unsafe_get_user(words[0], uarg, fault);
	if (arg->size != size)
		goto fault;
#pragma GCC unroll 8
	for (i = 1; i <= last; i++)
		unsafe_get_user(words[i], uarg + i, fault);
	/* Can it be written back? See below. */
	unsafe_put_user(words[0], uarg, fault);
	unsafe_put_user(words[last], uarg + last, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

/*
 * Copy a command's struct in. It will be written back after the command took
 * effect, so see first that it can be: a struct in memory that is read-only
 * is refused before anything happens. It is smaller than a page, so its ends
 * stand for all of it.
 *
 * Returns how much is to be written back.
 */
static ssize_t copy_arg(union command_arg *arg, const struct command *cmd,
			void __user *uarg)
{
	u8 *bytes = (u8 *)arg;
	size_t size;
	u32 usize;
	int err;

	BUILD_BUG_ON(sizeof(*arg) > PAGE_SIZE);
	if (copy_known(arg, uarg, cmd->size))
		return cmd->size;

	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;
	if (usize < cmd->least)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(arg, cmd->size, uarg, usize);
	if (err)
		return err;
	arg->size = usize;	/* it may have changed meanwhile */

	size = min_t(size_t, usize, cmd->size);
	if (put_user(usize, (u32 __user *)uarg) ||
	    put_user(bytes[size - 1], (u8 __user *)uarg + size - 1))
		return -EFAULT;
	return size;
}

static long run_command(const struct command *cmd, struct handle *h,
			void __user *uarg)
{
	union command_arg arg __no_init;
	ssize_t size;
	int err;

	size = copy_arg(&arg, cmd, uarg);
	if (size < 0)
		return size;
	if (cmd == &open_command)
		return do_open(&arg.open, uarg, size);

	err = cmd->run(h, &arg);
	if (err && err != -EBUSY && err != -EEXIST)
		return err;
	if (size == cmd->size ?
	    words_to_user(uarg, (u64 *)&arg, size / sizeof(u64)) :
	    copy_to_user(uarg, &arg, size))
		return -EFAULT;
	return err;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case LKVFENCE_IOC_INFO:
		return run_command(&info_command, NULL, (void __user *)arg);
	case LKVFENCE_IOC_OPEN:
		return run_command(&open_command, NULL, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static long handle_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct handle *h = file->private_data;
	u32 nr = cmd - LKVFENCE_IOC_STAT;
	u32 max = ARRAY_SIZE(commands);

	if (cmd == LKVFENCE_IOC_INFO)
		return run_command(&info_command, NULL, (void __user *)arg);
	if (nr >= max)
		return -ENOTTY;
	return run_command(&commands[array_index_nospec(nr, max)], h,
			   (void __user *)arg);
}

static int handle_release(struct inode *inode, struct file *file)
{
	struct handle *h = file->private_data;
	struct region *r = h->region;

	handle_free(h);
	region_close(r);
	return 0;
}

const struct file_operations device_fops = {
	.owner		= THIS_MODULE,
	.llseek		= noop_llseek,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

const struct file_operations handle_fops = {
	.owner		= THIS_MODULE,
	.llseek		= noop_llseek,
	.release	= handle_release,
	.unlocked_ioctl	= handle_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.read		= event_read,
	.poll		= event_poll,
};
