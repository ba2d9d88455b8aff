// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Peers: what reaches the module, and what a failure says. */
#include <errno.h>
#include <string.h>

#include "fake.h"

static struct lkvfence *f;

static int setup(void **state)
{
	if (fake_setup(state))
		return -1;
	f = fake_handle();
	return 0;
}

static int teardown(void **state)
{
	lkvfence_close(f);
	return fake_teardown(state);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

static void reply_pid(void *arg)
{
	struct lkvfence_peer *peer = arg;

	peer->pid = 4321;
	peer->id = 9;
}

static void peer_reaches_module(void **state)
{
	struct lkvfence_peer peer = {
		.size = 1, .flags = LKVFENCE_PEER_WATCH,
		.op = LKVFENCE_PEER_OP_CONNECT, .name = "prefill-3",
		.session = 1ULL << 40, .generation = 5, .probe = 6,
		.interval_ns = 7,
	};
	struct lkvfence_peer want = peer;

	(void)state;
	want.size = sizeof(want);
	fake.reply = reply_pid;
	assert_call(0, lkvfence_peer(f, &peer));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_PEER);
	assert_memory_equal(&fake.in.peer, &want, sizeof(want));
	assert_int_equal(peer.id, 9);
	assert_int_equal(fake.cmds, 1);
}

static void conveniences(void **state)
{
	struct lkvfence_peer failed = {
		.size = sizeof(failed), .flags = LKVFENCE_PEER_CREATE,
		.op = LKVFENCE_PEER_OP_FAILED, .name = "p", .session = 5,
	};
	struct lkvfence_peer recovered = {
		.size = sizeof(failed), .op = LKVFENCE_PEER_OP_RECOVERED,
		.name = "p", .session = 5,
	};
	struct lkvfence_take take = {
		.size = sizeof(take), .flags = LKVFENCE_TAKE_HEALTHY,
		.generation = 8, .source = 7, .peer = 3,
	};
	char name[65];

	(void)state;
	assert_call(0, lkvfence_peer_failed(f, "p", 5));
	assert_memory_equal(&fake.in.peer, &failed, sizeof(failed));
	assert_call(0, lkvfence_peer_recovered(f, "p", 5));
	assert_memory_equal(&fake.in.peer, &recovered, sizeof(recovered));
	assert_call(0, lkvfence_take_healthy(f, 8, 7, 3));
	assert_int_equal(fake.cmd, LKVFENCE_IOC_TAKE);
	assert_memory_equal(&fake.in.take, &take, sizeof(take));

	/* the longest name, and one that would be cut to somebody else's */
	memset(name, 'n', sizeof(name));
	name[63] = '\0';
	assert_call(0, lkvfence_peer_failed(f, name, 0));
	assert_string_equal(fake.in.peer.name, name);
	fake.cmds = 0;
	name[63] = 'n';
	name[64] = '\0';
	assert_call(-EINVAL, lkvfence_peer_failed(f, name, 0));
	assert_errmsg("a name is 1 to 63");
	assert_int_equal(fake.cmds, 0);

	fake.cmd_errno = ESTALE;
	assert_call(-ESTALE, lkvfence_peer_failed(f, "p", 5));
	assert_call(-ESTALE, lkvfence_peer_recovered(f, "p", 5));
}

static void take_errors(void **state)
{
	(void)state;
	fake.cmd_errno = EHOSTDOWN;
	assert_call(-EHOSTDOWN, lkvfence_take_healthy(f, 8, 7, 3));
	assert_errmsg("region kv: take: peer 3 is failed: do not launch");
	fake.cmd_errno = EHOSTUNREACH;
	assert_call(-EHOSTUNREACH, lkvfence_take_healthy(f, 8, 7, 3));
	assert_errmsg("no peer has number 3: it was forgotten");
	fake.cmd_errno = ECANCELED;
	assert_call(-ECANCELED, lkvfence_take_healthy(f, 8, 7, 3));
	assert_errmsg("generation 8 has ended");
}

