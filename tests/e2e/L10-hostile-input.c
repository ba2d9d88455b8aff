// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L10: any bytes get an errno. Random commands with random arguments, some
 * nearly right, for some seconds, by two processes in one region; then the
 * counters must add up and the region must work.
 */
#include "abi.h"

#define NAME	"L10-hostile-input"
#define SECONDS	4

static uint64_t state;

static uint64_t rnd(void)
{
	/* xorshift */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t below(uint64_t n)
{
	return rnd() % n;
}

/* A number near to something that matters. */
static uint64_t number(void)
{
	static const uint64_t near[] = {
		0, 1, 2, 63, 64, 4096, 65536, UINT32_MAX, 1ULL << 32,
		10 * MS, 30000 * MS, 3600000 * MS, UINT64_MAX,
	};

	return below(4) ? near[below(ARRAY_SIZE(near))] + below(3) - 1 : rnd();
}

#define INNER	(1 << 16)

/*
 * Behind it is memory that can't be touched. Far from all else, for a pointer
 * with a spoilt byte is written to as well: not into what libc keeps for the
 * thread, a page away from where mmap() would put this.
 */
#define INNER_AT	((void *)0x200000000000)
static char *inner;

static uint64_t pointer(void)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return number();
	case 2:
		return (uintptr_t)&inner[INNER - below(64)];
	default:
		return (uintptr_t)&inner[below(64)];
	}
}

static uint64_t a_generation(int fd)
{
	struct lkvfence_query q = {
		.size = sizeof(q),
		.by = below(2) ? LKVFENCE_QUERY_NEXT : LKVFENCE_QUERY_SLOT,
		.slot = below(64),
	};

	return sys(fd, LKVFENCE_IOC_QUERY, &q) ? number() : q.generation;
}

/* REVOKE is carried out nowhere here, and asked for all the same. */
static uint32_t a_policy(void)
{
	return below(3) | (below(4) ? 0 : below(4) << 8);
}

/* QPs of this machine: none, that of its management, and anything. */
static void some_qps(void)
{
	static const char * const devices[] = { "rxe0", "rxe1", "", "rxe0/1", "%s" };
	static const uint32_t numbers[] = { 0, 1, 17, 0x01000001, UINT32_MAX };
	struct lkvfence_qp *qp = (void *)inner;
	int i;

	memset(qp, 0, 4 * sizeof(*qp));
	for (i = 0; i < 4; i++) {
		if (below(8))
			snprintf(qp[i].device, sizeof(qp[i].device), "%s",
				 devices[below(ARRAY_SIZE(devices))]);
		else
			memset(qp[i].device, 'x', sizeof(qp[i].device));
		qp[i].number = below(2) ? numbers[below(ARRAY_SIZE(numbers))] : rnd();
		qp[i].state = below(8) ? 0 : number();
	}
}

static void sensible(int fd, const struct abi_command *cmd, union abi_arg *arg)
{
	struct lkvfence_range *range = (void *)inner;
	struct lkvfence_return_item *item = (void *)inner;
	int i;

	arg->size = cmd->size;
	switch (cmd->cmd) {
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		arg->begin.tag = below(16);
		arg->begin.ranges = pointer();
		arg->begin.sources = pointer();
		arg->begin.nr_ranges = below(4);
		arg->begin.nr_sources = below(4);
		arg->begin.policy = a_policy();
		if (cmd->cmd == LKVFENCE_IOC_BEGIN)
			arg->begin.flags = below(2);
		if (cmd->cmd == LKVFENCE_IOC_HOLD && below(2))
			arg->begin.timeout_ns = 10 * MS + below(100 * MS);
		else if (cmd->cmd == LKVFENCE_IOC_BEGIN && below(2))
			arg->begin.ttl_ns = 10 * MS + below(100 * MS);
		for (i = 0; i < 16; i++)
			range[i] = (struct lkvfence_range){ below(66), below(4) };
		break;
	case LKVFENCE_IOC_TAKE:
		arg->take.generation = a_generation(fd);
		arg->take.source = below(66);
		break;
	case LKVFENCE_IOC_RETURN:
		arg->ret.items = pointer();
		arg->ret.nr_items = below(20);
		for (i = 0; i < 20; i++)
			item[i] = (struct lkvfence_return_item){
				.generation = a_generation(fd),
				.source = below(66),
				.status = below(4),
				.evidence = below(12),
			};
		break;
	case LKVFENCE_IOC_ABORT:
		arg->abort.flags = below(32) ? below(4) : below(16);
		arg->abort.reason = below(4) ? 0 : below(16);
		arg->abort.generation = a_generation(fd);
		arg->abort.tag = below(16);
		arg->abort.policy = a_policy();
		arg->abort.timeout_ns = below(2) ? 10 * MS : 0;
		break;
	case LKVFENCE_IOC_RELEASE:
		arg->release.flags = below(2);
		arg->release.generation = a_generation(fd);
		break;
	case LKVFENCE_IOC_QUERY:
		arg->query.by = below(5);
		arg->query.generation = a_generation(fd);
		arg->query.ranges = pointer();
		arg->query.leases = pointer();
		arg->query.nr_ranges = below(4);
		arg->query.nr_leases = below(4);
		break;
	case LKVFENCE_IOC_ADOPT:
		arg->adopt.generation = a_generation(fd);
		break;
	case LKVFENCE_IOC_SOURCE:
		arg->source.flags = !below(4);
		arg->source.source = below(66);
		arg->source.nr_qps = below(8) ? below(4) : number();
		arg->source.qps = pointer();
		memset(arg->source.peer, 'p', below(66) % 65);
		some_qps();
		break;
	case LKVFENCE_IOC_QUIET:
		arg->quiet.binding = below(64);
		arg->quiet.qp = below(4) ? below(4) : LKVFENCE_QUIET_ALL;
		arg->quiet.evidence = below(12);
		break;
	case LKVFENCE_IOC_REPORT:
		arg->report.generation = a_generation(fd);
		arg->report.kind = below(5);
		arg->report.nr_slots = below(4) ? below(66) : number();
		break;
	case LKVFENCE_IOC_QUERY_SOURCE:
		arg->query_source.flags = below(2);
		arg->query_source.source = below(66);
		arg->query_source.qps = pointer();
		arg->query_source.nr_qps = below(8) ? below(4) : number();
		break;
	case LKVFENCE_IOC_READY:
		arg->ready.generation = a_generation(fd);
		arg->ready.ttl_ns = below(2) ? 10 * MS + below(100 * MS) : 0;
		arg->ready.consumers = below(4) ? below(4) : number();
		break;
	case LKVFENCE_IOC_PULL:
		arg->pull.flags = !below(4);
		arg->pull.tag = below(16);
		arg->pull.generation = below(2) ? a_generation(fd) : 0;
		arg->pull.timeout_ns = below(2) ? 10 * MS + below(100 * MS) : 0;
		arg->pull.unclaimed_ns = below(2) ? 10 * MS : 0;
		arg->pull.source = below(66);
		break;
	case LKVFENCE_IOC_WITHDRAW:
		arg->withdraw.ticket = below(4) ? below(4096) : number();
		break;
	default:
		snprintf(arg->open.name, sizeof(arg->open.name), NAME);
	}
}

