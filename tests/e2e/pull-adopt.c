// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A producer that is gone leaves its transfers ended, its tombstones and other handles'
 * tickets; who adopts what is held is told of the release. A consumer's own transfers,
 * adopted by its heir, are no pulls: its tickets went with it.
 */
#include "pull.h"

#define NAME	"pull-adopt"

int main(void)
{
	struct lkvfence *producer = region(NAME, 64), *consumer = region(NAME, 0);
	struct lkvfence *heir = region(NAME, 0), *gone = region(NAME, 0);
	uint64_t granted_one, waiting, unread, ticket, next, slot;
	struct lkvfence_event e;

	granted_one = offer(producer, 1, 0, 8, 0);
	waiting = offer(producer, 2, 8, 8, 1);
	need(!ready(producer, granted_one, 0, 1), "READY");
	need(granted(consumer, pull(consumer, 1, 100), granted_one), "a grant");
	ticket = pull(consumer, 2, 100);
	next = pull(consumer, 3, 100);
	lkvfence_close(producer);
	check(refused(consumer, ticket, LKVFENCE_REASON_ORPHANED),
	      "what waited for the producer is refused");
	check(silent(consumer), "what waits for somebody to offer waits on");
	gives(lkvfence_adopt(heir, granted_one) ?: lkvfence_adopt(heir, waiting), 0, "ADOPT");
	check((query(heir, granted_one).flags & (LKVFENCE_TRANSFER_OFFERED | LKVFENCE_TRANSFER_MINE)) ==
	      (LKVFENCE_TRANSFER_OFFERED | LKVFENCE_TRANSFER_MINE), "they are the heir's");
	gives(ready(heir, granted_one, 0, 1), -ECANCELED, "it can't be made ready again");
	check(refused(consumer, pull(consumer, 1, 101), LKVFENCE_REASON_ORPHANED),
	      "nor pulled");
	check(silent(heir), "so far nothing is to be told");
	gives(drained(consumer, granted_one, 100), 0, "the pull is over");
	e = at_once(heir);
	check(e.type == LKVFENCE_EVENT_RELEASED && e.generation == granted_one &&
	      e.reason == LKVFENCE_REASON_ORPHANED &&
	      e.outcome == LKVFENCE_OUTCOME_DRAINED, "the heir is told");
	gives(drained(heir, waiting, 1), 0, "proof of the other");
	gives(at_once(heir).generation == waiting, 1, "likewise");

	/* The heir goes on with the engine's work. */
	granted_one = offer(heir, 3, 0, 8, 0);
	need(!ready(heir, granted_one, 0, 1), "READY");
	check(granted(consumer, next, granted_one), "who waited is served by the heir");
	gives(drained(consumer, granted_one, 100), 0, "RETURN");
	gives(event(heir).generation == granted_one, 1, "it is over");

	/* A consumer's slots: held for its own reasons, not for its tickets. */
	slot = begin(gone, 4, 32, 8, 1);
	waiting = pull(gone, 5, 200);
	unread = pull(gone, 6, 200);
	need(!lkvfence_withdraw(gone, unread), "WITHDRAW");
	lkvfence_close(gone);
	check(stat_of(heir).pulls_closed == 1 && !stat_of(heir).tickets,
	      "its pulls are closed");
	gives(lkvfence_withdraw(heir, waiting), -ENOENT, "nobody has the ticket");
	gives(lkvfence_adopt(heir, slot), 0, "its transfer can be adopted");
	granted_one = offer(consumer, 5, 40, 1, 0);
	need(!ready(consumer, granted_one, 0, 1), "READY");
	check(silent(heir), "the heir gets no answer to what it didn't ask");
	gives(lkvfence_release(consumer, granted_one) ?: drained(heir, slot, 1), 0, "the rest");
	gives(at_once(heir).generation == slot && silent(heir), 1, "is told");
	lkvfence_close(heir);
	lkvfence_close(consumer);
	return done();
}
