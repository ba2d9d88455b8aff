// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What is opened, events that start watches, and the soak. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static uint32_t mode;	/* the flag under test, or 0 */

#define TAINTED	LKVFENCE_EVENT_TAINTED
#define STRAY	LKVFENCE_EVENT_STRAY

/* Held slots 10 to 13, watched by a watcher that soaks */
static struct lkvfence_watch *held(void)
{
	struct lkvfence_watch *w = fake_watch(mode | LKVFENCE_WATCH_SOAK);

	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	return w;
}

/* Their release; the flags that the event has then */
static uint32_t release_with(struct lkvfence_watch *w, uint32_t flags)
{
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_RELEASED, flags);

	fake_release(5);
	assert_true(lkvfence_watch_event(w, &e) >= 0);
	return e.flags;
}

static void test_soak_clean(void **state)
{
	struct lkvfence_watch *w = held();
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_RELEASED, TAINTED);

	(void)state;
	assert_int_equal(lkvfence_watch_soaking(w, 5), 0);
	assert_int_equal(release_with(w, TAINTED), TAINTED);
	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(stat_of(w).soaking, 1);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 1);
	/* it isn't watched any more, and an event that is seen twice does nothing */
	assert_int_equal(lkvfence_watch_look(w, 5), -ENOENT);
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 1);
	assert_int_equal(lkvfence_watch_soak(w, 5), 0);
	assert_int_equal(stat_of(w).soaking, 0);
	assert_int_equal(stat_of(w).soaked, 1);
	assert_int_equal(stat_of(w).late, 0);
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 0);
	assert_int_equal(lkvfence_watch_soak(w, 5), -ENOENT);
	assert_errmsg("generation 5 is not soaking");
	lkvfence_watch_close(w);
}

/* What came while they were held isn't counted again; what comes later is */
static void test_soak_late(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	fake_write_k(10, 1);
	assert_int_equal(release_with(w, TAINTED), TAINTED | STRAY);
	assert_reported(0, 5, LKVFENCE_REPORT_STRAY, 1);
	fake_write_v(11, 1);
	fake_write_v(13, 1);
	assert_int_equal(lkvfence_watch_soak(w, 5), 2);
	assert_int_equal(fake.nr_reports, 2);
	assert_reported(1, 5, LKVFENCE_REPORT_STRAY_LATE, 2);
	assert_int_equal(stat_of(w).strays, 1);
	assert_int_equal(stat_of(w).late, 1);
	assert_int_equal(stat_of(w).late_slots, 2);
	lkvfence_watch_close(w);
}

static void test_soak_only_after_strays(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	fake_write_k(10, 1);
	release_with(w, TAINTED);
	assert_int_equal(lkvfence_watch_soak(w, 5), 0);
	assert_int_equal(fake.nr_reports, 1);
	lkvfence_watch_close(w);
}

static void test_no_soak_with_proof(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	assert_int_equal(release_with(w, 0), 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 0);
	assert_int_equal(lkvfence_watch_soak(w, 5), -ENOENT);
	assert_int_equal(stat_of(w).soaked, 0);
	lkvfence_watch_close(w);
}

static void test_no_soak_unless_asked(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	release_with(w, TAINTED);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 0);
	assert_int_equal(stat_of(w).watched, 0);
	lkvfence_watch_close(w);
}

static void test_soak_after_quarantine(void **state)
{
	struct lkvfence_watch *w = held();
	struct lkvfence_event q = fake_event(5, LKVFENCE_EVENT_QUARANTINED, 0);

	(void)state;
	assert_int_equal(lkvfence_watch_event(w, &q), 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 0);
	/* proof came after all */
	assert_int_equal(release_with(w, 0), 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 1);
	assert_int_equal(lkvfence_watch_soak(w, 5), 0);
	lkvfence_watch_close(w);
}

/* Adopted, say: the event was another's */
static void test_soak_if_it_was_in_quarantine(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode | LKVFENCE_WATCH_SOAK);

	(void)state;
	fake_held(5, 10, 4)->flags = LKVFENCE_TRANSFER_QUARANTINED;
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	release_with(w, 0);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 1);
	assert_int_equal(lkvfence_watch_stop(w, 5), 0);
	assert_int_equal(stat_of(w).soaking, 0);
	assert_int_equal(lkvfence_watch_soak(w, 5), -ENOENT);
	lkvfence_watch_close(w);
}

