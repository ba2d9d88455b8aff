// SPDX-License-Identifier: GPL-2.0-only
/*
 * JOIN, and what carries out a group's decisions.
 *
 * A group's work looks at its members, one region after the other, decides, and
 * does what was decided. What it saw may have changed when it acts, but not so
 * that it would be wrong: what has gathered stays so, and what was ended meanwhile
 * isn't ended again. Whatever changes a member has the work done once more.
 *
 * Members are released with all of their regions locked, so that nobody sees one
 * of them free and another not.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/workqueue.h>

#include "calls.h"
#include "group.h"
#include "main.h"
#include "region.h"

/**
 * struct group - transfers that are released together
 * @node: in the table while listed; guarded by groups_lock, like @listed, @grave
 *	and @forget_ns
 * @listed: it may be found by who joins
 * @grave: in the list of tombstones, listed and without members
 * @forget_ns: of a tombstone: when it is forgotten
 * @uid: whose regions; doesn't change, like @number and @size
 * @number: the engine's number
 * @size: how many members it is to have
 * @lock: guards all that follows; taken before any region->lock, of which it may
 *	take several: in the order of their addresses
 * @members: those that joined and are not released
 * @joined: how many ever joined
 * @refused: how many came too late
 * @sealed: nobody joins any more
 * @closed: it isn't the group of its number any more
 * @deadline_ns: when it is waited for no longer; 0: nobody waits
 * @work: decides
 * @ref: one of each member, of the table, of queued work, and of who looks
 */
struct group {
	struct rb_node node;
	bool listed;
	struct list_head grave;
	u64 forget_ns;
	kuid_t uid;
	u64 number;
	u32 size;

	struct mutex lock;	/* see above */
	struct list_head members;
	u32 joined;
	u32 refused;
	bool sealed;
	bool closed;
	u64 deadline_ns;
	struct delayed_work work;
	struct kref ref;
};

/* The table, and its tombstones. Taken within group->lock; nothing within it. */
static DEFINE_MUTEX(groups_lock);
static struct rb_root groups = RB_ROOT;
static LIST_HEAD(tombstones);
static u32 nr_tombstones;

static void group_work(struct work_struct *work);

/*
 * Memory
 */

static struct group *group_alloc(kuid_t uid, u64 number, u32 size)
{
	struct group *g = kzalloc(sizeof(*g), GFP_CHARGED);

	if (!g)
		return NULL;
	g->uid = uid;
	g->number = number;
	g->size = size;
	INIT_LIST_HEAD(&g->grave);
	INIT_LIST_HEAD(&g->members);
	mutex_init(&g->lock);
	INIT_DELAYED_WORK(&g->work, group_work);
	kref_init(&g->ref);
	object_created(OBJECT_GROUP);
	return g;
}

static void group_free(struct kref *ref)
{
	struct group *g = container_of(ref, struct group, ref);

	mutex_destroy(&g->lock);
	kfree(g);
	object_destroyed(OBJECT_GROUP);
}

static void group_put(struct group *g)
{
	kref_put(&g->ref, group_free);
}

static struct member *member_alloc(void)
{
	struct member *m = kzalloc(sizeof(*m), GFP_CHARGED);

	if (m)
		object_created(OBJECT_MEMBER);
	return m;
}

static void member_free(struct member *m)
{
	kfree(m);
	object_destroyed(OBJECT_MEMBER);
}

/*
 * The table
 */

static int compare(const struct group *g, kuid_t uid, u64 number)
{
	if (!uid_eq(uid, g->uid))
		return uid_lt(uid, g->uid) ? -1 : 1;
	if (number == g->number)
		return 0;
	return number < g->number ? -1 : 1;
}

/* Take a group out of the table; its reference is the caller's. */
static void unlist(struct group *g)
{
	lockdep_assert_held(&groups_lock);
	rb_erase(&g->node, &groups);
	g->listed = false;
	if (!list_empty(&g->grave)) {
		list_del_init(&g->grave);
		nr_tombstones--;
	}
}

static void unlist_put(struct group *g)
{
	bool listed;

	mutex_lock(&groups_lock);
	listed = g->listed;
	if (listed)
		unlist(g);
	mutex_unlock(&groups_lock);
	if (listed)
		group_put(g);
}

