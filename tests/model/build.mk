# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Every order of events, in user space. `make check` runs the short one.
#
#   make check-orders-short    some seconds
#   make check-orders          some minutes, with long random walks
#   make check-orders-teeth    the driver, and the unit tests, find damages
#                              done to fence.c, pull.c and group.h; half an hour
#
# All print TAP. A failure prints the events that led to it.

MODEL   := $(B)/model
MODEL_O := $(patsubst tests/model/%.c,$(MODEL)/%.o,$(wildcard tests/model/*.c))
# What finds reads of freed memory and undefined arithmetic ends the run.
MODEL_CC = $(CC) $(CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all \
	   -D_GNU_SOURCE -Itests/shim -Iuapi -Ikmod
ORDERS_SEEDS ?= 1 2 3 4 5 6 7 8

$(MODEL)/%.o: tests/model/%.c $(wildcard tests/model/*.h) kmod/fence.h kmod/group.h kmod/pull.h \
	      uapi/linux/lkvfence.h $(wildcard tests/shim/linux/*.h)
	@mkdir -p $(@D)
	$(MODEL_CC) -c $< -o $@

$(MODEL)/orders: $(MODEL_O) kmod/fence.c kmod/pull.c kmod/fence_index.h kmod/proof.h
	$(MODEL_CC) $(filter-out %.h,$^) -o $@

.PHONY: check-orders check-orders-short check-orders-teeth
check-orders-short: $(MODEL)/orders
	@$< --depth 4 --merge 6 --seed 1 --steps 100000
	@$< --sources 2 --depth 2 --merge 4
	@$< --pulls --depth 3 --merge 4 --seed 1 --steps 100000
	@$< --pulls --scene 2 --merge 5
	@$< --groups 2 --depth 4 --merge 8 --seed 1 --steps 100000
	@$< --groups 3 --depth 3 --merge 6

check-orders: $(MODEL)/orders
	@$< --depth 6 --merge 8
	@$< --transfers 3 --merge 7
	@$< --sources 2 --depth 3 --merge 6
	@$< --sources 2 --transfers 3 --scene 9 --merge 5
	@$< --pulls --depth 4 --merge 6
	@$< --pulls --scene 2 --merge 7
	@$< --groups 2 --depth 5 --merge 11
	@$< --groups 3 --depth 4 --merge 8
	@for seed in $(ORDERS_SEEDS); do $< --seed $$seed --steps 100000 && \
		$< --pulls --seed $$seed --steps 100000 && \
		$< --groups 3 --seed $$seed --steps 100000 || exit 1; done

check-orders-teeth: $(MODEL_O) check-fence
	@tests/model/teeth $(MODEL) $(FENCE_T) $(MODEL_CC)
