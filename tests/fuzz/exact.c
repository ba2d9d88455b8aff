// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One thread, several handles on several regions, and the mirror of the oracle:
 * each answer and each event is what it says.
 *
 * The clock is the kernel's, so it is asked when things happened: within the
 * bounds of the call, and then the mirror reckons with that. A deadline that
 * comes near is waited for first. Where one passed during a call all the same,
 * nobody knows which was first: that region is given up and another one used.
 */
#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "exact.h"

#define NAMES		3
#define GUARD_NS	(30 * MS)
#define LATE_NS		(20000 * MS)

struct mirror m;
bool exact_has_rxe;
static int fds[MIRROR_HANDLES];
static uint64_t seed;
static uint64_t nr_calls, nr_given_up, nr_expired, nr_events;
/* Each name has a number, which rises when its region is given up. */
static unsigned int numbers[NAMES];
static const char *doing = "nothing";

u32 pick(u32 n)
{
	return below(&seed, n);
}

u64 any_number(void)
{
	return random_of(&seed);
}

void mirror_fail(const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	check(false, "call %" PRIu64 ", %s: %s", nr_calls, doing, what);
	done();
	exit(1);
}

static void name_of(char *name, unsigned int i)
{
	snprintf(name, LKVFENCE_NAME_MAX, "exact-%u-%u", i, numbers[i]);
}

static int free_handle(void)
{
	for (int i = 0; i < MIRROR_HANDLES; i++)
		if (m.handles[i] < 0)
			return i;
	return -1;
}

static int any_handle(void)
{
	int first = pick(MIRROR_HANDLES);

	for (int i = 0; i < MIRROR_HANDLES; i++) {
		int h = (first + i) % MIRROR_HANDLES;

		if (m.handles[h] >= 0)
			return h;
	}
	return -1;
}

/* Another handle of the same region. */
static int sibling(int h)
{
	for (int i = 0; i < MIRROR_HANDLES; i++)
		if (i != h && m.handles[i] == m.handles[h])
			return i;
	return -1;
}

static int region_handle(const struct mirror_region *r)
{
	for (int i = 0; i < MIRROR_HANDLES; i++)
		if (m.handles[i] >= 0 && mirror_region(&m, i) == r)
			return i;
	return -1;
}

static int ask(int h, uint64_t generation, struct lkvfence_query *q)
{
	*q = (struct lkvfence_query){
		.size = sizeof(*q),
		.generation = generation,
	};
	return sys(fds[h], LKVFENCE_IOC_QUERY, q);
}

/*
 * Time
 */

static void close_one(int h);

/* Its deadline passed during a call: nobody knows what it saw. */
static void give_up(struct mirror_region *r)
{
	int h;

	r->blind = true;
	nr_given_up++;
	numbers[r->name[6] - '0']++;
	while ((h = region_handle(r)) >= 0)
		close_one(h);
	r->exists = false;
}

/* Wait for the first time of a ticket or a tombstone. */
static void wait_for_pulls(struct mirror_region *r)
{
	u64 when = mirror_pulls_clock(r), now;
	struct timespec until = { when / 1000000000, when % 1000000000 };
	struct lkvfence_stat s;
	int h = region_handle(r);

	agree(h >= 0);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	for (;;) {
		s = (struct lkvfence_stat){ .size = sizeof(s) };
		need(!sys(fds[h], LKVFENCE_IOC_STAT, &s), "STAT");
		now = now_ns();
		/* More has happened than can be told apart. */
		if (oracle_next_clock(&r->o) <= now) {
			give_up(r);
			return;
		}
		if (s.tickets != mirror_nr_waiting(r) || s.tombstones != mirror_nr_tombstones(r))
			break;
		/* L8 */
		agree(now < when + LATE_NS);
		usleep(1000);
	}
	r->step++;
	for (; s.tickets < mirror_nr_waiting(r); nr_expired++)
		mirror_expire_ticket(r, when, now);
	for (; s.tombstones < mirror_nr_tombstones(r); nr_expired++)
		agree(mirror_expire_grave(r, now));
	agree(s.tickets == mirror_nr_waiting(r) && s.tombstones == mirror_nr_tombstones(r));
}

