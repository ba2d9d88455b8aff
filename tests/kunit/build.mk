# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# On the debug kernel (tests/vm/debug-kernel). Building it takes 15 minutes on
# two idle cores, once; after that it is cached.

KUNIT := $(B)/kunit

# The module and the suites in one module, in a tree of links as kmod/build.mk
# makes for the module itself.
.PHONY: kunit-module check-kunit check-debug check-debug-selftest
kunit-module:
	@kernel=$$(tests/vm/kernel debug) && krel=$$(basename $$kernel/lib/modules/*) && \
	dir=$(CURDIR)/$(KUNIT)/$$krel && \
	mkdir -p $$dir/kmod $$dir/kunit $$dir/uapi/linux && \
	ln -sf $(CURDIR)/tests/kunit/Kbuild $$dir/Kbuild && \
	ln -sf $(CURDIR)/Kbuild $$dir/module.mk && \
	ln -sf $(CURDIR)/kmod/*.[ch] $(CURDIR)/kmod/compat.mk $$dir/kmod/ && \
	ln -sf $(CURDIR)/uapi/linux/*.h $$dir/uapi/linux/ && \
	ln -sf $(CURDIR)/tests/kunit/*.[ch] $$dir/kunit/ && \
	$(MAKE) -C $$kernel/headers M=$$dir modules

# KUnit: fence, region, event, clock; source, revoke, slow, pull, on fake queue pairs.
check-kunit: kunit-module
	tests/vm/run --kernel debug --no-module --no-rdma --timeout 900 -- tests/kunit/run

# All tests that need the module, refused memory, and what the detectors say.
check-debug: e2e-programs
	tests/vm/run --kernel debug --timeout 7200 -- tests/kunit/debug

# That the detectors see what they are for: one seeded bug a boot.
check-debug-selftest:
	@tests/vm/debug-kernel-selftest
