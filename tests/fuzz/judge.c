// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the module did, against the mirror. What a call read and wrote is taken
 * from the shim's record of its copies: user memory may have changed since.
 */
#include <errno.h>
#include <stdio.h>

#include "fuzz.h"
#include "main.h"
#include "qps.h"
#include "region.h"

struct mirror mirror;

struct region *regions[MIRROR_REGIONS];
/* By handle: how many events, and how often its readers were woken. */
static struct { u32 unread; u64 wakes; } seen[MIRROR_HANDLES];

struct handle *handle_of(int fd)
{
	return shim.fds[fd]->private_data;
}

void judge_limits(void)
{
	struct fence_limits limits = param_limits();

	mirror.min_ns = param_timeout_min_ns();
	mirror.default_ns = limits.default_ns;
	mirror.max_ns = limits.max_ns;
	mirror.max_slots = param_max_slots();
	mirror.max_regions = param_max_regions();
	mirror.max_transfers = param_max_transfers();
	mirror.max_sources = param_max_sources();
	mirror.revoke_ns = limits.revoke_ns;
	mirror.settle_ns = param_settle_ns();
	mirror.unclaimed_ns = param_unclaimed_ns();
	mirror.tombstone_ns = param_pull_limits().tombstone_ns;
	mirror.max_tombstones = param_pull_limits().max_tombstones;
	mirror.max_pulls = param_max_pulls();
	mirror.last_generation = generation_last();
}

/*
 * The record of a call
 */

static const void *data_of(const struct copy *c)
{
	return shim.bytes + c->data;
}

static bool within(const struct copy *c, u64 at, u64 len)
{
	return c->user >= at && c->user - at <= len && c->len <= len - (c->user - at);
}

/* Which of the things that the call's struct points to this may be a copy of. */
static u32 arrays(const struct copy *c, const struct call *call)
{
	const struct lkvfence_begin *b = &call->in.begin;
	const struct lkvfence_return *r = &call->in.ret;
	const struct lkvfence_source *s = &call->in.source;

	if (call->cmd == LKVFENCE_IOC_SOURCE)
		return within(c, s->qps, s->nr_qps * sizeof(*call->qps));
	if (call->cmd == LKVFENCE_IOC_RETURN)
		return within(c, r->items, r->nr_items * sizeof(*call->items));
	if (call->cmd != LKVFENCE_IOC_BEGIN && call->cmd != LKVFENCE_IOC_HOLD)
		return 0;
	return within(c, b->ranges, b->nr_ranges * sizeof(*call->ranges)) |
	       within(c, b->sources, b->nr_sources * sizeof(*call->sources)) << 1;
}

/* Where the parts of a call are among its copies. */
struct parts {
	u32 known;		/* bytes of the struct that the module knows and read */
	u32 the_struct;		/* the copy that is it; nr_copies: none */
	u32 rest;		/* the first that is neither it nor a try to write it */
	bool final;		/* the last one is the answer on its way out */
};

/*
 * The struct is either read at once and tried in one section, or word by word
 * after a look at its size, and then tried.
 */
static struct parts find_parts(struct call *c, unsigned long arg)
{
	struct parts p = { .the_struct = shim.nr_copies, .rest = shim.nr_copies };
	const struct copy *last = &shim.copies[max(shim.nr_copies, 1U) - 1];
	u32 look = 0, size = mirror_size(c->cmd);
	bool at_once = shim.nr_copies > 1 && shim.copies[0].section == 1;

