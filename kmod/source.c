// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bound sources, and revocation.
 *
 * A source is revoked by work of its own, so that a driver that takes its time
 * holds up nothing else (L9); the transfers that wait for it have deadlines
 * (L8). The work goes through these steps, in this order:
 *
 *   1. The source gives no new leases; it was marked when the work was queued.
 *   2. Its transfers are ended, and those of every other source that shares one
 *      of its QPs, in whatever region. From here on none of their engines takes
 *      anything that comes through that QP for good (L6b).
 *   3. Its QPs are moved to ERR.
 *   4. It waits for each QP to be quiet: by what its owner attests (QUIET), or
 *      by time. A QP that wasn't moved is lost, if its owner doesn't attest.
 *   5. Its leases are revoked, or the source is lost, and its transfers go on to
 *      the rest of their policy.
 *
 * A QP's state moves from OPEN to ERR or LOST, and from any of them to QUIET,
 * where it stays. So each step can be taken again: the work begins with the
 * first one each time it is queued.
 *
 * Who shares a QP is found in the table of all bound QPs. A binding is put into
 * the table first, and its QPs are checked after that; who revokes looks at the
 * table before he moves a QP and again after. So of a binding and a revocation
 * at the same time, one sees the other.
 */
#include <linux/hashtable.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "calls.h"
#include "compat.h"
#include "event.h"
#include "main.h"
#include "region.h"
#include "source.h"

/* Leases seen to before others get the region's lock. */
#define BATCH		64
/* How often a source that waits for others' evidence is looked at: never. */
#define NEVER		U64_MAX

/* All bound QPs, by number. See region.h for the order of locks. */
static DEFINE_MUTEX(bound_lock);
static DEFINE_HASHTABLE(bound_qps, 8);

static atomic64_t last_binding;

static struct source *to_source(struct fence_source *s)
{
	return container_of(s, struct source, fence);
}

/*
 * Memory
 */

static void revoke_work(struct work_struct *work);

static struct source *source_alloc(struct region *r, u32 nr_qps)
{
	struct source *s;
	u32 i;

	s = kzalloc(struct_size(s, qps, nr_qps), GFP_CHARGED);
	if (!s)
		return NULL;
	region_get(r);
	s->region = r;
	kref_init(&s->ref);
	INIT_DELAYED_WORK(&s->work, revoke_work);
	INIT_LIST_HEAD(&s->of_handle);
	INIT_LIST_HEAD(&s->unread);
	s->binding = atomic64_inc_return(&last_binding);
	for (i = 0; i < nr_qps; i++)
		s->qps[i].source = s;
	object_created(OBJECT_SOURCE);
	return s;
}

/* Nobody looks for it by its QPs any more. */
static void unlist_qps(struct source *s)
{
	u32 i;

	mutex_lock(&bound_lock);
	for (i = 0; i < s->nr_qps; i++)
		hash_del(&s->qps[i].node);
	mutex_unlock(&bound_lock);
}

static void source_free(struct kref *ref)
{
	struct source *s = container_of(ref, struct source, ref);
	struct region *r = s->region;
	u32 i;

	for (i = 0; i < s->nr_qps; i++)
		qp_forget(&s->qps[i].id);
	kfree(s);
	object_destroyed(OBJECT_SOURCE);
	region_put(r);
}

void source_put(struct source *s)
{
	kref_put(&s->ref, source_free);
}

/*
 * Events
 */

static void post_event(struct source *s)
{
	struct handle *h = s->handle;

	if (!h || !list_empty(&s->unread))
		return;
	list_add_tail(&s->unread, &h->unread_sources);
	event_added(h);
}

void source_forget_event(struct source *s)
{
	if (list_empty(&s->unread))
		return;
	list_del_init(&s->unread);
	event_removed(s->handle);
}

void source_describe(const struct source *s, struct lkvfence_event *e)
{
	*e = (struct lkvfence_event) {
		.generation	= s->binding,
		.tag		= s->fence.source,
		.time_ns	= s->revoke_ns,
		.type		= LKVFENCE_EVENT_REVOKE,
		.reason		= LKVFENCE_REASON_REVOKED,
		.leases_out	= s->fence.nr_leases,
	};
}

/*
 * Binding and unbinding
 */

