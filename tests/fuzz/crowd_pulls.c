// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pulls of the crowd: whoever asks hears once, at most, and what it hears is one
 * of the answers that may be.
 */
#include "crowd.h"

void crowd_ready(struct member *me, int fd, uint64_t generation)
{
	struct lkvfence_ready a = {
		.size = sizeof(a),
		.generation = generation,
		.ttl_ns = crowd_pick(me, 2) ? 0 : (CROWD_MIN_MS + crowd_pick(me, 60)) * MS,
		.consumers = crowd_pick(me, 3),
	};

	if (!a.generation ||
	    !crowd_answer(me, LKVFENCE_IOC_READY, sys(fd, LKVFENCE_IOC_READY, &a),
			  MAY(-ECANCELED, -EINVAL, -ESTALE)))
		return;
	never(me, a.ttl_ns && a.deadline_ns > now_ns() + CROWD_MAX_MS * MS, "READY for too long");
}

/* Its answer may be there, or somebody else's handle has it. */
static void withdraw(struct member *me, int fd, uint64_t ticket)
{
	struct lkvfence_withdraw a = {
		.size = sizeof(a),
		.ticket = ticket,
	};

	crowd_answer(me, LKVFENCE_IOC_WITHDRAW, sys(fd, LKVFENCE_IOC_WITHDRAW, &a), MAY(-ENOENT));
}

void crowd_pull(struct member *me, int fd, uint64_t generation, uint32_t source)
{
	struct lkvfence_pull a = {
		.size = sizeof(a),
		.flags = generation ? LKVFENCE_PULL_EXACT : 0,
		.generation = generation,
		.tag = crowd_pick(me, CROWD_TAGS),
		.timeout_ns = crowd_pick(me, 2) ? 0 : (CROWD_MIN_MS + crowd_pick(me, 60)) * MS,
		.unclaimed_ns = (CROWD_MIN_MS + crowd_pick(me, 30)) * MS,
		.source = source,
	};
	uint64_t n;

	if (!crowd_answer(me, LKVFENCE_IOC_PULL, sys(fd, LKVFENCE_IOC_PULL, &a),
			  a.flags ? MAY(-ENOSPC, -EINVAL) : MAY(-ENOSPC)))
		return;
	n = a.ticket - me->crowd->first_ticket;
	never(me, n >= CROWD_FOLLOWED, "ticket %llu is out of order",
	      (unsigned long long)a.ticket);
	atomic_store(&me->crowd->tickets[crowd_pick(me, CROWD_RECENT)], a.ticket);
	if (!crowd_pick(me, 6))
		withdraw(me, fd, a.ticket);
}

void crowd_withdraw(struct member *me, int fd)
{
	withdraw(me, fd, atomic_load(&me->crowd->tickets[crowd_pick(me, CROWD_RECENT)]));
}

void crowd_check_answer(struct member *me, const struct lkvfence_event *e)
{
	struct crowd *c = me->crowd;
	bool granted = e->type == LKVFENCE_EVENT_GRANTED;
	uint64_t n = e->ticket - c->first_ticket;

	atomic_fetch_add(&c->answers[!granted], 1);
	never(me, n >= CROWD_FOLLOWED, "an answer to ticket %llu",
	      (unsigned long long)e->ticket);
	if (n >= CROWD_FOLLOWED)
		return;
	never(me, atomic_fetch_or(&c->answered[n], 1), "L6: ticket %llu is answered twice",
	      (unsigned long long)e->ticket);
	never(me, granted != !e->reason || granted != !!e->nr_slots ||
	      e->reason > LKVFENCE_REASON_SOURCE || e->flags || e->outcome || e->evidence ||
	      e->leases_out || e->pad || e->time_ns > (uint64_t)now_ns(),
	      "a strange answer: type %u, reason %u, %u slots", e->type, e->reason, e->nr_slots);
	never(me, granted && e->generation < c->first_generation, "nothing is granted");
}
