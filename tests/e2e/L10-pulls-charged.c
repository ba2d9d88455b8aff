// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L10: who asks pays. The memory of pulls that wait, and of answers that nobody reads, is
 * charged to the caller's memory cgroup, and its limit is his alone: he gets ENOMEM, and
 * nothing else has changed. A handle gets no more pulls while it doesn't read answers.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "pull.h"

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/lkvfence-L10-pulls"
#define NAME	"L10-pulls-charged"
#define NR	20000
#define KIB	1024LL

static long long charged(void)
{
	return atoll(line_of(GROUP "/memory.current"));
}

/* Runs in the group; its exit status is the number of what went wrong. */
static int pays(void *arg)
{
	struct lkvfence *f = region(NAME, 0);
	long long start, asked;
	unsigned int i;

	(void)arg;
	if (write_file(GROUP "/cgroup.procs", "0"))
		return 1;
	for (i = 0; i < 100; i++)
		pull(f, i, 1);
	start = charged();
	for (i = 0; i < NR; i++)
		pull(f, i, 1);
	asked = charged() - start;
	note("%d pulls that wait: %lld KiB", NR, asked / KIB);
	/* Two objects of more than 64 bytes each. */
	if (asked < NR * 128LL)
		return 2;
	if (lkvfence_abort_all(f, LKVFENCE_REASON_ABORTED))
		return 3;
	/* They are answers now, and unread. */
	if (charged() - start < NR * 128LL)
		return 4;
	pass_over(f);
	note("when they are answered and read: %lld KiB", (charged() - start) / KIB);
	if (charged() - start > asked / 2)
		return 5;
	lkvfence_close(f);
	return 0;
}

/* Until there is no more for him; to look at that needs memory, too: another MiB. */
static int goes_on(void *arg)
{
	struct lkvfence *f = region(NAME, 0);
	struct lkvfence_stat before, after;
	struct lkvfence_pull p;
	unsigned int i;
	int err = 0, limit;

	(void)arg;
	if (write_file(GROUP "/cgroup.procs", "0") || mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	limit = open(GROUP "/memory.max", O_WRONLY | O_CLOEXEC);
	for (i = 0; i < 4000000 && !err; i++) {
		before = stat_of(f);
		p = a_pull(i, 1);
		err = lkvfence_pull(f, &p);
	}
	if (write(limit, "26214400", 8) != 8)
		return 6;
	after = stat_of(f);
	note("%u pulls: %s", i, lkvfence_errmsg());
	if (err != -ENOMEM)
		return 2;
	if (before.tickets != after.tickets || before.pulls != after.pulls)
		return 3;
	/* He can still let go of what he has. */
	if (lkvfence_abort_all(f, LKVFENCE_REASON_ABORTED))
		return 4;
	pass_over(f);
	if (lkvfence_pull(f, &p))
		return 5;
	return 0;
}

static void charges(struct lkvfence *f)
{
	struct lkvfence_event e;
	uint64_t beside = pull(f, 1, 50);
	char limit[32];

	if (write_file(ROOT "/cgroup.subtree_control", "+memory") || mkdir(GROUP, 0755)) {
		skip("no memory cgroups here", "memory is charged");
		return;
	}
	gives(in_child(pays, NULL), 0, "pulls are charged to the caller");
	e = at_once(f);
	check(is_refused(&e, beside, LKVFENCE_REASON_ABORTED), "all were aborted");
	snprintf(limit, sizeof(limit), "%lld", 24 * KIB * KIB);
	need(!write_file(GROUP "/memory.max", limit), "a limit");
	/* There is no such file where there is no swap. */
	write_file(GROUP "/memory.swap.max", "0");
	beside = pull(f, 1, 50);
	gives(in_child(goes_on, NULL), 0, "who reaches his limit is told, and nothing has changed");
	check(refused(f, beside, LKVFENCE_REASON_ABORTED), "another's pull was there all the time");
	check(until(!rmdir(GROUP)), "all of it is given back");
}

static void unread(struct lkvfence *f)
{
	struct lkvfence_pull p = a_pull(7, 1);
	struct lkvfence *other = region(NAME, 0);
	uint64_t first, second;

	set_param("max_transfers", 2);
	first = pull(f, 7, 1);
	second = pull(f, 8, 1);
	gives(lkvfence_pull(f, &p), 0, "pulls that wait are no events");
	need(!lkvfence_withdraw(f, first) && !lkvfence_withdraw(f, second), "WITHDRAW");
	gives(lkvfence_pull(f, &p), -ENOSPC, "who doesn't read answers may ask no more");
	gives(lkvfence_pull(other, &p), 0, "others may");
	check(refused(f, first, LKVFENCE_REASON_WITHDRAWN), "one is read");
	gives(lkvfence_pull(f, &p), 0, "now there is room");
	lkvfence_close(other);
}

int main(void)
{
	struct lkvfence *f;

	/* The caller's limit is to be reached, not the region's. */
	set_param("max_pulls", 8000000);
	set_param("max_transfers", 8000000);
	f = region(NAME, 64);
	charges(f);
	unread(f);
	lkvfence_close(f);
	return done();
}
