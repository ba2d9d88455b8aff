// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * /sys/class/misc/lkvfence: one value a file, readable by anybody but for
 * addresses; the region's values are those of STAT, and the module's are the regions' sums,
 * regions that are gone included.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "e2e.h"

#define MODULE	"/sys/class/misc/lkvfence/"
#define REGIONS	MODULE "regions/"

struct file {
	const char *name;
	size_t offset;
	bool counter;	/* which stays when the region is gone */
	bool idle;	/* it takes QPs, or too many of something: 0 here */
};

#define AT(m)			offsetof(struct lkvfence_stat, m)
#define GAUGE(m)		{ #m, AT(m), false, false }
#define COUNTER(m)		{ #m, AT(m), true, false }
#define IDLE(m)			{ #m, AT(m), true, true }
#define RELEASED(name, o)	{ "released_" #name, AT(released[LKVFENCE_OUTCOME_##o]), \
				  true, LKVFENCE_OUTCOME_##o == LKVFENCE_OUTCOME_GONE }
#define EVIDENCE(name, e, idle)	{ "evidence_" #name, AT(evidence[LKVFENCE_EVIDENCE_##e]), \
				  true, idle }

static const struct file files[] = {
	GAUGE(slots), GAUGE(slots_taken), GAUGE(slots_held),
	GAUGE(slots_quarantined), GAUGE(transfers_alive), GAUGE(transfers_held),
	GAUGE(transfers_quarantined), GAUGE(handles), COUNTER(begun),
	RELEASED(completed, COMPLETED), RELEASED(drained, DRAINED),
	RELEASED(revoked, REVOKED), RELEASED(timeout, TIMEOUT),
	RELEASED(gone, GONE), COUNTER(returns_drained), COUNTER(returns_failed),
	COUNTER(returns_early), COUNTER(returns_stale), COUNTER(returns_unknown),
	COUNTER(returns_duplicate), COUNTER(refused_busy),
	COUNTER(refused_exists), IDLE(refused_limit), COUNTER(forced),
	COUNTER(returns_revoked), COUNTER(returns_unaccepted), IDLE(refused_revoked),
	IDLE(revokes), COUNTER(revokes_failed), EVIDENCE(timeout, TIMEOUT, false),
	EVIDENCE(qp_err_settled, QP_ERR_SETTLED, true),
	EVIDENCE(success_cqe, SUCCESS_CQE, false), EVIDENCE(in_band, IN_BAND, true),
	EVIDENCE(timeline, TIMELINE, true), EVIDENCE(rq_flushed, RQ_FLUSHED, false),
	EVIDENCE(mw_invalidated, MW_INVALIDATED, false),
	EVIDENCE(qp_destroyed, QP_DESTROYED, false),
	EVIDENCE(mr_deregistered, MR_DEREGISTERED, false),
	EVIDENCE(backing_gone, BACKING_GONE, true), IDLE(sources), IDLE(sources_revoked),
	IDLE(sources_lost), COUNTER(strays), COUNTER(strays_late), COUNTER(mismatches),
	GAUGE(transfers_ready), GAUGE(tickets), GAUGE(tombstones), COUNTER(pulls),
	COUNTER(pulls_granted), COUNTER(pulls_refused), COUNTER(pulls_closed),
	COUNTER(refused_early),
};

/* Beside these. */
static const char * const region_only[] = { "slot_size", "base", "oldest_hold_ns" };
static const char * const module_only[] = {
	"oldest_hold_ns", "abi", "version", "nr_regions", "features",
	/* of every device, and our own folders */
	"dev", "uevent", "power", "subsystem", "objects", "regions",
};

static bool is_among(const char *name, const char * const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* A file that this test doesn't know is one that it doesn't look at. */
static void no_others(const char *path, const char * const *others, size_t nr)
{
	DIR *dir = opendir(path);
	unsigned int unknown = 0;
	struct dirent *entry;
	size_t i;

	need(dir, "opendir %s", path);
	while ((entry = readdir(dir))) {
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			if (!strcmp(entry->d_name, files[i].name))
				break;
		}
		if (i < ARRAY_SIZE(files) || entry->d_name[0] == '.' ||
		    is_among(entry->d_name, others, nr))
			continue;
		unknown++;
		note("%s%s", path, entry->d_name);
	}
	closedir(dir);
	gives(unknown, 0, "%s has no other files", path);
}

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

/* A pull that waits, if it is asked, for longer than this test runs. */
static uint64_t pull(struct lkvfence *f, uint64_t tag)
{
	struct lkvfence_pull p = {
		.tag = tag, .source = 7, .timeout_ns = 3600000 * MS,
		.unclaimed_ns = 3600000 * MS,
	};

	need(!lkvfence_pull(f, &p), "PULL");
	return p.ticket;
}

