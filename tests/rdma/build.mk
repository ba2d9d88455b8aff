# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests on Soft-RoCE, which need the module: each .c here but the rig's parts.

RDMA := $(B)/tests/rdma
RDMA_RIG := rig verbs sender far producer
RDMA_TESTS := $(filter-out $(RDMA_RIG),$(patsubst tests/rdma/%.c,%,$(wildcard tests/rdma/*.c)))
RDMA_PROGRAMS := $(RDMA_TESTS:%=$(RDMA)/%)
# How often the long ones do what they do.
RDMA_RUNS ?= 1000

.PHONY: rdma-programs rdma-needs rdma-foreign-needs check-rdma-6.1 check-rdma-6.12 \
	check-rdma-debug check-rdma-long check-rdma-flushed check-rdma-foreign check-rdma-pair
rdma-needs:
	@tests/vm/need gcc libc6-dev libibverbs-dev ibverbs-providers iproute2

# Programs that nobody here wrote.
rdma-foreign-needs:
	@tests/vm/need perftest ucx-utils

# Packages first, also with make -j: hence a make of its own for what needs them.
rdma-programs: rdma-needs
	@$(MAKE) --no-print-directory $(RDMA_PROGRAMS) $(RDMA)/bind.so

$(RDMA)/obj/%.o: tests/rdma/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

$(RDMA_PROGRAMS): $(RDMA)/%: $(RDMA)/obj/%.o $(RDMA_RIG:%=$(RDMA)/obj/%.o) $(E2E)/obj/e2e.o $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -libverbs

# For LD_PRELOAD; it shows nothing of its own but what it stands in for.
$(RDMA)/bind.so: tests/rdma/preload/bind.c $(B)/lib/liblkvfence.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -fPIC -shared -pthread -o $@ $^ -ldl -Wl,--exclude-libs,ALL

.SECONDARY: $(RDMA_TESTS:%=$(RDMA)/obj/%.o)

# In `make check`: everything once.
check-rdma-6.1 check-rdma-6.12: check-rdma-%: rdma-programs
	tests/vm/run --kernel $* --timeout 2400 -- tests/rdma/run

# With the detectors of the debug kernel.
check-rdma-debug: rdma-programs
	tests/vm/run --kernel debug --timeout 14400 -- tests/rdma/debug

# A thousand aborts in each of the ways, and what goes with that: half an hour each.
check-rdma-long: rdma-programs
	for kernel in 6.1 6.12; do \
		LKVFENCE_RDMA_RUNS=$(RDMA_RUNS) LKVFENCE_E2E_LIMIT=7200 \
			tests/vm/run --kernel $$kernel --timeout 14400 -- \
			tests/rdma/run aborts err-alone destroy-meanwhile || exit; \
	done

# A sender's flushed queue that is believed, until it was wrong.
check-rdma-flushed: rdma-programs
	LKVFENCE_E2E_LIMIT=7200 tests/vm/run --kernel 6.12 --timeout 7200 -- tests/rdma/run long-flushed

# ib_write_bw, ib_read_bw, ucx_perftest.
check-rdma-foreign: rdma-programs rdma-foreign-needs
	tests/vm/run --kernel 6.1 --timeout 900 -- tests/rdma/run long-foreign

# Two guests as two hosts.
check-rdma-pair: rdma-programs
	for kernel in 6.1 6.12; do \
		tests/vm/pair --kernel $$kernel pair && \
		tests/vm/pair --kernel $$kernel --timeout 3600 serving || exit; \
	done

-include $(wildcard $(RDMA)/obj/*.d)
