#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# command.sh BUILD - the command lkvfence where there is no module, on a fake sysfs, and on a fake kernel.
#
# Prints TAP, and fails unless every test has run and passed.
set -u
build=${1:?usage: command.sh BUILD}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
unset "${!LKVFENCE_@}"

planned=67 count=0 failed=0

# ok NAME STATUS: STATUS is what the test's last command left
ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $1"
	echo "# status: $status"
	sed 's/^/# stdout: /' "$tmp/out" | head -40
	sed 's/^/# stderr: /' "$tmp/err" | head -10
}

# run ARGUMENT...: leaves $status, $tmp/out and $tmp/err; $tool is the program
run() {
	"$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
}

# exits STATUS [WORDS]: the last run's status, and what its stderr must hold ("" for: nothing)
exits() {
	[ "$status" -eq "$1" ] || return 1
	if [ -n "${2-}" ]; then
		grep -qF -- "$2" "$tmp/err"
	elif [ "$1" -eq 0 ]; then
		[ ! -s "$tmp/err" ]
	else
		[ -s "$tmp/err" ]
	fi
}

# out TEXT: stdout is exactly that
out() {
	diff -u - "$tmp/out" <<<"$1" | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# json FILTER: stdout is one JSON text for which the filter says true
json() {
	python3 -c 'import json, sys; json.load(sys.stdin)' <"$tmp/out" && jq -e "$1" <"$tmp/out" >/dev/null
}

# fake_values DIRECTORY FIRST: a sysfs directory with values counting up from FIRST
fake_values() {
	local name n=$2
	mkdir -p "$1"
	for name in slots slots_taken slots_held slots_quarantined transfers_alive transfers_held transfers_quarantined \
		oldest_hold_ns begun released_completed released_drained released_revoked released_timeout released_gone \
		returns_drained returns_failed returns_early returns_stale returns_unknown returns_duplicate refused_busy \
		refused_exists refused_limit forced handles \
		returns_revoked returns_unaccepted refused_revoked revokes revokes_failed \
		evidence_timeout evidence_qp_err_settled evidence_success_cqe evidence_in_band evidence_timeline \
		evidence_rq_flushed evidence_mw_invalidated evidence_qp_destroyed evidence_mr_deregistered \
		evidence_backing_gone sources sources_revoked sources_lost strays strays_late mismatches \
		transfers_ready tickets tombstones pulls pulls_granted pulls_refused pulls_closed refused_early \
		transfers_gathered joined ended_by_group; do
		echo "$n" >"$1/$name"
		n=$((n + 1))
	done
}

# --- no module

tool=$build/tools/lkvfence
export LKVFENCE_DEVICE=$tmp/none LKVFENCE_SYSFS=$tmp/none
for words in "" status region "region kv0" transfer "transfer --region kv0" "transfer 7" source "source --region kv0" peer \
	"release --region kv0 7"; do
	# shellcheck disable=SC2086 # words are words
	run $words
	exits 3 "module is not loaded"
	ok "no module: lkvfence $words" $?
done
run -j
exits 3 "module is not loaded" && json '.module.loaded == false and .regions == []'
ok "no module: the status is JSON all the same" $?
for words in transfer source peer; do
	run -j $words
	exits 3 "module is not loaded" && json '. == []'
	ok "no module: the list of ${words}s is JSON all the same" $?
done
run --version
exits 0 && out "lkvfence: 0.1.0, ABI 1
liblkvfence: 0.1.0
module: not loaded"
ok "no module: --version says so, and succeeds" $?
run --version -j
exits 0 && json '. == {"tool": "0.1.0", "abi": 1, "library": "0.1.0", "module": {"loaded": false}}'
ok "no module: --version in JSON" $?

# --- the command line

for words in --help help -h; do
	run $words
	exits 0 && grep -q "^Exit codes:" "$tmp/out"
	ok "$words tells the exit codes" $?
done
bad=("nonsense" "--nonsense" "region a b" "region ../etc" "region .hidden" "transfer 7 --tag 7" "transfer x" "transfer 0"
	"transfer -- -7" "transfer --slot 4294967296" "transfer --tag 18446744073709551616" "transfer --tag 0x" "transfer --tag"
	"transfer --region a/b" "release 7" "release --region kv0" "release --region kv0 7 x" "region --tag 7" "status x"
	"release --region kv0 --slot 7 7" "source 7" "source --tag 7" "source --slot 7" "source --region a/b"
	"source --region" "peer 7" "peer --tag 7" "peer --slot 7" "peer --region a/b")
errors=0
for words in "${bad[@]}"; do
	# shellcheck disable=SC2086
	run $words
	exits 2 "--help" && [ ! -s "$tmp/out" ] || { echo "# not refused: $words"; errors=1; }
done
ok "a wrong command line is refused with status 2 and nothing on stdout" $errors
run transfer --region ''
exits 2
ok "an empty name is refused" $?

# --- a fake sysfs, no device

sys=$tmp/sys
fake_values "$sys" 1
echo 0.1.0 >"$sys/version"
echo 7 >"$sys/abi"
echo qp >"$sys/features"
fake_values "$sys/regions/kv10" 101
fake_values "$sys/regions/kv2" 1001
echo 65536 >"$sys/regions/kv10/slot_size"
echo 139637976727552 >"$sys/regions/kv10/base"
echo 1536 >"$sys/regions/kv2/slot_size"
echo 0 >"$sys/regions/kv2/base"
echo "success_cqe mr_deregistered something_new" >"$sys/regions/kv10/accepts"
echo "qp_err_settled success_cqe in_band timeline rq_flushed mw_invalidated qp_destroyed mr_deregistered backing_gone" \
	>"$sys/regions/kv2/accepts"
for name in slots_quarantined transfers_quarantined transfers_held released_timeout strays strays_late; do
	echo 0 >"$sys/regions/kv2/$name"
done
echo 187654321098 >"$sys/regions/kv10/oldest_hold_ns"
export LKVFENCE_SYSFS=$sys

run --version
exits 0 && out "lkvfence: 0.1.0, ABI 1
liblkvfence: 0.1.0
module: 0.1.0, ABI 7
revocation: possible"
ok "sysfs: --version tells the ABI of both, and what the module can" $?
run --version -j
exits 0 && json '. == {"tool": "0.1.0", "abi": 1, "library": "0.1.0",
	"module": {"loaded": true, "version": "0.1.0", "abi": 7, "qp": true}}'
