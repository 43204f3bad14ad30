#!/bin/sh
# The dashboard in a real browser against the real program.   run.sh BUILD SANITIZED_BUILD
# Words in NAMES choose stories. PAGES=FOLDER takes the pages of `node web/build.mjs FOLDER` in place of the program's own,
# which is how a story is seen to fail when a page is broken; SHORT=1 leaves axe out.
# Screenshots of what was seen stay in BUILD/dashboard-shots. Skips where there is no Chromium or no node.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() {
    echo "dashboard: skipped: $*"
    exit 77
}
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$chromium" ] || skip "chromium is not installed"
command -v node >/dev/null || skip "node is not installed"
[ -d "$here/../../web/node_modules/playwright-core" ] || skip "web/node_modules is missing; scripts/setup installs it"
build=$(realpath "$1")
node "$here/units.mjs"
CHROMIUM=$chromium SHOTS=$build/dashboard-shots \
    exec python3 "$here/dashboard.py" "$build/berth" "$here/../../.tools/kubectl" "$here/dashboard.mjs" ${NAMES:-}
