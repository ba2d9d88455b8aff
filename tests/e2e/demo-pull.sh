#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The demo's fourth act: the prefill's slots while decode reads them.
# shellcheck source=tests/e2e/demo.bash
. tests/e2e/demo.bash

rm -f "$json"
"$demo" --pull --tries "$tries" --json "$json" </dev/null 2>&1 | sed 's/^/# /'
ok "the demo ends well" "${PIPESTATUS[0]}"
holds "without the fence, decode reads another request's text" '.pull.control.foreign_bytes > 0'
holds "with the fence, it doesn't" '.pull.fence.foreign_bytes == 0'
holds "and its reads are what was waited for" '.pull.fence.outcome == "drained" and .pull.fence.hold_max_ms > 0'
holds "each late pull is told why" '.pull.fence | .tries > 0 and .late_refused == .tries'
finish