	/* The first section reads the struct, and tries to write both its ends. */
	while (look < shim.nr_copies && shim.copies[look].section == 1)
		at_once &= !shim.copies[look++].faulted;
	if (at_once)
		memcpy(&c->size, data_of(&shim.copies[0]), sizeof(c->size));
	at_once &= look > 1 && shim.copies[0].len == size && c->size == size &&
		   shim.copies[look - 1].user + shim.copies[look - 1].len == arg + size;
	if (at_once) {
		p.the_struct = 0;
		p.rest = look;
	} else if (look < shim.nr_copies) {
		if (!shim.copies[look].faulted)
			memcpy(&c->size, data_of(&shim.copies[look]), sizeof(c->size));
		p.the_struct = look + 1;
		p.rest = look + 4;
	}
	p.known = min_t(u32, mirror_size(c->cmd), c->size);
	if (p.the_struct < shim.nr_copies &&
	    (shim.copies[p.the_struct].faulted || shim.copies[p.the_struct].len != p.known))
		p.the_struct = shim.nr_copies;
	p.final = p.rest < shim.nr_copies && last->out && last->user == arg &&
		  (last->faulted || last->len == p.known);
	return p;
}

/* L10: what was read once is not read again: it may be something else by then. */
static void check_single_fetch(const struct call *call, const struct parts *p)
{
	for (u32 i = p->the_struct; i < shim.nr_copies; i++) {
		const struct copy *a = &shim.copies[i];
		u32 of_a = i > p->the_struct ? arrays(a, call) : 0;

		for (u32 j = i + 1; j < shim.nr_copies && !a->out; j++) {
			const struct copy *b = &shim.copies[j];
			u32 of_b = arrays(b, call);

			if (b->out || a->user >= b->user + b->len ||
			    b->user >= a->user + a->len)
				continue;
			/* The caller may point twice to the same place. */
			if (of_b && (!of_a || (of_a | of_b) == 3))
				continue;
			mirror_fail("user memory at %#lx is read twice", b->user);
		}
	}
}

static u8 batch_in[SHIM_BYTES], batch_out[SHIM_BYTES];

static void find_begin(struct call *c, const struct parts *p)
{
	/* More than that is refused unread. */
	u32 ranges = min(c->in.begin.nr_ranges, ORACLE_RANGES + 1U) * sizeof(*c->ranges);
	u32 at = 0;

	for (u32 i = p->rest; i < shim.nr_copies; i++) {
		if (shim.copies[i].out)
			continue;
		memcpy(batch_in + at, data_of(&shim.copies[i]), shim.copies[i].len);
		at += shim.copies[i].len;
	}
	c->ranges = (void *)batch_in;
	c->sources = (void *)(batch_in + ranges);
}

static void find_items(struct call *c, const struct parts *p)
{
	u32 at = 0;

	for (u32 i = p->rest; i + 1 < shim.nr_copies; i++) {
		const struct copy *in = &shim.copies[i], *out = in + 1;

		if (in->out || in->faulted)
			continue;
		/* Each batch is answered where it was read. */
		agree(out->out && out->user == in->user && out->len == in->len);
		memcpy(batch_in + at, data_of(in), in->len);
		memcpy(batch_out + at, data_of(out), in->len);
		at += in->len;
	}
	c->items = (void *)batch_in;
	c->results = (void *)batch_out;
	c->nr_items = at / sizeof(*c->items);
}

static void find_query(struct call *c, const struct parts *p)
{
	const struct lkvfence_query *in = &c->in.query, *out = &c->out.query;
	u32 i = p->rest;

	if (min(in->nr_ranges, out->nr_ranges))
		c->got_ranges = data_of(&shim.copies[i++]);
	if (min(in->nr_leases, out->nr_leases))
		c->got_leases = data_of(&shim.copies[i++]);
	agree(i + 1 == shim.nr_copies);
}

static void find_qps(struct call *c, const struct parts *p)
{
	u32 at = 0;

	for (u32 i = p->rest; i < shim.nr_copies; i++) {
		if (shim.copies[i].out || shim.copies[i].faulted)
			continue;
		agree(shim.copies[i].len == sizeof(*c->qps));
		memcpy(batch_in + at, data_of(&shim.copies[i]), shim.copies[i].len);
		at += shim.copies[i].len;
	}
	c->qps = (void *)batch_in;
	c->nr_qps = at / sizeof(*c->qps);
}

