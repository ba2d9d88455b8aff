# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# Every kernel of the supported range.
#
#   check-range    what says which kernels those are agrees; a second
#   check-matrix   builds for each, with its own release's compiler, and runs
#                  the tests there: see tests/matrix/check --help;
#                  MATRIX="5.10 7.2" picks some

.PHONY: check-range check-matrix
check-range:
	@CC='$(CC)' tests/matrix/range

check-matrix:
	@tests/matrix/check $(MATRIX)
