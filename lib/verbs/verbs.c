// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What everything belongs to: the pools of leases, and the place where leases
 * are returned.
 *
 * A lease is returned once. Who finds out that it is over (there may be many, at
 * the same time, on several rails) sets "told" under the lease's lock and puts
 * it on its list; nobody else does so again. The list is run with no lock held,
 * so a region's call, a slow callback, or one that comes back into the library,
 * holds up nobody who polls.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define MAX_LEASES	0x100000U

int64_t lkvfence__now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* When @timeout_ms have surely passed; negative: never. */
int64_t lkvfence__deadline(int timeout_ms)
{
	if (timeout_ms < 0)
		return INT64_MAX;
	return lkvfence__now_ms() + timeout_ms + !!timeout_ms;
}

/*
 * Pools
 */

static void fill_pools(struct lkvfence_verbs *v)
{
	uint32_t i;

	for (i = 0; i < v->attr.max_sends; i++) {
		struct lkvfence_send *send = v->all_sends + i;

		send->v = v;
		pthread_mutex_init(&send->lock, NULL);
		send->next = v->sends;
		v->sends = send;
	}
	for (i = 0; i < v->attr.max_recvs; i++) {
		v->all_recvs[i].v = v;
		v->all_recvs[i].next = v->recvs;
		v->recvs = v->all_recvs + i;
	}
}

static void release(struct lkvfence_verbs *v)
{
	free(v->all_sends);
	free(v->all_recvs);
	free(v->expects);
	free(v->rails);
	free(v->nonces);
	free(v);
}

int lkvfence_verbs_create(struct lkvfence_verbs **out,
			  const struct lkvfence_verbs_attr *attr)
{
	struct lkvfence_verbs *v;
	uint32_t buckets = 1;

	*out = NULL;
	if (attr->max_rails > RAIL_MAX)
		return lkvfence__vfail(-ERANGE,
			"verbs: max_rails is %" PRIu32 ", there can be %u",
			attr->max_rails, RAIL_MAX);
	if (attr->max_sends > MAX_LEASES || attr->max_recvs > MAX_LEASES)
		return lkvfence__vfail(-ERANGE,
			"verbs: max_sends is %" PRIu32 " and max_recvs %" PRIu32 ", there can be %u of each",
			attr->max_sends, attr->max_recvs, MAX_LEASES);

	v = calloc(1, sizeof(*v));
	if (!v)
		return lkvfence__vfail(-ENOMEM, "verbs: no memory");
	v->attr = *attr;
	if (!v->attr.max_sends)
		v->attr.max_sends = 1024;
	if (!v->attr.max_recvs)
		v->attr.max_recvs = 1024;
	if (!v->attr.max_rails)
		v->attr.max_rails = 256;
	while (buckets < v->attr.max_recvs)
		buckets *= 2;
	v->expects_mask = buckets - 1;
	pthread_mutex_init(&v->lock, NULL);

	v->all_sends = calloc(v->attr.max_sends, sizeof(*v->all_sends));
	v->all_recvs = calloc(v->attr.max_recvs, sizeof(*v->all_recvs));
	v->expects = calloc(buckets, sizeof(*v->expects));
	v->rails = calloc(v->attr.max_rails, sizeof(*v->rails));
	v->nonces = calloc(v->attr.max_rails, sizeof(*v->nonces));
	if (!v->all_sends || !v->all_recvs || !v->expects || !v->rails ||
	    !v->nonces) {
		release(v);
		return lkvfence__vfail(-ENOMEM, "verbs: no memory");
	}
	fill_pools(v);
	*out = v;
	return 0;
}

int lkvfence_verbs_destroy(struct lkvfence_verbs *v)
{
	struct binding *b;
	uint32_t i;

	if (!v)
		return 0;
	if (v->nr_rails || atomic_load(&v->nr_cqs))
		return lkvfence__vfail(-EBUSY,
			"verbs: %" PRIu32 " rails and %u completion queues are left: destroy them first",
			v->nr_rails, atomic_load(&v->nr_cqs));
	while ((b = v->bindings)) {
		v->bindings = b->next;
		free(b);
	}
	for (i = 0; i < v->attr.max_sends; i++)
		pthread_mutex_destroy(&v->all_sends[i].lock);
	pthread_mutex_destroy(&v->lock);
	release(v);
	return 0;
}

