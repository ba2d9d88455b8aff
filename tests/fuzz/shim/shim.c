// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The kernel of kernel.h, for one thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define check_written(p, n)	__msan_check_mem_is_initialized(p, n)
#endif
#endif
#ifndef check_written
#define check_written(p, n)	((void)0)
#endif

struct shim shim;
struct module shim_module;
struct task_struct shim_task = {
	.tgid = 4711, .group_leader = &shim_task, .comm = "fuzz",
};
const struct sysfs_ops kobj_sysfs_ops;

/*
 * Locks. What is held is kept in order, so that each can be asked about.
 */

/* A group may have as many members, each in a region of its own. */
static struct mutex *held[4 + 64];
static u32 nr_held, nr_spinning;

/* Only this one may be held while user memory is touched; see event.c. */
static bool is_reader(const struct mutex *m)
{
	return !strcmp(m->name, "&h->read_lock");
}

static bool is_bound(const struct mutex *m)
{
	return !strcmp(m->name, "bound_lock");
}

static bool is_region(const struct mutex *m)
{
	return !strcmp(m->name, "&r->lock");
}

static void lock(struct mutex *m)
{
	shim_assert(m->name && !m->locked && !nr_spinning && !shim.section);
	shim_assert(nr_held < ARRAY_SIZE(held));
	shim_assert(!nr_held || !is_bound(held[nr_held - 1]));
	shim_assert(!nr_held || !is_reader(m));
	m->locked = true;
	held[nr_held++] = m;
}

void mutex_lock(struct mutex *m)
{
	/* The order in region.h: read_lock, regions_lock, region->lock, bound_lock. */
	shim_assert(!nr_held || !is_region(held[nr_held - 1]) || is_bound(m));
	lock(m);
}

/* Several of a kind, in the order of their addresses, within a lock that is for that. */
void shim_lock_nested(struct mutex *m, struct mutex *outer)
{
	const struct mutex *last = held[nr_held ? nr_held - 1 : 0];

	shim_assert(outer->locked && is_region(m));
	shim_assert(nr_held && (last == outer || (is_region(last) && last < m)));
	lock(m);
}

void mutex_unlock(struct mutex *m)
{
	u32 i = nr_held;

	while (i && held[i - 1] != m)
		i--;
	/* The last one first; but for those that are of a kind. */
	shim_assert(m->locked && i && !nr_spinning);
	shim_assert(i == nr_held || is_region(held[nr_held - 1]));
	for (; i < nr_held; i++)
		held[i - 1] = held[i];
	m->locked = false;
	nr_held--;
}

bool mutex_trylock(struct mutex *m)
{
	if (m->locked || shim.signal)
		return false;
	mutex_lock(m);
	return true;
}

int mutex_lock_interruptible(struct mutex *m)
{
	if (shim.signal)
		return -EINTR;
	mutex_lock(m);
	return 0;
}

void mutex_destroy(struct mutex *m)
{
	shim_assert(m->name && !m->locked);
	m->name = NULL;
}

void spin_lock_init(spinlock_t *lock)
{
	lock->locked = false;
}

void spin_lock(spinlock_t *lock)
{
	shim_assert(!lock->locked);
	lock->locked = true;
	nr_spinning++;
}

void spin_unlock(spinlock_t *lock)
{
	shim_assert(lock->locked);
	lock->locked = false;
	nr_spinning--;
}

void shim_may_sleep(const char *why)
{
	if (!shim.section && !nr_spinning &&
	    (!nr_held || (nr_held == 1 && is_reader(held[0]))))
		return;
	fprintf(stderr, "%s: misuse: with %s held\n", why,
		nr_held ? held[nr_held - 1]->name : "a spinlock or user memory");
	abort();
}

/*
 * Memory
 */

void *shim_alloc(size_t n, size_t size)
{
	/* Nothing is allocated under the region's lock, and what is taken under it. */
	shim_assert(!nr_spinning && !shim.section);
	shim_assert(!nr_held || (strcmp(held[nr_held - 1]->name, "&r->lock") &&
				 !is_bound(held[nr_held - 1])));
	/* L10: what one call may ask for is bounded. */
	shim_assert(size && n < (16U << 20) / size);
	if (++shim.allocs == shim.fail_alloc) {
		shim.allocs_failed++;
		return NULL;
	}
	return malloc(n * size);
}

void *shim_zalloc(size_t n, size_t size)
{
	void *p = shim_alloc(n, size);

	return p ? memset(p, 0, n * size) : NULL;
}

void kfree(const void *p)
{
	free((void *)p);
}

/*
 * User memory
 */

void *shim_user(unsigned long user, size_t len)
{
	if (user < USER_BASE || user - USER_BASE > USER_SIZE ||
	    len > USER_SIZE - (user - USER_BASE))
		return NULL;
	return shim.memory + (user - USER_BASE);
}