static void test_soaked_slots_in_use(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	release_with(w, TAINTED);
	fake_held(6, 12, 1)->state = LKVFENCE_STATE_WAITING;
	fake_write_k(12, 0);
	assert_int_equal(lkvfence_watch_soak(w, 5), -EBUSY);
	assert_errmsg("1 slots of generation 5 are another transfer's by now");
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).reused, 1);
	assert_int_equal(lkvfence_watch_soak(w, 5), -ENOENT);
	lkvfence_watch_close(w);
}

/*
 * Slots that were not kept out tell nothing, those that were taken and given back
 * meanwhile included: what changed in them isn't called late.
 */
static void test_soaked_slots_were_in_use(void **state)
{
	struct lkvfence_watch *w = held();
	uint32_t slot;

	(void)state;
	/* in use when the release is looked at */
	fake_release(5);
	fake_held(6, 12, 1)->state = LKVFENCE_STATE_WAITING;
	fake_write_k(12, 0);
	release_with(w, TAINTED);
	assert_int_equal(lkvfence_watch_soaking(w, 5), 1);
	/* and over by the time of the next look */
	fake_write_k(12, 1);
	fake_release(6);
	assert_int_equal(lkvfence_watch_soak(w, 5), -EBUSY);
	assert_errmsg("generation 5");
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).soaked, 1);
	assert_int_equal(stat_of(w).late, 0);

	/* one is in use at the look, and one was before */
	fake_held(7, 20, 4);
	assert_int_equal(lkvfence_watch_start(w, 7), 4);
	fake_release(7);
	{
		struct lkvfence_event e = fake_event(7, LKVFENCE_EVENT_RELEASED, TAINTED);

		assert_true(lkvfence_watch_event(w, &e) >= 0);
	}
	fake_held(8, 21, 1)->state = LKVFENCE_STATE_WAITING;
	for (slot = 20; slot < 22; slot++)
		fake_write_k(slot, 0);
	assert_int_equal(lkvfence_watch_soak(w, 7), -EBUSY);
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).late, 0);
	lkvfence_watch_close(w);
}

/* No pattern into a slot that is another's, whatever the allocator did */
static void test_soak_writes_into_no_other(void **state)
{
	struct lkvfence_watch *w = held();
	unsigned char k[K_BYTES];

	(void)state;
	fake_release(5);
	fake_held(6, 12, 1)->state = LKVFENCE_STATE_WAITING;
	memset(fake.k + 12 * K_STRIDE, 0xee, K_BYTES);
	memset(k, 0xee, sizeof(k));
	release_with(w, TAINTED);
	assert_memory_equal(fake.k + 12 * K_STRIDE, k, sizeof(k));
	assert_int_equal(stat_of(w).reused, 1);
	lkvfence_watch_close(w);
}

static void test_soak_report_fails(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	release_with(w, TAINTED);
	fake_write_k(12, 0);
	fake.report_errno = ENOENT;
	assert_int_equal(lkvfence_watch_soak(w, 5), -ENOENT);
	assert_errmsg("the fake module fails report");
	assert_int_equal(stat_of(w).late, 1);
	assert_int_equal(stat_of(w).unreported, 1);
	assert_int_equal(stat_of(w).soaking, 0);
	lkvfence_watch_close(w);
}

static void test_ended_starts(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode | LKVFENCE_WATCH_ENDED);
	struct lkvfence_watch *without = fake_watch(mode);
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_ENDED, 0);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_event(without, &e), 0);
	assert_int_equal(stat_of(without).watched, 0);
	assert_int_equal(lkvfence_watch_event(w, &e), 4);
	assert_int_equal(e.flags, 0);
	assert_int_equal(stat_of(w).watched, 1);
	/* the engine did it itself */
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(stat_of(w).unwatched, 0);
	/* released by the time that the event is read */
	fake_held(6, 20, 1)->state = LKVFENCE_STATE_RELEASED;
	e.generation = 6;
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(stat_of(w).unwatched, 0);

	fake_held(7, 63, 2);
	e.generation = 7;
	assert_int_equal(lkvfence_watch_event(w, &e), -ERANGE);
	assert_int_equal(stat_of(w).unwatched, 1);
	lkvfence_watch_close(without);
	lkvfence_watch_close(w);
}

