#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The module is unloaded, and then devices go and come; it is loaded, and they do so again. It gets to know those that
# are there as it is loaded, those that come later, and none that is there no more.
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

back() {
	local i gid=/sys/class/infiniband/rxe0/ports/1/gids
	[ -e /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev v0
	for ((i = 0; i < 600; i++)); do
		! grep -qs ':ffff:0a00:0001' $gid/[0-7] || return 0
		sleep 0.1
	done
	return 1
}

# A QP is bound on it, and revoked.
works() {
	build/tests/rdma/settle >/dev/null 2>&1
}

trap 'back; [ -e /sys/module/lkvfence ] || modprobe lkvfence' EXIT

rmmod lkvfence
ok "unload, with a device there" $?
rdma link delete rxe0
ok "the device can be removed" $?
back
ok "and comes again" $?
modprobe lkvfence
ok "load, with a device there" $?
works
ok "it is known" $?
rmmod lkvfence
ok "unload" $?
rdma link delete rxe0
ok "the device is removed" $?
modprobe lkvfence
ok "load, with no device there" $?
back
ok "one comes" $?
works
ok "it is known" $?
echo "1..$count"
[ "$failed" -eq 0 ]
