// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The prober: one thread that asks the module, for each peer whose time has come,
 * whether it may probe it, and a thread of its own for each probe.
 *
 * The lock is held while the module is asked and told, which takes no time, and
 * never while a callback runs. So a callback that hangs has nothing that anybody
 * else needs: but for its entry, and the prober itself, which stay until it is back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define INTERVAL_NS	(30 * NSEC_PER_SEC)
#define MAX_PEERS	1024

/*
 * A peer that was added. It is in the prober's list until it is removed, and its
 * probe's thread has it until that is over: who comes last frees it.
 */
struct entry {
	struct entry *next;
	struct lkvfence_prober *prober;
	struct lkvfence_prober_peer peer;
	char name[64];
	bool listed;
	bool running;
	bool hung;
	uint64_t due_ns;		/* when to ask; while it runs: hung from then on */
	uint64_t claim;			/* of the probe under way */
	struct lkvfence_probe probe;	/* likewise */
	int result;
};

struct lkvfence_prober {
	pthread_mutex_t lock;		/* guards all that follows, and entries */
	pthread_cond_t wake;		/* the prober's thread: something has changed */
	pthread_cond_t idle;		/* who stops it: a probe is over */
	pthread_t thread;
	struct lkvfence_prober_attr attr;
	struct entry *entries;
	bool stopped;
	bool abandoned;			/* who stopped it has gone */
	struct lkvfence_prober_stat stat;
};

/*
 * A probe
 */

static int tell(struct entry *e)
{
	struct lkvfence_prober *p = e->prober;
	struct lkvfence_peer peer = {
		.op = e->result ? LKVFENCE_PEER_OP_PROBED :
				  LKVFENCE_PEER_OP_RECOVERED,
		.generation = e->result ? 0 : e->probe.generation,
		.probe = e->claim,
		.interval_ns = e->result ? p->attr.interval_ns : 0,
	};
	int err;

	memcpy(peer.name, e->name, sizeof(peer.name));
	err = lkvfence_peer(p->attr.fence, &peer);
	if (err)
		p->stat.late++;
	else if (e->result)
		p->stat.failures++;
	else
		p->stat.recoveries++;
	return err;
}

