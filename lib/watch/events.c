// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What events do to watches. A watch ends with the event RELEASED, since until
 * it was read the slots are nobody's: the module has released them, and the
 * engine doesn't know yet.
 */
#include <errno.h>
#include <inttypes.h>

#include "watch.h"

/* With the entry's lock; what the event says is then true of the whole hold */
static int look(struct lkvfence_watch *w, struct watched *e, enum watch_look how,
		struct lkvfence_event *event)
{
	uint32_t nr;
	int err;

	nr = watch__changed(w, e, how, &e->nr_reused);
	err = watch__stray(w, e, nr);
	if (e->nr_stray)
		event->flags |= LKVFENCE_EVENT_STRAY;
	return err ? err : (int)e->nr_stray;
}

static int release(struct lkvfence_watch *w, struct watched *e, struct lkvfence_event *event)
{
	bool soak = w->flags & LKVFENCE_WATCH_SOAK &&
		    (event->flags & LKVFENCE_EVENT_TAINTED || e->quarantined);
	int ret;

	pthread_mutex_lock(&w->lock);
	w->stat.released++;
	w->stat.cut_short += e->nr_seen < e->nr_slots;
	pthread_mutex_unlock(&w->lock);

	ret = look(w, e, soak ? WATCH_LOOK_AND_REMEMBER : WATCH_LAST_LOOK, event);
	if (soak)
		watch__soak(w, e);
	else
		watch__remove(w, e);
	return ret;
}

static int released(struct lkvfence_watch *w, struct lkvfence_event *event)
{
	struct watched *e = watch__get(w, event->generation, false);
	int ret = 0;

	if (!e)
		return 0;
	/* who is about to start this watch stops at the next slot */
	atomic_store(&e->over, true);
	pthread_mutex_lock(&e->lock);
	if (watch__is_watched(w, e))
		ret = release(w, e, event);
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);
	return ret;
}

static int quarantined(struct lkvfence_watch *w, struct lkvfence_event *event)
{
	struct watched *e = watch__get(w, event->generation, false);
	int ret = 0;

	if (!e)
		return 0;
	pthread_mutex_lock(&e->lock);
	if (watch__is_watched(w, e)) {
		e->quarantined = true;
		ret = look(w, e, WATCH_LOOK, event);
	}
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);
	return ret;
}

static int ended(struct lkvfence_watch *w, const struct lkvfence_event *event)
{
	int ret;

	if (!(w->flags & LKVFENCE_WATCH_ENDED))
		return 0;
	ret = lkvfence_watch_start(w, event->generation);
	/* started by the engine, which ended it at the same time */
	if (ret == -EALREADY)
		return 0;
	if (ret < 0)
		watch__count(w, &w->stat.unwatched, 1);
	return ret;
}

int lkvfence_watch_event(struct lkvfence_watch *w, struct lkvfence_event *event)
{
	switch (event->type) {
	case LKVFENCE_EVENT_RELEASED:
		return released(w, event);
	case LKVFENCE_EVENT_QUARANTINED:
		return quarantined(w, event);
	case LKVFENCE_EVENT_ENDED:
		return ended(w, event);
	default:
		return 0;
	}
}

int lkvfence_watch_events(struct lkvfence_watch *w, struct lkvfence_event *events,
			  uint32_t nr, int timeout_ms)
{
	int ret, i;

	if (!w->f)
		return watch__fail(w, -EINVAL,
			"events: this watcher was opened without a region's handle, for sums only");
	ret = lkvfence_events(w->f, events, nr, timeout_ms);
	if (ret < 0)
		return watch__fail_call(ret);
	/* what goes wrong here is counted; the events are read, and must get out */
	for (i = 0; i < ret; i++)
		lkvfence_watch_event(w, &events[i]);
	return ret;
}

int lkvfence_watch_soaking(struct lkvfence_watch *w, uint64_t generation)
{
	struct watched *e = watch__get(w, generation, true);

	if (!e)
		return 0;
	watch__put(w, e);
	return 1;
}

int lkvfence_watch_soak(struct lkvfence_watch *w, uint64_t generation)
{
	struct watched *e = watch__take(w, generation, true);
	uint32_t nr, nr_reused;
	int err = 0;

	if (!e)
		return watch__fail(w, -ENOENT,
			"soak: generation %" PRIu64 " is not soaking: it was released with proof, or never watched, or its soak is over",
			generation);

	pthread_mutex_lock(&e->lock);
	nr = watch__changed(w, e, WATCH_LAST_LOOK, &nr_reused);
	/* Where some were not kept out, others may have been used and given back. */
	nr_reused += e->nr_reused;
	if (nr_reused)
		nr = 0;
	pthread_mutex_unlock(&e->lock);
	watch__put(w, e);

	pthread_mutex_lock(&w->lock);
	w->stat.soaked++;
	w->stat.late += nr > 0;
	w->stat.late_slots += nr;
	pthread_mutex_unlock(&w->lock);

	if (nr)
		err = watch__report(w, generation, LKVFENCE_REPORT_STRAY_LATE, nr);
	if (err)
		return err;
	if (nr_reused)
		return watch__fail(w, -EBUSY,
			"soak: %" PRIu32 " slots of generation %" PRIu64 " are another transfer's by now, or were since the release: keep them out of use until this call has returned",
			nr_reused, generation);
	return (int)nr;
}
