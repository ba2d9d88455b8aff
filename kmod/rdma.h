/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other processes' queue pairs: finding one, knowing it again, and moving it to
 * ERR. All calls may sleep, for as long as the device's driver does.
 *
 * Nothing is held of a QP between two calls: a reference would make its
 * destruction wait, and its owner unkillable. So what is remembered of it is
 * compared when it is looked up again: its number may be another one's by then.
 *
 * Where the kernel frees a QP before it waits for those who look at it, there
 * is none of this: kmod/compat.mk finds out, and qp_find() says -EOPNOTSUPP.
 */
#ifndef LKVFENCE_RDMA_H
#define LKVFENCE_RDMA_H

#include <linux/errno.h>
#include <linux/types.h>
#include <linux/lkvfence.h>

struct task_struct;

/**
 * struct qp_id - what is remembered of a QP
 * @device: our number of the device, of its present registration
 * @number: the QP's
 * @remote: number of the QP that it is connected to
 * @type: its type
 * @task: who created it; referenced, so that it is nobody else's address
 * @address: where it was; this and the next two are compared and not followed
 * @pd: its protection domain
 * @recv_cq: its completion queue
 */
struct qp_id {
	u64 device;
	u32 number;
	u32 remote;
	u32 type;
	struct task_struct *task;
	const void *address;
	const void *pd;
	const void *recv_cq;
};

#ifdef HAVE_QP

#define QP_POSSIBLE	true

struct rdma_restrack_entry;

/* ib_core's own, exported to nobody in particular. See rdma.c. */
void rdma_restrack_begin_del(struct rdma_restrack_entry *res);

/**
 * qp_find() - a QP of the calling process
 * @qp: its device's name, and its number
 * @id: what to remember of it; qp_forget() drops it
 *
 * Return: 0, or an errno of SOURCE.
 */
int qp_find(const struct lkvfence_qp *qp, struct qp_id *id);

/* Drop what is remembered of a QP. */
void qp_forget(struct qp_id *id);

/**
 * qp_to_err() - take a QP's access away
 * @id: what is remembered of it
 *
 * Nothing new is accepted on it from now on; what the device has begun with may
 * still be carried out.
 *
 * Return: 0: it is in ERR. -ENODEV its device is gone; -ENOENT it is not found;
 * -ESTALE another one has its number; -ENOTCONN it is connected to somebody else;
 * or what the driver says. None of these proves anything.
 */
int qp_to_err(const struct qp_id *id);

/**
 * qp_check() - is it as it was?
 * @id: what is remembered of it
 * @err: has it to be in ERR, or else to be connected?
 *
 * Return: 0: it is; -ENOTCONN it is found, in another state; else as qp_to_err().
 */
int qp_check(const struct qp_id *id, bool err);

/**
 * qp_enter() - may one more piece of work keep the QP's device busy?
 * @id: what is remembered of it
 *
 * A device whose driver hangs keeps no more than so many waiting, so that works
 * for other devices find room on the queue (L9).
 *
 * Return: whether it may; qp_leave() is the counterpart. False: later.
 */
bool qp_enter(const struct qp_id *id);
void qp_leave(const struct qp_id *id);

/**
 * grace_begin() - wait for what the kernel itself is at
 *
 * A driver in software may have looked at a QP's state, and not yet have written
 * what it had accepted: for as long as its thread, or its processor, doesn't get
 * to run. No time bounds that. But whoever is in the middle of that neither
 * sleeps nor leaves the kernel before it is done.
 *
 * Return: a ticket for grace_over().
 */
u64 grace_begin(void);

/* Has each thread and interrupt that ran at grace_begin() come to such a point? */
bool grace_over(u64 ticket);

int qp_init(void);
void qp_exit(void);

#else

#define QP_POSSIBLE	false

static inline int qp_find(const struct lkvfence_qp *qp, struct qp_id *id)
{
	return -EOPNOTSUPP;
}

static inline void qp_forget(struct qp_id *id)
{
}

static inline int qp_to_err(const struct qp_id *id)
{
	return -EOPNOTSUPP;
}

static inline int qp_check(const struct qp_id *id, bool err)
{
	return -EOPNOTSUPP;
}

static inline bool qp_enter(const struct qp_id *id)
{
	return true;
}

static inline void qp_leave(const struct qp_id *id)
{
}

static inline u64 grace_begin(void)
{
	return 0;
}

static inline bool grace_over(u64 ticket)
{
	return true;
}

static inline int qp_init(void)
{
	return 0;
}

static inline void qp_exit(void)
{
}

#endif

static inline bool qp_same(const struct qp_id *a, const struct qp_id *b)
{
	return a->device == b->device && a->number == b->number &&
	       a->remote == b->remote && a->type == b->type &&
	       a->task == b->task && a->address == b->address &&
	       a->pd == b->pd && a->recv_cq == b->recv_cq;
}

#endif /* LKVFENCE_RDMA_H */