/* Wait for the first deadline of a region, and find when it was. */
static void wait_for(struct mirror_region *r)
{
	u64 when = oracle_next_clock(&r->o), now;
	struct transfer_fact *fact = r->o.transfers;
	int h = region_handle(r), err;
	struct lkvfence_query q;
	struct timespec until = { when / 1000000000, when % 1000000000 };

	if (mirror_pulls_clock(r) < when) {
		wait_for_pulls(r);
		return;
	}
	agree(h >= 0);
	while (fact->clock != when)
		fact++;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	for (;;) {
		err = ask(h, fact->generation, &q);
		now = now_ns();
		if (err || q.state != fact->state || (q.flags & LKVFENCE_TRANSFER_QUARANTINED))
			break;
		/* L8 */
		agree(now < when + LATE_NS);
		usleep(1000);
	}
	nr_expired++;
	if (err && oracle_alive(fact) && oracle_unproven(fact)) {
		/* Its hold is over, too: when it ended is not known any more. */
		give_up(r);
	} else if (err) {
		agree(err == -ESTALE);
		mirror_expire_one(&m, r, fact, when, now, now);
	} else if (q.state != fact->state) {
		agree(q.ended_ns >= when && q.ended_ns <= now);
		mirror_expire_one(&m, r, fact, q.ended_ns, q.ended_ns, now);
	} else {
		mirror_expire_one(&m, r, fact, when, now, now);
	}
}

static void wait_for_all(void)
{
	for (int i = 0; i < MIRROR_REGIONS; i++) {
		struct mirror_region *r = &m.regions[i];

		while (r->exists && mirror_next_clock(r) <= (u64)now_ns() + GUARD_NS)
			wait_for(r);
	}
}

/* Give up what has passed a deadline by now. False if it was this one. */
static bool in_time(struct mirror_region *r)
{
	u64 now = now_ns();
	bool good = true;

	for (int i = 0; i < MIRROR_REGIONS; i++) {
		struct mirror_region *other = &m.regions[i];

		if (!other->exists || mirror_next_clock(other) > now)
			continue;
		give_up(other);
		good &= other != r;
	}
	return good;
}

/*
 * When did the call do what it did? 0: that makes no difference. False: it can't
 * be found any more, because the machine stood still and a deadline has passed.
 */
static bool find_time(const struct call *c, u64 *when)
{
	struct mirror_region *r = mirror_region(&m, c->handle);
	struct transfer_fact *fact;
	struct lkvfence_query q;

	*when = 0;
	if (c->err)
		return true;
	switch (c->cmd) {
	case LKVFENCE_IOC_BEGIN:
	case LKVFENCE_IOC_HOLD:
		if (c->out.begin.state == LKVFENCE_STATE_RELEASED)
			return true;
		if (ask(c->handle, c->out.begin.generation, &q))
			return false;
		*when = q.begun_ns;
		return true;
	case LKVFENCE_IOC_TAKE:
		fact = oracle_find(&r->o, c->in.take.generation);
		if (!fact || !fact->ttl || fact->clock)
			return true;
		if (ask(c->handle, fact->generation, &q) || q.state != fact->state)
			return false;
		*when = q.deadline_ns - fact->ttl;
		return true;
	case LKVFENCE_IOC_READY:
		fact = oracle_find(&r->o, c->in.ready.generation);
		if (!fact || !c->in.ready.ttl_ns || !c->out.ready.deadline_ns)
			return true;
		if (fact->state == LKVFENCE_STATE_READY &&
		    c->out.ready.deadline_ns == fact->clock)
			*when = c->earliest;	/* it didn't move */
		else
			*when = c->out.ready.deadline_ns - c->in.ready.ttl_ns;
		return true;
	case LKVFENCE_IOC_ABORT:
		fact = oracle_find(&r->o, c->out.abort.generation);
		if (!fact || fact->in_quarantine ||
		    c->out.abort.state == LKVFENCE_STATE_RELEASED)
			return true;
		if (oracle_alive(fact))
			*when = c->out.abort.deadline_ns -
				(c->in.abort.timeout_ns ? c->in.abort.timeout_ns : m.default_ns);
		else if (c->out.abort.deadline_ns == fact->clock)
			*when = c->earliest;	/* it didn't move */
		else if (c->out.abort.deadline_ns != fact->ended + m.max_ns)
			*when = c->out.abort.deadline_ns - c->in.abort.timeout_ns;
		return true;
	default:
		return true;
	}
}

