// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* From the end of a transfer to its release; each test with checksums and with the pattern. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static uint32_t mode;	/* the flag under test, or 0 */

static struct lkvfence_event released(uint64_t generation)
{
	return fake_event(generation, LKVFENCE_EVENT_RELEASED, 0);
}

/* Nothing is left, and nothing more is known */
static void assert_forgotten(struct lkvfence_watch *w, uint64_t generation)
{
	struct lkvfence_event e = released(generation);

	assert_int_equal(stat_of(w).watched, 0);
	assert_int_equal(lkvfence_watch_look(w, generation), -ENOENT);
	assert_errmsg("is not watched");
	assert_int_equal(lkvfence_watch_stop(w, generation), -ENOENT);
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(e.flags, 0);
}

static void test_clean(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct lkvfence_event e = released(5);

	(void)state;
	fake_held(5, 10, 4);
	errno = EXDEV;
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(stat_of(w).started, 1);
	assert_int_equal(stat_of(w).watched, 1);
	fake_release(5);
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(e.flags, 0);
	assert_int_equal(e.tag, 99);
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).released, 1);
	assert_int_equal(stat_of(w).cut_short, 0);
	assert_int_equal(stat_of(w).strays, 0);
	assert_forgotten(w, 5);
	lkvfence_watch_close(w);
}

static void test_stray(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct fake_transfer *t = fake_held(5, 10, 4);
	struct lkvfence_event e = fake_event(5, LKVFENCE_EVENT_RELEASED, LKVFENCE_EVENT_TAINTED);

	(void)state;
	fake_add(t, 50, 2);
	assert_int_equal(lkvfence_watch_start(w, 5), 6);
	fake_write_k(11, 0);
	fake_write_v(11, 3);
	fake_write_v(51, V_BYTES - 1);
	fake_release(5);
	assert_int_equal(lkvfence_watch_event(w, &e), 2);
	assert_int_equal(e.flags, LKVFENCE_EVENT_TAINTED | LKVFENCE_EVENT_STRAY);
	assert_int_equal(fake.nr_reports, 1);
	assert_reported(0, 5, LKVFENCE_REPORT_STRAY, 2);
	assert_int_equal(stat_of(w).strays, 1);
	assert_int_equal(stat_of(w).stray_slots, 2);
	assert_forgotten(w, 5);
	assert_int_equal(fake.nr_reports, 1);
	lkvfence_watch_close(w);
}

/* Each byte of a slot is seen, and none beside it */
static void test_each_byte(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	uint32_t b;

	(void)state;
	fake_held(5, 10, 2);
	assert_int_equal(lkvfence_watch_start(w, 5), 2);
	for (b = 0; b < K_STRIDE; b++) {
		fake_write_k(10, b);
		assert_int_equal(lkvfence_watch_look(w, 5), b < K_BYTES);
		fake_write_k(10, b);
	}
	for (b = 0; b < V_STRIDE; b++) {
		fake_write_v(11, b);
		assert_int_equal(lkvfence_watch_look(w, 5), b < V_BYTES);
		fake_write_v(11, b);
	}
	fake_write_k(9, K_BYTES - 1);
	fake_write_k(12, 0);
	fake_write_v(9, V_BYTES - 1);
	fake_write_v(12, 0);
	assert_int_equal(lkvfence_watch_look(w, 5), 0);
	lkvfence_watch_close(w);
}

/* Checksums write nothing at all; the pattern nothing but the slots */
static void test_writes_nothing_else(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct fake before = fake;
	struct lkvfence_event e = released(5);
	uint32_t slot;

	(void)state;
	fake_held(5, 10, 2);
	assert_int_equal(lkvfence_watch_start(w, 5), 2);
	fake_release(5);
	lkvfence_watch_event(w, &e);
	for (slot = 0; slot < NR_SLOTS; slot++) {
		unsigned char *k = fake.k + slot * K_STRIDE;
		unsigned char *v = fake.v + slot * V_STRIDE;
		bool written = mode && (slot == 10 || slot == 11);

		assert_int_equal(!!memcmp(k, before.k + slot * K_STRIDE, K_BYTES), written);
		assert_memory_equal(k + K_BYTES, before.k + slot * K_STRIDE + K_BYTES,
				    K_STRIDE - K_BYTES);
		assert_int_equal(!!memcmp(v, before.v + slot * V_STRIDE, V_BYTES), written);
	}
	lkvfence_watch_close(w);
}

