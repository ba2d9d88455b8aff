// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A region lets in whom its owner and mode let in, for reading and writing,
 * and who has CAP_DAC_OVERRIDE. The device node itself is 0660 and root's.
 */
#include <grp.h>
#include <linux/capability.h>
#include <sys/stat.h>

#include "e2e.h"

#define OWNER	1001
#define GROUP	2001

/* Who tries, with a device that was opened before. */
struct who {
	const char *name;
	int dev;
	uid_t uid;
	gid_t gid;
	gid_t also;
	bool create;
	uint32_t mode;
};

static int try(void *arg)
{
	const struct who *who = arg;
	struct lkvfence_open open = { .size = sizeof(open), .mode = who->mode };
	int err;

	if (who->uid || who->gid) {
		gid_t groups[1] = { who->also };

		if (setgroups(!!who->also, groups) ||
		    setresgid(who->gid, who->gid, who->gid) ||
		    setresuid(who->uid, who->uid, who->uid))
			return 100;
	}
	snprintf(open.name, sizeof(open.name), "%s", who->name);
	if (who->create) {
		open.flags = LKVFENCE_OPEN_CREATE;
		open.slot_size = 4096;
		open.nr_slots = 8;
	}
	err = sys(who->dev, LKVFENCE_IOC_OPEN, &open);
	if (!err && who->create) {
		/* So that the region outlives this process. */
		struct lkvfence_range range = { 0, 1 };
		uint32_t source = 1;
		struct lkvfence_begin b = {
			.size = sizeof(b),
			.ranges = (uintptr_t)&range,
			.nr_ranges = 1,
			.sources = (uintptr_t)&source,
			.nr_sources = 1,
		};

		err = sys(open.fd, LKVFENCE_IOC_BEGIN, &b);
	}
	return -err;
}

static int powerless_try(void *arg)
{
	lose(CAP_DAC_OVERRIDE);
	return try(arg);
}

static void as(int dev, const char *name, uid_t uid, gid_t gid, gid_t also,
	       int err, const char *what)
{
	struct who who = { name, dev, uid, gid, also, false, 0 };

	gives(-in_child(try, &who), -err, "%s: %s", name, what);
}

static void modes(int dev, const char *name, uint32_t mode, int owner, int group,
		  int others)
{
	struct who maker = { name, dev, OWNER, GROUP, 0, true, mode };
	struct who root = { .name = name, .dev = dev };
	struct lkvfence *f;

	gives(in_child(try, &maker), 0, "%s: created with mode %04o", name, mode);
	as(dev, name, OWNER, GROUP, 0, owner, "its owner");
	as(dev, name, OWNER, 3001, 0, owner, "its owner, in another group");
	as(dev, name, 1002, GROUP, 0, group, "one of its group");
	as(dev, name, 1002, 3001, GROUP, group, "one who is in its group, too");
	as(dev, name, 1002, 3001, 0, others, "somebody else");
	gives(in_child(try, &root), 0, "%s: root", name);
	gives(-in_child(powerless_try, &root), -others,
	      "%s: root without CAP_DAC_OVERRIDE", name);
	f = region(name, 0);
	clear(f);
	lkvfence_close(f);
}

static int open_node(void *arg)
{
	struct lkvfence_info info;

	(void)arg;
	become(65534, 65534);
	return lkvfence_info(&info) == -EACCES &&
	       strstr(lkvfence_errmsg(), "no permission") ? 0 : 1;
}

int main(void)
{
	int dev = device();
	struct stat st;

	need(!stat(LKVFENCE_DEVICE, &st), "stat of the device node");
	check(S_ISCHR(st.st_mode) && (st.st_mode & 07777) == 0660 &&
	      !st.st_uid && !st.st_gid, "the device node is 0660, root's");
	gives(in_child(open_node, NULL), 0,
	      "nobody can't open it, and is told so in words");

	modes(dev, "mode-0600", 0600, 0, EACCES, EACCES);
	modes(dev, "mode-0660", 0660, 0, 0, EACCES);
	modes(dev, "mode-0666", 0666, 0, 0, 0);
	modes(dev, "mode-0006", 0006, EACCES, EACCES, 0);
	modes(dev, "mode-0060", 0060, EACCES, 0, EACCES);
	modes(dev, "mode-0444", 0444, EACCES, EACCES, EACCES);
	modes(dev, "mode-0222", 0222, EACCES, EACCES, EACCES);
	modes(dev, "mode-0000", 0000, EACCES, EACCES, EACCES);
	close(dev);
	return done();
}
