# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# liblkvfence-watch: shared, static, pkg-config file, man pages. A library of
# its own, so that liblkvfence needs none: its checksum is ISA-L's.

WATCH_SRC  := open.c watch.c events.c payload.c memory.c error.c
WATCH_OBJ  := $(WATCH_SRC:%.c=$(B)/lib/watch/%.o)
WATCH_SO   := liblkvfence-watch.so
WATCH_REAL := $(WATCH_SO).$(VERSION)
WATCH_NAME := $(WATCH_SO).$(SOVERSION)

WATCH_MAN := $(wildcard lib/watch/man/*.3)
WATCH_MAN_ALIASES := $(if $(WATCH_MAN),$(shell awk '\
	FNR == 1 { page = FILENAME; sub(/.*\//, "", page); name = 0 } \
	/^\.Sh/ { name = $$2 == "NAME" } \
	name && $$1 == ".Nm" && $$2 ".3" != page { print $$2 ".3=" page }' $(WATCH_MAN)))

.PHONY: watch watch-if-possible install-watch install-watch-if-built uninstall-watch
all: watch-if-possible
install: install-watch-if-built
uninstall: uninstall-watch

watch: $(B)/lib/$(WATCH_SO) $(B)/lib/liblkvfence-watch.a $(B)/lib/liblkvfence-watch.pc

# after liblkvfence, which the other make would build at the same time
watch-if-possible: lib
	@if echo '#include <isa-l/crc64.h>' | $(CC) $(CPPFLAGS) -x c -E - >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory watch; else \
		echo "skipped: liblkvfence-watch, because ISA-L's headers are not there (libisal-dev)"; fi

$(WATCH_OBJ): $(B)/lib/watch/%.o: lib/watch/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -pthread -fPIC -MMD -MP -c -o $@ $<

$(B)/lib/liblkvfence-watch.a: $(WATCH_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/$(WATCH_REAL): $(WATCH_OBJ) lib/watch/liblkvfence-watch.map $(B)/lib/$(LIB_SO)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -shared -Wl,-soname,$(WATCH_NAME) \
		-Wl,--version-script=lib/watch/liblkvfence-watch.map -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -o $@ $(WATCH_OBJ) -L$(B)/lib -llkvfence -lisal

$(B)/lib/$(WATCH_NAME): $(B)/lib/$(WATCH_REAL)
	ln -sf $(WATCH_REAL) $@

$(B)/lib/$(WATCH_SO): $(B)/lib/$(WATCH_NAME)
	ln -sf $(WATCH_NAME) $@

# prefix may differ between two calls of make, so the text decides
$(B)/lib/liblkvfence-watch.pc: lib/watch/liblkvfence-watch.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@exec_prefix@|$(exec_prefix)|' \
		-e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@VERSION@|$(VERSION)|' $< > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

install-watch-if-built: install-lib
	@if [ -e $(B)/lib/$(WATCH_SO) ]; then $(MAKE) --no-print-directory install-watch; else \
		echo "skipped: installing liblkvfence-watch, because it is not built"; fi

install-watch: watch
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir) $(DESTDIR)$(mandir)/man3
	$(INSTALL) -m 0755 $(B)/lib/$(WATCH_REAL) $(DESTDIR)$(libdir)
	ln -sf $(WATCH_REAL) $(DESTDIR)$(libdir)/$(WATCH_NAME)
	ln -sf $(WATCH_NAME) $(DESTDIR)$(libdir)/$(WATCH_SO)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence-watch.a $(DESTDIR)$(libdir)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence-watch.pc $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 0644 lib/watch/lkvfence-watch.h $(DESTDIR)$(includedir)
	$(INSTALL) -m 0644 $(WATCH_MAN) $(DESTDIR)$(mandir)/man3
	@for a in $(WATCH_MAN_ALIASES); do \
		echo ".so man3/$${a#*=}" > $(DESTDIR)$(mandir)/man3/$${a%=*} && \
		chmod 0644 $(DESTDIR)$(mandir)/man3/$${a%=*} || exit 1; done
	@$(LIB_LDCONFIG)

uninstall-watch:
	rm -f $(DESTDIR)$(libdir)/$(WATCH_REAL) $(DESTDIR)$(libdir)/$(WATCH_NAME) \
		$(DESTDIR)$(libdir)/$(WATCH_SO) $(DESTDIR)$(libdir)/liblkvfence-watch.a \
		$(DESTDIR)$(libdir)/pkgconfig/liblkvfence-watch.pc \
		$(DESTDIR)$(includedir)/lkvfence-watch.h
	rm -f $(addprefix $(DESTDIR)$(mandir)/man3/,$(notdir $(WATCH_MAN))) \
		$(foreach a,$(WATCH_MAN_ALIASES),$(DESTDIR)$(mandir)/man3/$(firstword $(subst =, ,$(a))))
	@$(LIB_LDCONFIG)

-include $(WATCH_OBJ:.o=.d)
