// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L2: slots come back by proof, or at the deadline. Whatever else anybody
 * tries, they stay.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "e2e.h"

#define NAME	"L2-no-way-round"

static struct lkvfence *f;

static void still_out(uint64_t generation, const char *what)
{
	struct lkvfence_stat stat = stat_of(f);
	struct lkvfence_begin b = want(1000, 7, 1, 1);

	check(lkvfence_begin(f, &b) == -EBUSY && b.busy_generation == generation &&
	      stat.slots_taken == 8 && stat.slots_held == 8 && adds_up(&stat),
	      "%s: the slots stay out", what);
}

static void calls(void)
{
	uint64_t g = begin(f, 1, 0, 8, 2);
	struct lkvfence_stat before;
	int i, refused = 0;

	gives(lkvfence_release(f, g), -EBUSY, "RELEASE");
	need(!lkvfence_abort_generation(f, g), "ABORT");
	still_out(g, "ABORT");
	gives(lkvfence_release(f, g), -EBUSY, "RELEASE after ABORT");
	still_out(g, "RELEASE after ABORT");
	gives(lkvfence_force_release(f, g), -EBUSY, "force before the deadline, by root");
	still_out(g, "force");
	for (i = 0; i < 10; i++)
		need(!lkvfence_abort_generation(f, g), "ABORT");
	still_out(g, "ten ABORTs");
	need(!drained(f, g, 1), "RETURN");
	before = stat_of(f);
	for (i = 0; i < 10; i++)
		refused += drained(f, g, 1) == -EALREADY;
	gives(refused, 10, "one source's return ten times more");
	counted(f, &before, returns_duplicate, 10, "only returns_duplicate has changed");
	for (i = 10; i < 20; i++)
		refused += drained(f, g, i) == -ENOENT;
	gives(refused, 20, "returns of sources that had no lease");
	still_out(g, "returns");
	gives(lkvfence_adopt(f, g), -EALREADY, "ADOPT");
	still_out(g, "ADOPT");
	need(!drained(f, g, 2), "RETURN");
	gives(event(f).outcome, LKVFENCE_OUTCOME_DRAINED, "the last proof releases");
}

static uint64_t child_generation(int pipe)
{
	uint64_t g = 0;

	need(read(pipe, &g, sizeof(g)) == sizeof(g), "the child's generation");
	return g;
}

/* A process that begins a transfer and ends in some way. */
static uint64_t dies(void (*way)(struct lkvfence *mine), int signal)
{
	int fds[2];
	uint64_t g;
	pid_t pid;

	need(!pipe(fds), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		struct lkvfence *mine = region(NAME, 64);

		g = begin(mine, 2, 0, 8, 1);
		if (write(fds[1], &g, sizeof(g)) != sizeof(g))
			_exit(1);
		if (way)
			way(mine);
		for (;;)
			pause();
	}
	g = child_generation(fds[0]);
	if (signal)
		kill(pid, signal);
	status_of(pid);
	close(fds[0]);
	close(fds[1]);
	return g;
}

static void closes(struct lkvfence *mine)
{
	lkvfence_close(mine);
	_exit(0);
}

static void exits(struct lkvfence *mine)
{
	(void)mine;
	_exit(0);
}

static void execs(struct lkvfence *mine)
{
	(void)mine;
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static void aborts(struct lkvfence *mine)
{
	(void)mine;
	abort();
}

static void deaths(void)
{
	static const struct {
		void (*way)(struct lkvfence *mine);
		int signal;
		const char *what;
	} ways[] = {
		{ closes, 0, "close" }, { exits, 0, "exit" }, { execs, 0, "exec" },
		{ aborts, 0, "a crash" }, { NULL, SIGKILL, "kill -9" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		uint64_t g = dies(ways[i].way, ways[i].signal);

		still_out(g, ways[i].what);
		gives(query(f, g).reason, LKVFENCE_REASON_ORPHANED, "it is an orphan");
		need(!drained(f, g, 1), "RETURN");
		gives(stat_of(f).slots_taken, 0, "proof releases it");
	}
}

/* Lower what can be lowered. */
static void parameters(void)
{
	uint64_t g = hold(f, 3, 0, 8, 1, LKVFENCE_POLICY_TAINT, 3000000);
	struct lkvfence_query before = query(f, g), after;

	set_param("timeout_min_ms", 1);
	set_param("timeout_default_ms", 1);
	set_param("timeout_max_ms", 1);
	set_param("max_slots", 0);
	set_param("max_regions", 0);
	set_param("max_transfers", 0);
	gives(lkvfence_abort_generation(f, g), 0, "ABORT with the parameters at their lowest");
	gives(abort_with(f, g, LKVFENCE_POLICY_TAINT, 1), 0, "with a timeout of theirs");
	usleep(100000);
	after = query(f, g);
	check(after.state == LKVFENCE_STATE_ENDED &&
	      after.flags == LKVFENCE_TRANSFER_MINE &&
	      after.deadline_ns == before.deadline_ns, "the deadline stands");
	gives(stat_of(f).slots_held, 8, "the slots stay out");
	need(!drained(f, g, 1), "RETURN");
	gives(event(f).outcome, LKVFENCE_OUTCOME_DRAINED, "proof releases it");
	put_params_back();
}

static int writable(const char *dir)
{
	struct dirent *d;
	int nr = 0;
	DIR *files = opendir(dir);
	char path[1024];
	struct stat st;

	need(files, "%s", dir);
	while ((d = readdir(files))) {
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode) ||
		    !strcmp(d->d_name, "uevent"))
			continue;
		/* Root may open anything for writing; sysfs refuses the write. */
		if (st.st_mode & 0222 || !write_file(path, "0")) {
			note("%s can be written", path);
			nr++;
		}
	}
	closedir(files);
	return nr;
}

static void sysfs(void)
{
	uint64_t g = hold(f, 4, 0, 8, 1, 0, 0);

	gives(writable("/sys/class/misc/lkvfence") +
	      writable("/sys/class/misc/lkvfence/objects") +
	      writable("/sys/class/misc/lkvfence/regions/" NAME), 0,
	      "no file in sysfs can be written");
	still_out(g, "writing to sysfs");
	need(!drained(f, g, 1), "RETURN");
	event(f);
}

int main(void)
{
	f = region(NAME, 64);
	calls();
	deaths();
	parameters();
	sysfs();
	lkvfence_close(f);
	return done();
}
