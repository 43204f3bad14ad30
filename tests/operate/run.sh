#!/bin/sh
# `berth operate` beside an API server of its own: leadership, fencing, restarts.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/operate.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
