// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The command and the real library, with this in the place of the kernel: the
 * linker's --wrap sends their ioctls here. Time stands still, so that each
 * line of output is known beforehand.
 *
 *   FAKE_ABI_OLDEST=N    the module serves programs of ABI N and newer only
 *   FAKE_TRANSFERS=N     region "big" has so many
 *   FAKE_UNPRIVILEGED=1  the caller has no capabilities
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <lkvfence.h>

#define NOW		1000000000000ull
#define SECOND		1000000000ull
/* beyond 53 bits, so that what goes through a double is seen to change */
#define GENERATION	9007199254740993ull
#define MANY		300u

int __wrap_ioctl(int fd, unsigned long cmd, ...);

static const struct lkvfence_query transfers[] = {
	{	/* waiting, under a time to live */
		.generation = GENERATION, .tag = 42,
		.state = LKVFENCE_STATE_WAITING,
		.policy = LKVFENCE_POLICY_TAINT, .nr_slots = 17,
		.begun_ns = NOW - 3 * SECOND,
		.deadline_ns = NOW + 57 * SECOND,
		.nr_ranges = 2, .nr_leases = 3, .leases_out = 2,
		.pid = 1234, .comm = "python3",
	},
	{	/* held, of a tag that comes again */
		.generation = GENERATION + 1, .tag = 43,
		.state = LKVFENCE_STATE_ENDED,
		.policy = LKVFENCE_POLICY_TAINT,
		.reason = LKVFENCE_REASON_ABORTED, .nr_slots = 17,
		.begun_ns = NOW - 90 * SECOND, .ended_ns = NOW - SECOND / 4,
		.deadline_ns = NOW + 29 * SECOND,
		.nr_ranges = 2, .nr_leases = 3, .leases_out = 2,
		.pid = 1234, .comm = "python3",
	},
	{	/* in quarantine, by somebody with a nasty name */
		.generation = GENERATION + 2, .tag = 43,
		.state = LKVFENCE_STATE_ENDED,
		.policy = LKVFENCE_POLICY_QUARANTINE,
		.reason = LKVFENCE_REASON_ORPHANED, .nr_slots = 17,
		.flags = LKVFENCE_TRANSFER_QUARANTINED |
			 LKVFENCE_TRANSFER_ORPHANED,
		.begun_ns = NOW - 7384 * SECOND,
		.ended_ns = NOW - 200 * SECOND,
		.deadline_ns = NOW - 170 * SECOND,
		.nr_ranges = 2, .nr_leases = 3, .leases_out = 2,
		.pid = 99, .comm = "a\033[31m\"\\\xc3\xa9\xff\x7f",
	},
	{	/* of many pieces, with the highest tag, without leases out */
		.generation = GENERATION + 3, .tag = UINT64_MAX,
		.state = LKVFENCE_STATE_WAITING,
		.policy = LKVFENCE_POLICY_TAINT, .nr_slots = MANY * 2,
		.begun_ns = NOW - 5000,
		.nr_ranges = MANY, .nr_leases = MANY, .leases_out = MANY,
		.pid = 1234, .comm = "python3",
	},
	{	/* its access is being taken away */
		.generation = GENERATION + 4, .tag = 44,
		.state = LKVFENCE_STATE_ENDED,
		.policy = LKVFENCE_POLICY_REVOKE | LKVFENCE_POLICY_QUARANTINE,
		.reason = LKVFENCE_REASON_REVOKED, .nr_slots = 17,
		.flags = LKVFENCE_TRANSFER_REVOKING |
			 LKVFENCE_TRANSFER_REVOCABLE,
		.begun_ns = NOW - 90 * SECOND, .ended_ns = NOW - SECOND,
		.deadline_ns = NOW + SECOND,
		.nr_ranges = 2, .nr_leases = 3, .leases_out = 1,
		.pid = 1234, .comm = "python3",
	},
	{	/* its data may be pulled */
		.generation = GENERATION + 5, .tag = 45,
		.state = LKVFENCE_STATE_READY,
		.policy = LKVFENCE_POLICY_TAINT, .nr_slots = 17,
		.flags = LKVFENCE_TRANSFER_OFFERED,
		.begun_ns = NOW - SECOND, .deadline_ns = NOW + SECOND,
		.nr_ranges = 2, .nr_leases = 2, .leases_out = 1,
		.pid = 1234, .comm = "python3",
	},
	{	/* in a group, with a source that is still at it */
		.generation = GENERATION + 6, .tag = 46,
		.state = LKVFENCE_STATE_WAITING,
		.policy = LKVFENCE_POLICY_TAINT, .nr_slots = 17,
		.flags = LKVFENCE_TRANSFER_GROUPED,
		.begun_ns = NOW - SECOND,
		.nr_ranges = 2, .nr_leases = 2, .leases_out = 1,
		.pid = 1234, .comm = "python3",
	},
	{	/* another one of it, that waits for the group alone */
		.generation = GENERATION + 7, .tag = 47,
		.state = LKVFENCE_STATE_ENDED,
		.policy = LKVFENCE_POLICY_TAINT,
		.reason = LKVFENCE_REASON_FINISHED, .nr_slots = 17,
		.flags = LKVFENCE_TRANSFER_GROUPED |
			 LKVFENCE_TRANSFER_GATHERED,
		.begun_ns = NOW - 2 * SECOND, .ended_ns = NOW - SECOND,
		.deadline_ns = NOW + SECOND,
		.nr_ranges = 2,
		.pid = 1234, .comm = "python3",
	},
};