static void errors(void **state)
{
	static const struct {
		int err;
		uint32_t op, flags;
		const char *says, *advises;
	} cases[] = {
		{ ENOENT, 0, 0, "look: peer p/1 is not known", "create" },
		{ ENOENT, 0, LKVFENCE_PEER_NEXT, "no peer above number 77", "" },
		{ ESTALE, 2, 0, "failed: peer p/1 has another session by now",
		  "nothing changed" },
		{ ESTALE, 5, 0, "probed: the claim on peer p/1 is somebody else's",
		  "nothing changed" },
		{ EALREADY, 4, 0, "peer p/1 is healthy", "nothing to probe" },
		{ EAGAIN, 4, 0, "peer p/1 was probed a moment ago", "next_probe_ns" },
		{ EBUSY, 4, 0, "process 4321 probes peer p/1", "" },
		{ ENOSPC, 1, 0, "connect: there are as many peers", "max_peers" },
		{ EPERM, 0, LKVFENCE_PEER_NEXT, "other users' peers", "administrator" },
		{ ERANGE, 4, 0, "probe: interval_ns of 5 ns is out of bounds",
		  "the module takes 10 to 60000 ns" },
		{ EFAULT, 0, 0, "a pointer", "" },
		{ ENOMEM, 0, 0, "no memory", "limit" },
		{ E2BIG, 0, 0, "too old", "update the module" },
		{ ENOTTY, 0, 0, "does not know this command", "too old" },
		{ ELOOP, 0, 0, "peer: ", "" },
	};
	struct lkvfence_peer peer;
	size_t i;

	(void)state;
	fake.reply = reply_pid;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		peer = (struct lkvfence_peer){
			.name = "p/1", .op = cases[i].op,
			.flags = cases[i].flags, .interval_ns = 5,
		};
		/* the module tells who, and leaves the rest */
		if (cases[i].err != EBUSY)
			fake.reply = NULL;
		else
			fake.reply = reply_pid;
		peer.id = 77;
		fake.cmd_errno = cases[i].err;
		assert_call(-cases[i].err, lkvfence_peer(f, &peer));
		assert_errmsg("region kv: peer: ");
		assert_errmsg(cases[i].says);
		assert_errmsg(cases[i].advises);
	}
	/* where the module doesn't say what it takes */
	fake.cmd_errno = ERANGE;
	fake.info_errno = ENOMEM;
	assert_call(-ERANGE, lkvfence_peer(f, &peer));
	assert_errmsg("peer: ");
}

static void invalid(void **state)
{
	static const struct {
		struct lkvfence_peer peer;
		const char *says;
	} cases[] = {
		{ { .op = 6, .name = "p" }, "unknown operation 6" },
		{ { .flags = 0x80000001, .name = "p" }, "unknown flags 0x80000000" },
		{ { .name = "" }, "a name is 1 to 63 printable" },
		{ { .name = "a b" }, "a name is 1 to 63 printable" },
		{ { .name = "a\n" }, "a name is 1 to 63 printable" },
		{ { .name = "\xc3\xa9" }, "a name is 1 to 63 printable" },
		{ { .op = 1, .name = "p" }, "session 0 is none" },
		{ { .op = 3, .name = "p", .interval_ns = 10 },
		  "recovered: flags or an interval that don't go with it" },
		{ { .flags = LKVFENCE_PEER_NEXT | LKVFENCE_PEER_WATCH },
		  "look: flags or an interval" },
	};
	struct lkvfence_peer peer;
	size_t i;

	(void)state;
	fake.cmd_errno = EINVAL;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		peer = cases[i].peer;
		assert_call(-EINVAL, lkvfence_peer(f, &peer));
		assert_errmsg(cases[i].says);
	}
	memset(peer.name, 'x', sizeof(peer.name));
	peer.flags = 0;
	assert_call(-EINVAL, lkvfence_peer(f, &peer));
	assert_errmsg("a name is 1 to 63 printable");

	/* a name that isn't one isn't shown */
	fake.cmd_errno = ENOENT;
	peer = (struct lkvfence_peer){ .name = "\033[31m" };
	assert_call(-ENOENT, lkvfence_peer(f, &peer));
	assert_errmsg("peer ? is not known");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(peer_reaches_module),
		TEST(conveniences),
		TEST(take_errors),
		TEST(errors),
		TEST(invalid),
	};

	return cmocka_run_group_tests_name("lib-peers", tests, NULL, NULL);
}
