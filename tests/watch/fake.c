// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

struct fake fake;

/* The module's lock: what it knows changes while the watcher's threads ask. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char errmsg[64];

const char *lkvfence_errmsg(void)
{
	return errmsg;
}

/* The words are the library's own, and must get through */
static int refuse(int err, const char *what)
{
	snprintf(errmsg, sizeof(errmsg), "the fake module fails %s", what);
	return err;
}

int lkvfence_stat(struct lkvfence *f, struct lkvfence_stat *stat)
{
	assert_ptr_equal(f, fake_handle());
	if (fake.stat_errno)
		return refuse(-fake.stat_errno, "stat");
	memset(stat, 0, sizeof(*stat));
	snprintf(stat->name, sizeof(stat->name), "kv");
	stat->slots = NR_SLOTS;
	return 0;
}

static struct fake_transfer *find(uint64_t generation)
{
	int i;

	for (i = 0; i < NR_TRANSFERS; i++)
		if (fake.transfers[i].generation == generation)
			return &fake.transfers[i];
	return NULL;
}

static struct fake_transfer *find_slot(uint32_t slot)
{
	struct fake_transfer *t;
	uint32_t i;

	for (t = fake.transfers; t < fake.transfers + NR_TRANSFERS; t++)
		for (i = 0; i < t->nr_ranges; i++)
			if (t->state != LKVFENCE_STATE_RELEASED &&
			    slot - t->ranges[i].first < t->ranges[i].count)
				return t;
	return NULL;
}

static int query_locked(struct lkvfence_query *query)
{
	struct lkvfence_range *ranges = (void *)(uintptr_t)query->ranges;
	struct fake_transfer *t;
	uint32_t i;

	if (query->by == LKVFENCE_QUERY_SLOT) {
		t = find_slot(query->slot);
		if (!t)
			return refuse(-ENOENT, "query by slot");
	} else {
		if (fake.query_errno)
			return refuse(-fake.query_errno, "query");
		t = find(query->generation);
		if (!t)
			return refuse(-ENOENT, "query of what never was");
		if (t->state == LKVFENCE_STATE_RELEASED)
			return refuse(-ESTALE, "query of what is released");
	}
	query->generation = t->generation;
	query->state = t->state;
	query->flags = t->flags;
	for (i = 0; i < t->nr_ranges && i < query->nr_ranges; i++)
		ranges[i] = t->ranges[i];
	query->nr_ranges = t->nr_ranges;
	return 0;
}

int lkvfence_query(struct lkvfence *f, struct lkvfence_query *query)
{
	int err;

	assert_ptr_equal(f, fake_handle());
	if (query->by != LKVFENCE_QUERY_SLOT) {
		assert_int_equal(query->by, LKVFENCE_QUERY_GENERATION);
		err = __atomic_add_fetch(&fake.queries, 1, __ATOMIC_RELAXED);
		if (fake.on_query)
			fake.on_query(query, err);
	}
	pthread_mutex_lock(&lock);
	err = query_locked(query);
	pthread_mutex_unlock(&lock);
	return err;
}

int lkvfence_report(struct lkvfence *f, uint64_t generation,
		    enum lkvfence_report_kind kind, uint32_t nr_slots)
{
	assert_ptr_equal(f, fake_handle());
	/* the module's own rule */
	assert_true(nr_slots > 0);
	if (fake.report_errno)
		return refuse(-fake.report_errno, "report");
	pthread_mutex_lock(&lock);
	assert_true(fake.nr_reports < 16);
	fake.reports[fake.nr_reports++] = (struct fake_report){
		generation, kind, nr_slots
	};
	pthread_mutex_unlock(&lock);
	return 0;
}

int lkvfence_events(struct lkvfence *f, struct lkvfence_event *events,
		    uint32_t nr, int timeout_ms)
{
	int n;

	assert_ptr_equal(f, fake_handle());
	fake.timeout_ms = timeout_ms;
	if (fake.events_errno)
		return refuse(-fake.events_errno, "events");
	for (n = 0; n < fake.nr_events && n < (int)nr; n++)
		events[n] = fake.events[n];
	memmove(fake.events, fake.events + n, (fake.nr_events - n) * sizeof(*events));
	fake.nr_events -= n;
	return n;
}

