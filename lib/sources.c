// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sources that are bound to queue pairs, what their owner says of these, and
 * what a look at the memory found.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

static int fail_unbind(const struct lkvfence *f, int err, uint32_t source)
{
	switch (err) {
	case -EOPNOTSUPP:
		return lkvfence__fail(f, err,
			"unbind: the module can't bind queue pairs on this kernel (lkvfence --version says why), so source %" PRIu32 " has none",
			source);
	case -ENOENT:
		return lkvfence__fail(f, err,
			"unbind: source %" PRIu32 " is not bound", source);
	case -EPERM:
		return lkvfence__fail(f, err,
			"unbind: source %" PRIu32 " was bound by another handle, which is open: only that can unbind it",
			source);
	case -EBUSY:
		return lkvfence__fail(f, err,
			"unbind: source %" PRIu32 " has leases that are not proven quiet: end their transfers and wait until these are released",
			source);
	default:
		return lkvfence__fail_plain(f, err, "unbind");
	}
}

/* Which of the QPs can't be told by the module's answer. */
static int fail_source(const struct lkvfence *f, int err,
		       const struct lkvfence_source *source)
{
	struct lkvfence_info info;

	switch (err) {
	case -EOPNOTSUPP:
		return lkvfence__fail(f, err,
			"source: the module can't bind queue pairs on this kernel (lkvfence --version says why): sources work without, but nothing can be revoked");
	case -ENODEV:
		return lkvfence__fail(f, err,
			"source: no RDMA device of that name in this network namespace (rdma link shows them)");
	case -ENOENT:
		return lkvfence__fail(f, err,
			"source: there is no queue pair of that number on the device (rdma res show qp shows them)");
	case -EPERM:
		return lkvfence__fail(f, err,
			"source: the queue pair belongs to another process: bind it in the process that created it, not in a child");
	case -EPROTONOSUPPORT:
		return lkvfence__fail(f, err,
			"source: only RC and UC queue pairs of InfiniBand and RoCE can be bound");
	case -ENOTCONN:
		return lkvfence__fail(f, err,
			"source: the queue pair is not connected (state RTR or RTS), or is being revoked: connect it first");
	case -EBUSY:
		return lkvfence__fail(f, err,
			"source: source %" PRIu32 " has leases that are not proven quiet: it can be bound anew when their transfers are released",
			source->source);
	case -EEXIST:
		return lkvfence__fail(f, err,
			"source: source %" PRIu32 " was bound by another handle, which is open: sources of different processes need different numbers",
			source->source);
	case -ENOSPC:
		return lkvfence__fail(f, err,
			"source: the region has as many bound sources as it may have (parameter max_sources of module lkvfence)");
	case -ERANGE:
		if (lkvfence__limits(f, &info))
			return lkvfence__fail(f, err,
				"source: nr_qps is %" PRIu32 ", the module takes %" PRIu32,
				source->nr_qps, info.max_qps);
		break;
	case -EINVAL:
		if (source->flags & ~LKVFENCE_SOURCE_FLAGS)
			return lkvfence__fail(f, err,
				"source: unknown flags 0x%" PRIx32,
				source->flags & ~LKVFENCE_SOURCE_FLAGS);
		if (source->flags & LKVFENCE_SOURCE_UNBIND)
			return lkvfence__fail(f, err,
				"unbind: nr_qps is %" PRIu32 ": it must be 0, for the source will have none",
				source->nr_qps);
		if (!source->nr_qps)
			return lkvfence__fail(f, err,
				"source: no queue pairs: nr_qps must be at least 1");
		return lkvfence__fail(f, err,
			"source: padding that is not 0, a name that doesn't end in NUL, or a queue pair that is named twice");
	}
	return lkvfence__fail_plain(f, err, "source");
}

int lkvfence_source(struct lkvfence *f, struct lkvfence_source *source)
{
	int err;

	source->size = sizeof(*source);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_SOURCE, source);
	if (!err)
		return 0;
	if (source->flags & LKVFENCE_SOURCE_UNBIND && err != -EINVAL)
		return fail_unbind(f, err, source->source);
	return fail_source(f, err, source);
}

int lkvfence_unbind(struct lkvfence *f, uint32_t source)
{
	struct lkvfence_source unbind = {
		.flags = LKVFENCE_SOURCE_UNBIND,
		.source = source,
	};

	return lkvfence_source(f, &unbind);
}

int lkvfence_query_source(struct lkvfence *f, struct lkvfence_query_source *query)
{
	struct lkvfence_info info;
	int err;

	query->size = sizeof(*query);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_QUERY_SOURCE, query);
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return lkvfence__fail(f, err,
			query->flags & LKVFENCE_QUERY_SOURCE_FROM ?
			"query_source: no source from %" PRIu32 " on is bound" :
			"query_source: source %" PRIu32 " is not bound",
			query->source);
	case -ERANGE:
		if (lkvfence__limits(f, &info))
			return lkvfence__fail(f, err,
				"query_source: nr_qps is %" PRIu32 ", the module takes %" PRIu32,
				query->nr_qps, info.max_qps);
		break;
	}
	return lkvfence__fail_plain(f, err, "query_source");
}

int lkvfence_quiet(struct lkvfence *f, uint64_t binding, uint32_t qp,
		   enum lkvfence_evidence evidence)
{
	struct lkvfence_quiet quiet = {
		.size = sizeof(quiet),
		.binding = binding,
		.qp = qp,
		.evidence = evidence,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_QUIET, &quiet);

	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return lkvfence__fail(f, err,
			"quiet: this handle has no binding %" PRIu64 ", or not any more",
			binding);
	case -ERANGE:
		return lkvfence__fail(f, err,
			"quiet: binding %" PRIu64 " has no queue pair %" PRIu32,
			binding, qp);
	case -EBUSY:
		return lkvfence__fail(f, err,
			"quiet: %s of binding %" PRIu64 " is not so: the queue pair is there, or not in the error state",
			lkvfence_evidence_name(evidence), binding);
	case -EALREADY:
		return lkvfence__fail(f, err,
			"quiet: that queue pair of binding %" PRIu64 " is quiet already: nothing changed",
			binding);
	case -EINVAL:
		return lkvfence__fail(f, err,
			"quiet: evidence %u (%s) says nothing of a queue pair",
			(unsigned int)evidence, lkvfence_evidence_name(evidence));
	case -EOPNOTSUPP:
		return lkvfence__fail_evidence(f, "quiet", evidence);
	default:
		return lkvfence__fail_plain(f, err, "quiet");
	}
}

int lkvfence_report(struct lkvfence *f, uint64_t generation,
		    enum lkvfence_report_kind kind, uint32_t nr_slots)
{
	struct lkvfence_report report = {
		.size = sizeof(report),
		.generation = generation,
		.kind = kind,
		.nr_slots = nr_slots,
	};
	int err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_REPORT, &report);

	if (!err)
		return 0;
	if (err == -EINVAL && !nr_slots)
		return lkvfence__fail(f, err,
			"report: no slots: nr_slots must be at least 1");
	if (err == -EINVAL)
		return lkvfence__fail(f, err, "report: unknown kind %u",
				      (unsigned int)kind);
	return lkvfence__fail_generation(f, err, "report", generation);
}
