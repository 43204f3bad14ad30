#!/bin/sh
# One user's slow requests do not starve another's.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/fair.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
