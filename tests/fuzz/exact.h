/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What exact.c and exact_calls.c share. */
#ifndef LKVFENCE_FUZZ_EXACT_H
#define LKVFENCE_FUZZ_EXACT_H

#include "differential.h"
#include "mirror.h"

#define SLOTS		96
#define EXACT_ITEMS	40
#define EXACT_QPS	3
#define EXACT_PULLS	6
#define EXACT_TOMBSTONES 5

extern struct mirror m;
/* The device rxe0 is there. */
extern bool exact_has_rxe;

u32 pick(u32 n);
u64 any_number(void);

/* Arguments for @c->cmd, and what they point to. Returns the items of RETURN. */
struct lkvfence_return_item *fill(struct call *c, const struct mirror_region *r);
/* A struct longer or shorter than ours, or an array that isn't there. */
void spoil(struct call *c, u8 *bytes);

#endif /* LKVFENCE_FUZZ_EXACT_H */
