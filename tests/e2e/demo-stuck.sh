#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The demo's third act: a prefill that is stopped for good. How each way ends, and on what ground; with every one but
# taint nothing lands behind the release.
# shellcheck source=tests/e2e/demo.bash
. tests/e2e/demo.bash

parameters=/sys/module/lkvfence/parameters
settle=$(cat $parameters/settle_ms)
trap 'echo "$settle" >$parameters/settle_ms' EXIT
# A guard's flush is to come before that, also on a machine that is slow.
echo 5000 >$parameters/settle_ms

rm -f "$json"
table=$(mktemp)
# each is a wait of seconds
((tries <= 2)) || tries=2
"$demo" --stuck --tries "$tries" --json "$json" </dev/null >"$table" 2>&1
ok "the demo ends well" $?
sed 's/^/# /' "$table"

# ends WAY OUTCOME EVIDENCE: in the result and in the table; but for taint without a stray byte
ends() {
	local found stray=0
	[ "$1" != taint ] || stray='[0-9]+'
	holds "$1: $2, by $3" ".stuck | map(select(.way == \"$1\")) | length == 1 and
		(.[0] | .outcome == \"$2\" and .evidence == \"$3\")"
	if [ "$1" != taint ]; then
		holds "$1: nothing lands behind the release" \
			".stuck | map(select(.way == \"$1\")) | length == 1 and .[0].stray_bytes == 0"
	fi
	found=$(grep -cE "^  $1 +[0-9.]+ +[0-9.]+  $2 +$3 +$stray$" "$table")
	[ "$found" = 1 ]
	ok "$1: so says the table" $?
}

# impossible WAY...: where the module can't revoke, the table says so, and the result has no such way
impossible() {
	local way
	for way; do
		[ "$(grep -cE "^  $way +not possible on this kernel$" "$table")" = 1 ]
		ok "$way: not possible on this kernel" $?
	done
}

ends taint timeout timeout
if [ "$(cat /sys/class/misc/lkvfence/features)" = qp ]; then
	ends revoke revoked qp_err_settled
	ends "revoke, with guard" revoked rq_flushed
	ends revoke_now revoked qp_err_settled
	ends "revoke_now, with guard" revoked rq_flushed
	holds "six ways in all" '.stuck | length == 6'
else
	impossible revoke "revoke, with guard" revoke_now "revoke_now, with guard"
	holds "two ways in all" '.stuck | length == 2'
fi
ends "memory window" revoked mw_invalidated
holds "taint is the only one behind whose release anything may land" \
	'.stuck | length > 0 and all(.way == "taint" or .stray_bytes == 0)'
grep -qx 'demo: shown' "$table"
ok "it says that it has shown that" $?
rm -f "$table"
finish