ok "sysfs: --version in JSON" $?
echo 1 >"$sys/abi"

run
exits 0 && out "lkvfence 0.1.0, module 0.1.0, ABI 1, revocation possible
since load: 9 begun, 5 alive, 60 released, 13 of these without proof
region kv2: 1001 slots of 1.5 KiB
  slots: 1002 taken, 1003 held, 0 quarantined
  transfers: 1005 alive, 0 held, 0 quarantined
  begun: 1009; released 4047: 1010 completed, 1011 drained, 1012 revoked, 1014 gone
  pulls: 1050: 1048 waiting, 1051 granted, 1052 refused, 1053 closed; 1047 transfers ready, 1049 tombstones
  groups: 1056 transfers joined, 1057 ended by another; 1055 wait for the others
region kv10: 101 slots of 64 KiB at 0x7f0000000000
  accepts: success_cqe, mr_deregistered, something_new
  slots: 102 taken, 103 held, 104 quarantined
  transfers: 105 alive, 106 held, 107 quarantined; oldest hold 3m07s
  begun: 109; released 560: 110 completed, 111 drained, 112 revoked, 113 timeout, 114 gone
  pulls: 150: 148 waiting, 151 granted, 152 refused, 153 closed; 147 transfers ready, 149 tombstones
  groups: 156 transfers joined, 157 ended by another; 155 wait for the others
  warning: 107 transfers with 104 slots in quarantine: past the deadline, without proof
  warning: 113 transfers released without proof: late writes may have hit reused slots
  warning: slots of 144 transfers were written to while held: the fence caught it
  warning: slots of 145 transfers were written to after the release: timeouts are too short"
ok "sysfs: the status of everything, for anybody" $?
cp "$tmp/out" "$tmp/status"
run status
exits 0 && cmp -s "$tmp/out" "$tmp/status"
ok "sysfs: no arguments mean status" $?
run -j
exits 0 && json '.module.loaded and .module.abi == 1 and .module.version == "0.1.0" and .module.begun == 9
	and (.regions | length) == 2 and .regions[0].name == "kv2" and .regions[0].warnings == []
	and .module.qp and .regions[1].warnings == ["quarantined", "tainted", "strays", "strays_late"] and .regions[1].oldest_hold_ns == 187654321098
	and .regions[1].base == "0x7f0000000000" and .regions[1].instant == false'