static void test_not_to_be_watched(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct fake before;

	(void)state;
	fake_held(5, 10, 4)->state = LKVFENCE_STATE_WAITING;
	fake_held(6, 20, 4)->state = LKVFENCE_STATE_RELEASED;
	fake_held(7, 62, 3);
	before = fake;
	assert_int_equal(lkvfence_watch_start(w, 5), -EBUSY);
	assert_errmsg("region kv: start: generation 5 has not ended");
	assert_int_equal(lkvfence_watch_start(w, 6), 0);
	assert_int_equal(lkvfence_watch_start(w, 7), -ERANGE);
	assert_errmsg("3 slots from 62 go beyond the 64");
	assert_int_equal(lkvfence_watch_start(w, 8), -ENOENT);
	assert_errmsg("the fake module fails query of what never was");
	fake.query_errno = EBADF;
	assert_int_equal(lkvfence_watch_start(w, 5), -EBADF);
	fake.query_errno = 0;
	assert_memory_equal(fake.k, before.k, sizeof(fake.k));
	assert_memory_equal(fake.v, before.v, sizeof(fake.v));
	assert_int_equal(stat_of(w).started, 0);
	assert_int_equal(stat_of(w).watched, 0);

	/* it ends, and may be watched now */
	fake.transfers[0].state = LKVFENCE_STATE_ENDED;
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	assert_int_equal(lkvfence_watch_start(w, 5), -EALREADY);
	assert_errmsg("watched already");
	assert_int_equal(stat_of(w).watched, 1);
	lkvfence_watch_close(w);
}

static void release_at_second(struct lkvfence_query *query, int nth)
{
	if (nth == 2)
		fake_release(query->generation);
}

static void test_released_between_two_questions(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct fake before = fake;

	(void)state;
	fake_held(5, 10, 4);
	fake.on_query = release_at_second;
	assert_int_equal(lkvfence_watch_start(w, 5), 0);
	assert_int_equal(fake.queries, 2);
	assert_memory_equal(fake.k, before.k, sizeof(fake.k));
	assert_int_equal(stat_of(w).started, 0);
	assert_forgotten(w, 5);
	lkvfence_watch_close(w);
}

static void test_no_memory(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	int nth;

	(void)state;
	fake_held(5, 10, 4);
	for (nth = 1;; nth++) {
		fake.calloc_fails = nth;
		errno = EXDEV;
		if (lkvfence_watch_start(w, 5) != -ENOMEM)
			break;
		assert_int_equal(errno, EXDEV);
		assert_errmsg("no memory to watch generation 5; the fence holds without");
		assert_int_equal(stat_of(w).watched, 0);
	}
	/* the entry, its ranges, and sums where there are any */
	assert_int_equal(nth, mode ? 3 : 4);
	assert_int_equal(stat_of(w).watched, 1);
	lkvfence_watch_close(w);
}

static void test_told_once(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct lkvfence_event q = fake_event(5, LKVFENCE_EVENT_QUARANTINED, 0);
	struct lkvfence_event e = released(5);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	assert_int_equal(lkvfence_watch_look(w, 5), 0);
	assert_int_equal(lkvfence_watch_event(w, &q), 0);
	assert_int_equal(q.flags, 0);
	assert_int_equal(fake.nr_reports, 0);

	fake_write_k(12, 1);
	assert_int_equal(lkvfence_watch_event(w, &q), 1);
	assert_int_equal(q.flags, LKVFENCE_EVENT_STRAY);
	assert_int_equal(fake.nr_reports, 1);
	fake_write_k(13, 1);
	assert_int_equal(lkvfence_watch_look(w, 5), 2);
	assert_int_equal(stat_of(w).stray_slots, 2);

	/* what was there at the start comes back: it has happened all the same */
	fake_write_k(12, 1);
	fake_write_k(13, 1);
	assert_int_equal(lkvfence_watch_look(w, 5), 0);
	fake_release(5);
	assert_int_equal(lkvfence_watch_event(w, &e), 2);
	assert_int_equal(e.flags, LKVFENCE_EVENT_STRAY);
	assert_int_equal(fake.nr_reports, 1);
	assert_reported(0, 5, LKVFENCE_REPORT_STRAY, 1);
	assert_int_equal(stat_of(w).strays, 1);
	assert_int_equal(stat_of(w).stray_slots, 2);
	lkvfence_watch_close(w);
}

