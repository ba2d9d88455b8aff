// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoding of what user space asks for (L10).
 *
 * Every struct is copied in once and looked at only in that copy; what it
 * points to likewise. Arguments are checked, then the region is locked and
 * the fence asked, then the answer is copied out, unlocked.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "event.h"
#include "main.h"
#include "region.h"
#include "uapi.h"

/* Returns handled per taking of the region's lock; they are on the stack. */
#define RETURN_BATCH	16
/* Sources copied in one go; likewise. */
#define SOURCE_BATCH	16

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
		.max_slots		= param_max_slots(),
		.max_ranges		= MAX_RANGES,
		.max_leases		= MAX_LEASES,
		.max_transfers		= param_max_transfers(),
		.timeout_default_ns	= limits.default_ns,
		.timeout_min_ns		= param_timeout_min_ns(),
		.timeout_max_ns		= limits.max_ns,
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
	if (arg->nr_slots > param_max_slots())
		return -ERANGE;
	if (create && (!arg->slot_size || !arg->nr_slots || arg->mode & ~0666))
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
 * STAT
 */

static int do_stat(struct handle *h, void *argp)
{
	struct lkvfence_stat *arg = argp;
	u32 size = arg->size;

	if (arg->flags)
		return -EINVAL;
	region_stat(h->region, arg);
	arg->size = size;
	return 0;
}

/*
 * BEGIN, HOLD
 */

static bool is_policy(u32 policy)
{
	return policy <= LKVFENCE_POLICY_QUARANTINE;
}

/* A reason that an engine may give; 0 is made to be ABORTED. */
static bool is_abort_reason(u32 *reason)
{
	if (!*reason)
		*reason = LKVFENCE_REASON_ABORTED;
	return *reason >= LKVFENCE_REASON_ABORTED &&
	       *reason <= LKVFENCE_REASON_SHUTDOWN;
}

/* A timeout, where 0 stands for none. */
static bool is_timeout(u64 ns)
{
	return !ns || (ns >= param_timeout_min_ns() && ns <= param_limits().max_ns);
}

static int check_begin(struct lkvfence_begin *arg, bool hold)
{
	if (arg->flags || !arg->nr_ranges || !is_policy(arg->policy))
		return -EINVAL;
	if (hold ? arg->ttl_ns || !is_abort_reason(&arg->reason) :
		   arg->timeout_ns || arg->reason)
		return -EINVAL;
	if (arg->nr_ranges > MAX_RANGES || arg->nr_sources > MAX_LEASES ||
	    !is_timeout(arg->ttl_ns) || !is_timeout(arg->timeout_ns))
		return -ERANGE;
	return 0;
}

/* Grant the leases that @arg names, before the fence knows the transfer. */
static int copy_sources(struct transfer *t, const struct lkvfence_begin *arg)
{
	u32 __user *from = u64_to_user_ptr(arg->sources);
	u32 sources[SOURCE_BATCH];
	u32 i, nr, done;
	int err;

	for (done = 0; done < arg->nr_sources; done += nr) {
		nr = min_t(u32, arg->nr_sources - done, SOURCE_BATCH);
		if (copy_from_user(sources, from + done, nr * sizeof(*sources)))
			return -EFAULT;
		for (i = 0; i < nr; i++) {
			struct fence_lease *lease = &t->leases[done + i];

			lease->source = sources[i];
			err = fence_transfer_lease(&t->fence, lease);
			if (err)
				return err;
		}
	}
	return 0;
}

static struct transfer *copy_transfer(const struct lkvfence_begin *arg)
{
	struct transfer *t = transfer_alloc(arg->nr_ranges, arg->nr_sources);
	int err;

	if (!t)
		return ERR_PTR(-ENOMEM);
	t->fence.tag = arg->tag;
	t->fence.ttl_ns = arg->ttl_ns;
	t->fence.policy = arg->policy;
	t->pid = current->tgid;
	get_task_comm(t->comm, current->group_leader);

	if (copy_from_user(t->ranges, u64_to_user_ptr(arg->ranges),
			   arg->nr_ranges * sizeof(*t->ranges)))
		err = -EFAULT;
	else
		err = copy_sources(t, arg);
	if (err) {
		transfer_free(t);
		return ERR_PTR(err);
	}
	return t;
}

/* How many transfers there may be: none more for who doesn't read events. */
static u32 room_for(const struct handle *h)
{
	u32 max = param_max_transfers();

	return h->nr_unread < max ? max : 0;
}

