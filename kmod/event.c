// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading takes three steps, so that no user memory is touched under the
 * region's lock and nothing is lost to a bad pointer: look at the head of the
 * queue, copy, and only then take off what was copied. read_lock keeps other
 * readers away in between. A transfer on the queue can't vanish meanwhile: it
 * is freed when its last event is taken off, here, or when the handle closes,
 * which the file that is being read prevents. So it is with a ticket, and with a
 * watch: but that may have news meanwhile, and then stays. A source can vanish,
 * when it is unbound, so it is referenced for as long.
 */
#include <linux/uaccess.h>

#include "compat.h"
#include "event.h"
#include "peer.h"
#include "source.h"
#include "ticket.h"

/* Events copied in one go; they are on the stack. */
#define BATCH	8

void event_added(struct handle *h)
{
	WRITE_ONCE(h->nr_unread, h->nr_unread + 1);
	wake_up_interruptible_poll(&h->wait, EPOLLIN | EPOLLRDNORM);
}

void event_removed(struct handle *h)
{
	WRITE_ONCE(h->nr_unread, h->nr_unread - 1);
}

void event_post(struct transfer *t, u32 bits)
{
	struct handle *h = t->owner;

	if (!bits)
		return;
	t->pending |= bits;
	if (list_empty(&t->unread)) {
		list_add_tail(&t->unread, &h->unread);
		WRITE_ONCE(h->nr_unread, h->nr_unread + 1);
	}
	wake_up_interruptible_poll(&h->wait, EPOLLIN | EPOLLRDNORM);
}

void event_forget(struct transfer *t)
{
	t->pending = 0;
	if (list_empty(&t->unread))
		return;
	list_del_init(&t->unread);
	event_removed(t->owner);
}

static void describe(const struct fence_transfer *t, u32 bit,
		     struct lkvfence_event *e)
{
	*e = (struct lkvfence_event) {
		.generation	= t->generation,
		.tag		= t->tag,
		.reason		= t->reason,
		.nr_slots	= t->nr_slots,
		.leases_out	= t->unproven,
	};

	switch (bit) {
	case FENCE_NEWS_ENDED:
		e->type = LKVFENCE_EVENT_ENDED;
		e->time_ns = t->ended_ns;
		break;
	case FENCE_NEWS_QUARANTINED:
		e->type = LKVFENCE_EVENT_QUARANTINED;
		e->time_ns = t->quarantined_ns;
		break;
	case FENCE_NEWS_RELEASED:
		e->type = LKVFENCE_EVENT_RELEASED;
		e->time_ns = t->released_ns;
		e->held_ns = t->released_ns - t->ended_ns;
		e->outcome = t->outcome;
		e->evidence = t->weakest;
		if (t->outcome == LKVFENCE_OUTCOME_TIMEOUT)
			e->flags |= LKVFENCE_EVENT_TAINTED;
		if (t->forced)
			e->flags |= LKVFENCE_EVENT_FORCED;
		break;
	}
}

/*
 * Sources come first, then tickets, peers, and transfers: the first of the four
 * that isn't NULL is meant. @bit is of a transfer; of a watch its changes.
 */
struct batch {
	u32 nr;
	struct source *source[BATCH];
	struct ticket *ticket[BATCH];
	struct peer_watch *watch[BATCH];
	struct transfer *transfer[BATCH];
	u32 bit[BATCH];
	struct lkvfence_event event[BATCH];
};

/* Look at sources: they are few, and somebody is waiting for an answer. */
static void peek_sources(struct handle *h, struct batch *b, u32 max)
{
	struct source *s;

	list_for_each_entry(s, &h->unread_sources, unread) {
		if (b->nr == max)
			break;
		source_get(s);
		b->source[b->nr] = s;
		source_describe(s, &b->event[b->nr++]);
	}
}

/* And at tickets, for the same reason. */
static void peek_tickets(struct handle *h, struct batch *b, u32 max)
{
	struct ticket *k;

	list_for_each_entry(k, &h->unread_tickets, unread) {
		if (b->nr == max)
			break;
		b->source[b->nr] = NULL;
		b->ticket[b->nr] = k;
		ticket_describe(k, &b->event[b->nr++]);
	}
}

