#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The module is loaded and unloaded ten times, used in between, and nothing is left of it. No generation comes twice.
# It keeps ib_core for as long as it is loaded, where it looks at queue pairs, and no longer.
set -u
holder=build/tests/e2e/holder
count=0 failed=0 all=

ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		failed=$((failed + 1))
		echo "not ok $count - $1"
	fi
}

# What a module can leave behind.
left() {
	[ ! -e /dev/lkvfence ] || echo "# /dev/lkvfence"
	[ ! -e /sys/module/lkvfence ] || echo "# /sys/module/lkvfence"
	[ ! -e /sys/class/misc/lkvfence ] || echo "# /sys/class/misc/lkvfence"
	grep -w lkvfence /proc/misc /proc/modules /proc/vmallocinfo | sed 's/^/# /'
	# Workers of the kernel's keep the name of what they did last.
	pgrep -l '^lkvfence' | sed 's/^/# process /'
	find /sys/devices/virtual /sys/kernel/slab -maxdepth 3 -name '*lkvfence*' 2>/dev/null | sed 's/^/# /'
}

# Whether ib_core is kept by the module; where that can't bind queue pairs, or ib_core is built in, it never is.
holder_file=/sys/module/ib_core/holders/lkvfence
keeps=1
[ "$(cat /sys/class/misc/lkvfence/features)" = qp ] && [ -d /sys/module/ib_core/holders ] && keeps=0

kept() {
	[ -e $holder_file ]
	[ $? -eq $keeps ]
}

gone() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ -e /sys/class/misc/lkvfence/regions/load-unload ] || return 0
		sleep 0.1
	done
	return 1
}

trap 'modprobe lkvfence' EXIT

for ((round = 1; round <= 10; round++)); do
	rmmod lkvfence
	ok "unload $round" $?
	left=$(left)
	[ -z "$left" ]
	ok "nothing is left" $?
	[ ! -e $holder_file ]
	ok "ib_core isn't kept" $?
	[ -z "$left" ] || echo "$left"
	modprobe lkvfence && [ "$(stat -c '%a %U %G %F' /dev/lkvfence)" = "660 root root character special file" ]
	ok "load $round: the device node is there" $?
	kept
	ok "ib_core is kept, if need be" $?
	[ "$(cat /sys/class/misc/lkvfence/begun /sys/class/misc/lkvfence/objects/*_created | sort -u)" = 0 ]
	ok "all counters are 0" $?
	read -r _ generation < <("$holder" load-unload 60000 leave)
	[ "${generation:-0}" -gt 0 ] && [[ " $all " != *" $generation "* ]]
	ok "generation $generation has not been there before" $?
	all+=" $generation"
	"$holder" load-unload 0 drain && gone
	ok "a region was used" $?
done
echo "1..$count"
[ "$failed" -eq 0 ]