static struct group *oldest_tombstone(void)
{
	return list_first_entry_or_null(&tombstones, struct group, grave);
}

/* L8: tombstones are bounded in number and in time. */
static void forget_some(u32 max, u64 now)
{
	struct group *g;

	lockdep_assert_held(&groups_lock);
	while ((g = oldest_tombstone()) &&
	       (nr_tombstones > max || g->forget_ns <= now)) {
		unlist(g);
		group_put(g);
	}
}

/* It is over, and some have not come: they are told, when they do. */
static void bury(struct group *g)
{
	struct pull_limits limits = param_pull_limits();
	u64 now = ktime_get_ns();

	mutex_lock(&groups_lock);
	if (g->listed) {
		g->forget_ns = now + limits.tombstone_ns;
		list_add_tail(&g->grave, &tombstones);
		nr_tombstones++;
		forget_some(limits.max_tombstones, now);
	}
	mutex_unlock(&groups_lock);
}

void groups_forget(void)
{
	mutex_lock(&groups_lock);
	forget_some(0, U64_MAX);
	mutex_unlock(&groups_lock);
}

/*
 * The group of that number, referenced; @new, if there is none, which is then in
 * the table.
 */
static struct group *find_or_add(struct group *new)
{
	struct rb_node **link, *parent = NULL;
	struct group *g = NULL;
	int order;

