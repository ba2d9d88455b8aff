// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence transfer: who holds which slots; and release, for quarantine. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

/* In a list, a line shows so many ranges and sources; of a single one, all. */
#define LIST_MAX 8

/* A transfer as QUERY tells it, with room that grows and is used again. */
struct view {
	struct lkvfence_query q;
	struct lkvfence_range *ranges;
	struct lkvfence_lease *leases;
	uint32_t room_ranges;
	uint32_t room_leases;
};

struct search {
	const struct options *opt;
	uint64_t generation;	/* or 0 */
	bool found;
	bool refused;		/* a region didn't let us look */
	struct view view;
};

static int grow(void **array, uint32_t *room, uint32_t needed, size_t size)
{
	void *bigger;

	if (needed <= *room)
		return 0;
	bigger = reallocarray(*array, needed, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = needed;
	return 0;
}

static int query_once(struct lkvfence *f, struct view *view, uint32_t by,
		      const struct lkvfence_query *key)
{
	view->q = (struct lkvfence_query){
		.by = by,
		.generation = key->generation,
		.tag = key->tag,
		.slot = key->slot,
		.ranges = (uintptr_t)view->ranges,
		.leases = (uintptr_t)view->leases,
		.nr_ranges = view->room_ranges,
		.nr_leases = view->room_leases,
	};
	return lkvfence_query(f, &view->q);
}

/*
 * 0 with the whole of it in @view; -errno. Leases may be added between two
 * looks, so that room which was enough is too little again; max_leases ends
 * that. Once found, it is named by its generation, or a tag's next transfer
 * might be mixed into it.
 */
static int query(struct lkvfence *f, struct view *view, uint32_t by,
		 struct lkvfence_query key)
{
	int err;

	for (;;) {
		err = query_once(f, view, by, &key);
		if (err)
			return err;
		if (view->q.nr_ranges <= view->room_ranges &&
		    view->q.nr_leases <= view->room_leases)
			return 0;
		if (grow((void **)&view->ranges, &view->room_ranges,
			 view->q.nr_ranges, sizeof(*view->ranges)) ||
		    grow((void **)&view->leases, &view->room_leases,
			 view->q.nr_leases, sizeof(*view->leases)))
			return -ENOMEM;
		by = LKVFENCE_QUERY_GENERATION;
		key.generation = view->q.generation;
	}
}

static void print_ranges(const struct view *view, uint32_t max)
{
	uint32_t i;

	print_u64("nr_slots", " slots %s [", view->q.nr_slots);
	print_array("ranges");
	for (i = 0; i < view->q.nr_ranges; i++) {
		const struct lkvfence_range *r = &view->ranges[i];

		print_object(NULL);
		print_u64("first", NULL, r->first);
		print_u64("count", NULL, r->count);
		print_end();
		if (i >= max)
			continue;
		print_text("%s%u", i ? "," : "", r->first);
		if (r->count > 1)
			print_text("-%u", r->first + (r->count - 1));
	}
	print_end();
	if (view->q.nr_ranges > max)
		print_text(",... %u more", view->q.nr_ranges - max);
	print_text("]");
}

static void print_leases(const struct view *view, uint32_t max)
{
	uint32_t i, shown = 0, out = 0;

	if (view->q.leases_out)
		print_text(" waiting for ");
	else if (view->q.flags & LKVFENCE_TRANSFER_GATHERED)
		print_text(" waiting for its group");
	print_array("leases");
	for (i = 0; i < view->q.nr_leases; i++) {
		const struct lkvfence_lease *l = &view->leases[i];

		print_object(NULL);
		print_u64("source", NULL, l->source);
		print_string("state", NULL,
			     lkvfence_lease_state_name(l->state));
		print_string("evidence", NULL,
			     lkvfence_evidence_name(l->evidence));
		print_end();
		if (l->state == LKVFENCE_LEASE_DRAINED ||
		    l->state == LKVFENCE_LEASE_REVOKED)
			continue;
		out++;
		if (shown == max)
			continue;
		print_text("%s%u%s", shown ? "," : "", l->source,
			   l->state == LKVFENCE_LEASE_FAILED ? "(failed)" : "");
		shown++;
	}
	print_end();
	if (out > shown)
		print_text(",... %u more", out - shown);
	print_u64("leases_out", " leases out %s", view->q.leases_out);
	print_u64("nr_leases", " of %s", view->q.nr_leases);
}

static void print_times(const struct lkvfence_query *q)
{
	int64_t left = (int64_t)(q->deadline_ns - q->now_ns);

	print_ns("age_ns", " age %s", (int64_t)(q->now_ns - q->begun_ns));
	if (q->ended_ns)
		print_ns("held_ns", " held %s",
			 (int64_t)(q->now_ns - q->ended_ns));
	else
		print_null("held_ns");
	if (!q->deadline_ns)
		print_null("deadline_in_ns");
	else if (!q->ended_ns)
		print_ns("deadline_in_ns", left < 0 ?
			 " expired %s ago" : " expires in %s", left);
	else
		print_ns("deadline_in_ns", left < 0 ?
			 " deadline %s ago" : " deadline in %s", left);
}

static void print_transfer(const char *region, const struct view *view,
			   bool all)
{
	const struct lkvfence_query *q = &view->q;
	uint32_t max = all ? UINT32_MAX : LIST_MAX;
	char comm[LKVFENCE_COMM_LEN + 1];

	/* the kernel's is terminated; this doesn't depend on it */
	memcpy(comm, q->comm, LKVFENCE_COMM_LEN);
	comm[LKVFENCE_COMM_LEN] = '\0';

	print_object(NULL);
	print_string("region", "%s", region);
	print_id("generation", " generation %s", q->generation);
	print_id("tag", " tag %s", q->tag);
	print_string("state", " state %s", lkvfence_state_name(q->state));
	print_bool("offered", " offered",
		   q->flags & LKVFENCE_TRANSFER_OFFERED);
	print_bool("grouped", " grouped",
		   q->flags & LKVFENCE_TRANSFER_GROUPED);
	print_bool("gathered", NULL,
		   q->flags & LKVFENCE_TRANSFER_GATHERED);
	print_bool("quarantined", " quarantined",
		   q->flags & LKVFENCE_TRANSFER_QUARANTINED);
	print_bool("orphaned", " orphaned",
		   q->flags & LKVFENCE_TRANSFER_ORPHANED);
	print_bool("revoking", " revoking",
		   q->flags & LKVFENCE_TRANSFER_REVOKING);
	print_bool("revocable", NULL,
		   q->flags & LKVFENCE_TRANSFER_REVOCABLE);
	print_string("reason", q->reason ? " reason %s" : NULL,
		     lkvfence_reason_name(q->reason));
	print_string("policy", " policy %s", lkvfence_policy_name(q->policy));
	print_times(q);
	print_ranges(view, max);
	print_leases(view, max);
	print_u64("pid", " pid %s", q->pid);
	print_string("comm", " comm %s", comm);
	print_text("\n");
	print_end();
}

/* Released in the meantime, or of another region: not here. */
static bool not_here(int err)
{
	return err == -ENOENT || err == -ESTALE;
}

static int show_one(struct lkvfence *f, const char *region,
		    struct search *search)
{
	struct lkvfence_query key = {
		.generation = search->generation,
		.slot = search->opt->slot,
	};
	int err;

	err = query(f, &search->view, (search->opt->given & OPTION_SLOT) ?
		    LKVFENCE_QUERY_SLOT : LKVFENCE_QUERY_GENERATION, key);
	if (!err) {
		print_transfer(region, &search->view, true);
		search->found = true;
	}
	return err;
}

/*
 * Walks all transfers. One of them that is released between two looks at it
 * is passed over; generations only go up, so that the walk comes to an end.
 */
static int show_all(struct lkvfence *f, const char *region,
		    struct search *search)
{
	const struct options *opt = search->opt;
	struct lkvfence_query key = { 0 };
	int err;

	for (;;) {
		err = query(f, &search->view, LKVFENCE_QUERY_NEXT, key);
		key.generation = search->view.q.generation;
		if (err == -ESTALE)
			continue;
		if (err)
			return err == -ENOENT ? 0 : err;
		if (opt->given & OPTION_TAG && search->view.q.tag != opt->tag)
			continue;
		print_transfer(region, &search->view, opt->given & OPTION_TAG);
		search->found = true;
	}
}

static int show_region(const char *region, bool asked, void *data)
{
	struct search *search = data;
	bool one = search->generation || search->opt->given & OPTION_SLOT;
	struct lkvfence *f;
	int err;

	/* a generation is given once: when it is found, the search is over */
	if (search->generation && search->found)
		return TOOL_OK;
	err = tool_open(&f, region);
	if (err == -ENOENT && !asked)
		return TOOL_OK;
	if (err) {
		search->refused = true;
		return tool_refused(err);
	}
	err = one ? show_one(f, region, search) : show_all(f, region, search);
	if (err && (asked || !(one && (not_here(err) || err == -ERANGE)))) {
		search->refused = true;
		err = tool_refused(err);
	} else {
		err = TOOL_OK;
	}
	lkvfence_close(f);
	return err;
}

/* Where one was asked for and no region said why it has none. */
static int not_found(const struct search *search)
{
	const struct options *opt = search->opt;

	if (search->found || search->refused)
		return TOOL_OK;
	if (opt->given & OPTION_SLOT)
		return tool_fail("no transfer has slot %u", opt->slot);
	if (opt->given & OPTION_TAG)
		return tool_fail("no transfer has tag %" PRIu64, opt->tag);
	if (search->generation)
		return tool_fail("no transfer has generation %" PRIu64
				 ": it is released, or never was",
				 search->generation);
	return TOOL_OK;
}

int transfer_command(const struct options *opt, int argc, char **argv)
{
	struct search search = { .opt = opt };
	struct lkvfence_info info = { 0 };
	int err, ret;

	if (argc + !!(opt->given & OPTION_TAG) + !!(opt->given & OPTION_SLOT) > 1)
		return tool_usage("one of GENERATION, --tag and --slot");
	if (argc && (!tool_number(argv[0], UINT64_MAX, &search.generation) ||
		     !search.generation))
		return tool_usage("\"%s\" is no generation", argv[0]);
	print_array(NULL);
	/* once here, not for each region */
	err = lkvfence_info(&info);
	if (err)
		return tool_refused(err);
	if (!opt->region && !sysfs_present())
		return tool_no_sysfs();
	ret = region_each(opt->region, show_region, &search);
	ret = tool_worse(ret, not_found(&search));
	print_end();
	free(search.view.ranges);
	free(search.view.leases);
	return ret;
}

static int release_one(struct lkvfence *f, const char *region,
		       uint64_t generation)
{
	int err;

	err = lkvfence_force_release(f, generation);
	print_object(NULL);
	print_string("region", NULL, region);
	if (err)
		print_id("generation", NULL, generation);
	else
		print_id("generation", "generation %s released without proof\n",
			 generation);
	print_bool("released", NULL, !err);
	if (err)
		print_string("error", NULL, lkvfence_errmsg());
	print_end();
	if (!err)
		return TOOL_OK;
	return tool_refused(err);
}

int release_command(const struct options *opt, int argc, char **argv)
{
	int i, err, ret = TOOL_OK;
	struct lkvfence *f;
	uint64_t generation;

	if (!opt->region)
		return tool_usage("release needs --region NAME");
	if (!argc)
		return tool_usage("release needs a generation");
	/* all or none are tried */
	for (i = 0; i < argc; i++)
		if (!tool_number(argv[i], UINT64_MAX, &generation))
			return tool_usage("\"%s\" is no generation", argv[i]);
	print_array(NULL);
	err = tool_open(&f, opt->region);
	if (err)
		return tool_refused(err);
	for (i = 0; i < argc; i++) {
		tool_number(argv[i], UINT64_MAX, &generation);
		ret = tool_worse(ret, release_one(f, opt->region, generation));
	}
	print_end();
	lkvfence_close(f);
	return ret;
}
