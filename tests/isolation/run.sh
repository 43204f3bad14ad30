#!/bin/sh
# What one pod may not do to another or to the machine, tried from inside.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/isolation.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
