/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the module needs of a kernel, in user space, on top of tests/shim: for
 * one thread, with memory that runs out, user pointers that fault and change,
 * and a clock and credentials that the test sets. All headers <linux/X.h> that
 * tests/shim doesn't have are links to this one; see ../build.mk.
 *
 * It is not only thin but suspicious: a lock taken twice, an allocation or a
 * copy under the region's lock, a reference too many or too few ends the run.
 */
#ifndef LKVFENCE_FUZZ_KERNEL_H
#define LKVFENCE_FUZZ_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <sys/types.h>

/*
 * Language
 */

#define __user
#define __init
#define __exit
#define __must_check
#define __iomem
#define ERESTARTSYS	512
#define HZ		250
#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 1, 0)
#define LKVFENCE_MIN_VERSION	1
#define LKVFENCE_MIN_PATCHLEVEL	0
#define PAGE_SIZE	4096UL
#define NSEC_PER_MSEC	1000000L
#define MSEC_PER_SEC	1000L

#undef static_assert
#define static_assert(cond, ...)	_Static_assert(cond, #cond)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT_ULL(nr)		(1ULL << (nr))
#define BITS_TO_LONGS(n)	(((n) + 8 * sizeof(long) - 1) / (8 * sizeof(long)))
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))
#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define struct_size(p, member, n) \
	(offsetof(__typeof__(*(p)), member) + (n) * sizeof((p)->member[0]))
#define READ_ONCE(v)		(*(const volatile __typeof__(v) *)&(v))
#define WRITE_ONCE(v, to)	(*(volatile __typeof__(v) *)&(v) = (to))
#define array_index_nospec(i, n)	({ shim_assert((i) < (n)); (i); })
#ifndef INT_MAX
#define INT_MAX			((int)(~0U >> 1))
#endif

typedef unsigned int uint;
typedef unsigned short umode_t;

#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)
#define ERR_PTR(err)		((void *)(long)(err))
#define PTR_ERR(p)		((long)(p))
#define ERR_CAST(p)		((void *)(p))
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? (int)PTR_ERR(p) : 0)

/*
 * Lists and trees, as far as tests/shim has them not
 */

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_entry((head)->next, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

static inline void list_del(struct list_head *node)
{
	shim_assert(node->next->prev == node && node->prev->next == node);
	node->next->prev = node->prev;
	node->prev->next = node->next;
	/* As the kernel does: whoever follows it, falls. */
	node->next = node->prev = NULL;
}

/* The entry may come from list_del(), which leaves it empty. */
static inline void list_add(struct list_head *node, struct list_head *head)
{
	shim_assert(head->next->prev == head);
	node->next = head->next;
	node->prev = head;
	head->next->prev = node;
	head->next = node;
}

static inline void list_splice_init(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from)) {
		struct list_head *node = from->prev;

		list_del(node);
		list_add(node, to);
	}
}

/* As tests/shim has it, but for entries in zeroed memory too. */
static inline void shim_add_tail(struct list_head *node, struct list_head *head)
{
	if (!node->next && !node->prev)
		INIT_LIST_HEAD(node);
	list_add_tail(node, head);
}

#define list_add_tail(node, head)	shim_add_tail(node, head)

/* Whoever looks into a table, or changes it, holds a lock of its own. */
struct hlist_node { struct hlist_node *next, **link; };
struct hlist_head { struct hlist_node *first; };
struct hlist_node **shim_hash(struct hlist_head *table, u32 nr, u32 key);
void shim_hash_add(struct hlist_head *table, u32 nr, struct hlist_node *node, u32 key);
void hash_del(struct hlist_node *node);
#define DEFINE_HASHTABLE(name, bits)	struct hlist_head name[1U << (bits)]
#define hash_add(table, node, key) \
	shim_hash_add(table, ARRAY_SIZE(table), node, key)
#define hash_for_each_possible(table, pos, member, key)			\
	for (struct hlist_node *shim_h = *shim_hash(table, ARRAY_SIZE(table), key);	\
	     shim_h && ({ pos = container_of(shim_h, __typeof__(*pos), member); 1; });	\
	     shim_h = shim_h->next)

struct rb_node *shim_deepest(struct rb_node *node);
struct rb_node *shim_next_postorder(struct rb_node *node);

