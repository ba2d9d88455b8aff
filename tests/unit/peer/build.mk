# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Unit tests of kmod/peer_state.c in user space.
#
#   make check-peer        all orders of 4 calls out of 20, and random walks of 8: seconds
#   PEER_DEPTH=5 make check-peer   of 5: a minute

PEER_T     := $(B)/unit/peer
PEER_TESTS := $(patsubst tests/unit/peer/%.c,$(PEER_T)/%,$(wildcard tests/unit/peer/*.c))

$(PEER_TESTS): $(PEER_T)/%: tests/unit/peer/%.c kmod/peer_state.c kmod/peer_state.h uapi/linux/lkvfence.h \
		$(wildcard tests/shim/linux/*.h) | check-fence-needs
	@mkdir -p $(@D)
	$(FENCE_CC) $< kmod/peer_state.c -lcmocka -o $@

.PHONY: check-peer
check-peer: $(PEER_TESTS)
	@tests/unit/run $(PEER_TESTS)
