// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What SOURCE, QUIET and QUERY_SOURCE refuse where this process has no queue
 * pair. Nothing is bound by that, and nothing changes. Where INFO lacks the
 * feature SOURCE says so, whatever it is asked to bind.
 */
#include <sched.h>

#include "e2e.h"

#define DEVICE	"rxe0"
/* The device's own QP for management, as the kernel finds it: port 1, QP 1. */
#define KERNELS	0x01000001

static struct lkvfence *f;
static struct lkvfence_stat before;

static struct lkvfence_qp qp(const char *device, uint32_t number)
{
	struct lkvfence_qp q = { .number = number };

	memcpy(q.device, device, strlen(device));
	return q;
}

static int bind_qps(struct lkvfence_qp *qps, uint32_t nr)
{
	struct lkvfence_source s = {
		.source = 7,
		.qps = (uintptr_t)qps,
		.nr_qps = nr,
		.peer = "prefill-1",
	};

	return lkvfence_source(f, &s);
}

static void refused(struct lkvfence_qp q, int err, const char *what)
{
	gives(bind_qps(&q, 1), err, "%s", what);
	unchanged(f, &before, "%s: nothing has changed", what);
}

static bool have_device(void)
{
	return !access("/sys/class/infiniband/" DEVICE, F_OK);
}

static void no_such_qp(void)
{
	struct lkvfence_qp qps[2] = { qp(DEVICE, 0x123456), qp("nowhere0", 17) };
	struct lkvfence_qp q;

	refused(qp("nowhere0", 17), -ENODEV, "a device that isn't there");
	refused(qp("", 17), -ENODEV, "a device without a name");
	refused(qp("rxe", 17), -ENODEV, "the beginning of a name");
	refused(qp("rxe00", 17), -ENODEV, "more than a name");
	q = qp("nowhere0", 17);
	q.state = LKVFENCE_QP_OPEN;
	refused(q, -EINVAL, "a QP with a state");
	memset(q.device, 'x', sizeof(q.device));
	q.state = 0;
	refused(q, -EINVAL, "a name that doesn't end");
	if (!have_device()) {
		skip("no " DEVICE " here", "QPs that aren't there");
		return;
	}
	refused(qp(DEVICE, 0x123456), -ENOENT, "a QP that isn't there");
	refused(qp(DEVICE, 0), -ENOENT, "QP 0");
	refused(qp(DEVICE, UINT32_MAX), -ENOENT, "the highest number");
	refused(qp(DEVICE, KERNELS), -EPERM, "a QP of the kernel's own");
	gives(bind_qps(qps, 2), -ENOENT, "two QPs: the first one's error is told");
	unchanged(f, &before, "two QPs: nothing has changed");
}

/* In a network namespace of its own, and devices belong to one of them each. */
static int elsewhere(void *arg)
{
	struct lkvfence_qp q = qp(DEVICE, 0x123456);

	(void)arg;
	if (unshare(CLONE_NEWNET))
		return 1;
	return -bind_qps(&q, 1);
}

static void other_namespace(void)
{
	if (!have_device() || system("rdma system set netns exclusive")) {
		skip("devices can't be kept to a namespace here", "another namespace");
		return;
	}
	gives(in_child(elsewhere, NULL), ENODEV, "a device of another network namespace");
	need(!system("rdma system set netns shared"), "devices for all namespaces");
	gives(in_child(elsewhere, NULL), ENOENT, "where it is for all namespaces it is found");
}

/* Arguments that make no sense, before anything is looked for. */
static void arguments(void)
{
	struct lkvfence_qp qps[65];
	struct lkvfence_source s = { .source = 7, .nr_qps = 1, .qps = (uintptr_t)qps };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(qps); i++)
		qps[i] = qp("nowhere0", i);
	gives(bind_qps(qps, 0), -EINVAL, "no QPs");
	gives(bind_qps(qps, 65), -ERANGE, "one more than max_qps");
	gives(bind_qps(qps, 64), -ENODEV, "max_qps of them");
	gives(bind_qps(NULL, 1), -EFAULT, "QPs at NULL");
	memset(s.peer, 'p', sizeof(s.peer));
	gives(lkvfence_source(f, &s), -EINVAL, "a peer whose name doesn't end");
	s.peer[63] = 0;
	gives(lkvfence_source(f, &s), -ENODEV, "the longest name");
	unchanged(f, &before, "nothing has changed");
}

