# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests, in tiers; each target prints TAP and can be run alone. In `make check`,
# with the time:
#
#   check-fence        the state machine, in user space; each of these up to
#                      check-range takes seconds
#   check-cases        cases from the field against it: tests/cases.md
#   check-orders-short the state machine, orders of events against an oracle
#   check-lib          the library, with a fake kernel
#   check-watch        liblkvfence-watch, likewise
#   check-verbs        liblkvfence-verbs, with a provider that does what a test says
#   check-peer         what is known of a peer, in all short orders of calls
#   check-probe        liblkvfence-probe, with a table of peers that stands for the module's
#   check-tools        the command, likewise
#   check-install      what `make install` leaves, and `make uninstall` takes away
#   check-range        what says which kernels are supported agrees
#   lint               what tools say of the sources: a minute
#   check-fuzz         the decoder and the state machine, with bytes that a fuzzer
#                      found: a minute
#   check-kunit        KUnit suites on the debug kernel: 2 minutes. That kernel is
#                      built first, once: 8 to 15 minutes
#   check-debug        what check-vm-K does, on the debug kernel, and refused
#                      memory: 32 minutes
#   check-vm-K         everything that needs the module, in a VM with the stock
#                      kernel K: 6.1, 6.12; 11 minutes each
#   check-roce-K       what needs queue pairs, on Soft-RoCE: sources and revocation
#                      (check-rdma-K), the helpers (check-verbs-vm-K), the look at
#                      the memory (check-watch-vm-K), probes of peers (check-probe-vm-K);
#                      10 minutes each
#
# Two go at a time, those of the debug kernel beside the others: 46 minutes in all on two
# busy cores, where the times above were seen.
#
# Beside it:
#
#   check-orders       all orders, deeper: about 3 minutes
#   check-orders-teeth that the driver and the unit tests find damages to fence.c
#                      and pull.c: half an hour
#   check-verbs-teeth  that the unit tests find damages to liblkvfence-verbs: 8 minutes
#   check-mutants      that tests find damages to the rest of the module: about an hour and a half
#   check-debug-selftest  that the debug kernel's detectors are seen: about 5 minutes
#   check-fuzz-teeth   that the fuzzer and the random calls find damages: about 10
#                      minutes
#   check-differential random calls in the VM, compared with the oracle: 2 minutes
#   stress             a million of them on the debug kernel: 11 minutes
#   fuzz               the fuzzer, for FUZZ_SECONDS
#   check-matrix       everything, on every kernel of the supported range, with
#                      the compiler and C library of its Debian release: half an hour
#   check-vm-selftest  the VM's own contract
#   check-rdma-debug   what check-rdma-K does, with the detectors of the debug kernel
#   check-rdma-pair    two VMs as two hosts, for each kernel: 2 minutes
#   check-rdma-foreign ib_write_bw, ib_read_bw and ucx_perftest, revoked: 2 minutes
#   check-rdma-long    a thousand aborts in each of the ways, for each kernel: an hour
#   check-rdma-flushed a sender's flushed queue that is believed, until it was wrong
#   check-verbs-long   windows and acknowledgements in band, a thousand times
#
# `make check` installs what is missing, and ends with "N passed, N failed";
# TIERS="..." picks some.

.PHONY: check
check:
	@tests/vm/need $(CHECK_PACKAGES)
	@tests/check $(TIERS)

CHECK_PACKAGES := gcc g++ libc6-dev libcmocka-dev man-db mandoc jq python3 pkg-config kmod \
	gcc-multilib g++-multilib clang clang-14 libclang-rt-14-dev valgrind libisal-dev libibverbs-dev librdmacm-dev

include tests/unit/fence/build.mk
include tests/unit/cases/build.mk
include tests/unit/peer/build.mk
include tests/unit/lib/build.mk
include tests/unit/tools/build.mk
include tests/model/build.mk
include tests/lint/build.mk
include tests/fuzz/build.mk
include tests/e2e/build.mk
include tests/watch/build.mk
include tests/kunit/build.mk
include tests/mutants/build.mk
include tests/rdma/build.mk
include tests/verbs/build.mk
include tests/probe/build.mk
include tests/matrix/build.mk

.PHONY: check-install check-vm-selftest
check-install: lib tools
	@tests/install.sh $(B)

# In one machine, for each takes a while to start.
.PHONY: check-roce-6.1 check-roce-6.12
check-roce-6.1 check-roce-6.12: check-roce-%: rdma-programs verbs-programs watch-vm-program probe-programs
	tests/vm/run --kernel $* --timeout 3600 -- bash -c 'rc=0; \
		for t in tests/rdma/run tests/verbs/run tests/probe/run $(WATCHT_B)/module; do $$t || rc=1; done; exit $$rc'

check-vm-selftest:
	@tests/vm/selftest
