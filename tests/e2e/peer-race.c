// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Everything at once: failures, recoveries, sessions, claims, watchers that read
 * and go, by threads with handles of several regions. What comes out adds up, no
 * claim is had twice, and the last event tells the last state.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "e2e.h"

#define THREADS	6
#define ROUNDS	3000
#define PEERS	3

static atomic_int holders[PEERS];	/* of a claim, as they see it */
static atomic_uint twice;

static struct lkvfence_peer named(unsigned int i, uint32_t op)
{
	struct lkvfence_peer p = { .op = op };

	snprintf(p.name, sizeof(p.name), "race-%u", i);
	return p;
}

/* Claims that don't run out are had by one at a time. */
static void probe(struct lkvfence *f, unsigned int i)
{
	struct lkvfence_peer p = named(i, LKVFENCE_PEER_OP_PROBE);

	p.interval_ns = 3600000 * MS;
	if (lkvfence_peer(f, &p))
		return;
	if (atomic_fetch_add(&holders[i], 1))
		atomic_fetch_add(&twice, 1);
	sched_yield();
	atomic_fetch_sub(&holders[i], 1);
	p.op = LKVFENCE_PEER_OP_PROBED;
	p.interval_ns = 10 * MS;
	lkvfence_peer(f, &p);
}

static void step(struct lkvfence **f, const char *name, unsigned int *seed)
{
	unsigned int i = rand_r(seed) % PEERS;
	struct lkvfence_event e[4];
	struct lkvfence_peer p;
	uint64_t g;

	switch (rand_r(seed) % 8) {
	case 0:
		p = named(rand_r(seed) % (2 * PEERS), LKVFENCE_PEER_OP_FAILED);
		p.flags = LKVFENCE_PEER_CREATE;
		lkvfence_peer(*f, &p);
		break;
	case 1:
		probe(*f, i);
		break;
	case 2:
		p = named(rand_r(seed) % (2 * PEERS), LKVFENCE_PEER_OP_LOOK);
		p.flags = LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH;
		lkvfence_peer(*f, &p);
		break;
	case 3:
		lkvfence_events(*f, e, 4, 0);
		break;
	case 4:
		if (rand_r(seed) % 8)
			break;
		lkvfence_close(*f);
		*f = region(name, 8);
		break;
	case 5:
		g = begin(*f, rand_r(seed), rand_r(seed) % 8, 1, 0);
		lkvfence_take_healthy(*f, g, 1, rand_r(seed) % 8);
		drained(*f, g, 1);
		lkvfence_release(*f, g);
		break;
	case 6:
		p = (struct lkvfence_peer){
			.flags = LKVFENCE_PEER_NEXT | LKVFENCE_PEER_ALL,
		};
		while (!lkvfence_peer(*f, &p))
			;
		break;
	default:
		/* Not of those whose claims are looked at: it ends them. */
		p = named(PEERS + i, rand_r(seed) % 2 ? LKVFENCE_PEER_OP_CONNECT :
			  LKVFENCE_PEER_OP_RECOVERED);
		p.session = 1 + rand_r(seed) % 3;
		lkvfence_peer(*f, &p);
	}
}

static void *hammer(void *arg)
{
	unsigned int seed = (uintptr_t)arg, i;
	struct lkvfence *f;
	char name[32];

	/* A region of its own, so that BEGINs don't collide. */
	snprintf(name, sizeof(name), "peer-race-%u", seed);
	f = region(name, 8);
	for (i = 0; i < ROUNDS; i++)
		step(&f, name, &seed);
	clear(f);
	lkvfence_close(f);
	return NULL;
}

static void last_event(struct lkvfence *f)
{
	struct lkvfence_event e = { 0 }, got;
	struct lkvfence_peer p;
	unsigned int i;
	bool good = true;

	for (i = 0; i < PEERS; i++) {
		p = named(i, LKVFENCE_PEER_OP_FAILED);
		p.flags = LKVFENCE_PEER_CREATE;
		need(!lkvfence_peer(f, &p), "FAILED");
	}
	while (lkvfence_events(f, &got, 1, 0) == 1) {
		e = got;
		good &= e.type == LKVFENCE_EVENT_PEER && e.reason == LKVFENCE_REASON_FAILED;
	}
	check(good && e.type, "unread events tell the state as it is");
}

int main(void)
{
	struct lkvfence *f = region("peer-race", 8);
	struct lkvfence_peer p;
	pthread_t threads[THREADS];
	unsigned int i;

	for (i = 0; i < PEERS; i++) {
		p = named(i, LKVFENCE_PEER_OP_LOOK);
		p.flags = LKVFENCE_PEER_CREATE | LKVFENCE_PEER_WATCH;
		need(!lkvfence_peer(f, &p), "LOOK");
	}
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)(i + 1)),
		     "a thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gives(atomic_load(&twice), 0, "no claim was had twice");
	p = (struct lkvfence_peer){ .flags = LKVFENCE_PEER_NEXT };
	for (i = 0; !lkvfence_peer(f, &p); i++) {
		check(p.failures - p.recoveries == (p.state == LKVFENCE_PEER_FAILED),
		      "%s: failures and recoveries", p.name);
		check(!p.pid, "%s: no claim without a handle", p.name);
	}
	check(i >= PEERS, "all are there");
	last_event(f);
	lkvfence_close(f);
	return done();
}