static int begin(struct handle *h, struct lkvfence_begin *arg, bool hold)
{
	struct fence_limits limits = param_limits();
	struct region *r = h->region;
	struct fence_refusal why;
	struct transfer *t;
	u64 now;
	int err;

	err = check_begin(arg, hold);
	if (err)
		return err;
	t = copy_transfer(arg);
	if (IS_ERR(t))
		return PTR_ERR(t);

	mutex_lock(&r->lock);
	err = fence_admit(&r->fence, &t->fence, room_for(h), &why);
	if (!err) {
		now = ktime_get_ns();
		fence_begin(&r->fence, &t->fence, generation_next(), now);
		t->owner = h;
		list_add_tail(&t->owned, &h->transfers);
		if (hold)
			fence_abort(&r->fence, &t->fence, arg->reason,
				    LKVFENCE_POLICY_DEFAULT, arg->timeout_ns,
				    &limits, now);
		arg->generation = t->fence.generation;
		arg->state = t->fence.state;
		region_settle(r, h, FENCE_NEWS_ENDED);
	}
	mutex_unlock(&r->lock);

	if (err) {
		arg->busy_generation = why.generation;
		arg->busy_tag = why.tag;
		arg->busy_slot = why.slot;
		transfer_free(t);
	}
	return err;
}

static int do_begin(struct handle *h, void *argp)
{
	return begin(h, argp, false);
}

static int do_hold(struct handle *h, void *argp)
{
	return begin(h, argp, true);
}

/*
 * TAKE
 */

static int do_take(struct handle *h, void *argp)
{
	struct lkvfence_take *arg = argp;
	struct region *r = h->region;
	struct fence_lease *lease;
	struct fence_transfer *t;
	int err;

	if (arg->flags || arg->pad)
		return -EINVAL;
	lease = lease_alloc();
	if (!lease)
		return -ENOMEM;
	lease->source = arg->source;

	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &t);
	if (!err)
		err = fence_take(&r->fence, t, lease, MAX_LEASES, ktime_get_ns());
	if (!err)
		region_settle(r, h, 0);
	mutex_unlock(&r->lock);

	if (err)
		lease_free(lease);
	return err;
}

/*
 * RETURN
 */

static u32 return_some(struct handle *h, struct lkvfence_return_item *items, u32 nr)
{
	struct region *r = h->region;
	u32 i, accepted = 0;
	bool released;

	mutex_lock(&r->lock);
	for (i = 0; i < nr; i++) {
		struct lkvfence_return_item *item = &items[i];

		item->result = fence_return(&r->fence, item->generation,
					    item->source, item->status,
					    item->evidence, ktime_get_ns(),
					    &released);
		item->released = released;
		accepted += !item->result;
	}
	region_settle(r, h, 0);
	mutex_unlock(&r->lock);
	return accepted;
}

