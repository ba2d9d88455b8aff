/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The oracle of tests/model, seen through the ABI: regions by name, handles,
 * owners, arguments, QPs of sources, and events that wait to be read. It is given
 * each call with its answer, says whether that is allowed, and follows it.
 *
 * The oracle is small. A call that is larger than it (more ranges, more leases),
 * or that it knows nothing of (JOIN, and PEER that watches), makes the region blind:
 * from then on only sums are looked at.
 */
#ifndef LKVFENCE_FUZZ_MIRROR_H
#define LKVFENCE_FUZZ_MIRROR_H

#include "oracle.h"

#define MIRROR_REGIONS		8
#define MIRROR_HANDLES		10
#define MIRROR_TRANSFERS	64	/* released ones, whose event is unread, too */
#define MIRROR_QPS		6	/* of a source */
#define MIRROR_OFFERS		64	/* tombstones too */
#define MIRROR_TICKETS		224	/* answered ones that wait to be read, too */

/* Beside those of the oracle. */
#define WRONG_FAULT		BIT(9)
#define WRONG_TOO_BIG		BIT(10)
#define WRONG_MEMORY		BIT(11)
#define WRONG_PERMISSION	BIT(12)
#define WRONG_ACCESS		BIT(13)
#define WRONG_GEOMETRY		BIT(14)
#define WRONG_NO_FD		BIT(15)
#define WRONG_NO_FILE		BIT(16)
#define WRONG_COMMAND		BIT(17)
/* 18 and 19 are the oracle's. */
#define WRONG_NO_DEVICE		BIT(20)
#define WRONG_TYPE		BIT(21)
#define WRONG_NOT_CONNECTED	BIT(22)
#define WRONG_DRIVER		BIT(23)
#define WRONG_HOST_DOWN		BIT(24)
#define WRONG_NO_HOST		BIT(25)
#define WRONG_AGAIN		BIT(26)

#define MIRROR_MAX_RANGES	65536U
#define MIRROR_MAX_LEASES	4096U
#define MIRROR_MAX_QPS		64U

struct mirror_transfer {
	u64 generation;
	int owner;			/* a handle; -1: an orphan */
	bool released;
	u32 nr_ranges;
	struct lkvfence_range ranges[ORACLE_RANGES];
	u64 deadline;			/* the last one seen */
	u32 taken;			/* leases by TAKE and PULL */
	u64 owned_as;			/* when its owner got it, among all */
	u64 clock;			/* the oracle's, and when that was set */
	u64 clock_as;
	u64 granted_as[ORACLE_LEASES];	/* when each lease was granted, likewise */
	u32 unproven;			/* of the leases, when it was released */
	u32 unread;			/* 1 << enum lkvfence_event_type */
	struct lkvfence_event told[4];	/* by type */
	u64 earliest[4];		/* for an event's time, where the clock isn't ours */
};

struct mirror_qp {
	struct lkvfence_qp name;
	u32 identity;			/* a number that stands for the very QP */
	u32 state;			/* enum lkvfence_qp_state */
	u32 evidence;
	u64 settled_ns;
};

/* Beside what the oracle knows of a bound source. */
struct mirror_source {
	u32 source;
	u64 binding;
	int handle;			/* -1: it is closed */
	char peer[64];
	bool started;			/* it is being revoked, or was */
	u64 revoke_ns;
	bool unread;			/* its event */
	u32 nr_qps;
	struct mirror_qp qps[MIRROR_QPS];
};

/* A SOURCE that has not come back: which QPs others can see that it is to have. */
struct mirror_binding {
	struct mirror_binding *outer;
	bool doomed;
	u32 nr_qps;
	u32 identities[MIRROR_MAX_QPS];
};