static void test_report_fails(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct lkvfence_event e = released(5);

	(void)state;
	fake_held(5, 10, 4);
	fake_held(6, 20, 4);
	lkvfence_watch_start(w, 5);
	lkvfence_watch_start(w, 6);
	fake_write_k(10, 0);
	fake_write_k(20, 0);
	fake.report_errno = ENOENT;
	assert_int_equal(lkvfence_watch_look(w, 6), -ENOENT);
	assert_errmsg("the fake module fails report");
	fake.report_errno = ENOTTY;
	assert_int_equal(lkvfence_watch_event(w, &e), -ENOTTY);
	assert_int_equal(e.flags, LKVFENCE_EVENT_STRAY);
	assert_int_equal(stat_of(w).unreported, 2);
	assert_int_equal(stat_of(w).strays, 2);
	assert_int_equal(stat_of(w).watched, 1);
	lkvfence_watch_close(w);
}

/* Its new owner may write to it: that is no late write */
static void test_slot_of_another(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	struct lkvfence_event e = released(5);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	fake_release(5);
	fake_held(6, 11, 2)->state = LKVFENCE_STATE_WAITING;
	fake_write_k(11, 0);
	fake_write_k(12, 0);
	assert_int_equal(lkvfence_watch_event(w, &e), 0);
	assert_int_equal(e.flags, 0);
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).reused, 2);
	assert_int_equal(stat_of(w).strays, 0);
	lkvfence_watch_close(w);
}

static void test_stop(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	fake_write_k(10, 0);
	assert_int_equal(lkvfence_watch_stop(w, 5), 0);
	assert_int_equal(fake.nr_reports, 0);
	assert_int_equal(stat_of(w).released, 0);
	assert_forgotten(w, 5);
	/* and once more */
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	assert_int_equal(lkvfence_watch_look(w, 5), 0);
	lkvfence_watch_close(w);
}

/* Many at once, in no order of generations; they don't mix */
static void test_several(void **state)
{
	static const uint64_t generations[] = {
		900, 3, UINT64_MAX, 41, 40, 1ULL << 62, 7, 7 + (1ULL << 32)
	};
	struct lkvfence_watch *w = fake_watch(mode);
	struct lkvfence_event e;
	int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		fake_held(generations[i], i * 8, i + 1);
		assert_int_equal(lkvfence_watch_start(w, generations[i]), i + 1);
	}
	for (i = 0; i < 8; i += 2)
		fake_write_v(i * 8, 7);
	for (i = 7; i >= 0; i--) {
		e = released(generations[i]);
		assert_int_equal(lkvfence_watch_event(w, &e), i % 2 ? 0 : 1);
		assert_int_equal(e.flags, i % 2 ? 0 : LKVFENCE_EVENT_STRAY);
		assert_int_equal(stat_of(w).watched, i);
	}
	assert_int_equal(fake.nr_reports, 4);
	lkvfence_watch_close(w);
}

/* A pattern is of one slot and one generation; data that repeats isn't taken for it */
static void test_write_of_another_slot(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);

	(void)state;
	fake_held(5, 10, 4);
	assert_int_equal(lkvfence_watch_start(w, 5), 4);
	memcpy(fake.v + 10 * V_STRIDE, fake.v + 11 * V_STRIDE, V_BYTES);
	memset(fake.v + 12 * V_STRIDE, 0, V_BYTES);
	assert_int_equal(lkvfence_watch_look(w, 5), 2);
	lkvfence_watch_close(w);
}