static void release(struct lkvfence_prober *p)
{
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Also where the callback has ended its thread, and not returned. */
static void over(void *arg)
{
	struct entry *e = arg;
	struct lkvfence_prober *p = e->prober;
	struct lkvfence_probed probed = { .peer = e->name, .result = e->result };
	bool last;

	pthread_mutex_lock(&p->lock);
	if (!p->stopped) {
		probed.err = tell(e);
		if (p->attr.probed) {
			/* It is running still: nobody frees it meanwhile. */
			pthread_mutex_unlock(&p->lock);
			p->attr.probed(&probed, p->attr.arg);
			pthread_mutex_lock(&p->lock);
		}
	}
	p->stat.running--;
	p->stat.hung -= e->hung;
	e->running = false;
	e->hung = false;
	e->due_ns = lkvfence__pnow_ns() + p->attr.interval_ns;
	if (!e->listed)
		free(e);
	last = p->abandoned && !p->stat.running;
	pthread_cond_broadcast(&p->idle);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (last)
		release(p);
}

static void *run(void *arg)
{
	struct entry *e = arg;

	pthread_cleanup_push(over, e);
	e->result = -ECANCELED;
	e->result = e->peer.guard ?
		    e->peer.guard(e->peer.probe, &e->probe, e->peer.arg) :
		    e->peer.probe(&e->probe, e->peer.arg);
	pthread_cleanup_pop(1);
	return NULL;
}

/*
 * The thread that begins them
 */

/* The claim is ours: it must not be kept by a probe that can't be begun. */
static void begin(struct entry *e, const struct lkvfence_peer *peer)
{
	struct lkvfence_prober *p = e->prober;
	pthread_t thread;

	e->claim = peer->probe;
	e->probe = (struct lkvfence_probe){
		.peer = e->name,
		.session = peer->session,
		.generation = peer->generation,
		.interval_ns = p->attr.interval_ns,
	};
	e->running = true;
	p->stat.running++;
	if (!lkvfence__pthread(&thread, 1, run, e)) {
		p->stat.probes++;
		return;
	}
	e->running = false;
	p->stat.running--;
	p->stat.errors++;
	e->result = -EAGAIN;
	tell(e);
}

/* It is due: may we? */
static void ask(struct entry *e, uint64_t now)
{
	struct lkvfence_prober *p = e->prober;
	struct lkvfence_peer peer = {
		.op = LKVFENCE_PEER_OP_PROBE,
		.interval_ns = p->attr.interval_ns,
	};

	memcpy(peer.name, e->name, sizeof(peer.name));
	e->due_ns = now + p->attr.interval_ns;
	switch (lkvfence_peer(p->attr.fence, &peer)) {
	case 0:
		begin(e, &peer);
		break;
	case -EAGAIN:
	case -EBUSY:
		/* Not yet, or somebody else: see what came of it. */
		if (peer.next_probe_ns < e->due_ns)
			e->due_ns = peer.next_probe_ns + NSEC_PER_MSEC;
		break;
	case -EALREADY:
	case -ENOENT:
		/* It is healthy, or nobody has heard of it. */
		break;
	default:
		p->stat.errors++;
	}
}

static uint64_t look_after_all(struct lkvfence_prober *p)
{
	uint64_t now = lkvfence__pnow_ns(), next = now + p->attr.interval_ns;
	struct entry *e;

	for (e = p->entries; e; e = e->next) {
		if (now >= e->due_ns && !e->running) {
			ask(e, now);
		} else if (now >= e->due_ns && !e->hung) {
			e->hung = true;
			p->stat.hung++;
			p->stat.hangs++;
		}
		if (!e->hung && e->due_ns < next)
			next = e->due_ns;
	}
	return next;
}

static void *look_after(void *arg)
{
	struct lkvfence_prober *p = arg;
	struct timespec ts;
	uint64_t next;

	pthread_mutex_lock(&p->lock);
	while (!p->stopped) {
		next = look_after_all(p);
		ts = (struct timespec){
			.tv_sec = next / NSEC_PER_SEC,
			.tv_nsec = next % NSEC_PER_SEC,
		};
		pthread_cond_timedwait(&p->wake, &p->lock, &ts);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/*
 * Starting and stopping
 */

static void init_sync(struct lkvfence_prober *p)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attr);
	pthread_cond_init(&p->idle, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&p->lock, NULL);
}

int lkvfence_prober_start(struct lkvfence_prober **prober,
			  const struct lkvfence_prober_attr *attr)
{
	struct lkvfence_info info = { 0 };
	struct lkvfence_prober *p;
	int err;

	*prober = NULL;
	err = lkvfence_info(&info);
	if (err)
		return lkvfence__pfail(err, "prober: %s", lkvfence_errmsg());
	p = calloc(1, sizeof(*p));
	if (!p)
		return lkvfence__pfail(-ENOMEM, "prober: no memory");
	p->attr = *attr;
	if (!p->attr.interval_ns)
		p->attr.interval_ns = INTERVAL_NS;
	if (!p->attr.max_peers)
		p->attr.max_peers = MAX_PEERS;
	if (p->attr.interval_ns < info.timeout_min_ns ||
	    p->attr.interval_ns > info.timeout_max_ns) {
		err = lkvfence__pfail(-ERANGE,
				      "prober: an interval of %" PRIu64 " ns is out of bounds: the module takes %" PRIu64 " to %" PRIu64 " ns",
				      p->attr.interval_ns,
				      (uint64_t)info.timeout_min_ns,
				      (uint64_t)info.timeout_max_ns);
		free(p);
		return err;
	}
	init_sync(p);
	err = lkvfence__pthread(&p->thread, 0, look_after, p);
	if (err) {
		release(p);
		return lkvfence__pfail(err, "prober: no thread: %m");
	}
	*prober = p;
	return 0;
}

/* Returns how many probes are left. */
static uint32_t wait_idle(struct lkvfence_prober *p, int timeout_ms)
{
	uint64_t end = lkvfence__pnow_ns() + timeout_ms * NSEC_PER_MSEC;
	struct timespec ts = {
		.tv_sec = end / NSEC_PER_SEC,
		.tv_nsec = end % NSEC_PER_SEC,
	};

	while (p->stat.running) {
		if (timeout_ms < 0)
			pthread_cond_wait(&p->idle, &p->lock);
		else if (pthread_cond_timedwait(&p->idle, &p->lock, &ts))
			break;
	}
	return p->stat.running;
}

static void unlist(struct lkvfence_prober *p, struct entry **link)
{
	struct entry *e = *link;

	*link = e->next;
	e->listed = false;
	p->stat.peers--;
	if (!e->running)
		free(e);
}

int lkvfence_prober_stop(struct lkvfence_prober *p, int timeout_ms)
{
	uint32_t left;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);

	pthread_mutex_lock(&p->lock);
	left = wait_idle(p, timeout_ms);
	while (p->entries)
		unlist(p, &p->entries);
	p->abandoned = left;
	pthread_mutex_unlock(&p->lock);
	if (!left)
		release(p);
	return left;
}

