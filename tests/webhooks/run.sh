#!/bin/sh
# Webhooks end to end: `berth operate` serves them, an API server asks.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/webhooks.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
