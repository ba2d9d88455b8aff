# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# liblkvfence: shared, static, pkg-config file, man pages.

LIB_SRC  := handle.c calls.c pulls.c sources.c events.c error.c names.c
# One set of objects serves both libraries: the static one, too, is linked
# into shared objects (Python extensions, plugins).
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/lib/%.o)
LIB_SO   := liblkvfence.so
LIB_REAL := $(LIB_SO).$(VERSION)
LIB_NAME := $(LIB_SO).$(SOVERSION)

LIB_MAN3 := $(wildcard lib/man/*.3)
LIB_MAN7 := $(wildcard lib/man/*.7)
# ALIAS=PAGE for every further name in a page's NAME section
LIB_MAN_ALIASES := $(if $(LIB_MAN3),$(shell awk '\
	FNR == 1 { page = FILENAME; sub(/.*\//, "", page); name = 0 } \
	/^\.Sh/ { name = $$2 == "NAME" } \
	name && $$1 == ".Nm" && $$2 ".3" != page { print $$2 ".3=" page }' $(LIB_MAN3)))

.PHONY: lib install-lib uninstall-lib FORCE
lib: $(B)/lib/$(LIB_SO) $(B)/lib/liblkvfence.a $(B)/lib/liblkvfence.pc

$(LIB_OBJ): $(B)/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(B)/lib/liblkvfence.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/$(LIB_REAL): $(LIB_OBJ) lib/liblkvfence.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIB_NAME) \
		-Wl,--version-script=lib/liblkvfence.map -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -o $@ $(LIB_OBJ)

$(B)/lib/$(LIB_NAME): $(B)/lib/$(LIB_REAL)
	ln -sf $(LIB_REAL) $@

$(B)/lib/$(LIB_SO): $(B)/lib/$(LIB_NAME)
	ln -sf $(LIB_NAME) $@

# prefix may differ between two calls of make, so the text decides
$(B)/lib/liblkvfence.pc: lib/liblkvfence.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@exec_prefix@|$(exec_prefix)|' \
		-e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@VERSION@|$(VERSION)|' $< > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

install-lib: lib
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)/linux \
		$(DESTDIR)$(mandir)/man3 $(DESTDIR)$(mandir)/man7
	$(INSTALL) -m 0755 $(B)/lib/$(LIB_REAL) $(DESTDIR)$(libdir)
	ln -sf $(LIB_REAL) $(DESTDIR)$(libdir)/$(LIB_NAME)
	ln -sf $(LIB_NAME) $(DESTDIR)$(libdir)/$(LIB_SO)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence.a $(DESTDIR)$(libdir)
	$(INSTALL) -m 0644 $(B)/lib/liblkvfence.pc $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 0644 lib/lkvfence.h $(DESTDIR)$(includedir)
	$(INSTALL) -m 0644 uapi/linux/lkvfence.h $(DESTDIR)$(includedir)/linux
	$(if $(LIB_MAN3),$(INSTALL) -m 0644 $(LIB_MAN3) $(DESTDIR)$(mandir)/man3)
	$(if $(LIB_MAN7),$(INSTALL) -m 0644 $(LIB_MAN7) $(DESTDIR)$(mandir)/man7)
	@for a in $(LIB_MAN_ALIASES); do \
		echo ".so man3/$${a#*=}" > $(DESTDIR)$(mandir)/man3/$${a%=*} && \
		chmod 0644 $(DESTDIR)$(mandir)/man3/$${a%=*} || exit 1; done
	@$(LIB_LDCONFIG)

uninstall-lib:
	rm -f $(DESTDIR)$(libdir)/$(LIB_REAL) $(DESTDIR)$(libdir)/$(LIB_NAME) \
		$(DESTDIR)$(libdir)/$(LIB_SO) $(DESTDIR)$(libdir)/liblkvfence.a \
		$(DESTDIR)$(libdir)/pkgconfig/liblkvfence.pc \
		$(DESTDIR)$(includedir)/lkvfence.h \
		$(DESTDIR)$(includedir)/linux/lkvfence.h
	rm -f $(addprefix $(DESTDIR)$(mandir)/man3/,$(notdir $(LIB_MAN3))) \
		$(foreach a,$(LIB_MAN_ALIASES),$(DESTDIR)$(mandir)/man3/$(firstword $(subst =, ,$(a)))) \
		$(addprefix $(DESTDIR)$(mandir)/man7/,$(notdir $(LIB_MAN7)))
	@$(LIB_LDCONFIG)

# The loader finds a library in a system directory by its cache. A packager's
# DESTDIR has no cache, and a user's own prefix isn't in it.
LIB_LDCONFIG = if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

-include $(LIB_OBJ:.o=.d)
include lib/watch/build.mk
include lib/verbs/build.mk
