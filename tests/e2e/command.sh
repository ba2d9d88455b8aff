#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# command.sh - the command lkvfence with the module, on regions in which there is something to see.
#
# Runs as root inside of tests/vm/run, from the project's root; needs build/tools/lkvfence, build/tests/scene and
# jq. Prints TAP, and fails unless every test has run and passed.
set -u
tmp=$(mktemp -d)
# others must reach it, too, and the project may be in a place of root's
chmod 755 "$tmp"
tool=$tmp/lkvfence
export LC_ALL=C
big=2000

planned=39 count=0 failed=0 status=0

ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $1"
	echo "# status: $status"
	head -n 30 "$tmp/out" | cut -c 1-300 | sed 's/^/# stdout: /'
	head -n 10 "$tmp/err" | sed 's/^/# stderr: /'
}

# run ARGUMENT...: leaves $status, $tmp/out and $tmp/err; $as are the words in front of the command
as=()
run() {
	"${as[@]}" "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
}

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

json() {
	jq -e "$1" <"$tmp/out" >/dev/null
}

line() {
	grep -qE -- "$1" "$tmp/out"
}

bail() {
	echo "Bail out! $*"
	exit 1
}

command -v jq >/dev/null || bail "jq is needed"
cp build/tools/lkvfence "$tool" || bail "build/tools/lkvfence is needed"
[ -x build/tests/scene ] || bail "build/tests/scene is needed"

# --- nothing there yet

run
can='not possible on this kernel' qp=false
[ "$(cat /sys/class/misc/lkvfence/features)" != qp ] || can=possible qp=true
exits 0 && line "^lkvfence [0-9.]+, module [0-9.]+, ABI 1, revocation $can\$" && ! line '^region'
ok "the status where there are no regions" $?
run -j
exits 0 && json '.module.loaded and .module.abi == 1 and .module.qp == '$qp' and .regions == []'
ok "the same in JSON" $?
# of regions that were there before this test
begun=$(jq .module.begun <"$tmp/out")
run --version
exits 0 && line '^lkvfence: 0.*, ABI 1$' && line '^liblkvfence: 0' && line '^module: [0-9].*, ABI 1$' &&
	line "^revocation: ${can% on this kernel}"
ok "--version tells the tool, the library, the module, their ABI, and what the module can" $?

# --- the scene

declare -A gen
coproc SCENE { exec build/tests/scene $big 2>"$tmp/scene.err"; }
scene=$SCENE_PID
# the coproc's own variables go away with it
exec {from}<&"${SCENE[0]}" {to}>&"${SCENE[1]}"
eval "exec ${SCENE[0]}<&- ${SCENE[1]}>&-"
while read -r -t 120 -u "$from" name number; do
	[ "$name" != ready ] || break
	gen[$name]=$number
done
[ "${name-}" = ready ] || bail "no scene: $(cat "$tmp/scene.err")"

run
exits 0 && line '^region scene: 4096 slots of 64 KiB at 0x7f0000000000$' && line '^region private: 64 slots' &&
	line '^region big: 1000000 slots' && line 'oldest hold [0-9]' && line 'warning: [23] transfers with (34|51) slots in quarantine' &&
	line 'warning: 1 transfer released without proof' && line '  slots: 119 taken, 68 held, (34|51) quarantined' &&
	line '  pulls: 2: 1 waiting, 1 granted, 0 refused, 0 closed; 1 transfers ready, 0 tombstones$' &&
	[ "$(grep -c '^  pulls: ' "$tmp/out")" -eq 1 ]
ok "the status of everything" $?
start=$(date +%s%N)
run
took=$((($(date +%s%N) - start) / 1000000))
exits 0
ok "it answers while $big transfers are alive (${took} ms)" $?
run -j
exits 0 && json '.regions | map({key: .name, value: .}) | from_entries | .scene.instant and .scene.slots_taken == 119
	and .scene.transfers_alive == 7 and .scene.tickets == 1 and .scene.pulls_granted == 1 and .scene.transfers_held == 4 and .scene.handles == 1
	and .scene.warnings == ["quarantined", "tainted"] and .big.transfers_alive == '$big' and .big.slots_taken == 3 * '$big'
	and .private.slots_taken == 5 and .private.joined == 2 and .private.transfers_gathered == 1'
ok "the same in JSON" $?
json '.module.slots == (.regions | map(.slots) | add) and .module.transfers_alive == (.regions | map(.transfers_alive) | add)
	and .module.begun == (.regions | map(.begun) | add) + '"$begun"
