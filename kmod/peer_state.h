/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of one peer, and what a call changes in that: pure, as the fence
 * is. The caller serialises all calls on one struct peer_state.
 */
#ifndef LKVFENCE_PEER_STATE_H
#define LKVFENCE_PEER_STATE_H

#include <linux/lkvfence.h>
#include <linux/types.h>

/* Members as in struct lkvfence_peer; only ever grow. */
struct peer_counts {
	u64 failures;
	u64 recoveries;
	u64 probes;
	u64 refused;
	u64 sessions;
	u64 stale;
};

/**
 * struct peer_state - of one peer
 * @session: the engine's number for its session; 0: none was told
 * @generation: of the peer since then
 * @failed: or healthy
 * @since_ns: since when it is that, or has its session
 * @due_ns: of a failed one: when a probe may be claimed; of a claim: when others
 *	may
 * @probe: the number of the claim, of a failed one; 0: there is none
 * @prober: whose it is; NULL: nobody's
 * @counts: counters
 */
struct peer_state {
	u64 session;
	u64 generation;
	bool failed;
	u64 since_ns;
	u64 due_ns;
	u64 probe;
	const void *prober;
	struct peer_counts counts;
};

/**
 * peer_init() - a peer of which nothing is known is healthy
 * @p: the peer
 * @session: its session, or 0
 * @generation: a number that was never given before
 * @now: the time
 */
void peer_init(struct peer_state *p, u64 session, u64 generation, u64 now);

/**
 * peer_connect() - there is a session with it
 * @p: the peer
 * @session: the engine's number for it, not 0
 * @generation: for the peer, if it is a new one; never given before
 * @now: the time
 */
void peer_connect(struct peer_state *p, u64 session, u64 generation, u64 now);

/**
 * peer_fail() - a transfer to it failed
 * @p: the peer
 * @session: to which session; 0: to whichever it is
 * @generation: likewise
 * @delay_ns: when it may be probed: so long from now
 * @now: the time
 *
 * Return: 0: it is failed; -ESTALE: that was another session.
 */
int peer_fail(struct peer_state *p, u64 session, u64 generation, u64 delay_ns,
	      u64 now);

/**
 * peer_recover() - it works
 * @p: the peer
 * @session: as in peer_fail(), like @generation
 * @generation: likewise
 * @prober: who says so
 * @probe: as the result of which claim of his; 0: of none
 * @now: the time
 *
 * Return: 0: it is healthy; -ESTALE: that was another session, or it isn't his
 * claim.
 */
int peer_recover(struct peer_state *p, u64 session, u64 generation,
		 const void *prober, u64 probe, u64 now);

/**
 * peer_probe() - claim the next probe
 * @p: the peer
 * @prober: who wants to
 * @probe: a number for the claim, not 0, never given before
 * @interval_ns: for how long it is his
 * @now: the time
 *
 * Return: 0; -EALREADY the peer is healthy; -EBUSY somebody has the claim; -EAGAIN
 * it isn't time yet.
 */
int peer_probe(struct peer_state *p, const void *prober, u64 probe,
	       u64 interval_ns, u64 now);

/**
 * peer_probed() - a probe failed
 * @p: the peer
 * @prober: whose it was
 * @probe: which of his; 0: the one he has
 * @interval_ns: when the next may be claimed: so long from now
 * @now: the time
 *
 * Return: 0; -ESTALE it isn't his claim, any more.
 */
int peer_probed(struct peer_state *p, const void *prober, u64 probe,
		u64 interval_ns, u64 now);

/**
 * peer_prober_gone() - nobody will tell what came of his probe
 * @p: the peer
 * @prober: who is gone
 * @now: the time
 *
 * If he had the claim, others may claim at once.
 */
void peer_prober_gone(struct peer_state *p, const void *prober, u64 now);

/**
 * peer_may_launch() - to a healthy one only
 * @p: the peer
 *
 * Return: 0; -EHOSTDOWN it is failed, which is counted.
 */
int peer_may_launch(struct peer_state *p);

#endif /* LKVFENCE_PEER_STATE_H */
