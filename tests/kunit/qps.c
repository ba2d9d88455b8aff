// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "qps.h"
#include "rdma.h"

/**
 * struct fake_qp - of one number
 * @there: it can be found
 * @err: it is in ERR; else it is connected
 * @nth: which one of that number
 * @moved: how often it was moved
 * @find: what looking for it gives
 * @move: what moving it gives
 * @fn: called before it is looked at whether it is connected
 * @arg: for that
 * @seems_connected: whatever is found then
 */
struct fake_qp {
	bool there;
	bool err;
	u32 nth;
	u32 moved;
	int find;
	int move;
	void (*fn)(void *arg);
	void *arg;
	bool seems_connected;
};

/* Guards all of them. */
static DEFINE_MUTEX(fake_lock);
static struct fake_qp qps[NR_FAKE_QPS];
/* For addresses to differ by: never followed, like those of real ones. */
static char addresses[NR_FAKE_QPS * 16];
static int remembered;

static DECLARE_WAIT_QUEUE_HEAD(fake_wait);
static bool blocked;
static int waiting;

static u64 graces;
static bool graceless;
static u32 asked_for_grace;

static bool full;
static u32 turned_away;
static int entered;

static struct fake_qp *qp_of(u32 number)
{
	return number >= FIRST_QP && number < FIRST_QP + NR_FAKE_QPS ?
	       &qps[number - FIRST_QP] : NULL;
}

bool fake_reset(void)
{
	bool clean;

	mutex_lock(&fake_lock);
	clean = !remembered && !entered;
	remembered = 0;
	entered = 0;
	full = false;
	turned_away = 0;
	graceless = false;
	asked_for_grace = 0;
	memset(qps, 0, sizeof(qps));
	mutex_unlock(&fake_lock);
	return clean;
}

void fake_connect(u32 number)
{
	struct fake_qp *qp = qp_of(number);

	mutex_lock(&fake_lock);
	*qp = (struct fake_qp){ .there = true, .nth = qp->nth + 1 };
	mutex_unlock(&fake_lock);
}

void fake_connect_some(u32 number, u32 nr)
{
	while (nr--)
		fake_connect(number++);
}

void fake_destroy(u32 number)
{
	mutex_lock(&fake_lock);
	qp_of(number)->there = false;
	mutex_unlock(&fake_lock);
}

void fake_err(u32 number)
{
	mutex_lock(&fake_lock);
	qp_of(number)->err = true;
	mutex_unlock(&fake_lock);
}

void fake_leaves_err(u32 number)
{
	mutex_lock(&fake_lock);
	qp_of(number)->err = false;
	mutex_unlock(&fake_lock);
}

void fake_find_fails(u32 number, int err)
{
	mutex_lock(&fake_lock);
	qp_of(number)->find = err;
	mutex_unlock(&fake_lock);
}

void fake_move_fails(u32 number, int err)
{
	mutex_lock(&fake_lock);
	qp_of(number)->move = err;
	mutex_unlock(&fake_lock);
}

void fake_when_checked(u32 number, void (*fn)(void *arg), void *arg)
{
	mutex_lock(&fake_lock);
	qp_of(number)->fn = fn;
	qp_of(number)->arg = arg;
	mutex_unlock(&fake_lock);
}

void fake_seems_connected(u32 number)
{
	mutex_lock(&fake_lock);
	qp_of(number)->seems_connected = true;
	mutex_unlock(&fake_lock);
}

void fake_block(void)
{
	WRITE_ONCE(blocked, true);
}

void fake_unblock(void)
{
	WRITE_ONCE(blocked, false);
	wake_up_all(&fake_wait);
}

bool fake_blocks(void)
{
	bool some;

	mutex_lock(&fake_lock);
	some = waiting;
	mutex_unlock(&fake_lock);
	return some;
}

static void wait_for_driver(void)
{
	mutex_lock(&fake_lock);
	waiting++;
	mutex_unlock(&fake_lock);
	wait_event(fake_wait, !READ_ONCE(blocked));
	mutex_lock(&fake_lock);
	waiting--;
	mutex_unlock(&fake_lock);
}

void fake_full(bool is_full)
{
	mutex_lock(&fake_lock);
	full = is_full;
	mutex_unlock(&fake_lock);
}

