#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# The demo with one client of ten that hangs up (more of them where there are fewer); and that its judge finds nothing where nothing is wrong.
# shellcheck source=tests/e2e/demo.bash
. tests/e2e/demo.bash

race $((requests >= 500 ? 10 : 30))

rm -f "$json"
"$demo" --no-fence --requests 100 --hangups 0 --json "$json" </dev/null >/dev/null 2>&1
ok "0 %: the demo says that it has not shown the race" $((! $?))
holds "0 %: without hang-ups nobody reads another's text, without the fence either" \
	'.control.completed == 100 and .control.corrupted_requests == 0 and .control.stray_bytes == 0'

"$demo" --requests none </dev/null >/dev/null 2>&1
[ $? -eq 2 ]
ok "wrong use is told by status 2" $?
finish