/* For whoever has to find out why: what came, and what the mirror knows of it. */
static void note_events(struct mirror_region *r, const struct lkvfence_event *e, long n)
{
	note("%s at %" PRId64, r->name, now_ns());
	for (long i = 0; i < n; i++)
		note("event %u of %llu, tag %llu, at %llu, held %llu, reason %u, outcome %u",
		     e[i].type, e[i].generation, e[i].tag, e[i].time_ns, e[i].held_ns,
		     e[i].reason, e[i].outcome);
	for (u32 i = 0; i < r->nr; i++) {
		const struct mirror_transfer *t = &r->transfers[i];
		const struct transfer_fact *fact = oracle_find(&r->o, t->generation);

		note("generation %llu, owner %d, unread %#x", t->generation, t->owner, t->unread);
		if (fact)
			note("  state %u, ttl %llu, begun %llu, ended %llu, clock %llu, reason %u",
			     fact->state, fact->ttl, fact->begun, fact->ended, fact->clock,
			     fact->reason);
	}
}

/*
 * Calls
 */

/* As spoil() makes them. */
static bool is_bad(u64 pointer)
{
	return pointer == 8 || pointer == ~0ULL - 7;
}

static void find_ends(struct mirror_region *r, int h, u64 from, u64 to);

static void call(int h, unsigned int cmd)
{
	static struct lkvfence_return_item results[EXACT_ITEMS];
	static struct call c;
	static u8 bytes[8192];
	struct lkvfence_return_item *items;
	struct mirror_region *r = mirror_region(&m, h);
	bool began;
	u64 when;
	size_t size = mirror_size(cmd);

	memset(&c, 0, sizeof(c));
	memset(bytes, 0, sizeof(bytes));
	c.handle = h;
	c.cmd = cmd;
	c.caps = 3;
	c.in.size = size;
	items = fill(&c, r);
	if (!pick(50) && size)
		spoil(&c, bytes);
	c.size = c.in.size;
	memcpy(bytes, &c.in, size ? size : 8);

	c.earliest = now_ns();
	c.err = sys(h < 0 ? -1 : fds[h], cmd, bytes);
	c.now = now_ns();
	c.latest = c.now;
	memcpy(&c.out, bytes, size);
	c.results = results;
	if (cmd == LKVFENCE_IOC_RETURN && !c.err) {
		c.nr_items = c.in.ret.nr_items;
		memcpy(results, items, sizeof(results));
	}
	nr_calls++;
	began = !c.err && (cmd == LKVFENCE_IOC_BEGIN || cmd == LKVFENCE_IOC_HOLD);
	if (!in_time(r)) {
		/* What it began is somebody's number all the same. */
		if (began)
			m.last_generation = c.out.begin.generation;
		return;
	}
	if (c.err == -EFAULT && is_bad(cmd == LKVFENCE_IOC_SOURCE ? c.in.source.qps :
				       cmd == LKVFENCE_IOC_BEGIN || cmd == LKVFENCE_IOC_HOLD ?
				       c.in.begin.ranges : 0))
		c.below = WRONG_FAULT;
	if (!find_time(&c, &when)) {
		if (began)
			m.last_generation = c.out.begin.generation;
		give_up(r);
		return;
	}
	if (when && (when < c.earliest || when > c.now)) {
		note_events(r, NULL, 0);
		note("command %#x of generation %llu", _IOC_NR(cmd), c.out.abort.generation);
		mirror_fail("it was done at %llu, but asked for from %llu to %llu",
			    when, c.earliest, c.now);
	}
	if (when)
		c.now = when;
	mirror_call(&m, &c);
	/* One after the other. */
	if (cmd == LKVFENCE_IOC_ABORT && c.in.abort.flags & LKVFENCE_ABORT_ALL && !c.err)
		find_ends(r, h, c.earliest, c.now);
	/* It has become too large for the oracle. */
	if (r->exists && r->blind)
		give_up(r);
}

/*
 * Handles
 */

