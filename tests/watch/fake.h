/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The calls of liblkvfence that the watcher makes, and a few transfers for them
 * to tell of. The pool is small, and its bytes are known.
 */
#ifndef TEST_WATCH_FAKE_H
#define TEST_WATCH_FAKE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "watch/lkvfence-watch.h"

#define NR_SLOTS	64
#define NR_TRANSFERS	8

/* K and V: unlike strides, and gaps behind a slot's bytes */
#define K_STRIDE	96
#define K_BYTES		75
#define V_STRIDE	40
#define V_BYTES		40

struct fake_transfer {
	uint64_t generation;
	uint32_t state;
	uint32_t flags;
	uint32_t nr_ranges;
	struct lkvfence_range ranges[4];
};

struct fake_report {
	uint64_t generation;
	uint32_t kind;
	uint32_t nr_slots;
};

struct fake {
	struct fake_transfer transfers[NR_TRANSFERS];
	int query_errno;		/* by generation */
	void (*on_query)(struct lkvfence_query *query, int nth);
	int queries;			/* by generation */

	struct fake_report reports[16];
	int nr_reports;
	int report_errno;

	struct lkvfence_event events[8];
	int nr_events;
	int events_errno;
	int timeout_ms;			/* as last called */

	int stat_errno;

	int calloc_fails;		/* the nth from now; 0: none */
	void (*on_crc)(int nth);	/* before bytes are read */
	int crcs;
	unsigned char read;

	unsigned char k[NR_SLOTS * K_STRIDE];
	unsigned char v[NR_SLOTS * V_STRIDE];
};

extern struct fake fake;

int fake_setup(void **state);
int fake_teardown(void **state);
#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

/* The handle; nothing looks into it. */
struct lkvfence *fake_handle(void);

/* A watcher on both pools */
struct lkvfence_watch *fake_watch(uint32_t flags);

/* A transfer that has ended, of @count slots from each of the firsts */
struct fake_transfer *fake_held(uint64_t generation, uint32_t first, uint32_t count);
void fake_add(struct fake_transfer *t, uint32_t first, uint32_t count);
/* The module forgets it */
void fake_release(uint64_t generation);
/* The same slots once more */
void fake_hold_again(struct fake_transfer *t, uint64_t generation);

struct lkvfence_event fake_event(uint64_t generation, uint32_t type, uint32_t flags);

/* One byte of a slot changes */
void fake_write_k(uint32_t slot, uint32_t byte);
void fake_write_v(uint32_t slot, uint32_t byte);

void assert_reported(int nth, uint64_t generation, uint32_t kind, uint32_t nr_slots);
/* What the message must say */
void assert_errmsg(const char *text);
struct lkvfence_watch_stat stat_of(struct lkvfence_watch *w);

/* What the linker's --wrap makes of the library's calls */
void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);
uint64_t __real_crc64_ecma_refl(uint64_t crc, const unsigned char *buf, uint64_t len);
uint64_t __wrap_crc64_ecma_refl(uint64_t crc, const unsigned char *buf, uint64_t len);

#endif /* TEST_WATCH_FAKE_H */