/* How many of the bytes can be had. */
static unsigned long reach(unsigned long user, unsigned long n, enum page worst)
{
	unsigned long at, page_end, good = 0;

	while (good < n) {
		at = user + good;
		if (at < USER_BASE || at >= USER_BASE + USER_SIZE ||
		    shim.pages[(at - USER_BASE) / PAGE_SIZE] > worst)
			break;
		page_end = (at | (PAGE_SIZE - 1)) + 1;
		good = page_end - user < n ? page_end - user : n;
	}
	return good;
}

/* The copy that this one goes on, or a new one; NULL if there is no room. */
static struct copy *copy_for(bool out, unsigned long user, unsigned long n)
{
	struct copy *c = &shim.copies[shim.nr_copies];

	if (n > SHIM_BYTES - shim.nr_bytes)
		return NULL;
	if (shim.section && shim.nr_copies && c[-1].section == shim.section &&
	    c[-1].out == out && c[-1].user + c[-1].len == user && !c[-1].faulted)
		return c - 1;
	if (shim.nr_copies == SHIM_COPIES)
		return NULL;
	*c = (struct copy) {
		.out = out, .section = shim.section, .user = user, .data = shim.nr_bytes,
	};
	shim.nr_copies++;
	return c;
}

static unsigned long record(bool out, unsigned long user, const void *data,
			    unsigned long n, unsigned long good)
{
	struct copy *c = copy_for(out, user, n);

	shim.accesses++;
	if (shim.section != 1)
		shim.faults += good < n;
	if (!c) {
		shim.overflow = true;
		return n - good;
	}
	memcpy(shim.bytes + shim.nr_bytes, data, out ? n : good);
	shim.nr_bytes += n;
	c->len += n;
	c->faulted = good < n;
	/* Another thread of the caller writes what was just read. */
	if (shim.accesses == shim.flip_copy)
		shim.memory[shim.flip_at % USER_SIZE] = shim.flip_to;
	return n - good;
}

static unsigned long bounded(unsigned long user, unsigned long n, enum page worst)
{
	unsigned long good = reach(user, n, worst);

	if (n && shim.accesses + 1 == shim.fail_copy && good == n) {
		shim.injected_fault = true;
		good = n / 2;
	}
	return good;
}

/* To be called where a copy may sleep, or within a section. */
static unsigned long copy_in(void *to, unsigned long user, unsigned long n)
{
	unsigned long good = bounded(user, n, PAGE_RO);

	if (good)
		memcpy(to, shim.memory + (user - USER_BASE), good);
	/* As the kernel does, so that nothing of its own is left there. */
	memset((u8 *)to + good, 0, n - good);
	return record(false, user, to, n, good);
}

static unsigned long copy_out(unsigned long user, const void *from, unsigned long n)
{
	unsigned long good;

	check_written(from, n);
	good = bounded(user, n, PAGE_RW);
	if (good)
		memcpy(shim.memory + (user - USER_BASE), from, good);
	return record(true, user, from, n, good);
}

unsigned long copy_from_user(void *to, const void *from, unsigned long n)
{
	shim_may_sleep("copy_from_user");
	return n ? copy_in(to, (unsigned long)from, n) : 0;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long n)
{
	shim_may_sleep("copy_to_user");
	return n ? copy_out((unsigned long)to, from, n) : 0;
}

bool user_access_begin(const void *p, size_t n)
{
	shim_may_sleep("user_access_begin");
	/* Addresses of the kernel are refused here, others when they are used. */
	shim.nr_sections++;
	if ((unsigned long)p >> 47 || n > PAGE_SIZE) {
		shim.faults += shim.nr_sections > 1;
		return false;
	}
	shim.section = shim.nr_sections;
	return true;
}

void user_access_end(void)
{
	shim_assert(shim.section);
	shim.section = 0;
}

bool shim_get(void *to, const void *from, size_t n)
{
	shim_assert(shim.section);
	return copy_in(to, (unsigned long)from, n);
}

bool shim_put(void *to, const void *from, size_t n)
{
	shim_assert(shim.section);
	return copy_out((unsigned long)to, from, n);
}

int copy_struct_from_user(void *to, size_t ksize, const void *from, size_t usize)
{
	size_t size = ksize < usize ? ksize : usize;
	const u8 *rest = (const u8 *)from + size;
	u8 byte;

	memset((u8 *)to + size, 0, ksize - size);
	for (; rest < (const u8 *)from + usize; rest++) {
		if (reach((unsigned long)rest, 1, PAGE_RO) != 1) {
			shim.faults++;
			return -EFAULT;
		}
		byte = shim.memory[(unsigned long)rest - USER_BASE];
		if (byte)
			return -E2BIG;
	}
	return copy_from_user(to, from, size) ? -EFAULT : 0;
}

