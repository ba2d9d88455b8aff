/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the parts of the fuzzer share: fuzz.c and fuzz_sources.c make calls, judge.c
 * and judge_sources.c look.
 */
#ifndef LKVFENCE_FUZZ_FUZZ_H
#define LKVFENCE_FUZZ_FUZZ_H

#include "shim.h"
#include "mirror.h"
#include "source.h"

/* Where things are in user memory, unless the input says otherwise. */
#define AT(page)	(USER_BASE + (page) * PAGE_SIZE)
#define AT_ARG		AT(1)
#define AT_RANGES	AT(4)
#define AT_SOURCES	AT(8)
#define AT_ITEMS	AT(12)
#define AT_LEASES	AT(16)
#define AT_READ		AT(20)
#define AT_QPS		AT(24)

extern struct mirror mirror;
struct handle;

struct handle *handle_of(int fd);
/* By region of the mirror; they stay valid as long as it says they exist. */
extern struct region *regions[MIRROR_REGIONS];

/*
 * What sleeps, and what it sees before it goes on: a call on a descriptor, or the
 * work of a source. The innermost one is at the head.
 */
struct context {
	struct context *outer;
	int fd;				/* -1: work */
	struct mirror_binding binding;
	u64 first_binding;		/* the highest one before */
	u32 nr_looks;
	struct look looks[2 * MIRROR_MAX_QPS];
	struct source *source;		/* of the work */
	u64 time;			/* when it last saw the time */
	u32 entered;			/* devices that it keeps busy */
	bool waits;			/* for another one's end; it comes again */
};

extern struct context *context;

/* In fuzz.c: what the input says next. */
u8 fuzz_byte(void);
u64 fuzz_word(void);
u64 fuzz_generation(void);
u32 fuzz_source(void);
/* How many of something: few, or more than can be. */
u32 fuzz_count(u32 most);
void fuzz_put(unsigned long at, const void *data, size_t len);

/* In fuzz_sources.c: arguments, the QPs that there are, and work. */
void fuzz_fill_source(struct lkvfence_source *a);
void fuzz_fill_quiet(struct lkvfence_quiet *a);
void fuzz_fill_report(struct lkvfence_report *a);
void fuzz_fill_query_source(struct lkvfence_query_source *a);
/* In fuzz_pulls.c. */
u32 fuzz_fill_pulls(union argument *a, unsigned int cmd);
/* In fuzz_peers.c. */
u32 fuzz_fill_peers(union argument *a, unsigned int cmd);
void fuzz_fill_healthy(struct lkvfence_take *a);
u64 fuzz_timeout(void);
void fuzz_change_qps(void);
void fuzz_work(void);

/* The driver takes its time: what else happens meanwhile. In fuzz.c. */
void meanwhile(void);

/* What libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* One ioctl on a descriptor, or with -1 on the device, and its judgement. */
void judge_ioctl(int fd, unsigned int cmd, unsigned long arg, bool flipped);
void judge_read(int fd, unsigned long buf, size_t len);
void judge_poll(int fd);
void judge_close(int fd);
/* A call on it hasn't come back, so it stays. */
bool judge_uses(int fd);
void judge_enter(struct context *c, int fd);
void judge_leave(struct context *c, struct call *call);
/* The work of a source, or a group, runs; it is due. */
void judge_work(struct delayed_work *work);
/* All that waits for its time, at that time or, if @all isn't set, as far as it has come. */
void judge_works(bool all);
/* In judge_groups.c: members end together. */
void judge_joined(int fd, u64 generation);
void judge_groups(void);
/* In judge_pulls.c: tickets, offers and tombstones. */
void judge_pulls(struct mirror_region *mr, struct region *r);
void judge_count_pulls(u64 *offers, u64 *tickets, u64 *leases);
/* The answer of a PULL got lost: the ticket's number, as the module knows it. */
u64 judge_find_ticket(int fd);
void judge_sources(const struct mirror_region *mr, struct region *r);
/* Bound or not, as many as are in use for certain, and as many as may be beside them. */
void judge_count_sources(u64 *want, u64 *more);
/* Timers that are due fire, if @eager before they are late; work runs if @work. */
void judge_clock(bool eager, bool work);
/* All of the module against all of the mirror. */
void judge_all(void);
/* Nothing is left of an input. */
void judge_end(void);
void judge_limits(void);

#endif /* LKVFENCE_FUZZ_FUZZ_H */