#define NR_TRANSFERS (sizeof(transfers) / sizeof(transfers[0]))

#define MAX_QPS		2

static const struct source {
	struct lkvfence_query_source query;
	struct lkvfence_qp qps[MAX_QPS];
} sources[] = {
	{	/* by who gave no name */
		{ .source = 0, .state = LKVFENCE_SOURCE_BOUND, .binding = 5,
		  .nr_qps = 1, .leases_out = 2, .pid = 1234 },
		{ { "mlx5_0", 17, LKVFENCE_QP_OPEN } },
	},
	{	/* with a nasty name */
		{ .source = 2, .state = LKVFENCE_SOURCE_REVOKING,
		  .binding = GENERATION, .nr_qps = 2, .leases_out = 1,
		  .pid = 99, .peer = "p\033[31m \"\xc3\xa9" },
		{ { "rxe0", 18, LKVFENCE_QP_ERR }, { "rxe1", 19, LKVFENCE_QP_QUIET } },
	},
	{	/* with names that fill their arrays, and the last number */
		{ .source = UINT32_MAX, .state = LKVFENCE_SOURCE_LOST,
		  .binding = 7, .nr_qps = 1, .pid = 99,
		  .peer = "0123456789012345678901234567890123456789012345678901234567890123" },
		{ { "0123456789012345678901234567890123456789012345678901234567890123",
		    UINT32_MAX, LKVFENCE_QP_LOST } },
	},
};

#define NR_SOURCES (sizeof(sources) / sizeof(sources[0]))

static enum region { KV0, CLOSED, BIG, NR_REGIONS } region_of[1024];
static bool let_go;

