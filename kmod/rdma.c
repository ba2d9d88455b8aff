// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs of user space.
 *
 * A QP is looked up by its number, under a reference that makes its destruction
 * wait; the same short step looks at it, changes it, and lets go of it. The
 * device is held for as long, which makes its removal wait. Both wait
 * uninterruptibly: nothing but the driver's own call happens in between.
 *
 * What can't be concluded: that a QP isn't found means that somebody began to
 * destroy it, not that it is gone. That a device goes is told to us before its
 * QPs are torn down.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "main.h"
#include "rdma.h"

/*
 * It isn't called, only named: what is built for a kernel that was mended is not
 * loaded into one that wasn't, though their versions may agree in all else.
 */
static void (*const mended)(struct rdma_restrack_entry *res) __used =
	rdma_restrack_begin_del;

/**
 * struct rdma_dev - a registered RDMA device
 * @node: in the list; guarded by devices_lock
 * @device: the device
 * @number: never given to another registration
 * @busy: works that are in its driver, or about to be; guarded by devices_lock
 * @name: its own may be freed while it is read; guarded by devices_lock
 */
struct rdma_dev {
	struct list_head node;
	struct ib_device *device;
	u64 number;
	u32 busy;
	char name[IB_DEVICE_NAME_MAX];
};

/* Works that one device may keep busy: a small part of what the queue runs. */
#define MAX_BUSY	16

/* Guards the list and the numbering. Nothing is taken under it. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
static u64 last_number;

static int add_device(struct ib_device *device);
static void remove_device(struct ib_device *device, void *data);
static void rename_device(struct ib_device *device, void *data);

static struct ib_client client = {
	.name		= "lkvfence",
	.add		= add_device,
	.remove		= remove_device,
	.rename		= rename_device,
	.no_kverbs_req	= true,
};

static int add_device(struct ib_device *device)
{
	struct rdma_dev *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->device = device;
	strscpy(d->name, dev_name(&device->dev), sizeof(d->name));
	mutex_lock(&devices_lock);
	d->number = ++last_number;
	list_add_tail(&d->node, &devices);
	mutex_unlock(&devices_lock);
	ib_set_client_data(device, &client, d);
	return 0;
}

/* Who has the device from before keeps it registered until he is done. */
static void remove_device(struct ib_device *device, void *data)
{
	struct rdma_dev *d = data;

	mutex_lock(&devices_lock);
	list_del(&d->node);
	mutex_unlock(&devices_lock);
	kfree(d);
}

/* The core lets nobody rename it meanwhile, nor while it is added. */
static void rename_device(struct ib_device *device, void *data)
{
	struct rdma_dev *d = data;

	mutex_lock(&devices_lock);
	strscpy(d->name, dev_name(&device->dev), sizeof(d->name));
	mutex_unlock(&devices_lock);
}

/* By name, or where that is NULL by number. Gives the other one. */
static struct ib_device *get_device_by(const char *name, u64 *number)
{
	struct ib_device *device = NULL;
	struct rdma_dev *d;

	mutex_lock(&devices_lock);
	list_for_each_entry(d, &devices, node) {
		if (name ? strcmp(d->name, name) : d->number != *number)
			continue;
		if (ib_device_try_get(d->device)) {
			device = d->device;
			*number = d->number;
		}
		break;
	}
	mutex_unlock(&devices_lock);
	return device;
}

static struct rdma_dev *find_device(u64 number)
{
	struct rdma_dev *d;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(d, &devices, node) {
		if (d->number == number)
			return d;
	}
	return NULL;
}

bool qp_enter(const struct qp_id *id)
{
	struct rdma_dev *d;
	bool room;

	mutex_lock(&devices_lock);
	d = find_device(id->device);
	/* One that is gone keeps nobody. */
	room = !d || d->busy < MAX_BUSY;
	if (d && room)
		d->busy++;
	mutex_unlock(&devices_lock);
	return room;
}

/* Between the two it may go, but not come: its number is given once. */
void qp_leave(const struct qp_id *id)
{
	struct rdma_dev *d;

	mutex_lock(&devices_lock);
	d = find_device(id->device);
	if (d)
		d->busy--;
	mutex_unlock(&devices_lock);
}

static struct ib_qp *get_qp(struct ib_device *device, u32 number)
{
	struct rdma_restrack_entry *res =
		rdma_restrack_get_byid(device, RDMA_RESTRACK_QP, number);

	return IS_ERR(res) ? NULL : container_of(res, struct ib_qp, res);
}

static void put_qp(struct ib_qp *qp)
{
	rdma_restrack_put(&qp->res);
}

static bool connected(enum ib_qp_state state)
{
	return state == IB_QPS_RTR || state == IB_QPS_RTS ||
	       state == IB_QPS_SQD || state == IB_QPS_SQE;
}

/* What there is to remember of a QP, and its state. No reference is taken. */
static int look(struct ib_qp *qp, struct qp_id *id, enum ib_qp_state *state)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int err;

	err = ib_query_qp(qp, &attr, IB_QP_STATE | IB_QP_DEST_QPN, &init);
	if (err)
		return err;
	id->number = qp->qp_num;
	id->remote = attr.dest_qp_num;
	id->type = qp->qp_type;
	id->task = qp->res.task;
	id->address = qp;
	id->pd = qp->pd;
	id->recv_cq = qp->recv_cq;
	*state = attr.qp_state;
	return 0;
}