static void test_other_events(void **state)
{
	struct lkvfence_watch *w = held();
	struct lkvfence_event e, same;
	uint32_t type;

	(void)state;
	fake_write_k(10, 0);
	for (type = 0; type < 40; type++) {
		if (type == LKVFENCE_EVENT_RELEASED || type == LKVFENCE_EVENT_QUARANTINED)
			continue;
		e = fake_event(5, type, 0);
		same = e;
		assert_int_equal(lkvfence_watch_event(w, &e), 0);
		assert_memory_equal(&e, &same, sizeof(e));
	}
	/* nor those of transfers that nobody watches */
	e = fake_event(6, LKVFENCE_EVENT_RELEASED, TAINTED);
	same = e;
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_memory_equal(&e, &same, sizeof(e));
	e = fake_event(6, LKVFENCE_EVENT_QUARANTINED, 0);
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(stat_of(w).watched, 1);
	assert_int_equal(fake.nr_reports, 0);
	lkvfence_watch_close(w);
}

static void test_events(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode | LKVFENCE_WATCH_ENDED);
	struct lkvfence_event e[4];

	(void)state;
	fake_held(5, 10, 4);
	fake_held(6, 20, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	fake_write_k(10, 0);
	fake_release(5);
	fake.events[0] = fake_event(6, LKVFENCE_EVENT_ENDED, 0);
	fake.events[1] = fake_event(5, LKVFENCE_EVENT_RELEASED, 0);
	fake.events[2] = fake_event(7, LKVFENCE_EVENT_RELEASED, TAINTED);
	fake.nr_events = 3;
	fake.report_errno = ENOTTY;
	/* what can't be reported holds no event up */
	assert_int_equal(lkvfence_watch_events(w, e, 2, 1234), 2);
	assert_int_equal(fake.timeout_ms, 1234);
	assert_int_equal(e[0].generation, 6);
	assert_int_equal(e[0].flags, 0);
	assert_int_equal(e[1].flags, STRAY);
	assert_int_equal(stat_of(w).unreported, 1);
	assert_int_equal(stat_of(w).watched, 1);
	assert_int_equal(lkvfence_watch_events(w, e, 4, -1), 1);
	assert_int_equal(e[0].flags, TAINTED);
	assert_int_equal(lkvfence_watch_events(w, e, 4, 0), 0);
	fake.events_errno = EINTR;
	assert_int_equal(lkvfence_watch_events(w, e, 4, 0), -EINTR);
	assert_errmsg("the fake module fails events");
	lkvfence_watch_close(w);
}

static int open_with(struct lkvfence *f, void *base, uint64_t stride, uint64_t bytes,
		     uint32_t nr_pools, uint32_t nr_slots, uint32_t flags)
{
	struct lkvfence_watch_pool pools[2] = {
		{ fake.k, K_STRIDE, K_BYTES }, { base, stride, bytes }
	};
	struct lkvfence_watch *w = NULL;
	int err;

	errno = EXDEV;
	err = lkvfence_watch_open(&w, f, pools, nr_pools, nr_slots, flags);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(!err, !!w);
	lkvfence_watch_close(w);
	return err;
}

