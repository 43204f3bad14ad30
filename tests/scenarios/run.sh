#!/bin/sh
# The same scenarios in the embedded world, on an API server, and in virtual time: their outcomes are equal.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export KUBECTL="$here/../../.tools/kubectl"
[ -x "$KUBECTL" ] || KUBECTL=kubectl
exec python3 "$here/scenarios.py" "$(realpath "$1")/berth"
