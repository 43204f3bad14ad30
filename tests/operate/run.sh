#!/bin/sh
# `berth operate` beside an API server of its own: leadership, fencing, restarts.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/operate.py" "$program" "$here/../../.tools/kubectl" "$@"
