// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <sys/mman.h>

#include "rig.h"

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND)

static struct ibv_mr *memory(struct rig *rig, char **mem)
{
	size_t size = (size_t)rig->nr_slots * SLOT;
	struct ibv_mr *mr;

	*mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	need(*mem != MAP_FAILED, "%zu bytes", size);
	mr = ibv_reg_mr(rig->port.pd, *mem, size, ACCESS);
	need(mr, "ibv_reg_mr");
	return mr;
}

/* What the barrier's lease is returned under: nobody counts that. */
#define OF_BARRIER	UINT64_MAX

static void returned(const struct lkvfence_returned *r, void *arg)
{
	struct rig *rig = arg;

	if (r->generation == OF_BARRIER)
		return;
	pthread_mutex_lock(&rig->lock);
	rig->returned[rig->nr_returned % ARRAY_SIZE(rig->returned)] = *r;
	rig->nr_returned++;
	pthread_mutex_unlock(&rig->lock);
}

void rig_new(struct rig *rig, uint32_t nr_slots)
{
	struct lkvfence_verbs_attr attr = { .returned = returned, .arg = rig };

	*rig = (struct rig){ .nr_slots = nr_slots, .timeout = 14, .retries = 7 };
	pthread_mutex_init(&rig->lock, NULL);
	port_device(&rig->port, DEVICE);
	rig->pool_mr = memory(rig, &rig->pool);
	rig->stage_mr = memory(rig, &rig->stage);
	rig->ibv_send_cq = ibv_create_cq(rig->port.context, 4 * DEPTH, NULL, NULL, 0);
	rig->ibv_recv_cq = ibv_create_cq(rig->port.context, 4 * DEPTH, NULL, NULL, 0);
	need(rig->ibv_send_cq && rig->ibv_recv_cq, "ibv_create_cq");
	need(!lkvfence_verbs_create(&rig->v, &attr), "%s", lkvfence_verbs_errmsg());
	need(!lkvfence_cq_create(rig->v, rig->ibv_send_cq, &rig->send_cq) &&
	     !lkvfence_cq_create(rig->v, rig->ibv_recv_cq, &rig->recv_cq),
	     "%s", lkvfence_verbs_errmsg());
}

void rig_end(struct rig *rig)
{
	size_t size = (size_t)rig->nr_slots * SLOT;

	need(!lkvfence_cq_destroy(rig->send_cq) && !lkvfence_cq_destroy(rig->recv_cq) &&
	     !lkvfence_verbs_destroy(rig->v), "%s", lkvfence_verbs_errmsg());
	need(!ibv_destroy_cq(rig->ibv_send_cq) && !ibv_destroy_cq(rig->ibv_recv_cq) &&
	     !ibv_dereg_mr(rig->pool_mr) && !ibv_dereg_mr(rig->stage_mr),
	     "queues and memory given back");
	port_close(&rig->port);
	munmap(rig->pool, size);
	munmap(rig->stage, size);
}

/*
 * Queue pairs
 */

struct ibv_qp *rig_qp(struct rig *rig, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rig->ibv_send_cq,
		.recv_cq = rig->ibv_recv_cq,
		.srq = srq,
		.qp_type = type,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = srq ? 0 : 64,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(rig->port.pd, &init);

	need(qp, "ibv_create_qp");
	return qp;
}

void qp_connect(struct rig *rig, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	const struct end self = { .psn = 100 };
	const struct end other = { .gid = rig->port.gid, .qp = peer->qp_num, .psn = 100 };

	end_ready(&rig->port, qp, &self, &other, rig->timeout, rig->retries);
}

static struct lkvfence_rail *rail(struct rig *rig, struct ibv_qp *qp,
				  uint32_t guard, uint32_t windows)
{
	struct lkvfence_rail_attr attr = {
		.qp = qp,
		.send_cq = rig->send_cq,
		.recv_cq = rig->recv_cq,
		.guard = guard,
		.windows = windows,
	};
	struct lkvfence_rail *new;

	need(!lkvfence_rail_create(rig->v, &attr, &new), "%s",
	     lkvfence_verbs_errmsg());
	return new;
}

void link_new(struct rig *rig, struct link *link, uint32_t guard, uint32_t windows)
{
	link->send_qp = rig_qp(rig, IBV_QPT_RC, NULL);
	link->recv_qp = rig_qp(rig, IBV_QPT_RC, NULL);
	qp_to_init(link->send_qp);
	qp_to_init(link->recv_qp);
	/* Its receives are posted before the peer can reach it. */
	link->recv = rail(rig, link->recv_qp, guard, windows);
	link->send = rail(rig, link->send_qp, 0, 0);
	qp_connect(rig, link->recv_qp, link->send_qp);
	qp_connect(rig, link->send_qp, link->recv_qp);
}