/* -EBUSY while there are leases; else it is gone, but for who looks at it. */
static int unbind(struct source *s)
{
	int err = fence_unbind(&s->region->fence, &s->fence);

	if (err)
		return err;
	s->bound = false;
	source_forget_event(s);
	list_del(&s->of_handle);
	s->handle = NULL;
	unlist_qps(s);
	source_put(s);
	return 0;
}

void sources_leave(struct handle *h)
{
	struct source *s, *next;

	lockdep_assert_held(&h->region->lock);
	list_for_each_entry_safe(s, next, &h->sources, of_handle) {
		source_forget_event(s);
		list_move_tail(&s->of_handle, &h->region->orphan_sources);
		s->handle = NULL;
	}
}

void sources_sweep(struct region *r)
{
	struct source *s, *next;

	lockdep_assert_held(&r->lock);
	list_for_each_entry_safe(s, next, &r->orphan_sources, of_handle)
		unbind(s);
}

/* Look up the QPs that @arg names, and put them into the table. */
static int list_qps(struct source *s, const struct lkvfence_source *arg)
{
	struct lkvfence_qp __user *from = u64_to_user_ptr(arg->qps);
	struct lkvfence_qp qp;
	u32 i;
	int err;

	for (i = 0; i < arg->nr_qps; i++) {
		if (copy_from_user(&qp, from + i, sizeof(qp)))
			return -EFAULT;
		if (qp.pad || strnlen(qp.device, sizeof(qp.device)) == sizeof(qp.device))
			return -EINVAL;
		err = qp_find(&qp, &s->qps[i].id);
		if (err)
			return err;
		mutex_lock(&bound_lock);
		hash_add(bound_qps, &s->qps[i].node, s->qps[i].id.number);
		s->nr_qps++;
		mutex_unlock(&bound_lock);
		/* It may have been revoked before it was in the table. */
		err = qp_check(&s->qps[i].id, false);
		if (err)
			return err == -ESTALE ? -ENOENT : err;
	}
	return 0;
}

/* In place of the one that is bound so far, if that may go. */
static int bind(struct handle *h, struct source *s, u32 number)
{
	struct fence *f = &h->region->fence;
	struct fence_source *old = fence_find_source(f, number);

	if (s->doomed)
		return -ENOTCONN;
	if (old ? unbind(to_source(old)) : 0)
		return -EBUSY;
	if (f->nr_sources >= param_max_sources())
		return -ENOSPC;
	fence_bind(f, &s->fence, number);
	s->bound = true;
	s->handle = h;
	list_add_tail(&s->of_handle, &h->sources);
	return 0;
}

static int bind_source(struct handle *h, struct lkvfence_source *arg)
{
	struct region *r = h->region;
	struct source *s;
	int err;

	if (!QP_POSSIBLE)
		return -EOPNOTSUPP;
	if (!arg->nr_qps || strnlen(arg->peer, sizeof(arg->peer)) == sizeof(arg->peer))
		return -EINVAL;
	if (arg->nr_qps > MAX_QPS)
		return -ERANGE;
	s = source_alloc(r, arg->nr_qps);
	if (!s)
		return -ENOMEM;
	strscpy(s->peer, arg->peer, sizeof(s->peer));

	err = list_qps(s, arg);
	if (!err) {
		mutex_lock(&r->lock);
		err = bind(h, s, arg->source);
		if (!err)
			arg->binding = s->binding;
		mutex_unlock(&r->lock);
	}
	if (err) {
		unlist_qps(s);
		source_put(s);
	}
	return err;
}

static int unbind_source(struct handle *h, const struct lkvfence_source *arg)
{
	struct fence *f = &h->region->fence;
	struct fence_source *s;
	int err;

	if (arg->nr_qps)
		return -EINVAL;
	mutex_lock(&h->region->lock);
	s = fence_find_source(f, arg->source);
	err = s ? unbind(to_source(s)) : -ENOENT;
	mutex_unlock(&h->region->lock);
	return err;
}

int call_source(struct handle *h, void *argp)
{
	struct lkvfence_source *arg = argp;

	if (arg->flags & ~LKVFENCE_SOURCE_FLAGS)
		return -EINVAL;
	if (arg->flags & LKVFENCE_SOURCE_UNBIND)
		return unbind_source(h, arg);
	return bind_source(h, arg);
}

/*
 * Revocation
 */

