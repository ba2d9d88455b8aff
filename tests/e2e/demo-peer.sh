#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The demo's fifth act: a prefill that dies, is refused, and recovers. Judged by its own result and by what the module
# has counted meanwhile.
# shellcheck source=tests/e2e/demo.bash
. tests/e2e/demo.bash
modprobe rdma_ucm || exit 1

counters=(peer_failures peer_recoveries peer_refused)
before=$(cd /sys/class/misc/lkvfence && cat "${counters[@]}")
table=$(mktemp)
rm -f "$json"
"$demo" --peer --json "$json" </dev/null >"$table" 2>&1
ok "the demo ends well" $?
sed 's/^/# /' "$table"

# moved NAME BY: a counter of the module has gone up by so many
moved() {
	local i=0 old
	while [ "${counters[i]}" != "$1" ]; do
		i=$((i + 1))
	done
	old=$(sed -n $((i + 1))p <<<"$before")
	[ "$(cat "/sys/class/misc/lkvfence/$1")" = $((old + $2)) ]
	ok "the module's $1 went up by $2" $?
}

holds "8 launches go while the prefill is well, in both runs" '[.peer.control, .peer.table] | map(.before) == [8, 8]'
holds "without the table, 8 launches to the dead one wait" \
	'.peer.control | .tried == 8 and .refused == 0 and .waited == 8'
# The network card asks again for a second, twice.
holds "each for two seconds" '.peer.control.waited_min_ms >= 2000'
holds "with it, the first one waits, and 7 are refused" '.peer.table | .tried == 8 and .refused == 7 and .waited == 1'
holds "a refusal is sooner than what it spares" \
	'.peer.table.refused_max_ms > 0 and .peer.table.refused_max_ms < .peer.control.waited_min_ms'
holds "a request that failed by its own fault did not mark the prefill" '.peer.stayed_healthy'
holds "it was probed in vain while it was dead" \
	'.peer | .probes_in_vain >= 2 and .counted.probes > .probes_in_vain and .back_ms > 0'
holds "it failed once, recovered once, and its launches were refused by the module" \
	'.peer.counted | .failures == 1 and .recoveries == 1 and .refused == 7'
holds "the second session is a new generation" '.peer | .counted.sessions == 2 and .new_generation'
holds "a late word of the first one is refused" '.peer.late_is_stale and .peer.counted.stale == 1'
holds "8 launches go when it is back" '.peer.after == 8'
holds "no slot is lost" '[.peer.control, .peer.table] | map(.slots_lost) == [0, 0]'
moved peer_failures 1
moved peer_recoveries 1
moved peer_refused 7
[ "$(cat /sys/class/misc/lkvfence/peers_failed)" = 0 ]
ok "none is failed" $?
[ "$(grep -cE '^  without the table +8 +0 +- +- +8 +[0-9]+ +- +0$' "$table")" = 1 ] &&
	[ "$(grep -cE '^  with the table +8 +7 +[0-9.]+ +[0-9.]+ +1 +[0-9]+ +1 +0$' "$table")" = 1 ]
ok "so says the table" $?
awk 'length > 100 { long = 1 } END { exit long || NR < 10 }' "$table"
ok "no line is longer than 100 columns" $?
grep -qx 'demo: shown' "$table"
ok "it says that it has shown that" $?
rm -f "$table"
finish
