#!/bin/sh
# The main job through the real program and the real kubectl.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/e2e.py" "$program" "$here/../../.tools/kubectl" "$@"
