/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * liblkvfence-watch: looks whether late writes happen. It reads slots that the
 * CPU can see when their transfer has ended, and once more when they are
 * released: what changed in between is a write that the fence caught. The
 * findings are counted by the module, and shown in the events. Beside that, a
 * checksum of a transfer's payload from one end to the other.
 *
 * Nothing here is needed for the fence to hold, and all of it is off until it
 * is called. lkvfence_watch_open(3) says what it can and can't see.
 *
 * Calls return 0 (or a count) on success and -errno on failure; errno itself is
 * left alone, and lkvfence_watch_errmsg() says it in words.
 *
 * Threads: any number may use one watcher at once; only lkvfence_watch_close()
 * must be the last call on it. fork(2): it stays with one of the processes.
 */
#ifndef LKVFENCE_WATCH_H
#define LKVFENCE_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <lkvfence.h>

#ifdef __cplusplus
extern "C" {
/* Calls and structs share names, as in lkvfence.h. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/** What watches the slots of a region. */
struct lkvfence_watch;

/**
 * struct lkvfence_watch_pool - where slots are in this process's memory
 * @base: slot 0
 * @stride: bytes from the start of a slot to that of the next one
 * @bytes: how many bytes of each slot are looked at; 1 to @stride
 *
 * A slot may be in several pools: the K and the V of each layer, say.
 */
struct lkvfence_watch_pool {
	void *base;
	uint64_t stride;
	uint64_t bytes;
};

/* Fill held slots with a pattern, instead of remembering checksums of them. */
#define LKVFENCE_WATCH_PATTERN		0x1U
/* An event ENDED starts a watch: the end came from somebody else. */
#define LKVFENCE_WATCH_ENDED		0x2U
/* Slots that come back tainted or from quarantine are soaked. */
#define LKVFENCE_WATCH_SOAK		0x4U
#define LKVFENCE_WATCH_FLAGS		(LKVFENCE_WATCH_PATTERN | \
					 LKVFENCE_WATCH_ENDED | \
					 LKVFENCE_WATCH_SOAK)

/**
 * lkvfence_watch_open() - a watcher
 * @w: the watcher, to be closed with lkvfence_watch_close()
 * @f: the region's handle, which must stay open as long; NULL for a watcher
 *	that only makes and checks sums, where there is no module
 * @pools: where the slots are; copied
 * @nr_pools: how many, at least 1
 * @nr_slots: slots in each pool; 0: as many as the region has
 * @flags: LKVFENCE_WATCH_*
 *
 * The memory must stay mapped until the watcher is closed.
 *
 * Return: 0; -EINVAL what is described can't be; -ENOMEM; or what
 * lkvfence_stat() returns.
 */
int lkvfence_watch_open(struct lkvfence_watch **w, struct lkvfence *f,
			const struct lkvfence_watch_pool *pools,
			uint32_t nr_pools, uint32_t nr_slots, uint32_t flags);

/** lkvfence_watch_close() - forget everything; NULL is fine */
void lkvfence_watch_close(struct lkvfence_watch *w);

/**
 * lkvfence_watch_start() - watch the slots of a transfer that has ended
 * @w: the watcher
 * @generation: the transfer
 *
 * To be called once ABORT or HOLD has returned, or with an event ENDED. Takes
 * as long as it takes to read the slots (with PATTERN: to write them).
 *
 * Return: how many slots are watched; 0 if the transfer is released already,
 * or came to be meanwhile: there is nothing to watch. -EBUSY it has not ended;
 * -EALREADY it is watched; -ENOENT never issued; -ERANGE it has slots that the
 * pools have not; -EINVAL the watcher has no handle; -ENOMEM.
 */
int lkvfence_watch_start(struct lkvfence_watch *w, uint64_t generation);

/**
 * lkvfence_watch_look() - look at once, and go on watching
 * @w: the watcher
 * @generation: the transfer
 *
 * For slots that stay out for long. Changes are counted as at the release, once
 * for a transfer.
 *
 * Return: how many slots have changed; -ENOENT it isn't watched (any more).
 */
int lkvfence_watch_look(struct lkvfence_watch *w, uint64_t generation);

/**
 * lkvfence_watch_stop() - forget a transfer without a look
 * @w: the watcher
 * @generation: the transfer, watched or soaking
 *
 * Nobody touches its slots for the watcher any more when this returns.
 *
 * Return: 0; -ENOENT it isn't watched.
 */
int lkvfence_watch_stop(struct lkvfence_watch *w, uint64_t generation);

/**
 * lkvfence_watch_event() - do what an event asks for
 * @w: the watcher
 * @event: as lkvfence_events() gave it
 *
 * RELEASED: looks at the slots, counts what changed, sets LKVFENCE_EVENT_STRAY
 * in @event if something did, and forgets the transfer or begins to soak it.
 * The slots must not be used before this returns. QUARANTINED: looks, and sets
 * the flag likewise. ENDED: starts a watch, with LKVFENCE_WATCH_ENDED. Others
 * are left as they are.
 *
 * Return: how many slots changed, or, of ENDED, are watched; 0 for transfers
 * that are not watched; or -errno: the finding could not be reported (the flag
 * is set nonetheless), or the watch not be started.
 */
