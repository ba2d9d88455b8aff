# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests of liblkvfence-verbs.
#
#   make check-verbs        in user space, with a provider and a region that do
#                           what a test says
#   make verbs-programs     those that need an RDMA device and the module; run
#                           them by tests/vm/run -- tests/verbs/run
#   make check-verbs-vm-K   the same, in a VM with the stock kernel K: 6.1, 6.12
#   make check-verbs-teeth  that the unit tests find damages to the library: 8 minutes
#   make check-verbs-long   those that loop, a thousand times

VT      := tests/verbs
VT_B    := $(B)/tests/verbs
VT_UNIT := $(patsubst $(VT)/unit/%.c,$(VT_B)/unit/%,$(wildcard $(VT)/unit/test_*.c))
VT_FAKE := $(VT_B)/unit/fake.o $(VT_B)/unit/fake_region.o
VT_VM   := $(patsubst $(VT)/%.c,$(VT_B)/%,$(filter-out $(VT)/rig.c,$(wildcard $(VT)/*.c)))
VT_RUNS ?= 1000
VT_NEEDS := libcmocka-dev libibverbs-dev ibverbs-providers

.PHONY: check-verbs verbs-needs verbs-programs check-verbs-vm-6.1 check-verbs-vm-6.12 check-verbs-teeth check-verbs-long
.SECONDARY: $(VT_UNIT:=.o) $(VT_VM:=.o) $(VT_FAKE) $(VT_B)/rig.o

verbs-needs:
	@tests/vm/need $(VT_NEEDS)

# Packages first, also with make -j: hence a make of its own for what needs them.
check-verbs: verbs-needs
	@$(MAKE) --no-print-directory verbs lib $(VT_UNIT) >&2
	@rc=0; tests/unit/run $(VT_UNIT) || rc=1; \
	CC='$(CC)' B='$(B)' SONAME=$(VERBS_NAME) PROGS='$(VT_UNIT)' $(VT)/checks || rc=1; \
	exit $$rc

# (clang's DWARF 5 is too new for Debian 12's valgrind)
$(VT_B)/unit/%.o: $(VT)/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Ilib/verbs $(CFLAGS) -gdwarf-4 -pthread -MMD -MP -c -o $@ $<

# With neither libibverbs nor liblkvfence: these stand for both.
$(VT_UNIT): $(VT_B)/unit/%: $(VT_B)/unit/%.o $(VT_FAKE) $(B)/lib/liblkvfence-verbs.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lcmocka

verbs-programs: verbs-needs
	@$(MAKE) --no-print-directory verbs lib $(VT_VM)

$(VT_VM:=.o) $(VT_B)/rig.o: $(VT_B)/%.o: $(VT)/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Ilib/verbs -Itests/e2e $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

$(VT_VM): $(VT_B)/%: $(VT_B)/%.o $(VT_B)/rig.o $(B)/tests/rdma/obj/port.o $(E2E)/obj/e2e.o \
		$(B)/lib/liblkvfence-verbs.a $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -libverbs

check-verbs-vm-6.1 check-verbs-vm-6.12: check-verbs-vm-%: verbs-programs
	tests/vm/run --kernel $* --timeout 1800 -- tests/verbs/run

check-verbs-teeth: verbs-needs
	@CC='$(CC)' B='$(B)' $(VT)/teeth

# Transfers through windows, acknowledgements in band, late writes to windows.
check-verbs-long: verbs-programs
	LKVFENCE_VERBS_RUNS=$(VT_RUNS) LKVFENCE_E2E_LIMIT=7200 \
		tests/vm/run --kernel 6.1 --timeout 14400 -- \
		tests/verbs/run windows in-band window-late-write window-qp-error

-include $(wildcard $(VT_B)/*.d $(VT_B)/unit/*.d)
