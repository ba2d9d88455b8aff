// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bound sources: what SOURCE, QUIET and QUERY_SOURCE do, and who shares a QP.
 *
 * That is found in the table of all bound QPs. A binding is put into the table
 * first, and its QPs are checked after that; who revokes looks at the table
 * before he moves a QP and again after. So of a binding and a revocation at the
 * same time, one sees the other.
 */
#include <linux/hashtable.h>
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

/* All bound QPs, by number. See region.h for the order of locks. */
static DEFINE_MUTEX(bound_lock);
static DEFINE_HASHTABLE(bound_qps, 12);

static atomic64_t last_binding;

/*
 * Memory
 */

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
	source_init_revoking(s);
	INIT_LIST_HEAD(&s->of_handle);
	INIT_LIST_HEAD(&s->unread);
	s->binding = atomic64_inc_return(&last_binding);
	s->pid = current->tgid;
	for (i = 0; i < nr_qps; i++) {
		s->qps[i].source = s;
		s->qps[i].state = LKVFENCE_QP_OPEN;
	}
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

struct source *source_next_sharer(struct bound_qp *qp)
{
	struct source *found = NULL;
	struct bound_qp *other;

	mutex_lock(&bound_lock);
	hash_for_each_possible(bound_qps, other, node, qp->id.number) {
		if (other == qp || !qp_same(&other->id, &qp->id))
			continue;
		hash_del(&other->node);
		found = other->source;
		source_get(found);
		break;
	}
	mutex_unlock(&bound_lock);
	return found;
}

/*
 * Events
 */

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
	/* Its work may be waiting for the settle time, and keeps the region. */
	if (s->started)
		source_look(s);
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
		if (!s->fence.nr_leases)
			h->region->fence.source_idle = true;
	}
}

void sources_sweep(struct region *r)
{
	struct source *s, *next;

	lockdep_assert_held(&r->lock);
	r->fence.source_idle = false;
	list_for_each_entry_safe(s, next, &r->orphan_sources, of_handle)
		unbind(s);
}

static bool ends(const char *s, size_t room)
{
	return strnlen(s, room) < room;
}

/* One of the first @nr QPs is the one of that name. */
static bool is_named(const struct source *s, u32 nr, const struct lkvfence_qp *name)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (s->qps[i].name.number == name->number &&
		    !strcmp(s->qps[i].name.device, name->device))
			return true;
	}
	return false;
}

