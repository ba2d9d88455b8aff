# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# `make lint`: what can be said of the sources without running them; about two
# minutes. LINT_CHECKS="shell spelling" picks checks, see tests/lint/lint --help.

.PHONY: lint
lint:
	@B='$(B)' VERSION='$(VERSION)' tests/lint/lint $(LINT_CHECKS)
