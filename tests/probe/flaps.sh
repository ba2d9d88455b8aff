#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# Runs flap where there can be two devices. They are there for it alone: a device doesn't go while a process has it open,
# and librdmacm keeps it open.
trap 'tests/probe/two-devices down' EXIT
if ! tests/probe/two-devices up; then
	echo "1..0 # SKIP no two devices, or nothing that drops packets, here"
	exit 0
fi
build/tests/probe/flap
