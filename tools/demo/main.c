// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * lkvfence-demo: a late RDMA write, shown and stopped.
 *
 * WHO IS WHO
 *
 *   decode      one process (decode.c). Owns a pool of slots, registered for
 *               remote writing, and a free list (pool.c). Admits requests,
 *               generates by reading their slots, frees them.
 *   prefill     two processes, ranks 0 and 1 (prefill.c). Make the KV of a
 *               request in their own memory and write it into decode's slots
 *               by RDMA WRITE, each over its own connection. Decode's CPU sees
 *               none of that.
 *   clients     played by decode. Their requests come from a production trace
 *               (trace.c). Some hang up while their KV is being written.
 *   launcher    this file: starts the three, once for each run, and compares.
 *
 * THE PLAY
 *
 *   1. Request A is admitted. It gets slots 100 to 163; rank 0 is told, and
 *      posts RDMA writes for all of them at once, as deep as its queue goes.
 *   2. A's client hangs up when a part has landed. Decode sends ABORT to
 *      rank 0, which posts no more. But what is posted can't be called back.
 *   3. Request B comes, is admitted, and gets slots from the top of the free
 *      list. Rank 1 has asked for work, and fills them.
 *   4. Rank 0's queue has come to the rest of A's writes. They land.
 *   5. B decodes. It reads its slots, and what it reads is A's prompt.
 *
 * Without the fence, decode puts A's slots back in step 2. That is the bug,
 * and the one line that makes it is in hang_up() in decode.c: no error is
 * reported anywhere, and nothing in the engine looks wrong.
 *
 * With it, step 2 tells the module that A has ended (fence.c). The slots stay
 * out until rank 0's answer proves that all its writes have completed, or,
 * where the answer is lost or says "failed", until a deadline that is longer
 * than a write can be late. Then an event gives them back. B gets other slots
 * meanwhile, or waits for some. A's client hears of its end at once, as before.
 *
 * THE THIRD ACT
 *
 * What if rank 0 never answers? See stuck.c.
 *
 * THE FOURTH ACT
 *
 * Pull mode: decode reads, and it is the prefill whose slots must stay. See pull.c.
 *
 * THE FIFTH ACT
 *
 * A prefill dies, and who reads from it is refused until it is back. See peer.c.
 *
 * Both runs have the same requests and the same hang-ups. Whether something
 * went wrong is judged by what decode read (read_slot() in decode.c), not by
 * anything that the fence says.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "demo.h"

const char *who = "launcher";

static const char usage[] =
	"usage: lkvfence-demo [OPTION...]\n"
	"  --both | --no-fence | --fence | --stuck | --pull | --peer\n"
	"                    which runs: both, one of them, or the third, fourth or\n"
	"                    fifth act (all)\n"
	"  --requests N      requests of the trace (500)\n"
	"  --hangups PERCENT clients that hang up in mid-transfer (10)\n"
	"  --lost PERCENT    acknowledgements of aborts that get lost (5)\n"
	"  --failed PERCENT  acknowledgements that say \"failed\" (5)\n"
	"  --twice PERCENT   acknowledgements that are sent twice (5)\n"
	"  --seed N          of all that is left to chance (1)\n"
	"  --hold-ms MS      least deadline of a hold (6000)\n"
	"  --slots N         slots of the decode pool (4096)\n"
	"  --slot-size BYTES (4096, or more where the machine is fast)\n"
	"  --tokens N        tokens in a slot (256)\n"
	"  --staged N        slots of the memory that a prefill sends from (512)\n"
	"  --short N         a prefill asks for more when it has less slots to write (32)\n"
	"  --step-ms MS      one decode step (10)\n"
	"  --speed N         of the trace's clock (20)\n"
	"  --tries N         of each way in the third and fourth act (5)\n"
	"  --device NAME     RDMA device (rxe0)\n"
	"  --trace FILE      (tools/demo/trace.jsonl)\n"
	"  --json FILE       write the result there too\n"
	"Exit status: 0 the runs showed what they should, 1 they did not, 2 wrong use.\n";

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "demo: %s: ", who);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void *shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		die("no memory for %zu bytes", size);
	return mem;
}

static struct board *board_make(const struct options *opt, const struct plan *plan, bool fence)
{
	const struct plan *last = plan + opt->requests - 1;
	struct board *board = shared(sizeof(*board));

	board->fence = fence;
	board->watch_request = NOBODY;
	board->nr_slots = last->first_slot + last->nr_slots;
	board->lives = shared(opt->requests * sizeof(*board->lives));
	board->excerpts = shared(opt->requests * sizeof(*board->excerpts));
	board->slots = shared(board->nr_slots * sizeof(*board->slots));
	/* No write has less than a slot. */
	for (uint32_t i = 0; i < NR_RANKS; i++)
		board->ranks[i].writes = shared(board->nr_slots * sizeof(*board->ranks[i].writes));
	return board;
}

