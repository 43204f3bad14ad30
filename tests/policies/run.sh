#!/bin/sh
# Admission policies, as kubectl sees them.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/policies.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
