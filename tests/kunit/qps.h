/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queue pairs without a device: this has what kmod/rdma.h promises, in the place
 * of kmod/rdma.c. So what the module concludes from a queue pair's state can be
 * tested for every state; that it sees them as they are on a real device is for
 * tests/rdma.
 */
#ifndef LKVFENCE_KUNIT_QPS_H
#define LKVFENCE_KUNIT_QPS_H

#include <linux/types.h>

/* The only device. Its QPs have numbers from FIRST_QP on. */
#define FAKE_DEVICE	"fake0"
#define FIRST_QP	100U
#define NR_FAKE_QPS	128U

/*
 * No QPs are there, and no device is stuck or busy. False if something was
 * remembered of a QP, or who entered has not left.
 */
bool fake_reset(void);

/* A new QP, connected; another one than the last of that number. */
void fake_connect(u32 qp);
/* @nr of them, from @qp on. */
void fake_connect_some(u32 qp, u32 nr);
void fake_destroy(u32 qp);
/* Its owner has moved it; it is there, and not connected. */
void fake_err(u32 qp);
/* And back: it is connected again, and the same QP. */
void fake_leaves_err(u32 qp);

/* Looking for it to bind it, or moving it, gives @err from now on. */
void fake_find_fails(u32 qp, int err);
void fake_move_fails(u32 qp, int err);
/* When it is looked at whether it is still connected, do this first. */
void fake_when_checked(u32 qp, void (*fn)(void *arg), void *arg);
/* Whatever that finds, it is still connected. */
void fake_seems_connected(u32 qp);

/* The driver takes its time: nothing that moves a QP returns. */
void fake_block(void);
void fake_unblock(void);
/* Whether somebody is waiting for the driver. */
bool fake_blocks(void);

/* The device has no room for one more piece of work, or has again. */
void fake_full(bool full);
/* How many were turned away so. */
u32 fake_turned_away(void);

/* Somebody in the kernel is in the middle of something, or not any more. */
void fake_at_it(bool at_it);
/* How often it was asked whether he is, and he was. */
u32 fake_asked_for_grace(void);

/* How often the QP that is there now was moved to ERR. */
u32 fake_moved(u32 qp);

#endif /* LKVFENCE_KUNIT_QPS_H */