static void unbinding(void)
{
	struct lkvfence_source s = {
		.flags = LKVFENCE_SOURCE_UNBIND | 2, .source = 1,
	};

	gives(lkvfence_unbind(f, 1), can_revoke() ? -ENOENT : -EOPNOTSUPP,
	      "UNBIND of a source that isn't bound");
	gives(lkvfence_source(f, &s), -EINVAL, "with an unknown flag");
	s.flags = LKVFENCE_SOURCE_UNBIND;
	s.nr_qps = 1;
	gives(lkvfence_source(f, &s), can_revoke() ? -EINVAL : -EOPNOTSUPP, "with QPs");
	unchanged(f, &before, "nothing has changed");
}

static void quiet(void)
{
	uint32_t what;

	for (what = 0; what <= LKVFENCE_NR_EVIDENCE; what++) {
		bool good = what == LKVFENCE_EVIDENCE_RQ_FLUSHED ||
			    what == LKVFENCE_EVIDENCE_QP_DESTROYED ||
			    what == LKVFENCE_EVIDENCE_MR_DEREGISTERED;

		gives(lkvfence_quiet(f, 1, 0, what), good ? -ENOENT : -EINVAL,
		      "QUIET, by %s: %s", lkvfence_evidence_name(what),
		      good ? "no such binding" : "that says nothing of a QP");
	}
	gives(lkvfence_quiet(f, 0, LKVFENCE_QUIET_ALL, LKVFENCE_EVIDENCE_RQ_FLUSHED),
	      -ENOENT, "QUIET of binding 0");
	unchanged(f, &before, "nothing has changed");
}

static void looking(void)
{
	struct lkvfence_qp qps[64];
	struct lkvfence_query_source q = {
		.source = 7, .qps = (uintptr_t)qps, .nr_qps = 64,
	};

	gives(lkvfence_query_source(f, &q), -ENOENT, "QUERY_SOURCE of one that isn't bound");
	q.flags = LKVFENCE_QUERY_SOURCE_FROM;
	q.source = 0;
	gives(lkvfence_query_source(f, &q), -ENOENT, "of any: none is bound");
	q.source = UINT32_MAX;
	gives(lkvfence_query_source(f, &q), -ENOENT, "from the highest number on");
	q.nr_qps = 65;
	gives(lkvfence_query_source(f, &q), -ERANGE, "with too much room");
}

/* A source that isn't bound works as in a module that binds none. */
static void unbound(void)
{
	struct lkvfence_query q;
	struct lkvfence_event e;
	uint64_t g = begin(f, 1, 0, 8, 0);

	gives(lkvfence_take(f, g, 7), 0, "TAKE for the source that couldn't be bound");
	q = query(f, g);
	gives(q.flags, LKVFENCE_TRANSFER_MINE, "the transfer isn't revocable");
	need(!lkvfence_abort_generation(f, g) && !drained(f, g, 7), "ABORT, RETURN");
	e = event(f);
	check(e.generation == g && e.outcome == LKVFENCE_OUTCOME_DRAINED,
	      "its lease comes back as any other");
}

int main(void)
{
	f = region("source-errors", 64);
	before = stat_of(f);
	if (can_revoke()) {
		no_such_qp();
		other_namespace();
		arguments();
	} else {
		struct lkvfence_qp q = qp(DEVICE, 17);

		refused(q, -EOPNOTSUPP, "SOURCE, where QPs can't be bound");
		gives(bind_qps(NULL, 0), -EOPNOTSUPP, "whatever the rest");
	}
	unbinding();
	quiet();
	looking();
	unbound();
	gives(stat_of(f).sources, 0, "no source is bound");
	lkvfence_close(f);
	return done();
}
