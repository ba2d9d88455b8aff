// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups and peers: what is asked.
 */
#include "fuzz.h"

static void fill_join(struct lkvfence_join *a)
{
	u8 how = fuzz_byte();

	a->generation = fuzz_generation();
	a->group = how % 3;
	a->nr_members = how < 224 ? 2U + how / 3 % 3 : how < 250 ? how - 220U : (u32)fuzz_word();
	a->pad = how == 255;
	a->flags = how == 254;
}

static void fill_peer(struct lkvfence_peer *a)
{
	static const char * const names[] = { "a", "b", "c", "", "a b", "a\x7f" };
	u8 how = fuzz_byte(), more = fuzz_byte();

	a->op = how < 250 ? how % 6 : how;
	if (more & 1)
		a->flags = how < 200 ? how / 6 % 16 : how / 6;
	/* Most watch nothing. */
	if (more & 2)
		a->flags &= ~LKVFENCE_PEER_WATCH;
	strscpy(a->name, names[more / 4 % 8 < 6 ? more / 4 % 3 : 3 + more / 32 % 3],
		sizeof(a->name));
	if (more == 255)
		memset(a->name, 'x', sizeof(a->name));
	a->id = mirror.last_peer - fuzz_byte() % 4;
	a->session = fuzz_byte() % 3;
	a->generation = fuzz_byte() < 200 ? 0 : fuzz_byte();
	a->probe = fuzz_byte() < 128 ? 0 : fuzz_byte();
	a->interval_ns = fuzz_byte() < 128 ? 0 : fuzz_timeout();
}

void fuzz_fill_healthy(struct lkvfence_take *a)
{
	a->flags = LKVFENCE_TAKE_HEALTHY;
	a->peer = mirror.last_peer - fuzz_byte() % 4;
}

u32 fuzz_fill_peers(union argument *a, unsigned int cmd)
{
	switch (cmd) {
	case LKVFENCE_IOC_JOIN:
		fill_join(&a->join);
		return sizeof(a->join);
	case LKVFENCE_IOC_PEER:
		fill_peer(&a->peer);
		return sizeof(a->peer);
	default:
		return sizeof(a->info);
	}
}