	mutex_lock(&groups_lock);
	forget_some(param_pull_limits().max_tombstones, ktime_get_ns());
	link = &groups.rb_node;
	while (*link && !g) {
		parent = *link;
		order = compare(rb_entry(parent, struct group, node), new->uid,
				new->number);
		if (!order)
			g = rb_entry(parent, struct group, node);
		else
			link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	if (!g) {
		g = new;
		rb_link_node(&g->node, parent, link);
		rb_insert_color(&g->node, &groups);
		g->listed = true;
		kref_get(&g->ref);
	}
	kref_get(&g->ref);
	mutex_unlock(&groups_lock);
	return g;
}

/*
 * Decisions
 */

void group_kick(struct transfer *t)
{
	struct group *g = t->member->group;

	lockdep_assert_held(&t->member->region->lock);
	if (!mod_delayed_work(lkvfence_wq, &g->work, 0))
		kref_get(&g->ref);
}

static void look_later(struct group *g, u64 now)
{
	if (queue_delayed_work(lkvfence_wq, &g->work,
			       nsecs_to_jiffies(g->deadline_ns - now) + 1))
		kref_get(&g->ref);
}

static void look(struct group *g, struct group_state *state, u64 now)
{
	struct member *m;

	*state = (struct group_state) {
		.size	= g->size,
		.joined	= g->joined,
		.late	= g->deadline_ns && g->deadline_ns <= now,
	};
	list_for_each_entry(m, &g->members, node) {
		mutex_lock(&m->region->lock);
		group_add(state, &m->transfer->fence);
		mutex_unlock(&m->region->lock);
	}
}

/* L6b: each through the gate that it would have gone through alone. */
static void end_members(struct group *g, u32 reason)
{
	struct fence_limits limits = param_limits();
	struct member *m;

	list_for_each_entry(m, &g->members, node) {
		struct region *r = m->region;

		mutex_lock(&r->lock);
		fence_end_member(&r->fence, &m->transfer->fence, reason, &limits,
				 ktime_get_ns());
		region_settle(r, NULL, 0);
		mutex_unlock(&r->lock);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct region *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The members' regions, each once, in the order in which they are locked. */
static u32 regions_of(struct group *g, struct region **all)
{
	struct member *m;
	u32 nr = 0, i, distinct = 0;

	list_for_each_entry(m, &g->members, node)
		all[nr++] = m->region;
	sort(all, nr, sizeof(*all), by_address, NULL);
	for (i = 0; i < nr; i++) {
		if (!i || all[i] != all[i - 1])
			all[distinct++] = all[i];
	}
	return distinct;
}

/* L12: in one step, and each is told the same, in the same order. */
static void release_members(struct group *g, const struct group_state *state)
{
	struct region *all[MAX_MEMBERS];
	u32 nr = regions_of(g, all), i;
	struct member *m;
	u64 now;

	for (i = 0; i < nr; i++)
		mutex_lock_nest_lock(&all[i]->lock, &g->lock);
	now = ktime_get_ns();
	list_for_each_entry(m, &g->members, node) {
		m->transfer->member = NULL;
		fence_release_member(&m->region->fence, &m->transfer->fence,
				     state->outcome, state->evidence, now);
	}
	for (i = 0; i < nr; i++) {
		region_settle(all[i], NULL, 0);
		mutex_unlock(&all[i]->lock);
	}
}

/* All members are released: @gone is what is left of them. */
static void part(struct group *g, struct list_head *gone)
{
	struct member *m, *next;

	list_for_each_entry_safe(m, next, gone, node) {
		/* It may have been kept by nothing but what was released. */
		region_retire(m->region);
		region_put(m->region);
		member_free(m);
		group_put(g);
	}
}

/* Nobody joins any more; who should have is told so, for some time. */
static void seal(struct group *g)
{
	g->sealed = true;
	if (g->joined + g->refused == g->size)
		unlist_put(g);
}

static void group_work(struct work_struct *work)
{
	struct group *g = container_of(work, struct group, work.work);
	struct group_state state;
	LIST_HEAD(gone);
	u64 now;

	mutex_lock(&g->lock);
	now = ktime_get_ns();
	look(g, &state, now);
	if (group_sealed(&state) && !g->sealed)
		seal(g);
	switch (list_empty(&g->members) ? GROUP_WAIT : group_decide(&state)) {
	case GROUP_END:
		end_members(g, group_reason(&state));
		break;
	case GROUP_RELEASE:
		release_members(g, &state);
		list_splice_init(&g->members, &gone);
		/* No work is left behind: the module may go with its regions. */
		if (cancel_delayed_work(&g->work))
			group_put(g);
		bury(g);
		break;
	case GROUP_WAIT:
		/* L8: who is done doesn't wait for ever. */
		if (state.gathered && !g->deadline_ns)
			g->deadline_ns = now + param_limits().default_ns;
		if (state.gathered && !state.late)
			look_later(g, now);
		break;
	}
	mutex_unlock(&g->lock);
	part(g, &gone);
	group_put(g);
}

/*
 * JOIN
 */

/* The transfer becomes a member of a group that is locked. */
static int enter(struct group *g, struct region *r, u64 generation, struct member *m)
{
	struct fence_transfer *ft;
	int err;

	mutex_lock(&r->lock);
	err = fence_lookup(&r->fence, generation, &ft);
	if (!err)
		err = fence_join(&r->fence, ft);
	if (!err) {
		kref_get(&g->ref);
		m->group = g;
		region_get(r);
		m->region = r;
		m->transfer = to_transfer(ft);
		m->transfer->member = m;
		list_add_tail(&m->node, &g->members);
		g->joined++;
	}
	mutex_unlock(&r->lock);
	return err;
}

/* -EAGAIN: that was another use of the number; there may be a new one by now. */
static int join(struct group *g, struct region *r, const struct lkvfence_join *arg,
		struct member *m)
{
	int err;

	mutex_lock(&g->lock);
	if (g->closed) {
		err = -EAGAIN;
	} else if (g->size != arg->nr_members) {
		err = -EINVAL;
	} else if (g->sealed) {
		g->refused++;
		seal(g);
		err = -ECANCELED;
	} else {
		err = enter(g, r, arg->generation, m);
		/* The number may be used anew; one that nobody joined is none. */
		if (g->joined == g->size || !g->joined) {
			g->closed = true;
			unlist_put(g);
		}
	}
	mutex_unlock(&g->lock);
	return err;
}

int call_join(struct handle *h, void *argp)
{
	struct lkvfence_join *arg = argp;
	struct region *r = h->region;
	struct group *g, *new;
	struct member *m;
	int err;

	if (arg->flags || arg->pad)
		return -EINVAL;
	if (arg->nr_members < 2 || arg->nr_members > MAX_MEMBERS)
		return -ERANGE;
	m = member_alloc();
	if (!m)
		return -ENOMEM;
	do {
		new = group_alloc(r->uid, arg->group, arg->nr_members);
		if (!new) {
			err = -ENOMEM;
			break;
		}
		g = find_or_add(new);
		group_put(new);
		err = join(g, r, arg, m);
		group_put(g);
	} while (err == -EAGAIN);
	if (err)
		member_free(m);
	return err;
}