void link_end(struct link *link)
{
	if (link->recv)
		need(!lkvfence_rail_destroy_qp(link->recv), "%s",
		     lkvfence_verbs_errmsg());
	if (link->send)
		need(!lkvfence_rail_destroy_qp(link->send), "%s",
		     lkvfence_verbs_errmsg());
	*link = (struct link){ 0 };
}

/*
 * Data
 */

struct ibv_send_wr *writes(struct rig *rig, uint32_t first, uint32_t nr,
			   uint32_t rkey, bool signaled)
{
	static struct ibv_send_wr wrs[DEPTH];
	static struct ibv_sge sges[DEPTH];
	uint32_t i;

	need(nr && nr <= DEPTH, "up to %u of them", DEPTH);
	for (i = 0; i < nr; i++) {
		size_t at = (size_t)((first + i) % rig->nr_slots) * SLOT;

		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)rig->stage + at,
			.length = SLOT,
			.lkey = rig->stage_mr->lkey,
		};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = first + i,
			.next = i + 1 < nr ? wrs + i + 1 : NULL,
			.sg_list = sges + i,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = signaled && i + 1 == nr ?
				      IBV_SEND_SIGNALED : 0,
			.wr.rdma = {
				.remote_addr = (uintptr_t)rig->pool + at,
				.rkey = rkey,
			},
		};
	}
	return wrs;
}

void mark_stage(struct rig *rig, uint32_t first, uint32_t nr, int mark)
{
	memset(rig->stage + (size_t)first * SLOT, mark, (size_t)nr * SLOT);
}

void mark_pool(struct rig *rig, uint32_t first, uint32_t nr, int mark)
{
	memset(rig->pool + (size_t)first * SLOT, mark, (size_t)nr * SLOT);
}

size_t strays(const struct rig *rig, uint32_t first, uint32_t nr, int mark)
{
	const volatile unsigned char *mem =
		(const volatile unsigned char *)rig->pool + (size_t)first * SLOT;
	size_t i, n = 0;

	for (i = 0; i < (size_t)nr * SLOT; i++)
		n += mem[i] != mark;
	return n;
}

void landing(const struct rig *rig, uint32_t slot, int mark)
{
	const volatile char *at = rig->pool + (size_t)slot * SLOT;
	int64_t end = now_ns() + PATIENCE_MS * (int64_t)MS;

	while (*at != mark && now_ns() < end)
		;
	need(*at == mark, "a write that lands");
}

/*
 * Leases
 */

struct lkvfence_send *send_under(struct rig *rig, struct lkvfence *fence,
				 uint64_t generation, uint32_t source)
{
	struct lkvfence_send_attr attr = {
		.fence = fence,
		.generation = generation,
		.source = source,
	};
	struct lkvfence_send *send;

	need(!lkvfence_send_begin(rig->v, &attr, &send), "%s",
	     lkvfence_verbs_errmsg());
	return send;
}

struct lkvfence_recv *recv_of(struct rig *rig, struct lkvfence *fence,
			      uint64_t generation, uint32_t source)
{
	struct lkvfence_recv_attr attr = {
		.fence = fence,
		.generation = generation,
		.source = source,
	};
	struct lkvfence_recv *recv;

	need(!lkvfence_recv_begin(rig->v, &attr, &recv), "%s",
	     lkvfence_verbs_errmsg());
	return recv;
}

