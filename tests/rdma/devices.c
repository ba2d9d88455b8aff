// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Two devices. A QP is looked up on the one whose name SOURCE was given, by the
 * name that it has by then; afterwards that very device is meant, however it is
 * called. Names come and go while they are compared.
 */
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "rig.h"

#define SLOTS	8
#define OTHER	"rxe7"
#define NEW	"rxe8"
#define ADDRESS	"10.7.0.1"
#define RENAMES	1000

static struct rig rig, far;
static struct lkvfence *f;

static void take_down(void)
{
	run("rdma link delete " NEW " 2>/dev/null");
	run("rdma link delete " OTHER " 2>/dev/null");
	run("ip addr del " ADDRESS "/24 dev v1 2>/dev/null");
}

static bool ready(void)
{
	const char *port = "/sys/class/infiniband/" OTHER "/ports/1";
	int i;

	if (!strstr(line_of("%s/state", port), "ACTIVE"))
		return false;
	for (i = 0; i < 8; i++) {
		if (strstr(line_of("%s/gids/%d", port, i), ":ffff:0a07:0001"))
			return true;
	}
	return false;
}

static void rename_to(const char *old, const char *new)
{
	need(!run("rdma dev set %s name %s", old, new), "%s is called %s", old, new);
}

/* It is revoked on the device that it was bound on. */
static void two(void)
{
	struct ibv_qp *here = rig_loop(&rig), *there = rig_loop(&far);
	struct lkvfence_event e;
	uint64_t generation;

	gives(try_bind(f, 1, DEVICE, here->qp_num), 0, "a QP on one device is bound");
	gives(try_bind(f, 2, OTHER, there->qp_num), 0, "a QP on another one, too");
	generation = begin(f, 1, 0, 4, 0);
	need(!lkvfence_take(f, generation, 2), "TAKE");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED), "that one is revoked");
	gives(state_of(there), IBV_QPS_ERR, "its QP is in ERR");
	gives(state_of(here), IBV_QPS_RTS, "the first one's isn't");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	gives(lkvfence_unbind(f, 2), 0, "unbind");
	need(!ibv_destroy_qp(here) && !ibv_destroy_qp(there), "ibv_destroy_qp");
}

static void renamed(void)
{
	struct ibv_qp *qp = rig_loop(&far);
	struct lkvfence_event e;
	uint64_t generation;

	gives(try_bind(f, 1, OTHER, qp->qp_num), 0, "a QP is bound");
	generation = begin(f, 2, 0, 4, 1);
	rename_to(OTHER, NEW);
	gives(try_bind(f, 2, OTHER, qp->qp_num), -ENODEV,
	      "its device has a new name: not by the old one");
	gives(try_bind(f, 2, NEW, qp->qp_num), 0, "but by the new one");
	gives(abort_with(f, generation, LKVFENCE_POLICY_REVOKE_NOW, 0), 0, "abort");
	e = event_of(f, LKVFENCE_EVENT_RELEASED);
	check(released_as(&e, generation, LKVFENCE_OUTCOME_REVOKED,
			  LKVFENCE_EVIDENCE_QP_ERR_SETTLED),
	      "what was bound by the old one is revoked");
	gives(state_of(qp), IBV_QPS_ERR, "its QP is in ERR");
	rename_to(NEW, OTHER);
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	gives(lkvfence_unbind(f, 2), 0, "unbind");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
}

static bool renames(int netlink, uint32_t index, const char *name)
{
	struct {
		struct nlmsghdr head;
		struct nlattr index_attr;
		uint32_t index;
		struct nlattr name_attr;
		char name[8];
	} request = {
		.head = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.index_attr = {
			.nla_len = NLA_HDRLEN + sizeof(index),
			.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX,
		},
		.index = index,
		.name_attr = {
			.nla_len = NLA_HDRLEN + sizeof(request.name),
			.nla_type = RDMA_NLDEV_ATTR_DEV_NAME,
		},
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char more[256];
	} answer;

	memcpy(request.name, name, strlen(name) + 1);
	return send(netlink, &request, sizeof(request), 0) == sizeof(request) &&
	       recv(netlink, &answer, sizeof(answer), 0) > 0 &&
	       answer.head.nlmsg_type == NLMSG_ERROR && !answer.error.error;
}

/* As the kernel numbers it. */
static uint32_t index_of_other(void)
{
	FILE *pipe = popen("rdma dev show " OTHER, "r");
	uint32_t index;

	need(pipe && fscanf(pipe, "%u:", &index) == 1, "the device's index");
	pclose(pipe);
	return index;
}

/* A process that renames it back and forth; in the end it has its own name. */
static pid_t rename_often(void)
{
	uint32_t index = index_of_other();
	pid_t pid = fork();
	int netlink, i;

	need(pid >= 0, "fork");
	if (pid)
		return pid;
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	for (i = 0; i < RENAMES; i++) {
		if (!renames(netlink, index, NEW) || !renames(netlink, index, OTHER))
			_exit(1);
	}
	_exit(0);
}

static void renamed_meanwhile(void)
{
	struct ibv_qp *qp = rig_loop(&far);
	uint32_t found = 0, unknown = 0, wrong = 0;
	pid_t pid = rename_often();
	int status, err;

	do {
		err = try_bind(f, 1, found & 1 ? NEW : OTHER, qp->qp_num);
		found += !err;
		unknown += err == -ENODEV;
		wrong += err && err != -ENODEV;
	} while (!waitpid(pid, &status, WNOHANG));
	gives(status, 0, "it is renamed %d times", 2 * RENAMES);
	check(found && unknown && !wrong,
	      "meanwhile its name was right %u times, wrong %u times, and %u times there was another error",
	      found, unknown, wrong);
	gives(try_bind(f, 1, OTHER, qp->qp_num), 0, "in the end it has its own");
	gives(lkvfence_unbind(f, 1), 0, "unbind");
	need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
}

int main(void)
{
	take_down();
	atexit(take_down);
	need(!run("ip addr add " ADDRESS "/24 dev v1") &&
	     !run("rdma link add " OTHER " type rxe netdev v1"), "another device");
	need(until(ready()), OTHER " is ready");
	rig_new(&rig, SLOTS);
	far.nr_slots = SLOTS;
	far.pool = rig.pool;
	rig_open_on(&far, OTHER);
	f = region("devices", SLOTS);
	two();
	renamed();
	renamed_meanwhile();
	lkvfence_close(f);
	rig_close(&far);
	rig_end(&rig);
	gives(run("rdma link delete " OTHER), 0, "the device can be removed");
	return done();
}
