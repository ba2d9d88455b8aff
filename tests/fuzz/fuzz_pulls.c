// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pulls: what is asked.
 */
#include "fuzz.h"

static void fill_ready(struct lkvfence_ready *a)
{
	u8 how = fuzz_byte();

	a->generation = fuzz_generation();
	a->ttl_ns = how & 1 ? fuzz_timeout() : 0;
	a->consumers = how < 240 ? how / 2 % 4 : fuzz_count(MIRROR_MAX_LEASES);
	a->pad = how == 255;
	a->flags = how == 254;
	a->deadline_ns = 77;
}

static void fill_pull(struct lkvfence_pull *a)
{
	u8 how = fuzz_byte();

	a->tag = fuzz_byte() % 8;
	if (how & 1)
		a->flags = LKVFENCE_PULL_EXACT;
	if (how & 3)
		a->generation = fuzz_generation();
	a->timeout_ns = how & 4 ? fuzz_timeout() : 0;
	a->unclaimed_ns = how & 8 ? fuzz_timeout() : 0;
	a->source = fuzz_source();
	a->pad = how == 255;
	if (how == 254)
		a->flags = fuzz_byte();
	a->ticket = 77;
}

/* One that there is, or was, or isn't yet. */
static void fill_withdraw(struct lkvfence_withdraw *a)
{
	u8 b = fuzz_byte();

	a->ticket = b == 255 ? fuzz_word() : mirror.last_ticket + 1 - b % 32;
	a->flags = b == 254;
}

u32 fuzz_fill_pulls(union argument *a, unsigned int cmd)
{
	switch (cmd) {
	case LKVFENCE_IOC_READY:
		fill_ready(&a->ready);
		return sizeof(a->ready);
	case LKVFENCE_IOC_PULL:
		fill_pull(&a->pull);
		return sizeof(a->pull);
	case LKVFENCE_IOC_WITHDRAW:
		fill_withdraw(&a->withdraw);
		return sizeof(a->withdraw);
	default:
		return fuzz_fill_peers(a, cmd);
	}
}
