/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the two halves of the fuzzer share: fuzz.c makes calls, judge.c looks. */
#ifndef LKVFENCE_FUZZ_FUZZ_H
#define LKVFENCE_FUZZ_FUZZ_H

#include "shim.h"
#include "mirror.h"

/* Where things are in user memory, unless the input says otherwise. */
#define AT(page)	(USER_BASE + (page) * PAGE_SIZE)
#define AT_ARG		AT(1)
#define AT_RANGES	AT(4)
#define AT_SOURCES	AT(8)
#define AT_ITEMS	AT(12)
#define AT_LEASES	AT(16)
#define AT_READ		AT(20)

extern struct mirror mirror;

/* What libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* One ioctl on a descriptor, or with -1 on the device, and its judgement. */
void judge_ioctl(int fd, unsigned int cmd, unsigned long arg, bool flipped);
void judge_read(int fd, unsigned long buf, size_t len);
void judge_poll(int fd);
void judge_close(int fd);
/* Timers that are due fire, if @eager before they are late; work runs if @work. */
void judge_clock(bool eager, bool work);
/* All of the module against all of the mirror. */
void judge_all(void);
/* Nothing is left of an input. */
void judge_end(void);
void judge_limits(void);

#endif /* LKVFENCE_FUZZ_FUZZ_H */