static void open_one(unsigned int i, bool must)
{
	struct call c = { .handle = -1, .cmd = LKVFENCE_IOC_OPEN, .caps = 3 };
	char name[LKVFENCE_NAME_MAX + 1];
	int dev = device();

	c.new_handle = free_handle();
	if (c.new_handle < 0) {
		close(dev);
		return;
	}
	c.in.open = (struct lkvfence_open) {
		.size = sizeof(c.in.open),
		.flags = LKVFENCE_OPEN_CREATE | LKVFENCE_OPEN_NONBLOCK,
		.slot_size = 65536,
		.nr_slots = SLOTS,
		.mode = 0600,
	};
	name_of(c.in.open.name, i);
	if (!must && !pick(3)) {
		c.in.open.flags = LKVFENCE_OPEN_NONBLOCK | pick(8);
		c.in.open.nr_slots = pick(3) ? SLOTS : pick(4);
		c.in.open.slot_size = pick(3) ? 65536 : pick(2);
		c.in.open.mode = pick(3) ? 0600 : pick(01000);
		c.in.open.base = pick(4) ? 0 : 4096;
		if (!pick(4))
			c.in.open.accepts = any_number();
		if (pick(4))
			c.in.open.accepts &= LKVFENCE_ACCEPT_ALL;
		if (!pick(8))
			c.in.open.name[pick(6)] = pick(256);
		/* A region that has no other name would be there at the end. */
		name_of(name, i);
		if (strcmp(name, c.in.open.name))
			c.in.open.flags &= ~LKVFENCE_OPEN_CREATE;
	}
	c.size = c.in.size;
	c.out = c.in;
	c.earliest = now_ns();
	c.err = sys(dev, c.cmd, &c.out);
	c.now = now_ns();
	c.latest = c.now;
	close(dev);
	nr_calls++;
	if (!c.err)
		fds[c.new_handle] = c.out.open.fd;
	mirror_call(&m, &c);
	agree(!must || !c.err);
}

/* The same handle by another descriptor: over a socket, or a copy. */
static int exchange(int fd)
{
	char data = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &data, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int pair[2], copy;

	if (pick(2)) {
		copy = dup(fd);
	} else {
		need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
		*cmsg = (struct cmsghdr) {
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		};
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
		need(sendmsg(pair[0], &msg, 0) == 1, "sendmsg");
		/* Nothing happens when the sender closes its own. */
		close(fd);
		fd = -1;
		need(recvmsg(pair[1], &msg, 0) == 1, "recvmsg");
		memcpy(&copy, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(copy));
		close(pair[0]);
		close(pair[1]);
	}
	need(copy >= 0, "another descriptor");
	if (fd >= 0)
		close(fd);
	return copy;
}

/* These ended now: at what instant, a handle tells. */
static void find_ends(struct mirror_region *r, int h, u64 from, u64 to)
{
	struct lkvfence_query q;

	for (u32 i = 0; i < r->o.nr_transfers; i++) {
		struct transfer_fact *fact = &r->o.transfers[i];

		if (fact->ended != to)
			continue;
		agree(!ask(h, fact->generation, &q));
		agree(q.ended_ns >= from && q.ended_ns <= to);
		fact->clock += q.ended_ns - fact->ended;
		fact->deadline += q.ended_ns - fact->ended;
		fact->ended = q.ended_ns;
		mirror_find(r, fact->generation)->deadline = fact->clock;
	}
}

static void close_one(int h)
{
	struct mirror_region *r = mirror_region(&m, h);
	int other = sibling(h);
	u64 from, to;

	/* Somebody has to be there who can be asked. */
	if (other < 0 && r->o.nr_transfers && !r->blind)
		return;
	from = now_ns();
	close(fds[h]);
	to = now_ns();
	nr_calls++;
	if (!r->blind && !in_time(r))
		return;
	if (m.handles[h] < 0)
		return;
	mirror_close(&m, h, from, to);
	if (!r->blind && r->exists)
		find_ends(r, other, from, to);
}

static void read_one(int h)
{
	struct mirror_region *r = mirror_region(&m, h);
	struct lkvfence_event e[16];
	u32 room = pick(ARRAY_SIZE(e) + 1);
	struct pollfd p = { .fd = fds[h], .events = POLLIN };
	bool there = mirror_unread(&m, h, false);
	int ready = poll(&p, 1, 0);
	long n = read(fds[h], e, room * sizeof(e[0]));

	nr_calls += 2;
	if (n < 0)
		n = -errno;
	else
		n /= sizeof(e[0]);
	if (!in_time(r))
		return;
	if (ready == there && (!there || p.revents == POLLIN) &&
	    (n > 0 || n == (room ? -EAGAIN : -EINVAL))) {
		mirror_read(&m, h, e, n, room, false);
		nr_events += n > 0 ? n : 0;
		return;
	}
	note_events(r, e, n);
	mirror_fail("poll says %d, %#x, a read for %u %ld, where %u events must be",
		    ready, p.revents, room, n, mirror_unread(&m, h, false));
}

