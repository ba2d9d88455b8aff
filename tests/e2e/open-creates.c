// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* OPEN creates a region, or opens one that is there, as its flags say. */
#include "e2e.h"

#define NAME	"open-creates"

static struct lkvfence_open request(uint32_t flags, uint64_t slot_size,
				    uint32_t nr_slots)
{
	struct lkvfence_open open = {
		.size = sizeof(open),
		.flags = flags,
		.name = NAME,
		.slot_size = slot_size,
		.base = 0x1234000,
		.nr_slots = nr_slots,
		.mode = 0640,
	};

	if (!(flags & LKVFENCE_OPEN_CREATE))
		open.base = 0;
	return open;
}

static int try(int dev, uint32_t flags, uint64_t slot_size, uint32_t nr_slots)
{
	struct lkvfence_open open = request(flags, slot_size, nr_slots);
	int err = sys(dev, LKVFENCE_IOC_OPEN, &open);

	if (!err)
		close(open.fd);
	return err;
}

static void refused(int dev)
{
	struct lkvfence_open open = request(LKVFENCE_OPEN_CREATE, 4096, 8);

	gives(try(dev, 0, 0, 0), -ENOENT, "no CREATE, and it isn't there");
	gives(try(dev, LKVFENCE_OPEN_CREATE, 0, 8), -EINVAL,
	      "creating with no slot_size");
	gives(try(dev, LKVFENCE_OPEN_CREATE, 4096, 0), -EINVAL,
	      "creating with no slots");
	open.mode = 0700;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "mode 0700");
	open.mode = 04600;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "mode 04600");
	open.mode = 0100600;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "mode 0100600");
	open.mode = 0640;
	open.pad = 1;
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), -EINVAL, "padding");
	check(!region_exists(NAME), "none of that made a region");
}

int main(void)
{
	struct lkvfence_open open = request(LKVFENCE_OPEN_CREATE |
					    LKVFENCE_OPEN_EXCLUSIVE, 4096, 8);
	struct lkvfence_open again = request(LKVFENCE_OPEN_NONBLOCK, 0, 0);
	int dev = device();

	refused(dev);
	gives(sys(dev, LKVFENCE_IOC_OPEN, &open), 0, "EXCLUSIVE, and it isn't there");
	check(open.created == 1 && open.fd >= 0, "it was created");
	check(fcntl(open.fd, F_GETFD) == FD_CLOEXEC, "the handle is close-on-exec");
	gives(fcntl(open.fd, F_GETFL) & O_NONBLOCK, 0, "and blocks");

	gives(sys(dev, LKVFENCE_IOC_OPEN, &again), 0, "it is there");
	check(!again.created && again.fd >= 0 && again.fd != open.fd,
	      "another handle on it");
	gives(open.accepts, LKVFENCE_ACCEPT_ALL, "0 stands for all evidence, and that is told");
	gives(again.accepts, LKVFENCE_ACCEPT_ALL, "to who opens it, too");
	check(again.slot_size == 4096 && again.nr_slots == 8 &&
	      again.base == 0x1234000 && again.mode == 0640, "its geometry and mode are told");
	gives(fcntl(again.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK,
	      "NONBLOCK: it doesn't block");

	gives(try(dev, LKVFENCE_OPEN_CREATE, 4096, 8), 0, "CREATE, and it is there");
	gives(try(dev, LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_EXCLUSIVE, 4096, 8),
	      -EEXIST, "EXCLUSIVE, and it is there");
	gives(atoi(line_of("/sys/class/misc/lkvfence/regions/" NAME "/handles")),
	      2, "two handles");
	close(again.fd);
	close(open.fd);
	check(until(!region_exists(NAME)), "it goes with the last handle");
	gives(try(dev, 0, 0, 0), -ENOENT, "and can't be opened any more");
	close(dev);
	return done();
}
