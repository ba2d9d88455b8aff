#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# L2: the module can't be unloaded while a handle is open or a hold lives, and can be after that.
set -u
holder=build/tests/e2e/holder
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

gone() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ -e "/sys/class/misc/lkvfence/regions/$1" ] || return 0
		sleep 0.1
	done
	return 1
}

trap 'modprobe lkvfence' EXIT

coproc HOLDER { exec "$holder" L2-unload 300000 wait; }
read -r -t 60 line <&"${HOLDER[0]}"
[[ $line == "held "* ]]
ok "a process holds slots" $?
! rmmod lkvfence 2>/dev/null
ok "rmmod is refused while a handle is open" $?
kill -9 "$HOLDER_PID"
wait "$HOLDER_PID" 2>/dev/null
[ "$(cat /sys/class/misc/lkvfence/regions/L2-unload/handles)" = 0 ]
ok "no handle is left when it was killed" $?
! rmmod lkvfence 2>/dev/null
ok "rmmod is refused while a hold lives" $?
! modprobe -r lkvfence 2>/dev/null
ok "modprobe -r as well" $?
[ "$(cat /sys/class/misc/lkvfence/regions/L2-unload/slots_held)" = 8 ]
ok "the slots are held still" $?
"$holder" L2-unload 0 drain && gone L2-unload
ok "proof releases them" $?
rmmod lkvfence
ok "then rmmod is possible" $?
[ ! -e /sys/module/lkvfence ] && [ ! -e /dev/lkvfence ]
ok "and nothing is left" $?
modprobe lkvfence && [ -c /dev/lkvfence ]
ok "it can be loaded again" $?

"$holder" L2-unload 200 leave >/dev/null && gone L2-unload && rmmod lkvfence
ok "a hold that goes at its deadline lets go of the module, with nobody there" $?
modprobe lkvfence
ok "it can be loaded again" $?
echo "1..$count"
[ "$failed" -eq 0 ]
