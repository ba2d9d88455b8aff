#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# install.sh BUILD - what `make install` leaves in DESTDIR: that it is usable from there, and that `make uninstall`
# takes away all of it. The module's part needs a kernel's headers, and is skipped with its reason without.
set -uo pipefail

build=${1:?usage: install.sh BUILD}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
n=0 failed=0

check() {
	local what=$1
	shift
	n=$((n + 1))
	if "$@" >"$root.log" 2>&1; then
		echo "ok $n - install: $what"
	else
		echo "not ok $n - install: $what"
		sed 's/^/# /' "$root.log"
		failed=1
	fi
	rm -f "$root.log"
}

skip() {
	n=$((n + 1))
	echo "ok $n - install: $1 # SKIP $2"
}

dest=$root/dest
kdir=
for dir in /lib/modules/*/build /usr/src/linux-headers-*-amd64; do
	[[ -e $dir/include/generated/utsrelease.h ]] && kdir=$dir
done

args=(--no-print-directory "B=$build" "DESTDIR=$dest" prefix=/opt/lkvfence "KDIR=${kdir:-/nonexistent}")
pc=$dest/opt/lkvfence/lib/pkgconfig

is_there() {
	local path
	for path; do
		[[ -e $dest/$path ]] || { echo "$path is missing"; return 1; }
	done
}

# compiles LIBRARY HEADER CALL: a program that names one of its calls. What the library needs of the system is where the
# compiler looks anyway.
compiles() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$pc pkg-config --cflags --libs "$1") || return 1
	cat >"$root/user.c" <<-END
		#include <stdio.h>
		#include <lkvfence.h>
		#include <$2>
		static void (*volatile call)(void) = (void (*)(void))$3;
		int main(void) { return !call || puts(lkvfence_version()) < 0; }
	END
	# shellcheck disable=SC2086
	cc -o "$root/user" "$root/user.c" $flags &&
		[[ $(LD_LIBRARY_PATH=$dest/opt/lkvfence/lib "$root/user") == "$(cat "$root/version")" ]]
}

# The module looks at queue pairs where the kernel's symbols have the one that makes that safe; there it needs that
# symbol, so that it doesn't load into a kernel without. Elsewhere it must not name it.
needs_what_makes_it_safe() {
	local symbol=rdma_restrack_begin_del module has=0 needs=0
	module=$(find "$dest/lib/modules" -name lkvfence.ko)
	[[ $module ]] || { echo "no module"; return 1; }
	[[ -s $kdir/Module.symvers ]] || { echo "no symbols in $kdir"; return 1; }
	grep -qw "$symbol" "$kdir/Module.symvers" && has=1
	nm -u "$module" | grep -qx " *U $symbol" && needs=1
	((has == needs)) || { echo "$kdir has it: $has; the module needs it: $needs"; return 1; }
}

is_empty() {
	local left
	left=$(find "$dest" ! -type d ! -name 'modules.*')
	[[ -z $left ]] || { echo "left behind: $left"; return 1; }
}

tests/vm/need pkg-config libisal-dev libibverbs-dev librdmacm-dev || exit 1
"$build/tools/lkvfence" --version 2>/dev/null | sed -n 's/^lkvfence: \(.*\), ABI .*/\1/p' >"$root/version"

check "make install" make "${args[@]}" install-lib install-tools
check "the library, its header and the ABI's" is_there \
	opt/lkvfence/lib/liblkvfence.{so,a} opt/lkvfence/include/{lkvfence.h,linux/lkvfence.h}
check "the command and the man pages" is_there opt/lkvfence/bin/lkvfence \
	opt/lkvfence/share/man/man{3/lkvfence_begin.3,7/lkvfence.7,8/lkvfence.8}
check "a program compiles with pkg-config, and runs" compiles liblkvfence lkvfence.h lkvfence_source
for name in watch verbs probe; do
	check "make install-$name" make "${args[@]}" "install-$name"
	check "liblkvfence-$name, and its header" is_there \
		opt/lkvfence/lib/liblkvfence-$name.{so,a} opt/lkvfence/include/lkvfence-$name.h
done
check "a man page of each" is_there opt/lkvfence/share/man/man{3/lkvfence_watch_open.3,7/lkvfence_verbs.7,7/lkvfence_probe.7}
check "a program compiles with liblkvfence-watch, and runs" compiles liblkvfence-watch lkvfence-watch.h lkvfence_watch_open
check "a program compiles with liblkvfence-verbs, and runs" compiles liblkvfence-verbs lkvfence-verbs.h lkvfence_verbs_create
check "a program compiles with liblkvfence-probe, and runs" compiles liblkvfence-probe lkvfence-probe.h lkvfence_prober_start
if [[ $kdir ]]; then
	check "make install-module, with depmod" make "${args[@]}" install-module
	check "modprobe would find the module" grep -rqs lkvfence "$dest/lib/modules" --include=modules.dep
	check "it needs what makes looking at queue pairs safe, where the kernel has that" needs_what_makes_it_safe
	check "make install, all of it" make "${args[@]}" install
	check "make uninstall" make "${args[@]}" uninstall
else
	skip "make install-module, with depmod" "no kernel's headers here"
	check "make uninstall" make "${args[@]}" uninstall
fi
check "nothing is left after make uninstall" is_empty

echo "1..$n"
exit $failed
