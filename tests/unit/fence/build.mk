# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Unit tests of kmod/fence.c and pull.c in user space: one program a subject.
#
#   make check-fence                all of them; prints TAP
#   make build/unit/fence/return    builds one, to be run by itself

FENCE_T     := $(B)/unit/fence
FENCE_TESTS := $(patsubst tests/unit/fence/%.c,$(FENCE_T)/%,\
		 $(filter-out tests/unit/fence/rig%.c,$(wildcard tests/unit/fence/*.c)))
FENCE_RIG   := $(FENCE_T)/rig.o $(FENCE_T)/rig_pulls.o
# Newer releases of cmocka have other names for some of what older ones need.
FENCE_CC     = $(CC) $(CFLAGS) -Wno-deprecated-declarations -fsanitize=address,undefined -fno-sanitize-recover=all \
	       -D_GNU_SOURCE -Itests/shim -Iuapi -Ikmod
FENCE_DEPS  := tests/unit/fence/rig.h kmod/fence.h kmod/fence_index.h kmod/proof.h kmod/pull.h uapi/linux/lkvfence.h \
	       $(wildcard tests/shim/linux/*.h)

.PHONY: check-fence-needs
check-fence-needs:
	@tests/vm/need libcmocka-dev

.SECONDARY: $(FENCE_TESTS:%=%.o)
$(FENCE_T)/%.o: tests/unit/fence/%.c $(FENCE_DEPS) | check-fence-needs
	@mkdir -p $(@D)
	$(FENCE_CC) -c $< -o $@

$(FENCE_TESTS): $(FENCE_T)/%: $(FENCE_T)/%.o $(FENCE_RIG) kmod/fence.c kmod/pull.c
	$(FENCE_CC) $^ -lcmocka -o $@

# All run, also behind one that fails. A sanitizer's report ends a program
# before it can say "not ok", so that is said here.
.PHONY: check-fence
check-fence: $(FENCE_TESTS)
	@tests/unit/run $(FENCE_TESTS)