static unsigned int setting(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static int fake_info(struct lkvfence_info *info)
{
	info->abi = LKVFENCE_ABI;
	info->abi_oldest = 1;
	info->max_qps = MAX_QPS;
	info->features = LKVFENCE_FEATURE_QP;
	if (setting("FAKE_ABI_OLDEST")) {
		info->abi = setting("FAKE_ABI_OLDEST");
		info->abi_oldest = info->abi;
	}
	strcpy(info->version, "0.1.0");
	return 0;
}

static int fake_open(struct lkvfence_open *open_)
{
	static const char *const names[] = { "kv0", "closed", "big" };
	enum region i;

	/* an onlooker creates nothing */
	if (open_->flags & ~LKVFENCE_OPEN_NONBLOCK || open_->nr_slots)
		return -EINVAL;
	for (i = 0; i < NR_REGIONS; i++)
		if (!strcmp(open_->name, names[i]))
			break;
	if (i == NR_REGIONS)
		return -ENOENT;
	if (i == CLOSED)
		return -EACCES;
	open_->nr_slots = 4096;
	open_->slot_size = 65536;
	open_->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (open_->fd < 0 || open_->fd >= 1024)
		return -EMFILE;
	region_of[open_->fd] = i;
	return 0;
}

static int fake_stat(struct lkvfence_stat *stat)
{
	strcpy(stat->name, "kv0");
	stat->slot_size = 65536;
	stat->base = 0x7f0000000000;
	stat->accepts = 1 << LKVFENCE_EVIDENCE_SUCCESS_CQE |
			1 << LKVFENCE_EVIDENCE_MR_DEREGISTERED;
	stat->slots = 4096;
	stat->slots_taken = 651;
	stat->slots_held = 34;
	stat->slots_quarantined = 17;
	stat->transfers_alive = 4;
	stat->transfers_held = 2;
	stat->transfers_quarantined = 1;
	stat->oldest_hold_ns = 200 * SECOND;
	stat->begun = 10;
	stat->released[LKVFENCE_OUTCOME_COMPLETED] = 3;
	stat->released[LKVFENCE_OUTCOME_DRAINED] = 2;
	stat->released[LKVFENCE_OUTCOME_TIMEOUT] = 1;
	stat->returns_drained = 11;
	stat->returns_failed = 12;
	stat->returns_early = 13;
	stat->returns_stale = 14;
	stat->returns_unknown = 15;
	stat->returns_duplicate = 16;
	stat->refused_busy = 17;
	stat->refused_exists = 18;
	stat->refused_limit = 19;
	stat->forced = 20;
	stat->returns_revoked = 21;
	stat->returns_unaccepted = 22;
	stat->refused_revoked = 23;
	stat->revokes = 24;
	stat->revokes_failed = 25;
	stat->evidence[LKVFENCE_EVIDENCE_TIMEOUT] = 26;
	stat->evidence[LKVFENCE_EVIDENCE_RQ_FLUSHED] = 27;
	stat->sources = 28;
	stat->sources_revoked = 29;
	stat->sources_lost = 30;
	stat->strays = 31;
	stat->strays_late = 32;
	stat->mismatches = 33;
	stat->transfers_ready = 34;
	stat->tickets = 35;
	stat->tombstones = 36;
	stat->pulls = 37;
	stat->pulls_granted = 38;
	stat->pulls_refused = 39;
	stat->pulls_closed = 40;
	stat->refused_early = 41;
	stat->transfers_gathered = 42;
	stat->joined = 43;
	stat->ended_by_group = 44;
	stat->handles = 3;
	return 0;
}

static void fill(struct lkvfence_query *q, const struct lkvfence_query *t)
{
	struct lkvfence_range *ranges = (void *)(uintptr_t)q->ranges;
	struct lkvfence_lease *leases = (void *)(uintptr_t)q->leases;
	uint32_t room_ranges = q->nr_ranges, room_leases = q->nr_leases, i;
	uint64_t ranges_ = q->ranges, leases_ = q->leases;

	*q = *t;
	q->size = sizeof(*q);
	q->now_ns = NOW;
	q->ranges = ranges_;
	q->leases = leases_;
	for (i = 0; i < q->nr_ranges && i < room_ranges; i++) {
		if (q->nr_ranges == MANY)
			ranges[i] = (struct lkvfence_range){ 100 + i * 4, 2 };
		else
			ranges[i] = (struct lkvfence_range){ i * 32,
							     i ? 1 : 16 };
	}
	for (i = 0; i < q->nr_leases && i < room_leases; i++) {
		leases[i] = (struct lkvfence_lease){
			i, LKVFENCE_LEASE_OUT, LKVFENCE_EVIDENCE_NONE };
		if (q->nr_leases == MANY)
			continue;
		if (i == 1) {
			leases[i].state = LKVFENCE_LEASE_DRAINED;
			leases[i].evidence = LKVFENCE_EVIDENCE_SUCCESS_CQE;
		} else if (i == 2 && q->flags & LKVFENCE_TRANSFER_REVOKING) {
			leases[i].state = LKVFENCE_LEASE_REVOKED;
			leases[i].evidence = LKVFENCE_EVIDENCE_MW_INVALIDATED;
		} else if (i == 2) {
			leases[i].state = LKVFENCE_LEASE_FAILED;
		}
	}
}

static int query_big(struct lkvfence_query *q)
{
	struct lkvfence_query t = transfers[0];

	t.generation = q->generation + (q->by == LKVFENCE_QUERY_NEXT);
	if (t.generation > setting("FAKE_TRANSFERS"))
		return -ENOENT;
	fill(q, &t);
	return 0;
}

static int fake_query(struct lkvfence_query *q)
{
	const struct lkvfence_query *t;

	if (q->by == LKVFENCE_QUERY_SLOT && q->slot >= 4096)
		return -ERANGE;
	for (t = transfers; t < transfers + NR_TRANSFERS; t++) {
		if (let_go && t == &transfers[2])
			continue;
		if ((q->by == LKVFENCE_QUERY_GENERATION &&
		     t->generation == q->generation) ||
		    (q->by == LKVFENCE_QUERY_SLOT && q->slot == 101 &&
		     t == &transfers[3]) ||
		    (q->by == LKVFENCE_QUERY_NEXT &&
		     t->generation > q->generation)) {
			fill(q, t);
			return 0;
		}
	}
	if (q->by == LKVFENCE_QUERY_GENERATION && q->generation < GENERATION)
		return -ESTALE;
	return -ENOENT;
}

static int fake_query_source(struct lkvfence_query_source *q)
{
	struct lkvfence_qp *qps = (void *)(uintptr_t)q->qps;
	uint32_t i, room = q->nr_qps;

	if (q->flags != LKVFENCE_QUERY_SOURCE_FROM || room > MAX_QPS)
		return -EINVAL;
	for (i = 0; i < NR_SOURCES; i++)
		if (sources[i].query.source >= q->source)
			break;
	if (i == NR_SOURCES)
		return -ENOENT;
	*q = sources[i].query;
	q->size = sizeof(*q);
	memcpy(qps, sources[i].qps,
	       (q->nr_qps < room ? q->nr_qps : room) * sizeof(*qps));
	return 0;
}

#define OTHER_UID	1000

static const struct lkvfence_peer peers[] = {
	{	/* probed; its name is as long as may be */
		.id = 3, .name = "[fe80::1%eth0]:4791/012345678901234567890123456789012345678901",
		.session = GENERATION, .generation = GENERATION + 1,
		.state = LKVFENCE_PEER_FAILED, .pid = 1234, .uid = 0,
		.since_ns = NOW - 90 * SECOND, .next_probe_ns = NOW + 5 * SECOND,
		.failures = 3, .recoveries = 2, .probes = 7, .refused = 40,
		.sessions = 2, .stale = 1,
	},
	{	/* nobody probes it, and nobody may yet; it has no session */
		.id = 4, .name = "p4", .generation = 5,
		.state = LKVFENCE_PEER_FAILED, .uid = 0,
		.since_ns = NOW - SECOND, .next_probe_ns = NOW + 29 * SECOND,
		.failures = 1,
	},
	{	/* anybody may */
		.id = 5, .name = "p5", .session = 1, .generation = 6,
		.state = LKVFENCE_PEER_FAILED, .uid = 0,
		.since_ns = NOW - SECOND, .next_probe_ns = NOW - SECOND,
		.failures = 1, .sessions = 1,
	},
	{	/* another user's */
		.id = UINT32_MAX, .name = "p6", .session = 1, .generation = 7,
		.state = LKVFENCE_PEER_HEALTHY, .uid = OTHER_UID,
		.since_ns = NOW - 7384 * SECOND, .sessions = 1,
	},
};

static int fake_peer(struct lkvfence_peer *p)
{
	bool all = p->flags & LKVFENCE_PEER_ALL;
	size_t i;

	if (p->op != LKVFENCE_PEER_OP_LOOK || !(p->flags & LKVFENCE_PEER_NEXT))
		return -EINVAL;
	if (all && setting("FAKE_UNPRIVILEGED"))
		return -EPERM;
	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		uint32_t flags = p->flags;

		if (peers[i].id <= p->id || (!all && peers[i].uid == OTHER_UID))
			continue;
		*p = peers[i];
		p->size = sizeof(*p);
		p->flags = flags;
		p->now_ns = NOW;
		return 0;
	}
	return -ENOENT;
}

