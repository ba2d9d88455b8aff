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
	SIZE(lkvfence_info, 144);
	AT(lkvfence_info, features, 16);
	AT(lkvfence_info, timeout_default_ns, 40);
	AT(lkvfence_info, settle_ns, 64);
	AT(lkvfence_info, max_qps, 84);
	AT(lkvfence_info, unclaimed_ns, 88);
	AT(lkvfence_info, tombstone_ns, 96);
	AT(lkvfence_info, max_tombstones, 104);
	AT(lkvfence_info, max_pulls, 108);
	AT(lkvfence_info, version, 112);
	SIZE(lkvfence_open, 112);
	AT(lkvfence_open, slot_size, 72);
	AT(lkvfence_open, fd, 96);
	AT(lkvfence_open, accepts, 104);
	SIZE(lkvfence_stat, 592);
	AT(lkvfence_stat, slots, 88);
	AT(lkvfence_stat, released, 160);
	AT(lkvfence_stat, returns_revoked, 240);
	AT(lkvfence_stat, refused_revoked, 312);
	AT(lkvfence_stat, handles, 328);
	AT(lkvfence_stat, evidence, 352);
	AT(lkvfence_stat, sources, 480);
	AT(lkvfence_stat, mismatches, 520);
	AT(lkvfence_stat, transfers_ready, 528);
	AT(lkvfence_stat, pulls, 552);
	AT(lkvfence_stat, refused_early, 584);
	SIZE(lkvfence_begin, 96);
	AT(lkvfence_begin, nr_ranges, 32);
	AT(lkvfence_begin, generation, 64);
	AT(lkvfence_begin, state, 92);
	SIZE(lkvfence_take, 24);
	SIZE(lkvfence_return_item, 24);
	AT(lkvfence_return_item, result, 16);
	SIZE(lkvfence_return, 24);
	SIZE(lkvfence_abort, 72);
	AT(lkvfence_abort, nr_ended, 64);
	AT(lkvfence_abort, deadline_ns, 40);
	SIZE(lkvfence_release, 32);
	SIZE(lkvfence_lease, 8);
	SIZE(lkvfence_query, 128);
	AT(lkvfence_query, begun_ns, 48);
	AT(lkvfence_query, ranges, 80);
	AT(lkvfence_query, comm, 112);
	SIZE(lkvfence_adopt, 16);
	SIZE(lkvfence_event, 64);
	AT(lkvfence_event, held_ns, 24);
	AT(lkvfence_event, ticket, 24);
	AT(lkvfence_event, type, 32);
	SIZE(lkvfence_qp, 72);
	AT(lkvfence_qp, number, 64);
	SIZE(lkvfence_source, 96);
	AT(lkvfence_source, qps, 16);
	AT(lkvfence_source, peer, 24);
	AT(lkvfence_source, binding, 88);
	SIZE(lkvfence_quiet, 24);
	AT(lkvfence_quiet, binding, 8);
	AT(lkvfence_quiet, evidence, 20);
	SIZE(lkvfence_report, 24);
	AT(lkvfence_report, kind, 16);
	SIZE(lkvfence_query_source, 112);
	AT(lkvfence_query_source, binding, 16);
	AT(lkvfence_query_source, qps, 24);
	AT(lkvfence_query_source, peer, 48);
	SIZE(lkvfence_ready, 40);
	AT(lkvfence_ready, ttl_ns, 16);
	AT(lkvfence_ready, consumers, 24);
	AT(lkvfence_ready, deadline_ns, 32);
	SIZE(lkvfence_pull, 56);
	AT(lkvfence_pull, tag, 8);
	AT(lkvfence_pull, timeout_ns, 24);
	AT(lkvfence_pull, source, 40);
	AT(lkvfence_pull, ticket, 48);
	SIZE(lkvfence_withdraw, 16);
	AT(lkvfence_withdraw, ticket, 8);
	return done();
}
