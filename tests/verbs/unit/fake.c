// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <pthread.h>
#include <stdlib.h>

#include "fake.h"

struct fake fake;
struct lkvfence_verbs *v;

static struct lkvfence_cq *cqs[MAX_QPS];
static struct ibv_device device = { .name = "fake0" };
static struct ibv_context context = { .device = &device };
static struct ibv_pd pd = { .context = &context };
static struct ibv_wc last_polled[512];
static unsigned int nr_polled;

/* For the tests with threads: the provider is thread-safe, as a real one is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

static struct fake_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct fake_qp, ibv);
}

static struct fake_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct fake_cq, ibv);
}

static void push_locked(struct fake_cq *cq, const struct ibv_wc *wc)
{
	assert_true(cq->nr < ARRAY_SIZE(cq->wc));
	cq->wc[(cq->first + cq->nr++) % ARRAY_SIZE(cq->wc)] = *wc;
}

void push(struct fake_cq *cq, const struct ibv_wc *wc)
{
	pthread_mutex_lock(&lock);
	push_locked(cq, wc);
	pthread_mutex_unlock(&lock);
}

/*
 * The provider
 */

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad)
{
	struct fake_qp *q = to_qp(ibv);
	unsigned int n = 0;
	int err = 0;

	pthread_mutex_lock(&lock);
	q->nr_posts++;
	for (; wr; wr = wr->next, n++) {
		if (fake.send.err && n >= fake.send.after && !fake.send.taken) {
			err = fake.send.err;
			break;
		}
		if (q->nr_sends >= q->cap.max_send_wr) {
			err = ENOMEM;
			break;
		}
		q->sends[q->nr_sends] = *wr;
		q->sends[q->nr_sends++].next = NULL;
		if (fake.on_accept)
			fake.on_accept(wr);
	}
	if (err)
		*bad = wr;
	if (fake.send.err && (err || fake.send.taken)) {
		err = fake.send.err;
		if (fake.send.bad == BAD_NULL)
			*bad = NULL;
		else if (fake.send.bad == BAD_WILD)
			*bad = (struct ibv_send_wr *)q;
	}
	/* A QP in ERR flushes what is posted. */
	for (n = 0; q->state == IBV_QPS_ERR && n < q->nr_sends; n++) {
		struct ibv_wc wc = {
			.wr_id = q->sends[n].wr_id,
			.status = IBV_WC_WR_FLUSH_ERR,
			.qp_num = ibv->qp_num,
		};

		push_locked(to_cq(ibv->send_cq), &wc);
		if (fake.on_done)
			fake.on_done(q->sends + n, wc.status);
	}
	if (q->state == IBV_QPS_ERR)
		q->nr_sends = 0;
	pthread_mutex_unlock(&lock);
	return err;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	struct fake_qp *q = to_qp(ibv);
	unsigned int n = 0;
	int err = 0;

	pthread_mutex_lock(&lock);
	for (; wr; wr = wr->next, n++) {
		if (fake.recv.err && n >= fake.recv.after && !fake.recv.taken) {
			err = fake.recv.err;
			break;
		}
		if (q->nr_recvs >= q->cap.max_recv_wr) {
			err = ENOMEM;
			break;
		}
		q->recvs[q->nr_recvs++] = wr->wr_id;
	}
	if (err)
		*bad = wr;
	if (fake.recv.err && (err || fake.recv.taken)) {
		err = fake.recv.err;
		if (fake.recv.bad == BAD_NULL)
			*bad = NULL;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static int poll_cq(struct ibv_cq *ibv, int nr, struct ibv_wc *wc)
{
	struct fake_cq *cq = to_cq(ibv);
	int n = 0;

	if (fake.on_poll)
		fake.on_poll(cq);
	if (cq->broken)
		return -1;
	pthread_mutex_lock(&lock);
	for (; n < nr && cq->nr; n++, cq->nr--) {
		wc[n] = cq->wc[cq->first];
		cq->first = (cq->first + 1) % ARRAY_SIZE(cq->wc);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *of, enum ibv_mw_type type)
{
	struct fake_mw *mw;

	assert_int_equal(type, IBV_MW_TYPE_2);
	if (fake.alloc_mw_err) {
		errno = fake.alloc_mw_err;
		return NULL;
	}
	pthread_mutex_lock(&lock);
	assert_true(fake.nr_mws < ARRAY_SIZE(fake.mws));
	mw = fake.mws + fake.nr_mws++;
	mw->ibv = (struct ibv_mw){
		.context = &context,
		.pd = of,
		.type = type,
		.rkey = fake.nr_mws << 8 | 0xfe,
	};
	mw->live = true;
	fake.live_mws++;
	pthread_mutex_unlock(&lock);
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *ibv)
{
	struct fake_mw *mw = container_of(ibv, struct fake_mw, ibv);

	if (fake.on_dealloc)
		fake.on_dealloc();
	if (fake.dealloc_mw_err)
		return fake.dealloc_mw_err;
	pthread_mutex_lock(&lock);
	assert_true(mw->live);
	mw->live = false;
	mw->bound = false;
	fake.live_mws--;
	pthread_mutex_unlock(&lock);
	return 0;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct fake_qp *q = to_qp(ibv);

	(void)mask;
	if (fake.on_query)
		fake.on_query(q);
	assert_false(q->destroyed);
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = q->state;
	init->cap = q->cap;
	init->sq_sig_all = q->sig_all;
	return fake.query_err;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	assert_ptr_equal(ctx, &context);
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = fake.vendor_id;
	return fake.query_device_err;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(mask, IBV_QP_STATE);
	assert_int_equal(attr->qp_state, IBV_QPS_ERR);
	if (!fake.modify_err)
		to_qp(ibv)->state = IBV_QPS_ERR;
	return fake.modify_err;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	unsigned int i;

	/* As on rxe: a window that is bound to it holds it for a minute. */
	for (i = 0; i < fake.nr_mws; i++)
		assert_false(fake.mws[i].bound);
	if (fake.on_destroy)
		fake.on_destroy(to_qp(ibv));
	if (!fake.destroy_err)
		to_qp(ibv)->destroyed = true;
	return fake.destroy_err;
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS ? "success" : "error";
}

/*
 * What happens on a QP
 */

static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

static struct fake_mw *mw_of(uint32_t rkey)
{
	unsigned int i;

	for (i = 0; i < fake.nr_mws; i++) {
		if (fake.mws[i].live && fake.mws[i].rkey == rkey)
			return fake.mws + i;
	}
	return NULL;
}

/* What a device does when it executes it; some panic on what isn't in order. */
static void execute(const struct ibv_send_wr *wr)
{
	struct fake_mw *mw;

	if (wr->opcode == IBV_WR_BIND_MW) {
		mw = container_of(wr->bind_mw.mw, struct fake_mw, ibv);
		assert_true(mw->live);
		assert_false(mw->bound);
		mw->bound = true;
		mw->rkey = wr->bind_mw.rkey;
	} else if (wr->opcode == IBV_WR_LOCAL_INV) {
		mw = mw_of(wr->invalidate_rkey);
		assert_non_null(mw);
		assert_true(mw->bound);
		mw->bound = false;
	}
}

void complete(struct fake_qp *q, enum ibv_wc_status status)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	pthread_mutex_lock(&lock);
	assert_true(q->nr_sends);
	wr = q->sends[0];
	memmove(q->sends, q->sends + 1, --q->nr_sends * sizeof(wr));
	wc = (struct ibv_wc){
		.wr_id = wr.wr_id,
		.status = status,
		/* not valid in an error */
		.opcode = status == IBV_WC_SUCCESS ? opcode_of(wr.opcode) :
			  IBV_WC_RECV,
		.qp_num = q->ibv.qp_num,
	};
	if (status == IBV_WC_SUCCESS)
		execute(&wr);
	if (fake.on_done)
		fake.on_done(&wr, status);
	if (status != IBV_WC_SUCCESS || q->sig_all ||
	    wr.send_flags & IBV_SEND_SIGNALED)
		push_locked(to_cq(q->ibv.send_cq), &wc);
	pthread_mutex_unlock(&lock);
	if (status != IBV_WC_SUCCESS && q->state != IBV_QPS_ERR)
		fake_error(q);
}

void complete_all(struct fake_qp *q)
{
	while (q->nr_sends)
		complete(q, IBV_WC_SUCCESS);
}

static unsigned int look(const unsigned int *nr)
{
	unsigned int ret;

	pthread_mutex_lock(&lock);
	ret = *nr;
	pthread_mutex_unlock(&lock);
	return ret;
}

unsigned int sends_of(struct fake_qp *q)
{
	return look(&q->nr_sends);
}

unsigned int recvs_of(struct fake_qp *q)
{
	return look(&q->nr_recvs);
}

unsigned int cqes_of(struct fake_qp *q)
{
	return look(&to_cq(q->ibv.recv_cq)->nr);
}

static void receive(struct fake_qp *q, struct ibv_wc *wc)
{
	pthread_mutex_lock(&lock);
	assert_true(q->nr_recvs);
	wc->wr_id = q->recvs[0];
	wc->qp_num = q->ibv.qp_num;
	memmove(q->recvs, q->recvs + 1, --q->nr_recvs * sizeof(q->recvs[0]));
	push_locked(to_cq(q->ibv.recv_cq), wc);
	pthread_mutex_unlock(&lock);
}

void fake_error(struct fake_qp *q)
{
	struct ibv_wc wc = {
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = IBV_WC_SEND,
	};

	q->state = IBV_QPS_ERR;
	while (q->nr_sends)
		complete(q, IBV_WC_WR_FLUSH_ERR);
	while (q->nr_recvs)
		receive(q, &wc);
}

void arrive(struct fake_qp *q, uint32_t imm, uint32_t bytes)
{
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.imm_data = __builtin_bswap32(imm),
		.wc_flags = IBV_WC_WITH_IMM,
		.byte_len = bytes,
	};

	receive(q, &wc);
}

void arrive_send(struct fake_qp *q, uint32_t bytes)
{
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = bytes,
	};

	receive(q, &wc);
}

