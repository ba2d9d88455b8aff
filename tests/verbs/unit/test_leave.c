// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A rail goes, or a lease is stopped, while another thread is at it: neither waits
 * for the other, and none of them relies on what the other does.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "windows.h"

static atomic_bool waiting;

static void looked(struct fake_cq *cq)
{
	(void)cq;
	atomic_store(&waiting, true);
}

struct waiter {
	pthread_t thread;
	struct lkvfence_send *send;
	struct lkvfence_recv *recv;
	struct lkvfence_event event;
	int ret;
};

static void *wait(void *arg)
{
	struct waiter *w = arg;

	if (w->send)
		w->ret = lkvfence_send_drain(w->send, -1);
	else if (w->recv)
		w->ret = lkvfence_recv_revoke(w->recv, -1);
	else
		w->ret = lkvfence_verbs_event(v, FENCE, &w->event, -1);
	return NULL;
}

/* Returns when it waits. */
static void start(struct waiter *w)
{
	/* whoever waits for ever fails */
	alarm(60);
	atomic_store(&waiting, false);
	fake.on_poll = looked;
	assert_int_equal(pthread_create(&w->thread, NULL, wait, w), 0);
	while (!atomic_load(&waiting))
		sched_yield();
}

static int end(struct waiter *w)
{
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	fake.on_poll = NULL;
	alarm(0);
	return w->ret;
}

static void a_drain(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct waiter w = { .send = new_send(G, 1) };

	(void)state;
	assert_int_equal(lkvfence_send_post(w.send, a, writes(1, 8, true), NULL), 0);
	assert_int_equal(lkvfence_send_post(w.send, b, writes(1, 8, true), NULL), 0);
	start(&w);
	destroy(a);
	assert_int_equal(end(&w), -EIO);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	lkvfence_send_finish(w.send);
	destroy(b);
}

static void a_drain_and_the_qp(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct waiter w = { .send = new_send(G, 1) };

	(void)state;
	assert_int_equal(lkvfence_send_post(w.send, rail, writes(1, 8, true), NULL), 0);
	start(&w);
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_int_equal(end(&w), -EIO);
	lkvfence_send_finish(w.send);
}

/* The window is gone, and waits for the guard's word: the QP's end is as good. */
static void a_revocation(void **state)
{
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 1);
	struct waiter w = { .recv = new_recv(G) };

	(void)state;
	open_window(w.recv, rail, q);
	q->state = IBV_QPS_ERR;
	assert_int_equal(lkvfence_recv_revoke(w.recv, 0), 0);
	poll_all(q);
	assert_int_equal(fake.live_mws, 0);
	assert_int_equal(fake.nr_returned, 0);
	start(&w);
	assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
	assert_int_equal(end(&w), 0);
	assert_returned(G, LKVFENCE_STATUS_REVOKED, LKVFENCE_EVIDENCE_MW_INVALIDATED);
	lkvfence_recv_finish(w.recv, 0);
}

static void an_event(void **state)
{
	struct waiter w = {
		.event = { .generation = 1, .tag = 5, .type = LKVFENCE_EVENT_REVOKE },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake_qp *q = fake_qp();
		struct lkvfence_rail *rail = rail_with(q, 2, 0);

		w.event.generation = 1 + i;
		assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, "peer", &rail, 1), 0);
		start(&w);
		if (i) {
			/* nobody will be able to tell */
			destroy(rail);
			assert_int_equal(end(&w), -EOPNOTSUPP);
		} else {
			assert_int_equal(lkvfence_rail_destroy_qp(rail), 0);
			assert_int_equal(end(&w), 1);
		}
	}
}

/* The event means nobody any more. */
static void a_binding(void **state)
{
	struct waiter w = {
		.event = { .generation = 1, .tag = 5, .type = LKVFENCE_EVENT_REVOKE },
	};
	struct fake_qp *q = fake_qp();
	struct lkvfence_rail *rail = rail_with(q, 2, 0);

	(void)state;
	assert_int_equal(lkvfence_verbs_bind(v, FENCE, 5, "peer", &rail, 1), 0);
	start(&w);
	assert_int_equal(lkvfence_verbs_unbind(v, FENCE, 5), 0);
	assert_int_equal(end(&w), 0);
	destroy(rail);
}

static struct lkvfence_send *stopped;
static struct lkvfence_rail *elsewhere;
static pthread_t stopper;

static void *stop(void *arg)
{
	(void)arg;
	lkvfence_send_stop(stopped);
	return NULL;
}

/* In the midst of a post: returns when the lease takes no more. */
static void stopped_meanwhile(const struct ibv_send_wr *wr)
{
	(void)wr;
	fake.on_accept = NULL;
	assert_int_equal(pthread_create(&stopper, NULL, stop, NULL), 0);
	/* too large, so it is never posted */
	while (lkvfence_send_post(stopped, elsewhere, writes(1, 100, false), NULL) !=
	       -ECANCELED)
		sched_yield();
}

/* What was posted just then has its marker, too. */
static void a_post(void **state)
{
	struct lkvfence_send_attr attr = { .generation = G, .source = 1, .max_bytes = 99 };
	struct fake_qp *p, *q;
	struct lkvfence_rail *rail = new_rail(&p);
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	elsewhere = new_rail(&q);
	assert_int_equal(lkvfence_send_begin(v, &attr, &stopped), 0);
	assert_int_equal(lkvfence_send_post(stopped, rail, writes(2, 8, true), NULL), 0);
	complete_all(p);
	poll_all(p);
	fake.on_accept = stopped_meanwhile;
	alarm(60);
	assert_int_equal(lkvfence_send_post(stopped, rail, &wr, NULL), 0);
	pthread_join(stopper, NULL);
	alarm(0);
	assert_int_equal(p->nr_sends, 2);
	complete_all(p);
	poll_all(p);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(stopped);
	destroy(rail);
	destroy(elsewhere);
}

static atomic_bool over;

static void *come_and_go(void *arg)
{
	struct fake_qp *q = arg;
	unsigned int i;

	for (i = 0; i < 500; i++)
		if (lkvfence_rail_destroy(rail_with(q, 0, 0)))
			break;
	atomic_store(&over, true);
	return i == 500 ? q : NULL;
}

/* What is left in one queue of a rail that is gone, while another has its number. */
static void a_number(void **state)
{
	struct fake_qp *p, *q = fake_qp();
	struct lkvfence_rail *rail = new_rail(&p);
	pthread_t thread;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .qp_num = p->ibv.qp_num };
	uint64_t seen = 0;
	void *good;

	(void)state;
	cq_of(q);
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	wc.wr_id = p->sends[0].wr_id;
	destroy(rail);
	atomic_store(&over, false);
	alarm(60);
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, q), 0);
	while (!atomic_load(&over)) {
		push(&fake.cqs[1], &wc);
		assert_int_equal(poll_all(p), 0);
		seen++;
	}
	pthread_join(thread, &good);
	alarm(0);
	assert_non_null(good);
	assert_int_equal(stat_now().stale, seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_drain),
		FAKE_TEST(a_drain_and_the_qp),
		FAKE_TEST(a_revocation),
		FAKE_TEST(an_event),
		FAKE_TEST(a_binding),
		FAKE_TEST(a_post),
		FAKE_TEST(a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