/* Have the work look at the source, at once or in @delay jiffies. */
static void queue(struct source *s, unsigned long delay)
{
	source_get(s);
	/* Queued already: that has a reference. */
	if (mod_delayed_work(lkvfence_revoke_wq, &s->work, delay))
		source_put(s);
}

/* The first step; the source is in the state REVOKING. */
static void start(struct source *s)
{
	if (s->started)
		return;
	s->started = true;
	s->revoke_ns = ktime_get_ns();
	post_event(s);
	queue(s, 0);
}

void sources_revoke(struct region *r, const struct fence_transfer *t)
{
	struct rb_node *n;

	lockdep_assert_held(&r->lock);
	for (n = rb_first(&t->leases); n; n = rb_next(n)) {
		struct fence_lease *l = rb_entry(n, struct fence_lease, node);

		if (l->bound)
			start(to_source(l->bound));
	}
}

/* Steps 1 and 2, for one source. False: it isn't bound, or not any more. */
static bool end_transfers(struct source *s)
{
	struct fence_limits limits = param_limits();
	struct region *r = s->region;
	u32 nr;

	do {
		mutex_lock(&r->lock);
		if (!s->bound) {
			s->doomed = true;
			mutex_unlock(&r->lock);
			return false;
		}
		fence_source_revoke(&s->fence);
		start(s);
		nr = fence_source_end(&r->fence, &s->fence, &limits,
				      ktime_get_ns(), BATCH);
		region_settle(r, NULL, 0);
		mutex_unlock(&r->lock);
		cond_resched();
	} while (nr == BATCH);
	return true;
}

/* Another binding of the same QP that nobody has seen yet, with a reference. */
static struct source *next_sharer(struct bound_qp *qp)
{
	struct source *found = NULL;
	struct bound_qp *other;

	mutex_lock(&bound_lock);
	hash_for_each_possible(bound_qps, other, node, qp->id.number) {
		if (other == qp || other->seen || !qp_same(&other->id, &qp->id))
			continue;
		other->seen = true;
		found = other->source;
		source_get(found);
		break;
	}
	mutex_unlock(&bound_lock);
	return found;
}

/* Step 2, for the others. */
static void end_sharers(struct bound_qp *qp)
{
	struct source *s;

	while ((s = next_sharer(qp))) {
		end_transfers(s);
		source_put(s);
	}
}

static void set_state(struct bound_qp *qp, enum qp_state state)
{
	struct mutex *lock = &qp->source->region->lock;

	mutex_lock(lock);
	/* Its owner may have been faster. */
	if (qp->state != QP_QUIET) {
		qp->state = state;
		qp->err_ns = ktime_get_ns();
	}
	mutex_unlock(lock);
}

/* Step 3. */
static void take_access(struct source *s)
{
	u32 i;

	for (i = 0; i < s->nr_qps; i++)
		end_sharers(&s->qps[i]);
	for (i = 0; i < s->nr_qps; i++) {
		struct bound_qp *qp = &s->qps[i];

		if (READ_ONCE(qp->state) == QP_OPEN) {
			set_state(qp, qp_to_err(&qp->id) ? QP_LOST : QP_ERR);
			end_sharers(qp);
		}
	}
}

/*
 * Step 4: time has passed for a QP. It has to be where it was put. One that is
 * not found was in ERR until somebody began to destroy it.
 */
static void settle_qps(struct source *s, u64 settle_ns)
{
	struct region *r = s->region;
	u32 i;

	for (i = 0; i < s->nr_qps; i++) {
		struct bound_qp *qp = &s->qps[i];
		int err;

		if (READ_ONCE(qp->state) != QP_ERR ||
		    ktime_get_ns() < qp->err_ns + settle_ns)
			continue;
		err = qp_check(&qp->id, true);
		mutex_lock(&r->lock);
		if (qp->state == QP_ERR && err == -ENOTCONN) {
			qp->state = QP_LOST;
		} else if (qp->state == QP_ERR) {
			qp->state = QP_QUIET;
			qp->evidence = LKVFENCE_EVIDENCE_QP_ERR_SETTLED;
		}
		mutex_unlock(&r->lock);
	}
}

/**
 * struct verdict - what is known of all QPs of a source
 * @lost: one is lost
 * @quiet: all are quiet
 * @evidence: on what ground, the weakest
 * @next_ns: else when to look again
 */
struct verdict {
	bool lost;
	bool quiet;
	u32 evidence;
	u64 next_ns;
};