/*
 * For the tests
 */

static void returned(const struct lkvfence_returned *r, void *arg)
{
	assert_ptr_equal(arg, &fake);
	pthread_mutex_lock(&lock);
	fake.returned[fake.nr_returned++ % ARRAY_SIZE(fake.returned)] = *r;
	pthread_mutex_unlock(&lock);
}

int fake_setup(void **state)
{
	struct lkvfence_verbs_attr attr = {
		.returned = returned,
		.arg = &fake,
		.max_sends = 32,
		.max_recvs = 32,
		.max_rails = MAX_QPS,
	};

	(void)state;
	memset(&fake, 0, sizeof(fake));
	memset(cqs, 0, sizeof(cqs));
	nr_polled = 0;
	device.transport_type = IBV_TRANSPORT_IB;
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	context.ops.poll_cq = poll_cq;
	context.ops.alloc_mw = alloc_mw;
	context.ops.dealloc_mw = dealloc_mw;
	return lkvfence_verbs_create(&v, &attr);
}

int fake_teardown(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < MAX_QPS; i++) {
		if (lkvfence_cq_destroy(cqs[i]))
			return -1;
	}
	/* Nobody left one bound, or allocated. */
	if (!fake.dealloc_mw_err && fake.live_mws)
		return -1;
	return lkvfence_verbs_destroy(v);
}

