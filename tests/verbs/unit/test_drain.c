// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Draining: markers, deadlines, and the completions of others meanwhile. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

static struct fake_qp *completing;

/* The device works while somebody polls. */
static void work(struct fake_cq *cq)
{
	(void)cq;
	if (completing->nr_sends)
		complete(completing, IBV_WC_SUCCESS);
}

static void marker_behind_unsignaled(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	const struct ibv_send_wr *marker = q->sends + 3;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(3, 8, false), NULL), 0);
	assert_int_equal(lkvfence_send_drain(send, 0), -ETIMEDOUT);
	assert_int_equal(q->nr_sends, 4);
	assert_int_equal(marker->opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(marker->num_sge, 0);
	assert_int_equal(marker->wr.rdma.rkey, 0);
	assert_int_equal(marker->send_flags, IBV_SEND_SIGNALED);
	/* one is enough */
	assert_int_equal(lkvfence_send_drain(send, 0), -ETIMEDOUT);
	assert_int_equal(q->nr_sends, 4);
	completing = q;
	fake.on_poll = work;
	assert_int_equal(lkvfence_send_drain(send, 60000), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	assert_int_equal(fake.returned[0].wrs, 3);
	assert_int_equal(stat_now().markers, 1);
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	lkvfence_send_finish(send);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

static void no_marker_behind_signaled(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(3, 8, true), NULL), 0);
	/* what others post unsignaled behind it needs none either */
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, false), NULL), 0);
	completing = q;
	fake.on_poll = work;
	assert_int_equal(lkvfence_send_drain(send, -1), 0);
	assert_int_equal(stat_now().markers, 0);
	lkvfence_send_finish(send);
	destroy(rail);
}

static void each_rail_has_its_own(void **state)
{
	struct fake_qp *p, *q;
	struct lkvfence_rail *a = new_rail(&p), *b = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(1, 8, false);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, a, wr, NULL), 0);
	wr->opcode = IBV_WR_RDMA_READ;
	assert_int_equal(lkvfence_send_post(send, b, wr, NULL), 0);
	lkvfence_send_stop(send);
	assert_int_equal(p->nr_sends, 2);
	assert_int_equal(q->nr_sends, 2);
	assert_int_equal(p->sends[1].opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(q->sends[1].opcode, IBV_WR_RDMA_READ);
	complete_all(p);
	assert_int_equal(lkvfence_send_drain(send, 1), -ETIMEDOUT);
	assert_errmsg("in flight after 1 ms");
	assert_int_equal(fake.nr_returned, 0);
	complete_all(q);
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	lkvfence_send_finish(send);
	destroy(a);
	destroy(b);
}

/* Once the peer has been written to, it allows that. */
static void kind_of_marker(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(2, 8, false);

	(void)state;
	wr[1].opcode = IBV_WR_RDMA_READ;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	lkvfence_send_stop(send);
	assert_int_equal(q->sends[2].opcode, IBV_WR_RDMA_WRITE);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

/* Nothing is known of what a peer allows that was only sent to. */
static void sends_alone(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_send_wr *wr = writes(1, 8, false);

	(void)state;
	wr->opcode = IBV_WR_SEND;
	assert_int_equal(lkvfence_send_post(send, rail, wr, NULL), 0);
	assert_int_equal(lkvfence_send_drain(send, 60000), -EOPNOTSUPP);
	assert_errmsg("signaled");
	assert_int_equal(q->nr_sends, 1);
	/* the next signaled success proves it all the same */
	wr->send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(lkvfence_rail_post(rail, wr, NULL), 0);
	complete_all(q);
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	lkvfence_send_finish(send);
	poll_all(q);
	destroy(rail);
}

static void failed(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(2, 8, false), NULL), 0);
	complete(q, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(lkvfence_send_drain(send, 60000), -EIO);
	assert_errmsg("came back as failed");
	assert_int_equal(lkvfence_send_drain(send, 60000), -EIO);
	lkvfence_send_finish(send);
	assert_returned(G, LKVFENCE_STATUS_FAILED, LKVFENCE_EVIDENCE_NONE);
	poll_all(q);
	destroy(rail);
}

/* A marker for which there is no room is posted when there is. */
static void no_room_for_the_marker(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *a = new_send(G, 1), *b = new_send(G + 1, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(a, rail, writes(DEPTH - 1, 8, false), NULL), 0);
	lkvfence_send_finish(a);
	assert_int_equal(q->nr_sends, DEPTH);
	/* this rail's place for it is taken; and here the provider's is */
	fake.send = (struct fake_post){ .err = ENOMEM };
	assert_int_equal(lkvfence_send_post(b, rail, writes(1, 8, false), NULL), -EAGAIN);
	complete_all(q);
	poll_all(q);
	fake.send.err = 0;
	assert_int_equal(lkvfence_send_post(b, rail, writes(1, 8, false), NULL), 0);
	fake.send.err = ENOMEM;
	lkvfence_send_finish(b);
	assert_int_equal(q->nr_sends, 1);
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(q->nr_sends, 1);
	fake.send.err = 0;
	assert_int_equal(poll_all(q), 0);
	assert_int_equal(q->nr_sends, 2);
	complete_all(q);
	poll_all(q);
	assert_int_equal(fake.nr_returned, 2);
	assert_int_equal(fake.returned[1].status, LKVFENCE_STATUS_DRAINED);
	destroy(rail);
}

