// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The checksum, and payloads from one end to the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* CRC-64/XZ as it is defined, a bit at a time */
static uint64_t defined(const unsigned char *p, size_t len)
{
	uint64_t crc = ~0ULL;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42ULL : 0);
	}
	return ~crc;
}

static void test_crc_is_the_known_one(void **state)
{
	(void)state;
	/* the check value that catalogues of CRCs give */
	assert_int_equal(lkvfence_watch_crc(0, "123456789", 9), 0x995dc9bbdf1939faULL);
	assert_int_equal(lkvfence_watch_crc(0, "", 0), 0);
}

static void test_crc_of_any_length_and_place(void **state)
{
	static unsigned char bytes[3000];
	size_t len, at;

	(void)state;
	for (at = 0; at < sizeof(bytes); at++)
		bytes[at] = (unsigned char)(at * at * 31 + at / 7);
	for (at = 0; at < 70; at += 3) {
		for (len = 0; len + at < sizeof(bytes); len += len / 9 + 1)
			assert_int_equal(lkvfence_watch_crc(0, bytes + at, len),
					 defined(bytes + at, len));
	}
}

static void test_crc_in_pieces(void **state)
{
	uint64_t whole = lkvfence_watch_crc(0, fake.k, 1000), crc = 0;
	size_t at, len;

	(void)state;
	for (at = 0; at < 1000; at += len) {
		len = at / 3 + 1;
		if (len > 1000 - at)
			len = 1000 - at;
		crc = lkvfence_watch_crc(crc, fake.k + at, len);
	}
	assert_int_equal(crc, whole);
}

/* The other end: other slots, other strides, in a process without a module */
struct far {
	unsigned char k[32 * 80];
	unsigned char v[32 * 64];
	struct lkvfence_watch *w;
};

static struct far *far_end(void)
{
	struct far *far = calloc(1, sizeof(*far));
	struct lkvfence_watch_pool pools[] = {
		{ far->k, 80, K_BYTES },
		{ far->v, 64, V_BYTES },
	};

	assert_int_equal(lkvfence_watch_open(&far->w, NULL, pools, 2, 32, 0), 0);
	return far;
}

static void free_far(struct far *far)
{
	lkvfence_watch_close(far->w);
	free(far);
}

/* As RDMA does it: a slot there becomes a slot here */
static void move(const struct far *far, uint32_t from, uint32_t to)
{
	memcpy(fake.k + to * K_STRIDE, far->k + from * 80, K_BYTES);
	memcpy(fake.v + to * V_STRIDE, far->v + from * 64, V_BYTES);
}

static const struct lkvfence_range there[] = { { 3, 2 }, { 20, 1 }, { 9, 3 } };
static const struct lkvfence_range here[] = { { 40, 4 }, { 7, 2 } };

static struct far *sent(void)
{
	struct far *far = far_end();
	size_t i;

	for (i = 0; i < sizeof(far->k); i++)
		far->k[i] = (unsigned char)(i * 13 + 5);
	for (i = 0; i < sizeof(far->v); i++)
		far->v[i] = (unsigned char)(i * 29 + 1);
	move(far, 3, 40);
	move(far, 4, 41);
	move(far, 20, 42);
	move(far, 9, 43);
	move(far, 10, 7);
	move(far, 11, 8);
	return far;
}

static void test_payload_arrives(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	struct far *far = sent();
	uint64_t sum;

	(void)state;
	assert_int_equal(lkvfence_watch_sum(far->w, there, 3, 0, &sum), 0);
	assert_int_equal(lkvfence_watch_verify(w, 5, here, 2, 0, sum), 0);
	assert_int_equal(stat_of(w).verified, 1);
	assert_int_equal(stat_of(w).mismatches, 0);
	assert_int_equal(fake.nr_reports, 0);
	free_far(far);
	lkvfence_watch_close(w);
}

/* The sum is of the bytes in the order said: anybody can make it elsewhere */
static void test_sum_is_of_these_bytes(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	static const uint32_t slots[] = { 40, 41, 42, 43, 7, 8 };
	unsigned char all[6 * (K_BYTES + V_BYTES)], *p = all;
	uint64_t sum;
	int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		memcpy(p, fake.k + slots[i] * K_STRIDE, K_BYTES);
		p += K_BYTES;
		memcpy(p, fake.v + slots[i] * V_STRIDE, V_BYTES);
		p += V_BYTES;
	}
	assert_int_equal(lkvfence_watch_sum(w, here, 2, 0, &sum), 0);
	assert_int_equal(sum, defined(all, sizeof(all)));
	for (i = 1; i <= (int)sizeof(all); i++) {
		assert_int_equal(lkvfence_watch_sum(w, here, 2, i, &sum), 0);
		assert_int_equal(sum, defined(all, i));
	}
	lkvfence_watch_close(w);
}