struct fake_qp *fake_qp(void)
{
	struct fake_qp *q = fake.qps + fake.nr_qps;
	struct fake_cq *cq = fake.cqs + fake.nr_qps++;

	assert_true(fake.nr_qps <= MAX_QPS);
	cq->ibv = (struct ibv_cq){ .context = &context, .cqe = 2 * DEPTH };
	*q = (struct fake_qp){
		.ibv = {
			.context = &context,
			.pd = &pd,
			.send_cq = &cq->ibv,
			.recv_cq = &cq->ibv,
			.qp_num = 100 + fake.nr_qps,
			.qp_type = IBV_QPT_RC,
		},
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH },
		.state = IBV_QPS_RTS,
	};
	return q;
}

struct lkvfence_cq *cq_of(struct fake_qp *q)
{
	struct fake_cq *cq = to_cq(q->ibv.send_cq);
	struct lkvfence_cq **mine = cqs + (cq - fake.cqs);

	if (!*mine)
		assert_int_equal(lkvfence_cq_create(v, &cq->ibv, mine), 0);
	return *mine;
}

struct lkvfence_rail *rail_with(struct fake_qp *q, uint32_t guard,
				uint32_t windows)
{
	struct lkvfence_rail_attr attr = {
		.qp = &q->ibv,
		.send_cq = cq_of(q),
		.recv_cq = cq_of(q),
		.guard = guard,
		.windows = windows,
		.recv_wr_id = 4711,
	};
	struct lkvfence_rail *rail;

	assert_int_equal(lkvfence_rail_create(v, &attr, &rail), 0);
	return rail;
}

