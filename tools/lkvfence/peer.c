// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence peer: which peers are healthy, failed, and probed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

static void print_claim(const struct lkvfence_peer *p)
{
	int64_t in = (int64_t)(p->next_probe_ns - p->now_ns);

	if (p->pid) {
		print_u64("prober", " probed by %s", p->pid);
		print_ns("probe_in_ns", in > 0 ? ", others in %s" : NULL, in);
	} else if (p->state == LKVFENCE_PEER_FAILED) {
		print_null("prober");
		print_ns("probe_in_ns", in > 0 ? " next probe in %s" : NULL, in);
		if (in <= 0)
			print_text(" to be probed");
	} else {
		print_null("prober");
		print_null("probe_in_ns");
	}
}

static void print_peer(const struct lkvfence_peer *p)
{
	print_object(NULL);
	print_string("name", "peer %s", p->name);
	print_u64("id", " id %s", p->id);
	print_u64("uid", " uid %s", p->uid);
	print_string("state", " state %s", lkvfence_peer_state_name(p->state));
	print_ns("for_ns", " for %s", p->now_ns - p->since_ns);
	print_claim(p);
	print_id("session", p->session ? " session %s" : NULL, p->session);
	print_id("generation", " generation %s", p->generation);
	print_u64("sessions", " sessions %s", p->sessions);
	print_u64("failures", " failures %s", p->failures);
	print_u64("recoveries", " recoveries %s", p->recoveries);
	print_u64("probes", " probes %s", p->probes);
	print_u64("refused", " refused %s", p->refused);
	print_u64("stale", " stale %s", p->stale);
	print_text("\n");
	print_end();
}

/*
 * Peers are a user's, and a region is only the way to them: those of one whose
 * peers were shown by way of another region aren't shown again.
 */
struct shown {
	uint32_t *uids;
	size_t nr;
	bool all;
};

static bool is_shown(const struct shown *shown, uint32_t uid)
{
	size_t i;

	for (i = 0; i < shown->nr; i++) {
		if (shown->uids[i] == uid)
			return true;
	}
	return false;
}

static int add_shown(struct shown *shown, uint32_t uid)
{
	uint32_t *uids = realloc(shown->uids, (shown->nr + 1) * sizeof(*uids));

	if (!uids)
		return -ENOMEM;
	uids[shown->nr++] = uid;
	shown->uids = uids;
	return 0;
}

/* Numbers only go up, so that the walk comes to an end. */
static int walk(struct lkvfence *f, uint32_t flags, struct shown *shown)
{
	struct lkvfence_peer p = { .flags = LKVFENCE_PEER_NEXT | flags };
	bool first = true;
	int err;

	for (;;) {
		err = lkvfence_peer(f, &p);
		if (err)
			return err == -ENOENT ? 0 : err;
		if (first && !flags) {
			if (is_shown(shown, p.uid))
				return 0;
			err = add_shown(shown, p.uid);
			if (err)
				return err;
		}
		first = false;
		print_peer(&p);
	}
}

static int show_region(const char *region, bool asked, void *data)
{
	struct shown *shown = data;
	struct lkvfence *f;
	int err;

	if (shown->all)
		return TOOL_OK;
	err = tool_open(&f, region);
	if (err == -ENOENT && !asked)
		return TOOL_OK;
	if (err)
		return tool_refused(err);
	err = -EPERM;
	if (!asked) {
		err = walk(f, LKVFENCE_PEER_ALL, shown);
		shown->all = !err;
	}
	if (err == -EPERM)
		err = walk(f, 0, shown);
	if (err == -ENOMEM)
		err = tool_fail("no memory");
	else if (err)
		err = tool_refused(err);
	lkvfence_close(f);
	return err;
}

int peer_command(const struct options *opt, int argc, char **argv)
{
	struct lkvfence_info info = { 0 };
	struct shown shown = { 0 };
	int err, ret;

	if (argc)
		return tool_usage("peer takes no \"%s\"", argv[0]);
	print_array(NULL);
	err = lkvfence_info(&info);
	if (err)
		return tool_refused(err);
	if (!opt->region && !sysfs_present())
		return tool_no_sysfs();
	ret = region_each(opt->region, show_region, &shown);
	print_end();
	free(shown.uids);
	return ret;
}

void peers_print(void)
{
	static const char * const names[] = {
		"peers", "peers_failed", "peer_failures", "peer_recoveries",
		"peer_refused",
	};
	uint64_t values[5] = { 0 };
	bool known = true;
	size_t i;

	for (i = 0; i < 5; i++) {
		if (sysfs_u64(NULL, names[i], &values[i]))
			known = false;
		else
			print_u64(names[i], NULL, values[i]);
	}
	if (known && (values[0] || values[2]))
		print_text("peers: %" PRIu64 ", %" PRIu64 " failed now; %" PRIu64
			   " failures, %" PRIu64 " recoveries, %" PRIu64
			   " launches refused\n", values[0], values[1],
			   values[2], values[3], values[4]);
}
