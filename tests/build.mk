# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests, in tiers; each target prints TAP and can be run alone:
#
#   check-fence        the state machine, in user space
#   check-orders       the state machine, all orders of events (-short: fewer)
#   check-lib          the library, with a fake kernel
#   check-tools        the command, likewise
#   check-install      what `make install` leaves, and `make uninstall` takes away
#   check-vm-K         everything, in a VM with the stock kernel K: 6.1, 6.12
#   check-vm-selftest  the VM's own contract
#   check-matrix       everything, on every kernel of the supported range, with
#                      the compiler and C library of its Debian release
#   check-range        what says which kernels those are agrees
#
# `make check` runs all but check-orders and check-vm-selftest, installs what
# is missing, and ends with "N passed, N failed"; TIERS="..." picks some.

.PHONY: check
check:
	@tests/vm/need $(CHECK_PACKAGES)
	@tests/check $(TIERS)

CHECK_PACKAGES := gcc g++ libc6-dev libcmocka-dev man-db mandoc jq python3 pkg-config kmod \
	gcc-multilib g++-multilib clang valgrind

-include tests/unit/fence/build.mk
-include tests/unit/lib/build.mk
-include tests/unit/tools/build.mk
-include tests/model/build.mk
-include tests/e2e/build.mk
-include tests/kunit/build.mk
-include tests/matrix/build.mk

.PHONY: check-install check-vm-selftest
check-install: lib tools
	@tests/install.sh $(B)

check-vm-selftest:
	@tests/vm/selftest
