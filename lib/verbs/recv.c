// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A lease as the owner of the slots sees it, and the acknowledgement in band.
 *
 * The sender posts a zero-length write with immediate behind its data, on each
 * QP that the owner awaits it on. A reliable connection places data in the order
 * in which it was posted, so the receive completion of that write comes when all
 * before it on the same QP has been placed. Retransmissions of these are answered
 * and not executed again; those of a READ are, so the sender sends its marker when
 * all READs in front of it are answered.
 *
 * WRAP: the immediate has the low 32 bits of the generation. A marker must never
 * be taken for another lease's, so on one rail there is at most one lease that a
 * marker can mean:
 *
 *  - two whose generations agree in 32 bits are not awaited at once: the second
 *    is refused;
 *  - one that is given up unproven may have its marker under way. The rail
 *    remembers the lowest and the highest such generation, and refuses leases
 *    that are 2^32 away from either, until it is reset. It refuses others of the
 *    same generation, too (of another source, behind the same QP): the last few
 *    by their numbers, and all in the span of those that were before. Where the source is known
 *    to have seen the success of all that it posted, its marker has arrived
 *    before, and nothing is to be remembered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

static void said(struct lkvfence_verbs *v, struct tell *tell);

int lkvfence_recv_begin(struct lkvfence_verbs *v,
			const struct lkvfence_recv_attr *attr,
			struct lkvfence_recv **out)
{
	struct lkvfence_recv *recv;

	*out = NULL;
	if (!attr->fence && !v->attr.returned)
		return lkvfence__vfail(-EINVAL,
			"recv: neither a region's handle nor a callback: nobody would learn that the lease is returned");
	pthread_mutex_lock(&v->lock);
	recv = v->recvs;
	if (recv) {
		v->recvs = recv->next;
		*recv = (struct lkvfence_recv){
			.v = v,
			.tell = {
				.fence = attr->fence,
				.said = said,
				.r = {
					.generation = attr->generation,
					.source = attr->source,
					.data = attr->data,
				},
			},
			.held = true,
		};
	}
	pthread_mutex_unlock(&v->lock);
	if (!recv)
		return lkvfence__vfail(-ENOBUFS,
			"recv: there are %" PRIu32 " leases (max_recvs) that are not finished, or have windows",
			v->attr.max_recvs);
	*out = recv;
	return 0;
}

/* With v->lock held, like all below that is static. */
static void tell(struct lkvfence_recv *recv, enum lkvfence_status status,
		 enum lkvfence_evidence evidence, struct work *work)
{
	if (recv->told)
		return;
	recv->told = true;
	recv->tell.r.status = status;
	recv->tell.r.evidence = evidence;
	lkvfence__tell(work, &recv->tell);
}

static void put_if_over(struct lkvfence_recv *recv)
{
	if (!recv->held && !recv->nr_live && recv->told == recv->said)
		lkvfence__put_recv(recv);
}

static void said(struct lkvfence_verbs *v, struct tell *t)
{
	struct lkvfence_recv *recv = container_of(t, struct lkvfence_recv, tell);

	pthread_mutex_lock(&v->lock);
	recv->said = true;
	put_if_over(recv);
	pthread_mutex_unlock(&v->lock);
}

static struct expect **bucket(struct lkvfence_verbs *v, uint32_t imm)
{
	return v->expects + (imm & v->expects_mask);
}

static uint32_t imm_of(const struct lkvfence_recv *recv)
{
	return (uint32_t)recv->tell.r.generation;
}

static struct expect **find(struct lkvfence_rail *rail, uint32_t imm)
{
	struct expect **e;

	for (e = bucket(rail->v, imm); *e; e = &(*e)->next) {
		if ((*e)->rail == rail && imm_of((*e)->recv) == imm)
			return e;
	}
	return NULL;
}

static void widen(struct span *span, uint64_t generation)
{
	if (!span->any || generation < span->low)
		span->low = generation;
	if (!span->any || generation > span->high)
		span->high = generation;
	span->any = true;
}

