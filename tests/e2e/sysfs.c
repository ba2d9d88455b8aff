// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * /sys/class/misc/lkvfence: one value a file, readable by anybody but for
 * addresses; the region's values are those of STAT, and the module's are the regions' sums,
 * regions that are gone included.
 */
#include <sys/stat.h>

#include "e2e.h"

#define MODULE	"/sys/class/misc/lkvfence/"
#define REGIONS	MODULE "regions/"

struct file {
	const char *name;
	size_t offset;
	bool counter;	/* which stays when the region is gone */
};

#define GAUGE(m)		{ #m, offsetof(struct lkvfence_stat, m), false }
#define COUNTER(m)		{ #m, offsetof(struct lkvfence_stat, m), true }
#define RELEASED(name, o)	{ "released_" #name, \
	offsetof(struct lkvfence_stat, released[LKVFENCE_OUTCOME_##o]), true }

static const struct file files[] = {
	GAUGE(slots), GAUGE(slots_taken), GAUGE(slots_held),
	GAUGE(slots_quarantined), GAUGE(transfers_alive), GAUGE(transfers_held),
	GAUGE(transfers_quarantined), GAUGE(handles), COUNTER(begun),
	RELEASED(completed, COMPLETED), RELEASED(drained, DRAINED),
	RELEASED(revoked, REVOKED), RELEASED(timeout, TIMEOUT),
	RELEASED(gone, GONE), COUNTER(returns_drained), COUNTER(returns_failed),
	COUNTER(returns_early), COUNTER(returns_stale), COUNTER(returns_unknown),
	COUNTER(returns_duplicate), COUNTER(refused_busy),
	COUNTER(refused_exists), COUNTER(refused_limit), COUNTER(forced),
};

/* Exactly one number in one line; UINT64_MAX if not. */
static uint64_t number_for(mode_t mode, const char *dir, const char *name)
{
	char path[512], text[64], *end;
	struct stat st;
	uint64_t value;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (stat(path, &st) || (st.st_mode & 07777) != mode)
		return UINT64_MAX;
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return UINT64_MAX;
	text[n] = 0;
	value = strtoull(text, &end, 10);
	return end > text && !strcmp(end, "\n") ? value : UINT64_MAX;
}

static uint64_t number(const char *dir, const char *name)
{
	return number_for(0444, dir, name);
}

static uint64_t member(const struct lkvfence_stat *stat, const struct file *file)
{
	uint64_t v;

	memcpy(&v, (const char *)stat + file->offset, sizeof(v));
	return v;
}

/* Something of everything that is counted. */
static void use(struct lkvfence *f, uint32_t times)
{
	struct lkvfence_event e[64];
	struct lkvfence_begin b;
	uint64_t g;

	while (times--) {
		g = begin(f, 1, 0, 8, 2);
		b = want(1, 8, 8, 0);
		lkvfence_begin(f, &b);
		b = want(2, 0, 8, 0);
		lkvfence_begin(f, &b);
		drained(f, g, 1);
		drained(f, g, 1);
		drained(f, g, 9);
		drained(f, g, 2);
		lkvfence_release(f, g);
		drained(f, g, 2);
		g = hold(f, 1, 0, 8, 1, 0, 0);
		drained(f, g, 1);
		g = hold(f, 1, 0, 8, 1, 0, 0);
		lkvfence_drained(f, g, 1, LKVFENCE_EVIDENCE_QP_DESTROYED);
		hold(f, 1, 16, 1, 1, LKVFENCE_POLICY_TAINT, 10);
		g = hold(f, 2, 17, 1, 1, LKVFENCE_POLICY_QUARANTINE, 10);
		lkvfence_failed(f, g, 1);
		need(until(stat_of(f).transfers_quarantined == stat_of(f).transfers_held &&
			   stat_of(f).transfers_held), "deadlines");
		lkvfence_force_release(f, g);
	}
	while (lkvfence_events(f, e, 64, 0) > 0)
		;
	/* What stays. */
	begin(f, 10, 20, 3, 1);
	hold(f, 11, 30, 5, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	need(event(f).type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	hold(f, 12, 40, 7, 1, 0, 0);
}

static void region_files(struct lkvfence *f, const char *dir)
{
	struct lkvfence_stat stat = stat_of(f);
	unsigned int i, zero = 0;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		gives(number(dir, files[i].name), member(&stat, &files[i]),
		      "%s: as STAT tells", files[i].name);
		if (!member(&stat, &files[i]))
			zero++;
	}
	/* STAT and the files have them from one place: what use() left. */
	gives(number(dir, "slots_taken"), 3 + 5 + 7, "slots_taken");
	gives(number(dir, "slots_held"), 5 + 7, "slots_held");
	gives(number(dir, "slots_quarantined"), 5, "slots_quarantined");
	gives(number(dir, "transfers_alive"), 3, "transfers_alive");
	gives(number(dir, "transfers_held"), 2, "transfers_held");
	gives(number(dir, "transfers_quarantined"), 1, "transfers_quarantined");
	/* Too many transfers, and memory gone, were not made to happen. */
	gives(zero, 2, "nearly all of them are above 0");
	gives(number(dir, "slot_size"), 65536, "slot_size");
	gives(number_for(0400, dir, "base"), 0, "base: an address, for root only");
	check(number(dir, "oldest_hold_ns") >= 10 * MS &&
	      number(dir, "oldest_hold_ns") < 3600000 * MS, "oldest_hold_ns");
	check(adds_up(&stat), "begun = alive + released");
}

int main(void)
{
	struct lkvfence *a, *b;
	uint64_t before[ARRAY_SIZE(files)], sums[ARRAY_SIZE(files)];
	struct lkvfence_stat one, two;
	uint64_t oldest;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		before[i] = number(MODULE, files[i].name);
	a = region("sysfs-a", 64);
	b = region("sysfs-b", 128);
	use(a, 1);
	use(b, 2);
	region_files(a, REGIONS "sysfs-a");
	region_files(b, REGIONS "sysfs-b");

	one = stat_of(a);
	two = stat_of(b);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		sums[i] = before[i] + member(&one, &files[i]) + member(&two, &files[i]);
		gives(number(MODULE, files[i].name), sums[i], "%s: the regions' sum",
		      files[i].name);
	}
	gives(number(MODULE, "nr_regions"), 2, "nr_regions");
	gives(number(MODULE, "abi"), LKVFENCE_ABI, "abi");
	check(!strcmp(line_of(MODULE "version"), LKVFENCE_VERSION), "version");
	oldest = number(REGIONS "sysfs-a", "oldest_hold_ns");
	check(oldest <= number(MODULE, "oldest_hold_ns"),
	      "oldest_hold_ns is that of the older one");

	clear(a);
	clear(b);
	one = stat_of(a);
	two = stat_of(b);
	lkvfence_close(a);
	lkvfence_close(b);
	need(until(!number(MODULE, "nr_regions")), "no regions");
	for (i = 0; i < ARRAY_SIZE(files); i++)
		gives(number(MODULE, files[i].name), before[i] + (files[i].counter ?
		      member(&one, &files[i]) + member(&two, &files[i]) : 0),
		      "%s: when the regions are gone", files[i].name);
	gives(number(MODULE, "oldest_hold_ns"), 0, "no hold, no age");
	return done();
}
