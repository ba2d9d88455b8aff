// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The kernel of kernel.h: objects and files.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

void kobject_init(struct kobject *kobj, struct kobj_type *type)
{
	shim_assert(!kobj->refs);
	kobj->refs = 1;
	kobj->type = type;
}

int kobject_add(struct kobject *kobj, struct kobject *parent, const char *fmt, ...)
{
	va_list args;

	shim_assert(kobj->refs > 0 && !kobj->added && parent);
	if (shim.fail_add) {
		shim.allocs_failed++;
		return -ENOMEM;
	}
	va_start(args, fmt);
	vsnprintf(kobj->name, sizeof(kobj->name), fmt, args);
	va_end(args);
	kobj->added = true;
	return 0;
}

void kobject_del(struct kobject *kobj)
{
	shim_assert(kobj->added);
	kobj->added = false;
}

struct kobject *kobject_get(struct kobject *kobj)
{
	shim_assert(kobj->refs > 0);
	kobj->refs++;
	return kobj;
}

void kobject_put(struct kobject *kobj)
{
	shim_assert(kobj->refs > 0);
	if (--kobj->refs)
		return;
	shim_assert(!kobj->added);
	if (kobj->type)
		kobj->type->release(kobj);
	else
		free(kobj);
}

struct kobject *kobject_create_and_add(const char *name, struct kobject *parent)
{
	struct kobject *kobj = calloc(1, sizeof(*kobj));

	shim_assert(kobj && parent);
	kobj->refs = 1;
	return kobj;
}

struct file *anon_inode_getfile(const char *name, const struct file_operations *fops,
				void *priv, int flags)
{
	struct file *file;

	shim_assert(name && fops && priv);
	if (shim.fail_file)
		return ERR_PTR(-ENFILE);
	file = calloc(1, sizeof(*file));
	shim_assert(file);
	file->private_data = priv;
	file->f_flags = flags;
	file->f_op = fops;
	return file;
}

void fput(struct file *file)
{
	file->f_op->release(NULL, file);
	free(file);
}

int get_unused_fd_flags(unsigned int flags)
{
	shim_assert(flags == O_CLOEXEC);
	for (int fd = 0; fd < SHIM_FDS && !shim.fail_fd; fd++) {
		if (!shim.reserved[fd]) {
			shim.reserved[fd] = true;
			return fd;
		}
	}
	return -EMFILE;
}

void put_unused_fd(unsigned int fd)
{
	shim_assert(fd < SHIM_FDS && shim.reserved[fd] && !shim.fds[fd]);
	shim.reserved[fd] = false;
}

void fd_install(unsigned int fd, struct file *file)
{
	shim_assert(fd < SHIM_FDS && shim.reserved[fd] && !shim.fds[fd]);
	shim.fds[fd] = file;
}

void shim_close(int fd)
{
	struct file *file = shim.fds[fd];

	shim.fds[fd] = NULL;
	shim.reserved[fd] = false;
	fput(file);
	shim_call_end();
}

int misc_register(struct miscdevice *misc)
{
	static struct device dev;

	shim.device = misc->fops;
	misc->this_device = &dev;
	return 0;
}

void misc_deregister(struct miscdevice *misc)
{
	misc->this_device = NULL;
	shim.device = NULL;
}
