// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The crowd: processes of several threads that share handles, pass them on,
 * close them, and are killed in the middle of what they do. At the end all of
 * it must come back by itself, or by the deadlines (L11).
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "crowd.h"

#define MAX_THREADS	16
#define MAX_PROCESSES	16

/* The second is small, so that all want the same; the third comes and goes. */
const unsigned int crowd_slots[CROWD_REGIONS] = { CROWD_SLOTS, 24, 128 };

/* The second doesn't trust that what was in ERR for a while is quiet. */
const uint32_t crowd_accepts[CROWD_REGIONS] = {
	0, LKVFENCE_ACCEPT_ALL & ~(1U << LKVFENCE_EVIDENCE_QP_ERR_SETTLED |
				   1U << LKVFENCE_EVIDENCE_MW_INVALIDATED), 0,
};

void crowd_failed(struct crowd *c, const char *fmt, ...)
{
	va_list args;

	/* The first one tells. */
	if (atomic_exchange(&c->failed, true))
		return;
	va_start(args, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, args);
	va_end(args);
}

void crowd_name(char *name, int region)
{
	snprintf(name, LKVFENCE_NAME_MAX, "crowd-%d", region);
}

int crowd_open(int region, uint32_t flags)
{
	struct lkvfence_open a = {
		.size = sizeof(a),
		.flags = LKVFENCE_OPEN_CREATE | flags,
		.slot_size = 4096,
		.nr_slots = crowd_slots[region],
		.mode = 0600,
		.accepts = crowd_accepts[region],
	};
	int dev = device(), err;

	crowd_name(a.name, region);
	err = sys(dev, LKVFENCE_IOC_OPEN, &a);
	close(dev);
	return err ? err : a.fd;
}

/*
 * Handles of a process. A thread that uses one keeps others from closing it,
 * so that a number means the same handle from beginning to end; that others
 * close the handle itself meanwhile is what descriptors elsewhere are for.
 */

static bool try_use(struct entry *e)
{
	int users = atomic_load(&e->users);

	while (users >= 0)
		if (atomic_compare_exchange_weak(&e->users, &users, users + 1))
			return true;
	return false;
}

/* Make a free one ours alone, or one that nobody uses: its users are then -1. */
static bool try_own(struct entry *e)
{
	int none = 0;

	return atomic_compare_exchange_strong(&e->users, &none, -1);
}

static void install(struct entry *e, int fd, int region)
{
	e->fd = fd;
	e->region = region;
	atomic_store(&e->users, 0);
}

static void replace(struct member *me, struct entry *e)
{
	int nr = below(&me->seed, CROWD_REGIONS);
	int fd, old = e->fd;

	switch (below(&me->seed, 4)) {
	case 0:
		fd = old >= 0 ? dup(old) : -1;
		nr = e->region;
		break;
	case 1:
		fd = -1;
		break;
	default:
		fd = crowd_open(nr, LKVFENCE_OPEN_NONBLOCK);
		never(me, fd < 0 && fd != -EMFILE, "OPEN: answer %d", fd);
		atomic_fetch_add(&me->crowd->calls, 1);
	}
	if (old >= 0) {
		close(old);
		atomic_fetch_add(&me->crowd->calls, 1);
	}
	install(e, fd, nr);
}

/* Handles travel with the number of their region. */
static void send_handle(struct member *me, int fd, int region)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &region, sizeof(region) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	/* When there are many on their way already, it stays here. */
	sendmsg(me->to, &msg, MSG_DONTWAIT);
}

static int receive_handle(int socket, int *region)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { region, sizeof(*region) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_DONTWAIT) != sizeof(*region))
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static void move_handles(struct member *me, struct entry *e)
{
	int nr, fd;

	if (below(&me->seed, 2)) {
		if (e->fd >= 0)
			send_handle(me, e->fd, e->region);
		atomic_fetch_sub(&e->users, 1);
		return;
	}
	atomic_fetch_sub(&e->users, 1);
	if (!try_own(e))
		return;
	fd = receive_handle(me->from, &nr);
	if (fd < 0) {
		install(e, e->fd, e->region);
		return;
	}
	if (e->fd >= 0)
		close(e->fd);
	install(e, fd, nr);
}