#define shim_entry_or_null(node, type, member) ({		\
	struct rb_node *shim_node = (node);			\
	shim_node ? rb_entry(shim_node, type, member) : NULL;	\
})
#ifndef rb_entry_safe
#define rb_entry_safe(ptr, type, member)	shim_entry_or_null(ptr, type, member)
#endif
#define rbtree_postorder_for_each_entry_safe(pos, n, root, field)	\
	for (pos = shim_entry_or_null(shim_deepest((root)->rb_node),	\
				      __typeof__(*pos), field);		\
	     pos && ({ n = shim_entry_or_null(				\
				shim_next_postorder(&pos->field),	\
				__typeof__(*pos), field); 1; });	\
	     pos = n)

/*
 * Atomics and locks
 */

#define smp_mb()		((void)0)
#define xchg(p, v) ({				\
	__typeof__(*(p)) xchg_old = *(p);	\
	*(p) = (v);				\
	xchg_old;				\
})
#define cmpxchg(p, old, v) ({			\
	__typeof__(*(p)) cmpxchg_old = *(p);	\
	if (cmpxchg_old == (old))		\
		*(p) = (v);			\
	cmpxchg_old;				\
})

typedef struct { s64 counter; } atomic64_t;

#define atomic64_read(v)		((v)->counter)
#define atomic64_set(v, i)		((void)((v)->counter = (i)))
#define atomic64_inc(v)			((void)++(v)->counter)
#define atomic64_inc_return(v)		(++(v)->counter)
#define atomic64_dec(v)			((void)--(v)->counter)
#define atomic64_add(i, v)		((void)((v)->counter += (i)))
typedef struct { int counter; } atomic_t;
#define atomic_inc_return(v)		(++(v)->counter)
/* One thread at a time. */
#define smp_load_acquire(p)		(*(p))
#define smp_store_release(p, v)		((void)(*(p) = (v)))

struct kref { int refs; };

#define kref_init(k)		((void)((k)->refs = 1))
#define kref_get(k)		((void)(shim_assert_expr((k)->refs > 0), (k)->refs++))
void kref_put(struct kref *kref, void (*release)(struct kref *kref));

struct mutex {
	const char *name;
	bool locked;
};

#define DEFINE_MUTEX(m)		struct mutex m = { #m, false }
#define mutex_init(m)		(*(m) = (struct mutex){ #m, false })
#define lockdep_assert_held(m)	shim_assert((m)->locked)
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
bool mutex_trylock(struct mutex *m);
int mutex_lock_interruptible(struct mutex *m);
void shim_lock_nested(struct mutex *m, struct mutex *outer);
#define mutex_lock_nest_lock(m, outer)	shim_lock_nested(m, outer)
void mutex_destroy(struct mutex *m);

typedef struct { bool locked; } spinlock_t;
void spin_lock_init(spinlock_t *lock);
void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);

#define cond_resched()		shim_may_sleep("cond_resched")
/* Nothing but a mutex that a reader may hold is held, and no spinlock. */
void shim_may_sleep(const char *why);

/*
 * Memory
 */

#define GFP_KERNEL		0U
#define GFP_KERNEL_ACCOUNT	0U
#define __GFP_NOWARN		0U
#define __GFP_ACCOUNT		0U
#define __GFP_RETRY_MAYFAIL	0U

void *shim_alloc(size_t n, size_t size);
void *shim_zalloc(size_t n, size_t size);
void kfree(const void *p);

#define kmalloc(size, gfp)		((void)(gfp), shim_alloc(1, size))
#define kzalloc(size, gfp)		((void)(gfp), shim_zalloc(1, size))
#define kmalloc_array(n, size, gfp)	((void)(gfp), shim_alloc(n, size))
#define kvmalloc(size, gfp)		((void)(gfp), shim_alloc(1, size))
#define kvzalloc(size, gfp)		((void)(gfp), shim_zalloc(1, size))
#define kvmalloc_array(n, size, gfp)	((void)(gfp), shim_alloc(n, size))
#define kvcalloc(n, size, gfp)		((void)(gfp), shim_zalloc(n, size))
#define kvfree(p)			kfree(p)

/*
 * User memory
 */

#define u64_to_user_ptr(u)	((void *)(unsigned long)(u))

unsigned long copy_from_user(void *to, const void *from, unsigned long n);
unsigned long copy_to_user(void *to, const void *from, unsigned long n);
int copy_struct_from_user(void *to, size_t ksize, const void *from, size_t usize);

