#!/bin/sh
# Claims, volumes and snapshots, with real pods that write in them.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/volumes.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
