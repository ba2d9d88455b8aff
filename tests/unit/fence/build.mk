# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Unit tests of kmod/fence.c in user space: one program a subject.
#
#   make check-fence                  all of them
#   make build/unit/fence/return      one

FENCE_T     := $(B)/unit/fence
FENCE_TESTS := $(patsubst tests/unit/fence/%.c,$(FENCE_T)/%,\
		 $(filter-out tests/unit/fence/rig.c,$(wildcard tests/unit/fence/*.c)))
FENCE_CC     = $(CC) $(CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all \
	       -D_GNU_SOURCE -Itests/shim -Iuapi -Ikmod
FENCE_DEPS  := tests/unit/fence/rig.h kmod/fence.h uapi/linux/lkvfence.h \
	       $(wildcard tests/shim/linux/*.h)

$(FENCE_T)/fence.o: kmod/fence.c $(FENCE_DEPS)
	@mkdir -p $(@D)
	$(FENCE_CC) -c $< -o $@

$(FENCE_T)/rig.o: tests/unit/fence/rig.c $(FENCE_DEPS)
	@mkdir -p $(@D)
	@tests/vm/need libcmocka-dev
	$(FENCE_CC) -c $< -o $@

$(FENCE_TESTS): $(FENCE_T)/%: tests/unit/fence/%.c $(FENCE_T)/rig.o $(FENCE_T)/fence.o
	$(FENCE_CC) $^ -lcmocka -o $@

# All run, also behind one that fails; the failing ones are named last.
.PHONY: check-fence
check-fence: $(FENCE_TESTS)
	@failed=; for t in $(FENCE_TESTS); do $$t || failed="$$failed $$t"; done; \
	test -z "$$failed" || { echo "check-fence: failed:$$failed" >&2; exit 1; }