static void find_query_source(struct call *c, const struct parts *p)
{
	u32 i = p->rest;

	if (min(c->in.query_source.nr_qps, c->out.query_source.nr_qps))
		c->got_qps = data_of(&shim.copies[i++]);
	agree(i + 1 == shim.nr_copies);
}

/* The answer got lost: the number of the binding, as the module knows it. */
static u64 find_binding(int fd, u32 source)
{
	struct region *r = handle_of(fd)->region;
	struct fence_source *s = fence_find_source(&r->fence, source);

	return s ? to_source(s)->binding : 0;
}

/* It only looks, or stands for more than one thing that is done. */
static bool may_be_lost(unsigned int cmd)
{
	return cmd == LKVFENCE_IOC_QUERY || cmd == LKVFENCE_IOC_RETURN ||
	       cmd == LKVFENCE_IOC_QUERY_SOURCE;
}

/* What the call read as its struct, and what it answered. */
static void find_structs(struct call *c, const struct parts *p)
{
	const struct copy *last = &shim.copies[max(shim.nr_copies, 1U) - 1];
	u32 room = sizeof(c->in);

	if (p->the_struct < shim.nr_copies) {
		memcpy(c->in.bytes, data_of(&shim.copies[p->the_struct]), min(p->known, room));
		c->in.size = c->size;
	}
	if (!p->final) {
		agree(c->err);
		return;
	}
	c->lost = last->len != p->known;
	memcpy(c->out.bytes, data_of(last), min(last->len, room));
	agree(c->out.size == c->size);
	c->took_effect = last->faulted && c->cmd != LKVFENCE_IOC_OPEN && !may_be_lost(c->cmd);
	/* Before anything happens it is seen that it can be written. */
	agree(!last->faulted || shim.injected_fault || may_be_lost(c->cmd));
	if (c->lost && (c->cmd == LKVFENCE_IOC_BEGIN || c->cmd == LKVFENCE_IOC_HOLD))
		c->out.begin.generation = generation_last();
	if (c->lost && c->took_effect && c->cmd == LKVFENCE_IOC_PULL)
		c->out.pull.ticket = judge_find_ticket(c->handle);
	if (c->lost && c->cmd == LKVFENCE_IOC_SOURCE)
		c->out.source.binding = find_binding(c->handle, c->in.source.source);
}

static bool has_tail(unsigned long arg, size_t known, u32 size)
{
	const u8 *p = shim_user(arg, size);

	for (size_t i = known; p && i < size; i++)
		if (p[i])
			return true;
	return false;
}

static void judge_open(struct call *c)
{
	int region;

	c->new_handle = c->out.open.fd;
	if (c->err) {
		mirror_call(&mirror, c);
		return;
	}
	agree(c->new_handle >= 0 && c->new_handle < MIRROR_HANDLES);
	agree(shim.fds[c->new_handle]);
	agree(!(shim.fds[c->new_handle]->f_flags & O_NONBLOCK) ==
	      !(c->in.open.flags & LKVFENCE_OPEN_NONBLOCK));
	mirror_call(&mirror, c);
	region = mirror.handles[c->new_handle];
	agree(c->out.open.created || regions[region] == handle_of(c->new_handle)->region);
	regions[region] = handle_of(c->new_handle)->region;
	memset(&seen[c->new_handle], 0, sizeof(seen[0]));
}

static bool no_fd(void)
{
	for (int fd = 0; fd < SHIM_FDS; fd++)
		if (!shim.fds[fd])
			return shim.fail_fd;
	return true;
}