ok "sysfs: the status in JSON" $?
run region kv2
exits 0 && out "region kv2: 1001 slots of 1.5 KiB
  accepts: all evidence
  slots: 1002 taken, 1003 held, 0 quarantined
  transfers: 1005 alive, 0 held, 0 quarantined
  begun: 1009; released 4047: 1010 completed, 1011 drained, 1012 revoked, 0 timeout, 1014 gone
  returns: 1015 drained, 1016 failed, 1026 revoked, 1017 early, 1018 stale, 1019 unknown, 1020 duplicate, 1027 unaccepted
  refused: 1021 busy, 1022 exists, 1023 limit, 1028 revoked, 1054 early
  evidence: 1031 timeout, 1032 qp_err_settled, 1033 success_cqe, 1034 in_band, 1035 timeline, 1036 rq_flushed, 1037 mw_invalidated, 1038 qp_destroyed, 1039 mr_deregistered, 1040 backing_gone
  pulls: 1050: 1048 waiting, 1051 granted, 1052 refused, 1053 closed; 1047 transfers ready, 1049 tombstones
  groups: 1056 transfers joined, 1057 ended by another; 1055 wait for the others
  revocations: 1029 begun, 1030 failed
  sources: 1041 bound, 1042 revoked, 1043 lost
  seen: 0 strays, 0 late strays, 1046 mismatches
  forced: 1024
  handles: 1025"
ok "sysfs: a region with all its counters" $?
run -j region kv10
exits 0 && json '. | length == 1 and .[0].name == "kv10" and .[0].slots == 101 and .[0].slots_taken == 102
	and .[0].accepts == ["success_cqe", "mr_deregistered", "something_new"]
	and .[0].begun == 109 and .[0].handles == 125 and .[0].forced == 124 and .[0].slot_size == 65536'
ok "sysfs: a region in JSON" $?
errors=0
for file in "$sys"/regions/kv10/*; do
	jq -e --arg name "${file##*/}" '.[0] | has($name)' <"$tmp/out" >/dev/null || { echo "# no ${file##*/}"; errors=1; }
done
ok "sysfs: every file of a region is a member in JSON, by the same name" $errors
cp -r "$sys/regions/kv2" "$sys/regions/kv4"
for name in "$sys"/regions/kv4/evidence_*; do
	echo 0 >"$name"
done
echo 1 | tee "$sys/regions/kv4/strays" >"$sys/regions/kv4/strays_late"
run region kv4
exits 0 && grep -qx '  evidence: none' "$tmp/out" && grep -qx '  seen: 1 strays, 1 late strays, 1046 mismatches' "$tmp/out" &&
	grep -q 'slots of 1 transfer were written to while held' "$tmp/out"
ok "sysfs: only the evidence that there was" $?
for name in joined pulls tickets pulls_granted pulls_refused pulls_closed transfers_ready tombstones; do
	echo 0 >"$sys/regions/kv4/$name"
done
run
exits 0 && [ "$(grep -c '^  pulls: ' "$tmp/out")" -eq 2 ] && [ "$(grep -c '^  groups: ' "$tmp/out")" -eq 2 ] && [ "$(grep -c '^region ' "$tmp/out")" -eq 3 ]
ok "sysfs: where nothing was ever pulled the status says nothing of it" $?
echo 1 >"$sys/regions/kv4/tombstones"
run
exits 0 && grep -qx '  pulls: 0: 0 waiting, 0 granted, 0 refused, 0 closed; 0 transfers ready, 1 tombstones' "$tmp/out"
ok "sysfs: but where something is remembered" $?
rm -r "$sys/regions/kv4"
echo >"$sys/features"
run
exits 0 && grep -qx 'lkvfence 0.1.0, module 0.1.0, ABI 1, revocation not possible on this kernel' "$tmp/out"
ok "sysfs: a kernel on which nothing can be revoked" $?
rm "$sys/features"
run -j
exits 0 && json '.module.qp == false'
ok "sysfs: a module that doesn't say what it can" $?
run region kv3
exits 1 "kv3" && [ ! -s "$tmp/out" ]
ok "sysfs: a region that isn't there fails" $?
for name in peers peers_failed peer_failures peer_recoveries peer_refused; do
	echo "${#name}" >"$sys/$name"
