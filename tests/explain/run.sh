#!/bin/sh
# Explanations, estimates and previews with the real program: beside what then really happens.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/explain.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
