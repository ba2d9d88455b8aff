// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Many threads on the same objects: some post, some poll, one is the device, one
 * opens and revokes windows, one drains. Each lease comes back once, and as
 * drained, for nothing fails here. tests/verbs/checks runs it under a detector of
 * races, too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fake.h"

#define RAILS	3
#define LEASES	300		/* of each thread */
#define POSTERS	3
#define WINDOWS	200

static struct fake_qp *qp[RAILS];
static struct lkvfence_rail *rail[RAILS];
static _Atomic unsigned int told[POSTERS + 2][LEASES];
static atomic_uint drained, revoked, in_band, other, wrong;
static atomic_bool over;

static void returned(const struct lkvfence_returned *r, void *arg)
{
	unsigned int who = r->source, i = r->generation - G;

	(void)arg;
	if (who >= POSTERS + 2 || i >= LEASES ||
	    atomic_fetch_add(&told[who][i], 1))
		atomic_fetch_add(&wrong, 1);
	if (r->evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE)
		atomic_fetch_add(&drained, 1);
	else if (r->evidence == LKVFENCE_EVIDENCE_MW_INVALIDATED)
		atomic_fetch_add(&revoked, 1);
	else if (r->evidence == LKVFENCE_EVIDENCE_IN_BAND)
		atomic_fetch_add(&in_band, 1);
	else
		atomic_fetch_add(&other, 1);
}

static void must(bool good)
{
	if (!good)
		atomic_fetch_add(&wrong, 1);
}

static void post(struct lkvfence_send *send, struct lkvfence_rail *r,
		 unsigned int nr)
{
	struct ibv_send_wr wrs[8] = {}, *wr = wrs, *bad;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = 7,
			.next = i + 1 < nr ? wrs + i + 1 : NULL,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i & 1 ? IBV_SEND_SIGNALED : 0,
		};
	do {
		err = lkvfence_send_post(send, r, wr, &bad);
		if (err == -EAGAIN) {
			wr = bad;
			sched_yield();
		}
	} while (err == -EAGAIN);
	must(!err);
}

static void *poster(void *arg)
{
	unsigned int who = (uintptr_t)arg, i, j;
	struct lkvfence_send_attr attr = {
		.source = who,
		.max_wrs = who ? 20 : 0,
	};
	struct lkvfence_send *send;

	for (i = 0; i < LEASES; i++) {
		attr.generation = G + i;
		while (lkvfence_send_begin(v, &attr, &send))
			sched_yield();
		for (j = 0; j < RAILS; j++)
			post(send, rail[(i + j) % RAILS], 1 + (i + j) % 8);
		if (i % 4 == 0)
			while (lkvfence_send_mark(send, rail, RAILS))
				sched_yield();
		if (i % 4 == 1) {
			int err;

			do {
				err = lkvfence_send_drain(send, 10);
			} while (err == -ETIMEDOUT || err == -ENOBUFS);
			must(!err);
		}
		lkvfence_send_finish(send);
	}
	return NULL;
}

/* Windows on the first rail, acknowledgements on the second. */
static void *receiver(void *arg)
{
	struct lkvfence_recv_attr attr = { .source = POSTERS };
	struct ibv_mw_bind_info info = { .length = 8 };
	struct lkvfence_recv *recv;
	unsigned int i;
	uint32_t rkey;
	int err;

	(void)arg;
	for (i = 0; i < WINDOWS; i++) {
		attr.generation = G + i;
		while (lkvfence_recv_begin(v, &attr, &recv))
			sched_yield();
		do {
			err = lkvfence_recv_window(recv, rail[0], &info, 600000, &rkey);
			if (err)
				sched_yield();
		} while (err == -EAGAIN || err == -ENOBUFS);
		must(!err);
		do {
			err = lkvfence_recv_revoke(recv, i & 1 ? 10 : 0);
		} while (err == -ETIMEDOUT || err == -ENOBUFS);
		must(!err);
		lkvfence_recv_finish(recv, 0);
	}
	attr.source = POSTERS + 1;
	for (i = 0; i < WINDOWS; i++) {
		attr.generation = G + i;
		while (lkvfence_recv_begin(v, &attr, &recv))
			sched_yield();
		must(!lkvfence_recv_expect(recv, rail + 1, 1));
		while (!recvs_of(qp[1]))
			sched_yield();
		arrive(qp[1], (uint32_t)attr.generation, 0);
		while (!told[POSTERS + 1][i])
			sched_yield();
		lkvfence_recv_finish(recv, 0);
	}
	return NULL;
}

static void *device(void *arg)
{
	unsigned int i;

	(void)arg;
	while (!over) {
		for (i = 0; i < RAILS; i++) {
			if (sends_of(qp[i]) && cqes_of(qp[i]) < 200)
				complete(qp[i], IBV_WC_SUCCESS);
		}
		sched_yield();
	}
	return NULL;
}

static void *poller(void *arg)
{
	struct ibv_wc wc[4];
	unsigned int i;

	(void)arg;
	while (!over) {
		for (i = 0; i < RAILS; i++) {
			int n = lkvfence_cq_poll(cq_of(qp[i]), 4, wc);

			must(n >= 0);
			while (n > 0) {
				n--;
				must(wc[n].wr_id == 7 || wc[n].wr_id == 4711);
			}
		}
		sched_yield();
	}
	return NULL;
}

static void together(void **state)
{
	struct lkvfence_verbs_attr attr = {
		.returned = returned,
		.max_sends = 16,
		.max_recvs = 8,
	};
	pthread_t posters[POSTERS], pollers[2], dev, recv;
	struct lkvfence_verbs_stat stat;
	unsigned int i;

	assert_int_equal(fake_teardown(state), 0);
	assert_int_equal(fake_setup(state), 0);
	assert_int_equal(lkvfence_verbs_destroy(v), 0);
	assert_int_equal(lkvfence_verbs_create(&v, &attr), 0);
	for (i = 0; i < RAILS; i++) {
		qp[i] = fake_qp();
		rail[i] = rail_with(qp[i], i == 1 ? 4 : 0, i ? 0 : 2);
	}
	pthread_create(&dev, NULL, device, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(pollers + i, NULL, poller, NULL);
	for (i = 0; i < POSTERS; i++)
		pthread_create(posters + i, NULL, poster, (void *)(uintptr_t)i);
	pthread_create(&recv, NULL, receiver, NULL);
	for (i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	pthread_join(recv, NULL);
	while (drained + revoked + in_band + other < POSTERS * LEASES + 2 * WINDOWS)
		usleep(1000);
	over = true;
	pthread_join(dev, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(pollers[i], NULL);

	assert_int_equal(wrong, 0);
	assert_int_equal(other, 0);
	assert_int_equal(drained, POSTERS * LEASES);
	assert_int_equal(revoked, WINDOWS);
	assert_int_equal(in_band, WINDOWS);
	stat = stat_now();
	assert_int_equal(stat.lost, 0);
	assert_int_equal(stat.stale, 0);
	for (i = 0; i < RAILS; i++)
		destroy(rail[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
