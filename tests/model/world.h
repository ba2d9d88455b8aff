/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A world: one fence, the memory it lives in, and the oracle beside it. One
 * step does one thing to both and compares them.
 *
 * All of it is in one block, so that copying the block away and back to the
 * same place takes the world back to an earlier instant, pointers and all.
 */
#ifndef LKVFENCE_MODEL_WORLD_H
#define LKVFENCE_MODEL_WORLD_H

#include "fence.h"
#include "pull.h"
#include "oracle.h"
#include "oracle_pulls.h"

/* The memory of one transfer, as the module's callers would give it. */
struct cell {
	bool used;
	u32 nr_leases;
	u64 clock;		/* the latest time of its hold that was seen */
	u64 deadline;		/* the latest deadline of its own */
	struct lkvfence_range ranges[ORACLE_RANGES];
	struct fence_lease leases[ORACLE_LEASES];
	struct fence_transfer t;
};

/* The memory of one bound source. */
struct source_cell {
	bool used;
	bool quieting;		/* a batch of its leases was revoked: the rest must be */
	struct fence_source s;
};

/* The memory of a ticket while it waits. */
struct ticket_cell {
	bool used;
	struct lease_cell *lease;
	struct pull_ticket k;
};

/* Of its lease, which becomes the transfer's. */
struct lease_cell {
	bool used;
	u64 generation;		/* 0: the ticket's still */
	struct fence_lease l;
};

struct offer_cell {
	bool used;
	struct pull_offer o;
};

#define WORLD_OFFERS	24
#define WORLD_PULLED	(ORACLE_TICKETS + ORACLE_TRANSFERS * 5)
#define WORLD_CELLS	(ORACLE_TRANSFERS + 1)
#define WORLD_LONGS	((ORACLE_SLOTS + 63) / 64 + 1)

struct world {
	u64 now;
	struct fence_limits limits;
	u64 longest;		/* the largest max_ns there was */
	u64 max_transfers;
	u32 max_leases;
	u32 nr_cells;
	u32 nr_sources;		/* of them, 1 and on, how many may be bound */
	bool poison;		/* freed cells must not even be copied */
	u64 released;		/* how many came back; for the statistics */
	struct fence f;
	struct oracle o;
	unsigned long taken[WORLD_LONGS];
	u64 owner[ORACLE_SLOTS];
	struct source_cell sources[ORACLE_SOURCES];
	bool pulls;		/* there are any; else what follows is left alone */
	struct pulls p;
	struct pull_limits pull_limits;
	struct pull_oracle po;
	u64 last_ticket;
	struct ticket_cell tickets[ORACLE_TICKETS];
	struct offer_cell offers[WORLD_OFFERS];
	struct lease_cell pulled[WORLD_PULLED];
	struct cell cells[WORLD_CELLS];	/* only the first nr_cells are used */
};

enum event_kind {
	EV_BEGIN,
	EV_TAKE,
	EV_RETURN,
	EV_ABORT,
	EV_FINISH,
	EV_FORCE,
	EV_LAG,			/* time passes, nobody looks at the clock */
	EV_EXPIRE,		/* time passes, the clock is looked at */
	EV_LIMITS,
	EV_BIND,
	EV_UNBIND,
	EV_REVOKE,		/* somebody says that a source is to be revoked */
	EV_SOURCE_END,
	EV_SOURCE_QUIET,
	EV_SOURCE_LOST,
	EV_REPORT,
	EV_READY,
	EV_PULL,
	EV_WITHDRAW,
	EV_ABORT_EARLY,
	EV_ABORT_ALL,
	EV_CLOSE,		/* of a handle: the owner of all transfers is OWNER */
};

#define OWNER	0