done
run
exits 0 && grep -qx "peers: 5, 12 failed now; 13 failures, 15 recoveries, 12 launches refused" "$tmp/out" && run -j &&
	exits 0 && json '.module.peers_failed == 12 and .module.peer_recoveries == 15'
ok "sysfs: peers, in the status" $?
rm "$sys"/peer*
run --version
exits 0 && out "lkvfence: 0.1.0, ABI 1
liblkvfence: 0.1.0
module: 0.1.0, ABI 1
revocation: not possible: the module was built for a kernel without RDMA, or one that frees a queue pair while others \
look at it (mended in 6.1.188 and 6.12.110)"
ok "sysfs: --version says why nothing can be revoked" $?
mkdir "$sys/regions/.hidden"
rm "$sys/regions/kv2/forced" "$sys/regions/kv2/accepts"
run -j region
exits 0 && json 'length == 2 and (.[0] | has("forced") or has("accepts") | not) and .[0].handles == 1025'
ok "sysfs: a value that the module doesn't have is left out" $?
rm -r "$sys/regions"
run
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 2 ]
ok "sysfs: no regions" $?
run -j region
exits 0 && json '. == []'
ok "sysfs: no regions, in JSON" $?
"$tool" --version >/dev/full 2>"$tmp/err"
status=$?
exits 1 "cannot write the output"
ok "output that can't be written is a failure" $?

# --- a fake kernel

tool=$build/tests/lkvfence-fake
export LKVFENCE_DEVICE=/dev/null
fake_values "$sys/regions/kv0" 1
g=9007199254740993
run transfer --region kv0
exits 0 && out "kv0 generation 9007199254740993 tag 42 state waiting policy taint age 3.0s expires in 57.0s slots 17 [0-15,32] waiting for 0,2(failed) leases out 2 of 3 pid 1234 comm python3
kv0 generation 9007199254740994 tag 43 state ended reason aborted policy taint age 1m30s held 250ms deadline in 29.0s slots 17 [0-15,32] waiting for 0,2(failed) leases out 2 of 3 pid 1234 comm python3
kv0 generation 9007199254740995 tag 43 state ended quarantined orphaned reason orphaned policy quarantine age 2h03m held 3m20s deadline 2m50s ago slots 17 [0-15,32] waiting for 0,2(failed) leases out 2 of 3 pid 99 comm a?[31m\"\\"$'\xc3\xa9'"??
kv0 generation 9007199254740996 tag 18446744073709551615 state waiting policy taint age 5us slots 600 [100-101,104-105,108-109,112-113,116-117,120-121,124-125,128-129,... 292 more] waiting for 0,1,2,3,4,5,6,7,... 292 more leases out 300 of 300 pid 1234 comm python3
kv0 generation 9007199254740997 tag 44 state ended revoking reason revoked policy revoke,quarantine age 1m30s held 1.0s deadline in 1.0s slots 17 [0-15,32] waiting for 0 leases out 1 of 3 pid 1234 comm python3
kv0 generation 9007199254740998 tag 45 state ready offered policy taint age 1.0s expires in 1.0s slots 17 [0-15,32] waiting for 0 leases out 1 of 2 pid 1234 comm python3
kv0 generation 9007199254740999 tag 46 state waiting grouped policy taint age 1.0s slots 17 [0-15,32] waiting for 0 leases out 1 of 2 pid 1234 comm python3
kv0 generation 9007199254741000 tag 47 state ended grouped reason finished policy taint age 2.0s held 1.0s deadline in 1.0s slots 17 [0-15,32] waiting for its group leases out 0 of 0 pid 1234 comm python3"
ok "transfers: who holds what, since when, waiting for whom" $?
run -j transfer
exits 0 && json 'length == 8 and (map(select(.grouped) | .tag) == ["46", "47"]) and (map(select(.gathered) | .tag) == ["47"])
	and .[5].offered and .[5].state == "ready" and .[4].offered == false and .[0].generation == "9007199254740993" and .[3].tag == "18446744073709551615"
	and (.[3].ranges | length) == 300 and (.[3].leases | length) == 300 and .[3].ranges[299] == {"first": 1296, "count": 2}
	and .[0].held_ns == null and .[0].deadline_in_ns == 57000000000 and .[0].reason == "none"
	and .[1].held_ns == 250000000 and .[2].deadline_in_ns == -170000000000 and .[2].quarantined and .[2].orphaned
	and .[1].quarantined == false and .[1].state == "ended" and .[1].reason == "aborted" and .[1].policy == "taint"
	and .[1].leases == [{"source": 0, "state": "out", "evidence": "none"},
		{"source": 1, "state": "drained", "evidence": "success_cqe"}, {"source": 2, "state": "failed", "evidence": "none"}]
	and .[4].leases == [{"source": 0, "state": "out", "evidence": "none"},
		{"source": 1, "state": "drained", "evidence": "success_cqe"},
		{"source": 2, "state": "revoked", "evidence": "mw_invalidated"}]
	and .[4].revoking and .[4].revocable and .[4].policy == "revoke,quarantine" and .[4].reason == "revoked"
	and .[3].revoking == false and .[3].revocable == false
	and .[2].comm == "a\u001b[31m\"\\é\ufffd\u007f"'
ok "transfers in JSON, complete, with numbers that keep all their bits" $?
run transfer --tag 43
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 2 ]
ok "a tag's transfers, held ones too" $?
run transfer --tag 18446744073709551615
exits 0 && grep -q '1296-1297\]' "$tmp/out" && grep -q '298,299 leases' "$tmp/out" && ! grep -q more "$tmp/out"
ok "a transfer asked for by name is shown whole" $?
run transfer $((g + 1))
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 1 ] && grep -q "^kv0 generation $((g + 1)) " "$tmp/out"
ok "one generation" $?
run transfer --slot 101
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 1 ] && grep -q "^kv0 generation $((g + 3)) " "$tmp/out"
ok "one slot" $?
errors=0
for words in "transfer 5" "transfer --tag 5" "transfer --slot 50" "transfer --slot 9999"; do
	# shellcheck disable=SC2086
	run $words
	exits 1 "no transfer has" && [ ! -s "$tmp/out" ] || { echo "# $words"; errors=1; }
