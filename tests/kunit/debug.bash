# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# What the scripts share that run on the debug kernel, inside of tests/vm/run.

count=0 failed=0

# ok WHAT STATUS: a line of TAP
ok() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		failed=$((failed + 1))
		echo "not ok $count - $1"
	fi
}

# kmemleak tells objects when they are 5 s old and two scans found no pointer to them. A first scan comes before the
# tests: what others have leaked by then is not for us.
kmemleak=/sys/kernel/debug/kmemleak
leaks_begin() {
	echo scan >$kmemleak && echo clear >$kmemleak
}

leaks_end() {
	sleep 6
	echo scan >$kmemleak
	sleep 5
	echo scan >$kmemleak
	sed 's/^/# /' $kmemleak | head -n 60
	[ -r $kmemleak ] && [ "$(grep -c 'unreferenced object' $kmemleak)" -eq 0 ]
	ok "kmemleak finds nothing" $?
}

# created == destroyed, for each kind of object; some at least were created
objects() {
	local kind created destroyed
	for kind in regions handles transfers leases sources offers tickets; do
		created=$(cat "/sys/class/misc/lkvfence/objects/${kind}_created")
		destroyed=$(cat "/sys/class/misc/lkvfence/objects/${kind}_destroyed")
		[ "${created:-0}" -gt 0 ] && [ "$created" = "$destroyed" ]
		ok "$kind: as many destroyed as created ($created, $destroyed)" $?
	done
}

# Memory that is to fail may fail wherever it is asked for. Nothing is printed of it: the log is to stay clean.
faults() {
	local file status=0
	for file in fail{slab,_page_alloc,_usercopy}/verbose fail_page_alloc/min-order; do
		echo 0 >"/sys/kernel/debug/$file" || status=1
	done
	for file in fail{slab,_page_alloc}/ignore-gfp-wait fail_page_alloc/ignore-gfp-highmem; do
		echo N >"/sys/kernel/debug/$file" || status=1
	done
	ok "memory can be refused" $status
}

# over: the plan, and the status
over() {
	echo "1..$count"
	echo "# $((count - failed)) passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
}