static struct verdict judge(const struct source *s, u64 settle_ns)
{
	struct verdict v = {
		.quiet		= true,
		.evidence	= LKVFENCE_EVIDENCE_BACKING_GONE,
		.next_ns	= NEVER,
	};
	u32 i;

	for (i = 0; i < s->nr_qps; i++) {
		const struct bound_qp *qp = &s->qps[i];

		switch (qp->state) {
		case QP_QUIET:
			v.evidence = min_t(u32, v.evidence, qp->evidence);
			continue;
		case QP_LOST:
			v.lost = true;
			break;
		case QP_ERR:
			v.next_ns = min(v.next_ns, qp->err_ns + settle_ns);
			break;
		}
		v.quiet = false;
	}
	return v;
}

/* Step 5. Returns when to look again. */
static u64 conclude(struct source *s, u64 settle_ns)
{
	struct region *r = s->region;
	struct verdict v;
	u32 nr;

	do {
		mutex_lock(&r->lock);
		v = judge(s, settle_ns);
		nr = 0;
		if (!s->bound)
			v.next_ns = NEVER;
		else if (v.quiet)
			nr = fence_source_quiet(&r->fence, &s->fence, v.evidence,
						ktime_get_ns(), BATCH);
		else if (v.lost)
			nr = fence_source_lost(&r->fence, &s->fence, BATCH);
		region_settle(r, NULL, 0);
		mutex_unlock(&r->lock);
		cond_resched();
	} while (nr == BATCH);
	return v.next_ns;
}

static void revoke_work(struct work_struct *work)
{
	struct source *s = container_of(to_delayed_work(work), struct source, work);
	u64 settle_ns = param_settle_ns();
	struct region *r = s->region;
	/* Doesn't change once the region exists. */
	bool settles = fence_accepts(&r->fence, LKVFENCE_EVIDENCE_QP_ERR_SETTLED);
	u64 next, now;

	if (end_transfers(s)) {
		take_access(s);
		if (settles)
			settle_qps(s, settle_ns);
		next = conclude(s, settle_ns);
		now = ktime_get_ns();
		if (settles && next != NEVER)
			queue(s, nsecs_to_jiffies(next > now ? next - now : 0) + 1);
	}
	/* It may have been kept by nothing but what has been revoked. */
	region_retire(r);
	source_put(s);
}

/*
 * QUIET
 */

static struct source *find_binding(struct handle *h, u64 binding)
{
	struct source *s;

	list_for_each_entry(s, &h->sources, of_handle) {
		if (s->binding == binding)
			return s;
	}
	return NULL;
}

static bool is_quiet_evidence(u32 evidence)
{
	return evidence == LKVFENCE_EVIDENCE_RQ_FLUSHED ||
	       evidence == LKVFENCE_EVIDENCE_QP_DESTROYED ||
	       evidence == LKVFENCE_EVIDENCE_MR_DEREGISTERED;
}

/* Returns whether it is news. */
static bool quiet_qp(struct bound_qp *qp, u32 evidence)
{
	if (qp->state == QP_QUIET)
		return false;
	qp->state = QP_QUIET;
	qp->evidence = evidence;
	return true;
}

static int quiet(struct source *s, u32 index, u32 evidence)
{
	bool news = false;
	u32 i;

	if (index == LKVFENCE_QUIET_ALL) {
		for (i = 0; i < s->nr_qps; i++)
			news |= quiet_qp(&s->qps[i], evidence);
	} else if (index < s->nr_qps) {
		news = quiet_qp(&s->qps[array_index_nospec(index, s->nr_qps)],
				evidence);
	} else {
		return -ERANGE;
	}
	return news ? 0 : -EALREADY;
}

int call_quiet(struct handle *h, void *argp)
{
	struct lkvfence_quiet *arg = argp;
	struct region *r = h->region;
	struct source *s;
	int err;

	if (arg->flags || !is_quiet_evidence(arg->evidence))
		return -EINVAL;
	mutex_lock(&r->lock);
	s = find_binding(h, arg->binding);
	if (!s)
		err = -ENOENT;
	else if (!fence_accepts(&r->fence, arg->evidence))
		err = -EOPNOTSUPP;
	else
		err = quiet(s, arg->qp, arg->evidence);
	if (!err) {
		fence_source_revoke(&s->fence);
		start(s);
		queue(s, 0);
	}
	mutex_unlock(&r->lock);
	return err;
}