ok "the module's sums are those of the regions" $?
json '[.module, .regions[]] | all(.begun == .transfers_alive + .released_completed + .released_drained + .released_revoked
	+ .released_timeout + .released_gone)'
ok "begun is alive and released, in every region and for the module" $?
run region scene
exits 0 && line '^  accepts: all evidence$' && line 'begun: 10; released 3: 1 completed, 1 drained, 0 revoked, 1 timeout, 0 gone$' &&
	line 'returns: 5 drained, 2 failed, 0 revoked, 1 early, 1 stale, 0 unknown, 0 duplicate, 0 unaccepted$' &&
	line 'evidence: 3 timeout, 4 success_cqe, 1 in_band$' && line 'refused: 0 busy, 0 exists, 0 limit, 0 revoked, 0 early$' &&
	line 'pulls: 2: 1 waiting, 1 granted' && line 'revocations: 0 begun, 0 failed$' &&
	line 'sources: 0 bound, 0 revoked, 0 lost$' && line 'seen: 0 strays, 0 late strays, 0 mismatches$' &&
	line '^  handles: 1$'
ok "a region with all its counters" $?
errors=0
run -j region scene
jq -r '.[0] | keys[]' <"$tmp/out" | sort >"$tmp/members"
for file in /sys/class/misc/lkvfence/regions/scene/*; do
	echo "${file##*/}"
done | sort | comm -23 - "$tmp/members" >"$tmp/missing"
sed 's/^/# no /' "$tmp/missing"
[ -s "$tmp/members" ] && [ ! -s "$tmp/missing" ] || errors=1
ok "every file that a region has in sysfs is a member in JSON" $errors
errors=0
stat="slots slots_taken slots_held transfers_alive transfers_held begun released_completed released_drained
	released_timeout returns_drained returns_failed returns_early returns_stale forced handles returns_revoked
	returns_unaccepted refused_revoked revokes revokes_failed evidence_timeout evidence_success_cqe
	evidence_in_band sources sources_revoked sources_lost strays strays_late mismatches transfers_ready tickets
	tombstones pulls pulls_granted pulls_refused pulls_closed refused_early transfers_gathered joined
	ended_by_group"
jq -r --arg names "$stat" '.[0] as $r | $names | split("\\s+"; null)[] | "\(.) \($r[.])"' <"$tmp/out" >"$tmp/stat"
while read -r name value; do
	[ "$value" = "$(<"/sys/class/misc/lkvfence/regions/scene/$name")" ] || { echo "# $name differs"; errors=1; }
done <"$tmp/stat"
[ "$(wc -l <"$tmp/stat")" -eq 40 ] || errors=1
ok "STAT and sysfs tell the same" $errors

# --- transfers

run transfer --region scene
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 7 ] &&
	line "^scene generation ${gen[waiting]} tag 1 state waiting policy taint age .* slots 17 \[0-15,32\] waiting for 10,12 leases out 2 of 3 pid $scene comm scene$" &&
	line "^scene generation ${gen[offered]} tag 8 state ready offered policy taint age .* expires in .* waiting for 60,61,62,80 leases out 4 of 4 " &&
	line "^scene generation ${gen[expiring]} tag 2 state waiting .* expires in " &&
	line "^scene generation ${gen[held]} tag 3 state ended reason preempted policy taint age .* held .* deadline in .* waiting for 21,22 leases out 2 of 3 " &&
	line "^scene generation ${gen[quarantined]} tag 4 state ended quarantined reason aborted policy quarantine .* deadline .* ago .* waiting for 30,31,32\(failed\) leases out 3 of 3 " &&
	line "^scene generation ${gen[orphaned]} tag 5 state ended (quarantined )?orphaned reason orphaned policy quarantine "
ok "transfers: who holds what, since when, waiting for whom" $?
run -j transfer --region scene
exits 0 && json 'length == 7 and (map(.state) | sort) == ["ended", "ended", "ended", "ended", "ready", "waiting", "waiting"]
	and (map(select(.offered)) | length == 1 and .[0].tag == "8")
	and (map(select(.tag == "3"))[0] | .held_ns > 0 and .deadline_in_ns > 0 and .age_ns >= .held_ns and .comm == "scene"
		and .ranges == [{"first": 200, "count": 16}, {"first": 232, "count": 1}]
		and .leases[0] == {"source": 20, "state": "drained", "evidence": "in_band"})
	and (map(select(.tag == "1"))[0] | .held_ns == null and .deadline_in_ns == null and .pid == '"$scene"')
	and (map(select(.tag == "4"))[0] | .quarantined and .deadline_in_ns < 0 and .leases[2].state == "failed")'