/*
 * Only who created it may bind it: his process is the one that it can hurt. A
 * child that inherited it, or a process that it was sent to, may not.
 */
static int may_bind(struct ib_qp *qp)
{
	if (rdma_is_kernel_res(&qp->res) || !qp->res.task ||
	    !same_thread_group(qp->res.task, current))
		return -EPERM;
	if (qp->qp_type != IB_QPT_RC && qp->qp_type != IB_QPT_UC)
		return -EPROTONOSUPPORT;
	/* What counts as proof is reasoned for these alone. */
	if (!rdma_ib_or_roce(qp->device, rdma_start_port(qp->device)))
		return -EPROTONOSUPPORT;
	return 0;
}

static int find_on(struct ib_device *device, u32 number, struct qp_id *id)
{
	enum ib_qp_state state;
	struct ib_qp *qp;
	int err;

	if (!rdma_dev_access_netns(device, current->nsproxy->net_ns))
		return -ENODEV;
	qp = get_qp(device, number);
	if (!qp)
		return -ENOENT;
	err = may_bind(qp);
	if (!err)
		err = look(qp, id, &state);
	if (!err && !connected(state))
		err = -ENOTCONN;
	if (!err)
		get_task_struct(id->task);
	put_qp(qp);
	return err;
}

int qp_find(const struct lkvfence_qp *arg, struct qp_id *id)
{
	struct ib_device *device;
	int err;

	device = get_device_by(arg->device, &id->device);
	if (!device)
		return -ENODEV;
	err = find_on(device, arg->number, id);
	ib_device_put(device);
	return err;
}

void qp_forget(struct qp_id *id)
{
	put_task_struct(id->task);
}

/*
 * The very QP, or another one that has its number now? -ENOTCONN: it may be the
 * one, but it is connected to somebody else.
 */
static int recognise(struct ib_qp *qp, const struct qp_id *id,
		     enum ib_qp_state *state)
{
	struct qp_id now = { .device = id->device };
	bool other;
	int err;

	err = look(qp, &now, state);
	if (err)
		return err;
	other = now.remote != id->remote;
	now.remote = id->remote;
	if (!qp_same(&now, id))
		return -ESTALE;
	/* One that isn't connected needn't know to whom it was. */
	return other && connected(*state) ? -ENOTCONN : 0;
}

static int move(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(qp, &attr, IB_QP_STATE);
}

/* One look at a QP that must be @id's; before that, @to_err moves it. */
static int visit(const struct qp_id *id, bool to_err, enum ib_qp_state *state)
{
	u64 number = id->device;
	struct ib_device *device = get_device_by(NULL, &number);
	struct ib_qp *qp;
	int err;

	if (!device)
		return -ENODEV;
	qp = get_qp(device, id->number);
	if (qp) {
		err = recognise(qp, id, state);
		if (!err && to_err)
			err = move(qp) ?: recognise(qp, id, state);
		put_qp(qp);
	} else {
		err = -ENOENT;
	}
	ib_device_put(device);
	return err;
}

int qp_to_err(const struct qp_id *id)
{
	enum ib_qp_state state;
	int err = visit(id, true, &state);

	if (err)
		return err;
	return state == IB_QPS_ERR ? 0 : -EIO;
}

int qp_check(const struct qp_id *id, bool err)
{
	enum ib_qp_state state;
	int ret = visit(id, false, &state);

	if (ret)
		return ret;
	return (err ? state == IB_QPS_ERR : connected(state)) ? 0 : -ENOTCONN;
}

/*
 * Graces. Soft-RoCE carries packets out in interrupts' tails, in work, and in the
 * sender's own system calls, each of which may stand still at any point: where
 * the host is a guest whose processor was taken away, or where threads are
 * preempted, for longer than any settle time. Measured: a packet was written
 * 140 ms after its QP had been moved to ERR.
 *
 * It doesn't sleep between the look at the state and the write, so RCU knows when
 * it is over. One of RCU's kinds of grace period is for interrupts, their tails
 * and threads that can't be preempted, the other one for threads that can be. One
 * piece of work waits for all who want to know.
 */
static atomic64_t graces_begun;
static atomic64_t graces_over;

static void grace_work(struct work_struct *work)
{
	u64 last = atomic64_read_acquire(&graces_begun);

	synchronize_rcu_tasks();
	synchronize_rcu();
	atomic64_set_release(&graces_over, last);
	/* Those that began meanwhile have queued it again. */
}

static DECLARE_WORK(grace, grace_work);

u64 grace_begin(void)
{
	u64 ticket = atomic64_inc_return(&graces_begun);

	queue_work(lkvfence_wq, &grace);
	return ticket;
}

bool grace_over(u64 ticket)
{
	return atomic64_read_acquire(&graces_over) >= ticket;
}

int qp_init(void)
{
	return ib_register_client(&client);
}

void qp_exit(void)
{
	ib_unregister_client(&client);
}
