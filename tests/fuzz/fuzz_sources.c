// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sources: what is asked about them, what becomes of their QPs, and their work.
 */
#include "fuzz.h"
#include "qps.h"

/* Devices that are there, and one that isn't; numbers likewise. */
static void a_qp(struct lkvfence_qp *qp)
{
	u8 b = fuzz_byte();

	strscpy(qp->device, b % 3 < QPS_DEVICES ? b % 3 ? "rxe1" : "rxe0" : "mlx5_0",
		sizeof(qp->device));
	qp->number = 1 + b / 3 % (QPS_NUMBERS + 1);
	switch (b) {
	case 255:
		memset(qp->device, 'x', sizeof(qp->device));
		break;
	case 254:
		qp->state = 1;
		break;
	case 253:
		qp->number = fuzz_word();
		break;
	case 252:
		qp->number = 0;
		break;
	}
}

void fuzz_fill_source(struct lkvfence_source *a)
{
	u8 how = fuzz_byte();
	struct lkvfence_qp qp;

	a->source = fuzz_source();
	a->flags = how < 40 ? LKVFENCE_SOURCE_UNBIND : how > 250 ? how : 0;
	if (!a->flags || how % 8 == 7)
		a->nr_qps = how % 4 ? 1U + how % 2 : fuzz_count(MIRROR_MAX_QPS);
	for (u32 i = 0; i < a->nr_qps && i < 40; i++) {
		memset(&qp, 0, sizeof(qp));
		a_qp(&qp);
		fuzz_put(AT_QPS + i * sizeof(qp), &qp, sizeof(qp));
	}
	a->qps = AT_QPS;
	memset(a->peer, 'p', how == 200 ? sizeof(a->peer) : how % 7);
	a->binding = 77;
}

/* One that there is, or was, or isn't yet. */
static u64 a_binding(void)
{
	u8 b = fuzz_byte();
	u64 nth = b % 16;

	if (b >= 250)
		return b == 255 ? fuzz_word() : mirror.last_binding + (b - 250);
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		const struct mirror_region *r = &mirror.regions[i];

		if (!r->exists)
			continue;
		if (nth < r->o.nr_sources)
			return r->sources[nth].binding;
		nth -= r->o.nr_sources;
	}
	return mirror.last_binding - nth;
}

void fuzz_fill_quiet(struct lkvfence_quiet *a)
{
	static const u32 evidence[] = {
		LKVFENCE_EVIDENCE_RQ_FLUSHED, LKVFENCE_EVIDENCE_QP_DESTROYED,
		LKVFENCE_EVIDENCE_MR_DEREGISTERED,
	};
	u8 b;

	a->binding = a_binding();
	b = fuzz_byte();
	a->qp = b < 128 ? b % 4 : b < 250 ? LKVFENCE_QUIET_ALL : (u32)fuzz_word();
	b = fuzz_byte();
	a->evidence = b < 240 ? evidence[b % 3] : b % 16;
	a->flags = b == 255;
}

void fuzz_fill_report(struct lkvfence_report *a)
{
	u8 b = fuzz_byte();

	a->generation = fuzz_generation();
	a->kind = b % 5;
	a->nr_slots = b / 5 % 3;
	a->flags = b == 255;
}

void fuzz_fill_query_source(struct lkvfence_query_source *a)
{
	u8 b = fuzz_byte();

	a->source = fuzz_source();
	a->flags = b < 250 ? b & LKVFENCE_QUERY_SOURCE_FROM : b;
	a->nr_qps = b & 2 ? 1U + b / 4 % 3 : fuzz_count(MIRROR_MAX_QPS);
	a->qps = AT_QPS;
}

/* What the processes that have QPs do, and what becomes of devices. */
void fuzz_change_qps(void)
{
	u8 what = fuzz_byte(), which = fuzz_byte();
	struct fake_device *d = &qps.devices[which % QPS_DEVICES];
	struct fake_qp *qp = &d->qps[which / QPS_DEVICES % QPS_NUMBERS];

	switch (what % 16) {
	case 0:
		qps_create(qp);
		qp->owner = what / 16 == 1;
		qp->type = what / 16 == 2 ? QPS_UD : what / 16 == 3 ? QPS_UC : QPS_RC;
		break;
	case 1:
		/* It can't be told from the one before. */
		qp->parked = false;
		qp->state = FAKE_CONNECTED;
		break;
	case 2:
		/* The same one, connected to another. */
		qp->remote++;
		if (qp->state != FAKE_GONE)
			qp->state = FAKE_CONNECTED;
		break;
	case 3:
	case 4:
		if (qp->state != FAKE_GONE)
			qp->state = what % 16 == 3 ? FAKE_ERR : FAKE_IDLE;
		break;
	case 5:
		qp->parked = true;
		break;
	case 6:
		qp->state = FAKE_GONE;
		break;
	case 7:
		d->there = false;
		break;
	case 8:
		qps_plug(d);
		break;
	case 9:
		d->foreign = !d->foreign;
		break;
	case 10:
	case 11:
		d->stubborn = !d->stubborn;
		break;
	case 12:
		d->broken = !d->broken;
		break;
	case 13:
		d->narrow = !d->narrow;
		break;
	case 14:
		qps.standstill = !qps.standstill;
		break;
	case 15:
		qps.graces_over = qps.graces;
		break;
	}
}

/* One that is due runs; or, later, the first one that will be. */
void fuzz_work(void)
{
	u8 b = fuzz_byte();
	struct delayed_work *w, *first = NULL;
	u32 due = 0;

	for (w = shim.delayed; w; w = w->next) {
		if (shim_is_running(w))
			continue;
		due += w->due <= shim.now;
		if (!first || w->due < first->due)
			first = w;
	}
	if (!first)
		return;
	if (!due && b < 128)
		return;
	if (!due) {
		shim.now = first->due;
		judge_work(first);
		return;
	}
	due = b % due;
	for (w = shim.delayed; w; w = w->next)
		if (!shim_is_running(w) && w->due <= shim.now && !due--)
			break;
	judge_work(w);
}