/* A transfer that is to be pulled; then what is known of it, or of a tag. */
struct mirror_offer {
	u64 tag;
	u64 generation;			/* 0: the tag was aborted early */
	bool lives;			/* it has not ended */
	bool early;
	bool spent;			/* early, and a BEGIN was refused for it */
	u32 aborted;			/* it lives, and what comes after it is aborted: why */
	u32 reason;			/* why it ended */
	u64 buried_as;			/* when it became a tombstone, among all */
	u64 forget, forget_late;	/* when that is forgotten */
};

struct mirror_ticket {
	u64 number;
	int handle;
	bool exact;
	u64 tag;
	u64 generation;
	u32 source;
	u64 waits_for;			/* the transfer; 0: none is offered */
	u64 deadline, deadline_late;	/* between these two, where the clock isn't ours */
	u64 unclaimed, unclaimed_late;
	u32 reasons;			/* answered: 1 << each that may be; 0: it waits */
	u64 told;			/* with this generation, */
	u32 nr_slots;
	u64 earliest, latest;		/* between these two */
	u64 step;
};

struct mirror_region {
	bool exists;
	bool blind;
	bool maybe_gone;		/* blind, and without handles */
	char name[LKVFENCE_NAME_MAX + 1];
	u64 slot_size;
	u64 base;
	u32 nr_slots;
	u32 mode;
	u32 uid, gid;
	u32 handles;
	u32 nr;
	struct mirror_transfer transfers[MIRROR_TRANSFERS];
	struct mirror_source sources[ORACLE_SOURCES];	/* as many as the oracle has */
	u64 step;			/* a call, a close, or all that was due at one time */
	u64 order;			/* of owning and granting */
	u32 nr_offers;
	struct mirror_offer offers[MIRROR_OFFERS];
	u32 nr_tickets;
	struct mirror_ticket tickets[MIRROR_TICKETS];	/* as they were asked for */
	u64 pulls, pulls_granted, pulls_refused, pulls_closed, refused_early;
	struct oracle o;
};

struct mirror {
	bool exact;			/* the clock is the test's */
	u64 last_generation;
	u64 last_binding;		/* the highest one seen */
	u64 last_ticket;		/* likewise */
	u32 last_peer;			/* likewise */
	u64 features;
	u64 min_ns, max_ns, default_ns, revoke_ns, settle_ns;
	u64 unclaimed_ns, tombstone_ns;
	u32 max_slots, max_regions, max_transfers, max_sources, max_pulls, max_tombstones;
	s32 pid;
	char comm[LKVFENCE_COMM_LEN];
	struct mirror_region regions[MIRROR_REGIONS];
	int handles[MIRROR_HANDLES];	/* a region; -1: not open */
	struct mirror_binding *bindings;
};

union argument {
	u32 size;
	u8 bytes[sizeof(struct lkvfence_stat)];
	struct lkvfence_info info;
	struct lkvfence_open open;
	struct lkvfence_begin begin;
	struct lkvfence_take take;
	struct lkvfence_return ret;
	struct lkvfence_abort abort;
	struct lkvfence_release release;
	struct lkvfence_query query;
	struct lkvfence_adopt adopt;
	struct lkvfence_stat stat;
	struct lkvfence_source source;
	struct lkvfence_quiet quiet;
	struct lkvfence_report report;
	struct lkvfence_query_source query_source;
	struct lkvfence_ready ready;
	struct lkvfence_pull pull;
	struct lkvfence_withdraw withdraw;
	struct lkvfence_join join;
	struct lkvfence_peer peer;
};

/* What the kernel found of a QP during a call. */
struct look {
	bool finds;			/* looked up by its name, or looked at again */
	int err;
	u32 identity;
};