#define get_user(v, p)	(copy_from_user(&(v), p, sizeof(*(p))) ? -EFAULT : 0)
#define put_user(v, p) ({						\
	__typeof__(*(p)) put_user_v = (v);				\
	copy_to_user(p, &put_user_v, sizeof(put_user_v)) ? -EFAULT : 0;	\
})

/* What is in one section is one copy. Nothing else may be done in between. */
bool user_access_begin(const void *p, size_t n);
void user_access_end(void);
#define unsafe_get_user(v, p, label) do {				\
	if (shim_get(&(v), p, sizeof(*(p))))				\
		goto label;						\
} while (0)
#define unsafe_put_user(v, p, label) do {				\
	__typeof__(*(p)) unsafe_put_v = (v);				\
									\
	if (shim_put(p, &unsafe_put_v, sizeof(unsafe_put_v)))		\
		goto label;						\
} while (0)
bool shim_get(void *to, const void *from, size_t n);
bool shim_put(void *to, const void *from, size_t n);

/*
 * Time, timers, work
 */

#define CLOCK_MONOTONIC		1
enum hrtimer_mode { HRTIMER_MODE_ABS };
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	u64 expires;
	u64 slack;
	bool armed;
	struct hrtimer *next;
};

#define HAVE_HRTIMER_SETUP
void hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*function)(struct hrtimer *timer),
		   int clock, enum hrtimer_mode mode);
void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t when, u64 slack,
			    enum hrtimer_mode mode);
int hrtimer_cancel(struct hrtimer *timer);
u64 ktime_get_ns(void);
#define ns_to_ktime(ns)		((ktime_t)(ns))

struct work_struct {
	void (*func)(struct work_struct *work);
	bool pending;
	struct work_struct *next;
};

struct workqueue_struct;
#define WQ_UNBOUND		0
#define INIT_WORK(w, f)		(*(w) = (struct work_struct){ .func = (f) })
#define alloc_workqueue(name, flags, max) \
	((struct workqueue_struct *)shim_alloc(1, 1))
#define destroy_workqueue(wq)	kfree(wq)
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);

/* @work.pending says that it is in the list of those that wait for their time. */
struct delayed_work {
	struct work_struct work;
	u64 due;
	struct delayed_work *next;
	const char *name;		/* of its function */
};