void judge_ioctl(int fd, unsigned int cmd, unsigned long arg, bool flipped)
{
	static struct call c;
	const struct file_operations *ops = fd < 0 ? shim.device : shim.fds[fd]->f_op;
	struct file none = { .f_op = ops };
	struct context here;
	struct parts p;
	int err;

	judge_enter(&here, fd);
	err = ops->unlocked_ioctl(fd < 0 ? &none : shim.fds[fd], cmd, arg);
	shim_call_end();
	/* Others may have been made in between. */
	memset(&c, 0, sizeof(c));
	c.handle = fd;
	c.cmd = cmd;
	c.err = err;
	judge_leave(&here, &c);
	c.uid = shim.uid;
	c.gid = shim.gid;
	c.caps = shim.caps;
	c.earliest = shim.now;
	c.now = shim.now;
	c.latest = shim.now;
	c.below = (shim.faults ? WRONG_FAULT : 0) | (shim.allocs_failed ? WRONG_MEMORY : 0) |
		  (c.err == -EMFILE && no_fd() ? WRONG_NO_FD : 0) |
		  (shim.fail_file && c.err == -ENFILE ? WRONG_NO_FILE : 0);
	agree(shim.nr_copies || c.err == -EFAULT || c.err == -ENOTTY);
	if (shim.overflow) {
		/* More than is recorded: it failed at that, or nothing is known. */
		agree(!shim.faults || c.err == -EFAULT);
		if (fd >= 0 && (!shim.faults || cmd == LKVFENCE_IOC_RETURN))
			mirror_region(&mirror, fd)->blind = true;
		return;
	}
	p = find_parts(&c, arg);
	c.tail = has_tail(arg, p.known, c.size) || (flipped && c.err == -E2BIG);
	if (flipped && c.err != -E2BIG)
		c.tail = false;
	find_structs(&c, &p);
	check_single_fetch(&c, &p);
	if (cmd == LKVFENCE_IOC_BEGIN || cmd == LKVFENCE_IOC_HOLD)
		find_begin(&c, &p);
	if (cmd == LKVFENCE_IOC_RETURN)
		find_items(&c, &p);
	if (cmd == LKVFENCE_IOC_QUERY && !c.err)
		find_query(&c, &p);
	if (cmd == LKVFENCE_IOC_SOURCE)
		find_qps(&c, &p);
	if (cmd == LKVFENCE_IOC_QUERY_SOURCE && !c.err)
		find_query_source(&c, &p);
	if (cmd == LKVFENCE_IOC_JOIN && fd >= 0 && (!c.err || c.took_effect))
		judge_joined(fd, c.in.join.generation);
	if (cmd == LKVFENCE_IOC_OPEN && fd < 0)
		judge_open(&c);
	else
		mirror_call(&mirror, &c);
}

/*
 * Files
 */

void judge_read(int fd, unsigned long buf, size_t len)
{
	struct lkvfence_event events[32];
	struct file *file = shim.fds[fd];
	u32 room = len / sizeof(events[0]), nr = 0;
	bool nonblock = file->f_flags & O_NONBLOCK;
	loff_t pos = 0;
	ssize_t n;

	n = file->f_op->read(file, (char *)buf, len, &pos);
	shim_call_end();
	for (u32 i = 0; i < shim.nr_copies && n > 0; i++) {
		const struct copy *c = &shim.copies[i];

		if (c->faulted)
			break;
		agree(c->out && c->user == buf + nr * sizeof(events[0]));
		agree(nr * sizeof(events[0]) + c->len <= sizeof(events));
		memcpy(events + nr, data_of(c), c->len);
		nr += c->len / sizeof(events[0]);
	}
	if (n > 0)
		agree((size_t)n == nr * sizeof(events[0]));
	else if (shim.faults)
		agree(n == -EFAULT);
	else if (room)
		agree(n == (nonblock ? -EAGAIN : -ERESTARTSYS));
	mirror_read(&mirror, fd, events, n > 0 ? (long)nr : n, room,
		    shim.faults || shim.signal);
}

void judge_poll(int fd)
{
	struct file *file = shim.fds[fd];
	poll_table table = { 0 };
	__poll_t mask = file->f_op->poll(file, &table);

	agree(!(mask & ~(EPOLLIN | EPOLLRDNORM)));
	if (!mirror_region(&mirror, fd)->blind)
		agree(!mask == !mirror_unread(&mirror, fd, false));
}

void judge_close(int fd)
{
	shim_call_begin();
	shim_close(fd);
	mirror_close(&mirror, fd, shim.now, shim.now);
}

/*
 * The clock
 */

