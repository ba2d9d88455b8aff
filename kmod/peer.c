// SPDX-License-Identifier: GPL-2.0-only
/*
 * What PEER does, and who hears of it.
 *
 * A peer's state is changed under peers->lock alone. Who watches is told under
 * region->lock, which is taken inside, for one watcher after the other: an event's
 * content is kept with the watch, so that read(2) needs no lock of the peer's.
 */
#define pr_fmt(fmt) "lkvfence: " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "calls.h"
#include "event.h"
#include "main.h"
#include "peer.h"
#include "region.h"

/* Lines in the log about one user's peers: so many in so long. */
#define LOG_BURST	10
#define LOG_INTERVAL	(60 * HZ)

/* All users' tables. See region.h for the order of locks. */
static DEFINE_MUTEX(peers_lock);
static LIST_HEAD(all_peers);

/* A peer's generation, a claim's number, an id: each is given once. */
static atomic64_t last_generation;
static atomic64_t last_probe;
static atomic_t last_id;

atomic64_t peer_totals[NR_PEER_TOTALS];

/*
 * Tables
 */

static struct peers *peers_alloc(kuid_t uid)
{
	struct peers *ps = kzalloc(sizeof(*ps), GFP_CHARGED);

	if (!ps)
		return NULL;
	ps->uid = uid;
	mutex_init(&ps->lock);
	ps->by_name = RB_ROOT;
	ps->by_id = RB_ROOT;
	INIT_LIST_HEAD(&ps->idle);
	ratelimit_state_init(&ps->log, LOG_INTERVAL, LOG_BURST);
	return ps;
}

static void peers_free(struct peers *ps)
{
	mutex_destroy(&ps->lock);
	kfree(ps);
}

/* That of a user, or @new becomes it. */
static struct peers *find_peers(kuid_t uid, struct peers *new)
{
	struct peers *ps;

	lockdep_assert_held(&peers_lock);
	list_for_each_entry(ps, &all_peers, node) {
		if (uid_eq(ps->uid, uid))
			return ps;
	}
	list_add_tail(&new->node, &all_peers);
	return new;
}

/* That of the region's owner, which the region then has; NULL: no memory. */
static struct peers *peers_of(struct region *r)
{
	/* Pairs with the release below. */
	struct peers *ps = smp_load_acquire(&r->peers), *new;

	if (ps)
		return ps;
	new = peers_alloc(r->uid);
	if (!new)
		return NULL;
	mutex_lock(&peers_lock);
	ps = r->peers;
	if (!ps) {
		ps = find_peers(r->uid, new);
		ps->regions++;
		/* Pairs with the acquire above. */
		smp_store_release(&r->peers, ps);
	}
	mutex_unlock(&peers_lock);
	if (ps != new)
		peers_free(new);
	return ps;
}

/*
 * Peers, by name and by id
 */

static struct peer *find_peer(const struct peers *ps, const char *name)
{
	struct rb_node *n = ps->by_name.rb_node;

	while (n) {
		struct peer *p = rb_entry(n, struct peer, by_name);
		int order = memcmp(name, p->name, sizeof(p->name));

		if (!order)
			return p;
		n = order < 0 ? n->rb_left : n->rb_right;
	}
	return NULL;
}

/* The one of the least id that isn't below @id. */
static struct peer *find_from(const struct peers *ps, u32 id)
{
	struct rb_node *n = ps->by_id.rb_node;
	struct peer *found = NULL;

