#!/bin/sh
# The node with the real program: kill -9 at random moments, GPU faults, a driver that hangs.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/node.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