int lkvfence_watch_event(struct lkvfence_watch *w, struct lkvfence_event *event);

/**
 * lkvfence_watch_events() - lkvfence_events(), and lkvfence_watch_event() for each
 * @w: the watcher
 * @events: room for events
 * @nr: for how many
 * @timeout_ms: how long to wait for the first one; 0: don't; negative: for ever
 *
 * Findings that could not be reported, and watches that could not be started,
 * are told by lkvfence_watch_stat().
 *
 * Return: as lkvfence_events().
 */
int lkvfence_watch_events(struct lkvfence_watch *w,
			  struct lkvfence_event *events, uint32_t nr,
			  int timeout_ms);

/**
 * lkvfence_watch_soaking() - are slots to be kept out of use after the release?
 * @w: the watcher
 * @generation: the transfer
 *
 * To be asked when its event RELEASED was seen. If so, the slots stay out of the
 * allocator until lkvfence_watch_soak() has been called: only the engine can see
 * to that, for the fence has released them.
 *
 * Return: 1 yes; 0 no: use them.
 */
int lkvfence_watch_soaking(struct lkvfence_watch *w, uint64_t generation);

/**
 * lkvfence_watch_soak() - look at soaked slots; afterwards they may be used
 * @w: the watcher
 * @generation: the transfer
 *
 * Return: how many slots changed after the release; -ENOENT it isn't soaking;
 * -EBUSY some are another transfer's, or were at the release: the slots were not
 * kept out, so nothing can be said, and nothing is counted. Or what
 * lkvfence_report() returns. The soak is over in all cases.
 */
int lkvfence_watch_soak(struct lkvfence_watch *w, uint64_t generation);

/**
 * lkvfence_watch_sum() - the checksum of a payload
 * @w: the watcher
 * @ranges: its slots, in the order of the payload
 * @nr_ranges: how many ranges, at least 1
 * @bytes: how much of it is summed, where the last slots aren't full; 0: all
 * @sum: the sum
 *
 * CRC-64/XZ of the bytes of slot after slot; of each slot, of its bytes in pool
 * after pool. So both ends describe their pools in the same order with the same
 * @bytes; strides, and numbers and ranges of slots, may differ.
 *
 * Return: 0; -ERANGE a slot beyond the pools, or more bytes than the slots have;
 * -EINVAL no ranges.
 */
int lkvfence_watch_sum(struct lkvfence_watch *w,
		       const struct lkvfence_range *ranges, uint32_t nr_ranges,
		       uint64_t bytes, uint64_t *sum);

/**
 * lkvfence_watch_verify() - is the payload that arrived the one that was sent?
 * @w: the watcher
 * @generation: the transfer, for the report
 * @ranges: as above, on this end
 * @nr_ranges: as above
 * @bytes: as above
 * @sum: what lkvfence_watch_sum() gave on the other end
 *
 * To be called when all leases are drained, before the payload is used.
 *
 * Return: 0 it is; -EBADMSG it isn't: counted, and the request must fail; or as
 * lkvfence_watch_sum().
 */
int lkvfence_watch_verify(struct lkvfence_watch *w, uint64_t generation,
			  const struct lkvfence_range *ranges,
			  uint32_t nr_ranges, uint64_t bytes, uint64_t sum);

/**
 * lkvfence_watch_crc() - the same checksum, for a layout that pools can't describe
 * @crc: of the bytes before these; 0 at the start
 * @data: bytes
 * @len: how many
 *
 * Return: the checksum with these bytes.
 */
uint64_t lkvfence_watch_crc(uint64_t crc, const void *data, size_t len);

/**
 * struct lkvfence_watch_stat - what a watcher has seen
 * @watched: transfers that are watched now
 * @soaking: transfers whose slots soak now
 * @started: watches that were started
 * @cut_short: of these, released before all slots had been read
 * @unwatched: watches that could not be started
 * @released: watched transfers that were released
 * @strays: transfers whose slots changed while they were held
 * @stray_slots: how many slots that were
 * @soaked: transfers whose soak is over
 * @late: of these, those whose slots changed after the release
 * @late_slots: how many slots that were
 * @reused: changed slots that are not counted, for they were another transfer's
 *	when they were looked at
 * @verified: payloads that were checked
 * @mismatches: of these, those with another checksum
 * @unreported: findings that the module could not be told of
 */
struct lkvfence_watch_stat {
	uint64_t watched;
	uint64_t soaking;
	uint64_t started;
	uint64_t cut_short;
	uint64_t unwatched;
	uint64_t released;
	uint64_t strays;
	uint64_t stray_slots;
	uint64_t soaked;
	uint64_t late;
	uint64_t late_slots;
	uint64_t reused;
	uint64_t verified;
	uint64_t mismatches;
	uint64_t unreported;
};

/** lkvfence_watch_stat() - a watcher's counters, of one instant */
void lkvfence_watch_stat(struct lkvfence_watch *w,
			 struct lkvfence_watch_stat *stat);

/**
 * lkvfence_watch_errmsg() - the calling thread's last failure here, in words
 *
 * Return: a string that is valid until the thread's next failed call of this
 * library; "" when none failed yet.
 */
const char *lkvfence_watch_errmsg(void);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* LKVFENCE_WATCH_H */