/* A call and its answer. */
struct call {
	int handle;			/* -1: the device */
	unsigned int cmd;
	u32 size;			/* of the struct, as the caller said */
	bool tail;			/* what is behind the struct isn't 0 */
	union argument in;		/* as the kernel read it */
	union argument out;
	const struct lkvfence_range *ranges;
	const u32 *sources;
	const struct lkvfence_return_item *items;
	const struct lkvfence_return_item *results;
	u32 nr_items;			/* as many were looked at */
	const struct lkvfence_range *got_ranges;
	const struct lkvfence_lease *got_leases;
	const struct lkvfence_qp *qps;	/* SOURCE: as far as they were looked at */
	u32 nr_qps;
	const struct look *looks;	/* SOURCE, QUIET */
	u32 nr_looks;
	bool doomed;			/* SOURCE: somebody revoked a QP of it meanwhile */
	u64 first_binding;		/* SOURCE: it must be higher than this */
	const struct lkvfence_qp *got_qps;
	u32 uid, gid, caps;		/* bit 0: DAC_OVERRIDE, bit 1: SYS_ADMIN */
	u32 below;			/* WRONG_*: what went wrong beneath the call */
	bool took_effect;		/* all the same: only the answer went astray */
	bool lost;			/* not all of it is known */
	int new_handle;			/* OPEN */
	u64 earliest;			/* when it can have happened ... */
	u64 now;			/* ... and when it did, or the latest */
	u64 latest;			/* when all that came of it had happened */
	int err;
};

void mirror_init(struct mirror *m);
/* The answer must be allowed; takes over what it changed. */
void mirror_call(struct mirror *m, const struct call *c);
/* An OPEN that succeeded is checked by mirror_call(); this is the other end. */
void mirror_close(struct mirror *m, int handle, u64 earliest, u64 now);
/* @n events, or a negative errno, came from a read with room for @room. */
void mirror_read(struct mirror *m, int handle, const struct lkvfence_event *e,
		 long n, u32 room, bool cut_short);
/* All that is due in a region has happened. */
void mirror_expire(struct mirror *m, struct mirror_region *r, u64 now);
/*
 * One transfer's clock has struck between the first two instants; who waited for it
 * has heard of that by the third.
 */
void mirror_expire_one(struct mirror *m, struct mirror_region *r,
		       struct transfer_fact *fact, u64 earliest, u64 now, u64 latest);

struct mirror_region *mirror_region(struct mirror *m, int handle);
struct mirror_transfer *mirror_find(struct mirror_region *r, u64 generation);
u32 mirror_unread(const struct mirror *m, int handle, bool transfers);
void mirror_stat(struct mirror *m, struct mirror_region *r,
		 const struct lkvfence_stat *stat, u64 now);
bool mirror_sees_all(const struct mirror *m);

/*
 * Revocation, step by step. The first: a source's transfers are ended, and those
 * of the sources that share its QPs.
 */
void mirror_end_source(struct mirror *m, struct mirror_region *r,
		       struct mirror_source *s, u64 now);
void mirror_end_sharers(struct mirror *m, u32 identity, u64 now);
/* A QP was moved to ERR, or could not be. */
void mirror_moved(struct mirror_qp *qp, int err, u64 settled);
/* It was looked at when it had settled. */
void mirror_settled(struct mirror_qp *qp, int err);
/* What is to be concluded from the state of the QPs. */
void mirror_conclude(struct mirror *m, struct mirror_region *r,
		     struct mirror_source *s, u64 now);
/* The source of a binding, or NULL. */
struct mirror_source *mirror_find_binding(struct mirror_region *r, u64 binding);

/* When the first thing happens by itself in a region, at the earliest. */
u64 mirror_next_clock(struct mirror_region *r);

/* Pulls: see mirror_pulls.c. */
u32 mirror_nr_waiting(const struct mirror_region *r);
u32 mirror_nr_tombstones(const struct mirror_region *r);
u64 mirror_tickets_clock(const struct mirror_region *r);
u64 mirror_pulls_clock(struct mirror_region *r);
/* One ticket's time has come, and it was answered between these two instants. */
void mirror_expire_ticket(struct mirror_region *r, u64 earliest, u64 latest);
/* Returns whether one was due. */
bool mirror_expire_grave(struct mirror_region *r, u64 now);

