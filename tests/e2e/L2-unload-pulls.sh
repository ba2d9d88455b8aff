#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# L2: what a pull was granted keeps the module loaded after everybody is gone; tombstones, and tickets of the dead,
# don't.
set -u
holder=build/tests/e2e/holder
objects=/sys/class/misc/lkvfence/objects
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

# alive KIND: objects of a kind that are not destroyed
alive() {
	echo $(($(cat $objects/"$1"_created) - $(cat $objects/"$1"_destroyed)))
}

trap 'modprobe lkvfence' EXIT

coproc HOLDER { exec "$holder" L2-unload-pulls 300000 pull; }
read -r -t 60 line <&"${HOLDER[0]}"
[[ $line == "held "* ]]
ok "a process has been granted what it offered, with tombstones, and a pull that waits" $?
[ "$(alive tickets)" -ge 2 ] && [ "$(alive offers)" -ge 3 ]
ok "there are tickets and offers" $?
! rmmod lkvfence 2>/dev/null
ok "rmmod is refused while a handle is open" $?
kill -9 "$HOLDER_PID"
wait "$HOLDER_PID" 2>/dev/null
[ "$(cat /sys/class/misc/lkvfence/regions/L2-unload-pulls/handles)" = 0 ]
ok "no handle is left when it was killed" $?
[ "$(alive tickets)" = 0 ]
ok "and no ticket" $?
! rmmod lkvfence 2>/dev/null
ok "rmmod is refused while what was granted is out" $?
[ "$(cat /sys/class/misc/lkvfence/regions/L2-unload-pulls/slots_held)" = 8 ]
ok "the slots are held" $?
"$holder" L2-unload-pulls 0 drain && gone L2-unload-pulls
ok "proof releases them, and the region goes with its tombstones" $?
[ "$(alive offers)" = 0 ] && [ "$(alive tickets)" = 0 ] && [ "$(alive leases)" = 0 ]
ok "all objects are destroyed" $?
rmmod lkvfence
ok "then rmmod is possible" $?
modprobe lkvfence && [ -c /dev/lkvfence ]
ok "it can be loaded again" $?
echo "1..$count"
[ "$failed" -eq 0 ]
