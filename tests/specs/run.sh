#!/bin/sh
# Kueue's scheduler as its own specs describe it, told to a running Berth.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/specs.py" "$(realpath "$1")/berth"
