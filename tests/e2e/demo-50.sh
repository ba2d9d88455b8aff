#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The demo with every other client hanging up.
# shellcheck source=tests/e2e/demo.bash
. tests/e2e/demo.bash

race 50
finish