/* A new process; the descriptors in @close_fds are not for it. */
static pid_t start(const char *name, const int *close_fds, uint32_t nr)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	who = name;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		exit(1);
	for (uint32_t i = 0; i < nr; i++)
		close(close_fds[i]);
	return 0;
}

/* One run: three processes, until they are done. */
static void run(const struct options *opt, const struct plan *plan, struct board *board)
{
	static const char * const names[] = { "prefill 0", "prefill 1" };
	int pair[2], decode_fds[NR_RANKS], rank_fds[NR_RANKS];
	pid_t pids[NR_RANKS + 1], pid;
	int status;

	for (uint32_t i = 0; i < NR_RANKS; i++) {
		wire_pair(pair);
		rank_fds[i] = pair[0];		/* decode's end of it */
		decode_fds[i] = pair[1];
	}
	/* Each keeps its own ends only, so that the death of one is seen by the others. */
	for (uint32_t i = 0; i < NR_RANKS; i++) {
		int other[] = { rank_fds[0], rank_fds[1], decode_fds[!i] };

		pids[i] = start(names[i], other, 3);
		if (!pids[i]) {
			prefill_main(opt, board, i, decode_fds[i]);
			exit(0);
		}
	}
	pids[NR_RANKS] = start("decode", decode_fds, NR_RANKS);
	if (!pids[NR_RANKS]) {
		decode_main(opt, plan, board, rank_fds);
		exit(0);
	}
	for (uint32_t i = 0; i < NR_RANKS; i++) {
		close(rank_fds[i]);
		close(decode_fds[i]);
	}
	for (uint32_t left = NR_RANKS + 1; left; left--) {
		pid = wait(&status);
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			die("a process of the demo failed");
	}
}

static uint32_t number(const char *name, const char *arg, uint32_t least, uint32_t most)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 0);
	if (errno || *end || end == arg || n < least || n > most) {
		fprintf(stderr, "demo: --%s takes a number from %u to %u, not '%s'\n", name, least,
			most, arg);
		exit(2);
	}
	return (uint32_t)n;
}

/*
 * The race needs a transfer that takes a while. A fast machine gets bigger
 * slots, as real KV has, until a full send queue takes a tenth of a second.
 * Measured by a run of one request.
 */
static void choose_slot_size(struct options *opt)
{
	struct options probe = *opt;
	struct board *board;
	struct plan *plan;
	uint64_t drain_ns;

	probe.requests = 1;
	probe.hangups = 0;
	probe.slot_size = 4096;
	plan = plan_make(&probe);
	board = board_make(&probe, plan, false);
	text_init(probe.slot_size);
	run(&probe, plan, board);
	drain_ns = board->ranks[0].drain_ns;
	opt->slot_size = probe.slot_size;
	while (drain_ns < 100 * NS_PER_MS && opt->slot_size < 65536) {
		opt->slot_size *= 2;
		drain_ns *= 2;
	}
	free(plan);
}

enum { ALL, BOTH, NO_FENCE, FENCE, STUCK, PULL, PEER };

