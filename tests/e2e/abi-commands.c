// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A command that is not known, or not known here, is ENOTTY; and a handle is
 * no ordinary file.
 */
#include "abi.h"

static void unknown(struct abi *abi, int fd, const char *where, bool device)
{
	struct lkvfence_stat before = stat_of(abi->f);
	unsigned int nr, wrong = 0;
	union abi_arg arg;
	size_t i;

	memset(&arg, 0, sizeof(arg));
	for (nr = 0; nr < 256; nr++) {
		for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
			if (abi_commands[i].cmd == (unsigned int)_IO(LKVFENCE_IOC_MAGIC, nr))
				break;
		}
		if (i == ARRAY_SIZE(abi_commands) &&
		    sys(fd, _IO(LKVFENCE_IOC_MAGIC, nr), &arg) != -ENOTTY)
			wrong++;
	}
	check(!wrong, "%s: unknown numbers are ENOTTY", where);

	for (i = 0; i < ARRAY_SIZE(abi_commands); i++) {
		const struct abi_command *cmd = &abi_commands[i];

		nr = _IOC_NR(cmd->cmd);
		arg.size = cmd->size;
		gives(sys(fd, _IO('x', nr), &arg), -ENOTTY,
		      "%s: %s by another magic number", where, cmd->name);
		gives(sys(fd, _IOWR(LKVFENCE_IOC_MAGIC, nr, struct lkvfence_stat),
			  &arg), -ENOTTY,
		      "%s: %s with a size in its number", where, cmd->name);
		if (cmd->cmd != LKVFENCE_IOC_INFO && cmd->on_device != device)
			gives(sys(fd, cmd->cmd, &arg), -ENOTTY,
			      "%s: %s is not for here", where, cmd->name);
	}
	unchanged(abi->f, &before, "%s: nothing has changed", where);
}

static void info_everywhere(struct abi *abi)
{
	struct lkvfence_info a = { .size = sizeof(a) }, b = { .size = sizeof(b) };

	gives(sys(abi->dev, LKVFENCE_IOC_INFO, &a), 0, "INFO on the device");
	gives(sys(abi->fd, LKVFENCE_IOC_INFO, &b), 0, "INFO on a handle");
	check(!memcmp(&a, &b, sizeof(a)), "they tell the same");
	check(a.abi == LKVFENCE_ABI && a.abi_oldest == 1 && !a.flags,
	      "ABI %u, oldest %u", a.abi, a.abi_oldest);
	check(!(a.features & ~LKVFENCE_FEATURE_QP) &&
	      !strcmp(line_of("/sys/class/misc/lkvfence/features"),
		      a.features ? "qp" : ""),
	      "features: %#llx, and sysfs names them", (unsigned long long)a.features);
	check(a.max_slots >= 1000000 && a.max_ranges >= 1000 &&
	      a.max_leases >= 100 && a.max_transfers >= 10000 &&
	      a.max_sources >= 100 && a.max_qps >= 8, "limits");
	check(a.timeout_min_ns && a.timeout_min_ns <= a.timeout_default_ns &&
	      a.timeout_default_ns <= a.timeout_max_ns, "timeouts are in order");
	check(a.timeout_default_ns == 30000 * MS, "the default is 30 s");
	check(a.settle_ns == 100 * MS && a.revoke_ns == 10100 * MS,
	      "a revocation takes 10 s at most, and settles for 100 ms");
	check(a.max_pulls >= 1000 && a.max_tombstones >= 1000 &&
	      a.unclaimed_ns == 5000 * MS && a.tombstone_ns == 60000 * MS,
	      "pulls wait for 5 s to be offered something, tombstones last a minute");
	check(memchr(a.version, 0, sizeof(a.version)) &&
	      !strcmp(a.version, line_of("/sys/module/lkvfence/version")),
	      "version %.31s is modinfo's", a.version);
}

static void no_file(int fd, const char *where, bool reads)
{
	char buf[256] = { 0 };
	void *map;

	gives(write(fd, buf, sizeof(buf)) < 0 ? -errno : 0, -EINVAL,
	      "%s: write", where);
	if (!reads)
		gives(read(fd, buf, sizeof(buf)) < 0 ? -errno : 0, -EINVAL,
		      "%s: read", where);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	gives(map == MAP_FAILED ? -errno : 0, -ENODEV, "%s: mmap", where);
	gives(ftruncate(fd, 0) < 0 ? -errno : 0, -EINVAL, "%s: ftruncate", where);
}

int main(void)
{
	struct abi abi = abi_start("abi-commands");

	unknown(&abi, abi.dev, "device", true);
	unknown(&abi, abi.fd, "handle", false);
	info_everywhere(&abi);
	no_file(abi.dev, "device", false);
	no_file(abi.fd, "handle", true);
	return abi_done(&abi);
}
