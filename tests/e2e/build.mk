# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# The tests that need the module. Each .c here is one; those of the ABI are
# built once more for 32 bits, with a library of their own.

E2E := $(B)/tests/e2e
E2E_TESTS := $(filter-out e2e scene demo%,$(patsubst tests/e2e/%.c,%,$(wildcard tests/e2e/*.c)))
E2E_PROGRAMS := $(E2E_TESTS:%=$(E2E)/%)
E2E_PROGRAMS32 := $(patsubst %,$(E2E)/%-32,$(filter abi-%,$(E2E_TESTS)))
E2E_LIB32 := $(LIB_SRC:%.c=$(E2E)/obj32/lib/%.o)

.PHONY: e2e-programs e2e-needs check-vm-6.1 check-vm-6.12
e2e-programs: $(E2E_PROGRAMS) $(E2E_PROGRAMS32) $(B)/tests/scene tools

# The compiler's 32-bit half; and what tests/e2e/command.sh runs.
e2e-needs:
	@tests/vm/need gcc-multilib jq python3-minimal

$(E2E)/obj/%.o: tests/e2e/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

$(E2E)/obj32/%.o: tests/e2e/%.c | e2e-needs
	@mkdir -p $(@D)
	$(CC) -m32 $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

$(E2E)/obj32/lib/%.o: lib/%.c | e2e-needs
	@mkdir -p $(@D)
	$(CC) -m32 $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(E2E_PROGRAMS): $(E2E)/%: $(E2E)/obj/%.o $(E2E)/obj/e2e.o $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^

$(E2E_PROGRAMS32): $(E2E)/%-32: $(E2E)/obj32/%.o $(E2E)/obj32/e2e.o $(E2E_LIB32)
	$(CC) -m32 $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^

.SECONDARY: $(E2E_TESTS:%=$(E2E)/obj/%.o) $(E2E_TESTS:%=$(E2E)/obj32/%.o)

check-vm-6.1 check-vm-6.12: check-vm-%: e2e-programs
	tests/vm/run --kernel $* --timeout 3600 -- tests/e2e/run

include tests/e2e/command.mk
-include $(wildcard $(E2E)/obj/*.d $(E2E)/obj32/*.d $(E2E)/obj32/lib/*.d)
