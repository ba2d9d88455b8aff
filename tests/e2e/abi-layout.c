// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The structs are laid out the same for 32 and for 64 bits, and as they were
 * in ABI 1: all that comes later is added at the end.
 */
#include "abi.h"

#define SIZE(s, n)	gives(sizeof(struct s), n, "size of " #s)
#define AT(s, m, n)	gives(offsetof(struct s, m), n, "place of " #s "." #m)

int main(void)
{
	note("%zu bits", sizeof(void *) * 8);
	SIZE(lkvfence_range, 8);
	SIZE(lkvfence_info, 96);
	AT(lkvfence_info, features, 16);
	AT(lkvfence_info, timeout_default_ns, 40);
	AT(lkvfence_info, version, 64);
	SIZE(lkvfence_open, 104);
	AT(lkvfence_open, slot_size, 72);
	AT(lkvfence_open, fd, 96);
	SIZE(lkvfence_stat, 312);
	AT(lkvfence_stat, slots, 88);
	AT(lkvfence_stat, released, 160);
	AT(lkvfence_stat, handles, 304);
	SIZE(lkvfence_begin, 96);
	AT(lkvfence_begin, nr_ranges, 32);
	AT(lkvfence_begin, generation, 64);
	AT(lkvfence_begin, state, 92);
	SIZE(lkvfence_take, 24);
	SIZE(lkvfence_return_item, 24);
	AT(lkvfence_return_item, result, 16);
	SIZE(lkvfence_return, 24);
	SIZE(lkvfence_abort, 64);
	AT(lkvfence_abort, deadline_ns, 40);
	SIZE(lkvfence_release, 32);
	SIZE(lkvfence_lease, 8);
	SIZE(lkvfence_query, 128);
	AT(lkvfence_query, begun_ns, 48);
	AT(lkvfence_query, ranges, 80);
	AT(lkvfence_query, comm, 112);
	SIZE(lkvfence_adopt, 16);
	SIZE(lkvfence_event, 64);
	AT(lkvfence_event, type, 32);
	return done();
}
