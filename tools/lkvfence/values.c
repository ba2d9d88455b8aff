// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The gauges and counters that a region and the module have alike. */
#include <stddef.h>
#include <string.h>

#include "print.h"
#include "values.h"

#define IN_STAT(member) offsetof(struct lkvfence_stat, member)
#define IN_RELEASED(outcome) \
	(IN_STAT(released) + LKVFENCE_OUTCOME_##outcome * sizeof(__u64))
#define IN_EVIDENCE(class) \
	(IN_STAT(evidence) + LKVFENCE_EVIDENCE_##class * sizeof(__u64))

static const struct {
	const char *name;
	size_t offset;
} table[NR_VALUES] = {
	[VALUE_SLOTS] = { "slots", IN_STAT(slots) },
	[VALUE_SLOTS_TAKEN] = { "slots_taken", IN_STAT(slots_taken) },
	[VALUE_SLOTS_HELD] = { "slots_held", IN_STAT(slots_held) },
	[VALUE_SLOTS_QUARANTINED] = {
		"slots_quarantined", IN_STAT(slots_quarantined) },
	[VALUE_TRANSFERS_ALIVE] = {
		"transfers_alive", IN_STAT(transfers_alive) },
	[VALUE_TRANSFERS_HELD] = { "transfers_held", IN_STAT(transfers_held) },
	[VALUE_TRANSFERS_QUARANTINED] = {
		"transfers_quarantined", IN_STAT(transfers_quarantined) },
	[VALUE_OLDEST_HOLD_NS] = { "oldest_hold_ns", IN_STAT(oldest_hold_ns) },
	[VALUE_BEGUN] = { "begun", IN_STAT(begun) },
	[VALUE_RELEASED_COMPLETED] = {
		"released_completed", IN_RELEASED(COMPLETED) },
	[VALUE_RELEASED_DRAINED] = { "released_drained", IN_RELEASED(DRAINED) },
	[VALUE_RELEASED_REVOKED] = { "released_revoked", IN_RELEASED(REVOKED) },
	[VALUE_RELEASED_TIMEOUT] = { "released_timeout", IN_RELEASED(TIMEOUT) },
	[VALUE_RELEASED_GONE] = { "released_gone", IN_RELEASED(GONE) },
	[VALUE_RETURNS_DRAINED] = {
		"returns_drained", IN_STAT(returns_drained) },
	[VALUE_RETURNS_FAILED] = { "returns_failed", IN_STAT(returns_failed) },
	[VALUE_RETURNS_REVOKED] = {
		"returns_revoked", IN_STAT(returns_revoked) },
	[VALUE_RETURNS_EARLY] = { "returns_early", IN_STAT(returns_early) },
	[VALUE_RETURNS_STALE] = { "returns_stale", IN_STAT(returns_stale) },
	[VALUE_RETURNS_UNKNOWN] = {
		"returns_unknown", IN_STAT(returns_unknown) },
	[VALUE_RETURNS_DUPLICATE] = {
		"returns_duplicate", IN_STAT(returns_duplicate) },
	[VALUE_RETURNS_UNACCEPTED] = {
		"returns_unaccepted", IN_STAT(returns_unaccepted) },
	[VALUE_REFUSED_BUSY] = { "refused_busy", IN_STAT(refused_busy) },
	[VALUE_REFUSED_EXISTS] = { "refused_exists", IN_STAT(refused_exists) },
	[VALUE_REFUSED_LIMIT] = { "refused_limit", IN_STAT(refused_limit) },
	[VALUE_REFUSED_REVOKED] = {
		"refused_revoked", IN_STAT(refused_revoked) },
	[VALUE_FORCED] = { "forced", IN_STAT(forced) },
	[VALUE_HANDLES] = { "handles", IN_STAT(handles) },
	[VALUE_REVOKES] = { "revokes", IN_STAT(revokes) },
	[VALUE_REVOKES_FAILED] = { "revokes_failed", IN_STAT(revokes_failed) },
	[VALUE_EVIDENCE_TIMEOUT] = {
		"evidence_timeout", IN_EVIDENCE(TIMEOUT) },
	[VALUE_EVIDENCE_QP_ERR_SETTLED] = {
		"evidence_qp_err_settled", IN_EVIDENCE(QP_ERR_SETTLED) },
	[VALUE_EVIDENCE_SUCCESS_CQE] = {
		"evidence_success_cqe", IN_EVIDENCE(SUCCESS_CQE) },
	[VALUE_EVIDENCE_IN_BAND] = {
		"evidence_in_band", IN_EVIDENCE(IN_BAND) },
	[VALUE_EVIDENCE_TIMELINE] = {
		"evidence_timeline", IN_EVIDENCE(TIMELINE) },
	[VALUE_EVIDENCE_RQ_FLUSHED] = {
		"evidence_rq_flushed", IN_EVIDENCE(RQ_FLUSHED) },
	[VALUE_EVIDENCE_MW_INVALIDATED] = {
		"evidence_mw_invalidated", IN_EVIDENCE(MW_INVALIDATED) },
	[VALUE_EVIDENCE_QP_DESTROYED] = {
		"evidence_qp_destroyed", IN_EVIDENCE(QP_DESTROYED) },
	[VALUE_EVIDENCE_MR_DEREGISTERED] = {
		"evidence_mr_deregistered", IN_EVIDENCE(MR_DEREGISTERED) },
	[VALUE_EVIDENCE_BACKING_GONE] = {
		"evidence_backing_gone", IN_EVIDENCE(BACKING_GONE) },
	[VALUE_SOURCES] = { "sources", IN_STAT(sources) },
	[VALUE_SOURCES_REVOKED] = {
		"sources_revoked", IN_STAT(sources_revoked) },
	[VALUE_SOURCES_LOST] = { "sources_lost", IN_STAT(sources_lost) },
	[VALUE_STRAYS] = { "strays", IN_STAT(strays) },
	[VALUE_STRAYS_LATE] = { "strays_late", IN_STAT(strays_late) },
	[VALUE_MISMATCHES] = { "mismatches", IN_STAT(mismatches) },
	[VALUE_TRANSFERS_READY] = {
		"transfers_ready", IN_STAT(transfers_ready) },
	[VALUE_TICKETS] = { "tickets", IN_STAT(tickets) },
	[VALUE_TOMBSTONES] = { "tombstones", IN_STAT(tombstones) },
	[VALUE_PULLS] = { "pulls", IN_STAT(pulls) },
	[VALUE_PULLS_GRANTED] = { "pulls_granted", IN_STAT(pulls_granted) },
	[VALUE_PULLS_REFUSED] = { "pulls_refused", IN_STAT(pulls_refused) },
	[VALUE_PULLS_CLOSED] = { "pulls_closed", IN_STAT(pulls_closed) },
	[VALUE_REFUSED_EARLY] = { "refused_early", IN_STAT(refused_early) },
};

const char *value_name(enum value i)
{
	return table[i].name;
}

void values_from_stat(struct values *values, const struct lkvfence_stat *stat)
{
	enum value i;

	for (i = 0; i < NR_VALUES; i++) {
		/* the only one of 32 bits */
		if (i == VALUE_HANDLES)
			values->v[i] = stat->handles;
		else
			memcpy(&values->v[i],
			       (const char *)stat + table[i].offset,
			       sizeof(values->v[i]));
		values->known[i] = true;
	}
}

uint64_t values_get(const struct values *values, enum value i)
{
	return values->known[i] ? values->v[i] : 0;
}

uint64_t values_released(const struct values *values)
{
	uint64_t sum = 0;
	enum value i;

	for (i = VALUE_RELEASED_COMPLETED; i <= VALUE_RELEASED_GONE; i++)
		sum += values_get(values, i);
	return sum;
}

static void put(const struct values *values, enum value i, const char *text)
{
	if (values->known[i])
		print_u64(table[i].name, text, values->v[i]);
}

/* "4 completed, 2 timeout": with @brief only what there was. */
static void put_outcomes(const struct values *values, bool brief)
{
	const char *sep = ": ";
	enum value i;

	print_u64(HUMAN_ONLY, "released %s", values_released(values));
	for (i = VALUE_RELEASED_COMPLETED; i <= VALUE_RELEASED_GONE; i++) {
		if (values->known[i] && (values->v[i] || !brief)) {
			print_text("%s", sep);
			print_u64(table[i].name, "%s", values->v[i]);
			print_text(" %s", table[i].name + strlen("released_"));
			sep = ", ";
		} else {
			put(values, i, NULL);
		}
	}
	print_text("\n");
}

/* "evidence: 4 success_cqe, 2 timeout": only what there was. */
static void put_evidence(const struct values *values, const char *indent)
{
	const char *sep = "";
	enum value i;

	print_text("%sevidence: ", indent);
	for (i = VALUE_EVIDENCE_TIMEOUT; i <= VALUE_EVIDENCE_BACKING_GONE; i++) {
		if (!values_get(values, i)) {
			put(values, i, NULL);
			continue;
		}
		print_text("%s", sep);
		print_u64(table[i].name, "%s", values->v[i]);
		print_text(" %s", table[i].name + strlen("evidence_"));
		sep = ", ";
	}
	print_text("%s\n", *sep ? "" : "none");
}

static void put_revocation(const struct values *values, const char *indent)
{
	print_text("%srevocations: ", indent);
	put(values, VALUE_REVOKES, "%s begun");
	put(values, VALUE_REVOKES_FAILED, ", %s failed");
	print_text("\n%ssources: ", indent);
	put(values, VALUE_SOURCES, "%s bound");
	put(values, VALUE_SOURCES_REVOKED, ", %s revoked");
	put(values, VALUE_SOURCES_LOST, ", %s lost");
	print_text("\n%sseen: ", indent);
	put(values, VALUE_STRAYS, "%s strays");
	put(values, VALUE_STRAYS_LATE, ", %s late strays");
	put(values, VALUE_MISMATCHES, ", %s mismatches");
	print_text("\n");
}

/* In short only where there ever were some. */
static void put_pulls(const struct values *values, const char *indent, bool brief)
{
	bool show = !brief || values_get(values, VALUE_PULLS) ||
		    values_get(values, VALUE_TRANSFERS_READY) ||
		    values_get(values, VALUE_TOMBSTONES);

	if (show)
		print_text("%spulls: ", indent);
	put(values, VALUE_PULLS, show ? "%s" : NULL);
	put(values, VALUE_TICKETS, show ? ": %s waiting" : NULL);
	put(values, VALUE_PULLS_GRANTED, show ? ", %s granted" : NULL);
	put(values, VALUE_PULLS_REFUSED, show ? ", %s refused" : NULL);
	put(values, VALUE_PULLS_CLOSED, show ? ", %s closed" : NULL);
	put(values, VALUE_TRANSFERS_READY, show ? "; %s transfers ready" : NULL);
	put(values, VALUE_TOMBSTONES, show ? ", %s tombstones" : NULL);
	if (show)
		print_text("\n");
}

static void put_rest(const struct values *values, const char *indent)
{
	print_text("%sreturns: ", indent);
	put(values, VALUE_RETURNS_DRAINED, "%s drained");
	put(values, VALUE_RETURNS_FAILED, ", %s failed");
	put(values, VALUE_RETURNS_REVOKED, ", %s revoked");
	put(values, VALUE_RETURNS_EARLY, ", %s early");
	put(values, VALUE_RETURNS_STALE, ", %s stale");
	put(values, VALUE_RETURNS_UNKNOWN, ", %s unknown");
	put(values, VALUE_RETURNS_DUPLICATE, ", %s duplicate");
	put(values, VALUE_RETURNS_UNACCEPTED, ", %s unaccepted");
	print_text("\n%srefused: ", indent);
	put(values, VALUE_REFUSED_BUSY, "%s busy");
	put(values, VALUE_REFUSED_EXISTS, ", %s exists");
	put(values, VALUE_REFUSED_LIMIT, ", %s limit");
	put(values, VALUE_REFUSED_REVOKED, ", %s revoked");
	put(values, VALUE_REFUSED_EARLY, ", %s early");
	print_text("\n");
	put_evidence(values, indent);
	put_pulls(values, indent, false);
	put_revocation(values, indent);
	print_text("%sforced: ", indent);
	put(values, VALUE_FORCED, "%s");
	print_text("\n%shandles: ", indent);
	put(values, VALUE_HANDLES, "%s");
	print_text("\n");
}

void values_print(const struct values *values, const char *indent, bool brief)
{
	enum value i;

	print_text("%sslots: ", indent);
	put(values, VALUE_SLOTS, NULL);
	put(values, VALUE_SLOTS_TAKEN, "%s taken");
	put(values, VALUE_SLOTS_HELD, ", %s held");
	put(values, VALUE_SLOTS_QUARANTINED, ", %s quarantined");
	print_text("\n%stransfers: ", indent);
	put(values, VALUE_TRANSFERS_ALIVE, "%s alive");
	put(values, VALUE_TRANSFERS_HELD, ", %s held");
	put(values, VALUE_TRANSFERS_QUARANTINED, ", %s quarantined");
	if (values->known[VALUE_OLDEST_HOLD_NS])
		print_ns(table[VALUE_OLDEST_HOLD_NS].name,
			 values_get(values, VALUE_TRANSFERS_HELD) ?
			 "; oldest hold %s" : NULL,
			 values->v[VALUE_OLDEST_HOLD_NS]);
	print_text("\n%sbegun: ", indent);
	put(values, VALUE_BEGUN, "%s; ");
	put_outcomes(values, brief);
	if (!brief) {
		put_rest(values, indent);
		return;
	}
	put_pulls(values, indent, true);
	for (i = VALUE_RETURNS_DRAINED; i < VALUE_TRANSFERS_READY; i++)
		put(values, i, NULL);
	put(values, VALUE_REFUSED_EARLY, NULL);
}
