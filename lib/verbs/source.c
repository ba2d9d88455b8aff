// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sources that are bound to rails, and what the kernel is told of these.
 *
 * What is said is true of a binding: the kernel's number for it, never of a
 * source or a QP number, which others may have later. A rail that is destroyed is
 * taken out of its bindings; what was not said of it before is left to time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int fail_region(int err)
{
	return lkvfence__vfail(err, "%s", lkvfence_errmsg());
}

/* With v->lock held, like the next one. */
static struct binding **find(struct lkvfence_verbs *v,
			     const struct lkvfence *fence, uint32_t source)
{
	struct binding **b;

	for (b = &v->bindings; *b; b = &(*b)->next) {
		if ((*b)->fence == fence && (*b)->source == source)
			break;
	}
	return b;
}

static struct binding *find_number(struct lkvfence_verbs *v,
				   const struct lkvfence *fence,
				   uint64_t number)
{
	struct binding *b;

	for (b = v->bindings; b; b = b->next) {
		if (b->fence == fence && b->number == number)
			break;
	}
	return b;
}

int lkvfence_verbs_bind(struct lkvfence_verbs *v, struct lkvfence *fence,
			uint32_t source, const char *peer,
			struct lkvfence_rail *const *rails, uint32_t nr)
{
	struct lkvfence_qp qps[MAX_RAILS] = {};
	struct lkvfence_source s = {
		.source = source,
		.nr_qps = nr,
		.qps = (uintptr_t)qps,
	};
	struct binding *b, **old;
	uint32_t i;
	int err;

	if (!nr)
		return lkvfence__vfail(-EINVAL, "bind: no rails");
	if (nr > MAX_RAILS)
		return lkvfence__vfail(-E2BIG,
			"bind: a source can have %u rails", MAX_RAILS);
	b = calloc(1, sizeof(*b));
	if (!b)
		return lkvfence__vfail(-ENOMEM, "bind: no memory");
	b->fence = fence;
	b->source = source;
	b->nr = nr;
	for (i = 0; i < nr; i++) {
		const struct ibv_qp *qp = rails[i]->qp;

		b->rails[i] = rails[i];
		snprintf(qps[i].device, sizeof(qps[i].device), "%s",
			 ibv_get_device_name(qp->context->device));
		qps[i].number = qp->qp_num;
	}
	snprintf(s.peer, sizeof(s.peer), "%s", peer ? peer : "");

	/*
	 * The event REVOKE may be read before the call returns: who looks for
	 * the binding finds it, for he waits for the lock.
	 */
	pthread_mutex_lock(&v->lock);
	err = lkvfence_source(fence, &s);
	if (!err) {
		b->number = s.binding;
		old = find(v, fence, source);
		if (*old) {
			struct binding *gone = *old;

			*old = gone->next;
			free(gone);
		}
		b->next = v->bindings;
		v->bindings = b;
	}
	pthread_mutex_unlock(&v->lock);
	if (err) {
		free(b);
		return fail_region(err);
	}
	return 0;
}

int lkvfence_verbs_unbind(struct lkvfence_verbs *v, struct lkvfence *fence,
			  uint32_t source)
{
	struct binding *gone = NULL, **b;
	int err;

	pthread_mutex_lock(&v->lock);
	err = lkvfence_unbind(fence, source);
	if (!err || err == -ENOENT) {
		b = find(v, fence, source);
		gone = *b;
		if (gone)
			*b = gone->next;
	}
	pthread_mutex_unlock(&v->lock);
	free(gone);
	return err ? fail_region(err) : 0;
}

void lkvfence__say_quiet(struct lkvfence_rail *rail,
			 enum lkvfence_evidence evidence)
{
	struct lkvfence_verbs *v = rail->v;
	struct binding *b;
	uint32_t i;
	int err;

