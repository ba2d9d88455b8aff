/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What user space calls: /dev/lkvfence, and handles.
 */
#ifndef LKVFENCE_UAPI_H
#define LKVFENCE_UAPI_H

#include <linux/fs.h>

extern const struct file_operations device_fops;
extern const struct file_operations handle_fops;

#endif /* LKVFENCE_UAPI_H */