#define SHIM_JIFFY_NS		(1000000000U / HZ)
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(w, f)	(*(w) = (struct delayed_work){ .work.func = (f), .name = #f })
#define nsecs_to_jiffies(ns)	((unsigned long)((ns) / SHIM_JIFFY_NS))
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay);
bool cancel_delayed_work(struct delayed_work *work);

/*
 * Objects and files
 */

struct attribute_group;
struct kobject;
struct sysfs_ops { int unused; };
extern const struct sysfs_ops kobj_sysfs_ops;

struct kobj_type {
	const struct sysfs_ops *sysfs_ops;
	const struct attribute_group **default_groups;
	void (*release)(struct kobject *kobj);
};

struct kobject {
	char name[64];
	int refs;
	bool added;
	struct kobj_type *type;
};

void kobject_init(struct kobject *kobj, struct kobj_type *type);
int kobject_add(struct kobject *kobj, struct kobject *parent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void kobject_del(struct kobject *kobj);
struct kobject *kobject_get(struct kobject *kobj);
void kobject_put(struct kobject *kobj);
struct kobject *kobject_create_and_add(const char *name, struct kobject *parent);
#define kobject_name(k)		((const char *)(k)->name)
#define sysfs_create_link(kobj, target, name)	((void)(kobj), 0)
#define sysfs_remove_link(kobj, name)		((void)(kobj))

struct module {
	struct { struct kobject kobj; } mkobj;
	int refs;
};

extern struct module shim_module;
#define THIS_MODULE		(&shim_module)
#define __module_get(m)		((void)++(m)->refs)
#define module_put(m)		((void)(shim_assert_expr((m)->refs > 0), --(m)->refs))
#define shim_assert_expr(cond)	({ shim_assert(cond); 0; })

struct inode;
struct file_operations;

struct file {
	void *private_data;
	unsigned int f_flags;
	const struct file_operations *f_op;
};

typedef unsigned int __poll_t;
typedef struct { int unused; } poll_table;
#define EPOLLIN			0x001U
#define EPOLLRDNORM		0x040U
#define poll_wait(file, wait, table) \
	((void)(file), (void)(wait), (void)(table))

struct file_operations {
	struct module *owner;
	void *llseek;
	long (*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	void *compat_ioctl;
	int (*release)(struct inode *inode, struct file *file);
	ssize_t (*read)(struct file *file, char *buf, size_t len, loff_t *pos);
	__poll_t (*poll)(struct file *file, poll_table *table);
};

#define noop_llseek		NULL
#define compat_ptr_ioctl	NULL
struct file *anon_inode_getfile(const char *name, const struct file_operations *fops,
				void *priv, int flags);
int get_unused_fd_flags(unsigned int flags);
void put_unused_fd(unsigned int fd);
void fd_install(unsigned int fd, struct file *file);
void fput(struct file *file);

typedef struct { u64 wakes; } wait_queue_head_t;
#define init_waitqueue_head(w)	((w)->wakes = 0)
#define wake_up_interruptible_poll(w, mask)	((void)(mask), (void)++(w)->wakes)
/* Nobody else is there to wake us: a signal comes. */
#define wait_event_interruptible(w, cond) \
	(shim_may_sleep("wait"), (void)(w), (cond) ? 0 : -ERESTARTSYS)

struct device { struct kobject kobj; };
#define MISC_DYNAMIC_MINOR	255
struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
	umode_t mode;
	const struct attribute_group **groups;
	struct device *this_device;
};

int misc_register(struct miscdevice *misc);
void misc_deregister(struct miscdevice *misc);

/*
 * Who calls
 */

typedef struct { u32 val; } kuid_t;
typedef struct { u32 val; } kgid_t;

struct task_struct {
	pid_t tgid;
	struct task_struct *group_leader;
	char comm[16];
};

extern struct task_struct shim_task;
#define current			(&shim_task)
#define CAP_DAC_OVERRIDE	1
#define CAP_SYS_ADMIN		21

kuid_t current_euid(void);
kgid_t current_egid(void);
bool in_egroup_p(kgid_t gid);
bool capable(int cap);
bool signal_pending(struct task_struct *task);
#define uid_eq(a, b)		((a).val == (b).val)
/* There is one user namespace. */
#define init_user_ns			(*(int *)NULL)
#define current_user_ns()		NULL
#define from_kuid(ns, uid)		((void)(ns), (uid).val)
#define from_kuid_munged(ns, uid)	((void)(ns), (uid).val)
#define uid_lt(a, b)		((a).val < (b).val)
#define get_task_comm(buf, task) \
	((void)memcpy(buf, (task)->comm, sizeof((task)->comm)))
ssize_t strscpy(char *to, const char *from, size_t size);

/*
 * The rest of a module
 */

struct ratelimit_state { u64 asked; };
#define ratelimit_state_init(rs, interval, burst) \
	((void)(interval), (void)(burst), (void)((rs)->asked = 0))
#define __ratelimit(rs)		(++(rs)->asked, true)

void shim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define pr_notice(fmt, ...)	shim_log(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)	shim_log(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err(fmt, ...)	shim_log(pr_fmt(fmt), ##__VA_ARGS__)

struct kernel_param;
struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buf, const struct kernel_param *kp);
};

struct kernel_param {
	const struct kernel_param_ops *ops;
	void *arg;
};

int kstrtouint(const char *s, unsigned int base, unsigned int *res);
int param_get_uint(char *buf, const struct kernel_param *kp);
int wait_for_random_bytes(void);
void get_random_bytes(void *buf, size_t len);

void sort(void *base, size_t n, size_t size, int (*cmp)(const void *a, const void *b),
	  void *swap);

/* The test reaches a parameter as shim_param_NAME, the init as shim_init(). */
#define module_param_cb(name, o, a, mode) \
	const struct kernel_param shim_param_##name = { o, a }
#define module_param(name, type, mode) \
	const struct kernel_param shim_param_##name = { NULL, &name }
#define module_init(fn)		int shim_init(void) { return fn(); }
#define module_exit(fn)		void shim_exit(void) { fn(); }
int shim_init(void);
void shim_exit(void);
#define MODULE_PARM_DESC(name, text)	struct shim_unused
#define MODULE_LICENSE(text)		struct shim_unused
#define MODULE_VERSION(text)		struct shim_unused
#define MODULE_DESCRIPTION(text)	struct shim_unused

#endif /* LKVFENCE_FUZZ_KERNEL_H */
