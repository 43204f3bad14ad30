#!/bin/sh
# Sign-in by OpenID Connect with a real provider (npm's oidc-provider).   run.sh BUILD SANITIZED_BUILD [TEST...]
# Skips where node or the provider is not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() {
    echo "oidc: skipped: $*"
    exit 77
}
command -v node >/dev/null || skip "node is not installed"
[ -d "$here/node_modules/oidc-provider" ] || skip "tests/oidc/node_modules is missing; scripts/setup check installs it"
build=$(realpath "$1")
shift 2
exec python3 "$here/oidc.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