/* Could a marker of a lease that was given up be taken for this one's? */
static bool ambiguous(const struct lkvfence_rail *rail, uint64_t generation)
{
	const struct unproven *u = &rail->unproven;
	struct span all = u->all;
	uint32_t i;

	if (!all.any)
		return false;
	for (i = 0; i < u->nr && i < LAST_UNPROVEN; i++) {
		if (u->last[i] == generation)
			return true;
	}
	if (u->older.any && generation >= u->older.low &&
	    generation <= u->older.high)
		return true;
	widen(&all, generation);
	return (all.high - all.low) >> 32;
}

static void forget(struct lkvfence_rail *rail, uint64_t generation)
{
	struct unproven *u = &rail->unproven;
	uint64_t *at = u->last + u->nr % LAST_UNPROVEN;

	if (u->nr >= LAST_UNPROVEN)
		widen(&u->older, *at);
	*at = generation;
	/* (it goes round to where all places are taken) */
	if (!++u->nr)
		u->nr = LAST_UNPROVEN;
	widen(&u->all, generation);
}

static int may_expect(const struct lkvfence_recv *recv,
		      struct lkvfence_rail *const *rails, uint32_t nr)
{
	uint32_t i, j;

	if (!nr)
		return -EINVAL;
	if (nr > MAX_RAILS)
		return -E2BIG;
	if (recv->nr_expects)
		return -EBUSY;
	for (i = 0; i < nr; i++) {
		for (j = 0; j < i; j++) {
			if (rails[j] == rails[i])
				return -EINVAL;
		}
		if (!rails[i]->reliable)
			return -EPROTONOSUPPORT;
		if (find(rails[i], imm_of(recv)))
			return -EBUSY;
		if (ambiguous(rails[i], recv->tell.r.generation))
			return -EOVERFLOW;
	}
	return 0;
}

int lkvfence_recv_expect(struct lkvfence_recv *recv,
			 struct lkvfence_rail *const *rails, uint32_t nr)
{
	struct lkvfence_verbs *v = recv->v;
	uint64_t generation = recv->tell.r.generation;
	struct expect **head = bucket(v, imm_of(recv));
	uint32_t i;
	int err;

	pthread_mutex_lock(&v->lock);
	err = may_expect(recv, rails, nr);
	for (i = 0; i < nr && !err; i++) {
		struct expect *e = recv->expects + i;

		*e = (struct expect){ *head, recv, rails[i], false };
		*head = e;
		recv->nr_expects++;
	}
	pthread_mutex_unlock(&v->lock);

	switch (err) {
	case 0:
		return 0;
	case -EBUSY:
		return lkvfence__vfail(err,
			"expect: generation %" PRIu64 ", or one with the same low 32 bits, is awaited on a rail already: await this one by message",
			generation);
	case -EOVERFLOW:
		return lkvfence__vfail(err,
			"expect: a lease that was given up unproven on a rail has the low 32 bits of generation %" PRIu64 " (or may have, there were many), and its marker may yet come: await this one by message, or reconnect",
			generation);
	case -EPROTONOSUPPORT:
		return lkvfence__vfail(err,
			"expect: a queue pair is not RC: only there a marker can't overtake the data");
	case -E2BIG:
		return lkvfence__vfail(err,
			"expect: a lease can be awaited on %u rails", MAX_RAILS);
	default:
		return lkvfence__vfail(err,
			"expect: no rails, or one that is named twice");
	}
}

/* A marker has no data; one with data is a message of the application's. */
bool lkvfence__acked(struct lkvfence_rail *rail, const struct ibv_wc *wc,
		     struct work *work)
{
	struct lkvfence_verbs *v = rail->v;
	struct lkvfence_recv *recv;
	struct expect **found, *e;