/* Nor are two alike: of two pools, or of a slot the next time */
static void test_patterns_differ(void **state)
{
	struct lkvfence_watch *w = fake_watch(LKVFENCE_WATCH_PATTERN);
	unsigned char first[V_BYTES];
	int i, same = 0;

	(void)state;
	fake_held(5, 10, 1);
	fake_held(6, 10, 1);
	assert_int_equal(lkvfence_watch_start(w, 5), 1);
	memcpy(first, fake.v + 10 * V_STRIDE, V_BYTES);
	assert_memory_not_equal(first, fake.k + 10 * K_STRIDE, V_BYTES);
	for (i = 1; i < V_BYTES; i++)
		same += first[i] == first[0];
	assert_true(same < V_BYTES / 2);
	assert_int_equal(lkvfence_watch_stop(w, 5), 0);
	assert_int_equal(lkvfence_watch_start(w, 6), 1);
	assert_memory_not_equal(first, fake.v + 10 * V_STRIDE, V_BYTES);
	lkvfence_watch_close(w);
}

/* Only the pattern sees that a write stores what was there before */
static void test_same_bytes_again(void **state)
{
	struct lkvfence_watch *w = fake_watch(mode);
	unsigned char same[V_BYTES];

	(void)state;
	memcpy(same, fake.v + 10 * V_STRIDE, V_BYTES);
	fake_held(5, 10, 1);
	assert_int_equal(lkvfence_watch_start(w, 5), 1);
	memcpy(fake.v + 10 * V_STRIDE, same, V_BYTES);
	assert_int_equal(lkvfence_watch_look(w, 5), mode ? 1 : 0);
	lkvfence_watch_close(w);
}

/* Lengths around that of the block which the pattern repeats */
static void test_slots_of_any_size(void **state)
{
	static const uint32_t sizes[] = { 1, 7, 511, 512, 513, 1024, 1100 };
	enum { STRIDE = 1101 };
	unsigned char *memory = malloc(NR_SLOTS * STRIDE);
	struct lkvfence_watch_pool pool = { memory, STRIDE, 0 };
	struct lkvfence_watch *w;
	uint32_t i, b;

	(void)state;
	fake_held(5, 30, 2);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(memory, 0xaa, NR_SLOTS * STRIDE);
		pool.bytes = sizes[i];
		assert_int_equal(lkvfence_watch_open(&w, fake_handle(), &pool, 1, 0, mode), 0);
		assert_int_equal(lkvfence_watch_start(w, 5), 2);
		for (b = 0; b < STRIDE; b++) {
			memory[31 * STRIDE + b] ^= 1;
			assert_int_equal(lkvfence_watch_look(w, 5), b < sizes[i]);
			memory[31 * STRIDE + b] ^= 1;
		}
		for (b = sizes[i]; b < STRIDE; b++)
			assert_int_equal(memory[31 * STRIDE + b], 0xaa);
		assert_int_equal(memory[30 * STRIDE - 1], 0xaa);
		assert_int_equal(memory[32 * STRIDE], 0xaa);
		lkvfence_watch_close(w);
	}
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_clean),
		FAKE_TEST(test_stray),
		FAKE_TEST(test_each_byte),
		FAKE_TEST(test_slots_of_any_size),
		FAKE_TEST(test_writes_nothing_else),
		FAKE_TEST(test_not_to_be_watched),
		FAKE_TEST(test_released_between_two_questions),
		FAKE_TEST(test_no_memory),
		FAKE_TEST(test_told_once),
		FAKE_TEST(test_report_fails),
		FAKE_TEST(test_slot_of_another),
		FAKE_TEST(test_stop),
		FAKE_TEST(test_several),
		FAKE_TEST(test_write_of_another_slot),
		FAKE_TEST(test_patterns_differ),
		FAKE_TEST(test_same_bytes_again),
	};
	int failed;

	failed = cmocka_run_group_tests_name("watch: checksums", tests, NULL, NULL);
	mode = LKVFENCE_WATCH_PATTERN;
	failed += cmocka_run_group_tests_name("watch: pattern", tests, NULL, NULL);
	return failed;
}