static void test_every_byte_counts(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	static const uint32_t slots[] = { 40, 41, 42, 43, 7, 8 };
	struct far *far = sent();
	uint64_t sum;
	uint32_t i, b;

	(void)state;
	assert_int_equal(lkvfence_watch_sum(far->w, there, 3, 0, &sum), 0);
	for (i = 0; i < 6; i++) {
		for (b = 0; b < K_BYTES; b++) {
			fake_write_k(slots[i], b);
			fake.nr_reports = 0;
			assert_int_equal(lkvfence_watch_verify(w, 5, here, 2, 0, sum), -EBADMSG);
			fake_write_k(slots[i], b);
		}
		for (b = 0; b < V_BYTES; b++) {
			fake_write_v(slots[i], b);
			fake.nr_reports = 0;
			assert_int_equal(lkvfence_watch_verify(w, 5, here, 2, 0, sum), -EBADMSG);
			fake_write_v(slots[i], b);
		}
	}
	assert_int_equal(lkvfence_watch_verify(w, 5, here, 2, 0, sum), 0);
	/* what is between slots isn't the payload's */
	fake_write_k(40, K_BYTES);
	fake_write_k(39, 0);
	fake_write_v(44, 0);
	assert_int_equal(lkvfence_watch_verify(w, 5, here, 2, 0, sum), 0);
	free_far(far);
	lkvfence_watch_close(w);
}

static void test_mismatch_is_told(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	struct far *far = sent();
	uint64_t sum;

	(void)state;
	assert_int_equal(lkvfence_watch_sum(far->w, there, 3, 0, &sum), 0);
	fake_write_v(8, 39);
	assert_int_equal(lkvfence_watch_verify(w, 77, here, 2, 0, sum), -EBADMSG);
	assert_errmsg("region kv: ");
	assert_errmsg("generation 77");
	assert_errmsg("6 slots");
	assert_errmsg("do not use it");
	assert_int_equal(stat_of(w).verified, 1);
	assert_int_equal(stat_of(w).mismatches, 1);
	assert_int_equal(fake.nr_reports, 1);
	assert_reported(0, 77, LKVFENCE_REPORT_MISMATCH, 6);

	/* the module doesn't take it: still no payload to use */
	fake.report_errno = ENOTTY;
	assert_int_equal(lkvfence_watch_verify(w, 77, here, 2, 0, sum), -EBADMSG);
	assert_errmsg("do not use it");
	assert_int_equal(stat_of(w).mismatches, 2);
	assert_int_equal(stat_of(w).unreported, 1);

	/* where there is no module */
	far->k[3 * 80]++;
	assert_int_equal(lkvfence_watch_verify(far->w, 77, there, 3, 0, sum), -EBADMSG);
	assert_errmsg("do not use it");
	assert_null(strstr(lkvfence_watch_errmsg(), "region"));
	assert_int_equal(stat_of(far->w).mismatches, 1);
	assert_int_equal(fake.nr_reports, 1);
	free_far(far);
	lkvfence_watch_close(w);
}

static void test_order_is_that_of_the_ranges(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	static const struct lkvfence_range split[] = { { 40, 1 }, { 41, 3 }, { 7, 1 }, { 8, 1 } };
	static const struct lkvfence_range other[] = { { 7, 2 }, { 40, 4 } };
	uint64_t a, b;

	(void)state;
	lkvfence_watch_sum(w, here, 2, 0, &a);
	assert_int_equal(lkvfence_watch_sum(w, split, 4, 0, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(lkvfence_watch_sum(w, other, 2, 0, &b), 0);
	assert_int_not_equal(a, b);
	lkvfence_watch_close(w);
}

static void test_sum_refuses(void **state)
{
	struct lkvfence_watch *w = fake_watch(0);
	struct lkvfence_range r = { 60, 5 };
	uint64_t sum = 4711;

	(void)state;
	assert_int_equal(lkvfence_watch_sum(w, &r, 1, 0, &sum), -ERANGE);
	assert_errmsg("5 slots from 60 go beyond the 64 slots");
	assert_int_equal(lkvfence_watch_verify(w, 1, &r, 1, 0, sum), -ERANGE);
	r = (struct lkvfence_range){ UINT32_MAX, 2 };
	assert_int_equal(lkvfence_watch_sum(w, &r, 1, 0, &sum), -ERANGE);
	r = (struct lkvfence_range){ 60, 4 };
	assert_int_equal(lkvfence_watch_sum(w, &r, 1, 4 * (K_BYTES + V_BYTES) + 1, &sum), -ERANGE);
	assert_errmsg("461 bytes are more than the 460");
	assert_int_equal(lkvfence_watch_verify(w, 1, &r, 1, 461, sum), -ERANGE);
	assert_int_equal(lkvfence_watch_sum(w, &r, 0, 0, &sum), -EINVAL);
	assert_errmsg("no slots");
	r.count = 0;
	assert_int_equal(lkvfence_watch_verify(w, 1, &r, 1, 0, 0), -EINVAL);
	assert_int_equal(sum, 4711);
	assert_int_equal(stat_of(w).verified, 0);
	assert_int_equal(fake.nr_reports, 0);
	/* all that there is */
	r = (struct lkvfence_range){ 0, NR_SLOTS };
	assert_int_equal(lkvfence_watch_sum(w, &r, 1, NR_SLOTS * (K_BYTES + V_BYTES), &sum), 0);
	lkvfence_watch_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_crc_is_the_known_one),
		FAKE_TEST(test_crc_of_any_length_and_place),
		FAKE_TEST(test_crc_in_pieces),
		FAKE_TEST(test_payload_arrives),
		FAKE_TEST(test_sum_is_of_these_bytes),
		FAKE_TEST(test_every_byte_counts),
		FAKE_TEST(test_mismatch_is_told),
		FAKE_TEST(test_order_is_that_of_the_ranges),
		FAKE_TEST(test_sum_refuses),
	};

	return cmocka_run_group_tests_name("watch: sum", tests, NULL, NULL);
}
