# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests of liblkvfence-probe.
#
#   make check-probe       in user space, with a table of peers that stands for the
#                          module's; under the thread sanitizer, and under
#                          the address sanitizer
#   make probe-programs    those that need the module and an RDMA device; run them
#                          by tests/vm/run -- tests/probe/run
#   make check-probe-vm-K  the same, in a VM with the stock kernel K: 6.1, 6.12

PT   := tests/probe
PT_B := $(B)/tests/probe
PT_VM := $(patsubst $(PT)/%.c,$(PT_B)/%,$(wildcard $(PT)/*.c))
PT_CFLAGS = $(CPPFLAGS) -Ilib/probe $(CFLAGS) -pthread
PT_UNIT_DEPS := $(wildcard lib/probe/*.[ch] lib/lkvfence.h uapi/linux/lkvfence.h $(PT)/unit/*) \
	kmod/peer_state.c kmod/peer_state.h

.PHONY: check-probe probe-needs probe-programs check-probe-vm-6.1 check-probe-vm-6.12

probe-needs:
	@tests/vm/need gcc g++ libc6-dev libcmocka-dev librdmacm-dev libibverbs-dev ibverbs-providers

# SANITIZER: the library's prober, the module's peer_state.c, and what is between.
define PT_rules
$(PT_B)/unit/$(1)/fake.o: $$(PT_UNIT_DEPS)
	@mkdir -p $$(@D)
	$$(CC) $$(PT_CFLAGS) -fsanitize=$(1) -Itests/shim -Ikmod -c -o $$@ $(PT)/unit/fake.c

$(PT_B)/unit/$(1)/peer_state.o: $$(PT_UNIT_DEPS)
	@mkdir -p $$(@D)
	$$(CC) $$(PT_CFLAGS) -fsanitize=$(1) -Itests/shim -Ikmod -c -o $$@ kmod/peer_state.c

$(PT_B)/unit/$(1)/%.o: lib/probe/%.c $$(PT_UNIT_DEPS)
	@mkdir -p $$(@D)
	$$(CC) $$(PT_CFLAGS) -fsanitize=$(1) -c -o $$@ $$<

$(PT_B)/unit/$(1)/test_prober: $(PT)/unit/test_prober.c $(patsubst %,$(PT_B)/unit/$(1)/%.o,fake peer_state prober error)
	$$(CC) $$(PT_CFLAGS) -fsanitize=$(1) -o $$@ $$^ -lcmocka

$(PT_B)/unit/$(1)/test_throws: $(PT)/unit/test_throws.cc $(patsubst %,$(PT_B)/unit/$(1)/%.o,fake peer_state prober error)
	$$(CXX) -std=c++17 -Wall -Wextra $$(CPPFLAGS) -Ilib/probe -O2 -g -pthread -fsanitize=$(1) -o $$@ $$^
endef
$(foreach sanitizer,thread address,$(eval $(call PT_rules,$(sanitizer))))
PT_UNIT := $(foreach sanitizer,thread address,$(addprefix $(PT_B)/unit/$(sanitizer)/,test_prober test_throws))

check-probe: probe-needs
	@$(MAKE) --no-print-directory lib probe $(PT_UNIT) >&2
	@rc=0; tests/unit/run $(PT_UNIT) || rc=1; \
	CC='$(CC)' B='$(B)' SONAME=$(PROBE_NAME) $(PT)/checks || rc=1; \
	exit $$rc

probe-programs: probe-needs
	@$(MAKE) --no-print-directory lib probe $(PT_VM)

$(PT_VM): $(PT_B)/%: $(PT)/%.c $(E2E)/obj/e2e.o $(B)/lib/liblkvfence-probe.a $(B)/lib/liblkvfence.a
	@mkdir -p $(@D)
	$(CC) $(PT_CFLAGS) -Itests/e2e -o $@ $^ -lrdmacm -libverbs

check-probe-vm-6.1 check-probe-vm-6.12: check-probe-vm-%: probe-programs
	tests/vm/run --kernel $* --timeout 1800 -- tests/probe/run
