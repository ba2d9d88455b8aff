# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests of liblkvfence that need no kernel: check-lib. All of them print TAP.

LIBT   := tests/unit/lib
LIBT_B := $(B)/tests/lib
LIBT_PROGS := $(addprefix $(LIBT_B)/,test_open test_calls test_return test_pulls test_sources test_groups test_peers \
	test_events test_names)
# The library once more: the wrapped calls must be calls, not inlined checks
LIBT_LIB := $(LIB_SRC:%.c=$(LIBT_B)/lib-%.o)
LIBT_WRAP := open access faccessat stat secure_getenv ioctl read poll
# (clang's DWARF 5 is too new for Debian 12's valgrind)
LIBT_CFLAGS = $(CPPFLAGS) $(CFLAGS) -gdwarf-4 -U_FORTIFY_SOURCE -MMD -MP \
	-DBUILD_VERSION='"$(VERSION)"' -I$(LIBT_B)

.PHONY: check-lib check-lib-needs
.SECONDARY: $(LIBT_LIB)

check-lib: lib $(LIBT_PROGS)
	@rc=0; tests/unit/run $(LIBT_PROGS) || rc=1; \
	CC='$(CC)' B='$(B)' SONAME=$(LIB_NAME) \
		PROGS='$(LIBT_PROGS)' $(LIBT)/checks || rc=1; \
	exit $$rc

check-lib-needs:
	@tests/vm/need libcmocka-dev

$(LIBT_B)/lib-%.o: lib/%.c | check-lib-needs
	@mkdir -p $(@D)
	$(CC) $(LIBT_CFLAGS) -c -o $@ $<

$(LIBT_B)/%.o: $(LIBT)/%.c | check-lib-needs
	@mkdir -p $(@D)
	$(CC) $(LIBT_CFLAGS) -c -o $@ $<

# enum members by kind; GNU sed
$(LIBT_B)/values.inc: uapi/linux/lkvfence.h
	@mkdir -p $(@D)
	sed -nE '/_PEER_OP_/d; s/^\tLKVFENCE_(STATE|REASON|POLICY|OUTCOME|EVIDENCE|EVENT|LEASE|SOURCE|QP|PEER)_([A-Z_]+)\s*=.*/VALUE(\1, \2),/p' \
		$< > $@

$(LIBT_B)/test_names.o: $(LIBT_B)/values.inc

$(LIBT_B)/test_names: $(LIBT_B)/test_names.o $(LIBT_LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka

$(LIBT_B)/test_%: $(LIBT_B)/test_%.o $(LIBT_B)/fake.o $(LIBT_LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) $(LIBT_WRAP:%=-Wl,--wrap=%) -pthread -o $@ $^ -lcmocka

-include $(wildcard $(LIBT_B)/*.d)
