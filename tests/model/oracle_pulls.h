/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The oracle of pulls: what must be true of tickets and of what is known of tags,
 * written from PULLS in the opening comment of uapi/linux/lkvfence.h.
 *
 * A ticket is a question. It isn't tracked: after each step oracle_look() asks
 * anew, of all that wait and in the order in which they came, whether what is
 * known now answers it. Which transfer it waits for follows from the same.
 */
#ifndef LKVFENCE_MODEL_ORACLE_PULLS_H
#define LKVFENCE_MODEL_ORACLE_PULLS_H

#include "oracle.h"

#define ORACLE_TICKETS	8
#define ORACLE_KNOWN	24

struct ticket_fact {
	u64 number;
	u64 tag;
	u64 generation;		/* that one, or a newer one */
	bool exact;
	u32 source;
	u32 handle;		/* who asked */
	u64 unclaimed;		/* when it is given up if nobody has offered it */
	u64 deadline;		/* and when in any case */
};

/* What is known of a tag: the offer that lives, or a tombstone. */
struct known_fact {
	u64 tag;
	u64 generation;		/* 0: aborted before there was one */
	bool live;
	bool spent;		/* aborted early: that has refused a BEGIN */
	u32 reason;
	u32 next_reason;	/* of a live one: the next was aborted early; or NONE */
	u64 forget;		/* of a tombstone */
};

struct answer_fact {
	u64 number;
	u64 tag;
	u64 generation;
	u32 reason;
	u32 nr_slots;
	u64 time;
};

struct pull_oracle {
	u64 tombstone;		/* how long one lasts */
	u32 max_tombstones;	/* of transfers, and of early aborts */
	u32 max_leases;
	u64 asked;
	u64 granted;
	u64 refused[LKVFENCE_REASON_SOURCE + 1];
	u64 closed;
	u64 refused_early;
	u64 all_taken;		/* transfers that finished by themselves */
	u32 nr_tickets;
	struct ticket_fact tickets[ORACLE_TICKETS];	/* in the order they came */
	u32 nr_known;
	struct known_fact known[ORACLE_KNOWN];	/* tombstones: the oldest first */
	u32 nr_answers;
	struct answer_fact answers[ORACLE_TICKETS];	/* not yet heard */
};

struct ticket_fact *oracle_find_ticket(struct pull_oracle *p, u64 number);
struct known_fact *oracle_known(struct pull_oracle *p, u64 tag);
/* Is there a transfer that it waits for? Then that one's fact. */
struct known_fact *oracle_claimed(struct pull_oracle *p, const struct ticket_fact *k);
/* When it is answered if nothing else happens. */
u64 oracle_due(struct pull_oracle *p, const struct ticket_fact *k);
u64 oracle_next_pull(const struct pull_oracle *p);
u32 oracle_nr_pulls_due(struct pull_oracle *p, u64 now);
u32 oracle_nr_tombstones(const struct pull_oracle *p, bool early);
/* Was it aborted early, and has that refused nobody yet? */
bool oracle_early(struct pull_oracle *p, u64 tag);

/* What happens. Each looks at all tickets, and leaves the answers. */
void oracle_offer(struct pull_oracle *p, struct oracle *o, u64 generation, u64 tag,
		  u64 now);
void oracle_offer_refused(struct pull_oracle *p, u64 tag);
void oracle_look(struct pull_oracle *p, struct oracle *o, u64 now);
void oracle_over(struct pull_oracle *p, struct oracle *o, const struct report *r,
		 u64 now);
void oracle_ask(struct pull_oracle *p, struct oracle *o, const struct ticket_fact *k,
		u64 now);
void oracle_withdraw(struct pull_oracle *p, u64 number, u64 now);
void oracle_close(struct pull_oracle *p, u64 number);
/* Returns whether there is a tombstone more. */
bool oracle_abort_early(struct pull_oracle *p, struct oracle *o, u64 tag, u64 after,
			u32 reason, u64 now);
void oracle_refuse_unclaimed(struct pull_oracle *p, u32 reason, u64 now);
/* These return whether it was due, and of tickets, whether none was due before it. */
bool oracle_expire_ticket(struct pull_oracle *p, u64 number, u64 now);
bool oracle_forget(struct pull_oracle *p, u64 tag, u64 now);

#endif /* LKVFENCE_MODEL_ORACLE_PULLS_H */