/*
 * Peers
 */

static struct entry **find(struct lkvfence_prober *p, const char *name)
{
	struct entry **link;

	for (link = &p->entries; *link; link = &(*link)->next) {
		if (!strcmp((*link)->name, name))
			break;
	}
	return link;
}

int lkvfence_prober_add(struct lkvfence_prober *p,
			const struct lkvfence_prober_peer *peer)
{
	struct entry *e, **link;
	int err = 0;

	if (!peer->name || !*peer->name || !peer->probe ||
	    strlen(peer->name) >= sizeof(e->name))
		return lkvfence__pfail(-EINVAL,
			"prober: a peer has a name of 1 to 63 bytes, and a callback");
	e = calloc(1, sizeof(*e));
	if (!e)
		return lkvfence__pfail(-ENOMEM, "prober: no memory");
	e->prober = p;
	e->peer = *peer;
	e->listed = true;
	memcpy(e->name, peer->name, strlen(peer->name));
	e->peer.name = e->name;

	pthread_mutex_lock(&p->lock);
	link = find(p, e->name);
	if (*link)
		err = -EEXIST;
	else if (p->stat.peers >= p->attr.max_peers)
		err = -ENOSPC;
	if (!err) {
		*link = e;
		p->stat.peers++;
		pthread_cond_signal(&p->wake);
		e = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	free(e);
	if (!err)
		return 0;
	return lkvfence__pfail(err, err == -EEXIST ?
			       "prober: that peer was added before" :
			       "prober: there are as many peers as there may be (max_peers)");
}

int lkvfence_prober_remove(struct lkvfence_prober *p, const char *name)
{
	struct entry **link;
	int err = 0;

	pthread_mutex_lock(&p->lock);
	link = find(p, name);
	if (!*link)
		err = -ENOENT;
	else if ((*link)->running)
		err = -EBUSY;
	if (*link)
		unlist(p, link);
	pthread_mutex_unlock(&p->lock);
	if (err == -ENOENT)
		return lkvfence__pfail(err, "prober: no such peer was added");
	if (err)
		return lkvfence__pfail(err,
			"prober: its probe is under way: what the callback uses is in use until it returns");
	return 0;
}

void lkvfence_prober_stat(struct lkvfence_prober *p,
			  struct lkvfence_prober_stat *stat)
{
	pthread_mutex_lock(&p->lock);
	*stat = p->stat;
	pthread_mutex_unlock(&p->lock);
}
