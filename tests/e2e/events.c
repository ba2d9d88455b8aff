// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * read(2) on a handle: as many events as are there and fit, in order; none is
 * lost, whatever is wrong with the buffer.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "e2e.h"

#define SIZE	sizeof(struct lkvfence_event)

static ssize_t get(int fd, void *buf, size_t len)
{
	ssize_t n = read(fd, buf, len);

	return n < 0 ? -errno : n;
}

/* @nr events: transfers released at once; their first generation. */
static uint64_t post(struct lkvfence *f, unsigned int nr)
{
	uint64_t first = 0, g;

	while (nr--) {
		g = begin(f, 1, 0, 1, 0);
		first = first ?: g;
		need(!lkvfence_abort_generation(f, g), "ABORT");
	}
	return first;
}

static bool in_order(const struct lkvfence_event *e, unsigned int nr, uint64_t first)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (e[i].generation != first + i ||
		    e[i].type != LKVFENCE_EVENT_RELEASED)
			return false;
	}
	return true;
}

static void sizes(struct lkvfence *f, int fd)
{
	static struct lkvfence_event e[64];
	uint64_t g = post(f, 40);

	gives(get(fd, e, 0), -EINVAL, "room for nothing");
	gives(get(fd, e, SIZE - 1), -EINVAL, "a byte too little room");
	gives(get(fd, e, SIZE), SIZE, "room for one");
	check(in_order(e, 1, g), "it is the first");
	gives(get(fd, e, SIZE * 3 - 1), SIZE * 2, "room for almost three");
	check(in_order(e, 2, g + 1), "the next two");
	gives(get(fd, e, sizeof(e)), SIZE * 37, "room for more than there is");
	check(in_order(e, 37, g + 3), "all others, in order");
	gives(get(fd, e, sizeof(e)), -EAGAIN, "then there is none");
	gives(get(fd, e, 0), -EINVAL, "room for nothing is wrong still");
}

static void faults(struct lkvfence *f, int fd)
{
	uint64_t g = post(f, 20);
	struct lkvfence_event e[20];
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t n;

	need(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_READ), "memory");
	/* not by read(2), which compilers know to want a buffer */
	gives(syscall(SYS_read, fd, NULL, SIZE) < 0 ? -errno : 0, -EFAULT, "a buffer at NULL");
	gives(get(fd, page + 4096, SIZE), -EFAULT, "one that is read-only");
	gives(get(fd, page + 4096 - SIZE / 2, SIZE), -EFAULT, "one that ends halfway");
	/* Ten fit; some come at least if what is copied at a time is less. */
	n = get(fd, page + 4096 - 10 * SIZE, 20 * SIZE);
	check(n == -EFAULT || (n > 0 && n % (ssize_t)SIZE == 0 &&
			       n <= 10 * (ssize_t)SIZE),
	      "one that ends behind ten of twenty (%zd)", n);
	n = n > 0 ? n / (ssize_t)SIZE : 0;
	if (n)
		check(in_order((void *)(page + 4096 - 10 * SIZE), n, g),
		      "what it told is the first");
	gives(get(fd, e, sizeof(e)), (20 - n) * SIZE, "nothing is lost");
	check(in_order(e, 20 - n, g + n), "the others, in order");
	munmap(page, 8192);
}

/* ENDED, QUARANTINED and RELEASED of one transfer, told late. */
static void kinds(struct lkvfence *f, struct lkvfence *other, int fd)
{
	uint64_t g = begin(f, 2, 8, 8, 1);
	struct lkvfence_event e[8] = { { 0 } };
	struct lkvfence_query q;

	need(!abort_with(other, g, LKVFENCE_POLICY_QUARANTINE, 10), "ABORT");
	need(until(stat_of(f).transfers_quarantined), "quarantine");
	q = query(f, g);
	need(!drained(f, g, 1), "RETURN");
	gives(get(fd, e, sizeof(e)), 3 * SIZE, "three events of one transfer");
	check(e[0].type == LKVFENCE_EVENT_ENDED &&
	      e[1].type == LKVFENCE_EVENT_QUARANTINED &&
	      e[2].type == LKVFENCE_EVENT_RELEASED, "in the order of its life");
	check(e[0].generation == g && e[1].generation == g && e[2].generation == g,
	      "all of it");
	check(e[0].time_ns == q.ended_ns && e[1].time_ns >= q.deadline_ns &&
	      e[2].time_ns >= e[1].time_ns &&
	      e[2].held_ns == e[2].time_ns - e[0].time_ns, "with their times");
	check(!e[0].held_ns && !e[1].held_ns && !e[0].outcome && !e[1].outcome &&
	      !e[0].flags && !e[1].flags && !e[2].flags,
	      "only the last one has an outcome");

	/* Told one by one, each when it happened. */
	g = begin(f, 2, 8, 8, 1);
	need(!abort_with(other, g, LKVFENCE_POLICY_QUARANTINE, 10), "ABORT");
	gives(event(f).type, LKVFENCE_EVENT_ENDED, "first");
	gives(event(f).type, LKVFENCE_EVENT_QUARANTINED, "then");
	need(!drained(f, g, 1), "RETURN");
	gives(event(f).type, LKVFENCE_EVENT_RELEASED, "at last");
	check(silent(f), "and no more");
}

struct reader {
	int fd;
	ssize_t got;
	struct lkvfence_event e[4];
};

static void *reads(void *arg)
{
	struct reader *r = arg;

	r->got = get(r->fd, r->e, sizeof(r->e));
	return NULL;
}

static void no_op(int sig)
{
	(void)sig;
}

static void blocking(void)
{
	int fd = region_fd("events-blocking", 8, 0);
	struct reader one = { .fd = fd }, two = { .fd = fd };
	struct sigaction act = { .sa_handler = no_op };
	struct lkvfence *f;
	pthread_t a, b;

	need(!lkvfence_from_fd(&f, dup(fd)), "a handle");
	/* The library made it non-blocking, for both. */
	need(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), "fcntl");
	need(!pthread_create(&a, NULL, reads, &one), "a thread");
	usleep(100000);
	gives(one.got, 0, "a blocking read waits");
	post(f, 1);
	pthread_join(a, NULL);
	gives(one.got, SIZE, "and is woken by an event");

	one.got = 0;
	need(!pthread_create(&a, NULL, reads, &one) &&
	     !pthread_create(&b, NULL, reads, &two), "two threads");
	usleep(100000);
	post(f, 2);
	check(until(__atomic_load_n(&one.got, __ATOMIC_ACQUIRE) +
		    __atomic_load_n(&two.got, __ATOMIC_ACQUIRE) == 2 * (ssize_t)SIZE),
	      "two events, two readers: each event came once");
	/* If one reader got both the other still waits. */
	if (!one.got || !two.got)
		post(f, 1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	check(one.e[0].generation != two.e[0].generation, "not the same one");

	one.got = 0;
	sigaction(SIGUSR1, &act, NULL);
	need(!pthread_create(&a, NULL, reads, &one), "a thread");
	usleep(100000);
	need(until((pthread_kill(a, SIGUSR1),
		    __atomic_load_n(&one.got, __ATOMIC_ACQUIRE))), "a signal");
	pthread_join(a, NULL);
	gives(one.got, -EINTR, "a signal ends the wait");
	lkvfence_close(f);
	close(fd);
}

int main(void)
{
	struct lkvfence *f = region("events", 64), *other = region("events", 64);
	int fd = lkvfence_fd(f);

	sizes(f, fd);
	faults(f, fd);
	kinds(f, other, fd);
	blocking();
	lkvfence_close(other);
	lkvfence_close(f);
	return done();
}