ok "the same in JSON" $?
run transfer --region private
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 3 ] && [ "$(grep -c grouped "$tmp/out")" -eq 2 ] &&
	line "^private generation [0-9]+ tag 10 state ended grouped reason aborted .* held .* slots 1 \[10\] waiting for its group leases out 0 of 1 " &&
	line "^private generation [0-9]+ tag 11 state ended grouped reason aborted .* slots 1 \[11\] waiting for 1 leases out 1 of 1 "
ok "a group's members, and which of them waits for the others" $?
run -j transfer --region private
exits 0 && json 'map([.tag, .grouped, .gathered]) | sort == [["0", false, false], ["10", true, true], ["11", true, false]]'
ok "the same in JSON" $?
run transfer "${gen[held]}"
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 1 ] && line "^scene generation ${gen[held]} "
ok "one generation, whatever its region" $?
run transfer --region scene --slot 232
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 1 ] && line "^scene generation ${gen[held]} "
ok "one slot" $?
run transfer --region scene --tag 3
exits 0 && [ "$(wc -l <"$tmp/out")" -eq 1 ] && line "^scene generation ${gen[held]} "
ok "a tag whose transfer has ended" $?
run transfer "${gen[drained]}"
exits 1 "no transfer has generation ${gen[drained]}"
ok "a released generation is in no region" $?
run transfer --region scene "${gen[drained]}"
exits 1 "stale"
ok "a released generation of a region is stale, in the library's words" $?
run transfer --region scene --slot 4096
exits 1 "beyond"
ok "a slot beyond the region, in the library's words" $?
run transfer --region nowhere
exits 1 "nowhere"
ok "a region that isn't there" $?
[ ! -e /sys/class/misc/lkvfence/regions/nowhere ]
ok "looking creates no region" $?
start=$(date +%s%N)
run -j transfer --region big
took=$((($(date +%s%N) - start) / 1000000))
exits 0 && json "length == $big and (map(.generation) | unique | length) == $big"
ok "$big transfers are listed, each once (${took} ms)" $?

# --- sources

run source
exits 0 && [ ! -s "$tmp/out" ]
ok "no source is bound" $?
run -j source --region scene
exits 0 && json '. == []'
ok "the same in JSON" $?
run source --region nowhere
exits 1 "nowhere"
ok "sources of a region that isn't there" $?

# --- permissions

as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
run
exits 0 && line '^region scene:' && line '^region private:'
ok "anybody: the status" $?
run transfer
exits 4 "no permission on device node"
ok "who may not open the device gets no transfers, with status 4" $?
run source
exits 4 "no permission on device node"
ok "nor sources" $?
run release --region scene "${gen[forced]}"
exits 4 "no permission on device node"
ok "and can't release" $?
chmod 666 /dev/lkvfence
run -j transfer
exits 4 "no permission on region private" && json "map(.region) | unique == [\"big\", \"scene\"]"
ok "a region of others is told, the rest is shown" $?
run release --region scene "${gen[forced]}"
exits 4 "CAP_SYS_ADMIN"
ok "who may open the region, but is no administrator, can't release" $?
chmod 660 /dev/lkvfence
as=(setpriv --bounding-set -sys_admin --inh-caps -sys_admin)
run release --region scene "${gen[forced]}"
exits 4 "CAP_SYS_ADMIN"
ok "nor can root without CAP_SYS_ADMIN" $?
as=()

# --- release

run -j release --region scene "${gen[held]}" "${gen[waiting]}" "${gen[drained]}"
exits 1 "not in quarantine" && json 'length == 3 and all(.released | not)'
ok "what is not in quarantine is not released, not even by an administrator" $?
run release --region scene "${gen[forced]}"
exits 0 && line "^generation ${gen[forced]} released without proof$"
ok "an administrator releases what is in quarantine" $?
run -j region scene
exits 0 && json '.[0] | .forced == 1 and .released_timeout == 2 and .slots_taken == 102 and .transfers_alive == 6'
ok "that is counted, as forced and as without proof" $?
run release --region scene "${gen[forced]}"
exits 1 "stale"
ok "a second time it is stale" $?

exec {to}>&-
wait "$scene"
status=$?
cp "$tmp/scene.err" "$tmp/err"
: >"$tmp/out"
[ $status -eq 0 ] && [ -z "$(ls /sys/class/misc/lkvfence/regions)" ]
ok "all slots came back, and the looks have left no region behind" $?

rm -rf "$tmp"
echo "1..$planned"
[ $failed -eq 0 ] && [ $count -eq $planned ] && exit 0
echo "# $failed of $count failed, $planned were planned"
exit 1
