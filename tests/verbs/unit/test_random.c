// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Anything, in any order: leases over several rails, posts that fail half way or
 * in doubt, errors, completions that somebody steals, resets. What the device did
 * with each request is kept beside it. Then:
 *
 *   a lease that is told as drained had nothing in the device's queues, and all
 *   of its requests had been executed with success;
 *   each lease is told once;
 *   where nothing went wrong, all are drained; where something did, more may
 *   fail than were hit.
 *
 * The seed is a number, so that what failed can be played again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

#define RAILS	3
#define LEASES	12
#define STEPS	400
#define SEEDS	1500

struct lease {
	struct lkvfence_send *send;
	uint64_t generation;
	unsigned int accepted;	/* requests that the device has, or had */
	unsigned int succeeded;
	unsigned int told;
	bool wronged;		/* one of its requests failed, or is in doubt */
};

static struct lease leases[LEASES * 64];
static unsigned int nr_leases;
static struct fake_qp *qp[RAILS];
static struct lkvfence_rail *rail[RAILS];
static uint32_t rng;
static unsigned int seed;
static bool harm;

static unsigned int roll(unsigned int below)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % below;
}

static struct lease *lease_of(const struct ibv_send_wr *wr)
{
	uint64_t i = wr->wr.rdma.remote_addr;

	return i ? leases + i - 1 : NULL;
}

static void on_accept(const struct ibv_send_wr *wr)
{
	struct lease *l = lease_of(wr);

	if (l)
		l->accepted++;
}

static void on_done(const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct lease *l = lease_of(wr);

	if (!l)
		return;
	if (status == IBV_WC_SUCCESS)
		l->succeeded++;
	else
		l->wronged = true;
}

static void told(void)
{
	unsigned int i;

	for (i = 0; i < fake.nr_returned; i++) {
		const struct lkvfence_returned *r = fake.returned + i;
		struct lease *l = leases + (r->generation - G);

		l->told++;
		assert_int_equal(l->told, 1);
		if (r->status == LKVFENCE_STATUS_DRAINED &&
		    l->succeeded != l->accepted) {
			print_error("seed %u: drained, with %u of %u done\n", seed,
				    l->succeeded, l->accepted);
			fail();
		}
		if (r->status != LKVFENCE_STATUS_DRAINED && !l->wronged && !harm) {
			print_error("seed %u: failed, and nothing went wrong\n", seed);
			fail();
		}
	}
	fake.nr_returned = 0;
}

static void begin(unsigned int slot, struct lease **slots)
{
	struct lkvfence_send_attr attr = {
		.generation = G + nr_leases,
		.max_wrs = roll(2) ? roll(20) + 1 : 0,
		.max_bytes = roll(2) ? roll(200) + 8 : 0,
	};
	struct lease *l = leases + nr_leases;

	*l = (struct lease){ .generation = attr.generation };
	if (lkvfence_send_begin(v, &attr, &l->send))
		return;
	nr_leases++;
	slots[slot] = l;
}

static void post(struct lease *l, unsigned int r)
{
	struct ibv_send_wr *wr = writes(roll(20) + 1, 8, roll(2)), *w, *bad;
	bool doubt = false;
	int err;

	for (w = wr; w; w = w->next) {
		w->wr.rdma.remote_addr = l ? (uint64_t)(l - leases) + 1 : 0;
		if (!roll(8))
			w->opcode = IBV_WR_RDMA_READ;
		if (!roll(8))
			w->send_flags |= IBV_SEND_SIGNALED;
	}
	if (!roll(10))
		fake.send = (struct fake_post){ .err = EINVAL, .after = roll(20) };
	else if (!roll(40))
		fake.send = (struct fake_post){
			.err = EIO,
			.bad = BAD_NULL,
			.taken = roll(2),
		};
	doubt = fake.send.err && fake.send.bad;
	if (doubt && l)
		l->wronged = true;
	err = l ? lkvfence_send_post(l->send, rail[r], wr, &bad) :
		  lkvfence_rail_post(rail[r], wr, &bad);
	fake.send = (struct fake_post){ 0 };
	assert_int_not_equal(err, -E2BIG);
}

