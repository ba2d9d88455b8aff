# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# The command without a module: as it is, and with a fake kernel linked in.

$(B)/tests/lkvfence-fake: tests/unit/tools/fake_module.c $(TOOL_OBJS) $(B)/lib/liblkvfence.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--wrap=ioctl -o $@ $^

.PHONY: check-tools
check-tools: $(B)/tools/lkvfence $(B)/tests/lkvfence-fake
	tests/unit/tools/command.sh $(B)
