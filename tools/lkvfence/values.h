/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The gauges and counters that a region and the module have alike: the names
 * of their files in sysfs, and where STAT has them.
 */
#ifndef VALUES_H
#define VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <lkvfence.h>

enum value {
	VALUE_SLOTS,
	VALUE_SLOTS_TAKEN,
	VALUE_SLOTS_HELD,
	VALUE_SLOTS_QUARANTINED,
	VALUE_TRANSFERS_ALIVE,
	VALUE_TRANSFERS_HELD,
	VALUE_TRANSFERS_QUARANTINED,
	VALUE_OLDEST_HOLD_NS,
	VALUE_BEGUN,
	VALUE_RELEASED_COMPLETED,
	VALUE_RELEASED_DRAINED,
	VALUE_RELEASED_REVOKED,
	VALUE_RELEASED_TIMEOUT,
	VALUE_RELEASED_GONE,
	VALUE_RETURNS_DRAINED,
	VALUE_RETURNS_FAILED,
	VALUE_RETURNS_REVOKED,
	VALUE_RETURNS_EARLY,
	VALUE_RETURNS_STALE,
	VALUE_RETURNS_UNKNOWN,
	VALUE_RETURNS_DUPLICATE,
	VALUE_RETURNS_UNACCEPTED,
	VALUE_REFUSED_BUSY,
	VALUE_REFUSED_EXISTS,
	VALUE_REFUSED_LIMIT,
	VALUE_REFUSED_REVOKED,
	VALUE_FORCED,
	VALUE_HANDLES,
	VALUE_REVOKES,
	VALUE_REVOKES_FAILED,
	VALUE_EVIDENCE_TIMEOUT,
	VALUE_EVIDENCE_QP_ERR_SETTLED,
	VALUE_EVIDENCE_SUCCESS_CQE,
	VALUE_EVIDENCE_IN_BAND,
	VALUE_EVIDENCE_TIMELINE,
	VALUE_EVIDENCE_RQ_FLUSHED,
	VALUE_EVIDENCE_MW_INVALIDATED,
	VALUE_EVIDENCE_QP_DESTROYED,
	VALUE_EVIDENCE_MR_DEREGISTERED,
	VALUE_EVIDENCE_BACKING_GONE,
	VALUE_SOURCES,
	VALUE_SOURCES_REVOKED,
	VALUE_SOURCES_LOST,
	VALUE_STRAYS,
	VALUE_STRAYS_LATE,
	VALUE_MISMATCHES,
	VALUE_TRANSFERS_READY,
	VALUE_TICKETS,
	VALUE_TOMBSTONES,
	VALUE_PULLS,
	VALUE_PULLS_GRANTED,
	VALUE_PULLS_REFUSED,
	VALUE_PULLS_CLOSED,
	VALUE_REFUSED_EARLY,
	NR_VALUES
};

/* What a module of another version doesn't have is not known. */
struct values {
	uint64_t v[NR_VALUES];
	bool known[NR_VALUES];
};

const char *value_name(enum value i);
void values_from_stat(struct values *values, const struct lkvfence_stat *stat);
/* values_known() - the value, 0 where it isn't known */
uint64_t values_get(const struct values *values, enum value i);
/* values_released() - released transfers, whatever the outcome */
uint64_t values_released(const struct values *values);

/*
 * All of them, as members of the JSON object that is open and as lines with
 * @indent for people; @brief leaves out for people what an operator needn't
 * look at daily.
 */
void values_print(const struct values *values, const char *indent, bool brief);

#endif /* VALUES_H */
