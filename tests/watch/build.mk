# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Tests of liblkvfence-watch:
#
#   check-watch         without a kernel: against a fake of the calls it makes
#   check-watch-vm-K    with the module, in a VM with the stock kernel K: 6.1, 6.12
#   bench-watch         how many bytes a second

WATCHT   := tests/watch
WATCHT_B := $(B)/tests/watch
WATCHT_PROGS := $(addprefix $(WATCHT_B)/,test_sum test_watch test_events)
# The library once more, so that the calls it makes can be replaced
WATCHT_LIB  := $(WATCH_SRC:%.c=$(WATCHT_B)/lib-%.o)
WATCHT_LIBT := $(WATCH_SRC:%.c=$(WATCHT_B)/tsan-%.o)
WATCHT_WRAP := calloc crc64_ecma_refl
# (clang's DWARF 5 is too new for Debian 12's valgrind)
WATCHT_CFLAGS = $(CPPFLAGS) $(CFLAGS) -gdwarf-4 -pthread -MMD -MP
# Threads run under the sanitizer, where the compiler has it and the kernel lets it run; asked once
WATCHT_TSAN = $(eval WATCHT_TSAN := $$(shell mkdir -p $(WATCHT_B) && echo 'int main(void) { return 0; }' | \
	$(CC) -fsanitize=thread -x c -o $(WATCHT_B)/probe - 2>/dev/null && \
	$(WATCHT_B)/probe 2>/dev/null && echo -fsanitize=thread))$(WATCHT_TSAN)

.PHONY: check-watch check-watch-needs
.SECONDARY: $(WATCHT_LIB) $(WATCHT_LIBT)

# Two steps, since what the library is built with may have to be installed
check-watch: check-watch-needs
	@$(MAKE) --no-print-directory watch $(WATCHT_PROGS) $(WATCHT_B)/test_threads
	@[ -n "$(WATCHT_TSAN)" ] || echo "# the thread sanitizer doesn't run here: test_threads goes without"
	@rc=0; tests/unit/run $(WATCHT_PROGS) $(WATCHT_B)/test_threads || rc=1; \
	CC='$(CC)' B='$(B)' SONAME=$(WATCH_NAME) PROGS='$(WATCHT_PROGS)' $(WATCHT)/checks || rc=1; \
	exit $$rc

check-watch-needs:
	@tests/vm/need libcmocka-dev libisal-dev

$(WATCHT_B)/lib-%.o: lib/watch/%.c
	@mkdir -p $(@D)
	$(CC) $(WATCHT_CFLAGS) -c -o $@ $<

$(WATCHT_B)/tsan-%.o: lib/watch/%.c
	@mkdir -p $(@D)
	$(CC) $(WATCHT_CFLAGS) $(WATCHT_TSAN) -c -o $@ $<

$(WATCHT_B)/tsan-%.o: $(WATCHT)/%.c
	@mkdir -p $(@D)
	$(CC) $(WATCHT_CFLAGS) $(WATCHT_TSAN) -c -o $@ $<

$(WATCHT_B)/%.o: $(WATCHT)/%.c
	@mkdir -p $(@D)
	$(CC) $(WATCHT_CFLAGS) -c -o $@ $<

$(WATCHT_B)/test_threads: $(WATCHT_B)/tsan-test_threads.o $(WATCHT_B)/tsan-fake.o $(WATCHT_LIBT)
	$(CC) $(CFLAGS) $(LDFLAGS) $(WATCHT_TSAN) $(WATCHT_WRAP:%=-Wl,--wrap=%) -pthread -o $@ $^ -lisal -lcmocka

$(WATCHT_B)/test_%: $(WATCHT_B)/test_%.o $(WATCHT_B)/fake.o $(WATCHT_LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) $(WATCHT_WRAP:%=-Wl,--wrap=%) -pthread -o $@ $^ -lisal -lcmocka

.PHONY: bench-watch
bench-watch: check-watch-needs
	@$(MAKE) --no-print-directory lib watch $(WATCHT_B)/speed
	@sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
	@$(WATCHT_B)/speed

$(WATCHT_B)/speed: $(WATCHT_B)/speed.o $(B)/lib/liblkvfence-watch.a $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lisal

# With the module: slots are written by RDMA
WATCHT_VM := $(addprefix $(WATCHT_B)/,module.o wire.o)

.PHONY: watch-vm-program check-watch-vm-6.1 check-watch-vm-6.12
$(WATCHT_VM): WATCHT_CFLAGS += -Itests/e2e
watch-vm-program: check-watch-needs
	@tests/vm/need libibverbs-dev ibverbs-providers
	@$(MAKE) --no-print-directory lib watch $(WATCHT_B)/module

$(WATCHT_B)/module: $(WATCHT_VM) $(B)/tests/rdma/obj/port.o $(E2E)/obj/e2e.o $(B)/lib/liblkvfence-watch.a $(B)/lib/liblkvfence.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lisal -libverbs

check-watch-vm-6.1 check-watch-vm-6.12: check-watch-vm-%: watch-vm-program
	tests/vm/run --kernel $* -- $(WATCHT_B)/module

-include $(wildcard $(WATCHT_B)/*.d)
