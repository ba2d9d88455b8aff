/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the processes of the crowd share, and what each of its threads has. */
#ifndef LKVFENCE_FUZZ_CROWD_H
#define LKVFENCE_FUZZ_CROWD_H

#include <stdatomic.h>

#include "differential.h"

#define CROWD_REGIONS	3
#define CROWD_SLOTS	256
#define CROWD_HANDLES	5
#define CROWD_RECENT	16
#define CROWD_TAGS	20
#define CROWD_UNBOUND	3		/* sources that nobody binds, */
#define CROWD_SOURCES	10		/* and all of them */
#define CROWD_BINDINGS	8
/* Generations that are followed: as many as are ever begun in one run. */
#define CROWD_FOLLOWED	(1U << 22)

#define CROWD_MIN_MS	10
#define CROWD_DEFAULT_MS 60
#define CROWD_MAX_MS	200
#define CROWD_SETTLE_MS	15
#define CROWD_REVOKE_MS	200

/* What has been told of a generation; each of it is told once. */
#define TOLD_BEGUN	(1U << 0)	/* by BEGIN or HOLD */
#define TOLD_EVENT	(1U << 1)	/* RELEASED, read from a handle */
#define TOLD_ANSWER	(1U << 2)	/* a RELEASE succeeded */
#define TOLD_RETURN	(1U << 3)	/* a return released it */
#define TOLD_AT_ONCE	(1U << 4)	/* its end was its release, says an answer */
#define TOLD_ENDED	(1U << 5)
#define TOLD_QUARANTINED (1U << 6)
#define TOLD_JOINED	(1U << 7)	/* somebody has it join a group, or tried to */

/* In memory that all processes share, so that what one knew outlives it. */
struct crowd {
	_Atomic uint64_t calls;
	_Atomic uint64_t succeeded[32];		/* by command */
	_Atomic uint64_t refused[2];		/* EBUSY, EEXIST */
	_Atomic uint64_t events;
	_Atomic uint64_t begun;
	_Atomic bool failed;
	char why[512];
	uint64_t first_generation;
	/* L1: the last generation that is known to have had the slot. */
	_Atomic uint64_t owner[CROWD_REGIONS][CROWD_SLOTS];
	_Atomic uint64_t recent[CROWD_REGIONS][CROWD_RECENT];
	_Atomic uint64_t bindings[CROWD_BINDINGS];
	_Atomic uint64_t revoked;	/* events of it */
	_Atomic uint64_t answers[2];	/* to pulls: granted, refused */
	_Atomic uint64_t together;	/* groups that were seen to have come back */
	_Atomic uint32_t peer;		/* the last one that was told of */
	uint64_t first_ticket;
	_Atomic uint64_t tickets[CROWD_RECENT];
	_Atomic uint8_t answered[CROWD_FOLLOWED];	/* each ticket is, at most once */
	bool can_revoke;
	_Atomic uint8_t told[CROWD_FOLLOWED];
};

/* An open handle of a process; its threads share it. */
struct entry {
	_Atomic int users;		/* -1: free, or being opened or closed */
	_Atomic int fd;			/* below 0: none */
	int region;
};

struct member {
	struct crowd *crowd;
	struct entry *entries;
	uint64_t seed;
	uint64_t quota;
	int to, from;			/* handles go, and come, by these sockets */
};

extern const unsigned int crowd_slots[CROWD_REGIONS];
/* What a region accepts as proof. */
extern const uint32_t crowd_accepts[CROWD_REGIONS];

void crowd_name(char *name, int region);
/* Opens a region; an fd, or -errno. */
int crowd_open(int region, uint32_t flags);
/* One random call on a handle. */
void crowd_call(struct member *me, int fd, int region);
void crowd_read(struct member *me, int fd);
/* crowd_bad.c: a call that is refused, whatever others do. */
void crowd_bad(struct member *me, int fd);

/* crowd_sources.c: QPs of a process, which its threads share, and what is asked of them. */
void crowd_qps_open(void);
void crowd_source(struct member *me, int fd, int region);
void crowd_quiet(struct member *me, int fd);
void crowd_query_source(struct member *me, int fd);
void crowd_report(struct member *me, int fd, int region);
/* crowd_pulls.c */
void crowd_ready(struct member *me, int fd, uint64_t generation);
/* Of a generation, or with 0 of some tag. */
void crowd_pull(struct member *me, int fd, uint64_t generation, uint32_t source);
void crowd_withdraw(struct member *me, int fd);
void crowd_check_answer(struct member *me, const struct lkvfence_event *e);
void crowd_check_revoke(struct member *me, const struct lkvfence_event *e);

/* crowd_groups.c */
void crowd_join(struct member *me, int fd, uint64_t generation);
/* Two transfers of a group of their own. */
void crowd_group(struct member *me, int fd, int region);
void crowd_peer(struct member *me, int fd);
void crowd_take_healthy(struct member *me, int fd, uint64_t generation);
void crowd_check_peer(struct member *me, const struct lkvfence_event *e);
/* Has anybody had it join a group? */
bool crowd_joined(struct member *me, uint64_t generation);

/* Used between the files of calls. */
/* BEGIN or HOLD, with up to three sources from @first on. The generation; 0: refused. */
uint64_t crowd_start(struct member *me, int fd, int region, bool hold, uint32_t first,
		     uint32_t nr_sources);
void crowd_release(struct member *me, int fd, uint64_t generation);
void crowd_end(struct member *me, int fd, struct lkvfence_abort a);
/* Is it released? It was issued, so it is either there or stale. */
bool crowd_is_gone(struct member *me, int fd, uint64_t generation);
uint32_t crowd_pick(struct member *me, uint32_t n);
uint64_t crowd_generation(struct member *me, int region);
uint32_t crowd_a_source(struct member *me);
/* A transfer of that source's, which is revoked. */
void crowd_revoke(struct member *me, int fd, int region, uint32_t source);
bool crowd_answer(struct member *me, unsigned int cmd, int err, const int *may);

#define MAY(...)	((const int []){ __VA_ARGS__, 0 })
void crowd_failed(struct crowd *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define never(me, cond, ...) do {				\
	if (cond)						\
		crowd_failed((me)->crowd, __VA_ARGS__);		\
} while (0)

#endif /* LKVFENCE_FUZZ_CROWD_H */
