# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# What tests/e2e/command.sh needs.

$(B)/tests/scene: tests/e2e/scene.c $(B)/lib/liblkvfence.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^
