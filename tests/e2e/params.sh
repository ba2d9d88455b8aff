#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The module's parameters: at load and through sysfs. Timeouts must be in order, 0 < min <= default <= max; what a
# revocation takes, and how long pulls and tombstones wait, is 1 ms to 10 minutes.
set -u
parameters=/sys/module/lkvfence/parameters
count=0 failed=0

ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		failed=$((failed + 1))
		echo "not ok $count - $1"
	fi
}

trap 'rmmod lkvfence 2>/dev/null; modprobe lkvfence' EXIT

value() {
	cat "$parameters/$1"
}

# refused NAME VALUE: through sysfs
refused() {
	local before
	before=$(grep -H . $parameters/*)
	! echo "$2" 2>/dev/null >"$parameters/$1" && [ "$(grep -H . $parameters/*)" = "$before" ]
	ok "$1 = '$2' is refused, and nothing has changed" $?
}

accepted() {
	echo "$2" >"$parameters/$1" && [ "$(value "$1")" = "$2" ]
	ok "$1 = $2" $?
}

[ "$(stat -c %a $parameters/* | sort -u)" = 644 ]
ok "anybody may read them, root may write them" $?
[ "$(value timeout_min_ms) $(value timeout_default_ms) $(value timeout_max_ms)" = "10 30000 3600000" ]
ok "the default is 30 s, bounds are 10 ms and 1 h" $?
[ "$(value settle_ms) $(value revoke_timeout_ms) $(value max_sources)" = "100 10000 4096" ]
ok "a queue pair settles for 100 ms, the rest of a revocation may take 2 s, for 4096 sources" $?

[ "$(value max_pulls) $(value max_tombstones) $(value unclaimed_ms) $(value tombstone_ms)" = "65536 4096 5000 60000" ]
ok "65536 pulls may wait, for 5 s if nobody offers; 4096 ended offers are known for a minute" $?

refused timeout_min_ms 0
refused timeout_min_ms 30001
refused timeout_default_ms 9
refused timeout_default_ms 3600001
refused timeout_max_ms 29999
refused timeout_default_ms -1
refused timeout_default_ms 4294967296
refused timeout_default_ms "30 s"
refused timeout_default_ms ""
refused max_slots -1
refused max_sources -1
refused max_sources x
for name in settle_ms revoke_timeout_ms unclaimed_ms tombstone_ms; do
	refused $name 0
	refused $name -1
	refused $name 600001
	refused $name 4294967296
	refused $name "1 s"
	refused $name ""
	accepted $name 1
	accepted $name 600000
done
accepted timeout_min_ms 30000
accepted timeout_max_ms 30000
refused timeout_default_ms 30001
accepted timeout_max_ms 4294967295
accepted timeout_default_ms 4294967295
accepted timeout_min_ms 1
accepted max_slots 5
accepted max_regions 0
accepted max_transfers 4294967295
accepted max_sources 0
accepted max_sources 4294967295
for name in max_pulls max_tombstones; do
	refused $name -1
	refused $name x
	accepted $name 0
	accepted $name 4294967295
done

# load OPTION...: loads it anew
load() {
	! [ -e /sys/module/lkvfence ] || rmmod lkvfence
	modprobe lkvfence "$@" 2>/dev/null
}

load timeout_min_ms=100 timeout_default_ms=200 timeout_max_ms=300 max_slots=1000 max_regions=3 max_transfers=4 \
	max_sources=5 settle_ms=6 revoke_timeout_ms=7 max_pulls=8 max_tombstones=9 unclaimed_ms=10 tombstone_ms=11 &&
	[ "$(cat $parameters/* | tr '\n' ' ')" = "8 3 1000 5 9 4 7 6 200 300 100 11 10 " ]
ok "at load: all of them" $?
load timeout_max_ms=5000 timeout_default_ms=5000 timeout_min_ms=5000
ok "at load: the order in which they are named doesn't matter" $?
for bad in timeout_min_ms=0 timeout_min_ms=30001 timeout_max_ms=5 timeout_default_ms=5 timeout_default_ms=x \
	settle_ms=0 settle_ms=600001 settle_ms=x revoke_timeout_ms=0 revoke_timeout_ms=600001 max_sources=x \
	unclaimed_ms=0 unclaimed_ms=600001 tombstone_ms=0 tombstone_ms=x max_pulls=x max_tombstones=-1; do
	! load $bad && [ ! -e /sys/module/lkvfence ]
	ok "at load: $bad is refused" $?
done
load && [ "$(value timeout_default_ms)" = 30000 ]
ok "without any, it loads with the defaults" $?
echo "1..$count"
[ "$failed" -eq 0 ]