	if (wc->byte_len || !(wc->wc_flags & IBV_WC_WITH_IMM))
		return false;
	pthread_mutex_lock(&v->lock);
	found = find(rail, ntohl(wc->imm_data));
	if (found) {
		e = *found;
		*found = e->next;
		e->rail = NULL;
		e->acked = true;
		recv = e->recv;
		if (++recv->nr_acked == recv->nr_expects)
			tell(recv, LKVFENCE_STATUS_DRAINED,
			     LKVFENCE_EVIDENCE_IN_BAND, work);
	}
	pthread_mutex_unlock(&v->lock);
	if (!found)
		COUNT(v, acks_unknown);
	return found;
}

/* No marker comes on it any more; nobody who awaits one gets it. */
void lkvfence__forget_rail(struct lkvfence_rail *rail)
{
	struct lkvfence_verbs *v = rail->v;
	uint32_t i;

	pthread_mutex_lock(&v->lock);
	for (i = 0; i <= v->expects_mask; i++) {
		struct expect **e = v->expects + i;

		while (*e) {
			struct expect *this = *e;

			if (this->rail != rail) {
				e = &this->next;
				continue;
			}
			*e = this->next;
			this->rail = NULL;
		}
	}
	rail->unproven = (struct unproven){};
	pthread_mutex_unlock(&v->lock);
}

static void stop_expecting(struct lkvfence_recv *recv, bool quiet)
{
	uint32_t i;

	for (i = 0; i < recv->nr_expects; i++) {
		struct expect *e = recv->expects + i, **at;

		if (!e->rail)
			continue;
		if (!quiet)
			forget(e->rail, recv->tell.r.generation);
		for (at = bucket(recv->v, imm_of(recv)); *at != e;
		     at = &(*at)->next)
			;
		*at = e->next;
		e->rail = NULL;
	}
}

void lkvfence_recv_finish(struct lkvfence_recv *recv, unsigned int flags)
{
	struct lkvfence_verbs *v;
	struct work work = NO_WORK(work);

	if (!recv)
		return;
	v = recv->v;
	pthread_mutex_lock(&v->lock);
	recv->finishing = true;
	stop_expecting(recv, flags & LKVFENCE_RECV_QUIET);
	pthread_mutex_unlock(&v->lock);

	lkvfence__revoke(recv, &work);

	pthread_mutex_lock(&v->lock);
	recv->held = false;
	put_if_over(recv);
	pthread_mutex_unlock(&v->lock);
	lkvfence__run(v, &work);
}

/*
 * Windows
 */

bool lkvfence__asked_for(const struct window *window)
{
	struct lkvfence_verbs *v = window->rail->v;
	const struct lkvfence_recv *recv;
	bool asked;

	pthread_mutex_lock(&v->lock);
	recv = window->recv;
	asked = recv && (recv->revoking || !recv->finishing);
	pthread_mutex_unlock(&v->lock);
	return asked;
}

/* After the last of them has gone, or when it is revoked. */
void lkvfence__windows_gone(struct lkvfence_recv *recv, struct work *work)
{
	if (recv->revoking && !recv->nr_live && !recv->lost)
		tell(recv, LKVFENCE_STATUS_REVOKED,
		     LKVFENCE_EVIDENCE_MW_INVALIDATED, work);
	put_if_over(recv);
}

/*
 * A window is no more its lease's: its access is gone, unless @good is false.
 * Without one, nothing.
 */
void lkvfence__detach(struct window *window, bool good, struct work *work)
{
	struct lkvfence_verbs *v = window->rail->v;
	struct lkvfence_recv *recv;
	struct window **w;

	pthread_mutex_lock(&v->lock);
	recv = window->recv;
	if (recv) {
		for (w = &recv->windows; *w != window; w = &(*w)->of_recv)
			;
		*w = window->of_recv;
		window->recv = NULL;
		recv->nr_live--;
		recv->lost |= !good;
		lkvfence__windows_gone(recv, work);
	}
	pthread_mutex_unlock(&v->lock);
}
