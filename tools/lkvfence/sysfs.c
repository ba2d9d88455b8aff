// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What the module tells everybody, one value a file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"
#include "tool.h"

/* Not from the environment of a program that runs with more rights. */
static const char *sysfs_root(void)
{
	const char *root = secure_getenv("LKVFENCE_SYSFS");

	return root && *root ? root : SYSFS_ROOT;
}

bool sysfs_present(void)
{
	return !access(sysfs_root(), F_OK);
}

/* @region was checked to be a region's name: no '/', no leading '.'. */
static int sysfs_path(char *path, size_t size, const char *region,
		      const char *name)
{
	int len;

	len = snprintf(path, size, "%s%s%s/%s", sysfs_root(),
		       region ? "/regions/" : "", region ? region : "", name);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int sysfs_string(const char *region, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd, err;

	err = sysfs_path(path, sizeof(path), region, name);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, buf, size - 1);
	err = len < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int sysfs_u64(const char *region, const char *name, uint64_t *value)
{
	char buf[32];
	int err;

	err = sysfs_string(region, name, buf, sizeof(buf));
	if (err)
		return err;
	return tool_number(buf, UINT64_MAX, value) ? 0 : -EBADMSG;
}

int sysfs_values(const char *region, struct values *values)
{
	char path[PATH_MAX];
	enum value i;
	int err;

	memset(values, 0, sizeof(*values));
	for (i = 0; i < NR_VALUES; i++)
		values->known[i] = !sysfs_u64(region, value_name(i),
					      &values->v[i]);
	/* looked at last: a region may go away in the middle */
	err = sysfs_path(path, sizeof(path), region, "");
	if (err)
		return err;
	return access(path, F_OK) ? -errno : 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_regions(char ***names)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int n, i, err;

	*names = NULL;
	err = sysfs_path(path, sizeof(path), NULL, "regions");
	if (err)
		return err;
	n = scandir(path, &entries, visible, versionsort);
	if (n < 0)
		return -errno;
	*names = calloc(n + 1, sizeof(**names));
	err = *names ? n : -ENOMEM;
	for (i = 0; i < n; i++) {
		if (*names) {
			(*names)[i] = strdup(entries[i]->d_name);
			if (!(*names)[i])
				err = -ENOMEM;
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}
