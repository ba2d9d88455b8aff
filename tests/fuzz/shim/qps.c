// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Queue pairs that aren't there. See qps.h.
 */
#include "qps.h"
#include "shim.h"

/* Different QPs that were found since the last reset. */
#define MAX_IDENTITIES	4096U

struct qps qps;
static struct qp_id identities[MAX_IDENTITIES];
static u32 nr_identities;

void qps_create(struct fake_qp *qp)
{
	*qp = (struct fake_qp) {
		.state	= FAKE_CONNECTED,
		.type	= QPS_RC,
		.remote	= 100 + qps.last_place,
		.place	= ++qps.last_place,
	};
}

void qps_plug(struct fake_device *device)
{
	device->there = true;
	device->number = ++qps.last_number;
	device->busy = 0;
}

void qps_reset(void)
{
	memset(&qps, 0, sizeof(qps));
	nr_identities = 0;
	for (u32 i = 0; i < QPS_DEVICES; i++) {
		struct fake_device *d = &qps.devices[i];

		qps_plug(d);
		for (u32 j = 0; j < QPS_NUMBERS; j++)
			qps_create(&d->qps[j]);
		/* Some that can't be bound. */
		d->qps[QPS_NUMBERS - 1].owner = i;
		d->qps[QPS_NUMBERS - 1].type = i ? QPS_RC : QPS_UD;
	}
}

/* What there is to remember of it. */
static void look(const struct fake_qp *qp, u32 number, struct qp_id *id)
{
	id->number = number;
	id->remote = qp->remote;
	id->type = qp->type;
	id->task = &qps.tasks[qp->owner];
	/* Nobody follows these. Some have one in common. */
	id->address = (void *)(0x1000UL * qp->place);
	id->pd = (void *)(0x1000000UL * (qp->place / 2));
	id->recv_cq = (void *)(0x2000000UL * (qp->place / 3));
}

u32 qps_identity(const struct qp_id *id)
{
	u32 i;

	for (i = 0; i < nr_identities; i++)
		if (qp_same(&identities[i], id))
			return i + 1;
	shim_assert(nr_identities < MAX_IDENTITIES);
	identities[nr_identities++] = *id;
	return nr_identities;
}

/* The QP, or NULL where it isn't found. */
static struct fake_qp *find(struct fake_device *d, u32 number)
{
	struct fake_qp *qp;

	if (!number || number > QPS_NUMBERS)
		return NULL;
	qp = &d->qps[number - 1];
	return qp->state == FAKE_GONE || qp->parked ? NULL : qp;
}

static int find_on(struct fake_device *d, u32 number, struct qp_id *id)
{
	struct fake_qp *qp;

	if (d->foreign)
		return -ENODEV;
	qp = find(d, number);
	if (!qp)
		return -ENOENT;
	if (qp->owner)
		return -EPERM;
	if (qp->type != QPS_RC && qp->type != QPS_UC)
		return -EPROTONOSUPPORT;
	if (d->broken)
		return -EIO;
	if (qp->state != FAKE_CONNECTED)
		return -ENOTCONN;
	look(qp, number, id);
	id->device = d->number;
	qps.remembered++;
	return 0;
}

static void may_sleep(void)
{
	shim_may_sleep("a driver");
}

int qp_find(const struct lkvfence_qp *arg, struct qp_id *id)
{
	int err = -ENODEV;

	may_sleep();
	qps_begins(QPS_FIND, id);
	for (u32 i = 0; i < QPS_DEVICES; i++) {
		const char name[] = { 'r', 'x', 'e', '0' + i, 0 };

		if (qps.devices[i].there && !strcmp(name, arg->device))
			err = find_on(&qps.devices[i], arg->number, id);
	}
	qps_ends(QPS_FIND, id, err);
	return err;
}

void qp_forget(struct qp_id *id)
{
	shim_assert(id->task && qps.remembered);
	id->task = NULL;
	qps.remembered--;
}

static struct fake_device *find_device(u64 number)
{
	for (u32 i = 0; i < QPS_DEVICES; i++)
		if (qps.devices[i].there && qps.devices[i].number == number)
			return &qps.devices[i];
	return NULL;
}

/* The QP that is meant, or why it isn't that. */
static int recognise(const struct qp_id *id, struct fake_device **d, struct fake_qp **qp)
{
	struct qp_id now = { .device = id->device };
	bool other;

	*d = find_device(id->device);
	if (!*d)
		return -ENODEV;
	*qp = find(*d, id->number);
	if (!*qp)
		return -ENOENT;
	if ((*d)->broken)
		return -EIO;
	look(*qp, id->number, &now);
	other = now.remote != id->remote;
	now.remote = id->remote;
	if (!qp_same(&now, id))
		return -ESTALE;
	return other && (*qp)->state == FAKE_CONNECTED ? -ENOTCONN : 0;
}

int qp_to_err(const struct qp_id *id)
{
	struct fake_device *d;
	struct fake_qp *qp;
	int err;

	may_sleep();
	qps_begins(QPS_TO_ERR, id);
	err = recognise(id, &d, &qp);
	if (!err && d->stubborn)
		err = -EIO;
	if (!err)
		qp->state = FAKE_ERR;
	qps_ends(QPS_TO_ERR, id, err);
	return err;
}

bool qp_enter(const struct qp_id *id)
{
	struct fake_device *d = find_device(id->device);

	if (d && d->busy >= (d->narrow ? 1 : 2)) {
		qps_waits();
		return false;
	}
	if (d)
		d->busy++;
	qps_enters(id);
	return true;
}

void qp_leave(const struct qp_id *id)
{
	struct fake_device *d = find_device(id->device);

	qps_leaves(id);
	if (!d)
		return;
	shim_assert(d->busy);
	d->busy--;
}

u64 grace_begin(void)
{
	return ++qps.graces;
}

bool grace_over(u64 ticket)
{
	shim_assert(ticket <= qps.graces);
	if (!qps.standstill)
		qps.graces_over = qps.graces;
	if (qps.graces_over >= ticket)
		return true;
	qps_waits();
	return false;
}

int qp_check(const struct qp_id *id, bool err)
{
	enum fake_state state = err ? FAKE_ERR : FAKE_CONNECTED;
	struct fake_device *d;
	struct fake_qp *qp;
	int ret;

	may_sleep();
	qps_begins(QPS_CHECK, id);
	ret = recognise(id, &d, &qp);
	if (!ret && qp->state != state)
		ret = -ENOTCONN;
	qps_ends(QPS_CHECK, id, ret);
	return ret;
}

int qp_init(void)
{
	return 0;
}

void qp_exit(void)
{
}