static unsigned long one(int dev, int *fd, unsigned int *oddities)
{
	const struct abi_command *cmd = &abi_commands[below(ARRAY_SIZE(abi_commands))];
	union abi_arg arg;
	size_t i;
	int ret;

	memset(&arg, 0, sizeof(arg));
	if (below(8))
		sensible(*fd, cmd, &arg);
	else
		for (i = 0; i < sizeof(arg); i += 8)
			((uint64_t *)&arg)[i / 8] = number();
	/* Spoil some bytes. */
	for (i = below(4); i && !below(2); i--)
		((char *)&arg)[below(cmd->size)] = rnd();
	/* No new regions, and no read(2) that waits for ever. */
	if (cmd->cmd == LKVFENCE_IOC_OPEN)
		arg.open.flags = (arg.open.flags & ~LKVFENCE_OPEN_CREATE) |
				 LKVFENCE_OPEN_NONBLOCK;
	ret = sys(cmd->on_device ? dev : *fd, cmd->cmd,
		  below(32) ? (void *)&arg : (void *)(uintptr_t)pointer());
	if (ret > 0 || ret < -4095 || ret == -ENOTTY)
		++*oddities;
	if (!ret && cmd->cmd == LKVFENCE_IOC_OPEN && arg.open.fd > 2) {
		if (below(2)) {
			close(*fd);
			*fd = arg.open.fd;
		} else {
			close(arg.open.fd);
		}
	}
	if (!below(8) && read(*fd, inner + below(INNER), number()) < -1)
		++*oddities;
	return !ret;
}

static int hostile(void *arg)
{
	int64_t end = now_ns() + SECONDS * 1000 * (int64_t)MS;
	int dev = device(), fd = region_fd(NAME, 0, LKVFENCE_OPEN_NONBLOCK);
	unsigned long calls = 0, good = 0;
	unsigned int oddities = 0;

	state = *(uint64_t *)arg;
	while (now_ns() < end) {
		good += one(dev, &fd, &oddities);
		calls++;
	}
	note("%lu calls, %lu of them succeeded", calls, good);
	return oddities || good < 100 || calls < 1000;
}

int main(void)
{
	uint64_t seeds[2] = { 0x9e3779b97f4a7c15, now_ns() };
	struct lkvfence *f = region(NAME, 64);
	struct lkvfence_stat stat;
	pid_t pid;

	inner = mmap(INNER_AT, 2 * INNER, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	need(inner != MAP_FAILED && !mprotect(inner + INNER, INNER, PROT_NONE),
	     "memory");
	/* What is held for good reasons must be gone in the end. */
	set_param("timeout_default_ms", 500);
	set_param("timeout_max_ms", 1000);
	note("seed %" PRIu64, seeds[1]);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		_exit(hostile(&seeds[0]));
	gives(in_child(hostile, &seeds[1]), 0, "a seed that is new");
	gives(status_of(pid), 0, "a seed that is always the same");
	stat = stat_of(f);
	check(stat.pulls_granted && stat.pulls_refused && stat.pulls_closed,
	      "pulls: %" PRIu64 " granted, %" PRIu64 " refused, %" PRIu64 " closed",
	      (uint64_t)stat.pulls_granted, (uint64_t)stat.pulls_refused,
	      (uint64_t)stat.pulls_closed);
	check(adds_up(&stat), "begun = alive + released: %" PRIu64 " = %" PRIu64 " + ...",
	      (uint64_t)stat.begun, (uint64_t)stat.transfers_alive);
	check(!stat.sources && !stat.sources_revoked && !stat.sources_lost && !stat.revokes,
	      "nothing was bound, and nothing revoked");
	clear(f);
	stat = stat_of(f);
	check(!stat.slots_taken && !stat.slots_held && !stat.slots_quarantined &&
	      adds_up(&stat), "all slots come back");
	gives(lkvfence_release(f, begin(f, 1, 0, 64, 0)), 0, "the region works");
	lkvfence_close(f);
	return done();
}
