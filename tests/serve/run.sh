#!/bin/sh
# Models through the gateway of `berth up`, with OpenAI's own client.   run.sh BUILD SANITIZED_BUILD [TEST...]
# Skips where node or the client is not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() {
    echo "serve: skipped: $*"
    exit 77
}
command -v node >/dev/null || skip "node is not installed"
[ -d "$here/node_modules/openai" ] || skip "tests/serve/node_modules is missing; scripts/setup check installs it"
build=$(realpath "$1")
shift 2
exec python3 "$here/serve.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