void *__wrap_calloc(size_t nr, size_t size)
{
	if (fake.calloc_fails && !--fake.calloc_fails) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_calloc(nr, size);
}

uint64_t __wrap_crc64_ecma_refl(uint64_t crc, const unsigned char *buf, uint64_t len)
{
	int nth = __atomic_add_fetch(&fake.crcs, 1, __ATOMIC_RELAXED);

	if (fake.on_crc)
		fake.on_crc(nth);
	/* the thread sanitizer doesn't see what the real one reads */
	if (len)
		__atomic_store_n(&fake.read, buf[0] ^ buf[len - 1], __ATOMIC_RELAXED);
	return __real_crc64_ecma_refl(crc, buf, len);
}

int fake_setup(void **state)
{
	size_t i;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	errmsg[0] = 0;
	for (i = 0; i < sizeof(fake.k); i++)
		fake.k[i] = (unsigned char)(i * 7 + i / 251);
	for (i = 0; i < sizeof(fake.v); i++)
		fake.v[i] = (unsigned char)(i * 5 + i / 241);
	/* a test that hangs is a test that fails */
	alarm(60);
	return 0;
}

int fake_teardown(void **state)
{
	(void)state;
	alarm(0);
	return 0;
}

struct lkvfence *fake_handle(void)
{
	return (struct lkvfence *)&fake;
}

struct lkvfence_watch *fake_watch(uint32_t flags)
{
	struct lkvfence_watch_pool pools[] = {
		{ fake.k, K_STRIDE, K_BYTES },
		{ fake.v, V_STRIDE, V_BYTES },
	};
	struct lkvfence_watch *w = NULL;

	assert_int_equal(lkvfence_watch_open(&w, fake_handle(), pools, 2, NR_SLOTS, flags), 0);
	assert_non_null(w);
	/* they are copied */
	memset(pools, 0, sizeof(pools));
	return w;
}

void fake_add(struct fake_transfer *t, uint32_t first, uint32_t count)
{
	assert_true(t->nr_ranges < 4);
	t->ranges[t->nr_ranges++] = (struct lkvfence_range){ first, count };
}

struct fake_transfer *fake_held(uint64_t generation, uint32_t first, uint32_t count)
{
	struct fake_transfer *t = find(0);

	assert_non_null(t);
	t->generation = generation;
	t->state = LKVFENCE_STATE_ENDED;
	fake_add(t, first, count);
	return t;
}

void fake_release(uint64_t generation)
{
	pthread_mutex_lock(&lock);
	find(generation)->state = LKVFENCE_STATE_RELEASED;
	pthread_mutex_unlock(&lock);
}

void fake_hold_again(struct fake_transfer *t, uint64_t generation)
{
	pthread_mutex_lock(&lock);
	t->generation = generation;
	t->state = LKVFENCE_STATE_ENDED;
	pthread_mutex_unlock(&lock);
}

struct lkvfence_event fake_event(uint64_t generation, uint32_t type, uint32_t flags)
{
	return (struct lkvfence_event){
		.generation = generation, .tag = 99, .type = type, .flags = flags,
	};
}

void fake_write_k(uint32_t slot, uint32_t byte)
{
	fake.k[slot * K_STRIDE + byte] ^= 0x40;
}

void fake_write_v(uint32_t slot, uint32_t byte)
{
	fake.v[slot * V_STRIDE + byte] ^= 0x01;
}

void assert_reported(int nth, uint64_t generation, uint32_t kind, uint32_t nr_slots)
{
	assert_true(nth < fake.nr_reports);
	assert_int_equal(fake.reports[nth].generation, generation);
	assert_int_equal(fake.reports[nth].kind, kind);
	assert_int_equal(fake.reports[nth].nr_slots, nr_slots);
}

void assert_errmsg(const char *text)
{
	if (!strstr(lkvfence_watch_errmsg(), text))
		fail_msg("message \"%s\" doesn't say \"%s\"", lkvfence_watch_errmsg(), text);
	/* cut off messages lose what to do, which stands at their end */
	assert_true(strlen(lkvfence_watch_errmsg()) < 511);
}

struct lkvfence_watch_stat stat_of(struct lkvfence_watch *w)
{
	struct lkvfence_watch_stat stat;

	lkvfence_watch_stat(w, &stat);
	return stat;
}