static void step(void)
{
	static const u8 commands[] = {
		0x10, 0x11, 0x11, 0x11, 0x11, 0x12, 0x12, 0x13, 0x13, 0x13, 0x13, 0x14, 0x14,
		0x14, 0x14, 0x14, 0x14, 0x15, 0x15, 0x15, 0x16, 0x16, 0x17, 0x17, 0x18, 0x19,
		0x1a, 0x1b, 0x1c, 0x1d, 0x1d, 0x1d, 0x1e, 0x1e, 0x1e, 0x1e, 0x1f, 0x00, 0x7d, 0x01,
	};
	u32 what;
	int h;

	/* It may give a region up, and close its handles. */
	wait_for_all();
	h = any_handle();
	what = pick(100);
	if (h < 0 || what < 3) {
		doing = "OPEN";
		open_one(pick(NAMES), h < 0);
	} else if (what < 5) {
		doing = "close";
		close_one(h);
	} else if (what < 7) {
		fds[h] = exchange(fds[h]);
	} else if (what < 17) {
		doing = "read";
		read_one(h);
	} else {
		static char name[16];
		u32 nr = commands[pick(pick(8) ? ARRAY_SIZE(commands) - 3 : ARRAY_SIZE(commands))];

		snprintf(name, sizeof(name), "command %#x", nr);
		doing = name;
		call(h, _IO(LKVFENCE_IOC_MAGIC, nr));
	}
}

/* The last generation that this host has issued. */
static u64 last_generation(void)
{
	struct lkvfence *f = region("exact-start", 1);
	u64 generation = begin(f, 0, 0, 1, 0);

	need(!lkvfence_release(f, generation), "RELEASE");
	lkvfence_close(f);
	return generation;
}

void exact(const struct options *o)
{
	char name[LKVFENCE_NAME_MAX + 1];
	unsigned int most = 0;

	seed = o->seed;
	mirror_init(&m);
	/* These three bound each other. */
	set_param("timeout_default_ms", 400);
	set_param("timeout_max_ms", 1500);
	set_param("max_transfers", ORACLE_TRANSFERS);
	set_param("unclaimed_ms", 150);
	set_param("max_pulls", EXACT_PULLS);
	set_param("max_tombstones", EXACT_TOMBSTONES);
	m.min_ns = atoll(line_of("/sys/module/lkvfence/parameters/timeout_min_ms")) * MS;
	m.default_ns = 400 * MS;
	m.max_ns = 1500 * MS;
	m.max_slots = atoll(line_of("/sys/module/lkvfence/parameters/max_slots"));
	m.max_regions = atoll(line_of("/sys/module/lkvfence/parameters/max_regions"));
	m.max_transfers = ORACLE_TRANSFERS;
	m.settle_ns = atoll(line_of("/sys/module/lkvfence/parameters/settle_ms")) * MS;
	m.revoke_ns = m.settle_ns +
		atoll(line_of("/sys/module/lkvfence/parameters/revoke_timeout_ms")) * MS;
	m.max_sources = atoll(line_of("/sys/module/lkvfence/parameters/max_sources"));
	m.unclaimed_ns = 150 * MS;
	m.tombstone_ns = atoll(line_of("/sys/module/lkvfence/parameters/tombstone_ms")) * MS;
	m.max_pulls = EXACT_PULLS;
	m.max_tombstones = EXACT_TOMBSTONES;
	m.features = can_revoke() ? LKVFENCE_FEATURE_QP : 0;
	exact_has_rxe = !access("/sys/class/infiniband/rxe0", F_OK);
	m.last_generation = last_generation();
	m.pid = getpid();
	prctl(PR_GET_NAME, m.comm);

	while (nr_calls < o->calls)
		step();

	for (int h = 0; h < MIRROR_HANDLES; h++)
		if (m.handles[h] >= 0)
			close(fds[h]);
	for (unsigned int i = 0; i < NAMES; i++) {
		most = numbers[i] > most ? numbers[i] : most;
		for (; numbers[i] + 1; numbers[i]--) {
			name_of(name, i);
			empty(name);
		}
	}
	put_params_back();
	check(nr_expired, "deadlines passed (%" PRIu64 ")", nr_expired);
	check(nr_events, "events were read (%" PRIu64 ")", nr_events);
	check(nr_given_up * 50 < o->calls, "few regions were given up (%" PRIu64 ")",
	      nr_given_up);
	check(true, "each of %" PRIu64 " answers is what the oracle says", nr_calls);
}