struct lkvfence_rail *new_rail(struct fake_qp **q)
{
	*q = fake_qp();
	return rail_with(*q, 0, 0);
}

struct lkvfence_send *new_send(uint64_t generation, uint32_t source)
{
	struct lkvfence_send_attr attr = {
		.generation = generation,
		.source = source,
		.data = &fake,
	};
	struct lkvfence_send *send;

	assert_int_equal(lkvfence_send_begin(v, &attr, &send), 0);
	return send;
}

struct ibv_send_wr *writes(unsigned int nr, uint32_t bytes, bool signaled)
{
	static struct ibv_send_wr wrs[2 * DEPTH];
	static struct ibv_sge sge;
	unsigned int i;

	assert_in_range(nr, 1, ARRAY_SIZE(wrs));
	sge = (struct ibv_sge){ .length = bytes };
	for (i = 0; i < nr; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = 1000 + i,
			.next = i + 1 < nr ? wrs + i + 1 : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = signaled && i + 1 == nr ?
				      IBV_SEND_SIGNALED : 0,
			.wr.rdma = { .remote_addr = 4096, .rkey = 77 },
		};
	return wrs;
}

int poll_all(struct fake_qp *q)
{
	int n;

	nr_polled = 0;
	do {
		n = lkvfence_cq_poll(cq_of(q), 32, last_polled + nr_polled);
		assert_true(n >= 0);
		nr_polled += n;
		assert_true(nr_polled + 32 <= ARRAY_SIZE(last_polled));
	} while (n == 32);
	return nr_polled;
}

struct ibv_wc polled(unsigned int i)
{
	assert_true(i < nr_polled);
	return last_polled[i];
}

struct lkvfence_verbs_stat stat_now(void)
{
	struct lkvfence_verbs_stat stat;

	lkvfence_verbs_stat(v, &stat);
	return stat;
}

void assert_errmsg(const char *text)
{
	if (strstr(lkvfence_verbs_errmsg(), text))
		return;
	print_error("\"%s\" is not in \"%s\"\n", text, lkvfence_verbs_errmsg());
	fail();
}

void assert_returned(uint64_t generation, enum lkvfence_status status,
		     enum lkvfence_evidence evidence)
{
	assert_int_equal(fake.nr_returned, 1);
	assert_int_equal(fake.returned[0].generation, generation);
	assert_int_equal(fake.returned[0].status, status);
	assert_int_equal(fake.returned[0].evidence, evidence);
}

void forget_returned(void)
{
	fake.nr_returned = 0;
	fake.nr_items = 0;
	fake.nr_returns = 0;
}

void destroy(struct lkvfence_rail *rail)
{
	assert_int_equal(lkvfence_rail_destroy(rail), 0);
}