/*
 * Who calls, and the rest
 */

kuid_t current_euid(void)
{
	return (kuid_t){ shim.uid };
}

kgid_t current_egid(void)
{
	return (kgid_t){ shim.gid };
}

bool in_egroup_p(kgid_t gid)
{
	return gid.val == shim.gid;
}

bool capable(int cap)
{
	shim_assert(cap == CAP_DAC_OVERRIDE || cap == CAP_SYS_ADMIN);
	return shim.caps & (cap == CAP_DAC_OVERRIDE ? 1 : 2);
}

bool signal_pending(struct task_struct *task)
{
	return task && shim.signal;
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size);

	shim_assert(size);
	if (len == size)
		len--;
	memcpy(to, from, len);
	to[len] = 0;
	return len;
}

void shim_log(const char *fmt, ...)
{
	char line[512];
	va_list args;

	/* So that the arguments are read. */
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
}

int kstrtouint(const char *s, unsigned int base, unsigned int *res)
{
	char *end;
	unsigned long v = strtoul(s, &end, base);

	if (end == s || *end || v > ~0U)
		return -EINVAL;
	*res = v;
	return 0;
}

int param_get_uint(char *buf, const struct kernel_param *kp)
{
	return sprintf(buf, "%u\n", *(unsigned int *)kp->arg);
}

int wait_for_random_bytes(void)
{
	return 0;
}

void get_random_bytes(void *buf, size_t len)
{
	memset(buf, 0x5a, len);
}

/*
 * Trees, tables, references
 */

struct rb_node *shim_deepest(struct rb_node *node)
{
	while (node && (node->rb_left || node->rb_right))
		node = node->rb_left ? node->rb_left : node->rb_right;
	return node;
}

struct rb_node *shim_next_postorder(struct rb_node *node)
{
	struct rb_node *parent = node->shim_parent;

	if (parent && node == parent->rb_left && parent->rb_right)
		return shim_deepest(parent->rb_right);
	return parent;
}

void sort(void *base, size_t n, size_t size, int (*cmp)(const void *a, const void *b),
	  void *swap)
{
	shim_assert(!swap);
	qsort(base, n, size, cmp);
}

struct hlist_node **shim_hash(struct hlist_head *table, u32 nr, u32 key)
{
	shim_assert(nr_held && is_bound(held[nr_held - 1]));
	return &table[key % nr].first;
}

void shim_hash_add(struct hlist_head *table, u32 nr, struct hlist_node *node, u32 key)
{
	struct hlist_node **first = shim_hash(table, nr, key);

	shim_assert(!node->link);
	node->next = *first;
	if (node->next)
		node->next->link = &node->next;
	node->link = first;
	*first = node;
}

void hash_del(struct hlist_node *node)
{
	shim_assert(nr_held && is_bound(held[nr_held - 1]));
	if (!node->link)
		return;
	shim_assert(*node->link == node);
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
	node->link = NULL;
}

void kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	shim_assert(kref->refs > 0);
	if (!--kref->refs)
		release(kref);
}

/*
 * Calls
 */

void shim_call_begin(void)
{
	shim.fail_alloc = shim.fail_copy = shim.flip_copy = 0;
	shim.fail_file = shim.fail_fd = shim.fail_add = shim.signal = false;
	shim.allocs = shim.allocs_failed = 0;
	shim.accesses = shim.nr_copies = shim.nr_bytes = shim.nr_sections = shim.faults = 0;
	shim.injected_fault = shim.overflow = false;
}

/* A call's plan and record: all behind what there is, as far as it is in use. */
#define OF_CALL	offsetof(struct shim, fail_alloc)

void *shim_fall_asleep(void)
{
	size_t size = offsetof(struct shim, bytes) - OF_CALL + shim.nr_bytes;
	void *asleep = malloc(size);

	shim_assert(asleep && !nr_held && !nr_spinning && !shim.section);
	memcpy(asleep, (char *)&shim + OF_CALL, size);
	shim_call_begin();
	return asleep;
}

void shim_wake_up(void *asleep)
{
	size_t size = offsetof(struct shim, bytes) - OF_CALL;

	shim_call_end();
	memcpy((char *)&shim + OF_CALL, asleep, size);
	memcpy(shim.bytes, (char *)asleep + size, shim.nr_bytes);
	free(asleep);
}

void shim_call_end(void)
{
	shim_assert(!nr_held && !nr_spinning && !shim.section);
	for (int fd = 0; fd < SHIM_FDS; fd++)
		shim_assert(shim.reserved[fd] == !!shim.fds[fd]);
}

/*
 * In place of kmod/sysfs.c: nobody looks at files here.
 */

const struct attribute_group *region_groups[1];
const struct attribute_group *module_groups[1];
void sysfs_prepare(void);

void sysfs_prepare(void)
{
}
