#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# L2: the module can't be unloaded while the device is open, with no region there, and can be after that.
set -u
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

trap '[ -e /sys/module/lkvfence ] || modprobe lkvfence' EXIT

exec 5<>/dev/lkvfence
ok "the device is open" $?
! rmmod lkvfence 2>/dev/null
ok "rmmod is refused" $?
exec 5>&-
rmmod lkvfence
ok "when it is closed rmmod is possible" $?
modprobe lkvfence
ok "it can be loaded again" $?
echo "1..$count"
[ "$failed" -eq 0 ]