static int fake_release(const struct lkvfence_release *release)
{
	if (release->flags != LKVFENCE_RELEASE_FORCE)
		return -EINVAL;
	if (setting("FAKE_UNPRIVILEGED"))
		return -EPERM;
	if (release->generation < GENERATION)
		return -ESTALE;
	if (release->generation > GENERATION + 5)
		return -ENOENT;
	if (release->generation != GENERATION + 2)
		return -EBUSY;
	if (let_go)
		return -ESTALE;
	let_go = true;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;
	int err;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	switch (cmd) {
	case LKVFENCE_IOC_INFO:
		err = fake_info(arg);
		break;
	case LKVFENCE_IOC_OPEN:
		err = fake_open(arg);
		break;
	case LKVFENCE_IOC_STAT:
		err = fake_stat(arg);
		break;
	case LKVFENCE_IOC_QUERY:
		err = region_of[fd] == BIG ? query_big(arg) : fake_query(arg);
		break;
	case LKVFENCE_IOC_QUERY_SOURCE:
		err = region_of[fd] == KV0 ? fake_query_source(arg) : -ENOENT;
		break;
	case LKVFENCE_IOC_PEER:
		err = fake_peer(arg);
		break;
	case LKVFENCE_IOC_RELEASE:
		err = fake_release(arg);
		break;
	default:
		err = -ENOTTY;
	}
	if (!err)
		return 0;
	errno = -err;
	return -1;
}
