# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash
#
# What demo-*.sh have in common: the demo is run once without the fence and once with it, and its result is judged.
# Runs inside of tests/vm/run, from the project's root; needs build/demo/lkvfence-demo (make demo-build) and jq.
# LKVFENCE_DEMO_REQUESTS is how many requests a run has (500). With fewer, more of the acknowledgements go astray, so that
# each way comes up; and the other acts are played once.
set -u
requests=${LKVFENCE_DEMO_REQUESTS:-500}
# shellcheck disable=SC2034 # it is for who sources this
tries=5
# shellcheck disable=SC2034 # likewise
((requests >= 500)) || tries=1
demo=build/demo/lkvfence-demo
json=$(mktemp)
count=0 failed=0
export LC_ALL=C

# ok WHAT STATUS
ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		failed=$((failed + 1))
		echo "not ok $count - $1"
	fi
}

# holds WHAT EXPRESSION: an expression of jq about the result is true; no result, no truth
holds() {
	[ "$(jq "$2" "$json" 2>&1)" = true ]
	ok "$1" $?
}

# race PERCENT OPTION...: both runs, with so many hang-ups
race() {
	local percent=$1 status
	local options=(--both --requests "$requests" --hangups "$percent" --json "$json")
	shift
	((requests >= 500)) || options+=(--lost 15 --failed 15 --twice 15)
	rm -f "$json"
	"$demo" "${options[@]}" "$@" </dev/null 2>&1 | sed 's/^/# /'
	status=${PIPESTATUS[0]}
	ok "$percent %: the demo ends well" "$status"
	holds "$percent %: $requests requests in each run" \
		".control.requests == $requests and .fence.requests == $requests"
	holds "$percent %: the same clients hung up in both" \
		".control.aborted == .fence.aborted and .fence.aborted == (.fence.requests * $percent / 100 | floor)"
	holds "$percent %: each request is completed or aborted" \
		'[.control, .fence] | all(.completed + .aborted == .requests)'
	holds "$percent %: writes landed after the hang-up in both, so the fence had work to do" \
		'[.control, .fence] | all(.aborted_with_late_writes > 0)'
	holds "$percent %: without the fence, requests read another's text" \
		'.control.corrupted_requests > 0 and .control.stray_bytes > 0'
	holds "$percent %: with the fence, none does" \
		'.fence.corrupted_requests == 0 and .fence.stray_bytes == 0'
	holds "$percent %: no slot is lost" \
		'.control.slots_lost == 0 and .fence.slots_lost == 0'
	holds "$percent %: with the fence, each request has an outcome" \
		'.fence | (.outcomes | add) == .requests and .outcomes.completed == .completed'
	holds "$percent %: slots came back by proof and by deadline" \
		'.fence.outcomes.drained > 0 and .fence.outcomes.timeout > 0'
	holds "$percent %: acknowledgements were lost, failed and sent twice" \
		'[.control, .fence] | all(.acks | .lost > 0 and .failed > 0 and .twice > 0)'
	holds "$percent %: each that was lost or failed cost the deadline" \
		'.fence | .outcomes.timeout >= .acks.lost + .acks.failed'
	holds "$percent %: each that was sent twice was refused the second time" \
		'.fence | .acks_refused >= .acks.twice'
	holds "$percent %: proof is quicker than the deadline" \
		'.fence | .hold_ms.p50 > 0 and .hold_ms.p50 < .deadline_ms and .hold_ms.p50 < .hold_ms.p99'
	holds "$percent %: without proof nothing came back before the deadline" \
		'.fence | .hold_ms.p99 >= .deadline_least_ms'
	holds "$percent %: the module's books agree with the engine's" '.fence.books_agree'
}

# finish: the plan and the status
finish() {
	rm -f "$json"
	echo "1..$count"
	[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
}
