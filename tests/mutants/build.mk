# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
#   make check-mutants                 each damage in tests/mutants/plumbing, done to a module of its own, must be
#                                      caught by the test that the list names; those of fence.c by tests/model/teeth.
#                                      About an hour and a half
#   make check-mutants MUTANTS="A B"   only these, of the list
#
# Prints TAP.

.PHONY: check-mutants
check-mutants: e2e-programs rdma-programs $(B)/mutants/clear $(if $(MUTANTS),,$(MODEL_O) $(FENCE_TESTS))
	@tests/mutants/check $(if $(MUTANTS),$(MUTANTS),-- tests/model/teeth $(MODEL) $(FENCE_T) $(MODEL_CC))

$(B)/mutants/clear: tests/mutants/clear.c $(E2E)/obj/e2e.o $(B)/lib/liblkvfence.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Itests/e2e -pthread -o $@ $^