uint32_t window(struct rig *rig, struct lkvfence_recv *recv, struct link *link,
		uint32_t first, uint32_t nr)
{
	struct ibv_mw_bind_info info = {
		.mr = rig->pool_mr,
		.addr = (uintptr_t)rig->pool + (size_t)first * SLOT,
		.length = (size_t)nr * SLOT,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	uint32_t rkey;

	need(!lkvfence_recv_window(recv, link->recv, &info, PATIENCE_MS, &rkey),
	     "%s", lkvfence_verbs_errmsg());
	return rkey;
}

#define CHUNK	8

/* One chunk; false when it can't go on. */
static bool write_some(struct writer *w, uint32_t at)
{
	struct ibv_send_wr wrs[CHUNK] = {}, *wr = wrs;
	struct rig *rig = w->rig;
	struct ibv_sge sges[CHUNK];
	struct ibv_wc wc[CHUNK];
	uint32_t i;
	int err;

	for (i = 0; i < CHUNK; i++) {
		size_t slot = (size_t)(w->first + (at + i) % w->nr) * SLOT;

		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)rig->stage + slot,
			.length = SLOT,
			.lkey = rig->stage_mr->lkey,
		};
		wrs[i] = (struct ibv_send_wr){
			.next = i + 1 < CHUNK ? wrs + i + 1 : NULL,
			.sg_list = sges + i,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = {
				.remote_addr = (uintptr_t)rig->pool + slot,
				.rkey = w->rkey,
			},
		};
	}
	wrs[CHUNK - 1].send_flags = IBV_SEND_SIGNALED;
	do {
		err = lkvfence_send_post(w->send, w->link->send, wr, &wr);
		lkvfence_cq_poll(rig->send_cq, CHUNK, wc);
	} while (err == -EAGAIN && !w->stop);
	return !err && !w->stop;
}

static void *write_on(void *arg)
{
	struct writer *w = arg;
	uint32_t at;

	for (at = 0; write_some(w, at); at += CHUNK)
		;
	return NULL;
}

void writer_start(struct writer *w, struct rig *rig, struct link *link,
		  uint32_t first, uint32_t nr, uint32_t rkey, int mark)
{
	struct lkvfence_send_attr attr = { .max_wrs = 8 * CHUNK };

	mark_stage(rig, first, nr, mark);
	mark_pool(rig, first, nr, 0);
	*w = (struct writer){
		.rig = rig,
		.link = link,
		.first = first,
		.nr = nr,
		.rkey = rkey,
	};
	need(!lkvfence_send_begin(rig->v, &attr, &w->send), "%s",
	     lkvfence_verbs_errmsg());
	need(!pthread_create(&w->thread, NULL, write_on, w), "a thread");
	landing(rig, first, mark);
}

void writer_stop(struct writer *w)
{
	w->stop = true;
	pthread_join(w->thread, NULL);
	lkvfence_send_finish(w->send);
}

/*
 * All packets go through one device's queue, and one network's. The last slot is
 * nobody's but the barrier's.
 */
void barrier(struct rig *rig, struct link *link)
{
	struct lkvfence_send *send = send_under(rig, NULL, OF_BARRIER, 0);

	need(!lkvfence_send_post(send, link->send,
				 writes(rig, rig->nr_slots - 1, 1, rig->pool_mr->rkey, true),
				 NULL) &&
	     !lkvfence_send_drain(send, PATIENCE_MS), "%s", lkvfence_verbs_errmsg());
	lkvfence_send_finish(send);
}

bool poll_all(struct rig *rig)
{
	struct lkvfence_cq *cqs[2] = { rig->send_cq, rig->recv_cq };
	struct ibv_wc wc[16];
	int n, i, j;

	for (i = 0; i < 2; i++) {
		do {
			n = lkvfence_cq_poll(cqs[i], 16, wc);
			need(n >= 0, "%s", lkvfence_verbs_errmsg());
			for (j = 0; j < n; j++) {
				if (wc[j].status == IBV_WC_SUCCESS) {
					rig->good++;
					rig->last_good = wc[j].wr_id;
				} else if (!rig->bad++) {
					rig->first_bad = wc[j].status;
				}
			}
		} while (n == 16);
	}
	return true;
}

static struct lkvfence_lease lease(struct lkvfence *f, uint64_t generation,
				   uint32_t source)
{
	struct lkvfence_lease leases[16] = {};
	struct lkvfence_query q = {
		.generation = generation,
		.leases = (uintptr_t)leases,
		.nr_leases = ARRAY_SIZE(leases),
	};
	uint32_t i;

	if (lkvfence_query(f, &q))
		return (struct lkvfence_lease){ 0 };
	for (i = 0; i < q.nr_leases && i < ARRAY_SIZE(leases); i++) {
		if (leases[i].source == source)
			return leases[i];
	}
	return (struct lkvfence_lease){ 0 };
}

uint32_t lease_state(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	return lease(f, generation, source).state;
}

uint32_t lease_evidence(struct lkvfence *f, uint64_t generation, uint32_t source)
{
	return lease(f, generation, source).evidence;
}

uint32_t runs(uint32_t standard)
{
	const char *s = getenv("LKVFENCE_VERBS_RUNS");

	return s ? (uint32_t)strtoul(s, NULL, 10) : standard;
}
