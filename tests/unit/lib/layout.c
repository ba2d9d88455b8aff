// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The header alone, and the sizes and offsets that it must have for every
 * compiler, language and word size. A program of 32 bits talks to a kernel of
 * 64, so a struct that differs is a broken ABI. Compiled, never run.
 */
#include <lkvfence.h>

#ifdef __cplusplus
#define CHECK(e)	static_assert(e, #e)
#else
#define CHECK(e)	_Static_assert(e, #e)
#endif

#define SIZE(type, n)		CHECK(sizeof(struct type) == (n))
#define AT(type, member, n)	CHECK(offsetof(struct type, member) == (n))

SIZE(lkvfence_range, 8);
SIZE(lkvfence_info, 144);
AT(lkvfence_info, features, 16);
AT(lkvfence_info, timeout_default_ns, 40);
AT(lkvfence_info, settle_ns, 64);
AT(lkvfence_info, revoke_ns, 72);
AT(lkvfence_info, max_sources, 80);
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
AT(lkvfence_open, pad, 108);
SIZE(lkvfence_stat, 592);
AT(lkvfence_stat, slot_size, 72);
AT(lkvfence_stat, begun, 152);
AT(lkvfence_stat, released, 160);
AT(lkvfence_stat, returns_revoked, 240);
AT(lkvfence_stat, returns_unaccepted, 280);
AT(lkvfence_stat, refused_revoked, 312);
AT(lkvfence_stat, forced, 320);
AT(lkvfence_stat, handles, 328);
AT(lkvfence_stat, revokes, 336);
AT(lkvfence_stat, evidence, 352);
AT(lkvfence_stat, sources, 480);
AT(lkvfence_stat, strays, 504);
AT(lkvfence_stat, mismatches, 520);
AT(lkvfence_stat, transfers_ready, 528);
AT(lkvfence_stat, pulls, 552);
AT(lkvfence_stat, refused_early, 584);
SIZE(lkvfence_begin, 96);
AT(lkvfence_begin, ranges, 16);
AT(lkvfence_begin, generation, 64);
SIZE(lkvfence_take, 24);
SIZE(lkvfence_return_item, 24);
SIZE(lkvfence_return, 24);
SIZE(lkvfence_abort, 72);
AT(lkvfence_abort, nr_ended, 64);
SIZE(lkvfence_release, 32);
SIZE(lkvfence_lease, 8);
SIZE(lkvfence_query, 128);
AT(lkvfence_query, comm, 112);
SIZE(lkvfence_adopt, 16);
SIZE(lkvfence_event, 64);
AT(lkvfence_event, held_ns, 24);
AT(lkvfence_event, ticket, 24);
AT(lkvfence_event, type, 32);
AT(lkvfence_event, leases_out, 56);
SIZE(lkvfence_qp, 72);
AT(lkvfence_qp, number, 64);
AT(lkvfence_qp, state, 68);
SIZE(lkvfence_source, 96);
AT(lkvfence_source, source, 8);
AT(lkvfence_source, nr_qps, 12);
AT(lkvfence_source, qps, 16);
AT(lkvfence_source, peer, 24);
AT(lkvfence_source, binding, 88);
SIZE(lkvfence_query_source, 112);
AT(lkvfence_query_source, state, 12);
AT(lkvfence_query_source, binding, 16);
AT(lkvfence_query_source, qps, 24);
AT(lkvfence_query_source, nr_qps, 32);
AT(lkvfence_query_source, pid, 40);
AT(lkvfence_query_source, peer, 48);
SIZE(lkvfence_quiet, 24);
AT(lkvfence_quiet, binding, 8);
AT(lkvfence_quiet, qp, 16);
AT(lkvfence_quiet, evidence, 20);
SIZE(lkvfence_report, 24);
AT(lkvfence_report, generation, 8);
AT(lkvfence_report, kind, 16);
AT(lkvfence_report, nr_slots, 20);
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

/* what a region may accept: all that the ABI knows, but NONE and TIMEOUT */
CHECK((1 << LKVFENCE_NR_EVIDENCE) - 4 == LKVFENCE_ACCEPT_ALL);
CHECK((LKVFENCE_EVIDENCE_BACKING_GONE + 1) == LKVFENCE_NR_EVIDENCE);
CHECK((LKVFENCE_OUTCOME_GONE + 1) == LKVFENCE_NR_OUTCOMES);

/* STAT has room for more of both than there are: the arrays' ends are above */
CHECK((160 + 8 * LKVFENCE_MAX_OUTCOMES) == offsetof(struct lkvfence_stat, returns_drained));
CHECK((352 + 8 * LKVFENCE_MAX_EVIDENCE) == offsetof(struct lkvfence_stat, sources));
CHECK(LKVFENCE_MAX_OUTCOMES - LKVFENCE_NR_OUTCOMES >= 0);
CHECK(LKVFENCE_MAX_EVIDENCE - LKVFENCE_NR_EVIDENCE >= 0);

/* structs and calls that share a name can be used side by side, in C++ too */
int use(struct lkvfence **f);

int use(struct lkvfence **f)
{
	struct lkvfence_open open_req;
	struct lkvfence_query_source query;
	struct lkvfence_source source;
	struct lkvfence_ready ready;
	struct lkvfence_pull pull;
	struct lkvfence_stat stat;
	int err = lkvfence_open(f, &open_req);

	if (!err)
		err = lkvfence_source(*f, &source);
	if (!err)
		err = lkvfence_query_source(*f, &query);
	if (!err)
		err = lkvfence_ready(*f, &ready);
	if (!err)
		err = lkvfence_pull(*f, &pull);
	return err ? err : lkvfence_stat(*f, &stat);
}