/* Look up the QPs that @arg names, and put them into the table. */
static int list_qps(struct source *s, const struct lkvfence_source *arg)
{
	struct lkvfence_qp __user *from = u64_to_user_ptr(arg->qps);
	u32 i;
	int err;

	for (i = 0; i < arg->nr_qps; i++) {
		struct bound_qp *qp = &s->qps[i];

		if (copy_from_user(&qp->name, from + i, sizeof(qp->name)))
			return -EFAULT;
		if (qp->name.state || !ends(qp->name.device, sizeof(qp->name.device)))
			return -EINVAL;
		/* Who looks for sharers would walk over each of them. */
		if (is_named(s, i, &qp->name))
			return -EINVAL;
		err = qp_find(&qp->name, &qp->id);
		if (err)
			return err;
		mutex_lock(&bound_lock);
		hash_add(bound_qps, &qp->node, qp->id.number);
		s->nr_qps++;
		mutex_unlock(&bound_lock);
		/* It may have been revoked before it was in the table. */
		err = qp_check(&qp->id, false);
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
	/*
	 * Two that take the same number for theirs would each have half of the
	 * QPs, and revoking one half would be taken for proof.
	 */
	if (old && to_source(old)->handle && to_source(old)->handle != h)
		return -EEXIST;
	/* Where there is one it makes room, also if the limit is lower by now. */
	if (!old && f->nr_sources >= param_max_sources())
		return -ENOSPC;
	if (old && unbind(to_source(old)))
		return -EBUSY;
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

	if (!arg->nr_qps || !ends(arg->peer, sizeof(arg->peer)))
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
	if (!s)
		err = -ENOENT;
	else if (to_source(s)->handle && to_source(s)->handle != h)
		err = -EPERM;
	else
		err = unbind(to_source(s));
	mutex_unlock(&h->region->lock);
	return err;
}

int call_source(struct handle *h, void *argp)
{
	struct lkvfence_source *arg = argp;

	if (arg->flags & ~LKVFENCE_SOURCE_FLAGS)
		return -EINVAL;
	if (!QP_POSSIBLE)
		return -EOPNOTSUPP;
	if (arg->flags & LKVFENCE_SOURCE_UNBIND)
		return unbind_source(h, arg);
	return bind_source(h, arg);
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

/*
 * What is attested of a QP can't be known better here. But whether it contradicts
 * what there is to see can. -EBUSY: it does.
 */
static int doubt_qp(const struct bound_qp *qp, u32 evidence)
{
	int err = qp_check(&qp->id, true);

	switch (evidence) {
	case LKVFENCE_EVIDENCE_RQ_FLUSHED:
		return err == -ENOTCONN ? -EBUSY : 0;
	case LKVFENCE_EVIDENCE_QP_DESTROYED:
		return !err || err == -ENOTCONN ? -EBUSY : 0;
	default:
		return 0;
	}
}

static int doubt(const struct source *s, u32 index, u32 evidence)
{
	bool all = index == LKVFENCE_QUIET_ALL;
	int err = 0;
	u32 i;

	if (!all && index >= s->nr_qps)
		return -ERANGE;
	if (!fence_accepts(&s->region->fence, evidence))
		return -EOPNOTSUPP;
	if (!all)
		return doubt_qp(&s->qps[array_index_nospec(index, s->nr_qps)],
				evidence);
	for (i = 0; i < s->nr_qps && !err; i++)
		err = doubt_qp(&s->qps[i], evidence);
	return err;
}

/* Returns whether it is news. */
static bool quiet_qp(struct bound_qp *qp, u32 evidence)
{
	if (qp->state == LKVFENCE_QP_QUIET)
		return false;
	qp->state = LKVFENCE_QP_QUIET;
	qp->evidence = evidence;
	return true;
}

/* @index was checked by doubt(). */
static int quiet(struct source *s, u32 index, u32 evidence)
{
	bool news = false;
	u32 i;

	for (i = 0; i < s->nr_qps; i++) {
		if (index == i || index == LKVFENCE_QUIET_ALL)
			news |= quiet_qp(&s->qps[i], evidence);
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
	if (s)
		source_get(s);
	mutex_unlock(&r->lock);
	if (!s)
		return -ENOENT;

	/* Drivers may sleep; and it may be unbound meanwhile. */
	err = doubt(s, arg->qp, arg->evidence);
	mutex_lock(&r->lock);
	if (!err)
		err = s->bound ? quiet(s, arg->qp, arg->evidence) : -ENOENT;
	if (!err) {
		fence_source_revoke(&s->fence);
		source_start(s);
		source_look(s);
	}
	mutex_unlock(&r->lock);
	source_put(s);
	return err;
}

/*
 * QUERY_SOURCE
 */

/* The source, or with @from the one of the least number that isn't below. */
static struct source *find_source(const struct fence *f, u32 number, bool from)
{
	struct rb_node *n = f->sources.rb_node;
	struct fence_source *found = NULL;

	while (n) {
		struct fence_source *s = rb_entry(n, struct fence_source, node);

		if (s->source >= number) {
			found = s;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	if (!found || (!from && found->source != number))
		return NULL;
	return to_source(found);
}

static u32 source_state(const struct source *s)
{
	switch (s->fence.state) {
	case FENCE_SOURCE_BOUND:
		return LKVFENCE_SOURCE_BOUND;
	case FENCE_SOURCE_REVOKED:
		return LKVFENCE_SOURCE_REVOKED;
	case FENCE_SOURCE_LOST:
		return LKVFENCE_SOURCE_LOST;
	default:
		return LKVFENCE_SOURCE_REVOKING;
	}
}

static void describe(const struct source *s, struct lkvfence_query_source *arg,
		     struct lkvfence_qp *qps, u32 room)
{
	u32 i;

	for (i = 0; i < min(room, s->nr_qps); i++) {
		qps[i] = s->qps[i].name;
		qps[i].state = s->qps[i].state;
	}
	arg->source = s->fence.source;
	arg->state = source_state(s);
	arg->binding = s->binding;
	arg->nr_qps = s->nr_qps;
	arg->leases_out = s->fence.nr_leases;
	arg->pid = s->pid;
	arg->pad = 0;
	memcpy(arg->peer, s->peer, sizeof(arg->peer));
}

int call_query_source(struct handle *h, void *argp)
{
	struct lkvfence_query_source *arg = argp;
	u32 room = arg->nr_qps;
	struct lkvfence_qp *qps = NULL;
	struct source *s;
	int err = 0;

	if (arg->flags & ~LKVFENCE_QUERY_SOURCE_FLAGS)
		return -EINVAL;
	if (room > MAX_QPS)
		return -ERANGE;
	if (room) {
		qps = kmalloc_array(room, sizeof(*qps), GFP_CHARGED);
		if (!qps)
			return -ENOMEM;
	}
	mutex_lock(&h->region->lock);
	s = find_source(&h->region->fence, arg->source,
			arg->flags & LKVFENCE_QUERY_SOURCE_FROM);
	if (s)
		describe(s, arg, qps, room);
	mutex_unlock(&h->region->lock);
	if (!s)
		err = -ENOENT;
	else if (copy_to_user(u64_to_user_ptr(arg->qps), qps,
			      min(room, arg->nr_qps) * sizeof(*qps)))
		err = -EFAULT;
	kfree(qps);
	return err;
}
