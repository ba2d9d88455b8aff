# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# `make bench` [KERNEL=6.12] [BENCH_FLAGS=...]: instructions for each operation,
# counted in a VM whose clock is the number of instructions executed.

BENCH_KERNEL = $(or $(KERNEL),6.1)
BENCH_FLAGS ?=

BENCH_OBJ := $(patsubst tools/bench/%.c,$(B)/bench/%.o,$(wildcard tools/bench/*.c))

.PHONY: bench bench-build bench-packages
bench-packages:
	@tests/vm/need gcc libc6-dev libibverbs-dev ibverbs-providers

$(BENCH_OBJ): $(B)/bench/%.o: tools/bench/%.c | bench-packages
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Ilib/verbs $(CFLAGS) -MMD -MP -c -o $@ $<

# With the static libraries: calls cost the same wherever they are installed.
$(B)/bench/lkvfence-bench: $(BENCH_OBJ) $(B)/lib/liblkvfence-verbs.a $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -libverbs

bench-build: $(B)/bench/lkvfence-bench

bench: bench-build
	LKVFENCE_ICOUNT=1 tests/vm/run --icount --kernel $(BENCH_KERNEL) --timeout 900 -- \
		$(B)/bench/lkvfence-bench --json $(B)/bench/result.json $(BENCH_FLAGS)

-include $(BENCH_OBJ:.o=.d)