/* Pulls that are granted, refused and closed; and an offer that comes too late. */
static void use_pulls(struct lkvfence *f, const char *name, uint64_t tag)
{
	struct lkvfence_ready r = { .consumers = 1 };
	struct lkvfence_begin b = want(3, 60, 1, 0);
	struct lkvfence *other = region(name, 0);

	need(!lkvfence_offer(f, &b), "an offer");
	r.generation = b.generation;
	need(!lkvfence_ready(f, &r), "READY");
	pull(f, 3);
	need(!drained(f, b.generation, 7), "all have taken it");
	need(!lkvfence_withdraw(f, pull(f, 3)), "WITHDRAW");
	pull(other, 3);
	lkvfence_close(other);
	need(!lkvfence_abort_early(f, tag, 0), "ABORT");
	b = want(tag, 60, 1, 0);
	need(lkvfence_offer(f, &b) == -ECANCELED, "an offer that was aborted");
}

/* The ticket of a pull that waits, in each region. */
static uint64_t stays[2];

/* Something of everything that is counted. */
static void use(struct lkvfence *f, uint32_t times)
{
	uint64_t *ticket = &stays[times - 1];
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
		g = hold(f, 1, 0, 8, 4, 0, 0);
		lkvfence_drained(f, g, 1, LKVFENCE_EVIDENCE_IN_BAND);
		lkvfence_revoked(f, g, 1, LKVFENCE_EVIDENCE_QP_DESTROYED);
		lkvfence_revoked(f, g, 2, LKVFENCE_EVIDENCE_RQ_FLUSHED);
		lkvfence_revoked(f, g, 3, LKVFENCE_EVIDENCE_MW_INVALIDATED);
		lkvfence_revoked(f, g, 4, LKVFENCE_EVIDENCE_MR_DEREGISTERED);
		lkvfence_report(f, g, LKVFENCE_REPORT_STRAY, 1);
		lkvfence_report(f, g, LKVFENCE_REPORT_STRAY_LATE, 1);
		lkvfence_report(f, g, LKVFENCE_REPORT_MISMATCH, 1);
		hold(f, 1, 16, 1, 1, LKVFENCE_POLICY_TAINT | LKVFENCE_POLICY_REVOKE, 10);
		g = hold(f, 2, 17, 1, 1, LKVFENCE_POLICY_QUARANTINE, 10);
		lkvfence_failed(f, g, 1);
		need(until(stat_of(f).transfers_quarantined == stat_of(f).transfers_held &&
			   stat_of(f).transfers_held), "deadlines");
		lkvfence_force_release(f, g);
		use_pulls(f, stat_of(f).name, 100 + times);
	}
	while (lkvfence_events(f, e, 64, 0) > 0)
		;
	/* What stays. */
	b = want(13, 50, 2, 1);
	need(!lkvfence_offer(f, &b), "an offer");
	need(!lkvfence_ready(f, &(struct lkvfence_ready){ .generation = b.generation }),
	     "READY");
	*ticket = pull(f, 14);
	begin(f, 10, 20, 3, 1);
	hold(f, 11, 30, 5, 1, LKVFENCE_POLICY_QUARANTINE, 10);
	need(event(f).type == LKVFENCE_EVENT_QUARANTINED, "quarantine");
	hold(f, 12, 40, 7, 1, 0, 0);
}

static void region_files(struct lkvfence *f, const char *dir, unsigned int times)
{
	struct lkvfence_stat stat = stat_of(f);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		gives(number(dir, files[i].name), member(&stat, &files[i]),
		      "%s: as STAT tells", files[i].name);
		check(!member(&stat, &files[i]) == files[i].idle, "%s: %s 0",
		      files[i].name, files[i].idle ? "is" : "is above");
	}
	/* STAT and the files have them from one place: what use() left. */
	gives(number(dir, "slots_taken"), 2 + 3 + 5 + 7, "slots_taken");
	gives(number(dir, "slots_held"), 5 + 7, "slots_held");
	gives(number(dir, "slots_quarantined"), 5, "slots_quarantined");
	gives(number(dir, "transfers_alive"), 4, "transfers_alive");
	gives(number(dir, "transfers_held"), 2, "transfers_held");
	gives(number(dir, "transfers_quarantined"), 1, "transfers_quarantined");
	gives(number(dir, "transfers_ready"), 1, "transfers_ready");
	gives(number(dir, "tickets"), 1, "tickets");
	gives(number(dir, "tombstones"), times, "tombstones: of tags that were aborted early");
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
	/* Something that is not accepted is counted, too. */
	a = region_of("sysfs-a", 64, LKVFENCE_ACCEPT_ALL & ~(1 << LKVFENCE_EVIDENCE_IN_BAND));
	b = region_of("sysfs-b", 128, LKVFENCE_ACCEPT_ALL & ~(1 << LKVFENCE_EVIDENCE_IN_BAND));
	use(a, 1);
	use(b, 2);
	region_files(a, REGIONS "sysfs-a", 1);
	region_files(b, REGIONS "sysfs-b", 2);
	no_others(REGIONS "sysfs-a/", region_only, ARRAY_SIZE(region_only));
	no_others(MODULE, module_only, ARRAY_SIZE(module_only));

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
	check(!strcmp(line_of(MODULE "features"), can_revoke() ? "qp" : ""), "features");
	oldest = number(REGIONS "sysfs-a", "oldest_hold_ns");
	check(oldest <= number(MODULE, "oldest_hold_ns"),
	      "oldest_hold_ns is that of the older one");

	clear(a);
	clear(b);
	need(!lkvfence_withdraw(a, stays[0]) && !lkvfence_withdraw(b, stays[1]), "WITHDRAW");
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