void lkvfence__put_send(struct lkvfence_send *send)
{
	struct lkvfence_verbs *v = send->v;

	pthread_mutex_lock(&v->lock);
	send->next = v->sends;
	v->sends = send;
	pthread_mutex_unlock(&v->lock);
}

/* With v->lock held. */
void lkvfence__put_recv(struct lkvfence_recv *recv)
{
	recv->next = recv->v->recvs;
	recv->v->recvs = recv;
}

void lkvfence_verbs_stat(struct lkvfence_verbs *v,
			 struct lkvfence_verbs_stat *stat)
{
	struct stats *s = &v->stats;

	*stat = (struct lkvfence_verbs_stat){
		.drained = atomic_load(&s->drained),
		.in_band = atomic_load(&s->in_band),
		.revoked = atomic_load(&s->revoked),
		.failed = atomic_load(&s->failed),
		.refused = atomic_load(&s->refused),
		.markers = atomic_load(&s->markers),
		.in_doubt = atomic_load(&s->in_doubt),
		.lost = atomic_load(&s->lost),
		.stale = atomic_load(&s->stale),
		.acks_unknown = atomic_load(&s->acks_unknown),
		.invalidated = atomic_load(&s->invalidated),
		.deallocated = atomic_load(&s->deallocated),
		.windows_lost = atomic_load(&s->windows_lost),
		.flushed = atomic_load(&s->flushed),
		.peers_failed = atomic_load(&s->peers_failed),
	};
}

/*
 * Returning leases
 */

void lkvfence__tell(struct work *work, struct tell *tell)
{
	tell->next = NULL;
	*work->tail = tell;
	work->tail = &tell->next;
}

static void count(struct lkvfence_verbs *v, const struct lkvfence_returned *r)
{
	if (r->status == LKVFENCE_STATUS_FAILED)
		COUNT(v, failed);
	else if (r->status == LKVFENCE_STATUS_REVOKED)
		COUNT(v, revoked);
	else if (r->evidence == LKVFENCE_EVIDENCE_IN_BAND)
		COUNT(v, in_band);
	else
		COUNT(v, drained);
	if (r->result)
		COUNT(v, refused);
}

/* The first @nr of @tells, all of one region, in one call. */
static void return_leases(struct tell *tells, uint32_t nr)
{
	struct lkvfence_return_item items[BATCH] = {};
	struct lkvfence *fence = tells->fence;
	struct tell *tell = tells;
	uint32_t i;
	int ret;

	for (i = 0; i < nr; i++, tell = tell->next) {
		items[i].generation = tell->r.generation;
		items[i].source = tell->r.source;
		items[i].status = tell->r.status;
		items[i].evidence = tell->r.evidence;
	}
	ret = lkvfence_return(fence, items, nr);
	for (i = 0, tell = tells; i < nr; i++, tell = tell->next)
		tell->r.result = ret < 0 ? ret : items[i].result;
}

static void run_tells(struct lkvfence_verbs *v, struct tell *tell)
{
	struct tell *next, *end;
	uint32_t nr;

	while (tell) {
		nr = 0;
		for (end = tell; end && nr < BATCH && end->fence == tell->fence;
		     end = end->next)
			nr++;
		if (tell->fence)
			return_leases(tell, nr);
		for (; tell != end; tell = next) {
			next = tell->next;
			count(v, &tell->r);
			if (v->attr.returned)
				v->attr.returned(&tell->r, v->attr.arg);
			tell->said(v, tell);
		}
	}
}

void lkvfence__run(struct lkvfence_verbs *v, struct work *work)
{
	int saved = errno;

	for (;;) {
		struct lkvfence_rail *rail = work->rails;
		struct window *window = work->doomed;
		struct tell *tells = work->tells;

		if (window) {
			work->doomed = window->next;
			lkvfence__run_doomed(window, work);
		} else if (rail) {
			work->rails = rail->next;
			lkvfence__run_rail(rail, work);
		} else if (tells) {
			work->tells = NULL;
			work->tail = &work->tells;
			run_tells(v, tells);
		} else {
			break;
		}
	}
	errno = saved;
}
