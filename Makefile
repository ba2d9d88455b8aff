# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
#   make                  module, library, command; says what it skipped and why
#   make module KDIR=DIR  the module for another kernel's build directory
#   make install          DESTDIR=, prefix=; the module for the running kernel too
#   make uninstall
#   make demo             the race, shown and stopped, in a VM
#   make check            all tests; see tests/
#   make bench            instructions for each operation, in a VM
#
# Everything built goes to build/.

VERSION   := 0.1.0
SOVERSION := 0

prefix     ?= /usr/local
exec_prefix ?= $(prefix)
bindir     ?= $(exec_prefix)/bin
libdir     ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
mandir     ?= $(prefix)/share/man
KREL       ?= $(shell uname -r)
KDIR       ?= /lib/modules/$(KREL)/build

B := build
CC       ?= cc
CFLAGS   ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow
override CPPFLAGS += -Iuapi -Ilib -D_GNU_SOURCE
INSTALL  ?= install

.PHONY: all
all: lib tools module-if-possible

# Every subdirectory adds its own targets.
include kmod/build.mk
include lib/build.mk
include tools/build.mk
include tests/build.mk

.PHONY: install uninstall clean
install: install-lib install-tools install-module-if-built
uninstall: uninstall-lib uninstall-tools uninstall-module
clean:
	rm -rf $(B)