done
ok "what isn't there fails" $errors
run transfer --region kv0 5
exits 1 "is stale"
ok "in a region that was named, the library says why" $?
run source
x64=0123456789012345678901234567890123456789012345678901234567890123
exits 0 && out "kv0 source 0 state bound binding 5 leases out 2 qps mlx5_0/17 pid 1234
kv0 source 2 peer p?[31m \""$'\xc3\xa9'" state revoking binding 9007199254740993 leases out 1 qps rxe0/18(err),rxe1/19(quiet) pid 99
kv0 source 4294967295 peer $x64 state lost binding 7 leases out 0 qps $x64/4294967295(lost) pid 99"
ok "sources, their queue pairs, and what became of them" $?
run -j source --region kv0
exits 0 && json 'length == 3 and .[0] == {"region": "kv0", "source": 0, "peer": "", "state": "bound", "binding": "5",
		"leases_out": 2, "qps": [{"device": "mlx5_0", "number": 17, "state": "open"}], "pid": 1234}
	and .[1].binding == "9007199254740993" and .[1].peer == "p\u001b[31m \"\u00e9"
	and .[1].qps == [{"device": "rxe0", "number": 18, "state": "err"}, {"device": "rxe1", "number": 19, "state": "quiet"}]
	and .[2].source == 4294967295 and (.[2].qps[0].device | length) == 64 and .[2].qps[0].state == "lost"'
ok "sources in JSON" $?
run source --region big
exits 0 && [ ! -s "$tmp/out" ]
ok "no sources" $?
run source --region kv3
exits 1 "kv3" && [ ! -s "$tmp/out" ]
ok "sources of a region that isn't there" $?
run peer
long="[fe80::1%eth0]:4791/012345678901234567890123456789012345678901"
exits 0 && out "peer $long id 3 uid 0 state failed for 1m30s probed by 1234, others in 5.0s session 9007199254740993 generation 9007199254740994 sessions 2 failures 3 recoveries 2 probes 7 refused 40 stale 1
peer p4 id 4 uid 0 state failed for 1.0s next probe in 29.0s generation 5 sessions 0 failures 1 recoveries 0 probes 0 refused 0 stale 0
peer p5 id 5 uid 0 state failed for 1.0s to be probed session 1 generation 6 sessions 1 failures 1 recoveries 0 probes 0 refused 0 stale 0
peer p6 id 4294967295 uid 1000 state healthy for 2h03m session 1 generation 7 sessions 1 failures 0 recoveries 0 probes 0 refused 0 stale 0"
ok "peers of all users, for an administrator; once, whatever the regions" $?
run -j peer
exits 0 && json 'length == 4 and .[0].generation == "9007199254740994" and .[0].session == "9007199254740993"
	and .[0].prober == 1234 and .[0].probe_in_ns == 5000000000 and .[0].for_ns == 90000000000 and .[0].refused == 40
	and .[1].prober == null and .[1].probe_in_ns == 29000000000 and .[2].probe_in_ns == -1000000000
	and .[3].probe_in_ns == null and .[3].prober == null and .[3].state == "healthy" and .[3].id == 4294967295'