static void test_open(void **state)
{
	struct lkvfence *f = fake_handle();
	char *top = (char *)(UINTPTR_MAX - 64 * 100);

	(void)state;
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, 0, 0), 0);
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, NR_SLOTS, 7), 0);
	assert_int_equal(open_with(NULL, fake.v, V_STRIDE, V_BYTES, 2, 3, 0), 0);

	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, NR_SLOTS - 1, 0), -EINVAL);
	assert_errmsg("region kv: open: it has 64 slots, and the pools are said to have 63");
	assert_int_equal(open_with(NULL, fake.v, V_STRIDE, V_BYTES, 2, 0, 0), -EINVAL);
	assert_errmsg("nr_slots must be at least 1");
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, 0, 8), -EINVAL);
	assert_errmsg("unknown flags 0x8");
	assert_int_equal(open_with(f, NULL, 0, 0, 0, 0, 0), -EINVAL);
	assert_errmsg("no pools");
	assert_int_equal(open_with(f, NULL, V_STRIDE, V_BYTES, 2, 0, 0), -EINVAL);
	assert_errmsg("pool 1 has no base");
	assert_int_equal(open_with(f, fake.v, V_STRIDE, 0, 2, 0, 0), -EINVAL);
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_STRIDE + 1, 2, 0, 0), -EINVAL);
	assert_errmsg("pool 1 has 41 bytes a slot and a stride of 40");
	/* the last byte of the last slot is the last that memory can have, or beyond */
	assert_int_equal(open_with(f, top, 100, 100, 2, 0, 0), 0);
	assert_int_equal(open_with(f, top + 1, 100, 100, 2, 0, 0), -EINVAL);
	assert_errmsg("beyond the end of memory");
	assert_int_equal(open_with(f, fake.v, UINT64_MAX / 2, 8, 2, 0, 0), -EINVAL);
	assert_int_equal(open_with(f, fake.v, UINT64_MAX / 63, UINT64_MAX / 63, 2, 0, 0), -EINVAL);

	fake.stat_errno = EBADF;
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, 0, 0), -EBADF);
	assert_errmsg("the fake module fails stat");
	fake.stat_errno = 0;
	fake.calloc_fails = 1;
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, 0, 0), -ENOMEM);
	fake.calloc_fails = 2;
	assert_int_equal(open_with(f, fake.v, V_STRIDE, V_BYTES, 2, 0, 0), -ENOMEM);
	assert_errmsg("no memory for 2 pools");
	lkvfence_watch_close(NULL);
}

static void test_sums_only(void **state)
{
	struct lkvfence_watch_pool pool = { fake.k, K_STRIDE, K_BYTES };
	struct lkvfence_watch *w;
	struct lkvfence_event e;

	(void)state;
	assert_int_equal(lkvfence_watch_open(&w, NULL, &pool, 1, NR_SLOTS,
					     LKVFENCE_WATCH_ENDED), 0);
	assert_int_equal(lkvfence_watch_start(w, 5), -EINVAL);
	assert_errmsg("for sums only");
	assert_int_equal(lkvfence_watch_events(w, &e, 1, 0), -EINVAL);
	assert_errmsg("for sums only");
	e = fake_event(5, LKVFENCE_EVENT_ENDED, 0);
	assert_int_equal(lkvfence_watch_event(w, &e), -EINVAL);
	lkvfence_watch_close(w);
}

/* Valgrind looks at what is left */
static void test_close_forgets_all(void **state)
{
	struct lkvfence_watch *w = held();

	(void)state;
	release_with(w, TAINTED);
	fake_held(6, 20, 4);
	fake_held(7, 30, 4);
	assert_int_equal(lkvfence_watch_start(w, 6), 4);
	assert_int_equal(lkvfence_watch_start(w, 7), 4);
	lkvfence_watch_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_soak_clean),
		FAKE_TEST(test_soak_late),
		FAKE_TEST(test_soak_only_after_strays),
		FAKE_TEST(test_no_soak_with_proof),
		FAKE_TEST(test_no_soak_unless_asked),
		FAKE_TEST(test_soak_after_quarantine),
		FAKE_TEST(test_soak_if_it_was_in_quarantine),
		FAKE_TEST(test_soaked_slots_in_use),
		FAKE_TEST(test_soaked_slots_were_in_use),
		FAKE_TEST(test_soak_writes_into_no_other),
		FAKE_TEST(test_soak_report_fails),
		FAKE_TEST(test_ended_starts),
		FAKE_TEST(test_other_events),
		FAKE_TEST(test_events),
		FAKE_TEST(test_open),
		FAKE_TEST(test_sums_only),
		FAKE_TEST(test_close_forgets_all),
	};
	int failed;

	failed = cmocka_run_group_tests_name("watch: events: checksums", tests, NULL, NULL);
	mode = LKVFENCE_WATCH_PATTERN;
	failed += cmocka_run_group_tests_name("watch: events: pattern", tests, NULL, NULL);
	return failed;
}
