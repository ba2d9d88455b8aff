/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * liblkvfence-probe: finds out when a failed peer works again. lkvfence_probe(7)
 * says what a peer is, and who marks it as failed.
 *
 * A prober has one thread, and one more for each probe that is under way; a
 * program that starts none has none. Every failed peer that was added is probed
 * each interval, by one process of the host: the others' probers wait for what
 * comes of it.
 *
 * A probe is a callback. One that fails, hangs or throws affects its own peer
 * alone: one that hangs keeps its thread, is counted, and isn't started again
 * before it returns; others go on, and so do other processes' probers for this
 * peer.
 *
 * Calls return 0 (or a count) on success and -errno on failure; errno itself is
 * left alone. lkvfence_probe_errmsg() says in words what the calling thread's last
 * failed call ran into.
 *
 * Threads: any number may call at once. fork(2): a child must not call; it has the
 * objects, but not their threads.
 */
#ifndef LKVFENCE_PROBE_H
#define LKVFENCE_PROBE_H

#include <sys/socket.h>
#include <lkvfence.h>

#ifdef __cplusplus
extern "C" {
/* A call and a struct share a name, as stat(2) does; g++ -Wshadow minds that. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

struct lkvfence_prober;
struct lkvfence_responder;

/**
 * struct lkvfence_probe - what is to be found out
 * @peer: the peer's name
 * @session: its session, as the engine numbers it; 0: none
 * @generation: its generation
 * @interval_ns: after so long others may probe it, too
 */
struct lkvfence_probe {
	const char *peer;
	uint64_t session;
	uint64_t generation;
	uint64_t interval_ns;
};

/* Does it work? 0: it does; anything else: it doesn't. */
typedef int (*lkvfence_probe_fn)(const struct lkvfence_probe *probe, void *arg);

/* Calls @fn, and returns what it returns. */
typedef int (*lkvfence_probe_guard_fn)(lkvfence_probe_fn fn,
				       const struct lkvfence_probe *probe,
				       void *arg);

/**
 * struct lkvfence_probed - what came of a probe
 * @peer: the peer's name
 * @result: what the callback returned
 * @err: of what the module was told: 0; -ESTALE it came too late: somebody else
 *	probes the peer by now, or it has another session; or another error
 */
struct lkvfence_probed {
	const char *peer;
	int result;
	int err;
};

/**
 * struct lkvfence_prober_attr - of lkvfence_prober_start()
 * @fence: a handle on any region of the user; open until the prober is stopped
 * @interval_ns: how often a failed peer is probed, within the module's bounds of
 *	timeouts; 0: 30 s
 * @max_peers: peers at once, and so probes that can hang; 0: 1024
 * @probed: called after each probe, from its thread; may be NULL
 * @arg: handed to it
 */
struct lkvfence_prober_attr {
	struct lkvfence *fence;
	uint64_t interval_ns;
	uint32_t max_peers;
	void (*probed)(const struct lkvfence_probed *probed, void *arg);
	void *arg;
};

/**
 * struct lkvfence_prober_peer - of lkvfence_prober_add()
 * @name: the peer's name
 * @probe: how to find out whether it works
 * @arg: handed to it
 * @guard: LKVFENCE_PROBE_GUARD
 */
struct lkvfence_prober_peer {
	const char *name;
	lkvfence_probe_fn probe;
	void *arg;
	lkvfence_probe_guard_fn guard;
};

/**
 * struct lkvfence_prober_stat - of lkvfence_prober_stat()
 * @peers: peers that were added
 * @running: probes under way
 * @hung: of these, those for longer than the interval
 * @probes: probes that were begun
 * @failures: of these, those that found the peer failed
 * @recoveries: those that found it to work
 * @late: those whose result came too late
 * @hangs: those that took longer than the interval
 * @errors: probes that couldn't be begun: no thread, no memory
 */
struct lkvfence_prober_stat {
	uint32_t peers;
	uint32_t running;
	uint32_t hung;
	uint64_t probes;
	uint64_t failures;
	uint64_t recoveries;
	uint64_t late;
	uint64_t hangs;
	uint64_t errors;
};

/**
 * lkvfence_prober_start() - begin to look after failed peers
 * @prober: where it goes
 * @attr: how
 *
 * Return: 0; -ERANGE interval_ns; -ENOMEM; -EAGAIN no thread; what
 * lkvfence_info() returns.
 */
int lkvfence_prober_start(struct lkvfence_prober **prober,
			  const struct lkvfence_prober_attr *attr);

/**
 * lkvfence_prober_stop() - the counterpart; NULL is fine
 * @prober: gone when it returns
 * @timeout_ms: how long to wait for probes that are under way; negative: for ever
 *
 * Not from a callback.
 *
 * Return: how many probes are left that didn't return in time: their threads, and
 * what their callbacks use, stay until they do. They report nothing any more.
 */
int lkvfence_prober_stop(struct lkvfence_prober *prober, int timeout_ms);

/**
 * lkvfence_prober_add() - probe this peer when it has failed
 * @prober: the prober
 * @peer: which, and how; copied
 *
 * Return: 0; -EEXIST it was added; -ENOSPC max_peers; -EINVAL no name, or no
 * callback; -ENOMEM.
 */
int lkvfence_prober_add(struct lkvfence_prober *prober,
			const struct lkvfence_prober_peer *peer);

/**
 * lkvfence_prober_remove() - probe it no more
 * @prober: the prober
 * @name: which
 *
 * Return: 0; -ENOENT it was not added; -EBUSY its probe is under way: it isn't
 * started again, but what the callback uses stays in use until it returns.
 */
int lkvfence_prober_remove(struct lkvfence_prober *prober, const char *name);

/** lkvfence_prober_stat() - gauges and counters */
void lkvfence_prober_stat(struct lkvfence_prober *prober,
			  struct lkvfence_prober_stat *stat);

/**
 * struct lkvfence_probe_target - the argument of lkvfence_probe_rdma()
 * @address: of the peer's responder, and its port; stays there
 * @source: the address to go out from, or NULL
 * @timeout_ms: how long it may take in all; 0: 5 s
 */
struct lkvfence_probe_target {
	const struct sockaddr *address;
	const struct sockaddr *source;
	uint32_t timeout_ms;
};

/**
 * lkvfence_probe_rdma() - a callback: does RDMA get there?
 * @probe: the peer
 * @target: a struct lkvfence_probe_target
 *
 * Connects a fresh queue pair by RDMA CM to a responder, and has a write of no
 * bytes acknowledged over it.
 *
 * Return: 0; -ETIMEDOUT; -ECONNREFUSED nobody listens, or he is busy;
 * -EHOSTUNREACH; -EIO the write failed; or another error.
 */
int lkvfence_probe_rdma(const struct lkvfence_probe *probe, void *target);

/**
 * lkvfence_responder_start() - answer lkvfence_probe_rdma()
 * @responder: where it goes
 * @address: to listen at; port 0: any
 *
 * One thread. Its queue pairs reach no memory.
 *
 * Return: 0; -EADDRINUSE, -EADDRNOTAVAIL, -ENODEV, -ENOMEM, -EAGAIN.
 */
int lkvfence_responder_start(struct lkvfence_responder **responder,
			     const struct sockaddr *address);

/** lkvfence_responder_port() - where it listens */
uint16_t lkvfence_responder_port(const struct lkvfence_responder *responder);

/** lkvfence_responder_stop() - the counterpart; NULL is fine */
void lkvfence_responder_stop(struct lkvfence_responder *responder);

/**
 * lkvfence_probe_errmsg() - the calling thread's last failure in this library
 *
 * Return: a string that is valid until the thread's next failed call; "" when
 * none failed yet.
 */
const char *lkvfence_probe_errmsg(void);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

/*
 * What a callback throws must not leave it: its thread is C. In C++ this guard
 * catches it, and the probe has failed; without, it ends the process.
 */
#ifdef __cpp_exceptions
inline int lkvfence_probe_caught(lkvfence_probe_fn fn,
				 const struct lkvfence_probe *probe, void *arg)
{
	try {
		return fn(probe, arg);
	} catch (...) {
		return -1;
	}
}

#define LKVFENCE_PROBE_GUARD	lkvfence_probe_caught
#else
#define LKVFENCE_PROBE_GUARD	NULL
#endif

#endif /* LKVFENCE_PROBE_H */
