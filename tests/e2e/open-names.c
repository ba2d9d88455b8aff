// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A region's name is 1 to 63 of A-Z a-z 0-9 . _ - and doesn't start with a dot. */
#include "e2e.h"

#define LONGEST	"abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456.9"

static struct lkvfence_open request(void)
{
	return (struct lkvfence_open){
		.size = sizeof(struct lkvfence_open),
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE,
		.slot_size = 1,
		.nr_slots = 1,
		.mode = 0600,
	};
}

static void valid(int dev, const char *name)
{
	struct lkvfence_open open = request();
	struct lkvfence_stat stat = { .size = sizeof(stat) };

	memcpy(open.name, name, strlen(name));
	/* What is behind the NUL is ignored. */
	if (strlen(name) < LKVFENCE_NAME_MAX)
		open.name[LKVFENCE_NAME_MAX] = '/';
	if (!gives(sys(dev, LKVFENCE_IOC_OPEN, &open), 0, "name \"%s\"", name))
		return;
	check(region_exists(name), "it is in sysfs");
	gives(sys(open.fd, LKVFENCE_IOC_STAT, &stat), 0, "STAT");
	check(!strcmp(stat.name, name), "STAT tells the name");
	close(open.fd);
}

static void invalid(int dev, const char *bytes, size_t len, const char *what)
{
	struct lkvfence_open open = request();

	memcpy(open.name, bytes, len);
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "%s", what);
	check(!strcmp(line_of("/sys/class/misc/lkvfence/nr_regions"), "0"),
	      "there is no region by that");
}

int main(void)
{
	int dev = device(), c, taken = 0;

	valid(dev, "a");
	valid(dev, "-");
	valid(dev, "_");
	valid(dev, "0");
	valid(dev, "a.b");
	valid(dev, "a..");
	valid(dev, "objects");
	valid(dev, LONGEST);
	invalid(dev, "", 1, "no name");
	invalid(dev, ".", 2, "a dot");
	invalid(dev, "..", 3, "two dots");
	invalid(dev, ".a", 3, "a dot at the start");
	invalid(dev, "a/b", 4, "a slash");
	invalid(dev, "a b", 4, "a space");
	invalid(dev, "%s%n", 5, "percent signs");
	invalid(dev, "\xc3\xa9", 3, "not ASCII");
	invalid(dev, "a\n", 3, "a new line");
	invalid(dev, LONGEST "x", 64, "64 bytes and no NUL");

	for (c = 1; c < 256; c++) {
		struct lkvfence_open open = request();

		open.name[0] = 'x';
		open.name[1] = c;
		if (!sys(dev, LKVFENCE_IOC_OPEN, &open)) {
			taken++;
			close(open.fd);
		}
	}
	gives(taken, 26 + 26 + 10 + 3, "so many bytes are good in a name");
	close(dev);
	return done();
}
