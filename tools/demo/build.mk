# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# The demo: `make demo` builds it, boots a kernel, and runs it there.

DEMO_KERNEL ?= 6.1
DEMO_FLAGS  ?=

DEMO_SRC := main.c decode.c prefill.c fence.c pool.c text.c trace.c verbs.c wire.c report.c story.c stuck.c pull.c peer.c
DEMO_OBJ := $(DEMO_SRC:%.c=$(B)/demo/%.o)

.PHONY: demo demo-build demo-packages
demo-packages:
	@tests/vm/need gcc libc6-dev libibverbs-dev librdmacm-dev ibverbs-providers

# Packages first, also with make -j: hence a make of its own for what needs them.
demo-build: demo-packages
	@$(MAKE) --no-print-directory $(B)/demo/lkvfence-demo

$(DEMO_OBJ): $(B)/demo/%.o: tools/demo/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Ilib/verbs -Ilib/probe $(CFLAGS) -MMD -MP -c -o $@ $<

# With the static libraries, so that it runs wherever it is copied.
$(B)/demo/lkvfence-demo: $(DEMO_OBJ) $(B)/lib/liblkvfence-verbs.a $(B)/lib/liblkvfence-probe.a $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lrdmacm -libverbs

# tests/e2e/demo-*.sh run it too.
e2e-programs: demo-build

demo: demo-build
	@rm -f $(B)/demo/result.json
	tests/vm/run --kernel $(DEMO_KERNEL) --timeout 900 -- sh -c 'modprobe rdma_ucm; exec "$$@"' demo \
		$(B)/demo/lkvfence-demo --json $(B)/demo/result.json $(DEMO_FLAGS)

-include $(DEMO_OBJ:.o=.d)