/* Used between the files of the mirror */
/* An OFFER of that tag would be refused; it was. */
u32 mirror_offer_wrong(struct mirror_region *r, u64 tag);
void mirror_offer_refused(struct mirror_region *r, u64 tag);
void mirror_offered(struct mirror_region *r, u64 tag, u64 generation);
/* A transfer has ended; if it was offered, that is told to who waits. */
void mirror_over(struct mirror *m, struct mirror_region *r, u64 generation, u32 reason,
		 bool all_taken, u64 earliest, u64 latest);
void mirror_abort_all(struct mirror_region *r, u32 reason, const struct call *c);
void mirror_abort_early(struct mirror *m, struct mirror_region *r, u64 tag, u64 after,
			u32 reason, const struct call *c);
void mirror_ready(struct mirror *m, struct mirror_region *r, const struct call *c);
void mirror_pull(struct mirror *m, struct mirror_region *r, const struct call *c);
void mirror_withdraw(struct mirror_region *r, const struct call *c);
void mirror_close_tickets(struct mirror_region *r, int handle);
u32 mirror_unread_tickets(const struct mirror_region *r, int handle);
void mirror_read_ticket(const struct mirror *m, struct mirror_region *r, int handle,
			const struct lkvfence_event *e);
void mirror_stat_pulls(const struct mirror_region *r, const struct lkvfence_stat *s);
/* mirror_peers.c: what may be answered; it knows neither groups nor peers */
void mirror_join(struct mirror_region *r, const struct call *c);
void mirror_peer(struct mirror *m, struct mirror_region *r, const struct call *c);
/* A lease beside those of BEGIN. */
void mirror_take(struct mirror_region *r, struct transfer_fact *fact, u32 source, u64 now);
bool mirror_is_policy(u32 policy);
bool mirror_is_timeout(const struct mirror *m, u64 ns);
/* What an engine may give as a reason. */
bool mirror_is_reason(u32 reason);
/* Follows oracle_abort() with what comes of it. */
void mirror_abort_one(struct mirror *m, struct mirror_region *r,
		      struct transfer_fact *fact, u32 reason, u32 policy,
		      u64 timeout, const struct call *c);
void mirror_abort(struct mirror *m, struct mirror_region *r, const struct call *c);
void mirror_release(struct mirror *m, struct mirror_region *r, const struct call *c);
struct oracle_limits mirror_limits(const struct mirror *m);
struct mirror_source *mirror_find_source(struct mirror_region *r, u32 source);
void mirror_start(struct mirror_source *s, u64 now);
/* What no handle has, and has no unproven lease, is unbound. */
void mirror_sweep(struct mirror_region *r);
void mirror_source(struct mirror *m, struct mirror_region *r, const struct call *c);
void mirror_quiet(struct mirror_region *r, const struct call *c);
void mirror_query_source(struct mirror *m, struct mirror_region *r, const struct call *c);
void mirror_hear(struct mirror *m, struct mirror_region *r, int caller, u32 mute,
		 u32 unproven, u64 earliest, u64 latest);
void mirror_check_region(struct mirror_region *r);
void mirror_open(struct mirror *m, const struct call *c);
void mirror_query(struct mirror *m, struct mirror_region *r, const struct call *c);
bool mirror_allows(const struct call *c, u32 wrong, u32 may, int *err);
u32 mirror_lookup(struct oracle *o, u64 generation);
u32 mirror_wrong(int err);
/* The size of a command's struct; 0: no such command. */
size_t mirror_size(unsigned int cmd);

/* The program's own: says why, and ends it. */
_Noreturn __attribute__((__format__(printf, 1, 2)))
void mirror_fail(const char *fmt, ...);

#define agree(cond) do {						\
	if (!(cond))							\
		mirror_fail("%s:%d: not true: %s", __func__, __LINE__, #cond); \
} while (0)

#endif /* LKVFENCE_FUZZ_MIRROR_H */
