# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# The module. Kernels up to 6.12 build beside the sources, so each kernel gets
# a tree of links of its own under build/module/RELEASE.

# The release that KDIR builds for; empty where KDIR isn't a build directory.
MODREL = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
MODDIR = $(B)/module/$(MODREL)
# Where the module goes: depmod of every distribution looks into updates/.
MODDEST = $(DESTDIR)/lib/modules/$(MODREL)/updates/lkvfence.ko

.PHONY: module module-if-possible install-module install-module-if-built uninstall-module
module:
	@test -n "$(MODREL)" || { \
		echo "lkvfence: $(KDIR) is not a kernel build directory; install the kernel's headers or set KDIR=" >&2; exit 1; }
	@mkdir -p $(MODDIR)/kmod $(MODDIR)/uapi/linux
	@ln -sf $(CURDIR)/Kbuild $(MODDIR)/Kbuild
	@ln -sf $(CURDIR)/kmod/*.[ch] $(CURDIR)/kmod/compat.mk $(MODDIR)/kmod/
	@ln -sf $(CURDIR)/uapi/linux/*.h $(MODDIR)/uapi/linux/
	$(MAKE) -C $(KDIR) M=$(abspath $(MODDIR)) modules

module-if-possible:
	@if [ -n "$(MODREL)" ]; then $(MAKE) --no-print-directory module; else \
		echo "skipped: the module, because $(KDIR) is not there (install the kernel's headers, or set KDIR=)"; fi

install-module: module
	$(INSTALL) -D -m 0644 $(MODDIR)/lkvfence.ko $(MODDEST)
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(MODREL)

install-module-if-built:
	@if [ -n "$(MODREL)" ] && [ -f $(MODDIR)/lkvfence.ko ]; then $(MAKE) --no-print-directory install-module; else \
		echo "skipped: installing the module, because it is not built for $(KDIR)"; fi

uninstall-module:
	@if [ -n "$(MODREL)" ] && [ -f $(MODDEST) ]; then \
		rm -f $(MODDEST) && depmod $(if $(DESTDIR),-b $(DESTDIR)) $(MODREL); fi