void judge_clock(bool eager, bool work)
{
	struct region *r;
	bool again;

	shim_call_begin();
	do {
		again = false;
		for (u32 i = 0; i < MIRROR_REGIONS; i++) {
			struct mirror_region *mr = &mirror.regions[i];

			r = regions[i];
			if (!mr->exists || mr->blind)
				continue;
			shim_fire(&r->timer, eager);
			if (!work)
				continue;
			/* L8: what is due can't be missed. */
			if (mirror_next_clock(mr) <= shim.now - NSEC_PER_MSEC)
				agree(r->work.pending);
			if (r->work.pending) {
				mirror_expire(&mirror, mr, shim.now);
				shim_run(&r->work);
				again = true;
			}
		}
	} while (again);
	/* Those of regions that the mirror doesn't see. */
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		struct hrtimer *t = shim.timers;

		if (!mirror.regions[i].exists || !mirror.regions[i].blind)
			continue;
		while (t && t != &regions[i]->timer)
			t = t->next;
		if (t)
			shim_fire(t, eager);
	}
	while (work && shim.work)
		shim_run(shim.work);
}

/*
 * All
 */

static void judge_region(struct mirror_region *mr, struct region *r)
{
	struct lkvfence_stat stat;
	const struct oracle *o = &mr->o;
	u64 next;
	u32 nr = 0;

	region_stat(r, &stat);
	mirror_stat(&mirror, mr, &stat, shim.now);
	if (mr->blind)
		return;
	/* L1, as the bitmap has it. */
	for (u32 slot = 0; slot < o->nr_slots; slot++) {
		struct fence_transfer *t = fence_find_slot(&r->fence, slot);

		agree((t ? t->generation : 0) == o->owner[slot]);
		nr += !!t;
	}
	agree(nr == stat.slots_taken);
	agree(fence_next_deadline(&r->fence) == oracle_next_clock(o));
	/* L8 */
	next = mirror_next_clock(mr);
	if (next != U64_MAX)
		agree(r->work.pending || (r->timer.armed && r->timer.expires <= next));
	for (u32 i = 0; i < o->nr_transfers; i++) {
		struct transfer_fact *fact = (struct transfer_fact *)&o->transfers[i];
		struct fence_transfer *t;

		agree(!fence_lookup(&r->fence, fact->generation, &t));
		agree(t->tag == fact->tag && t->state == fact->state);
		agree(t->policy == fact->policy && t->reason == fact->reason);
		agree(t->nr_leases == fact->nr_leases && t->by_default == fact->by_default);
		agree(t->revoking == fact->revoking && t->tried == fact->tried);
		agree(t->fell_back == fact->fell_back);
		agree(t->unproven == oracle_unproven(fact));
		agree(t->quarantined == fact->in_quarantine);
		agree(t->offered == fact->offered && t->consumers == fact->consumers);
	}
	judge_pulls(mr, r);
	judge_sources(mr, r);
}

static void judge_objects(void)
{
	u64 want[NR_OBJECTS] = { 0 };
	const struct work_struct *w;
	u64 spare = 0, late = 0, late_sources = 0;

	/* Work that is queued keeps its region, and so does a source that isn't bound. */
	for (w = shim.work; w; w = w->next)
		late++;
	judge_count_sources(&want[OBJECT_SOURCE], &late_sources);
	judge_count_pulls(&want[OBJECT_OFFER], &want[OBJECT_TICKET], &want[OBJECT_LEASE]);
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		const struct mirror_region *mr = &mirror.regions[i];

		want[OBJECT_REGION] += mr->exists;
		for (u32 j = 0; j < mr->nr && mr->exists; j++) {
			want[OBJECT_TRANSFER]++;
			want[OBJECT_LEASE] += mr->transfers[j].taken;
		}
	}
	for (u32 i = 0; i < MIRROR_HANDLES; i++) {
		want[OBJECT_HANDLE] += mirror.handles[i] >= 0;
		/* A handle may keep the memory of a few. */
		spare += mirror.handles[i] >= 0 ? 64 : 0;
	}
	for (u32 i = 0; i < NR_OBJECTS; i++) {
		u64 there = objects_created[i].counter - objects_destroyed[i].counter;

		/* Peers, and groups that are over, are remembered while there are regions. */
		if (there < want[i] ||
		    there > want[i] + (i == OBJECT_TRANSFER ? spare :
				       i == OBJECT_REGION ? late + late_sources :
				       i == OBJECT_SOURCE ? late_sources :
				       i == OBJECT_PEER || i == OBJECT_GROUP ?
				       want[OBJECT_REGION] * U32_MAX : 0))
			mirror_fail("%llu objects of kind %u, must be %llu", there, i, want[i]);
	}
}