u32 fake_turned_away(void)
{
	u32 nr;

	mutex_lock(&fake_lock);
	nr = turned_away;
	mutex_unlock(&fake_lock);
	return nr;
}

void fake_at_it(bool at_it)
{
	mutex_lock(&fake_lock);
	graceless = at_it;
	mutex_unlock(&fake_lock);
}

u32 fake_asked_for_grace(void)
{
	u32 nr;

	mutex_lock(&fake_lock);
	nr = asked_for_grace;
	mutex_unlock(&fake_lock);
	return nr;
}

u32 fake_moved(u32 number)
{
	u32 moved;

	mutex_lock(&fake_lock);
	moved = qp_of(number)->moved;
	mutex_unlock(&fake_lock);
	return moved;
}

/*
 * What rdma.h promises
 */

static void look(u32 number, struct qp_id *id)
{
	*id = (struct qp_id) {
		.device		= 1,
		.number		= number,
		.remote		= number + 1000,
		.task		= current->group_leader,
		.address	= &addresses[(number - FIRST_QP) * 16 +
					     qp_of(number)->nth % 16],
	};
}

int qp_find(const struct lkvfence_qp *name, struct qp_id *id)
{
	struct fake_qp *qp = qp_of(name->number);
	int err = 0;

	if (strcmp(name->device, FAKE_DEVICE))
		return -ENODEV;
	mutex_lock(&fake_lock);
	if (!qp || !qp->there)
		err = -ENOENT;
	else if (qp->find)
		err = qp->find;
	else if (qp->err)
		err = -ENOTCONN;
	if (!err) {
		look(name->number, id);
		get_task_struct(id->task);
		remembered++;
	}
	mutex_unlock(&fake_lock);
	return err;
}

void qp_forget(struct qp_id *id)
{
	put_task_struct(id->task);
	mutex_lock(&fake_lock);
	remembered--;
	mutex_unlock(&fake_lock);
}

/* The very QP, or another one that has its number now? */
static int recognise(const struct fake_qp *qp, const struct qp_id *id)
{
	struct qp_id now;

	if (!qp->there)
		return -ENOENT;
	look(id->number, &now);
	/* He who moves it is not he who bound it. */
	now.task = id->task;
	return qp_same(&now, id) ? 0 : -ESTALE;
}

int qp_to_err(const struct qp_id *id)
{
	struct fake_qp *qp = qp_of(id->number);
	int err;

	wait_for_driver();
	mutex_lock(&fake_lock);
	err = recognise(qp, id) ?: qp->move;
	if (!err) {
		qp->err = true;
		qp->moved++;
	}
	mutex_unlock(&fake_lock);
	return err;
}

int qp_check(const struct qp_id *id, bool want_err)
{
	struct fake_qp *qp = qp_of(id->number);
	void (*fn)(void *arg) = NULL;
	void *arg = NULL;
	int err;

	mutex_lock(&fake_lock);
	if (!want_err) {
		fn = qp->fn;
		arg = qp->arg;
	}
	mutex_unlock(&fake_lock);
	if (fn)
		fn(arg);

	mutex_lock(&fake_lock);
	err = recognise(qp, id);
	if (!err && qp->err != want_err && !(qp->seems_connected && !want_err))
		err = -ENOTCONN;
	mutex_unlock(&fake_lock);
	return err;
}

bool qp_enter(const struct qp_id *id)
{
	bool room;

	mutex_lock(&fake_lock);
	room = !full;
	if (room)
		entered++;
	else
		turned_away++;
	mutex_unlock(&fake_lock);
	return room;
}

void qp_leave(const struct qp_id *id)
{
	mutex_lock(&fake_lock);
	entered--;
	mutex_unlock(&fake_lock);
}

/* All graces end at once: what is in the middle of something is played. */
u64 grace_begin(void)
{
	u64 ticket;

	mutex_lock(&fake_lock);
	ticket = ++graces;
	mutex_unlock(&fake_lock);
	return ticket;
}

bool grace_over(u64 ticket)
{
	bool over;

	mutex_lock(&fake_lock);
	over = ticket && ticket <= graces && !graceless;
	if (!over)
		asked_for_grace++;
	mutex_unlock(&fake_lock);
	return over;
}

int qp_init(void)
{
	return 0;
}

void qp_exit(void)
{
}
