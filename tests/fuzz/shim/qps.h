/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * In place of kmod/rdma.c, which needs real devices: two devices with a few QPs
 * each, which do what kmod/rdma.h says of them. The test changes them, and is
 * told of each call, in which it may let time pass.
 */
#ifndef LKVFENCE_FUZZ_QPS_H
#define LKVFENCE_FUZZ_QPS_H

#include "kernel.h"
#include "rdma.h"

#define QPS_DEVICES	2U
#define QPS_NUMBERS	6U		/* of QPs on a device: 1 to 6 */
/* Types, by the numbers that the kernel gives them. */
#define QPS_RC		2U
#define QPS_UC		3U
#define QPS_UD		4U

enum fake_state { FAKE_GONE, FAKE_IDLE, FAKE_CONNECTED, FAKE_ERR };

/**
 * struct fake_qp - a QP
 * @state: what it is in
 * @parked: it isn't found, because its destruction has begun
 * @owner: whose, as an index of @qps.tasks
 * @type: QPS_*
 * @remote: to which QP it is, or was, connected
 * @place: stands for its address; its PD and CQ go with that
 */
struct fake_qp {
	enum fake_state state;
	bool parked;
	u32 owner;
	u32 type;
	u32 remote;
	u32 place;
};

/**
 * struct fake_device - a device
 * @there: it is registered
 * @number: of its registration
 * @foreign: it is in another network namespace
 * @stubborn: its driver doesn't move QPs
 * @broken: its driver doesn't even tell their state
 * @narrow: one at a time keeps it busy, no two
 * @busy: how many do
 * @qps: its QPs; the first has the number 1
 */
struct fake_device {
	bool there;
	u64 number;
	bool foreign;
	bool stubborn;
	bool broken;
	bool narrow;
	u32 busy;
	struct fake_qp qps[QPS_NUMBERS];
};

struct qps {
	struct fake_device devices[QPS_DEVICES];
	u64 last_number;
	u32 last_place;
	struct task_struct tasks[2];	/* the caller's and another process's */
	u32 remembered;			/* times that qp_forget() must be called */
	u64 graces;			/* begun */
	u64 graces_over;
	bool standstill;		/* none is over until the test says so */
};

extern struct qps qps;

/* All QPs are there, most of them the caller's, and connected. */
void qps_reset(void);
/* Another QP of the same number, in place of what was there. */
void qps_create(struct fake_qp *qp);
void qps_plug(struct fake_device *device);
/*
 * A number for what is remembered of a QP: the same for the same QP with the
 * same connection.
 */
u32 qps_identity(const struct qp_id *id);

enum qps_call { QPS_FIND, QPS_TO_ERR, QPS_CHECK };

/* The test's own. Before a call: other things may happen meanwhile. */
void qps_begins(enum qps_call call, const struct qp_id *id);
/* After it. */
void qps_ends(enum qps_call call, const struct qp_id *id, int err);
/* Somebody keeps a device busy, or doesn't any more, or has to come again later. */
void qps_enters(const struct qp_id *id);
void qps_leaves(const struct qp_id *id);
void qps_waits(void);

#endif /* LKVFENCE_FUZZ_QPS_H */