struct event {
	enum event_kind kind;
	bool by_tag;		/* EV_ABORT */
	u64 generation;		/* EV_BEGIN: the new one's */
	u64 tag;
	u32 source;
	u32 status;
	u32 evidence;
	u32 reason;		/* EV_REPORT: the kind */
	u32 policy;
	u64 timeout;		/* EV_LIMITS: the new bound */
	u64 until;		/* EV_LAG, EV_EXPIRE */
	u32 max;		/* EV_EXPIRE, EV_SOURCE_* */
	bool exact;		/* EV_PULL */
	u32 handle;		/* EV_PULL: who asks; EV_CLOSE */
	u32 consumers;		/* EV_READY; timeout is its time to live */
	u64 unclaimed;		/* EV_PULL */
	u64 ticket;		/* EV_WITHDRAW: its number */
	struct oracle_begin begin;
};

/* world.c */
void world_init(struct world *w, u32 nr_slots, u32 max_transfers,
		u32 max_leases, u32 nr_sources, bool pulls);
/* As much of it as is in use, for a copy. */
size_t world_size(const struct world *w);
void world_save(const struct world *w, char *to);
void world_restore(struct world *w, const char *from);
void world_step(struct world *w, const struct event *e);
struct oracle_limits world_limits(const struct world *w);
struct fence_transfer *world_get(struct world *w, u64 generation);
/* The answer must be success if nothing is wrong, else one of what is. */
void world_must_allow(const struct world *w, u32 wrong, int err);
/* The next news must be the oracle's report, which is taken; there may be none. */
void world_hear(struct world *w);

/* world_sources.c */
void source_step(struct world *w, const struct event *e);
/* Does the contract of fence.h let the caller do this, now? */
bool source_may(struct world *w, u32 source, enum event_kind kind);
struct source_cell *source_cell_of(struct fence_source *s);

/* world_pulls.c */
void pulls_step(struct world *w, const struct event *e);
/* BEGIN of what is offered: memory, and whether it may. */
struct pull_offer *pulls_offer(struct world *w);
void pulls_put_offer(struct world *w, struct pull_offer *o);
/* An offered transfer has ended. */
void pulls_over(struct world *w, struct fence_transfer *t, const struct report *r);
/* A transfer is released: the leases that pulls got of it are free. */
void pulls_released(struct world *w, u64 generation);
/* The clock is looked at, behind that of the fence. */
void pulls_expire(struct world *w, u32 max);
/* All that was answered must be what the oracle answered. */
void pulls_hear(struct world *w);

/* compare_pulls.c */
void pulls_compare(struct world *w);

/* compare.c */
void world_compare(struct world *w);
void world_compare_released(const struct world *w,
			    const struct fence_transfer *t, u32 bits,
			    const struct report *r);

/* events.c */
#define MAX_EVENTS	128
u32 events_all(struct world *w, struct event *e);
/* How a small world may begin, from 1 to SCENES: the events that lead there. */
#define SCENES		9
#define MAX_SCENE	12
u32 events_scene(const struct world *w, u32 scene, struct event *e);
void event_random(struct world *w, u64 *seed, struct event *e);
void event_print(const struct event *e);
/* When the next thing happens by itself. */
u64 next_clock(const struct world *w);
struct event *event_add(struct event **e, enum event_kind kind);
void event_add_time(struct event **e, struct world *w);

/* events_pulls.c: likewise, of a small world with pulls */
#define PULL_SCENES	8
u32 pull_events_all(struct world *w, struct event *e);
u32 pull_events_scene(const struct world *w, u32 scene, struct event *e);
void pull_event_random(struct world *w, u64 *seed, struct event *e);
void pull_event_print(const struct event *e);

/* states.c: how a world looks, whatever its numbers; equal ones act alike */
u64 state_hash(const struct world *w);
/* states_pulls.c */
void state_mix(u64 *h, u64 v);
void state_mix_pulls(u64 *h, const struct world *w);

/* orders.c: prints what led here, and ends the run */
_Noreturn __attribute__((__format__(printf, 2, 3)))
void fail(const struct world *w, const char *fmt, ...);

#define must(w, cond) do {					\
	if (!(cond))						\
		fail(w, "%s: not true: %s", __func__, #cond);	\
} while (0)

#endif /* LKVFENCE_MODEL_WORLD_H */