static int do_return(struct handle *h, void *argp)
{
	struct lkvfence_return *arg = argp;
	struct lkvfence_return_item __user *uitems = u64_to_user_ptr(arg->items);
	struct lkvfence_return_item items[RETURN_BATCH];
	u32 nr, done;

	if (arg->flags || !arg->nr_items)
		return -EINVAL;
	if (arg->nr_items > MAX_RANGES)
		return -ERANGE;

	arg->nr_accepted = 0;
	for (done = 0; done < arg->nr_items; done += nr) {
		nr = min_t(u32, arg->nr_items - done, RETURN_BATCH);
		if (copy_from_user(items, uitems + done, nr * sizeof(*items)))
			return -EFAULT;
		arg->nr_accepted += return_some(h, items, nr);
		if (copy_to_user(uitems + done, items, nr * sizeof(*items)))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

/*
 * ABORT
 */

static int do_abort(struct handle *h, void *argp)
{
	struct lkvfence_abort *arg = argp;
	struct fence_limits limits = param_limits();
	struct region *r = h->region;
	struct fence_transfer *t;
	int err = 0;

	if (arg->flags & ~LKVFENCE_ABORT_FLAGS || !is_policy(arg->policy) ||
	    !is_abort_reason(&arg->reason))
		return -EINVAL;
	if (!is_timeout(arg->timeout_ns))
		return -ERANGE;

	mutex_lock(&r->lock);
	if (arg->flags & LKVFENCE_ABORT_BY_TAG) {
		t = fence_find_tag(&r->fence, arg->tag);
		err = t ? 0 : -ENOENT;
	} else {
		err = fence_lookup(&r->fence, arg->generation, &t);
	}
	if (!err) {
		fence_abort(&r->fence, t, arg->reason, arg->policy,
			    arg->timeout_ns, &limits, ktime_get_ns());
		/* Before it is settled, and perhaps freed. */
		arg->generation = t->generation;
		arg->tag = t->tag;
		arg->policy = t->policy;
		arg->reason = t->reason;
		arg->deadline_ns = t->clock.expires;
		arg->state = t->state;
		arg->leases_out = t->unproven;
		region_settle(r, h, FENCE_NEWS_ENDED);
	}
	mutex_unlock(&r->lock);
	return err;
}

/*
 * RELEASE
 */

static int do_release(struct handle *h, void *argp)
{
	struct lkvfence_release *arg = argp;
	struct region *r = h->region;
	struct fence_transfer *t;
	bool force = arg->flags & LKVFENCE_RELEASE_FORCE;
	int err;

	if (arg->flags & ~LKVFENCE_RELEASE_FLAGS)
		return -EINVAL;
	if (force && !capable(CAP_SYS_ADMIN))
		return -EPERM;

	arg->outcome = LKVFENCE_OUTCOME_NONE;
	arg->evidence = LKVFENCE_EVIDENCE_NONE;
	arg->pad = 0;
	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &t);
	if (!err) {
		err = force ? fence_force(&r->fence, t, ktime_get_ns()) :
			      fence_finish(&r->fence, t, ktime_get_ns());
		arg->leases_out = t->unproven;
	}
	if (!err) {
		arg->outcome = t->outcome;
		arg->evidence = t->weakest;
		/* L6: the answer is the report, for the owner. */
		region_settle(r, h, FENCE_NEWS_RELEASED);
	}
	mutex_unlock(&r->lock);
	return err;
}

/*
 * QUERY
 */

static struct fence_transfer *find(struct fence *f, const struct lkvfence_query *arg)
{
	struct fence_transfer *t = NULL;
	int err = 0;

	switch (arg->by) {
	case LKVFENCE_QUERY_GENERATION:
		err = fence_lookup(f, arg->generation, &t);
		break;
	case LKVFENCE_QUERY_TAG:
		t = fence_find_tag(f, arg->tag);
		break;
	case LKVFENCE_QUERY_SLOT:
		if (arg->slot >= f->nr_slots)
			return ERR_PTR(-ERANGE);
		t = fence_find_slot(f, arg->slot);
		break;
	case LKVFENCE_QUERY_NEXT:
		t = fence_find_next(f, arg->generation);
		break;
	default:
		return ERR_PTR(-EINVAL);
	}
	if (err)
		return ERR_PTR(err);
	return t ?: ERR_PTR(-ENOENT);
}

static void describe(const struct fence_transfer *ft, const struct handle *h,
		     struct lkvfence_query *arg)
{
	const struct transfer *t = container_of(ft, struct transfer, fence);

	arg->generation = ft->generation;
	arg->tag = ft->tag;
	arg->state = ft->state;
	arg->policy = ft->policy;
	arg->reason = ft->reason;
	arg->flags = (ft->quarantined ? LKVFENCE_TRANSFER_QUARANTINED : 0) |
		     (t->owner ? 0 : LKVFENCE_TRANSFER_ORPHANED) |
		     (t->owner == h ? LKVFENCE_TRANSFER_MINE : 0);
	arg->nr_slots = ft->nr_slots;
	arg->begun_ns = ft->begun_ns;
	arg->ended_ns = ft->ended_ns;
	arg->deadline_ns = ft->clock.expires;
	arg->now_ns = ktime_get_ns();
	arg->nr_ranges = ft->nr_ranges;
	arg->nr_leases = ft->nr_leases;
	arg->leases_out = ft->unproven;
	arg->pid = t->pid;
	memcpy(arg->comm, t->comm, sizeof(arg->comm));
}

static u32 list_leases(const struct fence_transfer *t,
		       struct lkvfence_lease *to, u32 room)
{
	struct rb_node *n = rb_first(&t->leases);
	u32 i;

	for (i = 0; i < room && n; i++, n = rb_next(n)) {
		const struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		to[i] = (struct lkvfence_lease) {
			.source		= l->source,
			.state		= l->state,
			.evidence	= l->evidence,
		};
	}
	return i;
}

/* What a query brings along, copied under the lock. */
struct query_room {
	struct lkvfence_range *ranges;
	struct lkvfence_lease *leases;
	u32 nr_ranges;
	u32 nr_leases;
};

static int query_find(struct handle *h, struct lkvfence_query *arg,
		      struct query_room *room)
{
	struct region *r = h->region;
	struct fence_transfer *t;

	mutex_lock(&r->lock);
	t = find(&r->fence, arg);
	if (!IS_ERR(t)) {
		describe(t, h, arg);
		room->nr_ranges = min(room->nr_ranges, t->nr_ranges);
		if (room->nr_ranges)
			memcpy(room->ranges, t->ranges,
			       room->nr_ranges * sizeof(*t->ranges));
		room->nr_leases = list_leases(t, room->leases, room->nr_leases);
	}
	mutex_unlock(&r->lock);
	return PTR_ERR_OR_ZERO(t);
}

static int do_query(struct handle *h, void *argp)
{
	struct lkvfence_query *arg = argp;
	struct query_room room = {
		.nr_ranges	= arg->nr_ranges,
		.nr_leases	= arg->nr_leases,
	};
	int err = -ENOMEM;

	if (arg->nr_ranges > MAX_RANGES || arg->nr_leases > MAX_LEASES)
		return -ERANGE;
	if (room.nr_ranges)
		room.ranges = kvmalloc_array(room.nr_ranges, sizeof(*room.ranges),
					     GFP_KERNEL_ACCOUNT);
	if (room.nr_leases)
		room.leases = kvmalloc_array(room.nr_leases, sizeof(*room.leases),
					     GFP_KERNEL_ACCOUNT);
	if ((room.nr_ranges && !room.ranges) || (room.nr_leases && !room.leases))
		goto out;

	err = query_find(h, arg, &room);
	if (err)
		goto out;
	if (copy_to_user(u64_to_user_ptr(arg->ranges), room.ranges,
			 room.nr_ranges * sizeof(*room.ranges)) ||
	    copy_to_user(u64_to_user_ptr(arg->leases), room.leases,
			 room.nr_leases * sizeof(*room.leases)))
		err = -EFAULT;
out:
	kvfree(room.leases);
	kvfree(room.ranges);
	return err;
}

/*
 * ADOPT
 */

static int do_adopt(struct handle *h, void *argp)
{
	struct lkvfence_adopt *arg = argp;
	struct region *r = h->region;
	struct fence_transfer *ft;
	struct transfer *t;
	int err;

	if (arg->flags)
		return -EINVAL;
	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, arg->generation, &ft);
	if (!err) {
		t = to_transfer(ft);
		if (t->owner) {
			err = t->owner == h ? -EALREADY : -EBUSY;
		} else if (!room_for(h)) {
			err = -ENOSPC;
		} else {
			t->owner = h;
			list_add_tail(&t->owned, &h->transfers);
		}
	}
	mutex_unlock(&r->lock);
	return err;
}