static int options(struct options *opt, int argc, char **argv)
{
	uint32_t seed = 1;
	int runs = ALL, c, index;
	const struct {
		uint32_t *value;
		uint32_t least, most;
	} numbers[] = {
		{ &opt->requests, 1, 12000 },	{ &opt->hangups, 0, 90 },
		{ &opt->lost, 0, 100 },		{ &opt->failed, 0, 100 },
		{ &opt->twice, 0, 100 },	{ &seed, 0, UINT32_MAX },
		{ &opt->hold_ms, 1, 60000 },	{ &opt->nr_slots, 64, 1 << 20 },
		{ &opt->slot_size, 256, 1 << 20 }, { &opt->tokens_per_slot, 1, 65536 },
		{ &opt->staged_slots, CHUNK_SLOTS, 8192 }, { &opt->step_ms, 1, 1000 },
		{ &opt->speed, 1, 100000 },	{ &opt->short_slots, 1, MAX_SLOTS },
		{ &opt->tries, 1, MAX_TRIES },
	};
	static const struct option known[] = {
		/* first those of numbers[], in that order */
		{ "requests", 1, NULL, 'n' },	{ "hangups", 1, NULL, 'n' },
		{ "lost", 1, NULL, 'n' },	{ "failed", 1, NULL, 'n' },
		{ "twice", 1, NULL, 'n' },	{ "seed", 1, NULL, 'n' },
		{ "hold-ms", 1, NULL, 'n' },	{ "slots", 1, NULL, 'n' },
		{ "slot-size", 1, NULL, 'n' },	{ "tokens", 1, NULL, 'n' },
		{ "staged", 1, NULL, 'n' },	{ "step-ms", 1, NULL, 'n' },
		{ "speed", 1, NULL, 'n' },	{ "short", 1, NULL, 'n' },
		{ "tries", 1, NULL, 'n' },
		{ "both", 0, NULL, 'b' },	{ "no-fence", 0, NULL, 'c' },
		{ "fence", 0, NULL, 'f' },	{ "stuck", 0, NULL, 's' },
		{ "pull", 0, NULL, 'p' },		{ "peer", 0, NULL, 'e' },
		{ "device", 1, NULL, 'd' },	{ "trace", 1, NULL, 't' },
		{ "json", 1, NULL, 'j' },	{ "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};

	while ((c = getopt_long(argc, argv, "", known, &index)) != -1) {
		switch (c) {
		case 'n':
			*numbers[index].value = number(known[index].name, optarg,
						       numbers[index].least, numbers[index].most);
			break;
		case 'b':
			runs = BOTH;
			break;
		case 'c':
			runs = NO_FENCE;
			break;
		case 'f':
			runs = FENCE;
			break;
		case 's':
			runs = STUCK;
			break;
		case 'p':
			runs = PULL;
			break;
		case 'e':
			runs = PEER;
			break;
		case 'd':
			opt->device = optarg;
			break;
		case 't':
			opt->trace = optarg;
			break;
		case 'j':
			opt->json = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	opt->seed = seed;
	if (optind < argc || opt->slot_size % CELL || opt->staged_slots > opt->nr_slots) {
		fprintf(stderr, "demo: %s\n", optind < argc ? "there are no arguments but options" :
			opt->slot_size % CELL ? "--slot-size must be a multiple of 64" :
			"--staged must not be more than --slots");
		exit(2);
	}
	return runs;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.requests = 500,
		.hangups = 10,
		.lost = 5,
		.failed = 5,
		.twice = 5,
		.nr_slots = 4096,
		.staged_slots = 512,
		.tokens_per_slot = 256,
		.short_slots = 32,
		.step_ms = 10,
		.speed = 20,
		.hold_ms = 6000,
		.tries = 5,
		.device = "rxe0",
		.trace = "tools/demo/trace.jsonl",
	};
	int which = options(&opt, argc, argv);
	struct board *boards[2] = { NULL, NULL };
	struct plan *plan = NULL;
	struct tally tallies[2];
	struct stuck_row rows[STUCK_WAYS];
	struct pull_row pulls[2];
	struct peer_row peers[2];
	uint32_t nr = 0, nr_rows = 0, victim = NOBODY;
	bool race, played = false, good = true;

	race = which != STUCK && which != PULL && which != PEER;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!opt.slot_size && race)
		choose_slot_size(&opt);
	if (race) {
		plan = plan_make(&opt);
		text_init(opt.slot_size);
	}
	for (int fence = 0; fence < 2; fence++) {
		struct board *board;
		struct tally *tally = tallies + nr;

		if (!race || which == (fence ? NO_FENCE : FENCE))
			continue;
		board = board_make(&opt, plan, fence);
		boards[nr] = board;
		if (victim != NOBODY) {
			board->watch_request = victim;
			board->watch_cell = boards[0]->lives[victim].stray_cell;
		}
		printf("demo: %u requests, %u %% of the clients hang up, slots of %u KiB, %s ...\n",
		       opt.requests, opt.hangups, opt.slot_size / 1024,
		       fence ? "with the fence" : "without the fence");
		run(&opt, plan, board);
		report_tally(&opt, board, tally);
		if (fence)
			good = good && !tally->stray_bytes && tally->adds_up;
		else
			good = good && tally->stray_bytes;
		good = good && !board->slots_lost;
		if (!fence)
			victim = report_victim(&opt, plan, board);
		nr++;
	}
	if (nr) {
		report_table(&opt, boards, tallies, nr);
		report_story(&opt, plan, boards, nr, victim);
	}
	if (which == ALL || which == STUCK)
		good = stuck_main(&opt, rows, &nr_rows) && good;
	if (which == ALL || which == PULL)
		good = pull_main(&opt, pulls) && good;
	if (which == ALL || which == PEER)
		good = peer_main(&opt, peers, &played) && good;
	if (opt.json)
		report_json(&opt, boards, tallies, nr, rows, nr_rows,
			    which == ALL || which == PULL ? pulls : NULL, played ? peers : NULL);
	printf("\ndemo: %s\n", good ? "shown" : "NOT SHOWN: see the table");
	return !good;
}
