/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A provider of libibverbs, and a region, that do what a test says. Requests
 * that are posted wait in their queue until the test completes them; what a
 * completion means (order, flushes, signaled or not) is as on a real QP.
 *
 * The functions of libibverbs that are calls, and those of liblkvfence, are
 * defined here: the tests are linked with neither.
 */
#ifndef TEST_VERBS_FAKE_H
#define TEST_VERBS_FAKE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <lkvfence-verbs.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_QPS		20
#define DEPTH		64
#define G		0x123400000001ULL	/* a generation */

struct fake_cq {
	struct ibv_cq ibv;
	struct ibv_wc wc[1024];
	unsigned int first, nr;
	bool broken;
};

struct fake_qp {
	struct ibv_qp ibv;
	struct ibv_qp_cap cap;
	enum ibv_qp_state state;
	bool sig_all;
	struct ibv_send_wr sends[2 * DEPTH];	/* not completed, oldest first */
	unsigned int nr_sends;
	uint64_t recvs[2 * DEPTH];		/* wr_ids, likewise */
	unsigned int nr_recvs;
	unsigned int nr_posts;			/* calls of ibv_post_send */
	bool destroyed;
};

/* How the next posts of a kind go. */
struct fake_post {
	int err;		/* what they return; 0: they succeed */
	unsigned int after;	/* after so many requests */
	enum { BAD_FIRST_LEFT, BAD_NULL, BAD_WILD } bad;
	bool taken;		/* all are in the queue all the same */
};

struct fake_mw {
	struct ibv_mw ibv;
	uint32_t rkey;		/* that it is bound with */
	bool bound;
	bool live;
};

struct said_quiet {
	struct lkvfence *fence;
	uint64_t binding;
	uint32_t qp;
	enum lkvfence_evidence evidence;
};

struct fake {
	struct fake_cq cqs[MAX_QPS];
	struct fake_qp qps[MAX_QPS];
	unsigned int nr_qps;

	struct fake_post send, recv;
	int query_err;
	uint32_t vendor_id;	/* 0xffffff: Soft-RoCE */
	int query_device_err;
	int modify_err;
	int destroy_err;
	int alloc_mw_err;
	int dealloc_mw_err;
	void (*on_poll)(struct fake_cq *cq);
	/* a request is in the queue; it is over. With the provider's lock held */
	void (*on_accept)(const struct ibv_send_wr *wr);
	void (*on_done)(const struct ibv_send_wr *wr, enum ibv_wc_status status);
	void (*on_query)(struct fake_qp *qp);
	void (*on_dealloc)(void);
	void (*on_destroy)(struct fake_qp *q);

	struct fake_mw mws[64];
	unsigned int nr_mws;	/* ever allocated */
	unsigned int live_mws;

	/* the region */
	struct lkvfence_return_item items[64];
	struct lkvfence *item_fence[64];
	unsigned int nr_items;
	unsigned int nr_returns;
	int return_err;
	int item_result;
	struct lkvfence_source source;
	struct lkvfence_qp source_qps[16];
	int source_err;
	int unbind_err;
	uint64_t next_binding;
	struct said_quiet quiets[64];
	unsigned int nr_quiets;
	int quiet_err;
	struct lkvfence_peer peers[16];
	struct lkvfence *peer_fence;
	unsigned int nr_peers;
	int peer_err;

	/* the callback */
	struct lkvfence_returned returned[64];
	unsigned int nr_returned;
};

extern struct fake fake;

/* Two regions' handles. */
#define FENCE	((struct lkvfence *)&fake)
#define OTHER	((struct lkvfence *)&fake.nr_qps)

/* What every test has: a context and a callback. */
extern struct lkvfence_verbs *v;

int fake_setup(void **state);
int fake_teardown(void **state);

/* A QP of its own CQ (number i of each), RC and in RTS, and its rail. */
struct fake_qp *fake_qp(void);
struct lkvfence_rail *rail_with(struct fake_qp *q, uint32_t guard,
				uint32_t windows);
struct lkvfence_rail *new_rail(struct fake_qp **q);
/* The library's view of the QP's CQ; made when it is asked for. */
struct lkvfence_cq *cq_of(struct fake_qp *q);

/* Completes the oldest request; an error moves the QP to ERR, and flushes. */
void complete(struct fake_qp *q, enum ibv_wc_status status);
void complete_all(struct fake_qp *q);
/* How many requests and receives it has; how full its CQ is. */
unsigned int sends_of(struct fake_qp *q);
unsigned int recvs_of(struct fake_qp *q);
unsigned int cqes_of(struct fake_qp *q);
/* What was in the queues comes back flushed. */
void fake_error(struct fake_qp *q);
/* A write with immediate arrives, or a send. */
void arrive(struct fake_qp *q, uint32_t imm, uint32_t bytes);
void arrive_send(struct fake_qp *q, uint32_t bytes);
/* Any completion, as it is. */
void push(struct fake_cq *cq, const struct ibv_wc *wc);

struct lkvfence_send *new_send(uint64_t generation, uint32_t source);
/* A chain of @nr writes of @bytes in static memory, all unsignaled but the last. */
struct ibv_send_wr *writes(unsigned int nr, uint32_t bytes, bool signaled);
/* Polls the QP's CQ until it is empty; how many were the application's. */
int poll_all(struct fake_qp *q);
/* The wr_id of the @i-th that the last poll_all() gave. */
struct ibv_wc polled(unsigned int i);

struct lkvfence_verbs_stat stat_now(void);
void assert_errmsg(const char *text);
/* The only lease that came back so far, and how. */
void assert_returned(uint64_t generation, enum lkvfence_status status,
		     enum lkvfence_evidence evidence);
void forget_returned(void);
void destroy(struct lkvfence_rail *rail);

#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

#endif /* TEST_VERBS_FAKE_H */