ok "peers in JSON" $?
FAKE_UNPRIVILEGED=1 run peer
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 3 ] && ! grep -q "uid 1000" "$tmp/out"
ok "peers: others see their own" $?
run peer --region kv0
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 3 ]
ok "peers: those of a region's owner" $?
run peer --region kv3
exits 1 "kv3" && [ ! -s "$tmp/out" ]
ok "peers: of a region that isn't there" $?
fake_values "$sys/regions/closed" 1
run -j transfer
exits 4 "no permission on region closed" && json 'length == 8'
ok "a region that may not be opened is told, and the others are shown" $?
run -j
exits 0 && json '.regions | length == 2 and .[0].name == "closed" and .[0].instant == false and .[1].instant
	and .[1].slots == 4096 and .[1].released_timeout == 1 and .[1].returns_duplicate == 16 and .[1].refused_limit == 19
	and .[1].handles == 2 and .[1].returns_revoked == 21 and .[1].returns_unaccepted == 22 and .[1].refused_revoked == 23
	and .[1].revokes == 24 and .[1].revokes_failed == 25 and .[1].evidence_timeout == 26
	and .[1].evidence_rq_flushed == 27 and .[1].evidence_in_band == 0 and .[1].sources == 28
	and .[1].sources_revoked == 29 and .[1].sources_lost == 30 and .[1].strays == 31 and .[1].strays_late == 32
	and .[1].mismatches == 33 and .[1].transfers_ready == 34 and .[1].tickets == 35 and .[1].tombstones == 36
	and .[1].pulls == 37 and .[1].pulls_granted == 38 and .[1].pulls_refused == 39 and .[1].pulls_closed == 40
	and .[1].refused_early == 41 and .[1].transfers_gathered == 42 and .[1].joined == 43 and .[1].ended_by_group == 44
	and .[1].accepts == ["success_cqe", "mr_deregistered"]'
ok "the status takes values of one instant where it may, and doesn't count its own handle" $?
fake_values "$sys/regions/big" 1
export FAKE_TRANSFERS=10000
start=$(date +%s%N)
run -j transfer --region big
took=$((($(date +%s%N) - start) / 1000000))
exits 0 && json 'length == 10000 and .[9999].generation == "10000"'
ok "10,000 transfers are listed (${took} ms)" $?
run release --region kv0 $((g + 2))
exits 0 && out "generation $((g + 2)) released without proof"
ok "an administrator lets go of a transfer in quarantine" $?
run -j release --region kv0 $g $((g + 2)) 5
exits 1 "is not in quarantine" && json 'length == 3 and (map(.released) == [false, true, false])
	and .[1].generation == "9007199254740995" and (.[0].error | contains("not in quarantine")) and (.[2].error | contains("stale"))'
ok "each generation is tried, and the first refusal isn't forgotten" $?
run source
exits 4 "no permission on region closed" && [ "$(wc -l <"$tmp/out")" -eq 3 ]
ok "sources: a region that may not be opened is told, too" $?
FAKE_UNPRIVILEGED=1 run release --region kv0 $((g + 2))
exits 4 "CAP_SYS_ADMIN" && [ ! -s "$tmp/out" ]
ok "without the capability it is refused, with status 4" $?
FAKE_ABI_OLDEST=9 run transfer
exits 5 "too old for the loaded module"
ok "a module of another ABI, with status 5" $?

echo "1..$planned"
[ $failed -eq 0 ] && [ $count -eq $planned ] && exit 0
echo "# $failed of $count failed, $planned were planned"
exit 1