static void reset(unsigned int r)
{
	qp[r]->nr_sends = 0;
	qp[r]->nr_recvs = 0;
	qp[r]->state = IBV_QPS_RTS;
	assert_int_equal(lkvfence_rail_reset(rail[r]), 0);
}

static void steal(unsigned int r)
{
	struct fake_cq *cq = fake.cqs + r;

	if (!cq->nr)
		return;
	cq->first = (cq->first + 1) % ARRAY_SIZE(cq->wc);
	cq->nr--;
}

static void step(struct lease **slots)
{
	unsigned int r = roll(RAILS), s = roll(LEASES), what = roll(100);
	struct ibv_wc wc[4];
	struct lease *l = slots[s];

	if (!l && nr_leases < ARRAY_SIZE(leases) && what < 80) {
		begin(s, slots);
	} else if (l && what < 30) {
		post(l, r);
	} else if (l && what < 40) {
		lkvfence_send_finish(l->send);
		slots[s] = NULL;
	} else if (l && what < 44) {
		lkvfence_send_stop(l->send);
	} else if (l && what < 48) {
		lkvfence_send_mark(l->send, rail, RAILS);
	} else if (l && what < 50) {
		lkvfence_send_drain(l->send, 0);
	} else if (what < 54) {
		post(NULL, r);
	} else if (what < 75) {
		for (what = roll(30); what && qp[r]->nr_sends; what--)
			complete(qp[r], IBV_WC_SUCCESS);
	} else if (what < 96) {
		lkvfence_cq_poll(cq_of(qp[r]), 4, wc);
	} else if (harm && what < 97 && qp[r]->nr_sends) {
		complete(qp[r], IBV_WC_RETRY_EXC_ERR);
	} else if (harm && what < 98) {
		steal(r);
	} else if (harm && what < 100 && (qp[r]->state == IBV_QPS_ERR || !roll(5))) {
		reset(r);
	}
	told();
}

static void play(void)
{
	struct lease *slots[LEASES] = {};
	unsigned int i, round;

	rng = seed;
	nr_leases = 0;
	memset(leases, 0, sizeof(leases));
	fake.on_accept = on_accept;
	fake.on_done = on_done;
	for (i = 0; i < RAILS; i++)
		rail[i] = new_rail(&qp[i]);
	for (i = 0; i < STEPS; i++)
		step(slots);
	for (i = 0; i < LEASES; i++) {
		if (slots[i])
			lkvfence_send_finish(slots[i]->send);
	}
	/* What can come to an end does, markers and all. */
	for (round = 0; round < 4; round++) {
		for (i = 0; i < RAILS; i++) {
			complete_all(qp[i]);
			poll_all(qp[i]);
			told();
		}
	}
	for (i = 0; i < RAILS; i++) {
		/* where one was stolen, nothing comes any more */
		destroy(rail[i]);
	}
	told();
	for (i = 0; i < nr_leases; i++) {
		if (leases[i].told == 1)
			continue;
		print_error("seed %u: lease %u was not told\n", seed, i);
		fail();
	}
}

static void without_harm(void **state)
{
	for (seed = 1; seed <= SEEDS; seed++) {
		struct lkvfence_verbs_stat stat;

		harm = false;
		play();
		stat = stat_now();
		assert_int_equal(stat.lost, 0);
		assert_int_equal(stat.stale, 0);
		assert_true(stat.drained > stat.failed);
		assert_int_equal(fake_teardown(state), 0);
		assert_int_equal(fake_setup(state), 0);
	}
}

static void with_harm(void **state)
{
	uint64_t drained = 0, failed = 0;

	for (seed = 1; seed <= SEEDS; seed++) {
		harm = true;
		play();
		drained += stat_now().drained;
		failed += stat_now().failed;
		assert_int_equal(fake_teardown(state), 0);
		assert_int_equal(fake_setup(state), 0);
	}
	/* both happen, or nothing was tested */
	assert_true(drained > SEEDS);
	assert_true(failed > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(without_harm),
		FAKE_TEST(with_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
