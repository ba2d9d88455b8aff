// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The health of the other ends of sessions, and launches that depend on it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

static const char *op_name(uint32_t op)
{
	static const char * const names[] = {
		[LKVFENCE_PEER_OP_LOOK]		= "look",
		[LKVFENCE_PEER_OP_CONNECT]	= "connect",
		[LKVFENCE_PEER_OP_FAILED]	= "failed",
		[LKVFENCE_PEER_OP_RECOVERED]	= "recovered",
		[LKVFENCE_PEER_OP_PROBE]	= "probe",
		[LKVFENCE_PEER_OP_PROBED]	= "probed",
	};

	return op <= LKVFENCE_PEER_OP_PROBED ? names[op] : "?";
}

const char *lkvfence_peer_state_name(uint32_t state)
{
	switch (state) {
	case LKVFENCE_PEER_HEALTHY:
		return "healthy";
	case LKVFENCE_PEER_FAILED:
		return "failed";
	default:
		return "unknown";
	}
}

/* A name that the module refused is anybody's bytes. */
static bool is_name(const char name[64])
{
	size_t i, len = strnlen(name, sizeof(((struct lkvfence_peer *)0)->name));

	for (i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	return len && len < sizeof(((struct lkvfence_peer *)0)->name);
}

static int fail_invalid(const struct lkvfence *f, const struct lkvfence_peer *p)
{
	if (p->op > LKVFENCE_PEER_OP_PROBED)
		return lkvfence__fail(f, -EINVAL,
			"peer: unknown operation %" PRIu32, p->op);
	if (p->flags & ~LKVFENCE_PEER_FLAGS)
		return lkvfence__fail(f, -EINVAL, "peer: unknown flags 0x%" PRIx32,
				      p->flags & ~LKVFENCE_PEER_FLAGS);
	if (!(p->flags & LKVFENCE_PEER_NEXT) && !is_name(p->name))
		return lkvfence__fail(f, -EINVAL,
			"peer: a name is 1 to 63 printable characters of ASCII without spaces");
	if (p->op == LKVFENCE_PEER_OP_CONNECT && !p->session)
		return lkvfence__fail(f, -EINVAL,
			"peer: connect: session 0 is none: number them from 1");
	return lkvfence__fail(f, -EINVAL,
		"peer: %s: flags or an interval that don't go with it, or padding that is not 0",
		op_name(p->op));
}

static int fail_peer(const struct lkvfence *f, int err,
		     const struct lkvfence_peer *p)
{
	const char *name = is_name(p->name) ? p->name : "?";
	struct lkvfence_info info;

	switch (err) {
	case -ENOENT:
		if (p->flags & LKVFENCE_PEER_NEXT)
			return lkvfence__fail(f, err,
				"peer: there is no peer above number %" PRIu32,
				p->id);
		return lkvfence__fail(f, err,
			"peer: %s: peer %s is not known: connect or create it",
			op_name(p->op), name);
	case -ESTALE:
		return lkvfence__fail(f, err,
			p->op == LKVFENCE_PEER_OP_PROBED ?
			"peer: %s: the claim on peer %s is somebody else's by now, or over: nothing changed" :
			"peer: %s: peer %s has another session by now, or the claim is somebody else's: nothing changed",
			op_name(p->op), name);
	case -EALREADY:
		return lkvfence__fail(f, err,
			"peer: probe: peer %s is healthy: there is nothing to probe",
			name);
	case -EAGAIN:
		return lkvfence__fail(f, err,
			"peer: probe: peer %s was probed a moment ago: the next time is next_probe_ns",
			name);
	case -EBUSY:
		return lkvfence__fail(f, err,
			"peer: probe: process %" PRId32 " probes peer %s",
			(int32_t)p->pid, name);
	case -ENOSPC:
		return lkvfence__fail(f, err,
			"peer: %s: there are as many peers as there may be, and all are watched or failed (parameter max_peers of module lkvfence)",
			op_name(p->op));
	case -EPERM:
		return lkvfence__fail(f, err,
			"peer: only an administrator (CAP_DAC_OVERRIDE) sees other users' peers");
	case -ERANGE:
		if (!lkvfence__limits(f, &info))
			break;
		return lkvfence__fail(f, err,
			"peer: %s: interval_ns of %" PRIu64 " ns is out of bounds: the module takes %" PRIu64 " to %" PRIu64 " ns (parameters of module lkvfence)",
			op_name(p->op), (uint64_t)p->interval_ns,
			(uint64_t)info.timeout_min_ns,
			(uint64_t)info.timeout_max_ns);
	case -EINVAL:
		return fail_invalid(f, p);
	}
	return lkvfence__fail_plain(f, err, "peer");
}

int lkvfence_peer(struct lkvfence *f, struct lkvfence_peer *peer)
{
	int err;

	peer->size = sizeof(*peer);
	err = lkvfence__ioctl(f->fd, LKVFENCE_IOC_PEER, peer);
	return err ? fail_peer(f, err, peer) : 0;
}

/* A name that doesn't fit is refused here: half of it is another peer's. */
static int about(struct lkvfence *f, uint32_t op, uint32_t flags,
		 const char *name, uint64_t session)
{
	struct lkvfence_peer peer = {
		.flags = flags,
		.op = op,
		.session = session,
	};
	size_t len = strlen(name);

	if (len < sizeof(peer.name))
		memcpy(peer.name, name, len);
	else
		return lkvfence__fail(f, -EINVAL,
			"peer: a name is 1 to 63 printable characters of ASCII without spaces");
	return lkvfence_peer(f, &peer);
}

int lkvfence_peer_failed(struct lkvfence *f, const char *name, uint64_t session)
{
	return about(f, LKVFENCE_PEER_OP_FAILED, LKVFENCE_PEER_CREATE, name,
		     session);
}

int lkvfence_peer_recovered(struct lkvfence *f, const char *name,
			    uint64_t session)
{
	return about(f, LKVFENCE_PEER_OP_RECOVERED, 0, name, session);
}
