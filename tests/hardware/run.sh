#!/bin/sh
# A real GPU: telemetry, Xids, device files, programs in pods, another GPU refused, MIG.   run.sh BUILD SANITIZED_BUILD
# Exits 77 where something was not run, and says in its last line what is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/hardware.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