	while (n) {
		struct peer *p = rb_entry(n, struct peer, by_id);

		if (p->id >= id) {
			found = p;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return found;
}

static struct peer *find_id(const struct peers *ps, u32 id)
{
	struct peer *p = find_from(ps, id);

	return p && p->id == id ? p : NULL;
}

/* There is none of that name, or that id. */
static void insert(struct peers *ps, struct peer *new)
{
	struct rb_node **link = &ps->by_name.rb_node, *parent = NULL;

	while (*link) {
		struct peer *p = rb_entry(*link, struct peer, by_name);

		parent = *link;
		link = memcmp(new->name, p->name, sizeof(p->name)) < 0 ?
		       &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_name, parent, link);
	rb_insert_color(&new->by_name, &ps->by_name);

	link = &ps->by_id.rb_node;
	parent = NULL;
	while (*link) {
		struct peer *p = rb_entry(*link, struct peer, by_id);

		parent = *link;
		link = new->id < p->id ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->by_id, parent, link);
	rb_insert_color(&new->by_id, &ps->by_id);
	ps->nr++;
}

static void peer_free(struct peer *p)
{
	kfree(p);
	object_destroyed(OBJECT_PEER);
}

/* Nobody watches it, or has a claim on it. */
static void forget(struct peers *ps, struct peer *p)
{
	rb_erase(&p->by_name, &ps->by_name);
	rb_erase(&p->by_id, &ps->by_id);
	list_del(&p->idle);
	ps->nr--;
	atomic64_dec(&peer_totals[PEERS]);
	if (p->state.failed)
		atomic64_dec(&peer_totals[PEERS_FAILED]);
	peer_free(p);
}

static struct peer *peer_alloc(const char *name)
{
	struct peer *p = kzalloc(sizeof(*p), GFP_CHARGED);

	if (!p)
		return NULL;
	INIT_LIST_HEAD(&p->idle);
	INIT_LIST_HEAD(&p->claimed);
	INIT_LIST_HEAD(&p->watches);
	memcpy(p->name, name, sizeof(p->name));
	object_created(OBJECT_PEER);
	return p;
}

/* Into the table, where there is room, or somebody makes room. */
static int add_peer(struct peers *ps, struct peer *p, u64 session)
{
	struct peer *old;

	if (ps->nr >= param_max_peers()) {
		old = list_first_entry_or_null(&ps->idle, struct peer, idle);
		if (!old)
			return -ENOSPC;
		forget(ps, old);
	}
	/* There are less than 2^32, so this comes to an end. */
	do {
		p->id = atomic_inc_return(&last_id);
	} while (!p->id || find_id(ps, p->id));
	peer_init(&p->state, session, atomic64_inc_return(&last_generation),
		  ktime_get_ns());
	insert(ps, p);
	atomic64_inc(&peer_totals[PEERS]);
	return 0;
}

/* It was named: it goes last, where it may go at all. */
static void touch(struct peers *ps, struct peer *p)
{
	if (p->state.failed || !list_empty(&p->watches))
		list_del_init(&p->idle);
	else
		list_move_tail(&p->idle, &ps->idle);
}

void peers_put(struct region *r)
{
	struct peers *ps = r->peers;
	bool last;

	if (!ps)
		return;
	mutex_lock(&peers_lock);
	last = !--ps->regions;
	if (last)
		list_del(&ps->node);
	mutex_unlock(&peers_lock);
	if (!last)
		return;
	/* No handle has it: nothing is watched, or claimed. */
	while (!RB_EMPTY_ROOT(&ps->by_id))
		forget(ps, rb_entry(ps->by_id.rb_node, struct peer, by_id));
	peers_free(ps);
}

/*
 * Who hears of it
 */

static struct peer_watch *find_watch(const struct handle *h, const struct peer *p)
{
	struct peer_watch *w;

	list_for_each_entry(w, &p->watches, of_peer) {
		if (w->handle == h)
			return w;
	}
	return NULL;
}

/* Returns whether @w is in use: a handle watches a peer once. */
static bool watch(struct handle *h, struct peer *p, struct peer_watch *w)
{
	if (find_watch(h, p))
		return false;
	w->peer = p;
	w->handle = h;
	INIT_LIST_HEAD(&w->unread);
	list_add_tail(&w->of_peer, &p->watches);
	list_add_tail(&w->of_handle, &h->watches);
	return true;
}

static void post(struct peer_watch *w, const struct peer_state *state, u64 now)
{
	struct handle *h = w->handle;

	mutex_lock(&h->region->lock);
	w->changes++;
	w->generation = state->generation;
	w->failed = state->failed;
	w->time_ns = now;
	if (list_empty(&w->unread)) {
		list_add_tail(&w->unread, &h->unread_peers);
		event_added(h);
	}
	mutex_unlock(&h->region->lock);
}

void peer_describe(const struct peer_watch *w, struct lkvfence_event *e)
{
	*e = (struct lkvfence_event) {
		.generation	= w->generation,
		.tag		= w->peer->id,
		.time_ns	= w->time_ns,
		.type		= LKVFENCE_EVENT_PEER,
		.reason		= w->failed ? LKVFENCE_REASON_FAILED :
				  LKVFENCE_REASON_NONE,
	};
}

static void forget_event(struct peer_watch *w)
{
	if (list_empty(&w->unread))
		return;
	list_del_init(&w->unread);
	event_removed(w->handle);
}

void peer_consume(struct peer_watch *w, u32 changes)
{
	if (w->changes == changes)
		forget_event(w);
}

/* Counts, logs and tells what a call has changed in @p since it was @before. */
static void settle(struct peers *ps, struct peer *p,
		   const struct peer_state *before, u64 now)
{
	const struct peer_state *state = &p->state;
	struct peer_watch *w;

	atomic64_add(state->counts.failures - before->counts.failures,
		     &peer_totals[PEER_FAILURES]);
	atomic64_add(state->counts.recoveries - before->counts.recoveries,
		     &peer_totals[PEER_RECOVERIES]);
	atomic64_add(state->failed - before->failed, &peer_totals[PEERS_FAILED]);
	if (!state->prober) {
		list_del_init(&p->claimed);
		p->pid = 0;
	}
	if (state->failed != before->failed && __ratelimit(&ps->log))
		pr_notice("peer %s of uid %u, session %llu: %s\n", p->name,
			  from_kuid(&init_user_ns, ps->uid), state->session,
			  state->failed ? "failed" : "recovered");
	if (state->failed == before->failed &&
	    state->generation == before->generation)
		return;
	list_for_each_entry(w, &p->watches, of_peer)
		post(w, state, now);
}

void peers_leave(struct handle *h)
{
	/* Pairs with the release in peers_of(). */
	struct peers *ps = smp_load_acquire(&h->region->peers);
	struct peer_watch *w, *next_watch;
	struct peer *p, *next;

	if (!ps)
		return;
	mutex_lock(&ps->lock);
	list_for_each_entry_safe(p, next, &h->claims, claimed) {
		peer_prober_gone(&p->state, h, ktime_get_ns());
		list_del_init(&p->claimed);
		p->pid = 0;
	}
	mutex_lock(&h->region->lock);
	list_for_each_entry(w, &h->watches, of_handle)
		forget_event(w);
	mutex_unlock(&h->region->lock);
	list_for_each_entry_safe(w, next_watch, &h->watches, of_handle) {
		list_del(&w->of_peer);
		list_del(&w->of_handle);
		touch(ps, w->peer);
		kfree(w);
	}
	mutex_unlock(&ps->lock);
}

/*
 * Calls
 */

int peer_launch(struct region *r, u32 id)
{
	struct peers *ps = peers_of(r);
	struct peer *p;
	int err = -EHOSTUNREACH;

	if (!ps)
		return -ENOMEM;
	mutex_lock(&ps->lock);
	p = find_id(ps, id);
	if (p) {
		err = peer_may_launch(&p->state);
		touch(ps, p);
	}
	mutex_unlock(&ps->lock);
	if (err == -EHOSTDOWN)
		atomic64_inc(&peer_totals[PEER_REFUSED]);
	return err;
}

static void describe(const struct peers *ps, const struct peer *p,
		     struct lkvfence_peer *arg)
{
	const struct peer_state *s = &p->state;

	arg->id = p->id;
	memcpy(arg->name, p->name, sizeof(arg->name));
	arg->session = s->session;
	arg->generation = s->generation;
	arg->state = s->failed ? LKVFENCE_PEER_FAILED : LKVFENCE_PEER_HEALTHY;
	arg->pid = p->pid;
	arg->uid = from_kuid_munged(current_user_ns(), ps->uid);
	arg->since_ns = s->since_ns;
	arg->next_probe_ns = s->due_ns;
	arg->now_ns = ktime_get_ns();
	arg->failures = s->counts.failures;
	arg->recoveries = s->counts.recoveries;
	arg->probes = s->counts.probes;
	arg->refused = s->counts.refused;
	arg->sessions = s->counts.sessions;
	arg->stale = s->counts.stale;
}

static int claim(struct handle *h, struct peer *p, struct lkvfence_peer *arg,
		 u64 interval_ns, u64 now)
{
	u64 number = atomic64_inc_return(&last_probe);
	int err = peer_probe(&p->state, h, number, interval_ns, now);

	arg->probe = err ? 0 : number;
	if (!err) {
		/* It may have been another handle's, whose time is over. */
		list_move_tail(&p->claimed, &h->claims);
		p->pid = current->tgid;
	}
	return err;
}

static int change(struct handle *h, struct peer *p, struct lkvfence_peer *arg,
		  u64 now)
{
	u64 interval_ns = arg->interval_ns ?: param_limits().default_ns;
	u64 probe = arg->probe;

	arg->probe = 0;
	switch (arg->op) {
	case LKVFENCE_PEER_OP_CONNECT:
		peer_connect(&p->state, arg->session,
			     atomic64_inc_return(&last_generation), now);
		return 0;
	case LKVFENCE_PEER_OP_FAILED:
		return peer_fail(&p->state, arg->session, arg->generation,
				 arg->interval_ns, now);
	case LKVFENCE_PEER_OP_RECOVERED:
		return peer_recover(&p->state, arg->session, arg->generation, h,
				    probe, now);
	case LKVFENCE_PEER_OP_PROBE:
		return claim(h, p, arg, interval_ns, now);
	case LKVFENCE_PEER_OP_PROBED:
		return peer_probed(&p->state, h, probe, interval_ns, now);
	default:
		return 0;
	}
}

/* What a call may need, allocated before anything is locked. */
struct spare {
	struct peer *peer;
	struct peer_watch *watch;
};

static int call(struct handle *h, struct peers *ps, struct lkvfence_peer *arg,
		struct spare *spare)
{
	struct peer *p = find_peer(ps, arg->name);
	u64 now = ktime_get_ns();
	struct peer_state before;
	int err;

	if (!p) {
		if (!spare->peer)
			return -ENOENT;
		/* Of LOOK the session is ignored. */
		err = add_peer(ps, spare->peer, arg->op ? arg->session : 0);
		if (err)
			return err;
		p = spare->peer;
		spare->peer = NULL;
	}
	before = p->state;
	err = change(h, p, arg, now);
	settle(ps, p, &before, now);
	if (spare->watch && watch(h, p, spare->watch))
		spare->watch = NULL;
	touch(ps, p);
	if (err != -ESTALE)
		describe(ps, p, arg);
	return err;
}

static int look_next(struct peers *ps, struct lkvfence_peer *arg)
{
	struct peer *p;

	if (arg->id == U32_MAX)
		return -ENOENT;
	arg->probe = 0;
	mutex_lock(&ps->lock);
	p = find_from(ps, arg->id + 1);
	if (p)
		describe(ps, p, arg);
	mutex_unlock(&ps->lock);
	return p ? 0 : -ENOENT;
}

/* The least of all users'. */
static int look_all(struct lkvfence_peer *arg)
{
	struct lkvfence_peer found = { };
	struct peers *ps;

	if (!capable(CAP_DAC_OVERRIDE))
		return -EPERM;
	mutex_lock(&peers_lock);
	list_for_each_entry(ps, &all_peers, node) {
		struct lkvfence_peer next = *arg;

		if (!look_next(ps, &next) && (!found.id || next.id < found.id))
			found = next;
	}
	mutex_unlock(&peers_lock);
	if (!found.id)
		return -ENOENT;
	*arg = found;
	return 0;
}

/* Fills up the rest with zeros, so that names can be compared. */
static bool is_peer_name(char *name, size_t room)
{
	size_t i, len = strnlen(name, room);

	if (!len || len == room)
		return false;
	for (i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	memset(name + len, 0, room - len);
	return true;
}

/* The flags that go with what is asked for. */
static u32 flags_of(u32 op)
{
	switch (op) {
	case LKVFENCE_PEER_OP_LOOK:
		return LKVFENCE_PEER_FLAGS;
	case LKVFENCE_PEER_OP_CONNECT:
		return LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH;
	case LKVFENCE_PEER_OP_FAILED:
		return LKVFENCE_PEER_CREATE;
	default:
		return 0;
	}
}

static bool has_interval(u32 op)
{
	return op == LKVFENCE_PEER_OP_FAILED || op == LKVFENCE_PEER_OP_PROBE ||
	       op == LKVFENCE_PEER_OP_PROBED;
}

static int check(struct lkvfence_peer *arg)
{
	bool next = arg->flags & LKVFENCE_PEER_NEXT;

	if (arg->op > LKVFENCE_PEER_OP_PROBED || arg->pad ||
	    arg->flags & ~flags_of(arg->op))
		return -EINVAL;
	if (next ? arg->flags & (LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH) :
		   arg->flags & LKVFENCE_PEER_ALL)
		return -EINVAL;
	if (!next && !is_peer_name(arg->name, sizeof(arg->name)))
		return -EINVAL;
	if (arg->op == LKVFENCE_PEER_OP_CONNECT && !arg->session)
		return -EINVAL;
	if (!has_interval(arg->op) && arg->interval_ns)
		return -EINVAL;
	return is_timeout(arg->interval_ns) ? 0 : -ERANGE;
}

int call_peer(struct handle *h, void *argp)
{
	struct lkvfence_peer *arg = argp;
	struct spare spare = { };
	struct peers *ps;
	int err;

	err = check(arg);
	if (err)
		return err;
	if (arg->flags & LKVFENCE_PEER_ALL)
		return look_all(arg);
	ps = peers_of(h->region);
	if (!ps)
		return -ENOMEM;
	if (arg->flags & LKVFENCE_PEER_NEXT)
		return look_next(ps, arg);

	if (arg->op == LKVFENCE_PEER_OP_CONNECT ||
	    arg->flags & LKVFENCE_PEER_CREATE) {
		spare.peer = peer_alloc(arg->name);
		if (!spare.peer)
			return -ENOMEM;
	}
	if (arg->flags & LKVFENCE_PEER_WATCH) {
		spare.watch = kzalloc(sizeof(*spare.watch), GFP_CHARGED);
		err = spare.watch ? 0 : -ENOMEM;
	}
	if (!err) {
		mutex_lock(&ps->lock);
		err = call(h, ps, arg, &spare);
		mutex_unlock(&ps->lock);
	}
	kfree(spare.watch);
	if (spare.peer)
		peer_free(spare.peer);
	return err;
}