void judge_all(void)
{
	struct lkvfence_stat all;
	u32 nr;

	shim_call_begin();
	judge_groups();
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		if (mirror.regions[i].exists && !mirror.regions[i].maybe_gone)
			judge_region(&mirror.regions[i], regions[i]);
	for (int i = 0; i < MIRROR_HANDLES; i++) {
		struct mirror_region *mr;
		u32 unread;

		if (mirror.handles[i] < 0)
			continue;
		mr = mirror_region(&mirror, i);
		unread = mirror_unread(&mirror, i, true);
		/* L6: whoever waits for news is woken by them. */
		if (!mr->blind && unread > seen[i].unread)
			agree(handle_of(i)->wait.wakes > seen[i].wakes);
		seen[i].unread = unread;
		seen[i].wakes = handle_of(i)->wait.wakes;
	}
	if (!mirror_sees_all(&mirror))
		return;
	judge_objects();
	agree(!regions_stat(&all, &nr));
	agree(all.transfers_alive <= all.begun);
	shim_call_end();
}

/*
 * The end
 */

/* Let go of what is in quarantine, by the name of its region. */
static void force_all(const char *name)
{
	struct lkvfence_open open = { .size = sizeof(open) };
	struct fence_transfer *t;
	u64 generation = 0;
	struct region *r;

	strscpy(open.name, name, sizeof(open.name));
	r = region_open(&open);
	if (IS_ERR(r))
		return;
	mutex_lock(&r->lock);
	while ((t = fence_find_next(&r->fence, generation))) {
		generation = t->generation;
		/* A member may only wait for others. */
		agree(t->gathered || !fence_force(&r->fence, t, shim.now));
		region_settle(r, NULL, 0);
	}
	mutex_unlock(&r->lock);
	region_close(r);
}

void judge_end(void)
{
	for (int fd = 0; fd < SHIM_FDS; fd++)
		if (shim.fds[fd])
			judge_close(fd);
	judge_all();
	qps.standstill = false;
	judge_works(false);
	judge_all();
	/* L8: every hold has an end, or is in quarantine; none was begun with more. */
	shim.now += 3601000000000ULL;
	judge_clock(true, true);
	judge_all();
	/* But that it is revoked, which takes at most that. */
	shim.now += 1201000000000ULL;
	judge_clock(true, true);
	judge_all();
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		agree(!mirror.regions[i].exists || mirror.regions[i].blind ||
		      oracle_next_clock(&mirror.regions[i].o) == U64_MAX);
	judge_works(true);
	judge_all();
	shim_call_begin();
	shim.caps = 3;
	for (u32 i = 0; i < MIRROR_REGIONS; i++) {
		if (mirror.regions[i].exists)
			force_all(mirror.regions[i].name);
		/* It isn't told of that. */
		mirror.regions[i].blind = true;
	}
	while (shim.work || shim.delayed) {
		while (shim.work)
			shim_run(shim.work);
		judge_works(true);
		judge_groups();
	}
	agree(!qps.remembered);
	for (u32 i = 0; i < QPS_DEVICES; i++)
		agree(!qps.devices[i].busy);
	for (u32 i = 0; i < NR_OBJECTS; i++)
		agree(objects_created[i].counter == objects_destroyed[i].counter);
	agree(!shim.timers && !shim_module.refs);
}
