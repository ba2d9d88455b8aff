// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Whom a rail reaches, and what its completions say of him.
 *
 * Only what the transport gave up on speaks against the peer. A request that the
 * peer's device refused was answered: he took the memory away, and is there. One
 * that came back flushed says nothing: this side, or an earlier failure, moved the
 * queue pair to ERR.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

int lkvfence_rail_peer(struct lkvfence_rail *rail, struct lkvfence *fence,
		       const char *name, uint64_t session)
{
	size_t len = name ? strlen(name) : 0;

	if (name && (!fence || !len || len >= sizeof(rail->peer)))
		return lkvfence__vfail(-EINVAL,
			"rail: a peer has a name of 1 to 63 bytes, and a region's handle to tell");
	pthread_mutex_lock(&rail->lock);
	memset(rail->peer, 0, sizeof(rail->peer));
	memcpy(rail->peer, name ? name : "", len);
	rail->peer_fence = name ? fence : NULL;
	rail->peer_session = session;
	pthread_mutex_unlock(&rail->lock);
	return 0;
}

static bool gave_up(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
	case IBV_WC_REM_ABORT_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_FATAL_ERR:
		return true;
	default:
		return false;
	}
}

void lkvfence__peer_failed(struct lkvfence_rail *rail, enum ibv_wc_status status,
			   struct work *work)
{
	if (!rail->peer_fence || !gave_up(status))
		return;
	rail->peer_failed = true;
	lkvfence__list(rail, work);
}

void lkvfence__say_failed(struct lkvfence_rail *rail)
{
	struct lkvfence_peer peer = {
		.flags = LKVFENCE_PEER_CREATE,
		.op = LKVFENCE_PEER_OP_FAILED,
	};
	struct lkvfence *fence;

	pthread_mutex_lock(&rail->lock);
	fence = rail->peer_failed ? rail->peer_fence : NULL;
	rail->peer_failed = false;
	memcpy(peer.name, rail->peer, sizeof(peer.name));
	peer.session = rail->peer_session;
	pthread_mutex_unlock(&rail->lock);
	if (fence && !lkvfence_peer(fence, &peer))
		COUNT(rail->v, peers_failed);
}