/*
 * Commands
 */

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
	COMMAND(lkvfence_stat, handles, do_stat),
	COMMAND(lkvfence_begin, state, do_begin),
	COMMAND(lkvfence_begin, state, do_hold),
	COMMAND(lkvfence_take, pad, do_take),
	COMMAND(lkvfence_return, nr_accepted, do_return),
	COMMAND(lkvfence_abort, leases_out, do_abort),
	COMMAND(lkvfence_release, pad, do_release),
	COMMAND(lkvfence_query, comm, do_query),
	COMMAND(lkvfence_adopt, generation, do_adopt),
};

static const struct command info_command = COMMAND(lkvfence_info, version, do_info);
static const struct command open_command = COMMAND(lkvfence_open, created, NULL);

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
	union command_arg arg;
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
	if (copy_to_user(uarg, &arg, size))
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

	if (cmd == LKVFENCE_IOC_INFO)
		return run_command(&info_command, NULL, (void __user *)arg);
	if (nr >= ARRAY_SIZE(commands))
		return -ENOTTY;
	return run_command(&commands[nr], h, (void __user *)arg);
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
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

const struct file_operations handle_fops = {
	.owner		= THIS_MODULE,
	.release	= handle_release,
	.unlocked_ioctl	= handle_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.read		= event_read,
	.poll		= event_poll,
};
