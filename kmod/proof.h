/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process may attest, and what it proves. Only fence.c includes this.
 */
#ifndef LKVFENCE_PROOF_H
#define LKVFENCE_PROOF_H

#include "fence.h"

/* What a process may attest as proof that its work is done. */
static bool is_drain(u32 evidence)
{
	return evidence == LKVFENCE_EVIDENCE_SUCCESS_CQE ||
	       evidence == LKVFENCE_EVIDENCE_IN_BAND;
}

/* What the owner of the memory may attest: it took the access away. */
static bool is_revocation(u32 evidence)
{
	switch (evidence) {
	case LKVFENCE_EVIDENCE_RQ_FLUSHED:
	case LKVFENCE_EVIDENCE_MW_INVALIDATED:
	case LKVFENCE_EVIDENCE_QP_DESTROYED:
	case LKVFENCE_EVIDENCE_MR_DEREGISTERED:
		return true;
	default:
		return false;
	}
}

static bool is_return(u32 status, u32 evidence)
{
	switch (status) {
	case LKVFENCE_STATUS_DRAINED:
		return is_drain(evidence);
	case LKVFENCE_STATUS_FAILED:
		return evidence == LKVFENCE_EVIDENCE_NONE;
	case LKVFENCE_STATUS_REVOKED:
		return is_revocation(evidence);
	default:
		return false;
	}
}

/* May a lease in that state be returned so? L5: once, by its source. */
static bool is_open(const struct fence_lease *lease, u32 status)
{
	return lease->state == LKVFENCE_LEASE_OUT ||
	       (lease->state == LKVFENCE_LEASE_FAILED &&
		status == LKVFENCE_STATUS_REVOKED);
}

#endif /* LKVFENCE_PROOF_H */