/* Completions of others that come while one waits are kept for who polls. */
static void others_are_put_aside(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_wc foreign = { .wr_id = 42, .qp_num = 9, .status = IBV_WC_SUCCESS };
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(lkvfence_rail_post(rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	push(&fake.cqs[0], &foreign);
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	foreign.wr_id = 43;
	push(&fake.cqs[0], &foreign);
	assert_int_equal(lkvfence_cq_poll(cq_of(q), 1, &wc), 1);
	assert_int_equal(wc.wr_id, 1000);
	assert_int_equal(poll_all(q), 3);
	assert_int_equal(polled(0).wr_id, 42);
	assert_int_equal(polled(1).wr_id, 1000);
	assert_int_equal(polled(2).wr_id, 43);
	lkvfence_send_finish(send);
	destroy(rail);
}

static void flood(struct fake_cq *cq)
{
	struct ibv_wc wc = { .wr_id = 42, .qp_num = 9, .status = IBV_WC_SUCCESS };

	while (cq->nr < 40)
		push(cq, &wc);
}

static void too_many_others(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_wc wc[8];

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	fake.on_poll = flood;
	assert_int_equal(lkvfence_send_drain(send, 60000), -ENOBUFS);
	assert_errmsg("lkvfence_cq_poll");
	fake.on_poll = NULL;
	complete_all(q);
	/* none is lost */
	assert_int_equal(lkvfence_cq_poll(cq_of(q), 8, wc), 8);
	assert_int_equal(wc[7].wr_id, 42);
	while (fake.cqs[0].nr || !fake.nr_returned) {
		poll_all(q);
		lkvfence_send_stop(send);
	}
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	lkvfence_send_finish(send);
	destroy(rail);
}

static void nothing_in_flight(void **state)
{
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_drain(send, 60000), 0);
	assert_returned(G, LKVFENCE_STATUS_DRAINED, LKVFENCE_EVIDENCE_SUCCESS_CQE);
	lkvfence_send_finish(send);
}

/* A CQ that can't be polled: leases stay out. */
static void broken_queue(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	complete_all(q);
	fake.cqs[0].broken = true;
	assert_int_equal(lkvfence_cq_poll(cq_of(q), 1, &wc), -EIO);
	assert_int_equal(lkvfence_send_drain(send, 1), -ETIMEDOUT);
	assert_int_equal(fake.nr_returned, 0);
	fake.cqs[0].broken = false;
	lkvfence_send_finish(send);
	assert_int_equal(poll_all(q), 1);
	assert_int_equal(fake.nr_returned, 1);
	destroy(rail);
}

/* Completions that nobody is to see come as fast as they are taken out. */
static void flood_of_stale(struct fake_cq *cq)
{
	struct ibv_wc wc = { .wr_id = 0xf37c9dULL << 40, .status = IBV_WC_SUCCESS };

	while (cq->nr < 40)
		push(cq, &wc);
}

static void deadline_in_a_flood(void **state)
{
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	fake.on_poll = flood_of_stale;
	alarm(60);
	assert_int_equal(lkvfence_send_drain(send, 1), -ETIMEDOUT);
	alarm(0);
	assert_true(stat_now().stale > 0);
	fake.on_poll = NULL;
	complete_all(q);
	poll_all(q);
	assert_int_equal(lkvfence_send_drain(send, 0), 0);
	lkvfence_send_finish(send);
	destroy(rail);
}

/* errno is left alone, by a pause that a signal cuts short as well. */
static void on_signal(int signal)
{
	(void)signal;
}

static void a_signal(void **state)
{
	const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	const struct sigaction nothing = { .sa_handler = on_signal };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
	};
	struct fake_qp *q;
	struct lkvfence_rail *rail = new_rail(&q);
	struct lkvfence_send *send = new_send(G, 1);
	timer_t timer;

	(void)state;
	assert_int_equal(lkvfence_send_post(send, rail, writes(1, 8, true), NULL), 0);
	sigaction(SIGUSR1, &nothing, NULL);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &often, NULL);
	errno = EXDEV;
	assert_int_equal(lkvfence_send_drain(send, 300), -ETIMEDOUT);
	assert_int_equal(errno, EXDEV);
	timer_delete(timer);
	lkvfence_send_finish(send);
	complete_all(q);
	poll_all(q);
	destroy(rail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(marker_behind_unsignaled),
		FAKE_TEST(no_marker_behind_signaled),
		FAKE_TEST(each_rail_has_its_own),
		FAKE_TEST(kind_of_marker),
		FAKE_TEST(sends_alone),
		FAKE_TEST(failed),
		FAKE_TEST(no_room_for_the_marker),
		FAKE_TEST(others_are_put_aside),
		FAKE_TEST(too_many_others),
		FAKE_TEST(nothing_in_flight),
		FAKE_TEST(broken_queue),
		FAKE_TEST(deadline_in_a_flood),
		FAKE_TEST(a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
