/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The test's side of the kernel in kernel.h: what it sets, and what it sees. */
#ifndef LKVFENCE_FUZZ_SHIM_H
#define LKVFENCE_FUZZ_SHIM_H

#include "kernel.h"

/* User memory: pages at an address that is no address of this program. */
#define USER_BASE	0x100000UL
#define USER_PAGES	32U
#define USER_SIZE	(USER_PAGES * PAGE_SIZE)

#define SHIM_FDS	10
#define SHIM_COPIES	512
/* So many calls may be under way at once, each but the last one asleep. */
#define SHIM_DEEP	8
#define SHIM_BYTES	(1U << 18)

enum page { PAGE_RW, PAGE_RO, PAGE_NONE };

/*
 * One copy that a call made; what it carried stands at @data even if it failed.
 * Words that follow each other in one user_access section are one copy.
 */
struct copy {
	bool out;
	bool faulted;
	u32 section;			/* 0: none */
	unsigned long user;
	u32 len;
	u32 data;
};

struct shim {
	/* The test sets these. */
	u64 now;
	u32 uid, gid;
	u32 caps;			/* bit 0: DAC_OVERRIDE, bit 1: SYS_ADMIN */
	u8 memory[USER_SIZE];
	u8 pages[USER_PAGES];		/* enum page */

	/* What there is. */
	struct file *fds[SHIM_FDS];
	bool reserved[SHIM_FDS];
	struct hrtimer *timers;
	struct work_struct *work;
	struct delayed_work *delayed;
	struct delayed_work *running[SHIM_DEEP];	/* the last one runs now */
	u32 nr_running;
	const struct file_operations *device;

	/* The test sets these for a call. */
	u32 fail_alloc;			/* this allocation of the call fails; 0: none */
	u32 fail_copy;			/* this access of the call faults; 0: none */
	u32 flip_copy;			/* user memory changes after this access */
	u32 flip_at;
	u8 flip_to;
	bool fail_file, fail_fd, fail_add, signal;

	/* What the call did. */
	u32 allocs, allocs_failed;
	u32 accesses, nr_copies;
	u32 nr_sections, section;
	u32 faults;			/* but for those in the first section, a mere try */
	bool injected_fault;
	bool overflow;			/* more copies than are kept */
	struct copy copies[SHIM_COPIES];
	u32 nr_bytes;
	u8 bytes[SHIM_BYTES];
};

extern struct shim shim;
extern const struct kernel_param shim_param_timeout_default_ms, shim_param_timeout_min_ms,
	shim_param_timeout_max_ms, shim_param_max_slots, shim_param_max_regions,
	shim_param_max_transfers, shim_param_max_sources, shim_param_settle_ms,
	shim_param_revoke_timeout_ms, shim_param_max_pulls, shim_param_max_tombstones,
	shim_param_unclaimed_ms, shim_param_tombstone_ms;

/* Forget the last call's plan and record. */
void shim_call_begin(void);
/*
 * A call sleeps, and others are made meanwhile: that forgets its plan and its
 * record, and this gives them back. No lock is held then.
 */
void *shim_fall_asleep(void);
void shim_wake_up(void *asleep);
/* No lock is held, no descriptor is reserved and not installed. */
void shim_call_end(void);
/* Where the user may write in its own memory; NULL if it isn't its. */
void *shim_user(unsigned long user, size_t len);
void shim_close(int fd);
/*
 * Fire the timer if it is due: always when it is late, only if @eager while it
 * may still wait. Its work is then queued. Returns whether it fired.
 */
bool shim_fire(struct hrtimer *timer, bool eager);
/* Run the work if it is queued. Returns whether it was. */
bool shim_run(struct work_struct *work);
/* The same for what waits for its time, which must have come. */
void shim_run_delayed(struct delayed_work *work);
/* Work doesn't run twice at once. */
bool shim_is_running(const struct delayed_work *work);

#endif /* LKVFENCE_FUZZ_SHIM_H */
