/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * For the tests of pulls. Unless a test says otherwise a pull waits for an hour, for
 * its tag to be offered as well: an answer that comes is nobody's timer.
 */
#ifndef E2E_PULL_H
#define E2E_PULL_H

#include "e2e.h"

#define HOUR	(3600000 * MS)

/* An offered transfer of some slots, with leases for sources 1 to @nr_sources. */
static inline uint64_t offer(struct lkvfence *f, uint64_t tag, uint32_t first,
			     uint32_t count, uint32_t nr_sources)
{
	struct lkvfence_begin b = want(tag, first, count, nr_sources);

	need(!lkvfence_offer(f, &b), "BEGIN with OFFER of tag %" PRIu64, tag);
	return b.generation;
}

/* For @ttl_ms, or for ever. */
static inline int ready(struct lkvfence *f, uint64_t generation,
			unsigned int ttl_ms, uint32_t consumers)
{
	struct lkvfence_ready r = {
		.generation = generation,
		.ttl_ns = ttl_ms * MS,
		.consumers = consumers,
	};

	return lkvfence_ready(f, &r);
}

/* Sources of consumers are those from 100 on. */
static inline struct lkvfence_pull a_pull(uint64_t tag, uint32_t source)
{
	return (struct lkvfence_pull){
		.tag = tag,
		.source = source,
		.timeout_ns = HOUR,
		.unclaimed_ns = HOUR,
	};
}

static inline uint64_t pull(struct lkvfence *f, uint64_t tag, uint32_t source)
{
	struct lkvfence_pull p = a_pull(tag, source);

	need(!lkvfence_pull(f, &p), "PULL of tag %" PRIu64, tag);
	return p.ticket;
}

/* @tag is for when it is over. */
static inline uint64_t pull_exact(struct lkvfence *f, uint64_t generation,
				  uint64_t tag, uint32_t source)
{
	struct lkvfence_pull p = a_pull(tag, source);

	p.flags = LKVFENCE_PULL_EXACT;
	p.generation = generation;
	need(!lkvfence_pull(f, &p), "PULL of generation %" PRIu64, generation);
	return p.ticket;
}

/* The event that is there now; type 0 if there is none. */
static inline struct lkvfence_event at_once(struct lkvfence *f)
{
	struct lkvfence_event e = { 0 };

	need(lkvfence_events(f, &e, 1, 0) >= 0, "read of an event");
	return e;
}

/* What is there now is of no interest. */
static inline void pass_over(struct lkvfence *f)
{
	while (at_once(f).type)
		;
}

static inline bool is_answer(const struct lkvfence_event *e, uint64_t ticket,
			     uint32_t type, uint32_t reason)
{
	bool good = e->type == type && e->ticket == ticket && e->reason == reason &&
		    !e->flags && !e->outcome && !e->evidence && !e->leases_out && !e->pad;

	if (!good)
		note("%s, ticket %" PRIu64 " (of %" PRIu64 "), reason %s",
		     lkvfence_event_name(e->type), (uint64_t)e->ticket, ticket,
		     lkvfence_reason_name(e->reason));
	return good;
}

static inline bool is_granted(const struct lkvfence_event *e, uint64_t ticket,
			      uint64_t generation)
{
	return is_answer(e, ticket, LKVFENCE_EVENT_GRANTED, LKVFENCE_REASON_NONE) &&
	       e->generation == generation && e->nr_slots && e->time_ns;
}

static inline bool is_refused(const struct lkvfence_event *e, uint64_t ticket,
			      uint32_t reason)
{
	return is_answer(e, ticket, LKVFENCE_EVENT_REFUSED, reason) &&
	       !e->nr_slots && e->time_ns;
}

/* The answer is there when whatever caused it has returned. */
static inline bool granted(struct lkvfence *f, uint64_t ticket, uint64_t generation)
{
	struct lkvfence_event e = at_once(f);

	return is_granted(&e, ticket, generation);
}

static inline bool refused(struct lkvfence *f, uint64_t ticket, uint32_t reason)
{
	struct lkvfence_event e = at_once(f);

	return is_refused(&e, ticket, reason);
}

/* Objects of one kind that are alive, in all regions. */
static inline uint64_t objects(const char *kind)
{
	const char *path = "/sys/class/misc/lkvfence/objects/";
	uint64_t created = strtoull(line_of("%s%s_created", path, kind), NULL, 10);

	return created - strtoull(line_of("%s%s_destroyed", path, kind), NULL, 10);
}

/* A kernel full of detectors, on which all takes many times as long. */
static inline bool debug_kernel(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

#endif /* E2E_PULL_H */