static void peek_peers(struct handle *h, struct batch *b, u32 max)
{
	struct peer_watch *w;

	list_for_each_entry(w, &h->unread_peers, unread) {
		if (b->nr == max)
			break;
		b->source[b->nr] = NULL;
		b->ticket[b->nr] = NULL;
		b->watch[b->nr] = w;
		b->bit[b->nr] = w->changes;
		peer_describe(w, &b->event[b->nr++]);
	}
}

/* Look at up to @max events at the head of the queue. */
static void peek(struct handle *h, struct batch *b, u32 max)
{
	struct transfer *t;

	b->nr = 0;
	mutex_lock(&h->region->lock);
	peek_sources(h, b, max);
	peek_tickets(h, b, max);
	peek_peers(h, b, max);
	list_for_each_entry(t, &h->unread, unread) {
		u32 bits = t->pending;

		if (b->nr == max)
			break;

		/* The lowest bit first: ENDED, QUARANTINED, RELEASED. */
		for (; bits && b->nr < max; bits &= bits - 1, b->nr++) {
			b->source[b->nr] = NULL;
			b->ticket[b->nr] = NULL;
			b->watch[b->nr] = NULL;
			b->transfer[b->nr] = t;
			b->bit[b->nr] = bits & -bits;
			describe(&t->fence, bits & -bits, &b->event[b->nr]);
		}
	}
	mutex_unlock(&h->region->lock);
}

/* Take off what was copied. */
static void consume(struct handle *h, struct batch *b)
{
	u32 i;

	mutex_lock(&h->region->lock);
	for (i = 0; i < b->nr; i++) {
		struct transfer *t = b->transfer[i];

		if (b->source[i]) {
			source_forget_event(b->source[i]);
			continue;
		}
		if (b->ticket[i]) {
			ticket_consume(b->ticket[i]);
			continue;
		}
		if (b->watch[i]) {
			peer_consume(b->watch[i], b->bit[i]);
			continue;
		}
		t->pending &= ~b->bit[i];
		if (t->pending)
			continue;
		event_forget(t);
		if (t->fence.state == LKVFENCE_STATE_RELEASED)
			transfer_free(t, h);
	}
	mutex_unlock(&h->region->lock);
}

static void put_sources(struct batch *b)
{
	u32 i;

	for (i = 0; i < b->nr && b->source[i]; i++)
		source_put(b->source[i]);
}

/* Returns the number of bytes; 0 when there is no event. */
static ssize_t read_some(struct handle *h, char __user *buf, size_t len,
			 bool nonblock)
{
	struct batch b __no_init;
	size_t done = 0;
	ssize_t err = 0;

	/* Another reader may be stuck in its memory: don't wait for that. */
	if (nonblock) {
		if (!mutex_trylock(&h->read_lock))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&h->read_lock)) {
		return -ERESTARTSYS;
	}
	while (len - done >= sizeof(struct lkvfence_event)) {
		peek(h, &b, min_t(size_t, BATCH, (len - done) /
				  sizeof(struct lkvfence_event)));
		if (!b.nr)
			break;
		if (copy_to_user(buf + done, b.event, b.nr * sizeof(*b.event)))
			err = -EFAULT;
		else
			consume(h, &b);
		put_sources(&b);
		if (err)
			break;
		done += b.nr * sizeof(*b.event);
		if (signal_pending(current))
			break;
		cond_resched();
	}
	mutex_unlock(&h->read_lock);
	return done ?: err;
}

ssize_t event_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct handle *h = file->private_data;
	bool nonblock = file->f_flags & O_NONBLOCK;
	ssize_t ret;

	if (len < sizeof(struct lkvfence_event))
		return -EINVAL;
	for (;;) {
		ret = read_some(h, buf, len, nonblock);
		if (ret)
			return ret;
		if (nonblock) {
			/*
			 * Another reader may have been refused while we had
			 * read_lock, for an event that came after we looked.
			 * Either it sees the lock free, or we see the event.
			 */
			smp_mb();
			if (READ_ONCE(h->nr_unread))
				continue;
			return -EAGAIN;
		}
		/* Another reader may be faster: look again. */
		ret = wait_event_interruptible(h->wait, READ_ONCE(h->nr_unread));
		if (ret)
			return ret;
	}
}

__poll_t event_poll(struct file *file, poll_table *table)
{
	struct handle *h = file->private_data;

	poll_wait(file, &h->wait, table);
	return READ_ONCE(h->nr_unread) ? EPOLLIN | EPOLLRDNORM : 0;
}
