# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests on Soft-RoCE, which need the module: each .c here but the rig's parts.

RDMA := $(B)/tests/rdma
RDMA_RIG := rig verbs sender
RDMA_TESTS := $(filter-out $(RDMA_RIG),$(patsubst tests/rdma/%.c,%,$(wildcard tests/rdma/*.c)))
RDMA_PROGRAMS := $(RDMA_TESTS:%=$(RDMA)/%)

.PHONY: rdma-programs rdma-needs check-rdma-6.1 check-rdma-6.12
rdma-needs:
	@tests/vm/need gcc libc6-dev libibverbs-dev ibverbs-providers iproute2

# Packages first, also with make -j: hence a make of its own for what needs them.
rdma-programs: rdma-needs
	@$(MAKE) --no-print-directory $(RDMA_PROGRAMS)

$(RDMA)/obj/%.o: tests/rdma/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

$(RDMA_PROGRAMS): $(RDMA)/%: $(RDMA)/obj/%.o $(RDMA_RIG:%=$(RDMA)/obj/%.o) $(E2E)/obj/e2e.o $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -libverbs

.SECONDARY: $(RDMA_TESTS:%=$(RDMA)/obj/%.o)

check-rdma-6.1 check-rdma-6.12: check-rdma-%: rdma-programs
	tests/vm/run --kernel $* --timeout 1800 -- tests/rdma/run

-include $(wildcard $(RDMA)/obj/*.d)