static void *member_main(void *arg)
{
	struct member *me = arg;

	while (atomic_load(&me->crowd->calls) < me->quota && !atomic_load(&me->crowd->failed)) {
		struct entry *e = &me->entries[below(&me->seed, CROWD_HANDLES)];
		uint32_t what = below(&me->seed, 100);

		if ((what < 3 || e->fd < 0) && try_own(e)) {
			replace(me, e);
			continue;
		}
		if (!try_use(e))
			continue;
		if (what < 6) {
			move_handles(me, e);
			continue;
		}
		if (e->fd >= 0 && what < 25)
			crowd_read(me, e->fd);
		else if (e->fd >= 0)
			crowd_call(me, e->fd, e->region);
		atomic_fetch_sub(&e->users, 1);
	}
	return NULL;
}

/* One that waits for events with no O_NONBLOCK, until the process dies. */
static void *reader_main(void *arg)
{
	struct member *me = arg;
	int fd = crowd_open(below(&me->seed, CROWD_REGIONS), 0);

	while (fd >= 0 && !atomic_load(&me->crowd->failed))
		crowd_read(me, fd);
	return NULL;
}

static _Noreturn void process_main(struct member me, const struct options *o)
{
	static struct entry entries[CROWD_HANDLES];
	static struct member members[MAX_THREADS + 1];
	pthread_t threads[MAX_THREADS];
	pthread_t reader;

	if (me.crowd->can_revoke)
		crowd_qps_open();
	for (int i = 0; i < CROWD_HANDLES; i++)
		entries[i].fd = -1;
	for (unsigned int i = 0; i <= o->threads; i++) {
		members[i] = me;
		members[i].entries = entries;
		members[i].seed = random_of(&me.seed) | 1;
	}
	if (below(&me.seed, 2))
		pthread_create(&reader, NULL, reader_main, &members[o->threads]);
	for (unsigned int i = 0; i < o->threads; i++)
		need(!pthread_create(&threads[i], NULL, member_main, &members[i]), "a thread");
	for (unsigned int i = 0; i < o->threads; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* Reap it if it has died: by itself only at the end, and content. */
static bool has_died(struct crowd *c, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		crowd_failed(c, "a process ended with status %d", WEXITSTATUS(status));
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		crowd_failed(c, "a process died of signal %d", WTERMSIG(status));
	return true;
}

/* Keep so many processes running, and kill one now and then. */
static unsigned int run(const struct member *first, const struct options *o)
{
	pid_t pids[MAX_PROCESSES] = { 0 };
	struct member me = *first;
	struct crowd *c = me.crowd;
	unsigned int killed = 0, i;
	uint64_t calls = 0;
	int64_t next = 0, moved = now_ns();

	while (atomic_load(&c->calls) < me.quota && !atomic_load(&c->failed)) {
		for (i = 0; i < o->processes; i++) {
			if (pids[i] && !has_died(c, pids[i]))
				continue;
			me.seed = random_of(&me.seed) | 1;
			pids[i] = fork();
			need(pids[i] >= 0, "fork");
			if (!pids[i])
				process_main(me, o);
		}
		usleep(10000);
		if (now_ns() > next) {
			kill(pids[below(&me.seed, o->processes)], SIGKILL);
			killed++;
			next = now_ns() + (20 + below(&me.seed, 200)) * (int64_t)MS;
		}
		if (atomic_load(&c->calls) != calls) {
			calls = atomic_load(&c->calls);
			moved = now_ns();
		} else if (now_ns() > moved + PATIENCE_MS * (int64_t)MS) {
			crowd_failed(c, "L9: nobody comes back from a call");
		}
	}
	for (i = 0; i < o->processes; i++) {
		if (!pids[i])
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return killed;
}

static uint64_t total(const char *what)
{
	return atoll(line_of("/sys/class/misc/lkvfence/%s", what));
}

static uint64_t total_released(void)
{
	return total("released_completed") + total("released_drained") +
	       total("released_revoked") + total("released_timeout") + total("released_gone");
}

static uint64_t total_answered(void)
{
	return total("pulls_granted") + total("pulls_refused") + total("pulls_closed");
}

/* At once: members of one group lie in several regions. */
static bool all_empty(void)
{
	char name[LKVFENCE_NAME_MAX + 1];
	bool all = true;

	for (int i = 0; i < CROWD_REGIONS; i++) {
		crowd_name(name, i);
		all &= empty_once(name);
	}
	return all;
}

void crowd(const struct options *o)
{
	struct member me = { .seed = o->seed, .quota = o->calls };
	uint64_t begun = total("begun"), released = total_released();
	int pair[2], fd, keep[2], number;
	unsigned int killed;
	char name[LKVFENCE_NAME_MAX + 1];
	uint64_t quiet = total("sources_revoked"), lost = total("sources_lost");
	struct lkvfence *f;
	struct crowd *c;
	uint64_t pulls = total("pulls"), answered = total_answered();
	struct lkvfence_pull pull = { .size = sizeof(pull) };

	need(o->threads <= MAX_THREADS && o->processes <= MAX_PROCESSES, "fewer of them");
	set_param("timeout_min_ms", CROWD_MIN_MS);
	set_param("timeout_default_ms", CROWD_DEFAULT_MS);
	set_param("timeout_max_ms", CROWD_MAX_MS);
	set_param("settle_ms", CROWD_SETTLE_MS);
	set_param("revoke_timeout_ms", CROWD_REVOKE_MS);
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(c != MAP_FAILED, "shared memory");
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	me.crowd = c;
	c->can_revoke = can_revoke() && !access("/sys/class/infiniband/rxe0", F_OK);
	f = region("crowd-first", 1);
	c->first_generation = begin(f, 0, 0, 1, 0) + 1;
	lkvfence_abort_generation(f, c->first_generation - 1);
	need(!sys(lkvfence_fd(f), LKVFENCE_IOC_PULL, &pull), "PULL");
	c->first_ticket = pull.ticket + 1;
	lkvfence_close(f);
	for (int i = 0; i < 2; i++)
		keep[i] = crowd_open(i, LKVFENCE_OPEN_NONBLOCK);

	fflush(stdout);
	me.to = pair[0];
	me.from = pair[1];
	killed = run(&me, o);
	check(!atomic_load(&c->failed), "no answer is one that can't be%s%s",
	      c->failed ? ": " : "", c->why);

	/* Handles that nobody took are closed with their messages. */
	while ((fd = receive_handle(pair[1], &number)) >= 0)
		close(fd);
	close(pair[0]);
	close(pair[1]);
	close(keep[0]);
	close(keep[1]);
	check(until(all_empty()), "all transfers come back");
	for (int i = 0; i < CROWD_REGIONS; i++) {
		crowd_name(name, i);
		check(until(!region_exists(name)), "region %s is gone with its last hold", name);
	}
	put_params_back();

	begun = total("begun") - begun;
	released = total_released() - released;
	check(begun == released, "as many were released (%" PRIu64 ") as were begun", released);
	/* What a process began when it was killed may not have been counted. */
	check(begun >= c->begun && begun <= c->begun + 1 +
	      (uint64_t)(killed + o->processes) * (o->threads + 1),
	      "as many were begun (%" PRIu64 ") as were told so (%" PRIu64 ")", begun, c->begun);
	quiet = total("sources_revoked") - quiet;
	lost = total("sources_lost") - lost;
	if (c->can_revoke) {
		check(quiet && c->revoked, "sources were revoked (%" PRIu64 "), or lost (%" PRIu64
		      "), and that was told (%" PRIu64 ")", quiet, lost, c->revoked);
	} else {
		skip("the kernel is not one on which it is safe, or there is no rxe0",
		     "sources were revoked");
	}
	/* L6: nobody waits any more, and each had its answer, or was gone. */
	pulls = total("pulls") - pulls;
	answered = total_answered() - answered;
	check(pulls == answered && !total("tickets"), "pulls were answered (%" PRIu64 ")", pulls);
	check(c->together && c->succeeded[_IOC_NR(LKVFENCE_IOC_JOIN) % 32],
	      "groups came back (%" PRIu64 ")", c->together);
	check(c->succeeded[_IOC_NR(LKVFENCE_IOC_PEER) % 32], "PEER succeeded, %" PRIu64 " times",
	      c->succeeded[_IOC_NR(LKVFENCE_IOC_PEER) % 32]);
	check(c->answers[0] && c->answers[1], "%" PRIu64 " answers were read: granted, %" PRIu64
	      ": refused", c->answers[0], c->answers[1]);
	for (int i = 0x11; i <= 0x1f; i++) {
		if (!c->can_revoke && i > 0x18 && i < 0x1d)
			continue;
		check(c->succeeded[i], "command %#x succeeded, %" PRIu64 " times", i,
		      c->succeeded[i]);
	}
	note("EBUSY %" PRIu64 " times, EEXIST %" PRIu64 " times", c->refused[0], c->refused[1]);
	check(c->events && killed, "%" PRIu64 " events were read, and %u processes killed",
	      c->events, killed);
	check(c->calls >= o->calls, "%" PRIu64 " calls", c->calls);
	munmap(c, sizeof(*c));
}
