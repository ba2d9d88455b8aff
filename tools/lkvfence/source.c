// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence source: who is bound to which queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

/* Text from outside; the kernel's is terminated, this doesn't depend on it. */
static void print_name(const char *key, const char *text, const char *name,
		       size_t size)
{
	char copy[65];

	if (size > sizeof(copy) - 1)
		size = sizeof(copy) - 1;
	memcpy(copy, name, size);
	copy[size] = '\0';
	print_string(key, *copy ? text : NULL, copy);
}

static void print_qps(const struct lkvfence_qp *qps, uint32_t nr)
{
	uint32_t i;

	print_array("qps");
	for (i = 0; i < nr; i++) {
		print_object(NULL);
		print_name("device", i ? ",%s" : " qps %s", qps[i].device,
			   sizeof(qps[i].device));
		print_u64("number", "/%s", qps[i].number);
		print_string("state", qps[i].state == LKVFENCE_QP_OPEN ? NULL : "(%s)",
			     lkvfence_qp_state_name(qps[i].state));
		print_end();
	}
	print_end();
}

static void print_source(const char *region,
			 const struct lkvfence_query_source *q,
			 const struct lkvfence_qp *qps, uint32_t room)
{
	print_object(NULL);
	print_string("region", "%s", region);
	print_u64("source", " source %s", q->source);
	print_name("peer", " peer %s", q->peer, sizeof(q->peer));
	print_string("state", " state %s", lkvfence_source_state_name(q->state));
	print_id("binding", " binding %s", q->binding);
	print_u64("leases_out", " leases out %s", q->leases_out);
	print_qps(qps, q->nr_qps < room ? q->nr_qps : room);
	print_u64("pid", " pid %s", q->pid);
	print_text("\n");
	print_end();
}

static int show_sources(struct lkvfence *f, const char *region,
			struct lkvfence_qp *qps, uint32_t room)
{
	struct lkvfence_query_source q;
	uint64_t next = 0;
	int err;

	/* Numbers only go up, so that the walk comes to an end. */
	while (next <= UINT32_MAX) {
		q = (struct lkvfence_query_source){
			.flags = LKVFENCE_QUERY_SOURCE_FROM,
			.source = next,
			.qps = (uintptr_t)qps,
			.nr_qps = room,
		};
		err = lkvfence_query_source(f, &q);
		if (err)
			return err == -ENOENT ? 0 : err;
		print_source(region, &q, qps, room);
		next = (uint64_t)q.source + 1;
	}
	return 0;
}

struct room {
	struct lkvfence_qp *qps;
	uint32_t nr;
};

static int show_region(const char *region, bool asked, void *data)
{
	struct room *room = data;
	struct lkvfence *f;
	int err;

	err = tool_open(&f, region);
	if (err == -ENOENT && !asked)
		return TOOL_OK;
	if (err)
		return tool_refused(err);
	err = show_sources(f, region, room->qps, room->nr);
	err = err ? tool_refused(err) : TOOL_OK;
	lkvfence_close(f);
	return err;
}

int source_command(const struct options *opt, int argc, char **argv)
{
	struct lkvfence_info info = { 0 };
	struct room room;
	int err, ret;

	if (argc)
		return tool_usage("source takes no \"%s\"", argv[0]);
	print_array(NULL);
	err = lkvfence_info(&info);
	if (err)
		return tool_refused(err);
	if (!opt->region && !sysfs_present())
		return tool_no_sysfs();
	room.nr = info.max_qps;
	room.qps = calloc(info.max_qps, sizeof(*room.qps));
	if (!room.qps && info.max_qps)
		return tool_fail("%s", strerror(ENOMEM));
	ret = region_each(opt->region, show_region, &room);
	print_end();
	free(room.qps);
	return ret;
}
