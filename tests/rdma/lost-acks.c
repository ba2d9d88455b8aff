// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Between two devices, over a wire that loses and delays. Lost acknowledgements
 * make the sender send again what has landed: what it sees complete with success is
 * proof all the same, and what it gives up on is none. A packet that is on the wire
 * for long is harmless where the access was taken away, and not where it wasn't.
 */
#include "rig.h"

#define SLOTS	8
#define OTHER	"rxe1"

static struct rig rig;
static struct lkvfence *f;

/*
 * v0 and v1 are the ends of one wire, and both in this namespace: so packets from
 * one's address to the other's are told to go over it, not through the loopback.
 */
static const char *const wire[] = {
	"ip addr add 10.0.0.2/24 dev v1",
	"sysctl -q net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.v0.rp_filter=0 net.ipv4.conf.v1.rp_filter=0",
	"sysctl -q net.ipv4.conf.v0.accept_local=1 net.ipv4.conf.v1.accept_local=1",
	"ip rule add pref 10 iif lo from 10.0.0.1 to 10.0.0.2 lookup 100",
	"ip rule add pref 11 iif lo from 10.0.0.2 to 10.0.0.1 lookup 101",
	"ip route add 10.0.0.2 dev v0 table 100",
	"ip route add 10.0.0.1 dev v1 table 101",
	"ip rule add pref 20 lookup local",
	"ip rule del pref 0",
	"ip neigh replace 10.0.0.2 lladdr $(cat /sys/class/net/v1/address) dev v0 nud permanent",
	"ip neigh replace 10.0.0.1 lladdr $(cat /sys/class/net/v0/address) dev v1 nud permanent",
	"rdma link add " OTHER " type rxe netdev v1",
};

static const char *const no_wire[] = {
	"tc qdisc del dev v0 root",
	"tc qdisc del dev v1 root",
	("rdma link delete " OTHER),
	"ip neigh del 10.0.0.2 dev v0",
	"ip neigh del 10.0.0.1 dev v1",
	"ip rule add pref 0 lookup local",
	"ip rule del pref 20",
	"ip rule del pref 11",
	"ip rule del pref 10",
	"ip addr del 10.0.0.2/24 dev v1",
};

static void take_wire_down(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(no_wire); i++)
		run("%s 2>/dev/null", no_wire[i]);
}

static bool other_ready(void)
{
	const char *port = "/sys/class/infiniband/" OTHER "/ports/1";
	int i;

	if (!strstr(line_of("%s/state", port), "ACTIVE"))
		return false;
	for (i = 0; i < 8; i++) {
		if (strstr(line_of("%s/gids/%d", port, i), ":ffff:0a00:0002"))
			return true;
	}
	return false;
}

/* NULL, or why there is none. */
static const char *put_wire_up(void)
{
	size_t i;

	if (run("ip rule >/dev/null 2>&1"))
		return "this kernel has no policy routing";
	if (run("modprobe -q sch_netem") && run("tc qdisc add dev v0 root netem 2>/dev/null"))
		return "this kernel has no netem";
	for (i = 0; i < ARRAY_SIZE(wire); i++)
		need(!run("%s", wire[i]), "%s", wire[i]);
	need(until(other_ready()), OTHER " is ready");
	return NULL;
}

/* What the receiver sends, the acknowledgements, is treated so. */
static void acks(const char *how)
{
	need(!run("tc qdisc replace dev v0 root netem %s", how), "netem %s", how);
}

/* And so what the sender sends. */
static void data(const char *how)
{
	need(!run("tc qdisc replace dev v1 root netem %s", how), "netem %s", how);
}

static void some_are_lost(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	struct tally tally;

	rig.retries = FOR_EVER;
	acks("delay 2ms loss 30%");
	generation = rig_under_way(&rig, f, 1, 2);
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 600000), 0, "abort");
	tally = rig_drain(&rig, 0);
	check(tally.good == 2 * SLOTS && !tally.bad,
	      "some acknowledgements are lost: all writes complete with success in the end");
	check(silent(f), "slots are held until that is said");
	gives(drained(f, generation, 1), 0, "it is said");
	e = event(f);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_DRAINED,
			  LKVFENCE_EVIDENCE_SUCCESS_CQE), "released as drained");
	stamp(rig.pool, 0, SLOTS, 1);
	usleep(300000);
	gives((long)strays(rig.pool, 0, SLOTS, 1), 0, "no stray byte, by what was sent again");
}

static void all_are_lost(void)
{
	struct lkvfence_event e;
	uint64_t generation;
	struct tally tally;

	rig.retries = 3;
	acks("loss 100%");
	generation = rig_under_way(&rig, f, 2, 1);
	tally = rig_drain(&rig, 0);
	check(!tally.good && tally.bad == SLOTS, "no acknowledgement comes: %s",
	      ibv_wc_status_str(tally.first_bad));
	gives(lkvfence_failed(f, generation, 1), 0, "the sender has failed");
	gives(abort_with(f, generation, LKVFENCE_POLICY_DEFAULT, 300), 0, "abort");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "revoked, at the deadline");
	acks("delay 0ms");
}

/* Packets that were sent before the abort, and arrive long after the reuse. */
static void on_the_wire(bool fenced)
{
	struct lkvfence_event e;
	uint64_t generation;
	size_t bytes;

	rig.retries = 6;
	rig.timeout = 20;
	data("delay 700ms limit 100000");
	rig_connect(&rig, 0);
	bind_link(f, &rig, 1, 0);
	generation = begin(f, 3 + fenced, 0, SLOTS, 1);
	rig_write(&rig, 0, generation, 0, SLOTS, 1);
	if (fenced) {
		gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0,
		      "abort with packets on the wire");
		e = event_of(f, LKVFENCE_EVENT_RELEASED);
		check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
				  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
		      "released as revoked");
	}
	stamp(rig.pool, 0, SLOTS, 1);
	if (!fenced)
		check(until(strays(rig.pool, 0, SLOTS, 1)),
		      "without revocation, packets on the wire land in reused slots");
	/* All that was sent has come by now, and been sent again. */
	rig_drain(&rig, 0);
	usleep(1000000);
	bytes = strays(rig.pool, 0, SLOTS, 1);
	if (fenced) {
		gives((long)bytes, 0, "no stray byte");
	} else {
		gives(drained(f, generation, 1), 0, "drained");
		gives(lkvfence_release(f, generation), 0, "released");
	}
	data("delay 0ms");
}

int main(void)
{
	const char *why;

	atexit(take_wire_down);
	why = put_wire_up();
	if (why) {
		skip(why, "over a wire that loses and delays");
		return done();
	}
	rig_start_on(&rig, SLOTS, OTHER);
	rig_open(&rig);
	f = region("lost-acks", SLOTS);
	some_are_lost();
	all_are_lost();
	on_the_wire(false);
	on_the_wire(true);
	gives(stat_of(f).slots_taken, 0, "no slot is lost");
	lkvfence_close(f);
	rig_end(&rig);
	return done();
}
