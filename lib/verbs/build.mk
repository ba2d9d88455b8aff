# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# liblkvfence-verbs: shared, static, pkg-config file, man pages. It needs
# libibverbs; where that is not there, all else is built without it.

VERBS_SRC  := error.c verbs.c poll.c sq.c send.c rq.c recv.c window.c rail.c source.c peer.c
VERBS_OBJ  := $(VERBS_SRC:%.c=$(B)/lib/verbs/%.o)
VERBS_SO   := liblkvfence-verbs.so
VERBS_REAL := $(VERBS_SO).$(VERSION)
VERBS_NAME := $(VERBS_SO).$(SOVERSION)
VERBS_DIR  := $(B)/lib

VERBS_MAN3 := $(wildcard lib/verbs/man/*.3)
VERBS_MAN7 := $(wildcard lib/verbs/man/*.7)
VERBS_MAN_ALIASES := $(if $(VERBS_MAN3),$(shell awk '\
	FNR == 1 { page = FILENAME; sub(/.*\//, "", page); name = 0 } \
	/^\.Sh/ { name = $$2 == "NAME" } \
	name && $$1 == ".Nm" && $$2 ".3" != page { print $$2 ".3=" page }' $(VERBS_MAN3)))

HAVE_VERBS = printf '\043include <infiniband/verbs.h>\n' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1

.PHONY: verbs verbs-if-possible install-verbs install-verbs-if-possible uninstall-verbs
all: verbs-if-possible
install: install-verbs-if-possible
uninstall: uninstall-verbs

verbs: $(VERBS_DIR)/$(VERBS_SO) $(VERBS_DIR)/liblkvfence-verbs.a $(VERBS_DIR)/liblkvfence-verbs.pc

verbs-if-possible:
	@if $(HAVE_VERBS); then $(MAKE) --no-print-directory verbs; else \
		echo "skipped: liblkvfence-verbs, because infiniband/verbs.h is not there (install libibverbs-dev)"; fi

$(VERBS_OBJ): $(B)/lib/verbs/%.o: lib/verbs/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -pthread -MMD -MP -c -o $@ $<

$(VERBS_DIR)/liblkvfence-verbs.a: $(VERBS_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(VERBS_DIR)/$(VERBS_REAL): $(VERBS_OBJ) lib/verbs/liblkvfence-verbs.map $(B)/lib/$(LIB_SO)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,$(VERBS_NAME) \
		-Wl,--version-script=lib/verbs/liblkvfence-verbs.map -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -o $@ $(VERBS_OBJ) -L$(B)/lib -llkvfence -libverbs

$(VERBS_DIR)/$(VERBS_NAME): $(VERBS_DIR)/$(VERBS_REAL)
	ln -sf $(VERBS_REAL) $@

$(VERBS_DIR)/$(VERBS_SO): $(VERBS_DIR)/$(VERBS_NAME)
	ln -sf $(VERBS_NAME) $@

# as liblkvfence.pc
$(VERBS_DIR)/liblkvfence-verbs.pc: lib/verbs/liblkvfence-verbs.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@exec_prefix@|$(exec_prefix)|' \
		-e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@VERSION@|$(VERSION)|' $< > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

install-verbs: verbs install-lib
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir) \
		$(DESTDIR)$(mandir)/man3 $(DESTDIR)$(mandir)/man7
	$(INSTALL) -m 0755 $(VERBS_DIR)/$(VERBS_REAL) $(DESTDIR)$(libdir)
	ln -sf $(VERBS_REAL) $(DESTDIR)$(libdir)/$(VERBS_NAME)
	ln -sf $(VERBS_NAME) $(DESTDIR)$(libdir)/$(VERBS_SO)
	$(INSTALL) -m 0644 $(VERBS_DIR)/liblkvfence-verbs.a $(DESTDIR)$(libdir)
	$(INSTALL) -m 0644 $(VERBS_DIR)/liblkvfence-verbs.pc $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 0644 lib/verbs/lkvfence-verbs.h $(DESTDIR)$(includedir)
	$(if $(VERBS_MAN3),$(INSTALL) -m 0644 $(VERBS_MAN3) $(DESTDIR)$(mandir)/man3)
	$(if $(VERBS_MAN7),$(INSTALL) -m 0644 $(VERBS_MAN7) $(DESTDIR)$(mandir)/man7)
	@for a in $(VERBS_MAN_ALIASES); do \
		echo ".so man3/$${a#*=}" > $(DESTDIR)$(mandir)/man3/$${a%=*} && \
		chmod 0644 $(DESTDIR)$(mandir)/man3/$${a%=*} || exit 1; done
	@$(LIB_LDCONFIG)

# `make install` needs no `make` before it: what can be built is installed.
install-verbs-if-possible:
	@if $(HAVE_VERBS); then $(MAKE) --no-print-directory install-verbs; else \
		echo "skipped: installing liblkvfence-verbs, because infiniband/verbs.h is not there (install libibverbs-dev)"; fi

uninstall-verbs:
	rm -f $(DESTDIR)$(libdir)/$(VERBS_REAL) $(DESTDIR)$(libdir)/$(VERBS_NAME) \
		$(DESTDIR)$(libdir)/$(VERBS_SO) $(DESTDIR)$(libdir)/liblkvfence-verbs.a \
		$(DESTDIR)$(libdir)/pkgconfig/liblkvfence-verbs.pc \
		$(DESTDIR)$(includedir)/lkvfence-verbs.h
	rm -f $(addprefix $(DESTDIR)$(mandir)/man3/,$(notdir $(VERBS_MAN3))) \
		$(foreach a,$(VERBS_MAN_ALIASES),$(DESTDIR)$(mandir)/man3/$(firstword $(subst =, ,$(a)))) \
		$(addprefix $(DESTDIR)$(mandir)/man7/,$(notdir $(VERBS_MAN7)))
	@$(LIB_LDCONFIG)

-include $(VERBS_OBJ:.o=.d)
