# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Orders of events from the field, played against kmod/fence.c and pull.c in user space;
# tests/cases.md says which case is where. check-cases prints TAP.

CASES_T     := $(B)/unit/cases
CASES_TESTS := $(patsubst tests/unit/cases/%.c,$(CASES_T)/%,$(wildcard tests/unit/cases/*.c))

.SECONDARY: $(CASES_TESTS:%=%.o)
$(CASES_T)/%.o: tests/unit/cases/%.c tests/unit/cases/cases.h $(FENCE_DEPS) | check-fence-needs
	@mkdir -p $(@D)
	$(FENCE_CC) -Itests/unit/fence -c $< -o $@

$(CASES_TESTS): $(CASES_T)/%: $(CASES_T)/%.o $(FENCE_RIG) kmod/fence.c kmod/pull.c
	$(FENCE_CC) $^ -lcmocka -o $@

.PHONY: check-cases
check-cases: $(CASES_TESTS)
	@tests/lint/cases . || exit 1; tests/unit/run $(CASES_TESTS)
