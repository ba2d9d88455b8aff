# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# The command lkvfence. It is linked with the static library, so that it runs
# from the build tree as from anywhere.

TOOL_OBJS := $(patsubst tools/lkvfence/%.c,$(B)/tools/obj/%.o,$(wildcard tools/lkvfence/*.c))

completiondir ?= $(prefix)/share/bash-completion/completions

.PHONY: tools install-tools uninstall-tools
tools: $(B)/tools/lkvfence

$(B)/tools/obj/%.o: tools/lkvfence/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tools/lkvfence: $(TOOL_OBJS) $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(TOOL_OBJS) $(B)/lib/liblkvfence.a

install-tools: tools
	$(INSTALL) -D -m 0755 $(B)/tools/lkvfence $(DESTDIR)$(bindir)/lkvfence
	$(INSTALL) -D -m 0644 tools/lkvfence/lkvfence.8 $(DESTDIR)$(mandir)/man8/lkvfence.8
	$(INSTALL) -D -m 0644 tools/lkvfence/completion $(DESTDIR)$(completiondir)/lkvfence

uninstall-tools:
	rm -f $(DESTDIR)$(bindir)/lkvfence $(DESTDIR)$(mandir)/man8/lkvfence.8
	rm -f $(DESTDIR)$(completiondir)/lkvfence

-include $(TOOL_OBJS:.o=.d)
-include tools/demo/build.mk
-include tools/bench/build.mk
