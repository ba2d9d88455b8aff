// SPDX-License-Identifier: GPL-2.0-only
/*
 * Healthy or failed.
 *
 *	           peer_fail()
 *	healthy ----------------> failed -- peer_probe() --> failed, claimed
 *	   ^                        |  ^                         |
 *	   |                        |  +---- peer_probed(), -----+
 *	   |                        |        peer_prober_gone()  |
 *	   +--- peer_recover(), ----+----------------------------+
 *	        peer_connect() with another session
 *
 * A claim is known by its number, and by who has it. It is over with its interval
 * only when somebody else claims: until then what comes of it, however late, is
 * better than nothing.
 *
 * Only a healthy peer can fail, and only a failed one recover: so the numbers of
 * both differ by whether it is failed now.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "peer_state.h"

static void unclaim(struct peer_state *p)
{
	p->probe = 0;
	p->prober = NULL;
}

/* The one place where a failed peer becomes healthy. */
static void heal(struct peer_state *p, u64 now)
{
	if (!p->failed)
		return;
	p->failed = false;
	p->since_ns = now;
	p->due_ns = 0;
	p->counts.recoveries++;
	unclaim(p);
}

/* L5: is that the session that there is? */
static bool is_present(const struct peer_state *p, u64 session, u64 generation)
{
	return (!session || session == p->session) &&
	       (!generation || generation == p->generation);
}

static bool has_claim(const struct peer_state *p, const void *prober, u64 probe)
{
	return p->prober && p->prober == prober && (!probe || probe == p->probe);
}

static int stale(struct peer_state *p)
{
	p->counts.stale++;
	return -ESTALE;
}

void peer_init(struct peer_state *p, u64 session, u64 generation, u64 now)
{
	memset(p, 0, sizeof(*p));
	p->session = session;
	p->generation = generation;
	p->since_ns = now;
	p->counts.sessions = !!session;
}

void peer_connect(struct peer_state *p, u64 session, u64 generation, u64 now)
{
	if (session == p->session)
		return;
	p->session = session;
	p->generation = generation;
	p->counts.sessions++;
	heal(p, now);
	p->since_ns = now;
}

int peer_fail(struct peer_state *p, u64 session, u64 generation, u64 delay_ns,
	      u64 now)
{
	if (!is_present(p, session, generation))
		return stale(p);
	/* Another one of many: neither the claim nor its time change. */
	if (p->failed)
		return 0;
	p->failed = true;
	p->since_ns = now;
	p->due_ns = now + delay_ns;
	p->counts.failures++;
	return 0;
}

int peer_recover(struct peer_state *p, u64 session, u64 generation,
		 const void *prober, u64 probe, u64 now)
{
	if (!is_present(p, session, generation) ||
	    (probe && !has_claim(p, prober, probe)))
		return stale(p);
	heal(p, now);
	return 0;
}

int peer_probe(struct peer_state *p, const void *prober, u64 probe,
	       u64 interval_ns, u64 now)
{
	if (!p->failed)
		return -EALREADY;
	if (now < p->due_ns)
		return p->prober ? -EBUSY : -EAGAIN;
	p->prober = prober;
	p->probe = probe;
	p->due_ns = now + interval_ns;
	p->counts.probes++;
	return 0;
}

int peer_probed(struct peer_state *p, const void *prober, u64 probe,
		u64 interval_ns, u64 now)
{
	if (!has_claim(p, prober, probe))
		return stale(p);
	p->due_ns = now + interval_ns;
	unclaim(p);
	return 0;
}

void peer_prober_gone(struct peer_state *p, const void *prober, u64 now)
{
	if (!has_claim(p, prober, 0))
		return;
	p->due_ns = now;
	unclaim(p);
}

int peer_may_launch(struct peer_state *p)
{
	if (!p->failed)
		return 0;
	p->counts.refused++;
	return -EHOSTDOWN;
}
