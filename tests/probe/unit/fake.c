// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <lkvfence.h>

#include "fake.h"
#include "peer_state.h"

#define NR_PEERS	64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[64];
	struct peer_state state;
} peers[NR_PEERS];
static uint64_t last;		/* generation, or claim */
static unsigned int calls;
static int error, info_error;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct peer_state *find(const char *name)
{
	int i;

	for (i = 0; i < NR_PEERS && *peers[i].name; i++) {
		if (!strcmp(peers[i].name, name))
			return &peers[i].state;
	}
	if (i == NR_PEERS)
		return NULL;
	snprintf(peers[i].name, sizeof(peers[i].name), "%s", name);
	peer_init(&peers[i].state, 0, ++last, now_ns());
	return &peers[i].state;
}

void fake_reset(void)
{
	memset(peers, 0, sizeof(peers));
	calls = 0;
	error = 0;
	info_error = 0;
}

unsigned int fake_calls(void)
{
	unsigned int nr;

	pthread_mutex_lock(&lock);
	nr = calls;
	pthread_mutex_unlock(&lock);
	return nr;
}

void fake_set_error(int err)
{
	pthread_mutex_lock(&lock);
	error = err;
	pthread_mutex_unlock(&lock);
}

void fake_set_info_error(int err)
{
	info_error = err;
}

void fake_fail(const char *name)
{
	pthread_mutex_lock(&lock);
	peer_fail(find(name), 0, 0, 0, now_ns());
	pthread_mutex_unlock(&lock);
}

void fake_connect(const char *name, uint64_t session)
{
	pthread_mutex_lock(&lock);
	peer_connect(find(name), session, ++last, now_ns());
	pthread_mutex_unlock(&lock);
}

static struct peer_state look(const char *name)
{
	struct peer_state state;

	pthread_mutex_lock(&lock);
	state = *find(name);
	pthread_mutex_unlock(&lock);
	return state;
}

bool fake_failed(const char *name)
{
	return look(name).failed;
}

uint64_t fake_probes(const char *name)
{
	return look(name).counts.probes;
}

uint64_t fake_recoveries(const char *name)
{
	return look(name).counts.recoveries;
}

static int call(struct lkvfence *f, struct lkvfence_peer *p, struct peer_state *s)
{
	uint64_t probe = p->probe;

	p->probe = 0;
	switch (p->op) {
	case LKVFENCE_PEER_OP_RECOVERED:
		return peer_recover(s, p->session, p->generation, f, probe, now_ns());
	case LKVFENCE_PEER_OP_PROBE:
		p->probe = ++last;
		return peer_probe(s, f, p->probe, p->interval_ns, now_ns());
	case LKVFENCE_PEER_OP_PROBED:
		return peer_probed(s, f, probe, p->interval_ns, now_ns());
	default:
		return -EINVAL;
	}
}

int lkvfence_peer(struct lkvfence *f, struct lkvfence_peer *p)
{
	struct peer_state *s;
	int err;

	pthread_mutex_lock(&lock);
	calls++;
	err = error;
	s = find(p->name);
	if (!err && !s)
		err = -ENOENT;
	if (!err) {
		err = call(f, p, s);
		p->generation = s->generation;
		p->session = s->session;
		p->next_probe_ns = s->due_ns;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int lkvfence_info(struct lkvfence_info *info)
{
	info->timeout_min_ns = 1000000;
	info->timeout_max_ns = 3600000000000;
	return info_error;
}

const char *lkvfence_errmsg(void)
{
	return "the module's words";
}
