# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# liblkvfence-probe: shared, static, pkg-config file, man pages. A library of its
# own, for it has threads, and needs librdmacm.

PROBE_SRC  := prober.c rdma.c responder.c error.c
PROBE_OBJ  := $(PROBE_SRC:%.c=$(B)/lib/probe/%.o)
PROBE_SO   := liblkvfence-probe.so
PROBE_REAL := $(PROBE_SO).$(VERSION)
PROBE_NAME := $(PROBE_SO).$(SOVERSION)

PROBE_MAN3 := $(wildcard lib/probe/man/*.3)
PROBE_MAN7 := $(wildcard lib/probe/man/*.7)
PROBE_MAN_ALIASES := $(if $(PROBE_MAN3),$(shell awk '\
	FNR == 1 { page = FILENAME; sub(/.*\//, "", page); name = 0 } \
	/^\.Sh/ { name = $$2 == "NAME" } \
	name && $$1 == ".Nm" && $$2 ".3" != page { print $$2 ".3=" page }' $(PROBE_MAN3)))

.PHONY: probe probe-if-possible install-probe install-probe-if-built uninstall-probe
all: probe-if-possible
install: install-probe-if-built
uninstall: uninstall-probe

probe: $(B)/lib/$(PROBE_SO) $(B)/lib/liblkvfence-probe.a $(B)/lib/liblkvfence-probe.pc

# after liblkvfence, which the other make would build at the same time
probe-if-possible: lib
	@if echo '#include <rdma/rdma_cma.h>' | $(CC) $(CPPFLAGS) -x c -E - >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory probe; else \
		echo "skipped: liblkvfence-probe, because rdma/rdma_cma.h is not there (install librdmacm-dev)"; fi

$(PROBE_OBJ): $(B)/lib/probe/%.o: lib/probe/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -pthread -fPIC -MMD -MP -c -o $@ $<

$(B)/lib/liblkvfence-probe.a: $(PROBE_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/$(PROBE_REAL): $(PROBE_OBJ) lib/probe/liblkvfence-probe.map $(B)/lib/$(LIB_SO)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -shared -Wl,-soname,$(PROBE_NAME) \
		-Wl,--version-script=lib/probe/liblkvfence-probe.map -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -o $@ $(PROBE_OBJ) -L$(B)/lib -llkvfence -lrdmacm -libverbs

$(B)/lib/$(PROBE_NAME): $(B)/lib/$(PROBE_REAL)
	ln -sf $(PROBE_REAL) $@

$(B)/lib/$(PROBE_SO): $(B)/lib/$(PROBE_NAME)
	ln -sf $(PROBE_NAME) $@

# prefix may differ between two calls of make, so the text decides
$(B)/lib/liblkvfence-probe.pc: lib/probe/liblkvfence-probe.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@exec_prefix@|$(exec_prefix)|' \
		-e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@VERSION@|$(VERSION)|' $< > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

install-probe-if-built: install-lib
	@if [ -e $(B)/lib/$(PROBE_SO) ]; then $(MAKE) --no-print-directory install-probe; else \
		echo "skipped: installing liblkvfence-probe, because it is not built"; fi

install-probe: probe
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir) \
		$(DESTDIR)$(mandir)/man3 $(DESTDIR)$(mandir)/man7
	$(INSTALL) -m 0755 $(B)/lib/$(PROBE_REAL) $(DESTDIR)$(libdir)
	ln -sf $(PROBE_REAL) $(DESTDIR)$(libdir)/$(PROBE_NAME)
	ln -sf $(PROBE_NAME) $(DESTDIR)$(libdir)/$(PROBE_SO)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence-probe.a $(DESTDIR)$(libdir)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence-probe.pc $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 0644 lib/probe/lkvfence-probe.h $(DESTDIR)$(includedir)
	$(INSTALL) -m 0644 $(PROBE_MAN3) $(DESTDIR)$(mandir)/man3
	$(INSTALL) -m 0644 $(PROBE_MAN7) $(DESTDIR)$(mandir)/man7
	@for a in $(PROBE_MAN_ALIASES); do \
		echo ".so man3/$${a#*=}" > $(DESTDIR)$(mandir)/man3/$${a%=*} && \
		chmod 0644 $(DESTDIR)$(mandir)/man3/$${a%=*} || exit 1; done
	@$(LIB_LDCONFIG)

uninstall-probe:
	rm -f $(DESTDIR)$(libdir)/$(PROBE_REAL) $(DESTDIR)$(libdir)/$(PROBE_NAME) \
		$(DESTDIR)$(libdir)/$(PROBE_SO) $(DESTDIR)$(libdir)/liblkvfence-probe.a \
		$(DESTDIR)$(libdir)/pkgconfig/liblkvfence-probe.pc \
		$(DESTDIR)$(includedir)/lkvfence-probe.h
	rm -f $(addprefix $(DESTDIR)$(mandir)/man3/,$(notdir $(PROBE_MAN3))) \
		$(foreach a,$(PROBE_MAN_ALIASES),$(DESTDIR)$(mandir)/man3/$(firstword $(subst =, ,$(a)))) \
		$(addprefix $(DESTDIR)$(mandir)/man7/,$(notdir $(PROBE_MAN7)))
	@$(LIB_LDCONFIG)

-include $(PROBE_OBJ:.o=.d)
