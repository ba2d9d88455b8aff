// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Names of the ABI's values: those of the constants, in lower case. */
#include "internal.h"

#define NAME(table, value)						\
	((value) < sizeof(table) / sizeof((table)[0]) && (table)[value] ? \
	 (table)[value] : "unknown")

const char *lkvfence_version(void)
{
	return LKVFENCE_VERSION;
}

const char *lkvfence_state_name(uint32_t state)
{
	static const char * const names[] = {
		[LKVFENCE_STATE_WAITING]	= "waiting",
		[LKVFENCE_STATE_READY]		= "ready",
		[LKVFENCE_STATE_ENDED]		= "ended",
		[LKVFENCE_STATE_RELEASED]	= "released",
	};

	return NAME(names, state);
}

const char *lkvfence_reason_name(uint32_t reason)
{
	static const char * const names[] = {
		[LKVFENCE_REASON_NONE]		= "none",
		[LKVFENCE_REASON_FINISHED]	= "finished",
		[LKVFENCE_REASON_ABORTED]	= "aborted",
		[LKVFENCE_REASON_FAILED]	= "failed",
		[LKVFENCE_REASON_PREEMPTED]	= "preempted",
		[LKVFENCE_REASON_PEER]		= "peer",
		[LKVFENCE_REASON_SHUTDOWN]	= "shutdown",
		[LKVFENCE_REASON_EXPIRED]	= "expired",
		[LKVFENCE_REASON_ORPHANED]	= "orphaned",
		[LKVFENCE_REASON_REVOKED]	= "revoked",
		[LKVFENCE_REASON_DROPPED]	= "dropped",
		[LKVFENCE_REASON_UNKNOWN]	= "unknown",
		[LKVFENCE_REASON_DEADLINE]	= "deadline",
		[LKVFENCE_REASON_WITHDRAWN]	= "withdrawn",
		[LKVFENCE_REASON_SOURCE]	= "source",
	};

	return NAME(names, reason);
}

const char *lkvfence_policy_name(uint32_t policy)
{
	/* By the two bits of revocation, then by the rest. */
	static const char * const names[] = {
		"default", "taint", "quarantine", NULL,
		"revoke", "revoke,taint", "revoke,quarantine", NULL,
		"revoke_now", "revoke_now,taint", "revoke_now,quarantine", NULL,
		"revoke_now", "revoke_now,taint", "revoke_now,quarantine",
	};
	uint32_t rest = policy & 0xff, revokes = policy >> 8;

	return NAME(names, rest < 4 && revokes < 4 ? revokes * 4 + rest : 3);
}

const char *lkvfence_outcome_name(uint32_t outcome)
{
	static const char * const names[LKVFENCE_NR_OUTCOMES] = {
		[LKVFENCE_OUTCOME_NONE]		= "none",
		[LKVFENCE_OUTCOME_COMPLETED]	= "completed",
		[LKVFENCE_OUTCOME_DRAINED]	= "drained",
		[LKVFENCE_OUTCOME_REVOKED]	= "revoked",
		[LKVFENCE_OUTCOME_TIMEOUT]	= "timeout",
		[LKVFENCE_OUTCOME_GONE]		= "gone",
	};

	return NAME(names, outcome);
}

const char *lkvfence_evidence_name(uint32_t evidence)
{
	static const char * const names[LKVFENCE_NR_EVIDENCE] = {
		[LKVFENCE_EVIDENCE_NONE]		= "none",
		[LKVFENCE_EVIDENCE_TIMEOUT]		= "timeout",
		[LKVFENCE_EVIDENCE_QP_ERR_SETTLED]	= "qp_err_settled",
		[LKVFENCE_EVIDENCE_SUCCESS_CQE]		= "success_cqe",
		[LKVFENCE_EVIDENCE_IN_BAND]		= "in_band",
		[LKVFENCE_EVIDENCE_TIMELINE]		= "timeline",
		[LKVFENCE_EVIDENCE_RQ_FLUSHED]		= "rq_flushed",
		[LKVFENCE_EVIDENCE_MW_INVALIDATED]	= "mw_invalidated",
		[LKVFENCE_EVIDENCE_QP_DESTROYED]	= "qp_destroyed",
		[LKVFENCE_EVIDENCE_MR_DEREGISTERED]	= "mr_deregistered",
		[LKVFENCE_EVIDENCE_BACKING_GONE]	= "backing_gone",
	};

	return NAME(names, evidence);
}

const char *lkvfence_event_name(uint32_t type)
{
	static const char * const names[] = {
		[LKVFENCE_EVENT_ENDED]		= "ended",
		[LKVFENCE_EVENT_QUARANTINED]	= "quarantined",
		[LKVFENCE_EVENT_RELEASED]	= "released",
		[LKVFENCE_EVENT_REVOKE]		= "revoke",
		[LKVFENCE_EVENT_GRANTED]	= "granted",
		[LKVFENCE_EVENT_REFUSED]	= "refused",
	};

	return NAME(names, type);
}

const char *lkvfence_lease_state_name(uint32_t state)
{
	static const char * const names[] = {
		[LKVFENCE_LEASE_OUT]		= "out",
		[LKVFENCE_LEASE_DRAINED]	= "drained",
		[LKVFENCE_LEASE_FAILED]		= "failed",
		[LKVFENCE_LEASE_REVOKED]	= "revoked",
	};

	return NAME(names, state);
}

const char *lkvfence_source_state_name(uint32_t state)
{
	static const char * const names[] = {
		[LKVFENCE_SOURCE_BOUND]		= "bound",
		[LKVFENCE_SOURCE_REVOKING]	= "revoking",
		[LKVFENCE_SOURCE_REVOKED]	= "revoked",
		[LKVFENCE_SOURCE_LOST]		= "lost",
	};

	return NAME(names, state);
}

const char *lkvfence_qp_state_name(uint32_t state)
{
	static const char * const names[] = {
		[LKVFENCE_QP_OPEN]	= "open",
		[LKVFENCE_QP_ERR]	= "err",
		[LKVFENCE_QP_QUIET]	= "quiet",
		[LKVFENCE_QP_LOST]	= "lost",
	};

	return NAME(names, state);
}
