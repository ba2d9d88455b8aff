// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Programs that nobody here wrote: ib_write_bw and ucx_perftest. The receiving one
 * has a library preloaded that binds its queue pairs. In the middle of their
 * transfers they are revoked: the transfer is released as revoked, and the sending
 * program ends with an error.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "rig.h"

#define SLOTS	8

/* Both ends of a program; NULL at the end of their arguments. */
struct program {
	const char *name;
	uint16_t port;
	const char *const server[24];
	const char *const client[24];
	const char *const env[8];
};

static const struct program programs[] = {
	{
		.name = "ib_write_bw",
		.port = 18515,
		.server = { "ib_write_bw", "-d", DEVICE, "-x", "1", "-s", "65536", "-D", "300",
			    NULL },
		.client = { "ib_write_bw", "-d", DEVICE, "-x", "1", "-s", "65536", "-D", "300",
			    "127.0.0.1", NULL },
	}, {
		.name = "ib_read_bw",
		.port = 18515,
		.server = { "ib_read_bw", "-d", DEVICE, "-x", "1", "-s", "65536", "-D", "300",
			    NULL },
		.client = { "ib_read_bw", "-d", DEVICE, "-x", "1", "-s", "65536", "-D", "300",
			    "127.0.0.1", NULL },
	}, {
		.name = "ucx_perftest",
		.port = 13337,
		.server = { "ucx_perftest", "-t", "ucp_put_bw", "-s", "65536", "-n", "100000000",
			    NULL },
		.client = { "ucx_perftest", "-t", "ucp_put_bw", "-s", "65536", "-n", "100000000",
			    "127.0.0.1", NULL },
		.env = { "UCX_TLS=rc_verbs", "UCX_NET_DEVICES=" DEVICE ":1", "UCX_IB_GID_INDEX=1",
			 "UCX_RC_VERBS_RETRY_COUNT=3", "UCX_RC_VERBS_TIMEOUT=100ms", NULL },
	},
};

static struct lkvfence *f;

static pid_t start(const struct program *p, const char *const *args, bool bound)
{
	pid_t pid = fork();
	size_t i;

	need(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (i = 0; i < ARRAY_SIZE(p->env) && p->env[i]; i++)
		putenv((char *)p->env[i]);
	if (bound) {
		setenv("LD_PRELOAD", "build/tests/rdma/bind.so", 1);
		setenv("LKVFENCE_BIND_REGION", "foreign", 1);
	}
	execvp(args[0], (char *const *)args);
	_exit(127);
}

/* All that are bound get a lease; how many they are. */
static uint32_t take_all(uint64_t generation)
{
	struct lkvfence_query_source q = { .flags = LKVFENCE_QUERY_SOURCE_FROM };
	uint32_t n = 0;

	while (!lkvfence_query_source(f, &q)) {
		need(!lkvfence_take(f, generation, q.source), "TAKE");
		n++;
		q = (struct lkvfence_query_source){
			.flags = LKVFENCE_QUERY_SOURCE_FROM,
			.source = q.source + 1,
		};
	}
	return n;
}

/* Does somebody listen at a port of this host? */
static bool listens(uint16_t port)
{
	return !run("grep -q ':%04X 0*:0000 0A' /proc/net/tcp /proc/net/tcp6", port);
}

/* What has come over the device so far. */
static uint64_t received(void)
{
	return strtoull(line_of("/sys/class/infiniband/" DEVICE "/ports/1/hw_counters/rcvd_pkts"),
			NULL, 10);
}

static void take_away(const struct program *p, uint64_t tag)
{
	uint64_t generation, before, packets;
	struct lkvfence_event e;
	pid_t server, client;
	uint32_t n;
	int status;

	server = start(p, p->server, true);
	need(until(listens(p->port)), "%s listens", p->name);
	before = received();
	client = start(p, p->client, false);
	need(until(stat_of(f).sources), "%s binds", p->name);
	check(until(received() > before + 5000), "%s: it is in the middle of it", p->name);
	generation = begin(f, tag, 0, SLOTS, 0);
	n = take_all(generation);
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
	      "%s: %u queue pairs are revoked", p->name, n);
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
	      "%s: the transfer is released as revoked", p->name);
	packets = received();
	check(until(waitpid(client, &status, WNOHANG) == client) && status,
	      "%s: the program ends with an error: %#x", p->name, status);
	note("%" PRIu64 " packets before, %" PRIu64 " of other kinds after", packets - before,
	     received() - packets);
	kill(server, SIGKILL);
	status_of(server);
	check(until(!stat_of(f).sources), "%s: nothing is bound any more", p->name);
	gives(stat_of(f).slots_taken, 0, "%s: no slot is lost", p->name);
}

int main(void)
{
	size_t i;

	f = region("foreign", SLOTS);
	for (i = 0; i < ARRAY_SIZE(programs); i++)
		take_away(&programs[i], i);
	lkvfence_close(f);
	return done();
}