	pthread_mutex_lock(&v->lock);
	for (b = v->bindings; b; b = b->next) {
		for (i = 0; i < b->nr; i++) {
			if (b->rails[i] != rail || b->quiet[i])
				continue;
			err = lkvfence_quiet(b->fence, b->number, i, evidence);
			/* That it is quiet already may have come by time. */
			b->quiet[i] = !err || err == -EALREADY;
			if (!b->quiet[i])
				b->error = err;
		}
	}
	pthread_mutex_unlock(&v->lock);
}

void lkvfence__unbind_rail(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;
	struct binding *b;
	uint32_t i;

	pthread_mutex_lock(&v->lock);
	for (b = v->bindings; b; b = b->next) {
		for (i = 0; i < b->nr; i++) {
			if (b->rails[i] == rail)
				b->rails[i] = NULL;
		}
	}
	pthread_mutex_unlock(&v->lock);
}

struct asked {
	struct lkvfence_verbs *v;
	struct lkvfence *fence;
	uint64_t number;
};

/* The source was bound anew, or unbound; no error of the kernel's. */
#define NOBODY	2

/*
 * All quiet (1), or what the kernel objects, or that one is gone unseen, or
 * nobody's any more, or none of these yet.
 */
static int all_quiet(void *arg)
{
	struct asked *a = arg;
	struct binding *b;
	uint32_t i;
	int ret = 1;

	pthread_mutex_lock(&a->v->lock);
	b = find_number(a->v, a->fence, a->number);
	if (!b)
		ret = NOBODY;
	for (i = 0; b && i < b->nr; i++) {
		if (b->quiet[i])
			continue;
		ret = b->error;
		if (!ret && !b->rails[i])
			ret = -EOPNOTSUPP;
		if (ret)
			break;
	}
	pthread_mutex_unlock(&a->v->lock);
	return ret;
}

int lkvfence_verbs_event(struct lkvfence_verbs *v, struct lkvfence *fence,
			 const struct lkvfence_event *event, int timeout_ms)
{
	struct asked asked = { v, fence, event->generation };
	struct lkvfence_rail *rails[MAX_RAILS];
	uint32_t nr = 0, i;
	struct binding *b;
	bool hope = true;
	int ret;

	if (event->type != LKVFENCE_EVENT_REVOKE)
		return 0;
	pthread_mutex_lock(&v->lock);
	b = find_number(v, fence, event->generation);
	for (i = 0; b && i < b->nr; i++) {
		if (b->quiet[i])
			continue;
		hope &= !!b->rails[i];
		if (b->rails[i]) {
			lkvfence__pin(b->rails[i]);
			rails[nr++] = b->rails[i];
		}
	}
	pthread_mutex_unlock(&v->lock);
	if (!b)
		return 0;

	for (i = 0; i < nr; i++) {
		pthread_mutex_lock(&rails[i]->lock);
		hope &= rails[i]->flushed || lkvfence__guarded(rails[i]);
		pthread_mutex_unlock(&rails[i]->lock);
	}
	ret = lkvfence__wait(rails, nr, RECV_CQ, hope ? timeout_ms : 0,
			     all_quiet, &asked);
	if (ret == -ETIMEDOUT && !hope)
		ret = -EOPNOTSUPP;

	switch (ret) {
	case 1:
		return 1;
	case NOBODY:
		return 0;
	case -ETIMEDOUT:
		return lkvfence__vfail(ret,
			"event: not all queue pairs of source %" PRIu64 " have been seen to be flushed after %d ms: go on polling, or the kernel settles it by time",
			(uint64_t)event->tag, timeout_ms);
	case -EOPNOTSUPP:
		return lkvfence__vfail(ret,
			"event: a queue pair of source %" PRIu64 " is gone, or has no receive that could come back flushed, or the region doesn't accept that: the kernel settles it by time",
			(uint64_t)event->tag);
	case -ENOBUFS:
		return lkvfence__vfail(ret,
			"event: more completions of others than can be put aside: take them by lkvfence_cq_poll(), and call again");
	default:
		/* Who told the kernel may have been another thread. */
		return lkvfence__vfail(ret,
			"event: the kernel doesn't take it that a queue pair of source %" PRIu64 " is quiet: %m",
			(uint64_t)event->tag);
	}
}
