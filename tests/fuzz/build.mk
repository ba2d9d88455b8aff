# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Random calls, good and bad ones: in user space, where a fuzzer that sees what
# code it reaches makes them up, and in a VM, where threads and processes race.
#
#   make check-fuzz          the corpus, and FUZZ_RUNS new inputs from a fixed
#                            seed: half a minute; some more for uninitialised memory
#   make fuzz                goes on for FUZZ_SECONDS (600), and adds to the corpus in
#                            build/fuzz/corpus; prints the coverage
#   make fuzz-merge          takes over what that found into tests/fuzz/corpus
#   make fuzz-coverage       lines of the module that the corpus reaches
#   make check-differential  50,000 calls on a stock kernel in a VM (DIFF_KERNEL, 6.1): two minutes
#   make stress              a million calls on the debug kernel (STRESS_KERNEL): 11 minutes
#   make check-fuzz-teeth    both find damages done to the module; ten minutes
#
# All but fuzz, fuzz-merge and fuzz-coverage print TAP.

FUZZ       := $(B)/fuzz
FUZZ_CC    ?= clang-14
FUZZ_RUNS  ?= 30000
FUZZ_SEED  ?= 1
FUZZ_SECONDS ?= 600
FUZZ_MAX_LEN := 1024

# The module, but for what only sysfs sees, and what needs real devices.
FUZZ_KMOD  := uapi calls end region transfer event clock fence pull ticket group source revoke peer peer_state main
# Headers that it includes, and neither tests/shim nor the system has for it.
FUZZ_SHIM_HEADERS := $(filter-out lkvfence.h stddef.h $(notdir $(wildcard tests/shim/linux/*.h)),$(sort \
	$(shell sed -n 's,^\#include <linux/\([a-z0-9_]*\.h\)>.*,\1,p' kmod/*.[ch])))
FUZZ_CPPFLAGS = -D_GNU_SOURCE -DHAVE_QP -I$(FUZZ)/include -Itests/fuzz/shim -Itests/shim -Iuapi -Ikmod \
	-Itests/model
FUZZ_CFLAGS = -std=gnu11 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare
FUZZ_FLAVOUR_asan := -fsanitize=address,undefined -fno-sanitize=alignment,pointer-overflow -fno-sanitize-recover=all
FUZZ_FLAVOUR_msan := -fsanitize=memory
FUZZ_FLAVOUR_cov  := -fprofile-instr-generate -fcoverage-mapping
FUZZ_HARNESS := fuzz fuzz_sources fuzz_pulls fuzz_peers judge judge_sources judge_pulls judge_groups \
	mirror mirror_end mirror_query mirror_sources mirror_pulls mirror_peers mirror_state shim/shim shim/files shim/time shim/qps
FUZZ_ORACLE := oracle sources

FUZZ_DEPS := $(wildcard kmod/*.h tests/fuzz/*.h tests/fuzz/shim/*.h tests/shim/linux/*.h \
	tests/model/oracle.h) uapi/linux/lkvfence.h

$(FUZZ)/include/linux/.made: tests/fuzz/build.mk $(wildcard kmod/*.[ch]) | fuzz-needs
	@mkdir -p $(@D)
	@for h in $(FUZZ_SHIM_HEADERS); do echo '#include "kernel.h"' >$(@D)/$$h; done
	@touch $@

# $(1): flavour. Only the module itself leads the fuzzer.
define FUZZ_rules
$(FUZZ)/$(1)/kmod/%.o: kmod/%.c $$(FUZZ_DEPS) $(FUZZ)/include/linux/.made
	@mkdir -p $$(@D)
	$$(FUZZ_CC) $$(FUZZ_CPPFLAGS) $$(FUZZ_CFLAGS) $$(FUZZ_FLAVOUR_$(1)) -fsanitize=fuzzer-no-link -include kernel.h -c $$< -o $$@

$(FUZZ)/$(1)/%.o: tests/fuzz/%.c $$(FUZZ_DEPS) $(FUZZ)/include/linux/.made
	@mkdir -p $$(@D)
	$$(FUZZ_CC) $$(FUZZ_CPPFLAGS) $$(FUZZ_CFLAGS) $$(FUZZ_FLAVOUR_$(1)) -include kernel.h -c $$< -o $$@

$(FUZZ_ORACLE:%=$(FUZZ)/$(1)/model/%.o): $(FUZZ)/$(1)/model/%.o: tests/model/%.c $$(FUZZ_DEPS)
	@mkdir -p $$(@D)
	$$(FUZZ_CC) $$(FUZZ_CPPFLAGS) $$(FUZZ_CFLAGS) $$(FUZZ_FLAVOUR_$(1)) -c $$< -o $$@

$(FUZZ)/fuzz-$(1): $(FUZZ_KMOD:%=$(FUZZ)/$(1)/kmod/%.o) $(FUZZ_HARNESS:%=$(FUZZ)/$(1)/%.o) \
		$(FUZZ_ORACLE:%=$(FUZZ)/$(1)/model/%.o)
	$$(FUZZ_CC) $$(FUZZ_FLAVOUR_$(1)) -fsanitize=fuzzer $$^ -o $$@
endef
$(foreach flavour,asan msan cov,$(eval $(call FUZZ_rules,$(flavour))))

FUZZ_CORPUS := tests/fuzz/corpus
FUZZ_ARGS    = -max_len=$(FUZZ_MAX_LEN) -artifact_prefix=$(FUZZ)/ -verbosity=1

.PHONY: check-fuzz fuzz fuzz-merge fuzz-coverage fuzz-needs
fuzz-needs:
	@tests/vm/need clang-14 libclang-rt-14-dev llvm-14

check-fuzz: $(FUZZ)/fuzz-asan $(FUZZ)/fuzz-msan
	@tests/fuzz/run $(FUZZ)/fuzz-asan $(FUZZ)/asan.log $(FUZZ_ARGS) -seed=$(FUZZ_SEED) -runs=$(FUZZ_RUNS) $(FUZZ_CORPUS)
	@tests/fuzz/run $(FUZZ)/fuzz-msan $(FUZZ)/msan.log $(FUZZ_ARGS) -seed=$(FUZZ_SEED) -runs=$(shell expr $(FUZZ_RUNS) / 4) $(FUZZ_CORPUS)

# The first folder is the one it writes to.
fuzz: $(FUZZ)/fuzz-asan
	@mkdir -p $(FUZZ)/corpus
	$< $(FUZZ_ARGS) -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(FUZZ)/corpus $(FUZZ_CORPUS)

# As few as reach all edges; the fuzzer finds its way from these. What is in kept/ found something that edges don't
# tell, and stays.
fuzz-merge: $(FUZZ)/fuzz-asan
	@rm -rf $(FUZZ)/merged && mkdir -p $(FUZZ)/merged $(FUZZ)/corpus
	$< $(FUZZ_ARGS) -use_counters=0 -set_cover_merge=1 $(FUZZ)/merged $(FUZZ_CORPUS) $(FUZZ)/corpus
	@find $(FUZZ_CORPUS) -maxdepth 1 -type f -delete && cp $(FUZZ)/merged/* $(FUZZ_CORPUS)/
	@du -sh --apparent-size $(FUZZ_CORPUS); ls $(FUZZ_CORPUS) | wc -l

fuzz-coverage: $(FUZZ)/fuzz-cov
	@LLVM_PROFILE_FILE=$(FUZZ)/cov.profraw $< -runs=0 $(FUZZ_CORPUS) $(wildcard $(FUZZ)/corpus) >$(FUZZ)/cov.log 2>&1
	@llvm-profdata-14 merge -o $(FUZZ)/cov.profdata $(FUZZ)/cov.profraw
	@llvm-cov-14 report $< -instr-profile=$(FUZZ)/cov.profdata $(FUZZ_KMOD:%=kmod/%.c)

.PHONY: check-fuzz-teeth
check-fuzz-teeth: $(FUZZ)/fuzz-asan differential
	@tests/fuzz/teeth $(FUZZ)/asan $(FUZZ_CC) $(FUZZ_CPPFLAGS) $(FUZZ_CFLAGS) $(FUZZ_FLAVOUR_asan)
	@tests/fuzz/teeth --vm $(FUZZ)/differential

# In the VM.
DIFF        := $(FUZZ)/differential
DIFF_O      := $(patsubst %,$(FUZZ)/vm/%.o,differential exact exact_calls crowd crowd_calls crowd_sources crowd_pulls crowd_groups crowd_bad \
	mirror mirror_end mirror_query mirror_sources mirror_pulls mirror_peers mirror_state $(FUZZ_ORACLE:%=model/%))
DIFF_SEED   ?= 1
DIFF_CALLS  ?= 25000
STRESS_CALLS ?= 500000
STRESS_SEED ?= $(shell date +%s)
STRESS_KERNEL ?= debug

$(FUZZ)/vm/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Itests/shim -Itests/model -pthread -MMD -MP -c -o $@ $<

$(FUZZ_ORACLE:%=$(FUZZ)/vm/model/%.o): $(FUZZ)/vm/model/%.o: tests/model/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Itests/shim -MMD -MP -c -o $@ $<

$(DIFF): $(DIFF_O) $(B)/tests/rdma/obj/port.o $(B)/tests/e2e/obj/e2e.o $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -libverbs

# Packages first: hence a make of its own for what needs them.
.PHONY: differential check-differential stress
differential: rdma-needs
	@$(MAKE) --no-print-directory $(DIFF)

check-differential: differential
	tests/vm/run --kernel $(or $(DIFF_KERNEL),6.1) -- $(DIFF) --calls $(DIFF_CALLS) --seed $(DIFF_SEED)

stress: differential
	tests/vm/run --kernel $(STRESS_KERNEL) --timeout 36000 -- $(DIFF) --calls $(STRESS_CALLS) --seed $(STRESS_SEED) \
		--threads 4 --processes 4

-include $(wildcard $(FUZZ)/vm/*.d $(FUZZ)/vm/model/*.d)
